"""What went wrong, as PostgreSQL's clients read it: SQLSTATE, message, DETAIL and HINT.

Promises: one table says the SQLSTATE of each of the gate's codes; a code that is not in it gets its verdict's
(refused 42501, unsupported 0A000); an error of ours that could name a path or a value has a fixed text. The
code itself stands in DETAIL, for programs that go by it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

from auditor.decision import Decision
from auditor.errors import AuditorError, QueryRefused, QueryUnsupported, StatementError
from auditor.told import Range

MOST_ENDS = 100
"""Ends that one warning lists."""

Severity = Literal["ERROR", "FATAL", "WARNING", "NOTICE"]


class SqlState(StrEnum):
    """The SQLSTATEs that the proxy uses, by PostgreSQL's condition names."""

    SUCCESSFUL_COMPLETION = "00000"
    WARNING = "01000"
    PROTOCOL_VIOLATION = "08P01"
    FEATURE_NOT_SUPPORTED = "0A000"
    DATA_EXCEPTION = "22000"
    CHARACTER_NOT_IN_REPERTOIRE = "22021"
    INVALID_PARAMETER_VALUE = "22023"
    ACTIVE_SQL_TRANSACTION = "25001"
    NO_ACTIVE_SQL_TRANSACTION = "25P01"
    IN_FAILED_SQL_TRANSACTION = "25P02"
    INVALID_SQL_STATEMENT_NAME = "26000"
    INVALID_AUTHORIZATION_SPECIFICATION = "28000"
    INVALID_PASSWORD = "28P01"
    INVALID_CURSOR_NAME = "34000"
    INVALID_CATALOG_NAME = "3D000"
    INVALID_SAVEPOINT_SPECIFICATION = "3B001"
    SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION = "42000"
    INSUFFICIENT_PRIVILEGE = "42501"
    SYNTAX_ERROR = "42601"
    NAME_TOO_LONG = "42622"
    DUPLICATE_COLUMN = "42701"
    UNDEFINED_COLUMN = "42703"
    UNDEFINED_OBJECT = "42704"
    GROUPING_ERROR = "42803"
    UNDEFINED_TABLE = "42P01"
    UNDEFINED_PARAMETER = "42P02"
    DUPLICATE_CURSOR = "42P03"
    DUPLICATE_PREPARED_STATEMENT = "42P05"
    OUT_OF_MEMORY = "53200"
    TOO_MANY_CONNECTIONS = "53300"
    PROGRAM_LIMIT_EXCEEDED = "54000"
    OBJECT_NOT_IN_PREREQUISITE_STATE = "55000"
    LOCK_NOT_AVAILABLE = "55P03"
    QUERY_CANCELED = "57014"
    ADMIN_SHUTDOWN = "57P01"
    SYSTEM_ERROR = "58000"
    INTERNAL_ERROR = "XX000"


@dataclass(frozen=True)
class ErrorFields:
    """The fields of one ErrorResponse or NoticeResponse."""

    sqlstate: str
    """Five characters; see `SqlState`."""
    message: str
    """One sentence; the M field."""
    detail: str = ""
    """More about it; left out when empty."""
    hint: str = ""
    """What would do; left out when empty."""
    severity: Severity = "ERROR"
    """FATAL closes the connection."""
    position: int = 0
    """Character of the statement, counted from 1; 0 where there is none."""

    def fatal(self) -> ErrorFields:
        """The same, as the reason why the connection is closed."""
        return replace(self, severity="FATAL")


class ProtocolError(Exception):
    """What a client sent cannot be taken; carries the fields.

    An owner meets it in `Portal.formats` and `Statements.declare` alone, and answers with `error(fields)`.
    """

    def __init__(self, sqlstate: str, message: str, *, hint: str = "", detail: str = "") -> None:
        super().__init__(message)
        self.fields = ErrorFields(sqlstate, message, detail, hint)


VERDICTS: Mapping[str, SqlState] = {
    "refused": SqlState.INSUFFICIENT_PRIVILEGE,
    "unsupported": SqlState.FEATURE_NOT_SUPPORTED,
}
"""By verdict, where the code has none of its own."""

ANSWERED: Mapping[str, SqlState] = {
    "answered": SqlState.SUCCESSFUL_COMPLETION,
    "known": SqlState.SUCCESSFUL_COMPLETION,
    "public": SqlState.SUCCESSFUL_COMPLETION,
    "partial": SqlState.WARNING,
    "ends": SqlState.WARNING,
    "preview": SqlState.WARNING,
    "explained": SqlState.SUCCESSFUL_COMPLETION,
}
"""Codes of answers; a warning goes beside the rows."""

REFUSED = frozenset({"risk", "range", "time", "uncounted", "checks", "min-size"})
"""Codes of refusals: 42501 each. An answer that could not be judged in time is refused, not cancelled."""

OWN: Mapping[str, SqlState] = {
    # The text is no statement, or not one.
    "syntax": SqlState.SYNTAX_ERROR,
    "empty": SqlState.SYNTAX_ERROR,
    "several-statements": SqlState.SYNTAX_ERROR,
    # It names what is not there.
    "unknown-table": SqlState.UNDEFINED_TABLE,
    "unknown-column": SqlState.UNDEFINED_COLUMN,
    "duplicate-column": SqlState.DUPLICATE_COLUMN,
    "parameters": SqlState.UNDEFINED_PARAMETER,
    "ungrouped": SqlState.GROUPING_ERROR,
    # The engine's own "no": a wrong type, an unknown function, …; the message says which.
    "engine": SqlState.SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION,
    # It failed, or would have taken too much.
    "failed": SqlState.DATA_EXCEPTION,
    "too-large": SqlState.PROGRAM_LIMIT_EXCEEDED,
    "too-much": SqlState.PROGRAM_LIMIT_EXCEEDED,
    "too-slow": SqlState.QUERY_CANCELED,
}
"""Codes of unsupported statements for which SQL has a better name than "not supported"."""

NOT_SUPPORTED = frozenset(
    ["aggregate", "aggregate-arguments", "alias-columns", "argument", "catalogue", "cells", "cells-values",
     "coefficients",
     "construct", "correlated", "count-distinct", "dialect", "distinct-aggregate", "each-once",
     "explain", "explain-mode",
     "extreme-case", "function", "into", "join-kind", "lambda", "lateral", "limit-percent", "nested-type",
     "nonlinear", "offset", "pivot",
     "protected-aggregate", "protected-cast", "protected-condition", "protected-correlated",
     "protected-distinct", "protected-expression", "protected-group", "protected-having", "protected-join",
     "protected-limit", "protected-order", "protected-window", "quantile-list",
     "range-argument", "ranges-never", "recursive", "released-condition",
     "row-level", "row-reference", "sample", "set-operation", "star", "statement", "statement-inside",
     "subquery-in-aggregate", "summarize", "table-function", "translation", "two-columns", "type", "uneven",
     "values", "volatile", "window-ties"]
)  # fmt: skip
"""Codes that get 0A000 on purpose: another question, or other words, and it is answered."""


def sqlstate(decision: Decision) -> SqlState:
    """The SQLSTATE of a decision, of an answer too."""
    if decision.verdict == "answered":
        if decision.ends:
            return SqlState.WARNING
        return ANSWERED.get(decision.code, SqlState.SUCCESSFUL_COMPLETION)
    if decision.verdict == "unsupported" and decision.code in OWN:
        return OWN[decision.code]
    return VERDICTS[decision.verdict]


def of_decision(decision: Decision) -> ErrorFields:
    """A refusal or an unsupported statement as the fields of an ErrorResponse.

    Raises:
        ValueError: the decision is an answer.
    """
    if decision.verdict == "answered":
        raise ValueError(f"an answer ({decision.code}) is no error")
    return ErrorFields(sqlstate(decision), decision.message, _detail(decision), decision.hint)


def notice_of_decision(decision: Decision, ranges: Sequence[Range] = ()) -> ErrorFields | None:
    """What to say beside the rows of an answer; None where there is nothing to say."""
    if decision.verdict != "answered" or sqlstate(decision) == SqlState.SUCCESSFUL_COMPLETION:
        return None
    return ErrorFields(
        sqlstate(decision), decision.message, _detail(decision, ranges), decision.hint, severity="WARNING"
    )


def _detail(decision: Decision, ranges: Sequence[Range] = ()) -> str:
    lines = [f"Verdict: {decision.verdict}, code: {decision.code}."]
    lines += [f"{each.name}: {each.words}" for each in ranges[:MOST_ENDS]]
    return "\n".join([*lines, *(["…"] if len(ranges) > MOST_ENDS else [])])


UNAVAILABLE = ErrorFields(
    SqlState.SYSTEM_ERROR,
    "The statement was not answered: the gate is out of order.",
    hint="Nothing was released. The administrator finds the reason in the log.",
)
"""For what is wrong on our side: the ledger, the data, the policy. Their texts name paths and tables."""


def of_error(error: AuditorError) -> ErrorFields:
    """An error of the gate as the fields of an ErrorResponse."""
    if isinstance(error, QueryRefused | QueryUnsupported):
        return of_decision(error.decision)
    if isinstance(error, StatementError):
        return ErrorFields(SqlState.INVALID_PARAMETER_VALUE, "The statement cannot be put on record.")
    return UNAVAILABLE


CANCELED = ErrorFields(SqlState.QUERY_CANCELED, "canceling statement due to user request")
"""After a CancelRequest."""
TIMED_OUT = ErrorFields(
    SqlState.QUERY_CANCELED,
    "canceling statement due to statement timeout",
    hint="Ask for fewer groups, or for fewer rows at once.",
)
"""When the proxy's own time for a statement is up."""


def working(ahead: int) -> ErrorFields:
    """When that time is up while the gate decides, or others' decisions come first: so many."""
    others = "decisions come" if ahead > 1 else "decision comes"
    return ErrorFields(
        SqlState.LOCK_NOT_AVAILABLE,
        "the statement is being worked on" + (f": {ahead} {others} before it" if ahead else ""),
        "Verdict: none yet, code: working.",
        "The work is kept: ask the same again in a moment, and it is not begun anew.",
    )


TOO_MANY_CONNECTIONS = ErrorFields(
    SqlState.TOO_MANY_CONNECTIONS,
    "sorry, too many clients already",
    hint="Close connections that are not in use, or use a pool with fewer.",
    severity="FATAL",
)
"""Before the startup packet is looked at, or once the user is known."""
SHUTDOWN = ErrorFields(
    SqlState.ADMIN_SHUTDOWN,
    "terminating connection due to administrator command",
    hint="Connect again in a moment.",
    severity="FATAL",
)
"""When the proxy stops."""
STARTUP_TIMED_OUT = ErrorFields(
    SqlState.PROTOCOL_VIOLATION, "canceling authentication due to timeout", severity="FATAL"
)
"""When a client does not get through startup and authentication in time."""
IN_FAILED_TRANSACTION = ErrorFields(
    SqlState.IN_FAILED_SQL_TRANSACTION,
    "current transaction is aborted, commands ignored until end of transaction block",
    hint="Send ROLLBACK.",
)
"""For every statement of a failed block but its end."""


def wrong_password(user: str) -> ErrorFields:
    """The one answer to a wrong password and to an unknown user."""
    return ErrorFields(
        SqlState.INVALID_PASSWORD, f'password authentication failed for user "{user}"', severity="FATAL"
    )
