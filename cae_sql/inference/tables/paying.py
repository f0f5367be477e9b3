"""Kernels of reserves: which swaps pay, what a part takes from each reserve, and how far that lets it go.

What a part takes is its coefficients times the inverse of the reserves' effects. Both have few entries, so it
is added up from these: `starts`, `reserves` and `entries` are the inverse by sums. `width` past sums have
coefficients by atom (`marks`, `parents`), the others by part (`rows`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import compiled
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.tables.columns import NOTHING, Columns


@compiled()
def allotted(
    order: Ints,
    gain: Ints,
    give: Ints,
    kind: Ints,
    rooms: Ints,
    kinds: int,
    enough: int,
    free: NDArray[np.bool_],
) -> Ints:
    """Swaps in an order, each taken if both its parts are free and its kind lacks room; `free` is changed."""
    has = np.zeros(kinds, np.int64)
    taken = np.zeros(len(order), np.int64)
    count = 0
    for swap in order:
        if free[gain[swap]] and free[give[swap]] and has[kind[swap]] < enough:
            free[gain[swap]] = free[give[swap]] = False
            has[kind[swap]] += rooms[swap]
            taken[count] = swap
            count += 1
    return taken[:count]


@compiled()
def _column(
    marks: Columns, width: int, atom: int, part: int, rows: NDArray[np.int32], sign: int, starts: Ints,
    reserves: Ints, entries: Ints, column: Ints, listed: NDArray[np.bool_], touched: Ints, count: int,
) -> int:  # fmt: skip
    """Add what a part takes from each reserve to `column`; list those touched, and return how many."""
    for number in range(width + len(rows)):
        mark = np.int64(marks[atom, number]) if number < width else np.int64(rows[number - width, part])
        if mark == 0:
            continue
        for z in range(starts[number], starts[number + 1]):
            reserve = reserves[z]
            if not listed[reserve]:
                listed[reserve] = True
                touched[count] = reserve
                count += 1
            column[reserve] += sign * mark * entries[z]
    return count


@compiled()
def suited(
    marks: Columns, width: int, parents: Ints, rows: NDArray[np.int32], starts: Ints, reserves: Ints,
    entries: Ints, gain: Ints, give: Ints, poor: NDArray[np.bool_], first: int, last: int, whom: Ints,
    sign: Ints, sides: Ints,
) -> None:  # fmt: skip
    """Fill for some swaps the only poor reserve, from which each takes ±1; that entry; how many others.

    `whom` stays as it is where there is no such reserve.
    """
    size = width + len(rows)
    column, touched = np.zeros(size, np.int64), np.zeros(size, np.int64)
    listed = np.zeros(size, np.bool_)
    for swap in range(first, last):
        count = _both(
            marks, width, parents, rows, starts, reserves, entries, gain[swap], give[swap], column, listed,
            touched,
        )  # fmt: skip
        mine, others, fits = -1, 0, True
        for t in range(count):
            entry = column[touched[t]]
            if entry and poor[touched[t]]:
                fits = fits and mine < 0 and abs(entry) == 1
                mine, sign[swap] = touched[t], entry
            elif entry:
                others += 1
            column[touched[t]], listed[touched[t]] = 0, False
        if fits:
            whom[swap], sides[swap] = mine, others


@compiled()
def help_out(
    marks: Columns, width: int, parents: Ints, rows: NDArray[np.int32], starts: Ints, reserves: Ints,
    entries: Ints, gain: Ints, give: Ints, order: Ints, whom: Ints, rooms: Ints, has: Ints, enough: int,
    before: Ints, aside: Ints, free: NDArray[np.bool_],
) -> Ints:  # fmt: skip
    """Which swaps of an order are taken to help; `aside` becomes what they take besides, at most.

    Args:
        before: (k, k) what reserves that are helped already take besides.
    """
    size = width + len(rows)
    column, touched, extra = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64)
    listed = np.zeros(size, np.bool_)
    taken, found = np.zeros(len(order), np.int64), 0
    for swap in order:
        a, b, mine = gain[swap], give[swap], whom[swap]
        if not free[a] or (b >= 0 and not free[b]) or has[mine] >= enough:
            continue
        free[a] = False
        if b >= 0:
            free[b] = False
        has[mine] += rooms[swap]
        taken[found] = swap
        found += 1
        count = _both(marks, width, parents, rows, starts, reserves, entries, a, b, column, listed, touched)
        extra[:] = 0
        for t in range(count):
            reserve = touched[t]
            by = abs(column[reserve])
            if reserve != mine and by:
                extra[reserve] += by
                extra += by * before[reserve]
            column[reserve], listed[reserve] = 0, False
        aside[mine] = np.maximum(aside[mine], extra)
    return taken[:found]


@compiled()
def _both(
    marks: Columns, width: int, parents: Ints, rows: NDArray[np.int32], starts: Ints, reserves: Ints,
    entries: Ints, gain: int, give: int, column: Ints, listed: NDArray[np.bool_], touched: Ints,
) -> int:  # fmt: skip
    """What a unit of a swap takes from each reserve, as `_column`."""
    count = _column(
        marks, width, parents[gain], gain, rows, 1, starts, reserves, entries, column, listed, touched, 0
    )
    if give >= 0:
        count = _column(
            marks, width, parents[give], give, rows, -1, starts, reserves, entries, column, listed, touched,
            count,
        )  # fmt: skip
    return count


@compiled(fastmath={"nnan", "ninf", "nsz"})
def reach(
    marks: Columns, width: int, parents: Ints, rows: NDArray[np.int32], starts: Ints, reserves: Ints,
    entries: NDArray[np.signedinteger], helped: Ints, firsts: Ints, from_: Ints,
    by: NDArray[np.signedinteger], scarce: NDArray[np.floating], parts: Ints, safety: float,
    ends: NDArray[np.floating],
) -> None:  # fmt: skip
    """`firsts`, `from_` and `by`: what each of the `helped` reserves takes aside.

    All reserves are gone through for each part, though many have nothing to do with it: that is done many at
    once, and without branches that would be guessed wrong as often as not.
    """
    size = scarce.shape[1]
    column, aside = np.zeros(size, entries.dtype), np.zeros(size, entries.dtype)
    there = np.zeros(size + 1, np.int64)
    for place in range(len(parts)):
        part = parts[place]
        atom, count = parents[part], 0
        for number in range(width):
            there[count] = number
            count += marks[atom, number] != 0
        for number in range(width, size):
            there[count] = number
            count += rows[number - width, part] != 0
        column[:] = 0
        for t in range(count):
            number = there[t]
            mark = np.int32(marks[atom, number]) if number < width else rows[number - width, part]
            for z in range(starts[number], starts[number + 1]):
                column[reserves[z]] += mark * entries[z]
        aside[:] = 0
        for h in range(len(helped)):
            share = abs(column[helped[h]])
            if share:
                for z in range(firsts[h], firsts[h + 1]):
                    aside[from_[z]] += share * by[z]
        most0, most1, most2, most3 = NOTHING, NOTHING, NOTHING, NOTHING
        for i in range(size):
            # what is taken aside may be taken either way
            gain = scarce.dtype.type(max(column[i], 0) + aside[i])
            lose = scarce.dtype.type(max(-column[i], 0) + aside[i])
            most0 = max(most0, gain * scarce[0, i], lose * scarce[1, i])
            most1 = max(most1, gain * scarce[1, i], lose * scarce[0, i])
            most2 = max(most2, gain * scarce[2, i], lose * scarce[3, i])
            most3 = max(most3, gain * scarce[3, i], lose * scarce[2, i])
        ends[0, place], ends[1, place] = safety / most0, safety / most1
        ends[2, place], ends[3, place] = safety / most2, safety / most3
