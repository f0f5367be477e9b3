"""What an intruder works out from exact answers: bounds of a value or total, by integer programs.

Promise: the truth lies inside whatever is returned, as long as the answers heard are exact; bounds are the
best there are where the solver ends in time. Shares no code with `cae_sql.inference`: it is the other side's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse

Kind = Literal["sum", "max", "min"]
How = Literal["exactly", "at most", "at least"]
SLACK = 1e-6
NODES = 2_000
"""Search nodes for one bound; a program that is given up still has a bound that holds."""


@dataclass(frozen=True, eq=False)
class Heard:
    """One answer, in units of the grid above the minimum."""

    kind: Kind
    weights: NDArray[np.int64]
    """(n,) coefficient by record; for extremes 1 for members."""
    value: int
    how: How = "exactly"
    """Whether it is the value, or an end of where it lies."""


@dataclass
class Deduction:
    """Everything that one intruder has been told."""

    size: int
    """Records."""
    minimum: Fraction
    maximum: Fraction
    resolution: Fraction
    heard: list[Heard] = field(default_factory=list)

    @property
    def top(self) -> int:
        """The greatest value in units."""
        return int((self.maximum - self.minimum) // self.resolution)

    def hears(self, kind: Kind, weights: NDArray[np.int64], value: Fraction, how: How = "exactly") -> None:
        """Take in an answer; a value off the grid is none that these data gave, and is left out."""
        offset = self.minimum * (int(weights.sum()) if kind == "sum" else 1)
        units = (value - offset) / self.resolution
        if units.denominator == 1:
            self.heard.append(Heard(kind, weights.astype(np.int64), int(units), how))

    def interval(self, record: int) -> tuple[Fraction, Fraction]:
        """Least and greatest value that the record can have."""
        if not self.heard:
            return self.minimum, self.maximum
        program = _Program(self)
        low, high = program.bound(record, 1), program.bound(record, -1)
        return self.minimum + low * self.resolution, self.minimum + high * self.resolution

    def total(self, members: NDArray[np.bool_]) -> tuple[Fraction, Fraction]:
        """Least and greatest total that some records (n,) can have together."""
        count = int(members.sum())
        low, high = 0, count * self.top
        if self.heard and count:
            program = _Program(self, members)
            low, high = program.bound_of_all(1), program.bound_of_all(-1)
        least = self.minimum * count
        return least + low * self.resolution, least + high * self.resolution


class _Program:
    """One variable per atom, its total; one switch per atom and extreme that it may attain.

    Atoms lie inside of `apart` or outside of it, by default all outside.
    """

    def __init__(self, deduction: Deduction, apart: NDArray[np.bool_] | None = None) -> None:
        heard, top = deduction.heard, deduction.top
        inside = np.zeros(deduction.size, dtype=np.bool_) if apart is None else apart
        patterns = np.column_stack([*(each.weights for each in heard), inside.astype(np.int64)])
        extremes = np.array([{"sum": 0, "max": 1, "min": 2}[each.kind] for each in heard])
        unique, self.atom, counts = np.unique(patterns, axis=0, return_inverse=True, return_counts=True)
        self.apart = np.flatnonzero(unique[:, -1])
        self.atom = self.atom.ravel()
        self.count = counts.astype(np.int64)
        self.low = np.zeros(len(unique), dtype=np.int64)
        self.high = np.full(len(unique), top, dtype=np.int64)
        for place, each in enumerate(heard):
            members = unique[:, place] != 0
            if each.kind == "max":
                self.high[members] = np.minimum(self.high[members], each.value)
            elif each.kind == "min":
                self.low[members] = np.maximum(self.low[members], each.value)
        self.rows: list[tuple[dict[int, float], float, float]] = []
        self.switches = 0
        for place, each in enumerate(heard):
            if extremes[place] == 0:
                row = {int(a): float(unique[a, place]) for a in np.flatnonzero(unique[:, place])}
                least = -np.inf if each.how == "at most" else each.value
                self.rows.append((row, least, np.inf if each.how == "at least" else each.value))
            elif each.how == "exactly":
                self._attained(np.flatnonzero(unique[:, place]), each)

    def _attained(self, atoms: NDArray[np.intp], each: Heard) -> None:
        """Some record of these atoms has the extreme: a switched-on atom has a total that allows it."""
        row: dict[int, float] = {}
        for a in atoms.tolist():
            switch = len(self.count) + self.switches
            others = int(self.count[a]) - 1
            low, high, value = int(self.low[a]), int(self.high[a]), each.value
            row[switch] = 1.0
            if each.kind == "max":
                self.rows.append(({a: 1.0, switch: float(low - value)}, (others + 1) * low, np.inf))
            else:
                self.rows.append(({a: 1.0, switch: float(high - value)}, -np.inf, (others + 1) * high))
            self.switches += 1
        self.rows.append((row, 1, np.inf))

    def bound(self, record: int, sign: int) -> int:
        """The least (1) or greatest (-1) value of a record, in units; sound where it is not tight."""
        a = int(self.atom[record])
        low, high, others = int(self.low[a]), int(self.high[a]), int(self.count[a]) - 1
        total = self._total([a], sign)
        if sign == 1:
            return low if total is None else max(low, math.ceil(total - SLACK) - others * high)
        return high if total is None else min(high, math.floor(total + SLACK) - others * low)

    def bound_of_all(self, sign: int) -> int:
        """The least (1) or greatest (-1) total of the records apart, in units; sound if not tight."""
        total = self._total(self.apart.tolist(), sign)
        low, high = (int((self.count * ends)[self.apart].sum()) for ends in (self.low, self.high))
        if sign == 1:
            return low if total is None else max(low, math.ceil(total - SLACK))
        return high if total is None else min(high, math.floor(total + SLACK))

    def _total(self, atoms: Sequence[int], sign: int) -> float | None:
        variables = len(self.count) + self.switches
        cost = np.zeros(variables)
        cost[list(atoms)] = sign
        if not self.rows:
            return None  # ends of extremes are bounds of each record by itself
        triples = [(i, j, w) for i, (row, _, _) in enumerate(self.rows) for j, w in row.items()]
        i, j, w = (np.array(each) for each in zip(*triples, strict=True))
        matrix = sparse.csr_matrix((w, (i.astype(int), j.astype(int))), shape=(len(self.rows), variables))
        least = np.array([row[1] for row in self.rows], dtype=float)
        most = np.array([row[2] for row in self.rows], dtype=float)
        found = optimize.milp(
            cost,
            constraints=optimize.LinearConstraint(matrix, least, most),
            bounds=optimize.Bounds(
                np.concatenate([self.count * self.low, np.zeros(self.switches)]).astype(float),
                np.concatenate([self.count * self.high, np.ones(self.switches)]).astype(float),
            ),
            integrality=np.ones(variables),
            options={"node_limit": NODES},
        )
        reached = found.get("mip_dual_bound")
        if reached is None or not math.isfinite(reached):
            return None
        return sign * float(reached)
