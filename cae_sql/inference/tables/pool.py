"""The pool: some tens of tables that agree with every answer, kept from answer to answer.

Worlds come from the domain, or from a public prior, a fixed seed and past answers, never from the true table;
they give hypothetical answers. A new answer moves each of them: by exchange between records that no earlier
answer tells apart, else along the roomy table's first basis. Random moves in between lead to the uniform
distribution over worlds, or the prior's. Memory is worlds × records, a byte each where the domain has up to
128 values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from cae_sql.errors import InconsistentAnswers, OutOfTime
from cae_sql.inference.allowance import REPORT, UNLIMITED, Allowance
from cae_sql.inference.facts.extremes import Pins, bounds_of, choose_witnesses, hold
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.lumps import NO_LUMPS
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.tables.mixing import UNIFORM, along, jostle, spread, totals_of
from cae_sql.inference.tables.priors import Prior
from cae_sql.inference.tables.programs import any_world
from cae_sql.inference.tables.question_tables import QuestionTables
from cae_sql.inference.tables.roomy_table import RoomyTable
from cae_sql.inference.tables.short_moves import Moves, both, of_columns, of_tableau, short_moves
from cae_sql.threads import in_two

STEPS = 3_000
"""Moves of each world along the basis after an answer, and one for each record where they are fewer."""
FEWEST, MOST = 20_000, 4
"""Exchanges within atoms in each world after an answer: so many, and one for each unit that it moved; in
whole passes over all records, one to so many."""
TURNS = 24
"""How often, of few records, the ones that attain extremes are drawn anew while worlds are mixed."""
ENOUGH, MOST_STEPS = 400, 30_000
"""Moves tried for each of few records, and of all together: of 0s and 1s under a dozen sums one in some
thousands has room. After 13 sums over 73 people a mix changes 9 % of all values so, 7 % with a tenth as many,
and 0.2 % with a tenth as many along the tableau alone."""
NOBODY: Ints = np.zeros(0, dtype=np.int64)


@dataclass(eq=False)
class Pool:
    """Worlds over n records."""

    values: NDArray[np.signedinteger]
    """(w, n) units."""
    seed: int
    """Of the random moves."""
    moved: int = 0
    """How often there were some, so that no two are alike."""
    prior: Prior | None = None
    """From where values come; None where all worlds are alike."""
    lumps: slice = field(default_factory=lambda: slice(0))
    """Which columns are lumps (`cae_sql.inference.facts.lumps`). They move when an answer calls for it, not
    at random: their values are not alike, since more tables of records add up to middling ones."""
    unsettled: int = 0
    """How many units the last answer moved in each world: so many exchanges are owed."""
    mixed: bool = True
    knowledge: Knowledge | None = None
    """What the worlds agree with, as searches record by record need it; None of many records."""

    @classmethod
    def draw(
        cls, size: int, top: int, count: int, seed: int, prior: Prior | None = None, lumps: Ints = NO_LUMPS
    ) -> Pool:
        """Before any answer: every record alone, uniformly or from a public prior, lumps about as the sums of
        as many draws.
        """
        kind = np.min_scalar_type(-max(top * int(lumps.max(initial=1)), 1) - 1)
        values = np.empty((count, size + len(lumps)), dtype=kind)
        for place in range(count):
            chance = np.random.default_rng([seed, place])
            drawn = (
                chance.integers(0, top + 1, size, dtype=np.int64)
                if prior is None
                else prior.draw(size, 1_000 * seed + place)
            )
            values[place, :size] = drawn
            # lumps by the normal distribution: worlds need no more than agree
            mean, variance = (drawn.mean(), drawn.var()) if prior else (top / 2, top * (top + 2) / 12)
            sums = np.rint(chance.normal(lumps * mean, np.sqrt(lumps * variance)))
            values[place, size:] = np.clip(sums, 0, lumps * top)
        return cls(values, seed, prior=prior, lumps=slice(size, size + len(lumps)))

    def of_few(self, known: Knowledge) -> Pool:
        """The same worlds, in eight bytes a value, with what searches need to know."""
        values = self.values.astype(np.int64, copy=False)
        return replace(self, values=values, knowledge=known.rebased(known.totals(values)))

    def totals(self) -> Ints:
        """(w, p) the atoms' totals in each world, of few records."""
        assert self.knowledge is not None
        return self.knowledge.totals(self.values)

    def unknowing(self) -> Pool:
        """The same worlds, where something is answered that they do not agree with yet."""
        return self if self.knowledge is None else replace(self, knowledge=None)

    def grown(self, spares: int, top: int) -> Pool:
        """With so many spare records more, drawn from the domain."""
        count, size = self.values.shape
        drawn = np.random.default_rng([self.seed, size]).integers(0, top + 1, (count, spares))
        twin = replace(self, values=np.hstack([self.values, drawn.astype(self.values.dtype)]), knowledge=None)
        return twin if self.knowledge is None else twin.of_few(self.knowledge.grown(spares, top))

    def widened(self, count: int) -> Pool:
        """With so many worlds, not mixed yet: those that are new are copies, to be led apart."""
        before, size = self.values.shape
        values = self.values[np.arange(count) % before]
        return replace(self, values=values, unsettled=self.unsettled + size, mixed=False)

    def drawn_from(self, count: int, seed: int, roomy_table: RoomyTable) -> Pool:
        """So many worlds, each mixed from one of these until it is far from it."""
        before, size = self.values.shape
        twin = replace(self, values=self.values[np.arange(count) % before], seed=seed, moved=0)
        twin.unsettled = MOST * size
        twin.mix(roomy_table)
        return twin

    def answered(
        self, question_tables: QuestionTables, boxes: Knowledge, answers: Sequence[int], table: Ints
    ) -> Pool:
        """Worlds that agree with answers to a question's fresh sums too, in the boxes that these leave.

        The roomy table's totals for them, `table` (p',), serve where no world can be moved.
        """
        values = self.values.copy()
        found = np.zeros(len(values), dtype=np.bool_)
        # where nobody is held all worlds have the same bounds
        none = np.zeros(boxes.count, dtype=np.int64)
        bounds = None if boxes.extremes else bounds_of(boxes, Pins(none, none))

        def work(first: int, last: int) -> None:
            for place in range(first, last):
                seed, totals = self._chance(place), totals_of(values[place], boxes.atoms.labels, boxes.count)
                pins = hold(boxes, totals, 1, NOBODY, seed)
                if pins is not None:
                    inside = bounds or bounds_of(boxes, pins)
                    goal = question_tables.table(inside, answers, seed, totals)
                    found[place] = goal is not None and settled(values[place], boxes, goal, pins, seed)

        in_two(work, len(values), boxes.count + len(boxes.atoms.labels))
        return self.moved_to(values, found, boxes, table)

    def refound(self, known: Knowledge, sums: Ints, allowance: Allowance = UNLIMITED) -> Pool:
        """Worlds of few records that agree with all answers and their sums (k,), by integer programs.

        Each is in a corner of its own: walks hardly lead away from one world of 0s and 1s under many sums,
        and then all hypothetical answers would be the same one.

        Raises:
            InconsistentAnswers: there is none.
            OutOfTime: neither found nor excluded.
        """
        values, found = self.values.astype(np.int64), np.zeros(len(self.values), dtype=np.bool_)
        table = any_world(known, sums, allowance, self.seed)
        if table is None:
            raise InconsistentAnswers("no table agrees with all answers")
        totals: Ints | None = table
        for place in range(len(values)):
            seed = self._chance(place)
            try:
                totals = any_world(known, sums, Allowance(REPORT), seed) if place else table
            except OutOfTime:
                break
            pins = None if totals is None else choose_witnesses(known, totals, seed=seed)
            if totals is not None and pins is not None:
                found[place] = settled(values[place], known, totals, pins, seed)
        return self.moved_to(values, found, known, table).of_few(known)

    def moved_to(
        self, values: NDArray[np.signedinteger], found: NDArray[np.bool_], boxes: Knowledge, table: Ints
    ) -> Pool:
        """These worlds after a move to `values`, of which those `found` (w,) agree with all answers.

        In place of the others is one that does, or one with the totals of a table (p,) that does.
        """
        lost = np.flatnonzero(~found)
        for place in lost:
            if found.any():
                values[place] = values[np.flatnonzero(found)[place % int(found.sum())]]
                continue
            pins = choose_witnesses(boxes, table, seed=self._chance(int(place)))
            if pins is None or not settled(values[place], boxes, table, pins, self._chance(int(place))):
                raise OutOfTime("no world was found in the time allowed")
        some = np.abs(values[0].astype(np.int64) - self.values[0])
        some[self.lumps] = 0  # they exchange nothing
        unsettled = self.unsettled + int(some.sum())
        return replace(
            self, values=values, moved=self.moved + 1, unsettled=unsettled, mixed=False,
            knowledge=None,
        )  # fmt: skip

    def mix(self, roomy_table: RoomyTable) -> None:
        """Random moves that keep every answer: pairs within atoms, and records along kernel vectors."""
        self.mixed = True
        boxes = roomy_table.boxes if self.knowledge is None else self.knowledge
        order, firsts = boxes.members
        size, base = self.values.shape[1], self._chance(len(self.values))
        self.moved += 1
        passes = min(max((FEWEST + self.unsettled) // size, 1), MOST)
        self.unsettled = 0
        odds = UNIFORM if self.prior is None else self.prior.odds
        ground = np.column_stack([firsts[:-1], np.diff(firsts), boxes.low, boxes.high])
        moves, steps = self._moves(roomy_table, boxes, base)
        able = [np.flatnonzero(np.isin(boxes.atoms.labels, boxes.able(each))) for each in boxes.extremes]
        turns = TURNS if able and self.knowledge is not None else 1

        def work(first: int, last: int) -> None:
            for place, turn in ((place, turn) for place in range(first, last) for turn in range(turns)):
                values, seed = self.values[place], base + place + 15_485_863 * turn
                held, ways = self._held(values, boxes, able, seed)
                before = values.copy() if turns > 1 else values
                each = -(-passes // turns)
                jostle(order, firsts, boxes.low, boxes.high, held, values, seed, each, odds)
                along(*moves, ground, order, held, values, seed + 7919, 1 + steps // turns, odds)
                # drawn of all records that attain the extreme: the more there are, the likelier it stays
                if turns > 1:
                    chance = np.random.default_rng([seed, 1])
                    if chance.random() * self._held(values, boxes, able, seed)[1] > ways:
                        values[:] = before

        in_two(work, len(self.values), size)

    def _moves(self, roomy_table: RoomyTable, boxes: Knowledge, seed: int) -> tuple[Moves, int]:
        """Kernel moves, and how many of them are made in each world."""
        size = len(boxes.atoms.labels)
        if self.knowledge is not None:
            tableau = self.knowledge.tableau
            # the tableau's own are long, and seldom fit into narrow boxes
            moves = both(of_tableau(tableau), short_moves(tableau))
            return moves, min(MOST_STEPS, ENOUGH * size)
        basis, rank = roomy_table.basis, roomy_table.rank
        drawn = np.random.default_rng(seed).integers(0, size, min(STEPS, size) if rank else 0)
        ends = boxes.atoms.labels[drawn]
        ends = ends[~np.isin(ends, basis.basic)]
        which, rows = np.nonzero(basis.columns[ends, :rank])
        entries = basis.columns[ends[which], rows].astype(np.int64)
        counts = np.bincount(which, minlength=len(ends))
        return of_columns(ends, counts, basis.basic[rows], entries), len(ends)

    def _held(
        self, values: NDArray[np.signedinteger], boxes: Knowledge, able: Sequence[Ints], seed: int
    ) -> tuple[NDArray[np.bool_], float]:
        """For each extreme one of its records that attains it, at random: it stays while others move.

        So do lumps. In how many ways these might be chosen comes second.
        """
        held, ways, chance = np.zeros(len(values), dtype=np.bool_), 1.0, np.random.default_rng(seed)
        held[self.lumps] = True
        for extreme, records in zip(boxes.extremes, able, strict=True):
            attaining = records[values[records] == extreme.value]
            held[chance.choice(attaining)] = True
            ways *= len(attaining)
        return held, ways

    def _chance(self, place: int) -> int:
        return (self.seed * 1_000_003 + self.moved * 7919 + place * 104_729) % 2**31


def drawn_extremes(
    count: int, low: int, high: int, odds: NDArray[np.float64], top: bool, draws: int,
    chance: np.random.Generator,
) -> Ints:  # fmt: skip
    """(draws,) the greatest of so many values from low to high (`top`), or the least.

    `odds` are logarithms of how likely each value is; empty where all are alike.
    """
    # of so many independent ones the part of the distribution beyond the furthest is this
    beyond = 1.0 - chance.random(draws) ** (1.0 / count)
    if len(odds):
        weights = np.exp(odds - odds.max())
        ends = np.cumsum((weights[::-1] if top else weights) / weights.sum())
        steps = np.minimum(np.searchsorted(ends, beyond, side="right"), high - low)
    else:
        steps = np.floor(beyond * (high - low + 1)).astype(np.int64)
    return (high - steps if top else low + steps).astype(np.int64)


def settled(values: NDArray[np.signedinteger], boxes: Knowledge, goal: Ints, pins: Pins, seed: int) -> bool:
    """Give the atoms of a world (n,) new totals (p,) that leave room for held records; whether that worked.

    Records are changed at random, those that are held at the ends of their boxes first.
    """
    labels, (order, firsts) = boxes.atoms.labels, boxes.members
    held = np.zeros(len(values), dtype=np.bool_)
    if boxes.extremes:
        np.clip(values, boxes.low[labels], boxes.high[labels], out=values)
        for marks, edge, best in ((pins.top, boxes.high, 1), (pins.bottom, boxes.low, -1)):
            for atom in np.flatnonzero(marks):
                members = order[firsts[atom] : firsts[atom + 1]]
                members = members[~held[members]]
                if not len(members):
                    continue  # a box of one value: the held record attains both
                record = members[np.argmax(best * values[members].astype(np.int64))]
                values[record], held[record] = edge[atom], True
    shift = goal - totals_of(values, labels, boxes.count)
    return bool(spread(order, firsts, boxes.low, boxes.high, values, held, shift, seed))


def with_totals(known: Knowledge, totals: Ints, near: Ints, seed: int) -> Ints | None:
    """(n,) a world with these totals (p,), near to another table; None where nobody attains an extreme."""
    values, pins = near.copy(), choose_witnesses(known, totals, seed=seed)
    return values if pins is not None and settled(values, known, totals, pins, seed) else None
