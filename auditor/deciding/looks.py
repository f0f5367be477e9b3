"""One candidate, judged as if it were told, with an allowance of its own: how many it takes may hang on the
true answer, and nothing that judging one finds is kept.
"""

from __future__ import annotations

from dataclasses import replace

from auditor.deciding.cases import Case, Values
from auditor.deciding.recorded import recorded
from auditor.deciding.rules import Rules
from auditor.told import Told
from cae_sql.errors import InconsistentAnswers, OutOfTime
from cae_sql.inference.allowance import Allowance

LOOK = 0.5
"""Part of a decision's work that may be spent on one candidate."""


def is_kept_by(case: Case, values: Values, rules: Rules) -> bool:
    """Whether everybody is shown to keep the limit with these answers."""
    allowance, model = _allowance(rules), case.model_question()
    return is_not_excluded_by(case, values, allowance) and (
        model is None or model.judge(values, allowance, keep=False).safe
    )


def suspects_of(case: Case) -> list[int]:
    """Components of queries because of which the last answers were not kept, as far as that is known."""
    question, model = case.question(), case.model_question()
    places = question.open or ([] if model is None else model.open)
    return [question.components[place] for place in places]


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


def end_is_kept_by(case: Case, told: Told[int], rules: Rules) -> bool:
    """Whether everybody is shown to keep the limit with an end of a single query told.

    Its tables are more than those of the exact answer there, and still it is looked at as what it is: what is
    not shown of it now would not be shown later, when its true answer is known, or when more is asked.
    """
    found = recorded(case.system, case.queries[0], told)
    return found is not None and is_kept_by(replace(case, queries=[found.query]), (found.value,), rules)


def _allowance(rules: Rules) -> Allowance:
    allowance = Allowance(LOOK * rules.steps)
    allowance.end_in(rules.seconds)
    return allowance
