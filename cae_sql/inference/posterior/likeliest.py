"""What is said of one record in reports: its likeliest values, and the answers that carry what is likely.

Leverage of some sums alone is h = gᵀ G⁻¹ g / σ², where G = A diag(σ²) Aᵀ are these sums' covariances and
g = σ² a those with the record. Sums are taken one after the other, each time the one that adds most given
those taken: one that the record is not in can add much, as the other half of a difference does.

Promise: what is returned is the leverage of just these sums. Whether fewer would do is not said: a greedy
choice is no proof of that.

Source: `mathematics.md`, 7 (leverage).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from cae_sql.inference.posterior.bell import STILL
from cae_sql.inference.posterior.weights import Floats

SHARE = 0.8
"""Of a record's probability, how much its likeliest values hold together."""
NOTHING = 1e-9
"""Leverage below which a sum adds nothing."""


@dataclass(frozen=True)
class Likeliest:
    """What is possible of one record and what is likely, side by side. Values in units of the column."""

    possible: int
    """Values of the domain that it is shown to be able to have, from the least to the greatest; 0: none is
    shown, and what is not excluded lies between the two."""
    lower: float
    upper: float
    """The least and the greatest of them."""
    likely_lower: float
    likely_upper: float
    """Between which it lies with four chances of five or more: the shortest such range of the domain."""
    risk: float
    """1 − A / A_baseline of the posterior, against the policy's baseline; nobody is an insider."""
    leverage: float
    """The share of its variance that the answers explain, 0 to 1."""
    carried: float
    """How much of the leverage the few statements that are named have alone."""

    def said(self, numbers: Sequence[int]) -> str:
        """In plain words: "could still be any of 25 values, 10 to 250; most likely 60 to 90".

        Args:
            numbers: Of the statements that carry it; none where an extreme or an end makes it likely.
        """
        found = f"is known to be {self.lower:g}"
        if self.possible != 1:
            any_of = f"could still be any of {self.possible} values," if self.possible else "lies within"
            found = f"{any_of} {self.lower:g} to {self.upper:g}; "
            found += f"most likely {self.likely_lower:g} to {self.likely_upper:g}"
        if not numbers:
            return found
        several = "statements" if len(numbers) > 1 else "statement"
        listed = ", ".join(map(str, numbers))
        found += f"; answers explain {self.leverage:.0%} of its variance"
        return f"{found}, {several} {listed} alone {self.carried:.0%}"


def shortest_run(p: Floats) -> tuple[int, int]:
    """Places of the first and the last value of the shortest run that holds `SHARE`, the likeliest of equals.

    Args:
        p: (w,) probabilities of the values, ascending.
    """
    sums = np.append(0.0, np.cumsum(p))
    ends = np.searchsorted(sums, sums[:-1] + SHARE * sums[-1] - 1e-12)
    usable = np.flatnonzero(ends < len(sums))
    lengths = ends[usable] - usable
    shortest = usable[lengths == lengths.min()]
    start = max(shortest.tolist(), key=lambda each: sums[ends[each]] - sums[each])
    return start, int(ends[start]) - 1


class Carriers:
    """All answered sums, to be asked about one record after the other."""

    def __init__(self, matrix: scipy.sparse.csc_array, variances: Floats, sizes: Floats) -> None:
        """Work out what they have in common.

        Args:
            matrix: (k, p) the sums over groups of records.
            variances: (p,) of one record of each group.
            sizes: (p,) records of each.
        """
        self._matrix, self._variances = matrix, variances
        self._covariances = ((matrix * (sizes * variances)) @ matrix.T).toarray()

    def of(self, group: int, most: int, share: float) -> list[tuple[int, float]]:
        """The sums with most leverage on one record.

        Args:
            group: The record's.
            most: How many sums at most.
            share: Of the leverage of all sums, how much is enough.

        Returns:
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
