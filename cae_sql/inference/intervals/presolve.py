"""Exact outer bounds from one sum at a time: cheap, valid, and often all there is to know.

Where a point inside or a program's solution reaches one, it is the end of the interval without further proof.
All in whole numbers; what would be a fraction is rounded outwards.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import compiled
from cae_sql.errors import InconsistentAnswers
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Ints

PASSES = 4
"""Through all sums; each can use what the one before found."""
LARGEST = 2.0**62
"""Sums that might be greater are left aside."""


def from_single_sums(known: Knowledge, atoms: Ints, rows: Ints, sums: Ints) -> tuple[Ints, Ints]:
    """Between which whole numbers the totals (c,) of some atoms lie, by each of some sums alone, passed on.

    The sums are over no other atoms; `sums` has the right-hand sides (k,) of all.

    Raises:
        InconsistentAnswers: a sum is out of reach.
    """
    sizes = known.sizes[atoms]
    low, high = sizes * known.low[atoms], sizes * known.high[atoms]
    lines = known.matrix[np.ix_(rows, atoms)]
    which, columns = map(np.ascontiguousarray, np.nonzero(lines))
    starts = np.searchsorted(which, np.arange(len(rows) + 1))
    entries, values = lines[which, columns].astype(np.int64), sums[rows].astype(np.int64)
    if not narrow(starts, columns, entries, values, low, high, LARGEST):
        raise InconsistentAnswers("no table inside the domain agrees with a sum")
    return low, high


def of_records(
    known: Knowledge, low: NDArray[Any], high: NDArray[Any], atoms: Ints | slice = slice(None)
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Ends of a record of each of some atoms, (c,) each, where the atoms' totals are between two values.

    m records with a total in [s1, s2] have values from max(l, s1 − (m−1)u) to min(u, s2 − (m−1)l).
    """
    rest, least, most = known.sizes[atoms] - 1, known.low[atoms], known.high[atoms]
    return np.maximum(least, low - rest * most), np.minimum(most, high - rest * least)


@compiled(exact=True)
def narrow(
    starts: Ints, columns: Ints, entries: Ints, values: Ints, low: Ints, high: Ints, largest: float
) -> bool:
    """By each sum: what the others leave at least and at most; changes `low` and `high`.

    False where a sum is out of reach. One that might pass `largest` is left aside: it may have overflown.
    """
    for _ in range(PASSES):
        narrower = False
        for row in range(len(values)):
            least, most, widest, size = 0, 0, 0, 0.0
            for place in range(starts[row], starts[row + 1]):
                a, mine, top = entries[place], low[columns[place]], high[columns[place]]
                size += abs(a) * float(max(abs(mine), abs(top)))
                least += a * (mine if a > 0 else top)
                most += a * (top if a > 0 else mine)
                widest = max(widest, abs(a) * (top - mine))
            if size > largest:
                continue
            below, above = values[row] - least, most - values[row]
            if below < 0 or above < 0:
                return False
            if min(below, above) >= widest:
                continue
            for place in range(starts[row], starts[row + 1]):
                a, column = entries[place], columns[place]
                mine, top = low[column], high[column]
                # how far the column can be from the end that makes the sum least, and from the other
                near, far = -(-below // abs(a)), -(-above // abs(a))
                high[column] = min(top, mine + (near if a > 0 else far))
                low[column] = max(mine, top - (far if a > 0 else near))
                narrower |= high[column] < top or low[column] > mine
        if not narrower:
            return True
    return True
