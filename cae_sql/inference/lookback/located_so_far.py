"""Records that true answers have located, answer by answer: for an auditor, who has the true table.

Each answer shows at once which records equations alone locate, or one sum after the other. `Look` looks at
all closely, as often as `assess` says. What is located stays so: knowledge only grows.

Source: `mathematics.md`, 2 and 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Answer, Ints, Query
from cae_sql.inference.facts.rank import coefficients_of
from cae_sql.inference.facts.span import Span, added_up
from cae_sql.inference.intervals.bounds import Exact
from cae_sql.inference.intervals.presolve import LARGEST
from cae_sql.inference.intervals.presolve import narrow as narrow_by_sums
from cae_sql.inference.standard import Standard

KEEPS, APPROXIMATE, EXACT = 0, 1, 2
"""A record keeps the standard as far as known, less remains, one value remains."""
MOST_ALONE = 256
"""Answers about one record alone up to which each has a row; with more they are taken out of the sums."""
SMALL = 400
"""Atoms up to which everybody is looked at closely after each statement."""
_ENDS = (
    *("by_integers", "by_reals", "low", "high", "least", "most"),
    *("since_integers", "since_reals", "open", "looked"),
)


def state_of(values: Ints, standard: Standard) -> int:
    """What it means that only these values (units, ascending) remain of a record."""
    if len(values) == 1:
        return EXACT
    width = int(values[-1] - values[0])
    if width >= standard.need and width == len(values) - 1:
        return KEEPS
    return KEEPS if standard.accepts is not None and standard.accepts(values) else APPROXIMATE


def state_between(least: Exact, most: Exact, standard: Standard, by_reals: bool = True) -> int:
    """What an interval means; by reals one value remains only where both ends are that value.

    Where no other lies on the grid, the record is located approximately by reals alone.
    """
    low, high = ceil(least), floor(most)
    state = KEEPS if high - low >= standard.need else state_of(np.arange(low, high + 1), standard)
    return min(state, APPROXIMATE) if by_reals and least != most else state


class _Stated:
    """True answers over some records, and the system that they amount to; it grows by `take` alone."""

    def __init__(self, size: int, top: int) -> None:
        self.span = Span(size)
        """The independent sums, in order."""
        self.boxes = Knowledge.nothing(size, top)
        """Atoms, boxes and extremes; no sums."""
        self._whole: Knowledge | None = None

    def copy(self) -> _Stated:
        """An independent one."""
        twin = copy(self)
        twin.span = self.span.copy()
        return twin

    @property
    def known(self) -> Knowledge:
        """What the answers amount to, without a tableau."""
        if self._whole is None:
            self._whole = replace(self.boxes, matrix=coefficients_of(self.boxes.atoms, self.span.rows))
        return self._whole

    def take(self, answers: Sequence[tuple[int, Answer, bool]]) -> list[tuple[int, Answer]]:
        """Take true answers, each with its place; those that say something that others do not.

        Of extremes it is given whether a record in none of the answers attains them.
        """
        kept = []
        for place, answer, by_others in answers:
            if answer.kind != "sum":
                new = self._take_extreme(answer, by_others)
            elif new := self.span.take(answer):
                self.boxes = self.boxes.refined([answer])
            if new:
                self._whole = None
                kept.append((place, answer))
        return kept

    def _take_extreme(self, answer: Answer, by_others: bool) -> bool:
        """Whether an extreme taught something; where others attain it nobody here needs to."""
        before = self.boxes = self.boxes.refined([answer])
        after = before.with_extreme(answer, int(answer.value))
        self.boxes = replace(after, extremes=before.extremes, implied=before.implied) if by_others else after
        return not (
            np.array_equal(before.low, after.low)
            and np.array_equal(before.high, after.high)
            and before.extremes == self.boxes.extremes
        )


class LocatedSoFar:
    """The records of one column, and what a growing set of true answers leaves of them."""

    def __init__(self, truth: Ints, top: int, standard: Standard) -> None:
        """Nothing is answered yet of the true values (n,) in units, 0 … top; insiders are not looked at."""
        self.truth, self.top, self.standard = truth.astype(np.int64), top, standard
        self._stated = _Stated(len(truth), top)
        self.answers: list[Answer] = []
        """Those that others do not settle, in order."""
        self.row_answers: list[int] = []
        """Which answer each row of the matrix is."""
        size = len(truth)
        self.by_integers: NDArray[np.int8] = np.zeros(size, dtype=np.int8)
        """(n,) KEEPS, APPROXIMATE or EXACT, by all that integers and attained extremes say."""
        self.by_reals: NDArray[np.int8] = np.zeros(size, dtype=np.int8)
        """(n,) the same by linear programs."""
        self.low: Ints = np.zeros(size, dtype=np.int64)
        """(n,) least value that is proved, in units; not always the greatest that could be. Also `high`."""
        self.high: Ints = np.full(size, top, dtype=np.int64)
        self.least: Ints = np.zeros(size, dtype=np.int64)
        """(n,) the same by boxes and one sum after the other alone, over the reals too. Also `most`."""
        self.most: Ints = self.high.copy()
        self.since_integers: Ints = np.zeros(size, dtype=np.int64)
        """(n,) how many answers were known when the state by integers was first what it is."""
        self.since_reals: Ints = np.zeros(size, dtype=np.int64)
        """(n,) the same by linear programs."""
        self.alone: dict[int, int] = {}
        """Answers about one record alone, by record; those of `fixed` have no row."""
        self.fixed: NDArray[np.bool_] = np.zeros(size, dtype=np.bool_)
        """(n,) records whose value an answer gave, and that have been taken out of all sums."""
        self.open: NDArray[np.bool_] = np.zeros(size, dtype=np.bool_)
        """(n,) neither shown to be located nor shown to keep the standard, with the work that was allowed."""
        self.looked: Ints = np.zeros(size, dtype=np.int64)
        """(n,) with how many answers it was last shown what a record's state is."""
        self.before = 0
        """How many answers were known after the last statement."""
        self.support: dict[int, set[int]] = {}
        """Answers that bear on an end of an interval, by record."""
        self.next_look = 0
        """From how many on a large system is looked at again."""
        self.changes = 0
        """Counts changes of what is known of records."""

    @property
    def known(self) -> Knowledge:
        """What the answers amount to, over records that are not fixed."""
        return self._stated.known

    @property
    def large(self) -> bool:
        """Whether there are too many atoms to look at everybody closely after each statement."""
        return self._stated.boxes.count > SMALL

    def copy(self) -> LocatedSoFar:
        """An independent one that knows the same."""
        twin = copy(self)
        twin.answers, twin.row_answers = list(self.answers), list(self.row_answers)
        twin.alone, twin.support = dict(self.alone), dict(self.support)
        for name in (*_ENDS, "fixed"):
            setattr(twin, name, getattr(self, name).copy())
        twin._stated = self._stated.copy()
        return twin

    @classmethod
    def again(
        cls,
        truth: Ints,
        top: int,
        standard: Standard,
        queries: Sequence[Query],
        states: dict[str, NDArray[Any]],
    ) -> LocatedSoFar:
        """One that was kept: the answers that it took, in their order, and what `states` gave."""
        so_far = cls(truth, top, standard)
        for query in queries:
            so_far._append(query)
        for name, kept in states.items():
            setattr(so_far, name, kept.copy())
        so_far._state_again()
        so_far.before = len(so_far.answers)
        return so_far

    @property
    def states(self) -> dict[str, NDArray[Any]]:
        """What `again` needs besides the answers."""
        return {name: getattr(self, name) for name in (*_ENDS, "fixed")}

    # --- answers

    def add(self, queries: Sequence[Query]) -> list[int]:
        """Take true answers; those that earlier ones settle linearly are not kept.

        Returns:
            Places of the queries that were kept, in the order of their answers.
        """
        if (self.by_reals == EXACT).all():
            return []
        new = [
            place
            for place, query in enumerate(queries)
            if len(query.members) > 1 or int(query.members[0]) not in self.alone
        ]
        single = [place for place in new if len(queries[place].members) == 1]
        fixed = self._fix(queries, single) if len(single) + len(self.alone) > MOST_ALONE else {}
        kept, new = list[int](), [place for place in new if place not in fixed]
        for each, answer in self._stated.take(self._over_others([queries[place] for place in new])):
            kept.append(new[each])
            if answer.kind == "sum":
                self.row_answers.append(len(self.answers))
            self._append(queries[new[each]])
            self._note(narrow(answer, self.least, self.most), {len(self.answers) - 1})
        if kept:
            self._note_settled()
        return [*fixed, *kept]

    def _append(self, query: Query) -> None:
        if len(query.members) == 1:
            self.alone.setdefault(int(query.members[0]), len(self.answers))
        self.answers.append(query.answered(int(query.of(self.truth))))

    def _over_others(self, queries: Sequence[Query]) -> list[tuple[int, Answer, bool]]:
        """Answers over records that are not fixed: place, answer, and whether a fixed record attains it.

        A sum is that of the others; an extreme is that of the whole query.
        """
        found = []
        for place, query in enumerate(queries):
            left = ~self.fixed[query.members]
            if not left.any():
                continue
            others, gone = query, query.members[~left]
            if len(gone):
                weights = None if query.coefficients is None else query.coefficients[left]
                others = Query(kind=query.kind, members=query.members[left], coefficients=weights)
            if query.kind == "sum":
                found.append((place, others.answered(int(others.of(self.truth))), False))
            else:
                value = int(query.of(self.truth))
                found.append((place, others.answered(value), bool((self.truth[gone] == value).any())))
        return found

    def _fix(self, queries: Sequence[Query], places: Sequence[int]) -> dict[int, None]:
        """Take out records whose values are given, so that thousands of them cost nothing; whose are new."""
        kept = dict[int, None]()
        for place in places:
            record = int(queries[place].members[0])
            if record not in self.alone:
                self._append(queries[place])
                kept[place] = None
        fixed = np.array(list(self.alone), dtype=np.int64)
        self.fixed[fixed] = True
        for ends in (self.low, self.high, self.least, self.most):
            ends[fixed] = self.truth[fixed]
        # a record that was located approximately before is so exactly since now
        for record in fixed[self.by_reals[fixed] + self.by_integers[fixed] < 2 * EXACT].tolist():
            self._rise(record, EXACT, self.alone[record] + 1)
        self.changes += 1
        self._state_again()
        return kept

    def _state_again(self) -> None:
        """State all answers anew, over records that are not fixed."""
        self._stated = _Stated(len(self.truth), self.top)
        if self.fixed.any():  # no answer will be about them
            apart = Query(kind="sum", members=np.flatnonzero(self.fixed))
            self._stated.boxes = self._stated.boxes.refined([apart])
        there = self._stated.take(self._over_others(self.answers))
        self.row_answers = [place for place, answer in there if answer.kind == "sum"]

    # --- what each answer shows at once

    def _note(self, records: Ints, answers: set[int]) -> None:
        """What it means that bounds of some records have become narrower with the last answer."""
        if not len(records):
            return
        self.changes += 1
        self.low[records] = np.maximum(self.low[records], self.least[records])
        self.high[records] = np.minimum(self.high[records], self.most[records])
        for record in records[self.most[records] - self.least[records] < self.standard.need].tolist():
            self.support[record] = self.support.get(record, set()) | answers
            state = state_between(self.least[record], self.most[record], self.standard, False)
            self._rise(record, state, len(self.answers))

    def _note_settled(self) -> None:
        """The records that equations alone leave one value, and since which answer."""
        settled = self._stated.span.settled()
        for record in settled[self.by_reals[settled] != EXACT].tolist():
            rows = self.combination([record])
            if rows:
                self.changes += 1
                for ends in (self.low, self.high, self.least, self.most):
                    ends[record] = self.truth[record]
                self._rise(record, EXACT, self._told(rows))

    def _told(self, rows: Sequence[tuple[int, Fraction]]) -> int:
        """With how many answers some sums were all known, and the rows that were read of others in them."""
        terms = [(self.answers[self.row_answers[row]], weight) for row, weight in rows]
        read = np.flatnonzero(added_up(terms, len(self.truth))[0].astype(np.bool_) & self.fixed)
        return 1 + max([self.row_answers[rows[-1][0]], *(self.alone[each] for each in read.tolist())])

    def _rise(self, record: int, state: int, since: int) -> None:
        """A record's state is at least this, by reals too, since so many answers."""
        if state > self.by_reals[record]:
            self.by_reals[record], self.since_reals[record] = state, since
        if state > self.by_integers[record]:
            self.by_integers[record], self.since_integers[record] = state, since
            self.open[record] = False

    # --- what proves it

    def combination(self, records: Sequence[int]) -> list[tuple[int, Fraction]]:
        """Which rows of the matrix add up to some records that are not fixed, and how: `Span.combination`."""
        return self._stated.span.combination(np.array(records, dtype=np.int64))

    def equation_of(self, record: int) -> list[tuple[int, Fraction]]:
        """The answers that add up to a record, with their weights; none where none do, or some are fixed."""
        if self.by_reals[record] != EXACT or self.fixed.any():
            return []
        rows = self.combination([record])
        return [(self.row_answers[row], weight) for row, weight in rows]

    def narrowed(self) -> Knowledge:
        """As `known`, with what is proved of single records as their boxes: programs over it are quicker."""
        known = self.known
        first, alone = known.members[0][known.members[1][:-1]], known.sizes == 1
        return replace(
            known,
            low=np.where(alone, np.maximum(known.low, self.low[first]), known.low),
            high=np.where(alone, np.minimum(known.high, self.high[first]), known.high),
        )

    def support_of(self, record: int) -> list[int]:
        """Answers that suffice for a record's interval, as far as they are known."""
        if self.by_reals[record] == EXACT:
            rows = self.combination([record])
            if rows:
                return sorted(self.row_answers[row] for row, _ in rows)
        return sorted(self.support.get(record, ()))


def narrow(answer: Answer, least: Ints, most: Ints) -> Ints:
    """Narrow bounds (n,) over the reals by what one answer alone says of its records, in place.

    Returns:
        The records whose bounds are narrower than before.
    """
    members, value = answer.members, int(answer.value)
    low, high = least[members], most[members]
    if answer.kind == "max":
        most[members] = np.minimum(high, value)
    elif answer.kind == "min":
        least[members] = np.maximum(low, value)
    else:
        weights = np.ones(len(members), np.int64) if answer.coefficients is None else answer.coefficients
        starts, values = np.array([0, len(members)]), np.array([value])
        narrow_by_sums(starts, members, weights.astype(np.int64), values, least, most, LARGEST)
    found: Ints = members[(least[members] > low) | (most[members] < high)]
    return found
