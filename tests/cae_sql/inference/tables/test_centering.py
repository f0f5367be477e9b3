"""Bases chosen anew are bases, over a table that agrees with every answer and is roomier where it matters."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from cae_sql.inference.facts.extremes import bounds_of, hold
from cae_sql.inference.tables.centering import near, rebuild
from cae_sql.inference.tables.roomy_table import RoomyTable
from tests.cae_sql.inference.tables.test_roomy_table import wrong_with_bases
from tests.cae_sql.inference.told import Told, advance, told_at_random


def rebuilt(roomy_table: RoomyTable, need: int, insiders: int) -> bool:
    """Choose anew, as a question does; False where too few records can be held."""
    pins = hold(roomy_table.boxes, roomy_table.totals, insiders + 2, np.zeros(0, dtype=np.int64))
    if pins is None:
        return False
    rebuild(roomy_table, bounds_of(roomy_table.boxes, pins), need, insiders)
    return True


def test_bases_chosen_anew_are_bases_and_the_table_agrees_with_every_answer() -> None:
    rng, done = np.random.default_rng(1), 0
    for turn in range(60):
        top = int(rng.choice([1, 5, 100, 10**9]))
        told = told_at_random(rng, int(rng.integers(5, 60)), top, int(rng.integers(1, 8)))
        roomy_table = told.roomy_table()
        if not roomy_table.usable or not rebuilt(roomy_table, max(1, top // 2), turn % 2):
            continue
        done += 1
        assert not told.impossible(roomy_table)
        assert not wrong_with_bases(roomy_table)
        assert roomy_table.bases
    assert done > 25


def test_answers_after_that_are_taken_in_as_well() -> None:
    rng, done = np.random.default_rng(2), 0
    for _ in range(30):
        told = told_at_random(rng, int(rng.integers(20, 60)), 20, 7, ("sum", "sum", "signed"))
        roomy_table = told.roomy_table(4)
        if not roomy_table.usable or not rebuilt(roomy_table, 10, 1):
            continue
        for query, value in list(zip(told.queries, told.values, strict=True))[4:]:
            if roomy_table.usable:
                advance(roomy_table, query, value)
                done += 1
        if roomy_table.usable:
            assert not told.impossible(roomy_table)
            assert not wrong_with_bases(roomy_table)
    assert done > 30


@pytest.mark.slow
def test_several_bases_are_found_where_there_are_many_records() -> None:
    rng = np.random.default_rng(3)
    told = told_at_random(rng, 3_000, 100, 20, ("sum",))
    told.truth = rng.integers(0, 101, 3_000)
    roomy_table = told.roomy_table()
    assert len(roomy_table.bases) == 1
    assert rebuilt(roomy_table, 50, 1)
    assert len(roomy_table.bases) > 2
    assert not told.impossible(roomy_table)
    assert not wrong_with_bases(roomy_table)


@pytest.mark.parametrize("kind", ["even", "skewed"])
def test_the_table_moves_to_where_basic_atoms_have_room(kind: str) -> None:
    rng = np.random.default_rng(4)
    told = Told(rng.integers(0, 101, 2_000), 100)
    if kind == "skewed":
        told.truth = np.minimum((rng.lognormal(0, 1, 2_000) * 12).astype(np.int64), 100)
    for _ in range(30):
        first = int(rng.integers(0, 1_950))
        told.ask("sum", np.arange(first, min(2_000, first + int(rng.integers(20, 600)))))
    roomy_table = told.roomy_table()
    before = roomy_table.totals.copy()
    assert rebuilt(roomy_table, 50, 1)
    basic = np.concatenate([basis.basic for basis in roomy_table.bases])
    now, then = (room(roomy_table, each, basic) for each in (roomy_table.totals, before))
    # where values are even the atoms have nearly all of the room that they should: 395 of 400
    assert now >= then
    assert now > then or kind == "even"


def room(roomy_table: RoomyTable, totals: NDArray[np.int64], basic: NDArray[np.int64]) -> float:
    """How far atoms can move to the nearer side, on average, no further than they should."""
    most = roomy_table.boxes.sizes * roomy_table.boxes.high
    far = np.minimum(totals, most - totals)[basic]
    return float(np.minimum(far, near(roomy_table)[basic]).mean())
