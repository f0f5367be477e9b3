"""What answers give away, by scipy's integer programs: shares no code with the package's inference.

Given are the answers of a ledger, the number of records and the domain. Records that no answer tells apart
are exchangeable, so a class of them counts by its total, and the record in question stands alone beside its
class. With m records in [l, h], a class attains a maximum h where its total is at least h + (m − 1) l, a
minimum l where it is at most l + (m − 1) h; one switch for each class says that it does.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse

from auditor.ledger import KnownAnswer
from cae_sql import Domain, cae_area

SEED = 20130527
PROBED = 40
"""Classes whose intervals are worked out: those in the smallest query sets."""
NARROWEST, DRAWN = 3, 2
"""Records looked at: with the narrowest of these intervals, and drawn from the others."""
PROGRAM_SECONDS, ALL_SECONDS = 5.0, 60.0
"""Limits of one integer program and of a whole check; what is not solved in time stays undecided."""


@dataclass(frozen=True)
class Checked:
    """One record, seen from outside."""

    record: int
    lower: float
    upper: float
    """Its feasibility interval, by linear programs (attained extremes relaxed)."""
    values: int
    """Values for which a table was found; the search ends when they are enough."""
    undecided: int
    """Values about which no program came to an end in time, or none was started."""
    risk: float
    """Of these values, all equally likely, or of the longest run of them where that is less."""
    keeps: bool
    """Whether they are enough. False with nothing undecided: the gate has released too much."""


@dataclass(frozen=True)
class Row:
    """least <= Σ weights · variables <= most."""

    variables: NDArray[np.int64]
    weights: NDArray[np.float64]
    least: float
    most: float


@dataclass(frozen=True)
class Program:
    """Tables that agree with everything: a column for each class's total, the record first, then switches."""

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    matrix: sparse.csr_array
    least: NDArray[np.float64]
    most: NDArray[np.float64]

    def solve(self, cost: float, fixed: int | None, integral: bool) -> optimize.OptimizeResult:
        """Minimise cost times the record's value, or find a table in which it has a value; in units."""
        lower, upper = self.lower.copy(), self.upper.copy()
        if fixed is not None:
            if not lower[0] <= fixed <= upper[0]:
                return optimize.OptimizeResult(status=2, success=False)
            lower[0] = upper[0] = fixed
        objective = np.zeros(len(lower))
        objective[0] = cost
        return optimize.milp(
            objective,
            constraints=[optimize.LinearConstraint(self.matrix, self.least, self.most)],
            bounds=optimize.Bounds(lower, upper),
            integrality=np.full(len(lower), int(integral)),
            options={"time_limit": PROGRAM_SECONDS},
        )


class Outside:
    """Everything released, and the classes of records that it leaves alike."""

    def __init__(self, answers: Sequence[KnownAnswer], size: int, domain: Domain) -> None:
        answers = [answer for answer in answers if answer.kind != "leak"]
        self.domain, self.answers = domain, answers
        marks = np.zeros((size, len(answers) + 1), dtype=np.int8)
        exposure = np.full(size, size)
        for place, answer in enumerate(answers):
            marks[answer.records, place] = 1 if answer.signs is None else answer.signs
            exposure[answer.records] = np.minimum(exposure[answer.records], len(answer.records))
        self.marks, self.first, self.labels = np.unique(marks, axis=0, return_index=True, return_inverse=True)
        self.labels = self.labels.ravel()
        self.sizes = np.bincount(self.labels)
        self.exposure = exposure[self.first]

    def program(self, label: int) -> Program:
        """With one record of the class set apart."""
        sizes = np.concatenate([[1], self.sizes])
        sizes[label + 1] -= 1
        marks = np.concatenate([self.marks[[label]], self.marks])
        top = self.domain.count - 1
        low, high = np.zeros(len(sizes)), np.full(len(sizes), float(top))
        units = [self._units(answer) for answer in self.answers]
        inside = [np.flatnonzero((marks[:, place] != 0) & (sizes > 0)) for place in range(len(units))]
        for answer, unit, mine in zip(self.answers, units, inside, strict=True):
            if answer.kind == "max":
                high[mine] = np.minimum(high[mine], unit)
            elif answer.kind == "min":
                low[mine] = np.maximum(low[mine], unit)
        rows, count = [], len(sizes)
        for place, (answer, unit, mine) in enumerate(zip(self.answers, units, inside, strict=True)):
            if answer.kind == "sum":
                rows.append(Row(mine, marks[mine, place].astype(float), unit, unit))
                continue
            able = mine[(high if answer.kind == "max" else low)[mine] == unit]
            switches = np.arange(count, count + len(able))
            count += len(able)
            rows.append(Row(switches, np.ones(len(able)), 1.0, np.inf))
            for one, switch in zip(able.tolist(), switches.tolist(), strict=True):
                span, both = high[one] - low[one], np.array([one, switch])
                if answer.kind == "max":
                    rows.append(Row(both, np.array([1.0, -span]), sizes[one] * low[one], np.inf))
                else:
                    rows.append(Row(both, np.array([1.0, span]), -np.inf, sizes[one] * high[one]))
        return _stated(rows, sizes * low, sizes * high, count)

    def _units(self, answer: KnownAnswer) -> int:
        weight = 1
        if answer.kind == "sum":
            weight = len(answer.records) if answer.signs is None else int(answer.signs.astype(int).sum())
        units = (answer.value - weight * Fraction(self.domain.minimum)) / Fraction(self.domain.step)
        if units.denominator != 1:
            raise AssertionError(f"an answer off the grid: {answer.value}")
        return int(units)


def _stated(
    rows: Sequence[Row], lower: NDArray[np.float64], upper: NDArray[np.float64], count: int
) -> Program:
    numbers = [np.full(len(row.variables), place) for place, row in enumerate(rows)]
    empty = np.zeros(0)
    i = np.concatenate([*numbers, empty]).astype(np.int64)
    j = np.concatenate([*(row.variables for row in rows), empty]).astype(np.int64)
    weights = np.concatenate([*(row.weights for row in rows), empty])
    more = count - len(lower)
    return Program(
        np.concatenate([lower, np.zeros(more)]),
        np.concatenate([upper, np.ones(more)]),
        sparse.csr_array((weights, (i, j)), shape=(len(rows), count)),
        np.array([row.least for row in rows]),
        np.array([row.most for row in rows]),
    )


def check(answers: Sequence[KnownAnswer], size: int, domain: Domain, limit: float) -> list[Checked]:
    """Records that the answers expose most, and some others."""
    outside = Outside(answers, size, domain)
    if not answers:
        return []
    deadline = time.monotonic() + ALL_SECONDS
    intervals: dict[int, tuple[float, float]] = {}
    programs: dict[int, Program] = {}
    for label in np.lexsort((outside.sizes, outside.exposure))[:PROBED].tolist():
        program = outside.program(label)
        least, most = (program.solve(sign, None, integral=False) for sign in (1.0, -1.0))
        if least.success and most.success:
            programs[label], intervals[label] = program, (least.fun, -most.fun)
    order = sorted(intervals, key=lambda label: intervals[label][1] - intervals[label][0])
    rng = np.random.default_rng(SEED)
    rest = order[NARROWEST:]
    drawn = rng.choice(rest, min(DRAWN, len(rest)), replace=False).tolist() if rest else []
    return [
        _record(outside, programs[label], label, intervals[label], limit, deadline)
        for label in [*order[:NARROWEST], *drawn]
    ]


def _record(
    outside: Outside,
    program: Program,
    label: int,
    interval: tuple[float, float],
    limit: float,
    deadline: float,
) -> Checked:
    domain, middle = outside.domain, sum(interval) / 2
    prior = cae_area(domain.values)
    taken: list[int] = []
    undecided, risk = 0, 1.0
    # From the middle of the interval outwards: what is needed is a long enough run of values.
    for value in sorted(range(domain.count), key=lambda value: abs(value - middle)):
        if time.monotonic() > deadline:
            undecided += 1
            continue
        result = program.solve(0.0, value, integral=True)
        if result.success:
            taken = sorted([*taken, value])
            areas = [_area(taken, domain), _area(_longest_run(taken), domain)]
            risk = 1 - max(areas) / prior
            if risk <= limit + 1e-9:
                break
        elif result.status != 2:
            undecided += 1
    lower, upper = (float(domain.minimum) + end * float(domain.step) for end in interval)
    keeps = risk <= limit + 1e-9
    return Checked(int(outside.first[label]), lower, upper, len(taken), undecided, risk, keeps)


def _area(units: Sequence[int], domain: Domain) -> float:
    return cae_area([float(unit * domain.step) for unit in units]) if len(units) > 1 else 0.0


def _longest_run(units: Sequence[int]) -> list[int]:
    best: list[int] = []
    run: list[int] = []
    for unit in units:
        run = [*run, unit] if run and unit == run[-1] + 1 else [unit]
        best = max(best, run, key=len)
    return best
