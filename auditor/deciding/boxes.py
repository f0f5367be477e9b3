"""Of several values in one statement: between which answers all are told exactly, whatever they are together.

One value after the other, each beside a middle answer of the others, is not enough: a low one beside a high
one may break the limit where each is safe by itself, and a refusal once the true answers are known tells
that. So boxes are looked at, each around the one before: from a middle hypothetical answer over half of
those drawn and all of them outwards, by longer and longer steps and then by halving. A box is shown if its
corners are: the width of what reals leave anybody is concave in all answers together, so what holds at the
corners holds between. What no table agrees with is not shown.

Values of different components (`certify.question`) hang on nothing together, so each component has boxes of
its own, which are shown if what is told beyond their ends is, too. All are looked at in one go; where that
fails, those fail because of whom it did, or all. What the closed form shows at least (`reach`) is the next
box after what was drawn: nothing is gained by smaller steps.

Promise: the last box that is shown follows from the question, past answers and hypothetical ones. Boxes are
looked at only as far as it takes to tell where the true answers lie: the others would change nothing.

Source: `mathematics.md`, 4 (a shortcut) and 8.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from auditor.deciding.looks import Look
from cae_sql.cached import cached_property

Values = tuple[int, ...]

LOOKS, LONGER, HALVED = 12, 3, 4
"""As of one value (`partition`): boxes outwards, how many times as far out each next one is, and halvings."""
MOST_CORNERS = 16
"""Corners that are all looked at. Of twenty values there are a million: then those at which all are low, or
high, or those are whose number has a certain binary digit. Every two values are both low, both high, and one
of each."""
NAMED = 8
"""How often it is asked which of several components fail: then all do."""


@dataclass(frozen=True)
class Box:
    """Answers between two, (m,) each, ends included."""

    low: Values
    high: Values

    def corners(self, numbers: Sequence[int]) -> list[Values]:
        """Those that are looked at, each once.

        Args:
            numbers: (m,) of each value among those of its component, from 0: values with one number go the
                same way.
        """
        pairs = list(zip(self.low, self.high, strict=True))
        wide = sorted({number for number, (low, high) in zip(numbers, pairs, strict=True) if low < high})
        if 2 ** len(wide) <= MOST_CORNERS:
            ways = [dict(zip(wide, each, strict=True)) for each in product((0, 1), repeat=len(wide))]
        else:
            ways = [dict.fromkeys(wide, end) for end in (0, 1)]
            for digit in range(wide[-1].bit_length()):
                ways += [{number: end ^ (number >> digit & 1) for number in wide} for end in (0, 1)]
        return list(
            dict.fromkeys(
                tuple(pair[way.get(number, 0)] for number, pair in zip(numbers, pairs, strict=True))
                for way in ways
            )
        )

    def to(self, other: Box, part: float) -> Box:
        """So far on the way to a larger one."""

        def between(mine: Values, theirs: Values) -> Values:
            return tuple(a + round((b - a) * part) for a, b in zip(mine, theirs, strict=True))

        return Box(between(self.low, other.low), between(self.high, other.high))

    def with_those_of(self, other: Box, places: Iterable[int]) -> Box:
        """This one, but another one's in some places."""
        low, high = list(self.low), list(self.high)
        for place in places:
            low[place], high[place] = other.low[place], other.high[place]
        return Box(tuple(low), tuple(high))


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
    shows: Callable[[Values], Look]
    """Whether everybody keeps the limit with these answers."""
    settled: Sequence[bool] = ()
    """Of which values past answers leave one: no box is wider there. By default of none."""
    components: Sequence[int] = ()
    """Which one each value is of. By default all are of one."""
    reach: Sequence[tuple[int, int] | None] = ()
    """Beyond which nothing is looked at, where that is known."""
    drawn: Sequence[Values] = ()
    """Hypothetical answers that boxes should have inside; by default those that keep the limit."""
    shows_ends: Callable[[Box, int, Collection[int]], Look] | None = None
    """Whether everybody keeps the limit with what is told beyond a box's low ends, -1, or its high ones, 1,
    of the values in some places, the others being told exactly; None where ends are not looked at."""

    def last_shown(self, values: Sequence[int]) -> Box:
        """The last box that is shown, or one before it that has these answers inside of its ends."""
        return self._looked_for(values)[0]

    @cached_property
    def without_ends(self) -> list[int]:
        """Places of the values no box of which has ends that are shown. It hangs on no true answer."""
        unshown = self._looked_for(None)[1]
        return sorted(place for component in unshown for place in self._places[component])

    def _looked_for(self, values: Sequence[int] | None) -> tuple[Box, set[int]]:
        """The last box; None: no more than it takes to know of which components one has ends that are shown.

        Returns:
            The box, and the components none of whose boxes has.
        """
        boxes = self._boxes()
        good, bad, halved = next(boxes), dict[int, Box](), dict.fromkeys(self._places, 0)
        unshown = set(self._places) if self.shows_ends else set[int]()
        # what is looked at next hangs on no true answer: those only tell when there is enough of it
        while unshown or (values is not None and self._open(good, values)):
            further, looked_at = next(boxes, None), dict[int, Box]()
            for component in self._places:
                if component not in bad and further is not None:
                    looked_at[component] = further
                elif component in bad and halved[component] < HALVED:
                    looked_at[component] = good.to(bad[component], 0.5)
                    halved[component] += 1
            if not looked_at:
                break
            failing = self._failing(good, looked_at)
            bad |= {component: looked_at[component] for component in failing}
            good = self._moved(good, {each: box for each, box in looked_at.items() if each not in failing})
            unshown &= set(failing) | (set(self._places) - looked_at.keys())
        return good, unshown

    @cached_property
    def _places(self) -> dict[int, list[int]]:
        """By component, where its values are."""
        found = dict[int, list[int]]()
        for place in range(len(self.kinds)):
            found.setdefault(self.components[place] if self.components else 0, []).append(place)
        return found

    @cached_property
    def _numbers(self) -> list[int]:
        """(m,) as `Box.corners`."""
        numbers = {place: number for places in self._places.values() for number, place in enumerate(places)}
        return [numbers[place] for place in range(len(self.kinds))]

    def _moved(self, good: Box, boxes: Mapping[int, Box]) -> Box:
        """The same, with another box of some components."""
        for component, box in boxes.items():
            good = good.with_those_of(box, self._places[component])
        return good

    def _failing(self, good: Box, boxes: Mapping[int, Box]) -> list[int]:
        """Which components' boxes are not shown, the others being where they were: all, where it is not known
        which."""
        failing = list[int]()
        for _ in range(NAMED):
            left = {component: box for component, box in boxes.items() if component not in failing}
            look = self._look(self._moved(good, left), left)
            if not left or look.safe:
                return failing
            named = {self.components[place] if self.components else 0 for place in look.open} & left.keys()
            if not named:
                break
            failing += sorted(named)
        return list(boxes)

    def _look(self, box: Box, components: Iterable[int]) -> Look:
        """At the corners of a box, and at the ends of some components where these are to be shown."""
        for corner in box.corners(self._numbers):
            look = self.shows(corner)
            if not look.safe:
                return look
        places = [place for component in components for place in self._places[component]]
        for way in (-1, 1) if self.shows_ends else ():
            assert self.shows_ends is not None
            look = self.shows_ends(box, way, places)
            if not look.safe:
                return look
        return Look(True)

    def _open(self, box: Box, values: Sequence[int]) -> bool:
        """Whether answers are not inside of their ends: an end itself is told as an end."""
        return not all(self._has_inside(box, place, value) for place, value in enumerate(values))

    def _has_inside(self, box: Box, place: int, value: int) -> bool:
        """Whether it is told exactly whatever larger box is shown."""
        low, high, (least, most) = box.low[place], box.high[place], self.possible[place]
        return self._fixed(place) or ((low < value or low == least) and (value < high or high == most))

    def _fixed(self, place: int) -> bool:
        return bool(self.settled) and self.settled[place]

    def _boxes(self) -> Iterator[Box]:
        """From a middle answer outwards."""
        places = range(len(self.kinds))
        drawn = [sorted(values[place] for values in self.drawn or self.kept) for place in places]
        middles = [each[len(each) // 2] for each in drawn]
        middle = min(self.kept, key=lambda each: sum(abs(a - b) for a, b in zip(each, middles, strict=True)))
        whole = Box(
            tuple(min(each[0], value) for each, value in zip(drawn, middle, strict=True)),
            tuple(max(each[-1], value) for each, value in zip(drawn, middle, strict=True)),
        )
        around = Box(middle, middle)
        yield around
        if not self.shows_ends:
            yield around.to(whole, 0.5)
        yield whole
        out, step = whole, 1
        for _ in range(LOOKS):
            steps = [
                0 if self._fixed(place) else step * max(high - low, self.step)
                for place, (low, high) in enumerate(zip(whole.low, whole.high, strict=True))
            ]
            further = Box(
                tuple(
                    min(low, self._end(place, -1, low - step))
                    for place, (low, step) in enumerate(zip(out.low, steps, strict=True))
                ),
                tuple(
                    max(high, self._end(place, 1, high + step))
                    for place, (high, step) in enumerate(zip(out.high, steps, strict=True))
                ),
            )
            if further == out:
                return
            yield further
            out, step = further, LONGER * step

    def _end(self, place: int, way: int, value: int) -> int:
        """Where the closed form shows everybody's runs, at once; else no further than what is possible."""
        known = self.reach[place] if self.reach else None
        if known is not None and not self._fixed(place):
            return known[0 if way < 0 else 1]
        least, most = self.possible[place]
        return max(value, least) if way < 0 else min(value, most)
