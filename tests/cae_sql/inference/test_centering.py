"""Bases chosen anew are bases, over a table that agrees with every answer and is roomier where it matters."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from cae_sql.inference.center import Center
from cae_sql.inference.centering import near, rebuild
from cae_sql.inference.holding import bounds_of, hold
from cae_sql.inference.learned import advance

from .test_center import wrong_with_bases
from .told import Told, told_at_random


def rebuilt(center: Center, need: int, insiders: int) -> bool:
    """Choose anew, as a trial does; False where too few records can be held."""
    pins = hold(center.boxes, center.totals, insiders + 2, np.zeros(0, dtype=np.int64))
    if pins is None:
        return False
    rebuild(center, bounds_of(center.boxes, pins), need, insiders)
    return True


def test_bases_chosen_anew_are_bases_and_the_table_agrees_with_every_answer() -> None:
    rng, done = np.random.default_rng(1), 0
    for turn in range(60):
        top = int(rng.choice([1, 5, 100, 10**9]))
        told = told_at_random(rng, int(rng.integers(5, 60)), top, int(rng.integers(1, 8)))
        center = told.center()
        if not center.usable or not rebuilt(center, max(1, top // 2), turn % 2):
            continue
        done += 1
        assert not told.impossible(center)
        assert not wrong_with_bases(center)
        assert center.bases
    assert done > 25


def test_answers_after_that_are_taken_in_as_well() -> None:
    rng, done = np.random.default_rng(2), 0
    for _ in range(30):
        told = told_at_random(rng, int(rng.integers(20, 60)), 20, 7, ("sum", "sum", "signed"))
        center = told.center(4)
        if not center.usable or not rebuilt(center, 10, 1):
            continue
        for query, value in list(zip(told.queries, told.values, strict=True))[4:]:
            if center.usable:
                advance(center, query, value)
                done += 1
        if center.usable:
            assert not told.impossible(center)
            assert not wrong_with_bases(center)
    assert done > 30


def test_several_bases_are_found_where_there_are_many_records() -> None:
    rng = np.random.default_rng(3)
    told = told_at_random(rng, 3_000, 100, 20, ("sum",))
    told.truth = rng.integers(0, 101, 3_000)
    center = told.center()
    assert len(center.bases) == 1
    assert rebuilt(center, 50, 1)
    assert len(center.bases) > 2
    assert not told.impossible(center)
    assert not wrong_with_bases(center)


@pytest.mark.parametrize("kind", ["even", "skewed"])
def test_the_table_moves_to_where_basic_atoms_have_room(kind: str) -> None:
    rng = np.random.default_rng(4)
    told = Told(rng.integers(0, 101, 2_000), 100)
    if kind == "skewed":
        told.truth = np.minimum((rng.lognormal(0, 1, 2_000) * 12).astype(np.int64), 100)
    for _ in range(30):
        first = int(rng.integers(0, 1_950))
        told.ask("sum", np.arange(first, min(2_000, first + int(rng.integers(20, 600)))))
    center = told.center()
    before = center.totals.copy()
    assert rebuilt(center, 50, 1)
    basic = np.concatenate([basis.basic for basis in center.bases])
    assert room(center, center.totals, basic) > room(center, before, basic)


def room(center: Center, totals: NDArray[np.int64], basic: NDArray[np.int64]) -> float:
    """How far atoms can move to the nearer side, on average, no further than they should."""
    most = center.boxes.sizes * center.boxes.high
    far = np.minimum(totals, most - totals)[basic]
    return float(np.minimum(far, near(center)[basic]).mean())
