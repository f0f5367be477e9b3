"""Records held at answered extremes, and the totals that this leaves to a table.

An answered MAX or MIN needs somebody who attains it. Whoever moves a table holds some records there first, so
that no step of its own can lose them.
"""

from __future__ import annotations

import numpy as np

from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.facts.witnesses import Pins, able
from cae_sql.inference.tables.exchange import Bounds


def hold(boxes: Knowledge, totals: Ints, copies: int, basic: Ints, seed: int | None = None) -> Pins | None:
    """Hold records at answered extremes, so many for each; None where there are not enough.

    Args:
        boxes: The parts.
        totals: (p',) the table as it is; atoms that already have the room are preferred.
        copies: How many records attain each extreme.
        basic: Parts to hold records of only where nothing else serves.
        seed: At random among those that have the room; by default the roomiest.
    """
    chance = None if seed is None else np.random.default_rng(seed).random(boxes.count)
    top, bottom = np.zeros(boxes.count, dtype=np.int64), np.zeros(boxes.count, dtype=np.int64)
    shunned = np.zeros(boxes.count, dtype=np.bool_)
    shunned[basic] = True
    for extreme in boxes.hardest_first:
        atoms = able(boxes, extreme)
        if not len(atoms):
            return None  # nobody can attain it: no table agrees
        low, high = boxes.low[atoms], boxes.high[atoms]
        # a box of one value attains it whatever happens; an interval that tables keep somebody in may be left
        if (boxes.own[0][atoms] == boxes.own[1][atoms]).any():
            continue
        mine = top if extreme.top else bottom
        missing = copies - int(mine[atoms].sum())
        while missing > 0:
            loose = boxes.sizes[atoms] - top[atoms] - bottom[atoms]
            rest = (
                totals[atoms] - (top[atoms] + extreme.top) * high - (bottom[atoms] + (not extreme.top)) * low
            )
            spare = np.minimum(rest - (loose - 1) * low, (loose - 1) * high - rest)
            wish = spare if chance is None else np.minimum(spare, 0) + chance[atoms] * loose
            score = wish - 1e6 * (spare < 0) - 1e3 * shunned[atoms] - 1e15 * (loose < 1)
            best = int(np.argmax(score))
            if loose[best] < 1:
                return None
            mine[atoms[best]] += 1
            missing -= 1
    return Pins(top, bottom)


def bounds_of(boxes: Knowledge, pins: Pins) -> Bounds:
    """What totals leave the held records where they are."""
    loose = boxes.sizes - pins.count
    held = pins.top * boxes.high + pins.bottom * boxes.low
    return Bounds(held + loose * boxes.low, held + loose * boxes.high)
