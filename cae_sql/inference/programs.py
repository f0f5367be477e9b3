"""The integer program of a component: worlds that moves did not find, and the proof that there are none.

Columns are the atoms' totals, and for every extreme who attains it. A solution is rounded and checked in
integers against every sum, box and extreme before anybody calls it a world.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cae_sql.errors import OutOfTime
from cae_sql.inference.answers import Ints
from cae_sql.inference.knowledge import Knowledge
from cae_sql.inference.solver import Floats, Outcome, Program
from cae_sql.inference.witnesses import able, choose_witnesses

TOLERANCE = 1e-6
"""Slack within which a linear program's optimum counts as whole."""


VERTICES = 8
"""Vertices of the linear program that are looked at before an integer program is tried."""
QUICK_SECONDS = 0.5
"""Time for one linear program."""
LARGE_COMPONENT = 400
"""Of components of more atoms than this only a part around the record is searched."""
MOST_NODES = 300
"""Nodes after which one integer program is given up: what it would have shown then counts as not shown."""


@dataclass
class ComponentProgram:
    """Totals of one component's atoms, for given right-hand sides."""

    knowledge: Knowledge
    atoms: Ints
    """(c,) the component's atoms, ascending."""
    world: Ints
    """(p,) totals of a world; what lies outside the component stays as it is here."""
    whole: bool
    """Whether all of the component is stated, so that finding nothing proves that there is nothing."""
    integer: Program
    linear: Program

    @classmethod
    def around(
        cls, knowledge: Knowledge, atom: int, world: Ints, most: int = LARGE_COMPONENT, other: int = -1
    ) -> ComponentProgram:
        """The component that an atom is in, or a part of it where it is large.

        A world that differs from a given one in some atoms only is a world; but that there is none among
        those proves nothing.

        Args:
            knowledge: The answers.
            atom: The atom.
            world: (p,) totals that satisfy the sums; they give their values.
            most: Of a component of more atoms than this only a part is stated.
            other: Another atom that is to be there, with its component.
        """
        named = [atom, other] if other >= 0 else [atom]
        atoms = np.flatnonzero(np.isin(knowledge.components, knowledge.components[named]))
        whole = len(atoms) <= most
        if not whole:
            parts = [_neighbourhood(knowledge, each, world, atoms, most // len(named)) for each in named]
            atoms = np.unique(np.concatenate(parts))
        sums = knowledge.matrix @ world
        if not whole:
            outside = np.ones(knowledge.count, dtype=np.bool_)
            outside[atoms] = False
            sums = sums - knowledge.matrix[:, outside] @ world[outside]
        stated = replace(knowledge, extremes=()) if not whole else knowledge
        matrix, row_low, row_high, lower, upper = constraints(stated, atoms, sums)
        integer = np.ones(matrix.shape[1], dtype=np.bool_)
        return cls(
            knowledge,
            atoms,
            world,
            whole,
            Program(matrix, row_low, row_high, lower, upper, integer, MOST_NODES),
            Program(matrix, row_low, row_high, lower, upper),
        )

    def interval(self, atom: int, deadline: float = float("inf")) -> tuple[int, int]:
        """Whole numbers between which the atom's total lies in every world, by linear relaxation."""
        column = int(np.searchsorted(self.atoms, atom))
        low, high = self.knowledge.low[atom], self.knowledge.high[atom]
        ends = [int(self.knowledge.sizes[atom] * low), int(self.knowledge.sizes[atom] * high)]
        if not self.whole:
            return ends[0], ends[1]
        for side, sign in enumerate((1.0, -1.0)):
            outcome = self.linear.minimise({column: sign}, seconds=deadline - time.monotonic())
            if outcome.status == "optimal":
                value = outcome.value * sign
                ends[side] = int(np.ceil(value - TOLERANCE) if side == 0 else np.floor(value + TOLERANCE))
        return ends[0], ends[1]

    def quick_world(self, atom: int, low: int, high: int) -> Ints | None:
        """A world (p,) in which the atom's total lies between two values, from vertices of a linear program.

        With pivots of ±1 many vertices are whole, and each takes a millisecond or two. None proves nothing.
        """
        chance = np.random.default_rng(atom)
        for turn in range(VERTICES):
            costs = chance.integers(-9, 10, len(self.atoms)) if turn else np.zeros(len(self.atoms), np.int64)
            outcome = self._solved(self.linear, {atom: (low, high)}, QUICK_SECONDS, costs)
            if not len(outcome.solution):
                return None
            near = outcome.solution[: len(self.atoms)]
            if np.abs(near - np.rint(near)).max() <= TOLERANCE:
                totals = self._checked(outcome, {atom: (low, high)})
                if totals is not None:
                    return totals
        return None

    def world_with(self, atom: int, low: int, high: int, deadline: float) -> Ints | None:
        """A world (p,) in which the atom's total lies between two values, or None where there is none.

        Raises:
            OutOfTime: neither found nor excluded before the deadline.
        """
        return self.world_where({atom: (low, high)}, deadline)

    def world_where(
        self, bounds: dict[int, tuple[int, int]], deadline: float, nodes: int = MOST_NODES
    ) -> Ints | None:
        """A world (p,) in which totals lie between two values each, by atom, or None where there is none.

        Raises:
            OutOfTime: neither found nor excluded before the deadline, or in so many nodes of the search.
        """
        self.integer.allow(nodes)
        outcome = self._solved(self.integer, bounds, deadline - time.monotonic())
        if outcome.status == "infeasible":
            return None
        totals = self._checked(outcome, bounds) if len(outcome.solution) else None
        if totals is None:
            raise OutOfTime("no world was found in the time allowed, or only one that rounding spoils")
        return totals

    def extreme(self, atom: int, sign: int, deadline: float, nodes: int = MOST_NODES) -> Ints:
        """A world (p,) in which the atom's total is as small (sign 1) or as great (−1) as in any.

        Raises:
            OutOfTime: not shown to be the extreme before the deadline, or in so many nodes of the search.
        """
        column = int(np.searchsorted(self.atoms, atom))
        self.integer.allow(nodes)
        outcome = self.integer.minimise({column: float(sign)}, deadline - time.monotonic())
        totals = self._checked(outcome, {}) if outcome.status == "optimal" else None
        if totals is None:
            raise OutOfTime("the extreme was not found in the time allowed, or rounding spoils it")
        return totals

    def _solved(
        self,
        program: Program,
        bounds: dict[int, tuple[int, int]],
        seconds: float,
        costs: Ints | None = None,
    ) -> Outcome:
        """A solution with atoms' totals between two values each: any, or the cheapest."""
        price = {} if costs is None else {int(j): float(costs[j]) for j in np.flatnonzero(costs)}
        sizes, low, high = self.knowledge.sizes, self.knowledge.low, self.knowledge.high
        columns = {atom: int(np.searchsorted(self.atoms, atom)) for atom in bounds}
        for atom, column in columns.items():
            program.bound(column, *bounds[atom])
        try:
            return program.minimise(price, seconds=seconds, first=True)
        finally:
            for atom, column in columns.items():
                program.bound(column, sizes[atom] * low[atom], sizes[atom] * high[atom])

    def _checked(self, outcome: Outcome, bounds: dict[int, tuple[int, int]]) -> Ints | None:
        """A solution as totals, where in whole numbers it is the world that was asked for."""
        totals = self.world.copy()
        totals[self.atoms] = np.rint(outcome.solution[: len(self.atoms)]).astype(np.int64)
        if not all(low <= totals[atom] <= high for atom, (low, high) in bounds.items()):
            return None
        return totals if is_world(self.knowledge, totals, self.knowledge.matrix @ self.world) else None


def _neighbourhood(knowledge: Knowledge, atom: int, world: Ints, component: Ints, most: int) -> Ints:
    """The atoms that matter most for one: its smallest sums' members, the basic ones, and roomy others."""
    rows = np.flatnonzero(knowledge.matrix[:, atom])
    lengths = np.count_nonzero(knowledge.matrix[rows], axis=1)
    chosen = [np.array([atom]), knowledge.tableau.basic]
    left = most // 2
    for row in rows[np.argsort(lengths, kind="stable")]:
        members = np.flatnonzero(knowledge.matrix[row])
        if len(members) > left:
            break
        chosen.append(members)
        left -= len(members)
    room = knowledge.room(world[None])[component] * np.random.default_rng(atom).random(len(component))
    chosen.append(component[np.argsort(-room, kind="stable")[: most // 2]])
    atoms: Ints = np.unique(np.concatenate(chosen))
    return atoms


def is_world(knowledge: Knowledge, totals: Ints, sums: Ints) -> bool:
    """Whether totals agree with every sum, every box and every extreme: integers only."""
    inside = (totals >= knowledge.sizes * knowledge.low) & (totals <= knowledge.sizes * knowledge.high)
    if not inside.all() or (knowledge.matrix @ totals != sums).any():
        return False
    return not knowledge.extremes or choose_witnesses(knowledge, totals) is not None


def any_world(knowledge: Knowledge, sums: Ints, deadline: float, seed: int = 0) -> Ints | None:
    """A world (p,) for given right-hand sides (k,), in a random corner, or None where there is none.

    Raises:
        OutOfTime: neither found nor excluded before the deadline.
    """
    atoms = np.arange(knowledge.count)
    matrix, row_low, row_high, lower, upper = constraints(knowledge, atoms, sums)
    whole = np.ones(matrix.shape[1], dtype=np.bool_)
    program = Program(matrix, row_low, row_high, lower, upper, whole)
    costs = np.random.default_rng(seed).integers(-9, 10, knowledge.count)
    outcome = program.minimise(
        {int(j): float(costs[j]) for j in np.flatnonzero(costs)}, deadline - time.monotonic(), first=True
    )
    if outcome.status == "infeasible":
        return None
    if len(outcome.solution):
        totals: Ints = np.rint(outcome.solution[: knowledge.count]).astype(np.int64)
        if is_world(knowledge, totals, sums):
            return totals
    raise OutOfTime("no world was found in the time allowed")


def constraints(
    knowledge: Knowledge, atoms: Ints, sums: Ints
) -> tuple[sparse.csr_matrix, Floats, Floats, Floats, Floats]:
    """Rows and boxes over the totals of some atoms and, behind them, one 0/1 column per possible attainer.

    An atom that attains its top has s − (u − l) x >= m l; one that attains its bottom s + (u − l) x <= m u;
    each extreme has Σ x >= 1. An atom of one record cannot do both unless its box is a point.
    """
    sizes, low, high = knowledge.sizes[atoms], knowledge.low[atoms], knowledge.high[atoms]
    place = np.full(knowledge.count, -1, dtype=np.int64)
    place[atoms] = np.arange(len(atoms))
    kept = np.flatnonzero(knowledge.matrix[:, atoms].any(axis=1))
    blocks: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]] = []
    rows, columns = np.nonzero(knowledge.matrix[np.ix_(kept, atoms)])
    blocks.append((rows, columns, knowledge.matrix[kept][:, atoms][rows, columns]))
    row_low, row_high = [sums[kept].astype(float)], [sums[kept].astype(float)]
    count, width = len(kept), len(atoms)
    attainers: dict[tuple[bool, int], int] = {}
    for extreme in knowledge.extremes:
        if place[extreme.atoms[0]] < 0:
            continue
        candidates = place[able(knowledge, extreme)]
        if (low[candidates] == high[candidates]).any():
            continue
        chosen = []
        for atom in candidates.tolist():
            key = (extreme.top, atom)
            if key not in attainers:
                attainers[key] = width
                span = int(high[atom] - low[atom])
                weight = -span if extreme.top else span
                blocks.append((np.array([count, count]), np.array([atom, width]), np.array([1, weight])))
                base = float(sizes[atom] * (low[atom] if extreme.top else high[atom]))
                row_low.append(np.array([base if extreme.top else -np.inf]))
                row_high.append(np.array([np.inf if extreme.top else base]))
                count, width = count + 1, width + 1
            chosen.append(attainers[key])
        blocks.append(
            (np.full(len(chosen), count), np.array(chosen, dtype=np.int64), np.ones(len(chosen), np.int64))
        )
        row_low.append(np.array([1.0]))
        row_high.append(np.array([np.inf]))
        count += 1
    matrix = sparse.csr_matrix(
        (
            np.concatenate([b[2] for b in blocks]),
            (np.concatenate([b[0] for b in blocks]), np.concatenate([b[1] for b in blocks])),
        ),
        shape=(count, width),
    )
    extra = width - len(atoms)
    lower = np.concatenate([(sizes * low).astype(float), np.zeros(extra)])
    upper = np.concatenate([(sizes * high).astype(float), np.ones(extra)])
    return matrix, np.concatenate(row_low), np.concatenate(row_high), lower, upper
