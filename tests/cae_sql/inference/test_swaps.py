"""Swaps are pairs of atoms that differ little; two of one difference, against each other, keep every sum."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from cae_sql.inference import center as centers
from cae_sql.inference.learned import advance
from cae_sql.inference.prospect import Prospect
from cae_sql.inference.swaps import FARTHEST, Opposed, Swaps, named, opposed

from .families import grid_at_random
from .told import Ints, Told


@pytest.fixture(autouse=True)
def swaps_in_small_systems_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(centers, "SWAPPED", 0)


def prospects(seed: int, count: int) -> Iterator[tuple[Told, Prospect, int]]:
    """Grids of which the last one to three sums are not answered yet; swaps were found before."""
    rng, found = np.random.default_rng(seed), 0
    while found < count:
        told = grid_at_random(rng)
        asked = int(rng.integers(1, 4))
        if len(told.queries) <= asked:
            continue
        center = told.center(len(told.queries) - asked)
        if center.usable:
            center.look_for_swaps()
            prospect = Prospect(center, told.queries[-asked:])
            if prospect.usable and prospect.fresh:
                found += 1
                yield told, prospect, asked


def test_two_of_a_swap_can_move_and_differ_in_few_sums_as_others_do() -> None:
    looked_at = 0
    for _, prospect, _ in prospects(1, 40):
        center, swaps = prospect.center, prospect.center.swaps
        assert swaps is not None
        marks = center.marks[: center.count, : center.rank].astype(np.int64)
        effects = marks[swaps.gain] - marks[swaps.give]
        assert (np.count_nonzero(effects, axis=1) <= FARTHEST).all()
        assert effects.any(axis=1).all()
        assert (np.unique(effects, axis=0, return_counts=True)[1] > 1).all()
        assert len(np.unique(np.sort(np.column_stack([swaps.gain, swaps.give])), axis=0)) == swaps.count
        looked_at += swaps.count
    assert looked_at > 500


def test_names_that_were_carried_over_answers_are_those_of_all_sums() -> None:
    carried = 0
    for told, prospect, asked in prospects(2, 40):
        center, before = prospect.center, prospect.center.swaps
        assert before is not None
        for query, value in list(zip(told.queries, told.values, strict=True))[-asked:]:
            if center.usable:
                advance(center, query, value)
        after = center.swaps
        assert after is not None
        if not center.usable:
            continue
        marks = center.marks[: center.count, : center.rank]
        fresh = named(np.zeros(center.count, dtype=np.uint64), marks.T.astype(np.int32), 0)
        assert (after.names == fresh).all()
        assert (after.gain == before.gain).all()
        carried += 1
    assert carried > 20


def effect(prospect: Prospect, found: Opposed) -> Ints:
    """(m, k + g) what each two do to all sums."""
    marks = prospect.marks_of(np.arange(prospect.boxes.count)).astype(np.int64)
    up, down = found.up, found.down
    changed: Ints = marks[up[0]] + marks[up[1]] - marks[down[0]] - marks[down[1]]
    return changed


@pytest.mark.parametrize("names", ["true", "equal by chance"])
def test_two_swaps_against_each_other_change_one_new_sum_by_one_and_no_other(names: str) -> None:
    rng, looked_at, lost = np.random.default_rng(3), 0, 0
    for _, prospect, _ in prospects(3, 80):
        center, swaps = prospect.center, prospect.center.swaps
        assert swaps is not None
        if names != "true":
            chance = rng.integers(0, 3, len(swaps.names)).astype(np.uint64)
            swaps = Swaps(swaps.gain, swaps.give, chance, swaps.rank)
        marks = center.marks[:, : center.rank]
        for number in range(len(prospect.rows)):
            found = opposed(swaps, marks, prospect.parents, prospect.rows, number)
            parts = np.concatenate([*found.up, *found.down])
            assert len(np.unique(parts)) == len(parts)
            changed = effect(prospect, found)
            assert (changed[:, center.rank + number] == 1).all()
            assert not np.delete(changed, center.rank + number, axis=1).any()
            looked_at, lost = looked_at + len(found.up[0]), lost + (not len(found.up[0]))
    assert looked_at > (50 if names == "true" else 5)
