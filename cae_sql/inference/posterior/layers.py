"""Exact distributions of atoms' totals under several sums that overlap: partial sums, atom by atom.

A reduced system (`cae_sql.inference.facts.basis.Tableau`) says what each basic atom's total is when the free
ones are known. Free atoms are taken one after the other; a state is what the open rows have come to, and its
weight counts the ways to come there. A row whose free atoms have all been taken closes: what it leaves is its
basic atom's total. Going back over the layers gives the distribution of every total. All arithmetic is with
positive numbers; only the number of states is a limit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cae_sql.errors import OutOfTime
from cae_sql.inference.allowance import UNLIMITED, Allowance
from cae_sql.inference.posterior.weights import Floats, Ints, Weighted

MOST_STEPS = 4_000_000
"""Steps from a state to another, at most."""
SPARSE = 16
"""Codes for each state, up to which there is a place for every code."""


@dataclass(frozen=True, eq=False)
class Reduced:
    """Sums in reduced form. Shapes: k rows, p atoms."""

    entries: NDArray[np.int64]
    """(k, p) coefficients; of a basic atom 1 in its own row and 0 elsewhere."""
    basic: Ints
    """(k,) the basic atom of each row, −1 where a row has none."""
    sums: Ints
    """(k,) right-hand sides."""


class _Steps(NamedTuple):
    """From some states to the next ones, (e,) each."""

    source: Ints
    total: Ints
    """Place of the total among the positions of the atom's sums."""
    weights: Floats
    """Of the total."""
    reached: NDArray[np.int64]
    """(e, k) what each row has come to."""


def totals(
    system: Reduced, sums: list[Weighted], allowance: Allowance = UNLIMITED
) -> tuple[float, list[Floats]]:
    """The log weight of all tables of sums that hang together, and by atom the distribution of its total.

    `sums` has by atom its possible totals with their weights. The log is −∞ where there is no table.

    Raises:
        OutOfTime: too many states, or more than may be spent.
    """
    # (p, k, 2) the least and the most that each atom adds to each row; their sum over those not yet taken
    adds = np.array([np.outer(system.entries[:, a], each.positions[[0, -1]]) for a, each in enumerate(sums)])
    adds.sort(axis=2)
    left = adds.sum(axis=0)
    reached, ways, scale = np.zeros((1, len(system.sums)), dtype=np.int64), np.ones(1), 0.0
    layers, steps = list[tuple[int, _Steps, Ints, Floats]](), 0
    for atom, row in _order(system, sums):
        if atom >= 0:
            left = left - adds[atom]
            scale += sums[atom].scale
        if row < 0:
            cost = len(ways) * len(sums[atom].positions)
            steps += cost
            if not allowance.spend(cost):
                raise OutOfTime("the sums were not counted in time")
            if steps > MOST_STEPS:
                raise OutOfTime("the sums overlap too much to be counted exactly")
            each = _taken(reached, sums[atom], system.entries[:, atom], system.sums[:, None] - left)
        else:
            each = _closed(reached, None if atom < 0 else sums[atom], row, system.sums[row])
        reached, target = _distinct(each.reached)
        layers.append((atom, each, target, ways))
        ways = np.bincount(target, ways[each.source] * each.weights, len(reached)).astype(np.float64)
        top = float(ways.max(initial=0.0))
        if not top > 0:
            return -math.inf, []
        ways, scale = ways / top, scale + math.log(top)
    found = [np.ones(len(each.positions)) / len(each.positions) for each in sums]
    ahead = np.ones(len(ways))
    for atom, each, target, before in reversed(layers):
        onwards = each.weights * ahead[target]
        if atom >= 0:
            share = np.bincount(each.total, before[each.source] * onwards, minlength=len(found[atom]))
            found[atom] = share / share.sum()
        behind = np.bincount(each.source, onwards, len(before)).astype(np.float64)
        ahead = behind / behind.max()
    return scale + math.log(float(ways.sum())), found


def _taken(reached: NDArray[np.int64], mine: Weighted, column: Ints, ends: Ints) -> _Steps:
    """Every total of a free atom, where each row ends between (k, 2) such that the atoms left can do the
    rest."""
    rows = np.flatnonzero(column)
    fits = np.ones((len(reached), len(mine.positions)), dtype=np.bool_)
    for row in rows.tolist():
        there = reached[:, row, None] + mine.positions * column[row]
        fits &= (there >= ends[row, 1]) & (there <= ends[row, 0])
    source, total = np.nonzero(fits)
    reached = reached[source]
    reached[:, rows] += mine.positions[total, None] * column[rows]
    return _Steps(source, total, mine.weights[total], reached)


def _closed(reached: NDArray[np.int64], mine: Weighted | None, row: int, side: int) -> _Steps:
    """What a row leaves is its basic atom's total; without one, it must leave nothing."""
    rest = side - reached[:, row]
    positions = np.zeros(1, dtype=np.int64) if mine is None else mine.positions
    places = np.minimum(np.searchsorted(positions, rest), len(positions) - 1)
    kept = np.flatnonzero(positions[places] == rest)
    reached, total = reached[kept], places[kept]
    reached[:, row] = 0
    return _Steps(kept, total, np.ones(len(kept)) if mine is None else mine.weights[total], reached)


def _order(system: Reduced, sums: list[Weighted]) -> Iterator[tuple[int, int]]:
    """Free atoms one by one, with no row (−1), those first that open the fewest rows; and each row as soon as
    it can be closed, with its basic atom."""
    basic = set(system.basic.tolist())
    free = [atom for atom in range(len(sums)) if atom not in basic]
    waiting = {row: {atom for atom in free if system.entries[row, atom]} for row in range(len(system.sums))}
    opened: set[int] = set()

    def cost(atom: int) -> tuple[int, int, int]:
        """Rows that taking an atom opens, less those that it closes; then how many rows, values, it has."""
        rows = [row for row in waiting if atom in waiting[row]]
        ends = sum(len(waiting[row]) == 1 for row in rows)
        return sum(row not in opened for row in rows) - ends, len(rows), len(sums[atom].positions)

    while True:
        for row in [row for row, atoms in waiting.items() if not atoms]:
            del waiting[row]
            yield int(system.basic[row]), row
        if not free:
            return
        atom = min(free, key=cost)
        free.remove(atom)
        opened |= {row for row in waiting if atom in waiting[row]}
        for atoms in waiting.values():
            atoms.discard(atom)
        yield atom, -1


def _distinct(states: NDArray[np.int64]) -> tuple[NDArray[np.int64], Ints]:
    """The distinct rows, and which of them each row is."""
    if not len(states):
        return states, np.zeros(0, dtype=np.int64)
    low = states.min(axis=0)
    widths = tuple((states.max(axis=0) - low + 1).tolist())
    room = math.prod(widths)
    if room > 2**62:
        raise OutOfTime("the sums overlap too much to be counted exactly")
    codes = np.ravel_multi_index(tuple((states - low).T), widths)
    if room > SPARSE * len(codes):
        found, target = np.unique(codes, return_inverse=True)
    else:  # a place for each code: nothing is sorted
        there = np.zeros(room, dtype=np.bool_)
        there[codes] = True
        found, target = np.flatnonzero(there), (np.cumsum(there) - 1)[codes]
    return np.stack(np.unravel_index(found, widths), axis=1) + low, target
