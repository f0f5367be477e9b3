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
from cae_sql.inference.posterior.baselines import against, areas_of_rows, entropies_of_rows, posterior_risks
from cae_sql.inference.posterior.judging import LikelyKnowledge
from cae_sql.inference.posterior.marginals import about_everybody, marginals
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
    classes = _Classes(codes, found.labels, system.people)
    risk = against(areas_of_rows(found.probabilities, domain), base, domain)
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
    labels = likely.known.atoms.labels[: past.system.first_spare]
    classes = _Classes(codes, labels, past.system.people)
    figures = classes.figures(likely.rows, found.baseline, found.risk, ~likely.reliable, domain, epsilon)
    return LikelyRisks(**figures, leverage=classes.greatest(likely.leverage))


class _Classes:
    """Which atoms' records are in which class: c classes, m pairs of a class and an atom."""

    def __init__(self, codes: Ints, labels: Ints, people: Ints) -> None:
        """By class and atom of each record and lump, (n,), and how many people it is."""
        self.label, code = np.unique(codes, return_inverse=True)
        self.records = np.bincount(code, people, len(self.label)).astype(np.int64)
        pairs, which = np.unique(np.column_stack([code, labels]), axis=0, return_inverse=True)
        self._code, self._atom = pairs.T  # (m,)
        self._weights = np.bincount(which.reshape(-1), people)

    def greatest(self, of_atoms: Floats) -> Floats:
        """(c,) the greatest number of an atom, (p,), in each class."""
        found = np.full(len(self.label), -np.inf)
        np.maximum.at(found, self._code, of_atoms[self._atom])
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
        np.add.at(mixed, self._code, self._weights[:, None] * rows[self._atom])
        mixed /= self.records[:, None]
        area = areas_of_rows(mixed, domain)
        return {
            "label": self.label.astype(np.int64),
            "records": self.records,
            "initial_entropy": entropies_of_rows(mixed, domain, 0.0),
            "entropy_at_epsilon": None
            if epsilon is None
            else entropies_of_rows(mixed, domain, float(epsilon)),
            "area": area,
            "risk": against(area, -self.greatest(-base), domain),
            "worst_risk": self.greatest(risk),
            "estimated": self.greatest(doubtful.astype(np.float64)) > 0,
        }
