"""What tables show of pairs: walks from table to table that note which values go together. Compiled.

`seen[j, v, i]` has a bit for each value of record i in tables where record j has the value v; j and i count
among `records`, and values from `base`. Moves are sparse vectors over atoms: move m changes one record each
of atoms[starts[m]:starts[m + 1]], by multiples of the weights of the same places. `order` has the records
sorted by atom, and atom a's are order[firsts[a]:firsts[a + 1]].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import compiled
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.tables.mixing import change, pick

Words = NDArray[np.uint64]

EXCHANGES = 4
"""Exchanges inside each atom for each time that all moves are tried."""
NOTED = 16
"""Pairs that are noted in the time that one move is tried in."""


@compiled()
def note(
    values: Ints, records: Ints, who: Ints, base: int, seen: Words, example: Ints, kept: NDArray[np.int32]
) -> None:
    """Note what a table (n,) shows of pairs in which one of some records is.

    Args:
        values: The table, in units.
        records: (r,) those that are looked at.
        who: Places in `records`.
        base: The least value.
        seen: (r, v, r, words) bits, as above.
        example: (r, v) the number of a table kept in which a record has a value, from 1 on; 0 for none.
            Behind them, in the last row, how many are kept.
        kept: (t, n) such tables.
    """
    for j in who:
        mine = values[records[j]] - base
        row, word, bit = seen[j, mine], mine >> 6, np.uint64(1) << np.uint64(mine & 63)
        for i in range(len(records)):
            value = values[records[i]] - base
            row[i, value >> 6] |= np.uint64(1) << np.uint64(value & 63)
            seen[i, value, j, word] |= bit
        if example[j, mine] == 0 and example[-1, 0] < len(kept):
            number = example[-1, 0]
            for k in range(len(values)):  # shorter to compile than an assignment of arrays
                kept[number, k] = values[k]
            example[-1, 0] = number + 1
            for i in range(len(records)):
                value = values[records[i]] - base
                if example[i, value] == 0:
                    example[i, value] = number + 1


@compiled()
def room(
    turn: int, starts: Ints, atoms: Ints, weights: Ints, order: Ints, firsts: Ints, low: Ints, high: Ints,
    values: Ints, held: int, homes: Ints, picks: Ints, steps: Ints,
) -> tuple[int, int, int]:  # fmt: skip
    """Draw the records of a move, or of an exchange inside an atom, and see how far they can go.

    Fills their atoms `homes`, the records `picks` and the weights `steps`.

    Returns:
        How many records take part, and how far they can go down and up.
    """
    count, length = len(starts) - 1, 2
    exchange = turn >= count
    if exchange:
        atom = turn % len(low)
        if firsts[atom + 1] - firsts[atom] < 2:
            return 0, 0, 0
        homes[0], homes[1], steps[0], steps[1] = atom, atom, 1, -1
    else:
        length = starts[turn + 1] - starts[turn]
    bottom, top = 1 << 60, 1 << 60
    for at in range(length):
        if not exchange:
            homes[at], steps[at] = atoms[starts[turn] + at], weights[starts[turn] + at]
        atom = homes[at]
        record = order[firsts[atom]]
        if firsts[atom + 1] - firsts[atom] > 1:
            record = pick(atom, order, firsts)
            if exchange and at == 0:  # an atom's first two are the ones that are looked at
                record = order[firsts[atom] + np.random.randint(0, 2)]
        if record == held or (exchange and at == 1 and record == picks[0]):
            return 0, 0, 0
        picks[at] = record
        above, below, by = high[atom] - values[record], values[record] - low[atom], steps[at]
        if by < 0:
            above, below, by = below, above, -by
        if by > 1:
            above, below = above // by, below // by
        top, bottom = min(top, above), min(bottom, below)
        if top + bottom == 0:
            return 0, 0, 0
    return length, bottom, top


@compiled()
def walk(
    starts: Ints, atoms: Ints, weights: Ints, order: Ints, firsts: Ints, low: Ints, high: Ints,
    top_starts: Ints, tops: Ints, bottom_starts: Ints, bottoms: Ints, attainers: Ints, values: Ints,
    records: Ints, place: Ints, held: int, seed: int, work: int, far: int, base: int, seen: Words,
    example: Ints, kept: NDArray[np.int32],
) -> None:  # fmt: skip
    """Walk from a table, and note every table that one move from the way leads to.

    Where extremes are to be attained, those on the way alone. `values` and `attainers` change in place; the
    arguments that are not named here are those of `note` and of `cae_sql.inference.tables.mixing`.

    Args:
        place: (n,) which of `records` a record is; −1 for none.
        held: A record that keeps its value; −1 for none.
        work: The walk ends after so many moves tried; noting `NOTED` pairs counts like trying one.
        far: Multiples of a move beyond this are not noted, unless the walk goes there.
    """
    np.random.seed(seed)
    count = len(starts) - 1
    missing, everybody = np.zeros(1, np.int64), np.zeros(len(records), np.int64)
    for extreme in range(len(attainers)):
        missing[0] += attainers[extreme] == 0
    for j in range(len(records)):
        everybody[j] = j
    note(values, records, everybody, base, seen, example, kept)
    homes, steps = np.zeros(len(low) + 2, np.int64), np.zeros(len(low) + 2, np.int64)
    picks, who = np.zeros(len(low) + 2, np.int64), np.zeros(len(low) + 2, np.int64)
    turn = np.random.randint(0, count + 1)
    while work > 0:
        turn = (turn + 1) % (count + EXCHANGES * len(low))
        work -= 1
        length, bottom, top = room(
            turn, starts, atoms, weights, order, firsts, low, high, values, held, homes, picks, steps
        )
        if length == 0:
            continue
        some = 0
        for at in range(length):
            if place[picks[at]] >= 0:
                who[some] = place[picks[at]]
                some += 1
        by = np.random.randint(-bottom, top + 1)
        bottom, top = min(bottom, far), min(top, far)
        if len(attainers) == 0:
            for at in range(length):
                values[picks[at]] -= bottom * steps[at]
            for times in range(-bottom, top + 1):
                if times != 0:
                    note(values, records, who[:some], base, seen, example, kept)
                for at in range(length):
                    values[picks[at]] += steps[at]
            for at in range(length):
                values[picks[at]] += (by - top - 1) * steps[at]
            work -= (bottom + top) * some * len(records) // NOTED
            if -bottom <= by <= top:
                continue
        else:
            for way in (1, -1):
                for at in range(length):
                    change(
                        picks[at], way * steps[at] * by, homes[at], values, low, high,
                        top_starts, tops, bottom_starts, bottoms, attainers, missing,
                    )  # fmt: skip
                if missing[0] == 0:
                    break
        note(values, records, who[:some], base, seen, example, kept)
        work -= some * len(records) // NOTED


@compiled()
def longest(words: Words, count: int) -> int:
    """Width of the longest run among `count` values; −1 where none was seen."""
    best, run = -1, -1
    for value in range(count):
        if (words[value >> 6] >> np.uint64(value & 63)) & np.uint64(1):
            run += 1
            best = max(best, run)
        else:
            run = -1
    return best


@compiled()
def shortest(seen: Words, most: int, found: Ints) -> None:
    """(r, v) the least width of all others' runs, no more than `most`; −1 where a value was not seen."""
    for j in range(seen.shape[0]):
        for value in range(seen.shape[1]):
            found[j, value] = -1
            if (seen[j, value, j, value >> 6] >> np.uint64(value & 63)) & np.uint64(1) == 0:
                continue
            found[j, value] = most
            for i in range(seen.shape[2]):
                if i != j:
                    found[j, value] = min(found[j, value], longest(seen[j, value, i], seen.shape[1]))
