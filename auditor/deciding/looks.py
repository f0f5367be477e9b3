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


def end_is_kept_by(case: Case, told: Told[int], exact: bool, rules: Rules) -> bool:
    """Whether everybody is shown to keep the limit with an end of a single query told.

    Args:
        case: What is asked.
        told: The end.
        exact: Whether that was shown of the answer at the end itself.
        rules: The policy.
    """
    found = recorded(case.system, case.queries[0], told)
    if found is None:
        return False
    ended, values, allowance = replace(case, queries=[found.query]), (found.value,), _allowance(rules)
    if not (exact and leaves_more(case)) and not is_not_excluded_by(ended, values, allowance):
        return False
    likely = ended.model_question()
    return likely is None or likely.judge(values, allowance, keep=False).safe


def leaves_more(case: Case) -> bool:
    """Whether whatever was shown of an exact answer is shown of the end that is told from there on.

    All tables that give the answer are among those that the end leaves, so who keeps a run keeps it. To an
    insider it was shown for all values of his box, which is as wide: but not where pairs are searched one by
    one, for those values alone that he can have with the exact answer.
    """
    return not case.standard.insiders or not case.question().searchable


def _allowance(rules: Rules) -> Allowance:
    allowance = Allowance(LOOK * rules.steps)
    allowance.end_in(rules.seconds)
    return allowance
