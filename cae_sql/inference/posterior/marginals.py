"""What each record's value is likely to be under an answered system: the models `exact` and `tilted`.

- `exact`: all tables on the grid that agree with every answer are equally likely. Small components of the
  system, and single sums over any number of records, are counted; an answered MAX or MIN by inclusion and
  exclusion. What cannot be counted is estimated from random tables that agree with the answers, and says so.
- `tilted`: greatest entropy, relative to the system's prior, with the answered expected sums, inside the
  boxes that MAX and MIN leave: p(u) ∝ prior(u) exp(θ u). That somebody attains an extreme is left out of it.
  Without a prior it is the limit of `exact` in large systems.

`exact` takes every value of the grid for equally likely before any answer, whatever prior the system draws
its tables from; so does `tilted` without one. Neither excludes anything by itself, and what is excluded is no
part of them: an interval, or a certified run, is for `AnsweredSystem.bounds` and `certified`.

Source: `mathematics.md`, 3; paper 003, Section 3.3 (`exact`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from cae_sql.domain import Domain
from cae_sql.errors import InvalidInput, OutOfTime
from cae_sql.inference.allowance import UNLIMITED, Allowance
from cae_sql.inference.facts.knowledge import Extreme, Knowledge
from cae_sql.inference.facts.query import Answer
from cae_sql.inference.intervals.fixed_point import solved
from cae_sql.inference.posterior.counting import counted
from cae_sql.inference.posterior.weights import Floats, Ints, Weighted
from cae_sql.inference.posterior.windows import Tilt, Windows
from cae_sql.inference.system import AnsweredSystem

Model = Literal["exact", "tilted"]
MODELS: tuple[Model, ...] = ("exact", "tilted")
ESTIMATE = 200
"""Random tables that an estimate rests on."""
MOST_EXTREMES = 6
"""Extremes of one component that are counted by inclusion and exclusion."""
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
        """(w,) the distribution of a record's value.

        Raises:
            InvalidInput: no such record; they are counted from 0, and none from the end.
        """
        if isinstance(record, bool) or not isinstance(record, (int, np.integer)):
            raise InvalidInput(f"record must be a whole number, not {record!r:.60}")
        if not 0 <= record < len(self.labels):
            raise InvalidInput(f"record {record}: there are records 0 to {len(self.labels) - 1}")
        found: Floats = self.probabilities[self.labels[record]]
        return found


def marginals(
    system: AnsweredSystem,
    model: Model,
    domain: Domain | None = None,
    answers: Sequence[Answer] | None = None,
    estimate: bool = True,
) -> Marginals:
    """The distribution of every record's value under a model.

    Args:
        system: On a grid.
        model: "exact" or "tilted".
        domain: Its minimum is the system's and its step a multiple of the resolution: values are gathered in
            windows of one step. None: every value of the grid by itself.
        answers: What is known; None: all answers of the system.
        estimate: Whether what cannot be counted is estimated. If not, its rows mean nothing.

    Raises:
        InvalidInput: no such model, a system without a grid, a domain that does not fit, more than `LARGEST`
            probabilities.
        InconsistentAnswers: no table agrees.
        OutOfTime: no table was found to estimate from.
    """
    if not isinstance(model, str) or model not in MODELS:
        raise InvalidInput(f'model must be "exact" or "tilted", not {model!r:.60}')
    if not isinstance(system, AnsweredSystem):
        raise InvalidInput(f"system must be an AnsweredSystem, not {type(system).__name__}")
    if domain is not None and not isinstance(domain, Domain):
        raise InvalidInput(f"domain must be a Domain, not {type(domain).__name__}")
    windows = Windows.of(system.grid, domain)
    given = list(system.answers if answers is None else answers)
    found = solved(system.size, system.grid, given, range(len(given)), 1)
    known, sums = found.known, found.sums
    windows.check_rows(known.count)
    if model == "tilted":
        rows = _tilted(known, sums, Tilt(windows, system.prior))
        estimated = np.zeros(known.count, dtype=np.bool_)
    else:
        rows, estimated = counted_exactly(known, sums, windows)
        if estimated.any() and estimate:
            rows[estimated] = _estimate(system, given, known, windows)[estimated]
    return Marginals(known.atoms.labels[: system.size], windows.values, rows, estimated)


def _tilted(known: Knowledge, sums: Ints, tilt: Tilt) -> Floats:
    point, _ = tilt.multipliers(known, sums)
    return tilt.rows(known.low, known.high, scipy.sparse.csr_array(known.matrix).astype(np.float64).T @ point)


def counted_exactly(
    known: Knowledge,
    sums: Ints,
    windows: Windows,
    kept: dict[bytes, list[Floats]] | None = None,
    allowance: Allowance = UNLIMITED,
    strict: bool = False,
) -> tuple[Floats, NDArray[np.bool_]]:
    """(p, w) the model `exact` as far as it can be counted, and (p,) where it cannot: rows of no meaning.

    Args:
        known: Boxes, extremes, and the matrix of the independent sums.
        sums: (k,) their right-hand sides.
        windows: In which values are gathered.
        kept: What was counted of components before; what is counted now is added.
        allowance: What may be spent; nothing more is tried beyond it.
        strict: Whether one that cannot be counted is the end.

    Raises:
        OutOfTime: more than may be spent; strict, and something cannot be counted.
    """
    rows = Tilt(windows).rows(known.low, known.high, np.zeros(known.count))  # of those tied to nobody
    missing = np.zeros(known.count, dtype=np.bool_)
    tied = np.array(known.matrix.any(axis=0), dtype=np.bool_)
    for extreme in _attained(known):
        tied[extreme.atoms] = True
    for label in np.unique(known.components[tied]).tolist():
        if allowance.over:
            raise OutOfTime("not all components were counted in time")
        atoms = np.flatnonzero(known.components == label)
        name = b"" if kept is None else _name(known, sums, atoms)
        found = None if kept is None else kept.get(name)
        try:
            found = _component(known, sums, atoms, allowance) if found is None else found
        except OutOfTime:
            if strict:
                raise
            missing[atoms] = True
            continue
        if kept is not None:
            kept[name] = found
        for atom, p in zip(atoms.tolist(), found, strict=True):
            rows[atom] = windows.gathered(np.arange(known.low[atom], known.high[atom] + 1), p)
    return rows, missing


def _name(known: Knowledge, sums: Ints, atoms: Ints) -> bytes:
    """One name for components that are counted alike."""
    rows = np.flatnonzero(known.matrix[:, atoms].any(axis=1))
    parts = [known.low[atoms], known.high[atoms], known.sizes[atoms], _spares(known)[atoms], sums[rows]]
    parts.append(known.matrix[np.ix_(rows, atoms)].astype(np.int64).ravel())
    for each in _attained(known):
        inside = np.flatnonzero(np.isin(atoms, each.atoms))
        if len(inside):
            parts.append(np.array([len(inside), each.top, each.value, *inside], dtype=np.int64))
    return blake2b(b"".join(b"%d " % len(part) + part.tobytes() for part in parts), digest_size=20).digest()


def _component(known: Knowledge, sums: Ints, atoms: Ints, allowance: Allowance) -> list[Floats]:
    """By atom, probabilities over the units of its box.

    Tables in which all extremes are attained are those inside the boxes, less those in which one is not, plus
    those in which two are not …: where nobody attains an extreme, boxes end one unit before it.

    Spare records say how far an answer is known, and no more: each of their totals is as likely as any other,
    in however many ways they may share it, since each table of the others counts once.

    Raises:
        OutOfTime: too much to be counted, or differences that lose their digits.
    """
    rows = np.flatnonzero(known.matrix[:, atoms].any(axis=1))
    extremes = [each for each in _attained(known) if np.isin(each.atoms, atoms).any()]
    low, high, matrix = known.low[atoms], known.high[atoms], known.matrix[np.ix_(rows, atoms)]
    spares = _spares(known)[atoms]
    sizes, extended = known.sizes[atoms] - spares, np.flatnonzero((spares > 0) & matrix.any(axis=0))
    real = np.flatnonzero(sizes)
    boxes_of_spares = zip(spares[extended], low[extended], high[extended], strict=True)
    slack = [np.arange(count * a, count * b + 1) for count, a, b in boxes_of_spares]
    matrix = np.hstack([matrix[:, real], matrix[:, extended]])
    sizes = np.append(sizes[real], np.ones(len(extended), dtype=np.int64))
    if len(extremes) > MOST_EXTREMES or int((high - low).max()) >= MOST_COUNTED:
        raise OutOfTime("too much to be counted")
    logs, signs, parts = list[float](), list[int](), list[tuple[Ints, list[Floats]]]()
    for count in range(len(extremes) + 1):
        for missing in itertools.combinations(extremes, count):
            under, over = _without(known, atoms, missing)
            if (under > over).any():
                continue
            ranges = [np.arange(under[a], over[a] + 1) for a in real.tolist()] + slack
            boxes = [Weighted(each, np.ones(len(each))) for each in ranges]
            part = counted(boxes, sizes, matrix, sums[rows], allowance)
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
        for place, p in zip(real.tolist(), probabilities, strict=False):
            start = int(under[place] - low[place])
            found[place][start : start + len(p)] += weight * p
    for place in np.setdiff1d(np.arange(len(atoms)), real):
        found[place][0] = weights.sum()  # of nobody
    total = float(weights.sum())
    return [_cleaned(each / total) for each in found]


def _spares(known: Knowledge) -> Ints:
    """(p,) spare records in each atom: an atom may hold somebody's too."""
    return np.bincount(known.atoms.labels[known.atoms.real :], minlength=known.count)


def _attained(known: Knowledge) -> list[Extreme]:
    """Extremes that somebody must have: one that a spare record may have is said by boxes."""
    spares = _spares(known)
    return [each for each in known.extremes if not spares[each.atoms].any()]


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


def _estimate(system: AnsweredSystem, answers: list[Answer], known: Knowledge, windows: Windows) -> Floats:
    """How often each value occurs among an atom's records in random tables that agree with the answers."""
    grid = system.grid
    # without the system's prior, which is no part of `exact`
    plain = AnsweredSystem(system.size, grid.minimum, grid.to_value(grid.top), grid.unit, seed=system.seed)
    plain.accept(answers)
    rows = np.zeros((known.count, windows.count))
    for table in plain.worlds(ESTIMATE):
        units = np.rint((table - float(grid.minimum)) / float(grid.unit)).astype(np.int64)
        np.add.at(rows, (known.atoms.labels, units // windows.width), 1.0)
    found: Floats = rows / rows.sum(axis=1, keepdims=True)
    return found
