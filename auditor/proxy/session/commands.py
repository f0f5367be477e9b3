"""The commands that a session answers itself, as values; `Select` is everything else.

What they mean is `executing`'s, how they are written `classifying`'s.
"""

from __future__ import annotations

from dataclasses import dataclass

from auditor.proxy.values.copying import CopyForm


@dataclass(frozen=True)
class Select:
    """Anything that the catalogue or the gate may answer."""

    text: str


@dataclass(frozen=True)
class Begin:
    """BEGIN, START TRANSACTION."""

    tag: str


@dataclass(frozen=True)
class End:
    """COMMIT and ROLLBACK, by all their names."""

    commit: bool


@dataclass(frozen=True)
class Savepoint:
    """SAVEPOINT name."""

    name: str


@dataclass(frozen=True)
class Release:
    """RELEASE name."""

    name: str


@dataclass(frozen=True)
class RollbackTo:
    """ROLLBACK TO name."""

    name: str


@dataclass(frozen=True)
class Set:
    """SET name, RESET name."""

    name: str
    value: str | None
    """None: back to the default."""
    local: bool = False
    tag: str = "SET"


@dataclass(frozen=True)
class ResetAll:
    """RESET ALL."""


@dataclass(frozen=True)
class Tolerated:
    """What has no effect here, and is answered as if it had."""

    tag: str


@dataclass(frozen=True)
class Show:
    """SHOW name; "all" for all."""

    name: str


@dataclass(frozen=True)
class Declare:
    """DECLARE name CURSOR FOR query."""

    name: str
    query: str
    hold: bool


@dataclass(frozen=True)
class Fetch:
    """FETCH and MOVE."""

    name: str
    count: int | None
    """None: all that are left."""
    move: bool


@dataclass(frozen=True)
class Close:
    """CLOSE name; None: ALL."""

    name: str | None


@dataclass(frozen=True)
class Copy:
    """COPY (query) TO STDOUT."""

    query: str
    form: CopyForm


@dataclass(frozen=True)
class Prepare:
    """PREPARE name (types) AS query."""

    name: str
    types: tuple[str, ...]
    """In lower case, without precisions."""
    query: str


@dataclass(frozen=True)
class Execute:
    """EXECUTE name (values)."""

    name: str
    values: tuple[str | None, ...]
    """As texts; None for NULL."""


@dataclass(frozen=True)
class Deallocate:
    """DEALLOCATE name; None: ALL."""

    name: str | None


@dataclass(frozen=True)
class Discard:
    """DISCARD ALL, PLANS, SEQUENCES, TEMP."""

    what: str


Command = (
    Select | Copy | Begin | End | Savepoint | Release | RollbackTo | Set | ResetAll | Tolerated | Show
    | Declare | Fetch | Close | Prepare | Execute | Deallocate | Discard
)  # fmt: skip
