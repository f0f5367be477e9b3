"""Of one sum: which hypothetical answers, next to each other, are told exactly. The others refuse nothing.

What breaks the limit can be told as an end. So some answers next to each other are enough, and how many
others there are is of no account: where the true one lies among those an end is told (`partition`).

MAX, MIN and small systems, where searches go to the limit, are not decided so, nor are large ones. It was
tried: an end of many values was not always shown to be safe once it was looked at, and that refusal said on
which side the answer lies (`tests/attacks/test_ends.py`).

By what is made likely more than a few that fail refuse, as where several values are asked at once. Leverage
hardly hangs on answers, and the posterior is an approximation: where some answers would break the limit the
others are near it. (Looked for around those that keep it, stars went on until exact posteriors were beyond:
0.502 in place of 0.5.)

Promise: everything here follows from past answers and the question.

Source: `mathematics.md`, 7 and 8.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING

from auditor.deciding.cases import NOTHING, Case, Drawn, Outcome, Values
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.search.judging import Judgement
from cae_sql.inference.tables.large_pool import LargePool

if TYPE_CHECKING:
    from cae_sql.inference.posterior.judging import ModelQuestion
    from cae_sql.inference.posterior.keeping import LikelyQuestion

MARGIN = 0.25
"""How far the answer to a sum stays inside of what breaks the limit, as a part of what a record and an
insider need together. Without it how much of a day is answered hangs on whether some early group is told
right at its limit: on the ACS day 87 to 151 groups, for small changes of how answers are looked at, and up to
16 surprises. With 0.1, 0.25 and 0.5: 132, 135 and 134 groups, and 2, 0 and 0 surprises."""


def is_one_sum(case: Case) -> bool:
    """Whether a single sum is asked of a system that is neither small nor large.

    Of more than 5,000 records hypothetical answers are judged together as before: around the middle the Adult
    day had 32 statements in full in place of 43.
    """
    question = case.question()
    middling = not question.searchable and not isinstance(question.pool, LargePool)
    return middling and [query.kind for query in case.queries] == ["sum"]


def margin_of(case: Case) -> int:
    """How far inside of what breaks the limit the answers to one sum stay, in units.

    An answer at the limit leaves its group just so much that everybody can be shown once more, and not when
    later questions have cut it. In small systems searches find what there is, and of groups that hang on
    nothing together all is told that may be: of 60 groups of 12 with 25 values 37 to 45 exactly of 39 to 46,
    with a margin 24 to 30, and of three days as much as with one.
    """
    standard = case.standard
    one_sum = not case.question().searchable and [query.kind for query in case.queries] == ["sum"]
    if not (one_sum and case.system.ways.margin):
        return 0
    return ceil(MARGIN * (standard.need + (int(case.system.grid.top) if standard.insiders else 0)))


def of_one_value(cases: Sequence[Case], drawn: Drawn, allowance: Allowance) -> Outcome | None:
    """A refusal where no hypothetical answers next to each other keep the limit, or None.

    Args:
        cases: The one that is asked.
        drawn: Its hypothetical answers; what is judged of them is filled in.
        allowance: What may be spent on it.
    """
    case, answers, judged = drawn.case, drawn.answers, drawn.judged
    question = case.question()
    order = sorted(answers)
    for values in order:
        lost = question.certainly_lost(values, answers[values], case.standard)
        if lost is None and question.out_of_reach(values, answers[values], case.standard):
            lost = Judgement(False, -1)
        if lost is not None:
            judged[values] = lost
    found = _next_to_each_other(order, answers, lambda values: values not in judged)
    if not found:
        return drawn.refuse(cases, "risk", judged[order[0]])
    case.effort.regain()
    judged.update(question.judge_middle(found, case.standard, allowance))
    _keep_apart(drawn, found, allowance)
    if allowance.late:
        # how far a search had come when time was over is no figure of the risk
        return Outcome("time", tuple(NOTHING for _ in cases))
    found = _next_to_each_other(found, answers, lambda values: _safe(judged.get(values)))
    if not found:
        failed = [judged[values] for values in order if values in judged and not judged[values].safe]
        return drawn.refuse(cases, "risk", failed[0] if failed else Judgement(False, -1))
    return _likely_of_one_value(cases, drawn, found, allowance)


def _safe(judgement: Judgement | None) -> bool:
    return judgement is not None and judgement.safe


def _keep_apart(drawn: Drawn, order: Sequence[Values], allowance: Allowance) -> None:
    """Unlearn what was shown if it has less than the margin to both sides."""
    case, judged = drawn.case, drawn.judged
    question, margin = case.question(), margin_of(case)
    shown = [values[0] for values in order if _safe(judged.get(values))]
    if not shown:
        return
    least, most = case.system.possible(case.queries[0])
    middle = shown[len(shown) // 2]
    for candidate in (max(least, middle - margin), min(most, middle + margin)):
        if not shown[0] <= candidate <= shown[-1]:
            judgement = question.judge_around_table((candidate,), case.standard, allowance)
            if not _safe(judgement):
                for value in shown:
                    judged[(value,)] = Judgement(False, -1)
                return


def _likely_of_one_value(
    cases: Sequence[Case], drawn: Drawn, order: Sequence[Values], allowance: Allowance
) -> Outcome | None:
    """The same by what is made likely, of answers that pass by what is excluded."""
    case, judged = drawn.case, drawn.judged
    model, broken, unknown = case.model_question(), set[int](), set[int]()
    if model is None:
        return None
    for side in sides(model, order, allowance):
        for values in side:
            likely = model.judge(values, allowance)
            if allowance.late:
                return Outcome("time", tuple(NOTHING for _ in cases))
            if likely.safe:
                break  # and with it those that are nearer to the middle
            worlds, excluded = drawn.answers[values], judged[values]
            broken |= set(worlds)
            unknown |= set() if likely.counted else set(worlds)
            judged[values] = Judgement(False, -1)
            if len(broken) > drawn.allowed:
                of_risk = len(broken - unknown) > drawn.allowed
                return drawn.refuse(cases, "risk" if of_risk else "uncounted", excluded, likely)
    kept = _next_to_each_other(order, drawn.answers, lambda values: judged[values].safe)
    for values in order:
        if values not in kept and judged[values].safe:
            del judged[values]
    return None if kept else drawn.refuse(cases, "risk", Judgement(False, -1))


def _next_to_each_other(
    order: Sequence[Values],
    worlds: Mapping[Values, Sequence[int]],
    passes: Callable[[Values], bool],
) -> list[Values]:
    """Answers in ascending order that pass and have none between them that does not: those of most worlds."""
    runs: list[list[Values]] = [[]]
    for values in order:
        if passes(values):
            runs[-1].append(values)
        elif runs[-1]:
            runs.append([])
    runs = [run for run in runs if run] or [[]]
    return max(runs, key=lambda run: sum(len(worlds[values]) for values in run))


def sides(
    model: ModelQuestion | LikelyQuestion, answers: Sequence[tuple[int, ...]], allowance: Allowance
) -> Sequence[Sequence[tuple[int, ...]]]:
    """In which order answers are looked at: of each of these lists no further than the first that is safe."""
    order, half = sorted(answers, key=sum), len(answers) // 2
    ends = [[each] for each in (order[0], order[-1])] if order else []
    # the least and the greatest first: where both keep the limit nothing between them is looked at
    if all(model.judge(each, allowance).safe for (each,) in ends) and model.smooth:
        return ends
    # whether answers between two may be left out is known once one was judged
    if not order or not model.judge(order[half], allowance).safe or not model.smooth:
        return [[each] for each in answers]
    return [order[:half], order[:half:-1]]
