"""What each record's value is likely to be under an answered system: the models `exact` and `tilted`.

- `exact`: all tables on the grid that agree with every answer are equally likely. Small components of the
  system, and single sums over any number of records, are counted; an answered MAX or MIN by inclusion and
  exclusion. What cannot be counted is estimated from random tables that agree with the answers, and says so.
- `tilted`: greatest entropy with the answered expected sums, inside the boxes that MAX and MIN leave. That
  somebody attains an extreme is left out of it. It is the limit of `exact` in large systems.

Both take every value of the grid for equally likely before any answer; a prior that the system draws its
tables from is no part of the models. Neither excludes anything by itself, and what is excluded is no part of
them: an interval, or a certified run, is for `AnsweredSystem.bounds` and `certified`.

Source: `mathematics.md`, 3; paper 003, Section 3.3 (`exact`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cae_sql.domain import Domain, exact, grid_values
from cae_sql.errors import InvalidInput, OutOfTime
from cae_sql.inference.answers import Answer, Grid
from cae_sql.inference.fixed_point import solved
from cae_sql.inference.knowledge import Extreme, Knowledge
from cae_sql.inference.system import AnsweredSystem
from cae_sql.models.counting import counted
from cae_sql.models.tilt import log_geometric, multipliers, of_boxes
from cae_sql.models.weights import Floats, Ints, Weighted

Model = Literal["exact", "tilted"]
MODELS: tuple[Model, ...] = ("exact", "tilted")
ESTIMATE = 200
"""Random tables that an estimate rests on."""
MOST_EXTREMES = 6
"""Extremes of one component that are counted by inclusion and exclusion."""
LARGEST = 50_000_000
"""Probabilities, or coefficients other than 0, that are held at once: 400 MB."""
MOST_COUNTED = 200_000
"""Values of a box that are counted one by one."""
_CERTAIN = 1e-7
"""Least share of tables that must attain all extremes, so that differences keep their digits."""


@dataclass(frozen=True, eq=False)
class Marginals:
    """A distribution for each record. Shapes: n records, p atoms, w windows of the domain."""

    labels: Ints
    """(n,) atom of each record."""
    values: Floats
    """(w,) at which each window begins: the domain's values."""
    probabilities: Floats
    """(p, w) of one record of each atom, rows of sum 1."""
    estimated: NDArray[np.bool_]
    """(p,) whether a row is an estimate from random tables, and not counted."""

    def of(self, record: int) -> Floats:
        """(w,) the distribution of a record's value."""
        found: Floats = self.probabilities[self.labels[record]]
        return found


def marginals(
    system: AnsweredSystem,
    model: Model,
    domain: Domain | None = None,
    answers: Sequence[Answer] | None = None,
) -> Marginals:
    """The distribution of every record's value under a model.

    Args:
        system: On a grid.
        model: "exact" or "tilted".
        domain: Its minimum is the system's and its step a multiple of the resolution: values are gathered in
            windows of one step. None: every value of the grid by itself.
        answers: What is known; None: all answers of the system.

    Raises:
        InvalidInput: no such model, a system without a grid, a domain that does not fit, more than `LARGEST`
            probabilities.
        InconsistentAnswers: no table agrees.
        OutOfTime: no table was found to estimate from.
    """
    if model not in MODELS:
        raise InvalidInput(f'model must be "exact" or "tilted", not {model!r}')
    windows = _Windows.of(system.grid, domain)
    given = list(system.answers if answers is None else answers)
    found = solved(system.size, system.grid, given, range(len(given)), 1)
    known, sums = found.known, found.sums
    if known.count * windows.count > LARGEST:
        raise InvalidInput(
            f"{known.count:,} groups of records with {windows.count:,} values each are too many to hold; "
            "take a coarser step"
        )
    if model == "tilted":
        rows, estimated = _tilted(known, sums, windows), np.zeros(known.count, dtype=np.bool_)
    else:
        rows, estimated = _exact(known, sums, windows)
        if estimated.any():
            rows[estimated] = _estimate(system, given, known, windows)[estimated]
    return Marginals(known.atoms.labels, windows.values, rows, estimated)


@dataclass(frozen=True, eq=False)
class _Windows:
    """Units of the grid gathered in windows of one step of the domain."""

    width: int
    """Units in a window."""
    count: int
    values: Floats

    @classmethod
    def of(cls, grid: Grid, domain: Domain | None) -> _Windows:
        if not grid.whole:
            raise InvalidInput("candidate models need a grid: give the system a resolution")
        units = int(grid.top) + 1
        step = grid.unit if domain is None else exact(domain.step)
        if domain is not None and exact(domain.minimum) != grid.minimum:
            raise InvalidInput(
                f"the domain begins at {domain.minimum}, the system at {float(grid.minimum):g}; "
                "give both the same minimum"
            )
        width = step / grid.unit
        if width.denominator != 1:
            raise InvalidInput(
                f"a step of {float(step):g} is no multiple of the resolution {float(grid.unit):g}; "
                "take one that is"
            )
        count = -(-units // int(width))
        if count > LARGEST:
            raise InvalidInput(f"{count:,} values are too many to hold; take a coarser step")
        return cls(int(width), count, grid_values(np.arange(count), grid.minimum, step))

    def gathered(self, units: Ints, weights: Floats) -> Floats:
        found: Floats = np.bincount(units // self.width, weights, self.count).astype(np.float64)
        return found


def _tilted(known: Knowledge, sums: Ints, windows: _Windows) -> Floats:
    if np.count_nonzero(known.matrix) > LARGEST:
        raise InvalidInput(
            f"{len(known.matrix):,} sums over {known.count:,} groups of records are too many for a model"
        )
    matrix = sparse.csr_array(known.matrix).astype(np.float64)
    theta = matrix.T @ multipliers(matrix, known.sizes, sums, of_boxes(known.low, known.high))
    return _geometric(known, theta, windows)


def _geometric(known: Knowledge, theta: Floats, windows: _Windows) -> Floats:
    """p(u) ∝ exp(θ u) over the units of each atom's box, in closed form by windows."""
    starts = np.arange(windows.count) * windows.width
    first = np.maximum(starts, known.low[:, None])
    count = np.minimum(starts + windows.width - 1, known.high[:, None]) - first + 1
    steep = np.broadcast_to(theta[:, None], first.shape)
    with np.errstate(divide="ignore"):
        logs = steep * (first - known.low[:, None]) + log_geometric(steep, np.maximum(count, 1).astype(float))
    logs = np.where(count > 0, logs, -np.inf)
    p = np.exp(logs - logs.max(axis=1, keepdims=True))
    found: Floats = p / p.sum(axis=1, keepdims=True)
    return found


def _exact(known: Knowledge, sums: Ints, windows: _Windows) -> tuple[Floats, NDArray[np.bool_]]:
    rows = _geometric(known, np.zeros(known.count), windows)  # of those whom no answer ties to others
    estimated = np.zeros(known.count, dtype=np.bool_)
    tied = np.array(known.matrix.any(axis=0), dtype=np.bool_)
    for extreme in known.extremes:
        tied[extreme.atoms] = True
    for label in np.unique(known.components[tied]).tolist():
        atoms = np.flatnonzero(known.components == label)
        try:
            found = _component(known, sums, atoms)
        except OutOfTime:
            estimated[atoms] = True
            continue
        for atom, p in zip(atoms.tolist(), found, strict=True):
            rows[atom] = windows.gathered(np.arange(known.low[atom], known.high[atom] + 1), p)
    return rows, estimated


def _component(known: Knowledge, sums: Ints, atoms: Ints) -> list[Floats]:
    """By atom, probabilities over the units of its box.

    Tables in which all extremes are attained are those inside the boxes, less those in which one is not, plus
    those in which two are not …: where nobody attains an extreme, boxes end one unit before it.

    Raises:
        OutOfTime: too much to be counted, or differences that lose their digits.
    """
    rows = np.flatnonzero(known.matrix[:, atoms].any(axis=1))
    extremes = [each for each in known.extremes if np.isin(each.atoms, atoms).any()]
    low, high = known.low[atoms], known.high[atoms]
    if len(extremes) > MOST_EXTREMES or int((high - low).max()) >= MOST_COUNTED:
        raise OutOfTime("too much to be counted")
    logs, signs, parts = list[float](), list[int](), list[tuple[Ints, list[Floats]]]()
    for count in range(len(extremes) + 1):
        for missing in itertools.combinations(extremes, count):
            under, over = _without(known, atoms, missing)
            if (under > over).any():
                continue
            boxes = [
                Weighted(np.arange(a, b + 1), np.ones(b - a + 1)) for a, b in zip(under, over, strict=True)
            ]
            part = counted(boxes, known.sizes[atoms], known.matrix[np.ix_(rows, atoms)], sums[rows])
            if part.log_weight > -math.inf:
                logs.append(part.log_weight)
                signs.append(-1 if count % 2 else 1)
                parts.append((under, part.probabilities))
    if not logs:
        raise OutOfTime("no table was counted")
    weights = np.array(signs) * np.exp(np.array(logs) - max(logs))
    if weights.sum() < _CERTAIN:
        raise OutOfTime("the extremes are attained too seldom to be counted by differences")
    found = [np.zeros(b - a + 1) for a, b in zip(low, high, strict=True)]
    for weight, (under, probabilities) in zip(weights.tolist(), parts, strict=True):
        for place, p in enumerate(probabilities):
            start = int(under[place] - low[place])
            found[place][start : start + len(p)] += weight * p
    total = float(weights.sum())
    return [_cleaned(each / total) for each in found]


def _cleaned(p: Floats) -> Floats:
    """Differences leave crumbs where nothing is."""
    kept = np.where(p > 1e-12, p, 0.0)
    found: Floats = kept / kept.sum()
    return found


def _without(known: Knowledge, atoms: Ints, missing: Sequence[Extreme]) -> tuple[Ints, Ints]:
    """Boxes in which nobody attains any of these extremes."""
    low, high = known.low.copy(), known.high.copy()
    for extreme in missing:
        able = known.able_atoms[extreme]
        if extreme.top:
            high[able] = np.minimum(high[able], extreme.value - 1)
        else:
            low[able] = np.maximum(low[able], extreme.value + 1)
    return low[atoms], high[atoms]


def _estimate(system: AnsweredSystem, answers: list[Answer], known: Knowledge, windows: _Windows) -> Floats:
    """How often each value occurs among an atom's records in random tables that agree with the answers."""
    grid = system.grid
    # without the system's prior, which is no part of the models
    plain = AnsweredSystem(system.size, grid.minimum, grid.to_value(grid.top), grid.unit, seed=system.seed)
    plain.accept(answers)
    rows = np.zeros((known.count, windows.count))
    for table in plain.worlds(ESTIMATE):
        units = np.rint((table - float(grid.minimum)) / float(grid.unit)).astype(np.int64)
        np.add.at(rows, (known.atoms.labels, units // windows.width), 1.0)
    found: Floats = rows / rows.sum(axis=1, keepdims=True)
    return found
