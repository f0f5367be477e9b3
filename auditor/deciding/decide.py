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

Protected columns are independent systems. Of a statement that reads several, all hypothetical answers about
all of them are judged before one true answer is looked at, and one column that is not safe refuses it whole.

Source: `mathematics.md`, 4 and 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from auditor.deciding import statistics
from auditor.deciding.cases import NOTHING, Case, Judged, Outcome, Part, Values
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
from auditor.deciding.ladder import Cells, is_on_a_ladder, known_range, narrowest, rungs
from auditor.deciding.looks import LOOK, CaseLooks
from auditor.deciding.partition import Partition
from auditor.deciding.recorded import Recorded, recorded_together
from auditor.deciding.rules import TRUE_ANSWER_FACTOR, Budget, Rules
from auditor.told import Told, exactly
from cae_sql.errors import InconsistentAnswers, OutOfTime
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.search.judging import Judgement
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
    if statistics.is_statistic(cases):
        return statistics.decide(cases, rules, Budget(rules) if budget is None else budget)
    ranges = ranges and is_on_a_ladder(cases)
    refusal = at_once(cases, rules)
    if refusal is not None and not ranges:
        return refusal
    budget = Budget(rules) if budget is None else budget
    judged: list[Judged] = [{} for _ in cases]
    told: list[Partition | Cells | None] = [None for _ in cases]
    led: list[Following | None] = [None for _ in cases]
    if refusal is None:
        with alone(), budget as allowance:
            if all(case.derivable for case in cases):
                return Outcome("known", tuple(map(_settled, cases)))
            if rules.simulatable:
                led = [following(case) for case in cases]
                refusal, told = _before_true_answers(_new_ones(cases, led), rules, allowance, judged)
    if refusal is not None:
        found = cells_for(cases, refusal, rules, budget) if ranges else None
        if isinstance(found, Told):
            return Outcome("safe", (Part((Recorded(cases[0].queries[0], 0, found),)),))
        if found is None:
            return refusal
        told = [found]
    if rules.simulatable:
        allowance = Allowance(TRUE_ANSWER_FACTOR * rules.steps)
        allowance.end_in(TRUE_ANSWER_FACTOR * rules.seconds)
    with alone(), budget.true_answers():
        parts = [
            _settled(case)
            if refusal is None and case.derivable
            else _told(case, each, allowance, known, ranges, first)
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


def foresee(cases: Sequence[Case], rules: Rules, budget: Budget, ranges: bool = False) -> Outcome | None:
    """What `decide` would refuse before it looks at any true answer, or None. As `decide`."""
    if statistics.is_statistic(cases):
        return statistics.foresee(cases, rules, budget)
    with alone(), budget as allowance:
        new = _new_ones(cases, [following(case) for case in cases])
        refusal, _ = _before_true_answers(new, rules, allowance, [{} for _ in cases])
    if refusal is None or not ranges or not is_on_a_ladder(cases):
        return refusal
    return refusal if cells_for(cases, refusal, rules, budget) is None else None


def _before_true_answers(
    cases: Sequence[Case], rules: Rules, allowance: Allowance, judged: Sequence[Judged]
) -> tuple[Outcome | None, list[Partition | Cells | None]]:
    """A refusal, or by case what is told of which answer: past answers and the question decide it.

    Args:
        cases: What is decided on.
        rules: The policy.
        allowance: What may be spent on hypothetical answers.
        judged: Filled with the judgements made, by case.
    """
    nothing = list[Partition | Cells | None]([None for _ in cases])
    by_partition = len(cases) == 1 and is_decided_by_partition(cases[0])
    refusal = None if by_partition else simulate(cases, rules, allowance, judged)
    if refusal is not None:
        return refusal, nothing
    told = list[Partition | Cells | None]()
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


def cells_for(
    cases: Sequence[Case], refusal: Outcome, rules: Rules, budget: Budget
) -> Cells | Told[int] | None:
    """What a sum is told by, where its exact value is refused: cells, or what is known of it anyway.

    None where there are neither. A refusal that the clock decided stays one.
    """
    if refusal.verdict == "time":
        return None
    with alone(), budget.ranges() as allowance:
        found = narrowest(cases[0], rules, allowance)
        if found is not None or allowance.late:
            return found
        # of its own: it takes little, and the cells may have used all up
        least = Allowance(LOOK * rules.steps)
        least.end_in(allowance.seconds)
        return known_range(cases[0], least)


def at_once(cases: Sequence[Case], rules: Rules) -> Outcome | None:
    """The refusal that `simulate` would come to, where it is seen without any table; else None.

    Args:
        cases: What is asked, by protected column; of several columns nothing is said.
        rules: The policy.
    """
    if not rules.simulatable or len(cases) != 1 or not cases[0].singled_out:
        return None
    return Outcome("risk", (Part(judgement=Judgement(False, 0, certain=True), given=False),))


def _settled(case: Case) -> Part:
    pairs = zip(case.queries, case.question().settled, strict=True)
    known = ((query, value) for query, value in pairs if value is not None)
    return Part(tuple(Recorded(query, value, exactly(value)) for query, value in known))


def _told(
    case: Case,
    partition: Partition | Cells | None,
    allowance: Allowance,
    judged: Judged,
    ranges: bool,
    first: Following | None = None,
) -> Part:
    """What is told of the true answers, if everybody keeps the standard with that known."""
    values = tuple(case.truth(case.queries))
    if partition is None:  # the true answers alone decide
        part = _recorded(case, [exactly(value) for value in values], allowance, judged, renew=True)
        for rung in rungs(case) if ranges and not part.given else ():
            cell = rung.told(exactly(rung.cell(values[0])))
            part = _recorded(case, [cell], allowance, judged, renew=True)
            if part.given:
                break
        return part
    if first is not None:
        values, judged = (values[first.place],), first.judged(judged)
    told = partition.told(values)
    shown = None
    if isinstance(partition, Partition) and first is None and not case.question().searchable:
        shown = partition.shown(values)
    part = _recorded(case, told if first is None else first.told(told[0]), allowance, judged, shown=shown)
    if part.given:
        return part
    around = partition.around(values[0])
    if around is not None:
        part = _recorded(case, [around] if first is None else first.told(around), allowance, judged)
        if part.given:
            return replace(part, surprise=True)
    # no figure that the true answer had a part in may leave with the refusal
    return Part(surprise=True, given=False, open=part.open)


def _recorded(
    case: Case, told: Sequence[Told[int] | None], allowance: Allowance, judged: Judged, renew: bool = False,
    shown: Values | None = None,
) -> Part:  # fmt: skip
    """What is told as the system is to know it, if everybody keeps the standard then.

    Args:
        case: What is asked.
        told: What is told of each answer.
        allowance: What may be spent on it.
        judged: What is known of exact answers.
        renew: As `Question.judge_true`.
        shown: Exact answers that what is told leaves: every table that gives them agrees with it, so that
            what is shown of them is shown of it.
    """
    found = recorded_together(case.system, case.queries, told)
    if found is None:
        return NOTHING
    exact = judged.get(tuple(shown)) if shown is not None else None
    if shown is not None and exact is None:
        exact = case.question().judge_true(shown, case.standard, allowance)
    asked, case = case.queries, replace(case, queries=[one.query for one in found])
    question, values, model = case.question(), tuple(one.value for one in found), case.model_question()
    judgement = judged.get(values) if all(one.told.exact for one in found) else None
    if exact is not None and exact.safe:
        judgement = exact
    if judgement is None:
        judgement = question.judge_true(values, case.standard, allowance, renew=renew)
    safe, likely = judgement is None or judgement.safe, None
    if safe and model is not None:
        likely = model.judge(values, allowance, keep=renew)
        safe = likely.safe
    try:
        if safe:
            learned = question.learn(values, allowance)
    except (OutOfTime, InconsistentAnswers):
        return NOTHING  # it is true, so a table agrees with it: the search was not good enough
    if safe and judgement is None:
        judgement = learned.judge(case.standard, allowance)
        safe = judgement.safe
    if safe:
        return Part(tuple(found), learned, judgement, likely)
    places = question.open if likely is None or model is None else model.open
    open_ = tuple(asked[place] for place in places)
    return Part(judgement=judgement, model=likely, given=False, open=open_)
