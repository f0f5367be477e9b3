"""Irreducible certificates: few answers that leave a record no values but some, none of which can be spared.

By reals two sums of answers, one for each end, prove a claim by weak duality; by integers that no table on
the grid agrees with the answers and has another value. Answers are dropped as long as the claim survives (a
deletion filter).

Source: `mathematics.md`, 2 (certificates); Chinneck, *Feasibility and Infeasibility in Optimization*, 2008.
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
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.lumps import NO_LUMPS
from cae_sql.inference.facts.query import Answer, Ints, Query
from cae_sql.inference.facts.rank import coefficients_of
from cae_sql.inference.intervals.bounds import Exact, OneByOne, Solved
from cae_sql.inference.tables.pool import with_totals
from cae_sql.inference.tables.programs import any_world

FEW = 4
"""Answers more than needed that do no harm."""
SINGLY = 32
"""Answers up to which each is tried alone: few certificates have more, and mostly each is needed."""
SPARE_STEPS = 2 * 10**8
"""For finding out whether fewer answers do than two sums need: about two seconds."""
STEPS = 10**9
"""For one certificate, about ten seconds; what is not shown to be dispensable with them stays in."""
A_LOOK, BY_ANSWER = 10**5, 10**4
"""Steps that one look at a claim takes at least, and more by answer."""
SINGULAR = 1e-7
"""An inverse that is so far from one counts as none."""
NODES = 20_000
"""Search nodes after which it is not known whether there is another table."""

Kind = Literal["reals", "integers"]


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

    def __init__(self, claims: Claims, numbers: Sequence[int], record: int) -> None:
        """Take those of some numbers; the record is an atom of its own."""
        size, top, answers, lumps = claims.given
        self.record, self.numbers, self._top = record, frozenset(numbers), top
        inside = np.zeros(size, dtype=np.bool_)
        inside[record] = True
        for number in numbers:
            inside[answers[number].members] = True
        self.everybody: Ints = np.flatnonzero(inside)
        """(m,) the records, ascending."""
        place = np.cumsum(inside) - 1
        self.answers = {
            number: replace(answers[number], members=place[answers[number].members]) for number in numbers
        }
        lumps = lumps[inside[size - len(lumps) :]]
        self.atoms = Atoms.apart(len(self.everybody) - len(lumps), lumps)
        self.atoms.refine(Query(kind="sum", members=place[[record]]))
        for answer in self.answers.values():
            self.atoms.refine(answer)
        self.atom = int(self.atoms.labels[place[record]])
        """The record's."""

    def stated(self, numbers: Sequence[int]) -> tuple[Knowledge, Ints]:
        """Some of the answers: what they amount to, and the independent sums' right-hand sides."""
        chosen = [self.answers[number] for number in numbers]
        return Knowledge.of(len(self.everybody), self._top, chosen, atoms=self.atoms)

    def each_moves(self, truth: Ints, numbers: Sequence[int]) -> bool:
        """Whether none of some sums that add up to the record can be spared, as seen near to a true table.

        An inverse shows for all of them at once whether each can be changed alone by moving records that have
        room, the record too.
        """
        answers = [self.answers[number] for number in numbers]
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

    def __init__(self, size: int, top: int, answers: Sequence[Answer], lumps: Ints = NO_LUMPS) -> None:
        """Take answers in units, with which a table on the grid 0 … top agrees; the last of `size` things
        are sums of so many records each as `lumps` says."""
        self._size, self._answers, self.given = size, answers, (size, top, answers, lumps)
        self._last: _Framed | None = None

    def _framed(self, numbers: Sequence[int], record: int) -> _Framed:
        """These answers over the records in them, or not many more answers that were framed before."""
        last = self._last
        fits = last is not None and last.record == record and len(last.numbers) <= 2 * len(numbers) + FEW
        if last is None or not fits or not last.numbers.issuperset(numbers):
            last = self._last = _Framed(self, numbers, record)
        return last

    # --- by reals

    def interval(self, numbers: Sequence[int], record: int) -> tuple[Exact, Exact]:
        """The interval that multipliers prove, in units; its ends need not lie on the grid."""
        system, atom = self._sums(numbers, record)
        return OneByOne(system).interval(atom)

    def _sums(self, numbers: Sequence[int], record: int) -> tuple[Solved, int]:
        """The sums among some answers in the boxes of the others, and the record's atom."""
        framed = self._framed(numbers, record)
        known, sums = framed.stated(numbers)
        return Solved(replace(known, extremes=()), sums), framed.atom

    def by_reals(
        self, numbers: Sequence[int], record: int, low: Exact, high: Exact, rounded: bool = False
    ) -> Proved | None:
        """A certificate that the value lies in low … high, by two sums; None where these answers have none.

        One value is proved by reals only where both bounds are that value; `rounded`, by integers, where
        they are only between the grid values beside it.
        """

        def within(least: Exact, most: Exact) -> bool:
            if low == high and not rounded:
                return low <= least and most <= high
            return ceil(low) <= ceil(least) and floor(most) <= floor(high)

        def holds(some: Sequence[int]) -> bool:
            system, atom = self._sums(some, record)
            programs = OneByOne(system)
            for side in (0, 1):  # where floats are plainly beyond an end, nothing is proved
                ends: list[Exact] = [low, high]
                ends[side] = Fraction(programs.nearly(atom, side))
                if not within(*ends):
                    return False
            return within(*programs.interval(atom))

        if not holds(numbers):
            return None
        kept, whole = spared(list(numbers), holds, Allowance(STEPS))
        lower, upper = self._ends(kept, record)
        if lower is None or upper is None or not within(lower.bound, upper.bound):
            return None
        least, most = ceil(lower.bound), floor(upper.bound)
        kind: Kind = "reals" if lower.bound == upper.bound or least < most else "integers"
        return Proved(record, least, most, tuple(kept), kind, lower, upper, whole)

    def by_equation(
        self, record: int, value: int, terms: Sequence[tuple[int, Fraction]], truth: Ints
    ) -> Proved | None:
        """A certificate from terms (sum, weight) that add up to the record; None if one may be spared."""
        numbers = sorted(number for number, _ in terms)
        if not self._framed(numbers, record).each_moves(truth, numbers):
            return None
        end = End(tuple(sorted(terms)), Fraction(value))
        return Proved(record, value, value, tuple(numbers), "reals", end, end)

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
        system, atom = self._sums(numbers, record)
        stated = self._framed(numbers, record).answers
        row_numbers = rows_of(system.known, {number: stated[number] for number in numbers})
        found = list[End | None]()
        for sign in (1, -1):
            # a program for each: where duals have a choice, the other end would sway it
            proof = OneByOne(system).proof_of(atom, sign)
            terms = zip(proof.rows, proof.weights, strict=True) if proof else ()
            named = tuple(sorted((row_numbers[row], weight) for row, weight in terms if weight))
            found.append(None if proof is None else End(named, proof.bound))
        return found

    # --- by integers

    def by_integers(
        self, numbers: Sequence[int], record: int, allowed: Sequence[int], most: float = STEPS
    ) -> Proved | None:
        """A certificate by integers that the value is one of some; None where that takes too much work.

        Answers are taken in one by one, each since a table that breaks it has another value.
        """
        allowance, chosen = Allowance(most), list[int]()
        try:
            while (table := self._table(chosen, record, allowed, allowance)) is not None:
                broken = [
                    n for n in numbers if int(self._answers[n].of(table)) != int(self._answers[n].value)
                ]
                if not broken:
                    return None  # the claim is not true
                chosen.append(min(broken, key=lambda number: (len(self._answers[number].members), number)))
        except OutOfTime:
            return None
        kept, whole = self._needed(sorted(chosen), record, allowed, allowance)
        return Proved(record, min(allowed), max(allowed), tuple(kept), "integers", irreducible=whole)

    def without_spare(self, proved: Proved) -> Proved:
        """As `by_reals` found it, rounded, with fewer answers where these leave no other table either."""
        numbers, allowed = list(proved.numbers), range(proved.low, proved.high + 1)
        kept, whole = self._needed(numbers, proved.record, allowed, Allowance(SPARE_STEPS))
        if len(kept) == len(numbers):
            return replace(proved, irreducible=proved.irreducible and whole)
        return replace(proved, numbers=tuple(kept), lower=None, upper=None, irreducible=whole)

    def _needed(
        self, numbers: list[int], record: int, allowed: Sequence[int], allowance: Allowance
    ) -> tuple[list[int], bool]:
        """Of answers that leave no table with another value those that are needed; whether all were tried."""

        def holds(some: Sequence[int]) -> bool:
            return self._table(some, record, allowed, allowance) is None

        try:
            return spared(numbers, holds, allowance)
        except OutOfTime:
            return numbers, False

    def _table(
        self, chosen: Sequence[int], record: int, allowed: Sequence[int], allowance: Allowance
    ) -> Ints | None:
        """A table (n,) that agrees with the chosen answers and has a value that is not allowed; None: none.

        Raises:
            OutOfTime: neither found nor excluded with what may be spent.
        """
        framed = self._framed(chosen, record)
        known, sums = framed.stated(chosen)
        for before, after in pairwise([-1, *sorted(allowed), int(known.high[framed.atom]) + 1]):
            low, high = known.low.copy(), known.high.copy()
            low[framed.atom] = max(before + 1, low[framed.atom])
            high[framed.atom] = min(after - 1, high[framed.atom])
            if low[framed.atom] > high[framed.atom]:
                continue
            if allowance.over:
                raise OutOfTime("no table was found with what may be spent")
            narrowed = replace(known, low=low, high=high)
            totals = any_world(narrowed, sums, allowance, nodes=NODES)
            if totals is not None:
                found = with_totals(narrowed, totals, low[framed.atoms.labels], 0)
                if found is None:
                    raise OutOfTime("nobody was found to attain an extreme")
                table = np.zeros(self._size, dtype=np.int64)
                table[framed.everybody] = found
                return table
        return None


def rows_of(known: Knowledge, answers: Mapping[int, Answer]) -> list[int]:
    """Which of some answers, by number, each row of the matrix is."""
    lines = dict[bytes, int]()
    for number, answer in answers.items():
        if answer.kind == "sum":
            lines.setdefault(known.atoms.row(answer).tobytes(), number)
    return [lines[row.astype(np.int64).tobytes()] for row in known.matrix]


def spared(
    kept: list[int], holds: Callable[[list[int]], bool], allowance: Allowance = UNLIMITED
) -> tuple[list[int], bool]:
    """Drop answers as long as a claim holds, the last first, of many halves first; whether all were tried."""
    block = max(1, len(kept) // 2) if len(kept) > SINGLY else 1
    while True:
        end = len(kept)
        while end > 0:
            if not allowance.spend(A_LOOK + BY_ANSWER * len(kept)):
                return kept, False
            fewer = kept[: max(end - block, 0)] + kept[end:]
            if holds(fewer):
                kept = fewer
            end -= block
        if block == 1:
            return kept, True
        block = max(1, block // 2)
