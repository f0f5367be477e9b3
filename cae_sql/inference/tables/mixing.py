"""Random moves of one world's records that keep every sum, and totals given to the records. Compiled.

Two records of one atom exchange, and random records of some atoms go along a kernel vector of the sums: to a
uniform place of what their boxes allow, or accepted in the odds of a prior. Proposals are symmetric, so the
limit is the uniform distribution over worlds, or the prior's over them. `order` has the records sorted by
atom, and atom a's are order[firsts[a]:firsts[a + 1]].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import compiled
from cae_sql.inference.facts.query import Ints

UNIFORM = np.zeros(0)
"""No prior: all worlds are alike."""


@compiled()
def totals_of(values: NDArray[np.signedinteger], labels: Ints, count: int) -> Ints:
    """(p,) totals of the atoms in one world (n,)."""
    totals = np.zeros(count, np.int64)
    for record in range(len(labels)):
        totals[labels[record]] += values[record]
    return totals


@compiled()
def jostle(
    order: Ints, firsts: Ints, low: Ints, high: Ints, held: NDArray[np.bool_],
    values: NDArray[np.signedinteger], seed: int, passes: int, odds: NDArray[np.float64],
) -> None:  # fmt: skip
    """Pairs of records of one atom exchange: the sum of the two stays, its division becomes random.

    They are paired in the order in which they lie in memory, at a random distance: among a million, the next
    random one costs a hundred times as much.
    """
    np.random.seed(seed)
    for _ in range(passes):
        for atom in range(len(firsts) - 1):
            first, size = firsts[atom], firsts[atom + 1] - firsts[atom]
            if size < 2:
                continue
            apart = np.random.randint(1, size)
            for place in range(size):
                one, two = order[first + place], order[first + (place + apart) % size]
                if held[one] or held[two]:
                    continue
                rise = min(high[atom] - values[one], values[two] - low[atom])
                fall = min(values[one] - low[atom], high[atom] - values[two])
                by = np.random.randint(-fall, rise + 1)
                if len(odds):
                    gain = odds[values[one] + by] - odds[values[one]]
                    gain += odds[values[two] - by] - odds[values[two]]
                    if np.log(np.random.random()) >= gain:
                        continue
                values[one] += by
                values[two] -= by


@compiled()
def along(
    starts: Ints, atoms: Ints, weights: Ints, boxes: Ints, order: Ints, held: NDArray[np.bool_],
    values: NDArray[np.signedinteger], seed: int, steps: int, odds: NDArray[np.float64],
) -> None:  # fmt: skip
    """Random records of the atoms of random kernel vectors move to a uniform place of what they allow.

    Vector v changes atoms[starts[v]:starts[v + 1]] by the weights of the same places, no atom twice. `boxes`
    (p, 4) has for each atom where its records start in `order`, their number, and their box.
    """
    np.random.seed(seed)
    count = len(starts) - 1
    picks = np.zeros(len(boxes), np.int64)
    for _ in range(steps if count > 0 else 0):
        vector = np.random.randint(0, count)
        first, last = starts[vector], starts[vector + 1]
        rise, fall = np.int64(2**60), np.int64(2**60)
        for place in range(first, last):
            atom, weight = atoms[place], weights[place]
            record = order[boxes[atom, 0]]
            if boxes[atom, 1] > 1:
                record = order[boxes[atom, 0] + np.random.randint(0, boxes[atom, 1])]
            value = np.int64(values[record])
            above, below = boxes[atom, 3] - value, value - boxes[atom, 2]
            if held[record]:
                above, below = np.int64(0), np.int64(0)
            if weight > 0:
                rise, fall = min(rise, above // weight), min(fall, below // weight)
            else:
                rise, fall = min(rise, below // -weight), min(fall, above // -weight)
            if rise == 0 and fall == 0:
                break
            picks[place - first] = record
        if rise == 0 and fall == 0:
            continue
        by = np.random.randint(-fall, rise + 1)
        if len(odds):
            gain = 0.0
            for place in range(first, last):
                here = np.int64(values[picks[place - first]])
                gain += odds[here + weights[place] * by] - odds[here]
            if np.log(np.random.random()) >= gain:
                continue
        for place in range(first, last):
            values[picks[place - first]] += weights[place] * by


@compiled()
def spread(
    order: Ints, firsts: Ints, low: Ints, high: Ints, values: Ints, pinned: NDArray[np.bool_], shift: Ints,
    seed: int,
) -> bool:  # fmt: skip
    """Give changed totals to the records of their atoms, evenly as far as boxes allow, in random order.

    Returns:
        Whether all of every change found a place.
    """
    np.random.seed(seed)
    for atom in range(len(shift)):
        left = shift[atom]
        size = firsts[atom + 1] - firsts[atom]
        while left != 0:
            before = left
            offset = np.random.randint(0, size)
            share = max(1, abs(left) // size)
            for place in range(size):
                record = order[firsts[atom] + (place + offset) % size]
                if pinned[record] or left == 0:
                    continue
                if left > 0:
                    by = min(high[atom] - values[record], min(share, left))
                else:
                    by = -min(values[record] - low[atom], min(share, -left))
                values[record] += by
                left -= by
            if left == before:
                return False
    return True
