"""The oracle: all tables that agree with what was told, and what is left uncertain in them.

Shares no code with what it judges: tables are listed one by one, and the measure is worked out from its
definition, over all ways of cutting few values into blocks. Values are counted in steps of the data's own
grid, from 0 to `top`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, pairwise
from math import ceil, floor, log2

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

NEAR = 1e-12
"""Figures nearer than this are equal."""
CHUNK = 1 << 15
"""Tables looked at together."""


@dataclass(frozen=True)
class Question:
    """A sum with coefficients 0, 1 and −1, or an extreme of the records whose coefficient is not 0."""

    kind: str
    """"sum", "max" or "min"."""
    signs: tuple[int, ...]
    """By record."""

    @property
    def members(self) -> tuple[int, ...]:
        return tuple(i for i, sign in enumerate(self.signs) if sign)

    def of(self, tables: NDArray[np.integer]) -> Ints:
        """The answers to tables (w, n)."""
        if self.kind == "sum":
            return tables.astype(np.int64) @ np.array(self.signs, dtype=np.int64)
        picked = tables[:, list(self.members)].astype(np.int64)
        found: Ints = picked.max(axis=1) if self.kind == "max" else picked.min(axis=1)
        return found


@dataclass(frozen=True)
class Possible:
    """The tables that agree with everything told so far."""

    top: int
    tables: NDArray[np.int8]
    """(w, n), each once."""

    @classmethod
    def everything(cls, size: int, top: int) -> Possible:
        """Before any answer."""
        grids = np.indices((top + 1,) * size, dtype=np.int8)
        return cls(top, grids.reshape(size, -1).T.copy())

    @property
    def size(self) -> int:
        return int(self.tables.shape[1])

    def told(self, question: Question, value: int) -> Possible:
        """With one more answer."""
        return Possible(self.top, self.tables[question.of(self.tables) == value])

    def within(self, question: Question, least: Fraction | None, most: Fraction | None) -> Possible:
        """With an end, or two, of where one more answer lies."""
        answers = question.of(self.tables)
        kept = np.ones(len(answers), dtype=np.bool_)
        if least is not None:
            kept &= answers >= ceil(least)
        if most is not None:
            kept &= answers <= floor(most)
        return Possible(self.top, self.tables[kept])

    def split(self, questions: Sequence[Question]) -> Iterator[tuple[tuple[int, ...], Possible]]:
        """By what the answers to these, together, could be."""
        columns = np.stack([question.of(self.tables) for question in questions], axis=1)
        answers, which = np.unique(columns, axis=0, return_inverse=True)
        for place, answer in enumerate(answers):
            here = self.tables[which.ravel() == place]
            yield tuple(int(x) for x in answer), Possible(self.top, here)

    def settled(self, question: Question) -> bool:
        """Whether all tables give one answer."""
        answers = question.of(self.tables)
        return bool((answers == answers[0]).all())

    @cached_property
    def together(self) -> Bools:
        """(n, d, n, d) whether record i has value a and record j has value b in some table."""
        width = self.top + 1
        found = np.zeros((self.size * width,) * 2, dtype=np.bool_)
        for start in range(0, len(self.tables), CHUNK):
            part = self.tables[start : start + CHUNK]
            marks = (part[:, :, None] == np.arange(width, dtype=np.int8)).reshape(len(part), -1)
            marks32 = marks.astype(np.float32)
            found |= marks32.T @ marks32 > 0
        return found.reshape(self.size, width, self.size, width)

    def values(self, record: int) -> tuple[int, ...]:
        """F: the values that a record has in some table."""
        return _values(np.diagonal(self.together[record, :, record, :]))

    def values_given(self, record: int, insider: int, value: int) -> tuple[int, ...]:
        """F among the tables in which the insider has that value; empty where there is none."""
        return _values(self.together[record, :, insider, value])


def _values(there: Bools) -> tuple[int, ...]:
    return tuple(int(x) for x in np.flatnonzero(there))


def longest_run(values: Sequence[int]) -> int:
    """How many consecutive values the longest run of them has."""
    best = length = 0
    last: int | None = None
    for value in sorted(set(values)):
        length = length + 1 if last is not None and value == last + 1 else 1
        best, last = max(best, length), value
    return best


def curve(values: Sequence[int]) -> dict[int, float]:
    """H(ε) of equally likely values, none below 0, in bits, at ε = 0 and wherever it may change."""
    return weighted_curve([int(x in set(values)) for x in range(max(values) + 1)])


def weighted_curve(weights: Sequence[float]) -> dict[int, float]:
    """H(ε) of the values 0, 1, … with these weights, which are not all 0.

    The least entropy over all ways of cutting the values into consecutive blocks of spread at most ε.
    """
    there = [x for x, weight in enumerate(weights) if weight > 0]
    total, found = sum(weights), dict[int, float]()
    for cuts in range(len(there)):
        for chosen in combinations(range(1, len(there)), cuts):
            ends = [0, *chosen, len(there)]
            blocks = [there[a:b] for a, b in pairwise(ends)]
            spread = max(block[-1] - block[0] for block in blocks)
            parts = [sum(weights[x] for x in block) / total for block in blocks]
            entropy = -sum(p * log2(p) for p in parts)
            found[spread] = min(found.get(spread, entropy), entropy)
    best, falling = float("inf"), {}
    for spread in sorted(found):
        best = min(best, found[spread])
        falling[spread] = best
    return falling


def area(values: Sequence[int]) -> float:
    """The area under H(ε), in bits × units of the values."""
    steps = list(curve(values).items())
    return sum(h * (after - here) for (here, h), (after, _) in pairwise(steps))


def entropy_at(values: Sequence[int], epsilon: int) -> float:
    """H(ε) in bits."""
    return [h for spread, h in curve(values).items() if spread <= epsilon][-1]


@dataclass(frozen=True)
class Likely:
    """A record that is too likely to have some value."""

    record: int
    weights: tuple[int, ...]
    """In how many of the tables it has each value."""
    insider: int | None = None
    """As `Breach`."""
    known: int | None = None

    def __str__(self) -> str:
        whom = "" if self.insider is None else f" to record {self.insider}, who has {self.known}"
        return f"record {self.record} has each value in {list(self.weights)} tables{whom}"


@dataclass(frozen=True)
class Breach:
    """A record that does not keep the limit."""

    record: int
    values: tuple[int, ...]
    """What is possible for it."""
    insider: int | None = None
    """To whom: None for somebody who knows nobody's value, else the record of one who knows their own."""
    known: int | None = None
    """The value that the insider has."""

    def __str__(self) -> str:
        whom = "" if self.insider is None else f" to record {self.insider}, who has {self.known}"
        return f"record {self.record} is one of {list(self.values)}{whom}"


class Bound:
    """What everybody must keep: a long enough run of values, or a set that is uncertain enough by itself."""

    def __init__(
        self,
        top: int,
        ratio: int = 1,
        risk: float | None = None,
        epsilon: int | None = None,
        min_entropy: float | None = None,
    ) -> None:
        """Work out how long a run must be.

        Args:
            top: Greatest value, in steps of the data's grid.
            ratio: Steps of the data's grid in a step at which risk is judged.
            risk: Greatest 1 − A / A of the whole domain.
            epsilon: Range of approximate compromise, in steps at which risk is judged.
            min_entropy: Bits that must remain there; None: any at all.
        """
        self.top, self.ratio = top, ratio
        self.risk, self.epsilon, self.min_entropy = risk, epsilon, min_entropy
        self._prior = area(range(top // ratio + 1))
        self._known: dict[tuple[int, ...], bool] = {}
        count = top // ratio + 1
        lengths = [m for m in range(1, count + 1) if not self._uncertain(tuple(range(m)))]
        least = max(lengths, default=0) + 1
        self.possible = least <= count
        """Whether anything could keep it."""
        self.need = (least - 1) * ratio
        """Greatest minus least value that a run must have."""

    def _uncertain(self, steps: tuple[int, ...]) -> bool:
        if self.risk is not None and 1 - area(steps) / self._prior > self.risk + NEAR:
            return False
        if self.epsilon is None:
            return True
        bits = entropy_at(steps, self.epsilon)
        return bits > NEAR if self.min_entropy is None else bits >= self.min_entropy - NEAR

    def accepts(self, values: Sequence[int]) -> bool:
        """Whether this very set is uncertain enough, cut into windows of one step from its least value."""
        return self._uncertain(tuple(sorted({(x - min(values)) // self.ratio for x in values})))

    def keeps(self, values: tuple[int, ...]) -> bool:
        """Whether a record of which exactly these are possible keeps the limit."""
        if values not in self._known:
            self._known[values] = longest_run(values) > self.need or self.accepts(values)
        return self._known[values]

    def likely(self, possible: Possible, insiders: int) -> Likely | None:
        """Somebody of whom all tables, equally likely, say too much: where a step is one unit."""
        tables, size = possible.tables, possible.size
        for record in range(size):
            weights = np.bincount(tables[:, record], minlength=self.top + 1)
            if not self._open(weights):
                return Likely(record, tuple(weights.tolist()))
        for insider in range(size if insiders else 0):
            for known in np.unique(tables[:, insider]).tolist():
                some = tables[tables[:, insider] == known]
                for record in range(size):
                    weights = np.bincount(some[:, record], minlength=self.top + 1)
                    if record != insider and not self._open(weights):
                        return Likely(record, tuple(weights.tolist()), insider, known)
        return None

    def _open(self, weights: NDArray[np.int64]) -> bool:
        """Whether values with these weights leave enough uncertain, measured against the whole domain."""
        steps = list(weighted_curve(weights.tolist()).items())
        found = sum(h * (after - here) for (here, h), (after, _) in pairwise(steps))
        if self.risk is not None and 1 - found / self._prior > self.risk + NEAR:
            return False
        if self.epsilon is None:
            return True
        bits = [h for spread, h in steps if spread <= self.epsilon][-1]
        return bits > NEAR if self.min_entropy is None else bits >= self.min_entropy - NEAR

    def breach(self, possible: Possible, insiders: int) -> Breach | None:
        """Somebody who does not keep the limit, or None where everybody does."""
        for record in range(possible.size):
            if not self.keeps(possible.values(record)):
                return Breach(record, possible.values(record))
        if not insiders:
            return None
        for insider in range(possible.size):
            for known in possible.values(insider):
                for record in range(possible.size):
                    values = possible.values_given(record, insider, known)
                    if record != insider and not self.keeps(values):
                        return Breach(record, values, insider, known)
        return None
