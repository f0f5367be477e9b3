"""The gate's fixed verdicts. Their texts name the columns asked about: no record, no value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from auditor.decision import Decision
from auditor.sql.reasons import REASONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from auditor.database import StatementFailed
    from auditor.deciding import Outcome

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


def failed(error: StatementFailed) -> Decision:
    """The verdict on a statement that was stopped: one text for each code, so that no cause shows."""
    known = REASONS.get(error.code)
    return FAILED if known is None else Decision("unsupported", error.code, *known)


def of(outcome: Outcome, columns: Sequence[str], before: float | None, after: float | None) -> Decision:
    """The verdict on a decided statement.

    Args:
        outcome: The decision.
        columns: The protected columns that the statement reads.
        before: Worst risk before it.
        after: Worst risk as it would leave it.
    """
    if outcome.verdict == "safe":
        return Decision("answered", "answered", "Every record keeps the limit.", "", before, after)
    if outcome.verdict == "time":
        return Decision(
            "refused",
            "time",
            f"It could not be shown in time that every {' and '.join(columns)} stays uncertain enough.",
            "Ask about fewer groups at once, or about a larger group.",
            before,
            after,
        )
    return Decision(
        "refused",
        "risk",
        f"Together with earlier answers this could tell too much about somebody's {' or '.join(columns)}.",
        "Ask about a larger group: drop a condition, widen a range, group more coarsely, "
        "or add HAVING COUNT(*) >= 10.",
        before,
        after,
    )
