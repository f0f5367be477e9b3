"""Linear programs of very many columns, solved over few of them: column generation.

All columns start at a point inside the boxes that agrees with the sums. A few may leave it; the multipliers
of their program price all others, and those that would improve it are let in, until there is none; they stay
for the next objective.

Source: `mathematics.md`, 2 (intervals: a subset of columns with pricing of the rest).
"""

from __future__ import annotations

import numpy as np
import scipy

from cae_sql.inference.facts.query import Ints
from cae_sql.inference.solver import Floats, Outcome, Program

NEGLIGIBLE = 1e-9
"""Reduced cost up to which a column is not worth letting in."""
FIRST = 6
"""Columns at the start, the roomiest, for each row; one pricing lets in one for each."""
MOST = 40
"""Columns for each row, beyond which all but those of the start are put back."""
LEAST_ROWS = 50
"""Fewer rows than this count as so many."""


class Priced:
    """min c · x over A x = b, l <= x <= u, stated as steps away from a point inside.

    A column that may move is two in the program, one for each direction, both 0 at the start: so letting
    it in leaves the simplex's basis feasible.
    """

    def __init__(self, matrix: scipy.sparse.csc_array, inside: Floats, lower: Floats, upper: Floats) -> None:
        """State the program: (k, p) coefficients, and (p,) a point inside the bounds that agrees."""
        self.matrix, self.inside = matrix, inside
        self.down, self.up = np.maximum(inside - lower, 0.0), np.maximum(upper - inside, 0.0)
        # the solver's tolerances are absolute
        self.unit = max(1.0, float((upper - lower).max(initial=1.0)) / 1_000)
        rows = max(matrix.shape[0], LEAST_ROWS)
        self.batch, self.most = rows, MOST * rows
        room = np.minimum(self.down, self.up)
        self.start: Ints = np.sort(np.argsort(-room, kind="stable")[: FIRST * rows])
        self._restart()

    def _restart(self) -> None:
        none = np.zeros(0)
        zero = np.zeros(self.matrix.shape[0])
        self.program = Program(scipy.sparse.csc_array((len(zero), 0)), zero, zero, none, none)
        self.columns = np.zeros(0, dtype=np.int64)
        self.place = np.full(len(self.inside), -1, dtype=np.int64)
        self._admit(self.start)

    def _admit(self, columns: Ints) -> None:
        """Let columns move."""
        self.place[columns] = np.arange(len(self.columns), len(self.columns) + len(columns))
        self.columns = np.concatenate([self.columns, columns])
        part = self.matrix[:, columns]
        both = scipy.sparse.csc_array(scipy.sparse.hstack([part, -part]))
        order = np.arange(2 * len(columns)).reshape(2, -1).T.ravel()
        ends = np.concatenate([self.up[columns], self.down[columns]])[order] / self.unit
        self.program.append(both[:, order], np.zeros(len(order)), ends)

    def minimise(self, costs: dict[int, float], enough: float = -np.inf) -> Outcome:
        """Solve for the least Σ costs · x, costs by column, or for one that is at most `enough`.

        The solution is (p,) of all columns, the duals are those of A.
        """
        if len(self.columns) > self.most:
            self._restart()
        wanted = np.array(sorted(costs), dtype=np.int64)
        self._admit(wanted[self.place[wanted] < 0])
        price = np.zeros(len(self.inside))
        price[wanted] = [costs[int(column)] for column in wanted]
        base = float(price @ self.inside)
        steps = {2 * int(self.place[j]): float(price[j]) for j in wanted}
        steps |= {at + 1: -cost for at, cost in steps.items()}
        while True:
            outcome = self.program.minimise(steps)
            if outcome.status != "optimal":
                return outcome
            value = base + self.unit * outcome.value
            better = self._better(price - self.matrix.T @ outcome.duals)
            if value <= enough or not len(better):
                break
            self._admit(better)
        solution = self.inside.copy()
        moved = outcome.solution.reshape(-1, 2)
        solution[self.columns] += self.unit * (moved[:, 0] - moved[:, 1])
        return Outcome("optimal", value, solution, outcome.duals)

    def _better(self, reduced: Floats) -> Ints:
        """The columns outside the program that promise most, at these reduced costs."""
        gain = np.where(reduced < 0, -reduced * self.up, reduced * self.down)
        gain[self.columns] = 0.0
        found = np.flatnonzero((gain > 0) & (np.abs(reduced) > NEGLIGIBLE))
        if len(found) > self.batch:
            found = found[np.argpartition(-gain[found], self.batch - 1)[: self.batch]]
        return found.astype(np.int64)
