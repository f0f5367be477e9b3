"""How a decision goes about it; what it decides is tested where it is asked."""

from __future__ import annotations

import time

import numpy as np
import pytest

from auditor.deciding import Case, Rules, simulate
from cae_sql.inference.judging import Judgement, Standard
from cae_sql.inference.runs import Effort
from cae_sql.inference.system import AnsweredSystem
from cae_sql.inference.trial import Trial


@pytest.mark.parametrize(("seconds", "verdict"), [(0.5, "time"), (60.0, None)])
def test_a_decision_that_will_not_end_in_time_is_not_waited_for(
    seconds: float, verdict: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = list[object]()

    def slowly(_: Trial, values: object, *rest: object) -> Judgement:
        judged.append(values)
        time.sleep(0.1)
        return Judgement(True, 9)

    monkeypatch.setattr(Trial, "judge", slowly)
    monkeypatch.setattr(Trial, "judge_together", lambda *_: {})
    system = AnsweredSystem(30, 0, 9, 1)
    case = Case(system, [system.query("sum", np.arange(20))], Standard(9), lambda _: [90], Effort())
    answers = len(case.trial().hypothetical(20))
    assert answers > 12
    outcome = simulate([case], Rules(True, 20, 0.05, seconds), time.monotonic() + seconds)
    assert (outcome and outcome.verdict) == verdict
    assert len(judged) <= 3 if verdict else len(judged) == answers
    if outcome is not None:
        assert outcome.parts[0].judgement is None
