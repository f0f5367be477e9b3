"""Inner intervals: what they contain is reached, by SciPy's linear programs; and where they must be exact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from cae_sql.errors import InconsistentAnswers
from cae_sql.inference.intervals.bounds import Bounds
from cae_sql.inference.intervals.interior import analytic_center, sparse_columns
from tests.cae_sql.inference.oracles import linear_intervals
from tests.quick import rounds, some

Ints = NDArray[np.int64]
NEAR = 1e-6


@dataclass(frozen=True)
class Sums:
    """Sums of a hidden table, and boxes that it lies in."""

    matrix: Ints
    truth: Ints
    low: Ints
    high: Ints

    @property
    def sums(self) -> Ints:
        return self.matrix @ self.truth


def inner(matrix: Any, sums: Any, low: Any, high: Any, sizes: Any = None) -> Bounds:
    """[max(l, y − ρ), min(u, y + ρ)] for the analytic centre y, of one record of each column."""
    A, lower, upper = sparse_columns(np.asarray(matrix)), np.asarray(low, float), np.asarray(high, float)
    counts = np.ones(A.shape[1]) if sizes is None else np.asarray(sizes, float)
    center = analytic_center(A, np.asarray(sums, float), lower, upper, counts)
    if center is None:
        raise InconsistentAnswers("no table inside the domain was found to agree with the sums")
    rho = center.half_widths(np.arange(len(lower)))
    return Bounds(np.maximum(lower, center.values - rho), np.minimum(upper, center.values + rho))


def independent(rows: Ints) -> Ints:
    kept: list[int] = []
    for row in range(len(rows)):
        if np.linalg.matrix_rank(rows[[*kept, row]]) > len(kept):
            kept.append(row)
    return rows[kept]


def sums_at_random(seed: int) -> Sums:
    """2 to 30 records, 1 to 10 sums; boxes narrowed as by answered MAX and MIN; values often at a bound."""
    rng = np.random.default_rng(seed)
    size, answers, top = (
        int(rng.integers(2, 31)),
        int(rng.integers(1, 11)),
        int(rng.choice([1, 4, 24, 10**6])),
    )
    matrix = (rng.random((answers, size)) < rng.uniform(0.1, 0.8)).astype(np.int64)
    if seed % 3 == 0:
        matrix *= rng.choice([-2, -1, 1, 1, 3], matrix.shape)
    truth = rng.integers(0, top + 1, size)
    if seed % 4 == 0:
        truth = np.where(rng.random(size) < 0.5, rng.choice([0, top], size), truth)
    low, high = np.zeros(size, np.int64), np.full(size, top)
    for _ in range(int(rng.integers(0, 4))):
        members = rng.random(size) < 0.3
        if members.any():
            high[members] = np.minimum(high[members], truth[members].max())
            members = rng.random(size) < 0.3
            low[members] = np.maximum(low[members], truth[members].min(initial=top))
    low = np.minimum(low, truth)
    return Sums(independent(matrix), truth, low, high)


@pytest.mark.slow
@pytest.mark.parametrize("start", some(range(0, 300, 50), 1))
def test_inner_intervals_are_inside_the_feasibility_intervals(start: int) -> None:
    wide = 0
    for seed in range(start, start + rounds(50)):
        case = sums_at_random(seed)
        found = inner(case.matrix, case.sums, case.low, case.high)
        outer = linear_intervals(case.matrix, case.sums, case.low, case.high)
        assert outer is not None
        slack = NEAR * max(1, int(case.high.max()))
        assert (found.lower >= outer[0] - slack).all(), seed
        assert (found.upper <= outer[1] + slack).all(), seed
        assert (found.lower <= found.upper).all()
        wide += int((found.upper - found.lower > 0.5 * (outer[1] - outer[0])).sum())
    assert wide > rounds(100), "half of the width, or more, is found for many"


def test_all_is_reached_where_records_are_many_to_a_sum() -> None:
    rng = np.random.default_rng(5)
    truth = np.clip(rng.lognormal(2, 0.7, 3_000), 0, 24).astype(np.int64)
    matrix = (rng.random((10, 3_000)) < 0.3).astype(np.int8)
    found = inner(matrix, matrix.astype(np.int64) @ truth, np.zeros(3_000), np.full(3_000, 24))
    assert (found.lower == 0).all()
    assert (found.upper == 24).all()


def test_who_is_in_no_sum_keeps_the_box() -> None:
    found = inner([[1, 1, 0, 0]], [10], [0, 0, 3, 2], [9, 9, 7, 2])
    assert found.lower[2:].tolist() == [3, 2]
    assert found.upper[2:].tolist() == [7, 2]


def test_with_no_sums_everybody_keeps_the_box() -> None:
    found = inner(np.zeros((0, 3), np.int8), [], [0, 1, 2], [9, 9, 2])
    assert (found.lower.tolist(), found.upper.tolist()) == ([0, 1, 2], [9, 9, 2])


def test_a_record_that_sums_determine_has_one_value() -> None:
    found = inner([[1, 1, 1, 1], [0, 1, 1, 1]], [20, 13], [0] * 4, [24] * 4)
    assert found.lower[0] == pytest.approx(7)
    assert found.upper[0] == pytest.approx(7)
    assert found.upper[1] - found.lower[1] > 6


def test_a_sum_at_its_greatest_fixes_its_members_and_nobody_else() -> None:
    found = inner([[1, 1, 1, 0, 0], [0, 0, 1, 1, 1]], [27, 15], [0] * 5, [9] * 5)
    assert found.lower[:3] == pytest.approx([9, 9, 9])
    assert found.upper[:3] == pytest.approx([9, 9, 9])
    assert (found.upper - found.lower)[3:].min() > 2


def test_sums_that_only_together_leave_one_table() -> None:
    found = inner([[1, 1, 0], [0, 1, 1], [1, 0, 1]], [9, 9, 18], [0] * 3, [9] * 3)
    assert found.lower == pytest.approx([9, 0, 9], abs=NEAR)
    assert found.upper == pytest.approx([9, 0, 9], abs=NEAR)


@pytest.mark.parametrize("sums", [[28, 5], [-1, 5], [5, 20]])
def test_sums_that_contradict_the_boxes_are_an_error(sums: list[int]) -> None:
    with pytest.raises(InconsistentAnswers):
        inner([[1, 1, 1], [0, 1, 1]], sums, [0] * 3, [9] * 3)


def test_an_empty_box_is_an_error() -> None:
    with pytest.raises(InconsistentAnswers):
        inner([[1, 1]], [5], [0, 4], [9, 3])


def test_the_type_of_the_matrix_does_not_matter() -> None:
    case = sums_at_random(3)
    plain = inner(case.matrix, case.sums, case.low, case.high)
    kinds = [case.matrix.astype(np.int8), case.matrix.astype(np.int32), case.matrix.astype(float)]
    for other in [*kinds, np.asfortranarray(case.matrix)]:
        found = inner(other, case.sums, case.low, case.high)
        assert found.lower.tolist() == plain.lower.tolist()
        assert found.upper.tolist() == plain.upper.tolist()


@pytest.mark.slow
def test_a_matrix_is_made_sparse_by_columns_and_stays_the_same_whatever_its_type_and_order() -> None:
    chance = np.random.default_rng(0)
    for shape in ((7, 31), (1, 5), (4, 0), (300, 9_000)):
        whole = chance.integers(-1, 2, shape)
        for dense in (whole, whole.astype(np.int8), np.asfortranarray(whole), whole * 0.5, whole > 0):
            found = sparse_columns(dense)
            assert found.nnz == np.count_nonzero(dense)
            assert (found.toarray() == dense).all()


def test_records_that_nothing_tells_apart_count_as_one_column() -> None:
    for seed in range(40):
        case = sums_at_random(seed)
        sizes = np.random.default_rng(seed).integers(1, 4, case.matrix.shape[1])
        sums = case.matrix @ (sizes * case.truth)
        apart = inner(
            case.matrix.repeat(sizes, axis=1), sums, case.low.repeat(sizes), case.high.repeat(sizes)
        )
        together = inner(case.matrix, sums, case.low, case.high, sizes)
        slack = 1e-4 * max(1, int(case.high.max()))
        assert together.lower.repeat(sizes) == pytest.approx(apart.lower, abs=slack)
        assert together.upper.repeat(sizes) == pytest.approx(apart.upper, abs=slack)
