"""A candidate that fails says because of which queries: by the judgement that failed, and no other."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from auditor.deciding import looks
from auditor.deciding.cases import Case
from auditor.deciding.looks import CaseLooks
from auditor.deciding.rules import Rules
from auditor.told import exactly
from cae_sql.inference.certify.question import Question
from cae_sql.inference.standard import Effort, Judgement, Standard
from cae_sql.inference.system import AnsweredSystem


@pytest.mark.parametrize(
    ("excluded", "likely", "found"),
    [(True, True, (0,)), (True, False, (0,)), (False, False, (1,)), (False, True, None)],
)
def test_names_are_those_of_the_judgement_that_failed(
    excluded: bool, likely: bool, found: tuple[int, ...] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables that leave somebody open together show everybody: what one of them leaves open is no name."""
    system = AnsweredSystem(60, 0, 9, 1)
    queries = [system.query("sum", np.arange(20)), system.query("sum", np.arange(20, 40))]
    model = SimpleNamespace(
        judge=lambda *_, **__: SimpleNamespace(safe=likely), open=[1], question=lambda _: model
    )
    case: Any = Case(system, queries, Standard(5), lambda _: [], Effort(), model)  # type: ignore[arg-type]
    monkeypatch.setattr(looks, "judged", lambda *_: Judgement(not excluded, 0))
    monkeypatch.setattr(Question, "open", property(lambda _: [0]))
    looks_at, told = CaseLooks(case, Rules(True, 20, 0.0, 60.0)), [exactly(90), exactly(90)]
    seen = looks_at.bounds(told)
    seen = looks_at.likely(told, keep=False) if seen.safe else seen
    assert (seen.safe, seen.open) == (found is None, found or ())
