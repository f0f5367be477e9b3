"""What ranges of statistics make likely: observations with noise, beside the answered sums.

A range of width w of a count over S is taken as if the sum over S were known but for a noise, of variance

    min( (w²/12) · Var(x) / Var(g),  (π/2 − 1) · Var(Σ x given earlier answers and observations) ),

g being 1 for those who are counted and 0 for others: as if to know g were to know x. The second is what the
most telling single limit takes away, one in the middle of what is expected: a wide range tells by where its
ends are, and of its width alone too little would be made. A record's leverage is that of all sums and
observations together, and besides it that of the observations alone, `LUCK` times, as if they were about
something else: κ = κ_all + LUCK κ_observations. So neither what counts say of x besides sums over the same
people is missed, nor what both say together. And leverage knows the mean alone, with a bell in the middle of
what is expected: who is at an end of the domain is left with less than that bell, and some ranges tell more
than others of the same width. It is more than they say, for certain where g and x have little to do with each
other: a brake, not an estimate.

A range of a weighted sum, Σ a x, is that very observation with noise w²/12. Spreads are no sum, and what they
tell is added as `squares` has it.

Expected sums are left where the answered sums put them: what a count says of a group is no disclosure about
one person, and a baseline of members sees the same.

Source: `mathematics.md`, 8 (a brake).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import NDArray

from cae_sql.inference.facts.knowledge import Knowledge, Observed
from cae_sql.inference.posterior.attaining import Attaining
from cae_sql.inference.posterior.bell import STILL
from cae_sql.inference.posterior.counts import Counts
from cae_sql.inference.posterior.leverage import Factor
from cae_sql.inference.posterior.likely import Fit, Likely, Start
from cae_sql.inference.posterior.noise import noise_of
from cae_sql.inference.posterior.observations import Observations, observations
from cae_sql.inference.posterior.squares import told_by_spreads
from cae_sql.inference.posterior.weights import Floats, Ints
from cae_sql.inference.posterior.windows import Tilt
from cae_sql.inference.ways import ALL, Ways

LUCK = 20.0
"""How often what observations tell alone is counted. A bell in the middle of the domain has to be 18 times as
narrow as one around an end to leave as much as somebody at that end has in one case of a hundred. Of stars of
ranges of counts and weighted sums, over 3 to 26 values, with 12 to 100 others in each, as many as kept a
limit of 0.5, the exact risk was past it in up to 32 of a hundred draws with 6, 9 with 12, and 2 with 20: most
of somebody at an end, or with a rarer value. Of a limit of 0.3 it was up to 35, 30, and 5."""
SURE = 1e-9
"""1 − h below which nothing is left."""


def likely_of(
    known: Knowledge,
    sums: Ints,
    tilt: Tilt,
    top: int,
    start: Start | None = None,
    ways: Ways = ALL,
    counts: Counts | None = None,
) -> Likely:
    """What answers make likely, with what is observed besides. As `Likely`."""
    if not known.observed:
        return Likely(known, sums, tilt, top, counts=counts, start=start, ways=ways)
    seen = observations(known, sums)
    begun = None if start is None else start.of(seen)
    fit = Fit.of(seen, tilt, begun, ends=Attaining.of(known, seen, tilt))
    return Likely(known, sums, tilt, top, with_observed(fit, known, tilt), counts=counts, ways=ways)


def with_observed(fit: Fit, known: Knowledge, tilt: Tilt, layout: Layout | None = None) -> Fit:
    """The same tilted model, its leverage with what is observed besides.

    Args:
        fit: Of the answered sums.
        known: What it is a fit of, with what is observed.
        tilt: Prior and windows.
        layout: Of the same sums and observations, where it is known already.
    """
    if not known.observed:
        return fit
    seen = fit.observed
    laid = Layout.of(seen, known.observed, known.count) if layout is None else layout
    rows, count = laid.rows, len(laid.rows)
    weights = seen.sizes * fit.variances
    own = (rows * weights) @ rows.T
    cross = seen.matrix @ (rows * weights).T
    given = own - cross.T @ fit.factor.solve(cross) if len(cross) else own
    plain = laid.plain(fit.variances, seen.sizes)
    noise, apart = noise_of(plain, given), noise_of(plain, own)
    # of noise nothing but its variance matters
    width = np.maximum(np.sqrt(12.0 * noise), 1.0)
    sizes = np.append(seen.sizes, np.ones(count, dtype=np.int64))
    variances, means = np.append(fit.variances, noise), np.append(fit.means, width / 2)
    expected = np.rint(rows @ (seen.sizes * fit.means) + width / 2).astype(np.int64)
    whole = np.rint(width).astype(np.int64)
    observed = Observations(
        laid.matrix, np.append(seen.sums, expected), sizes,
        np.append(seen.low, np.zeros(count, dtype=np.int64)), np.append(seen.high, whole), seen.atoms,
    )  # fmt: skip
    factor = Factor.of(laid.matrix, sizes * variances)
    kappa = _stiffness(factor.leverages(laid.matrix, variances))
    image = Factor.by(own + np.diag(apart)).root @ laid.beside
    kappa += LUCK * _stiffness(np.clip(np.append(fit.variances, apart) * (image**2).sum(axis=0), 0.0, 1.0))
    if laid.spreads:
        kappa[: seen.people] += told_by_spreads(fit, tilt, laid.spreads)
    return replace(
        fit,
        observed=observed,
        point=np.append(fit.point, np.zeros(count)),
        theta=np.append(fit.theta, np.zeros(count)),
        means=means,
        variances=variances,
        logs=np.append(fit.logs, np.log(width + 1)),
        factor=factor,
        worked_out=kappa / (1.0 + kappa),
        of_sums=fit,
    )


@dataclass(frozen=True, eq=False)
class Layout:
    """What is observed beside sums, as rows: the same for all answers to one question. Shapes: r rows,
    q columns of the sums.
    """

    rows: Floats
    """(r, q) coefficients of sums that are observed but for noise."""
    beside: Floats
    """(r, q + r) the same, with a column of noise for each."""
    matrix: scipy.sparse.csc_array
    """(k + r, q + r) the answered sums, then these."""
    noise: Floats
    """(r,) the variance of their noise by width; of counts in terms of the variance that one of them has."""
    counted: NDArray[np.bool_]
    """(r,) which are counts."""
    spreads: list[tuple[Ints, float]]
    """Columns of the members of each spread, and the noise of its range."""

    @classmethod
    def of(cls, seen: Observations, observed: Sequence[Observed], atoms: int) -> Layout:
        """Write them down.

        Args:
            seen: The answered sums.
            observed: What is known but for noise.
            atoms: How many there are.
        """
        place = np.full(atoms, -1, dtype=np.int64)
        place[seen.atoms] = np.arange(seen.people)
        sums = [each for each in observed if not each.squares]
        count, columns = len(sums), len(seen.sizes)
        rows, noise = np.zeros((count, columns)), np.zeros(count)
        for number, each in enumerate(sums):
            greatest = 1.0 if each.weights is None else float(np.abs(each.weights).max())
            rows[number, place[each.atoms]] = 1.0 if each.weights is None else each.weights / greatest
            noise[number] = each.noise / greatest**2
        beside = np.hstack([rows, np.eye(count)])
        none = scipy.sparse.csc_array((seen.matrix.shape[0], count))
        above = scipy.sparse.hstack([seen.matrix, none])
        return cls(
            rows, beside, scipy.sparse.vstack([above, scipy.sparse.csc_array(beside)]).tocsc(), noise,
            np.array([each.weights is None for each in sums], dtype=np.bool_),
            [(place[each.atoms], each.noise) for each in observed if each.squares],
        )  # fmt: skip

    def plain(self, variances: Floats, sizes: Ints) -> Floats:
        """(r,) variances of noise by the width of the ranges alone.

        Args:
            variances: (q,) of one record of each column.
            sizes: (q,) its records.
        """
        within = self.rows != 0
        mean = (within * variances) @ sizes / np.maximum(within @ sizes, 1)
        return np.where(self.counted, self.noise * np.maximum(mean, STILL), self.noise)


def _stiffness(leverage: Floats) -> Floats:
    found: Floats = leverage / np.maximum(1.0 - leverage, SURE)
    return found
