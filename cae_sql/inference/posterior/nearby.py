"""What bells leave open, from below, by those of a list: most bells are near one that was measured before.

H(ε) and A are concave in the probabilities and never negative. So where p ≥ c q, value by value, p is a
mixture of c parts q and 1 − c parts of something else, and

    A(p) ≥ c A(q),    H(ε; p) ≥ c H(ε; q).

q is the bell of the list next to p, somewhat stiffer: then p / q is least near where both are highest, not
out in the tails, where p would have nothing. The list is a grid over the stiffness and the place of bells.
Where κ is next to nothing against the domain's width w, `SOFT` / w² is added to it for the choice, so that
the list ends there.

Promise: a lower bound for whatever rows, since c is taken from the rows themselves; which q it is decides
only how tight. It hangs on nothing but the row and the bell: not on what was measured before.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference.posterior.bell import rows_of
from cae_sql.inference.posterior.weights import Floats, Ints
from cae_sql.inference.posterior.windows import Tilt

STIFFER = 0.02
"""From one stiffness of the list to the next, as a part of it. A bell of the list is one or two of them
stiffer than the one it stands for, which costs a fiftieth of the area, and where it leans on an end of the
domain up to a twelfth."""
APART = 0.03
"""From one place to the next, in terms of the bell's width."""
SOFT = 1.0
"""κ w² that is next to nothing."""
MOST = 4_000_000
"""Numbers that are kept in a list; then it begins anew."""
ODD = np.uint64(0x9E3779B97F4A7C15)
FARTHEST = 1e15
"""Number of a place beyond which floats do not tell them apart."""


@dataclass(frozen=True, eq=False)
class Bells:
    """Distributions as `rows_of` takes them, (r,) each."""

    low: Ints
    high: Ints
    theta: Floats
    middle: Floats
    kappa: Floats

    def rows(self, tilt: Tilt) -> Floats:
        """(r, w)"""
        return rows_of(tilt, self.low, self.high, self.theta, self.middle, self.kappa)


class Nearby:
    """Bells that were measured, for one prior, domain and measure."""

    def __init__(self, tilt: Tilt, left: Callable[[Floats], Floats]) -> None:
        """Nothing is measured yet.

        Args:
            tilt: Prior and windows.
            left: (r,) what rows (r, w) leave open: concave in the probabilities, and never negative.
        """
        self._tilt, self._left = tilt, left
        self._lock = threading.Lock()
        self._empty()

    def _empty(self) -> None:
        self._places: dict[int, int] = {}
        """By name, hashed, the place in the list."""
        self._rows: Floats = np.zeros((64, self._tilt.windows.count))
        """(m, w) with room for more."""
        self._leaves: Floats = np.zeros(64)
        """(m,)"""

    def least(self, rows: Floats, bells: Bells) -> Floats:
        """(r,) lower bounds of what some rows leave.

        Args:
            rows: (r, w)
            bells: What they are, or are like.
        """
        found = np.zeros(len(rows))
        names = self._names(bells)
        known = np.flatnonzero(np.abs(names).max(axis=1, initial=0) < FARTHEST)
        if not len(known):
            return found
        with self._lock:  # gates of one process share the list
            places = self._among(names[known].astype(np.int64))
            base, leaves = self._rows[places], self._leaves[places]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            part = np.where(base > 0, rows[known] / base, 1.0).min(axis=1)
        found[known] = np.minimum(part, 1.0) * leaves
        return found

    def _names(self, bells: Bells) -> Floats:
        """(r, 4) box, and numbers of stiffness and place: whole numbers, if not too large."""
        soft, centre = self._soft, self._centre
        level = np.ceil(np.log((bells.kappa + soft) / soft) / np.log1p(STIFFER)) + 1
        firm = soft * np.exp(level * np.log1p(STIFFER))
        slope = bells.theta + bells.kappa * (bells.middle - centre)
        place = np.rint(slope / (bells.kappa + soft) * np.sqrt(firm) / APART)
        return np.column_stack([bells.low, bells.high, level, place])

    def _among(self, names: Ints) -> Ints:
        """(r,) places in the list of the bells of some names (r, 4); new ones are put there."""
        keys, first, inverse = np.unique(_hashed(names), return_index=True, return_inverse=True)
        if (len(self._places) + len(keys)) * self._tilt.windows.count > MOST:
            self._empty()
        places = np.array([self._places.get(key, -1) for key in keys.tolist()], dtype=np.int64)
        fresh = np.flatnonzero(places < 0)
        if len(fresh):
            rows, count = self._bells(names[first[fresh]]).rows(self._tilt), len(self._places)
            self._widen(count + len(fresh))
            places[fresh] = np.arange(count, count + len(fresh))
            self._rows[places[fresh]], self._leaves[places[fresh]] = rows, self._left(rows)
            self._places.update(zip(keys[fresh].tolist(), places[fresh].tolist(), strict=True))
        return places[inverse]

    def _widen(self, count: int) -> None:
        if count > len(self._leaves):
            more = max(count, 2 * len(self._leaves)) - len(self._leaves)
            self._rows = np.pad(self._rows, ((0, more), (0, 0)))
            self._leaves = np.pad(self._leaves, (0, more))

    def _bells(self, names: Ints) -> Bells:
        low, high, level, place = names.T
        firm = self._soft * np.exp(level * np.log1p(STIFFER))
        kappa = firm - self._soft
        middle = np.full(len(names), self._centre)
        # a bell around the domain's centre, with the slope that it has there
        return Bells(low, high, place * APART * np.sqrt(firm), middle, kappa)

    @property
    def _soft(self) -> float:
        windows = self._tilt.windows
        return SOFT / float(windows.width * windows.count) ** 2

    @property
    def _centre(self) -> float:
        windows = self._tilt.windows
        return windows.width * windows.count / 2


def _hashed(names: Ints) -> NDArray[np.uint64]:
    """(r,) one number for each name (r, 4): two with the same share a bell, and have a bound all the same."""
    found = np.zeros(len(names), dtype=np.uint64)
    for column in names.T.astype(np.uint64):
        found = (found ^ column) * ODD
        found ^= found >> np.uint64(29)
    return found
