"""Who attains an answered MAX or MIN in a world, and what room that leaves the others.

In a world, one record that has the value of each extreme is *pinned*: as long as it stays, everybody else
may move inside the boxes. At the level of atoms: an atom can attain its upper bound u at total s if one
record can take u and the rest still fit, s − u >= (m − 1) l. One pin serves every extreme of that value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference.facts.knowledge import Extreme, Knowledge
from cae_sql.inference.facts.query import Ints


@dataclass(frozen=True, eq=False)
class Pins:
    """How many records of each atom are pinned at its upper and at its lower bound: 0 or 1 each, (p,)."""

    top: Ints
    bottom: Ints

    @property
    def count(self) -> Ints:
        """(p,) pinned records."""
        return self.top + self.bottom


def rooms(knowledge: Knowledge, totals: Ints, pins: Pins) -> tuple[Ints, Ints]:
    """(p,) how far the totals can rise and fall while the pinned records stay."""
    loose = knowledge.sizes - pins.count
    rest = totals - pins.top * knowledge.high - pins.bottom * knowledge.low
    return loose * knowledge.high - rest, rest - loose * knowledge.low


def choose_witnesses(
    knowledge: Knowledge, totals: Ints, avoid: NDArray[np.bool_] | None = None, seed: int = 0
) -> Pins | None:
    """Pin a record for every extreme, in atoms of many records where possible.

    Args:
        knowledge: The answers.
        totals: (p,) one world.
        avoid: (p,) atoms to pin only where nothing else serves.
        seed: Breaks ties.

    Returns:
        None where, at these totals, some extreme is attained by nobody.
    """
    pins = Pins(np.zeros(knowledge.count, dtype=np.int64), np.zeros(knowledge.count, dtype=np.int64))
    chance = np.random.default_rng(seed).random(knowledge.count)
    # few candidates first: they have no choice
    for extreme in knowledge.hardest_first:
        atom = _witness(knowledge, totals, extreme, pins, avoid, chance)
        if atom is None:
            return None
        if atom >= 0:
            (pins.top if extreme.top else pins.bottom)[atom] = 1
    return pins


def able(knowledge: Knowledge, extreme: Extreme) -> Ints:
    """The atoms of an extreme whose box reaches its value."""
    return knowledge.able_atoms[extreme]


def _witness(
    knowledge: Knowledge,
    totals: Ints,
    extreme: Extreme,
    pins: Pins,
    avoid: NDArray[np.bool_] | None,
    chance: NDArray[np.float64],
) -> int | None:
    """The atom to pin; -1 where nobody needs to be; None where nobody attains the extreme."""
    candidates = able(knowledge, extreme)
    mine = pins.top if extreme.top else pins.bottom
    low, high = knowledge.low[candidates], knowledge.high[candidates]
    if (low == high).any():
        return -1  # a box of one value attains whatever happens: nobody needs to be pinned
    already = candidates[mine[candidates] > 0]
    if len(already):
        return int(already[0])
    loose = knowledge.sizes[candidates] - pins.count[candidates] - 1
    rest = totals[candidates] - pins.top[candidates] * high - pins.bottom[candidates] * low
    rest = rest - (high if extreme.top else low)
    fits = (loose >= 0) & (rest >= loose * low) & (rest <= loose * high)
    if not fits.any():
        return None
    candidates, loose, rest = candidates[fits], loose[fits], rest[fits]
    slack = np.minimum(rest - loose * low[fits], loose * high[fits] - rest)
    score = np.minimum(loose, 3) * 10.0 + slack / (1.0 + slack) + chance[candidates]
    if avoid is not None:
        score = score - 1000.0 * avoid[candidates]
    return int(candidates[np.argmax(score)])


def only(atom: int, count: int) -> NDArray[np.bool_]:
    """(count,) True at one place."""
    mask = np.zeros(count, dtype=np.bool_)
    mask[atom] = True
    return mask
