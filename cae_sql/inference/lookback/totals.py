"""Sums over several records of one unit that true answers have located: its total, and what it has in a part.

Looked at are the sum over all records of a unit, and those over the records that it has in one atom, where
these are several. Such a *total* of n records lies between 0 and n · top and has to keep n times the width
that a record has to keep. Other sums of a unit's records are not looked at, nor which values between its ends
a total takes.

A total is one thing more, as wide as n records, in one answer more: total − Σ records = 0. So the intervals,
proofs and integer programs that say what answers leave of a record say it of a total. What values that change
places inside of an atom make of a total is known without any of them.

Source: `mathematics.md`, 2 and 11.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import chain
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from cae_sql.errors import OutOfTime
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Answer, Ints, Query
from cae_sql.inference.facts.rank import coefficients_of
from cae_sql.inference.facts.span import added_up
from cae_sql.inference.intervals.bounds import Exact, OneByOne, Solved
from cae_sql.inference.intervals.irreducible import Claims, End, Proved
from cae_sql.inference.lookback.first_time import KEPT, NEAR, nearest
from cae_sql.inference.lookback.located_so_far import APPROXIMATE, EXACT, KEEPS, LocatedSoFar, state_between
from cae_sql.inference.lookback.look import FEW_CELLS, NODES, WHOLE_CELLS, WORK
from cae_sql.inference.standard import Standard
from cae_sql.inference.tables.programs import MOST_NODES, ComponentProgram

FEW = 400
"""Answers near to a total, at most, among which a proof is looked for."""
PROOF = 10**9
"""Steps for a proof by integers; a tenth counts, since most take few."""
MOST_VALUES = 100_000
"""Between the ends of a total that only the grid locates: each is told apart in its proof."""


@dataclass(frozen=True, eq=False)
class Total:
    """A sum over several records of a unit."""

    unit: int
    records: Ints
    """Ascending, two or more."""
    of: int
    """How many records the unit has."""
    shown: int
    """How far apart two of its values are, at least: both are in tables that agree with all answers."""

    @property
    def whole(self) -> bool:
        """Whether these are all of the unit's."""
        return len(self.records) == self.of


@dataclass(frozen=True, eq=False)
class LocatedTotal:
    """A total of which less is left than it has to keep."""

    total: Total
    state: int
    """APPROXIMATE or EXACT."""
    by_reals: bool
    """Whether linear programs show it."""
    low: int
    high: int
    """What is left, in units."""
    since: int
    """With how many answers its state was first what it is, as far as that was looked for."""
    first: int
    """With how many it was first located."""


class Totals:
    """The totals of one column, and what the answers so far leave of them."""

    def __init__(self, so_far: LocatedSoFar, units: Ints, allowance: Allowance) -> None:
        """Nothing is looked at yet; `units` (n,) says whose each record is, integer programs spend."""
        self._so_far, self._units, self._allowance = so_far, units, allowance
        known = self._known = so_far.known
        self._sums: Ints = known.matrix @ known.totals(so_far.truth[None])[0]
        self._whole = (known.count + len(so_far.alone)) * len(so_far.answers) <= WHOLE_CELLS
        self._earlier = lru_cache(KEPT)(self._stated)
        self.open = 0
        """Totals neither shown to be located nor shown to keep what they have to."""

    def located(self, stop: Callable[[], bool] = lambda: False) -> Iterator[LocatedTotal]:
        """Those that are located, as they are found; what comes after `stop` is open."""
        left = int(WORK / max(1.0, float(self._known.matrix.size)) ** 1.5)
        waiting = [each for each in self._all() if each.shown < self._standard(each).need]
        for total in sorted(waiting, key=lambda each: each.shown):
            left -= 1
            found = None if stop() or left < 0 else self._look(total)
            if found is None:
                self.open += 1
            elif found.state != KEEPS:
                yield found

    # --- which there are

    def _all(self) -> Iterator[Total]:
        """All totals, with what values that change places inside of atoms make of them."""
        known = self._known
        names, place = np.unique(self._units * known.count + known.atoms.labels, return_inverse=True)
        unit, part = np.divmod(names, known.count)
        rows = np.bincount(place)
        records = np.split(np.argsort(place, kind="stable"), np.cumsum(rows)[:-1])
        shown, exact = self._shown(part, rows), self._so_far.by_integers == EXACT
        for some in np.split(np.arange(len(names)), np.flatnonzero(np.diff(unit)) + 1):
            owner, own = (
                int(unit[some[0]]),
                np.sort(np.concatenate([records[each] for each in some.tolist()])),
            )
            if len(own) > 1:
                yield Total(owner, own, len(own), int(shown[some].sum()))
            for each in some.tolist() if len(some) > 1 else ():
                if rows[each] > 1 and not exact[records[each]].all():
                    yield Total(owner, records[each], len(own), int(shown[each]))

    def _shown(self, part: Ints, rows: Ints) -> Ints:
        """(m,) how far the sums of so many records of an atom go if others of the atom make up for them.

        An atom that is in no sum needs nobody. One that has somebody who attains an extreme stays as it is.
        """
        known, so_far = self._known, self._so_far
        low, high, others = known.low[part], known.high[part], known.sizes[part] - rows
        totals, tied = known.totals(so_far.truth[None])[0][part], np.asarray(known.matrix.any(axis=0))[part]
        least = np.where(tied, np.maximum(rows * low, totals - others * high), rows * low)
        most = np.where(tied, np.minimum(rows * high, totals - others * low), rows * high)
        still = so_far.fixed[known.members[0][known.members[1][:-1]]]
        for extreme in known.extremes:
            able = np.isin(known.atoms.labels, extreme.atoms) & (so_far.truth == extreme.value)
            still[known.atoms.labels[np.flatnonzero(able)[0]]] = True
        found: Ints = np.where(still[part], 0, most - least)
        return found

    # --- what is left of one

    def _look(self, total: Total) -> LocatedTotal | None:
        """What is left of a total; None where that is not found out."""
        so_far, now = self._so_far, len(self._so_far.answers)
        terms = self._equation(total.records)
        if terms:
            value, since = int(so_far.truth[total.records].sum()), terms[-1][0] + 1
            return self._located(total, EXACT, value, value, since)
        fixed = so_far.fixed[total.records]
        known, loose = int(so_far.truth[total.records[fixed]].sum()), total.records[~fixed]
        try:
            least, most = self._interval(self._known, self._sums, loose)
        except OutOfTime:
            return None
        least, most = least + known, most + known
        low, high, reals = ceil(least), floor(most), self._state(total, least, most)
        state = reals
        if reals == KEEPS or (reals != EXACT and not total.shown):
            try:
                low, high = (end + known for end in self._on_the_grid(loose))
            except OutOfTime:
                return None if reals == KEEPS else self._located(total, reals, low, high, now)
            state = max(reals, self._state(total, low, high, by_reals=False))
        if state != reals:
            first = self._since(total, reals, now) if reals != KEEPS else now
            return LocatedTotal(total, state, False, low, high, now, first)
        return self._located(total, state, low, high, now)

    def _located(self, total: Total, state: int, low: int, high: int, since: int) -> LocatedTotal:
        """By linear programs, and since when."""
        if state == KEEPS:
            return LocatedTotal(total, state, True, low, high, since, since)
        since = self._since(total, state, since)
        first = since if state == APPROXIMATE else self._since(total, APPROXIMATE, since)
        return LocatedTotal(total, state, True, low, high, since, first)

    def _standard(self, total: Total) -> Standard:
        """What a total has to keep."""
        standard = self._so_far.standard
        return replace(standard, need=len(total.records) * standard.need, accepts=None)

    def _state(self, total: Total, least: Exact, most: Exact, by_reals: bool = True) -> int:
        return state_between(least, most, self._standard(total), by_reals)

    def _with(self, known: Knowledge, records: Ints) -> tuple[Knowledge, int]:
        """What is known with the sum of some records as one thing more: the last atom."""
        wide = known.refined([Query(kind="sum", members=records)])
        wide = wide.grown(1, self._so_far.top * len(records))
        row = coefficients_of(wide.atoms, [_made(records, len(self._units))])
        return replace(wide, matrix=np.vstack([wide.matrix, row])), wide.count - 1

    def _interval(self, known: Knowledge, sums: Ints, records: Ints) -> tuple[Exact, Exact]:
        """Between what linear programs leave the sum of some records.

        Raises:
            OutOfTime: a program was not solved.
        """
        wide, atom = self._with(known, records)
        return OneByOne(Solved(replace(wide, extremes=()), np.append(sums, 0))).interval(atom)

    def _on_the_grid(self, records: Ints) -> tuple[int, int]:
        """The least and the greatest sum of some records in tables on the grid that agree with all answers.

        Raises:
            OutOfTime: not found with what may be spent.
        """
        truth, large = self._so_far.truth, self._so_far.large
        if self._allowance.over or self._known.matrix.size > FEW_CELLS:
            raise OutOfTime("no more integer programs are asked")
        wide, atom = self._with(self._so_far.narrowed(), records)
        table = wide.totals(np.append(truth, truth[records].sum())[None])[0]
        program = ComponentProgram.around(wide, atom, table, wide.count)
        nodes = MOST_NODES if large else NODES
        least, most = (program.extreme(atom, sign, self._allowance, nodes)[atom] for sign in (1, -1))
        return int(least), int(most)

    # --- since when

    def _since(self, total: Total, state: int, now: int) -> int:
        """With how many answers, at most `now`, linear programs first gave a total this state."""

        def so_with(count: int) -> bool:
            try:
                return self._state(total, *self._interval(*self._earlier(count), total.records)) >= state
            except OutOfTime:
                return False

        if not self._whole or now < 2 or not so_with(now - 1):
            return now
        counts = range(1, now - 1)
        return counts.start + bisect_left(counts, True, key=so_with)

    def _stated(self, count: int) -> tuple[Knowledge, Ints]:
        return Knowledge.of(len(self._units), self._so_far.top, self._so_far.answers[:count])

    # --- what proves it

    def _equation(self, records: Ints) -> list[tuple[int, Fraction]]:
        """The answers that add up to the sum of some records, by number, with their weights; or none do."""
        so_far = self._so_far
        loose = records[~so_far.fixed[records]]
        rows = so_far.combination(loose.tolist()) if len(loose) else []
        if len(loose) and not rows:
            return []
        found = {so_far.row_answers[row]: weight for row, weight in rows}
        terms = [(so_far.answers[number], weight) for number, weight in found.items()]
        total, common = added_up(terms, len(self._units))
        total[records] -= common
        for record in np.flatnonzero(total).tolist():  # rows that were read, put in for their values
            found[so_far.alone[record]] = Fraction(-int(total[record]), common)
        return sorted(found.items())

    def proved(self, found: LocatedTotal, digits: Set[int] = frozenset()) -> Proved | None:
        """A proof by few answers, in terms of the total; None where there was none to be found.

        Answers of `digits` are proofs on the grid alone.
        """
        records, total = found.total.records, len(self._units)
        terms = self._equation(records) if found.state == EXACT else []
        told = [number for number, _ in terms if number < found.since]
        if terms and len(told) == len(terms) and digits.isdisjoint(told):
            claims, stated = self._claims(records, self._so_far.answers)
            truth = np.append(self._so_far.truth, self._so_far.truth[records].sum())
            proof = claims.by_equation(total, found.low, [*terms, (len(stated) - 1, Fraction(1))], truth)
            if proof is not None:
                return _without(proof, len(stated) - 1)
        answers, gone = self._without_read(found.since)
        read = gone[records]
        known, loose = int(self._so_far.truth[records[read]].sum()), records[~read]
        if not len(loose):
            nothing = End((), Fraction(0))
            return self._with_rows(Proved(total, 0, 0, (), "reals", nothing, nothing), gone, records)
        claims, stated = self._claims(loose, answers)
        made = len(stated) - 1
        usable = [n for n in range(found.since) if not gone[answers[n].members].all()]
        near = (nearest(stated, [*usable, made], total, most, total + 1) for most in (*NEAR, FEW))
        for numbers in chain([sorted(set(usable) & {*told})] if told else [], near) if found.by_reals else ():
            proof = self._by_reals(claims, sorted({*numbers, made}), found, known, digits)
            if proof is not None:
                return self._with_rows(_without(proof, made), gone, records)
        steps = min(PROOF, self._allowance.steps)
        if found.high - found.low >= MOST_VALUES or steps <= 0:
            return None
        few, values = (
            nearest(stated, [*usable, made], total, FEW, total + 1),
            range(found.low, found.high + 1),
        )
        self._allowance.spend(PROOF / 10)
        proof = claims.by_integers(few, total, [value - known for value in values], steps)
        return None if proof is None else self._with_rows(_without(proof, made), gone, records)

    def _without_read(self, since: int) -> tuple[list[Answer], NDArray[np.bool_]]:
        """The answers over records that no answer before gave the value of, and (n,) the others."""
        so_far, found = self._so_far, list[Answer]()
        gone = so_far.fixed.copy()
        gone[[record for record, number in so_far.alone.items() if gone[record] and number >= since]] = False
        for answer in so_far.answers:
            left = ~gone[answer.members]
            weights = None if answer.coefficients is None else answer.coefficients[left]
            others = Query(kind=answer.kind, members=answer.members[left], coefficients=weights)
            kept = left.all() or not left.any()
            # of an extreme that somebody attains whose value was read the others need not be stated
            kept = kept or (answer.kind != "sum" and int(others.of(so_far.truth)) != int(answer.value))
            found.append(answer if kept else others.answered(int(others.of(so_far.truth))))
        return found, gone

    def _with_rows(self, proof: Proved, gone: NDArray[np.bool_], records: Ints) -> Proved:
        """A proof about the records that were not read, with the rows of those that were."""
        so_far, read = self._so_far, records[gone[records]]
        if not gone.any():
            return proof
        known, rows = int(so_far.truth[read].sum()), set[int]()
        ends = list[End | None]()
        for end in (proof.lower, proof.upper):
            terms = [(so_far.answers[number], weight) for number, weight in end.terms] if end else []
            total, common = added_up(terms, len(self._units))
            total[read] -= common
            places = np.flatnonzero(gone & (total != 0)).tolist()
            more = {so_far.alone[each]: Fraction(-int(total[each]), common) for each in places}
            rows |= set(more)
            ends.append(end and End(tuple(sorted((*end.terms, *more.items()))), end.bound + known))
        if proof.lower is None:
            rows |= {so_far.alone[each] for each in read.tolist()}
            for number in proof.numbers:
                members = so_far.answers[number].members
                rows |= {so_far.alone[each] for each in members[gone[members]].tolist()}
        numbers = tuple(sorted({*proof.numbers, *rows}))
        low, high, needed = proof.low + known, proof.high + known, not rows and proof.irreducible
        lower, upper = ends
        found = replace(proof, low=low, high=high, numbers=numbers, irreducible=needed)
        return replace(found, lower=lower, upper=upper)

    def added_up(self, total: Total, sums: Sequence[Answer]) -> Proved | None:
        """That some sums, numbered from 0, add up to a total and none can be spared; else None."""
        claims, answers = self._claims(total.records, sums)
        value = int(self._so_far.truth[total.records].sum())
        proof = claims.by_reals(range(len(answers)), len(self._units), value, value)
        return None if proof is None or len(proof.numbers) < len(answers) else _without(proof, len(sums))

    def _claims(self, records: Ints, answers: Sequence[Answer]) -> tuple[Claims, list[Answer]]:
        """Claims about the sum of some records, the last thing, and their answers: one more is made up."""
        size = len(self._units)
        stated = [*answers, _made(records, size).answered(0)]
        return Claims(size + 1, self._so_far.top, stated, np.array([len(records)])), stated

    def _by_reals(
        self, claims: Claims, numbers: Sequence[int], found: LocatedTotal, known: int, digits: Set[int]
    ) -> Proved | None:
        record = len(self._units)
        if not digits.isdisjoint(numbers):
            return None
        ends = claims.interval(numbers, record)
        if self._state(found.total, ends[0] + known, ends[1] + known) < found.state:
            return None
        used = claims.support(numbers, record)
        return claims.by_reals(used, record, *ends) or claims.by_reals(numbers, record, *ends)


def _made(records: Ints, total: int) -> Query:
    """What says that a total, which has this number, is the sum of some records."""
    weights = np.append(np.full(len(records), -1, dtype=np.int64), 1)
    return Query(kind="sum", members=np.append(records, total), coefficients=weights)


def _without(proof: Proved, made: int) -> Proved:
    """Without the answer that was made up."""
    ends = (
        end and End(tuple(term for term in end.terms if term[0] != made), end.bound)
        for end in (proof.lower, proof.upper)
    )
    lower, upper = ends
    return replace(proof, numbers=tuple(n for n in proof.numbers if n != made), lower=lower, upper=upper)
