"""Marginals under the model `exact`, and reports: how much answers tell of classes of records.

- `exact`: all tables on the grid that agree with every answer are equally likely, whatever prior the system
  draws its tables from. Components are counted (`components`), or estimated from random tables and marked.
- Risk = 1 − A / A_baseline. Under `exact` the baseline is what follows from the answers about the whole table
  alone (`about_everybody`), however these were asked: asking for what follows changes no risk. Of posteriors
  it is that of `baselines`. 0: nothing learned beyond it; 1: the value is known, or the baseline leaves
  nothing open; below 0: more uncertain than the baseline.

Source: `mathematics.md`, 3; paper 003, Section 3.3 (`exact`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
import scipy
from numpy.typing import ArrayLike

from cae_sql.domain import Domain
from cae_sql.errors import InvalidInput, OutOfTime
from cae_sql.inference.allowance import UNLIMITED, Allowance
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Answer, Query
from cae_sql.inference.facts.repeated import multiples
from cae_sql.inference.intervals.bounds import Solved, solved
from cae_sql.inference.posterior.baselines import (
    Baseline,
    against,
    areas_of_rows,
    entropies_of_rows,
    posterior_risks,
)
from cae_sql.inference.posterior.components import Component, Counts, attained, gathered
from cae_sql.inference.posterior.likely import Likely
from cae_sql.inference.posterior.tilt import Tilt, Windows
from cae_sql.inference.posterior.weights import Flags, Floats, Ints
from cae_sql.inference.system import AnsweredSystem
from cae_sql.measure.distribution import is_number
from cae_sql.risk import Epsilon

ESTIMATE = 200
"""Random tables that an estimate rests on."""


@dataclass(frozen=True, eq=False)
class Marginals:
    """A distribution for each record. Shapes: n records, p atoms, w windows of the domain."""

    labels: Ints
    """(n,) atom of each record."""
    values: Floats
    """(w,) at which each window begins: the domain's values."""
    probabilities: Floats
    """(p, w) of one record of each atom, rows of sum 1."""
    estimated: Flags
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
    domain: Domain | None = None,
    answers: Sequence[Answer] | None = None,
) -> Marginals:
    """The distribution of every record's value.

    Args:
        system: On a grid.
        domain: Its minimum is the system's and its step a multiple of the resolution: values are gathered in
            windows of one step. None: every value of the grid by itself.
        answers: What is known; None: all answers of the system.

    Raises:
        InvalidInput: a system without a grid, a domain that does not fit, more than `LARGEST`
            probabilities.
        InconsistentAnswers: no table agrees.
        OutOfTime: no table was found to estimate from.
    """
    if not isinstance(system, AnsweredSystem):
        raise InvalidInput(f"system must be an AnsweredSystem, not {type(system).__name__}")
    if domain is not None and not isinstance(domain, Domain):
        raise InvalidInput(f"domain must be a Domain, not {type(domain).__name__}")
    windows, given = Windows.of(system.grid, domain), list(system.answers if answers is None else answers)
    found, rows, estimated = counted_marginals(system, given, windows)
    if estimated.any():
        rows[estimated] = _estimate(system, given, found.known, windows)[estimated]
    return Marginals(found.known.atoms.labels[: system.first_spare], windows.values, rows, estimated)


def counted_marginals(
    system: AnsweredSystem,
    answers: Sequence[Answer],
    windows: Windows,
    counts: Counts | None = None,
    allowance: Allowance = UNLIMITED,
) -> tuple[Solved, Floats, Flags]:
    """What some answers settle, (p, w) their marginals, and (p,) where these could not be counted;
    `OutOfTime` where not all components were tried, and errors of `marginals`."""
    found = solved(system.size, system.grid, answers, range(len(answers)), 1, lumps=system.lumps)
    known, alike, counts = found.known, Tilt(windows), counts or Counts()
    windows.check_rows(known.count)
    rows = alike.rows(known.low, known.high, np.zeros(known.count))  # of those tied to nobody
    missing, tied = np.zeros(known.count, dtype=np.bool_), np.array(known.matrix.any(axis=0), dtype=np.bool_)
    for extreme in attained(known):
        tied[extreme.atoms] = True
    for label in np.unique(known.components[tied]).tolist():
        if allowance.over:
            raise OutOfTime("not all components were counted in time")
        atoms = np.flatnonzero(known.components == label)
        part = Component.of(known, found.sums, atoms)
        try:
            units = counts.of(part.name, allowance, partial(part.rows, alike))
        except OutOfTime:
            missing[atoms] = True
        else:
            rows[atoms] = gathered(known, atoms, units, windows)
    return found, rows, missing


def _estimate(system: AnsweredSystem, answers: list[Answer], known: Knowledge, windows: Windows) -> Floats:
    """(p, w) how often each value occurs among an atom's records in random tables that agree."""
    grid = system.grid
    # without the system's prior, which is no part of `exact`
    plain = AnsweredSystem(
        system.size, grid.minimum, grid.to_value(grid.top), grid.unit, seed=system.seed, lumps=system.lumps
    )
    plain.accept(answers)
    rows = np.zeros((known.count, windows.count))
    for table in plain.worlds(ESTIMATE):
        units = np.rint((table - float(grid.minimum)) / float(grid.unit)).astype(np.int64)
        np.add.at(rows, (known.atoms.labels[: system.size], units // windows.width), 1.0)
    # of atoms of lumps alone no table shows a single value: nobody asks for them
    found: Floats = rows / np.maximum(rows.sum(axis=1, keepdims=True), 1.0)
    return found


def about_everybody(found: Solved) -> list[Answer]:
    """The sum, maximum and minimum over all records, lumps included, those that answers tell or imply; of
    rows that have no ±1 the total may count as not known, the safe side."""
    known, told = found.known, list[Answer]()
    everybody = np.arange(known.atoms.real)
    if len(known.matrix):
        real = known.atoms.protected.astype(np.int64)  # spare records are nobody's
        weights, adds_up = multiples(known.matrix.astype(np.int64), real[None])
        if adds_up[0]:
            total = Fraction(int(weights[0] @ found.sums))
            told.append(Query(kind="sum", members=everybody).answered(total))
    for query in (Query(kind="max", members=everybody), Query(kind="min", members=everybody)):
        value = known.forced_extreme(query) if known.extremes or known.implied else None
        if value is not None:
            told.append(query.answered(Fraction(value)))
    return told


# --- reports by class


@dataclass(frozen=True, eq=False)
class ModelRisks:
    """Figures of classes, (c,), in ascending order of their labels."""

    label: Ints
    records: Ints
    """How many records the class has."""
    initial_entropy: Floats
    """H0 of the average over the class, bits."""
    entropy_at_epsilon: Floats | None
    """H(ε), bits; None where no ε was asked for."""
    area: Floats
    """Bits × units of the column."""
    baseline_area: Floats
    """The least A_baseline of its records; under `exact` that of everybody."""
    risk: Floats
    """1 − A / A_baseline of the average."""
    worst_risk: Floats
    """The greatest risk of a single record of the class, taken by itself."""
    estimated: Flags
    """Whether a record of the class has a distribution that cannot be relied upon."""
    leverage: Floats | None
    """The greatest of a record of the class; None under `exact`."""


def model_risks(
    system: AnsweredSystem, labels: ArrayLike, domain: Domain, epsilon: Epsilon | None = None
) -> ModelRisks:
    """The figures of classes of records that an intruder cannot tell apart.

    Args:
        system: On a grid.
        labels: (n,) class of each record, whole numbers; behind them of each lump, which counts as often as
            it has records.
        domain: At whose step the distributions are judged; see `marginals`.
        epsilon: Approximate compromise range at which H is wanted too.

    Raises:
        InvalidInput: labels that cannot be used, or as `marginals`.
        InconsistentAnswers: no table agrees with the answers.
        OutOfTime: as `marginals`.
    """
    if not isinstance(domain, Domain):
        raise InvalidInput(f"domain must be a Domain, not {type(domain).__name__}")
    if epsilon is not None and not is_number(epsilon):
        raise InvalidInput(f"epsilon must be a number of 0 or more, not {epsilon!r:.60}")
    found, codes = marginals(system, domain), np.asarray(labels)
    if codes.ndim != 1 or codes.dtype.kind not in "iu" or len(codes) != system.first_spare:
        count = system.first_spare
        raise InvalidInput(f"labels must be {count} whole numbers, one for each record or lump")
    baseline = marginals(system, domain, about_everybody(system.solved))
    base = areas_of_rows(baseline.probabilities[:1], domain)
    risk = against(areas_of_rows(found.probabilities, domain), base, domain)
    return _figures(system, codes, found, np.repeat(base, len(risk)), risk, domain, epsilon)


def risks_of_classes(
    system: AnsweredSystem,
    likely: Likely,
    codes: Ints,
    domain: Domain,
    baseline: Baseline,
    epsilon: Epsilon | None = None,
) -> ModelRisks:
    """As `model_risks`, by the posterior; nobody is an insider."""
    likely.tilt.windows.check_rows(likely.known.count)
    found, labels = posterior_risks(likely, domain, baseline), likely.known.atoms.labels[: system.first_spare]
    rows = Marginals(labels, likely.tilt.windows.values, likely.rows, ~likely.reliable)
    return _figures(system, codes, rows, found.baseline, found.risk, domain, epsilon, likely.leverage)


def _figures(
    system: AnsweredSystem,
    codes: Ints,
    found: Marginals,
    base: Floats,
    risk: Floats,
    domain: Domain,
    epsilon: Epsilon | None,
    leverage: Floats | None = None,
) -> ModelRisks:
    """By class of each record and lump, and each atom's distribution, A_baseline, risk and leverage, (p,)."""
    label, code = np.unique(codes, return_inverse=True)
    records = np.bincount(code, system.people, len(label)).astype(np.int64)
    places = code, found.labels
    shares = scipy.sparse.csr_array((system.people / records[code], places), (len(label), len(risk)))
    mixed = shares @ found.probabilities

    def greatest(of_atoms: Floats) -> Floats:
        most = np.full(len(label), -np.inf)
        np.maximum.at(most, code, of_atoms[found.labels])
        return most

    area, least = areas_of_rows(mixed, domain), -greatest(-base)
    return ModelRisks(
        label.astype(np.int64),
        records,
        entropies_of_rows(mixed, domain, 0.0),
        None if epsilon is None else entropies_of_rows(mixed, domain, float(epsilon)),
        area,
        least,
        against(area, least, domain),
        greatest(risk),
        greatest(found.estimated.astype(np.float64)) > 0,
        None if leverage is None else greatest(leverage),
    )
