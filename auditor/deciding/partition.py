"""Which answers are told exactly, and which as an end: fixed by past answers and the question alone.

Hypothetical answers have shown that something exact may be told. True answers lie outside of them more often
than not, since groups differ more than tables that are drawn. So from the least and the greatest of them that
keep the limit one goes on outwards, by longer and longer steps and then by halving, each candidate judged as
if it were the answer, until one fails or nothing beyond is possible. What lies beyond the last one that was
shown is told as "at most" or "at least" that one: each table that gives it agrees with this end too. It is
itself told so, or whoever knows the partition would read "less than" where "at most" is written. Of a sum
over many, whose end would need more spare records than there are, it is a range as wide as these make it.

Several values at once are told exactly inside of a box whose corners are shown (`boxes`), and its ends where
they hang on nothing together.

Promise: a partition follows from the question, past answers and hypothetical ones. Candidates are judged each
with an allowance of its own, and only those that it takes to tell where a true answer lies: the others would
change nothing, and nothing that judging them finds is kept.

Source: `mathematics.md`, 8.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from auditor.deciding.boxes import Box, Question
from auditor.deciding.looks import Look
from auditor.told import Told, exactly
from cae_sql.cached import cached_property
from cae_sql.inference.facts.query import Kind

LOOKS, LONGER = 12, 3
"""Candidates on each side of each value, and how many times as far out each next one is. Of millions of
records hypothetical sums lie within thousandths of the domain, and the true one as far off as a prior is
wrong: with six the mean of three million was refused, since nobody had looked so far."""
HALVED = 4
"""How often it is halved between the last one that was shown and the first that was not."""

Values = tuple[int, ...]
Looks = Callable[[Sequence[Told[int]]], Look]
"""Whether everybody keeps the limit with this told of each query."""


@dataclass
class Partition:
    """The partition of all answers to one question."""

    kinds: Sequence[Kind]
    """Of the queries."""
    possible: Sequence[tuple[int, int]]
    """The least and the greatest answer to each that the domain allows."""
    settled: Sequence[bool]
    """Of which queries past answers leave one answer: those have no end."""
    far: int
    """So much, at most, may lie between an end and the least, or greatest, answer that it leaves."""
    step: int
    """The least first step outwards."""
    look: Looks
    kept: list[Values]
    """Hypothetical answers that keep the limit, at least one."""
    margin: int = 0
    """How far inside of the first answer that fails an end of a single sum stays."""
    broken: list[Values] = field(default_factory=list)
    """Hypothetical answers that break it."""
    drawn: Sequence[Values] = ()
    """Of several queries, hypothetical answers as far as boxes should have them; by default those kept."""
    components: Sequence[int] = ()
    """Of several queries, which one each is of, as `boxes`; by default all are of one."""
    reach: Sequence[tuple[int, int] | None] = ()
    """Of several queries, as `boxes`."""
    _judged: dict[Values, bool] = field(default_factory=dict)
    _looks: dict[tuple[Told[int], ...], Look] = field(default_factory=dict)

    @property
    def without_ends(self) -> list[int]:
        """Of several queries that hang on nothing together, those that no end could be told of."""
        return self._boxes.without_ends if len(self.kinds) > 1 else []

    def with_shown_ends(self) -> Partition | None:
        """The partition whose ends are all shown to keep the limit; None where there is none.

        A hypothetical answer may keep it, and the end that is told from there on not: then the next one is
        the end. Found out once the true answer is looked at it would be a refusal that tells the end.
        """
        if len(self.kinds) > 1 or self.settled[0]:
            return self
        for way, none in ((-1, "min"), (1, "max")):
            last, left_out = self.possible[0][0 if way < 0 else 1], 1
            while self.kept and self.kinds[0] != none:
                inwards = sorted(self.kept, key=lambda values: -way * values[0])
                if inwards[0][0] == last or self._is_shown(self._end_at(0, way, inwards[0][0])):
                    break
                self.kept = inwards[left_out:]
                left_out *= 2  # each look takes long, and those next to each other fare alike
        return self if self.kept and self._are_apart() else None

    def _are_apart(self) -> bool:
        """Whether both ends are shown of a sum of which one answer was: it is told with the lower one.

        Each end is looked for no further than it takes to see that it is not that answer.
        """
        least, most = self.possible[0]
        if self.kinds[0] != "sum" or len(set(self.kept)) > 1:
            return True
        shown = self.kept[0][0]
        return not (
            least < shown < most
            and self._end(0, -1, least, shown) == shown == self._end(0, 1, most, shown)
            and not self._is_shown(self._at_least(0, shown + 1))
        )

    def told(self, values: Sequence[int]) -> list[Told[int] | None]:
        """What is told of answers; None where nothing can be."""
        if len(self.kinds) > 1:
            return self._told_together(values)
        return [
            exactly(value) if self.settled[place] else self._told(place, value)
            for place, value in enumerate(values)
        ]

    def around(self, value: int) -> Told[int] | None:
        """Of a single query, the range between the nearest answers that were shown, if there are two.

        These would be told exactly, so it is between them, and neither. None of one that was shown itself.
        """
        if len(self.kinds) > 1:
            return None
        shown = {values[0] for values in self.kept}
        shown |= {value for (_, value), safe in self._judged.items() if safe}
        known = sorted(shown)
        place = bisect_left(known, value)
        if not 0 < place < len(known) or known[place] == value:
            return None
        return Told(known[place - 1] + 1, known[place] - 1)

    def _told_together(self, values: Sequence[int]) -> list[Told[int] | None]:
        """Of several values: exactly inside of a box, and as ends outside."""
        box = self._boxes.last_shown(values)
        return [
            self._of_box(box, place, -1 if value <= box.low[place] else int(value >= box.high[place]), value)
            for place, value in enumerate(values)
        ]

    def _of_box(self, box: Box, place: int, way: int, value: int) -> Told[int]:
        """What is told of a value that is beyond an end of a box, or at it, one way; 0: inside."""
        low, high, (least, most) = box.low[place], box.high[place], self.possible[place]
        if self.settled[place]:
            return exactly(value)
        if way < 0 and self.kinds[place] != "min" and least < low:
            return self._at_most(place, low)
        if (way > 0 or value >= high) and self.kinds[place] != "max" and most > high:
            # what is told as the other end is not told as this one
            apart = self.kinds[place] == "min" or low == least
            return self._at_least(place, high if apart else max(high, low + 1))
        return exactly(value)

    @cached_property
    def _boxes(self) -> Question:
        return Question(
            self.kinds,
            self.possible,
            self.kept,
            self.step,
            self._is_kept,
            self.settled,
            self.components,
            self.reach,
            self.drawn,
            self._ends_are_kept if len(set(self.components)) == len(self.kinds) else None,
        )

    def _looked(self, told: Sequence[Told[int]]) -> Look:
        """Looked at once."""
        name = tuple(told)
        if name not in self._looks:
            self._looks[name] = self.look(told)
        return self._looks[name]

    def _is_kept(self, values: Values) -> Look:
        return Look(True) if values in self.kept else self._looked([exactly(value) for value in values])

    def _ends_are_kept(self, box: Box, way: int, places: Collection[int]) -> Look:
        """Whether everybody keeps the limit with what is told beyond a box's ends one way, of some values."""
        ends, some = (box.low if way < 0 else box.high), set(places)
        return self._looked(
            [
                self._of_box(box, place, way, value) if place in some else exactly(value)
                for place, value in enumerate(ends)
            ]
        )

    def _told(self, place: int, value: int) -> Told[int] | None:
        kind, drawn = self.kinds[place], [values[place] for values in self.kept]
        least, most = self.possible[place]
        found = exactly(value)
        # a greatest value can be told as "at most" alone, a least one as "at least"
        low = high = None
        if value <= min(drawn) + self.margin and kind != "min":
            low = self._end(place, -1, least, value)
        if low is not None and least < low >= value:
            found = self._at_most(place, low)
        elif value >= max(drawn) - self.margin and kind != "max":
            high = self._end(place, 1, most, value)
            if most > high <= value:
                # what is told as the other end is not told as this one: both would tell more than they say
                low = least if kind == "min" else self._end(place, -1, least, high)
                found = self._at_least(place, max(high, low + 1) if least < low else high)
        return found if found.holds(value) else None

    def _end_at(self, place: int, way: int, end: int) -> Told[int]:
        """What is told of the answers beyond an end."""
        return (self._at_most if way < 0 else self._at_least)(place, end)

    def _at_most(self, place: int, end: int) -> Told[int]:
        return Told(None if end - self.possible[place][0] <= self.far else end - self.far, end)

    def _at_least(self, place: int, end: int) -> Told[int]:
        return Told(end, None if self.possible[place][1] - end <= self.far else end + self.far)

    def _end(self, place: int, way: int, last: int, value: int) -> int:
        """The last answer that is told exactly one way, 1 or -1, or one beyond a value.

        Of a single sum it has the margin to the first that is known to fail.
        """
        drawn = [values[place] for values in self.kept]
        good = way * max(way * each for each in drawn)
        # beyond the middle the other end may be, and nothing is told by both
        ordered = sorted(set(drawn))
        middle = (len(ordered) - 1) // 2
        inmost = ordered[middle if way < 0 else min(middle + 1, len(ordered) - 1)]
        failed = [way * values[0] for values in self.broken if way * values[0] > way * good]
        bad = way * min(failed) if failed else None
        step, looks = max(max(drawn) - min(drawn), self.step), LOOKS
        while bad is None and looks and good != last and way * good <= way * value + self.margin:
            candidate, step, looks = way * min(way * last, way * good + step), LONGER * step, looks - 1
            if self._shown(place, way, candidate):
                good = candidate
            else:
                bad = candidate
        for _ in range(HALVED):
            if bad is None:
                break
            candidate = good + way * (abs(bad - good) // 2)
            if candidate == good or way * good > way * value + self.margin:
                break
            if self._shown(place, way, candidate):
                good = candidate
            else:
                bad = candidate
        if bad is None or not self.margin:
            return good
        # what comes near to where it fails leaves nothing to later questions
        edge = way * max(way * inmost, min(way * good, way * bad - self.margin))
        # no further inside than that: whoever lies there was told exactly without a look at this end
        return edge if edge == good or self._shown(place, way, edge) else good

    def _is_shown(self, told: Told[int]) -> bool:
        """Of a single query."""
        return self.look([told]).safe

    def _shown(self, place: int, way: int, candidate: int) -> bool:
        """Whether a value is, told exactly and as an end."""
        # the same value may be looked at as one end and as the other
        if (way, candidate) not in self._judged:
            safe = self._is_shown(exactly(candidate)) and self._is_shown(self._end_at(place, way, candidate))
            self._judged[way, candidate] = safe
        return self._judged[way, candidate]
