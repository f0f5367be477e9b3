"""Exact outer bounds from one sum at a time: cheap, valid, and often all there is to know.

Where an inner bound or a linear program's solution reaches one of these, it is the end of the interval and
needs no proof by multipliers. Whole numbers all the way; what would be a fraction is rounded outwards.
"""

from __future__ import annotations

import numpy as np

from cae_sql.errors import InconsistentAnswers
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Ints

PASSES = 4
"""Through all sums; each can use what the one before found."""
LARGEST = 2.0**62
"""Sums that might be greater are left aside."""


def from_single_sums(known: Knowledge, atoms: Ints, rows: Ints, sums: Ints) -> tuple[Ints, Ints]:
    """Between which whole numbers the totals of some atoms lie, by each of some sums alone, passed on.

    Args:
        known: The answers.
        atoms: (c,) atoms, all that these sums are over.
        rows: (r,) which sums.
        sums: (k,) right-hand sides of all sums.

    Raises:
        InconsistentAnswers: a sum is out of reach.
    """
    sizes = known.sizes[atoms]
    low, high = sizes * known.low[atoms], sizes * known.high[atoms]
    everything = len(atoms) == known.count
    for _ in range(PASSES):
        before = int((high - low).sum(dtype=np.float64))
        for row in rows.tolist():
            line = known.matrix[row] if everything else known.matrix[row, atoms]
            used = np.flatnonzero(line)
            _narrow(line[used].astype(np.int64), used, int(sums[row]), low, high)
        if int((high - low).sum(dtype=np.float64)) == before:
            break
    return low, high


def _narrow(line: Ints, used: Ints, value: int, low: Ints, high: Ints) -> None:
    """By one sum: what the others leave at least and at most; changes `low` and `high`."""
    mine, top = low[used], high[used]
    size = np.abs(line)
    if float(size @ np.maximum(np.abs(mine), np.abs(top)).astype(np.float64)) > LARGEST:
        return
    up = line > 0
    least = int((line * np.where(up, mine, top)).sum())
    most = int((line * np.where(up, top, mine)).sum())
    below, above = value - least, most - value
    if below < 0 or above < 0:
        raise InconsistentAnswers("no table inside the domain agrees with a sum")
    if min(below, above) >= int((size * (top - mine)).max(initial=0)):
        return
    # how far the column can be from the end that makes the sum least, and from the other
    near, far = -(-below // size), -(-above // size)
    high[used] = np.minimum(top, mine + np.where(up, near, far))
    low[used] = np.maximum(mine, top - np.where(up, far, near))
