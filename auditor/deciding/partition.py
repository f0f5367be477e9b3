"""Which answers are told exactly, and which as a bound: fixed by past answers and the question alone.

True answers lie outside of hypothetical ones more often than not, since groups differ more than tables that
are drawn. So a box is looked for, between whose ends every value is told exactly. What lies at an end or
beyond it is told as "at most" or "at least" that end: each table that gives the end agrees with the bound,
too. Of a sum over many, whose bound would need more spare records than there are, it is a range as wide as
these make it.

Boxes are tried, the widest first: three times as wide as hypothetical answers, all of these, half of them,
and the middle one alone, which is looked at by itself where the widest is not shown at once. Each component
of the system (`certify.question`) has a box of its own, and each end is tried by itself, but for values that
hang together. A box is shown if its corners are: the width of what reals leave anybody is concave in all
answers together, so what holds at the corners holds between; of a single query whole answers a few steps from
the middle are each looked at. Its ends are shown as bounds, too. All
components are looked at in one go; where that fails, the ends of those that it names fail, or all.

Only then are the true answers looked at. Where they lie beyond an end, further ones are tried: outwards by
longer and longer steps, and by halving towards what failed, unless it failed by what it would make likely;
of values that hang together all ends at once, then those that fail each by itself.

Promise: the ends that are tried, and in which order, follow from the question, past answers and hypothetical
ones. The true answers only say how many of them are tried: further ones would change nothing of what is told.
Nothing that judging those finds is kept.

Source: `mathematics.md`, 4 (a shortcut) and 8; engine rules 3 to 5.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from auditor.deciding.cases import Look
from auditor.told import Told, exactly
from cae_sql.cached import cached_property

FURTHER, LONGER, HALVED = 12, 3, 4
"""How often one goes outwards, how many times as far out each next end is, and how often it is halved. Of
millions of records hypothetical sums lie within thousandths of the domain, and the true one as far off as a
prior is wrong: with six the mean of three million was refused, since nobody had looked so far."""
MOST_CORNERS = 16
"""Corners that are all looked at. Of twenty values there are a million: then those at which all are low, or
high, or those are whose number has a certain binary digit. Every two values are both low, both high, and one
of each."""
EXCLUDED, LIKELY, BOUNDS = "excluded", "likely", "bounds"
"""What a look looks at."""
LISTED = 8
"""Steps from the middle to an end up to which each answer between is looked at too."""
NAMED = 8
"""How often it is asked which of several components fail: then all do."""

Values = tuple[int, ...]
End = tuple[int, int]
"""A component and 0 for the low or 1 for the high end of its box."""


class Looks(Protocol):
    """Whether everybody keeps the limit with something known."""

    def excluded(self, values: Values, keep: bool) -> Look:
        """By what exact answers exclude; `keep`: whether it hangs on no true answer."""

    def likely(self, told: Sequence[Told[int]], keep: bool) -> Look:
        """By what answers or bounds make likely."""

    def together(self, answers: Sequence[Values]) -> bool:
        """By what several exact answers exclude, and all between them, in one look."""

    def bounds(self, told: Sequence[Told[int]]) -> Look:
        """By what bounds exclude, of which no exact answer says so."""


@dataclass(frozen=True)
class Box:
    """Answers between two, (m,) each, ends included: low and high ones."""

    ends: tuple[Values, Values]

    def to(self, other: Box, part: float) -> Box:
        """So far on the way to another one."""
        low, high = (
            tuple(a + round((b - a) * part) for a, b in zip(mine, theirs, strict=True))
            for mine, theirs in zip(self.ends, other.ends, strict=True)
        )
        return Box((low, high))

    def with_those_of(self, other: Box, places: Iterable[tuple[int, int]]) -> Box:
        """This one, but another one's low or high values in some places."""
        found = [list(values) for values in self.ends]
        for place, side in places:
            found[side][place] = other.ends[side][place]
        return Box((tuple(found[0]), tuple(found[1])))

    def ways(self, numbers: Sequence[int], margin: int) -> list[dict[int, int]]:
        """The corners that are looked at: of values with a number whether they are low or high there.

        Args:
            numbers: (m,) of each value among those of its component, from 0: values with one number go the
                same way. Those that are left out are alike at both ends.
            margin: By which more than the box is looked at.
        """
        wide = sorted({n for n, low, high in zip(numbers, *self.ends, strict=True) if low < high + margin})
        if 2 ** len(wide) <= MOST_CORNERS:
            return [dict(zip(wide, each, strict=True)) for each in product((0, 1), repeat=len(wide))]
        found = [dict.fromkeys(wide, end) for end in (0, 1)]
        for digit in range(wide[-1].bit_length()):
            found += [{number: end ^ (number >> digit & 1) for number in wide} for end in (0, 1)]
        return found


@dataclass(frozen=True)
class Asked:
    """What is asked. Shapes: m values."""

    kinds: Sequence[str]
    possible: Sequence[tuple[int, int]]
    """The least and the greatest answer to each that the domain allows."""
    drawn: Sequence[Values]
    """Hypothetical answers, at least one."""
    kept: Collection[Values] = ()
    """Those of them that are known to keep the limit."""
    settled: Sequence[bool] = ()
    """Of which values past answers leave one: no box is wider there. By default of none."""
    components: Sequence[int] = ()
    """Which one each value is of, or a name of its own. By default all are of one."""
    reach: Sequence[tuple[int, int] | None] = ()
    """Beyond which nothing is tried, where that is known."""
    shares: NDArray[np.float64] | None = None
    """As `certify.question`, of values that hang together and have names of their own. Of these what is drawn
    must make nothing too likely, or the others are asked without."""
    margin: int = 0
    """How far inside of what is shown by exclusion an end stays."""
    at_once: bool = True
    """Whether everybody is looked at at once, whatever an insider has: then a bound is shown by what is shown
    of an exact answer that it leaves. What is likely is known but about there, so that no end is moved nearer
    to where it is too much."""
    far: int = 2**62
    """So much, at most, may lie between a bound and the least, or greatest, answer that it leaves."""
    step: int = 1
    """The least step outwards."""


class Partition:
    """The partition of all answers to one question."""

    def __init__(self, asked: Asked, looks: Looks) -> None:
        """Look at nothing yet.

        Args:
            asked: The question.
            looks: Says whether everybody keeps the limit.
        """
        self.asked, self._looks = asked, looks
        self._shown = set(asked.kept)
        """Exact answers that were shown."""
        self._seen = dict[tuple[str, Any], Look]()
        """What looks came to."""
        self.exact = Box((self._middle, self._middle))
        """Answers between its ends are told exactly."""
        self._bad = dict[End, Box]()
        """The nearest box of which an end is not shown."""
        self._last = set[End]()
        """Ends that would make something too likely further out. What is likely is nearly as much so before
        that, and is known but about: nearer to where it failed a star was told until the exact posterior was
        beyond the limit."""
        self._further = [self._outwards(self._whole, 1)]
        """Boxes from the widest outwards."""
        self._tries, self._halved = dict[End, int](), dict[End, int]()
        """How often an end was tried to be moved, and how often by halving."""
        self._by_itself = set[End]()
        """Ends of values that hang together that failed when they were moved with others."""
        self._keep = True
        """Whether what is looked at hangs on no true answer."""

    def settle(self) -> Look:
        """Find ends that are shown; not safe where there are none, because of the values in some places.

        It hangs on no true answer.
        """
        middle, whole = Box((self._middle, self._middle)), self._whole
        wide = self._further[0]
        if self._middle not in self._shown:
            found = self._looked((EXCLUDED, self._middle))
            if not found.safe:
                return found
        self._look_at_both_ends(wide)
        boxes = (wide, whole, middle.to(whole, 0.5), middle)
        # first how far out everybody is shown by what is excluded, which fails more often
        open_, inner, lost = set(self._ends), dict[End, int](), dict[End, Look]()
        for number, box in enumerate(boxes):
            lost = self._failing(box, open_, self.exact, [EXCLUDED])
            self.exact = self.exact.with_those_of(box, self._all_of(open_ - lost.keys()))
            self._bad |= dict.fromkeys(lost, box)
            inner |= dict.fromkeys(open_ - lost.keys(), number)
            open_ = set(lost)
        open_ = set(inner)
        while open_:
            box = middle
            for end in open_:
                box = box.with_those_of(boxes[inner[end]], self._of(end))
            self.exact = self.exact.with_those_of(middle, self._all_of(open_))
            failing = self._failing(box, open_, self.exact, [LIKELY])
            self.exact = self.exact.with_those_of(box, self._all_of(open_ - failing.keys()))
            self._bad |= dict.fromkeys(failing, box)
            self._last |= {end for end, look in failing.items() if self.asked.at_once and look.is_too_likely}
            for end, look in failing.items():
                drawn = inner[end] == boxes.index(whole) and self.asked.shares is not None
                inner[end] += 1
                if inner[end] == len(boxes) or (drawn and look.is_too_likely):
                    lost[end] = look
            open_ = failing.keys() - lost.keys()
        self._keep = False
        last = next(iter(lost.values()), Look(True))
        open_places = sorted({place for end in lost for place, _ in self._of(end)})
        return Look(not lost, tuple(open_places), last.judgement, last.model)

    def told(self, values: Sequence[int]) -> list[Told[int]]:
        """What is told of answers: exactly inside of the box, as bounds at its ends and beyond."""
        self._look_further(values)
        low = self.exact.ends[0]
        ways = [
            -1 if value <= low[place] else int(value >= self._first_above(self.exact, place))
            for place, value in enumerate(values)
        ]
        return [self._bound(self.exact, *each) for each in zip(range(len(values)), ways, values, strict=True)]

    def shown(self, values: Sequence[int]) -> Values:
        """Of what is told of answers, exact ones that it leaves: those inside, and of an end that by which it
        was shown, which lies further out by the margin."""
        told = zip(values, self.told(values), *self.exact.ends, self.asked.possible, strict=True)
        found, margin = list[int](), self.asked.margin
        for value, each, low, high, (least, most) in told:
            near, far = (low, max(low - margin, least)) if value <= low else (high, min(high + margin, most))
            end = far if each.holds(far) else max(near, each.least or near)
            found.append(value if each.exact else end)
        return tuple(found)

    def among(self, answers: Iterable[Values]) -> list[Values]:
        """Those of some answers that may exclude too little: of a single query, those between two that do."""
        if len(self.asked.kinds) > 1:
            return list(answers)
        shown = [what[0] for (way, what), look in self._seen.items() if way == EXCLUDED and look.safe]
        return [values for values in answers if min(shown) <= values[0] <= max(shown)]

    def around(self, value: int) -> Told[int] | None:
        """Of a single query, the range between the nearest answers that were shown, if there are two.

        These would be told exactly, so it is between them, and neither. None of one that was shown itself.
        """
        if len(self.asked.kinds) > 1:
            return None
        known = sorted(values[0] for values in self._shown)
        place = bisect_left(known, value)
        if not 0 < place < len(known) or known[place] == value:
            return None
        return Told(known[place - 1] + 1, known[place] - 1)

    # which boxes are tried

    @cached_property
    def _places(self) -> dict[int, list[int]]:
        """By component, where its values are."""
        found, components = dict[int, list[int]](), self.asked.components
        for place in range(len(self.asked.kinds)):
            found.setdefault(components[place] if components else 0, []).append(place)
        return found

    @cached_property
    def _ends(self) -> list[End]:
        return [(component, side) for component in self._places for side in (0, 1)]

    def _of(self, end: End) -> list[tuple[int, int]]:
        """Where the values of an end are, and on which side; of values that hang together both sides'."""
        component, side = end
        places = self._places[component]
        return [(place, each) for place in places for each in ((side,) if len(places) == 1 else (0, 1))]

    @cached_property
    def _middle(self) -> Values:
        drawn = [sorted(values) for values in zip(*self.asked.drawn, strict=True)]
        middle = tuple(each[len(each) // 2] for each in drawn)
        if not self.asked.kept:
            return middle
        return min(
            self.asked.kept, key=lambda each: sum(abs(a - b) for a, b in zip(each, middle, strict=True))
        )

    @cached_property
    def _whole(self) -> Box:
        """All hypothetical answers, or all that keep the limit."""
        some = list(zip(*(self.asked.kept or self.asked.drawn), self._middle, strict=True))
        return Box((tuple(map(min, some)), tuple(map(max, some))))

    @cached_property
    def _first(self) -> list[int]:
        """(m,) which end of each value is looked at first: of values that hang together low ones of some and
        high ones of others, so that what is known of several together stays about as it is.
        """
        found, shares = [0] * len(self.asked.kinds), self.asked.shares
        if shares is None:
            return found
        load = np.zeros(shares.shape[1])
        widths = [high - low for low, high in zip(*self._whole.ends, strict=True)]
        for place in sorted(range(len(widths)), key=lambda place: -widths[place]):
            mine = widths[place] * shares[place]
            found[place] = int(load @ mine < 0)
            load += mine if found[place] else -mine
        return found

    def _outwards(self, box: Box, times: int) -> Box:
        """So many times further out than hypothetical answers are, or as far as anything is shown."""
        ends, asked = [list(values) for values in box.ends], self.asked
        for place, (first, last) in enumerate(zip(*self._whole.ends, strict=True)):
            known = asked.reach[place] if asked.reach else None
            least, most = asked.possible[place] if known is None else known
            step = 0 if self._is_settled(place) else times * max(last - first, asked.step)
            ends[0][place] = min(ends[0][place], max(ends[0][place] - step, least))
            ends[1][place] = max(ends[1][place], min(ends[1][place] + step, most))
        return Box((tuple(ends[0]), tuple(ends[1])))

    def _look_further(self, values: Sequence[int]) -> None:
        """Move the ends outwards until the true answers are inside, or nothing further is shown."""
        if self.asked.shares is None:
            while self._moved(self._beyond(values), self.exact):
                pass
            return
        # all at once as far as that goes, then each by itself beside a middle answer of the others: boxes are
        # the same whatever the answers are, so that what is told of one hangs on no other
        while self._beyond(values) and self._moved(self._ends, self.exact):
            pass
        middle = Box((self._middle, self._middle))
        for end in self._beyond(values):
            while end in self._beyond(values) and self._moved([end], middle):
                pass

    def _moved(self, ends: Collection[End], around: Box) -> bool:
        """Try some ends further out, or nearer to where they failed; false where all have come to their last.

        Args:
            ends: Of each component alone, or of several values that hang together: those that fail then are
                tried by themselves, later.
            around: Where the others are.
        """
        box, tried, together = around, set[End](), len(ends) > 1 and self.asked.shares is not None
        for end in ends:
            further = None if together and end in self._by_itself else self._next(end)
            if further is not None:
                box, tried = box.with_those_of(further, self._of(end)), tried | {end}
        if tried:
            failing = self._failing(box, tried, around)
            self.exact = self.exact.with_those_of(box, self._all_of(tried - failing.keys()))
            if together:
                self._by_itself |= failing.keys()
                for end in failing:
                    self._take_back(end)
                return True
            self._bad |= dict.fromkeys(failing, box)
            self._last |= {end for end, look in failing.items() if self.asked.at_once and look.is_too_likely}
        return bool(tried)

    def _take_back(self, end: End) -> None:
        """Let what failed beside others be tried again."""
        self._tries[end] -= 1
        if end in self._bad:
            self._halved[end] -= 1

    def _next(self, end: End) -> Box | None:
        """The box by which an end is tried next; None where it has come to its last one."""
        if end in self._last:
            return None
        tries = self._tries[end] = self._tries.get(end, 0) + 1
        if end in self._bad:
            self._halved[end] = self._halved.get(end, 0) + 1
            return self.exact.to(self._bad[end], 0.5) if self._halved[end] <= HALVED else None
        return self._out(tries)

    def _out(self, number: int) -> Box | None:
        """A box so many steps further out than the widest; None where there is none."""
        while len(self._further) <= min(number, FURTHER):
            self._further.append(self._outwards(self._further[-1], LONGER ** len(self._further)))
        if number > FURTHER or self._further[number] == self._further[number - 1]:
            return None
        return self._further[number]

    def _beyond(self, values: Sequence[int]) -> list[End]:
        """The ends that are tried next: none where every answer is told the same whatever is shown further.

        Of several values apart all are, so that what is told of one hangs on no other.
        """
        found = [
            end
            for end in self._ends
            if any(not self._is_inside(place, side, values[place]) for place, side in self._of(end))
        ]
        return found if not found or len(values) == 1 or self.asked.shares is not None else self._ends

    def _is_inside(self, place: int, side: int, value: int) -> bool:
        """Whether an answer is told the same whatever is shown further on one side."""
        end = self.exact.ends[side][place]
        nothing_beyond = self._is_settled(place) or end == self.asked.possible[place][side]
        return nothing_beyond or (value < self._first_above(self.exact, place) if side else value > end)

    def _is_settled(self, place: int) -> bool:
        return bool(self.asked.settled) and self.asked.settled[place]

    # whether they are shown

    @cached_property
    def _numbers(self) -> list[int]:
        """(m,) as `Box.ways`."""
        numbers = {place: number for places in self._places.values() for number, place in enumerate(places)}
        return [numbers[place] for place in range(len(self.asked.kinds))]

    def _side(self, end: End) -> int:
        """Whether an end is looked at with the first ones, 0, or with the others, 1; of values apart."""
        return end[1] ^ self._first[self._places[end[0]][0]]

    def _all_of(self, ends: Iterable[End]) -> list[tuple[int, int]]:
        return [each for end in ends for each in self._of(end)]

    def _failing(
        self, box: Box, ends: AbstractSet[End], around: Box, by: Sequence[str] = (EXCLUDED, LIKELY)
    ) -> dict[End, Look]:
        """The ends of a box that are not shown, and what says so.

        Args:
            box: Whose they are.
            ends: Which are looked at.
            around: Where those that fail are, and all others.
            by: What is looked at.
        """
        failing = dict[End, Look]()

        def look(here: AbstractSet[End], check: Callable[[Box, set[End]], Look]) -> None:
            """Take those that fail: of the components that a look names, or all."""
            left = here - failing.keys()
            for _ in range(NAMED):
                found = check(around.with_those_of(box, self._all_of(left)), left) if left else Look(True)
                if found.safe:
                    return
                components = {self._component(place) for place in found.open}
                named = {end for end in left if end[0] in components}
                failing.update(dict.fromkeys(named or left, found))
                left = left - failing.keys()
            failing.update(dict.fromkeys(left, Look(False)))

        apart = len(self._places) == len(self.asked.kinds)
        corners = around.with_those_of(box, self._all_of(ends)).ways(self._numbers, self.asked.margin)
        for check in (
            check for name, check in ((EXCLUDED, self._excluded), (LIKELY, self._exactly)) if name in by
        ):
            for ways in corners:
                here = {end for end in ends if not apart or 0 not in ways or self._side(end) == ways[0]}
                look(here, partial(check, ways))
        for side in (0, 1) if apart and LIKELY in by else ():
            look({end for end in ends if self._side(end) == side}, partial(self._as_bounds, side))
        return failing

    def _look_at_both_ends(self, box: Box) -> None:
        """Keep it where one look shows the lowest and the highest answers of a box, and all between them."""
        corners = [
            self._corner(box, dict.fromkeys(self._numbers, side), self.asked.margin) for side in (0, 1)
        ]
        apart = len(self._places) == len(self.asked.kinds) and self.asked.shares is None
        if apart and self._looks.together(corners):
            inside = [each for corner in corners for each in self._listed(corner)]
            self._seen |= {(EXCLUDED, each): Look(True) for each in (*corners, *inside)}

    def _component(self, place: int) -> int:
        return self.asked.components[place] if self.asked.components else 0

    def _excluded(self, ways: Mapping[int, int], box: Box, _: object) -> Look:
        """Whether the answers at a corner exclude too little, and those further out by the margin."""
        corner = self._corner(box, ways, self.asked.margin)
        if corner in self._shown:
            return Look(True)
        looks = (self._looked((EXCLUDED, each)) for each in (corner, *self._listed(corner)))
        return next((each for each in looks if not each.safe), Look(True))

    def _listed(self, corner: Values) -> list[Values]:
        """Of a single query, the answers between the middle and a corner, where there are few.

        Concave is what reals leave. Of few whole answers each has rooms of its own: of sums over eight people
        with 0 or 1 the second and the fourth were shown, and the third was not.
        """
        if len(corner) > 1 or abs(corner[0] - self._middle[0]) > LISTED:
            return []
        low, high = sorted((corner[0], self._middle[0]))
        return [(value,) for value in range(low + 1, high)]

    def _exactly(self, ways: Mapping[int, int], box: Box, _: object) -> Look:
        """Whether the answers at a corner make nothing too likely, if they are told exactly."""
        corner = self._corner(box, ways, 0)
        if corner in self._shown:
            return Look(True)
        found = self._looked((LIKELY, tuple(map(exactly, corner))))
        if found.safe:
            self._shown.add(corner)
        return found

    def _corner(self, box: Box, ways: Mapping[int, int], margin: int) -> Values:
        found = list[int]()
        for place, number in enumerate(self._numbers):
            side, (least, most) = ways.get(number, 0) ^ self._first[place], self.asked.possible[place]
            more = 0 if self._is_settled(place) else margin
            value = box.ends[side][place]
            found.append(min(value + more, most) if side else max(value - more, least))
        return tuple(found)

    def _as_bounds(self, side: int, box: Box, ends: AbstractSet[End]) -> Look:
        """Whether what lies beyond some ends may be told as bounds, the others being told exactly."""
        components, told, exact = {component for component, _ in ends}, list[Told[int]](), list[Told[int]]()
        for place, first in enumerate(self._first):
            value = box.ends[side ^ first][place]
            exact.append(exactly(value))
            is_bound = self._component(place) in components
            told.append(self._bound(box, place, 2 * (side ^ first) - 1, value) if is_bound else exact[-1])
        if told == exact:
            return Look(True)
        shown = self._corner(box, dict.fromkeys(self._numbers, side), self.asked.margin)
        # every table that gives an answer which the bounds leave agrees with them
        holds = (each.holds(value) for each, value in zip(told, shown, strict=True) if not each.exact)
        if not (self.asked.at_once and all(holds)):
            found = self._looked((BOUNDS, tuple(told)))
            if not found.safe:
                return found
        return self._looked((LIKELY, tuple(told)))

    def _looked(self, name: tuple[str, Any]) -> Look:
        if name not in self._seen:
            way, what = name
            if way == BOUNDS:
                self._seen[name] = self._looks.bounds(what)
            else:
                look = self._looks.excluded if way == EXCLUDED else self._looks.likely
                self._seen[name] = look(what, self._keep)
        return self._seen[name]

    # what is told

    def _bound(self, box: Box, place: int, way: int, value: int) -> Told[int]:
        """What is told of a value that is beyond an end of a box, or at it, one way; 0: inside."""
        low, first = box.ends[0][place], self._first_above(box, place)
        kind, (least, most) = self.asked.kinds[place], self.asked.possible[place]
        if self._is_settled(place):
            return exactly(value)
        # a greatest value can be told as "at most" alone, a least one as "at least"
        if way < 0 and kind != "min" and least < low:
            return Told(None if low - least <= self.asked.far else low - self.asked.far, low)
        if (way > 0 or value >= first) and kind != "max" and most > box.ends[1][place]:
            return Told(first, None if most - first <= self.asked.far else first + self.asked.far)
        return exactly(value)

    def _first_above(self, box: Box, place: int) -> int:
        """The first value that is told as "at least": the high end, or the one after the middle, which may be
        told as "at most". One that is told as both would tell more than they say."""
        high = box.ends[1][place]
        return high + (self.asked.kinds[place] == "sum" and high == self._middle[place])
