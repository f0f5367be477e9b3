"""Which sums an atom's total is a linear combination of, where it is one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy import linalg

from cae_sql.inference.knowledge import Knowledge

FINEST = 10**6
"""Multipliers are fractions of at most this denominator."""


class Combinations:
    """Combinations of the independent sums of one system, factored once."""

    def __init__(self, known: Knowledge) -> None:
        """Take a system whose rows all have a pivot."""
        self._known = known
        basic = known.tableau.basic
        self._usable = len(known.tableau.stuck) == 0 and len(basic) == len(known.matrix) > 0
        if self._usable:
            self._factor = linalg.lu_factor(known.matrix[:, basic].T.astype(np.float64))

    def of(self, atom: int) -> list[int]:
        """Rows whose combination is the atom's total alone, checked in whole numbers; or none."""
        known = self._known
        place = np.flatnonzero(known.tableau.basic == atom) if self._usable else np.zeros(0, np.int64)
        if len(place) != 1:
            return []
        unit = np.zeros(len(known.tableau.basic))
        unit[place[0]] = 1.0
        found = linalg.lu_solve(self._factor, unit)
        rows = np.flatnonzero(np.abs(found) > 1e-7)
        weights = [Fraction(float(found[row])).limit_denominator(FINEST) for row in rows]
        total = np.zeros(known.count, dtype=object)
        for row, weight in zip(rows.tolist(), weights, strict=True):
            used = np.flatnonzero(known.matrix[row])
            total[used] = total[used] + weight * known.matrix[row, used].astype(object)
        total[atom] -= 1
        return rows.tolist() if not total.any() else []
