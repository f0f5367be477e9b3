"""Whether a sum is settled linearly by others: a quick test before anything is refined.

The reduced row of a settled sum vanishes. Multiplied by random numbers modulo 2⁶⁴ it vanishes too; that
another one does has a chance below 2⁻³⁰ each time, and then an answer is taken for one that teaches nothing.
Rows without a pivot of ±1 are looked at modulo two primes, since coefficients may be multiples of one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference.answers import Query
from cae_sql.inference.basis import echelon, vanishes
from cae_sql.inference.knowledge import Knowledge

PRIMES = (2**31 - 1, 2**31 - 19)


class Sifted:
    """Random multiples of one tableau's rows; a new one for each tableau."""

    def __init__(self) -> None:
        self._of: Knowledge | None = None
        self._random: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._rows: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._stuck: list[NDArray[np.int64]] | None = None

    def spans(self, known: Knowledge, query: Query) -> bool:
        """Whether a sum is in the span of the tableau's pivoted rows; False where that is not seen."""
        if self._of is not known:
            generator = np.random.default_rng(2**31 - 1)
            self._random = generator.integers(-(2**62), 2**62, known.count) | 1
            with np.errstate(over="ignore"):
                self._rows = known.tableau.entries @ self._random
            self._of = known
            stuck = known.tableau.stuck
            self._stuck = [echelon(stuck, prime) for prime in PRIMES] if len(stuck) else None
        labels = known.atoms.labels[query.members]
        counts = np.bincount(labels, minlength=known.count)
        touched = np.flatnonzero(counts)
        if (counts[touched] != known.sizes[touched]).any():
            return False
        row = np.zeros(known.count, dtype=np.int64)
        if query.coefficients is None:
            row[touched] = 1
        else:
            row[labels] = query.coefficients
            if (row[labels] != query.coefficients).any():
                return False
        if self._stuck is not None:
            rest = known.tableau.reduced(row)
            return rest is not None and all(
                vanishes(made, rest, prime) for made, prime in zip(self._stuck, PRIMES, strict=True)
            )
        with np.errstate(over="ignore"):
            left = row @ self._random - row[known.tableau.basic] @ self._rows
        return bool(left == 0)
