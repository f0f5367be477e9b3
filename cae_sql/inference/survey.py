"""Everybody of a large system at once: who keeps the standard, who is located, who is open.

The true table agrees with every answer, so bases over its atoms show at once who takes how long a run of
values (`center`, `shown`), and a walk from it shows more (`walking`): those keep the standard. Of the others
single sums, one after the other, and linear programs say what they can in the time there is. Integer programs
are not asked: who is located by the grid alone is open.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from cae_sql.errors import OutOfTime
from cae_sql.inference.answers import Ints
from cae_sql.inference.bounds import ByPrograms, Exact, Solved, Totals
from cae_sql.inference.center import Basis, Center
from cae_sql.inference.columns import LARGEST_ENTRY
from cae_sql.inference.exchange import Tables
from cae_sql.inference.holding import bounds_of, hold
from cae_sql.inference.knowledge import Knowledge
from cae_sql.inference.outer import from_single_sums
from cae_sql.inference.prospect import Prospect
from cae_sql.inference.runs import Runs, join
from cae_sql.inference.shown import Showing
from cae_sql.inference.standing import EXACT, KEEPS, Standing, state_by_reals, state_of
from cae_sql.inference.walking import moves_of, walk

BASES = 4
"""Bases that are tried one after the other at the end, for whom the first leaves open."""
FEW_CELLS = 4_000_000
"""Atoms times sums up to which linear programs are stated."""
WORK = 4e11
"""Programs are asked about so many records, times (atoms times sums) ** 1.5: counted and not timed, so that
what is found does not hang on the machine."""
STEPS = 30_000_000
"""Moves tried in a walk."""
CELLS = 80_000_000
"""Atoms times sums up to which basic atoms are sought among all: of few people nobody may have room."""
DOMAINS = 8
"""A basic atom is no better for more room than so many whole domains."""


class Survey:
    """One look at a large system; what it finds goes into the standing, for the first record of each atom."""

    def __init__(self, standing: Standing, deadline: float, whole: bool) -> None:
        """Take a standing as it is.

        Args:
            standing: What is known; what is found out goes there.
            deadline: `time.monotonic()` at which it ends.
            whole: Whether those are looked at closely who are not shown to keep the standard.
        """
        self.standing, self.known = standing, standing.known
        self._deadline, self._whole = deadline, whole
        self.totals: Ints = self.known.totals(standing.truth[None])[0]
        self.first: Ints = self.known.members[0][self.known.members[1][:-1]]
        self.runs = Runs(self.known, standing.standard.need)

    def run(self) -> None:
        """Find out."""
        standing, first = self.standing, self.first
        self._by_single_sums()
        self._around_the_table()
        if self._whole and self.known.count * len(self.known.matrix) <= FEW_CELLS:
            self._by_programs()
        keeps = standing.by_integers[first] == KEEPS
        standing.open[first] = keeps & (self._width < standing.standard.need) & ~standing.fixed[first]

    @property
    def _width(self) -> Ints:
        """(p,) of the longest run that a record of each atom was shown to take."""
        return self.runs.high - self.runs.low

    def _waiting(self) -> Ints:
        """The atoms that something is still to be found out about."""
        standing, first = self.standing, self.first
        state = standing.by_integers[first]
        wanted = np.where(state == KEEPS, standing.standard.need, 1)
        found: Ints = np.flatnonzero(
            (standing.by_reals[first] != EXACT) & ~standing.fixed[first] & (self._width < wanted)
        )
        return found

    def _around_the_table(self) -> None:
        """Which runs of values records take in tables near to the true one, and then farther from it."""
        known, runs, totals = self.known, self.runs, self.totals
        if known.matrix.size and np.abs(known.matrix).max() > LARGEST_ENTRY:
            return
        marks = np.ascontiguousarray(known.matrix.T.astype(np.int8, copy=False))
        sums = [int(each) for each in known.matrix @ totals]
        center, bases = Center(known.without_sums(), totals, marks, sums), list[Basis]()
        for basis in bases_of(center):
            bases.append(basis)
            center.bases = [basis]
            self._absorb(center)
            if not self._whole or not len(self._waiting()) or time.monotonic() > self._deadline:
                break
        if self._whole and bases and len(self._waiting()):
            runs.accepted |= self.standing.by_integers[self.first] != KEEPS
            moves = moves_of(bases, marks, np.flatnonzero(known.low < known.high))
            walk(runs, totals, moves, STEPS, seed=0)

    def _absorb(self, center: Center) -> None:
        found = runs_around(center)
        if found is not None:
            # all of these runs have the true value in them
            there = found[1] >= found[0]
            low, high = (np.where(there, ends, self.runs.high) for ends in found)
            empty = ~there
            mine = self.runs.low.copy(), self.runs.high.copy()
            join(self.runs.low, self.runs.high, low, high)
            self.runs.low[empty], self.runs.high[empty] = mine[0][empty], mine[1][empty]

    def _by_single_sums(self) -> None:
        known, standing, first = self.known, self.standing, self.first
        rows, sums = np.arange(len(known.matrix)), known.matrix @ self.totals
        low, high = from_single_sums(known, np.arange(known.count), rows, sums)
        rest = known.sizes - 1
        least = np.maximum(standing.least[first], low - rest * known.high)
        most = np.minimum(standing.most[first], high - rest * known.low)
        narrower = (least > standing.least[first]) | (most < standing.most[first])
        standing.least[first], standing.most[first] = least, most
        for atom in np.flatnonzero(narrower & ~standing.fixed[first]).tolist():
            self._note(atom, int(least[atom]), int(most[atom]))

    def _by_programs(self) -> None:
        """Intervals over the reals, then where extremes are answered those in which somebody attains them."""
        known = self.known
        sums = known.matrix @ self.totals
        left = int(WORK / max(1.0, float(known.matrix.size)) ** 1.5)
        for system in [replace(known, extremes=()), known][: 2 if known.extremes else 1]:
            solved, found = Solved(system, sums), Totals.start(system)
            programs: dict[int, ByPrograms] = {}
            for atom in self._waiting().tolist():
                left -= 1
                if left < 0 or time.monotonic() > self._deadline:
                    return
                component = int(system.components[atom])
                if component not in programs:
                    atoms = np.flatnonzero(system.components == component)
                    programs[component] = ByPrograms(solved, atoms)
                    programs[component].footings = []
                self._by_program(programs[component], atom, found)

    def _by_program(self, programs: ByPrograms, atom: int, found: Totals) -> None:
        system = programs.known
        wanted = np.zeros(system.count, dtype=np.bool_)
        wanted[atom] = True
        try:
            programs.fill(wanted, found, agreed=True)
        except OutOfTime:
            return
        least, most = _of_record(found, system, atom)
        self._note(atom, least, most, reals=not system.extremes)
        standing, column = self.standing, int(np.searchsorted(programs.atoms, atom))
        if standing.by_integers[self.first[atom]] != KEEPS:
            proofs = [programs.proofs.get((column, sign)) for sign in (1, -1)]
            used = {standing.row_answers[row] for proof in proofs if proof for row in proof.rows}
            order, firsts = self.known.members
            for record in order[firsts[atom] : firsts[atom + 1]].tolist():
                standing.support[record] = set(used)

    def _note(self, atom: int, least: Exact, most: Exact, reals: bool = True) -> None:
        """An interval of a record that is proved, over the reals or with somebody who attains extremes."""
        standing, record = self.standing, int(self.first[atom])
        standing.low[record] = max(ceil(least), int(standing.low[record]))
        standing.high[record] = min(floor(most), int(standing.high[record]))
        if standing.high[record] - standing.low[record] >= standing.standard.need:
            return
        left = np.arange(standing.low[record], standing.high[record] + 1)
        state = state_of(left, standing.standard)
        standing.by_integers[record] = max(int(standing.by_integers[record]), state)
        if reals:
            state = state_by_reals(least, most, lambda values: state_of(values, standing.standard))
            standing.by_reals[record] = max(int(standing.by_reals[record]), state)


def _of_record(found: Totals, known: Knowledge, atom: int) -> tuple[Exact, Exact]:
    """As `Totals.of_records`, of one atom's."""
    low, high, rest = int(known.low[atom]), int(known.high[atom]), int(known.sizes[atom]) - 1
    least: Exact = found.fractions[0].get(atom, int(found.low[atom]))
    most: Exact = found.fractions[1].get(atom, int(found.high[atom]))
    return max(low, least - rest * high), min(high, most - rest * low)


def bases_of(center: Center) -> Iterator[Basis]:
    """Bases of atoms that have room at the center's table; of more than one each time others."""
    boxes, totals = center.boxes, center.totals
    if not center.rank:
        yield Basis(np.zeros(0, dtype=np.int64), np.zeros((center.count, 0), dtype=np.int8))
        return
    span = boxes.high - boxes.low
    room = np.minimum(
        np.minimum(boxes.sizes * boxes.high - totals, totals - boxes.sizes * boxes.low), DOMAINS * span
    )
    none, still = np.zeros(center.count, dtype=np.bool_), room <= 0
    crowded = 1.0 + np.count_nonzero(center.marks[: center.count], axis=1)
    for turn in range(BASES):
        chance = np.random.default_rng(turn).uniform(0.2 if turn else 1.0, 1.0, center.count)
        for taken, weight in ((still, room), (none, room), (none, room / crowded)):
            basis = center.further(taken, weight * chance, CELLS // center.rank)
            if basis is not None:
                yield basis
                break


def runs_around(center: Center) -> tuple[Ints, Ints] | None:
    """Runs around the center's table, as `certified_runs` gives them.

    Also where but one record attains an extreme: nothing is said of that one's atom then.
    """
    boxes, prospect = center.boxes, Prospect(center, [])
    for copies in (2, 1):
        pins = hold(boxes, center.totals, copies, np.zeros(0, dtype=np.int64))
        if pins is None:
            continue
        bounds = bounds_of(boxes, pins)
        if (center.totals < bounds.least).any() or (center.totals > bounds.most).any():
            continue
        tables = Tables(center.totals, center.totals)
        need = int((boxes.high - boxes.low).max(initial=0))
        low, high = Showing(prospect, boxes, pins, tables, need, 0).runs()
        # two holders can give way to each other; of one and his fellows a walk sees what is between them
        held: NDArray[np.bool_] = (pins.count > 0) & (copies == 1)
        return np.where(held, boxes.high, low), np.where(held, boxes.high - 1, high)
    return None
