"""Certificates that nothing can be dropped from: few answers that leave a record no other values.

A claim is that a record's value, in units, is one of some values. By reals it is proved by two sums of
answers, one for each end, whose multipliers anybody adds up (weak duality). By integers it is proved by there
being no table on the grid that agrees with the answers and has another value. In both cases answers are
dropped as long as the claim survives, so that in the end each one is needed.

Source: `mathematics.md`, 2 (certificates).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor
from typing import Literal

import numpy as np

from cae_sql.cached import cached_property
from cae_sql.errors import OutOfTime
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.constraints import constraints, is_world
from cae_sql.inference.facts.framed import Framed
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Answer, Ints
from cae_sql.inference.intervals.bounds import ByPrograms, Exact, OneByOne, Solved
from cae_sql.inference.solver import Floats, Outcome, Program

FEW = 4
"""Answers more than needed that do no harm."""
SINGLY = 32
"""Answers up to which each is tried alone first: few certificates have more, and mostly each is needed."""
SPARE_STEPS = 2 * 10**8
"""For finding out whether fewer answers do than two sums need: about two seconds."""
STEPS = 10**9
"""For one certificate, about ten seconds; what is not shown to be dispensable with them stays in, and it says
so."""
A_LOOK, BY_ANSWER = 10**5, 10**4
"""Steps that it takes at least to see whether a claim holds, and more by answer."""
NODES = 20_000
"""Search nodes after which it is not known whether there is another table."""

MOST_TABLES = 256
"""Real tables kept, each for other answers: a search for a certificate among 34 answers makes some 60."""
FAR = 4
"""Tables at random that are mixed in when a second record asks the same answers."""
SLACK = Fraction(1, 10**6)
"""Units within which a float is at an end."""
EXACTLY, TINY = 1e-7, 1e-11
"""Units by which a change of one sum alone may change others, and changes that are none."""


Kind = Literal["reals", "integers"]
Reached = Callable[[Exact, Exact], tuple[bool, bool]]
"""Whether a least, and a greatest value is what a claim needs."""


@dataclass(frozen=True)
class End:
    """The proof of one end of a claim: Σ multiplier · answer + rest is a bound on the record's value."""

    terms: tuple[tuple[int, Fraction], ...]
    """(answer's number, multiplier of its sum of units), none 0."""
    bound: Fraction
    """In units, of the record."""


@dataclass(frozen=True)
class Proved:
    """A claim and what proves it."""

    record: int
    low: int
    high: int
    """Least and greatest value that the claim leaves, in units."""
    numbers: tuple[int, ...]
    """The answers, ascending; none can be spared."""
    kind: Kind
    lower: End | None = None
    upper: End | None = None
    """By reals; by integers where no other grid value lies between them."""
    irreducible: bool = True
    """False where work was used up before every answer had been tried."""


class _Vertices:
    """A record where sums let it be least, and greatest: two linear programs over its component."""

    def __init__(
        self, framed: Framed, name: tuple[int, ...], known: Knowledge, sums: Ints, row_numbers: list[int]
    ) -> None:
        self.framed, self.name, self.known, self.atom = framed, name, known, framed.atom
        self.row_numbers = row_numbers
        """By row of the matrix, which answer it is."""
        self.atoms: Ints = np.flatnonzero(known.components == known.components[framed.atom])
        self.column = int(np.searchsorted(self.atoms, framed.atom))
        self.programs = ByPrograms(Solved(known, sums), self.atoms)
        self._sums = sums

    @classmethod
    def of(cls, framed: Framed, name: tuple[int, ...]) -> _Vertices:
        """Of some of the answers that are framed."""
        stated, sums, row_numbers = framed.stated(name)
        return cls(framed, name, replace(stated, extremes=()), sums, row_numbers)

    @cached_property
    def outcomes(self) -> tuple[Outcome, Outcome]:
        """Least, and greatest; a program for each: where duals have a choice, the other end would sway it."""
        stated = constraints(self.known, self.atoms, self._sums)
        least, most = (Program(*stated).minimise({self.column: float(sign)}) for sign in (1, -1))
        return least, most

    def without_each(self, side: int) -> Floats:
        """(k,) to where the record's value can go without each of the sums, at least so far.

        From the end itself, along what changes one sum and no other, up to where somebody's box ends; NaN
        where no such change is known.
        """
        known, rows = self.known, self.programs.rows
        found = np.full(len(self.row_numbers), np.nan)
        outcome = self.outcomes[side] if len(rows) else None
        if outcome is None or outcome.status != "optimal" or known.sizes[self.atom] != 1:
            return found
        totals, sizes = outcome.solution[: len(self.atoms)], known.sizes[self.atoms]
        below = np.maximum(totals - sizes * known.low[self.atoms], 0.0)
        above = np.maximum(sizes * known.high[self.atoms] - totals, 0.0)
        matrix = known.matrix[np.ix_(rows, self.atoms)].astype(np.float64)
        inside = np.minimum(below, above)
        scaled = matrix * np.where(inside > float(SLACK), inside, 0.0) ** 2
        try:
            moves = np.linalg.solve(scaled @ matrix.T, scaled)
        except np.linalg.LinAlgError:
            return found
        if not np.isfinite(moves).all():
            return found
        others = np.abs(moves @ matrix.T - np.eye(len(rows))).max(axis=1)
        own = moves[:, self.column] * (1.0, -1.0)[side]
        # whichever way carries the record outwards
        moves *= np.where(own > 0, -1.0, 1.0)[:, None]
        room = np.where(moves > 0, above, below)
        with np.errstate(divide="ignore", invalid="ignore"):
            lengths = np.where(np.abs(moves) > TINY, room / np.abs(moves), np.inf).min(axis=1)
        most = EXACTLY / np.maximum(others, TINY**2)
        moving = np.flatnonzero((np.abs(own) > TINY) & np.isfinite(lengths) & (lengths < most))
        found[rows[moving]] = totals[self.column] + moves[moving, self.column] * lengths[moving]
        return found


@dataclass(frozen=True, eq=False)
class _RealTable:
    """A table over the reals that agrees with some answers: none of them, nor fewer, prove what it breaks."""

    numbers: frozenset[int]
    """The answers."""
    records: Ints
    """(m,) of one component, ascending: the others have values that agree whatever these are."""
    values: Floats
    """(m,) in units."""
    count: int = 1
    """Of how many tables it is the mean, so that it differs wherever one of them does."""

    @classmethod
    def of(cls, numbers: Sequence[int], framed: Framed, atoms: Ints, totals: Floats) -> _RealTable:
        """From totals (c,) of a component's atoms (c,): records of one atom share them evenly."""
        share = np.full(framed.atoms.count, np.nan)
        share[atoms] = totals / framed.atoms.sizes[atoms]
        values = share[framed.atoms.labels]
        there = np.isfinite(values)
        return cls(frozenset(numbers), framed.everybody[there], values[there])

    def mixed_with(self, other: _RealTable) -> _RealTable:
        """The mean of both, where they are over the same records; else the other."""
        if not np.array_equal(self.records, other.records):
            return other
        count = self.count + other.count
        values = (self.count * self.values + other.count * other.values) / count
        return replace(self, values=values, count=count)

    def breaks(self, record: int, reached: Reached) -> bool:
        """Whether it carries a record plainly beyond a claim."""
        place = int(np.searchsorted(self.records, record))
        if place == len(self.records) or self.records[place] != record:
            return False
        value = Fraction(float(self.values[place]))
        return not (reached(value + SLACK, value)[0] and reached(value, value - SLACK)[1])


class Claims:
    """Certificates over one system of answers."""

    def __init__(self, size: int, top: int, answers: Sequence[Answer]) -> None:
        """Take the answers, in units; they agree with a table on the grid 0 … top."""
        self._size, self._top, self._answers = size, top, answers
        self._last: Framed | None = None
        self._solved_last: _Vertices | None = None
        self._interval_last: tuple[tuple[int, tuple[int, ...]], tuple[Exact, Exact]] | None = None
        self._tables: dict[frozenset[int], _RealTable] = {}
        """By the answers that they agree with; what was found for one record says as much of others."""

    def _framed(self, numbers: Sequence[int], record: int) -> Framed:
        """These answers over the records in them, or not many more answers that were framed before."""
        last = self._last
        fits = last is not None and last.record == record and len(last.numbers) <= 2 * len(numbers) + FEW
        if last is None or not fits or not last.numbers.issuperset(numbers):
            framed = Framed(self._size, self._top, self._answers, numbers, record)
            if last is not None:
                framed.independent = last.independent
            last = self._last = framed
        return last

    # --- by reals

    def interval(self, numbers: Sequence[int], record: int) -> tuple[Exact, Exact]:
        """The interval that multipliers prove, in units; its ends need not lie on the grid."""
        name = record, tuple(numbers)
        if self._interval_last is None or self._interval_last[0] != name:
            system, atom = self._solved(numbers, record)
            self._interval_last = name, OneByOne(system).interval(atom)
        return self._interval_last[1]

    def _solved(self, numbers: Sequence[int], record: int) -> tuple[Solved, int]:
        """The sums among some answers, and the record's atom."""
        framed = self._framed(numbers, record)
        known, sums, _ = framed.stated(numbers)
        return Solved(replace(known, extremes=()), sums), framed.atom

    def _hold(self, numbers: Sequence[int], record: int, reached: Reached, exactly: bool = True) -> bool:
        """Whether multipliers prove both ends: where one fails, the other is not asked for.

        Not exactly: whether linear programs leave it so, as far as floats say. No program is asked about an
        end that single sums prove, nor where a table found before breaks the claim.
        """
        if self._broken(numbers, record, reached):
            return False
        system, atom = self._solved(numbers, record)
        programs = OneByOne(system)

        def ends(*sides: int) -> tuple[bool, bool]:
            return reached(*programs.interval(atom, sides))

        at_once = ends()
        return all(
            at_once[side]
            or (
                not self._beyond(programs, numbers, record, side, reached)
                and (not exactly or ends(side)[side])
            )
            for side in (0, 1)
        )

    def _beyond(
        self,
        programs: OneByOne,
        numbers: Sequence[int],
        record: int,
        side: int,
        reached: Reached,
    ) -> bool:
        """Whether a linear program carries a record plainly beyond a claim: no multipliers are tried then."""
        framed = self._framed(numbers, record)
        (program, column), sign = programs.around(framed.atom), (1, -1)[side]
        outcome = program.linear.minimise({column: float(sign)})
        if outcome.status != "optimal" or program.known.sizes[framed.atom] != 1:
            return False
        end = Fraction(outcome.value) * sign + (SLACK, -SLACK)[side]
        if reached(end, end)[side]:
            return False
        self._keep(numbers, framed, program.atoms, outcome)
        if self._tables[frozenset(numbers)].count > 1:
            # asked of one record after another: tables that are far from each other carry nearly all of them
            chance = np.random.default_rng(record)
            for _ in range(FAR):
                costs = chance.uniform(-1.0, 1.0, len(program.atoms))
                self._keep(
                    numbers, framed, program.atoms, program.linear.minimise(dict(enumerate(costs.tolist())))
                )
        return True

    def _broken(self, numbers: Sequence[int], record: int, reached: Reached) -> bool:
        """Whether a table that was found before carries a record plainly beyond a claim."""
        tables = self._tables.values()
        return any(each.numbers.issuperset(numbers) and each.breaks(record, reached) for each in tables)

    def _keep(self, numbers: Sequence[int], framed: Framed, atoms: Ints, outcome: Outcome) -> None:
        """Keep a solution of a linear program over a component as a table, mixed with those there are."""
        if outcome.status != "optimal":
            return
        table = _RealTable.of(numbers, framed, atoms, outcome.solution[: len(atoms)])
        before = self._tables.pop(table.numbers, None)
        self._tables[table.numbers] = table if before is None else before.mixed_with(table)
        if len(self._tables) > MOST_TABLES:
            del self._tables[next(iter(self._tables))]

    def by_reals(self, numbers: Sequence[int], record: int, low: Exact, high: Exact) -> Proved | None:
        """A certificate that the value lies in low … high, by two sums; None where these answers have none.

        One value is proved by reals only where both bounds are that value. To leave it as the only one on the
        grid is a proof by integers, and `on_the_grid`.
        """
        return self._by_sums(numbers, record, low, high, exact=low == high)

    def by_equation(
        self, record: int, value: int, terms: Sequence[tuple[int, Fraction]], truth: Ints
    ) -> Proved | None:
        """A certificate from sums that are known to add up to the record; None where one might be spared.

        Args:
            record: The record.
            value: Its value, in units.
            terms: Number and weight of each sum: Σ weight · sum is the record alone.
            truth: (n,) the true values in units.
        """
        numbers = sorted(number for number, _ in terms)
        if not self._framed(numbers, record).each_moves(truth, numbers):
            return None
        end = End(tuple(sorted(terms)), Fraction(value))
        return Proved(record, value, value, tuple(numbers), "reals", end, end)

    def on_the_grid(self, numbers: Sequence[int], record: int, value: int) -> Proved | None:
        """A certificate that no other grid value lies between two sums; None where answers have none."""
        return self._by_sums(numbers, record, value, value, exact=False)

    def without_spare(self, proved: Proved) -> Proved:
        """As `on_the_grid` found it, with fewer answers where these leave no other table either.

        Dropping an answer may spoil the sums and yet leave no table. Where the work is used up it says so.
        """
        allowance = Allowance(SPARE_STEPS)
        others, numbers = _ranges(range(proved.low, proved.high + 1), self._top), list(proved.numbers)

        def holds(some: Sequence[int]) -> bool:
            return self._table(some, proved.record, others, allowance) is None

        try:
            kept, whole = _spared(numbers, holds, allowance)
        except OutOfTime:
            return replace(proved, irreducible=False)
        if len(kept) == len(numbers):
            return replace(proved, irreducible=proved.irreducible and whole)
        return replace(proved, numbers=tuple(kept), lower=None, upper=None, irreducible=whole)

    def _by_sums(
        self, numbers: Sequence[int], record: int, low: Exact, high: Exact, exact: bool
    ) -> Proved | None:
        least, most = (low, high) if exact else (ceil(low), floor(high))

        def reached(from_: Exact, to: Exact) -> tuple[bool, bool]:
            return (least <= from_, to <= most) if exact else (least <= ceil(from_), floor(to) <= most)

        def holds(some: Sequence[int]) -> bool:
            return self._hold(some, record, reached)

        def nearly(some: Sequence[int]) -> bool:
            return self._hold(some, record, reached, exactly=False)

        if not holds(numbers):
            return None
        needed = self._needed(numbers, record, reached)
        for trial in (nearly, holds):
            kept, whole = _spared(list(numbers), trial, Allowance(STEPS), needed)
            lower, upper = self._ends(kept, record)
            if lower is not None and upper is not None and all(reached(lower.bound, upper.bound)):
                break
        else:
            return None
        from_, to = ceil(lower.bound), floor(upper.bound)
        kind: Kind = "reals" if lower.bound == upper.bound or from_ < to else "integers"
        return Proved(record, from_, to, tuple(kept), kind, lower, upper, whole)

    def support(self, numbers: Sequence[int], record: int) -> list[int]:
        """Answers that suffice for both ends by reals: those with a multiplier, and extremes near them."""
        ends = self._ends(numbers, record)
        used = {number for end in ends if end is not None for number, _ in end.terms}
        members = np.unique(np.concatenate([np.array([record]), *(self._answers[n].members for n in used)]))
        for number in numbers:
            answer = self._answers[number]
            if answer.kind != "sum" and np.isin(answer.members, members).any():
                used.add(number)
        return sorted(used)

    def _vertices(self, numbers: Sequence[int], record: int) -> _Vertices:
        """Where a record is least and greatest over the sums among some answers; the last ones are kept."""
        framed, name = self._framed(numbers, record), tuple(numbers)
        last = self._solved_last
        if last is None or last.framed is not framed or last.name != name:
            last = self._solved_last = _Vertices.of(framed, name)
        return last

    def _needed(self, numbers: Sequence[int], record: int, reached: Reached) -> set[int]:
        """Sums without which a real table carries the record beyond what a claim allows: none is spare."""
        found = self._vertices(numbers, record)
        if len(found.row_numbers) < sum(self._answers[number].kind == "sum" for number in numbers):
            return set()  # one that hangs on others would be broken with them
        needed = set[int]()
        for side in (0, 1):
            far = found.without_each(side)
            for row in np.flatnonzero(np.isfinite(far)).tolist():
                end = Fraction(float(far[row])) + (SLACK, -SLACK)[side]
                if not reached(end, end)[side]:
                    needed.add(found.row_numbers[row])
        return needed

    def _ends(self, numbers: Sequence[int], record: int) -> tuple[End | None, End | None]:
        """The proof of either end; None where the program was not solved."""
        solved = self._vertices(numbers, record)
        known, atom, programs = solved.known, solved.atom, solved.programs

        def end(side: int) -> End | None:
            sign = (1, -1)[side]
            box = Fraction(int(known.low[atom] if sign > 0 else known.high[atom]))
            if not len(programs.rows):
                return End((), box)
            outcome = solved.outcomes[side]
            if outcome.status != "optimal":
                return None
            found = programs.multipliers(solved.column, sign, outcome)
            other = int(known.high[atom] if sign > 0 else known.low[atom])
            bound = found.bound - int(known.sizes[atom] - 1) * other
            if (bound - box) * sign <= 0:
                return End((), box)
            terms = zip((solved.row_numbers[row] for row in found.rows), found.weights, strict=True)
            return End(tuple(sorted((number, weight) for number, weight in terms if weight)), bound)

        return end(0), end(1)

    # --- by integers

    def by_integers(self, numbers: Sequence[int], record: int, allowed: Sequence[int]) -> Proved | None:
        """A certificate by integers that the value is one of some; None where that takes too much work.

        Answers are taken in one by one, each because a table without it has another value, until none has.
        """
        allowance = Allowance(STEPS)
        others = _ranges(allowed, self._top)
        chosen: list[int] = []
        try:
            while True:
                table = self._table(chosen, record, others, allowance)
                if table is None:
                    break
                broken = [
                    n for n in numbers if int(self._answers[n].of(table)) != int(self._answers[n].value)
                ]
                if not broken:
                    return None  # the claim is not true
                chosen.append(min(broken, key=lambda number: (len(self._answers[number].members), number)))
        except OutOfTime:
            return None

        def holds(some: Sequence[int]) -> bool:
            return self._table(some, record, others, allowance) is None

        try:
            kept, whole = _spared(sorted(chosen), holds, allowance)
        except OutOfTime:
            kept, whole = sorted(chosen), False
        return Proved(record, min(allowed), max(allowed), tuple(kept), "integers", irreducible=whole)

    def _table(
        self,
        chosen: Sequence[int],
        record: int,
        others: Sequence[tuple[int, int]],
        allowance: Allowance,
    ) -> Ints | None:
        """A table (n,) that agrees with the chosen answers and has one of the other values; None: none."""
        framed = self._framed(chosen, record)
        known, sums, _ = framed.stated(chosen)
        atom = framed.atom
        matrix, row_low, row_high, lower, upper = constraints(known, np.arange(known.count), sums)
        whole = np.ones(matrix.shape[1], dtype=np.bool_)
        program = Program(matrix, row_low, row_high, lower, upper, whole, NODES)
        for low, high in others:
            low, high = max(low, int(known.low[atom])), min(high, int(known.high[atom]))
            if low > high:
                continue
            program.bound(atom, low, high)
            if allowance.over:
                raise OutOfTime("no table was found with what may be spent")
            outcome = program.minimise({}, allowance, first=True)
            if outcome.status == "infeasible":
                continue
            if not len(outcome.solution):
                raise OutOfTime("no table was found with what may be spent")
            totals = np.rint(outcome.solution[: known.count]).astype(np.int64)
            if not is_world(known, totals, sums):
                raise OutOfTime("rounding spoils the table that was found")
            return self._records(known, totals, framed.everybody)
        return None

    def _records(self, known: Knowledge, totals: Ints, everybody: Ints) -> Ints:
        """Totals as a table of all records; whoever is in no answer has the least value."""
        made = np.zeros(self._size, dtype=np.int64)
        order, firsts = known.members
        for atom in range(known.count):
            members = everybody[order[firsts[atom] : firsts[atom + 1]]]
            low, span = int(known.low[atom]), int(known.high[atom] - known.low[atom])
            full, rest = divmod(int(totals[atom]) - low * len(members), span) if span else (0, 0)
            made[members] = low
            made[members[:full]] = low + span
            if rest:
                made[members[full]] = low + rest
        return made


def _ranges(allowed: Sequence[int], top: int) -> list[tuple[int, int]]:
    """What lies in 0 … top beside some values."""
    edges = [-1, *sorted(allowed), top + 1]
    return [(a + 1, b - 1) for a, b in pairwise(edges) if b - a > 1]


def _spared(
    kept: list[int],
    holds: Callable[[Sequence[int]], bool],
    allowance: Allowance,
    needed: Set[int] = frozenset(),
) -> tuple[list[int], bool]:
    """Drop answers, in halves and then one by one, as long as the claim holds; and whether all were tried.

    Of few answers each is tried alone first: what all the others cannot spare, fewer cannot. So it is with
    those that are known to be needed.
    """
    needed = set(needed)
    for number in [each for each in kept if each not in needed] if len(kept) <= SINGLY else ():
        if not allowance.spend(A_LOOK + BY_ANSWER * len(kept)):
            return kept, False
        if not holds([other for other in kept if other != number]):
            needed.add(number)
    block = max(1, len(kept) // 2)
    while True:
        place = 0
        while place < len(kept):
            if not allowance.spend(A_LOOK + BY_ANSWER * len(kept)):
                return kept, False
            fewer = kept[:place] + kept[place + block :]
            if needed.isdisjoint(kept[place : place + block]) and holds(fewer):
                kept = fewer
            else:
                place += block
        if block == 1:
            return kept, True
        block = max(1, block // 2)
