"""Linear and integer programs; the only file that knows HiGHS.

What a solver says is floating point. Callers therefore never take it as it is: a solution on the grid is
rounded and checked against every answer in integers, a bound is recomputed exactly from rational multipliers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from cae_sql.inference.allowance import UNLIMITED, Allowance

Floats = NDArray[np.float64]

PRIMAL_SIMPLEX = 4
"""Only the objective changes from solve to solve, so the basis stays primal feasible; HiGHS' default, the
dual simplex, is 13 to 57 times slower here (`mathematics.md`, 2: intervals)."""
MOST_ITERATIONS = 2**31 - 1
"""As HiGHS says that there is no limit."""
AT_LEAST = 20
"""Iterations that a program counts for besides those it takes: stating and presolving it."""


Status = Literal["optimal", "infeasible", "feasible", "unknown"]


@dataclass(frozen=True)
class Outcome:
    """What the solver found."""

    status: Status
    """"feasible": a solution that is not shown to be optimal."""
    value: float
    """The objective; meaningless unless there is a solution."""
    solution: Floats
    """(columns,) values; empty where there is none."""
    duals: Floats
    """(rows,) multipliers of a linear program; empty for an integer one."""


class Program:
    """Rows lower <= A x <= upper over boxed columns, solved again and again for other objectives."""

    def __init__(
        self,
        matrix: scipy.sparse.csr_matrix | NDArray[np.int64],
        row_lower: Floats,
        row_upper: Floats,
        lower: Floats,
        upper: Floats,
        integer: NDArray[np.bool_] | None = None,
        most_nodes: int | None = None,
    ) -> None:
        """`integer` says which columns are whole numbers, None that none is; after so many search nodes an
        integer program is given up.
        """
        import highspy  # here: what is known needs no solver

        columns = scipy.sparse.csc_matrix(matrix)
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = columns.shape[1], columns.shape[0]
        model.col_cost_ = np.zeros(columns.shape[1])
        model.col_lower_, model.col_upper_ = np.asarray(lower, float), np.asarray(upper, float)
        model.row_lower_, model.row_upper_ = np.asarray(row_lower, float), np.asarray(row_upper, float)
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_, model.a_matrix_.index_ = columns.indptr, columns.indices
        model.a_matrix_.value_ = columns.data.astype(float)
        self._size = columns.shape[0] + columns.shape[1]
        self._integer = integer is not None and bool(integer.any())
        self._highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        options: dict[str, bool | float | str] = {"output_flag": False, "threads": 1, "mip_rel_gap": 0.0}
        if integer is not None and self._integer:
            kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
            model.integrality_ = [kinds[int(whole)] for whole in integer]
            options["mip_max_nodes"] = MOST_ITERATIONS if most_nodes is None else most_nodes
        else:
            options |= {"presolve": "off", "simplex_strategy": PRIMAL_SIMPLEX}
        for name, value in options.items():
            self._highs.setOptionValue(name, value)
        self._highs.passModel(model)
        self._costs: list[int] = []

    def allow(self, nodes: int) -> None:
        """Search nodes after which an integer program is given up."""
        self._highs.setOptionValue("mip_max_nodes", nodes)

    def bound(self, column: int, lower: float, upper: float) -> None:
        """Change a column's box."""
        self._highs.changeColBounds(column, float(lower), float(upper))

    def append(self, columns: scipy.sparse.csc_array, lower: Floats, upper: Floats) -> None:
        """Add columns (rows, added), each at its least value until a solve moves it: the basis is kept."""
        count = columns.shape[1]
        boxes = np.zeros(count), np.asarray(lower, float), np.asarray(upper, float)
        starts, rows = (each.astype(np.int32) for each in (columns.indptr[:-1], columns.indices))
        self._highs.addCols(count, *boxes, columns.nnz, starts, rows, columns.data.astype(float))

    def minimise(
        self,
        costs: dict[int, float],
        allowance: Allowance = UNLIMITED,
        first: bool = False,
        iterations: int = MOST_ITERATIONS,
    ) -> Outcome:
        """Solve for the least Σ costs · x, costs by column; of an integer program `first` takes any solution.

        It ends after so many iterations of the simplex method or search nodes, or at the allowance's last
        resort; what it took is taken off the allowance.
        """
        highs = self._highs
        for column in self._costs:
            highs.changeColCost(column, 0.0)
        for column, cost in costs.items():
            highs.changeColCost(column, float(cost))
        self._costs = list(costs)
        highs.setOptionValue("time_limit", max(allowance.seconds, 0.001) + highs.getRunTime())
        if self._integer:
            highs.setOptionValue("mip_max_improving_sols", 1 if first else MOST_ITERATIONS)
            # its first solution is the same one whatever the costs
            highs.setOptionValue("mip_heuristic_run_feasibility_jump", not first)
        else:
            highs.setOptionValue("simplex_iteration_limit", iterations)
        highs.run()
        allowance.spend((AT_LEAST + max(highs.getInfo().simplex_iteration_count, 0)) * self._size)
        return self._outcome()

    def _outcome(self) -> Outcome:
        import highspy

        none = np.zeros(0)
        status = self._highs.getModelStatus()
        if status in (highspy.HighsModelStatus.kInfeasible, highspy.HighsModelStatus.kUnboundedOrInfeasible):
            return Outcome("infeasible", 0.0, none, none)
        found, info = self._highs.getSolution(), self._highs.getInfo()
        feasible = int(highspy.SolutionStatus.kSolutionStatusFeasible)
        if not found.value_valid or info.primal_solution_status != feasible:
            return Outcome("unknown", 0.0, none, none)
        said: Status = "optimal" if status == highspy.HighsModelStatus.kOptimal else "feasible"
        duals = none if self._integer else np.array(found.row_dual)
        return Outcome(said, info.objective_function_value, np.array(found.col_value), duals)
