"""What if these queries were answered? Hypothetical answers are judged, and true ones.

A question belongs to a system and a few queries asked together; the system is left as it is by whatever is
asked of it, until answers are accepted. Hypothetical answers are those of worlds in the pool, so nothing
about them comes from the true table. Each set of answers is judged alike: is every
record shown to keep a long enough run of values, or an exactly known set that will do (`mathematics.md`, 4)?
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cae_sql.cached import cached_property
from cae_sql.errors import OutOfTime
from cae_sql.inference.allowance import UNLIMITED, Allowance
from cae_sql.inference.certify.certain import CELLS, Row, narrowest, rows_of
from cae_sql.inference.certify.evidence import Evidence, Sums, Terms
from cae_sql.inference.certify.learned import Learned, guided, kept
from cae_sql.inference.certify.overlap import Overlap
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Ints, Query
from cae_sql.inference.facts.ranges import Bound
from cae_sql.inference.search.judging import Search
from cae_sql.inference.standard import Effort, Judgement, Standard
from cae_sql.inference.tables.pool import Pool, drawn_extremes
from cae_sql.inference.tables.question_tables import QuestionTables
from cae_sql.inference.tables.roomy_table import RoomyTable

MOST_SEARCHED = 256
"""Records, at most, that are searched one by one, or in pairs: with more it takes long and shows hardly
anything beyond what is shown of everybody at once."""
MOST_PAIRED = 2
"""Width, in units, up to which pairs of a record and an insider are searched: of wider runs nothing was won
beside what is known exactly and of everybody at once, in up to nine times the time; of two values much."""


class Conditions(NamedTuple):
    """How tables that are looked at keep what ranges of statistics say."""

    held: Sequence[Query] = ()
    """The held records, by interval."""
    table: Ints | None = None
    """(n,) one that keeps them, to look around first; the roomy one may not."""
    bounds: Sequence[Bound] = ()
    """Ranges that are kept by a margin."""
    known: bool = True
    """Whether any such table is known; else nothing can be shown."""

    @property
    def plain(self) -> bool:
        """Whether there are no such ranges."""
        return self.known and not self.held and not self.bounds


NO_CONDITIONS = Conditions()


class Question:
    """Some queries, asked together of a system, before anything about their answers is known.

    First the roomy table is asked, which judges everybody at once; what it leaves open in a small system goes
    to searches record by record.
    """

    def __init__(
        self,
        roomy_table: RoomyTable,
        pool: Pool,
        queries: Sequence[Query],
        conditions: Conditions = NO_CONDITIONS,
    ) -> None:
        """Refine what is known by the queries' sets.

        Args:
            roomy_table: The system's; not changed.
            pool: The system's worlds; not changed.
            queries: In the order in which they would be answered.
            conditions: How tables keep ranges of statistics: searches record by record know nothing of it.
        """
        self.roomy_table, self.pool = roomy_table, pool
        self.queries, self.conditions = list(queries), conditions
        self._records = Search(pool, queries) if pool.knowledge is not None else None
        # searches know of records alone, not of what a unit has together
        by_record = conditions.plain and roomy_table.boxes.atoms.units is None
        self._search = self._records if by_record else None
        kept = () if conditions.plain or not conditions.known else conditions[:3]
        self.question_tables = QuestionTables(roomy_table, self.queries, *kept)
        self.overlap = Overlap(self.question_tables, self.queries, conditions.plain)
        self.evidence = Evidence(self.question_tables)
        self.settled: list[int | None] = [None] * len(self.queries)
        if self.question_tables.usable:
            self.settled = self.question_tables.settled
        elif self._search is not None:
            self.settled = self._search.settled
        plain = conditions.plain or not self.queries or QuestionTables(roomy_table, self.queries).usable
        if not (conditions.known and plain):
            # what could not be learned afterwards is not asked: nothing would be shown from then on
            self.question_tables.usable = False
        self._exact: dict[tuple[tuple[int, ...], Standard], Judgement | None] = {}
        """What is known without a search."""

    @property
    def current(self) -> bool:
        """Whether the roomy table is as it was when the question was made."""
        return self.question_tables.current

    @property
    def derivable(self) -> bool:
        """Whether past answers already settle every query."""
        return all(value is not None for value in self.settled)

    # --- how answers are judged

    def is_searched(self, standard: Standard) -> bool:
        """Whether searches record by record follow where the roomy table leaves somebody open."""
        most = MOST_PAIRED if self.roomy_table.ways.paired_search else 0
        return self._is_small and (not standard.insiders or standard.need <= most)

    def is_one_by_one(self, standard: Standard) -> bool:
        """Whether each hypothetical answer is judged by itself: by a search, or known without one.

        Of all other sums one look judges those between two answers, too.
        """
        if self.is_searched(standard) or not self._is_small:
            return self._is_small
        # whether what the sums leave is known without a search, as seen at the answers of a world
        values = tuple(int(query.of(self.pool.values[:1])[0]) for query in self.queries)
        found = self._exactly(values, standard, UNLIMITED)
        return found is not None and (found.safe or found.certain)

    @property
    def _is_small(self) -> bool:
        """Whether there are few enough records for searches."""
        few = len(self.question_tables.boxes.atoms.labels) <= MOST_SEARCHED
        return self._search is not None and few and self.roomy_table.ways.search

    @property
    def open(self) -> list[int]:
        """Because of which queries the last look left somebody open, as far as it says so."""
        return self.overlap.about(self.evidence.open_parts)

    # --- hypothetical answers, and refusals by bounds

    def hypothetical(self, count: int) -> dict[tuple[int, ...], list[int]]:
        """The answers that the first worlds of the pool give, with the worlds that give them."""
        worlds = self.pool.values[:count]
        columns = [self._of(query, worlds) for query in self.queries]
        found: dict[tuple[int, ...], list[int]] = {}
        for place, values in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
            found.setdefault(tuple(values), []).append(place)
        return found

    def _of(self, query: Query, worlds: NDArray[np.signedinteger]) -> Ints:
        """What tables say; of lumps they do not say what the greatest or the least of its values is.

        It is drawn then, out of as many as there are in all of an atom's, alike between the ends of their box
        or by the prior's odds.
        """
        boxes = self.question_tables.boxes
        labels, times = boxes.atoms.labels[query.members], boxes.atoms.multiples
        apart = times[labels] > 1
        if query.kind == "sum" or not apart.any():
            return query.of(worlds)
        found = replace(query, members=query.members[~apart]).of(worlds)
        top, prior = query.kind == "max", self.pool.prior
        for atom, count in zip(*np.unique(labels[apart], return_counts=True), strict=True):
            low, high = (int(each[atom]) // int(times[atom]) for each in boxes.own)
            odds = np.zeros(0) if prior is None else prior.odds[low : high + 1]
            # by part: the maximum of two groups is the greater one's
            chance = np.random.default_rng([self.pool.seed, self.pool.moved, int(atom)])
            drawn = drawn_extremes(int(count * times[atom]), low, high, odds, top, len(worlds), chance)
            found = np.maximum(found, drawn) if top else np.minimum(found, drawn)
        return found

    def certainly_lost(
        self, values: Sequence[int], worlds: Sequence[int], standard: Standard
    ) -> Judgement | None:
        """That somebody would not keep the standard, where bounds alone say so: no search could show it.

        Args:
            values: One answer per query, in units.
            worlds: Worlds of the pool that give them.
            standard: What everybody must keep.
        """
        if not self.roomy_table.ways.certain_refusals:
            return None
        tables, plain = self.pool.values[list(worlds)], self.conditions.plain
        width = narrowest(self.boxes_with(values), self._rows, values, tables, standard.insiders, plain)
        return Judgement(False, width, certain=True) if width < standard.least else None

    @cached_property
    def _rows(self) -> list[Row]:
        """What the queries' sums say together with past ones, over the question's parts."""
        tables, roomy_table = self.question_tables, self.roomy_table
        past = np.zeros((0, tables.boxes.count), dtype=np.int64)
        if roomy_table.rank and roomy_table.rank * tables.boxes.count <= CELLS:
            past = roomy_table.marks[tables.parents, : roomy_table.rank].T.astype(np.int64)
        return rows_of(
            tables.boxes, self.queries, past, tables.pending.form.ys if tables.usable else past[:0]
        )

    # --- judgements

    def judge_together(
        self, answers: Sequence[tuple[int, ...]], standard: Standard, allowance: Allowance, spared: int = 0
    ) -> dict[tuple[int, ...], Judgement]:
        """Judge many hypothetical answers at once; of those that are left out nothing was shown.

        Args:
            answers: Each one for every query, in units.
            standard: What everybody must keep.
            allowance: What may be spent; nothing more is tried beyond it.
            spared: How many may fail: where no table is found for more of them, the rest is not looked at.
        """
        terms, found = Terms(standard, allowance, spared=spared), dict[tuple[int, ...], Judgement]()
        for values in answers:
            exact = self.exactly(values, standard, allowance)
            if exact is None:
                break  # it hangs on the sums, hardly on the answers
            found[values] = exact
        if not self.question_tables.usable:
            return found
        extremes: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
        for values in (each for each in answers if each not in found):
            key = tuple(v for q, v in zip(self.queries, values, strict=True) if q.kind != "sum")
            extremes.setdefault(key, []).append(values)
        for group in extremes.values():
            if allowance.over or not self.question_tables.usable:
                break
            judgement = self._show(group, terms)
            if judgement is not None and judgement.safe:
                found.update(dict.fromkeys(group, judgement))
            elif self.evidence.missed and not self.is_one_by_one(standard):
                found.update(self._judge_rest(group, terms))
        return found

    def _judge_rest(self, group: Sequence[tuple[int, ...]], terms: Terms) -> dict[tuple[int, ...], Judgement]:
        """Where no table was found for some answers: they fail, and the rest is judged without them."""
        missed = [values for values in group if self._fresh(values) in self.evidence.missed]
        rest = [values for values in group if self._fresh(values) not in self.evidence.missed]
        found = dict.fromkeys(missed, Judgement(False, -1))
        if rest and len(missed) <= terms.spared and not terms.allowance.over:
            judgement = self._show(rest, terms)
            if judgement is not None and judgement.safe:
                found.update(dict.fromkeys(rest, judgement))
        return found

    def judge(
        self,
        values: Sequence[int],
        worlds: Sequence[int],
        standard: Standard,
        allowance: Allowance,
        effort: Effort,
    ) -> Judgement:
        """Judge hypothetical answers.

        Args:
            values: One answer per query, in units.
            worlds: Worlds of the pool that give them.
            standard: What everybody must keep.
            allowance: What may be spent; nothing more is tried beyond it.
            effort: Integer programs allowed.
        """
        exact = self.exactly(values, standard, allowance)
        if exact is not None:
            return exact
        shown = self.judge_around_table(values, standard, allowance)
        if shown is not None and shown.safe:
            return shown
        if self._search is None or not self.is_searched(standard):
            return Judgement(False, -1) if shown is None else shown
        return self._search.judge(values, worlds, standard, allowance, effort)

    def judge_true(
        self, values: Sequence[int], standard: Standard, allowance: Allowance, keep: bool = False,
        wide: bool = False,
    ) -> Judgement | None:  # fmt: skip
        """As `judge`, of answers that no world of the pool gives; None where searches would need one.

        Args:
            values: One answer per query, in units.
            standard: What everybody must keep.
            allowance: What may be spent; nothing more is tried beyond it.
            keep: Whether what is found may be kept: only where later verdicts may hang on these answers.
            wide: Whether runs are searched for however wide they are.
        """
        self.evidence.open_parts = np.zeros(0, dtype=np.int64)
        exact = self.exactly(values, standard, allowance)
        if exact is not None:
            return exact
        judgement = self.judge_around_table(values, standard, allowance, keep)
        if judgement is not None and judgement.safe:
            return judgement
        searched = self._is_small if wide else self.is_searched(standard)
        return None if searched else Judgement(False, -1)

    def exactly(self, values: Sequence[int], standard: Standard, allowance: Allowance) -> Judgement | None:
        """What is known without a search, in small systems; None where it is not. Found out once."""
        return self._exactly(values, standard, allowance) if self.is_one_by_one(standard) else None

    def _exactly(self, values: Sequence[int], standard: Standard, allowance: Allowance) -> Judgement | None:
        key = tuple(values), standard
        if self._search is None or not self.roomy_table.ways.exact_sets or key in self._exact:
            return self._exact.get(key)
        found = self._search.exactly(values, standard, allowance)
        if not allowance.over:
            self._exact[key] = found
        return found

    def judge_around_table(
        self, values: Sequence[int], standard: Standard, allowance: Allowance, keep: bool = True,
        further: bool = True,
    ) -> Judgement | None:  # fmt: skip
        """What the roomy table shows for given answers, alone if `further` says no; None if nothing."""
        if not self.question_tables.usable:
            return None
        return self._show([tuple(values)], Terms(standard, allowance, keep, further))

    def _show(self, group: Sequence[tuple[int, ...]], terms: Terms) -> Judgement | None:
        """Everybody at once, for answers that differ in sums only; None where nothing can be shown."""
        return self.evidence.show(self.boxes_with(group[0]), [self._fresh(values) for values in group], terms)

    def boxes_with(self, values: Sequence[int]) -> Knowledge:
        """The parts, with the boxes and extremes that answers leave."""
        return self._with_extremes(self.question_tables.boxes, values)

    def _with_extremes(self, boxes: Knowledge, values: Sequence[int]) -> Knowledge:
        for query, value in zip(self.queries, values, strict=True):
            if query.kind != "sum":
                boxes = boxes.with_extreme(query, value)
        return boxes

    def _fresh(self, values: Sequence[int]) -> Sums:
        """Of answers, those to the fresh sums."""
        return tuple(values[place] for place in self.question_tables.fresh)

    # --- true answers

    def learn(self, values: Sequence[int], allowance: Allowance) -> Learned:
        """What the system becomes with these answers; the system itself is left as it is.

        Raises:
            InconsistentAnswers: no world agrees.
            OutOfTime: none was found in time.
        """
        tables, boxes, guide = self.question_tables, self.boxes_with(values), None
        if not self.conditions.plain:
            if tables.usable:
                guide = guided(tables, boxes, self._fresh(values), allowance)
            # held records are no part of what is learned
            tables = QuestionTables(tables.with_found(), self.queries)
            boxes = self._with_extremes(tables.boxes, values)
        sums = tuple(values[place] for place in tables.fresh)
        totals = kept(tables, boxes, sums, allowance, guide) if tables.usable else None
        if totals is not None:
            worlds = self.pool.answered(tables, boxes, sums, totals)
            if self._records is not None:
                worlds = worlds.of_few(self._records.known_with(values)[0])
        elif self._records is not None:
            worlds = self.pool.refound(*self._records.known_with(values), allowance)
        else:
            raise OutOfTime("no world was found in the time allowed")
        return Learned(self.question_tables, tables, self.pool, tuple(values), boxes, totals, worlds, guide)
