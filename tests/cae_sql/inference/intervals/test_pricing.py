"""Programs over few columns with the others priced, held against SciPy's over all."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from cae_sql.inference.intervals import pricing
from cae_sql.inference.intervals.interior import analytic_center, sparse_columns
from cae_sql.inference.intervals.pricing import Priced
from cae_sql.inference.solver import Outcome, Program
from tests.cae_sql.inference.intervals.test_interior import Sums, sums_at_random
from tests.quick import rounds


def priced(case: Sums) -> Priced:
    low, high = case.low.astype(float), case.high.astype(float)
    A = sparse_columns(case.matrix)
    roomy_table = analytic_center(A, case.sums.astype(float), low, high, np.ones(len(low)))
    assert roomy_table is not None
    return Priced(A, roomy_table.values, low, high)


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """One column at the start and one at a time, so that pricing has something to do; often put back."""
    monkeypatch.setattr(pricing, "LEAST_ROWS", 1)
    monkeypatch.setattr(pricing, "FIRST", 0)
    monkeypatch.setattr(pricing, "MOST", 3)


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("start", range(0, 120, 30))
def test_the_least_value_is_that_of_the_whole_program(start: int) -> None:
    for seed in range(start, start + rounds(30)):
        case = sums_at_random(seed)
        program, rng, unit = priced(case), np.random.default_rng(seed), max(1, int(case.high.max()))
        boxes = np.column_stack([case.low, case.high])
        for turn in range(6):
            costs = rng.integers(-3, 4, len(case.low)) if turn % 2 else np.zeros(len(case.low))
            costs[int(rng.integers(len(costs)))] += 1
            found = program.minimise({int(j): float(costs[j]) for j in np.flatnonzero(costs)})
            whole = linprog(costs, A_eq=case.matrix, b_eq=case.sums, bounds=boxes)
            assert found.status == "optimal"
            assert found.value == pytest.approx(whole.fun, abs=1e-6 * unit)
            assert found.solution @ costs == pytest.approx(found.value, abs=1e-6 * unit)
            assert np.abs(case.matrix @ found.solution - case.sums).max() <= 1e-5 * unit
            assert (found.solution >= case.low - 1e-6 * unit).all()
            assert (found.solution <= case.high + 1e-6 * unit).all()
            reduced = costs - case.matrix.T @ found.duals
            proved = found.duals @ case.sums + np.where(reduced > 0, case.low, case.high) @ reduced
            assert proved == pytest.approx(whole.fun, abs=1e-5 * unit)


@pytest.fixture
def many() -> Sums:
    rng = np.random.default_rng(1)
    matrix = (rng.random((8, 20_000)) < 0.3).astype(np.int64)
    matrix[0] = 0
    matrix[0, :5] = 1
    matrix[1] = 0
    matrix[1, 3:40] = 1
    truth = rng.integers(0, 25, 20_000)
    truth[:40] = 0
    truth[0] = 7
    return Sums(matrix, truth, np.zeros(20_000, np.int64), np.full(20_000, 24))


def test_few_columns_are_enough(many: Sums) -> None:
    program = priced(many)
    for record in (0, 1, 500):
        assert program.minimise({record: 1.0}).value == pytest.approx(0, abs=1e-6)
    assert program.minimise({1: -1.0}).value == pytest.approx(-7, abs=1e-6)
    assert program.minimise({500: -1.0}).value == pytest.approx(-24, abs=1e-6)
    assert len(program.columns) < 2_000


def test_what_is_enough_ends_the_search(many: Sums, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pricing, "LEAST_ROWS", 1)
    monkeypatch.setattr(pricing, "FIRST", 1)
    asked: list[float] = []
    solve = Program.minimise

    def counted(self: Program, costs: dict[int, float]) -> Outcome:
        asked.append(1)
        return solve(self, costs)

    monkeypatch.setattr(Program, "minimise", counted)
    rounds = []
    for enough in (-1e9, -5.0):
        program = priced(many)
        asked.clear()
        value = program.minimise({1: -1.0}, enough=enough).value
        rounds.append(len(asked))
    assert -7 - 1e-6 <= value <= -5.0
    assert rounds[1] < rounds[0]
