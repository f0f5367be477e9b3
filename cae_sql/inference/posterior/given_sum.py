"""What each record's value is likely to be, given one sum over many: convolution by Fourier transform.

Records are independent before the sum is known; records of one class have the same weighted values. Then

    P(value of a record of class c = v | sum = s)  ∝  w_c(v) · P(sum of the others = s − v).

All weights are tilted by exp(θ v), with θ such that s is the expected sum: that changes nothing in what is
asked, and puts s where sums are likely, so that a Fourier transform's rounding (relative to what is most
likely) is small beside what is wanted. Only sums near s are kept apart; what lies further away has, by
Bernstein's inequality, a probability below `NEGLIGIBLE`.

Promise: rounding moves a probability by at most about `TRUSTED`; where it might move it by more, or the
transform would be too long, there is none (`None`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from cae_sql.inference.posterior.weights import Floats, Ints

NEGLIGIBLE = 46.0
"""−log of the probability, about 10⁻²⁰, of sums that may be taken for others."""
TRUSTED = 1e-8
"""Greatest error of a probability that is passed on."""
LONGEST = 1 << 24
"""Points of a transform: half a gigabyte."""
_EPSILON = 2.0**-53


@dataclass(frozen=True, eq=False)
class Group:
    """Records that are alike: in the sum, each has one of these positions."""

    positions: Ints
    """(k,) whole numbers, ascending, distinct."""
    logs: Floats
    """(k,) logarithms of weights."""
    count: int
    """How many records, >= 1."""


@dataclass(frozen=True, eq=False)
class GivenSum:
    """Probabilities of a record's positions, by group."""

    probabilities: tuple[Floats, ...]
    """Of each group, (k,), sum 1; none where the sum is impossible."""
    log_weight: float
    """log of the weight of all ways to have the sum; −∞ beyond the least and the greatest sum."""


def given_sum(groups: Sequence[Group], total: int) -> GivenSum | None:
    """The marginals of all records given their sum.

    Args:
        groups: At least one.
        total: The sum of all records' positions.

    Returns:
        None where the transform would be too long, or the sum, even tilted, is so unlikely that rounding
        would decide: between the least and the greatest sum some may be impossible.
    """
    least = sum(int(group.positions[0]) * group.count for group in groups)
    most = sum(int(group.positions[-1]) * group.count for group in groups)
    if not least <= total <= most:
        return GivenSum((), -math.inf)
    if total in (least, most):  # everybody has the least, or the greatest, position
        ends = [0 if total == least else len(group.positions) - 1 for group in groups]
        logs = sum(float(group.logs[end]) * group.count for group, end in zip(groups, ends, strict=True))
        rows = (np.arange(len(each.positions)) == end for each, end in zip(groups, ends, strict=True))
        return GivenSum(tuple(row.astype(np.float64) for row in rows), logs)
    theta, scale = _tilt(groups, total)
    tilted = [_tilted(group, theta) for group in groups]
    size = length(groups, tilted)
    if size > LONGEST:
        return None
    return _by_transform(groups, tilted, total, least, size, scale - theta * total)


def length(groups: Sequence[Group], tilted: Sequence[Floats]) -> int:
    """Points that a transform needs to keep sums near the expected one apart from all likely ones."""
    widest = max(int(group.positions[-1] - group.positions[0]) for group in groups)
    whole = sum(int(group.positions[-1] - group.positions[0]) * group.count for group in groups) + 1
    variance = 0.0
    for group, p in zip(groups, tilted, strict=True):
        x = group.positions - group.positions[0]
        variance += group.count * float(p @ (x - p @ x) ** 2)
    third = NEGLIGIBLE * widest / 3
    reach = math.ceil(third + math.sqrt(third**2 + 2 * NEGLIGIBLE * variance))
    return int(scipy.fft.next_fast_len(min(whole, 2 * widest + 2 * reach + 2), real=True))


def _tilt(groups: Sequence[Group], total: int) -> tuple[float, float]:
    """θ at which the expected sum is the total, and the log of all tilted weights together."""
    width = max(int(group.positions[-1] - group.positions[0]) for group in groups)

    def off(theta: float) -> float:
        means = (group.count * float(_tilted(group, theta) @ group.positions) for group in groups)
        return math.fsum(means) - total

    reach = 1.0 / width
    while off(-reach) > 0 or off(reach) < 0:
        reach *= 2
    theta = float(scipy.optimize.brentq(off, -reach, reach, xtol=1e-300, rtol=1e-13))
    logs = (
        group.count * float(scipy.special.logsumexp(group.logs + theta * group.positions)) for group in groups
    )
    return theta, math.fsum(logs)


def _tilted(group: Group, theta: float) -> Floats:
    logs = group.logs + theta * group.positions
    p = np.exp(logs - logs.max())
    found: Floats = p / p.sum()
    return found


def _by_transform(
    groups: Sequence[Group], tilted: Sequence[Floats], total: int, least: int, size: int, scale: float
) -> GivenSum | None:
    """Positions count from each group's least one, and sums from the sum of those."""
    starts = [int(group.positions[0]) for group in groups]
    factors = []
    for group, p, start in zip(groups, tilted, starts, strict=True):
        dense = np.zeros(size)
        dense[group.positions - start] = p
        factors.append(scipy.fft.rfft(dense))
    records = sum(group.count for group in groups)
    found, chance = [], 0.0
    for place, (group, p, start) in enumerate(zip(groups, tilted, starts, strict=True)):
        # all factors but one record's: a quotient would divide by what rounding left of zeros
        rest = factors[place] ** (group.count - 1)
        for other, factor in enumerate(factors):
            if other != place:
                rest = rest * factor ** groups[other].count
        sums = scipy.fft.irfft(rest, size)
        noise = 4 * _EPSILON * (records + math.log2(size)) * float(np.abs(rest).mean())
        ways = sums[(total - least - (group.positions - start)) % size]
        ways = p * np.where(ways > noise, ways, 0.0)
        chance = math.fsum(ways)
        if chance * TRUSTED <= noise:
            return None
        found.append(ways / chance)
    return GivenSum(tuple(found), math.log(chance) + scale)
