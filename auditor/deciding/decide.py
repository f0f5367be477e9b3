"""Answer or refuse: the two ways to decide, on queries in the system's terms.

Simulatable (the default): hypothetical answers are drawn from worlds and judged as if they were the answer
(`hypothetical`). Then a partition of all possible answers is fixed (`partition`): which are told exactly, and
which as a bound ("at most", "at least"). All of that comes from past answers and the query, so it tells
nothing. Only then is the true answer looked at, and what the partition says of it is told. Should that break
the limit all the same, it is a *surprise*: a range is told instead, or the query is refused; surprises are
counted, and administrators see them.
Answer-dependent: the true answer alone decides, and refusals speak.

Where the policy asks for a candidate model, an answer must keep the limit twice: by what it excludes, and by
what the model makes of it. The second is tried for those alone that pass the first.

A statistic of which no exact value is ever told, and a sum that a range is asked of and whose exact value is
refused, is told as the fixed public cell that it lies in (`cells`).

Protected columns are independent systems. Of a statement that reads several, all hypothetical answers about
all of them are judged before one true answer is looked at, and one column that is not safe refuses it whole.

Source: `mathematics.md`, 4 and 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from auditor.deciding.cases import NOTHING, SURPRISE, Case, Judged, Outcome, Part
from auditor.deciding.cells import Cells, Ladder
from auditor.deciding.following import Following, following
from auditor.deciding.hypothetical import (
    asked_of,
    by_what_is_likely,
    drawn_of,
    is_decided_by_partition,
    is_shown_of,
    lost_at_once,
    refused_by,
    simulate,
)
from auditor.deciding.looks import CaseLooks, told_part
from auditor.deciding.partition import Partition
from auditor.deciding.recorded import Recorded
from auditor.deciding.rules import TRUE_ANSWER_FACTOR, Budget, Rules
from auditor.deciding.statistics import KINDS, StatisticLadder
from auditor.deciding.sums import SumLadder
from auditor.told import exactly
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.standard import Judgement
from cae_sql.threads import alone


def decide(
    cases: Sequence[Case], rules: Rules, budget: Budget | None = None, ranges: bool = False
) -> Outcome:
    """Decide on queries that would be answered together.

    Args:
        cases: What is asked, by protected column.
        rules: The policy.
        budget: What is left for the statement; by default all that the policy allows.
        ranges: Whether a single sum whose exact value cannot be told may be answered by a range.
    """
    outcome = _barred(cases) or _never_exactly(cases) or at_once(cases, rules)
    ladder = _ladder(cases, rules, ranges)
    if outcome is not None and ladder is None:
        return outcome
    budget = Budget(rules) if budget is None else budget
    outcome = outcome or _exactly(cases, rules, budget)
    if ladder is None or outcome.verdict not in ("risk", "uncounted") or outcome.surprise:
        return outcome
    return _in_a_cell(ladder, outcome, budget)


def _barred(cases: Sequence[Case]) -> Outcome | None:
    """A refusal of what is about persons who are set aside."""
    if not any(case.barred for case in cases):
        return None
    return Outcome("risk", tuple(Part(given=False, open=case.barred) for case in cases))


def _never_exactly(cases: Sequence[Case]) -> Outcome | None:
    """A refusal of what includes a statistic of which no exact value is ever told."""
    asks = any(query.kind in KINDS for case in cases for query in case.queries)
    return Outcome("risk", tuple(NOTHING for _ in cases)) if asks else None


def _ladder(cases: Sequence[Case], rules: Rules, ranges: bool) -> Ladder | None:
    """The ladder of what may be told as a range: a single statistic, or a single sum if a range is asked."""
    if len(cases) != 1 or len(cases[0].queries) != 1 or cases[0].barred:
        return None
    kind = cases[0].queries[0].kind
    if kind == "weighted" and cases[0].system.unit_of is not None:
        return None  # which unit weighs more than others is not worked out
    if kind in KINDS:
        return StatisticLadder(cases[0], rules)
    return SumLadder(cases[0], rules) if ranges and kind == "sum" else None


def _exactly(cases: Sequence[Case], rules: Rules, budget: Budget) -> Outcome:
    """What is told exactly, or as ends."""
    judged: list[Judged] = [{} for _ in cases]
    told: list[Partition | None] = [None for _ in cases]
    led: list[Following | None] = [None for _ in cases]
    with alone(), budget as allowance:
        if all(case.derivable for case in cases):
            return Outcome("known", tuple(map(_settled, cases)))
        if rules.simulatable:
            led = [following(case) for case in cases]
            refusal, told = _before_true_answers(_new_ones(cases, led), rules, allowance, judged)
            if refusal is not None:
                return refusal
    if rules.simulatable:
        allowance = _for_true_answers(rules)
    with alone(), budget.true_answers():
        parts = [
            _settled(case) if case.derivable else _told(case, each, allowance, known, first)
            for case, each, known, first in zip(cases, told, judged, led, strict=True)
        ]
    if all(part.given for part in parts):
        return Outcome("safe", tuple(parts))
    models = [part.model for part in parts if not part.given and part.model is not None]
    verdict: Literal["risk", "uncounted"] = (
        "uncounted" if models and not all(each.counted for each in models) else "risk"
    )
    # nothing is said of the columns whose answers would have been safe
    return Outcome(verdict, tuple(NOTHING if part.given else part for part in parts))


def _in_a_cell(ladder: Ladder, refusal: Outcome, budget: Budget) -> Outcome:
    """What is told of the true answer by fixed cells; where it alone decides, by its narrowest safe one."""
    cells = None
    if ladder.rules.simulatable or not ladder.judgeable:
        found = _cells(ladder, refusal, budget)
        if isinstance(found, Outcome):
            return found
        cells = found
    allowance = _for_true_answers(ladder.rules)
    with alone(), budget.true_answers():
        (answer,) = ladder.case.truth([ladder.query])
        for rung in ladder.rungs if cells is None else [cells.rung]:
            cell = rung.cell(answer)
            told = rung.told(cell, cell) if cells is None else cells.told(answer)
            part = ladder.part(told, allowance, cells is None, rung.width)
            if part.given:
                return Outcome("safe", (part,))
    return _known_anyway(ladder, refusal) if cells is None else Outcome("risk", (SURPRISE,))


def _cells(ladder: Ladder, refusal: Outcome, budget: Budget) -> Cells | Outcome:
    """By which cells it is told; where by none, what is known anyway, or a refusal."""
    with alone(), budget.ranges() as allowance:
        cells = ladder.narrowest(allowance)
        if cells is not None:
            return cells
        return Outcome("time", (NOTHING,)) if allowance.late else _known_anyway(ladder, refusal)


def _known_anyway(ladder: Ladder, refusal: Outcome) -> Outcome:
    """What is known anyway, which teaches nothing; else the refusal."""
    known = ladder.anyway
    return refusal if known is None else Outcome("safe", (Part((Recorded(ladder.query, 0, known),)),))


def _for_true_answers(rules: Rules) -> Allowance:
    allowance = Allowance(TRUE_ANSWER_FACTOR * rules.steps)
    allowance.end_in(TRUE_ANSWER_FACTOR * rules.seconds)
    return allowance


def _before_true_answers(
    cases: Sequence[Case], rules: Rules, allowance: Allowance, judged: Sequence[Judged]
) -> tuple[Outcome | None, list[Partition | None]]:
    """A refusal, or by case what is told of which answer: past answers and the question decide it.

    Args:
        cases: What is decided on.
        rules: The policy.
        allowance: What may be spent on hypothetical answers.
        judged: Filled with the judgements made, by case.
    """
    nothing = list[Partition | None]([None for _ in cases])
    by_partition = len(cases) == 1 and is_decided_by_partition(cases[0])
    refusal = None if by_partition else simulate(cases, rules, allowance, judged)
    if refusal is not None:
        return refusal, nothing
    told = list[Partition | None]()
    for case, known in zip(cases, judged, strict=True):
        if case.derivable:
            told.append(None)
            continue
        drawn = drawn_of(case, rules, known)
        refusal = lost_at_once(drawn, cases) if by_partition else None
        if refusal is not None:
            return refusal, nothing
        found = Partition(asked_of(drawn), CaseLooks(case, rules, allowance))
        lost = found.settle()
        if allowance.late:
            return Outcome("time", tuple(NOTHING for _ in cases)), nothing
        if not lost.safe:
            return refused_by(lost, drawn, cases), nothing
        if by_partition and not is_shown_of(drawn):
            drawn = replace(drawn, answers={each: drawn.answers[each] for each in found.among(drawn.answers)})
            refusal = by_what_is_likely(cases, drawn, set(), allowance)
            if refusal is not None:
                return refusal, nothing
        told.append(found)
    return None, told


def _new_ones(cases: Sequence[Case], led: Sequence[Following | None]) -> list[Case]:
    """What is decided on: of sums that follow from one of them that one."""
    return [case if first is None else first.case for case, first in zip(cases, led, strict=True)]


def at_once(cases: Sequence[Case], rules: Rules) -> Outcome | None:
    """The refusal that `simulate` would come to, where it is seen without any table; else None.

    Args:
        cases: What is asked, by protected column; of several columns nothing is said.
        rules: The policy.
    """
    barred = _barred(cases)
    if barred is not None or not rules.simulatable or len(cases) != 1 or not cases[0].singled_out:
        return barred
    return Outcome("risk", (Part(judgement=Judgement(False, 0, certain=True), given=False),))


def _settled(case: Case) -> Part:
    pairs = zip(case.queries, case.question().settled, strict=True)
    known = ((query, value) for query, value in pairs if value is not None)
    return Part(tuple(Recorded(query, value, exactly(value)) for query, value in known))


def _told(
    case: Case,
    partition: Partition | None,
    allowance: Allowance,
    judged: Judged,
    first: Following | None = None,
) -> Part:
    """What is told of the true answers, if everybody keeps the standard with that known."""
    values = tuple(case.truth(case.queries))
    if partition is None:  # the true answers alone decide
        return told_part(case, [exactly(value) for value in values], allowance, judged, renew=True)
    if first is not None:
        values, judged = (values[first.place],), first.judged(judged)
    told = partition.told(values)
    shown = None
    if first is None and not case.is_one_by_one:
        shown = partition.shown(values)
    part = told_part(case, told if first is None else first.told(told[0]), allowance, judged, shown=shown)
    if part.given:
        return part
    around = partition.around(values[0])
    if around is not None:
        part = told_part(case, [around] if first is None else first.told(around), allowance, judged)
        if part.given:
            return replace(part, surprise=True)
    # no figure that the true answer had a part in may leave with the refusal
    return Part(surprise=True, given=False, open=part.open)
