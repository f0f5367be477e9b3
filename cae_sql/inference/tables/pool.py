"""The pool: some tens of tables that agree with every answer, kept from answer to answer.

Worlds come from the domain, or from a public prior, a fixed seed and past answers, never from the true table;
they give hypothetical answers. A new answer moves each of them: by exchange between records that no earlier
answer tells apart, else along the roomy table's first basis. Random moves in between lead to the uniform
distribution over worlds, or the prior's. Memory is worlds × records, a byte each where the domain has up to
128 values.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cae_sql.errors import InconsistentAnswers, OutOfTime
from cae_sql.inference.allowance import UNLIMITED, Allowance
from cae_sql.inference.facts.extremes import Pins, bounds_of, choose_witnesses, hold
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.lumps import NO_LUMPS
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.tables.mixing import UNIFORM, along, jostle, spread, totals_of
from cae_sql.inference.tables.priors import Prior
from cae_sql.inference.tables.programs import any_world
from cae_sql.inference.tables.question_tables import QuestionTables
from cae_sql.inference.tables.roomy_table import RoomyTable
from cae_sql.inference.tables.short_moves import Moves, of_columns, reduced_basis, sparse, with_directions
from cae_sql.threads import in_two

STEPS = 3_000
"""Moves of each world along the basis after an answer."""
DEALT = 10_000
"""Moves of four atoms of each world after an answer."""
OFTEN = 3
"""How often as many are made in a world that was put in the place of one that could not be moved."""
FEWEST, MOST = 20_000, 4
"""Records of each world that are looked at for an exchange after an answer: so many, and one for each unit
that it moved, up to so many for each record. Those who are alone in their atoms have none."""
TURNS = 24
"""How often, of few records, those who attain extremes are drawn anew while worlds are mixed."""
ENOUGH = 16
"""Moves along the basis for each of few records."""
NOBODY: Ints = np.zeros(0, dtype=np.int64)


class Pool:
    """Worlds over n records."""

    def __init__(
        self, values: NDArray[np.signedinteger], seed: int, moved: int = 0, prior: Prior | None = None,
        lumps: slice | None = None,
    ) -> None:  # fmt: skip
        """Take worlds as they are.

        Args:
            values: (w, n) units.
            seed: Of the random moves.
            moved: How often there were some, so that no two are alike.
            prior: From where values come; None where all worlds are alike.
            lumps: Who is a lump (`cae_sql.inference.facts.lumps`). It moves when an answer calls for it, not
                at random: its values are not alike, since more tables of records add up to middling ones.
        """
        self.values, self.seed, self.moved, self.prior = values, seed, moved, prior
        self.lumps = slice(0) if lumps is None else lumps
        self.unsettled = 0
        """How many units the last answer moved in each world: so many exchanges are owed."""
        self.mixed = True
        self.copied: list[int] = []
        """Worlds that were as another is after the last answer."""
        self.knowledge: Knowledge | None = None
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
            if len(lumps):
                values[place, size:] = drawn_sums(lumps, top, *_moments(drawn, top, prior), chance)
        return cls(values, seed, prior=prior, lumps=slice(size, size + len(lumps)))

    def of_few(self, known: Knowledge) -> Pool:
        """The same worlds, in eight bytes a value, with what searches need to know."""
        twin = self._with(self.values.astype(np.int64, copy=False))
        twin.knowledge = known.rebased(known.totals(twin.values))
        return twin

    def totals(self) -> Ints:
        """(w, p) the atoms' totals in each world, of few records."""
        assert self.knowledge is not None
        return self.knowledge.totals(self.values)

    def unknowing(self) -> Pool:
        """The same worlds, where something is answered that they do not agree with yet."""
        return self if self.knowledge is None else self._with(self.values)

    def _with(self, values: NDArray[np.signedinteger]) -> Pool:
        twin = Pool(values, self.seed, self.moved, self.prior, self.lumps)
        twin.unsettled, twin.mixed, twin.copied = self.unsettled, self.mixed, list(self.copied)
        return twin

    def grown(self, spares: int, top: int) -> Pool:
        """With so many spare records more, drawn from the domain."""
        count, size = self.values.shape
        drawn = np.random.default_rng([self.seed, size]).integers(0, top + 1, (count, spares))
        twin = self._with(np.hstack([self.values, drawn.astype(self.values.dtype)]))
        return twin if self.knowledge is None else twin.of_few(self.knowledge.grown(spares, top))

    def widened(self, count: int) -> Pool:
        """With so many worlds, not mixed yet: those that are new are copies, to be led apart."""
        before = len(self.values)
        twin = self._with(self.values[np.arange(count) % before])
        twin.unsettled, twin.mixed, twin.knowledge = (
            self.unsettled + self.values.shape[1],
            False,
            self.knowledge,
        )
        twin.copied = [*self.copied, *range(before, count)]
        return twin

    def drawn_from(self, count: int, seed: int, roomy_table: RoomyTable) -> Pool:
        """So many worlds, each mixed from one of these until it is far from it."""
        twin = Pool(
            self.values[np.arange(count) % len(self.values)], seed, prior=self.prior, lumps=self.lumps
        )
        twin.knowledge, twin.unsettled, twin.copied = (
            self.knowledge,
            MOST * twin.values.shape[1],
            list(range(count)),
        )
        twin.mix(roomy_table)
        return twin

    def answered(
        self, question_tables: QuestionTables, boxes: Knowledge, answers: Sequence[int], table: Ints
    ) -> Pool:
        """Worlds that agree with new answers too; these are left as they are.

        Args:
            question_tables: The queries.
            boxes: Its parts with the boxes and extremes that the answers leave.
            answers: To its fresh sums.
            table: (p',) the roomy table's totals for them: what serves where a world cannot be moved.
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
        """Worlds of few records that agree with everything, by an integer program, near to these.

        Args:
            known: All answers.
            sums: (k,) right-hand sides of its sums.
            allowance: What may be spent.

        Raises:
            InconsistentAnswers: there is none.
            OutOfTime: neither found nor excluded.
        """
        totals = any_world(known, sums, allowance, self.seed)
        if totals is None:
            raise InconsistentAnswers("no table agrees with all answers")
        values = self.values.astype(np.int64)
        return self.moved_to(values, np.zeros(len(values), dtype=np.bool_), known, totals).of_few(known)

    def moved_to(
        self, values: NDArray[np.signedinteger], found: NDArray[np.bool_], boxes: Knowledge, table: Ints
    ) -> Pool:
        """These worlds after a move: in place of each that was not found is one that was, or else a table's.

        Args:
            values: (w, n) the worlds moved.
            found: (w,) which of them agree with everything.
            boxes: All answers.
            table: (p,) totals of a table that agrees.
        """
        lost = np.flatnonzero(~found)
        for place in lost:
            if found.any():
                values[place] = values[np.flatnonzero(found)[place % int(found.sum())]]
                continue
            pins = choose_witnesses(boxes, table, seed=self._chance(int(place)))
            if pins is None or not settled(values[place], boxes, table, pins, self._chance(int(place))):
                raise OutOfTime("no world was found in the time allowed")
        grown = Pool(values, self.seed, self.moved + 1, self.prior, self.lumps)
        grown.mixed, grown.copied = False, lost.tolist()
        some = np.abs(values[0].astype(np.int64) - self.values[0])
        some[self.lumps] = 0  # they exchange nothing
        grown.unsettled = self.unsettled + int(some.sum())
        return grown

    def mix(self, roomy_table: RoomyTable) -> None:
        """Random moves that keep every answer: pairs within atoms, and records along kernel vectors."""
        self.mixed = True
        boxes = roomy_table.boxes if self.knowledge is None else self.knowledge
        order, firsts = boxes.members
        labels, size = boxes.atoms.labels, self.values.shape[1]
        base = self._chance(len(self.values))
        self.moved += 1
        shared = np.flatnonzero((np.diff(firsts) > 1)[labels])
        exchanges = min(FEWEST + self.unsettled, MOST * size) * len(shared) // size
        self.unsettled = 0
        odds = UNIFORM if self.prior is None else self.prior.odds
        copied, self.copied = self.copied, []
        ground = np.column_stack([firsts[:-1], np.diff(firsts), boxes.low, boxes.high])
        vectors = self._vectors(roomy_table, boxes, base)
        able = [np.unique(boxes.able(each)) for each in boxes.extremes]
        turns = TURNS if able and self.knowledge is not None else 1

        def work(first: int, last: int) -> None:
            for place, turn in ((place, turn) for place in range(first, last) for turn in range(turns)):
                values, seed = self.values[place], base + place + 15_485_863 * turn
                held, ways = self._held(values, boxes, able, seed)
                before = values.copy() if turns > 1 else values
                jostle(
                    *(order, firsts, labels, shared, boxes.low, boxes.high),
                    *(held, values, seed, -(-exchanges // turns), odds),
                )
                for number, (moves, steps, many) in enumerate(vectors):
                    often = 1 + (many if place in copied else steps) // turns
                    along(*moves, ground, order, held, values, seed + 7919 * (1 + number), often, odds)
                # who attains an extreme was drawn of all who do: the more there are, the likelier it stays
                if turns > 1:
                    chance = np.random.default_rng([seed, 1])
                    if chance.random() * self._held(values, boxes, able, seed)[1] > ways:
                        values[:] = before

        in_two(work, len(self.values), size)

    def _vectors(self, roomy_table: RoomyTable, boxes: Knowledge, seed: int) -> list[tuple[Moves, int, int]]:
        """Kernel vectors of the sums, how many are tried of each list, and how many in a copied world."""
        if self.knowledge is not None:
            tableau = self.knowledge.tableau
            # atoms in rows without a ±1 have no directions
            short = sparse(reduced_basis(tableau)) if len(tableau.stuck) else None
            steps = min(STEPS, ENOUGH * self.values.shape[1])
            return [(with_directions(tableau, short), steps, OFTEN * steps)]
        found = list[tuple[Moves, int, int]]()
        fours = roomy_table.fours
        if len(fours):
            starts, signs = np.arange(0, 4 * len(fours) + 1, 4), np.tile([1, -1, 1, -1], len(fours))
            found.append((Moves(starts, fours.ravel(), signs), min(DEALT, len(fours)), OFTEN * len(fours)))
        basis, rank = roomy_table.bases[0], roomy_table.rank
        if rank:
            drawn = np.random.default_rng(seed).integers(0, len(boxes.atoms.labels), STEPS)
            ends = boxes.atoms.labels[drawn]
            ends = ends[~np.isin(ends, basis.basic)]
            moves, rows = np.nonzero(basis.columns[ends, :rank])
            entries = basis.columns[ends[moves], rows].astype(np.int64)
            counts = np.bincount(moves, minlength=len(ends))
            found.append((of_columns(ends, counts, basis.basic[rows], entries), len(ends), len(ends)))
        return found

    def _held(
        self, values: NDArray[np.signedinteger], boxes: Knowledge, able: Sequence[Ints], seed: int
    ) -> tuple[NDArray[np.bool_], float]:
        """For each extreme one record that attains it, at random: it stays while others move. So do lumps.

        Args:
            values: A table.
            boxes: What is answered.
            able: By extreme the atoms whose boxes reach it, ascending.
            seed: Of the draw.

        Returns:
            (n,) who is held, and in how many ways they might be chosen.
        """
        held, ways = np.zeros(len(values), dtype=np.bool_), 1.0
        held[self.lumps] = True
        chance = np.random.default_rng(seed)
        order, firsts = boxes.members
        # how many up to each place have the value: looked up once, whatever the number of extremes
        before = {
            value: np.append(0, np.cumsum(values[order] == value))
            for value in {each.value for each in boxes.extremes}
        }
        for extreme, atoms in zip(boxes.extremes, able, strict=True):
            so_far = before[extreme.value]
            counts = np.cumsum(so_far[firsts[atoms + 1]] - so_far[firsts[atoms]])
            drawn = int(chance.integers(0, counts[-1]))
            atom = int(np.searchsorted(counts, drawn, side="right"))
            last = so_far[firsts[atoms[atom] + 1]] - (counts[atom] - 1 - drawn)
            held[order[np.searchsorted(so_far, last) - 1]] = True
            ways *= float(counts[-1])
        return held, ways

    def _chance(self, place: int) -> int:
        return (self.seed * 1_000_003 + self.moved * 7919 + place * 104_729) % 2**31


def _moments(drawn: Ints, top: int, prior: Prior | None) -> tuple[float, float]:
    """Mean and variance of a record's value; of a prior by what was drawn."""
    if prior is None:
        return top / 2, top * (top + 2) / 12
    return float(drawn.mean()), float(drawn.var())


def drawn_sums(
    lumps: Ints, top: int, mean: float | NDArray[np.float64], variance: float | NDArray[np.float64],
    chance: np.random.Generator,
) -> Ints:  # fmt: skip
    """(m,) about the sums of so many draws, by the normal distribution: worlds need no more than agree."""
    drawn = chance.normal(lumps * mean, np.sqrt(lumps * variance))
    return np.clip(np.rint(drawn), 0, lumps * top).astype(np.int64)


def drawn_extremes(
    count: int, low: int, high: int, odds: NDArray[np.float64], top: bool, draws: int,
    chance: np.random.Generator,
) -> Ints:  # fmt: skip
    """(draws,) the greatest of so many values from low to high, or the least.

    Args:
        count: How many values.
        low: Least possible value.
        high: Greatest.
        odds: (high - low + 1,) logarithms of how likely each is; empty where all are alike.
        top: Whether the greatest is wanted.
        draws: How many.
        chance: Of the draws.
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
    """Give the atoms new totals, their records changed at random; whether all of it found a place.

    Args:
        values: (n,) one world; changed.
        boxes: Atoms, boxes and extremes.
        goal: (p,) totals that leave room for the held records.
        pins: How many records of each atom are held at its ends.
        seed: Of chance.
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
                    continue  # a box of one value: whoever is held attains both
                record = members[np.argmax(best * values[members].astype(np.int64))]
                values[record], held[record] = edge[atom], True
    shift = goal - totals_of(values, labels, boxes.count)
    return bool(spread(order, firsts, boxes.low, boxes.high, values, held, shift, seed))


def with_totals(known: Knowledge, totals: Ints, near: Ints, seed: int) -> Ints | None:
    """(n,) a world with these totals (p,), near to another table; None where nobody attains an extreme."""
    values, pins = near.copy(), choose_witnesses(known, totals, seed=seed)
    return values if pins is not None and settled(values, known, totals, pins, seed) else None
