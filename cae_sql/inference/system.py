"""The answered system, façade of this package: records, answers, and everything that can be inferred.

Adding an answer is cheap: caches are brought up to date when something is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy, deepcopy
from fractions import Fraction
from math import ceil, floor, inf, lcm
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cae_sql.domain import Domain, Number, exact
from cae_sql.errors import InconsistentAnswers, InvalidInput, OutOfTime
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.certify.coverage import certified_runs
from cae_sql.inference.certify.kept_ranges import Around, Holding, KeptRanges, bounds_in
from cae_sql.inference.certify.learned import Learned
from cae_sql.inference.certify.question import Conditions, Question
from cae_sql.inference.certify.singled_out import singled_out
from cae_sql.inference.facts.atoms import Atoms
from cae_sql.inference.facts.lumps import FEWEST, checked, have_equals, weight
from cae_sql.inference.facts.members import members_of, records_of
from cae_sql.inference.facts.query import Answer, Grid, Ints, Kind, Query, extreme_answer, sum_answer
from cae_sql.inference.facts.ranges import Kept
from cae_sql.inference.facts.rank import coefficients_of
from cae_sql.inference.facts.spares import end_of, with_spares
from cae_sql.inference.facts.units import checked as checked_units
from cae_sql.inference.facts.units import largest
from cae_sql.inference.intervals.bounds import (
    Bounds,
    ByPrograms,
    Exact,
    Progress,
    Solved,
    intervals,
    scale_of,
    solved,
)
from cae_sql.inference.intervals.certificates import Certificate, Side, certify
from cae_sql.inference.intervals.interior import sparse_columns
from cae_sql.inference.intervals.presolve import from_single_sums, of_records
from cae_sql.inference.search.judging import judge
from cae_sql.inference.search.records import grow
from cae_sql.inference.search.runs import Runs
from cae_sql.inference.standard import Effort, Judgement, Standard
from cae_sql.inference.system_state import SystemState
from cae_sql.inference.tables.pool import Pool
from cae_sql.inference.tables.priors import Prior
from cae_sql.inference.tables.programs import any_world
from cae_sql.inference.tables.roomy_table import RoomyTable
from cae_sql.inference.ways import ALL, Ways

if TYPE_CHECKING:
    from cae_sql.inference.posterior.leverage import Carriers
    from cae_sql.inference.posterior.likely import Likely

CERTIFYING, CHECKING = 3 * 10**9, 5 * 10**8
"""Steps for certified runs, and for a look at whether answers contradict each other: 30 and 5 seconds."""
CHECKED_AT_ONCE = 64
"""Systems of at most so many atoms are checked for contradictions as answers arrive, others when asked."""
POOL = 24
"""Worlds kept in the pool."""
SMALL = 5_000
"""Up to so many records are searched one by one for runs."""
FINE = 4_096
"""Units from which leverage reads a prior by windows."""


class AnsweredSystem:
    """Records 0..size-1 with a confidential value each, and the aggregates that have been answered.

    Source: `mathematics.md`, 2; paper 000, Section 5 (query restriction).
    """

    def __init__(
        self,
        size: int,
        minimum: Number,
        maximum: Number,
        resolution: Number | None = None,
        *,
        seed: int = 0,
        pool: int = POOL,
        prior: Prior | None = None,
        lumps: ArrayLike | None = None,
        units: ArrayLike | None = None,
    ) -> None:
        """Start with no answers.

        Args:
            size: Number of records.
            minimum, maximum: Least and greatest possible value.
            resolution: Of the grid minimum + k · resolution; None: values are any reals, without worlds.
            seed: Of the worlds that are drawn.
            pool: How many worlds are kept.
            prior: How values are spread, for the worlds; by default all are alike.
            lumps: (m,) powers of two: members from `size` on, sums of so many records (`facts.lumps`).
            units: (n,) the unit of each record, whole numbers (`facts.units`); None: each is its own.

        Raises:
            InvalidInput: no record, an empty or infinite domain, a resolution <= 0, lumps without a grid.
        """
        if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 1:
            raise InvalidInput(f"size must be a whole number of at least 1, not {size!r}")
        self.size, self.lumps = int(size), checked(lumps)
        self.unit_of = checked_units(units, self.size)
        """(n,) the unit of each record; None where every record is its own."""
        if len(self.lumps) and (resolution is None or self.unit_of is not None):
            raise InvalidInput("lumps need a grid, a resolution, and are of records that are their own units")
        self.grid = Grid.of(minimum, maximum, resolution, self.size + sum(self.lumps.tolist()))
        self._top, self.answers = int(self.grid.top), list[Answer]()
        self.ranges, self.observed = KeptRanges(seed), list[Query]()
        """What ranges of other statistics than sums say, and what these make likely, as "about"."""
        self.seed, self.prior, self._pool_size = seed, prior, pool
        self.ways: Ways = ALL
        """Mechanisms that are switched on; changed before any question, for measurements alone."""
        self._atoms: Atoms | None = None
        self._refined = 0  # by so many answers
        self._solved: Solved | None = None
        self._scale = 1
        self._kept: SystemState | None = None
        self._trials = dict[int, Question]()  # the last one about so many records, and about more
        self._likely_now: tuple[object, Likely] | None = None
        self._carriers_now: tuple[Likely, Carriers] | None = None

    def beside(self) -> AnsweredSystem:
        """Another system that knows the same: what that one is asked and learns, this one never hears of."""
        found, names = copy(self), ("answers", "ranges", "observed", "_atoms", "_kept")
        shared = {id(each): each for each in (*self.answers, *self.observed, self.prior)}
        vars(found).update(deepcopy({name: getattr(self, name) for name in names}, shared))
        found._trials, found._solved, found._likely_now, found._carriers_now = {}, None, None, None
        return found

    # --- answers

    def add_sum(
        self, members: ArrayLike, value: Number, coefficients: Sequence[Number] | ArrayLike | None = None
    ) -> int:
        """Add Σ coefficient · value over the members = value.

        Args:
            members: Record numbers, or a boolean mask of all records.
            value: The sum.
            coefficients: One per member, in the members' order; None where all are 1.

        Returns:
            The answer's number, from 0.

        Raises:
            InvalidInput: members or coefficients that cannot be used.
            InconsistentAnswers: no table agrees with all answers; the answer is not kept.
        """
        records, order = members_of(members, self.first_spare)
        weights = None if coefficients is None else _in_order(coefficients, order)
        return self._add(sum_answer(records, self.people[records], weights, exact(value), self.grid))

    def add_mean(self, members: ArrayLike, value: Number) -> int:
        """Add that the members' mean is value; on a grid the nearest possible sum is meant. As `add_sum`."""
        records = members_of(members, self.first_spare)[0]
        return self.add_sum(records, exact(value) * int(self.people[records].sum()))

    def add_max(self, members: ArrayLike, value: Number) -> int:
        """Add that the greatest value among the members is value. As `add_sum`."""
        return self._add_extreme("max", members, value)

    def add_min(self, members: ArrayLike, value: Number) -> int:
        """Add that the least value among the members is value. As `add_sum`."""
        return self._add_extreme("min", members, value)

    def _add_extreme(self, kind: Kind, members: ArrayLike, value: Number) -> int:
        records = members_of(members, self.first_spare)[0]
        return self._add(extreme_answer(kind, records, exact(value), self.grid))

    def add_range(
        self,
        members: ArrayLike,
        low: Number,
        high: Number,
        coefficients: Sequence[Number] | ArrayLike | None = None,
    ) -> int:
        """Add that Σ coefficient · value over the members lies between low and high, both included.

        As `add_sum`, on a grid, with coefficients of 1 and -1; ends off the grid are brought to it inwards.
        The number is that of the first of the two answers that say so (`mathematics.md`, 8).
        """
        if not self.grid.whole:
            raise InvalidInput("ranges need a grid: give the system a resolution")
        records, order = members_of(members, self.first_spare)
        signs = np.ones(len(records), dtype=np.int64)
        if coefficients is not None:
            given = _in_order(coefficients, order)
            if any(abs(each) != 1 for each in given):
                raise InvalidInput("a range needs a coefficient of 1 or -1 for each member")
            signs = np.array(given, dtype=np.int64)
        query = self.query("sum", records, signs)
        zero = self.column_value(query, 0)
        least = ceil((exact(low, "low") - zero) / self.grid.unit)
        most = floor((exact(high, "high") - zero) / self.grid.unit)
        number = len(self.answers)
        for side, end in ((1, most), (-1, least)):
            told = end_of(query, side, most - least, self._top, self._whole, inf)
            if told is None:
                raise InconsistentAnswers(f"no table on the grid has a sum between {low} and {high}")
            self._add(told.answered(end), number)
        return number

    def _add(self, answer: Answer, number: int | None = None) -> int:
        """Keep an answer; if it cannot be true, forget those from a number on."""
        self._check_asked([answer])
        number = len(self.answers) if number is None else number
        self.answers.append(answer)
        self._solved = None
        try:
            self._check(answer)
        except InconsistentAnswers:
            del self.answers[number:]
            self._solved = self._atoms = None
            raise
        return number

    def _check(self, answer: Answer) -> None:
        """Of large systems one sum against the domain, of small ones everything."""
        if answer.kind == "sum":
            up, down = weight(answer, self.size, self.lumps)
            if not down * self.grid.top <= answer.value <= up * self.grid.top:
                raise InconsistentAnswers("an answer lies outside what the domain allows")
        if self._partition().count > CHECKED_AT_ONCE:
            return
        system = self.solved
        if not self.grid.whole:
            if not ByPrograms(system, np.arange(system.known.count)).feasible():
                raise InconsistentAnswers("no table inside the domain agrees with all answers")
            return
        try:
            found = any_world(system.known, system.sums, Allowance(CHECKING))
        except OutOfTime:
            return  # neither shown nor excluded: a later call that needs worlds will see
        if found is None:
            raise InconsistentAnswers("no table on the grid agrees with all answers")

    def _check_plain(self) -> None:
        if len(self.lumps):
            raise InvalidInput("ranges of statistics other than sums need every record by itself, not lumps")

    def _check_asked(self, queries: Sequence[Query]) -> None:
        """Check that lumps are in sums and extremes alone, in these with records that stand for them."""
        if not len(self.lumps):
            return
        if any(query.kind not in ("sum", "max", "min") for query in queries):
            self._check_plain()
        if not have_equals(self._partition(), self.size, self.lumps, self.answers, queries):
            raise InvalidInput(
                f"a MAX or MIN over a lump needs {FEWEST} records that every sum, MAX and MIN treats as it: "
                "let so many of each cell stand one by one, and ask of whole cells"
            )

    def _partition(self) -> Atoms:
        """The atoms of all answers: those before, refined, or made anew where spare records came since."""
        if self._atoms is None or len(self._atoms.labels) < self._whole:
            self._atoms = Atoms(self._whole, self.first_spare, self.lumps, self.unit_of)
            self._refined = 0
        for answer in self.answers[self._refined :]:
            self._atoms.refine(answer)
        self._refined = len(self.answers)
        return self._atoms

    # --- intervals

    def bounds(self, records: ArrayLike | None = None, progress: Progress | None = None) -> Bounds:
        """Feasibility intervals: least and greatest value of records (None: all) over all real-valued tables.

        `progress` is called with (atoms done, atoms in all).

        Raises:
            InvalidInput: no such record.
            InconsistentAnswers: no table agrees with all answers.
        """
        labels = self.solved.known.atoms.labels[self._chosen(records)]
        ends = intervals(self.solved, self._wanted(labels), progress)
        return Bounds(*(self._as_floats(each)[labels] for each in ends))

    def _wanted(self, labels: Ints) -> NDArray[np.bool_]:
        wanted = np.zeros(self.solved.known.count, dtype=np.bool_)
        wanted[labels] = True
        return wanted

    def bounds_by_single_sums(self) -> Bounds:
        """As `bounds` of all records, but no narrower than one sum at a time proves: in milliseconds."""
        known, sums = self.solved.known, self.solved.sums
        ends = from_single_sums(known, np.arange(known.count), np.arange(len(sums)), sums)
        labels = known.atoms.labels[: self.size]
        return Bounds(*(self._as_floats(each.tolist())[labels] for each in of_records(known, *ends)))

    def like(self, record: int) -> Ints:
        """The records that no answer tells from this one, itself among them."""
        labels = self.solved.known.atoms.labels[: self.size]
        return np.flatnonzero(labels == labels[record])

    def _chosen(self, records: ArrayLike | None) -> Ints:
        return np.arange(self.size) if records is None else records_of(records, self.size)

    def _as_floats(self, units: Sequence[Exact]) -> NDArray[np.float64]:
        """Exact units as the nearest floats in units of the column."""
        if self._scale == 1 and all(isinstance(x, int) for x in units):
            return self.in_column_units(np.array(units, dtype=np.int64)).astype(np.float64)
        return np.array([float(self.grid.to_value(Fraction(x) / self._scale)) for x in units])

    def explain(self, record: int, side: Side) -> Certificate:
        """Which answers prove the "lower" or "upper" end of a record's interval, with which multipliers."""
        if side not in ("lower", "upper"):
            raise InvalidInput(f'side must be "lower" or "upper", not {side!r}')
        number = int(records_of([record], self.size)[0])
        labels = self.solved.known.atoms.labels[[number]]
        ends = intervals(self.solved, self._wanted(labels))[0 if side == "lower" else 1]
        value = Fraction(ends[labels[0]])
        fine = Grid(self.grid.minimum, self.grid.unit / self._scale, self.grid.top * self._scale, True)
        return certify(self._solved_of, self.answers, fine, number, side, value)

    @property
    def solved(self) -> Solved:
        """Atoms, boxes, independent sums and their right-hand sides, on a grid in units. Errors: `bounds`."""
        if self._solved is None:
            self._scale = scale_of(self._whole, self.grid, self.answers)
            self._solved = self._solved_of(range(len(self.answers)), self._partition())
        return self._solved

    def _solved_of(self, numbers: Sequence[int], atoms: Atoms | None = None) -> Solved:
        return solved(self.size, self.grid, self.answers, numbers, self._scale, atoms, self.lumps)

    # --- worlds

    def worlds(self, count: int, seed: int = 0) -> NDArray[np.generic]:
        """Random tables on the grid that agree with every answer, (count, size), in units of the column.

        They are mixed towards the uniform distribution over all such tables.

        Raises:
            InvalidInput: no resolution, so no grid; a count less than 1.
            InconsistentAnswers: no table agrees.
            OutOfTime: none was found, of many records.
        """
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
            raise InvalidInput(f"count must be a whole number of at least 1, not {count!r}")
        pool, roomy_table = self.pool(), self.roomy_table
        if not roomy_table.usable and pool.knowledge is None:
            raise OutOfTime("no table was found that agrees with all answers")
        drawn = pool.drawn_from(count, seed + 1, roomy_table)
        return self.in_column_units(drawn.values[:, : self.size].astype(np.int64))

    def in_column_units(self, units: NDArray[np.int64]) -> NDArray[np.generic]:
        """Column values: whole numbers where the grid is whole, else the floats nearest to the decimals."""
        low, unit = self.grid.minimum, self.grid.unit
        scale = lcm(low.denominator, unit.denominator)
        values = int(low * scale) + int(unit * scale) * units
        return values if scale == 1 else values / scale

    def certified(self) -> Bounds:
        """A run of consecutive grid values for each record, each of which it takes in some world.

        Unlike `bounds`, which nothing can be outside of, nothing inside of this can be excluded.

        Raises:
            InvalidInput: no resolution, so no grid.
            InconsistentAnswers: no table agrees.
        """
        if not self.searched or self.keeps_some:
            return self.certified_at_once()
        runs = self.runs()
        labels = runs.knowledge.atoms.labels[: self.size]
        return self._between(runs.low[labels], runs.high[labels])

    def certified_at_once(self) -> Bounds:
        """As `certified`, by the roomy table alone: soon done, of some records shorter, or empty."""
        low, high = certified_runs(self.roomy_table, self._kept_for_ranges, bounds_in(self.ranges.shares))
        return self._between(low[: self.size], high[: self.size])

    def _between(self, low: Ints, high: Ints) -> Bounds:
        return Bounds(*(self.in_column_units(each).astype(np.float64) for each in (low, high)))

    def runs(self, need: int | None = None, allowance: Allowance | None = None) -> Runs:
        """Certified runs by atom, in units, as long as `need` where possible (None: as long as is found).

        `allowance` is what may be spent beyond a look at the worlds that are kept.

        Raises:
            InvalidInput: ranges of statistics, lumps or too many records, or no grid.
        """
        if self.keeps_some or not self.searched:
            raise InvalidInput(
                f"runs by search are for up to {SMALL} records, no lumps and no ranges of statistics other "
                "than sums; certified() has them for all"
            )
        pool = self._tables().searched()
        known = pool.knowledge
        assert known is not None
        need = int((known.high - known.low).max()) if need is None else need
        runs = Runs(known, need, allowance or Allowance(CERTIFYING), Effort(400), True)
        for totals in pool.totals():
            runs.absorb(totals)
        grow(runs)
        return runs

    def pool(self) -> Pool:
        """The worlds kept for all answers so far. As `certified`."""
        return self._tables().pool()

    @property
    def keeps_some(self) -> bool:
        """Whether ranges of statistics are known: searches record by record know nothing of them."""
        return bool(self.ranges.shares)

    @property
    def version(self) -> int:
        """Grows with whatever becomes known."""
        return len(self.answers) + len(self.observed)

    def think_up(self, worlds: int) -> None:
        """Keep at least so many worlds from now on, where records are too many to be searched."""
        if self.searched or worlds <= self._pool_size:
            return
        self._pool_size = worlds
        if not self.answers:
            self._kept = None  # drawn anew: nothing was learned that would be lost
        elif self._kept is not None:
            self._kept.think_up(worlds)

    def _tables(self) -> SystemState:
        if not self.grid.whole:
            raise InvalidInput("worlds need a grid: give the system a resolution")
        self._check_asked([])
        if self._kept is None:
            told, drawn = (self.answers, self.size, self._top), (self._pool_size, self.seed, self.prior)
            self._kept = SystemState(*told, drawn, self.lumps, self.ways, self.unit_of)
        return self._kept

    @property
    def roomy_table(self) -> RoomyTable:
        """The table kept roomy, brought to all answers; of no use where it could not be."""
        return self._tables().roomy_table()

    # --- what is likely

    def leverage(self, records: ArrayLike | None = None) -> NDArray[np.float64]:
        """The share of each record's variance that the answered sums explain, (k,), 0 to 1.

        0 where no sum is about the record, and where boxes, or sums at their ends, leave one value; 1 where
        the sums determine it (`cae_sql.inference.posterior.leverage`). Errors as `posterior`.
        """
        likely = self._likely(self._coarse, None)
        found: NDArray[np.float64] = likely.leverage[likely.known.atoms.labels[self._chosen(records)]]
        return found

    def posterior(
        self,
        records: ArrayLike | None = None,
        insider: tuple[int, Number] | None = None,
        domain: Domain | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Values in units of the column, (m,), and how likely each is of records (None: all), (k, m).

        All tables that agree with the answers are alike, or weighed by the system's prior. Small components
        are counted, elsewhere it is a formula (`cae_sql.inference.posterior.bell`); `likelihood` says which.

        Args:
            records: Which; None for all.
            insider: A record and its value in units of the column, which somebody knows besides.
            domain: Values are gathered in windows of one step of it, a multiple of the resolution, from the
                system's minimum on; None: every value by itself.

        Raises:
            InvalidInput: no resolution, so no grid; no such record; a value or a domain that does not fit the
                grid; more probabilities than can be held.
            InconsistentAnswers: a sum contradicts others or the insider's value, or boxes are empty.
        """
        likely = self._held(domain, insider)
        rows: NDArray[np.float64] = likely.rows[likely.known.atoms.labels[self._chosen(records)]]
        return likely.tilt.windows.values, rows

    def likelihood(self, domain: Domain | None = None) -> Likely:
        """`posterior` and `leverage` by groups of records that no answer tells apart. As `posterior`."""
        return self._held(domain, None)

    def carried_by(
        self, record: int, most: int = 5, share: float = 0.9, likely: Likely | None = None
    ) -> list[tuple[int, float]]:
        """Which answers, at most so many, carry a share of a record's leverage: a certificate of likelihood.

        Numbers of sums, those that add most first, each with the leverage by it and those before it alone.
        `likely`: what the answers make likely, where it is known.
        """
        (place,) = records_of([record], self.size)
        likely = self._likely(self._coarse, None) if likely is None else likely
        if self._carriers_now is None or self._carriers_now[0] is not likely:
            self._carriers_now = likely, self._carriers(likely)
        numbers = [number for number, each in enumerate(self.answers) if each.kind == "sum"]
        found = self._carriers_now[1].of(int(likely.known.atoms.labels[place]), most, share)
        return [(numbers[row], leverage) for row, leverage in found]

    def _carriers(self, likely: Likely) -> Carriers:
        from cae_sql.inference.posterior.leverage import Carriers

        known, seen = likely.known, likely.fit.observed
        rows = coefficients_of(known.atoms, [each for each in self.answers if each.kind == "sum"])
        # of spare records nothing is known but the domain
        variances = (known.high - known.low).astype(np.float64) ** 2 / 12
        variances[seen.atoms] = likely.fit.variances[: seen.people]
        return Carriers(sparse_columns(rows), variances, known.sizes.astype(np.float64))

    @property
    def _coarse(self) -> Domain | None:
        """Windows in which a prior is read where there are too many units to list."""
        if not self.grid.whole or self.grid.top < FINE:
            return None
        step = self.grid.unit * ceil(self.grid.top / FINE)
        return Domain(self.grid.minimum, self.grid.to_value(self.grid.top), step)

    def _held(self, domain: Domain | None, insider: tuple[int, Number] | None) -> Likely:
        likely = self._likely(domain, insider)
        likely.tilt.windows.check_rows(likely.known.count)
        return likely

    def _likely(self, domain: Domain | None, insider: tuple[int, Number] | None) -> Likely:
        """Found once for the same answers, domain and insider."""
        name = self.version, domain, insider
        if self._likely_now is not None and self._likely_now[0] == name:
            return self._likely_now[1]
        # late: an eighth of a second that a question which is known need not pay
        from cae_sql.inference.posterior.likely import Likely
        from cae_sql.inference.posterior.tilt import Tilt, Windows

        windows, found = Windows.of(self.grid, domain), self.solved
        if insider is not None:
            members = records_of([insider[0]], self.size)
            units = self.grid.to_units(exact(insider[1], "the insider's value"))
            if units.denominator != 1 or not 0 <= units <= self.grid.top:
                raise InvalidInput(f"the insider's value {insider[1]} is not on the grid")
            answers = [*self.answers, Answer(kind="sum", members=members, value=units)]
            found = solved(self.size, self.grid, answers, range(len(answers)), 1, lumps=self.lumps)
        known = found.known.refined(self.observed).observing(self.observed)
        likely = Likely(known, found.sums, Tilt(windows, self.prior), self._top)
        self._likely_now = name, likely
        return likely

    # --- decisions

    def query(self, kind: Kind, members: Ints, signs: NDArray[np.integer] | None = None) -> Query:
        """A query in the system's terms: members ascending, each once; signs 1 or −1 for a sum."""
        coefficients = None if signs is None or (signs == 1).all() else signs.astype(np.int64)
        return Query(kind=kind, members=members, coefficients=coefficients)

    def _in_units(self, query: Query) -> tuple[Fraction, Fraction]:
        """An answer of 0 units, and what a unit more is, in units of the column."""
        if query.kind in ("count", "spread"):
            return Fraction(0), Fraction(1) if query.kind == "count" else self.grid.unit**2
        times = sum(weight(query, self.size, self.lumps)) if query.kind in ("sum", "weighted") else 1
        return times * self.grid.minimum, self.grid.unit

    def column_value(self, query: Query, units: int) -> Fraction:
        """An answer in units as Σ sign · value, the extreme or the statistic, in units of the column."""
        zero, unit = self._in_units(query)
        return zero + unit * units

    def units(self, query: Query, value: Fraction) -> int:
        """The inverse of `column_value`; of a count or a spread rounded downwards.

        Raises:
            InconsistentAnswers: the value is not on the grid.
        """
        zero, unit = self._in_units(query)
        units = (value - zero) / unit
        if units.denominator != 1 and query.kind not in ("count", "spread"):
            raise InconsistentAnswers(f"the answer {value} is not on the grid")
        return floor(units)

    def judged(self, standard: Standard, allowance: Allowance) -> Judgement:
        """Whether everybody keeps a standard as things stand, by little effort."""
        if not self.version and standard.need <= self._top:
            return Judgement(True, self._top)  # as the roomy table shows it; no kernel need be loaded
        pool = self.pool()
        question = Question(self.roomy_table, pool, [], self._conditions(self._whole))
        found = question.exactly((), standard, allowance)
        found = found or question.judge_around_table((), standard, allowance, keep=False)
        if (found and found.safe) or standard.insiders or not question.is_searched(standard):
            return found or Judgement(False, -1)
        known = pool.knowledge
        assert known is not None
        return judge(known, pool.totals(), standard, allowance, Effort(0))

    def singled_out(self, queries: Sequence[Query], insiders: int) -> bool:
        """Whether any answer to these would tell somebody a value, seen without a table."""
        return singled_out(self.answers, queries, self.size, insiders, self.lumps, self.unit_of)

    def question(self, queries: Sequence[Query]) -> Question:
        """What if these were answered, together? The last one asked for is kept: gates ask twice.

        Raises:
            InvalidInput: of lumps something is asked that they do not say.
        """
        self._check_asked(queries)
        whole, names = with_spares(self._whole, queries), [query.name for query in queries]
        if whole > self._whole:
            roomy_table, pool = self._tables().beside(whole)
        else:
            pool, roomy_table = self.pool(), self.roomy_table
        last = self._trials.get(whole)
        if last and last.pool is pool and last.current and [each.name for each in last.queries] == names:
            return last
        # of questions about spare records one is kept: each has worlds of its own
        plain = self._trials.get(self._whole)
        self._trials = {} if plain is None else {self._whole: plain}
        found = self._trials[whole] = Question(roomy_table, pool, queries, self._conditions(whole))
        return found

    # --- ends and ranges

    def accept_range(
        self, shares: Sequence[Kept], observed: Query, spare: int, holding: Holding | None = None,
        standard: Standard | None = None,
    ) -> None:  # fmt: skip
        """Take what the range of a statistic says, which is known to be true, unchecked; not beside lumps.

        Args:
            shares: What it takes for the statistic to lie in its range.
            observed: What it makes likely, as "about".
            spare: As many records as may be elsewhere where a table is looked at: a record and an insider.
            holding: Which records were held where everybody was shown to keep the limit, if it is known.
            standard: What everybody keeps; where it is not known which records are held, it serves to choose.
        """
        self._check_plain()
        self.ranges.add(shares, spare, holding, standard)
        self.observed.append(observed)
        self._trials.clear()

    def spare_in(self, query: Query, insiders: int) -> int:
        """Of a query's members, how many a unit and so many insiders have at most."""
        return largest(self.unit_of, query.members[query.members < self.size], insiders + 1)

    def holding(
        self, shares: Sequence[Kept], spare: int, standard: Standard, allowance: Allowance
    ) -> Holding | None:
        """Which records may be held where with more ranges known, at best so that everybody keeps a standard;
        None where no table was found.
        """
        self._check_plain()
        return self.ranges.holding(shares, spare, standard, allowance, self._around)

    @property
    def tables(self) -> NDArray[np.signedinteger]:
        """(w, n) tables that agree with all answers and ranges, for hypothetical answers."""
        return self.ranges.tables(self._around)

    @property
    def _kept_for_ranges(self) -> Sequence[Query] | None:
        """Which records are held where so that tables keep ranges; None where no table says it."""
        return self.ranges.held(self._around) if self.ranges.shares else ()

    def _conditions(self, whole: int) -> Conditions:
        """How tables over so many records, spare ones too, keep ranges."""
        held, table = self._kept_for_ranges, self.ranges.table(whole, self._top)
        return Conditions(held or (), table, bounds_in(self.ranges.shares), known=held is not None)

    @property
    def _around(self) -> Around:
        return Around(self.pool(), self.roomy_table, self.version)

    @property
    def _whole(self) -> int:
        """Number of records and lumps with the spare records that answers are about."""
        return with_spares(self.first_spare, self.answers)

    @property
    def first_spare(self) -> int:
        """Number of records and lumps: spare records have numbers from here on."""
        return self.size + len(self.lumps)

    @property
    def people(self) -> Ints:
        """(n,) how many records each record and each lump is."""
        return np.append(np.ones(self.size, dtype=np.int64), self.lumps)

    @property
    def searched(self) -> bool:
        """Whether records are searched one by one: not where they are many, in lumps, or several a unit."""
        return self.size <= SMALL and not len(self.lumps) and self.unit_of is None

    def possible(self, query: Query) -> tuple[int, int]:
        """The least and the greatest answer that the domain allows a sum or an extreme, in units."""
        if query.kind != "sum":
            return 0, self._top
        up, down = weight(query, self.size, self.lumps)
        return self._top * down, self._top * up

    def at_most(self, query: Query, units: int, after: Sequence[Query] = ()) -> Query | None:
        """The query whose exact answer is `units` where a sum or a maximum is at most that, if there is one.

        `after`: others of the same decision, whose spare records are taken (`end_of`).
        """
        room = units - self.possible(query)[0]
        return end_of(query, 1, room, self._top, with_spares(self._whole, after))

    def at_least(self, query: Query, units: int, after: Sequence[Query] = ()) -> Query | None:
        """As `at_most`, of a sum or a minimum that is at least so much."""
        room = self.possible(query)[1] - units
        return end_of(query, -1, room, self._top, with_spares(self._whole, after))

    def within(
        self, query: Query, low: int, high: int, after: Sequence[Query] = ()
    ) -> tuple[Query, int] | None:
        """As `at_most`, of a sum between two ends: the query whose exact answer is `high`, and the least that
        this leaves, `low` or less.
        """
        if query.kind != "sum":
            return None
        found = end_of(query, 1, high - low, self._top, with_spares(self._whole, after))
        if found is None:
            return None
        return found, high - self._top * (len(found.members) - len(query.members))

    def accept(self, answers: Sequence[Answer], learned: Learned | None = None) -> None:
        """Take answers that are known to be true, unchecked, and what a question made of them, if known."""
        before = len(self.answers)
        self.answers.extend(answers)
        self._solved = None
        self._trials.clear()
        self.ranges.answered(None if learned is None else learned.guide)
        if learned is not None and self._kept is not None:
            self._kept.accept(learned, before)


def _in_order(coefficients: Sequence[Number] | ArrayLike, order: Ints) -> list[Fraction]:
    """Coefficients as members were given, in the order of their numbers."""
    given = list(np.asarray(coefficients, dtype=object).ravel())
    if len(given) != len(order):
        raise InvalidInput(f"{len(given)} coefficients for {len(order)} members")
    return [exact(given[place], f"coefficient {place}") for place in order]
