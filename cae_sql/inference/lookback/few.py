"""One look at a standing: whom its answers have located, at as little expense as may be.

Moves from the true table and from tables kept earlier come first, and say who keeps the standard. Of those
they leave open linear programs give the interval over the reals; where that would do and no table has been
seen to reach it, integer programs look for one, or show that there is none.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import ceil, floor

import numpy as np

from cae_sql.errors import OutOfTime
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.constraints import is_world
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.intervals.bounds import Solved, few_intervals
from cae_sql.inference.lookback.located_so_far import (
    APPROXIMATE,
    EXACT,
    KEEPS,
    LocatedSoFar,
    state_by_reals,
    state_of,
)
from cae_sql.inference.search.records import search
from cae_sql.inference.search.runs import Runs
from cae_sql.inference.solver import Floats
from cae_sql.inference.standard import Effort
from cae_sql.inference.tables.programs import MOST_NODES, TOLERANCE, ComponentProgram
from cae_sql.inference.tables.spreading import spread

WORLDS = 96
"""Tables kept beside the true one."""
NODES = 20_000
"""Search nodes for one integer program about two values; of others `MOST_NODES`."""
PASSES = 16
"""How often walks from tables at the ends of linear programs try every move."""
ENOUGH_MOVES = 2_000_000
"""Moves tried in walks."""


@dataclass
class _Noting(Runs):
    """Runs that remember which worlds they came from."""

    noted: list[Ints] = field(default_factory=list)

    def absorb(self, totals: Ints, keep: bool = True) -> bool:
        """As `Runs.absorb`; a world that lengthens somebody's run is noted."""
        before = int((self.high - self.low).sum())
        done = super().absorb(totals, keep)
        if done and int((self.high - self.low).sum()) > before:
            self.noted.append(totals.copy())
        return done


class Locating:
    """Finds out who is located; what it finds goes into the standing, for the first record of each atom."""

    def __init__(self, so_far: LocatedSoFar, allowance: Allowance) -> None:
        """Take a standing as it is.

        Args:
            so_far: What is known, of few atoms; what is found out goes there.
            allowance: What may be spent; nothing more is tried beyond it.
        """
        self.so_far, self.known = so_far, so_far.known
        self.totals: Ints = self.known.totals(so_far.truth[None])[0]
        self.first: Ints = self.known.members[0][self.known.members[1][:-1]]
        effort = Effort(10**6, ENOUGH_MOVES)
        self.runs = _Noting(self.known, so_far.standard.need, allowance, effort, True)
        self._narrowed: list[ComponentProgram] = []
        self._corners: list[Ints] = []
        """(p,) tables at the ends of linear programs."""

    def run(self) -> None:
        """Find out."""
        so_far, runs = self.so_far, self.runs
        so_far.open[:] = False
        self._settled_linearly()
        runs.accepted |= so_far.by_integers[self.first] != KEEPS
        runs.absorb(self.totals)
        runs.noted.clear()  # the true table is always at hand
        for world in so_far.worlds[::-1]:
            if not len(self._waiting()):
                break
            runs.absorb(self.known.totals(world[None])[0])
        runs.noted.clear()
        if len(runs.short):
            runs.by_moves()
        waiting = self._waiting()
        if len(waiting):
            self._by_reals(waiting)
            self._of_two_values(waiting)
            for atom in waiting[so_far.by_integers[self.first[waiting]] != EXACT].tolist():
                self._on_the_grid(atom)
        for totals in runs.noted[-WORLDS // 2 :]:
            self._keep(totals)

    def _waiting(self) -> Ints:
        """The atoms that something is still to be found out about."""
        so_far, runs, first = self.so_far, self.runs, self.first
        reals, whole = so_far.by_reals[first], so_far.by_integers[first]
        wanted = np.where(whole == KEEPS, so_far.standard.need, 1)
        lacking = (runs.high - runs.low < wanted) | (reals < whole)
        found: Ints = np.flatnonzero((reals != EXACT) & ~so_far.fixed[first] & lacking)
        return found

    def _settled_linearly(self) -> None:
        """Basic atoms of one record whose row no other atom is in: one value, by the sums alone."""
        so_far, tableau = self.so_far, self.known.tableau
        alone = np.count_nonzero(tableau.entries, axis=1) == 1
        atoms = tableau.basic[alone]
        records = self.first[atoms[self.known.sizes[atoms] == 1]]
        so_far.by_reals[records] = so_far.by_integers[records] = EXACT
        so_far.low[records] = so_far.high[records] = so_far.truth[records]

    # --- by reals

    def _by_reals(self, waiting: Ints) -> None:
        known = self.known
        solved = Solved(known, known.matrix @ self.totals)
        self._bounded(solved, waiting, reals=not known.extremes)
        if known.extremes:
            located = waiting[self.so_far.by_integers[self.first[waiting]] != KEEPS]
            if len(located):
                # what multipliers prove: the intervals when nobody needs to attain the extremes
                self._bounded(Solved(replace(known, extremes=()), solved.sums), located, reals=True)

    def _bounded(self, solved: Solved, atoms: Ints, reals: bool) -> None:
        try:
            self._bound(solved, atoms, reals)
        except OutOfTime:
            # a linear program that numbers of very different size defeat leaves its own atom open, no other
            for atom in atoms:
                with suppress(OutOfTime):
                    self._bound(solved, atom[None], reals)

    def _bound(self, solved: Solved, atoms: Ints, reals: bool) -> None:
        least, most = few_intervals(solved, atoms, self._seen)
        for atom in atoms.tolist():
            record = int(self.first[atom])
            self._note(record, ceil(least[atom]), floor(most[atom]))
            if reals:
                state = state_by_reals(least[atom], most[atom], self.state)
                self.so_far.by_reals[record] = max(int(self.so_far.by_reals[record]), state)

    def _seen(self, atoms: Ints, found: Floats) -> None:
        """A solution of a linear program: where it is whole it is a table."""
        whole = np.rint(found)
        if np.abs(found - whole).max() > TOLERANCE:
            return
        totals = self.totals.copy()
        totals[atoms] = whole.astype(np.int64)
        if is_world(self.known, totals, self.known.matrix @ self.totals):
            self.runs.absorb(totals, keep=False)
            self._corners.append(totals)

    def _from_corner(self, atom: int) -> None:
        """From the tables where a record is farthest out, walks often lead back value by value."""
        far = [max(self._corners, key=lambda totals: sign * int(totals[atom])) for sign in (1, -1)]
        for turn, totals in enumerate(far):
            self.runs.walk_from(totals, PASSES, turn)

    def _note(self, record: int, low: int, high: int) -> None:
        so_far = self.so_far
        so_far.low[record] = max(low, int(so_far.low[record]))
        so_far.high[record] = min(high, int(so_far.high[record]))
        left = np.arange(so_far.low[record], so_far.high[record] + 1)
        so_far.by_integers[record] = max(int(so_far.by_integers[record]), self.state(left))

    def state(self, values: Ints) -> int:
        """What it means that only these values remain."""
        return state_of(values, self.so_far.standard)

    # --- on the grid

    def _of_two_values(self, waiting: Ints) -> None:
        """Whether records of two values all have the true one in every table: one program asks about them."""
        known, so_far, runs = self.known, self.so_far, self.runs
        two = (known.sizes[waiting] == 1) & (known.high[waiting] - known.low[waiting] == 1)
        left = two & (so_far.by_integers[self.first[waiting]] != EXACT) & (runs.high == runs.low)[waiting]
        groups: dict[int, list[int]] = {}
        for atom in waiting[left].tolist():
            groups.setdefault(int(known.components[atom]), []).append(atom)
        for atoms in groups.values():
            program = self._program(atoms[0])
            if not program.whole or len(atoms) == 1:
                continue
            try:
                world = program.world_with_another(atoms, runs.allowance, NODES)
            except OutOfTime:
                continue
            if world is not None:
                # of those who are left some may have one value: each alone is easier to say then
                runs.absorb(world)
                self._keep(world)
                continue
            for atom in atoms:
                self._exact(program, atom)

    def _exact(self, program: ComponentProgram, atom: int) -> None:
        """Note that a record has the true value in every table."""
        record, value = int(self.first[atom]), int(self.totals[atom])
        self._note(record, value, value)
        program.integer.bound(int(np.searchsorted(program.atoms, atom)), value, value)

    def _on_the_grid(self, atom: int) -> None:
        """Whether tables on the grid reach what reals allow."""
        record, known = int(self.first[atom]), self.known
        state = int(self.so_far.by_integers[record])
        width = int(self.runs.high[atom] - self.runs.low[atom])
        if state == EXACT or width >= (self.so_far.standard.need if state == KEEPS else 1):
            return
        two = known.sizes[atom] == 1 and known.high[atom] - known.low[atom] == 1
        if two or state == APPROXIMATE:
            self._another_value(atom, record)
        else:
            self._enough_values(atom, record)

    def _program(self, atom: int) -> ComponentProgram:
        """The atom's program, with what is proved of records already as their boxes."""
        program, so_far = self.runs.program_around(atom), self.so_far
        if not any(each is program for each in self._narrowed):
            for column, each in enumerate(program.atoms.tolist()):
                record = int(self.first[each])
                if self.known.sizes[each] == 1 and so_far.by_integers[record] != KEEPS:
                    program.integer.bound(column, int(so_far.low[record]), int(so_far.high[record]))
            self._narrowed.append(program)
        return program

    def _another_value(self, atom: int, record: int) -> None:
        """Whether a table has another value of a record than the true one; else it is exact."""
        program, known, runs = self._program(atom), self.known, self.runs
        here = int(self.totals[atom])
        rest = int(known.sizes[atom]) - 1
        least = int(self.so_far.low[record]) + rest * int(known.low[atom])
        most = int(self.so_far.high[record]) + rest * int(known.high[atom])
        sides = [(least, here - 1), (here + 1, most)]
        for low, high in sides:
            if low > high:
                continue
            world = program.quick_world(atom, low, high) if high > low else None
            try:
                if world is None:
                    world = program.world_where({atom: (low, high)}, runs.allowance, NODES)
            except OutOfTime:
                self.so_far.open[record] = self.so_far.by_integers[record] == KEEPS
                return
            if world is not None:
                runs.absorb(world)
                self._keep(world)
                return
        if program.whole and rest == 0:
            self._exact(program, atom)

    def _enough_values(self, atom: int, record: int) -> None:
        """Whether tables have so many values of a record that it keeps the standard."""
        runs, seen = self.runs, list[Ints]()
        if self._corners:
            self._from_corner(atom)
            if not runs.lacks(atom):
                return
        if runs.allowance.over:
            self.so_far.open[record] = True
            return

        def noted(values: Ints) -> bool:
            seen[:] = [values]
            return self.state(values) == KEEPS

        if search(runs, atom, noted):
            return
        if seen and int(seen[0][-1] - seen[0][0]) + 1 > len(seen[0]):
            # all values that there are, with gaps between them
            state = max(int(self.so_far.by_integers[record]), self.state(seen[0]))
            self.so_far.by_integers[record] = state
            return
        low, high = (self._end(atom, sign) for sign in (1, -1))
        if low is None or high is None:
            self.so_far.open[record] = True
            return
        self._note(record, low, high)
        state = int(self.so_far.by_integers[record])
        self.so_far.open[record] = state == KEEPS and runs.high[atom] - runs.low[atom] < runs.need

    def _end(self, atom: int, sign: int) -> int | None:
        """Least (1) or greatest (−1) value of a record in tables on the grid; None: not in time."""
        known, program = self.known, self._program(atom)
        if not program.whole or self.runs.allowance.over:
            return None
        try:
            world = program.extreme(atom, sign, self.runs.allowance, MOST_NODES)
        except OutOfTime:
            return None
        self.runs.absorb(world)
        low, high, rest = int(known.low[atom]), int(known.high[atom]), int(known.sizes[atom]) - 1
        total = int(world[atom])
        return max(low, total - rest * high) if sign > 0 else min(high, total - rest * low)

    def _keep(self, totals: Ints) -> None:
        """Keep a world for later, record by record."""
        so_far = self.so_far
        world = spread(self.known, totals, so_far.truth)
        if world is not None:
            so_far.worlds = np.concatenate([so_far.worlds, world[None]])[-WORLDS:]
