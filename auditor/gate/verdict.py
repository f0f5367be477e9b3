"""The gate's fixed verdicts. Their texts name the columns asked about: no record, no value."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from auditor.decision import Decision, Verdict
from auditor.sql.reasons import REASONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from auditor.data.database import StatementFailed

PUBLIC = Decision("answered", "public", "No protected value is read.")
KNOWN = Decision("answered", "known", "Earlier answers already settle it.")
LEAKS = Decision(
    "refused",
    "leaks",
    "An earlier refusal has told something about records that this asks about: nothing new is answered here.",
    "Ask about other records, or again what was answered before; the administrator can see why.",
)
FAILED = Decision(
    "unsupported",
    "failed",
    "The statement failed while it ran.",
    "Look for a cast, a date or an overflow that some row does not allow.",
)

TEXTS = {
    "answered": "Every record keeps the limit.",
    "partial": "{groups} withheld (NULL): together with the others and earlier answers, more could tell too "
    "much about somebody's {any}.",
    "time": "It could not be shown in time that every {every} stays uncertain enough.",
    "uncounted": "What this would make likely of somebody's {any} cannot be worked out, and an estimate "
    "shows nothing.",
    "risk": "Together with earlier answers this could tell too much about somebody's {any}.",
}
"""By code."""


def failed(error: StatementFailed) -> Decision:
    """The verdict on a statement that was stopped: one text for each code, so that no cause shows."""
    known = REASONS.get(error.code)
    return FAILED if known is None else Decision("unsupported", error.code, *known)


def of(
    code: str,
    columns: Sequence[str],
    before: float | None = None,
    after: float | None = None,
    withheld: int = 0,
    hint: str = "",
) -> Decision:
    """The verdict on a decided statement.

    Args:
        code: "known", "answered", "partial", "risk", "time", "uncounted" or "leaks".
        columns: The protected columns that the statement reads.
        before: Worst risk before it.
        after: Worst risk as it would leave it.
        withheld: How many of its groups are.
        hint: What would help, read off its text.
    """
    if code == "known":
        return KNOWN
    if code == "leaks":
        return replace(LEAKS, risk_before=before, risk_after=after)
    groups = "1 group is" if withheld == 1 else f"{withheld} groups are"
    message = TEXTS[code].format(any=" or ".join(columns), every=" and ".join(columns), groups=groups)
    verdict: Verdict = "answered" if code in ("answered", "partial") else "refused"
    return Decision(verdict, code, message, hint, before, after)
