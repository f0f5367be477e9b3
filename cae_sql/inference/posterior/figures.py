"""How much answers have told about each record beyond what they say of everybody, under `exact`.

Risk = 1 − A / A_baseline. A is the area of what `exact` makes of all answers; A_baseline that of what it
makes of what they say of the whole table alone (`about_everybody`). The average of a whole table is known
of everybody and counts against nobody; with it known, the uniform distribution is nobody's belief any more.

0: nothing learned beyond the baseline; 1: the value is known. Reported as it comes out: answers that make a
record look more uncertain than the baseline give a risk below 0. Where the baseline leaves nothing open the
risk is 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cae_sql.domain import Domain
from cae_sql.errors import InvalidInput
from cae_sql.inference.posterior.areas import NOTHING, areas_of_rows, entropies_of_rows
from cae_sql.inference.posterior.baseline import about_everybody
from cae_sql.inference.posterior.marginals import Marginals, marginals
from cae_sql.inference.posterior.weights import Floats, Ints
from cae_sql.inference.system import AnsweredSystem
from cae_sql.measure.distribution import is_number
from cae_sql.risk import TOLERANCE, Epsilon


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
    """1 − A / A_baseline of that average."""
    worst_risk: Floats
    """The greatest risk of a single record of the class, taken by itself."""
    estimated: NDArray[np.bool_]
    """Whether a record of the class has a distribution that cannot be relied upon."""


@dataclass(frozen=True, eq=False)
class ModelRisks(ClassFigures):
    """Under `exact`; what is estimated comes from random tables."""

    baseline_area: float
    """A_baseline, of every record alike."""


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
    base = float(areas_of_rows(baseline.probabilities[:1], domain)[0])
    names, code = np.unique(codes, return_inverse=True)
    mixed, records = _mixed(found, code, len(names), system.people)
    area = areas_of_rows(mixed, domain)
    single = risks(areas_of_rows(found.probabilities, domain), base, domain)[found.labels]
    worst = np.full(len(names), -np.inf)
    np.maximum.at(worst, code, single)
    guessed = np.zeros(len(names), dtype=np.bool_)
    np.logical_or.at(guessed, code, found.estimated[found.labels])
    at_epsilon = None if epsilon is None else entropies_of_rows(mixed, domain, float(epsilon))
    return ModelRisks(
        label=names.astype(np.int64),
        records=records,
        initial_entropy=entropies_of_rows(mixed, domain, 0.0),
        entropy_at_epsilon=at_epsilon,
        area=area,
        risk=risks(area, base, domain),
        worst_risk=worst,
        estimated=guessed,
        baseline_area=base,
    )


def _mixed(found: Marginals, code: Ints, count: int, people: Ints) -> tuple[Floats, Ints]:
    """The average over each class, and how many records it has."""
    pairs, which = np.unique(np.column_stack([code, found.labels]), axis=0, return_inverse=True)
    weights = np.bincount(which.reshape(-1), people)
    mixed = np.zeros((count, found.probabilities.shape[1]))
    np.add.at(mixed, pairs[:, 0], weights[:, None] * found.probabilities[pairs[:, 1]])
    records = np.bincount(code, people, count).astype(np.int64)
    return mixed / records[:, None], records


def risks(area: Floats, base: float, domain: Domain) -> Floats:
    """1 − A / A_baseline, of whatever shape; 1 where the baseline leaves nothing open."""
    if base <= NOTHING * domain.area:
        return np.ones_like(area)
    risk = 1.0 - area / base
    found: Floats = np.where(np.abs(risk) <= TOLERANCE, 0.0, risk)
    return found
