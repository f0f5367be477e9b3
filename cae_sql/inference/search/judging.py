"""Whether every record keeps a standard, by searches record by record in small systems.

Each must be shown to keep a long enough run of values, or an exactly known set that will do. `Question` asks
the roomy table first, which judges everybody at once. Source: `mathematics.md`, 4.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cae_sql.cached import cached_property
from cae_sql.errors import OutOfTime
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.constraints import is_world
from cae_sql.inference.facts.extremes import without_ties
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Ints, Query
from cae_sql.inference.search.pairs import keep_beside_insiders
from cae_sql.inference.search.records import grow
from cae_sql.inference.search.runs import Runs
from cae_sql.inference.search.unimodular import exactly
from cae_sql.inference.standard import Effort, Judgement, Standard
from cae_sql.inference.tables.pool import Pool
from cae_sql.inference.tables.programs import any_world


class Search:
    """Judgements by searches record by record, from worlds of a small system."""

    def __init__(self, pool: Pool, queries: Sequence[Query]) -> None:
        assert pool.knowledge is not None
        self.pool, self.queries, self._coarse = pool, list(queries), pool.knowledge

    @cached_property
    def _refined(self) -> tuple[Knowledge, list[int]]:
        """Knowledge with all sums added, and the places of those that no others tell: the last ones of it."""
        known = self._coarse.refined(self.queries)
        totals = known.totals(self.pool.values)
        sums = [place for place, query in enumerate(self.queries) if query.kind == "sum"]
        known, fresh = known.with_sums([self.queries[place] for place in sums], totals[0])
        return known.rebased(totals), [sums[each] for each in fresh.tolist()]

    @property
    def settled(self) -> list[int | None]:
        """The values of the queries that past answers settle."""
        fresh, found = self._refined[1], list[int | None]()
        for place, query in enumerate(self.queries):
            values = query.of(self.pool.values)
            if query.kind != "sum":
                # asked before the partition is refined: an answer about fewer records is new
                found.append(self._coarse.forced_extreme(query))
            else:
                found.append(None if place in fresh or np.ptp(values) else int(values[0]))
        return found

    def known_with(self, values: Sequence[int]) -> tuple[Knowledge, Ints]:
        """Knowledge with these answers, one per query, and the right-hand sides of its sums."""
        known, fresh = self._refined
        sums: Ints = known.matrix @ known.totals(self.pool.values[:1])[0]
        if fresh:
            sums[-len(fresh) :] = [values[place] for place in fresh]
        for query, value in zip(self.queries, values, strict=True):
            if query.kind != "sum":
                known = known.with_extreme(query, value)
        return known, sums

    def exactly(self, values: Sequence[int], standard: Standard, allowance: Allowance) -> Judgement | None:
        """What answers, one per query, leave to all where sums are such that it is known exactly; or None."""
        if any(query.kind != "sum" for query in self.queries):
            return None
        known, sums = self.known_with(values)
        table = known.totals(self.pool.values[:1])[0]
        found = exactly(known, sums, table, standard.need, standard.insiders, allowance)
        # a set of values may do where no run does
        lost = found is not None and not found.safe and not standard.insiders
        return None if lost and standard.accepts is not None else found

    def judge(
        self,
        values: Sequence[int],
        worlds: Sequence[int],
        standard: Standard,
        allowance: Allowance,
        effort: Effort,
    ) -> Judgement:
        """As `Question.judge`, from worlds with these answers."""
        known, those = self.known_with(values)[0], self.pool.values[list(worlds)]
        return judge(known, known.totals(those), standard, allowance, effort)


def judge(
    known: Knowledge, totals: Ints, standard: Standard, allowance: Allowance, effort: Effort | None = None
) -> Judgement:
    """Whether every record keeps the standard, in all worlds and in the reading without ties.

    `totals` (w, p) are worlds that agree with all answers.
    """
    effort = Effort() if effort is None else effort
    first = judge_reading(known, totals, standard, allowance, effort)
    if not first.safe or not known.extremes:
        return first
    try:
        for reading in without_ties(known):
            sums = reading.matrix @ totals[0]
            found = [world for world in totals if is_world(reading, world, sums)]
            if not found and (world := any_world(reading, sums, allowance)) is not None:
                found = [world]
            if found:
                # the strictest reading that some table agrees with is the one an intruder takes
                second = judge_reading(reading, np.array(found), standard, allowance, effort)
                return Judgement(second.safe, min(first.width, second.width), first.sets + second.sets)
    except OutOfTime:
        return Judgement(False, 0)
    return first


def judge_reading(
    known: Knowledge, totals: Ints, standard: Standard, allowance: Allowance, effort: Effort
) -> Judgement:
    """As `judge`, of extremes as they are answered: ties are possible."""
    accepts = None if standard.insiders else standard.accepts
    if known.narrowest < standard.need and accepts is None:
        return Judgement(False, known.narrowest)
    runs = Runs(known, standard.need, allowance, effort)
    runs.absorb_some(totals)
    safe = bool(runs.worlds) and (not runs.lacking.any() or grow(runs, accepts))
    if safe and standard.insiders:
        return keep_beside_insiders(runs)
    widths = (runs.high - runs.low)[~runs.accepted]
    sets = {tuple(values.tolist()) for values in runs.exact.values()}
    return Judgement(safe, int(widths.min()) if len(widths) else standard.need, tuple(sets))
