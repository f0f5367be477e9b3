"""What may be spent on a decision is counted in work: a clock ends it as a last resort alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from auditor.deciding.cases import Case
from auditor.deciding.decide import decide
from auditor.deciding.rules import Rules
from cae_sql import AnsweredSystem
from cae_sql.inference import solver
from cae_sql.inference.certify import evidence
from cae_sql.inference.search import judging, runs
from cae_sql.inference.standard import Effort, Standard
from tests.auditor.staff import policy
from tests.quick import some

USUAL = float(policy().decision.timeout)
"""Seconds that a policy allows unless it says otherwise."""
SIZE = 30


@dataclass
class Clock:
    """Stands still but for kernels, each call of which takes so long."""

    each: float
    now: float = 0.0
    calls: int = 0

    def __call__(self) -> float:
        return self.now

    def slowed(self, kernel: Callable[..., Any]) -> Callable[..., Any]:
        def slow(*given: Any, **named: Any) -> Any:
            self.calls += 1
            self.now += self.each
            return kernel(*given, **named)

        return slow


@contextmanager
def clock_of(each: float) -> Iterator[Clock]:
    """Kernels that take so many seconds each, as every clock here says."""
    clock = Clock(each)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "monotonic", clock)
        patch.setattr("cae_sql.inference.allowance.time", SimpleNamespace(monotonic=clock))
        patch.setattr("cae_sql.inference.allowance.waited", [0.0])
        # what is known exactly takes no time at all
        patch.setattr(judging.Search, "exactly", lambda *_: None)
        for owner, name in ((runs, "walk"), (evidence, "show"), (solver.Program, "minimise")):
            patch.setattr(owner, name, clock.slowed(getattr(owner, name)))
        yield clock


def story(rules: Rules, insiders: int) -> list[tuple[str, object]]:
    """Verdicts on ten questions, each on the answers before it, with what was judged."""
    chance = np.random.default_rng(8)
    truth = chance.integers(0, 25, SIZE)
    system, found = AnsweredSystem(SIZE, 0, 24, 1), list[tuple[str, object]]()
    standard = Standard(13, None, insiders)
    for _ in range(10):
        first = int(chance.integers(0, SIZE - 8))
        query = system.query("sum", np.arange(first, int(chance.integers(first + 5, SIZE + 1))))
        case = Case(system, [query], standard, lambda asked: [int(q.of(truth)) for q in asked], Effort())
        outcome = decide([case], rules)
        found.append((outcome.verdict, outcome.parts[0].judgement))
        if outcome.verdict == "safe":
            (told,) = outcome.parts[0].recorded
            system.accept([told.query.answered(told.value)], outcome.parts[0].learned)
    return found


@pytest.mark.parametrize("insiders", some([1, 0], 1))
def test_a_busy_machine_changes_no_verdict(insiders: int) -> None:
    rules = Rules(True, 20, 0.05, USUAL)
    with clock_of(0.0) as still:
        expected = story(rules, insiders)
    assert {verdict for verdict, _ in expected} >= {"safe"}
    # together the decisions take 55 seconds: none is beyond the last resort, and some are beyond ten seconds
    with clock_of(55.0 / still.calls) as slow:
        assert story(rules, insiders) == expected
    assert slow.calls == still.calls


@pytest.mark.slow
def test_a_clock_that_runs_ten_times_faster_or_slower_changes_no_verdict() -> None:
    rules = Rules(True, 20, 0.05, USUAL)
    with clock_of(0.0) as still:
        expected = story(rules, 1)
    usual = 5.5 / still.calls
    for rate in (0.1, 10):
        with clock_of(rate * usual):
            assert story(rules, 1) == expected


def test_past_the_last_resort_the_verdict_is_time() -> None:
    with clock_of(1.0):
        assert "time" in {verdict for verdict, _ in story(Rules(True, 20, 0.05, 0.5), 1)}


def test_work_that_is_used_up_refuses_by_risk_whatever_the_clock_says() -> None:
    with clock_of(0.0):
        verdicts = {verdict for verdict, _ in story(Rules(True, 20, 0.05, USUAL, steps=0), 1)}
    assert verdicts <= {"risk", "known"}
