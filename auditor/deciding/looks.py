"""One candidate, judged as if it were told, with an allowance of its own: how many it takes may hang on the
true answer, and nothing that judging one finds is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from auditor.deciding.cases import Case, Values
from auditor.deciding.recorded import recorded_together
from auditor.deciding.rules import Rules
from auditor.told import Told
from cae_sql.errors import InconsistentAnswers, OutOfTime
from cae_sql.inference.allowance import Allowance

LOOK = 0.5
"""Part of a decision's work that may be spent on one candidate."""


@dataclass(frozen=True)
class Look:
    """What a look at one candidate came to."""

    safe: bool
    """Whether everybody is shown to keep the limit."""
    open: tuple[int, ...] = ()
    """Places of the queries because of which not, as far as that is known."""


def look(case: Case, told: Sequence[Told[int]], rules: Rules) -> Look:
    """Whether everybody is shown to keep the limit with this told of the queries, values and ends.

    An end's tables are more than those of the exact answer there, and still it is looked at as what it is:
    what is not shown of it now would not be shown later, when its true answer is known, or more is asked.
    """
    found = recorded_together(case.system, case.queries, told)
    if found is None:
        return Look(False)
    case = replace(case, queries=[each.query for each in found])
    values, allowance, model = tuple(each.value for each in found), _allowance(rules), case.model_question()
    if not is_not_excluded_by(case, values, allowance):
        return Look(False, tuple(case.question().open))
    if model is None or model.judge(values, allowance, keep=False).safe:
        return Look(True)
    return Look(False, tuple(model.open))


def is_not_excluded_by(case: Case, values: Values, allowance: Allowance) -> bool:
    """The same by what is excluded alone."""
    question, standard = case.question(), case.standard
    judgement = question.judge_true(values, standard, allowance)
    try:
        if judgement is None:
            judgement = question.learn(values, allowance).judge(standard, allowance)
    except (OutOfTime, InconsistentAnswers):
        return False
    return judgement.safe


def _allowance(rules: Rules) -> Allowance:
    allowance = Allowance(LOOK * rules.steps)
    allowance.end_in(rules.seconds)
    return allowance
