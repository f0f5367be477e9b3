"""Linear and integer programs over the atoms' totals: feasible tables that moves did not find, and the proof
that there are none.

Columns are the totals of one component's atoms, and for every extreme the record that attains it. A solution
is rounded and checked in integers against every sum, box and extreme before anybody calls it a world.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from cae_sql.errors import OutOfTime
from cae_sql.inference.allowance import UNLIMITED, Allowance
from cae_sql.inference.facts.constraints import constraints, is_world
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.solver import Outcome, Program

TOLERANCE = 1e-6
"""Slack within which a linear program's optimum counts as whole."""
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
    def around(cls, knowledge: Knowledge, atom: int, world: Ints, most: int = LARGE_COMPONENT) -> Self:
        """The component that an atom is in, or a part of it where it has more atoms, around a world (p,).

        A world that differs from a given one in some atoms only is a world; but that there is none among
        those proves nothing.
        """
        atoms, stated = np.flatnonzero(knowledge.components == knowledge.components[atom]), knowledge
        sums, whole = knowledge.matrix @ world, len(atoms) <= most
        if not whole:
            atoms, stated = _neighbourhood(knowledge, atom, world, atoms), replace(knowledge, extremes=())
            outside = np.delete(np.arange(knowledge.count), atoms)
            sums = sums - knowledge.matrix[:, outside] @ world[outside]
        rows = constraints(stated, atoms, sums)
        integer = Program(*rows, np.ones(rows[0].shape[1], dtype=np.bool_), MOST_NODES)
        return cls(knowledge, atoms, world, whole, integer, Program(*rows))

    def interval(self, atom: int, allowance: Allowance) -> tuple[int, int]:
        """Whole numbers between which the atom's total lies in every world, by linear relaxation."""
        ends = list(self._box(atom))
        for side, sign in enumerate((1.0, -1.0) if self.whole else ()):
            outcome = self.linear.minimise({self._column(atom): sign}, allowance)
            if outcome.status == "optimal":
                value = outcome.value * sign
                ends[side] = int(np.ceil(value - TOLERANCE) if side == 0 else np.floor(value + TOLERANCE))
        return ends[0], ends[1]

    def world_with(
        self, atom: int, low: int, high: int, allowance: Allowance, nodes: int = MOST_NODES
    ) -> Ints | None:
        """A world (p,) in which the atom's total lies between two values, or None where there is none.

        Raises:
            OutOfTime: neither found nor excluded with what may be spent, or in so many nodes of the search.
        """
        self.integer.allow(nodes)
        self.integer.bound(self._column(atom), low, high)
        try:
            outcome = self.integer.minimise({}, allowance, first=True)
        finally:
            self.integer.bound(self._column(atom), *self._box(atom))
        if outcome.status == "infeasible":
            return None
        totals = self._checked(outcome)
        if totals is None or not low <= totals[atom] <= high:
            raise OutOfTime("no world was found in the time allowed, or only one that rounding spoils")
        return totals

    def extreme(self, atom: int, sign: int, allowance: Allowance, nodes: int = MOST_NODES) -> Ints:
        """A world (p,) in which the atom's total is as small (sign 1) or as great (−1) as in any.

        Raises:
            OutOfTime: not shown to be the extreme with what may be spent, or in so many nodes of the search.
        """
        self.integer.allow(nodes)
        outcome = self.integer.minimise({self._column(atom): float(sign)}, allowance)
        totals = self._checked(outcome) if outcome.status == "optimal" else None
        if totals is None:
            raise OutOfTime("the extreme was not found in the time allowed, or rounding spoils it")
        return totals

    def _column(self, atom: int) -> int:
        return int(np.searchsorted(self.atoms, atom))

    def _box(self, atom: int) -> tuple[int, int]:
        """Between what an atom's total lies, whatever the sums say."""
        known = self.knowledge
        return int(known.sizes[atom] * known.low[atom]), int(known.sizes[atom] * known.high[atom])

    def _checked(self, outcome: Outcome) -> Ints | None:
        """A solution as totals, where there is one and in whole numbers it is a world."""
        if not len(outcome.solution):
            return None
        totals = self.world.copy()
        totals[self.atoms] = np.rint(outcome.solution[: len(self.atoms)]).astype(np.int64)
        return totals if is_world(self.knowledge, totals, self.knowledge.matrix @ self.world) else None


def _neighbourhood(knowledge: Knowledge, atom: int, world: Ints, component: Ints) -> Ints:
    """The atoms that matter most for one: its smallest sums' members, the basic ones, and roomy others."""
    rows = np.flatnonzero(knowledge.matrix[:, atom])
    lengths = np.count_nonzero(knowledge.matrix[rows], axis=1)
    chosen = [np.array([atom]), knowledge.tableau.basic]
    left = half = LARGE_COMPONENT // 2
    for row in rows[np.argsort(lengths, kind="stable")]:
        members = np.flatnonzero(knowledge.matrix[row])
        if len(members) > left:
            break
        chosen.append(members)
        left -= len(members)
    room = knowledge.room(world[None])[component] * np.random.default_rng(atom).random(len(component))
    chosen.append(component[np.argsort(-room, kind="stable")[:half]])
    atoms: Ints = np.unique(np.concatenate(chosen))
    return atoms


def any_world(
    knowledge: Knowledge, sums: Ints, allowance: Allowance = UNLIMITED, seed: int = 0, nodes: int = ANY_NODES
) -> Ints | None:
    """A world (p,) for given right-hand sides (k,), in a random corner, or None where there is none.

    Raises:
        OutOfTime: neither found nor excluded with what may be spent.
    """
    rows = constraints(knowledge, np.arange(knowledge.count), sums)
    most = None if allowance is UNLIMITED else nodes
    program = Program(*rows, np.ones(rows[0].shape[1], dtype=np.bool_), most)
    costs = np.random.default_rng(seed).integers(-9, 10, knowledge.count).astype(float)
    outcome = program.minimise(dict(enumerate(costs.tolist())), allowance, first=True)
    if outcome.status == "infeasible":
        return None
    if len(outcome.solution):
        totals: Ints = np.rint(outcome.solution[: knowledge.count]).astype(np.int64)
        if is_world(knowledge, totals, sums):
            return totals
    raise OutOfTime("no world was found in the time allowed")
