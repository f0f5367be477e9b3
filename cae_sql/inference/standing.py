"""Who has been located by true answers, answer by answer: for whoever has the true table and looks back.

A gate asks who *would* be located, and may not look at the values. Here they are given, so the true table is
a world that agrees with every answer; moves from it show at once who keeps the standard. Programs are asked
only about those whom no world found so far shows to keep it, and each world found is kept as long as later
answers agree with it. What is located stays so: knowledge only grows.

Source: `mathematics.md`, 2 and 4.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import ceil, floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference.answers import Answer, Ints, Query
from cae_sql.inference.bounds import LARGE, Exact
from cae_sql.inference.combination import Combinations
from cae_sql.inference.judging import Standard
from cae_sql.inference.knowledge import Knowledge
from cae_sql.inference.middle import Middle
from cae_sql.inference.sieves import Sifted
from cae_sql.inference.since import Judge, Since

KEEPS, APPROXIMATE, EXACT = 0, 1, 2
"""What is known of a record: it keeps the standard as far as known, less remains, one value remains."""
SECONDS = 60.0
"""For the integer programs after one statement; who is left then is open."""
SMALL, LARGE_SECONDS = 400, 3.0
"""Systems of more atoms than this are too large to be stated whole, and time helps them little."""
GROWTH = 1.25
"""Large systems are looked at whenever there are so many times the answers of the last time."""
MOST_ALONE = 256
"""Answers about one record alone up to which each has a row; with more they are taken out of the sums."""
_ENDS = ("by_integers", "by_reals", "low", "high", "since_integers", "since_reals", "open", "looked")


def state_of(values: Ints, standard: Standard) -> int:
    """What it means that only these values (units, ascending) remain of a record."""
    if len(values) == 1:
        return EXACT
    width = int(values[-1] - values[0])
    if width >= standard.need and width == len(values) - 1:
        return KEEPS
    return KEEPS if standard.accepts is not None and standard.accepts(values) else APPROXIMATE


def state_by_reals(least: Exact, most: Exact, state_of: Callable[[Ints], int]) -> int:
    """What an interval over the reals means; one value only where both ends are that value.

    Where the ends leave one value because no other lies on the grid, the grid has a part in it: by reals
    alone the record is located approximately.
    """
    state = state_of(np.arange(ceil(least), floor(most) + 1))
    return state if least == most else min(state, APPROXIMATE)


class Standing:
    """The records of one column, and what a growing set of true answers leaves of them."""

    def __init__(self, truth: Ints, top: int, standard: Standard) -> None:
        """Nothing is answered yet.

        Args:
            truth: (n,) the true values in units, 0 … top.
            top: Greatest value of the domain, in units.
            standard: What everybody must keep; its insiders are not looked at.
        """
        self.truth, self.top, self.standard = truth.astype(np.int64), top, standard
        self.known = Knowledge.nothing(len(truth), top)
        self.answers: list[Answer] = []
        """Independent ones, in order."""
        self.row_answers: list[int] = []
        """Which answer each row of the matrix is."""
        size = len(truth)
        self.by_integers: NDArray[np.int8] = np.zeros(size, dtype=np.int8)
        """(n,) KEEPS, APPROXIMATE or EXACT, by all that integers and attained extremes say."""
        self.by_reals: NDArray[np.int8] = np.zeros(size, dtype=np.int8)
        """(n,) the same by linear programs."""
        self.low: Ints = np.zeros(size, dtype=np.int64)
        """(n,) least value that is proved, in units; not always the greatest that could be."""
        self.high: Ints = np.full(size, top, dtype=np.int64)
        self.since_integers: Ints = np.zeros(size, dtype=np.int64)
        """(n,) how many answers were known when the state by integers was first what it is."""
        self.since_reals: Ints = np.zeros(size, dtype=np.int64)
        """(n,) the same by linear programs."""
        self.alone: dict[int, int] = {}
        """Answers about one record alone, by record; those of `fixed` have no row."""
        self.fixed: NDArray[np.bool_] = np.zeros(size, dtype=np.bool_)
        """(n,) records whose value an answer gave, and that have been taken out of all sums."""
        self.open: NDArray[np.bool_] = np.zeros(size, dtype=np.bool_)
        """(n,) neither shown to be located nor shown to keep the standard, in the time there was."""
        self.looked: Ints = np.zeros(size, dtype=np.int64)
        """(n,) how many answers were known when a record was last looked at."""
        self.before = 0
        """How many answers were known at the last look."""
        self.support: dict[int, set[int]] = {}
        """Answers that proved an end of an interval in large systems, by the first record of an atom."""
        self._combinations: tuple[Knowledge, Combinations] | None = None
        self._next = 0
        """From how many on a large system is looked at again."""
        self.worlds: NDArray[np.int64] = np.zeros((0, size), dtype=np.int64)
        """(w, n) tables that agree with all answers, kept because they show who keeps the standard."""
        self.middle = Middle(size)
        """A table of reals inside all that is known."""
        self._sifted = Sifted()

    def copy(self) -> Standing:
        """An independent one that knows the same."""
        twin = Standing.__new__(Standing)
        twin.__dict__.update(self.__dict__)
        twin.answers, twin.row_answers = list(self.answers), list(self.row_answers)
        twin.alone, twin.support = dict(self.alone), dict(self.support)
        for name in (*_ENDS, "fixed", "worlds"):
            setattr(twin, name, getattr(self, name).copy())
        twin._sifted, twin.middle = Sifted(), self.middle.copy()
        return twin

    @classmethod
    def again(
        cls,
        truth: Ints,
        top: int,
        standard: Standard,
        queries: Sequence[Query],
        states: dict[str, NDArray[Any]],
    ) -> Standing:
        """One that was kept: the answers that it took, in their order, and what `states` gave."""
        standing = cls(truth, top, standard)
        for query in queries:
            standing._append(query, int(query.of(standing.truth)))
        for name, kept in states.items():
            setattr(standing, name, kept.copy())
        if standing.fixed.any():
            apart = Query(kind="sum", members=np.flatnonzero(standing.fixed))
            standing.known = standing.known.refined([apart])
        standing._again(standing.answers)
        standing.before = len(standing.answers)
        return standing

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
        values = [int(query.of(self.truth)) for query in queries]
        new = [place for place, query in enumerate(queries) if not self._spanned(query)]
        single = [place for place in new if len(queries[place].members) == 1]
        kept = self._fix(queries, values, single) if len(single) + len(self.alone) > MOST_ALONE else []
        taken = set(kept)
        kept += self._take(queries, values, [place for place in new if place not in taken])
        if kept:
            self._sifted = Sifted()
            agree = np.ones(len(self.worlds), dtype=np.bool_)
            for place in kept:
                agree &= queries[place].of(self.worlds) == values[place]
            self.worlds = self.worlds[agree]
        return kept

    def _take(self, queries: Sequence[Query], values: Sequence[int], new: Sequence[int]) -> list[int]:
        reduced = {place: self._reduced(queries[place]) for place in new}
        fresh = [query for query in reduced.values() if query is not None]
        if not fresh:
            return []
        kept: list[int] = []
        known = self.known.refined(fresh, self._room(self.known))
        room = self._room(known)
        for place, query in reduced.items():
            if query is None:
                continue
            if query.kind == "sum":
                known, independent = known.with_sum(query, room)
                if not independent:
                    continue
                self.row_answers.append(len(self.answers))
            else:
                before = known
                known = self._with_extreme(known, queries[place], query, values[place])
                if _same(before, known):
                    continue
            kept.append(place)
            self._append(queries[place], values[place])
        self.known = known
        return kept

    def _append(self, query: Query, value: int) -> None:
        if len(query.members) == 1:
            self.alone.setdefault(int(query.members[0]), len(self.answers))
        self.answers.append(query.answered(value))

    def _with_extreme(self, known: Knowledge, asked: Query, query: Query, value: int) -> Knowledge:
        """An extreme over those that are not fixed; where one that is has it, nobody else needs to."""
        gone = np.setdiff1d(asked.members, query.members, assume_unique=True)
        if not len(gone) or not (self.truth[gone] == value).any():
            return known.with_extreme(query, value)
        atoms = np.unique(known.atoms.labels[query.members])
        low, high = known.low.copy(), known.high.copy()
        if query.kind == "max":
            high[atoms] = np.minimum(high[atoms], value)
        else:
            low[atoms] = np.maximum(low[atoms], value)
        return replace(known, low=low, high=high)

    def _reduced(self, query: Query) -> Query | None:
        """A query over those that are not fixed; None where nobody is left."""
        left = ~self.fixed[query.members]
        if left.all():
            return query
        if not left.any():
            return None
        weights = None if query.coefficients is None else query.coefficients[left]
        return Query(kind=query.kind, members=query.members[left], coefficients=weights)

    def _fix(self, queries: Sequence[Query], values: Sequence[int], places: Sequence[int]) -> list[int]:
        """Take out records whose values are given, so that thousands of them cost nothing."""
        kept = []
        for place in places:
            record = int(queries[place].members[0])
            if record not in self.alone:
                self._append(queries[place], values[place])
                kept.append(place)
        self.fixed[list(self.alone)] = True
        self.by_reals[self.fixed] = self.by_integers[self.fixed] = EXACT
        self.low[self.fixed] = self.high[self.fixed] = self.truth[self.fixed]
        for record in np.flatnonzero(self.fixed).tolist():
            if not self.since_reals[record]:
                self.since_reals[record] = self.since_integers[record] = self.alone[record] + 1
        answers, self.answers, self.row_answers = self.answers, [], []
        apart = Query(kind="sum", members=np.flatnonzero(self.fixed))
        self.known = Knowledge.nothing(len(self.truth), self.top).refined([apart])
        alone = dict(self.alone)
        self._again(answers)
        self.answers, self.alone = answers, alone
        return kept

    def _again(self, answers: Sequence[Answer]) -> None:
        """State earlier answers anew, all at once."""
        reduced = [(number, self._reduced(answer)) for number, answer in enumerate(answers)]
        there = [(number, query) for number, query in reduced if query is not None]
        known = self.known.refined([query for _, query in there])
        room = self._room(known)
        for number, query in there:
            if query.kind == "sum":
                known, independent = known.with_sum(query, room)
                if independent:
                    self.row_answers.append(number)
            else:
                known = self._with_extreme(known, answers[number], query, int(answers[number].value))
        self.known = known

    def _spanned(self, query: Query) -> bool:
        """Whether a sum is seen to be settled linearly, without refining anything."""
        if len(query.members) == 1 and int(query.members[0]) in self.alone:
            return True
        if self.fixed[query.members].any():
            return False  # who is left of them decides
        return query.kind == "sum" and self._sifted.spans(self.known, query)

    def _totals(self, known: Knowledge) -> Ints:
        totals: Ints = known.totals(self.truth[None])[0]
        return totals

    def _room(self, known: Knowledge) -> NDArray[np.float64]:
        return known.room(self._totals(known)[None])

    # --- who is located

    def assess(self, seconds: float = SECONDS, whole: bool = False) -> None:
        """Find who is located now.

        In large systems only records near to the last answers are looked at, unless all are asked for.
        Whoever is found later than that gets the time when it first was so all the same.

        Args:
            seconds: For integer programs; linear ones are not limited.
            whole: Whether everybody is looked at.
        """
        from cae_sql.inference.locating import Locating

        if not whole and self.known.count > SMALL and len(self.answers) < self._next:
            return  # whoever is found later gets the time when it first was so
        self._next = int(len(self.answers) * GROWTH) + 1
        before = self.by_integers.copy(), self.by_reals.copy()
        allowed = seconds if self.known.count <= SMALL else min(seconds, LARGE_SECONDS)
        look = Locating(self, time.monotonic() + allowed, whole)
        look.run()
        loose, labels = ~self.fixed, self.known.atoms.labels
        first = self.known.members[0][self.known.members[1][:-1]]
        skipped = look.skipped
        for ends in (self.by_integers, self.by_reals, self.low, self.high, self.open, skipped):
            ends[loose] = ends[first][labels][loose]
        now = len(self.answers)
        integers, reals = self.by_integers != before[0], self.by_reals != before[1]
        self.since_integers[integers], self.since_reals[reals] = now, now
        late = (self.looked < self.before) & loose
        self._look_back(np.flatnonzero(integers & late), np.flatnonzero(reals & late), look.state)
        self.looked[~skipped] = now
        self.before = now

    def support_of(self, record: int) -> list[int]:
        """Answers that suffice for a record's interval in a large system, as far as they are known."""
        atom = int(self.known.atoms.labels[record])
        if self.by_reals[record] == EXACT:
            if self._combinations is None or self._combinations[0] is not self.known:
                self._combinations = self.known, Combinations(self.known)
            rows = self._combinations[1].of(atom)
            if rows:
                return sorted(self.row_answers[row] for row in rows)
        first = int(self.known.members[0][self.known.members[1][atom]])
        return sorted(self.support.get(first, ()))

    def _look_back(self, integers: Ints, reals: Ints, state_of: Callable[[Ints], int]) -> None:
        """When records were located, by integers and by reals, that have not been looked at since."""
        back = Since(len(self.truth), self.top, self.answers)
        large = self.known.count > LARGE

        def since(record: int, state: int, judge: Judge) -> int:
            before, now = int(self.looked[record]), len(self.answers)
            if large:
                return back.by_few(record, state, judge, before, now, self.support_of(record))
            return back.by_reals(record, state, judge, before, now)

        def by_reals(least: Exact, most: Exact) -> int:
            return state_by_reals(least, most, state_of)

        def on_the_grid(least: Exact, most: Exact) -> int:
            return state_of(np.arange(ceil(least), floor(most) + 1))

        for record in reals.tolist():
            self.since_reals[record] = since(record, int(self.by_reals[record]), by_reals)
        known = set(reals.tolist())
        for record in integers.tolist():
            state = int(self.by_integers[record])
            if state == int(self.by_reals[record]) and record in known:
                self.since_integers[record] = self.since_reals[record]
            elif self.by_reals[record] != KEEPS:
                # where rounding does not show it, integer programs do: known from now on
                self.since_integers[record] = since(record, state, on_the_grid)


def _same(before: Knowledge, after: Knowledge) -> bool:
    """Whether an extreme has taught nothing."""
    return (
        np.array_equal(before.low, after.low)
        and np.array_equal(before.high, after.high)
        and before.extremes == after.extremes
    )
