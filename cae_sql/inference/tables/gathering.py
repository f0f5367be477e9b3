"""Many worlds of a small, tightly coupled system: gathered once, kept for all questions that follow.

Where few tables are left, what an answer would leave is read off a list of them: those that give the answer.
Walks say about how many there are: two halves of them come to the same worlds the more often, the fewer there
are. Where a list of all is in reach it is made, move by move. That it is whole is no proof that there are no
others, only that looking further is of no use: what is missing from it is refused, never granted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import compiled
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Ints, Query
from cae_sql.inference.tables.short_moves import MOST_ATOMS
from cae_sql.inference.tables.sieve import Masks, enter

FEW_BITS = 40.0
"""Of worlds, by rule of thumb, beyond which nothing is tried."""
WIDEST = 127
"""Units, at most: worlds are kept in bytes."""
CHAINS = 8
"""Walks, each of its own; half of them are compared with the other half."""
TRIED = 4_000_000
"""Moves that each walk tries, at most."""
KEPT = 10_000
"""Worlds that each walk keeps, at most, one ..."""
APART = 4
"""... after so many moves made."""
MOST = 300_000
"""Worlds in a list of all."""
FEWEST = 64
"""A list that is shorter says rather that the moves lead nowhere."""
AT_ONCE = 2_000
"""Worlds that are looked around between two looks at the clock."""

Bytes = NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Gathered:
    """Worlds of a system."""

    worlds: Bytes
    """(m, n) units, no two alike."""
    whole: bool
    """Whether moves lead to no others."""


def gather(
    known: Knowledge, values: NDArray[np.int64], moves: Masks, allowance: Allowance
) -> Gathered | None:
    """Walk from worlds, and keep those on the way; None where this is not for a system, or time ended.

    Args:
        known: All answers, without extremes.
        values: (w, n) worlds that agree with them, in units.
        moves: (v, 4) by ±1, that keep every sum (`cae_sql.inference.tables.sieve`).
        allowance: What may be spent; nothing more is tried beyond it.
    """
    if known.extremes or not few(known) or not len(moves) or known.count > MOST_ATOMS:
        return None
    # of spare records their totals are listed: it is the same to everybody how they share them
    theirs = known.protected
    low, high = (np.where(theirs, ends, known.sizes * ends) for ends in (known.low, known.high))
    # others have tables by far too many for a list
    if (known.sizes[theirs] > 1).any() or int(high.max()) > WIDEST:
        return None
    totals = known.totals(values)
    halves: list[list[Bytes]] = [[], []]
    for chain in range(CHAINS):
        if not allowance.spend(TRIED):
            return None
        kept = np.zeros((KEPT, known.count), dtype=np.int8)
        count = drift(moves, low, high, totals[chain % len(totals)].astype(np.int8), TRIED, chain, kept)
        halves[chain % 2].append(kept[:count])
    one, other = (_distinct(np.vstack(half)) for half in halves)
    everything = _distinct(np.vstack([one, other, totals.astype(np.int8)]))
    both, whole = len(one) + len(other) - len(_distinct(np.vstack([one, other]))), False
    if both and len(one) * len(other) / both <= MOST:
        found = _all_around(everything, moves, low, high, allowance)
        if found is None:
            return None
        everything, whole = found
    return Gathered(_by_record(known, everything), whole and len(everything) >= FEWEST)


def _by_record(known: Knowledge, totals: Bytes) -> Bytes:
    """(m, n) worlds of atoms' totals (m, p): spare records of an atom share theirs, one after the other."""
    worlds = totals[:, known.atoms.labels]
    order, firsts = known.members
    for atom in np.flatnonzero(known.sizes > 1).tolist():
        left = totals[:, atom].astype(np.int64) - known.sizes[atom] * known.low[atom]
        for record in order[firsts[atom] : firsts[atom + 1]].tolist():
            taken = np.minimum(left, known.high[atom] - known.low[atom])
            worlds[:, record], left = known.low[atom] + taken, left - taken
    return worlds


def of_answers(gathered: Gathered, queries: Sequence[Query], answers: Sequence[int]) -> Gathered:
    """The worlds that give some answers (one for each query, in units)."""
    worlds = gathered.worlds
    for query, answer in zip(queries, answers, strict=True):
        worlds = worlds[query.of(worlds) == answer]
    return replace(gathered, worlds=worlds)


def spread_over(gathered: Gathered, count: int) -> NDArray[np.int64]:
    """(c, n) at most so many of the worlds, from all over the list."""
    places = np.linspace(0, len(gathered.worlds) - 1, min(count, len(gathered.worlds)))
    return gathered.worlds[places.astype(np.int64)].astype(np.int64)


def run_widths(gathered: Gathered) -> Ints:
    """(n,) greatest minus least value, in units, of the longest run that each record takes; −1 for none."""
    best = np.full(gathered.worlds.shape[1], -1, dtype=np.int64)
    run = best.copy()
    for value in range(int(gathered.worlds.max(initial=-1)) + 1):
        run = np.where((gathered.worlds == value).any(axis=0), run + 1, -1)
        best = np.maximum(best, run)
    return best


def few(known: Knowledge) -> bool:
    """Whether there may be few worlds: how many tables the boxes hold, and one in how many obeys each sum."""
    alone, theirs = np.where(known.protected, 1, known.sizes), np.where(known.protected, known.sizes, 1)
    widths = (alone * (known.high - known.low) + 1).astype(np.float64)
    spread = np.sqrt((known.matrix.astype(np.float64) ** 2 * theirs) @ ((widths**2 - 1) / 12))
    bits = theirs @ np.log2(widths) - np.log2(np.maximum(1.0, np.sqrt(2 * np.pi) * spread)).sum()
    return bool(bits <= FEW_BITS)


def _distinct(worlds: Bytes) -> Bytes:
    """Each world once."""
    if not len(worlds):
        return worlds
    names = np.ascontiguousarray(worlds).view(np.dtype((np.void, worlds.shape[1]))).ravel()
    return worlds[np.unique(names, return_index=True)[1]]


def _all_around(
    worlds: Bytes, moves: Masks, low: Ints, high: Ints, allowance: Allowance
) -> tuple[Bytes, bool] | None:
    """All that moves lead to from some worlds (m, p), and whether that is all; None where time ended."""
    if len(worlds) > MOST:
        return worlds, False
    found = np.zeros((MOST, worlds.shape[1]), dtype=np.int8)
    found[: len(worlds)] = worlds
    names = np.zeros(1 << (4 * MOST).bit_length(), dtype=np.uint64)
    enter_all(worlds, names)
    done, count = 0, len(worlds)
    while done < count < MOST:
        until = min(done + AT_ONCE, count)
        if not allowance.spend((until - done) * len(moves)):
            return None
        count = look_around(moves, low, high, done, until, count, names, found)
        done = until
    return found[:count], count < MOST


@compiled()
def named(world: Bytes) -> np.uint64:
    """A table (p,) as a word that looks random, never 0."""
    word = np.uint64(0xCBF29CE484222325)
    for place in range(len(world)):
        word = (word ^ np.uint64(world[place])) * np.uint64(0x100000001B3)
        word ^= word >> np.uint64(29)
    return word | np.uint64(1)


@compiled()
def enter_all(worlds: Bytes, names: NDArray[np.uint64]) -> None:
    """Let a table of names have those of some tables."""
    for place in range(len(worlds)):
        enter(names, named(worlds[place]))


@compiled()
def look_around(
    moves: Masks, low: Ints, high: Ints, first: int, last: int, count: int, names: NDArray[np.uint64],
    found: Bytes,
) -> int:  # fmt: skip
    """Add the tables that one move leads to from some of those found.

    Two tables of one name count as one: the list may lack one of them, and is a list of worlds all the same.

    Args:
        moves: (v, 4) as in `cae_sql.inference.tables.sieve`.
        low, high: (p,) boxes.
        first, last: Which of those found.
        count: How many there are.
        names: Of those found; a power of two, some times as many as may be found.
        found: (k, p) filled further.

    Returns:
        How many there are now.
    """
    world, full = np.zeros(found.shape[1], np.int8), np.zeros(4, np.uint64)
    for place in range(first, last):
        world[:] = found[place]
        look(world, low, high, full)
        a, b, c, d = full[0], full[1], full[2], full[3]
        for turn in range(len(moves)):
            e, f, g, h = moves[turn, 0], moves[turn, 1], moves[turn, 2], moves[turn, 3]
            for way in (1, -1):
                stuck = (
                    (e & a) | (f & b) | (g & c) | (h & d)
                    if way > 0
                    else (e & c) | (f & d) | (g & a) | (h & b)
                )
                if stuck != 0:
                    continue
                step(world, moves[turn], way)
                if enter(names, named(world)):
                    found[count] = world
                    count += 1
                    if count == len(found):
                        return count
                step(world, moves[turn], -way)
    return count


@compiled()
def look(world: Bytes, low: Ints, high: Ints, full: NDArray[np.uint64]) -> None:
    """Fill (4,) words: who cannot rise, in two, and who cannot fall."""
    full[:] = 0
    for atom in range(len(world)):
        bit = np.uint64(1) << np.uint64(atom & 63)
        if world[atom] >= high[atom]:
            full[atom >> 6] |= bit
        if world[atom] <= low[atom]:
            full[2 + (atom >> 6)] |= bit


@compiled()
def step(world: Bytes, move: NDArray[np.uint64], way: int) -> None:
    """Change a table by a move, or by its opposite."""
    for atom in range(len(world)):
        word, place = atom >> 6, np.uint64(atom & 63)
        rise = (move[word] >> place) & np.uint64(1)
        fall = (move[2 + word] >> place) & np.uint64(1)
        if rise != 0:
            world[atom] += way
        elif fall != 0:
            world[atom] -= way


@compiled()
def drift(moves: Masks, low: Ints, high: Ints, world: Bytes, tries: int, seed: int, kept: Bytes) -> int:
    """Walk from a table over atoms (p,), which changes in place: moves one after the other, either way.

    Args:
        moves: (v, 4) as in `cae_sql.inference.tables.sieve`.
        low, high: (p,) boxes.
        world: The table.
        tries: Moves tried, at most.
        seed: Of the walk.
        kept: (k, p) filled with tables on the way; when it is full the walk ends.

    Returns:
        How many were kept.
    """
    np.random.seed(seed)
    made, count, full = 0, 0, np.zeros(4, np.uint64)
    look(world, low, high, full)
    turn = np.random.randint(0, len(moves))
    for _ in range(tries):
        turn += 1
        if turn >= len(moves):
            turn = 0
        e, f, g, h = moves[turn, 0], moves[turn, 1], moves[turn, 2], moves[turn, 3]
        up = (e & full[0]) | (f & full[1]) | (g & full[2]) | (h & full[3]) == 0
        down = (e & full[2]) | (f & full[3]) | (g & full[0]) | (h & full[1]) == 0
        if not up and not down:
            continue
        # as often one way as the other, whether it fits or not: so no table is favoured
        way = 1 if np.random.random() < 0.5 else -1
        if (way > 0 and not up) or (way < 0 and not down):
            continue
        step(world, moves[turn], way)
        look(world, low, high, full)
        made += 1
        if made % APART == 0:
            kept[count] = world
            count += 1
            if count == len(kept):
                break
    return count
