"""Directions of single parts: who pays for what one of them gains, found for it and shorter than its column.

A basis names one way to make up for a part that gains. Any other differs from it by *helpers*, parts outside
of the basis: one that gains or loses a unit changes what the basic parts pay by its own column, and keeps
every sum. Taking the helper that lowers Σ (what a part pays / its room)² most, again and again, leads within
a few steps to a direction over some ten parts, mostly by one unit each (a descent in the lattice of all ways
to pay, as in size reduction). It holds in whole numbers whatever the floats by which it was chosen.

Of one part, directions over bases that share no part and helpers of which each is taken once add up, and the
absence of any one record costs one of them (`mathematics.md`, 2: insiders).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import compiled
from cae_sql.inference.certify.rooms import Rooms
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.tables.columns import NOTHING, SAFETY, Columns
from cae_sql.threads import in_two

STEPS = 24
"""Helpers that one direction may take; nearly all find nothing shorter after five."""
LEAST_GAIN = 1e-4
"""A helper is taken where it shortens a direction by so much of what it is, squared."""


@dataclass(frozen=True, eq=False)
class Helpers:
    """Parts that help, for a of the parts that need directions."""

    parts: Ints
    """(h,) in no basis."""
    taken: NDArray[np.bool_]
    """(a, h) those that a part's directions have used up, and itself."""

    @classmethod
    def of(cls, parts: Ints, whom: Ints) -> Helpers:
        """None is used up yet."""
        return cls(parts, parts[None, :] == whom[:, None])

    def some(self, places: Ints) -> Helpers:
        """For some of those parts."""
        return Helpers(self.parts, self.taken[places])


@dataclass(frozen=True, eq=False)
class Directions:
    """One for each of a parts, over k basic parts and h helpers."""

    paid: NDArray[np.int32]
    """(a, k) what each basic part loses for a unit more of the part."""
    used: NDArray[np.int32]
    """(a, STEPS) places of the helpers that gain a unit each, or ~place for those that lose one; the rest is
    below −h."""
    ends: NDArray[np.floating]
    """(4, a) how far parts rise and fall so, as `cae_sql.inference.tables.columns.loads` says it."""

    def missed(
        self, mine: NDArray[np.int8], basic: NDArray[np.int8], helping: NDArray[np.int8]
    ) -> NDArray[np.bool_]:
        """(a,) whether a sum would change: looked at anew, in whole numbers.

        Args:
            mine: (a, k) coefficients of the parts in the sums.
            basic: (k, k) of the basic ones.
            helping: (h, k) of the helpers.
        """
        change = mine.astype(np.int64) - self.paid.astype(np.int64) @ basic.astype(np.int64)
        for step in range(self.used.shape[1]):
            used = self.used[:, step]
            able = np.flatnonzero(used >= -len(helping))
            if not len(able):
                break
            gains = used[able] >= 0
            places = np.where(gains, used[able], ~used[able])
            change[able] += np.where(gains, 1, -1)[:, None] * helping[places].astype(np.int64)
        found: NDArray[np.bool_] = np.any(change != 0, axis=1)
        return found


def shortened(rooms: Rooms, basic: Ints, columns: Columns, helpers: Helpers, theirs: Columns) -> Directions:
    """A direction for each of some parts.

    Args:
        rooms: Of the judgement.
        basic: (k,) a basis.
        columns: (a, k) of the parts in it.
        helpers: Who may help; those that do are used up.
        theirs: (h, k) the helpers' columns.
    """
    count, many = len(columns), len(helpers.parts)
    left, used = columns.astype(np.int32), np.full((count, STEPS), -1 - many, dtype=np.int32)
    ends, safety = rooms.empty(count), SAFETY if rooms.single else 1.0
    weights, mine = (
        (1.0 / np.maximum(rooms.nearer(parts), 0.5) ** 2).astype(np.float32)
        for parts in (basic, helpers.parts)
    )
    lengths = ((theirs.astype(np.float32) ** 2) @ weights + mine).astype(np.float32)
    turned, scarce, spare = np.ascontiguousarray(theirs.T), rooms.scarce(basic), rooms.scarce(helpers.parts)

    def work(first: int, last: int) -> None:
        _shorten(
            left, turned, weights, lengths, scarce, spare, safety, helpers.taken, used, ends,
            first, last,
        )  # fmt: skip

    in_two(work, count, 16 * many)
    return Directions(left, used, ends)


@compiled(fastmath={"nnan", "ninf", "nsz", "reassoc"})
def _shorten(
    left: NDArray[np.int32], theirs: Columns, weights: NDArray[np.float32],
    lengths: NDArray[np.float32], scarce: NDArray[np.floating], spare: NDArray[np.floating], safety: float,
    taken: NDArray[np.bool_], used: NDArray[np.int32], ends: NDArray[np.floating], first: int, last: int,
) -> None:  # fmt: skip
    """`shortened` of parts first..last; theirs: (k, h), lengths: (h,) of the helpers' columns, squared."""
    size, many = theirs.shape
    along = np.zeros(many, np.float32)
    for place in range(first, last):
        # along[j]: what a helper's column has in common with what is to be paid
        along[:] = 0
        square = np.float32(0)
        for i in range(size):
            if left[place, i]:
                _add(along, theirs[i], np.float32(weights[i] * left[place, i]))
                square += np.float32(weights[i] * left[place, i] * left[place, i])
        for step in range(used.shape[1]):
            best, most = -1, np.float32(LEAST_GAIN) * square
            for j in range(many):
                gain = 2 * abs(along[j]) - lengths[j]
                if gain > most and not taken[place, j]:
                    best, most = j, gain
            if best < 0:
                break
            taken[place, best] = True
            # a helper that gains pays by its column too: what is left to be paid falls by it, times −1
            sign = -1 if along[best] > 0 else 1
            used[place, step] = best if sign > 0 else ~best
            square -= most
            for i in range(size):
                entry = theirs[i, best]
                if entry:
                    left[place, i] += sign * entry
                    _add(along, theirs[i], np.float32(weights[i] * (sign * entry)))
        _measure(left[place], used[place], scarce, spare, safety, ends[:, place])


@compiled(fastmath={"nnan", "ninf", "nsz", "reassoc"})
def _add(along: NDArray[np.float32], row: Columns, times: np.float32) -> None:
    for j in range(len(along)):
        along[j] += times * row[j]


@compiled()
def _measure(
    left: NDArray[np.int32], used: NDArray[np.int32], scarce: NDArray[np.floating],
    spare: NDArray[np.floating], safety: float, ends: NDArray[np.floating],
) -> None:  # fmt: skip
    """How far a part goes: what each that pays loses, by what it has; then without one record."""
    many = spare.shape[1]
    for side in range(4):
        # a part that rises takes from what others have below them; 1 and 3: one that falls
        falls, base = side % 2, 2 * (side // 2)
        most = scarce[0, 0] * 0 + NOTHING
        for i in range(len(left)):
            entry = left[i]
            if entry:
                way = falls if entry > 0 else 1 - falls
                most = max(most, abs(entry) * scarce[base + way, i])
        for helper in used:
            if helper < -many:
                break
            gains = helper >= 0
            j = helper if gains else ~helper
            way = 1 - falls if gains else falls
            most = max(most, spare[base + way, j])
        ends[side] = safety / most
