"""Reports: how much answers have told about each class of records beyond what they say of everybody.

Risk = 1 − A / A_baseline. Under `exact` A_baseline is of what the answers say of the whole table alone
(`marginals.about_everybody`): the average of a whole table is known of everybody and counts against nobody;
with it known, the uniform distribution is nobody's belief any more. Of posteriors it is as in `members`.

0: nothing learned beyond the baseline; 1: the value is known. Reported as it comes out: answers that make a
record look more uncertain than the baseline give a risk below 0. Where the baseline leaves nothing open the
risk is 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cae_sql.domain import Domain
from cae_sql.errors import InvalidInput
from cae_sql.inference.posterior.areas import areas_of_rows, entropies_of_rows
from cae_sql.inference.posterior.keeping import LikelyKnowledge
from cae_sql.inference.posterior.marginals import about_everybody, marginals
from cae_sql.inference.posterior.members import against, posterior_risks
from cae_sql.inference.posterior.weights import Flags, Floats, Ints
from cae_sql.inference.system import AnsweredSystem
from cae_sql.measure.distribution import is_number
from cae_sql.risk import Epsilon


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
    estimated: NDArray[np.bool_]
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
    if not isinstance(system, AnsweredSystem):
        raise InvalidInput(f"system must be an AnsweredSystem, not {type(system).__name__}")
    if not isinstance(domain, Domain):
        raise InvalidInput(f"domain must be a Domain, not {type(domain).__name__}")
    if epsilon is not None and not is_number(epsilon):
        raise InvalidInput(f"epsilon must be a number of 0 or more, not {epsilon!r:.60}")
    codes = np.asarray(labels)
    if codes.ndim != 1 or codes.dtype.kind not in "iu" or len(codes) != system.first_spare:
        count = system.first_spare
        raise InvalidInput(f"labels must be {count} whole numbers, one for each record or lump")
    found = marginals(system, domain)
    baseline = marginals(system, domain, about_everybody(system))
    base = areas_of_rows(baseline.probabilities[:1], domain)
    classes = _Classes.of(codes, found.labels, system.people)
    risk = against(areas_of_rows(found.probabilities, domain), base, domain)
    each = np.repeat(base, len(risk))
    figures = classes.figures(found.probabilities, each, risk, found.estimated, domain, epsilon)
    return ModelRisks(**figures, baseline_area=float(base[0]))


def risks_of_classes(past: LikelyKnowledge, codes: Ints, epsilon: Epsilon | None = None) -> LikelyRisks:
    """The figures of classes of records that an intruder cannot tell apart; nobody is an insider.

    Args:
        past: What answers make likely.
        codes: (n,) class of each record, and of each lump, which counts as often as it has records.
        epsilon: Approximate compromise range at which H is wanted too.

    Raises:
        InvalidInput: too many groups of records and values to hold.
    """
    likely, domain = past.likely, past.standard.domain
    likely.tilt.windows.check_rows(likely.known.count)
    found = posterior_risks(likely, domain, past.standard.baseline)
    labels = likely.known.atoms.labels[: past.system.first_spare]
    classes = _Classes.of(codes, labels, past.system.people)
    figures = classes.figures(likely.rows, found.baseline, found.risk, ~likely.reliable, domain, epsilon)
    return LikelyRisks(**figures, leverage=classes.greatest(likely.leverage))


@dataclass(frozen=True, eq=False)
class _Classes:
    """Which atoms' records are in which class. Shapes: c classes, m pairs of a class and an atom."""

    label: Ints
    """(c,)"""
    records: Ints
    """(c,)"""
    code: Ints
    """(m,) place of a class, ascending."""
    atom: Ints
    """(m,) of whom it has records."""
    weights: Floats
    """(m,) how many."""

    @classmethod
    def of(cls, codes: Ints, labels: Ints, people: Ints) -> _Classes:
        """By class and atom of each record and lump, (n,), and how many people it is."""
        names, code = np.unique(codes, return_inverse=True)
        pairs, which = np.unique(np.column_stack([code, labels]), axis=0, return_inverse=True)
        of_pairs = np.bincount(which.reshape(-1), people).astype(np.float64)
        records = np.bincount(code, people, len(names)).astype(np.int64)
        return cls(names.astype(np.int64), records, pairs[:, 0], pairs[:, 1], of_pairs)

    def greatest(self, of_atoms: Floats) -> Floats:
        """(c,) the greatest number of an atom, (p,), in each class."""
        found = np.full(len(self.label), -np.inf)
        np.maximum.at(found, self.code, of_atoms[self.atom])
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
        mixed = np.zeros((len(self.label), rows.shape[1]))
        np.add.at(mixed, self.code, self.weights[:, None] * rows[self.atom])
        mixed /= self.records[:, None]
        area = areas_of_rows(mixed, domain)
        at = None if epsilon is None else entropies_of_rows(mixed, domain, float(epsilon))
        return {
            "label": self.label,
            "records": self.records,
            "initial_entropy": entropies_of_rows(mixed, domain, 0.0),
            "entropy_at_epsilon": at,
            "area": area,
            "risk": against(area, -self.greatest(-base), domain),
            "worst_risk": self.greatest(risk),
            "estimated": self.greatest(doubtful.astype(np.float64)) > 0,
        }
