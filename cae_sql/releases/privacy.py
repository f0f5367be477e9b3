"""Privacy loss: how many bits of a record's entropy the release of sums and means takes away (paper 003).

    privacy loss = max over records of H(X_i) − H'(X_i)

H' is the entropy of a record when the tables that disagree with the release are discarded and all others are
as likely as before. Records are independent, each distributed over the same values. Of one sum over all of
them every record loses the same: log2 k − H(p'), where p'(v) is proportional to the number of ways in which
the other records make up what v leaves of the sum. Nothing is enumerated: see `cae_sql.inference.posterior`.

Where the values lie on a common step, a Fourier transform counts the ways; 10,000 records of 25 values take
milliseconds. Else counts of few values, or sums of few records, are gone through. What no way can do is an
error that says what would do.

Source: V. Chirayath, L. Longpré, V. Kreinovich, "Measuring privacy loss in statistical databases" (paper
003), Section 3. Its example of three salaries is printed as 1.439 bits; the seven tables give 1.557.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike
from scipy import fft

from cae_sql.domain import Number, exact
from cae_sql.errors import InconsistentAnswers, InvalidInput, OutOfTime
from cae_sql.inference.facts.atoms import Atoms
from cae_sql.inference.facts.members import members_of
from cae_sql.inference.facts.query import SNAP, Query
from cae_sql.inference.facts.rank import coefficients_of
from cae_sql.inference.posterior.counting import LONGEST, counted, given_sum, transform_length
from cae_sql.inference.posterior.weights import Floats, Weighted
from cae_sql.measure.distribution import Distribution, distribution
from cae_sql.releases.arguments import checked_sequence, shown
from cae_sql.releases.irregular import (
    MOST_CASES,
    MOST_PAIRS,
    by_counts,
    by_halves,
    cases_by_counts,
    pairs_by_halves,
)

LARGEST_SUM = 2**62
"""In steps: sums are 64-bit numbers."""
_UNLIKELY = 0.1
"""Sums whose probability rounding may have changed by more than this part of it are left out of averages."""


@dataclass(frozen=True, eq=False)
class Records:
    """Records that are alike and independent before anything is released, on a common step."""

    candidate: Distribution
    """Of each record."""
    least: Fraction
    """The least value, in units of the column."""
    size: int
    """How many records."""

    @classmethod
    def of(cls, values: ArrayLike, size: int, probabilities: ArrayLike | None = None) -> Records:
        """Checked.

        Raises:
            InvalidInput: values or weights that cannot be used (`.position` where one is at fault), a size
                that is not a whole number of at least 1, sums beyond 64 bits.
        """
        candidate = distribution(values, probabilities)
        count = checked_size(size)
        if candidate.spread * count >= LARGEST_SUM:
            raise InvalidInput(
                f"values of {candidate.spread:,} steps over {count:,} records make sums beyond 64 bits; "
                "round the values to a coarser step"
            )
        x = np.asarray(values)
        possible = x if probabilities is None else x[np.asarray(probabilities, dtype=np.float64) > 0]
        return cls(candidate, exact(possible.min()), count)

    @property
    def entropy(self) -> float:
        """H(X_i) before the release, bits."""
        return bits(self.candidate.probabilities)

    @property
    def weighted(self) -> Weighted:
        """The values of one, in steps from the least, with their probabilities."""
        return Weighted(self.candidate.positions.astype(np.int64), self.candidate.probabilities)

    def steps(self, total: Number) -> int:
        """A sum in steps, from the least possible one.

        Raises:
            InconsistentAnswers: no table can have it.
        """
        value = (exact(total, "total") - self.size * self.least) / self.candidate.unit
        near = round(value)
        if abs(value - near) > SNAP or not 0 <= near <= self.size * self.candidate.spread:
            raise InconsistentAnswers(f"no {self.size} of these values have the sum {total}")
        return near


def privacy_loss(
    values: ArrayLike, size: int, total: Number, probabilities: ArrayLike | None = None
) -> float:
    """Bits that every record loses when the sum over all of them is released (paper 003, Definition 2).

    Args:
        values: (k,) what a record's value can be, in any order; equal ones are merged.
        size: Number of records.
        total: The released sum. Of a mean m: `privacy_loss_of_mean`.
        probabilities: (k,) weights of the values; None: equally likely. With weights the loss of a release
            that makes a record look *more* uncertain is negative.

    Returns:
        H(X_i) − H'(X_i). Right to about 10⁻¹² bits for thousands of records; never off by more than 10⁻⁶.

    Raises:
        InvalidInput: values, weights or a size that cannot be used; values on no common step that is coarse
            enough for so many records.
        InconsistentAnswers: no table has this sum.
    """
    records = Records.of(values, size, probabilities)
    return _loss(records, _given(records, records.steps(total)), probabilities is None)


def privacy_loss_of_mean(
    values: ArrayLike, size: int, mean: Number, probabilities: ArrayLike | None = None
) -> float:
    """As `privacy_loss`, of a released mean; a rounded quotient is taken for the nearest possible one."""
    records = Records.of(values, size, probabilities)
    steps = (exact(mean, "mean") - records.least) * records.size / records.candidate.unit
    allowed = max(SNAP, records.size * Fraction(1, 10**12) * (1 + abs(exact(mean)) / records.candidate.unit))
    if abs(steps - round(steps)) > allowed:
        raise InconsistentAnswers(f"no {records.size} of these values have the mean {mean}")
    total = records.size * records.least + round(steps) * records.candidate.unit
    return _loss(records, _given(records, records.steps(total)), probabilities is None)


def record_given_sum(
    values: ArrayLike, size: int, total: Number, probabilities: ArrayLike | None = None
) -> tuple[Floats, Floats]:
    """What any one record's value is likely to be, given the sum over all: the marginal of `exact`.

    Returns:
        values (k,) ascending, distinct, and their probabilities (k,), some of which may be 0.

    Raises:
        InvalidInput: as `privacy_loss`.
        InconsistentAnswers: as `privacy_loss`.
    """
    records = Records.of(values, size, probabilities)
    p = _given(records, records.steps(total))
    unit, positions = records.candidate.unit, records.candidate.positions.tolist()
    return np.array([float(records.least + unit * x) for x in positions]), p


def expected_privacy_loss(values: ArrayLike, size: int, probabilities: ArrayLike | None = None) -> float:
    """Bits that the release of the sum takes away on average over the tables there may be.

    It is the mutual information of a record and the sum, Σ_s P(s) Σ_v p'(v|s) log2(p'(v|s) / p(v)).

    Source: paper 003, Theorem 2, of values 0 and 1 (its printed sum has a sign slip).

    Raises:
        InvalidInput: as `privacy_loss`.
    """
    records = Records.of(values, size, probabilities)
    if records.size == 1:
        return records.entropy
    p, positions = records.candidate.probabilities, records.candidate.positions
    others, everybody = _distributions(records)
    loss = 0.0
    for x, chance in zip(positions.tolist(), p.tolist(), strict=True):
        ratio = others.at(everybody.positions - x) / everybody.weights
        loss += chance * float(everybody.weights @ _excess(ratio))
    return max(loss, 0.0) / math.log(2)


def privacy_losses(
    values: ArrayLike,
    size: int,
    releases: Sequence[tuple[ArrayLike, Number]],
    probabilities: ArrayLike | None = None,
) -> Floats:
    """Bits that each record loses when several sums are released, each over some of the records.

    The privacy loss of paper 003 is the greatest of them. Sums of disjoint, nested or differenced sets fall
    apart into single ones; sums that overlap otherwise are counted as long as there are few states.

    Args:
        values: (k,) what a record's value can be.
        size: Number of records, 0 … size − 1.
        releases: Of each sum its members (record numbers, or a mask of all records) and its value.
        probabilities: (k,) weights of the values; None: equally likely.

    Returns:
        (size,)

    Raises:
        InvalidInput: as `privacy_loss`; members that cannot be used.
        InconsistentAnswers: no table has these sums.
        OutOfTime: the sums overlap too much to be counted exactly.
    """
    records = Records.of(values, size, probabilities)
    unit, atoms, sums = records.candidate.unit, Atoms(records.size), []
    for place, each in enumerate(checked_sequence(releases, "releases")):
        if not isinstance(each, Sequence) or isinstance(each, str | bytes) or len(each) != 2:
            raise InvalidInput(f"a release must be a pair of members and their sum, not {shown(each)}", place)
        members, total = each
        of, _ = members_of(members, records.size)
        part = Records(records.candidate, records.least, len(of))
        sums.append(Query(kind="sum", members=of).answered(part.steps(total)))
        atoms.refine(sums[-1])
    right = np.array([int(answer.value) for answer in sums], dtype=np.int64)
    found = counted([records.weighted] * atoms.count, atoms.sizes, coefficients_of(atoms, sums), right)
    if not found.probabilities:
        raise InconsistentAnswers(f"no {size} of these values have these sums (in steps of {float(unit):g})")
    losses = [_loss(records, p, probabilities is None) for p in found.probabilities]
    return np.array(losses)[atoms.labels]


def bits(probabilities: Floats) -> float:
    """Shannon entropy."""
    p = probabilities[probabilities > 0]
    return max(float(-(p @ np.log2(p))), 0.0)


def checked_size(size: object) -> int:
    """A number of records.

    Raises:
        InvalidInput: not a whole number of at least 1.
    """
    if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 1:
        raise InvalidInput(f"size must be a whole number of at least 1, not {size!r}")
    return int(size)


def _loss(records: Records, p: Floats, uniform: bool) -> float:
    """By relative entropy where the values were equally likely: small losses keep their digits."""
    before = records.candidate.probabilities
    if uniform and np.allclose(before, before[0], rtol=1e-12):
        return max(float(_excess(p / before) @ before), 0.0) / math.log(2)
    return records.entropy - bits(p)


def _excess(ratio: Floats) -> Floats:
    """r log r − r + 1, >= 0: its mean is the relative entropy of distributions whose quotient is r."""
    off = ratio - 1.0
    logs = np.log1p(np.where(np.abs(off) < 0.5, off, 0.0))  # near 1 the digits are in the difference
    far = (np.abs(off) >= 0.5) & (ratio > 0)
    logs[far] = np.log(ratio[far])
    return np.maximum(ratio * logs - off, 0.0)


def _given(records: Records, total: int) -> Floats:
    """The marginal of a record, given the sum in steps.

    Raises:
        InvalidInput: no way is quick enough.
        InconsistentAnswers: no table has the sum.
    """
    x, p = records.candidate.positions, records.candidate.probabilities
    if len(x) == 1:
        return np.ones(1)
    counts, halves = cases_by_counts(len(x), records.size), pairs_by_halves(len(x), records.size)
    if min(counts, halves) > 10_000:
        by_transform = given_sum([records.weighted], np.array([records.size]), total)
        if by_transform is not None:
            return by_transform.probabilities[0]
    found: Floats | None = None
    if counts <= MOST_CASES and (counts <= halves or halves > MOST_PAIRS):
        found = by_counts(x.astype(np.int64), p, records.size, total)
    elif halves <= MOST_PAIRS:
        try:
            found = by_halves(x.astype(np.int64), p, records.size, total)
        except OutOfTime as error:
            raise InvalidInput(_too_fine(records)) from error
    elif records.size * records.candidate.spread < LONGEST and not _possible(records, total):
        found = None
    else:
        raise InvalidInput(_too_fine(records))
    if found is None:
        raise InconsistentAnswers(f"no {records.size} of these values have that sum")
    return found


def _too_fine(records: Records) -> str:
    return (
        f"{len(records.candidate.positions):,} values on a common step of {float(records.candidate.unit):g} "
        f"are too fine for the sum of {records.size:,} records, or that sum is all but impossible; "
        "round the values to a coarser step"
    )


def _possible(records: Records, total: int) -> bool:
    """Whether so many positions can have the sum: repeated doubling of what sums there are."""
    size = int(fft.next_fast_len(records.size * records.candidate.spread + 1, real=True))
    one = np.zeros(size)
    one[records.candidate.positions] = 1.0
    there, power, count = np.zeros(size), one, records.size
    there[0] = 1.0
    while count:
        if count & 1:
            there = _sums_of(there, power, size)
        count >>= 1
        if count:
            power = _sums_of(power, power, size)
    return bool(there[total])


def _sums_of(one: Floats, other: Floats, size: int) -> Floats:
    ways = fft.irfft(fft.rfft(one) * fft.rfft(other), size)
    found: Floats = (ways > 0.5).astype(np.float64)
    return found


def _distributions(records: Records) -> tuple[Weighted, Weighted]:
    """Of the sum of all records but one, and of all; sums that are all but impossible left out of the latter.

    Raises:
        InvalidInput: neither a transform nor sparse convolution is quick enough.
    """
    each = records.weighted
    x, p = each.positions, each.weights
    variance, size = p @ (x - p @ x) ** 2, np.array([records.size])
    points = transform_length(np.array([each.span]), size, np.array([variance]))
    if points > LONGEST or records.size * len(x) < 64:
        try:
            others = each.power(records.size - 1)
            return _normed(others), _normed(others.times(each))
        except OutOfTime as error:
            raise InvalidInput(_too_fine(records)) from error
    dense = np.zeros(points)
    dense[x] = p
    factor = fft.rfft(dense)
    start = max(int(records.size * (p @ x)) - points // 2, 0)
    found = []
    for count in (records.size - 1, records.size):
        power = factor**count
        noise = 4 * 2.0**-53 * (records.size + math.log2(points)) * float(np.abs(power).mean())
        sums = np.roll(fft.irfft(power, points), -(start % points))
        likely = np.flatnonzero(sums > noise / _UNLIKELY)
        found.append(Weighted(likely + start, sums[likely]))
    # a sum of the others may be left out, and be wanted for one of all that is kept: both ends lose little
    return found[0], found[1]


def _normed(found: Weighted) -> Weighted:
    return Weighted(found.positions, found.weights / found.weights.sum())
