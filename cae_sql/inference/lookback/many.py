"""Everybody of a large system at once: who keeps the standard, who is located, who is open.

The true table agrees with every answer, so bases over its atoms show at once who takes how long a run of
values (`roomy_table`, `shown`), and a walk from it shows more (`walking`): those keep the standard. Of the
others single sums, one after the other, and linear programs say what they can in the time there is. Integer
programs are not asked: who is located by the grid alone is open.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from cae_sql.errors import OutOfTime
from cae_sql.inference.certify.coverage import Coverage
from cae_sql.inference.certify.rooms import Judged
from cae_sql.inference.facts.extremes import bounds_of, hold
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.intervals.bounds import ByPrograms, Exact, Solved, Totals
from cae_sql.inference.intervals.presolve import from_single_sums
from cae_sql.inference.lookback.located_so_far import EXACT, KEEPS, LocatedSoFar, state_by_reals, state_of
from cae_sql.inference.lookback.walking import moves_of, walk
from cae_sql.inference.search.runs import Runs, join
from cae_sql.inference.tables.columns import LARGEST_ENTRY
from cae_sql.inference.tables.exchange import Tables
from cae_sql.inference.tables.question_tables import QuestionTables
from cae_sql.inference.tables.roomy_table import Basis, RoomyTable

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

    def __init__(self, so_far: LocatedSoFar, whole: bool) -> None:
        """Take a standing as it is.

        Args:
            so_far: What is known; what is found out goes there.
            whole: Whether those are looked at closely who are not shown to keep the standard.
        """
        self.so_far, self.known = so_far, so_far.known
        self._whole = whole
        self.totals: Ints = self.known.totals(so_far.truth[None])[0]
        self.first: Ints = self.known.members[0][self.known.members[1][:-1]]
        self.runs = Runs(self.known, so_far.standard.need)

    def run(self) -> None:
        """Find out."""
        so_far, first = self.so_far, self.first
        self._by_single_sums()
        self._around_the_table()
        if self._whole and self.known.count * len(self.known.matrix) <= FEW_CELLS:
            self._by_programs()
        keeps = so_far.by_integers[first] == KEEPS
        so_far.open[first] = keeps & (self._width < so_far.standard.need) & ~so_far.fixed[first]

    @property
    def _width(self) -> Ints:
        """(p,) of the longest run that a record of each atom was shown to take."""
        return self.runs.high - self.runs.low

    def _waiting(self) -> Ints:
        """The atoms that something is still to be found out about."""
        so_far, first = self.so_far, self.first
        state = so_far.by_integers[first]
        wanted = np.where(state == KEEPS, so_far.standard.need, 1)
        found: Ints = np.flatnonzero(
            (so_far.by_reals[first] != EXACT) & ~so_far.fixed[first] & (self._width < wanted)
        )
        return found

    def _around_the_table(self) -> None:
        """Which runs of values records take in tables near to the true one, and then farther from it."""
        known, runs, totals = self.known, self.runs, self.totals
        if known.matrix.size and np.abs(known.matrix).max() > LARGEST_ENTRY:
            return
        marks = np.ascontiguousarray(known.matrix.T.astype(np.int8, copy=False))
        sums = [int(each) for each in known.matrix @ totals]
        roomy_table, bases = RoomyTable(known.without_sums(), totals, marks, sums), list[Basis]()
        for basis in bases_of(roomy_table):
            bases.append(basis)
            roomy_table.bases = [basis]
            self._absorb(roomy_table)
            if not self._whole or not len(self._waiting()):
                break
        if self._whole and bases and len(self._waiting()):
            runs.accepted |= self.so_far.by_integers[self.first] != KEEPS
            moves = moves_of(bases, marks, np.flatnonzero(known.low < known.high))
            walk(runs, totals, moves, STEPS, seed=0)

    def _absorb(self, roomy_table: RoomyTable) -> None:
        found = runs_around(roomy_table)
        if found is not None:
            # all of these runs have the true value in them
            there = found[1] >= found[0]
            low, high = (np.where(there, ends, self.runs.high) for ends in found)
            empty = ~there
            mine = self.runs.low.copy(), self.runs.high.copy()
            join(self.runs.low, self.runs.high, low, high)
            self.runs.low[empty], self.runs.high[empty] = mine[0][empty], mine[1][empty]

    def _by_single_sums(self) -> None:
        known, so_far, first = self.known, self.so_far, self.first
        rows, sums = np.arange(len(known.matrix)), known.matrix @ self.totals
        low, high = from_single_sums(known, np.arange(known.count), rows, sums)
        rest = known.sizes - 1
        least = np.maximum(so_far.least[first], low - rest * known.high)
        most = np.minimum(so_far.most[first], high - rest * known.low)
        narrower = (least > so_far.least[first]) | (most < so_far.most[first])
        so_far.least[first], so_far.most[first] = least, most
        for atom in np.flatnonzero(narrower & ~so_far.fixed[first]).tolist():
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
                if left < 0:
                    return
                component = int(system.components[atom])
                if component not in programs:
                    atoms = np.flatnonzero(system.components == component)
                    programs[component] = ByPrograms(solved, atoms)
                    programs[component].interior_points = []
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
        so_far, column = self.so_far, int(np.searchsorted(programs.atoms, atom))
        if so_far.by_integers[self.first[atom]] != KEEPS:
            proofs = [programs.proofs.get((column, sign)) for sign in (1, -1)]
            used = {so_far.row_answers[row] for proof in proofs if proof for row in proof.rows}
            order, firsts = self.known.members
            for record in order[firsts[atom] : firsts[atom + 1]].tolist():
                so_far.support[record] = set(used)

    def _note(self, atom: int, least: Exact, most: Exact, reals: bool = True) -> None:
        """An interval of a record that is proved, over the reals or with somebody who attains extremes."""
        so_far, record = self.so_far, int(self.first[atom])
        so_far.low[record] = max(ceil(least), int(so_far.low[record]))
        so_far.high[record] = min(floor(most), int(so_far.high[record]))
        if so_far.high[record] - so_far.low[record] >= so_far.standard.need:
            return
        left = np.arange(so_far.low[record], so_far.high[record] + 1)
        state = state_of(left, so_far.standard)
        so_far.by_integers[record] = max(int(so_far.by_integers[record]), state)
        if reals:
            state = state_by_reals(least, most, lambda values: state_of(values, so_far.standard))
            so_far.by_reals[record] = max(int(so_far.by_reals[record]), state)


def _of_record(found: Totals, known: Knowledge, atom: int) -> tuple[Exact, Exact]:
    """As `Totals.of_records`, of one atom's."""
    low, high, rest = int(known.low[atom]), int(known.high[atom]), int(known.sizes[atom]) - 1
    least: Exact = found.fractions[0].get(atom, int(found.low[atom]))
    most: Exact = found.fractions[1].get(atom, int(found.high[atom]))
    return max(low, least - rest * high), min(high, most - rest * low)


def bases_of(roomy_table: RoomyTable) -> Iterator[Basis]:
    """Bases of atoms that have room at the roomy table; of more than one each time others."""
    boxes, totals = roomy_table.boxes, roomy_table.totals
    if not roomy_table.rank:
        yield Basis(np.zeros(0, dtype=np.int64), np.zeros((roomy_table.count, 0), dtype=np.int8))
        return
    span = boxes.high - boxes.low
    room = np.minimum(
        np.minimum(boxes.sizes * boxes.high - totals, totals - boxes.sizes * boxes.low), DOMAINS * span
    )
    none, still = np.zeros(roomy_table.count, dtype=np.bool_), room <= 0
    crowded = 1.0 + np.count_nonzero(roomy_table.marks[: roomy_table.count], axis=1)
    for turn in range(BASES):
        chance = np.random.default_rng(turn).uniform(0.2 if turn else 1.0, 1.0, roomy_table.count)
        for taken, weight in ((still, room), (none, room), (none, room / crowded)):
            basis = roomy_table.further(taken, weight * chance, CELLS // roomy_table.rank)
            if basis is not None:
                yield basis
                break


def runs_around(roomy_table: RoomyTable) -> tuple[Ints, Ints] | None:
    """Runs around the roomy table, as `certified_runs` gives them.

    Also where but one record attains an extreme: nothing is said of that one's atom then.
    """
    boxes, question_tables = roomy_table.boxes, QuestionTables(roomy_table, [])
    for copies in (2, 1):
        pins = hold(boxes, roomy_table.totals, copies, np.zeros(0, dtype=np.int64))
        if pins is None:
            continue
        bounds = bounds_of(boxes, pins)
        if (roomy_table.totals < bounds.least).any() or (roomy_table.totals > bounds.most).any():
            continue
        tables = Tables(roomy_table.totals, roomy_table.totals)
        need = int((boxes.high - boxes.low).max(initial=0))
        low, high = Coverage(question_tables, Judged(boxes, pins, need, 0), tables).runs()
        # two holders can give way to each other; of one and his fellows a walk sees what is between them
        held: NDArray[np.bool_] = (pins.count > 0) & (copies == 1)
        return np.where(held, boxes.high, low), np.where(held, boxes.high - 1, high)
    return None
