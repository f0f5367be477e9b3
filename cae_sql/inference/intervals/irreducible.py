"""Certificates that nothing can be dropped from: few answers that leave a record no other values.

A claim is that a record's value, in units, is one of some values. By reals it is proved by two sums of
answers, one for each end, whose multipliers anybody adds up (weak duality). By integers it is proved by there
being no table on the grid that agrees with the answers and has another value. In both cases answers are
dropped as long as the claim survives, so that in the end each one is needed.

Source: `mathematics.md`, 2 (certificates).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor
from typing import Literal

import numpy as np

from cae_sql.errors import OutOfTime
from cae_sql.inference.allowance import UNLIMITED, Allowance
from cae_sql.inference.facts.atoms import Atoms
from cae_sql.inference.facts.constraints import constraints, is_world
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Answer, Ints, Query
from cae_sql.inference.facts.rank import coefficients_of
from cae_sql.inference.intervals.bounds import Exact, OneByOne, Solved
from cae_sql.inference.solver import Program

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
SINGULAR = 1e-7
"""An inverse that is so far from one counts as none."""
NODES = 20_000
"""Search nodes after which it is not known whether there is another table."""


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


class _Framed:
    """Some answers over the m records in them, in one partition that serves every part of them."""

    def __init__(
        self, size: int, top: int, answers: Sequence[Answer], numbers: Sequence[int], record: int
    ) -> None:
        """State those of some numbers; nobody else is in the record's atom."""
        self.record, self.numbers, self._top = record, frozenset(numbers), top
        inside = np.zeros(size, dtype=np.bool_)
        inside[record] = True
        for number in numbers:
            inside[answers[number].members] = True
        self.everybody: Ints = np.flatnonzero(inside)
        """(m,) the records, ascending."""
        place = np.cumsum(inside) - 1
        self._answers = {
            number: replace(answers[number], members=place[answers[number].members]) for number in numbers
        }
        self.atoms = Atoms(len(self.everybody))
        self.atoms.refine(Query(kind="sum", members=place[[record]]))
        for answer in self._answers.values():
            self.atoms.refine(answer)
        self.atom = int(self.atoms.labels[place[record]])
        """The record's."""

    def stated(self, numbers: Sequence[int]) -> tuple[Knowledge, Ints]:
        """Some of the answers: what they amount to, and the independent sums' right-hand sides."""
        chosen = [self._answers[number] for number in numbers]
        return Knowledge.of(len(self.everybody), self._top, chosen, atoms=self.atoms)

    def row_numbers(self, known: Knowledge, numbers: Sequence[int]) -> list[int]:
        """Which of these answers each row is."""
        return rows_of(known, {number: self._answers[number] for number in numbers})

    def each_moves(self, truth: Ints, numbers: Sequence[int]) -> bool:
        """Whether without any one of some sums the record can have another real value, near to a true table.

        The sums add up to the record. Where each can be changed alone by moving records that have room, none
        can be spared: that is what an inverse shows for all of them at once. False where it is not seen so.
        """
        answers = [self._answers[number] for number in numbers]
        if any(answer.kind != "sum" for answer in answers):
            return False
        matrix = coefficients_of(self.atoms, answers).astype(np.float64)
        totals = np.bincount(self.atoms.labels, truth[self.everybody], self.atoms.count)
        room = np.minimum(totals, self.atoms.sizes * self._top - totals)
        room[self.atom] = 1.0  # to one side at least
        scaled = matrix * np.minimum(room, self._top) ** 2
        try:
            moves = np.linalg.solve(scaled @ matrix.T, scaled)
        except np.linalg.LinAlgError:
            return False
        apart = np.abs(moves @ matrix.T - np.eye(len(numbers))).max()
        return bool(apart < SINGULAR and (np.abs(moves[:, self.atom]) > SINGULAR).all())


class Claims:
    """Certificates over one system of answers."""

    def __init__(self, size: int, top: int, answers: Sequence[Answer]) -> None:
        """Take the answers, in units; they agree with a table on the grid 0 … top."""
        self._size, self._top, self._answers = size, top, answers
        self._last: _Framed | None = None

    def _framed(self, numbers: Sequence[int], record: int) -> _Framed:
        """These answers over the records in them, or not many more answers that were framed before."""
        last = self._last
        fits = last is not None and last.record == record and len(last.numbers) <= 2 * len(numbers) + FEW
        if last is None or not fits or not last.numbers.issuperset(numbers):
            last = self._last = _Framed(self._size, self._top, self._answers, numbers, record)
        return last

    # --- by reals

    def interval(self, numbers: Sequence[int], record: int) -> tuple[Exact, Exact]:
        """The interval that multipliers prove, in units; its ends need not lie on the grid."""
        system, atom = self._solved(numbers, record)
        return OneByOne(system).interval(atom)

    def _solved(self, numbers: Sequence[int], record: int) -> tuple[Solved, int]:
        """The sums among some answers, and the record's atom."""
        framed = self._framed(numbers, record)
        known, sums = framed.stated(numbers)
        return Solved(replace(known, extremes=()), sums), framed.atom

    def _hold(self, numbers: Sequence[int], record: int, reached: Reached) -> bool:
        """Whether multipliers prove both ends: where one fails, the other is not asked for."""
        system, atom = self._solved(numbers, record)
        programs = OneByOne(system)
        at_once = reached(*programs.interval(atom, ()))
        return all(at_once[side] or reached(*programs.interval(atom, (side,)))[side] for side in (0, 1))

    def by_reals(self, numbers: Sequence[int], record: int, low: Exact, high: Exact) -> Proved | None:
        """A certificate that the value lies in low … high, by two sums; None where these answers have none.

        One value is proved by reals only where both bounds are that value. To leave it as the only one on the
        grid is a proof by integers, and `on_the_grid`.
        """
        return self._by_sums(numbers, record, low, high, exact=low == high)

    def by_equation(
        self, record: int, value: int, terms: Sequence[tuple[int, Fraction]], truth: Ints
    ) -> Proved | None:
        """A certificate from terms (sum's number, weight) known to add up to the record's value.

        None where one might be spared, as far as is seen near to the true table.
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
            kept, whole = spared(numbers, holds, allowance)
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

        if not holds(numbers):
            return None
        kept, whole = spared(list(numbers), holds, Allowance(STEPS))
        lower, upper = self._ends(kept, record)
        if lower is None or upper is None or not all(reached(lower.bound, upper.bound)):
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

    def _ends(self, numbers: Sequence[int], record: int) -> list[End | None]:
        """The proof of either end; None where the program was not solved."""
        system, atom = self._solved(numbers, record)
        row_numbers = self._framed(numbers, record).row_numbers(system.known, numbers)
        found = list[End | None]()
        for sign in (1, -1):
            # a program for each: where duals have a choice, the other end would sway it
            proof = OneByOne(system).proof_of(atom, sign)
            terms = zip(proof.rows, proof.weights, strict=True) if proof else ()
            named = tuple(sorted((row_numbers[row], weight) for row, weight in terms if weight))
            found.append(None if proof is None else End(named, proof.bound))
        return found

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
            kept, whole = spared(sorted(chosen), holds, allowance)
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
        known, sums = framed.stated(chosen)
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


def rows_of(known: Knowledge, answers: Mapping[int, Answer]) -> list[int]:
    """Which of some answers, by number, each row of the matrix is."""
    lines = dict[bytes, int]()
    for number, answer in answers.items():
        if answer.kind == "sum":
            lines.setdefault(known.atoms.row(answer).tobytes(), number)
    return [lines[row.astype(np.int64).tobytes()] for row in known.matrix]


def _ranges(allowed: Sequence[int], top: int) -> list[tuple[int, int]]:
    """What lies in 0 … top beside some values."""
    edges = [-1, *sorted(allowed), top + 1]
    return [(a + 1, b - 1) for a, b in pairwise(edges) if b - a > 1]


def spared(
    kept: list[int], holds: Callable[[list[int]], bool], allowance: Allowance = UNLIMITED
) -> tuple[list[int], bool]:
    """Drop answers, in halves and then one by one, as long as a claim holds; and whether all were tried.

    Of few answers each is tried alone first: what all the others cannot spare, fewer cannot.
    """
    needed = set[int]()
    for number in kept if len(kept) <= SINGLY else ():
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
