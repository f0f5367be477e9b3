"""What is expected of records once it is known that somebody has an answered extreme.

Boxes say that nobody is beyond a maximum. That somebody has it raises what is expected of everybody who can,
and with it of their sums: of twelve people with 26 values, one of whom has the greatest, the sum is expected
a third of its standard deviation higher than without. In one answer that is little; one person in twenty such
sums, each beside the maximum of the twelve others, would be believed twenty times as much too high. So the
moments of the tilted model are those of records of which, given the tilt, somebody attains each extreme:

    m_i = E(x_i | all extremes attained),   x_i as likely as p⁰ says, and independent before.

Of extremes that share nobody who can attain them that is exact for the tilted model. Of others each is taken
to be attained independently of the others, given the record's own value.

Sums vary less then than their members do: if one has the extreme, another need not. With p_i the probability
of having it, M that nobody does and d_i = p_i (extreme − μ_i) / (1 − p_i), the covariance of two people is

    −c d_i d_j,   c = M / (1 − M)²,

one such term for each extreme; those that share people are left out of it.

Source: `mathematics.md`, 7; exact convolutions (`tests/.../posterior/test_attaining.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.posterior.components import attained
from cae_sql.inference.posterior.observations import Observations
from cae_sql.inference.posterior.tilt import Moments
from cae_sql.inference.posterior.weights import Floats, Ints
from cae_sql.inference.posterior.windows import Tilt

CERTAIN = 1 - 1e-12
"""Probability of who attains an extreme for certain, so that what is left of 1 can be divided by."""
CRUMB = 1e-12
"""Weights below this are rounding: nothing is changed there."""


@dataclass(frozen=True, eq=False)
class Attaining:
    """Extremes that somebody must attain, beside a system's observations. Shapes: a columns of somebody."""

    extremes: list[tuple[bool, Ints]]
    """Whether it is a maximum, and the columns of those who can have it."""
    sizes: Ints
    """(a,) records of each column."""
    low: Ints
    """(a,) ends of the boxes."""
    high: Ints
    logs: tuple[Floats, Floats]
    """(a,) logarithm of the prior weight of the least, of the greatest unit."""

    @classmethod
    def of(cls, known: Knowledge, observed: Observations, tilt: Tilt) -> Attaining | None:
        """None where there are none."""
        extremes = attained(known) if known.extremes else []
        if not extremes:
            return None
        place, count = np.full(known.count, -1, dtype=np.int64), observed.people
        place[observed.atoms] = np.arange(count)
        low, high = observed.low[:count], observed.high[:count]
        found = [(each.top, place[known.able_atoms[each]]) for each in extremes]
        width = tilt.windows.width
        none = np.zeros(count)
        logs = (none, none) if tilt.logs is None else (tilt.logs[low // width], tilt.logs[high // width])
        return cls([(top, some) for top, some in found if len(some)], observed.sizes[:count], low, high, logs)

    def given(self, theta: Floats, plain: Moments) -> Moments:
        """Moments, (q,), given that all extremes are attained.

        Args:
            theta: (q,) tilts.
            plain: (q,) inside of the boxes, whoever attains what.

        Returns:
            Means and variances of one record of each column; logarithms so that log − θ m stays what it was.
        """
        count, (low, high) = len(self.low), (self.low, self.high)
        theta, means = theta[:count], plain.means[:count]
        second, chances = means**2 + plain.variances[:count], self._chances(theta, plain)
        inside, at_low, at_high = self._weights(*chances)
        below, above = (at_low - inside) * chances[0], (at_high - inside) * chances[1]
        total = inside + below + above
        said = (low < high) & (total > CRUMB)
        total = np.where(said, total, 1.0)
        mean = np.where(said, (inside * means + below * low + above * high) / total, means)
        square = (inside * second + below * low**2.0 + above * high**2.0) / total
        spread = np.where(said, np.maximum(square - mean**2, 0.0), plain.variances[:count])
        more = Moments(*(each.copy() for each in plain))
        more.logs[:count] += theta * (mean - means)
        more.means[:count], more.variances[:count] = mean, spread
        return more

    def shared(self, theta: Floats, plain: Moments) -> Floats:
        """(e, q) of each extreme that shares nobody with others √c d of one record of each column."""
        count, found = len(self.low), np.zeros((len(self.extremes), len(theta)))
        chances = self._chances(theta[:count], plain)
        often = np.bincount(np.concatenate([some for _, some in self.extremes]), minlength=count)
        for row, (top, some) in zip(found, self.extremes, strict=True):
            if (often[some] > 1).any():
                continue
            chance, end = np.minimum(chances[int(top)][some], CERTAIN), (self.low, self.high)[int(top)][some]
            nobody = float(self.sizes[some] @ np.log1p(-chance))
            anybody = max(-np.expm1(nobody), CRUMB)
            row[some] = np.exp(nobody / 2) / anybody * chance * (end - plain.means[some]) / (1.0 - chance)
        return found[found.any(axis=1)]

    def _chances(self, theta: Floats, plain: Moments) -> tuple[Floats, Floats]:
        """(a,) how likely one record of each column has its least, its greatest value, in its box alone."""
        low, high = (
            np.exp(np.minimum(logs + theta * end - plain.logs[: len(end)], 0.0))
            for logs, end in zip(self.logs, (self.low, self.high), strict=True)
        )
        return low, high

    def _weights(self, at_low: Floats, at_high: Floats) -> tuple[Floats, Floats, Floats]:
        """(a,) how likely the others attain what a record does not, beside how likely anybody does: where it
        has a value inside, its least, its greatest one."""
        inside, low, high = np.ones((3, len(at_low)))
        for top, some in self.extremes:
            none = np.log1p(-np.minimum((at_high if top else at_low)[some], CERTAIN))
            nobody = float(self.sizes[some] @ none)
            anybody = max(-np.expm1(nobody), CRUMB)
            others = np.maximum(-np.expm1(np.minimum(nobody - none, 0.0)), 0.0) / anybody
            inside[some] *= others
            mine, beyond = (high, low) if top else (low, high)
            mine[some] /= anybody
            beyond[some] *= others
        return inside, low, high


def with_attained(ends: Attaining | None, plain: Callable[[Floats], Moments]) -> Callable[[Floats], Moments]:
    """Moments by θ, (q,), given that extremes are attained, where there are some."""
    if ends is None:
        return plain
    return lambda theta: ends.given(theta, plain(theta))
