"""Arguments of the wrong kind: one clear error each, in place of whatever Python would stumble over first."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from cae_sql.domain import Domain
from cae_sql.errors import InvalidInput

_SHOWN = 60
"""Letters of what was given."""


def checked_domain(domain: object) -> Domain:
    """A domain.

    Raises:
        InvalidInput: anything else.
    """
    if not isinstance(domain, Domain):
        raise InvalidInput(f"domain must be a Domain(minimum, maximum, step), not {shown(domain)}")
    return domain


def checked_column(name: object, what: str) -> Hashable:
    """The name of a column, as pandas has them.

    Raises:
        InvalidInput: what cannot be one; `what` names the argument.
    """
    if not isinstance(name, str | int | tuple) or isinstance(name, bool) or not _hashable(name):
        raise InvalidInput(f"{what} must be the name of a column, not {shown(name)}")
    return name


def checked_columns(names: object, what: str) -> list[Any]:
    """A list of names of columns.

    Raises:
        InvalidInput: one text, or no list of names; `what` names the argument.
    """
    if isinstance(names, str):
        raise InvalidInput(f"{what} must be a list of columns, not one text: [{names!r}]")
    if not isinstance(names, Iterable) or isinstance(names, bytes | Mapping):
        raise InvalidInput(f"{what} must be a list of columns, not {shown(names)}")
    return [checked_column(name, f"each of {what}") for name in names]


def checked_mapping(given: object, what: str, like: str) -> Mapping[Any, Any]:
    """A mapping.

    Raises:
        InvalidInput: anything else; `like` is an example of what it should be.
    """
    if not isinstance(given, Mapping):
        raise InvalidInput(f"{what} must be a mapping such as {like}, not {shown(given)}")
    return given


def checked_values(values: object, what: str) -> tuple[Hashable, ...]:
    """The possible values of a column.

    Raises:
        InvalidInput: one text, no list, or a value that is missing or cannot be compared; `what` names it.
    """
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise InvalidInput(f"{what} must be a list of values, not {shown(values)}")
    found = tuple(values)
    for place, value in enumerate(found):
        if not _hashable(value):
            raise InvalidInput(f"{what} has {shown(value)}, which cannot be compared", place)
        if value is None or value != value:  # NaN differs from itself
            raise InvalidInput(
                f"{what} has a missing value ({value}); give missing a value of its own", place
            )
    return found


def checked_sequence(given: object, what: str) -> Sequence[Any]:
    """What can be gone through, as a list.

    Raises:
        InvalidInput: anything else.
    """
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise InvalidInput(f"{what} must be a list, not {shown(given)}")
    return list(given)


def shown(given: object) -> str:
    """What was given, in few letters."""
    text = " ".join(repr(given).split())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
