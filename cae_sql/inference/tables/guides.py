"""Tables that keep shares, made from worlds by exchange between records that no sum tells apart.

A guide says who may be held where (`cae_sql.inference.facts.shares`). It is no evidence: what follows from it
is shown by tables that are looked at anew, so a bad guide costs a range and never a promise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import compiled
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.facts.shares import Share

SWAPS = 20
"""Exchanges of two records for each record: most are seen several times."""
ASKED = 256
"""Records that are asked to make up for one: those who cannot are passed over by the next one."""
ROUNDS = 4
"""How often everybody on the wrong side is looked at."""


def shuffled(table: Ints, members: tuple[Ints, Ints], boxes: tuple[Ints, Ints], seed: int) -> Ints:
    """A random table with the sums of another, everybody in his box.

    Args:
        table: (n,) the other one.
        members: Records by atom of what the sums tell apart, as `Atoms.by_atom`.
        boxes: (n,) each: least and greatest value of each record.
        seed: Of chance.
    """
    found = table.copy()
    _jostled(found, *members, *boxes, seed, SWAPS * len(found))
    return found


def guide(
    table: NDArray[np.integer], members: tuple[Ints, Ints], boxes: tuple[Ints, Ints], shares: Sequence[Share],
    spare: int, free: NDArray[np.bool_], dear: NDArray[np.float64] | None = None,
) -> Ints | None:  # fmt: skip
    """A table with the same sums that keeps boxes, and shares with some to spare; None where none is found.

    Args:
        table: (n,) a world, in units.
        members: Records by atom and where each atom's start, as `Atoms.by_atom`.
        boxes: (n,) each: least and greatest value of each record.
        shares: What it shall keep.
        spare: By how many more than they say.
        free: By atom, whether no sum is about its records: then nobody makes up for what one of them gains.
        dear: (n,) how much others' moves hang on each one's being where he is; by default on nobody's.
    """
    values = table.astype(np.int64)
    if not shares:
        return values
    order, firsts = members
    labels = np.empty(len(order), dtype=np.int64)
    labels[order] = np.repeat(np.arange(len(firsts) - 1), np.diff(firsts))
    about = np.zeros((len(shares), len(values)), dtype=np.bool_)
    for number, share in enumerate(shares):
        about[number, share.members] = True
    counts = [len(share.region) for share in shares]
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    ends = np.array([each for share in shares for each in share.region], dtype=np.int64).reshape(-1, 2)
    wanted = np.array([share.least + spare for share in shares], dtype=np.int64)
    turns = np.array([_turns(share, values, dear) for share in shares])
    well = _led(
        values, order, firsts, labels, boxes[0], boxes[1], about, starts, ends[:, 0].copy(),
        ends[:, 1].copy(), wanted, turns, free,
    )  # fmt: skip
    return values if well else None


def _turns(share: Share, values: Ints, dear: NDArray[np.float64] | None) -> Ints:
    """(n,) in which order records are asked to be where a share wants them: near and not dear ones first."""
    ways = [np.maximum(np.maximum(low - values, values - high), 0) for low, high in share.region]
    cost = np.min(ways, axis=0) * (1.0 if dear is None else 1.0 + dear)
    return np.argsort(cost, kind="stable")


@compiled()
def _jostled(values: Ints, order: Ints, firsts: Ints, low: Ints, high: Ints, seed: int, steps: int) -> None:
    """Two records of one atom share what they have anew, again and again."""
    np.random.seed(seed)
    atoms = len(firsts) - 1
    for _ in range(steps):
        # by records, so that large atoms are not seldom seen
        place = np.random.randint(0, len(order))
        atom = np.searchsorted(firsts, place, side="right") - 1
        first, size = firsts[atom], firsts[atom + 1] - firsts[atom]
        if size < 2 or atom >= atoms:
            continue
        one, two = order[place], order[first + np.random.randint(0, size)]
        if one == two:
            continue
        rise = min(high[one] - values[one], values[two] - low[two])
        fall = min(values[one] - low[one], high[two] - values[two])
        by = np.random.randint(-fall, rise + 1)
        values[one] += by
        values[two] -= by


@compiled()
def _led(
    values: Ints, order: Ints, firsts: Ints, labels: Ints, low: Ints, high: Ints, about: NDArray[np.bool_],
    starts: Ints, lows: Ints, highs: Ints, wanted: Ints, turns: Ints, free: NDArray[np.bool_],
) -> bool:  # fmt: skip
    """Who are asked first for each share: `turns` (shares, n)."""
    size, count = len(values), len(wanted)
    at = np.zeros((2, len(firsts) - 1), np.int64)
    for record in range(size):
        goal = min(max(values[record], low[record]), high[record])
        if goal != values[record] and not _moved(
            record,
            goal,
            values,
            order,
            firsts,
            labels,
            low,
            high,
            about,
            starts,
            lows,
            highs,
            False,
            free,
            at,
        ):
            return False
    at[:] = 0
    lacking = wanted.copy()
    for share in range(count):
        for record in range(size):
            if about[share, record] and _inside(share, values[record], starts, lows, highs):
                lacking[share] -= 1
    for _ in range(ROUNDS):
        if lacking.max() <= 0:
            return True
        for share in range(count):
            for record in turns[share]:
                if lacking[share] <= 0:
                    break
                value = values[record]
                if not about[share, record] or _inside(share, value, starts, lows, highs):
                    continue
                goal = _nearest(share, value, low[record], high[record], starts, lows, highs)
                if goal < 0:
                    continue
                well = True
                for other in range(count):
                    if other != share and about[other, record] and lacking[other] >= 0:
                        was = _inside(other, value, starts, lows, highs)
                        well = well and (not was or _inside(other, goal, starts, lows, highs))
                if well and _moved(
                    record,
                    goal,
                    values,
                    order,
                    firsts,
                    labels,
                    low,
                    high,
                    about,
                    starts,
                    lows,
                    highs,
                    True,
                    free,
                    at,
                ):
                    for other in range(count):
                        if about[other, record]:
                            lacking[other] += _inside(other, value, starts, lows, highs)
                            lacking[other] -= _inside(other, goal, starts, lows, highs)
    return bool(lacking.max() <= 0)


@compiled()
def _moved(
    record: int, goal: int, values: Ints, order: Ints, firsts: Ints, labels: Ints, low: Ints, high: Ints,
    about: NDArray[np.bool_], starts: Ints, lows: Ints, highs: Ints, keep: bool, free: NDArray[np.bool_],
    at: Ints,
) -> bool:  # fmt: skip
    """Give a record a value; others of its atom make up for it, without leaving a region if that is asked.

    `at` (2, atoms): from which place of each atom on those are asked who can gain, and who can lose.
    """
    atom = labels[record]
    if free[atom]:
        values[record] = goal
        return True
    way = 0 if values[record] > goal else 1
    first, size = firsts[atom], firsts[atom + 1] - firsts[atom]
    begun, full = at[way, atom], True
    for run in range(2):
        # first it is seen whether there is enough, then it is done
        left = values[record] - goal  # what the others must gain
        for step in range(min(size, ASKED)):
            if left == 0:
                break
            other = order[first + (begun + step) % size]
            if other == record:
                continue
            least, most = low[other], high[other]
            if keep:
                least, most = _cell(other, values[other], least, most, about, starts, lows, highs)
            by = (
                max(0, min(left, most - values[other]))
                if left > 0
                else min(0, max(left, least - values[other]))
            )
            if full and by == 0:
                at[way, atom] = (begun + step + 1) % size
            full = full and by == 0
            left -= by
            if run:
                values[other] += by
        if left != 0:
            return False
    values[record] = goal
    return True


@compiled()
def _inside(share: int, value: int, starts: Ints, lows: Ints, highs: Ints) -> bool:
    found = False
    for place in range(starts[share], starts[share + 1]):
        found = found or lows[place] <= value <= highs[place]
    return found


@compiled()
def _nearest(share: int, value: int, low: int, high: int, starts: Ints, lows: Ints, highs: Ints) -> int:
    """The value of a region, inside of a box, that is nearest; -1 where there is none."""
    found = -1
    for place in range(starts[share], starts[share + 1]):
        least, most = max(low, lows[place]), min(high, highs[place])
        if least > most:
            continue
        goal = min(max(value, least), most)
        if found < 0 or abs(goal - value) < abs(found - value):
            found = goal
    return found


@compiled()
def _cell(
    record: int, value: int, low: int, high: int, about: NDArray[np.bool_], starts: Ints, lows: Ints,
    highs: Ints,
) -> tuple[int, int]:  # fmt: skip
    """Between which values a record is on the same side of every region that it counts for."""
    for share in range(len(starts) - 1):
        if not about[share, record]:
            continue
        for place in range(starts[share], starts[share + 1]):
            if value < lows[place]:
                high = min(high, lows[place] - 1)
            elif value > highs[place]:
                low = max(low, highs[place] + 1)
            else:
                low, high = max(low, lows[place]), min(high, highs[place])
    return low, high
