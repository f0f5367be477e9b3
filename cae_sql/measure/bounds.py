"""The area of many values between certified bounds, as close as is asked for.

The area halves stretches of ε (`area_bounds`). Between the widths a < b of a stretch a path of blocks costs
no less than at b, and H no more than at a. So a vertex through which the cheapest path at b costs more than
H(a) is on no best path in the stretch, and is left out of it: the narrower the stretch, the fewer are left.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import compiled
from cae_sql.measure.kernels import TABLE_LIMIT, block_weight, weight_table
from cae_sql.measure.lanes import f, shannon
from cae_sql.measure.long import Blocks, by_stacks

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

RELATIVE_ERROR = 1e-3
"""Of an area that is not computed exactly, unless another is asked for."""
_ROUNDING = 2.0**-50
"""Of H(0), for each value: paths that differ by less, the rounding of their sums, are equally good. With less
of it areas of a thousand equally likely values were too small by 10⁻⁹: many of their paths are."""
_NOTHING = 2.0**-60
"""Of the area: a stretch that leaves no more open is settled."""
_MANY = 128
"""Blocks that end at a vertex, on average: from here on the algorithm in O(n log n) is quicker than trying
each (measured at n = 1,000)."""


class _Room(NamedTuple):
    """Arrays that calls of `_distances` share, one place for each vertex."""

    leftmost: Ints
    mirrored: Ints
    vertex: Ints
    floats: Floats
    stack: Ints
    until: Ints


# Reordering a minimum changes no digit of it; without leave to reorder the loop is not vectorised.
# Offsets are unsigned: a signed index may be negative, which each access would look at.
@compiled(error_model="numpy", fastmath={"nnan", "nsz", "contract", "reassoc"})
def _one_by_one(
    distance: Floats, blocks: Blocks, vertex: Ints, leftmost: Ints, rest: Floats, limit: float, room: _Room
) -> None:
    """As `by_stacks`, quick where few blocks end at a vertex; no path of more than `limit` matters.

    A boundary between two blocks is best as far left as the second reaches, or as far right as the first one
    does (`kernels.py`): only vertices that are the end of such a first one are kept for shorter blocks.

    Args:
        rest: What leads from each vertex to the other end at least.
    """
    n = leftmost.size - 1
    start, number, place = room.floats, room.stack, room.until
    table, total, p, along = blocks.table, blocks.total, blocks.p, blocks.along
    tabled = table.size > 0
    distance[0] = before = 0.0
    ends, oldest = 0, 0
    for v in range(1, n + 1):
        u, here = leftmost[np.uint64(v)], vertex[np.uint64(v)]
        row = blocks.base + here * blocks.stride
        old, new = vertex[np.uint64(u)], vertex[np.uint64(v - 1)]
        if tabled:
            best = before + table[np.uint64(row + new * along)]
            best = min(best, distance[np.uint64(u)] + table[np.uint64(row + old * along)])
        else:
            best = before + block_weight(p, total, new, here)
            best = min(best, distance[np.uint64(u)] + block_weight(p, total, old, here))
        while oldest < ends and number[np.uint64(oldest)] <= u:
            oldest += 1
        if tabled:
            for k in range(oldest, ends):
                at = np.uint64(row + place[np.uint64(k)] * along)
                best = min(best, start[np.uint64(k)] + table[at])
        else:
            for k in range(oldest, ends):
                mass = total[np.uint64(here)] - total[np.uint64(place[np.uint64(k)])]
                best = min(best, start[np.uint64(k)] + f(mass))
        distance[np.uint64(v)] = before = best
        if v < n and leftmost[np.uint64(v + 1)] > u and best + rest[np.uint64(v)] <= limit:
            start[np.uint64(ends)], place[np.uint64(ends)], number[np.uint64(ends)] = best, here, v
            ends += 1


@compiled()
def _next_width(x: Floats, vertex: Ints, size: int, width: float) -> float:
    """The least width beyond this one from which on another block is allowed."""
    following, u = math.inf, 0
    for k in range(1, size):
        right = x[np.uint64(vertex[np.uint64(k)] - 1)]
        while u < k and right - x[np.uint64(vertex[np.uint64(u)])] > width:
            following = min(following, right - x[np.uint64(vertex[np.uint64(u)])])
            u += 1
    return following


@compiled(error_model="numpy")
def _passable(
    x: Floats, vertex: Ints, before: Floats, after: Floats, size: int, width: float, room: _Room
) -> int:
    """Leave out the vertices that no path of blocks of this width passes; how many are left."""
    leftmost = room.leftmost
    leftmost[0] = 0
    kept, u = 1, 0
    start = x[vertex[0]]
    for i in range(1, size):
        k, free = np.uint64(i), np.uint64(kept)
        here = vertex[k]
        right = x[np.uint64(here - 1)]
        while u < kept and right - start > width:
            u += 1
            start = x[np.uint64(vertex[np.uint64(u)])] if u < kept else start
        if u == kept:
            u -= 1
            continue
        vertex[free], before[free], after[free], leftmost[free] = here, before[k], after[k], u
        kept += 1
    first = following = kept - 1
    for old in range(kept - 2, -1, -1):
        if leftmost[np.uint64(following)] <= old:
            following = old
            first -= 1
            if first != old:
                vertex[first], before[first], after[first] = vertex[old], before[old], after[old]
    if first:
        for new in range(kept - first):
            old = first + new
            vertex[new], before[new], after[new] = vertex[old], before[old], after[old]
    return kept - first


@compiled(error_model="numpy")
def _distances(
    x: Floats, blocks: Blocks, vertex: Ints, size: int, width: float, backward: bool, rest: Floats,
    limit: float, out: Floats, room: _Room,
) -> float:  # fmt: skip
    """The distances of some vertices from the first, or `backward` to the last, by paths over them alone.

    Args:
        blocks: What they weigh; those of the mirrored values if `backward`.
        rest: What leads from each vertex to the other end at least; no path of more than `limit` matters.
        out: Receives the distances.

    Returns:
        The least width from which on up to this one the same blocks of those are allowed.
    """
    n = x.size
    leftmost = room.leftmost
    below, pairs, u = 0.0, 0, 0
    leftmost[0] = 0
    start = x[vertex[0]]
    for v in range(1, size):
        right = x[np.uint64(vertex[np.uint64(v)] - 1)]
        apart = right - start
        while apart > width:
            u += 1
            start = x[np.uint64(vertex[np.uint64(u)])]
            apart = right - start
        below = max(below, apart)
        leftmost[np.uint64(v)] = u
        pairs += v - u
    order = room.vertex[:size]
    if backward:
        reach = size - 1
        mirrored = room.mirrored
        for u in range(size - 1, -1, -1):
            while leftmost[np.uint64(reach)] > u:
                reach -= 1
            order[np.uint64(size - 1 - u)] = n - vertex[np.uint64(u)]
            mirrored[np.uint64(size - 1 - u)] = size - 1 - reach
        leftmost = mirrored
    else:
        order = vertex[:size]
    if pairs > _MANY * size:
        by_stacks(out, blocks, order, leftmost[:size], room.stack, room.until)
    else:
        if backward:
            _turn(rest, size)
        _one_by_one(out, blocks, order, leftmost[:size], rest, limit, room)
        if backward:
            _turn(rest, size)
    if backward:
        _turn(out, size)
    return below


@compiled()
def _turn(a: Floats, size: int) -> None:
    for k in range(size // 2):
        i, j = np.uint64(k), np.uint64(size - 1 - k)
        a[i], a[j] = a[j], a[i]


class _Stretches(NamedTuple):
    """Stretches that are still open, the last one first; one place for each."""

    first: Floats
    last: Floats
    above: Floats
    """H at the first width."""
    below: Floats
    """H at the last one."""
    open: Floats
    """What may lie between the bounds."""
    begin: Ints
    """Where its vertices begin."""
    size: Ints
    known: Flags
    """Whether `after` is of the last width; else it is of a greater one."""


@compiled(error_model="numpy")
def _within(vertex: Ints, before: Floats, after: Floats, begin: int, size: int, limit: float, to: int) -> int:
    """Copy the vertices through which a path of at most `limit` leads to a place at or before their own; how
    many."""
    kept = to
    for i in range(begin, begin + size):
        k, free = np.uint64(i), np.uint64(kept)
        here, there = before[k], after[k]
        vertex[free], before[free], after[free] = vertex[k], here, there
        kept += here + there <= limit  # without a branch, which is hard to foresee
    return kept - to


@compiled(error_model="numpy")
def _area_bounds(
    x: Floats, blocks: Blocks, mirror: Blocks, first: float, relative_error: float
) -> tuple[float, float]:
    """See `area_bounds`; `first` is the least width at which H changes."""
    n = x.size
    highest = shannon(blocks.p, 0, n)
    spread, slack = x[n - 1] - x[0], _ROUNDING * highest * n
    room = _Room(
        np.empty(n + 1, np.int64), np.empty(n + 1, np.int64), np.empty(n + 1, np.int64), np.empty(n + 1),
        np.empty(n + 1, np.int64), np.empty(n + 1, np.int64),
    )  # fmt: skip
    most = 2_200  # halvings of the range of floats: no more stretches are open at once
    todo = _Stretches(
        np.empty(most), np.empty(most), np.empty(most), np.empty(most), np.empty(most),
        np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.bool_),
    )  # fmt: skip
    vertex, before, after = np.arange(2 * n + 2), np.zeros(2 * n + 2), np.zeros(2 * n + 2)
    passed, distance, beyond = np.empty(n + 1, np.int64), np.empty(n + 1), np.empty(n + 1)
    stale = np.empty(n + 1)
    # Settled for the lower bound; between the bounds; what open stretches will settle at least; and the sum
    # of the roots of what they leave open: a stretch ends up in as many parts as its root is large.
    settled, between, coming, roots, count = highest * first, 0.0, 0.0, 0.0, 0
    if spread > first:
        _put(todo, 0, first, spread, highest, 0.0, 0, n + 1, True)
        count, roots = 1, math.sqrt(todo.open[0])
    while count:
        count -= 1
        a, b, high, low, gap = (
            todo.first[count], todo.last[count], todo.above[count], todo.below[count], todo.open[count],
        )  # fmt: skip
        begin, size = todo.begin[count], todo.size[count]
        area = settled + coming
        share = (2.0 * relative_error * area - between) * min(math.sqrt(gap) / roots, 1.0)
        coming = max(coming - low * (b - a), 0.0)
        roots = max(roots - math.sqrt(gap), 0.0)
        if gap <= share or gap <= _NOTHING * area:
            settled += low * (b - a)
            between += gap
            continue
        limit = high + slack
        size = _within(vertex, before, after, begin, size, limit, begin)
        if not todo.known[count]:
            size = _passable(x, vertex[begin:], before[begin:], after[begin:], size, b, room)
            _distances(x, mirror, vertex[begin:], size, b, True, before[begin:], limit, beyond, room)
            for i in range(size):
                after[begin + i] = beyond[i]
            size = _within(vertex, before, after, begin, size, limit, begin)
        middle = a + (b - a) / 2
        if middle >= b:
            middle = a  # no float lies between them
        for i in range(size):
            to, at = np.uint64(i), np.uint64(begin + i)
            passed[to], stale[to], distance[to] = vertex[at], after[at], 0.0
        left = _passable(x, passed, distance, stale, size, middle, room)
        least = _distances(x, blocks, passed, left, middle, False, stale, limit, distance, room)
        most_width = _next_width(x, vertex[begin:], size, middle)
        # Without a path none costs as little as at a: H is what it was there.
        height = min(max(distance[left - 1], low), high) if passed[left - 1] == n else high
        least, most_width = max(least, a), min(most_width, b)
        settled += height * (most_width - least)
        if begin + size + left > vertex.size:
            vertex, before, after = _grown(vertex, before, after, begin + size, left)
        top = begin
        if height > low and b > most_width:
            right = _within(vertex, before, after, begin, size, height + slack, begin)
            _put(todo, count, most_width, b, height, low, begin, right, True)
            top = begin + right
            coming += low * (b - most_width)
            roots += math.sqrt(todo.open[count])
            count += 1
        else:
            settled += low * (b - most_width)
        if high > height and least > a:
            for i in range(left):
                at, to = np.uint64(i), np.uint64(top + i)
                vertex[to], before[to], after[to] = passed[at], distance[at], stale[at]
            _put(todo, count, a, least, high, height, top, left, False)
            coming += height * (least - a)
            roots += math.sqrt(todo.open[count])
            count += 1
        else:
            settled += height * (least - a)
    return settled, settled + between


@compiled()
def _put(
    todo: _Stretches, k: int, first: float, last: float, above: float, below: float, begin: int, size: int,
    known: bool,
) -> None:  # fmt: skip
    todo.first[k], todo.last[k], todo.above[k], todo.below[k] = first, last, above, below
    todo.open[k] = (above - below) * (last - first)
    todo.begin[k], todo.size[k], todo.known[k] = begin, size, known


@compiled()
def _grown(vertex: Ints, before: Floats, after: Floats, used: int, more: int) -> tuple[Ints, Floats, Floats]:
    """Copies of the used parts, with room for as much again and more."""
    length = 2 * (used + more)
    larger = np.empty(length, np.int64), np.empty(length), np.empty(length)
    larger[0][:used], larger[1][:used], larger[2][:used] = vertex[:used], before[:used], after[:used]
    return larger


def area_bounds(x: Floats, p: Floats, relative_error: float = RELATIVE_ERROR) -> tuple[float, float]:
    """Bounds of the area, in bits × units of `x`.

    *Proof.* H never rises. So over a stretch a … b of widths the integral of H lies between H(b) (b − a) and
    H(a) (b − a), and the sums of these over stretches that cover 0 … spread are bounds of the area: lower and
    upper. Where the same blocks are allowed throughout a stretch, H is one number there, and both are equal.
    Leaving vertices out changes no H in a stretch: a path that is the best at some width of it costs H(a) at
    most; it is allowed at b, so it passes only vertices through which some path allowed at b costs as little.

    A stretch is halved where H is measured next, until what its bounds leave open is no more than its share
    of 2 · relative_error · (what is known to lie below the area), those of all together not more than that.
    The bounds are certain up to the rounding of H, some 10⁻¹³ of H(0) times the spread.

    Args:
        x: (n,) ascending positions.
        p: (n,) probabilities, all positive, sum 1.
        relative_error: (upper − lower) / 2 is at most this part of lower; 0: equal, but for rounding.
    """
    if x.size == 1:
        return 0.0, 0.0
    n = x.size
    total = np.concatenate([[0.0], np.cumsum(p, dtype=np.longdouble).astype(np.float64)])
    table, (base, stride, along), back = np.empty(0), (0, 0, 0), (0, 0, 0)
    if p.min() == p.max():
        table = np.array([f(k / n) for k in range(n + 1)])
        (base, stride, along) = back = (0, 1, -1)
    elif n <= TABLE_LIMIT:
        table = weight_table(p).reshape(-1)
        base, stride, along = 0, n + 1, 1
        back = (table.size - 1, -n - 1, -1)
    blocks = Blocks(p, total, table, base, stride, along)
    mirror = Blocks(np.ascontiguousarray(p[::-1]), total[-1] - total[::-1], table, *back)
    return _area_bounds(x, blocks, mirror, float(np.diff(x).min()), relative_error)
