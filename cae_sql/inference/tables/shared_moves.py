"""Moves out of shared rooms: one after the other, each made of what the ones before have left.

A basis says how a part's gain is paid for; *helpers*, parts outside of it, make that shorter where rooms are
small: the one that lowers Σ (what a part pays / its room)² most, again and again, a descent in the lattice
of all ways to pay, as in size reduction. Rooms are those that are left: so many parts pay a little each where
nobody can pay much. All of it holds in whole numbers, whatever the floats by which it was chosen.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import compiled
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.tables.columns import Columns

HELPERS = 2_000
"""Parts that may help whatever sums they are in, the roomiest."""
STEPS = 24
"""Helpers of one move, at most: nearly all find nothing shorter after five."""
TRIES = 4
"""How often a move that cannot be made is looked for again without what is in its way."""
UNABLE = np.float32(1e30)
"""What it counts for that somebody moves who has no room."""
LEAST_GAIN = 1e-4
"""A helper is taken where it shortens a move by so much of what it is, squared."""


def helpers_of(marks: Columns, able: Ints, room: Ints, enough: int) -> Ints:
    """Parts that may help: few, or the roomiest of everybody and of each sum.

    Args:
        marks: (p', k) coefficients.
        able: (a,) the parts among which they are.
        room: (a,) how far each can move.
        enough: How far those of one sum shall be able to move together, if there are so many.
    """
    if len(able) <= HELPERS:
        return able
    chosen = np.zeros(len(able), dtype=np.bool_)
    order = np.argsort(-room, kind="stable")
    chosen[order[:HELPERS]] = True
    theirs = marks[able[order]] != 0
    before = np.cumsum(np.where(theirs, room[order][:, None], 0), axis=0)
    chosen[order] |= (theirs & (before <= enough)).any(axis=1)
    return able[chosen]


def spread_out(parts: NDArray[np.float64], marks: Columns, room: NDArray[np.number]) -> Ints:
    """Reals (p',) rounded down or up so that in the sum that has least room they add up.

    Args:
        parts: What is rounded, none negative.
        marks: (p', k) coefficients.
        room: (p',) how far each part can move.
    """
    used = marks != 0
    sums = used.T.astype(np.float64) @ room
    tightest = np.argmin(np.where(used, sums, np.inf), axis=1) if marks.shape[1] else np.zeros(len(room))
    order = np.lexsort((room, tightest))
    ends = np.floor(np.cumsum(parts[order]) + 1e-6)
    found: Ints = np.empty(len(parts), dtype=np.int64)
    found[order] = np.diff(ends, prepend=0).astype(np.int64)
    return found


@compiled(exact=True)
def collected(
    column: Ints, theirs: Columns, free: Ints, target: int, most: int, load: Ints, way: Ints, looked: Ints
) -> tuple[int, int]:
    """How far a change goes, by moves out of shared rooms; what they take is added to `load`.

    Args:
        column: (k,) what the basic parts lose for a unit of it.
        theirs: (k, h) columns of the helpers.
        free: (2, k + h) what each who pays may lose and gain; changed.
        target: How far it shall go; no further is tried.
        most: Moves that are tried.
        load: (2, k + h) what they lose and gain.
        way: (w, k + h) what each has gained after so many of the moves that are made; filled.
        looked: (1,) how often all helpers were looked at; added to.

    Returns:
        How far, and by how many moves: those beyond w are not in `way`.
    """
    size, many = theirs.shape
    weights, lengths = np.empty(size, np.float32), np.empty(many, np.float32)
    costs = np.empty((2, many), np.float32)
    weighed(theirs, free, weights, lengths, costs, looked)
    left, used = np.empty(size, np.int64), np.empty(STEPS, np.int64)
    along, gains, signs = np.empty(many, np.float32), np.empty(many, np.float32), np.zeros(many, np.int8)
    total, tries, made = 0, 0, 0
    for _ in range(most):
        if total >= target:
            break
        for i in range(size):
            left[i] = column[i]
        count = shorten(left, theirs, weights, lengths, costs, along, gains, signs, used, looked)
        step, blocks = possible(left, free, signs, used, count, target - total)
        total += step
        if step > 0 and made < len(way):
            for i in range(size + many):
                way[made, i] = way[made - 1, i] if made > 0 else 0
            for i in range(size):
                way[made, i] -= step * left[i]
            for n in range(count):
                way[made, size + used[n]] += step * signs[used[n]]
        if step > 0:
            made += 1
        for i in range(size):
            if left[i] != 0 and step > 0:
                side = 0 if left[i] > 0 else 1
                free[side, i] -= step * abs(left[i])
                load[side, i] += step * abs(left[i])
                looked[0] += 1
                weigh(weights, lengths, theirs, i, weight(free[0, i], free[1, i]) - weights[i])
        for n in range(count):
            side = 0 if signs[used[n]] < 0 else 1
            free[side, size + used[n]] -= step
            load[side, size + used[n]] += step
            signs[used[n]] = 0
            costs_of(free, costs, size, used[n])
        if step <= 0:
            tries += 1
            if tries > TRIES or blocks < 0:
                break
            weigh(weights, lengths, theirs, blocks, weights[blocks] * np.float32(15))
    return total, made


@compiled(exact=True)
def mended(change: Ints, theirs: Columns, free: Ints, by: Ints, most: int, looked: Ints) -> bool:
    """Whether basic parts find room for a change that they must make, by helpers.

    Args:
        change: (k,) by how much the basic parts must fall; changed to how much they do.
        theirs: (k, h) columns of the helpers.
        free: (2, k + h) what each may lose and gain; changed.
        by: (h,) how much each helper gains; filled.
        most: How often helpers are looked for.
        looked: (1,) how often all helpers were looked at; added to.
    """
    size, many = theirs.shape
    weights, lengths = np.empty(size, np.float32), np.empty(many, np.float32)
    costs = np.empty((2, many), np.float32)
    weighed(theirs, free, weights, lengths, costs, looked)
    used, along, signs = np.empty(STEPS, np.int64), np.empty(many, np.float32), np.zeros(many, np.int8)
    gains = np.empty(many, np.float32)
    for _ in range(most):
        blocked = 0
        for i in range(size):
            if abs(change[i]) > free[0 if change[i] > 0 else 1, i]:
                blocked += 1
        if not blocked:
            return True
        count = shorten(change, theirs, weights, lengths, costs, along, gains, signs, used, looked)
        for n in range(count):
            j = used[n]
            side = 0 if signs[j] < 0 else 1
            free[side, size + j] -= 1
            free[1 - side, size + j] += 1
            by[j] += signs[j]
            signs[j] = 0
            costs_of(free, costs, size, j)
        if count == 0:
            # whoever is in the way weighs more
            for i in range(size):
                if abs(change[i]) > free[0 if change[i] > 0 else 1, i]:
                    weigh(weights, lengths, theirs, i, weights[i] * np.float32(3))
                    looked[0] += 1
    return False


@compiled()
def possible(
    left: Ints, free: Ints, signs: NDArray[np.int8], used: Ints, count: int, most: int
) -> tuple[int, int]:
    """How often a move can be made, and the basic part that is in its way; −1: none is."""
    step, blocks, size = most, -1, len(left)
    for i in range(size):
        if left[i] != 0:
            able = free[0 if left[i] > 0 else 1, i] // abs(left[i])
            if able < step:
                step, blocks = able, i
    for n in range(count):
        step = min(step, free[0 if signs[used[n]] < 0 else 1, size + used[n]])
    return max(step, 0), blocks


@compiled()
def weighed(
    theirs: Columns, free: Ints, weights: NDArray[np.float32], lengths: NDArray[np.float32],
    costs: NDArray[np.float32], looked: Ints,
) -> None:  # fmt: skip
    """What basic parts weigh, the lengths of the helpers' columns, and what helpers cost: see `shorten`.

    Args:
        theirs: (k, h) columns of the helpers.
        free: (2, k + h) what each may lose and gain.
        weights: (k,) filled. Also `lengths` (h,) and `costs` (2, h).
        looked: (1,) how often all helpers were looked at; added to.
    """
    size, many = theirs.shape
    looked[0] += size
    for j in range(many):
        lengths[j] = 0
        costs_of(free, costs, size, j)
    for i in range(size):
        weights[i] = 0
        weigh(weights, lengths, theirs, i, weight(free[0, i], free[1, i]))


@compiled()
def weight(below: int, above: int) -> np.float32:
    """Of a basic part with so much room to both sides: what it pays, squared, counts for so much."""
    room = min(below, above)
    return np.float32(1.0 / (room * room)) if room > 0 else np.float32(9.0)


@compiled(fastmath={"nnan", "ninf", "nsz"})
def weigh(
    weights: NDArray[np.float32], lengths: NDArray[np.float32], theirs: Columns, i: int, by: np.floating
) -> None:
    """Let a basic part weigh more, in all helpers' columns too."""
    more = np.float32(by)
    weights[i] += more
    for j in range(len(lengths)):
        lengths[j] += more * theirs[i, j] * theirs[i, j]


@compiled(fastmath={"nnan", "ninf", "nsz"})
def added(along: NDArray[np.float32], row: Columns, times: np.float32) -> None:
    """Add a row of the helpers' columns."""
    for j in range(len(along)):
        along[j] += times * row[j]


@compiled()
def costs_of(free: Ints, costs: NDArray[np.float32], size: int, helper: int) -> None:
    """What it counts for that a helper falls, and that it rises: nobody without room does.

    Args:
        free: (2, k + h) how far the basic parts and the helpers may fall and rise.
        costs: (2, h) filled for one helper.
        size: k.
        helper: Which.
    """
    for side in range(2):
        room = free[side, size + helper]
        costs[side, helper] = np.float32(1.0 / (room * room)) if room > 0 else UNABLE


@compiled(fastmath={"nnan", "ninf", "nsz"})
def gained(
    along: NDArray[np.float32], costs: NDArray[np.float32], lengths: NDArray[np.float32],
    gains: NDArray[np.float32],
) -> np.float32:  # fmt: skip
    """By how much each helper shortens a move, falling or rising; the most."""
    fall, rise = costs[0], costs[1]
    best = np.float32(0)
    for j in range(len(along)):
        twice = 2 * np.float64(along[j])
        gains[j] = max(twice - fall[j], -twice - rise[j]) - lengths[j]
    for j in range(len(along)):
        best = max(best, gains[j])
    return best


@compiled()
def shorten(
    left: Ints, theirs: Columns, weights: NDArray[np.float32], lengths: NDArray[np.float32],
    costs: NDArray[np.float32], along: NDArray[np.float32], gains: NDArray[np.float32],
    signs: NDArray[np.int8], used: Ints, looked: Ints,
) -> int:  # fmt: skip
    """Take the helpers that shorten most what is to be paid; how many. A helper is taken once in a move.

    Args:
        left: (k,) what the basic parts lose; changed.
        theirs: (k, h) columns of the helpers.
        weights: (k,) of the basic parts.
        lengths: (h,) of the helpers' columns, squared.
        costs: (2, h) of the helpers, see `costs_of`; those of helpers that are taken are spoiled.
        along: (h,) what each column has in common with what is to be paid; filled. Also `gains`.
        signs: (h,) 1 and −1 for those that rise and fall; filled.
        used: Places of those that are taken; filled.
        looked: (1,) how often all helpers were looked at; added to.
    """
    size = len(left)
    for j in range(len(along)):
        along[j] = 0
    square = np.float32(0)
    for i in range(size):
        if left[i]:
            looked[0] += 1
            added(along, theirs[i], np.float32(weights[i] * left[i]))
            square += np.float32(weights[i] * left[i] * left[i])
    count = 0
    while count < len(used):
        looked[0] += 2
        most = gained(along, costs, lengths, gains)
        # what is left to be paid is summed up in floats, and may come out below nothing
        if most <= np.float32(LEAST_GAIN) * max(square, np.float32(0)):
            break
        best = 0
        while best + 1 < len(gains) and gains[best] != most:
            best += 1
        # a helper that gains pays by its column too: what is left to be paid falls by it, times −1
        sign = -1 if along[best] > 0 else 1
        signs[best], used[count] = sign, best
        costs[0, best] = costs[1, best] = UNABLE
        count += 1
        square -= most
        for i in range(size):
            entry = theirs[i, best]
            if entry:
                left[i] += sign * entry
                looked[0] += 1
                added(along, theirs[i], np.float32(weights[i] * (sign * entry)))
    return count
