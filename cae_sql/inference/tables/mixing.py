"""Worlds by records: random moves towards the uniform distribution, and totals given to the records.

Compiled. Directions are those of `cae_sql.inference.tables.moves`; `order` has the records sorted by atom,
and atom a's are order[firsts[a]:firsts[a + 1]].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import compiled
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.tables.moves import Mask

UNIFORM = np.zeros(0)
"""No prior: all worlds are alike."""


@compiled()
def pick(atom: int, order: Ints, firsts: Ints) -> int:
    """A random record of an atom."""
    return int(order[firsts[atom] + np.random.randint(0, firsts[atom + 1] - firsts[atom])])


@compiled()
def change(
    record: int,
    by: int,
    atom: int,
    values: Ints,
    low: Ints,
    high: Ints,
    top_starts: Ints,
    tops: Ints,
    bottom_starts: Ints,
    bottoms: Ints,
    attainers: Ints,
    missing: Ints,
) -> None:
    """Change one record's value, and count who attains each extreme, and those (1,) that nobody does."""
    for step_of in (0, 1):
        sign = -1 if step_of == 0 else 1
        if values[record] == high[atom]:
            for place in range(top_starts[atom], top_starts[atom + 1]):
                attainers[tops[place]] += sign
                missing[0] -= sign * (attainers[tops[place]] == (sign + 1) // 2)
        if values[record] == low[atom]:
            for place in range(bottom_starts[atom], bottom_starts[atom + 1]):
                attainers[bottoms[place]] += sign
                missing[0] -= sign * (attainers[bottoms[place]] == (sign + 1) // 2)
        if step_of == 0:
            values[record] += by


@compiled()
def mix(
    basic: Ints,
    free: Mask,
    starts: Ints,
    rows: Ints,
    entries: Ints,
    order: Ints,
    firsts: Ints,
    low: Ints,
    high: Ints,
    top_starts: Ints,
    tops: Ints,
    bottom_starts: Ints,
    bottoms: Ints,
    attainers: Ints,
    values: Ints,
    seed: int,
    sweeps: int,
    odds: NDArray[np.float64],
) -> None:
    """Random moves of one world's records, whose limit is the uniform distribution over worlds.

    With `odds`, logarithms of the probability of each unit, it is the worlds' distribution under that prior.

    Each step draws one record from each atom of a direction and goes to a uniform place of the range that
    these records allow; then pairs inside atoms exchange. A move after which some extreme is attained by
    nobody is taken back. Proposals are symmetric, so the uniform distribution stays. `values` (n,) and
    `attainers` (extremes,) change in place.
    """
    np.random.seed(seed)
    count = len(free)
    picks = np.zeros(len(basic) + 1, np.int64)
    missing = np.zeros(1, np.int64)  # kept up to date: a minimum costs all of them
    for extreme in range(len(attainers)):
        missing[0] += attainers[extreme] == 0
    for _ in range(sweeps):
        for j in np.random.permutation(count):
            if not free[j]:
                continue
            # a step moves one record: totals of large atoms need as many to get anywhere
            for _step in range(1 + min((firsts[j + 1] - firsts[j]) // 2, 2_000)):
                first = pick(j, order, firsts)
                top, bottom = high[j] - values[first], values[first] - low[j]
                for place in range(starts[j], starts[j + 1]):
                    atom, weight = basic[rows[place]], entries[place]
                    record = pick(atom, order, firsts)
                    picks[place - starts[j]] = record
                    above, below = high[atom] - values[record], values[record] - low[atom]
                    if weight > 0:
                        top, bottom = min(top, below // weight), min(bottom, above // weight)
                    else:
                        top, bottom = min(top, above // -weight), min(bottom, below // -weight)
                    if top == 0 and bottom == 0:
                        break
                if top + bottom == 0:
                    continue
                by = np.random.randint(-bottom, top + 1)
                if len(odds):
                    gain = odds[values[first] + by] - odds[values[first]]
                    for place in range(starts[j], starts[j + 1]):
                        held = values[picks[place - starts[j]]]
                        gain += odds[held - entries[place] * by] - odds[held]
                    if np.log(np.random.random()) >= gain:
                        continue
                for way in (1, -1):
                    change(
                        first, way * by, j, values, low, high,
                        top_starts, tops, bottom_starts, bottoms, attainers, missing,
                    )  # fmt: skip
                    for place in range(starts[j], starts[j + 1]):
                        change(
                            picks[place - starts[j]], -way * entries[place] * by, basic[rows[place]], values,
                            low, high, top_starts, tops, bottom_starts, bottoms, attainers, missing,
                        )  # fmt: skip
                    if missing[0] == 0:
                        break
        for atom in range(len(firsts) - 1):
            size = firsts[atom + 1] - firsts[atom]
            if size < 2:
                continue
            for _again in range(size):
                one, two = pick(atom, order, firsts), pick(atom, order, firsts)
                if one == two:
                    continue
                top = min(high[atom] - values[one], values[two] - low[atom])
                bottom = min(values[one] - low[atom], high[atom] - values[two])
                by = np.random.randint(-bottom, top + 1)
                if len(odds):
                    gain = (
                        odds[values[one] + by]
                        - odds[values[one]]
                        + odds[values[two] - by]
                        - odds[values[two]]
                    )
                    if np.log(np.random.random()) >= gain:
                        continue
                for way in (1, -1):
                    change(
                        one, way * by, atom, values, low, high,
                        top_starts, tops, bottom_starts, bottoms, attainers, missing,
                    )  # fmt: skip
                    change(
                        two, -way * by, atom, values, low, high,
                        top_starts, tops, bottom_starts, bottoms, attainers, missing,
                    )  # fmt: skip
                    if missing[0] == 0:
                        break


@compiled()
def spread(
    order: Ints, firsts: Ints, low: Ints, high: Ints, values: Ints, pinned: Mask, shift: Ints, seed: int
) -> bool:
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
