"""Exact distributions of atoms' totals under several sums that overlap: partial sums, atom by atom.

A reduced system (`cae_sql.inference.facts.basis.Tableau`) says what each basic atom's total is when the free
ones are known. Free atoms are taken one after the other; a state is what the open rows have come to, and its
weight counts the ways to come there. A row whose free atoms have all been taken closes: what it leaves is its
basic atom's total. Going back over the layers gives the distribution of every total. All arithmetic is with
positive numbers; only the number of states is a limit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

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


@dataclass(frozen=True, eq=False)
class Totals:
    """Distributions of the atoms' totals."""

    log_weight: float
    """log of the weight of all tables together; −∞ where there is none."""
    weights: list[Floats]
    """By atom, over the positions of its sums; sum 1."""


@dataclass(eq=False)
class _Layer:
    """From some states to the next ones."""

    atom: int
    weights: Floats
    """(e,) of the atom's total, by step."""
    source: Ints
    """(e,)"""
    total: Ints
    """(e,) place of the total among the positions of the atom's sums."""
    target: Ints
    """(e,)"""


@dataclass(eq=False)
class _Search:
    """States on the way."""

    system: Reduced
    sums: list[Weighted]
    """By atom: its possible totals."""
    reached: NDArray[np.int64]
    """(s, k) what each row has come to."""
    ways: Floats
    """(s,) with the greatest 1, in units of exp(scale)."""
    scale: float
    left_low: Ints
    """(k,) the least that the atoms not yet taken can add."""
    left_high: Ints
    allowance: Allowance = UNLIMITED
    layers: list[_Layer] = field(default_factory=list)
    steps: int = 0

    def take(self, atom: int) -> None:
        """Add every total of a free atom."""
        column = self.system.entries[:, atom]
        rows = np.flatnonzero(column)
        mine = self.sums[atom]
        self._count(len(self.ways) * len(mine.positions))
        self._without(atom)
        low, high = self.system.sums - self.left_high, self.system.sums - self.left_low
        fits = np.ones((len(self.reached), len(mine.positions)), dtype=np.bool_)
        for row in rows.tolist():
            ends = self.reached[:, row, None] + mine.positions * column[row]
            fits &= (ends >= low[row]) & (ends <= high[row])
        source, total = np.nonzero(fits)
        reached = self.reached[source]
        for row in rows.tolist():
            reached[:, row] += mine.positions[total] * column[row]
        self._go_on(atom, mine.weights[total], source, total, reached, mine.scale)

    def close(self, row: int) -> None:
        """What a row leaves is its basic atom's total; without one, it must leave nothing."""
        rest = self.system.sums[row] - self.reached[:, row]
        atom = int(self.system.basic[row])
        if atom < 0:
            kept = np.flatnonzero(rest == 0)
            weights, total, scale = np.ones(len(kept)), np.zeros_like(kept), 0.0
        else:
            self._without(atom)
            mine = self.sums[atom]
            places = np.minimum(np.searchsorted(mine.positions, rest), len(mine.positions) - 1)
            kept = np.flatnonzero(mine.positions[places] == rest)
            weights, total, scale = mine.weights[places[kept]], places[kept], mine.scale
        ends = self.reached[kept]
        ends[:, row] = 0
        self._go_on(atom, weights, kept, total, ends, scale)

    def _without(self, atom: int) -> None:
        column, positions = self.system.entries[:, atom], self.sums[atom].positions
        ends = np.sort(np.outer(column, positions[[0, -1]]), axis=1)
        self.left_low = self.left_low - ends[:, 0]
        self.left_high = self.left_high - ends[:, 1]

    def _count(self, steps: int) -> None:
        self.steps += steps
        if not self.allowance.spend(steps):
            raise OutOfTime("the sums were not counted in time")
        if self.steps > MOST_STEPS:
            raise OutOfTime("the sums overlap too much to be counted exactly")

    def _go_on(
        self, atom: int, weights: Floats, source: Ints, total: Ints, ends: NDArray[np.int64], scale: float
    ) -> None:
        self.reached, target = _distinct(ends)
        ways: Floats = np.bincount(target, self.ways[source] * weights, len(self.reached)).astype(np.float64)
        top = float(ways.max(initial=0.0))
        self.layers.append(_Layer(atom, weights, source, total, target))
        self.ways = ways / top if top > 0 else ways
        self.scale += scale + (math.log(top) if top > 0 else -math.inf)


def totals(system: Reduced, sums: list[Weighted], allowance: Allowance = UNLIMITED) -> Totals:
    """The distributions of all atoms' totals, of sums that hang together.

    Args:
        system: The sums.
        sums: By atom, its possible totals with their weights.
        allowance: What may be spent; nothing more is tried beyond it.

    Raises:
        OutOfTime: too many states, or more than may be spent.
    """
    ends = [
        np.sort(np.outer(system.entries[:, a], each.positions[[0, -1]]), axis=1)
        for a, each in enumerate(sums)
    ]
    search = _Search(
        system,
        sums,
        np.zeros((1, len(system.sums)), dtype=np.int64),
        np.ones(1),
        0.0,
        sum((each[:, 0] for each in ends), start=np.zeros(len(system.sums), dtype=np.int64)),
        sum((each[:, 1] for each in ends), start=np.zeros(len(system.sums), dtype=np.int64)),
        allowance,
    )
    forward = [search.ways]
    for step in _order(system, sums):
        if step[0] == "take":
            search.take(step[1])
        else:
            search.close(step[1])
        forward.append(search.ways)
        if not len(search.ways) or search.scale == -math.inf:
            return Totals(-math.inf, [])
    return Totals(search.scale + math.log(float(search.ways.sum())), _backward(search, sums, forward))


def _backward(search: _Search, sums: list[Weighted], forward: list[Floats]) -> list[Floats]:
    found = [np.ones(len(each.positions)) / len(each.positions) for each in sums]
    ahead = np.ones(len(search.ways))
    for layer, ways in zip(reversed(search.layers), reversed(forward[:-1]), strict=True):
        onwards = layer.weights * ahead[layer.target]
        if layer.atom >= 0:
            share = np.bincount(layer.total, ways[layer.source] * onwards, minlength=len(found[layer.atom]))
            found[layer.atom] = share / share.sum()
        behind: Floats = np.bincount(layer.source, onwards, len(ways)).astype(np.float64)
        ahead = behind / behind.max()
    return found


def _order(system: Reduced, sums: list[Weighted]) -> list[tuple[str, int]]:
    """Free atoms one by one, those first that open the fewest rows; each row closed as soon as it can be."""
    basic = set(system.basic.tolist())
    free = [atom for atom in range(len(sums)) if atom not in basic]
    waiting = {row: {atom for atom in free if system.entries[row, atom]} for row in range(len(system.sums))}
    opened: set[int] = set()
    order = _closing(waiting)
    while free:
        costs = [_cost(atom, waiting, opened, len(sums[atom].positions)) for atom in free]
        atom = free.pop(costs.index(min(costs)))
        opened |= {row for row in waiting if atom in waiting[row]}
        for atoms in waiting.values():
            atoms.discard(atom)
        order += [("take", atom), *_closing(waiting)]
    return order


def _closing(waiting: dict[int, set[int]]) -> list[tuple[str, int]]:
    """The rows that wait for nobody, taken out."""
    ready = [row for row, atoms in waiting.items() if not atoms]
    for row in ready:
        del waiting[row]
    return [("close", row) for row in ready]


def _cost(atom: int, waiting: dict[int, set[int]], opened: set[int], size: int) -> tuple[int, int, int]:
    """Rows that taking an atom opens, less those that it closes; then how many rows, and values, it has."""
    rows = [row for row in waiting if atom in waiting[row]]
    ends = sum(len(waiting[row]) == 1 for row in rows)
    return sum(row not in opened for row in rows) - ends, len(rows), size


def _distinct(states: NDArray[np.int64]) -> tuple[NDArray[np.int64], Ints]:
    """The distinct rows, and which of them each row is."""
    if not len(states):
        return states, np.zeros(0, dtype=np.int64)
    codes, room = np.zeros(len(states), dtype=np.int64), 1
    for column in states.T:
        low = int(column.min())
        width = int(column.max()) - low + 1
        room *= width
        if room > 2**62:
            raise OutOfTime("the sums overlap too much to be counted exactly")
        codes = codes * width + (column - low)
    if room > SPARSE * len(codes):
        _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
        return states[first], inverse.astype(np.int64)
    # a place for each code: nothing is sorted
    places = np.full(room, -1, dtype=np.int64)
    places[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    found = np.flatnonzero(places >= 0)
    first = places[found]
    places[found] = np.arange(len(found))
    return states[first], places[codes]
