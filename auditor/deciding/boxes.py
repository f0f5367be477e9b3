"""Of several values in one statement: between which answers all are told exactly, whatever they are together.

One value after the other, each beside a middle answer of the others, is not enough: a low one beside a high
one may break the limit where each is safe by itself, and a refusal once the true answers are known tells
that. So boxes are looked at, each around the one before: from a middle hypothetical answer over half of
those drawn and all of them outwards, by longer and longer steps and then by halving. A box is shown if its
corners are: the width of what reals leave anybody is concave in all answers together, so what holds at the
corners holds between. What no table agrees with is not shown.

Promise: the last box that is shown follows from the question, past answers and hypothetical ones. Boxes are
looked at only as far as it takes to tell where the true answers lie: the others would change nothing.

Source: `mathematics.md`, 4 (a shortcut) and 8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

Values = tuple[int, ...]

LOOKS, LONGER, HALVED = 12, 3, 4
"""As of one value (`partition`): boxes outwards, how many times as far out each next one is, and halvings."""
MOST_CORNERS = 16
"""Corners that are all looked at. Of twenty values there are a million: then those at which all are low, or
high, or those are whose number has a certain binary digit. Every two values are both low, both high, and one
of each."""


@dataclass(frozen=True)
class Box:
    """Answers between two, (m,) each, ends included."""

    low: Values
    high: Values

    def corners(self) -> list[Values]:
        """Those that are looked at, each once."""
        count = len(self.low)
        wide = [place for place in range(count) if self.low[place] < self.high[place]]
        if 2 ** len(wide) <= MOST_CORNERS:
            pairs = zip(self.low, self.high, strict=True)
            return list(dict.fromkeys(product(*pairs)))
        found = [self.low, self.high]
        for digit in range((count - 1).bit_length()):
            for one, other in ((self.low, self.high), (self.high, self.low)):
                found.append(tuple((other if place >> digit & 1 else one)[place] for place in range(count)))
        return list(dict.fromkeys(found))

    def to(self, other: Box, part: float) -> Box:
        """So far on the way to a larger one."""

        def between(mine: Values, theirs: Values) -> Values:
            return tuple(a + round((b - a) * part) for a, b in zip(mine, theirs, strict=True))

        return Box(between(self.low, other.low), between(self.high, other.high))


@dataclass(frozen=True)
class Question:
    """What boxes are looked for of. Shapes: m values."""

    kinds: Sequence[str]
    possible: Sequence[tuple[int, int]]
    """The least and the greatest answer to each that the domain allows."""
    kept: Sequence[Values]
    """Hypothetical answers that keep the limit, at least one."""
    step: int
    """The least first step outwards."""
    shows: Callable[[Values], bool]
    """Whether everybody keeps the limit with these answers."""
    settled: Sequence[bool] = ()
    """Of which values past answers leave one: no box is wider there. By default of none."""

    def last_shown(self, values: Sequence[int]) -> Box:
        """The last box that is shown, or one before it that has these answers inside of its ends."""
        good, bad = next(boxes := self._boxes()), None
        for box in boxes:
            if self._has_inside(good, values):
                return good
            if not self._is_shown(box):
                bad = box
                break
            good = box
        for _ in range(HALVED):
            if bad is None or self._has_inside(good, values):
                break
            middle = good.to(bad, 0.5)
            if middle in (good, bad):
                break
            good, bad = (middle, bad) if self._is_shown(middle) else (good, middle)
        return good

    def _is_shown(self, box: Box) -> bool:
        return all(self.shows(corner) for corner in box.corners())

    def _has_inside(self, box: Box, values: Sequence[int]) -> bool:
        """Whether all are told exactly whatever larger box is shown: an end itself is told as an end."""
        return all(
            self._fixed(place) or ((low < value or low == least) and (value < high or high == most))
            for place, (low, high, value, (least, most)) in enumerate(
                zip(box.low, box.high, values, self.possible, strict=True)
            )
        )

    def _fixed(self, place: int) -> bool:
        return bool(self.settled) and self.settled[place]

    def _boxes(self) -> Iterator[Box]:
        """From a middle answer outwards."""
        places = range(len(self.kinds))
        drawn = [sorted(values[place] for values in self.kept) for place in places]
        middles = [each[len(each) // 2] for each in drawn]
        middle = min(self.kept, key=lambda each: sum(abs(a - b) for a, b in zip(each, middles, strict=True)))
        whole = Box(tuple(each[0] for each in drawn), tuple(each[-1] for each in drawn))
        around = Box(middle, middle)
        yield around
        yield around.to(whole, 0.5)
        yield whole
        out, step = whole, 1
        for _ in range(LOOKS):
            steps = [
                0 if self._fixed(place) else step * max(high - low, self.step)
                for place, (low, high) in enumerate(zip(whole.low, whole.high, strict=True))
            ]
            further = Box(
                tuple(self._end(place, -1, out.low[place] - steps[place]) for place in places),
                tuple(self._end(place, 1, out.high[place] + steps[place]) for place in places),
            )
            if further == out:
                return
            yield further
            out, step = further, LONGER * step

    def _end(self, place: int, way: int, value: int) -> int:
        """No further than what is possible."""
        least, most = self.possible[place]
        return max(value, least) if way < 0 else min(value, most)
