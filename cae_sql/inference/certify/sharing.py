"""How the parts of a unit share rooms, so that all of its records can move in one table.

Of a unit with records in several parts each part is shown by itself, out of a share of every room, and the
shares of all its parts add up to 1 at most. Records that need no move of other parts stay inside of their own
(`Rooms.rich`): what they need of its room is kept for them (`Rooms.keep_inside`). What many parts need is
little: so first each has a small share, and those that are not shown divide what is left.

Shapes: p' parts, m pairs of a unit and a part that is in a sum, u units.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference.facts.query import Ints
from cae_sql.inference.facts.units import Occupied

Flags = NDArray[np.bool_]
ROUNDS = (0.25, 0.5, 1.0)
"""So much of what is left to a unit the parts that are not shown divide, one after the other."""


class Sharing:
    """What is left of every room to the parts of each unit."""

    def __init__(self, occupied: Occupied, drawing: Flags) -> None:
        """All rooms are left to everybody; `drawing` (p',) are parts in a sum."""
        here = drawing[occupied.part]
        self._part = occupied.part[here]
        self._unit = np.unique(occupied.unit[here], return_inverse=True)[1].reshape(-1)
        self._left = np.ones(int(self._unit.max(initial=-1)) + 1)
        self._tried = np.zeros(len(drawing))

    def divisions(self, lacking: Flags, part_of: float) -> Ints:
        """(p',) one part in so many of every room is for each of some parts; 1 for others."""
        here = lacking[self._part]
        unit, part = self._unit[here], self._part[here]
        rest = np.bincount(unit, minlength=len(self._left))
        each = np.where(rest > 1, part_of, 1.0) * self._left / np.maximum(rest, 1)
        share = np.ones(len(lacking))
        np.minimum.at(share, part, each[unit])
        found: Ints = np.ceil(1.0 / np.maximum(share, 1e-9) - 1e-9).astype(np.int64)
        self._tried = np.maximum(self._tried, np.where(lacking, 1.0 / found, 0.0))
        return found

    def take(self, shown: Flags) -> None:
        """Take away what some parts were shown with."""
        here = shown[self._part]
        self._left -= np.bincount(self._unit[here], self._tried[self._part[here]], len(self._left))
