"""Candidate distributions of classes of records, and their measure, all at once.

Promise: each row of `probabilities` sums to 1; the figures are those of `cae_sql.risk.risk_of`, row by row.
Where the distributions come from is the business of the techniques.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cae_sql.domain import Domain, exact
from cae_sql.errors import InvalidInput
from cae_sql.measure.distribution import non_negative
from cae_sql.risk import TOLERANCE

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FIGURES = ("matches", "initial_entropy", "entropy_at_epsilon", "area", "risk")
"""Columns beside those of the supplementary knowledge, which so cannot have these names."""
LARGEST = 50_000_000
"""Probabilities of all classes together that are held at once: 400 MB."""


MOST_WORK = 1e9
"""What the areas of all classes together may take: some five minutes of one core. One area takes about the
number of possible values to the power `_POWER`: 0.06 s of 1,000, 3 s of 10,000; even ones take nothing."""
_POWER = 1.75
_QUICK = 128


@dataclass(frozen=True, eq=False)
class Beliefs:
    """What an intruder believes about a target of each class."""

    known: pd.DataFrame
    """(k, known columns) the values that the members of each class share; row labels 0 … k − 1."""
    matches: Ints
    """(k,) |M_o|, records of the original that have these values."""
    probabilities: Floats
    """(k, |D|) probability of each value of the domain, rows of sum 1."""
    domain: Domain

    def frame(self, epsilon: float | Fraction | None = None) -> pd.DataFrame:
        """The figures of every class.

        Args:
            epsilon: Approximate compromise range at which H is wanted too, in units of the column.

        Returns:
            The known columns, then matches, initial_entropy (bits), with an ε entropy_at_epsilon (bits),
            area (bits × units) and risk (1 − A / A_prior); one row per class.

        Raises:
            InvalidInput: a bad ε.
        """
        found = measured(self.probabilities, self.domain, epsilon)
        frame = self.known.copy()
        frame["matches"] = self.matches
        frame["initial_entropy"] = found.initial_entropy
        if found.entropy_at_epsilon is not None:
            frame["entropy_at_epsilon"] = found.entropy_at_epsilon
        frame["area"] = found.area
        frame["risk"] = found.risk
        return frame


@dataclass(frozen=True, eq=False)
class Figures:
    """Figures of many distributions; all arrays (k,)."""

    initial_entropy: Floats
    """H0 in bits."""
    entropy_at_epsilon: Floats | None
    """H(ε) in bits; None where no ε was asked for."""
    area: Floats
    """In bits × units."""
    risk: Floats
    """1 − A / A_prior; 1 on a domain of a single value."""


def measured(probabilities: Floats, domain: Domain, epsilon: float | Fraction | None = None) -> Figures:
    """Measure distributions over the whole domain, one a row.

    Args:
        probabilities: (k, |D|) weights >= 0, of each value of the domain; a row's need not sum to 1.
        domain: Its values, ascending, are the columns.
        epsilon: Approximate compromise range, in units of the column.

    Raises:
        InvalidInput: a row that is no distribution, a bad ε, or more than `MOST_WORK`.
    """
    from cae_sql.measure.batch import areas, entropies
    from cae_sql.measure.rows import lists_of

    check_work(probabilities, domain)
    rows = len(probabilities)
    values, weights = lists_of(probabilities, domain.values)
    live = np.ones(rows, dtype=np.bool_)
    at_epsilon = None
    if epsilon is not None:
        width = float(non_negative(epsilon, "epsilon"))
        at_epsilon = entropies(values, weights, np.full(rows, width), live)
    area = areas(values, weights, live)
    return Figures(entropies(values, weights, np.zeros(rows), live), at_epsilon, area, risks(area, domain))


def entropies_at(values: Floats, weights: Floats, widths: Floats) -> Floats:
    """(w,) H(ε) in bits of one distribution at several widths, each in O(n log n).

    Args:
        values: (n,) ascending.
        weights: (n,) > 0.
        widths: (w,) of the approximate compromise range, in units of the column.
    """
    from cae_sql.measure.batch import entropies
    from cae_sql.measure.rows import Lists

    first, live = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.bool_)
    one, own = Lists(values, first, first + values.size), Lists(weights, first, first + values.size)
    return np.concatenate([entropies(one, own, width[None], live) for width in widths])


def check_work(probabilities: Floats, domain: Domain) -> None:
    """Refuse distributions over so many values that their areas would take very long.

    Raises:
        InvalidInput: says which step would do.
    """
    if domain.count <= _QUICK:
        return
    possible = np.count_nonzero(probabilities, axis=1)
    even = (probabilities == probabilities.max(axis=1, keepdims=True)).sum(axis=1) == possible
    work = float((np.where(even, 0, possible) ** _POWER).sum())
    if work <= MOST_WORK:
        return
    fewer = (MOST_WORK / 100 / work) ** (1 / _POWER)  # what takes seconds
    coarser = _round_up(1 / fewer) * exact(domain.step)
    left = int((exact(domain.maximum) - exact(domain.minimum)) / coarser) + 1
    raise InvalidInput(
        f"measuring {int((~even).sum()):,} distributions over a domain of {domain.count:,} values would take "
        f"too long; take a coarser step of the domain (with {float(coarser):,g} it has {left:,} values) and "
        "round the column to it, or fewer known columns"
    )


def _round_up(number: float) -> int:
    """To 1, 2 or 5 times a power of ten."""
    power = 10 ** math.floor(math.log10(number))
    return int(next(each * power for each in (1, 2, 5, 10) if each * power >= number))


def risks(area: Floats, domain: Domain) -> Floats:
    """1 − A / A_prior of each area; 1 on a domain of a single value."""
    if domain.area == 0:
        return np.ones_like(area)
    found: Floats = 1.0 - area / domain.area
    found[np.abs(found) <= TOLERANCE] = 0.0
    return found


def check_room(classes: int, domain: Domain) -> None:
    """Refuse what would not fit into memory.

    Raises:
        InvalidInput: more probabilities than are held at once.
    """
    if classes * domain.count > LARGEST:
        raise InvalidInput(
            f"{classes:,} classes over a domain of {domain.count:,} values are too much to hold; "
            "take a larger step of the domain, or fewer known columns"
        )
