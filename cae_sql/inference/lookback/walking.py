"""A long walk from table to table by moves of ±1, in systems of thousands of atoms.

A basis says what a unit more of an atom takes from others; where all of that is ±1 it is a move. Two swaps of
one difference, done against each other, are one too, of four atoms. Every table on the way agrees with every
answer, so each atom takes every total between the least and the greatest that the walk met. The walk leads
far from where it began: who is at the end of the domain in one table has room in others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference.facts.extremes import choose_witnesses, rooms
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.search.runs import Runs
from cae_sql.inference.tables.columns import Columns
from cae_sql.inference.tables.roomy_table import Basis
from cae_sql.inference.tables.short_moves import Moves, roam
from cae_sql.inference.tables.swaps import find, fours

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


def _of_swaps(marks: Columns, movable: NDArray[np.bool_]) -> Moves:
    those = fours(find(marks, movable), marks)
    return Moves(np.arange(len(those) + 1) * 4, those.ravel(), np.tile([1, -1, 1, -1], len(those)))
