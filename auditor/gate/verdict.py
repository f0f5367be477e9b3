"""The gate's fixed verdicts. Their texts name the columns asked about: no record, no value."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from auditor.decision import IN_ROWS, Decision, Verdict
from auditor.sql.reasons import REASONS, in_dialect
from auditor.told import Range, Withheld
from auditor.told import named as names_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from auditor.data.database import StatementFailed

PUBLIC = Decision("answered", "public", "No protected value is read.")
KNOWN = Decision("answered", "known", "Earlier answers already settle it.")
FAILED = Decision(
    "unsupported",
    "failed",
    "The statement failed while it ran.",
    "Look for a cast, a date or an overflow that some row does not allow.",
)

NO_RANGES = Decision(
    "unsupported",
    "ranges-never",
    "AT_LEAST and AT_MOST are not answered here: the policy says so.",
    "Ask for the aggregate itself.",
)

EXPLAINED = Decision(
    "answered", "explained", "Nothing was told: the rows say what would become of the statement."
)
EXPLAIN = Decision(
    "unsupported",
    "explain",
    "EXPLAIN says what would become of a statement; it takes no options, and runs nothing.",
    "Write EXPLAIN and then the statement, without ANALYZE, VERBOSE or parentheses.",
)
EXPLAIN_MODE = Decision(
    "unsupported",
    "explain-mode",
    "EXPLAIN is not answered here: in the policy's mode a verdict is itself an answer.",
    "Ask the statement itself.",
)
CHECKS = Decision(
    "refused",
    "checks",
    "All checks that the policy allows each user in a day are used up.",
    "Ask the statement itself, or wait until midnight (UTC).",
)

WHOLE = ("answered", "known", "public")
"""Codes of what is told as it is asked."""
TEXTS = {
    "answered": "Every record keeps the limit.",
    "partial": "{units} withheld (NULL){names}: together with the others and earlier answers, more could "
    "tell too much about somebody's {any}.",
    "min-size": "It is about fewer than the policy's rule for the size of groups allows, whatever the risk.",
    "ends": "{ends}",
    "preview": "A preview: NULL stands in every row for what is protected, {every}.",
    "range": "This is worked out from a value that cannot be told exactly. {ends}",
    "time": "It could not be shown in time that every {every} stays uncertain enough.",
    "uncounted": "What this would make likely of somebody's {any} cannot be worked out, and an estimate "
    "shows nothing.",
    "risk": "Together with earlier answers this could tell too much about somebody's {any}.",
}
"""By code."""


def failed(
    error: StatementFailed, dialect: str = "duckdb", unlike: str = "", joins: bool = False
) -> Decision:
    """The verdict on a statement that was stopped: one text for each code, so that no cause shows.

    Args:
        error: What stopped it.
        dialect: What it was written in.
        unlike: What its text compares or casts that are of different types.
        joins: Whether the text of the statement joins tables.
    """
    known = REASONS.get(error.code)
    if known is None:
        return replace(FAILED, hint=unlike) if unlike else FAILED
    message, hint = known
    if error.code == "too-slow" and joins:
        hint = f"{hint} {FEWER_JOINS}"
    return Decision("unsupported", error.code, message, in_dialect(error.code, hint, dialect))


FEWER_JOINS = "Join fewer tables, or on columns that have fewer equal values."
"""What would make a statement with joins faster."""


def of(
    code: str,
    columns: Sequence[str],
    before: float | None = None,
    after: float | None = None,
    withheld: int = 0,
    hint: str = "",
    ranges: Sequence[Range] = (),
    lacking: bool = True,
    what: str = "group",
    named: Sequence[Withheld] = (),
    too_small: int = 0,
    together: int = 0,
) -> Decision:
    """The verdict on a decided statement.

    Args:
        code: "known", "answered", "ends", "partial", "preview", "risk", "range", "time", "uncounted" or
            "min-size".
        columns: The protected columns that the statement reads.
        before: Worst risk before it.
        after: Worst risk as it would leave it.
        withheld: How many of its groups, or values, are.
        hint: What would help, read off its text.
        ranges: What it tells as ends.
        lacking: Whether it reads some of these values themselves, or only AT_LEAST and AT_MOST of them.
        what: What is withheld: a "group", or a "value" where nothing is grouped.
        named: Which these are.
        too_small: How many of them are smaller than the policy's rule allows.
        together: How many further rows have withheld groups together.
    """
    said = _ends(ranges, lacking)
    if code == "known":
        message = f"{KNOWN.message} {said}"
        return replace(KNOWN, message=message, hint=hint, ends=len(ranges)) if ranges else KNOWN
    units = f"1 {what} is" if withheld == 1 else f"{withheld} {what}s are"
    names = f", {names_of(named)}" if named else ""
    text = TEXTS[code].format(
        any=" or ".join(columns), every=" and ".join(columns), units=units, names=names, ends=said
    )
    if code == "partial" and too_small:
        text = _of_small_groups(text, too_small, withheld)
    if code == "partial" and together:
        text = f"{text} {ONE_MORE if together == 1 else MORE.format(together)}"
    message = f"{text} {said}" if code == "partial" and ranges else text
    verdict: Verdict = "answered" if code in ("answered", "ends", "partial", "preview") else "refused"
    lost = tuple(named) if code == "partial" else ()
    return Decision(verdict, code, message, hint, before, after, ends=len(ranges), withheld=lost)


ONE_MORE = "1 more row, the last one, has withheld groups together."
MORE = "{} more rows, the last ones, have withheld groups together, those of a grouping set each."
"""What is said of groups that are told together."""


def _of_small_groups(text: str, too_small: int, withheld: int) -> str:
    """Why groups are withheld, where a rule of the policy is the reason for some or for all."""
    which, _, risk = text.partition(": ")
    smaller = "smaller than the policy's rule allows"
    if too_small == withheld:
        return f"{which}: {smaller}, whatever the risk."
    return f"{which}: {too_small} {'is' if too_small == 1 else 'are'} {smaller}; {risk}"


def _ends(ranges: Sequence[Range], lacking: bool) -> str:
    """What is told as ends: of one the end itself, of several how many they are."""
    several = len(ranges) > 1
    null = f"they are {IN_ROWS}." if several else f"it is {IN_ROWS}."
    where = null if lacking else f"AT_LEAST and AT_MOST give {'them' if several else 'it'}."
    if several:
        return f"{len(ranges)} values are told as ends (at most, at least or both): {where}"
    if not ranges:
        return f"1 value is told as an end (at most, at least or both): {where}"
    return f"1 value is told as an end, {ranges[0].words}: {where}"
