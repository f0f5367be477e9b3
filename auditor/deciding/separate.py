"""Of several sums that hang on nothing together: whether the middle of what was drawn of each may be told.

What breaks the limit is told as an end, as of one sum (`one_value`). So it refuses nothing that some of many
hypothetical answers do: of four hundred groups in sixty tables there is always one. They are taken as far
inside as the closed form shows everybody's runs, and from their middle one goes outwards (`boxes`), each sum
by itself. Sums because of which even the middle fails are named, so that the others can be told without them.

Promise: everything here follows from past answers and the question.

Source: `mathematics.md`, 8.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from auditor.deciding.cases import NOTHING, Case, Drawn, Outcome, Values
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.search.judging import Judgement


def are_separate(case: Case) -> bool:
    """Whether several sums are asked, each of a component of its own."""
    if len(case.queries) < 2 or any(query.kind != "sum" for query in case.queries):
        return False
    return len(set(case.question().components)) == len(case.queries)


def inside(case: Case, answers: Iterable[Values]) -> list[Values]:
    """Hypothetical answers, each value no further out than the closed form shows everybody's runs."""
    question = case.question()
    reach = question.reach(case.standard)
    ends = [None if value is not None else each for each, value in zip(reach, question.settled, strict=True)]
    return [
        tuple(
            value if end is None else min(max(value, end[0]), end[1])
            for value, end in zip(values, ends, strict=True)
        )
        for values in answers
    ]


def of_separate_values(cases: Sequence[Case], drawn: Drawn, allowance: Allowance) -> Outcome | None:
    """A refusal where somebody would not keep the limit with the middle answers, or None.

    Args:
        cases: The one that is asked.
        drawn: Its hypothetical answers; what is judged of the middle is filled in, and of no other.
        allowance: What may be spent on it.
    """
    case, standard = drawn.case, drawn.case.standard
    question, model = case.question(), case.model_question()
    reach = question.reach(standard)
    narrow = [place for place, end in enumerate(reach) if end is not None and end[0] > end[1]]
    if narrow:
        return drawn.refuse(cases, "risk", Judgement(False, -1), None, narrow)
    found = inside(case, drawn.answers)
    middle = tuple(sorted(values)[len(found) // 2] for values in zip(*found, strict=True))
    drawn.judged.clear()
    judgement = question.judge_together([middle], standard, allowance).get(middle, Judgement(False, -1))
    likely = None if model is None or not judgement.safe else model.judge(middle, allowance)
    if allowance.late:
        return Outcome("time", tuple(NOTHING for _ in cases))
    if not judgement.safe:
        return drawn.refuse(cases, "risk", judgement, None, question.open)
    if likely is not None and model is not None and not likely.safe:
        return drawn.refuse(cases, "risk" if likely.counted else "uncounted", judgement, likely, model.open)
    drawn.judged[middle] = judgement
    return None
