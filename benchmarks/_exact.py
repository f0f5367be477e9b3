"""The rival at scale: exact feasibility intervals by linear programs over atoms, with HiGHS as it comes.

One variable for each atom's total, one row for each answered sum; minimising and maximising an atom's total
gives the interval of each record in it, so all records take two programs for each atom. The first program is
solved from nothing, the others start at the optimum before (primal simplex: only the objective changes).
Shares no code with the package's inference.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import highspy
import numpy as np
from numpy.typing import NDArray

WARM = 40
"""Programs solved after the first, if time allows."""


@dataclass(frozen=True)
class Exact:
    """How long linear programs took."""

    first: float
    """Seconds of the first program, from nothing; a lower limit where it was not solved."""
    solved: bool
    warm: float | None
    """Mean seconds of a further one; None where there was no time for any."""
    warmed: int
    """How many that is the mean of."""
    variables: int
    rows: int

    @property
    def everybody(self) -> float:
        """Seconds for all intervals: the first program and the rest at the speed of the further ones."""
        each = self.first if self.warm is None else self.warm
        return self.first + (2 * self.variables - 1) * each


def exact_intervals(
    rows: Sequence[NDArray[np.int64]], sums: Sequence[int], sizes: NDArray[np.int64], top: int, seconds: float
) -> Exact:
    """Time the programs of random atoms.

    Args:
        rows: By answer, the atoms it covers.
        sums: By answer, in units above the minimum.
        sizes: By atom, its records.
        top: Greatest value of a record in units.
        seconds: For everything.
    """
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = len(sizes), len(rows)
    model.col_cost_ = np.zeros(len(sizes))
    model.col_lower_, model.col_upper_ = np.zeros(len(sizes)), sizes * float(top)
    model.row_lower_ = model.row_upper_ = np.array(sums, dtype=np.float64)
    index = np.concatenate(rows).astype(np.int32)
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int32)
    model.a_matrix_.index_, model.a_matrix_.value_ = index, np.ones(len(index))
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("time_limit", seconds)
    solver.passModel(model)
    end = time.monotonic() + seconds
    rng = np.random.default_rng(2)
    first, solved = _optimised(solver, int(rng.integers(len(sizes))), 1.0)
    solver.setOptionValue("simplex_strategy", 4)
    times: list[float] = []
    while solved and len(times) < WARM and time.monotonic() < end:
        took, done = _optimised(solver, int(rng.integers(len(sizes))), 1.0 if len(times) % 2 else -1.0)
        if not done:
            break
        times.append(took)
    warm = float(np.mean(times)) if times else None
    return Exact(first, solved, warm, len(times), len(sizes), len(rows))


def _optimised(solver: highspy.Highs, atom: int, cost: float) -> tuple[float, bool]:
    """Seconds, and whether an optimum was found."""
    solver.changeColCost(atom, cost)
    start = time.perf_counter()
    solver.run()
    took = time.perf_counter() - start
    optimal = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    solver.changeColCost(atom, 0.0)
    return took, optimal
