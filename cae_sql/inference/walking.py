"""A long walk from table to table by moves of ±1, in systems of thousands of atoms.

A basis says what a unit more of an atom takes from others; where all of that is ±1 it is a move. Two swaps of
one difference, done against each other, are one too, of four atoms. Every table on the way agrees with every
answer, so each atom takes every total between the least and the greatest that the walk met. The walk leads
far from where it began: who is at the end of the domain in one table has room in others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cae_sql.inference.answers import Ints
from cae_sql.inference.center import Basis
from cae_sql.inference.columns import Columns
from cae_sql.inference.runs import Runs
from cae_sql.inference.short import Moves, roam
from cae_sql.inference.swaps import canonical, find
from cae_sql.inference.witnesses import choose_witnesses, rooms

APART = (1, 2, 3, 5, 8, 13)
"""Of swaps of one difference, in some order, those so far apart are done against each other."""
MOST_MOVES = 200_000
"""That are kept of these."""
CHUNK = 20_000
"""Moves that are looked at together."""
STEPS = 1_000_000
"""Moves tried between two looks at whether it helps."""


def moves_of(bases: Sequence[Basis], marks: Columns, able: Ints) -> Moves:
    """Moves of ±1, exact: none changes any sum.

    Args:
        bases: Of the sums.
        marks: (p, k) coefficient of each atom in each sum.
        able: Atoms that can move.
    """
    movable = np.zeros(len(marks), dtype=np.bool_)
    movable[able] = True
    parts = [_of_basis(basis, len(marks)) for basis in bases] + [_of_swaps(marks, movable)]
    sizes = np.concatenate([np.diff(each.starts) for each in parts])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return Moves(
        starts, np.concatenate([each.atoms for each in parts]), np.concatenate([each.signs for each in parts])
    )


def walk(runs: Runs, totals: Ints, moves: Moves, steps: int, seed: int) -> None:
    """Walk from a table, and note in `runs` between what the totals have been.

    Args:
        runs: Of the system.
        totals: (p,) the table.
        moves: That keep every sum.
        steps: How many moves are tried.
        seed: Of the walk.
    """
    known = runs.knowledge
    pins = choose_witnesses(known, totals, seed=seed)
    if pins is None or len(moves.starts) < 2:
        return
    up, down = rooms(known, totals, pins)
    least, most = np.zeros_like(up), np.zeros_like(up)
    here = np.zeros_like(up)
    for turn in range(-(-steps // STEPS)):
        fall, rise = np.zeros_like(up), np.zeros_like(up)
        by = roam(*moves, up, down, fall, rise, min(steps, STEPS), seed + turn)
        least, most = np.minimum(least, here + fall), np.maximum(most, here + rise)
        here = here + by
        before = len(runs.short)
        runs.extend(totals, pins, most, -least)
        if not len(runs.short) or (turn > 2 and len(runs.short) == before):
            return


def _of_basis(basis: Basis, count: int) -> Moves:
    columns = basis.columns[:count, : len(basis.basic)]
    plain = np.abs(columns).max(axis=1, initial=0) <= 1
    plain[basis.basic] = False
    atoms = np.flatnonzero(plain)
    entries = columns[atoms]
    which, rows = np.nonzero(entries)
    starts = np.concatenate([[0], np.cumsum(np.bincount(which, minlength=len(atoms)) + 1)])
    own = np.zeros(starts[-1], dtype=np.bool_)
    own[starts[:-1]] = True
    changed, signs = np.empty(starts[-1], dtype=np.int64), np.empty(starts[-1], dtype=np.int64)
    changed[own], signs[own] = atoms, 1
    changed[~own], signs[~own] = basis.basic[rows], -entries[which, rows]
    return Moves(starts, changed, signs)


def _of_swaps(marks: Columns, movable: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Moves:
    swaps = find(marks, movable)
    names, turned = canonical(swaps.names[swaps.gain] - swaps.names[swaps.give])
    gain, give = np.where(turned, swaps.give, swaps.gain), np.where(turned, swaps.gain, swaps.give)
    order = np.argsort(names, kind="stable")
    names, gain, give = names[order], gain[order], give[order]
    found = []
    for apart in APART:
        one = np.flatnonzero(names[apart:] == names[:-apart])
        two = one + apart
        four = np.column_stack([gain[one], give[one], give[two], gain[two]])
        ordered = np.sort(four, axis=1)
        found.append(four[(np.diff(ordered, axis=1) > 0).all(axis=1)])
    fours = np.concatenate(found)
    if len(fours) > MOST_MOVES:
        fours = fours[np.random.default_rng(len(fours)).choice(len(fours), MOST_MOVES, replace=False)]
    # names may be equal by chance: whole numbers say so
    kept = [four for four in np.split(fours, range(CHUNK, len(fours), CHUNK)) if len(four)]
    kept = [four[_keeps(marks, four)] for four in kept]
    fours = np.concatenate([np.zeros((0, 4), dtype=np.int64), *kept])
    return Moves(np.arange(len(fours) + 1) * 4, fours.ravel(), np.tile([1, -1, 1, -1], len(fours)))


def _keeps(marks: Columns, fours: Ints) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Whether such moves keep every sum."""
    changes = [marks[fours[:, place]].astype(np.int16) for place in range(4)]
    kept: np.ndarray[tuple[int], np.dtype[np.bool_]] = np.logical_not(
        (changes[0] - changes[1] + changes[2] - changes[3]).any(axis=1)
    )
    return kept
