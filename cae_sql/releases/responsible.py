"""Responsible releases: how much one record moves the parameters that data are drawn from (paper 002).

A release is responsible if somebody who sees data drawn from what a table's parameters are, and data drawn
from what they are without one of its records, cannot tell that there were two tables. So every record is left
out in turn, and the largest difference counts. Means and covariances without one record are rank-one updates
of those with it; nothing is fitted again.

- `mean_risk` (ComputeRisk1): one attribute, normal synthetic data, at a confidence level.
- `parameter_risk` (ComputeRisk2): a parameter vector P, here mean and covariance:
  100 · max over x of ‖P − P_{−x}‖ / ‖P‖, in per cent.
- `histogram_risk`: draws from the multinomial distribution that a histogram gives.

A risk of these is no probability, and not on the scale of CAE: a hundred per cent is not disclosure.

Source: S. Rajasekaran, O. Harel, M. Zuba, G. Matthews, R. Aseltine, "Responsible data releases" (paper 002),
Sections 3 and 4. What is printed unclearly is said where it is built.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from cae_sql.errors import InvalidInput
from cae_sql.measure.distribution import is_number

Floats = NDArray[np.float64]

LARGEST = 1e60
"""Of a value: fourth powers are summed up."""
MOST = 10**12
"""Of counts and of records: products of two of them are 64-bit numbers."""
LEAST_CONFIDENCE = 1 - 1 / math.sqrt(2 * math.pi)
"""Below it the bound that A is taken from has no solution."""


@dataclass(frozen=True)
class MeanRisk:
    """What leaving out a record does to the mean of one attribute."""

    risk: float
    """Definition 3: (1 − P) · σ_p/A · exp(A |µ′ − µ| / σ_p²), the greatest over the records. A bound to first
    order; it can exceed 1."""
    probability: float
    """What Definition 3 bounds: that the sample mean without the record falls beyond µ + A, but not beyond
    µ′ + A, by the normal distribution itself."""
    record: int
    """The record that it comes from."""


@dataclass(frozen=True, eq=False)
class HistogramRisk:
    """Of each block of a histogram, (k,): what leaving out one of its members does."""

    risk: Floats
    """Section 3.5: the Chernoff bound exp(−((1 + ε₁)(i − 1)/i − 1)² m i / 3n); 1 for blocks of one member,
    0 for empty ones."""
    probability: Floats
    """What it bounds: that a block is drawn more often than it plausibly would be without the member."""

    @property
    def worst(self) -> float:
        """The greatest risk of a block."""
        return float(self.risk.max())


def mean_risk(values: ArrayLike, confidence: float, draws: int) -> MeanRisk:
    """ComputeRisk1: the risk of releasing normal synthetic data of one attribute.

    µ is the mean of the values and σ² = s² (1/N + 2/n) the variance that the mean of a synthetic table of n
    records is taken to have (T_M of Section 3.3: between tables s² (1/N + 1/n), within them s²/n, in
    expectation). σ_p² pools both variances; the paper prints it without the square, and uses σ_p as a
    deviation. A = σ_p √(2 ln(1 / (√(2π)(1 − P)))).

    Args:
        values: (N,) the attribute, N >= 3.
        confidence: P, between 0.602 and 1.
        draws: n, records of a synthetic table.

    Raises:
        InvalidInput: values that cannot be used, all equal, or a confidence or number out of range.
    """
    x = table(values, 1)[:, 0]
    if not (is_number(confidence) and LEAST_CONFIDENCE < confidence < 1):
        raise InvalidInput(
            f"confidence must lie between {LEAST_CONFIDENCE:.3f} and 1, not {confidence!r}: below, the bound "
            "of paper 002 says nothing"
        )
    checked_count(draws, "draws", 1)
    n = len(x)
    off = x - x.mean()
    scatter = float(off @ off)
    without = scatter - n / (n - 1) * off**2  # rank-one: the scatter without each record
    spread = scatter / (n - 1) * (1 / n + 2 / draws)
    others = np.maximum(without, 0.0) / (n - 2) * (1 / (n - 1) + 2 / draws)
    pooled = np.sqrt((spread + others) / 2)  # both tables are of one size
    if not pooled.all():
        raise InvalidInput("values must differ from each other, even without any one of them")
    moved = np.abs(off) / (n - 1)
    reach = pooled * math.sqrt(-2 * math.log(math.sqrt(2 * math.pi) * (1 - confidence)))
    exponent = reach * moved / pooled**2
    record = int(exponent.argmax())
    with np.errstate(over="ignore"):
        risk = (1 - confidence) * pooled[record] / reach[record] * np.exp(exponent[record])
    ends = np.array([reach[record] - moved[record], reach[record]]) / pooled[record]
    below, above = stats.norm.sf(ends)
    return MeanRisk(float(risk), float(below - above), record)


def parameter_risk(data: ArrayLike) -> float:
    """ComputeRisk2 with mean and covariance as parameters: 100 · max ‖P − P_{−x}‖ / ‖P‖, in per cent.

    Args:
        data: (N, m) records by attributes, N >= 3, or (N,) of one attribute.

    Raises:
        InvalidInput: as `parameter_risks`.
    """
    return float(parameter_risks(data).max())


def parameter_risks(data: ArrayLike) -> Floats:
    """By record, 100 · ‖P − P_{−x}‖ / ‖P‖; P has m means and m × m covariances (divisor N − 1).

    With d = x − mean, leaving x out moves the mean by d/(N − 1) and the covariance C by
    C/(N − 2) − N/((N − 1)(N − 2)) d dᵀ, whose norm needs dᵀd and dᵀC d alone: O(N m²) for all records.

    Args:
        data: (N, m) records by attributes, N >= 3, or (N,) of one attribute.

    Returns:
        (N,) per cent.

    Raises:
        InvalidInput: fewer than three records, what is not a finite number, parameters that are all 0.
    """
    x = table(data)
    n = len(x)
    mean = x.mean(axis=0)
    off = x - mean
    covariance = off.T @ off / (n - 1)
    norm = math.sqrt(float(mean @ mean) + float((covariance**2).sum()))
    if norm == 0:
        raise InvalidInput("all values are 0: the parameters are, too, and nothing can be relative to them")
    squares = (off**2).sum(axis=1)
    along = ((off @ covariance) * off).sum(axis=1)
    outer = n / ((n - 1) * (n - 2))
    moved = (
        squares / (n - 1) ** 2
        + float((covariance**2).sum()) / (n - 2) ** 2
        - 2 * outer / (n - 2) * along
        + (outer * squares) ** 2
    )
    risks: Floats = 100 * np.sqrt(np.maximum(moved, 0.0)) / norm
    return risks


def histogram_risk(counts: ArrayLike, draws: int, confidence: float, bias: int = 0) -> HistogramRisk:
    """The risk of releasing draws from the multinomial distribution of a histogram (Section 3.5).

    Of a block with i of n members; with ε₁ = √(3 ln(1/(1 − P)) / (m (i − 1)/n)) it is plausible without one
    of them that the block is drawn up to (1 + ε₁) m (i − 1)/n times. For large i the bound comes to
    (1 − P)^((i − 1)/i); the paper prints the exponent upside down.

    Args:
        counts: (k,) members of each block, whole numbers >= 0.
        draws: m, how many are drawn.
        confidence: P, between 0 and 1.
        bias: Added to every block before anything is drawn (Observation 3.1), a whole number >= 0.

    Raises:
        InvalidInput: anything else.
    """
    members = _members(counts)
    if not (is_number(confidence) and 0 < confidence < 1):
        raise InvalidInput(f"confidence must lie between 0 and 1, not {confidence!r}")
    m = checked_count(draws, "draws", 1)
    members = members + checked_count(bias, "bias", 0)
    n = int(members.sum())
    if n < 2:
        raise InvalidInput(f"a histogram needs at least two members, not {n}")
    i = np.maximum(members, 2).astype(np.float64)  # smaller blocks are set apart below
    above = np.sqrt(3 * math.log(1 / (1 - confidence)) / (m * (i - 1) / n))
    plausible = (1 + above) * m * (i - 1) / n
    beyond = np.maximum((1 + above) * (i - 1) / i - 1, 0.0)
    # in this form Chernoff's bound holds up to deviations of the mean itself
    bound = np.exp(-(np.minimum(beyond, 1.0) ** 2) * m * i / (3 * n))
    chance = stats.binom.sf(np.ceil(plausible) - 1, m, np.minimum(i / n, 1.0))
    # without its only member a block cannot be drawn at all: once is proof
    alone = -math.expm1(m * math.log1p(-1 / n))
    risk = np.where(members >= 2, bound, np.where(members == 1, 1.0, 0.0))
    return HistogramRisk(risk, np.where(members >= 2, chance, np.where(members == 1, alone, 0.0)))


def table(data: ArrayLike, attributes: int | None = None) -> Floats:
    """Records by attributes, checked.

    Raises:
        InvalidInput: not numbers, not finite or beyond `LARGEST`, of another shape, fewer than three records.
    """
    try:
        x = np.asarray(data, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput("data must be numbers: records by attributes, all of one length") from error
    if x.ndim == 1:
        x = x[:, None]
    if x.ndim != 2 or (attributes is not None and x.shape[1] != attributes):
        wanted = "one attribute" if attributes == 1 else "a table of records by attributes"
        raise InvalidInput(f"data must be {wanted}, but have the shape {np.shape(data)}")
    if x.shape[0] < 3 or not x.shape[1]:
        raise InvalidInput(f"at least three records of an attribute are needed, not {x.shape[0]}")
    bad = np.argwhere(~np.isfinite(x))
    if len(bad):
        row, column = bad[0].tolist()
        raise InvalidInput(
            f"record {row}, attribute {column} is {x[row, column]}; it must be finite: fill or drop what is "
            "missing",
            row,
        )
    if np.abs(x).max() > LARGEST:
        raise InvalidInput(f"a value beyond ±{LARGEST:g} has no covariance in floats; take larger units")
    return x


def checked_count(number: object, name: str, least: int) -> int:
    """A whole number of at least so much.

    Raises:
        InvalidInput: anything else.
    """
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < least:
        raise InvalidInput(f"{name} must be a whole number of at least {least}, not {number!r}")
    if number > MOST:
        raise InvalidInput(f"{name} must be at most {MOST:,}, not {number}")
    return int(number)


def _members(counts: ArrayLike) -> NDArray[np.int64]:
    try:
        given = np.asarray(counts)
    except ValueError as error:
        raise InvalidInput("counts must be a list of whole numbers, one for each block") from error
    if given.ndim != 1 or not given.size or given.dtype.kind not in "iu":
        raise InvalidInput("counts must be a list of whole numbers, one for each block")
    wrong = np.flatnonzero(given < 0)
    if len(wrong):
        raise InvalidInput(f"counts[{wrong[0]}] is negative: {given[wrong[0]]}", int(wrong[0]))
    total = sum(given.tolist())  # in whole numbers of any size
    if total > MOST:
        raise InvalidInput(f"counts add up to {total:,}; at most {MOST:,} members are counted")
    return given.astype(np.int64)
