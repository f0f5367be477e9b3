"""Looks at all records of a true table: which keep the standard, are located and since when, or are open.

Systems of few atoms are looked at after each statement, others now and then; records located before that get
the earlier time (`first_time`). Around the true table the gate's own evidence (`certify.coverage`) shows how
long a run of values each record takes, whatever the size, and walks from it show more. Of the others single
sums and linear programs give the interval over the reals; of few atoms searches look for tables that reach
its ends, or show that there are none.

Source: `mathematics.md`, 2 and 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from cae_sql.errors import OutOfTime
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.certify.coverage import Coverage
from cae_sql.inference.certify.rooms import Judged
from cae_sql.inference.facts.extremes import bounds_of, hold
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.intervals.bounds import Exact, OneByOne, Solved
from cae_sql.inference.intervals.presolve import from_single_sums, of_records
from cae_sql.inference.lookback.first_time import look_back
from cae_sql.inference.lookback.located_so_far import EXACT, KEEPS, LocatedSoFar, state_between, state_of
from cae_sql.inference.search.records import search
from cae_sql.inference.search.runs import Runs, join
from cae_sql.inference.standard import Effort
from cae_sql.inference.tables.columns import LARGEST_ENTRY
from cae_sql.inference.tables.exchange import Tables
from cae_sql.inference.tables.programs import ComponentProgram
from cae_sql.inference.tables.question_tables import QuestionTables
from cae_sql.inference.tables.roomy_table import Basis, RoomyTable

STEPS = 6 * 10**9
"""For the integer programs after one statement, about a minute; records that are left are open then."""
GROWTH = 1.5
"""Large systems are looked at whenever there are so many times the answers of the last time."""
WHOLE_CELLS = 1_000_000
"""Atoms times sums up to which the first time is sought among all answers, else among few near the record."""
BASES = 8
"""Around the true table, one after the other: each with other records that attain extremes, since nothing is
said of these. With 4 ten of Adult's 45,222 records were left open after 100 statements, with 2 26, now 0."""
FEW_CELLS = 4_000_000
"""Atoms times sums up to which walks are made and linear programs stated."""
WORK = 4e11
"""Linear programs are asked about so many records, times (atoms times sums) ** 1.5."""
CELLS = 80_000_000
"""Atoms times sums up to which basic atoms are sought among all: few may have room."""
DOMAINS = 8
"""A basic atom is no better for more room than so many whole domains."""
NODES = 20_000
"""Search nodes of an integer program about another value; of others `MOST_NODES`."""
TURNS, ENOUGH_MOVES = 12, 30_000_000
"""Walks, each twice as long as the one before, and moves tried in all of them."""


def assess(so_far: LocatedSoFar, allowance: Allowance | None = None, whole: bool = False) -> None:
    """Find the records located now, by `STEPS` for programs; a large system now and then, or if `whole`."""
    before, now = so_far.before, len(so_far.answers)
    so_far.before = now
    closely = whole or not so_far.large
    if not closely and now < so_far.next_look:
        return
    so_far.next_look = int(now * GROWTH) + 1
    said = so_far.by_integers, so_far.by_reals, so_far.low, so_far.high
    earlier = [each.copy() for each in said]
    Look(so_far, Allowance(STEPS) if allowance is None else allowance, closely).run()
    # what was found of the first record of each atom is so of the others that no answer tells from it
    labels, loose = so_far.known.atoms.labels, ~so_far.fixed
    first = so_far.known.members[0][so_far.known.members[1][:-1]]
    for found in (*said, so_far.open, so_far.least, so_far.most):
        found[loose] = found[first][labels][loose]
    integers, reals = so_far.by_integers != earlier[0], so_far.by_reals != earlier[1]
    so_far.since_integers[integers], so_far.since_reals[reals] = now, now
    late = (so_far.looked < before) & loose
    everything = so_far.known.count * len(so_far.known.matrix) <= WHOLE_CELLS
    if whole and everything:
        # of records that one answer alone has told something about, several may have done so before
        reals |= (so_far.by_reals != KEEPS) & (so_far.looked < so_far.since_reals - 1)
        integers |= reals & (so_far.by_integers == so_far.by_reals)
    look_back(so_far, np.flatnonzero(integers & late), np.flatnonzero(reals & late), everything)
    so_far.looked[~so_far.open] = now
    if any((new != old).any() for new, old in zip(said, earlier, strict=True)):
        so_far.changes += 1


class Look:
    """One look; what it finds goes to `so_far`, for the first record of each atom. Shapes: p atoms."""

    def __init__(self, so_far: LocatedSoFar, allowance: Allowance, closely: bool) -> None:
        """Programs are asked `closely`; the allowance is for integer ones and payments out of rooms."""
        self.so_far, self.known, self.allowance, self._closely = so_far, so_far.known, allowance, closely
        self.totals: Ints = self.known.totals(so_far.truth[None])[0]
        self.sums: Ints = self.known.matrix @ self.totals
        self.first: Ints = self.known.members[0][self.known.members[1][:-1]]
        self.low: Ints = so_far.truth[self.first]
        """(p,) least value of the longest run that a record of each atom was shown to take, ..."""
        self.high: Ints = self.low.copy()
        """(p,) ... and greatest."""
        self.keeps: NDArray[np.bool_] = np.zeros(self.known.count, dtype=np.bool_)
        """(p,) whose records were shown to keep the standard in another way."""
        self.another: NDArray[np.bool_] = np.zeros(self.known.count, dtype=np.bool_)
        """(p,) whose records take another value than the true one."""
        self.runs: Runs | None = None
        """What walks and searches have shown, where walks and programs are asked."""
        if closely and self.known.count * len(self.known.matrix) <= FEW_CELLS:
            effort, need = Effort(10**6, ENOUGH_MOVES), so_far.standard.need
            self.runs = Runs(self.known.rebased(self.totals[None]), need, allowance, effort)

    def run(self) -> None:
        """Find out."""
        so_far, first = self.so_far, self.first
        self._by_single_sums()
        self._around_the_table()
        if self.runs is not None:
            self._by_moves(self.runs)
            self._by_programs()
            if not so_far.large:
                self._on_the_grid(self.runs)
        so_far.open[first] = (so_far.by_integers[first] == KEEPS) & ~self._shown & ~so_far.fixed[first]

    @property
    def _shown(self) -> NDArray[np.bool_]:
        """(p,) whose records were shown to keep the standard."""
        return self.keeps | (self.high - self.low >= self.so_far.standard.need)

    def _waiting(self) -> Ints:
        """The atoms that something is still to be found out about."""
        so_far, first = self.so_far, self.first
        reals, whole = so_far.by_reals[first], so_far.by_integers[first]
        shown = np.where(whole == KEEPS, self._shown, self.another | (self.high > self.low))
        found: Ints = np.flatnonzero((reals != EXACT) & ~so_far.fixed[first] & (~shown | (reals < whole)))
        return found

    # --- around tables

    def _around_the_table(self) -> None:
        """Which runs of values records take in tables near to the true one."""
        known = self.known
        if known.matrix.size and np.abs(known.matrix).max() > LARGEST_ENTRY:
            return
        marks = np.ascontiguousarray(known.matrix.T.astype(np.int8, copy=False))
        roomy_table = RoomyTable(known.without_sums(), self.totals, marks, [int(each) for each in self.sums])
        need, holders = self.so_far.standard.need, np.zeros(0, dtype=np.int64)
        for basis in bases_of(roomy_table):
            roomy_table.basis = basis
            found = coverage_around(roomy_table, need, holders)
            if found is None:
                return
            coverage, held = found
            low, high = coverage.runs()
            self._unite(np.where(held, self.low, low), np.where(held, self.high, high))
            if not self._shown.all():
                self.keeps |= coverage.exactly(need, self.allowance).own & ~held
            if not len(self._waiting()) or not (self._closely or held.any()):
                return
            holders = np.union1d(holders, np.flatnonzero(held))

    def _unite(self, low: Ints, high: Ints) -> None:
        """Take runs (p,), some of them empty, as `join` does."""
        there, true = high >= low, self.so_far.truth[self.first]
        self.another |= there & ((low != true) | (high != true))
        join(self.low, self.high, np.where(there, low, self.low), np.where(there, high, self.high))

    # --- around other tables

    def _by_moves(self, runs: Runs) -> None:
        """From the true table by moves that no sum sees."""
        runs.accepted[:] = True
        runs.accepted[self._waiting()] = False
        runs.absorb(self.totals)
        if runs.lacking.any():
            runs.by_moves(TURNS)
        self._unite(runs.low, runs.high)

    def _absorb(self, runs: Runs, totals: Ints) -> None:
        """Learn from a table (p,)."""
        alone = self.known.sizes == 1
        self._unite(np.where(alone, totals, 0), np.where(alone, totals, -1))
        runs.absorb(totals)
        self._unite(runs.low, runs.high)

    # --- by reals

    def _by_single_sums(self) -> None:
        known, so_far, first = self.known, self.so_far, self.first
        ends = from_single_sums(known, np.arange(known.count), np.arange(len(known.matrix)), self.sums)
        low, high = of_records(known, *ends)
        least, most = np.maximum(so_far.least[first], low), np.minimum(so_far.most[first], high)
        narrower = (least > so_far.least[first]) | (most < so_far.most[first])
        so_far.least[first], so_far.most[first] = least, most
        for atom in np.flatnonzero(narrower & ~so_far.fixed[first]).tolist():
            self._note(atom, int(least[atom]), int(most[atom]))

    def _by_programs(self) -> None:
        """Intervals over the reals, then where extremes are answered those in which somebody attains them."""
        known = self.known
        left = int(WORK / max(1.0, float(known.matrix.size)) ** 1.5)
        for system in [replace(known, extremes=()), known][: 2 if known.extremes else 1]:
            programs = OneByOne(Solved(system, self.sums))
            for atom in self._waiting().tolist():
                left -= 1
                if left < 0:
                    return
                try:
                    least, most = programs.interval(atom)
                except OutOfTime:
                    continue  # a program that numbers of very different size defeat leaves its own atom open
                self._note(atom, least, most, reals=not system.extremes)
                if self.so_far.by_integers[self.first[atom]] != KEEPS:
                    used = {self.so_far.row_answers[row] for row in programs.rows_of(atom)}
                    order, firsts = known.members
                    for record in order[firsts[atom] : firsts[atom + 1]].tolist():
                        self.so_far.support[record] = set(used)

    def _note(self, atom: int, least: Exact, most: Exact, reals: bool = True) -> None:
        """An interval of a record that is proved, over the reals or by more than they say."""
        so_far, record = self.so_far, int(self.first[atom])
        so_far.low[record] = max(ceil(least), int(so_far.low[record]))
        so_far.high[record] = min(floor(most), int(so_far.high[record]))
        state = state_between(so_far.low[record], so_far.high[record], so_far.standard, by_reals=False)
        so_far.by_integers[record] = max(so_far.by_integers[record], state)
        if reals:
            state = state_between(least, most, so_far.standard)
            so_far.by_reals[record] = max(so_far.by_reals[record], state)

    # --- on the grid

    def _on_the_grid(self, runs: Runs) -> None:
        """Integer programs about the atoms that are left, component by component."""
        known, programs = self.so_far.narrowed(), dict[int, ComponentProgram]()
        for atom in self._waiting().tolist():
            component = int(known.components[atom])
            if component not in programs:
                programs[component] = ComponentProgram.around(known, atom, self.totals)
            if self._undecided(atom) and not self.allowance.over:
                with suppress(OutOfTime):
                    low, high = (self._end(runs, programs[component], atom, sign) for sign in (1, -1))
                    self._note(atom, low, high, reals=False)
                    if self._undecided(atom) and self.so_far.by_integers[self.first[atom]] == KEEPS:
                        self._values_between(runs, atom, low, high)

    def _undecided(self, atom: int) -> bool:
        """Whether integer programs may say more of an atom than is known."""
        state = self.so_far.by_integers[self.first[atom]]
        return bool(state != EXACT and not (self._shown if state == KEEPS else self.another)[atom])

    def _end(self, runs: Runs, program: ComponentProgram, atom: int, sign: int) -> int:
        """Least (1) or greatest (-1) value of a record in tables on the grid.

        Raises:
            OutOfTime: not found with what may be spent.
        """
        known, here, world = program.knowledge, int(self.totals[atom]), None
        edge = int(known.sizes[atom] * (known.low if sign > 0 else known.high)[atom])
        if self.allowance.over:
            raise OutOfTime("no table was found with what may be spent")
        if abs(here - edge) > 1:
            world = program.extreme(atom, sign, self.allowance, NODES)
        elif here != edge:  # any table that has it does
            world = program.world_with(atom, edge, edge, self.allowance, NODES)
        if world is None:
            world = self.totals
        else:
            self._absorb(runs, world)
        return int(of_records(known, world, world)[0 if sign > 0 else 1][atom])

    def _values_between(self, runs: Runs, atom: int, low: int, high: int) -> None:
        """Which values a record takes between two that it takes, as far as the standard needs to know it."""
        so_far, sets = self.so_far, list[Ints]()

        def enough(values: Ints) -> bool:
            sets.append(values)
            return state_of(values, so_far.standard) == KEEPS

        runs.accepted[atom] = False
        self.keeps[atom] = search(runs, atom, enough)
        self._unite(runs.low, runs.high)
        # the first set has all values that may be, but of very many those near a run; the last is the verdict
        if sets and not self._shown[atom] and sets[0][0] <= low and high <= sets[0][-1]:
            so_far.by_integers[self.first[atom]] = state_of(sets[-1], so_far.standard)


def bases_of(roomy_table: RoomyTable) -> Iterator[Basis]:
    """Bases of atoms that have room at the roomy table, each time others as far as there are."""
    boxes, totals, rank = roomy_table.boxes, roomy_table.totals, roomy_table.rank
    room = np.minimum(boxes.sizes * boxes.high - totals, totals - boxes.sizes * boxes.low)
    room = np.minimum(room, DOMAINS * (boxes.high - boxes.low))
    crowded = 1.0 + np.count_nonzero(roomy_table.marks[: roomy_table.count], axis=1)
    none = np.zeros(roomy_table.count, dtype=np.bool_)
    for turn in range(BASES):
        chance = np.random.default_rng(turn).uniform(0.2 if turn else 1.0, 1.0, roomy_table.count)
        for weight in (room, room / crowded):
            basis = roomy_table.chosen(none, weight * chance, CELLS // max(rank, 1))
            if basis is not None:
                yield basis
                break


def coverage_around(
    roomy_table: RoomyTable, need: int, shunned: Ints
) -> tuple[Coverage, NDArray[np.bool_]] | None:
    """The gate's evidence around the roomy table, and of which atoms (p,) it says nothing.

    Also where but one record attains an extreme: nothing is said of that one's atom then, since only two
    holders can give way to each other. Shunned atoms attain extremes only where nobody else does.
    """
    boxes, totals, question_tables = roomy_table.boxes, roomy_table.totals, QuestionTables(roomy_table, [])
    for copies in (2, 1):
        pins = hold(boxes, totals, copies, shunned)
        if pins is None:
            continue
        bounds = bounds_of(boxes, pins)
        if (totals >= bounds.least).all() and (totals <= bounds.most).all():
            held: NDArray[np.bool_] = (pins.count > 0) & (copies == 1)
            judged = Judged(boxes, pins, need, insiders=0)
            return Coverage(question_tables, judged, Tables(totals, totals)), held
    return None
