"""The integer program of a component: worlds that moves did not find, and the proof that there are none.

Columns are the atoms' totals, and for every extreme who attains it. A solution is rounded and checked in
integers against every sum, box and extreme before anybody calls it a world.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cae_sql.errors import OutOfTime
from cae_sql.inference.allowance import UNLIMITED, Allowance
from cae_sql.inference.facts.constraints import constraints, is_world
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.solver import MOST_ITERATIONS, Outcome, Program

TOLERANCE = 1e-6
"""Slack within which a linear program's optimum counts as whole."""


VERTICES = 8
"""Vertices of the linear program that are looked at before an integer program is tried."""
QUICK_ITERATIONS = 5_000
"""For one linear program: about half a second at the largest that are stated."""
LARGE_COMPONENT = 400
"""Of components of more atoms than this only a part around the record is searched."""
ANY_NODES = 3_000
"""Nodes after which looking for any world at all is given up, unless nothing is held back: some seconds."""
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

    def interval(self, atom: int, allowance: Allowance = UNLIMITED) -> tuple[int, int]:
        """Whole numbers between which the atom's total lies in every world, by linear relaxation."""
        column = int(np.searchsorted(self.atoms, atom))
        low, high = self.knowledge.low[atom], self.knowledge.high[atom]
        ends = [int(self.knowledge.sizes[atom] * low), int(self.knowledge.sizes[atom] * high)]
        if not self.whole:
            return ends[0], ends[1]
        for side, sign in enumerate((1.0, -1.0)):
            outcome = self.linear.minimise({column: sign}, allowance)
            if outcome.status == "optimal":
                value = outcome.value * sign
                ends[side] = int(np.ceil(value - TOLERANCE) if side == 0 else np.floor(value + TOLERANCE))
        return ends[0], ends[1]

    def quick_world(self, atom: int, low: int, high: int, allowance: Allowance = UNLIMITED) -> Ints | None:
        """A world (p,) in which the atom's total lies between two values, from vertices of a linear program.

        With pivots of ±1 many vertices are whole, and each takes a millisecond or two. None proves nothing.
        """
        chance = np.random.default_rng(atom)
        for turn in range(VERTICES):
            costs = chance.integers(-9, 10, len(self.atoms)) if turn else np.zeros(len(self.atoms), np.int64)
            outcome = self._solved(self.linear, {atom: (low, high)}, allowance, costs, QUICK_ITERATIONS)
            if not len(outcome.solution):
                return None
            near = outcome.solution[: len(self.atoms)]
            if np.abs(near - np.rint(near)).max() <= TOLERANCE:
                totals = self._checked(outcome, {atom: (low, high)})
                if totals is not None:
                    return totals
        return None

    def world_where(
        self,
        bounds: dict[int, tuple[int, int]],
        allowance: Allowance,
        nodes: int = MOST_NODES,
        costs: Ints | None = None,
    ) -> Ints | None:
        """A world (p,) in which totals lie between two values each, by atom, or None where there is none.

        Totals of negative `costs` (p,) are rather great in it, of positive ones small.

        Raises:
            OutOfTime: neither found nor excluded with what may be spent, or in so many nodes of the search.
        """
        self.integer.allow(nodes)
        own = None if costs is None else costs[self.atoms]
        outcome = self._solved(self.integer, bounds, allowance, own)
        if outcome.status == "infeasible":
            return None
        totals = self._checked(outcome, bounds) if len(outcome.solution) else None
        if totals is None:
            raise OutOfTime("no world was found in the time allowed, or only one that rounding spoils")
        return totals

    def world_with_another(
        self, atoms: list[int], allowance: Allowance, nodes: int = MOST_NODES
    ) -> Ints | None:
        """A world (p,) in which some of these atoms has another total than in this one, or None without one.

        Args:
            atoms: Some of the component, each with its total here at an end of its box: the sum of how far
                they are from there is then linear.
            allowance: What may be spent.
            nodes: Of the search.

        Raises:
            OutOfTime: neither found nor excluded with what may be spent, or in so many nodes of the search.
        """
        known, world = self.knowledge, self.world
        away = {each: 1 if world[each] == known.sizes[each] * known.low[each] else -1 for each in atoms}
        weights = {int(np.searchsorted(self.atoms, each)): float(sign) for each, sign in away.items()}
        least = 1 + sum(sign * int(world[each]) for each, sign in away.items())
        with self.integer.at_least(weights, least):
            found = self.world_where({}, allowance, nodes)
        if found is not None and all(found[each] == world[each] for each in atoms):
            raise OutOfTime("rounding spoils the world that was found")
        return found

    def extreme(self, atom: int, sign: int, allowance: Allowance, nodes: int = MOST_NODES) -> Ints:
        """A world (p,) in which the atom's total is as small (sign 1) or as great (−1) as in any.

        Raises:
            OutOfTime: not shown to be the extreme with what may be spent, or in so many nodes of the search.
        """
        column = int(np.searchsorted(self.atoms, atom))
        self.integer.allow(nodes)
        outcome = self.integer.minimise({column: float(sign)}, allowance)
        totals = self._checked(outcome, {}) if outcome.status == "optimal" else None
        if totals is None:
            raise OutOfTime("the extreme was not found in the time allowed, or rounding spoils it")
        return totals

    def _solved(
        self,
        program: Program,
        bounds: dict[int, tuple[int, int]],
        allowance: Allowance,
        costs: Ints | None = None,
        iterations: int = MOST_ITERATIONS,
    ) -> Outcome:
        """A solution with atoms' totals between two values each: any, or the cheapest."""
        price = {} if costs is None else {int(j): float(costs[j]) for j in np.flatnonzero(costs)}
        sizes, low, high = self.knowledge.sizes, self.knowledge.low, self.knowledge.high
        columns = {atom: int(np.searchsorted(self.atoms, atom)) for atom in bounds}
        for atom, column in columns.items():
            program.bound(column, *bounds[atom])
        try:
            return program.minimise(price, allowance, True, iterations)
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


def any_world(
    knowledge: Knowledge, sums: Ints, allowance: Allowance = UNLIMITED, seed: int = 0, nodes: int = ANY_NODES
) -> Ints | None:
    """A world (p,) for given right-hand sides (k,), in a random corner, or None where there is none.

    Raises:
        OutOfTime: neither found nor excluded with what may be spent.
    """
    atoms = np.arange(knowledge.count)
    matrix, row_low, row_high, lower, upper = constraints(knowledge, atoms, sums)
    whole = np.ones(matrix.shape[1], dtype=np.bool_)
    program = Program(
        matrix, row_low, row_high, lower, upper, whole, None if allowance is UNLIMITED else nodes
    )
    costs = np.random.default_rng(seed).integers(-9, 10, knowledge.count)
    outcome = program.minimise(
        {int(j): float(costs[j]) for j in np.flatnonzero(costs)}, allowance, first=True
    )
    if outcome.status == "infeasible":
        return None
    if len(outcome.solution):
        totals: Ints = np.rint(outcome.solution[: knowledge.count]).astype(np.int64)
        if is_world(knowledge, totals, sums):
            return totals
    raise OutOfTime("no world was found in the time allowed")
