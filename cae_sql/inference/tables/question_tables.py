"""What queries would do to a roomy table, worked out beside it and without copying anything of its size.

A question cuts the atoms into *parts* by the queries' sets, extends the basis by a pivot for every new sum,
and moves the roomy table to hypothetical answers. Most of that is exchange between two parts of one atom,
which no earlier answer sees; what it does not suffice for is done by steps that the basis keeps in balance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isqrt

import numpy as np
import scipy
from numpy.typing import NDArray

from cae_sql.cached import cached_property
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Ints, Query
from cae_sql.inference.facts.ranges import Bound
from cae_sql.inference.intervals.interior import sparse_columns
from cae_sql.inference.tables.columns import Pivoted, columns_of, multiplied, relax, strains
from cae_sql.inference.tables.exchange import SPARE, Bounds, Exchange, Tables
from cae_sql.inference.tables.kernel_moves import NO_MOVES, Moves, joined
from cae_sql.inference.tables.lead import Alike, led
from cae_sql.inference.tables.margins import Soft, alike_in
from cae_sql.inference.tables.roomy_table import Pending, RoomyTable

LOOKED_AT = 16
"""Roomiest parts that are compared as pivots."""
SAMPLED = 400
"""Columns on which they are compared."""
RELAX_STEPS = 6_000
"""Random steps that a table is made roomier by; of few parts it is 200 for each, at most."""
RELAX_ROUNDS = 60
"""So many times as many steps before a table counts as not found."""

REPAIRS = 4
"""Walks that shall repair a table, at most: one may leave a part or two outside of their boxes."""


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
        """Cut the atoms and extend the basis; of no use once the roomy table has changed.

        All tables keep those who are `held` in their intervals, and ranges, `bounds`, by a margin: members of
        these are whole parts. `table` (n,) agrees with all answers, to look around in place of the roomy one.
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
            _split(roomy_table.totals, coarse.sizes, self.boxes.sizes, self.parents)
            if table is None
            else np.bincount(self.boxes.atoms.labels, table, count).astype(np.int64)
        )
        """(p',) the roomy table, or the one given."""
        self.fresh: list[int] = []
        """Places of the sums that past answers do not settle."""
        self.usable = roomy_table.usable
        self._rows = np.zeros((0, count), dtype=np.int32)
        self.found: list[Moves] = []
        """Moves that looks have found: later questions may use them, once this one's answers are known."""
        self._bounds = bounds
        self.pending = self._extended()
        self.exchange = Exchange(self._rows, self.parents, roomy_table.unseen)

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
        past = self.roomy_table.moves if self.roomy_table.ways.kept_moves else NO_MOVES
        # past sums have the same coefficients in all parts of an atom: they were looked at before
        return past.over_parts(self.parents, self._room, self._rows)

    def keep(self, found: Moves) -> None:
        """Keep moves for questions that follow if this one is answered: none that true answers led to."""
        well = found.kept_by(self.marks_of(np.arange(self.boxes.count)))
        self.found[:] = [joined([found.taken(np.flatnonzero(well)), *self.found])]

    def with_found(self) -> RoomyTable:
        """The roomy table with what was found among its moves."""
        found = [each.over_atoms(self.parents) for each in self.found]
        return replace(self.roomy_table, moves=joined([*found, self.roomy_table.moves]))

    # --- the basis

    def _extended(self) -> Pending:
        """The basis with a pivot for every sum that past answers do not settle; usable or not is noted."""
        places = [place for place, query in enumerate(self.queries) if query.kind == "sum"]
        rows = np.zeros((len(places), self.boxes.count), dtype=np.int32)
        none = Pivoted(self.roomy_table.basis.columns, self.parents, rows[:0], rows[:0])
        nothing = Pending(np.zeros(0, dtype=np.int64), none, [])
        for number, place in enumerate(places):
            coefficients = self.queries[place].coefficients
            if coefficients is not None and np.abs(coefficients).max() > 1:
                self.usable = False
                return nothing
            rows[number] = self.boxes.atoms.row(self.queries[place])
        if not self.usable:
            self._rows = rows
            return nothing
        basic = self._basic_parts()
        reduced = self._reduced(basic, rows)
        pending = self._pending(basic, rows, reduced)
        if pending is None:
            self.usable = False
            return nothing
        self.fresh = [places[number] for number in pending.fresh]
        # of sums that hang on new ones of the same statement, past answers say nothing
        for number in np.flatnonzero(~reduced.any(axis=1)).tolist():
            self.settled[places[number]] = int(rows[number].astype(np.int64) @ self.totals)
        self._rows = rows[pending.fresh]
        return pending

    def _basic_parts(self) -> Ints:
        """Of the parts that a basic atom is cut into the roomiest stays basic."""
        basic, row_of = self.roomy_table.basis.basic, np.full(self.roomy_table.count, -1, dtype=np.int64)
        row_of[basic] = np.arange(len(basic))
        mine = np.flatnonzero(row_of[self.parents] >= 0)
        room = self._room[mine]
        order = mine[np.lexsort((room, row_of[self.parents[mine]]))]
        last = np.flatnonzero(np.diff(row_of[self.parents[order]], append=-1))
        return order[last]

    @cached_property
    def _room(self) -> Ints:
        """(p',) how far parts can move at the table, to the nearer side; of three or more without two."""
        boxes, totals = self.boxes, self.totals
        room = np.minimum(totals - boxes.sizes * boxes.low, boxes.sizes * boxes.high - totals)
        found: Ints = np.where(boxes.sizes >= 3, room - 2 * -(-room // boxes.sizes), room >> 1)
        return found

    def _reduced(self, basic: Ints, rows: NDArray[np.int32]) -> NDArray[np.int32]:
        """Sums (g, p') less what the basis takes for them: nothing is left where past answers settle them."""
        product = np.empty((self.roomy_table.count, len(rows)), dtype=np.int32)
        multiplied(
            self.roomy_table.basis.columns[: len(product), : self.roomy_table.rank], rows[:, basic], product
        )
        return rows - product[self.parents].T

    def _pending(self, basic: Ints, rows: NDArray[np.int32], reduced: NDArray[np.int32]) -> Pending | None:
        """The basis with a pivot for every new sum; None where there is none, or entries grow too large."""
        columns, used = self.roomy_table.basis.columns, np.isin(np.arange(self.boxes.count), basic)
        width, most = self.roomy_table.rank, isqrt(2**30 // max(len(rows), 1))  # entries stay below 2**31
        ys, pivots = np.zeros_like(rows), np.zeros((len(rows), width + len(rows)), dtype=np.int32)
        fresh = list[int]()
        for number, row in enumerate(rows):
            done = len(fresh)
            # less what the pivots before take of it
            weights = row[basic[width:]] - pivots[:done, : width + done] @ row[basic]
            left = reduced[number] - weights.astype(np.int64) @ ys[:done]
            if not left.any():
                continue
            if np.abs(left).max() > most:
                return None
            form = Pivoted(
                columns, self.parents, ys[:done], np.ascontiguousarray(pivots[:done, : width + done])
            )
            found = self._pivot(form, basic, left, used)
            if found is None or np.abs(found[1]).max(initial=0) > most:
                return None
            pivot, pivots[done, : width + done] = found
            ys[done] = left * left[pivot]
            used[pivot] = True
            basic = np.append(basic, pivot)
            fresh.append(number)
        done = len(fresh)
        pivots = np.ascontiguousarray(pivots[:done, : width + done])
        return Pending(basic, Pivoted(columns, self.parents, ys[:done], pivots), fresh)

    def _pivot(
        self, form: Pivoted, basic: Ints, row: Ints, used: NDArray[np.bool_]
    ) -> tuple[int, NDArray[np.int32]] | None:
        """A part for a new row (p',), and its column: roomy, and little grows by it."""
        places = np.flatnonzero((np.abs(row) == 1) & ~used)
        if not len(places):
            return None
        room = self._room[places]
        if len(places) > LOOKED_AT:
            best = np.argpartition(-room, LOOKED_AT - 1)[:LOOKED_AT]
            places, room = places[best], room[best]
        columns, chance = columns_of(form, places), np.random.default_rng(len(basic))
        sample = chance.integers(0, self.boxes.count, min(SAMPLED, self.boxes.count))
        shown, allowed = columns_of(form, sample), np.maximum(self._room[basic], 1)
        entries = row[sample].astype(np.int32)
        chosen = int(np.argmin(strains(columns, row[places], room, shown, entries, allowed)))
        return int(places[chosen]), columns[chosen]

    # --- tables

    def between(self, bounds: Bounds, answers: Sequence[tuple[int, int]]) -> Tables | None:
        """Tables around the roomy one that give each fresh sum all answers between two, by exchange.

        None where that does not suffice.
        """
        totals, least, most = self.totals, self.totals.copy(), self.totals.copy()
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

        They start from the roomy table's, and become roomy, or near to those of another table, `start` (p',).
        """
        totals = self.totals if start is None else start
        for spare in (SPARE, 0) if start is None else (0,):
            found = self._exchanged(totals, bounds, answers, spare)
            if found is not None and self.holds(found, totals, bounds, answers):
                return found
        return self._by_steps(bounds, answers, seed, start)

    def repaired(self, near: Ints, bounds: Bounds, answers: Sequence[int], seed: int = 0) -> Ints | None:
        """Totals that give answers to the fresh sums, near some (p',) that disagree; None if not found.

        The basic parts make all sums right, then it is as `table`.
        """
        sums = np.array([*self.roomy_table.sums, *answers], dtype=np.int64)
        found = np.clip(near, bounds.least, bounds.most)
        change = np.rint(self._inverse @ (sums - self.matrix @ found))
        if np.abs(change).max(initial=0) > 2**53:
            return None
        found[self.pending.basic] += change.astype(np.int64)
        if (self.matrix @ found != sums).any():
            return None
        tables = (self.table(bounds, answers, seed + turn, found) for turn in range(REPAIRS))
        return next((each for each in tables if each is not None), None)

    @cached_property
    def matrix(self) -> scipy.sparse.csc_array:
        """(k + g, p') coefficients of all independent sums, as whole numbers."""
        marks = self.marks_of(np.arange(self.boxes.count))
        # by rows: for another order its kernel would be compiled a second time
        return sparse_columns(np.ascontiguousarray(marks.T)).astype(np.int64)

    def _by_steps(self, bounds: Bounds, answers: Sequence[int], seed: int, start: Ints | None) -> Ints | None:
        """As `table`, by steps along the basis: its parts make all sums right, and random steps of the others
        bring them back to where they may be.
        """
        pending, totals = self.pending, self.totals if start is None else start
        found, basic = np.clip(totals, bounds.least, bounds.most), pending.basic
        values = [self.exchange.value(number, found) for number in range(len(self._rows))]
        missing = np.append(self._wrong(found, totals), np.array(answers, dtype=np.int64) - values)
        change = np.rint(self._inverse @ missing.astype(np.float64))
        if np.abs(change).max(initial=0) > 2**53:
            return None
        found[basic] += change.astype(np.int64)
        rooms = np.array([found - bounds.least, bounds.most - found])
        rooms[:, basic] = 0
        within = np.array([bounds.least[basic], bounds.most[basic]])
        # an atom of many records is roomy long before it is half full
        near = np.minimum(within[1] - within[0], 4 * (self.boxes.high - self.boxes.low)[basic] + 8) // 2
        now, moved = found[basic], np.zeros_like(found)
        steps, enough = min(RELAX_STEPS, 200 * len(found)), RELAX_STEPS if start is None else 0
        farthest = max(1, int((self.boxes.high - self.boxes.low).max()) // 8)
        relax(pending.form, rooms, now, within, near, moved, RELAX_ROUNDS * steps, enough, farthest, seed)
        found += moved
        found[basic] = now
        return found if self.holds(found, totals, bounds, answers) else None

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

    @cached_property
    def _inverse(self) -> NDArray[np.float64]:
        """(k + g, k + g) of the coefficients that the basic parts have in all sums."""
        square = self.marks_of(self.pending.basic).T.astype(np.float64)
        found: NDArray[np.float64] = np.rint(np.linalg.inv(square))
        return found

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


def _split(totals: Ints, coarse: Ints, sizes: Ints, parents: Ints) -> Ints:
    """Totals (p,) of atoms over parts (p',), evenly; what does not divide goes to the first parts of each."""
    each, rest = np.divmod(totals, coarse)
    share = each[parents] * sizes + rest[parents] * sizes // coarse[parents]
    given = np.zeros(len(coarse), dtype=np.int64)
    np.add.at(given, parents, share)
    # at most one for each part but one: give it out part by part
    order = np.argsort(parents, kind="stable")
    rank = np.empty(len(parents), dtype=np.int64)
    rank[order] = np.arange(len(parents)) - np.searchsorted(parents[order], parents[order])
    found: Ints = share + (rank < (totals - given)[parents])
    return found
