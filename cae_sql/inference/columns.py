"""Kernels over the columns of a basis: what a unit more of an atom takes from each basic atom, in small integers.

`columns[a, i]` is what basic atom i loses when atom a gains 1. A *part* is a piece of an atom that queries not
yet applied cut; part j has its parent's column until *pending* pivots change it: for h = 0, 1, …, with y = ys[h, j],
the first k + h entries lose y · pivots[h] and y itself is entry k + h. So a question is judged without copying
anything of the size of a basis. Everything is exact: entries beyond int8 are reported, never wrapped.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import compiled
from cae_sql.inference.answers import Ints

Small = NDArray[np.int8]
Columns = NDArray[np.int8]
LARGEST_ENTRY = 127
"""Entries beyond this make a basis useless: no atom has the room that such a move takes."""
UNBOUNDED = 1 << 40
"""Room where nothing is in the way."""


@compiled()
def effective(
    columns: Columns, width: int, parent: int, ys: NDArray[np.int32], pivots: NDArray[np.int32], count: int, part: int,
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


@compiled()
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


@compiled()
def violating(
    columns: Columns, width: int, parents: Ints, ys: NDArray[np.int32], pivots: NDArray[np.int32], count: int,
    above: NDArray[np.int16], below: NDArray[np.int16], classes: NDArray[np.int16], first: int, last: int,
    out: NDArray[np.bool_],
) -> None:  # fmt: skip
    """Which parts have an entry greater than `above` or less than −`below` in some row of their class."""
    buffer = np.zeros(width + count, np.int32)
    for j in range(first, last):
        wrong = 0
        most, least = above[classes[j]], below[classes[j]]
        pending = False
        for h in range(count):
            pending = pending or ys[h, j] != 0
        if pending:
            effective(columns, width, parents[j], ys, pivots, count, j, buffer)
            for i in range(width + count):
                wrong += (buffer[i] > most[i]) | (-buffer[i] > least[i])
        else:
            column = columns[parents[j]]
            for i in range(width):
                entry = np.int16(column[i])
                wrong += (entry > most[i]) | (-entry > least[i])
        out[j] = wrong > 0


@compiled()
def reaches(
    columns: Columns, width: int, parents: Ints, ys: NDArray[np.int32], pivots: NDArray[np.int32], count: int,
    rooms: NDArray[np.float64], parts: Ints, first: int, last: int, ends: NDArray[np.float64],
) -> None:  # fmt: skip
    """How far each of some parts can rise and fall before a basic atom has no room: reals, not rounded.

    Args:
        rooms: (4, k + count) of the basic atoms: down and up, then both without some records.
        ends: (4, a) filled: rise and fall, then both without some records.
    """
    buffer = np.zeros(width + count, np.int32)
    inverse = np.zeros(LARGEST_ENTRY + 1)
    for size in range(1, LARGEST_ENTRY + 1):
        inverse[size] = 1.0 / size
    for place in range(first, last):
        j = parts[place]
        effective(columns, width, parents[j], ys, pivots, count, j, buffer)
        rise, fall = float(UNBOUNDED), float(UNBOUNDED)
        rise_left, fall_left = rise, fall
        for i in range(width + count):
            entry = buffer[i]
            if entry == 0:
                continue
            size = abs(entry)
            part = inverse[size] if size <= LARGEST_ENTRY else 0.0
            if entry > 0:
                rise, fall = min(rise, rooms[0, i] * part), min(fall, rooms[1, i] * part)
                rise_left, fall_left = min(rise_left, rooms[2, i] * part), min(fall_left, rooms[3, i] * part)
            else:
                rise, fall = min(rise, rooms[1, i] * part), min(fall, rooms[0, i] * part)
                rise_left, fall_left = min(rise_left, rooms[3, i] * part), min(fall_left, rooms[2, i] * part)
        ends[0, place], ends[1, place], ends[2, place], ends[3, place] = rise, fall, rise_left, fall_left


@compiled()
def apply_pending(
    columns: Columns, width: int, ys: NDArray[np.int32], pivots: NDArray[np.int32], count: int,
    first: int, last: int,
) -> int:  # fmt: skip
    """Carry out pending pivots on columns that are wide enough; the greatest entry met, also where too large."""
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
    still: NDArray[np.bool_], down: Ints, up: Ints, off: Ints, scale: NDArray[np.float64], moved: Ints,
    steps: int, seed: int,
) -> float:  # fmt: skip
    """Bring basic atoms nearer to where they should be, by random steps of the others; every sum is kept.

    Args:
        still: (p',) parts that are not moved: the basic ones above all.
        down: (p',) how far each part can still fall; changed in place. Also `up`.
        off: (k + count,) how far each basic atom's total is above its goal; changed in place.
        scale: (k + count,) the weight of that, squared.
        moved: (p',) changes so far; changed in place.
        steps: Parts tried.

    Returns:
        The weighted sum of squares that is left.
    """
    np.random.seed(seed)
    rows = width + count
    buffer = np.zeros(rows, np.int32)
    for _ in range(steps):
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
        by = min(max(by, -down[j]), up[j])
        if by == 0 or (2 * along - by * square) * by <= 0:
            continue
        down[j] += by
        up[j] -= by
        moved[j] += by
        for i in range(rows):
            off[i] -= buffer[i] * by
    left = 0.0
    for i in range(rows):
        left += scale[i] * off[i] * off[i]
    return left
