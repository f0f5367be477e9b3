"""Which answers carry what is likely of somebody: the few sums that have most of a record's leverage.

Leverage of some sums alone is h = gᵀ G⁻¹ g / σ², where G = A diag(σ²) Aᵀ are these sums' covariances and
g = σ² a those with the record. Sums are taken one after the other, each time the one that adds most given
those taken: one that the record is not in can add much, as the other half of a difference does.

Promise: what is returned is the leverage of just these sums. Whether fewer would do is not said: a greedy
choice is no proof of that.

Source: `mathematics.md`, 7 (leverage).
"""

from __future__ import annotations

import numpy as np
import scipy

from cae_sql.inference.posterior.bell import STILL
from cae_sql.inference.posterior.weights import Floats

NOTHING = 1e-9
"""Leverage below which a sum adds nothing."""


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
        variance, covariances = float(self._variances[group]), self._covariances
        taken, columns, total = list[tuple[int, float]](), list[Floats](), 0.0
        if variance <= STILL or not len(covariances):
            return taken
        # of what the sums taken do not tell: variances of all sums, and their covariances with the record
        left = covariances.diagonal().copy()
        toward: Floats = variance * self._matrix[:, [group]].toarray()[:, 0]
        floor = NOTHING * np.maximum(left, NOTHING)
        enough = share * float(toward @ np.linalg.lstsq(covariances, toward, rcond=1e-10)[0]) / variance
        while len(taken) < most and total < enough:
            gains = np.where(left > floor, toward**2 / np.maximum(left, floor), 0.0) / variance
            row = int(gains.argmax())
            if gains[row] <= NOTHING:
                break
            column = covariances[row] - sum((each[row] * each for each in columns), np.zeros(len(left)))
            column = column / np.sqrt(left[row])
            toward = toward - column * (toward[row] / np.sqrt(left[row]))
            left = np.maximum(left - column**2, 0.0)
            columns.append(column)
            total += float(gains[row])
            taken.append((row, min(total, 1.0)))
        return taken
