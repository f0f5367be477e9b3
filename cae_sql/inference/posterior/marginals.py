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
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from cae_sql.domain import Domain
from cae_sql.errors import InvalidInput
from cae_sql.inference.allowance import UNLIMITED, Allowance
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Answer, Query
from cae_sql.inference.facts.repeated import multiples
from cae_sql.inference.intervals.bounds import Solved, solved
from cae_sql.inference.posterior.baselines import against, areas_of_rows, entropies_of_rows, posterior_risks
from cae_sql.inference.posterior.components import Counts, counted_exactly
from cae_sql.inference.posterior.weights import Flags, Floats, Ints
from cae_sql.inference.posterior.windows import Windows
from cae_sql.inference.system import AnsweredSystem
from cae_sql.measure.distribution import is_number
from cae_sql.risk import Epsilon

if TYPE_CHECKING:
    from cae_sql.inference.posterior.judging import LikelyKnowledge

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
    """What some answers settle, (p, w) their marginals, and (p,) where these could not be counted.

    Raises:
        InvalidInput, InconsistentAnswers: as `marginals`.
        OutOfTime: more than may be spent.
    """
    found = solved(system.size, system.grid, answers, range(len(answers)), 1, lumps=system.lumps)
    windows.check_rows(found.known.count)
    return found, *counted_exactly(found.known, found.sums, windows, counts, allowance)


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
    """The sum, maximum and minimum over all records, lumps included, those that answers tell or imply.

    With rows that have no ±1 the total may follow from the sums and still count as not known, the safe side.
    """
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
class ClassFigures:
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
    risk: Floats
    """1 − A / A_baseline of that average, the baseline being the least of its records'."""
    worst_risk: Floats
    """The greatest risk of a single record of the class, taken by itself."""
    estimated: Flags
    """Whether a record of the class has a distribution that cannot be relied upon."""


@dataclass(frozen=True, eq=False)
class ModelRisks(ClassFigures):
    """Under `exact`; what is estimated comes from random tables."""

    baseline_area: float
    """A_baseline, of every record alike."""


@dataclass(frozen=True, eq=False)
class LikelyRisks(ClassFigures):
    """Of posteriors."""

    leverage: Floats
    """The greatest of a record of the class."""


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
    classes = _Classes(codes, found.labels, system.people)
    each = np.repeat(base, len(risk))
    figures = classes.figures(found.probabilities, each, risk, found.estimated, domain, epsilon)
    return ModelRisks(**figures, baseline_area=float(base[0]))


def risks_of_classes(past: LikelyKnowledge, codes: Ints, epsilon: Epsilon | None = None) -> LikelyRisks:
    """As `model_risks`, by the posterior; nobody is an insider.

    Raises:
        InvalidInput: too many groups of records and values to hold.
    """
    likely, domain = past.likely, past.standard.domain
    likely.tilt.windows.check_rows(likely.known.count)
    found = posterior_risks(likely, domain, past.standard.baseline)
    classes = _Classes(codes, likely.known.atoms.labels[: past.system.first_spare], past.system.people)
    figures = classes.figures(likely.rows, found.baseline, found.risk, ~likely.reliable, domain, epsilon)
    return LikelyRisks(**figures, leverage=classes.greatest(likely.leverage))


class _Classes:
    """Which atoms' records are in which class: c classes, by class and atom of each record and lump, (n,),
    and how many people it is."""

    def __init__(self, codes: Ints, labels: Ints, people: Ints) -> None:
        self.label, self._code = np.unique(codes, return_inverse=True)
        self._labels, self._people = labels, people
        self.records = np.bincount(self._code, people, len(self.label)).astype(np.int64)

    def greatest(self, of_atoms: Floats) -> Floats:
        """(c,) the greatest number of an atom, (p,), in each class."""
        found = np.full(len(self.label), -np.inf)
        np.maximum.at(found, self._code, of_atoms[self._labels])
        return found

    def figures(
        self,
        rows: Floats,
        base: Floats,
        risk: Floats,
        doubtful: Flags,
        domain: Domain,
        epsilon: Epsilon | None,
    ) -> dict[str, Any]:
        """Of `ClassFigures`, by each atom's distribution (p, w), baseline and risk, (p,)."""
        shape = len(self.label), len(rows)
        shares = csr_array((self._people / self.records[self._code], (self._code, self._labels)), shape)
        mixed = shares @ rows
        area = areas_of_rows(mixed, domain)
        at_epsilon = None if epsilon is None else entropies_of_rows(mixed, domain, float(epsilon))
        return {
            "label": self.label.astype(np.int64),
            "records": self.records,
            "initial_entropy": entropies_of_rows(mixed, domain, 0.0),
            "entropy_at_epsilon": at_epsilon,
            "area": area,
            "risk": against(area, -self.greatest(-base), domain),
            "worst_risk": self.greatest(risk),
            "estimated": self.greatest(doubtful.astype(np.float64)) > 0,
        }
