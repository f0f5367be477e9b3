"""One statement on its way to the gate: what was asked, by whom, and that it can be put on record."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import get_args

from auditor.errors import StatementError
from auditor.policy.policy import Dialect
from auditor.sql import Plan
from auditor.sql.time_zones import session_zone

Parameters = Sequence[object] | Mapping[str, object] | None

DIALECTS = get_args(Dialect)

PLAIN = frozenset({type(None), bool, int, float, str})
"""Types of parameters under whose text an answer is remembered."""


@dataclass(frozen=True)
class Ask:
    """One statement on its way."""

    sql: str
    """As asked."""
    parameters: Parameters
    """As asked."""
    user: str
    """Who asks."""
    plan: Plan | None = None
    """What it means, once it is understood."""
    check: bool = False
    """Whether only the verdict is asked for."""
    before: str = ""
    """What stood before the statement, as asked: EXPLAIN."""
    dialect: Dialect = "duckdb"
    """Whose SQL it is written in."""
    zone: str = "UTC"
    """The session's time zone: in another one the same text asks something else."""
    arrived: datetime = field(default_factory=lambda: datetime.now(UTC), compare=False)
    """When: what CURRENT_DATE is in it."""
    public: bool = False
    """Whether everybody knows the answer anyway, so that it may decide itself."""

    @property
    def written_parameters(self) -> str:
        """The parameters as the ledger keeps them: JSON, or that there is none for them."""
        if self.parameters is None:
            return ""
        try:
            return json.dumps(self.parameters, default=str, ensure_ascii=False)
        except (TypeError, ValueError):
            return "(parameters that cannot be written down)"


def checked(ask: Ask) -> Ask:
    """Refuse what could not even be put on record; the time zone is spelled as it is recorded.

    Raises:
        StatementError: the statement or the user is not text, or the dialect or the time zone is none that is
            offered.
    """
    for name, value in (("sql", ask.sql), ("user", ask.user)):
        if not isinstance(value, str) or not _encodable(value):
            raise StatementError(f"{name} must be Unicode text, not {type(value).__name__} {value!r:.40}")
    if ask.dialect not in DIALECTS:
        raise StatementError(f"dialect must be one of {', '.join(DIALECTS)}, not {ask.dialect!r:.40}")
    if not ask.user:
        raise StatementError("user must not be empty: every statement is recorded with who asked it")
    try:
        return replace(ask, zone=session_zone(ask.zone).name)
    except (KeyError, TypeError):
        text = f"timezone must be one such as Europe/Berlin, not {ask.zone!r:.40}"
        raise StatementError(text) from None


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def plain(parameters: Parameters) -> bool:
    """Whether parameters are of types whose text says all: others are not remembered by it."""
    if parameters is None:
        return True
    if isinstance(parameters, Mapping):
        return type(parameters) is dict and all(type(v) in PLAIN for v in parameters.values())
    return type(parameters) in (list, tuple) and all(type(value) in PLAIN for value in parameters)
