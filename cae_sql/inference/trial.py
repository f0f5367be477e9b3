"""What if these queries were answered? The question a decision asks, for hypothetical answers and true ones.

A trial belongs to a system and a few queries asked together. Hypothetical answers are those of worlds in the
pool, so nothing about them comes from the true table. Each set of answers is judged alike: is every record
shown to keep a long enough run of values, or an exactly known set that will do (`mathematics.md`, 4)?
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cae_sql.errors import OutOfTime
from cae_sql.inference.answers import Answer, Ints, Query
from cae_sql.inference.knowledge import Knowledge
from cae_sql.inference.programs import any_world, is_world
from cae_sql.inference.runs import Effort, Runs
from cae_sql.inference.search import Accepts, grow
from cae_sql.inference.ties import without_ties
from cae_sql.inference.worlds import Pool

LARGE_ENTRY = 4
"""Tableau entries beyond this make a new choice of pivots worth its time ..."""
REBASE_WORK = 2 * 10**8
"""... up to so many elementary steps."""


@dataclass(frozen=True)
class Standard:
    """What every record must keep."""

    need: int
    """Width in units that a run must have: greatest minus least value."""
    accepts: Accepts | None = None
    """Whether an exactly known set of values (units, ascending) will do although no run is long enough."""


@dataclass(frozen=True)
class Judgement:
    """Whether everybody keeps the standard, with some answers known."""

    safe: bool
    """Everybody was shown to."""
    width: int
    """The shortest run found, greatest minus least value in units; of a failed search what it had by then."""
    sets: tuple[tuple[int, ...], ...] = ()
    """Exactly known sets (units) of those who keep the standard by them, whom `width` leaves out."""


class Trial:
    """Some queries, asked together of a system, before anything about their answers is known."""

    def __init__(self, pool: Pool, queries: Sequence[Query]) -> None:
        """Refine what is known by the queries' sets.

        Args:
            pool: The system's pool; not changed.
            queries: In the order in which they would be answered.
        """
        self.pool = pool
        self.queries = list(queries)
        self.known, self.settled = self._refine()

    def _refine(self) -> tuple[Knowledge, list[int | None]]:
        """Knowledge with all sums added, and the values that are already settled."""
        coarse = self.pool.knowledge
        # what is settled is asked before the partition is refined: an answer about fewer records is new
        settled: list[int | None] = [
            None if query.kind == "sum" else coarse.forced_extreme(query) for query in self.queries
        ]
        known = coarse.refined(self.queries, coarse.room(coarse.totals(self.pool.values)))
        totals = known.totals(self.pool.values)
        room = known.room(totals)
        for place, query in enumerate(self.queries):
            if query.kind == "sum":
                known, fresh = known.with_sum(query, room)
                values = query.of(self.pool.values)
                if not fresh and (values == values[0]).all():
                    settled[place] = int(values[0])
        return self._with_better_basis(known, totals), settled

    def _with_better_basis(self, known: Knowledge, totals: Ints) -> Knowledge:
        """Rows that came one by one leave large entries behind; choosing all pivots at once mends it."""
        rows, count = known.matrix.shape
        entries = known.tableau.entries
        if entries.size and np.abs(entries).max() > LARGE_ENTRY and rows * rows * count < REBASE_WORK:
            return known.rebased(totals)
        return known

    @property
    def derivable(self) -> bool:
        """Whether past answers already settle every query."""
        return all(value is not None for value in self.settled)

    def hypothetical(self, count: int) -> dict[tuple[int, ...], list[int]]:
        """The answers that the first worlds of the pool give, with the worlds that give them."""
        worlds = self.pool.values[:count]
        columns = [query.of(worlds) for query in self.queries]
        found: dict[tuple[int, ...], list[int]] = {}
        for place, values in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
            found.setdefault(tuple(values), []).append(place)
        return found

    def judge(
        self,
        values: Sequence[int],
        worlds: Sequence[int],
        standard: Standard,
        deadline: float,
        effort: Effort,
    ) -> Judgement:
        """Judge hypothetical answers.

        Args:
            values: One answer per query, in units.
            worlds: Worlds of the pool that give them.
            standard: What everybody must keep.
            deadline: `time.monotonic()` after which nothing more is tried.
            effort: Integer programs allowed.
        """
        known = self._with_extremes(values)
        return judge(known, known.totals(self.pool.values[list(worlds)]), standard, deadline, effort)

    def _with_extremes(self, values: Sequence[int]) -> Knowledge:
        known = self.known
        for query, value in zip(self.queries, values, strict=True):
            if query.kind != "sum":
                known = known.with_extreme(query, value)
        return known

    def learn(self, values: Sequence[int], deadline: float) -> Pool:
        """A pool that agrees with the answers too; the system's own is left as it is.

        Raises:
            InconsistentAnswers: no world agrees.
            OutOfTime: none was found in time.
        """
        pool = self.pool.copy()
        pool.learn(self.answers(values), deadline)
        pool.rebase()
        pool.mix(list(range(len(pool.values))), 3)
        return pool

    def answers(self, values: Sequence[int]) -> list[Answer]:
        """The queries with their answers."""
        return [query.answered(value) for query, value in zip(self.queries, values, strict=True)]


def judge(
    known: Knowledge, totals: Ints, standard: Standard, deadline: float, effort: Effort | None = None
) -> Judgement:
    """Whether every record keeps the standard, in all worlds and in the reading without ties.

    Args:
        known: All answers.
        totals: (w, p) worlds that agree with them.
        standard: What everybody must keep.
        deadline: `time.monotonic()` after which nothing more is tried.
        effort: Integer programs allowed; an allowance of its own where none is given.
    """
    effort = Effort() if effort is None else effort
    first = _judge_reading(known, totals, standard, deadline, effort)
    if not first.safe or not known.extremes:
        return first
    try:
        for reading in without_ties(known):
            found = _worlds_of(reading, totals, deadline)
            if found is None:
                continue
            second = _judge_reading(reading, found, standard, deadline, effort)
            # the strictest reading that some table agrees with is the one an intruder takes
            return Judgement(second.safe, min(first.width, second.width), first.sets + second.sets)
    except OutOfTime:
        return Judgement(False, 0)
    return first


def _judge_reading(
    known: Knowledge, totals: Ints, standard: Standard, deadline: float, effort: Effort
) -> Judgement:
    if (known.high - known.low < standard.need).any() and standard.accepts is None:
        return Judgement(False, int((known.high - known.low).min()))
    runs = Runs(known, standard.need, deadline, effort)
    for world in totals:
        runs.absorb(world)
        if not len(runs.short):
            break
    safe = bool(runs.worlds) and (not len(runs.short) or grow(runs, standard.accepts))
    widths = (runs.high - runs.low)[~runs.accepted]
    sets = {tuple(values.tolist()) for values in runs.exact.values()}
    return Judgement(safe, int(widths.min()) if len(widths) else standard.need, tuple(sets))


def _worlds_of(reading: Knowledge, totals: Ints, deadline: float) -> Ints | None:
    """Worlds of a narrower reading: those given that obey it, else one found; None where there is none."""
    sums = reading.matrix @ totals[0]
    obeying = [world for world in totals if is_world(reading, world, sums)]
    if obeying:
        return np.array(obeying)
    found = any_world(reading, sums, min(deadline, time.monotonic() + 5.0))
    return None if found is None else found[None]
