"""Whether every record keeps a standard: judgements by searches record by record, in small systems.

Each set of answers is judged alike: is every record shown to keep a long enough run of values, or an exactly
known set that will do (`mathematics.md`, 4)? `Question` asks the roomy table first, which judges everybody at
once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

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
        """Take note; what is known is refined when it is first needed."""
        assert pool.knowledge is not None
        self.pool, self.queries, self._known = pool, list(queries), pool.knowledge
        self._refined: tuple[Knowledge, list[int | None]] | None = None
        self.fresh: list[int] = []
        """Places of the sums that no others tell: in this order they are the last of `known`."""

    @property
    def known(self) -> Knowledge:
        """Knowledge with all sums added."""
        return self._refine()[0]

    @property
    def settled(self) -> list[int | None]:
        """The values that are settled already."""
        return self._refine()[1]

    def _refine(self) -> tuple[Knowledge, list[int | None]]:
        if self._refined is not None:
            return self._refined
        coarse = self._known
        # what is settled is asked before the partition is refined: an answer about fewer records is new
        settled: list[int | None] = [
            None if query.kind == "sum" else coarse.forced_extreme(query) for query in self.queries
        ]
        known = coarse.refined(self.queries)
        totals = known.totals(self.pool.values)
        sums = [place for place, query in enumerate(self.queries) if query.kind == "sum"]
        known, fresh = known.with_sums([self.queries[place] for place in sums], totals[0])
        self.fresh = [sums[each] for each in fresh.tolist()]
        for place in set(sums) - set(self.fresh):
            values = self.queries[place].of(self.pool.values)
            if (values == values[0]).all():
                settled[place] = int(values[0])
        self._refined = known.rebased(totals), settled
        return self._refined

    def known_with(self, values: Sequence[int]) -> tuple[Knowledge, Ints]:
        """Knowledge with these answers, one per query, and the right-hand sides of its sums."""
        known = self.known
        sums: Ints = known.matrix @ known.totals(self.pool.values[:1])[0]
        if self.fresh:
            sums[-len(self.fresh) :] = [values[place] for place in self.fresh]
        for query, value in zip(self.queries, values, strict=True):
            if query.kind != "sum":
                known = known.with_extreme(query, value)
        return known, sums

    def exactly(self, values: Sequence[int], standard: Standard, allowance: Allowance) -> Judgement | None:
        """What answers leave to all, where the sums are such that it is known exactly; else None.

        Args:
            values: One answer per query, in units; no table need be at hand.
            standard: What everybody must keep.
            allowance: What may be spent.
        """
        if any(query.kind != "sum" for query in self.queries):
            return None
        known, sums = self.known_with(values)
        table = known.totals(self.pool.values[:1])[0]
        found = exactly(known, sums, table, standard.need, standard.insiders, allowance)
        if found is None or (not found.safe and not standard.insiders and standard.accepts is not None):
            return None  # a set of values may do where no run does
        return Judgement(found.safe, found.width, certain=not found.safe and found.certain)

    def judge(
        self,
        values: Sequence[int],
        worlds: Sequence[int],
        standard: Standard,
        allowance: Allowance,
        effort: Effort,
    ) -> Judgement:
        """As `Question.judge`."""
        known, those = self.known_with(values)[0], self.pool.values[list(worlds)]
        return judge(known, known.totals(those), standard, allowance, effort)


def judge(
    known: Knowledge, totals: Ints, standard: Standard, allowance: Allowance, effort: Effort | None = None
) -> Judgement:
    """Whether every record keeps the standard, in all worlds and in the reading without ties.

    Args:
        known: All answers.
        totals: (w, p) worlds that agree with them.
        standard: What everybody must keep.
        allowance: What may be spent; nothing more is tried beyond it.
        effort: Integer programs allowed; an allowance of its own where none is given.
    """
    effort = Effort() if effort is None else effort
    first = judge_reading(known, totals, standard, allowance, effort)
    if not first.safe or not known.extremes:
        return first
    try:
        for reading in without_ties(known):
            found = _worlds_of(reading, totals, allowance)
            if found is None:
                continue
            second = judge_reading(reading, found, standard, allowance, effort)
            # the strictest reading that some table agrees with is the one an intruder takes
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
    safe = bool(runs.worlds) and (not len(runs.short) or grow(runs, accepts))
    if safe and standard.insiders:
        return keep_beside_insiders(runs)
    widths = (runs.high - runs.low)[~runs.accepted]
    sets = {tuple(values.tolist()) for values in runs.exact.values()}
    return Judgement(safe, int(widths.min()) if len(widths) else standard.need, tuple(sets))


def _worlds_of(reading: Knowledge, totals: Ints, allowance: Allowance) -> Ints | None:
    """Worlds of a narrower reading: those given that obey it, else one found; None where there is none."""
    sums = reading.matrix @ totals[0]
    obeying = [world for world in totals if is_world(reading, world, sums)]
    if obeying:
        return np.array(obeying)
    found = any_world(reading, sums, allowance)
    return None if found is None else found[None]
