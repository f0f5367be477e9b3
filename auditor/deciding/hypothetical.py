"""Does everybody keep the limit with hypothetical answers? The part of a decision that knows no true one.

Of several values at once more than δN failures refuse; of one value see `one_value`, of several that hang on
nothing together `separate`.

Source: `mathematics.md`, 4 and 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from auditor.deciding.cases import NOTHING, Case, Drawn, Judged, Outcome
from auditor.deciding.one_value import is_one_sum, of_one_value, sides
from auditor.deciding.rules import Rules
from auditor.deciding.separate import are_separate, of_separate_values
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.search.judging import Judgement
from cae_sql.threads import alone


@alone()
def simulate(
    cases: Sequence[Case], rules: Rules, allowance: Allowance, judged: Sequence[Judged] | None = None
) -> Outcome | None:
    """The part of a decision that knows nothing of the true answers: a refusal, or None.

    Args:
        cases: What is asked, by protected column.
        rules: The policy.
        allowance: What may be spent on it.
        judged: Filled with the judgements made, by case.
    """
    drawn = []
    for place, case in enumerate(cases):
        question = case.question()
        if not question.derivable:
            answers = question.hypothetical(rules.worlds)
            allowed = int(rules.delta * sum(len(worlds) for worlds in answers.values()) + 1e-9)
            drawn.append(Drawn(place, case, answers, allowed, {} if judged is None else judged[place]))
    if len(cases) == 1 and drawn and is_one_sum(cases[0]):
        return of_one_value(cases, drawn[0], allowance)
    if len(cases) == 1 and drawn and are_separate(cases[0]):
        return of_separate_values(cases, drawn[0], allowance)
    broken = set[int]()
    # what costs least first: where bounds make a refusal certain, nothing is searched for
    for step in (_by_what_is_certain, _by_what_is_excluded, by_what_is_likely):
        for each in drawn:
            refusal = step(cases, each, broken, allowance)
            if refusal is not None:
                return refusal
    return None


def _by_what_is_certain(
    cases: Sequence[Case], drawn: Drawn, broken: set[int], _: Allowance
) -> Outcome | None:
    """Fail the answers of which bounds say that a judgement could only fail them."""
    question, standard = drawn.case.question(), drawn.case.standard
    for values, worlds in drawn.answers.items():
        judgement = question.certainly_lost(values, worlds, standard)
        if judgement is None:
            continue
        drawn.judged[values] = judgement
        broken |= set(worlds)
        if len(broken) > drawn.allowed:
            return drawn.refuse(cases, "risk", judgement)
    return None


def _by_what_is_excluded(
    cases: Sequence[Case], drawn: Drawn, broken: set[int], allowance: Allowance
) -> Outcome | None:
    case, known = drawn.case, drawn.judged
    question = case.question()
    case.effort.regain()
    spared = drawn.allowed - len(broken)
    open_ = [values for values in drawn.answers if values not in known]
    known.update(question.judge_together(open_, case.standard, allowance, spared))
    # of several columns, or with a model, others may break the limit in worlds that are not looked at here
    alone = len(cases) == 1 and case.model is None
    waiting = {world for worlds in drawn.answers.values() for world in worlds}
    # what is known to fail first: too many of those, and nobody needs to look at the others
    for values, worlds in sorted(drawn.answers.items(), key=lambda each: each[0] not in known):
        judgement = known.get(values)
        if judgement is None:
            judgement = known[values] = question.judge(values, worlds, case.standard, allowance, case.effort)
        # the n-th world of each column together are one hypothetical table
        broken |= set() if judgement.safe else set(worlds)
        if allowance.late:
            # how far a search had come when time was over is no figure of the risk
            return Outcome("time", tuple(NOTHING for _ in cases))
        if len(broken) > drawn.allowed:
            return drawn.refuse(cases, "risk", judgement)
        waiting -= set(worlds)
        if alone and len(broken | waiting) <= drawn.allowed:
            return None  # whatever is shown of the others
    return None


def by_what_is_likely(
    cases: Sequence[Case], drawn: Drawn, broken: set[int], allowance: Allowance
) -> Outcome | None:
    """Fail the answers that break the limit by what they make likely, of those that no other step failed.

    Args:
        cases: All that a refusal is about.
        drawn: The answers; what is judged of them is filled in.
        broken: The worlds of which some answer fails; filled in too.
        allowance: What may be spent on it.

    Returns:
        A refusal where too many fail.
    """
    model, unknown = drawn.case.model_question(), set[int]()
    if model is None:
        return None
    passed = sorted(values for values, worlds in drawn.answers.items() if not broken.issuperset(worlds))
    for side in sides(model, passed, allowance):
        for values in side:
            likely, excluded = model.judge(values, allowance), drawn.judged.get(values)
            if allowance.late:
                return Outcome("time", tuple(NOTHING for _ in cases))
            if likely.safe:
                break  # and with it those that are nearer to the middle
            worlds = drawn.answers[values]
            broken |= set(worlds)
            drawn.judged[values] = Judgement(False, -1)
            unknown |= set() if likely.counted else set(worlds)
            if len(broken) > drawn.allowed:
                verdict: Literal["risk", "uncounted"] = (
                    "risk" if len(broken - unknown) > drawn.allowed else "uncounted"
                )
                return drawn.refuse(cases, verdict, excluded, likely)
    return None
