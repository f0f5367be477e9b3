"""pgaudit's messages: `AUDIT: SESSION,1,1,READ,SELECT,TABLE,public.person,"SELECT …",parameters`.

Source: pgaudit's README, "Format".
"""

from __future__ import annotations

from dataclasses import dataclass

from auditor.history.readers.prepared import Parameters
from auditor.history.readers.records import cut

START = "AUDIT: "
_NOTHING = {"<none>": "none", "<not logged>": "unknown", "<previously logged>": "unknown"}
PREVIOUS = "<previously logged>"


@dataclass(frozen=True)
class Audited:
    """One message."""

    number: str
    """pgaudit's own number of the statement in its session."""
    part: str
    """Within that statement: "1" for what the client sent."""
    command: str
    sql: str
    parameters: Parameters | None
    known: bool
    """Whether the parameters, if any, were logged."""


def audited(message: str) -> Audited | None:
    """What a message says; None if it is not pgaudit's."""
    fields = cut(message[len(START) :])
    # pgaudit.log_rows adds the number of rows at the end
    if len(fields) not in (9, 10) or fields[0] not in ("SESSION", "OBJECT"):
        return None
    _, number, part, _, command, _, _, sql, parameters = fields[:9]
    if parameters in _NOTHING:
        return Audited(number, part, command, sql, None, _NOTHING[parameters] == "none")
    if any(each.startswith("<long param suppressed") for each in cut(parameters)):
        return Audited(number, part, command, sql, None, False)
    # an empty text and NULL are written alike: as nothing
    values = tuple(each or None for each in cut(parameters)) if parameters else (None,)
    return Audited(number, part, command, sql, values, True)
