"""Evidence that answers are safe: feasible tables that give them, and the runs that records keep around each.

Answers to the same queries that differ in sums alone are judged together: one pair of tables is looked for
between which there is a feasible table for each of them. What is found is kept here, never in the system.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cae_sql.errors import OutOfTime
from cae_sql.inference.allowance import ENTRIES, Allowance
from cae_sql.inference.certify.coverage import Shown, all_pairs, left_open, show
from cae_sql.inference.certify.rooms import Judged, Wanted
from cae_sql.inference.facts.extremes import bounds_of, hold, narrows, without_ties
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.standard import Judgement, Standard
from cae_sql.inference.tables.central import Central
from cae_sql.inference.tables.exchange import Bounds, Tables
from cae_sql.inference.tables.question_tables import QuestionTables
from cae_sql.threads import in_two

MANY = 20_000
"""Where more than these are left open after two tables, further ones do not help."""

Sums = tuple[int, ...]
"""Answers to those of the queries' sums that past answers do not settle."""


class Terms(NamedTuple):
    """How a look is taken."""

    standard: Standard
    """What everybody must keep."""
    allowance: Allowance
    """What may be spent; nothing more is tried beyond it."""
    keep: bool = True
    """Whether later looks may build on this one: not where the answers are the true ones."""
    further: bool = True
    """Whether other tables than the roomy one are used where it leaves records open."""
    spared: int = 0
    """Where no table is found for more answers than this, the rest is not looked at."""


@dataclass(frozen=True, eq=False)
class _Past:
    """What was shown of some answers."""

    sums: Sequence[Sums]
    whole: bool
    """Whether it was shown of all answers in between too."""
    seen: list[Shown]
    """Around different tables."""
    done: bool
    """Whether nothing was left out for lack of time: the same is not shown twice."""
    judgement: Judgement

    def covers(self, sums: Sequence[Sums]) -> bool:
        """Whether it is about all of these answers."""
        if not self.whole:
            return set(sums) <= set(self.sums)
        ranges = _ranges(self.sums)
        return all(
            low <= value <= high for each in sums for value, (low, high) in zip(each, ranges, strict=True)
        )


class Evidence:
    """What was shown of answers to some queries."""

    def __init__(self, tables: QuestionTables) -> None:
        """Nothing is shown yet."""
        self.tables = tables
        self.open_parts: Ints = np.zeros(0, dtype=np.int64)
        """Parts of which the last look left somebody open."""
        self.missed: set[Sums] = set()
        """Answers for which no table was found where several were judged together."""
        self.past: dict[Hashable, dict[frozenset[Sums], _Past]] = {}
        """By boxes and standard."""
        self._found: dict[tuple[Hashable, Sums], Ints] = {}
        """Tables for single answers."""

    def show(self, boxes: Knowledge, group: Sequence[Sums], terms: Terms) -> Judgement | None:
        """Whether everybody keeps a standard whichever of some answers is given; None if nothing is shown.

        Args:
            boxes: The parts, with the boxes and extremes that the answers leave.
            group: The answers.
            terms: How it is looked.
        """
        try:
            # the strictest reading is the one an intruder takes, if any table agrees with it; its tables
            # are tables of all readings, so what it leaves to everybody they leave too
            strict = next(iter(without_ties(boxes)), boxes) if boxes.extremes else boxes
        except OutOfTime:
            return None
        found = self._show_reading(strict, group, terms)
        if found is None or not found.safe or not terms.standard.insiders or strict is boxes:
            return found
        if not narrows(strict, boxes):
            return found
        # but to an insider with the value it says nothing: he knows that there is a tie
        other = self._show_reading(boxes, group, terms)
        return other and Judgement(other.safe, min(found.width, other.width))

    def _show_reading(self, boxes: Knowledge, group: Sequence[Sums], terms: Terms) -> Judgement | None:
        found = self._look(boxes, group, terms)
        if (found is not None and found.safe) or not self.tables.softs or len(group) == 1:
            return found
        # one after the other: between two tables less is known of where ranges are than in a single one; the
        # one in the middle first, then those at the ends: where one fails it is seldom another
        widths, half = list[int](), len(group) // 2
        for sums in dict.fromkeys([group[half], group[0], group[-1], *group]):
            found = self._look(boxes, [sums], terms)
            if found is None or not found.safe:
                return found
            widths.append(found.width)
        return Judgement(True, min(widths))

    def _look(self, boxes: Knowledge, group: Sequence[Sums], terms: Terms) -> Judgement | None:
        standard = terms.standard
        if boxes.narrowest < standard.need:
            return Judgement(False, boxes.narrowest)
        extremes = tuple((each.top, each.value, each.atoms.tobytes()) for each in boxes.extremes)
        name = extremes, boxes.low.tobytes(), boxes.high.tobytes(), standard
        kept, these = self.past.setdefault(name, {}), frozenset(group)
        if these in kept and kept[these].done:
            return kept[these].judgement
        seen = [
            past for key, each in kept.items() if key != these and each.covers(group) for past in each.seen
        ]
        # what was looked at among others already is given a look of its own, no more
        earlier, again, whole, late, safe = len(seen), bool(seen), True, False, all_pairs(seen)
        pins = hold(boxes, self.tables.totals, standard.insiders + 2, self.tables.pending.basic)
        if pins is None:
            return None
        ways = () if safe else self._ways(bounds_of(boxes, pins), group, name, terms, again)
        for turn, (ends, between) in enumerate(ways):
            late = terms.allowance.over
            if safe or late or (turn > 1 and (len(seen[-1].open) > MANY or not terms.further)):
                break
            open_ = None if not seen else Wanted(*map(boxes.atoms.occupied.parts, left_open(seen)))
            judged = Judged(boxes, pins, standard.need, standard.insiders, open_)
            seen.append(show(self.tables, judged, ends, terms.allowance, terms.keep))
            whole, safe = whole and between, all_pairs(seen)
        if not seen:
            return None
        self.open_parts = min((each.open for each in seen), key=len)
        width = max(each.width for each in seen)
        judgement = Judgement(safe, max(width, standard.need) if safe else width)
        if terms.keep:
            done = safe or (terms.further and not (late or terms.allowance.over))
            kept[these] = _Past(group, whole, seen[earlier:], done, judgement)
        return judgement

    def _ways(
        self, bounds: Bounds, sums: Sequence[Sums], name: Hashable, terms: Terms, again: bool
    ) -> Iterator[tuple[Tables, bool]]:
        """Pairs of tables between which there is one for each answer, and whether for all in between too.

        By exchange around the roomy table, then around a central one that gives an answer in the middle, then
        between tables for the single answers.

        Args:
            bounds: Between what totals lie.
            sums: The answers.
            name: Of the boxes, by which tables are remembered.
            terms: How it is looked.
            again: Whether all were looked at among others before: then no central table is made.
        """
        tables, ranges = self.tables, _ranges(sums)
        if tables.softs:
            yield from self._led_ways(bounds, sums, ranges, terms)
            return
        found = tables.between(bounds, ranges)
        if found is not None:
            yield found, True
        central = Central(tables, bounds, terms.allowance)
        around = None if again else central.table(_middle(sums, ranges))
        found = None if around is None else central.between(around, ranges)
        if around is not None and found is not None:
            yield found, True
        found = self._between_single(bounds, sums, name, terms)
        if found is not None:
            yield found, False

    def _led_ways(
        self, bounds: Bounds, sums: Sequence[Sums], ranges: Sequence[tuple[int, int]], terms: Terms
    ) -> Iterator[tuple[Tables, bool]]:
        """As `_ways`, where statistics are kept inside of ranges: around tables that are led to their middle.

        Exchange changes many parts by a little, and a spread by more than its range leaves. So from one
        answer to another moves of few parts lead.
        """
        tables, middle = self.tables, _middle(sums, ranges)
        central = Central(tables, bounds, terms.allowance)
        for turn in range(1 + terms.further):
            found = central.table(middle) if turn else tables.table(bounds, middle)
            if found is None:
                continue
            led = tables.led(bounds, found)
            between = Tables(led, led) if len(sums) == 1 else central.between(led, ranges)
            if between is not None:
                yield between, True

    def _between_single(
        self, bounds: Bounds, sums: Sequence[Sums], name: Hashable, terms: Terms
    ) -> Tables | None:
        """The least and the greatest total of each part over tables for the single answers."""
        tables, roomy_table = self.tables, self.tables.roomy_table
        if not roomy_table.ways.single_answers:
            return None
        each_one: list[Ints | None] = [self._found.get((name, each)) for each in sums]
        spared = terms.spared if len(sums) > 1 else 0
        lost: list[int] = []

        # before the threads begin, so that what they come to does not hang on which is the quicker
        missing = sum(each is None for each in each_one)
        terms.allowance.spend(missing * tables.boxes.count * (roomy_table.rank + 1) / ENTRIES)

        def work(first: int, last: int) -> None:
            for place in range(first, last):
                if len(lost) > spared or terms.allowance.over:
                    return
                if each_one[place] is None:
                    each_one[place] = tables.table(bounds, sums[place])
                    lost.extend([place] if each_one[place] is None else [])

        in_two(work, len(sums), roomy_table.count * (roomy_table.rank + 1) if len(sums) > 1 else 0)
        found = {each: table for each, table in zip(sums, each_one, strict=True) if table is not None}
        if terms.keep:
            self._found.update({(name, each): table for each, table in found.items()})
            self.missed = (self.missed | {sums[place] for place in lost}) - set(found)
        if len(found) < len(sums):
            return None
        return Tables(np.minimum.reduce(list(found.values())), np.maximum.reduce(list(found.values())))


def _middle(sums: Sequence[Sums], ranges: Sequence[tuple[int, int]]) -> Sums:
    """Of several answers the one that is nearest to the middle of all."""
    return min(sums, key=lambda each: sum(abs(2 * v - a - b) for v, (a, b) in zip(each, ranges, strict=True)))


def _ranges(sums: Sequence[Sums]) -> list[tuple[int, int]]:
    """Least and greatest of each sum."""
    return [(min(each), max(each)) for each in zip(*sums, strict=True)]
