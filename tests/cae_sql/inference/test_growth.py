"""Ledgers that grow: after every answer the worlds agree with all of them and what is known only narrows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from cae_sql import AnsweredSystem
from cae_sql.errors import InconsistentAnswers
from tests.quick import share

from .oracles import Asked, Ints

NEAR = 1e-7


def add(system: AnsweredSystem, asked: Asked, truth: Ints) -> None:
    members = list(asked.members)
    picked = truth[members]
    if asked.kind == "sum":
        system.add_sum(members, int(picked.sum()))
    elif asked.kind == "mean":
        system.add_mean(members, float(picked.mean()))
    else:
        getattr(system, f"add_{asked.kind}")(members, int(getattr(picked, asked.kind)()))


def ledger(seed: int, length: int) -> tuple[Ints, list[Asked]]:
    """A table of 60 records with three public attributes, and aggregates over conjunctions of conditions."""
    rng = np.random.default_rng(seed)
    public = np.column_stack([rng.integers(0, 2, 60), rng.integers(0, 4, 60), rng.integers(0, 10, 60)])
    asked: list[Asked] = []
    while len(asked) < length:
        low, wide = int(rng.integers(0, 9)), int(rng.integers(1, 6))
        chosen = (public[:, 2] >= low) & (public[:, 2] < low + wide)
        if rng.random() < 0.6:
            chosen &= public[:, 1] == rng.integers(0, 4)
        if rng.random() < 0.3:
            chosen &= public[:, 0] == rng.integers(0, 2)
        members = np.flatnonzero(chosen)
        kind = str(rng.choice(["sum", "sum", "sum", "mean", "max", "min"]))
        if len(members) >= 4:
            asked.append(Asked(kind, tuple(int(i) for i in members)))
    return rng.integers(0, 25, 60), asked


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_after_forty_answers_worlds_still_agree_with_every_answer(seed: int) -> None:
    truth, asked = ledger(seed, 40)
    system = AnsweredSystem(60, 0, 24, 1)
    before = system.bounds()
    for number, one in enumerate(asked):
        add(system, one, truth)
        worlds = np.asarray(system.worlds(6, seed=number))
        assert ((worlds >= 0) & (worlds <= 24)).all()
        for past in asked[: number + 1]:
            assert (past.of(worlds) == past.of(truth)).all(), past
        after = system.bounds()
        assert ((after.lower <= truth + NEAR) & (truth <= after.upper + NEAR)).all()
        assert ((after.lower <= worlds + NEAR) & (worlds <= after.upper + NEAR)).all()
        assert (after.lower >= before.lower - NEAR).all()
        assert (after.upper <= before.upper + NEAR).all()
        before = after


@pytest.mark.slow
def test_certified_runs_stay_inside_intervals_that_only_narrow() -> None:
    truth, asked = ledger(3, 24)
    system = AnsweredSystem(60, 0, 24, 1)
    before = system.bounds()
    for number, one in enumerate(asked):
        add(system, one, truth)
        if number % 4 == 3:
            found, after = system.certified(), system.bounds()
            assert (found.lower <= found.upper).all()
            for bounds in (before, after):
                assert (found.lower >= bounds.lower - NEAR).all()
                assert (found.upper <= bounds.upper + NEAR).all()
            before = after


def test_worlds_asked_for_after_each_answer_or_only_at_the_end_both_agree() -> None:
    truth, asked = ledger(4, 15)
    late = AnsweredSystem(60, 0, 24, 1)
    for one in asked:
        add(late, one, truth)
    worlds = np.asarray(late.worlds(6))
    for one in asked:
        assert (one.of(worlds) == one.of(truth)).all()


def test_a_bad_answer_among_good_ones_leaves_the_pool_as_it_was() -> None:
    truth, asked = ledger(5, 12)
    system = AnsweredSystem(60, 0, 24, 1)
    for number, one in enumerate(asked):
        add(system, one, truth)
        system.worlds(2)
        if one.kind == "sum":
            with pytest.raises(InconsistentAnswers):
                system.add_sum(list(one.members), int(one.of(truth)) + 1)
        worlds = np.asarray(system.worlds(4, seed=number))
        for past in asked[: number + 1]:
            assert (past.of(worlds) == past.of(truth)).all()


class Ledger(RuleBasedStateMachine):
    """Any order of answers, worlds and certificates over eight records."""

    @initialize(truth=st.lists(st.integers(0, 6), min_size=8, max_size=8))
    def start(self, truth: list[int]) -> None:
        self.truth = np.array(truth, dtype=np.int64)
        self.system = AnsweredSystem(8, 0, 6, 1)
        self.asked: list[Asked] = []
        self.bounds = self.system.bounds()

    @rule(
        kind=st.sampled_from(["sum", "mean", "max", "min"]),
        members=st.sets(st.integers(0, 7), min_size=2, max_size=8),
    )
    def answer(self, kind: str, members: set[int]) -> None:
        asked = Asked(kind, tuple(sorted(members)))
        add(self.system, asked, self.truth)
        self.asked.append(asked)

    @rule(members=st.sets(st.integers(0, 7), min_size=1, max_size=8))
    def contradict(self, members: set[int]) -> None:
        with pytest.raises(InconsistentAnswers):
            self.system.add_sum(sorted(members), 6 * len(members) + 1)

    @rule(seed=st.integers(0, 99))
    def look_at_worlds(self, seed: int) -> None:
        worlds = np.asarray(self.system.worlds(3, seed=seed))
        assert ((worlds >= 0) & (worlds <= 6)).all()
        for past in self.asked:
            assert (past.of(worlds) == past.of(self.truth)).all()

    @rule()
    def certify(self) -> None:
        found, bounds = self.system.certified(), self.system.bounds()
        assert (found.lower <= found.upper).all()
        assert (found.lower >= bounds.lower - NEAR).all()
        assert (found.upper <= bounds.upper + NEAR).all()

    @invariant()
    def intervals_only_narrow_around_the_truth(self) -> None:
        if not hasattr(self, "system"):
            return
        now: Any = self.system.bounds()
        assert (now.lower >= self.bounds.lower - NEAR).all()
        assert (now.upper <= self.bounds.upper + NEAR).all()
        assert ((now.lower <= self.truth + NEAR) & (self.truth <= now.upper + NEAR)).all()
        self.bounds = now


TestLedger = Ledger.TestCase
TestLedger.settings = settings(max_examples=share(4), stateful_step_count=12)
