"""The pool where there are many records: some tens of tables, in the smallest integers that hold a value.

Like `cae_sql.inference.tables.pool.Pool` they come from the domain, or from a public prior, a fixed seed and
past answers; they give hypothetical answers. A new answer moves each of them: by exchange between records
that no earlier answer tells apart, else by steps along the roomy table's first basis. Random moves in between
keep them apart from each other. Memory is worlds × records, a byte each where the domain has up to 128
values.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import compiled
from cae_sql.errors import OutOfTime
from cae_sql.inference.facts.extremes import Pins, bounds_of, hold
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.lumps import NO_LUMPS
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.tables.columns import Columns
from cae_sql.inference.tables.exchange import Bounds
from cae_sql.inference.tables.mixing import UNIFORM, spread
from cae_sql.inference.tables.priors import Prior
from cae_sql.inference.tables.question_tables import QuestionTables
from cae_sql.inference.tables.roomy_table import RoomyTable
from cae_sql.threads import in_two

MIX_STEPS = 3_000
"""Records of each world that are moved along the basis after an answer, at most."""
DEALT = 10_000
"""Moves of four atoms of each world after an answer."""
OFTEN = 3
"""How often all of them are made in a world that was put in the place of one that could not be moved."""
FEWEST, MOST = 20_000, 4
"""Records of each world that are looked at for an exchange after an answer: so many, and one for each unit
that it moved, up to so many for each record. Those who are alone in their atoms have none."""


class LargePool:
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

    @classmethod
    def draw(
        cls, size: int, top: int, count: int, seed: int, prior: Prior | None = None, lumps: Ints = NO_LUMPS
    ) -> LargePool:
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

    def grown(self, spares: int, top: int) -> LargePool:
        """With so many spare records more, drawn from the domain."""
        count, size = self.values.shape
        drawn = np.random.default_rng([self.seed, size]).integers(0, top + 1, (count, spares))
        values = np.hstack([self.values, drawn.astype(self.values.dtype)])
        twin = LargePool(values, self.seed, self.moved, self.prior, self.lumps)
        twin.unsettled, twin.mixed, twin.copied = self.unsettled, self.mixed, list(self.copied)
        return twin

    def widened(self, count: int) -> LargePool:
        """With so many worlds, not mixed yet: those that are new are copies, to be led apart."""
        before = len(self.values)
        values = self.values[np.arange(count) % before]
        twin = LargePool(values, self.seed, self.moved, self.prior, self.lumps)
        twin.unsettled, twin.mixed = self.unsettled + self.values.shape[1], False
        twin.copied = [*self.copied, *range(before, count)]
        return twin

    def answered(
        self, question_tables: QuestionTables, boxes: Knowledge, answers: Sequence[int], table: Ints
    ) -> LargePool:
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
                chance = self._chance(place)
                found[place] = self._move(
                    values[place], question_tables, boxes, answers, None, chance, bounds
                )

        in_two(work, len(values), boxes.count + len(boxes.atoms.labels))
        lost = np.flatnonzero(~found)
        for place in lost:
            if found.any():
                values[place] = values[np.flatnonzero(found)[place % int(found.sum())]]
            elif not self._move(
                values[place], question_tables, boxes, answers, table, self._chance(int(place))
            ):
                raise OutOfTime("no world was found in the time allowed")
        grown = LargePool(values, self.seed, self.moved + 1, self.prior, self.lumps)
        grown.mixed = False
        grown.copied = lost.tolist()
        some = np.abs(values[0].astype(np.int64) - self.values[0])
        some[self.lumps] = 0  # they exchange nothing
        grown.unsettled = self.unsettled + int(some.sum())
        return grown

    def _move(
        self, values: NDArray[np.signedinteger], question_tables: QuestionTables, boxes: Knowledge,
        answers: Sequence[int],
        goal: Ints | None, seed: int, bounds: Bounds | None = None,
    ) -> bool:  # fmt: skip
        totals = totals_of(values, boxes.atoms.labels, boxes.count)
        pins = hold(boxes, totals, 1, np.zeros(0, dtype=np.int64), seed)
        if pins is None:
            return False
        if goal is None:
            goal = question_tables.table(bounds or bounds_of(boxes, pins), answers, seed, totals)
        else:
            pins = hold(boxes, goal, 1, np.zeros(0, dtype=np.int64), seed)
        if goal is None or pins is None:
            return False
        return settled(values, boxes, goal, pins, seed)

    def mix(self, roomy_table: RoomyTable) -> None:
        """Random moves that keep every answer: pairs within atoms, and records along the first basis."""
        self.mixed = True
        boxes = roomy_table.boxes
        order, firsts = boxes.members
        labels, size = boxes.atoms.labels, self.values.shape[1]
        basis = roomy_table.bases[0]
        base = self._chance(len(self.values))
        self.moved += 1
        shared = np.flatnonzero((np.diff(firsts) > 1)[labels])
        exchanges = min(FEWEST + self.unsettled, MOST * size) * len(shared) // size
        self.unsettled = 0
        odds = UNIFORM if self.prior is None else self.prior.odds
        copied, self.copied = self.copied, []
        # looked up once for all worlds, and in their order from then on
        fours = roomy_table.fours
        four = firsts[fours], boxes.sizes[fours], boxes.low[fours], boxes.high[fours]
        able = [np.unique(each.atoms) for each in boxes.extremes]

        def work(first: int, last: int) -> None:
            for place in range(first, last):
                values = self.values[place]
                held = self._held(values, boxes, able, base + place)
                jostle(
                    order, firsts, labels, shared, boxes.low, boxes.high, held, values, base + place,
                    exchanges, odds,
                )  # fmt: skip
                steps = OFTEN * len(fours) if place in copied else min(DEALT, len(fours))
                deal(*four, order, held, values, base + 104_729 * place, steps, odds)
                if roomy_table.rank:
                    stroll(
                        basis.columns, roomy_table.rank, basis.basic, order, firsts, labels, boxes.low,
                        boxes.high,
                        held, values, base + 7919 * place, min(MIX_STEPS, size), odds,
                    )  # fmt: skip

        in_two(work, len(self.values), size)

    def _held(
        self, values: NDArray[np.signedinteger], boxes: Knowledge, able: Sequence[Ints], seed: int
    ) -> NDArray[np.bool_]:
        """For each extreme one record that attains it, at random: it stays while others move. So do lumps.

        Args:
            values: A table.
            boxes: What is answered.
            able: By extreme its atoms, ascending.
            seed: Of the draw.
        """
        held = np.zeros(len(values), dtype=np.bool_)
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
        return held

    def middle(self, boxes: Knowledge) -> NDArray[np.float64]:
        """(p,) mean totals of the atoms over all worlds: reals that agree with every sum."""
        mean = self.values.mean(axis=0, dtype=np.float64)
        return np.bincount(boxes.atoms.labels, weights=mean, minlength=boxes.count).astype(np.float64)

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
                record = members[np.argmax(best * values[members].astype(np.int64))]
                values[record], held[record] = edge[atom], True
    shift = goal - totals_of(values, labels, boxes.count)
    return bool(spread(order, firsts, boxes.low, boxes.high, values, held, shift, seed))


@compiled()
def totals_of(values: NDArray[np.signedinteger], labels: Ints, count: int) -> Ints:
    """(p,) totals of the atoms in one world (n,)."""
    totals = np.zeros(count, np.int64)
    for record in range(len(labels)):
        totals[labels[record]] += values[record]
    return totals


@compiled()
def jostle(
    order: Ints, firsts: Ints, labels: Ints, shared: Ints, low: Ints, high: Ints, held: NDArray[np.bool_],
    values: NDArray[np.signedinteger], seed: int, steps: int, odds: NDArray[np.float64],
) -> None:  # fmt: skip
    """Pairs of records of one atom exchange: the sum of the two stays, its division becomes random.

    `shared` are the records that are not alone in their atoms. Where each of them is due, they are paired in
    the order in which they lie in memory: among a million, the next random one costs a hundred times as much.
    """
    np.random.seed(seed)
    while steps >= len(shared) > 0:
        steps -= len(shared)
        for atom in range(len(firsts) - 1):
            first, size = firsts[atom], firsts[atom + 1] - firsts[atom]
            if size < 2:
                continue
            apart = np.random.randint(1, size)
            for place in range(size):
                other = place + apart if place + apart < size else place + apart - size
                swap(order[first + place], order[first + other], low[atom], high[atom], held, values, odds)
    for _ in range(steps):
        one = shared[np.random.randint(0, len(shared))]
        atom = labels[one]
        two = order[firsts[atom] + np.random.randint(0, firsts[atom + 1] - firsts[atom])]
        if one != two:
            swap(one, two, low[atom], high[atom], held, values, odds)


@compiled()
def swap(
    one: int, two: int, low: int, high: int, held: NDArray[np.bool_], values: NDArray[np.signedinteger],
    odds: NDArray[np.float64],
) -> None:  # fmt: skip
    """Two records of one atom share what they have anew."""
    if held[one] or held[two]:
        return
    rise = min(high - values[one], values[two] - low)
    fall = min(values[one] - low, high - values[two])
    by = np.random.randint(-fall, rise + 1)
    if len(odds):
        gain = odds[values[one] + by] - odds[values[one]] + odds[values[two] - by] - odds[values[two]]
        if np.log(np.random.random()) >= gain:
            return
    values[one] += by
    values[two] -= by


@compiled()
def deal(
    starts: Ints, sizes: Ints, low: Ints, high: Ints, order: Ints, held: NDArray[np.bool_],
    values: NDArray[np.signedinteger], seed: int, steps: int, odds: NDArray[np.float64],
) -> None:  # fmt: skip
    """Two records gain what two others lose, in moves of four atoms (q, 4) that keep every sum.

    Unlike a record's move along a basis that asks room of four only: where nearly everybody is alone, and a
    basis' columns are long, that is what tells worlds apart. `order` from `starts` on are the atoms' records.
    """
    np.random.seed(seed)
    records, count = np.zeros(4, np.int64), len(starts)
    first = np.random.randint(0, max(count, 1))
    for step in range(first, first + steps):
        four = step % count
        rise, fall, loose = np.int64(2**40), np.int64(2**40), True
        for place in range(4):
            size = sizes[four, place]
            record = order[starts[four, place] + (np.random.randint(0, size) if size > 1 else 0)]
            records[place], loose = record, loose and not held[record]
            value = np.int64(values[record])
            above, below = high[four, place] - value, value - low[four, place]
            if place % 2 == 0:
                rise, fall = min(rise, above), min(fall, below)
            else:
                rise, fall = min(rise, below), min(fall, above)
        if not loose or rise + fall == 0:
            continue
        by = np.random.randint(-fall, rise + 1)
        if len(odds):
            gain = 0.0
            for place in range(4):
                value = np.int64(values[records[place]])
                gain += odds[value + (by if place % 2 == 0 else -by)] - odds[value]
            if np.log(np.random.random()) >= gain:
                continue
        for place in range(4):
            values[records[place]] += by if place % 2 == 0 else -by


@compiled()
def stroll(
    columns: Columns, width: int, basic: Ints, order: Ints, firsts: Ints, labels: Ints, low: Ints, high: Ints,
    held: NDArray[np.bool_], values: NDArray[np.signedinteger], seed: int, steps: int,
    odds: NDArray[np.float64],
) -> None:  # fmt: skip
    """Single records move to a uniform place of what random records of the basic atoms allow; sums stay."""
    np.random.seed(seed)
    picks, entries, rows = np.zeros(width, np.int64), np.zeros(width, np.int64), 0
    for _ in range(steps):
        record = np.random.randint(0, len(labels))
        atom = labels[record]
        if held[record]:
            continue
        rise, fall = high[atom] - np.int64(values[record]), np.int64(values[record]) - low[atom]
        rows = 0
        for i in range(width):
            entry = np.int64(columns[atom, i])
            if entry == 0:
                continue
            other = order[firsts[basic[i]] + np.random.randint(0, firsts[basic[i] + 1] - firsts[basic[i]])]
            if held[other] or other == record:
                rise, fall = 0, 0
                break
            above = high[basic[i]] - np.int64(values[other])
            below = np.int64(values[other]) - low[basic[i]]
            if entry > 0:
                rise, fall = min(rise, below // entry), min(fall, above // entry)
            else:
                rise, fall = min(rise, above // -entry), min(fall, below // -entry)
            if rise == 0 and fall == 0:
                break
            picks[rows], entries[rows] = other, entry
            rows += 1
        if rise == 0 and fall == 0:
            continue
        by = np.random.randint(-fall, rise + 1)
        if len(odds):
            gain = odds[values[record] + by] - odds[values[record]]
            for place in range(rows):
                here = values[picks[place]]
                gain += odds[here - entries[place] * by] - odds[here]
            if np.log(np.random.random()) >= gain:
                continue
        values[record] += by
        for place in range(rows):
            values[picks[place]] -= entries[place] * by
