"""Kernels over the columns of a basis: what a unit more of an atom takes from each basic atom.

`columns[a, i]`, a small integer, is what basic atom i loses when atom a gains 1. A *part* is a piece of an
atom that queries not yet applied cut. Part j has its parent's column until *pending* pivots change it: for
h = 0, 1, …, with y = ys[h, j], the first k + h entries lose y · pivots[h], and y itself is entry k + h. So a
question is judged without copying anything of the size of a basis. Everything is exact: entries beyond int8
are reported, never wrapped.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import compiled
from cae_sql.inference.facts.query import Ints

Columns = NDArray[np.int8]
LARGEST_ENTRY = 127
"""Entries beyond this make a basis useless: no atom has the room that such a move takes."""
TILE = 64
"""Columns that are looked at together."""
NOTHING = np.float32(1e-12)
"""A load so small that nothing is in the way."""
LOOKED_EVERY = 250
"""Steps between two looks at whether everything is where it may be."""
SAFETY = 1 - 1e-5
"""Where loads are single floats, what they say of rooms is taken so much smaller."""


@compiled()
def effective(
    columns: Columns, width: int, parent: int, ys: NDArray[np.int32], pivots: NDArray[np.int32], count: int,
    part: int,
    buffer: NDArray[np.int32],
) -> None:  # fmt: skip
    """Fill `buffer` with a part's column after `count` pending pivots."""
    for i in range(width):
        buffer[i] = columns[parent, i]
    for h in range(count):
        y = ys[h, part]
        if y != 0:
            for i in range(width + h):
                buffer[i] -= y * pivots[h, i]
        buffer[width + h] = y


@compiled(exact=True)
def columns_of(
    columns: Columns, width: int, parents: Ints, ys: NDArray[np.int32], pivots: NDArray[np.int32], count: int,
    parts: Ints,
) -> NDArray[np.int32]:  # fmt: skip
    """(a, k + count) the columns of some parts after `count` pending pivots."""
    found = np.zeros((len(parts), width + count), np.int32)
    for place in range(len(parts)):
        part = parts[place]
        effective(columns, width, parents[part], ys, pivots, count, part, found[place])
    return found


@compiled(exact=True)
def strains(
    pivots: NDArray[np.int32], signs: Ints, spaces: Ints, shown: NDArray[np.int32], ys: NDArray[np.int32],
    allowed: Ints,
) -> NDArray[np.float64]:  # fmt: skip
    """(c,) what some columns (a, k) would ask of the basic parts after each pivot: the mean of the worst.

    A pivot has a column (c, k), a sign (c,), its entry in the new row, and a room (c,). `ys` (a,) are the
    columns' entries in that row, `allowed` (k,) how far the basic parts can move.
    """
    found = np.zeros(len(pivots))
    for c in range(len(pivots)):
        total = 0.0
        for a in range(len(shown)):
            y = ys[a] * signs[c]
            worst = abs(y) / max(spaces[c], 1)
            for i in range(shown.shape[1]):
                worst = max(worst, abs(shown[a, i] - y * pivots[c, i]) / allowed[i])
            total += worst
        found[c] = total / max(len(shown), 1)
    return found


@compiled(exact=True)
def reduce_row(
    columns: Columns, width: int, parents: Ints, ys: NDArray[np.int32], pivots: NDArray[np.int32], count: int,
    weights: NDArray[np.int32], coefficients: NDArray[np.int32], first: int, last: int,
    out: NDArray[np.int32],
) -> None:  # fmt: skip
    """A new row less its basic part, for parts first..last: out_j = coefficient_j − Σ weights · column_j."""
    buffer = np.zeros(width + count, np.int32)
    for j in range(first, last):
        total = np.int32(0)
        pending = False
        for h in range(count):
            pending = pending or ys[h, j] != 0
        if pending:
            effective(columns, width, parents[j], ys, pivots, count, j, buffer)
            for i in range(width + count):
                total += buffer[i] * weights[i]
        else:
            column = columns[parents[j]]
            for i in range(width):
                total += np.int32(column[i]) * weights[i]
        out[j] = coefficients[j] - total


@compiled(exact=True, fastmath={"nnan", "ninf", "nsz"})
def loads(
    columns: Columns, width: int, parents: Ints, ys: NDArray[np.int32], pivots: NDArray[np.int32], count: int,
    scarce: NDArray[np.floating], parts: Ints, basic: Ints, gradient: NDArray[np.float64],
    cost: NDArray[np.float64], budget: NDArray[np.float64], safety: float, first: int, last: int,
    ends: NDArray[np.floating],
) -> None:  # fmt: skip
    """How far some parts rise and fall before a basic part has no room, or the toll is too high: `ends` (4,
    a).

    `scarce` (4, k + count) is 1 / room of the basic parts, down and up, then both without one record; `ends`
    come in the same order. What is found is taken `safety` times: below 1 where floats are single.
    `gradient`, `cost` and `budget` are those of `cae_sql.inference.tables.margins.Toll`.
    """
    rows = width + count
    buffer = np.zeros(rows, np.int32)
    # columns lie side by side in a tile, so that one instruction serves several of them
    tile, most = np.zeros((rows, TILE), scarce.dtype), np.zeros((4, TILE), scarce.dtype)
    for start in range(first, last, TILE):
        here = min(TILE, last - start)
        for place in range(here):
            j = parts[start + place]
            effective(columns, width, parents[j], ys, pivots, count, j, buffer)
            for i in range(rows):
                tile[i, place] = buffer[i]
        most[:] = 0
        for i in range(rows):
            down, up, down_left, up_left = scarce[0, i], scarce[1, i], scarce[2, i], scarce[3, i]
            entries = tile[i]
            for place in range(TILE):
                entry = entries[place]
                gain = entry if entry > 0 else entry * 0
                give = gain - entry
                load = gain * down + give * up
                most[0, place] = load if load > most[0, place] else most[0, place]
                load = gain * up + give * down
                most[1, place] = load if load > most[1, place] else most[1, place]
                load = gain * down_left + give * up_left
                most[2, place] = load if load > most[2, place] else most[2, place]
                load = gain * up_left + give * down_left
                most[3, place] = load if load > most[3, place] else most[3, place]
        for m in range(len(budget)):
            for place in range(here):
                change, paid = gradient[m, parts[start + place]], 0.0
                for i in range(rows):
                    entry = tile[i, place]
                    if entry != 0:
                        change -= entry * gradient[m, basic[i]]
                        paid += abs(entry) * cost[m, basic[i]]
                load = (abs(change) + paid) / budget[m]
                for side in range(4):
                    most[side, place] = load if load > most[side, place] else most[side, place]
        for side in range(4):
            for place in range(here):
                ends[side, start + place] = safety / max(most[side, place], np.float64(NOTHING))


@compiled(exact=True)
def combine(
    ends: NDArray[np.floating], own: Ints, share: float, slack: float, span: Ints, first: Ints, last: Ints,
    insiders: int, from_: int, to: int, out: Ints, free: NDArray[np.bool_],
) -> None:  # fmt: skip
    """Widths `out` that rooms of several bases add up to, with insiders as if one other record gave nothing.

    A record that is in a basic atom itself has no reach in that basis: its own atom's exchange, `own` (2, a),
    stands for it. So only the other's absence is missing, and from one basis. `ends` (m, 4, a) are those of
    `loads`, `share` is the part of every room that is for the record itself; `slack`, added before rounding
    down, is less than any fraction that rooms can leave. A record is `first` ... `last` above the least value
    of its box, of width `span`. `free`: whether, as an insider, it may have any value while another has all
    of its run.
    """
    for c in range(from_, to):
        far = np.zeros((2, 2), np.int64)  # for whom, in which direction
        for whom in range(2 if insiders else 1):
            part = np.float64(share if whom == 0 else 1.0 - share)
            for way in range(2):
                total = int(min(part * own[way, c] + slack, float(span[c])))
                most = 0
                for m in range(ends.shape[0]):
                    # more than the whole box is of no use, and must not hide what a loss means
                    whole = int(min(part * ends[m, way, c] + slack, float(span[c])))
                    total += whole
                    most = max(most, whole - int(min(part * ends[m, 2 + way, c] + slack, float(span[c]))))
                far[whom, way] = total - (most if insiders else 0)
        width = min(span[c] - first[c], far[0, 0]) + min(first[c], far[0, 1])
        width = min(width, min(span[c] - last[c], far[0, 0]) + min(last[c], far[0, 1]))
        out[c] = width
        free[c] = not insiders or (far[1, 0] >= span[c] - first[c] and far[1, 1] >= last[c])


@compiled(exact=True)
def apply_pending(
    columns: Columns, width: int, ys: NDArray[np.int32], pivots: NDArray[np.int32], count: int,
    first: int, last: int,
) -> int:  # fmt: skip
    """Carry out pending pivots on columns that are wide enough; the greatest entry met."""
    largest = 0
    for j in range(first, last):
        column = columns[j]
        for h in range(count):
            y = ys[h, j]
            if y != 0:
                for i in range(width + h):
                    entry = np.int32(column[i]) - y * pivots[h, i]
                    largest = max(largest, abs(entry))
                    column[i] = np.int8(min(max(entry, -LARGEST_ENTRY), LARGEST_ENTRY))
            largest = max(largest, abs(y))
            column[width + h] = np.int8(min(max(y, -LARGEST_ENTRY), LARGEST_ENTRY))
    return largest


@compiled()
def relax(
    columns: Columns, width: int, parents: Ints, ys: NDArray[np.int32], pivots: NDArray[np.int32], count: int,
    still: NDArray[np.bool_], down: Ints, up: Ints, off: Ints, scale: NDArray[np.float64], least: Ints,
    most: Ints, moved: Ints, steps: int, enough: int, farthest: int, seed: int,
) -> None:  # fmt: skip
    """Bring basic parts nearer to where they should be, by random steps of the others; every sum is kept.

    `still` parts, above all the basic ones, are not moved; the others can fall `down` and rise `up`, and have
    `moved` by so much. `off` says how far each basic part is above its goal, of which `scale` weighs the
    square, and between what it may be. So many steps are tried, none longer than `farthest`; from `enough` on
    it ends as soon as everything is within what is allowed.
    """
    np.random.seed(seed)
    rows = width + count
    buffer = np.zeros(rows, np.int32)
    for step in range(steps):
        if step >= enough and (step - enough) % LOOKED_EVERY == 0:
            inside = True
            for i in range(rows):
                inside = inside and least[i] <= off[i] <= most[i]
            if inside:
                return
        j = np.random.randint(0, len(parents))
        if still[j]:
            continue
        effective(columns, width, parents[j], ys, pivots, count, j, buffer)
        along, square = 0.0, 0.0
        for i in range(rows):
            along += buffer[i] * off[i] * scale[i]
            square += buffer[i] * buffer[i] * scale[i]
        if square == 0.0:
            continue
        by = np.int64(np.rint(along / square))
        # far steps of few leave them at the ends of their boxes
        by = min(max(by, max(-down[j], np.int64(-farthest))), min(up[j], np.int64(farthest)))
        if by == 0 or (2 * along - by * square) * by <= 0:
            continue
        down[j] += by
        up[j] -= by
        moved[j] += by
        for i in range(rows):
            off[i] -= buffer[i] * by
