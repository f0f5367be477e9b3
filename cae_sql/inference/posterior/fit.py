"""One fit: the tilted model of what was answered, and what the sums have to say of every record.

Records are independent with p⁰_i(v) ∝ prior(v) exp(θ_i v), θ = Aᵀ λ, with λ such that the expected sums are
the answered ones (`tilt`), raised by what attained extremes add (`attained`). Given that, with σ² their
variances and H = A diag(σ²) Aᵀ,

    h_i = σ_i² a_iᵀ H⁻¹ a_i                                              leverage, the hat matrix's diagonal
    ℓ_i = ½ Σ_{j ≠ i} τ_j q_j a_jᵀ H⁻¹ a_i / (1 − h_i)                     slope, for skewness: see `bell`

Promise: it is said by how many standard deviations expected sums are off.

Source: `mathematics.md`, 7 (also: cost).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from cae_sql.cached import cached_property
from cae_sql.inference.allowance import UNLIMITED, Allowance
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.intervals.interior import gram
from cae_sql.inference.posterior.attained import Attaining
from cae_sql.inference.posterior.bell import STILL, SURE, Bells, stiffness
from cae_sql.inference.posterior.leverage import Factor, Observations, observations
from cae_sql.inference.posterior.tilt import CLOSE, Moments, Tilt, cumulants, fitted, of_boxes
from cae_sql.inference.posterior.weights import Flags, Floats, Ints
from cae_sql.threads import alone

FOUND = 1e-3
"""Standard deviations by which a model's expected sums may be off."""
ROUNDS = 60
"""Steps beside attained extremes, at most. What these add changes from step to step, so that few people take
some dozens; with 20 a sum was 2e-6 off."""


@dataclass(frozen=True, eq=False)
class Fit:
    """The tilted model of some observations, and their factor. Shapes: k rows, q columns."""

    observed: Observations
    tilt: Tilt
    """Prior and windows."""
    ends: Attaining | None
    """Extremes that somebody must attain."""
    point: Floats
    """(k,) λ."""
    off: float
    """By how many standard deviations expected sums are off."""
    theta: Floats
    """(q,) λᵀ a."""
    logs: Floats
    """(q,) log Σ_u prior(u) exp(θ u), and θ times what attained extremes add to μ."""
    means: Floats
    """(q,) μ of one record of each column, in units."""
    variances: Floats
    """(q,) σ²."""
    factor: Factor
    worked_out: Floats | None = None
    """(q,) leverage, if it is known."""
    whole: bool = True
    """Whether a tilt was found with what attained extremes add to sums."""
    of_sums: Fit | None = None
    """Of the answered sums alone, if this has what is observed besides (`noisy`); their columns are first."""
    apart: tuple[Floats, Floats] | None = None
    """With what is observed: (r, a) A D^½ of that alone, turned so that columns' squares are its leverage,
    and (a,) κ σ² that spreads tell of a record, as often as it counts (`noisy`)."""
    skewed: bool = True
    """Whether skewness is counted."""

    @classmethod
    def of_answers(
        cls,
        known: Knowledge,
        sums: Ints,
        tilt: Tilt,
        allowance: Allowance = UNLIMITED,
        close: float = CLOSE,
    ) -> Fit:
        """Of what is known, and right-hand sides of its sums, (k,), by Newton's method until expected sums
        are about `close`.

        Raises:
            InconsistentAnswers: two ends of one sum leave nothing between them.
            InvalidInput: too many groups of records with a prior.
            OutOfTime: more than may be spent.
        """
        seen = observations(known, sums)
        ends, moments = Attaining.of(known, seen, tilt), moments_of(seen, tilt)

        def at(point: Floats, off: float, whole: bool = True) -> Fit:
            theta = seen.matrix.T @ point
            now = moments(theta)
            if ends is not None and whole and len(point):
                now = ends.given(theta, now)
            factor = Factor.of(seen.matrix, seen.sizes * now.variances)
            return cls(seen, tilt, ends, point, off, theta, *now, factor, whole=whole)

        plain, off = fitted(seen.rows, seen.sizes, seen.sums, moments, allowance, close)
        if ends is None or not len(plain):
            return at(plain, off)
        point, plainly_off = plain, off
        for _ in range(ROUNDS):
            found = at(point, off)
            lacking = seen.matrix @ (seen.sizes * found.means) - seen.sums
            step = found.factor.solve(lacking)
            off = float(np.sqrt(max(lacking @ step, 0.0)))
            if off <= close:
                break
            point = point - step
        return replace(found, off=off) if off <= FOUND else at(plain, plainly_off, whole=False)

    @property
    def sums_alone(self) -> Fit:
        """The fit of the answered sums, without what is observed besides."""
        return self.of_sums or self

    @cached_property
    def leverage(self) -> Floats:
        """(q,) h of one record of each column.

        That one of some records attains an extreme makes them vary together, so that sums vary less: others
        in these sums have more. Of these records themselves it stays.
        """
        if self.worked_out is not None:
            return self.worked_out
        seen, found = self.observed, self.factor.leverages(self.observed.matrix, self.variances)
        if self.beside is None:
            return found
        some, factor = self.beside
        return np.where(some, found, np.maximum(found, factor.leverages(seen.matrix, self.variances)))

    @cached_property
    def beside(self) -> tuple[Flags, Factor] | None:
        """(q,) records that extremes make vary together, and the factor of what sums vary then."""
        seen = self.observed
        if self.ends is None or not self.whole or not len(self.point):
            return None
        shared = self.ends.shared(self.theta, moments_of(seen, self.tilt)(self.theta))
        some = np.asarray(shared.any(axis=0))
        if not some.any():
            return None
        with alone():
            apart = gram(seen.matrix, seen.sizes * (self.variances + (shared**2).sum(axis=0)))
            together = seen.matrix @ (seen.sizes * shared).T
            return some, Factor.by(apart - together @ together.T)

    @cached_property
    def slope(self) -> Floats:
        """(q,) ℓ; of slacks, and where nothing is left to move, 0."""
        if not self.skewed or not len(self.point):
            return np.zeros(len(self.theta))
        if self.of_sums is not None:  # noise is not skew
            return np.append(self.of_sums.slope, np.zeros(len(self.theta) - len(self.of_sums.theta)))
        seen = self.observed
        thirds = cumulants(moments_of(seen, self.tilt), self.theta)[1]
        moving = self.variances > STILL
        each = np.where(moving, self.leverage / np.where(moving, self.variances, 1.0), 0.0)
        told = self.factor.solve(seen.matrix @ (seen.sizes * thirds * each))
        found = (seen.matrix.T @ told - thirds * each**2) / (2.0 * np.maximum(1.0 - self.leverage, SURE))
        moving[seen.people :] = False
        return np.where(moving, found, 0.0)

    def rows(self, columns: Ints, narrowed: bool) -> Floats:
        """(r, w) of some columns of somebody: p⁰, or the bells that leverage makes of it."""
        seen, kappa, theta = self.observed, np.zeros(len(columns)), self.theta[columns]
        if narrowed:
            kappa = stiffness(self.leverage[columns], self.variances[columns])
            theta = theta + self.slope[columns]
        return Bells(seen.low[columns], seen.high[columns], theta, self.means[columns], kappa).rows(self.tilt)


def moments_of(observed: Observations, tilt: Tilt) -> Callable[[Floats], Moments]:
    """Of one record of each column: people under the prior, slacks with all values alike."""
    count = observed.people
    of_people = tilt.moments(observed.low[:count], observed.high[:count])
    if count == len(observed.sizes):
        return of_people
    of_slacks = of_boxes(observed.low[count:], observed.high[count:])

    def moments(theta: Floats) -> Moments:
        parts = zip(of_people(theta[:count]), of_slacks(theta[count:]), strict=True)
        return Moments(*(np.concatenate(pair) for pair in parts))

    return moments
