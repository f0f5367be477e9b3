"""What the models count with, against plain enumeration and plain sums."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql.errors import InconsistentAnswers, OutOfTime
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.posterior.counting import counted, given_sum
from cae_sql.inference.posterior.tilt import log_geometric, of_boxes, of_sets
from cae_sql.inference.posterior.weights import Weighted


@given(st.integers(0, 10**9))
def test_counts_and_marginals_are_those_of_all_tables_with_their_weights(seed: int) -> None:
    chance = np.random.default_rng(seed)
    atoms = int(chance.integers(1, 5))
    sizes = chance.integers(1, 3, atoms)
    values = list[Weighted]()
    for _ in range(atoms):
        if values and chance.random() < 0.3:  # some atoms are alike
            values.append(values[0])
            continue
        positions = np.sort(chance.choice(7, int(chance.integers(1, 4)), replace=False)).astype(np.int64)
        values.append(Weighted(positions, chance.random(len(positions)) + 0.1))
    matrix = chance.choice([0, 0, 1, 1, -1, 2], size=(int(chance.integers(0, 4)), atoms)).astype(np.int64)
    matrix = matrix[matrix.any(axis=1)]
    owners = np.repeat(np.arange(atoms), sizes)
    tables = np.array(list(itertools.product(*[values[a].positions for a in owners])))
    weights = np.array([math.prod(each) for each in itertools.product(*[values[a].weights for a in owners])])
    sums = tables @ matrix[:, owners].T
    right = sums[int(chance.integers(len(sums)))] + int(chance.random() < 0.1)
    agree = (sums == right).all(axis=1)
    total = float(weights[agree].sum())
    try:
        found = counted(values, sizes, matrix, right.astype(np.int64))
    except InconsistentAnswers:
        assert not agree.any()
        return
    if not agree.any():
        assert found.log_weight == -math.inf
        return
    assert found.log_weight == pytest.approx(math.log(total), abs=1e-9)
    for atom in range(atoms):
        mine = tables[:, int(np.flatnonzero(owners == atom)[0])]
        expected = [weights[agree & (mine == x)].sum() / total for x in values[atom].positions]
        assert found.probabilities[atom] == pytest.approx(expected, abs=1e-12)


@given(st.integers(0, 10**9))
def test_one_sum_over_groups_that_differ_is_that_of_all_tables(seed: int) -> None:
    chance = np.random.default_rng(seed)
    groups, counts = [], []
    for _ in range(int(chance.integers(1, 4))):
        positions = chance.choice(np.arange(-5, 9), int(chance.integers(2, 4)), replace=False)  # in any order
        groups.append(Weighted(positions, chance.random(len(positions)) + 0.1, float(chance.normal())))
        counts.append(int(chance.integers(1, 3)))
    owners = [place for place, count in enumerate(counts) for _ in range(count)]
    tables = np.array(list(itertools.product(*[groups[place].positions for place in owners])))
    each_logs = [np.log(group.weights) + group.scale for group in groups]
    logs = np.array([sum(each) for each in itertools.product(*[each_logs[place] for place in owners])])
    total = int(tables[int(chance.integers(len(tables)))].sum())
    agree = tables.sum(axis=1) == total
    found = given_sum(groups, np.array(counts), total)
    assert found is not None
    assert found.log_weight == pytest.approx(math.log(np.exp(logs[agree]).sum()), abs=1e-9)
    for place, group in enumerate(groups):
        mine = tables[:, owners.index(place)]
        expected = [np.exp(logs[agree & (mine == x)]).sum() for x in group.positions]
        assert found.probabilities[place] == pytest.approx(np.array(expected) / sum(expected), abs=1e-12)


def test_a_sum_beyond_what_is_possible_weighs_nothing_and_one_that_rounding_would_decide_is_left() -> None:
    beyond = given_sum([Weighted(np.array([0, 1]), np.ones(2))], np.array([5]), 6)
    assert beyond is not None
    assert beyond.log_weight == -math.inf
    odd = Weighted(np.array([0, 1000, 1001]), np.ones(3))
    assert given_sum([odd], np.array([400]), 200 * 1000) is None


@pytest.mark.parametrize("seed", range(3))
def test_forty_records_of_yes_and_no_under_fourteen_sums_are_counted_in_a_million_steps(seed: int) -> None:
    chance = np.random.default_rng(seed)
    true, matrix = chance.integers(0, 2, 40), (chance.random((14, 40)) < 0.3).astype(np.int64)
    coin = Weighted(np.arange(2), np.ones(2))
    found = counted([coin] * 40, np.ones(40, dtype=np.int64), matrix, matrix @ true, Allowance(10**6))
    assert matrix @ [p[1] for p in found.probabilities] == pytest.approx(matrix @ true, abs=1e-9)
    assert math.exp(found.log_weight) == pytest.approx(round(math.exp(found.log_weight)), rel=1e-9)


@given(st.floats(-40, 40), st.integers(0, 50), st.integers(0, 300))
def test_moments_of_boxes_in_closed_form_are_those_summed_up(theta: float, low: int, width: int) -> None:
    box = (np.array([low]), np.array([low + width]))
    closed = of_boxes(*box)(np.array([theta]))
    plain = of_sets([Weighted(np.arange(low, low + width + 1), np.ones(width + 1))])(np.array([theta]))
    assert closed.logs == pytest.approx(plain.logs, rel=1e-12, abs=1e-9)
    assert closed.means == pytest.approx(plain.means, abs=1e-8 * (1 + width))
    assert closed.variances == pytest.approx(plain.variances, abs=1e-8 * (1 + width) ** 2)


@given(st.floats(-3, 3), st.integers(1, 200))
def test_a_geometric_sum_by_its_logarithm(theta: float, count: int) -> None:
    plain = math.log(math.fsum(math.exp(theta * j) for j in range(count)))
    found = log_geometric(np.array([theta]), np.array([float(count)]))
    assert found[0] == pytest.approx(plain, abs=1e-10 * (1 + abs(plain)))


@given(st.integers(0, 10**9), st.integers(0, 9))
def test_a_power_is_the_sum_of_so_many_and_its_weight_in_all_is_the_power_of_theirs(
    seed: int, count: int
) -> None:
    chance = np.random.default_rng(seed)
    positions = np.sort(chance.choice(10**6, 3, replace=False)).astype(np.int64)
    one = Weighted(positions, chance.random(3) + 0.1)
    found = one.power(count)
    expected = {0: 1.0}
    for _ in range(count):
        grown: dict[int, float] = {}
        for s, weight in expected.items():
            for x, w in zip(positions.tolist(), one.weights.tolist(), strict=True):
                grown[s + x] = grown.get(s + x, 0.0) + weight * w
        expected = grown
    assert found.positions.tolist() == sorted(expected)
    wanted = [expected[s] for s in sorted(expected)]
    assert found.weights * math.exp(found.scale) == pytest.approx(wanted, rel=1e-10)


def test_too_many_pairs_are_an_error_and_not_a_wait() -> None:
    chance = np.random.default_rng(0)
    many = Weighted(np.sort(chance.choice(10**12, 10_000, replace=False)), np.ones(10_000))
    with pytest.raises(OutOfTime, match="pairs"):
        many.times(many)
