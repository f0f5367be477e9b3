"""How units lie over a partition, against loops over all of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql import AnsweredSystem
from cae_sql.errors import InvalidInput
from cae_sql.inference.facts.units import Occupied, checked, largest


@given(st.integers(0, 10**9))
def test_the_heaviest_units_of_each_part_are_those_counted_one_by_one(seed: int) -> None:
    chance = np.random.default_rng(seed)
    size, parts = int(chance.integers(1, 30)), int(chance.integers(1, 6))
    labels, units = chance.integers(0, parts, size), chance.integers(0, 8, size)
    found = Occupied.of(labels, units, parts)
    for part in range(parts):
        counts = sorted(np.unique(units[labels == part], return_counts=True)[1].tolist(), reverse=True)
        assert found.numbers[part] == len(counts)
        assert [found.heaviest[part], found.second[part]] == [*counts, 0, 0][:2]


@given(st.integers(0, 10**9))
def test_parts_share_units_where_one_has_records_in_two_of_them(seed: int) -> None:
    chance = np.random.default_rng(seed)
    size, parts = int(chance.integers(1, 30)), int(chance.integers(1, 6))
    labels, units = chance.integers(0, parts, size), chance.integers(0, 8, size)
    drawing, flags = chance.random(parts) < 0.7, chance.random(parts) < 0.5
    found, several = Occupied.of(labels, units, parts), np.zeros(parts, dtype=np.bool_)
    for unit in np.unique(units):
        mine = [part for part in np.unique(labels[units == unit]) if drawing[part]]
        several[mine] |= len(mine) > 1
        assert found.whole(flags)[unit] == flags[labels[units == unit]].all()
    assert (found.shared(drawing) == several).all()
    costs = chance.random(parts)
    assert found.most(costs) == pytest.approx(max(costs[labels[units == unit]].sum() for unit in units))
    some = np.flatnonzero(flags)
    counts = [int(np.isin(labels[units == unit], some).sum()) for unit in np.unique(units)]
    assert found.of_two(some) == sum(sorted(counts)[-2:])
    members = np.flatnonzero(np.isin(labels, some))
    for count in (1, 2):
        assert largest(units, members, count) == sum(sorted(counts)[-count:])
    firsts, of_part, starts, of_unit = found.by_part
    for part in range(parts):
        assert set(of_part[firsts[part] : firsts[part + 1]]) == set(units[labels == part])
    for unit in np.unique(units):
        assert set(of_unit[starts[unit] : starts[unit + 1]]) == set(labels[units == unit])


def test_units_of_one_record_each_are_no_units() -> None:
    assert checked([3, 1, 2], 3) is None
    assert AnsweredSystem(3, 0, 9, 1, units=[3, 1, 2]).unit_of is None


@pytest.mark.parametrize("units", [[0, 1], [0.5, 0.5, 1.0], "abc"])
def test_units_that_are_no_whole_numbers_for_each_record_are_an_error(units: object) -> None:
    with pytest.raises(InvalidInput, match="units must be 3 whole numbers"):
        AnsweredSystem(3, 0, 9, 1, units=units)  # type: ignore[arg-type]


def test_units_and_lumps_are_an_error() -> None:
    with pytest.raises(InvalidInput, match="their own units"):
        AnsweredSystem(4, 0, 9, 1, units=[0, 0, 1, 1], lumps=[2])
