"""The analytic centre of the answered sums, and how far each record can go in the Dikin ellipsoid around it.

The ellipsoid lies inside every box. One factorisation of a matrix as large as there are sums gives every
record's half width. All of it is floating point: it chooses which programs need to be solved, proves no bound
and allows no answer.

Source: `mathematics.md`, 2 (intervals). The centre is found by its dual, whose iterates are inside all boxes
(Boyd and Vandenberghe, *Convex Optimization*, 10.4 and 9.6).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from cae_sql.compiled import compiled
from cae_sql.threads import in_two

Floats = NDArray[np.float64]
Places = NDArray[np.integer]

STEPS = 60
"""Newton steps after which a centre is given up, or sought on a face."""
FACES = 12
"""How often columns that run into their bounds are taken to be there."""
CENTRED = 1e-9
"""Newton decrement at the centre: how far off the sums are, in units of the ellipsoid."""
STUCK = 1e-7
"""Part of its box within which a column that the centre does not hold away from a bound counts as there."""
ROUNDING = 1e-9
"""Part of a squared width that rounding may have made."""
WELL_CONDITIONED = 1e9
"""Condition number up to which a factorisation is trusted."""


def sparse_columns(dense: NDArray[np.generic]) -> scipy.sparse.csc_array:
    """A matrix of numbers as sparse floats by columns."""
    return scipy.sparse.csc_array(dense, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Interior:
    """A point that agrees with the sums, strictly inside the boxes of all columns but the fixed ones."""

    matrix: scipy.sparse.csc_array
    """(k, p) coefficient of each record of a column."""
    sizes: Floats
    """(p,) records of each column."""
    values: Floats
    """(p,) value of each record of a column."""
    squares: Floats
    """(p,) h: squared half width of the ellipsoid of both bounds; 0 where a column is fixed."""
    root: Floats
    """(r, k) R with Rᵀ R = M⁻¹, M = A diag(m h) Aᵀ."""

    def half_widths(self, columns: Places) -> Floats:
        """ρ = √(1/τ − h), τ = aᵀ M⁻¹ a: how far records of columns can go, their own bounds left aside."""
        tau = np.zeros(len(columns))
        A = self.matrix
        add_squares(A.indptr, A.indices, A.data, np.ascontiguousarray(self.root.T), columns, tau)
        with np.errstate(divide="ignore"):
            widths: Floats = np.sqrt(np.maximum((1 - ROUNDING) / tau - self.squares[columns], 0))
        widths[self.squares[columns] == 0] = 0
        return widths


def analytic_center(
    matrix: scipy.sparse.csc_array, sums: Floats, low: Floats, high: Floats, sizes: Floats
) -> Interior | None:
    """The point that maximises Σ m (log(y − l) + log(u − y)) among those that agree with the sums.

    Columns that the sums hold at their bounds are fixed there; where more are than need be the ellipsoid is
    smaller, not wrong. None where nothing was found that agrees. Shapes: (k, p), (k,), (p,) each; a column of
    no records is left out.
    """
    if (low > high).any():
        return None
    fixed = (high <= low) | (sizes <= 0)
    values = np.where(fixed, low, (low + high) / 2)
    scale = np.abs(matrix) @ (sizes * np.maximum(np.abs(low), np.abs(high))) + 1.0
    for _ in range(FACES):
        free = np.flatnonzero(~fixed)
        part = matrix if len(free) == len(fixed) else matrix[:, free]
        rest = sums - matrix @ np.where(fixed, sizes * values, 0.0)
        search = _Search(part, rest, low[free], high[free], sizes[free])
        centred = search.run()
        values[free] = search.values
        if centred:
            if (np.abs(sums - matrix @ (sizes * values)) > ROUNDING * scale).any():
                return None
            squares = np.zeros(len(low))
            squares[free] = search.shape
            return Interior(matrix, sizes, values, squares, search.root)
        stuck = search.stuck()
        if not stuck.any():
            return None
        at = free[stuck]
        values[at] = np.where(values[at] - low[at] < high[at] - values[at], low[at], high[at])
        fixed[at] = True
    return None


class _Search:
    """Newton's method on the dual: k variables λ, each column at the y with 1/(y − l) − 1/(u − y) = aᵀλ."""

    def __init__(
        self, matrix: scipy.sparse.csc_array, sums: Floats, low: Floats, high: Floats, sizes: Floats
    ):
        self.matrix, self.sums, self.sizes = matrix, sums, sizes
        self.middle, self.half = (low + high) / 2, (high - low) / 2
        self.multipliers = np.zeros(matrix.shape[0])
        self.root = np.zeros((0, matrix.shape[0]))
        self._move(self.multipliers)
        self.shape = self.squares

    def _move(self, multipliers: Floats) -> None:
        """To the columns' values at these multipliers; slacks without cancellation."""
        slopes = self.matrix.T @ multipliers
        q = np.abs(slopes) * self.half
        long = np.sqrt(1 + q * q)
        self.near = self.half * (1 + 1 / (long + q)) / (1 + long)
        far = 2 * self.half - self.near
        self.values = self.middle - np.sign(slopes) * (self.half - self.near)
        self.squares = 1 / (1 / self.near**2 + 1 / far**2)
        self.residual = self.sums - self.matrix @ (self.sizes * self.values)
        logs = np.log(self.near / self.half) + np.log(far / self.half)
        self.dual = float(self.sizes @ logs + multipliers @ self.residual)
        self.multipliers = multipliers

    def run(self) -> bool:
        """Steps until the sums hold; False where they would not."""
        for _ in range(STEPS):
            self.shape = self.squares
            self.root = inverse_root(gram(self.matrix, self.sizes * self.shape))
            scaled = self.root @ self.residual
            step, decrement = self.root.T @ scaled, float(np.linalg.norm(scaled))
            if decrement <= CENTRED:
                # the last step makes the sums hold to the last digits
                self._move(self.multipliers - step)
                return True
            if not np.isfinite(decrement) or (decrement > 0.5 and self.stuck().any()):
                return False
            if not self._descend(step, decrement):
                return decrement <= 1e-4
        return False

    def _descend(self, step: Floats, decrement: float) -> bool:
        start, dual, length = self.multipliers, self.dual, 1.0
        while length > 1e-10:
            self._move(start - length * step)
            # beyond the digits that the dual has, only full steps near the centre are taken
            slack = 1e-13 * (abs(dual) + float(self.sizes.sum()))
            if self.dual <= dual - 0.1 * length * decrement**2 + slack:
                return True
            length /= 2
        self._move(start)
        return False

    def stuck(self) -> NDArray[np.bool_]:
        """Columns that have run into a bound."""
        found: NDArray[np.bool_] = self.near < STUCK * self.half
        return found


def gram(matrix: scipy.sparse.csc_array, weights: Floats) -> Floats:
    """(k, k) A diag(weights) Aᵀ, dense.

    Not by the linear algebra library: its threads wait for each other when the machine has other work.
    """
    size, columns = matrix.shape

    def work(first: int, last: int) -> Floats:
        total = np.zeros((size, size))
        add_outer(matrix.indptr, matrix.indices, matrix.data, weights, first, last, total)
        return total

    total = sum(in_two(work, columns, (matrix.nnz // max(columns, 1)) ** 2), np.zeros((size, size)))
    whole: Floats = total + total.T
    whole.flat[:: size + 1] /= 2
    return whole


@compiled(exact=True)
def add_outer(
    starts: Places, rows: Places, entries: Floats, weights: Floats, first: int, last: int, total: Floats
) -> None:  # fmt: skip
    """Add Σ w a aᵀ over some columns a of a sparse matrix to a square one, each pair of rows once."""
    for j in range(first, last):
        for a in range(starts[j], starts[j + 1]):
            line, x = total[rows[a]], weights[j] * entries[a]
            for b in range(starts[j], a + 1):
                line[rows[b]] += x * entries[b]


@compiled(exact=True)
def add_squares(
    starts: Places, rows: Places, entries: Floats, turned: Floats, columns: Places, out: Floats
) -> None:
    """Add |R a|² of some columns a of a sparse matrix; `turned` is Rᵀ."""
    image = np.zeros(turned.shape[1])
    for place in range(len(columns)):
        j = columns[place]
        image[:] = 0.0
        for a in range(starts[j], starts[j + 1]):
            line, x = turned[rows[a]], entries[a]
            for i in range(len(image)):
                image[i] += x * line[i]
        for i in range(len(image)):
            out[place] += image[i] * image[i]


def inverse_root(matrix: Floats) -> Floats:
    """(k, k) R with Rᵀ R = M⁻¹ for a positive semidefinite M; rather too large than too small.

    By Cholesky; where M is nearly singular (a sum whose columns are nearly fixed, or that others imply) by
    eigenvectors, with eigenvalues lessened by what rounding may have added.
    """
    diagonal = np.sqrt(np.maximum(np.diag(matrix), 0))
    scale = 1 / np.where(diagonal > 0, diagonal, 1.0)
    scaled = matrix * scale * scale[:, None]
    scaled[np.diag_indices_from(scaled)] = 1.0
    root = np.zeros_like(scaled)
    # ‖M‖ <= k and ‖M⁻¹‖ <= ‖R‖², so this bounds the condition number
    if invert_factor(scaled.copy(), root) and len(root) * float((root * root).sum()) < WELL_CONDITIONED:
        return root * scale
    values, vectors = scipy.linalg.eigh(scaled)
    rounding = 1e-15 * len(matrix)
    spectrum = np.maximum(values - rounding, rounding)
    return np.asarray((vectors / np.sqrt(spectrum)).T * scale, np.float64)


@compiled(exact=True)
def invert_factor(matrix: Floats, root: Floats) -> bool:
    """Turn M into U with Uᵀ U = M, and fill `root`, of zeros, with U⁻ᵀ; False where M is not positive."""
    k = len(matrix)
    for j in range(k):
        if not matrix[j, j] > 0:
            return False
        matrix[j, j:] /= np.sqrt(matrix[j, j])
        for i in range(j + 1, k):
            x = matrix[j, i]
            for t in range(i, k):
                matrix[i, t] -= x * matrix[j, t]
    for i in range(k):
        root[i, i] = 1.0
        for j in range(i):
            x = matrix[j, i]
            for t in range(j + 1):
                root[i, t] -= x * root[j, t]
        for t in range(i + 1):
            root[i, t] /= matrix[i, i]
    return True
