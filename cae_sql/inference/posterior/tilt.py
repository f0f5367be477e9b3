"""The distribution of greatest entropy with given expected sums, by Newton's method on its dual.

Each record of an atom has p(u) ∝ exp(θ u) over the whole numbers of its box, θ = Σ_q λ_q a_q, and λ makes the
expected sums the answered ones: it minimises Σ_records log Σ_u exp(θ u) − λ · b, which is convex. Where an
answer leaves no choice (a sum at the edge of what boxes allow) λ has no finite value; it then stops where
what is left undecided is below `CLOSE`.

`Tilt` has it by windows of one step of the domain, p(u) ∝ prior(u) exp(θ u), in closed form within them; a
prior is spread evenly within one, since one step is what risk is judged at.

Source: I. Csiszár, "Sanov property, generalized I-projection and a conditional limit theorem" (1984): it is
what records look like, given the sums, in large systems.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy

from cae_sql.domain import Domain, exact, grid_values
from cae_sql.errors import InvalidInput, OutOfTime
from cae_sql.inference.allowance import UNLIMITED, Allowance
from cae_sql.inference.facts.query import Grid
from cae_sql.inference.intervals.interior import gram
from cae_sql.inference.posterior.weights import Floats, Ints, Weighted
from cae_sql.inference.tables.priors import Prior
from cae_sql.threads import alone

STEPS = 200
"""Newton steps, at most."""
CLOSE = 1e-9
"""Expected sums are off by at most about this many standard deviations of the sums."""
CRAWLS = 1e-5
"""So many deviations off, a step that lowers the decrement by less than half is the last: what is left lies
along sums that boxes have all but settled, where `RIDGE` holds it. Fits went on there for all 200 steps."""
FIGURED = 30
"""Steps for the moments of an atom, of which each of Newton's steps needs all."""
NONE = 1e-200
"""A sum of less variance has none: what it is divided by would leave the floats' range."""
SHORTEST = 1e-12
"""Part of a step below which none is taken."""
RIDGE = 1e-12
"""Added to a diagonal of 1."""
STEEPEST = 300.0
"""Greatest tilt over a box for `reweighted`: beyond, weights leave the floats' range."""
NEAR = 0.005
"""Standard deviations, or units where these are less, as a tilt, over which variances are differentiated. The
third cumulant of a steep tilt is off by a thousandth with 0.02, with this by a twentieth of that."""
LARGEST_SHIFT = 1e4
"""Greatest logarithm that `reweighted` multiplies tables by, so that it is right to twelve decimals."""
LARGEST = 50_000_000
"""Probabilities that are held at once: 400 MB."""
MOST_WITH_PRIOR = 5_000_000
"""Groups of records times windows of a model with a prior."""


class Moments(NamedTuple):
    """Of one record of each atom, (p,)."""

    logs: Floats
    """log Σ_u exp(θ u)."""
    means: Floats
    variances: Floats


def of_boxes(low: Ints, high: Ints) -> Callable[[Floats], Moments]:
    """Moments of tilted uniform distributions on low, low + 1, … high, in closed form."""
    count = (high - low + 1).astype(np.float64)
    middle = (low + high) / 2.0

    def moments(theta: Floats) -> Moments:
        near = np.abs(theta * count) < 0.04
        safe = np.where(near, 1.0, theta)
        steep = np.abs(safe)
        # all is made of e^−|θ| and e^−|θ|n: of what 1 is more than they are
        one, all_ = -np.expm1(-steep), -np.expm1(-steep * count)
        logs = np.log(all_ / one) + np.where(safe > 0, safe * (high + 0.0), safe * low)
        off = np.copysign(count * (1.0 / all_ - 0.5) - 1.0 / one + 0.5, safe)
        spread = np.exp(-steep) / (one * one) - count * count * np.exp(-steep * count) / (all_ * all_)
        # differences of what is great lose their digits near 0; there the series has them
        flat: Floats = np.broadcast_to(theta, near.shape)[near]
        at: Floats = np.broadcast_to(count, near.shape)[near]
        square, fourth = at**2 - 1, at**4 - 1
        logs[near] = flat * np.broadcast_to(low, near.shape)[near] + log_geometric(flat, at)
        off[near] = flat * square / 12 - flat**3 * fourth / 720
        spread[near] = square / 12 - flat**2 * fourth / 240
        return Moments(logs, middle + off, np.maximum(spread, 0.0))

    return moments


def cumulants(moments: Callable[[Floats], Moments], theta: Floats) -> tuple[Moments, Floats, Floats]:
    """Moments by θ, and the third and the fourth cumulant: derivatives of the variance after θ."""
    now = moments(theta)
    step = NEAR / np.sqrt(np.maximum(now.variances, 1.0))
    up, down = moments(theta + step).variances, moments(theta - step).variances
    return now, (up - down) / (2 * step), (up - 2 * now.variances + down) / step**2


def of_sets(values: list[Weighted]) -> Callable[[Floats], Moments]:
    """Moments of tilted weighted sets, summed up as they are."""

    def moments(theta: Floats) -> Moments:
        found = np.empty((3, len(values)))
        for place, each in enumerate(values):
            logs = np.log(each.weights) + theta[place] * each.positions
            top = logs.max()
            p = np.exp(logs - top)
            total = p.sum()
            mean = float(p @ each.positions) / total
            found[:, place] = top + np.log(total), mean, float(p @ (each.positions - mean) ** 2) / total
        return Moments(*found)

    return moments


def of_windows(low: Ints, high: Ints, logs: Floats) -> Callable[[Floats], Moments]:
    """Moments of tilted distributions that are spread evenly within each of some windows: by the part of each
    box in each window, (p, w), none where `high` is less, and log weights of a unit in each window, (w,)."""
    inside, within = high >= low, of_boxes(low, np.maximum(low, high))

    def moments(theta: Floats) -> Moments:
        one = within(theta[:, None])
        each = np.where(inside, logs + one.logs, -np.inf)
        top = each.max(axis=1, keepdims=True)
        p = np.exp(each - top)
        total = p.sum(axis=1)
        p /= total[:, None]
        means = (p * one.means).sum(axis=1)
        variances = (p * (one.variances + (one.means - means[:, None]) ** 2)).sum(axis=1)
        return Moments(top[:, 0] + np.log(total), means, variances)

    return moments


def fitted(
    matrix: scipy.sparse.csr_array,
    sizes: Ints,
    sums: Ints,
    moments: Callable[[Floats], Moments],
    allowance: Allowance = UNLIMITED,
    close: float = CLOSE,
) -> tuple[Floats, float]:
    """λ, (k,), of independent sums, and how many standard deviations expected sums are off there, about.

    By (k, p) coefficients, (p,) records in each atom, (k,) right-hand sides, moments of one record of each
    atom, by θ; `close` are standard deviations that are near enough.

    Raises:
        OutOfTime: more than may be spent.
    """
    if not matrix.shape[0]:
        return np.zeros(0), 0.0
    m, by_atom, columns = sizes.astype(np.float64), matrix.tocsc(), matrix.T.tocsr()

    def at(point: Floats) -> tuple[Floats, Moments, float]:
        """λ itself, moments of one record of each atom, and Σ_records log Σ_u exp(θ u) − λ · b."""
        now = moments(columns @ point)
        return point, now, float(m @ now.logs - point @ sums)

    (point, now, value), decrement = at(np.zeros(matrix.shape[0])), math.inf
    for _ in range(STEPS):
        if not allowance.spend(matrix.nnz + FIGURED * len(m)):
            raise OutOfTime("the model of greatest entropy was not found in time")
        off, before = matrix @ (m * now.means) - sums, decrement
        step = _solved(by_atom, m * now.variances, off)
        decrement = float(off @ step)
        crawls = decrement <= CRAWLS**2 and before / 2 < decrement <= before
        if not np.isfinite(decrement) or decrement <= close**2 or crawls:
            break
        # near the end differences of the values are rounding, and only the gradient tells
        near, tried = decrement < 1e-9 * max(1.0, abs(value)), at(point - step)
        length = 1.0
        while not (near or tried[2] <= value - 0.1 * length * decrement) and length > SHORTEST:
            length /= 2
            tried = at(point - length * step)
        if length <= SHORTEST:
            break
        point, now, value = tried
    return point, math.sqrt(max(decrement, 0.0)) if np.isfinite(decrement) else math.inf


def _solved(by_atom: scipy.sparse.csc_array, weights: Floats, right: Floats) -> Floats:
    """The solution of A diag(weights) Aᵀ x = right, scaled to a diagonal of 1: sums that boxes have all but
    settled must not be damped because others are over a million records."""
    hessian = gram(by_atom, weights)
    diagonal = hessian.diagonal()
    scale = 1 / np.sqrt(np.where(diagonal > NONE, diagonal, 1.0))
    hessian *= scale * scale[:, None]
    hessian.flat[:: len(scale) + 1] += RIDGE
    with alone():
        step: Floats = scale * np.linalg.solve(hessian, scale * right)
    return step


def reweighted(
    values: list[Weighted], matrix: scipy.sparse.csr_array, sizes: Ints, sums: Ints
) -> tuple[list[Weighted], float]:
    """The same sets with weights times exp(θ u), θ = Aᵀ λ, and the shift: tables that have these sums weigh
    exp(shift) times what they did. Where λ could be found, the sums are the expected ones."""
    point, _ = fitted(matrix, sizes, sums, of_sets(values))
    theta = matrix.T @ point
    steepest = max((abs(t) * each.span for t, each in zip(theta, values, strict=True)), default=0.0)
    # where nothing is left to choose λ is anything, and a shift too large would cost digits
    steepest = max(steepest, float(np.abs(point) @ np.abs(sums)) * STEEPEST / LARGEST_SHIFT)
    if not np.isfinite(steepest):
        return values, 0.0
    if steepest > STEEPEST:
        theta, point = theta * (STEEPEST / steepest), point * (STEEPEST / steepest)
    found = []
    for t, each in zip(theta.tolist(), values, strict=True):
        logs = t * each.positions
        top = float(logs.max())
        found.append(Weighted(each.positions, each.weights * np.exp(logs - top), each.scale + top))
    return found, float(point @ sums)


def log_geometric(theta: Floats, count: Floats) -> Floats:
    """log Σ_{j < count} exp(θ j), count >= 1."""
    steep = np.abs(theta)
    flat = steep * count < 1e-12
    safe = np.where(flat, 1.0, steep)
    # Σ = (1 − e^{−|θ| n}) / (1 − e^{−|θ|}), counted from the greater end
    logs = np.log(-np.expm1(-safe * count)) - np.log(-np.expm1(-safe))
    rise = np.maximum(theta, 0.0) * (count - 1)
    found: Floats = np.where(flat, np.log(np.maximum(count, 1.0)), logs + rise)
    return found


@dataclass(frozen=True, eq=False)
class Windows:
    """Units of the grid gathered in windows of one step of the domain."""

    width: int
    """Units in a window."""
    count: int
    values: Floats
    """(w,) at which each begins: the domain's values."""

    @classmethod
    def of(cls, grid: Grid, domain: Domain | None) -> Windows:
        """Those of a system's grid; without a domain each unit is one.

        Raises:
            InvalidInput: no grid, a domain that does not fit it, or more than `LARGEST` windows.
        """
        if not grid.whole:
            raise InvalidInput("candidate models need a grid: give the system a resolution")
        units = int(grid.top) + 1
        step = grid.unit if domain is None else exact(domain.step)
        if domain is not None and exact(domain.minimum) != grid.minimum:
            raise InvalidInput(
                f"the domain begins at {domain.minimum}, the system at {float(grid.minimum):g}; "
                "give both the same minimum"
            )
        width = step / grid.unit
        if width.denominator != 1:
            raise InvalidInput(
                f"a step of {float(step):g} is no multiple of the resolution {float(grid.unit):g}; "
                "take one that is"
            )
        count = -(-units // int(width))
        if count > LARGEST:
            raise InvalidInput(f"{count:,} values are too many to hold; take a coarser step")
        return cls(int(width), count, grid_values(np.arange(count), grid.minimum, step))

    def gathered(self, units: Ints, weights: Floats) -> Floats:
        """(w,) weights of units, added up by window."""
        found: Floats = np.bincount(units // self.width, weights, self.count).astype(np.float64)
        return found

    def check_rows(self, atoms: int, most: int = LARGEST) -> None:
        """Whether rows for so many atoms can be held.

        Raises:
            InvalidInput: they cannot.
        """
        if atoms * self.count > most:
            raise InvalidInput(
                f"{atoms:,} groups of records with {self.count:,} values each are too many to hold; "
                "take a coarser step"
            )


def normal(logs: Floats) -> Floats:
    """Rows of logarithms as rows of sum 1, whatever their scale."""
    p = np.exp(logs - logs.max(axis=1, keepdims=True))
    found: Floats = p / p.sum(axis=1, keepdims=True)
    return found


class Tilt:
    """Distributions on one grid of greatest entropy relative to a prior, with given expected sums."""

    def __init__(self, windows: Windows, prior: Prior | None = None) -> None:
        """Without a prior, or with one of a grid too fine to list, all units are alike."""
        self.windows = windows
        self.logs: Floats | None = None
        """(w,) logarithm of the prior weight of a unit in each window; None where all are alike."""
        if prior is not None and len(prior.odds):
            mass = windows.gathered(np.arange(len(prior.odds)), np.exp(prior.odds))
            units = windows.gathered(np.arange(len(prior.odds)), np.ones(len(prior.odds)))
            self.logs = np.log(mass / units)

    @property
    def name(self) -> tuple[int, int, bytes]:
        """Equal for tilts that say the same of the same boxes."""
        return self.windows.width, self.windows.count, b"" if self.logs is None else self.logs.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tilt) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def moments(self, low: Ints, high: Ints) -> Callable[[Floats], Moments]:
        """Of one record of each atom, by θ (p,): its box, (p,) each.

        Raises:
            InvalidInput: too many groups of records with a prior.
        """
        if self.logs is None:
            return of_boxes(low, high)
        self.windows.check_rows(len(low), MOST_WITH_PRIOR)
        return of_windows(*self.parts(low, high), self.logs)

    def rows(self, low: Ints, high: Ints, theta: Floats) -> Floats:
        """(p, w) one record's distribution for each atom, from its box and θ, (p,) each."""
        first, last = self.parts(low, high)
        count = last - first + 1
        steep = np.broadcast_to(theta[:, None], first.shape)
        logs = steep * (first - low[:, None]) + log_geometric(steep, np.maximum(count, 1).astype(float))
        if self.logs is not None:
            logs = logs + self.logs
        return normal(np.where(count > 0, logs, -np.inf))

    def parts(self, low: Ints, high: Ints) -> tuple[Ints, Ints]:
        """(p, w) each: the part of each box in each window."""
        starts = np.arange(self.windows.count) * self.windows.width
        first = np.maximum(starts, low[:, None])
        last = np.minimum(starts + self.windows.width - 1, high[:, None])
        return first, last
