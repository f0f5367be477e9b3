"""Small answered systems, and oracles that share no code with what they judge.

All values here are counted in steps of the resolution, from 0 to `top`: the column value of u steps is
minimum + resolution · u. Worlds are found by trying every table, intervals by scipy's linear programs, one
for every choice of who attains the answered extremes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog

from cae_sql import AnsweredSystem

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

SCALES = [(Fraction(0), Fraction(1)), (Fraction(10), Fraction(10)), (Fraction(-1), Fraction(1, 2))]
"""(minimum, resolution) of the small systems."""


@dataclass(frozen=True)
class Asked:
    """One aggregate."""

    kind: str
    """"sum", "mean", "max" or "min"."""
    members: tuple[int, ...]
    coefficients: tuple[int, ...] | None = None
    mask: bool = False
    """Whether the members are given as a mask."""

    def row(self, size: int) -> Ints:
        """(n,) coefficients of a sum or mean."""
        row = np.zeros(size, dtype=np.int64)
        row[list(self.members)] = 1 if self.coefficients is None else self.coefficients
        return row

    def of(self, steps: Ints) -> Ints:
        """The answer to tables (…, n), in steps: a sum (for means too) or an extreme."""
        picked = steps[..., list(self.members)]
        if self.kind in ("max", "min"):
            return np.asarray(picked.max(axis=-1) if self.kind == "max" else picked.min(axis=-1))
        return np.asarray(steps @ self.row(steps.shape[-1]))


@dataclass(frozen=True)
class Case:
    """A hidden table and what was asked of it."""

    minimum: Fraction
    resolution: Fraction
    top: int
    truth: tuple[int, ...]
    asked: tuple[Asked, ...]

    @property
    def size(self) -> int:
        return len(self.truth)

    @property
    def maximum(self) -> Fraction:
        return self.minimum + self.resolution * self.top

    def columns(self, steps: Ints) -> Floats:
        """Steps as column values; exact for the scales used here."""
        return self.columns_of(np.asarray(steps, dtype=np.float64))

    def value(self, asked: Asked) -> Fraction:
        """The true answer in units of the column."""
        picked = [self.minimum + self.resolution * self.truth[i] for i in asked.members]
        if asked.kind == "max":
            return max(picked)
        if asked.kind == "min":
            return min(picked)
        weights = asked.coefficients or (1,) * len(picked)
        total = sum((w * x for w, x in zip(weights, picked, strict=True)), Fraction(0))
        return total / len(picked) if asked.kind == "mean" else total

    def tell(self, system: AnsweredSystem, asked: Asked) -> int:
        """Give the system one answer."""
        members: list[int] | NDArray[np.bool_] = list(asked.members)
        if asked.mask:
            members = np.isin(np.arange(self.size), asked.members)
        value = self.value(asked)
        if asked.kind == "sum":
            return system.add_sum(members, value, asked.coefficients)
        return {"mean": system.add_mean, "max": system.add_max, "min": system.add_min}[asked.kind](
            members, value
        )

    def empty(self) -> AnsweredSystem:
        return AnsweredSystem(self.size, self.minimum, self.maximum, self.resolution)

    def system(self) -> AnsweredSystem:
        """The system with every answer."""
        system = self.empty()
        for asked in self.asked:
            self.tell(system, asked)
        return system

    def tables(self) -> Ints:
        """(w, n) every table on the grid that agrees with every answer, in steps."""
        everything = np.indices((self.top + 1,) * self.size).reshape(self.size, -1).T.astype(np.int64)
        truth = np.array(self.truth)
        for asked in self.asked:
            everything = everything[asked.of(everything) == asked.of(truth)]
        return everything

    def intervals(self) -> tuple[Floats, Floats]:
        """Least and greatest column value of each record over all real-valued tables."""
        extremes = [a for a in self.asked if a.kind in ("max", "min")]
        low, high = np.full(self.size, np.inf), np.full(self.size, -np.inf)
        for attainers in product(*(a.members for a in extremes)):
            found = self._intervals_if(extremes, attainers)
            if found is not None:
                low, high = np.minimum(low, found[0]), np.maximum(high, found[1])
        return self.columns_of(low), self.columns_of(high)

    def columns_of(self, steps: Floats) -> Floats:
        return np.asarray(float(self.minimum) + float(self.resolution) * steps)

    def boxes(self, extremes: Sequence[Asked]) -> tuple[Ints, Ints]:
        """(n,) each record's least and greatest steps, from the domain and these extremes."""
        lower, upper = np.zeros(self.size, dtype=np.int64), np.full(self.size, self.top, dtype=np.int64)
        for asked in extremes:
            value, members = asked.of(np.array(self.truth)), list(asked.members)
            if asked.kind == "max":
                upper[members] = np.minimum(upper[members], value)
            else:
                lower[members] = np.maximum(lower[members], value)
        return lower, upper

    def _intervals_if(
        self, extremes: Sequence[Asked], attainers: Sequence[int]
    ) -> tuple[Floats, Floats] | None:
        """The intervals, in steps, if these records attain the extremes; None where they cannot."""
        truth = np.array(self.truth)
        lower, upper = self.boxes(extremes)
        for asked, record in zip(extremes, attainers, strict=True):
            value = asked.of(truth)
            lower[record], upper[record] = max(lower[record], value), min(upper[record], value)
        if (lower > upper).any():
            return None
        sums = [a for a in self.asked if a.kind in ("sum", "mean")]
        if not sums:
            return lower.astype(float), upper.astype(float)
        rows = np.array([a.row(self.size) for a in sums])
        return linear_intervals(rows, np.array([a.of(truth) for a in sums]), lower, upper)


def linear_intervals(rows: Ints, sums: Ints, lower: Ints, upper: Ints) -> tuple[Floats, Floats] | None:
    """Least and greatest value of every variable with rows · x = sums in boxes: a pair of programs each."""
    size = rows.shape[1]
    ends = np.zeros((2, size))
    boxes = np.column_stack([lower, upper])
    for record in range(size):
        for side, sign in enumerate((1.0, -1.0)):
            cost = np.zeros(size)
            cost[record] = sign
            found = linprog(cost, A_eq=rows, b_eq=sums, bounds=boxes, method="highs")
            if found.status == 2:
                return None
            assert found.status == 0, found.message
            ends[side, record] = sign * found.fun
    return ends[0], ends[1]


def longest_run(values: Sequence[int] | Ints) -> int:
    """How many consecutive whole numbers the longest run in a set has."""
    present = {int(v) for v in values}
    best = 0
    for start in present:
        if start - 1 not in present:
            end = start
            while end + 1 in present:
                end += 1
            best = max(best, end - start + 1)
    return best


KINDS = ("sum", "sum", "weighted", "mean", "max", "min")


def asked_at_random(rng: np.random.Generator, size: int, kinds: Sequence[str], most: int) -> Asked:
    """One aggregate over a random set of at most `most` members (extremes: of at most three)."""
    kind = str(rng.choice(list(kinds)))
    limit = min(size, 3 if kind in ("max", "min") else most)
    members = tuple(int(i) for i in rng.permutation(size)[: rng.integers(1, limit + 1)])
    if kind != "weighted":
        return Asked(kind, members, None, bool(rng.integers(2)))
    weights = rng.choice([-3, -2, -1, 1, 1, 2, 3, 5], len(members))
    return Asked("sum", members, tuple(int(w) for w in weights))


def cases_at_random(
    seed: int, count: int, kinds: Sequence[str] = KINDS, sizes: tuple[int, int] = (2, 6), answers: int = 5
) -> Iterator[Case]:
    """The same small systems for the same seed."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        size, top = int(rng.integers(sizes[0], sizes[1] + 1)), 4
        minimum, resolution = SCALES[int(rng.integers(len(SCALES)))]
        truth = tuple(int(x) for x in rng.integers(0, top + 1, size))
        asked = [asked_at_random(rng, size, kinds, size) for _ in range(rng.integers(1, answers + 1))]
        yield Case(minimum, resolution, top, truth, limited(asked))


def limited(asked: Sequence[Asked]) -> tuple[Asked, ...]:
    """At most three extremes, so that few choices of attainers are to be tried."""
    kept: list[Asked] = []
    for one in asked:
        if one.kind not in ("max", "min") or sum(a.kind in ("max", "min") for a in kept) < 3:
            kept.append(one)
    return tuple(kept)


@st.composite
def aggregates(draw: st.DrawFn, size: int, kinds: Sequence[str]) -> Asked:
    kind = draw(st.sampled_from(sorted(set(kinds))))
    limit = min(size, 3) if kind in ("max", "min") else size
    members = tuple(draw(st.permutations(range(size)))[: draw(st.integers(1, limit))])
    if kind != "weighted":
        return Asked(kind, members, None, draw(st.booleans()))
    weight = st.sampled_from([1, -1, 2, -2, 3, 5])
    return Asked("sum", members, tuple(draw(st.lists(weight, min_size=len(members), max_size=len(members)))))


@st.composite
def cases(draw: st.DrawFn, kinds: Sequence[str] = KINDS, answers: int = 5) -> Case:
    """Small systems with a hidden truth: 2–6 records, five values."""
    size = draw(st.integers(2, 6))
    minimum, resolution = draw(st.sampled_from(SCALES))
    truth = tuple(draw(st.lists(st.integers(0, 4), min_size=size, max_size=size)))
    asked = draw(st.lists(aggregates(size, kinds), min_size=1, max_size=answers))
    return Case(minimum, resolution, 4, truth, limited(asked))


def without_last(case: Case) -> Case:
    return replace(case, asked=case.asked[:-1])
