"""Tables of whole numbers by OR-Tools' CP-SAT, in a process of their own.

OR-Tools and highspy bring copies of one library under one name: whichever is loaded second in a process finds
the other's. So the package's solver and this one never meet.
"""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

SEED = 20130527
FAR = 2**40
"""Further than any sum."""
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Stated:
    """lower <= x <= upper and least <= matrix x <= most, in whole numbers."""

    name: str
    """Of the rows: with the same name they are not stated again."""
    matrix: sparse.csr_array
    least: Numbers
    most: Numbers
    lower: Numbers
    upper: Numbers


def solved(stated: Stated, cost: int, column: int, seconds: float) -> tuple[str, Numbers | None]:
    """A table, with the least of cost times a column: "solved" and that, "none", or "unknown"."""
    return _worker().submit(_solved, stated, cost, column, seconds).result()


@cache
def _worker() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))


_rows: dict[str, Any] = {}


def _solved(stated: Stated, cost: int, column: int, seconds: float) -> tuple[str, Numbers | None]:
    from ortools.sat.python import cp_model

    if stated.name not in _rows:
        _rows.clear()
        model = cp_model.CpModel()
        variables = [model.new_int_var(0, FAR, "") for _ in stated.lower]
        matrix = stated.matrix
        for row in range(matrix.shape[0]):
            some = slice(matrix.indptr[row], matrix.indptr[row + 1])
            weights = matrix.data[some].astype(np.int64).tolist()
            total = cp_model.LinearExpr.weighted_sum([variables[i] for i in matrix.indices[some]], weights)
            least, most = (np.clip(each[row], -FAR, FAR) for each in (stated.least, stated.most))
            model.add_linear_constraint(total, int(np.ceil(least)), int(np.floor(most)))
        _rows[stated.name] = model
    model = _rows[stated.name].clone()
    for place, ends in enumerate(zip(stated.lower.tolist(), stated.upper.tolist(), strict=True)):
        model.add_linear_constraint(model.get_int_var_from_proto_index(place), *map(int, ends))
    if cost:
        model.minimize(model.get_int_var_from_proto_index(column) * cost)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.random_seed, solver.parameters.num_workers = SEED, 2
    status = solver.solve(model)
    if status == cp_model.OPTIMAL:
        return "solved", np.array(solver.response_proto.solution, dtype=np.float64)
    return ("none" if status == cp_model.INFEASIBLE else "unknown"), None
