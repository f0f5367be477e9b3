"""What answers make likely: the posterior of every record, all tables that agree with them alike (or weighed
by a public prior).

- Small components, and single sums, are *counted*: exact (`components`).
- Elsewhere a record's tilted distribution is narrowed by its leverage (`bell`), answered extremes are
  taken as a mixture over who attains them (`attained`). Whom it does not know, since sums are no bell
  (`heaps`) or leave few people modulo a small number (`residues`), is counted, or not relied upon.

Which of the two a record got is said (`Likelihood.counted`). Everything is by atoms: records that no answer
tells apart are equally likely to have any value.

Promise: it hangs on answers, domain and prior alone, and on no clock.

Source: `mathematics.md`, 7.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import NDArray

from cae_sql.cached import cached_property
from cae_sql.errors import OutOfTime
from cae_sql.inference.allowance import UNLIMITED, Allowance
from cae_sql.inference.facts.knowledge import Extreme, Knowledge
from cae_sql.inference.posterior.apart import LITTLE, Apart
from cae_sql.inference.posterior.attained import Ends, doubtful, mixed
from cae_sql.inference.posterior.attaining import Attaining, with_attained
from cae_sql.inference.posterior.bell import STILL, SURE, rows_of, stiffness
from cae_sql.inference.posterior.components import MOST_COUNTED, Aside, name_of, of_component
from cae_sql.inference.posterior.counts import Counts
from cae_sql.inference.posterior.heaps import Characters, in_heaps
from cae_sql.inference.posterior.leverage import Factor, covariance
from cae_sql.inference.posterior.observations import Observations, observations
from cae_sql.inference.posterior.residues import left_by_residues
from cae_sql.inference.posterior.tilt import CLOSE, Moments, fitted, of_boxes, thirds_of_boxes
from cae_sql.inference.posterior.weights import Floats, Ints
from cae_sql.inference.posterior.windows import Tilt
from cae_sql.inference.ways import ALL, Ways
from cae_sql.threads import alone

Flags = NDArray[np.bool_]

MOST_UNITS = 20_000
"""Records times values of a component that is counted: beyond it a convolution takes long."""
MOST_FREE, MOST_ENTRIES = 24, 4_000
"""Atoms that a component's sums leave open, and atoms times sums, up to which it is counted."""
STEPS, ALL_STEPS = 400_000, 8_000_000
"""Steps from a state to another for one component, for all of them: a tenth of a second, a second or two."""
FEW_BITS, MORE = 16.0, 3
"""Where so few bits of tables are left, so many times the steps may be spent: the formula fails there first.
Of 30 records of 0/1 under 8 to 12 sums all were counted so, of 40 none with ten times the steps, in 4 s."""
RELIABLE = 10.0
"""Bits of tables from which the formula is relied upon. Of 20 records of 0/1 its risk was too low by at most
0.005 in systems of 37 to 1,272 tables, by up to 0.23 in such of 14 to 180; others have other lattices."""
FOR_EACH = 1_000
"""Steps that a component costs at least."""
FOUND = 1e-3
"""Standard deviations by which a model's expected sums may be off."""
ROUNDS, ADDED = 60, 1e-8
"""In which what attained extremes add to sums is looked for, until it changes by so many deviations."""


@dataclass(frozen=True, eq=False)
class Fit:
    """The tilted model of some observations, and their factor. Shapes: k rows, q columns."""

    observed: Observations
    point: Floats
    """(k,) λ."""
    off: float
    """By how many standard deviations expected sums are off."""
    theta: Floats
    """(q,) λᵀ a."""
    means: Floats
    """(q,) μ, in units."""
    variances: Floats
    """(q,) σ²."""
    logs: Floats
    """(q,) log Σ_u prior(u) exp(θ u), and θ times what attained extremes add to μ."""
    factor: Factor
    tilt: Tilt
    """Prior and windows."""
    worked_out: Floats | None = None
    """(q,) leverage, where it is known."""
    of_sums: Fit | None = None
    """The fit of the answered sums alone, where this has what is observed besides (`noisy`): their rows and
    columns come first here."""
    whole: bool = True
    """Whether what attained extremes add to sums is in it; False where no such tilt was found."""
    before: Floats | None = None
    """(q,) σ² before answers that are hypothetical: one search for residues serves them all."""
    skewed: bool = True
    """Whether skewness is counted."""

    @classmethod
    def of(
        cls,
        observed: Observations,
        tilt: Tilt,
        start: Floats | None = None,
        allowance: Allowance = UNLIMITED,
        ends: Attaining | None = None,
        close: float = CLOSE,
    ) -> Fit:
        """By Newton's method.

        Args:
            observed: The sums.
            tilt: Prior and windows.
            start: (k,) λ to begin with: of like sums. By default 0.
            allowance: What may be spent.
            ends: Extremes that somebody must attain.
            close: By how many standard deviations expected sums may be off, about.

        Raises:
            InvalidInput: too many groups of records with a prior.
            OutOfTime: more than may be spent.
        """
        moments = moments_of(observed, tilt)
        point, off = fitted(observed.rows, observed.sizes, observed.sums, moments, start, allowance, close)
        if start is not None and not off <= FOUND:
            point, off = fitted(observed.rows, observed.sizes, observed.sums, moments, None, allowance, close)
        if not len(point):
            ends = None  # no sum is raised
        given = with_attained(ends, moments)
        raised = None if ends is None else _raised(observed, moments, given, point, allowance)
        if raised is not None:
            point, off = raised
        theta = observed.matrix.T @ point
        now = given(theta) if raised is not None else moments(theta)
        factor = Factor.of(observed.matrix, observed.sizes * now.variances)
        found = cls(observed, point, off, theta, now.means, now.variances, now.logs, factor, tilt)
        if ends is None:
            return found
        if raised is None:
            return replace(found, whole=False)
        return replace(found, worked_out=found.beside(ends.shared(theta, moments(theta))))

    def beside(self, shared: Floats) -> Floats:
        """(q,) leverage where people vary together, (e, q) as `Attaining.shared`: more of those who do not.

        Of those who do it is left as it is: what others have hangs on the own value by more than sums.
        """
        some, plain = shared.any(axis=0), self.leverage
        if not some.any():
            return plain
        seen = self.observed
        with alone():
            apart = covariance(seen.matrix, seen.sizes * (self.variances + (shared**2).sum(axis=0)))
            together = seen.matrix @ (seen.sizes * shared).T
            factor = Factor.by(apart - together @ together.T)
        return np.where(some, plain, np.maximum(plain, factor.leverages(seen.matrix, self.variances)))

    @cached_property
    def leverage(self) -> Floats:
        """(q,) h of one record of each column."""
        if self.worked_out is not None:
            return self.worked_out
        return self.factor.leverages(self.observed.matrix, self.variances)

    @cached_property
    def slope(self) -> Floats:
        """(q,) by how much a bell's slope is greater for skewness: see `bell`.

        Of slacks, and of whom nothing is left to move, 0.
        """
        if not self.skewed:
            return np.zeros(len(self.theta))
        if self.of_sums is not None:  # noise is not skew
            return np.append(self.of_sums.slope, np.zeros(len(self.theta) - len(self.of_sums.theta)))
        seen, count = self.observed, self.observed.people
        if not len(self.point):
            return np.zeros(len(self.theta))
        thirds = np.zeros(len(self.theta))
        thirds[:count] = self.tilt.thirds(seen.low[:count], seen.high[:count], self.theta[:count])
        thirds[count:] = thirds_of_boxes(seen.low[count:], seen.high[count:], self.theta[count:])
        moving = self.variances > STILL
        each = np.where(moving, self.leverage / np.where(moving, self.variances, 1.0), 0.0)
        told = self.factor.solve(seen.matrix @ (seen.sizes * thirds * each))
        found = (seen.matrix.T @ told - thirds * each**2) / (2.0 * np.maximum(1.0 - self.leverage, SURE))
        moving[count:] = False
        return np.where(moving, found, 0.0)

    @cached_property
    def shift(self) -> Floats:
        """(q,) the same as a shift of what is expected, in units, as an insider's value shifts it."""
        found: Floats = self.slope * np.maximum(1.0 - self.leverage, SURE) * self.variances
        return found


def _raised(
    observed: Observations,
    plain: Callable[[Floats], Moments],
    given: Callable[[Floats], Moments],
    point: Floats,
    allowance: Allowance,
) -> tuple[Floats, float] | None:
    """λ at which sums are what is expected of records some of whom attain extremes, and how far they are off.

    What attaining adds to the sums is taken off them, and λ looked for as if there were no extremes, in turn:
    it changes less than the sums themselves. None where that comes to no end.

    Args:
        observed: The sums.
        plain: Moments by θ inside of the boxes.
        given: The same given that extremes are attained.
        point: (k,) λ to begin with.
        allowance: What may be spent.
    """
    before, off = np.full(len(observed.sums), np.inf), np.inf
    for _ in range(ROUNDS):
        theta = observed.matrix.T @ point
        now = given(theta)
        left = observed.sums - observed.matrix @ (observed.sizes * (now.means - plain(theta).means))
        spread = np.sqrt(np.maximum(observed.rows**2 @ (observed.sizes * now.variances), STILL))
        if (np.abs(left - before) <= ADDED * spread).all():
            return point, off
        point, off = fitted(observed.rows, observed.sizes, left, plain, point, allowance)
        if not off <= FOUND:
            return None
        before = left
    return None


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


@dataclass(frozen=True, eq=False)
class Likelihood:
    """A posterior for each record. Shapes: n records, p atoms, w windows of the domain."""

    labels: Ints
    """(n,) atom of each record."""
    values: Floats
    """(w,) at which each window begins."""
    probabilities: Floats
    """(p, w) of one record of each atom, rows of sum 1; of atoms that are nobody's, 0."""
    tilted: Floats
    """(p, w) of greatest entropy with the answered expected sums: what is said of groups, and no more."""
    leverage: Floats
    """(p,) the share of a record's variance that the sums explain; 0 where nothing is left to explain."""
    counted: Flags
    """(p,) whether a row is exact; else it is the formula's."""
    bits: Floats
    """(p,) log2 of about how many tables are left to those who hang together by sums; ∞ for whom no sum is
    about."""
    tangled: Flags
    """(p,) of whom the formula does not know what is said: sums that are no bell, extremes that it does not
    reckon with."""

    @property
    def reliable(self) -> Flags:
        """(p,) whether a row is counted, or enough tables are left for the formula.

        Where few are, values may be impossible that it gives something to.
        """
        found: Flags = self.counted | ((self.bits >= RELIABLE) & ~self.tangled)
        return found


@dataclass(frozen=True, eq=False)
class Start:
    """λ of fewer answers, where it is looked for first after one more."""

    sums: Ints
    """(k,) right-hand sides of the observations."""
    point: Floats
    """(k,) λ."""

    def of(self, seen: Observations) -> Floats | None:
        """(k,) for more observations, where these come first, with 0 for new ones; None where they do not."""
        known = len(self.sums)
        if len(seen.sums) < known or (seen.sums[:known] != self.sums).any():
            return None
        return np.append(self.point, np.zeros(len(seen.sums) - known))


class Likely:
    """What some answers make likely, worked out as it is asked for."""

    def __init__(
        self,
        known: Knowledge,
        sums: Ints,
        tilt: Tilt,
        top: int,
        fit: Fit | None = None,
        allowance: Allowance = UNLIMITED,
        counts: Counts | None = None,
        start: Start | None = None,
        ways: Ways = ALL,
    ) -> None:
        """Fit nothing yet.

        Args:
            known: Boxes, extremes, and the matrix of the independent sums.
            sums: (k,) their right-hand sides.
            tilt: Prior, and windows in which values are gathered.
            top: Greatest value of a record, in units.
            fit: Of the same sums, where it is known.
            allowance: What the fit may spend.
            counts: What was counted of components before; what is now is added.
            start: Where λ is looked for first.
            ways: What is reckoned with.
        """
        self.ways = ways
        self.known, self.sums, self.tilt, self.top = known, sums, tilt, top
        self._fit, self._allowance, self._start = fit, allowance, start
        self.counts = Counts() if counts is None else counts

    @cached_property
    def fit(self) -> Fit:
        """The tilted model of the answered sums.

        Raises:
            InconsistentAnswers: two ends of one sum leave nothing between them.
            InvalidInput, OutOfTime: as `Fit.of`.
        """
        if self._fit is not None:
            return self._fit
        seen = observations(self.known, self.sums)
        start = None if self._start is None else self._start.of(seen)
        return Fit.of(seen, self.tilt, start, self._allowance, Attaining.of(self.known, seen, self.tilt))

    @cached_property
    def straight(self) -> Likely:
        """The same by a formula that leaves skewness out; what is counted is as here.

        Nearer to what is exact is the one with it. Which of the two is too low hangs on the system.
        """
        fit = replace(self.fit, skewed=False, worked_out=self.fit.leverage)
        found = Likely(
            self.known, self.sums, self.tilt, self.top, fit, self._allowance, self.counts, ways=self.ways
        )
        found.exact, found._doubtful = self.exact, self._doubtful
        found.apart, found.heaped = self.apart, self.heaped
        return found

    @property
    def both(self) -> tuple[Likely, ...]:
        """This and `straight`, where they are not the same: a limit is held against each."""
        if not self.ways.skewness_benchmark_only:
            return (self.straight,)
        return (self,) if self.exact[1].all() else (self, self.straight)

    @cached_property
    def leverage(self) -> Floats:
        """(p,) of one record of each atom; 0 of nobody's, and where sums at their ends leave one value."""
        found = np.zeros(self.known.count)
        count = self.fit.observed.people
        moving = self.fit.variances[:count] > STILL
        found[self.fit.observed.atoms] = np.where(moving, self.fit.leverage[:count], 0.0)
        return found

    @cached_property
    def tilted(self) -> Floats:
        """(p, w) p⁰ of one record of each atom; 0 of nobody's."""
        return self._rows(np.arange(self.known.count), narrowed=False)

    def _rows(self, atoms: Ints, narrowed: bool) -> Floats:
        """(r, w) of some atoms: p⁰, or the bells that leverage makes of it; 0 of nobody's."""
        fit, seen = self.fit, self.fit.observed
        place = np.minimum(np.searchsorted(seen.atoms, atoms), seen.people - 1)
        own = seen.atoms[place] == atoms
        some = place[own]
        kappa, theta = np.zeros(len(some)), fit.theta[some]
        if narrowed:
            kappa, theta = stiffness(fit.leverage[some], fit.variances[some]), theta + fit.slope[some]
        found = np.zeros((len(atoms), self.tilt.windows.count))
        found[own] = rows_of(self.tilt, seen.low[some], seen.high[some], theta, fit.means[some], kappa)
        return found

    @cached_property
    def bits(self) -> Floats:
        """(p,) log2 of about how many tables the atoms that hang together have; ∞ where no sum is about them.

        By the saddle point: Σ H(p⁰) − ½ log2 det(1 + 2π H), over a component's records, slacks and sums; the
        1 is there because a whole number without variance is one number. With a prior it is how many tables
        that are alike it amounts to. Of clusters that are `apart` it is of their own sums alone.
        """
        found = self._bits(None)
        if self.apart.all:
            return found
        return np.where(self.apart.atoms, np.minimum(found, self._bits(self.apart.rows)), found)

    def _bits(self, rows: Flags | None) -> Floats:
        """(p,) by some sums, (k,), or all."""
        fit, seen, windows = self.fit, self.fit.observed, self.tilt.windows
        seen = seen if rows is None else seen.with_rows(rows)
        tilted, count = self.tilted[seen.atoms], seen.people
        entropies = np.empty(len(seen.sizes))
        entropies[:count] = -scipy.special.xlogy(tilted, tilted).sum(axis=1) + np.log(windows.width)
        if count < len(seen.sizes):
            slack = of_boxes(seen.low[count:], seen.high[count:])(fit.theta[count:])
            entropies[count:] = slack.logs - fit.theta[count:] * slack.means
        labels = seen.components
        total = np.bincount(labels, seen.sizes * entropies)
        of_row, held = _components_of_rows(seen), np.zeros(len(total), dtype=np.bool_)
        spread = covariance(seen.matrix, seen.sizes * fit.variances)
        for label in np.unique(of_row).tolist():
            some = np.flatnonzero(of_row == label)
            part = np.eye(len(some)) + 2 * np.pi * spread[np.ix_(some, some)]
            with alone():
                total[label] -= np.linalg.slogdet(part)[1] / 2
            held[label] = True
        found = np.full(self.known.count, np.inf)
        found[seen.atoms] = np.where(held, total / np.log(2), np.inf)[labels[:count]]
        return found

    @cached_property
    def reliable(self) -> Flags:
        """(p,) as `Likelihood.reliable`."""
        counted = self.exact[1]
        if counted.all():
            return counted
        found: Flags = counted | ((self.least_bits >= RELIABLE) & ~self.tangled)
        if not found[self.known.protected].all():
            found = counted | ((self.bits >= RELIABLE) & ~self.tangled)
        return found

    @cached_property
    def tangled(self) -> Flags:
        """(p,) of whom the formula does not know what is said: sums that they are in are no bell, or what
        attained extremes add to them was not found."""
        found = self.heaped.copy()
        if not self.fit.whole:
            labels = self.known.components
            told = np.concatenate([each.atoms for each in self.known.extremes])
            found |= np.isin(labels, labels[told])
        return found

    @cached_property
    def characters(self) -> Characters:
        """How much everybody hides."""
        fit = self.fit.of_sums or self.fit
        return Characters(fit.observed, fit.theta, self.tilt, self.top)

    @cached_property
    def heaped(self) -> Flags:
        """(p,) who is in sums, differences of two, or combinations modulo a prime, that are no bell: counted,
        or not told."""
        fit, found = self.fit.of_sums or self.fit, np.zeros(self.known.count, dtype=np.bool_)
        seen = fit.observed
        marked = in_heaps(self.characters, fit.variances)
        if self.ways.residues_benchmark_only:
            before = fit.variances if fit.before is None else fit.before
            marked |= left_by_residues(
                self.characters, before, lambda columns: self.formula_of(seen.atoms[columns])
            )
        found[seen.atoms] = marked[: seen.people]
        return found

    @cached_property
    def apart(self) -> Apart:
        """Clusters by themselves, without sums that many share and that tell little."""
        fit = self.fit.of_sums or self.fit
        if self.known.observed or not len(self.sums):
            return Apart.nothing(self.known, self.sums, fit.observed.matrix.shape[0])
        return Apart.of(self.known, self.sums, self.characters, fit.variances, fit.factor, fit.point)

    @cached_property
    def least_bits(self) -> Floats:
        """(p,) a bound of `bits` from below, without a row and without a determinant.

        H(p⁰) ≥ log Σ_u prior(u) exp(θ u) − θ μ − max log prior, and a determinant is at most the product of
        its diagonal (Hadamard).
        """
        found = self._least_bits(None)
        if self.apart.all:
            return found
        return np.where(self.apart.atoms, np.minimum(found, self._least_bits(self.apart.rows)), found)

    def _least_bits(self, some: Flags | None) -> Floats:
        """(p,) by some sums, (k,), or all."""
        fit, seen = self.fit, self.fit.observed
        seen = seen if some is None else seen.with_rows(some)
        entropies = fit.logs - fit.theta * fit.means
        if self.tilt.logs is not None:
            entropies[: seen.people] -= self.tilt.logs.max()
        total = np.bincount(seen.components, seen.sizes * np.maximum(entropies, 0.0))
        rows = scipy.sparse.csr_array(
            (seen.rows.data**2, seen.rows.indices, seen.rows.indptr), seen.rows.shape
        )
        spread = np.log1p(2 * np.pi * (rows @ (seen.sizes * fit.variances))) / 2
        of_row = _components_of_rows(seen)
        total -= np.bincount(of_row, spread, len(total))
        held = np.bincount(of_row, minlength=len(total)) > 0
        found = np.full(self.known.count, np.inf)
        found[seen.atoms] = np.where(held, total / np.log(2), np.inf)[seen.components[: seen.people]]
        return found

    @property
    def formula(self) -> Floats:
        """(p, w) by leverage, extremes mixed in."""
        return self.formula_of(np.arange(self.known.count))

    def formula_of(self, atoms: Ints) -> Floats:
        """(r, w) the same of some atoms."""
        if not len(atoms):
            return np.empty((0, self.tilt.windows.count))
        some, mixed_in = self._attaining
        place = np.minimum(np.searchsorted(some, atoms), max(len(some) - 1, 0))
        own = some[place] == atoms if len(some) else np.zeros(len(atoms), dtype=np.bool_)
        if own.all():
            return mixed_in[place]
        found = np.empty((len(atoms), self.tilt.windows.count))
        found[own], found[~own] = mixed_in[place[own]], self._rows(atoms[~own], narrowed=True)
        return found

    @cached_property
    def _attaining(self) -> tuple[Ints, Floats]:
        """Atoms that may attain an extreme which others might not, ascending, and their rows, (a, w)."""
        known, fit, seen = self.known, self.fit, self.fit.observed
        extremes = self._doubtful
        some = [known.able_atoms[each] for each in extremes]
        atoms = np.unique(np.concatenate([*some, np.zeros(0, dtype=np.int64)]))
        rows = self._rows(atoms, narrowed=True)
        if not len(atoms):
            return atoms, rows
        at = np.searchsorted(seen.atoms, atoms)
        kappa, turned = stiffness(fit.leverage[at], fit.variances[at]), fit.theta[at] + fit.slope[at]
        slopes = Ends(*(turned - kappa * (end[at] - fit.means[at]) for end in (seen.low, seen.high)))
        width = self.tilt.windows.width
        return atoms, mixed(known, extremes, atoms, seen.sizes[at], rows, width, slopes)

    @cached_property
    def _doubtful(self) -> list[Extreme]:
        """Answered extremes that might not be attained."""
        known, fit, seen = self.known, self.fit, self.fit.observed
        if not known.extremes:
            return []
        some = slice(0, seen.people)
        low, high, theta = seen.low[some], seen.high[some], fit.theta[some]
        plain, width = self.tilt.moments(low, high)(theta), self.tilt.windows.width
        kappa, slope = stiffness(fit.leverage[some], fit.variances[some]), fit.slope[some]
        own, chances = np.zeros(known.count, dtype=np.int64), np.zeros((2, known.count))
        own[seen.atoms] = seen.sizes[some]
        reach = np.maximum(fit.means[some] - low, high - fit.means[some])
        # what a bell makes of a value is at most as much as at its top
        most = np.minimum(np.abs(slope) * reach, slope**2 / (2.0 * np.maximum(kappa, np.finfo(float).tiny)))
        for place, end in enumerate((low, high)):
            away = end - fit.means[some]
            logs = theta * end - plain.logs + slope * away - 0.5 * kappa * away**2 - most
            if self.tilt.logs is not None:
                logs += self.tilt.logs[end // width]
            chances[place, seen.atoms] = np.exp(np.minimum(logs, 0.0))
        return doubtful(known, own, Ends(*chances))

    @cached_property
    def exact(self) -> tuple[Floats, Flags]:
        """(p, w) rows of the components that are counted, and (p,) which those are."""
        known, windows = self.known, self.tilt.windows
        rows, counted = np.zeros((known.count, windows.count)), np.zeros(known.count, dtype=np.bool_)
        if int(known.high.max()) + 1 > MOST_COUNTED or known.observed:
            return rows, counted  # what is observed with noise cannot be counted
        # of whom nothing was answered p⁰ is exact
        alone = np.ones(known.count, dtype=np.bool_)
        alone[self._tied] = False
        if alone.any():
            rows[alone], counted[alone] = self._rows(np.flatnonzero(alone), narrowed=False), True
        left = self.allowed(ALL_STEPS)
        for atoms in self._small if self.ways.counting_benchmark_only else ():
            found = self._counted(atoms, left)
            for atom, p in zip(atoms.tolist(), found or (), strict=False):
                rows[atom] = windows.gathered(np.arange(known.low[atom], known.high[atom] + 1), p)
                counted[atom] = True
            if left.over:
                break
        return rows, counted

    def allowed(self, steps: float) -> Allowance:
        """So many steps, or what there is."""
        return Allowance(min(steps, self._allowance.steps), self._allowance.until)

    @property
    def counted_components(self) -> list[Ints]:
        """Atoms of the components that are counted and of which answers tell something."""
        counted = self.exact[1]
        return [atoms for atoms in self._small if counted[atoms].all()] if counted.any() else []

    def counted_units(self, atoms: Ints) -> list[Floats]:
        """By atom of a counted component, probabilities over the units of its box."""
        return self._aside(atoms, None, UNLIMITED)

    def counted_aside(self, atoms: Ints, aside: Aside, left: Allowance) -> list[Floats]:
        """The same of all others, where one record has so many units.

        Raises:
            OutOfTime: too much to be counted with what may be spent, or no table has that.
        """
        return self._aside(atoms, aside, left)

    def name_of(self, atoms: Ints, aside: Aside | None = None) -> bytes:
        """One name for components that are counted alike."""
        near = self.apart
        return name_of(near.known, near.sums, atoms, aside, None if near.all else near.tilts)

    def _aside(self, atoms: Ints, aside: Aside | None, left: Allowance) -> list[Floats]:
        near = self.apart
        return self.counts.of(
            self.name_of(atoms, aside),
            left,
            lambda part: of_component(near.known, near.sums, atoms, part, self._odds(atoms), aside),
        )

    def _odds(self, atoms: Ints) -> list[Floats] | None:
        """By atom, how likely each unit of its box is before the sums that are left; None where
        all are alike."""
        logs, tilts, known = self.tilt.logs, self.apart.tilts[atoms], self.known
        if logs is None and not tilts.any():
            return None
        found = []
        for atom, tilt in zip(atoms.tolist(), tilts.tolist(), strict=True):
            units = np.arange(known.low[atom], known.high[atom] + 1)
            each = tilt * units
            if logs is not None:
                each = each + logs[units // self.tilt.windows.width]
            found.append(np.exp(each - each.max()))
        return found

    def _counted(self, atoms: Ints, left: Allowance) -> list[Floats] | None:
        """Of one component; None where it costs too much."""
        steps = STEPS * (MORE if self.bits[atoms].min() < FEW_BITS else 1)
        part = Allowance(min(steps, left.steps), left.until)
        begun, found = part.steps, None
        with contextlib.suppress(OutOfTime):
            found = self._aside(atoms, None, part)
        left.spend(begun - part.steps + FOR_EACH)
        return found

    @cached_property
    def _tied(self) -> Ints:
        """Atoms that a sum or an extreme is about."""
        known = self.known
        tied = self._summed.copy()
        for each in known.extremes:
            tied[each.atoms] = True
        return np.flatnonzero(tied)

    @cached_property
    def _summed(self) -> Flags:
        """(p,) whom a sum is about."""
        return np.array(self.known.matrix.any(axis=0), dtype=np.bool_)

    @property
    def _small(self) -> list[Ints]:
        """Components that are worth counting, and little work."""
        known = self.apart.known
        labels = known.components
        count = int(labels.max()) + 1
        telling = np.zeros(count, dtype=np.bool_)
        seen = self.fit.observed
        telling[labels[seen.atoms[self.fit.leverage[: seen.people] > LITTLE]]] = True
        telling[labels[self.heaped]] = True
        for each in known.extremes:
            telling[labels[each.atoms]] = True
        room = np.bincount(labels, known.sizes * (known.high - known.low + 1), count)
        wanted = telling & (room <= MOST_UNITS)
        some = self._tied[(wanted[labels] & self.apart.atoms)[self._tied]]
        some = some[np.argsort(labels[some], kind="stable")]
        found = []
        for atoms in np.split(some, np.flatnonzero(np.diff(labels[some])) + 1):
            rows = int(known.matrix[:, atoms].any(axis=1).sum())
            if not rows and not self.apart.all and self._summed[atoms].any():
                continue  # what is said of them is said by sums that are left out
            if len(atoms) and len(atoms) - rows <= MOST_FREE and len(atoms) * rows <= MOST_ENTRIES:
                found.append(atoms)
        return found

    @cached_property
    def rows(self) -> Floats:
        """(p, w) the posterior of one record of each atom."""
        exact, counted = self.exact
        if counted.all():
            return exact
        return np.where(counted[:, None], exact, self.formula)

    @cached_property
    def plain(self) -> Flags:
        """(p,) whose row is the formula's, with no extreme mixed in."""
        found: Flags = ~self.exact[1]
        for each in self._doubtful:
            found[self.known.able_atoms[each]] = False
        return found

    def rows_of(self, atoms: Ints) -> Floats:
        """(r, w) the posterior of one record of each of some atoms."""
        exact, counted = self.exact
        counted, found = counted[atoms], np.empty((len(atoms), self.tilt.windows.count))
        found[counted] = exact[atoms[counted]]
        found[~counted] = self.formula_of(atoms[~counted])
        return found

    def all(self, size: int) -> Likelihood:
        """Everything, for the first `size` records."""
        return Likelihood(
            self.known.atoms.labels[:size],
            self.tilt.windows.values,
            self.rows,
            self.tilted,
            self.leverage,
            self.exact[1],
            self.bits,
            np.zeros_like(self.exact[1]) if self.exact[1].all() else self.tangled,
        )


def _components_of_rows(seen: Observations) -> Ints:
    """(k,) the component that each sum is about."""
    first = seen.rows.indices[np.minimum(seen.rows.indptr[:-1], max(seen.rows.nnz - 1, 0))]
    found: Ints = seen.components[first]
    return found
