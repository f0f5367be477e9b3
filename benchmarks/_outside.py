"""What answers give away, by integer programs of others: shares no code with the package's inference.

Tables of whole numbers are looked for by OR-Tools' CP-SAT; programs over real numbers are SciPy's.

Given are the answers of a ledger, the number of records and the domain. Records that no answer tells apart
are exchangeable, so a class of them counts by its total, and the record in question stands alone beside its
class. With m records in [l, h], a class attains a maximum h where its total is at least h + (m − 1) l, a
minimum l where it is at most l + (m − 1) h; one switch for each class says that it does.

Where the true values are given, tables are looked for near them first: everybody keeps what they have but
the record and those whom answers tell least from it. A table is added up again, so it counts wherever it was
looked for; that there is none is said of whole programs alone.

An insider knows their own value. With `insiders = 1` a record must keep enough values whatever one other has
that could be; looked at are the other in its smallest query set and one more, at the least and the greatest
value that each can have.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse

from auditor.ledger import KnownAnswer
from benchmarks._cp_sat import Stated, solved
from cae_sql import Domain, cae_area

SEED = 20130527
PROBED = 40
"""Classes whose intervals are worked out: those in the smallest query sets."""
NARROWEST, DRAWN = 3, 2
"""Records looked at: with the narrowest of these intervals, and drawn from the others."""
NOTHING: Mapping[int, int] = {}
RECORD, OTHER = 0, 1
"""Columns of a program: the record looked at, and the insider's where there is one."""
TOLERANCE = 1e-6
PROGRAM_SECONDS, ALL_SECONDS = 10.0, 300.0
"""Limits of one integer program and of a whole check; what is not solved in time stays undecided."""
NEAR = (60, 150, 400)
"""Columns that may differ from the true table, in programs of a part of it."""
NEAR_SECONDS = 4.0


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
    """Whether they are enough."""
    broken: bool
    """Whether they are shown not to be: too much is known."""
    insiders: int = 0
    """Values of others that were assumed known, one at a time."""


@dataclass(frozen=True)
class Row:
    """least <= Σ weights · variables <= most."""

    variables: NDArray[np.int64]
    weights: NDArray[np.float64]
    least: float
    most: float


@dataclass(frozen=True)
class Program:
    """Tables that agree with everything: record, insider, a column for each class's total, switches."""

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    matrix: sparse.csr_array
    least: NDArray[np.float64]
    most: NDArray[np.float64]
    known: NDArray[np.float64] | None = None
    """The true table, where it is given."""
    nearest: NDArray[np.int64] | None = None
    """Columns in the order in which they may differ from it; all others are switches, which may anyway."""

    def solve(
        self,
        cost: float = 0.0,
        column: int = RECORD,
        fixed: Mapping[int, int] = NOTHING,
        integral: bool = True,
    ) -> optimize.OptimizeResult:
        """Minimise cost times a column, with the values of some columns fixed; in units."""
        lower, upper = self.lower.copy(), self.upper.copy()
        for place, value in fixed.items():
            if not lower[place] <= value <= upper[place]:
                return optimize.OptimizeResult(status=2, success=False)
            lower[place] = upper[place] = value
        if integral:
            return self._whole(cost, column, lower, upper)
        objective = np.zeros(len(lower))
        objective[column] = cost
        return optimize.milp(
            objective,
            constraints=[optimize.LinearConstraint(self.matrix, self.least, self.most)],
            bounds=optimize.Bounds(lower, upper),
            options={"time_limit": PROGRAM_SECONDS},
        )

    def _whole(
        self, cost: float, column: int, lower: NDArray[np.float64], upper: NDArray[np.float64]
    ) -> optimize.OptimizeResult:
        """A table of whole numbers, which is added up again."""
        found, table = "unknown", None
        if not cost and self.known is not None and self.nearest is not None:
            for count in NEAR:
                if table is None:
                    free = ~np.isin(np.arange(len(lower)), self.nearest[count:]) | (lower == upper)
                    ends = [np.where(free, end, self.known) for end in (lower, upper)]
                    table = self._solved(0.0, column, *ends, NEAR_SECONDS)[1]
        if table is None:
            found, table = self._solved(cost, column, lower, upper, PROGRAM_SECONDS)
        if table is None:
            return optimize.OptimizeResult(status=2 if found == "none" else 1, success=False)
        sums = self.matrix @ table
        inside = (table >= lower).all() and (table <= upper).all()
        if not (inside and (sums >= self.least).all() and (sums <= self.most).all()):
            raise AssertionError("what the solver calls a table is none")
        return optimize.OptimizeResult(status=0, success=True, x=table, fun=cost * table[column])

    def _solved(
        self, cost: float, column: int, lower: NDArray[np.float64], upper: NDArray[np.float64], seconds: float
    ) -> tuple[str, NDArray[np.float64] | None]:
        stated = Stated(self._name, self.matrix, self.least, self.most, lower, upper)
        return solved(stated, int(cost), column, seconds)

    @cached_property
    def _name(self) -> str:
        return uuid4().hex


class Outside:
    """Everything released, and the classes of records that it leaves alike."""

    def __init__(
        self,
        answers: Sequence[KnownAnswer],
        size: int,
        domain: Domain,
        truth: NDArray[np.int64] | None = None,
    ) -> None:
        answers = [answer for answer in answers if answer.kind != "leak"]
        self.domain, self.answers, self.truth = domain, answers, truth
        marks = np.zeros((size, len(answers) + 1), dtype=np.int8)
        exposure = np.full(size, size)
        for place, answer in enumerate(answers):
            marks[answer.records, place] = 1 if answer.signs is None else answer.signs
            exposure[answer.records] = np.minimum(exposure[answer.records], len(answer.records))
        self.marks, self.first, self.labels = np.unique(marks, axis=0, return_index=True, return_inverse=True)
        self.labels = self.labels.ravel()
        self.sizes = np.bincount(self.labels)
        self.exposure = exposure[self.first]

    def others(self, label: int) -> list[int]:
        """Classes of others who may tell most: one in the record's smallest query set, and one drawn."""
        inside = [place for place in np.flatnonzero(self.marks[label]) if place < len(self.answers)]
        found = []
        if inside:
            least = min(inside, key=lambda place: len(self.answers[place].records))
            mates = np.flatnonzero(self.marks[:, least])
            mates = mates[(mates != label) | (self.sizes[mates] > 1)]
            found += mates[np.argsort(self.sizes[mates])][:1].tolist()
        rest = [each for each in range(len(self.sizes)) if each != label or self.sizes[each] > 1]
        found += np.random.default_rng([SEED, label]).choice(rest, 1).tolist() if rest else []
        return list(dict.fromkeys(found))

    def program(self, label: int, other: int | None = None) -> Program:
        """With one record of the class set apart, and one of another class or the same."""
        apart = [label] if other is None else [label, other]
        sizes = np.concatenate([np.ones(len(apart), dtype=np.int64), self.sizes])
        for each in apart:
            sizes[each + len(apart)] -= 1
        marks = np.concatenate([self.marks[apart], self.marks])
        top = self.domain.count - 1
        low, high = np.zeros(len(sizes)), np.full(len(sizes), float(top))
        units = [self._units(answer) for answer in self.answers]
        inside = [np.flatnonzero((marks[:, place] != 0) & (sizes > 0)) for place in range(len(units))]
        for answer, unit, mine in zip(self.answers, units, inside, strict=True):
            if answer.asked == "max":
                high[mine] = np.minimum(high[mine], unit)
            elif answer.asked == "min":
                low[mine] = np.maximum(low[mine], unit)
        rows, count = [], len(sizes)
        for place, (answer, unit, mine) in enumerate(zip(self.answers, units, inside, strict=True)):
            if answer.asked == "sum":
                most = unit if answer.most is None else self._units(answer, answer.most)
                least = -np.inf if answer.ends.least is None else float(unit)
                ends = least, np.inf if answer.ends.most is None else float(most)
                rows.append(Row(mine, marks[mine, place].astype(float), *ends))
                continue
            if not answer.ends.exact:
                continue  # an end of an extreme bounds each record by itself
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
        program = _stated(rows, sizes * low, sizes * high, count)
        return program if self.truth is None else self._beside_truth(program, self.truth, apart, marks)

    def _beside_truth(
        self, program: Program, truth: NDArray[np.int64], apart: list[int], marks: NDArray[np.int8]
    ) -> Program:
        """With the true table, and who may differ from it first: whom answers tell least from those apart."""
        # of two who are of one class the first and the second
        before = [apart[:place].count(label) for place, label in enumerate(apart)]
        same = [np.flatnonzero(self.labels == label) for label in apart]
        people = [each[place] for each, place in zip(same, before, strict=True)]
        totals = np.bincount(self.labels, weights=truth, minlength=len(self.sizes))
        np.subtract.at(totals, np.array(apart), truth[people])
        table = np.concatenate([truth[people], totals])
        far = np.min([np.abs(marks - marks[place]).sum(axis=1) for place in range(len(apart))], axis=0)
        more = np.zeros(len(program.lower) - len(table))
        if not ((table >= program.lower[: len(table)]) & (table <= program.upper[: len(table)])).all():
            raise AssertionError("the true values are outside of what was told of extremes")
        return replace(program, known=np.append(table, more), nearest=np.argsort(far, kind="stable"))

    def _units(self, answer: KnownAnswer, value: Fraction | None = None) -> int:
        value, weight = answer.value if value is None else value, 1
        if answer.asked == "sum":
            weight = len(answer.records) if answer.signs is None else int(answer.signs.astype(int).sum())
        units = (value - weight * Fraction(self.domain.minimum)) / Fraction(self.domain.step)
        if units.denominator != 1:
            raise AssertionError(f"an answer off the grid: {value}")
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


def check(
    answers: Sequence[KnownAnswer],
    size: int,
    domain: Domain,
    limit: float,
    insiders: int = 0,
    seconds: float = ALL_SECONDS,
    truth: NDArray[np.int64] | None = None,
) -> list[Checked]:
    """Records that the answers expose most, and some others. `truth`: (n,) their values, in units."""
    outside = Outside(answers, size, domain, truth)
    if not answers:
        return []
    deadline = time.monotonic() + seconds
    intervals: dict[int, tuple[float, float]] = {}
    programs: dict[int, Program] = {}
    for label in np.lexsort((outside.sizes, outside.exposure))[:PROBED].tolist():
        program = outside.program(label)
        least, most = (program.solve(sign, integral=False) for sign in (1.0, -1.0))
        if least.success and most.success:
            programs[label], intervals[label] = program, (least.fun, -most.fun)
    order = sorted(intervals, key=lambda label: intervals[label][1] - intervals[label][0])
    rng = np.random.default_rng(SEED)
    rest = order[NARROWEST:]
    drawn = rng.choice(rest, min(DRAWN, len(rest)), replace=False).tolist() if rest else []
    return [
        _record(outside, programs[label], label, intervals[label], limit, insiders, deadline)
        for label in [*order[:NARROWEST], *drawn]
    ]


def _record(
    outside: Outside,
    program: Program,
    label: int,
    interval: tuple[float, float],
    limit: float,
    insiders: int,
    deadline: float,
) -> Checked:
    domain = outside.domain
    worst = _kept(program, {}, interval, domain, limit, deadline)
    assumed = 0
    for other in outside.others(label) if insiders and worst.risk <= limit + TOLERANCE else []:
        pair = outside.program(label, other)
        for sign in (1.0, -1.0):
            extreme = _end(pair, sign)
            if extreme is None:
                worst = _worse(worst, _Kept(0, 1, 1.0), limit)
                continue
            assumed += 1
            fixed = {OTHER: extreme}
            worst = _worse(worst, _kept(pair, fixed, interval, domain, limit, deadline), limit)
    lower, upper = (float(domain.minimum) + end * float(domain.step) for end in interval)
    keeps = worst.risk <= limit + TOLERANCE
    broken = not keeps and not worst.undecided
    return Checked(
        *(int(outside.first[label]), lower, upper, worst.values, worst.undecided, worst.risk),
        *(keeps, broken, assumed),
    )


def _end(pair: Program, sign: float) -> int | None:
    """The insider's least (1.0) or greatest (-1.0) value; beside the truth the furthest that is found."""
    if pair.known is None:
        extreme = pair.solve(sign, OTHER)
        return round(sign * extreme.fun) if extreme.success else None
    real = pair.solve(sign, OTHER, integral=False)
    if not real.success:
        return None
    end, true = sign * real.fun, int(pair.known[OTHER])
    first = int(np.ceil(end - TOLERANCE) if sign > 0 else np.floor(end + TOLERANCE))
    inward = range(first, true, int(sign))
    return next((value for value in inward if pair.solve(fixed={OTHER: value}).success), true)


@dataclass(frozen=True)
class _Kept:
    values: int
    undecided: int
    risk: float


def _worse(one: _Kept, other: _Kept, limit: float) -> _Kept:
    """What breaks the limit for certain, else what may, else the higher risk."""

    def badness(kept: _Kept) -> tuple[bool, bool, float]:
        fails = kept.risk > limit + TOLERANCE
        return fails and not kept.undecided, fails, kept.risk

    return max(one, other, key=badness)


def _kept(
    program: Program,
    fixed: Mapping[int, int],
    interval: tuple[float, float],
    domain: Domain,
    limit: float,
    deadline: float,
) -> _Kept:
    """The values that the record keeps, looked for until they are enough."""
    prior, middle = cae_area(domain.values), sum(interval) / 2
    taken: list[int] = []
    undecided, risk = 0, 1.0
    inside = [
        value for value in range(domain.count) if interval[0] - TOLERANCE <= value <= interval[1] + TOLERANCE
    ]
    # From the middle of the interval outwards: what is needed is a long enough run of values.
    for value in sorted(inside, key=lambda value: abs(value - middle)):
        if time.monotonic() > deadline:
            undecided += 1
            continue
        result = program.solve(fixed={**fixed, RECORD: value})
        if result.success:
            taken = sorted([*taken, value])
            areas = [_area(taken, domain), _area(_longest_run(taken), domain)]
            risk = 1 - max(areas) / prior
            if risk <= limit + TOLERANCE:
                break
        elif result.status != 2:
            undecided += 1
    return _Kept(len(taken), undecided, risk)


def _area(units: Sequence[int], domain: Domain) -> float:
    return cae_area([float(unit * domain.step) for unit in units]) if len(units) > 1 else 0.0


def _longest_run(units: Sequence[int]) -> list[int]:
    best: list[int] = []
    run: list[int] = []
    for unit in units:
        run = [*run, unit] if run and unit == run[-1] + 1 else [unit]
        best = max(best, run, key=len)
    return best
