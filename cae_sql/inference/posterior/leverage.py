"""Leverage: the share of a record's variance that the answered sums explain.

Records are independent, with variances σ², until the sums A x = b are known. H = A diag(σ²) Aᵀ is the sums'
covariance, and h_i = σ_i² a_iᵀ H⁻¹ a_i lies in [0, 1]: 0 for whom no sum is about, 1 for whom the sums
determine. Over all records (and slacks, `observations`) the h_i add up to the rank of A. It hangs on the
query sets and on σ, hardly on what was answered.

Which answers carry the leverage of a record (`Carriers`): that of some sums alone is gᵀ G⁻¹ g / σ², G these
sums' covariances and g those with the record. They are chosen greedily, which proves nothing: fewer might do.

Promise: h is never less than it is by more than rounding. Where rows are nearly dependent H⁻¹ is taken from
its eigenvectors, rather too large than too small, and all h are cut to [0, 1].

Source: `mathematics.md`, 7.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from cae_sql.cached import cached_property
from cae_sql.compiled import compiled
from cae_sql.inference.intervals.interior import add_squares, gram, inverse_root
from cae_sql.inference.posterior.bell import STILL
from cae_sql.inference.posterior.weights import Floats, Ints
from cae_sql.threads import alone, in_two

NEARLY = 0.9
"""Leverage from which it is worked out anew as a sum of squares: of 1 − h, what is left decides."""
NOTHING = 1e-9
"""Leverage below which a sum adds nothing."""


@dataclass(frozen=True, eq=False)
class Factor:
    """H⁻¹ = Rᵀ R of some rows."""

    root: Floats
    """(k, k) R, lower triangular unless rows are nearly dependent."""

    @classmethod
    def of(cls, matrix: scipy.sparse.csc_array, weights: Floats) -> Factor:
        """Of H = A diag(weights) Aᵀ; weights are records times variance, (q,)."""
        return cls.by(gram(matrix, weights))

    @classmethod
    def by(cls, covariance: Floats) -> Factor:
        """Of H, (k, k)."""
        with alone():
            return cls(inverse_root(covariance))

    @cached_property
    def inverse(self) -> Floats:
        """(k, k) H⁻¹."""
        with alone():
            found: Floats = np.ascontiguousarray(self.root.T @ self.root)
        return found

    def leverages(self, matrix: scipy.sparse.csc_array, variances: Floats) -> Floats:
        """(q,) h = σ² aᵀ H⁻¹ a of one record of each column."""
        forms, inverse = np.zeros(matrix.shape[1]), self.inverse

        def work(first: int, last: int) -> None:
            add_forms(matrix.indptr, matrix.indices, matrix.data, inverse, first, last, forms)

        in_two(work, len(forms), (matrix.nnz // max(len(forms), 1)) ** 2)
        found = variances * forms
        near = np.flatnonzero((found > NEARLY) | bool(np.triu(self.root, 1).any()))
        exactly, turned = np.zeros(len(near)), np.ascontiguousarray(self.root.T)
        add_squares(matrix.indptr, matrix.indices, matrix.data, turned, near, exactly)
        found[near] = variances[near] * exactly
        return np.clip(found, 0.0, 1.0)

    def solve(self, right: Floats) -> Floats:
        """H⁻¹ times (k,) or (k, r)."""
        found: Floats = self.root.T @ (self.root @ right)
        return found


@compiled()
def add_forms(
    starts: Ints, rows: Ints, entries: Floats, inverse: Floats, first: int, last: int, out: Floats
) -> None:  # fmt: skip
    """Add aᵀ M a of some columns a of a sparse matrix, M symmetric."""
    for j in range(first, last):
        total = 0.0
        for a in range(starts[j], starts[j + 1]):
            line, part = inverse[rows[a]], 0.0
            for b in range(starts[j], a):
                part += entries[b] * line[rows[b]]
            total += entries[a] * (2.0 * part + entries[a] * line[rows[a]])
        out[j] += total


class Carriers:
    """All answered sums, to be asked about one record after the other."""

    def __init__(self, matrix: scipy.sparse.csc_array, variances: Floats, sizes: Floats) -> None:
        """Of the sums over groups of records, (k, p), the variance of one of each, and how many these are."""
        self._matrix, self._variances = matrix, variances
        self._covariances = ((matrix * (sizes * variances)) @ matrix.T).toarray()

    def of(self, group: int, most: int, share: float) -> list[tuple[int, float]]:
        """At most so many sums with most leverage on a record of a group, or with such a share of all of it.

        Each sum's number, and the leverage by it and those before it, 0 to 1.
        """
        variance, taken = float(self._variances[group]), list[tuple[int, float]]()
        if variance <= STILL or not len(self._covariances):
            return taken
        # covariances given the sums that are taken: of the sums, and of these with the record
        left, toward = self._covariances.copy(), variance * self._matrix[:, [group]].toarray()[:, 0]
        least = NOTHING * np.diag(left) + np.finfo(float).tiny
        total, enough = 0.0, share * float(toward @ np.linalg.lstsq(left, toward, rcond=1e-10)[0]) / variance
        while len(taken) < most and total < enough:
            open_ = np.diag(left)
            gains = np.where(open_ > least, toward**2 / np.maximum(open_, least), 0.0) / variance
            row = int(np.argmax(gains))
            if gains[row] <= NOTHING:
                break
            total += float(gains[row])
            taken.append((row, min(total, 1.0)))
            said = left[row] / left[row, row]
            toward, left = toward - said * toward[row], left - np.outer(said, left[row])
        return taken
