"""What queries would do to a roomy table, worked out beside it and without copying anything of its size.

A question cuts the atoms into *parts* by the queries' sets, extends each basis by a pivot for every new sum,
and moves the roomy table to hypothetical answers. Most of that is exchange between two parts of one atom,
which no earlier answer sees; what it does not suffice for is done by steps that the bases keep in balance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cae_sql.cached import cached_property
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Ints, Query
from cae_sql.inference.facts.ranges import Bound
from cae_sql.inference.tables.columns import columns_of, reduce_row, relax, strains
from cae_sql.inference.tables.exchange import SPARE, Bounds, Exchange, Tables
from cae_sql.inference.tables.kernel_moves import NO_MOVES, Moves, joined
from cae_sql.inference.tables.lead import Alike, led
from cae_sql.inference.tables.margins import Soft, alike_in
from cae_sql.inference.tables.roomy_table import Basis, Pending, RoomyTable
from cae_sql.threads import in_two

LOOKED_AT = 16
"""Roomiest parts that are compared as pivots."""
SAMPLED = 400
"""Columns on which they are compared."""
RELAX_STEPS = 6_000
"""Random steps, at most, between two looks at whether everything is inside its box."""
PATIENCE = 5
"""Rounds without progress after which it counts as not found."""
RELAX_ROUNDS = 60
"""Such rounds before a table counts as not found."""


class QuestionTables:
    """Queries over a roomy table, before anything about their answers is known."""

    def __init__(
        self,
        roomy_table: RoomyTable,
        queries: Sequence[Query],
        held: Sequence[Query] = (),
        table: Ints | None = None,
        bounds: Sequence[Bound] = (),
    ) -> None:
        """Cut the atoms and extend the bases.

        Args:
            roomy_table: Not changed. The question is of no use once it has changed.
            queries: In the order in which they would be answered.
            held: Who is held in which interval in all tables that are looked at.
            table: (n,) one that agrees with all answers, to look around in place of the roomy table.
            bounds: Ranges that tables keep by a margin; their members are whole parts.
        """
        self.roomy_table, self.queries, self.version = roomy_table, list(queries), roomy_table.version
        coarse = roomy_table.boxes
        self.settled: list[int | None] = [
            None if query.kind == "sum" else coarse.forced_extreme(query) for query in queries
        ]
        apart = [query for each in bounds for query in alike_in(each.query)]
        self.boxes: Knowledge = coarse.refined([*queries, *held, *apart]).with_held(held)
        """The parts, with the boxes of past answers."""
        count = self.boxes.count
        self.parents = np.empty(count, dtype=np.int64)
        """(p',) the atom that each part is of."""
        self.parents[self.boxes.atoms.labels] = coarse.atoms.labels
        self.totals = (
            _split(roomy_table, roomy_table.totals, self.boxes, self.parents)
            if table is None
            else np.bincount(self.boxes.atoms.labels, table, count).astype(np.int64)
        )
        """(p',) the roomy table, or the one given."""
        self.fresh: list[int] = []
        """Places of the sums that past answers do not settle."""
        self.usable = roomy_table.usable
        self._rows = np.zeros((0, count), dtype=np.int32)
        self.first = NO_MOVES
        """Moves that showed somebody around the table itself, whatever is answered: among `moves`."""
        self.found: list[Moves] = []
        """Moves that looks have found: later questions may use them, once this one's answers are known."""
        self._held, self._table, self._bounds = held, table, bounds
        self._extend()
        self.exchange = Exchange(self._rows, self.parents, roomy_table.unseen)

    def over(self, roomy_table: RoomyTable) -> QuestionTables:
        """The same over another roomy table of the same answers."""
        twin = QuestionTables(roomy_table, self.queries, self._held, self._table, self._bounds)
        twin.first, twin.moves, twin.found = self.first, self.moves, self.found
        return twin

    @property
    def current(self) -> bool:
        """Whether the roomy table is as it was when this was made."""
        return self.version == self.roomy_table.version

    @cached_property
    def softs(self) -> list[Soft]:
        """Ranges that tables keep by a margin, over the parts."""
        labels, sizes = self.boxes.atoms.labels, self.boxes.sizes
        return [Soft(each, labels, sizes, several=_shared(each, self._bounds)) for each in self._bounds]

    @cached_property
    def alike(self) -> Alike:
        """Parts that no sum tells apart, past or new."""
        named = np.column_stack([self.parents, self._rows.T])
        sets = np.unique(named, axis=0, return_inverse=True)[1].reshape(-1)
        order = np.argsort(sets, kind="stable")
        firsts = np.searchsorted(sets[order], np.arange(sets.max(initial=-1) + 2))
        none = np.zeros(len(firsts) - 1, dtype=np.bool_)
        return Alike(sets.astype(np.int64), order.astype(np.int64), firsts.astype(np.int64), none)

    def led(self, bounds: Bounds, totals: Ints) -> Ints:
        """Totals (p',) with the same sums, between bounds, nearer to the middle of all ranges."""
        if not self.softs:
            return totals
        ends = bounds.least, bounds.most
        return led(self.softs, self.boxes.sizes, totals, ends, self.alike, len(totals), inside=7 / 16)[0]

    # --- moves that were kept

    @cached_property
    def moves(self) -> Moves:
        """Those by which somebody was shown before, over the parts: each keeps all sums, past and new."""
        past = self.roomy_table.moves
        if not past.count or not self.roomy_table.ways.kept_moves:
            return NO_MOVES  # pairs of many parts take their time
        pairs = [self.exchange.pairs(number) for number in range(len(self._rows))]
        found = past.over_parts(self.parents, self._room, self._rows, pairs)
        # past sums have the same coefficients in all parts of an atom: they were looked at before
        well = found.kept_by(np.ascontiguousarray(self._rows.T.astype(np.int8)))
        return found if well.all() else found.taken(np.flatnonzero(well))

    def keep(self, found: Moves) -> None:
        """Keep moves for questions that follow if this one is answered: none that true answers led to."""
        well = found.kept_by(self.marks_of(np.arange(self.boxes.count)))
        self.found[:] = [joined([found.taken(np.flatnonzero(well)), *self.found])]

    def with_found(self) -> RoomyTable:
        """The roomy table with what was found among its moves."""
        found = [each.over_atoms(self.parents) for each in (*self.found, self.first)]
        return replace(self.roomy_table, moves=joined([*found, self.roomy_table.moves]))

    # --- bases

    def _extend(self) -> None:
        """A pivot for every new sum, in every basis; which sums are new, the first one says."""
        places = [place for place, query in enumerate(self.queries) if query.kind == "sum"]
        rows = np.zeros((len(places), self.boxes.count), dtype=np.int32)
        for number, place in enumerate(places):
            coefficients = self.queries[place].coefficients
            if coefficients is not None and np.abs(coefficients).max() > 1:
                self.usable = False
                return
            self.boxes.atoms.fill_row(self.queries[place], rows[number])
        self.pendings: list[Pending | None] = []
        used = np.zeros(self.boxes.count, dtype=np.bool_)
        bases = self.roomy_table.bases if self.usable else []
        basics = [self._basic_parts(basis) for basis in bases]
        for each in basics:
            used[each] = True
        for number, basis in enumerate(bases):
            taken = self.pendings[0].basic if number and self.pendings[0] is not None else basics[0][:0]
            if np.isin(basics[number], taken).any():
                self.pendings.append(None)
                continue
            pending = self._pending(basis, basics[number], rows, places, used, first=number == 0)
            if number == 0:
                if pending is None and len(bases) > 1:
                    # rather without another basis than not at all
                    alone = np.zeros_like(used)
                    alone[basics[0]], self.fresh = True, []
                    pending = self._pending(basis, basics[0], rows, places, alone, first=True)
                    used |= alone
                if pending is None:
                    self.usable = False
                    return
                rows = rows[[places.index(place) for place in self.fresh]]
                places = self.fresh
            self.pendings.append(pending)
        self._rows = rows

    def _basic_parts(self, basis: Basis) -> Ints:
        """Of the parts that a basic atom is cut into the roomiest stays basic."""
        row_of = np.full(self.roomy_table.count, -1, dtype=np.int64)
        row_of[basis.basic] = np.arange(len(basis.basic))
        mine = np.flatnonzero(row_of[self.parents] >= 0)
        room = self._room[mine]
        order = mine[np.lexsort((room, row_of[self.parents[mine]]))]
        last = np.flatnonzero(np.diff(row_of[self.parents[order]], append=-1))
        return order[last]

    @cached_property
    def _room(self) -> Ints:
        """(p',) how far parts can move at the roomy table, to the nearer side; of three or more without
        two.
        """
        return nearer_room(self.boxes, self.totals)

    def _pending(
        self, basis: Basis, basics: Ints, rows: NDArray[np.int32], places: list[int], used: NDArray[np.bool_],
        first: bool,
    ) -> Pending | None:  # fmt: skip
        width, count = self.roomy_table.rank, self.boxes.count
        ys = np.zeros((len(rows), count), dtype=np.int32)
        pivots = np.zeros((len(rows), width + len(rows)), dtype=np.int32)
        basic, done = basics, 0
        for number, row in enumerate(rows):
            self._reduce(basis, ys, pivots, done, row[basic], row, ys[done])
            if first and not ys[done].any():
                # of sums that hang on new ones of the same statement, past answers say nothing
                if not done or self._follows(basis, basics, row):
                    self.settled[places[number]] = int(row.astype(np.int64) @ self.totals)
                continue
            pivot = self._pivot(basis, basic, ys, pivots, done, used)
            if pivot is None:
                return None
            ys[done] *= ys[done, pivot]
            basic, done = np.append(basic, pivot), done + 1
            used[pivot] = True
            if first:
                self.fresh.append(places[number])
        return Pending(basic, ys[:done], np.ascontiguousarray(pivots[:done, : width + done]))

    def _follows(self, basis: Basis, basics: Ints, row: NDArray[np.int32]) -> bool:
        """Whether past answers alone settle a sum."""
        rest = np.zeros_like(row)
        none = np.zeros((0, len(row)), dtype=np.int32)
        self._reduce(basis, none, np.zeros((0, len(basics)), dtype=np.int32), 0, row[basics], row, rest)
        return not rest.any()

    def _reduce(
        self, basis: Basis, ys: NDArray[np.int32], pivots: NDArray[np.int32], done: int,
        weights: NDArray[np.int32], row: NDArray[np.int32], out: NDArray[np.int32],
    ) -> None:  # fmt: skip
        weights = np.ascontiguousarray(weights)

        def work(first: int, last: int) -> None:
            reduce_row(
                basis.columns,
                self.roomy_table.rank,
                self.parents,
                ys,
                pivots,
                done,
                weights,
                row,
                first,
                last,
                out,
            )

        in_two(work, len(row), self.roomy_table.rank + 1)

    def _pivot(
        self, basis: Basis, basic: Ints, ys: NDArray[np.int32], pivots: NDArray[np.int32], done: int,
        used: NDArray[np.bool_],
    ) -> int | None:  # fmt: skip
        """A part for a new row, its column left in `pivots[done]`: roomy, and little grows by it."""
        places = np.flatnonzero((np.abs(ys[done]) == 1) & ~used)
        if not len(places):
            return None
        room = self._room[places]
        if len(places) > LOOKED_AT:
            best = np.argpartition(-room, LOOKED_AT - 1)[:LOOKED_AT]
            places, room = places[best], room[best]
        width = self.roomy_table.rank + done
        columns = self._columns(basis, ys, pivots, done, places)
        chance = np.random.default_rng(width)
        sample = chance.integers(0, self.boxes.count, min(SAMPLED, self.boxes.count))
        shown = self._columns(basis, ys, pivots, done, sample)
        allowed = np.maximum(self._room[basic], 1)
        signs = ys[done, places].astype(np.int64)
        chosen = int(np.argmin(strains(columns, signs, room, shown, ys[done, sample], allowed)))
        pivots[done, :width] = columns[chosen]
        return int(places[chosen])

    def _columns(
        self, basis: Basis, ys: NDArray[np.int32], pivots: NDArray[np.int32], done: int, parts: Ints
    ) -> NDArray[np.int32]:
        return columns_of(basis.columns, self.roomy_table.rank, self.parents, ys, pivots, done, parts)

    # --- tables

    def between(
        self, bounds: Bounds, answers: Sequence[tuple[int, int]], start: Ints | None = None
    ) -> Tables | None:
        """Tables that agree with past answers and give all new sums between two values each.

        Args:
            bounds: Of the parts' totals.
            answers: Least and greatest value for each of the fresh sums.
            start: (p',) a table that agrees with past answers, to exchange around; by default the roomy
                table's.

        Returns:
            None where exchange does not suffice: `table` may find one for single answers.
        """
        totals = self.totals if start is None else start
        least, most = totals.copy(), totals.copy()
        if (least < bounds.least).any() or (most > bounds.most).any():
            return None
        for number, (low, high) in enumerate(answers):
            now = self.exchange.value(number, totals)
            for goal in (low - now, high - now):
                changes = self.exchange.changes(number, goal, Tables(least, most), bounds)
                if changes is None:
                    return None
                for parts, by in changes:
                    least[parts] += np.minimum(by, 0)
                    most[parts] += np.maximum(by, 0)
        # shares are rounded: for a smaller change of a sum one of them may be greater by one
        moved = (least < totals) | (most > totals)
        least = np.where(moved, np.maximum(least - 1, bounds.least), least)
        most = np.where(moved, np.minimum(most + 1, bounds.most), most)
        return Tables(least, most)

    def table(
        self, bounds: Bounds, answers: Sequence[int], seed: int = 0, start: Ints | None = None
    ) -> Ints | None:
        """Totals that give answers to the fresh sums: by exchange, else by balanced steps; None if not found.

        Args:
            bounds: Between what they must lie.
            answers: One for each of the fresh sums.
            seed: Of the random steps.
            start: (p',) totals of another table than the roomy table's to start from.
        """
        totals = self.totals if start is None else start
        for spare in (SPARE, 0) if start is None else (0,):
            found = self._exchanged(totals, bounds, answers, spare)
            if found is not None and self.holds(found, totals, bounds, answers):
                return found
        return self._by_steps(bounds, answers, seed, start)

    def _by_steps(self, bounds: Bounds, answers: Sequence[int], seed: int, start: Ints | None) -> Ints | None:
        """As `table`, by balanced steps alone: what could be exchanged is left as it is."""
        totals = self.totals if start is None else start
        basis, pending = self.roomy_table.bases[0], self.pendings[0]
        assert pending is not None
        inside = np.clip(totals, bounds.least, bounds.most)
        change = self._solved(inside, totals, answers)
        if change is None:
            return None
        inside[pending.basic] += change
        found = self._balanced(basis, pending, bounds, inside, RELAX_STEPS if start is None else 0, seed)
        return found if found is not None and self.holds(found, totals, bounds, answers) else None

    def holds(self, totals: Ints, start: Ints, bounds: Bounds, answers: Sequence[int]) -> bool:
        """Whether totals are inside their bounds and agree with all answers, past and new: looked at anew."""
        if (totals < bounds.least).any() or (totals > bounds.most).any():
            return False
        values = [self.exchange.value(number, totals) for number in range(len(self._rows))]
        return values == list(answers) and not self._wrong(totals, start).any()

    def _wrong(self, totals: Ints, start: Ints) -> Ints:
        """(k,) by how much totals miss each past sum, which another table keeps."""
        marks, parents = self.roomy_table.marks[:, : self.roomy_table.rank], self.parents
        touched = np.flatnonzero(totals != start)
        by = (start - totals)[touched]
        # double floats hold whole numbers up to 2**53, and are multiplied many times faster
        kind = np.float64 if float(np.abs(by.astype(np.float64)).sum()) < 2**53 else np.int64
        wrong = np.zeros(self.roomy_table.rank, dtype=np.int64)
        for first in range(0, len(touched), 20_000):
            some = slice(first, first + 20_000)
            wrong += (marks[parents[touched[some]]].astype(kind).T @ by[some].astype(kind)).astype(np.int64)
        return wrong

    def _exchanged(self, totals: Ints, bounds: Bounds, answers: Sequence[int], spare: int) -> Ints | None:
        if (totals < bounds.least).any() or (totals > bounds.most).any():
            return None
        totals = totals.copy()
        for number, answer in enumerate(answers):
            now = self.exchange.value(number, totals)
            changes = self.exchange.changes(number, answer - now, Tables(totals, totals), bounds, spare)
            if changes is None:
                return None
            for parts, by in changes:
                totals[parts] += by
        return totals

    def _solved(self, totals: Ints, start: Ints, answers: Sequence[int]) -> Ints | None:
        """By how much the basic parts must change so that all sums hold, whatever their boxes say."""
        now = [self.exchange.value(number, totals) for number in range(len(self._rows))]
        missing = np.append(self._wrong(totals, start), np.array(answers, dtype=np.int64) - now)
        square, inverse = self._square
        change = np.rint(inverse @ missing.astype(np.float64))
        if np.abs(change).max(initial=0) > 2**53:
            return None
        whole = change.astype(np.int64)
        return whole if (square @ whole == missing).all() else None

    @cached_property
    def _square(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """(k + g, k + g) coefficients of the first basis' parts in all sums, and their inverse."""
        pending = self.pendings[0]
        assert pending is not None
        marks = self.roomy_table.marks[self.parents[pending.basic], : self.roomy_table.rank]
        square = np.vstack([marks.T.astype(np.int64), self._rows[:, pending.basic]])
        return square, np.rint(np.linalg.inv(square.astype(np.float64)))

    def _balanced(
        self, basis: Basis, pending: Pending, bounds: Bounds, totals: Ints, enough: int, seed: int
    ) -> Ints | None:
        """Bring the basic parts inside their bounds, and from there on towards the middle."""
        basic, found = pending.basic, totals.copy()
        lowest, highest = bounds.least[basic], bounds.most[basic]
        # an atom of many records is roomy long before it is half full
        near = np.minimum(highest - lowest, 4 * (self.boxes.high - self.boxes.low)[basic] + 8) // 2
        scale = 1.0 / np.maximum(near, 1.0) ** 2
        still = np.zeros(self.boxes.count, dtype=np.bool_)
        still[basic] = True
        steps, farthest = min(RELAX_STEPS, 200 * len(totals)), longest_step(self.boxes)
        least, since = np.inf, 0
        for turn in range(RELAX_ROUNDS):
            now = found[basic]
            outside = int(np.maximum(np.maximum(lowest - now, now - highest), 0).sum())
            if turn and not outside:
                return found
            least, since = (outside, 0) if outside < least else (least, since + 1)
            if since == PATIENCE:
                return None
            aim = np.clip(now, lowest + near, highest - near)
            off, moved = now - aim, np.zeros_like(found)
            relax(
                basis.columns, self.roomy_table.rank, self.parents, pending.ys, pending.pivots,
                len(pending.ys),
                still, found - bounds.least, bounds.most - found, off, scale, lowest - aim, highest - aim,
                moved, steps, enough, farthest, seed + turn,
            )  # fmt: skip
            found += moved
            found[basic] = aim + off
        return None

    @property
    def rows(self) -> NDArray[np.int32]:
        """(g, p') coefficients of the fresh sums."""
        return self._rows

    def marks_of(self, parts: Ints) -> NDArray[np.int8]:
        """(a, k + g) coefficients of some parts in all independent sums."""
        marks = self.roomy_table.marks[self.parents[parts], : self.roomy_table.rank]
        return np.hstack([marks, self._rows[:, parts].T.astype(np.int8)])


def _shared(bound: Bound, bounds: Sequence[Bound]) -> bool:
    """Whether somebody's value has two weights in weighted sums of which ranges are known."""
    mine = bound.query
    return mine.kind == "weighted" and any(
        other.query.kind == "weighted"
        and other.query.name != mine.name
        and len(np.intersect1d(other.query.members, mine.members, assume_unique=True)) > 0
        for other in bounds
    )


def longest_step(boxes: Knowledge) -> int:
    """How far one part is moved at once where many shall be moved a little."""
    return max(1, int((boxes.high - boxes.low).max()) // 8)


def nearer_room(boxes: Knowledge, totals: Ints) -> Ints:
    """(p,) how far atoms can move, to the nearer side; of three records or more, without two of them."""
    room: Ints = np.minimum(totals - boxes.sizes * boxes.low, boxes.sizes * boxes.high - totals)
    return np.where(boxes.sizes >= 3, room - 2 * -(-room // boxes.sizes), room >> 1)


def _split(roomy_table: RoomyTable, totals: Ints, boxes: Knowledge, parents: Ints) -> Ints:
    """A table's totals over parts: spread evenly, what does not divide to the first parts of an atom."""
    sizes, coarse = boxes.sizes, roomy_table.boxes.sizes
    each, rest = np.divmod(totals, coarse)
    share = each[parents] * sizes + rest[parents] * sizes // coarse[parents]
    given = np.zeros(roomy_table.count, dtype=np.int64)
    np.add.at(given, parents, share)
    left = totals - given
    # at most one for each part but one: give it out part by part, as far as a part has records for it
    order = np.argsort(parents, kind="stable")
    firsts = np.searchsorted(parents[order], np.arange(roomy_table.count))
    rank = np.empty(len(parents), dtype=np.int64)
    rank[order] = np.arange(len(parents)) - firsts[parents[order]]
    found: Ints = share + (rank < left[parents])
    return found
