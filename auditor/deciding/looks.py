"""Whether everybody keeps the limit with something told: one answer or bound, looked at with an allowance of
its own, since how many are looked at may hang on the true answer.

Source: `mathematics.md`, 4, 7 and 8.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from auditor.deciding.cases import NOTHING, Case, Judged, Look, Part, Values
from auditor.deciding.recorded import recorded_together
from auditor.deciding.rules import Rules
from auditor.told import Told
from cae_sql.errors import InconsistentAnswers, OutOfTime
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.standard import Judgement

LOOK = 0.5
"""Part of a decision's work that may be spent on one candidate."""


class CaseLooks:
    """Looks at what may be told of a case. As `partition.Looks`."""

    def __init__(self, case: Case, rules: Rules, allowance: Allowance | None = None) -> None:
        """Look at nothing yet.

        Args:
            case: What is asked.
            rules: The policy.
            allowance: Pays for what hangs on no true answer; by default nothing is counted.
        """
        self._case, self._rules, self._paid_by = case, rules, allowance

    def excluded(self, values: Values, keep: bool) -> Look:
        """Whether exact answers exclude too little to break the limit."""
        question = self._case.question()
        with self._allowance(keep) as allowance:
            found = judged(self._case, values, allowance, keep and not self._case.is_one_by_one)
        return Look(found.safe, () if found.safe else tuple(question.open), found)

    def together(self, answers: Sequence[Values]) -> bool:
        """The same of several answers and all between them, in one look, where everybody is looked at."""
        question, answers = self._case.question(), list(dict.fromkeys(answers))
        if self._case.is_one_by_one or any(query.kind != "sum" for query in self._case.queries):
            return False
        with self._allowance(keep=True) as allowance:
            found = question.judge_together(answers, self._case.standard, allowance)
        return all(values in found and found[values].safe for values in answers)

    def bounds(self, told: Sequence[Told[int]]) -> Look:
        """The same of bounds."""
        case = self._recorded(told)
        if case is None:
            return Look(False)
        return CaseLooks(case[0], self._rules).excluded(case[1], keep=False)

    def likely(self, told: Sequence[Told[int]], keep: bool) -> Look:
        """Whether answers, or bounds, make nothing too likely."""
        case = self._recorded(told)
        model = None if case is None else case[0].model_question()
        if case is None or model is None:
            return Look(case is not None)
        with self._allowance(keep) as allowance:
            found = model.judge(case[1], allowance, keep=keep)
        return Look(found.safe, () if found.safe else tuple(model.open), None, found, told)

    def within(self, told: Told[int], allowance: Allowance, keep: bool) -> Look:
        """By both, of a range of a single query, for what an allowance has."""
        case = self._recorded([told])
        if case is None:
            return Look(False)
        asked, values = case
        judgement = judged(asked, values, allowance, keep and not asked.is_one_by_one)
        model = asked.model_question() if judgement.safe else None
        likely = None if model is None else model.judge(values, allowance, keep=keep)
        return Look(judgement.safe and (likely is None or likely.safe), (), judgement, likely)

    def _recorded(self, told: Sequence[Told[int]]) -> tuple[Case, Values] | None:
        found = recorded_together(self._case.system, self._case.queries, told)
        if found is None:
            return None
        return replace(self._case, queries=[each.query for each in found]), tuple(
            each.value for each in found
        )

    @contextmanager
    def _allowance(self, keep: bool) -> Iterator[Allowance]:
        """What one look may spend."""
        payer, steps = self._paid_by if keep else None, LOOK * self._rules.steps
        allowance = Allowance(steps if payer is None else min(steps, payer.steps))
        steps = allowance.steps
        allowance.end_in(self._rules.seconds if payer is None else payer.seconds)
        yield allowance
        if payer is not None:
            payer.spend(steps - allowance.steps)


def judged(case: Case, values: Values, allowance: Allowance, keep: bool = False) -> Judgement:
    """How everybody fares by what exact answers exclude, which no hypothetical table may give."""
    question, standard = case.question(), case.standard
    judgement = question.judge_true(values, standard, allowance, keep)
    try:
        if judgement is None:
            judgement = question.learn(values, allowance).judge(standard, allowance)
    except (OutOfTime, InconsistentAnswers):
        return Judgement(False, -1)
    return judgement


def told_part(
    case: Case, told: Sequence[Told[int] | None], allowance: Allowance, judged: Judged, renew: bool = False,
    shown: Values | None = None,
) -> Part:  # fmt: skip
    """What is told as the system is to know it, if everybody keeps the standard then.

    Args:
        case: What is asked.
        told: What is told of each answer.
        allowance: What may be spent on it.
        judged: What is known of exact answers.
        renew: As `Question.judge_true`, and `wide`: where the true answers alone decide.
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
        judgement = question.judge_true(values, case.standard, allowance, renew, wide=renew)
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
