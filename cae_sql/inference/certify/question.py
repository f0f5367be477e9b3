"""What if these queries were answered? The question a decision asks, for hypothetical answers and true ones.

A question belongs to a system and a few queries asked together. Hypothetical answers are those of worlds in
the pool, so nothing about them comes from the true table. Each set of answers is judged alike: is every
record shown to keep a long enough run of values, or an exactly known set that will do (`mathematics.md`, 4)?
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cae_sql.cached import cached_property
from cae_sql.errors import OutOfTime
from cae_sql.inference.allowance import ENTRIES, UNLIMITED, Allowance
from cae_sql.inference.certify.certain import CELLS, Row, narrowest, rows_of, too_little_for_two
from cae_sql.inference.certify.coverage import Shown, all_pairs, left_open, show
from cae_sql.inference.certify.learned import Learned
from cae_sql.inference.facts.bounds import Bound
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Answer, Ints, Query
from cae_sql.inference.facts.rank import join, roots
from cae_sql.inference.facts.ties import narrows, without_ties
from cae_sql.inference.search.judging import Judgement, Search, Standard
from cae_sql.inference.search.runs import Effort
from cae_sql.inference.tables.centering import rebuild
from cae_sql.inference.tables.central import Central
from cae_sql.inference.tables.exchange import Bounds, Tables
from cae_sql.inference.tables.holding import bounds_of, hold
from cae_sql.inference.tables.pool import Pool, drawn_extremes
from cae_sql.inference.tables.question_tables import QuestionTables
from cae_sql.inference.tables.roomy_table import RoomyTable
from cae_sql.inference.tables.steering import steered
from cae_sql.threads import in_two

MANY = 20_000
"""Where more than these are left open after two, further ones do not help."""
MOST_SEARCHED = 256
"""Records, at most, that are searched one by one, or in pairs: with more it takes long and shows hardly
anything beyond what is shown of everybody at once."""
MOST_PAIRED = 2
"""Width, in units, up to which pairs of a record and an insider are searched: of wider runs nothing was won
beside what is known exactly and of everybody at once, in up to nine times the time; of two values much."""
ROWS = 20_000
"""Parts whose coefficients are copied at a time."""


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
        held: Sequence[Query] | None = (),
        table: Ints | None = None,
        bounds: Sequence[Bound] = (),
    ) -> None:
        """Refine what is known by the queries' sets.

        Args:
            roomy_table: The system's; its bases and table may be renewed here, not what it knows.
            pool: The system's worlds; not changed.
            queries: In the order in which they would be answered.
            held: Who is held where, so that tables keep what ranges of statistics say: searches record by
                record know nothing of it. None: nobody knows how to keep it, and nothing is shown.
            table: (n,) one in which they are there, to look around first; the roomy one may not keep it.
            bounds: Ranges of statistics that are kept by a margin.
        """
        self.roomy_table, self.pool = roomy_table, pool
        self.queries, self.held = list(queries), held
        keeps = bool(held) or (held is not None and len(bounds) > 0)
        self._table, self._bounds = table if keeps else None, bounds if keeps else ()
        self.question_tables = QuestionTables(roomy_table, queries, held or (), self._table, self._bounds)
        self._search = None if pool.knowledge is None or held is None or keeps else Search(pool, queries)
        if not self.question_tables.usable and self._search is None:
            self.settled: list[int | None] = [None] * len(self.queries)
        else:
            self.settled = (
                self.question_tables.settled if self.question_tables.usable else self._searched.settled
            )
        if held is None or (keeps and queries and not QuestionTables(roomy_table, queries).usable):
            # what could not be learned afterwards is not asked: nothing would be shown from then on
            self.question_tables.usable = False
        self.left_open: Ints = np.zeros(0, dtype=np.int64)
        """Atoms of whom the last look left somebody open."""
        self._open_parts: Ints = np.zeros(0, dtype=np.int64)
        """The same by parts."""
        self._found: dict[tuple[Hashable, tuple[int, ...]], Ints] = {}
        """Tables for single answers."""
        self._shown: dict[Hashable, dict[frozenset[tuple[int, ...]], _Shown]] = {}
        """By reading, what was shown of hypothetical answers: it need not be shown again."""
        self._exact: dict[tuple[tuple[int, ...], Standard], Judgement | None] = {}
        """What is known without a search."""
        self._known_exactly: dict[Standard, bool] = {}
        """Whether that is so."""
        self._missed: set[tuple[int, ...]] = set()
        """Fresh sums for which no table was found where several were judged together."""
        self._spared = 0
        """How many of those there may be before nothing further is looked for."""

    @property
    def current(self) -> bool:
        """Whether the roomy table is as it was when the question was made."""
        return self.question_tables.current

    def is_searched(self, standard: Standard) -> bool:
        """Whether searches record by record follow where the roomy table leaves somebody open."""
        most = MOST_PAIRED if self.roomy_table.ways.paired_search else 0
        return self._is_small and (not standard.insiders or standard.need <= most)

    def is_one_by_one(self, standard: Standard) -> bool:
        """Whether each hypothetical answer is judged by itself: by a search, or known without one.

        Of all other sums one look judges those between two answers, too.
        """
        return self.is_searched(standard) or (self._is_small and self._is_known_exactly(standard))

    @property
    def _is_small(self) -> bool:
        """Whether there are few enough records for searches."""
        few = len(self.question_tables.boxes.atoms.labels) <= MOST_SEARCHED
        return self._search is not None and few and self.roomy_table.ways.search

    def _is_known_exactly(self, standard: Standard) -> bool:
        """Whether what the sums leave is known without a search, as seen at the answers of a world."""
        if standard not in self._known_exactly:
            values = tuple(int(query.of(self.pool.values[:1])[0]) for query in self.queries)
            found = self._exactly(values, standard, UNLIMITED)
            self._known_exactly[standard] = found is not None and (found.safe or found.certain)
        return self._known_exactly[standard]

    @property
    def _searched(self) -> Search:
        assert self._search is not None
        return self._search

    @property
    def derivable(self) -> bool:
        """Whether past answers already settle every query."""
        return all(value is not None for value in self.settled)

    @property
    def components(self) -> list[int]:
        """(m,) the component that each query is of: what is answered of different ones hangs on nothing
        together, whatever was answered before. All of one where ranges are kept, or no table is at hand."""
        labels, tables = self._components, self.question_tables
        return [int(labels[tables.boxes.atoms.labels[query.members[0]]]) for query in self.queries]

    @property
    def open(self) -> list[int]:
        """Because of which queries the last look left somebody open, as far as it says so: those that are
        about them, or else those of their components."""
        boxes = self.question_tables.boxes
        lost = np.zeros(boxes.count, dtype=np.bool_)
        lost[self._open_parts] = True
        lost_records = lost[boxes.atoms.labels]
        about = [place for place, query in enumerate(self.queries) if lost_records[query.members].any()]
        if about:
            return about
        components = set(self._components[self._open_parts].tolist())
        return [place for place, component in enumerate(self.components) if component in components]

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """(m, k + m) the fraction of each sum's records that is in each past sum and in each other asked one;
        -1 on itself."""
        tables, roomy_table = self.question_tables, self.roomy_table
        labels, count, rank = tables.boxes.atoms.labels, len(self.queries), roomy_table.rank
        found = np.zeros((count, rank + count))
        among = [np.unique(labels[query.members], return_counts=True) for query in self.queries]
        inside = np.zeros(tables.boxes.count, dtype=np.bool_)
        for other, (parts, _) in enumerate(among):
            inside[parts] = True
            found[:, rank + other] = [sizes @ inside[mine] for mine, sizes in among]
            inside[parts] = False
        for place, (parts, sizes) in enumerate(among):
            # some at a time: of a million records a copy of all coefficients would be too much
            for first in range(0, len(parts), ROWS):
                some = slice(first, first + ROWS)
                marks = roomy_table.marks[tables.parents[parts[some]], :rank]
                found[place, :rank] += sizes[some].astype(np.float64) @ marks.astype(np.float64)
        found /= np.array([len(query.members) for query in self.queries])[:, None]
        found[:, rank:][np.diag_indices(count)] = -1
        return found

    @cached_property
    def to_ask_apart(self) -> set[int]:
        """Sums that should be asked by themselves: where several cover all but a few records of a known sum,
        the largest of them. What the few have follows from all answers together, so that no answer's own
        limits bound it unless one is asked last."""
        tables, found = self.question_tables, set[int]()
        sizes = np.array([len(query.members) for query in self.queries])
        rank = tables.roomy_table.rank
        past = np.zeros(rank, dtype=np.int64)
        for first in range(0, tables.boxes.count, ROWS):
            some = slice(first, first + ROWS)
            past += tables.boxes.sizes[some] @ (tables.roomy_table.marks[tables.parents[some], :rank] != 0)
        whole = np.append(past, sizes)
        for share, size in zip(self.shares.T, whole.tolist(), strict=True):
            inside = np.flatnonzero(share == 1)
            if len(inside) > 1 and 0 < size - sizes[inside].sum() < sizes[inside].min():
                found.add(int(inside[sizes[inside].argmax()]))
        return found

    def reach(self, standard: Standard) -> list[tuple[int, int] | None]:
        """(m,) between which answers the closed form shows everybody's runs (`Rooms.rich`).

        None where that is not known at a glance: of what is no sum of people about whom nothing was answered.
        """
        tables, roomy_table = self.question_tables, self.roomy_table
        boxes, found = tables.boxes, list[tuple[int, int] | None]()
        if not tables.usable or boxes.outer is not None or boxes.extremes or self._bounds or self.held != ():
            return [None] * len(self.queries)
        marks = np.abs(roomy_table.marks[tables.parents, : roomy_table.rank]).sum(axis=1)
        for query in self.queries:
            parts = np.unique(boxes.atoms.labels[query.members])
            part, count = int(parts[0]), len(query.members)
            plain = query.kind == "sum" and len(parts) == 1 and not marks[part] and query.coefficients is None
            if not plain or boxes.sizes[part] != count or boxes.atoms.multiples[part] > 1:
                found.append(None)
                continue
            low, high = int(boxes.low[part]), int(boxes.high[part])
            room = standard.need + (high - low if standard.insiders else 0)
            found.append((count * low + room, count * high - room))
        return found

    @cached_property
    def _components(self) -> Ints:
        """(p',) by part."""
        tables, roomy_table = self.question_tables, self.roomy_table
        root = np.arange(tables.boxes.count)
        if not tables.usable or self.held is None or self.held or self._bounds:
            return np.zeros_like(root)
        for row in roomy_table.marks[tables.parents, : roomy_table.rank].T:
            join(root, np.flatnonzero(row))
        for extreme in tables.boxes.extremes:
            join(root, extreme.atoms)
        for query in self.queries:
            join(root, np.unique(tables.boxes.atoms.labels[query.members]))
        return roots(root)

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
        tables = self.pool.values[list(worlds)]
        plain = self.held is not None and not self.held and not self._bounds
        width = narrowest(self.boxes_with(values), self._rows, values, tables, standard.insiders, plain)
        return Judgement(False, width, certain=True) if width < standard.least else None

    def out_of_reach(self, values: Sequence[int], worlds: Sequence[int], standard: Standard) -> list[Row]:
        """Sums because of which a look at everybody at once can only fail, and no search follows. As
        `certainly_lost`."""
        if self.is_one_by_one(standard) or not (standard.insiders and self.roomy_table.ways.out_of_reach):
            return []
        tables = self.pool.values[list(worlds)]
        return too_little_for_two(self.boxes_with(values), self._rows, values, tables, standard.need)

    @cached_property
    def _rows(self) -> list[Row]:
        return self._known_rows()

    def _known_rows(self) -> list[Row]:
        """What the queries' sums say together with past ones, over the question's parts."""
        question_tables, roomy_table = self.question_tables, self.roomy_table
        past = np.zeros((0, question_tables.boxes.count), dtype=np.int64)
        if roomy_table.rank and roomy_table.rank * question_tables.boxes.count <= CELLS:
            past = roomy_table.marks[question_tables.parents, : roomy_table.rank].T.astype(np.int64)
        first = question_tables.pendings[0] if question_tables.usable else None
        return rows_of(question_tables.boxes, self.queries, past, past[:0] if first is None else first.ys)

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
        self._spared = spared
        found: dict[tuple[int, ...], Judgement] = {}
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
            judgement = self._show(group, standard, allowance)
            if (judgement is None or not judgement.safe) and self._renewable(standard, allowance):
                judgement = self._show(group, standard, allowance)
            if judgement is not None and judgement.safe:
                found.update(dict.fromkeys(group, judgement))
                continue
            if self._missed and not self.is_one_by_one(standard):
                found.update(self._judge_rest(group, standard, allowance))
        self._spared = 0
        return found

    def _judge_rest(
        self, group: Sequence[tuple[int, ...]], standard: Standard, allowance: Allowance
    ) -> dict[tuple[int, ...], Judgement]:
        """Where no table was found for some answers: they fail, and the rest is judged without them."""
        missed = [values for values in group if self._fresh(values) in self._missed]
        rest = [values for values in group if self._fresh(values) not in self._missed]
        found = dict.fromkeys(missed, Judgement(False, -1))
        if rest and len(missed) <= self._spared and not allowance.over:
            judgement = self._show(rest, standard, allowance)
            if judgement is not None and judgement.safe:
                found.update(dict.fromkeys(rest, judgement))
        return found

    def _fresh(self, values: Sequence[int]) -> tuple[int, ...]:
        """Of answers, those to the fresh sums."""
        return tuple(values[place] for place in self.question_tables.fresh)

    def _renewable(self, standard: Standard, allowance: Allowance) -> bool:
        """Choose bases anew where that may help."""
        width = self.roomy_table.rank + 1
        if not self.roomy_table.ways.new_bases or not self.roomy_table.stale:
            return False
        if not allowance.spend(self.roomy_table.count * width**2 / ENTRIES):
            return False
        self._renew(standard)
        return self.question_tables.usable

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
        if not self.is_searched(standard):
            return Judgement(False, -1) if shown is None else shown
        return self._searched.judge(values, worlds, standard, allowance, effort)

    def judge_true(
        self, values: Sequence[int], standard: Standard, allowance: Allowance, renew: bool = False,
        wide: bool = False,
    ) -> Judgement | None:  # fmt: skip
        """As `judge`, of answers that no world of the pool gives; None where searches would need one.

        Args:
            values: One answer per query, in units.
            standard: What everybody must keep.
            allowance: What may be spent; nothing more is tried beyond it.
            renew: Whether bases may be chosen anew: only where later verdicts may hang on these answers.
            wide: Whether runs are searched for however wide they are.
        """
        self._open_parts = np.zeros(0, dtype=np.int64)
        exact = self.exactly(values, standard, allowance)
        if exact is not None:
            return exact
        judgement = self.judge_around_table(values, standard, allowance, renew)
        if judgement is not None and judgement.safe:
            return judgement
        searched = self._is_small if wide else self.is_searched(standard)
        return None if searched else Judgement(False, -1)

    def exactly(self, values: Sequence[int], standard: Standard, allowance: Allowance) -> Judgement | None:
        """What is known without a search, in small systems; None where it is not. Found out once."""
        key = tuple(values), standard
        if key not in self._exact:
            found = self._exactly(values, standard, allowance) if self.is_one_by_one(standard) else None
            if allowance.over:
                return found
            self._exact[key] = found
        return self._exact[key]

    def _exactly(self, values: Sequence[int], standard: Standard, allowance: Allowance) -> Judgement | None:
        known = self.roomy_table.ways.exact_sets
        return self._searched.exactly(values, standard, allowance) if known else None

    def judge_around_table(
        self, values: Sequence[int], standard: Standard, allowance: Allowance, renew: bool = True
    ) -> Judgement | None:
        """What the roomy table shows for given answers; None where it can show nothing."""
        if not self.question_tables.usable:
            return None
        judgement = self._show([tuple(values)], standard, allowance, keep=renew)
        lost = judgement is None or not judgement.safe
        if lost and renew and self._renewable(standard, allowance):
            judgement = self._show([tuple(values)], standard, allowance)
        return judgement

    def look(
        self, values: Sequence[int], standard: Standard, allowance: Allowance, keep: bool
    ) -> Judgement | None:
        """As `judge_around_table`, around the roomy table alone; `left_open` says whom that leaves open."""
        self.left_open = np.zeros(0, dtype=np.int64)
        if not self.question_tables.usable:
            return None
        return self._show([tuple(values)], standard, allowance, keep, further=False)

    def _renew(self, standard: Standard) -> None:
        """Give the roomy table better bases; what was worked out from the old ones is worked out again."""
        plain = QuestionTables(self.roomy_table, [])
        pins = hold(plain.boxes, plain.totals, standard.insiders + 2, np.zeros(0, dtype=np.int64))
        if pins is not None:
            around, bounds = self.pool.middle(plain.boxes), bounds_of(plain.boxes, pins)
            rebuild(self.roomy_table, bounds, standard.need, standard.insiders, around)
        self.roomy_table.renewed()
        self._shown.clear()
        self._found.clear()
        self._missed.clear()
        self.question_tables = QuestionTables(
            self.roomy_table, self.queries, self.held or (), self._table, self._bounds
        )

    def _show(
        self, group: Sequence[tuple[int, ...]], standard: Standard, allowance: Allowance, keep: bool = True,
        further: bool = True,
    ) -> Judgement | None:  # fmt: skip
        """Everybody at once, for answers that differ in sums only; None where nothing can be shown.

        Args:
            group: The answers.
            standard: What everybody must keep.
            allowance: What may be spent; nothing more is tried beyond it.
            keep: Whether later judgements may build on this one: not where the answers are the true ones.
            further: Whether other tables than the roomy one are looked around where it leaves somebody open.
        """
        boxes = self.boxes_with(group[0])
        lost = [row for values in (group[0], group[-1]) for row in self.out_of_reach(values, (), standard)]
        if lost:
            self._open_parts = np.unique(np.concatenate([row.parts for row in lost]))
            return Judgement(False, -1)
        try:
            # the strictest reading is the one an intruder takes, if any table agrees with it; its tables
            # are tables of all readings, so what it leaves to everybody they leave too
            strict = next(iter(without_ties(boxes)), boxes) if boxes.extremes else boxes
        except OutOfTime:
            return None
        found = self._show_reading(strict, group, standard, allowance, keep, further)
        if found is None or not found.safe or not standard.insiders or strict is boxes:
            return found
        if not narrows(strict, boxes):
            return found
        # but to an insider who has the value it says nothing: who has it knows that there is a tie
        other = self._show_reading(boxes, group, standard, allowance, keep, further)
        return other and Judgement(other.safe, min(found.width, other.width))

    def boxes_with(self, values: Sequence[int]) -> Knowledge:
        """The parts, with the boxes and extremes that answers leave."""
        boxes = self.question_tables.boxes
        for query, value in zip(self.queries, values, strict=True):
            if query.kind != "sum":
                boxes = boxes.with_extreme(query, value)
        return boxes

    def _show_reading(
        self, boxes: Knowledge, group: Sequence[tuple[int, ...]], standard: Standard, allowance: Allowance,
        keep: bool, further: bool,
    ) -> Judgement | None:  # fmt: skip
        found = self._look(boxes, group, standard, allowance, keep, further)
        if (found is not None and found.safe) or not self.question_tables.softs or len(group) == 1:
            return found
        return self._show_each(boxes, group, standard, allowance, keep, further)

    def _look(
        self, boxes: Knowledge, group: Sequence[tuple[int, ...]], standard: Standard, allowance: Allowance,
        keep: bool, further: bool,
    ) -> Judgement | None:  # fmt: skip
        question_tables, need = self.question_tables, standard.need
        if boxes.narrowest < need:
            return Judgement(False, boxes.narrowest)
        pending = question_tables.pendings[0]
        assert pending is not None
        pins = hold(boxes, question_tables.totals, standard.insiders + 2, pending.basic)
        if pins is None:
            return None
        extremes = tuple((each.top, each.value, each.atoms.tobytes()) for each in boxes.extremes)
        name = extremes, boxes.low.tobytes(), boxes.high.tobytes(), standard
        sums = [self._fresh(values) for values in group]
        kept, these = self._shown.setdefault(name, {}), frozenset(sums)
        if these in kept and kept[these].done:
            return kept[these].judgement
        seen = [
            shown for key, each in kept.items() if key != these and each.covers(sums) for shown in each.seen
        ]
        earlier, safe, whole, late = len(seen), all_pairs(seen), True, False
        # what was looked at among others already is given a look of its own, no more
        ways = self._ways(bounds_of(boxes, pins), sums, name, keep, allowance, further, bool(seen))
        for turn, (tables, between) in enumerate(ways):
            late = allowance.over
            if safe or late or (turn > 1 and (len(seen[-1].open) > MANY or not further)):
                break
            shown = show(
                question_tables, boxes, pins, tables, need, standard.insiders, allowance, keep,
                left_open(seen) if seen else None,
            )  # fmt: skip
            seen.append(shown)
            whole, safe = whole and between, all_pairs(seen)
            if safe:
                break
        if not seen:
            return None
        self._open_parts = min((each.open for each in seen), key=len)
        self.left_open = np.unique(question_tables.parents[self._open_parts])
        width = max(shown.width for shown in seen)
        judgement = Judgement(safe, max(width, need) if safe else width)
        if keep:
            done = safe or (further and not (late or allowance.over))
            kept[these] = _Shown(sums, whole, seen[earlier:], done, judgement)
        return judgement

    def _show_each(
        self, boxes: Knowledge, group: Sequence[tuple[int, ...]], standard: Standard, allowance: Allowance,
        keep: bool, further: bool,
    ) -> Judgement | None:  # fmt: skip
        """One after the other: between two tables less is known of where ranges are than in a single one.

        The one in the middle first, then those at the ends: where one fails it is seldom another.
        """
        widths, half = list[int](), len(group) // 2
        for values in dict.fromkeys([group[half], group[0], group[-1], *group]):
            found = self._look(boxes, [values], standard, allowance, keep, further)
            if found is None or not found.safe:
                return found
            widths.append(found.width)
        return Judgement(True, min(widths))

    def _ways(
        self,
        bounds: Bounds,
        sums: Sequence[tuple[int, ...]],
        name: Hashable,
        keep: bool,
        allowance: Allowance,
        further: bool,
        again: bool,
    ) -> Iterator[tuple[Tables, bool]]:
        """Pairs of tables between which there is one for each of some answers.

        By exchange around the roomy table, then around a central one that gives an answer in the middle, then
        between tables for the single answers. With each, whether that is so of all answers in between too.
        Where ranges of statistics are kept, as `_led_ways`.

        Args:
            bounds: Between what totals lie.
            sums: The answers, to the fresh sums.
            name: Of the boxes, by which tables are remembered.
            keep: As of `_show`.
            allowance: What may be spent.
            further: As of `_show`.
            again: Whether all were looked at among others before: then no central table is made.
        """
        question_tables, ranges = self.question_tables, _ranges(sums)
        if question_tables.softs:
            yield from self._led_ways(bounds, sums, ranges, allowance, further)
            return
        found = question_tables.between(bounds, ranges, question_tables.totals)
        if found is not None:
            yield found, True
        middle = _middle(sums, ranges)
        central = Central(question_tables, bounds, allowance)
        around = None if again else central.table(middle)
        found = None if around is None else central.between(around, ranges)
        if around is not None and found is not None:
            yield found, True
        found = self._between_single(bounds, sums, name, keep, allowance)
        if found is not None:
            yield found, False

    def _led_ways(
        self, bounds: Bounds, sums: Sequence[tuple[int, ...]], ranges: Sequence[tuple[int, int]],
        allowance: Allowance, further: bool,
    ) -> Iterator[tuple[Tables, bool]]:  # fmt: skip
        """As `_ways`, where statistics are kept inside of ranges: around tables that are led to their middle.

        Exchange changes many parts by a little, and a spread by more than its range leaves. So from one
        answer to another moves of few parts lead.
        """
        tables, central = self.question_tables, Central(self.question_tables, bounds, allowance)
        middle = _middle(sums, ranges)
        for turn in range(1 + further):
            found = central.table(middle) if turn else tables.table(bounds, middle)
            if found is None:
                continue
            led = steered(tables, bounds, found)
            between = Tables(led, led) if len(sums) == 1 else central.between(led, ranges)
            if between is not None:
                yield between, True

    def _between_single(
        self,
        bounds: Bounds,
        sums: Sequence[tuple[int, ...]],
        name: Hashable,
        keep: bool,
        allowance: Allowance,
    ) -> Tables | None:
        if not self.roomy_table.ways.single_answers:
            return None
        each_one: list[Ints | None] = [self._found.get((name, each)) for each in sums]
        spared = self._spared if len(sums) > 1 else 0
        lost: list[int] = []
        """Those that are not found: more than may be missing are enough to give up."""

        # before the threads begin, so that what they come to does not hang on which is the quicker
        missing = sum(each is None for each in each_one)
        allowance.spend(missing * self.question_tables.boxes.count * (self.roomy_table.rank + 1) / ENTRIES)

        def work(first: int, last: int) -> None:
            for place in range(first, last):
                if len(lost) > spared or allowance.over:
                    return
                if each_one[place] is None:
                    each_one[place] = self.question_tables.table(bounds, sums[place])
                    lost.extend([place] if each_one[place] is None else [])

        in_two(work, len(sums), self.roomy_table.count * (self.roomy_table.rank + 1) if len(sums) > 1 else 0)
        tables = [table for table in each_one if table is not None]
        if keep:
            found = zip(sums, each_one, strict=True)
            self._found.update({(name, each): table for each, table in found if table is not None})
            self._missed.update(sums[place] for place in lost)
        if len(tables) < len(sums):
            return None
        return Tables(np.minimum.reduce(tables), np.maximum.reduce(tables))

    def learn(self, values: Sequence[int], allowance: Allowance) -> Learned:
        """What the system becomes with these answers; the system itself is left as it is.

        Raises:
            InconsistentAnswers: no world agrees.
            OutOfTime: none was found in time.
        """
        if self.held is None or self.held or self._bounds:
            plain, guide = Question(self.roomy_table, self.pool, self.queries), self._guide(values, allowance)
            return replace(plain._learn(values, allowance, guide), guide=guide)
        return self._learn(values, allowance, None)

    def _learn(self, values: Sequence[int], allowance: Allowance, guide: Ints | None) -> Learned:
        """As `learn`, where nobody is held; `guide` is (n,) a table with these answers, if one is at hand."""
        boxes, totals = self.boxes_with(values), None
        answers = [values[place] for place in self.question_tables.fresh]
        if self.question_tables.usable:
            pins = hold(boxes, self.question_tables.totals, 1, np.zeros(0, dtype=np.int64))
            if pins is not None:
                bounds = bounds_of(boxes, pins)
                totals = self._told(bounds, answers, allowance)
                if totals is None and guide is not None:
                    kept = np.bincount(boxes.atoms.labels, guide, boxes.count).astype(np.int64)
                    if self.question_tables.holds(kept, self.question_tables.totals, bounds, answers):
                        totals = kept
        few = self.pool.knowledge is not None
        if totals is None and not few:
            raise OutOfTime("no world was found in the time allowed")
        if totals is not None:
            pool = self.pool.answered(self.question_tables, boxes, answers, totals)
            pool = pool.of_few(self._searched.known_with(values)[0]) if few else pool
        else:
            pool = self.pool.refound(*self._searched.known_with(values), allowance)
        return Learned(self.question_tables, self.pool, tuple(values), boxes, totals, pool)

    def _guide(self, values: Sequence[int], allowance: Allowance) -> Ints | None:
        """(n,) a table with these answers, spare records too, that keeps what ranges of statistics say."""
        if not self.question_tables.usable:
            return None
        boxes = self.boxes_with(values)
        pins = hold(boxes, self.question_tables.totals, 1, np.zeros(0, dtype=np.int64))
        answers = [values[place] for place in self.question_tables.fresh]
        totals = None if pins is None else self._told(bounds_of(boxes, pins), answers, allowance)
        if totals is None or pins is None:
            return None
        totals = steered(self.question_tables, bounds_of(boxes, pins), totals)
        # spread over each part's records as evenly as may be, but for those who attain an extreme
        order, firsts = boxes.members
        rest = totals - pins.top * boxes.high - pins.bottom * boxes.low
        each, more = np.divmod(rest, np.maximum(boxes.sizes - pins.count, 1))
        labels, place = boxes.atoms.labels, np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order)) - np.repeat(firsts[:-1], boxes.sizes)
        loose = place - pins.count[labels]
        held = np.where(place < pins.top[labels], boxes.high[labels], boxes.low[labels])
        table: Ints = np.where(loose < 0, held, each[labels] + (loose < more[labels]))
        return table

    def _told(self, bounds: Bounds, answers: Sequence[int], allowance: Allowance) -> Ints | None:
        """The table that is kept from now on: in the middle, so that it stays roomy; None if not found."""
        central = Central(self.question_tables, bounds, allowance).table(answers)
        if central is not None:
            return central
        for seed in range(3):
            found = self.question_tables.table(bounds, answers, seed)
            if found is not None:
                return found
        return None

    def answers(self, values: Sequence[int]) -> list[Answer]:
        """The queries with their answers."""
        return [query.answered(value) for query, value in zip(self.queries, values, strict=True)]


@dataclass(frozen=True, eq=False)
class _Shown:
    """What was shown of some answers."""

    sums: Sequence[tuple[int, ...]]
    """To the fresh sums."""
    whole: bool
    """Whether it was shown of all answers in between too."""
    seen: list[Shown]
    """Around different tables."""
    done: bool
    """Whether nothing was left out for lack of time: the same is not shown twice."""
    judgement: Judgement

    def covers(self, sums: Sequence[tuple[int, ...]]) -> bool:
        """Whether it is about all of these answers."""
        if not self.whole:
            return set(sums) <= set(self.sums)
        ranges = _ranges(self.sums)
        return all(
            low <= value <= high for each in sums for value, (low, high) in zip(each, ranges, strict=True)
        )


def _middle(sums: Sequence[tuple[int, ...]], ranges: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """Of several answers the one that is nearest to the middle of all."""
    return min(sums, key=lambda each: sum(abs(2 * v - a - b) for v, (a, b) in zip(each, ranges, strict=True)))


def _ranges(sums: Sequence[tuple[int, ...]]) -> list[tuple[int, int]]:
    """Least and greatest of each sum."""
    return [(min(each), max(each)) for each in zip(*sums, strict=True)]
