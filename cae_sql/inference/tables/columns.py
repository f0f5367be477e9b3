"""Columns of a basis: what a unit more of an atom takes from each basic atom; and kernels over them.

`columns[a, i]`, a small integer, is what basic atom i loses when atom a gains 1. A *part* is a piece of an
atom that queries not yet applied cut. Part j has its atom's column until *pending* pivots change it: for
h = 0, 1, …, with y = ys[h, j], the first k + h entries lose y · pivots[h], and y itself is entry k + h. So a
question is judged without copying anything of the size of a basis. Everything is exact: entries beyond int8
are reported, never wrapped.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import compiled
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.tables.margins import Toll
from cae_sql.threads import in_two

Columns = NDArray[np.int8]
LARGEST_ENTRY = 127
"""Entries beyond this make a basis useless: no atom has the room that such a move takes."""
AT_ONCE = 1 << 12
"""Rows that are multiplied at a time: as single floats they stay in the processor's cache."""
TILE = 64
"""Columns that are looked at together."""
NOTHING = np.float32(1e-12)
"""A load so small that nothing is in the way."""
LOOKED_EVERY, PATIENCE = 250, 120
"""Steps between two looks at whether everything is where it may be; looks without progress that end it."""
SAFETY = 1 - 1e-5
"""Where loads are single floats, what they say of rooms is taken so much smaller."""


class Pivoted(NamedTuple):
    """The columns (k + g) of p' parts after g pending pivots."""

    columns: Columns  # (>= p, >= k) of the atoms
    parents: Ints  # (p',) the atom of each part
    ys: NDArray[np.int32]  # (g, p') what a unit more of each part takes from each new pivot
    pivots: NDArray[np.int32]  # (g, k + g) the column of each pivot when it was chosen


def multiplied(
    rows: NDArray[np.number], weights: NDArray[np.number], into: NDArray[np.signedinteger]
) -> bool:
    """Fill `into` (a, g) with rows (a, k) times weights (g, k); False where numbers are too large for that.

    Single floats hold whole numbers up to 2**24.
    """
    most = min(np.iinfo(into.dtype).max, 2**24)
    largest = float(max(rows.max(initial=0), -rows.min(initial=0)))
    if largest * float(np.abs(weights).sum(axis=1).max(initial=0)) >= 2**24:
        return False
    across = np.ascontiguousarray(weights.T, dtype=np.float32)

    def work(first: int, last: int) -> bool:
        for start in range(first, last, AT_ONCE):
            some = slice(start, min(start + AT_ONCE, last))
            found = rows[some].astype(np.float32) @ across
            if max(found.max(initial=0), -found.min(initial=0)) > most:
                return False
            into[some] = found
        return True

    return all(in_two(work, len(rows), weights.size))


@compiled()
def effective(form: Pivoted, part: int, buffer: NDArray[np.int32]) -> None:
    """Fill `buffer` with a part's column."""
    count = len(form.pivots)
    width = form.pivots.shape[1] - count
    for i in range(width):
        buffer[i] = form.columns[form.parents[part], i]
    for h in range(count):
        y = form.ys[h, part]
        if y != 0:
            for i in range(width + h):
                buffer[i] -= y * form.pivots[h, i]
        buffer[width + h] = y


@compiled(exact=True)
def columns_of(form: Pivoted, parts: Ints) -> NDArray[np.int32]:
    """(a, k + g) the columns of some parts."""
    found = np.zeros((len(parts), form.pivots.shape[1]), np.int32)
    for place in range(len(parts)):
        effective(form, parts[place], found[place])
    return found


def strains(
    pivots: NDArray[np.int32], signs: Ints, spaces: Ints, shown: NDArray[np.int32], ys: NDArray[np.int32],
    allowed: Ints,
) -> NDArray[np.float64]:  # fmt: skip
    """(c,) what some columns (a, k) would ask of the basic parts after each pivot: the mean of the worst.

    A pivot has a column (c, k), a sign (c,), its entry in the new row, and a room (c,). `ys` (a,) are the
    columns' entries in that row, `allowed` (k,) how far the basic parts can move.
    """
    found = np.zeros(len(pivots))
    for c, pivot in enumerate(pivots):
        y = ys * signs[c]
        worst = (np.abs(shown - y[:, None] * pivot) / allowed).max(axis=1, initial=0)
        found[c] = np.maximum(np.abs(y) / max(spaces[c], 1), worst).sum()
    return found / max(len(shown), 1)


@compiled(exact=True, fastmath={"nnan", "ninf", "nsz"})
def loads(
    form: Pivoted, scarce: NDArray[np.floating], parts: Ints, basic: Ints, toll: Toll, safety: float,
    first: int, last: int, ends: NDArray[np.floating],
) -> None:  # fmt: skip
    """How far some parts rise and fall before a basic part has no room, or the toll is too high: `ends` (4,
    a).

    `scarce` (4, k + g) is 1 / room of the basic parts, down and up, then both without one record; `ends`
    come in the same order. What is found is taken `safety` times: below 1 where floats are single.
    """
    rows = form.pivots.shape[1]
    buffer = np.zeros(rows, np.int32)
    # columns lie side by side in a tile, so that one instruction serves several of them
    tile, most = np.zeros((rows, TILE), scarce.dtype), np.zeros((4, TILE), scarce.dtype)
    for start in range(first, last, TILE):
        here = min(TILE, last - start)
        for place in range(here):
            j = parts[start + place]
            effective(form, j, buffer)
            for i in range(rows):
                tile[i, place] = buffer[i]
        most[:] = 0
        for i in range(rows):
            entries = tile[i]
            for side in range(4):
                lost, given, row = scarce[side, i], scarce[side ^ 1, i], most[side]
                for place in range(TILE):
                    entry = entries[place]
                    gain = entry if entry > 0 else entry * 0
                    load = gain * lost + (gain - entry) * given
                    row[place] = load if load > row[place] else row[place]
        for m in range(len(toll.budget)):
            for place in range(here):
                change, paid = toll.gradient[m, parts[start + place]], 0.0
                for i in range(rows):
                    entry = tile[i, place]
                    if entry != 0:
                        change -= entry * toll.gradient[m, basic[i]]
                        paid += abs(entry) * toll.cost[m, basic[i]]
                load = (abs(change) + paid) / toll.budget[m]
                for side in range(4):
                    most[side, place] = load if load > most[side, place] else most[side, place]
        for side in range(4):
            for place in range(here):
                ends[side, start + place] = safety / max(most[side, place], np.float64(NOTHING))


@compiled()
def relax(
    form: Pivoted, rooms: Ints, now: Ints, within: Ints, near: Ints, moved: Ints, steps: int, enough: int,
    farthest: int, seed: int,
) -> None:  # fmt: skip
    """Bring basic parts inside their bounds by random steps of the others; every sum is kept.

    The parts can fall and rise by `rooms` (2, p'), basic ones by nothing, and have `moved` by so much. Basic
    parts have the totals `now` and shall be `within` (2, k + g), nearer to the middle by `near` if they can
    be: the squares of what is missing, over `near`, fall with each step. So many steps are tried, none longer
    than `farthest`. From `enough` on it ends as soon as all are within, or where that comes no nearer.
    """
    np.random.seed(seed)
    rows, buffer = len(now), np.zeros(len(now), np.int32)
    fewest, since = np.inf, 0
    for step in range(steps):
        if step >= enough and step % LOOKED_EVERY == 0:
            outside = 0.0
            for i in range(rows):
                outside += max(within[0, i] - now[i], now[i] - within[1, i], 0)
            fewest, since = min(outside, fewest), 0 if outside < fewest else since + 1
            if outside == 0 or since == PATIENCE:
                return
        j = np.random.randint(0, len(moved))
        if rooms[0, j] <= 0 and rooms[1, j] <= 0:
            continue
        effective(form, j, buffer)
        along, square = 0.0, 0.0
        for i in range(rows):
            if buffer[i] != 0:
                off = now[i] - min(max(now[i], within[0, i] + near[i]), within[1, i] - near[i])
                weight = 1.0 / max(near[i], 1) ** 2
                along += buffer[i] * off * weight
                square += buffer[i] * buffer[i] * weight
        if square == 0.0:
            continue
        by = np.int64(np.rint(along / square))
        # far steps of few leave them at the ends of their boxes
        by = min(max(by, max(-rooms[0, j], np.int64(-farthest))), min(rooms[1, j], np.int64(farthest)))
        if by == 0 or (2 * along - by * square) * by <= 0:
            continue
        rooms[0, j] += by
        rooms[1, j] -= by
        moved[j] += by
        for i in range(rows):
            now[i] -= buffer[i] * by
