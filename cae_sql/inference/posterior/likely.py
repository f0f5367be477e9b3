"""What answers make likely: the posterior of every record, all tables that agree with them alike (or weighed
by a public prior).

Small components are counted: exact (`components`). Elsewhere a record's tilted distribution is narrowed by
its leverage (`fit`, `bell`), and answered extremes are a mixture over the records that may attain them
(`attained`). Sums that are no bell (`heaps`), or that leave few people modulo a small prime (`residues`), are
counted, or not relied upon. Everything is by atoms: records that no answer tells apart are alike.

Promise: it hangs on answers, domain and prior alone, and on no clock.

Source: `mathematics.md`, 7.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from cae_sql.cached import cached_property
from cae_sql.errors import OutOfTime
from cae_sql.inference.allowance import UNLIMITED, Allowance
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Query
from cae_sql.inference.facts.rank import coefficients_of
from cae_sql.inference.facts.spares import with_spares
from cae_sql.inference.posterior.apart import LITTLE, Apart
from cae_sql.inference.posterior.bell import STILL, stiffness
from cae_sql.inference.posterior.components import Aside, Component, Counts, gathered
from cae_sql.inference.posterior.fit import Fit
from cae_sql.inference.posterior.heaps import Characters, in_heaps
from cae_sql.inference.posterior.leverage import Observations
from cae_sql.inference.posterior.noisy import with_observed
from cae_sql.inference.posterior.residues import left_by_residues
from cae_sql.inference.posterior.tilt import Tilt
from cae_sql.inference.posterior.weights import Flags, Floats, Ints
from cae_sql.inference.ways import ALL, Ways

MOST_UNITS = 20_000
"""Records times values of a component that is counted: beyond it a convolution takes long."""
MOST_FREE, MOST_ENTRIES = 24, 4_000
"""Atoms that a component's sums leave open, and atoms times sums, up to which it is counted."""
STEPS, ALL_STEPS = 400_000, 8_000_000
"""Steps from a state to another for one component, for all of them: a tenth of a second, a second or two."""
RELIABLE = 10.0
"""Bits of tables from which the formula is relied upon. Of 20 records of 0/1 its risk was too low by at most
0.005 in systems of 37 to 1,272 tables, by up to 0.23 in such of 14 to 180; others have other lattices."""
FOR_EACH = 1_000
"""Steps that a component costs at least."""


@dataclass(eq=False)
class Likely:
    """What some answers make likely, worked out as it is asked for. Shapes: p atoms, w windows; of atoms that
    are nobody's figures mean nothing."""

    known: Knowledge
    """Boxes, extremes, and the matrix of the independent sums."""
    sums: Ints
    """(k,) their right-hand sides."""
    tilt: Tilt
    """Prior, and windows in which values are gathered."""
    top: int
    """Greatest value of a record, in units."""
    fitted: Fit | None = None
    """Of the same sums, where it is known."""
    allowance: Allowance = UNLIMITED
    """What may be spent."""
    counts: Counts = field(default_factory=Counts)
    """What was counted of components before; what is now is added."""
    ways: Ways = ALL
    before: Floats | None = None
    """(p,) σ² of one record before hypothetical answers: one search for residues serves them all."""

    @cached_property
    def fit(self) -> Fit:
        """The tilted model of what is answered and observed.

        Raises:
            InconsistentAnswers: two ends of one sum leave nothing between them.
            InvalidInput, OutOfTime: as `Fit.of_answers`.
        """
        if self.fitted is not None:
            return self.fitted
        found = Fit.of_answers(self.known, self.sums, self.tilt, self.allowance)
        return with_observed(found, self.known)

    @cached_property
    def straight(self) -> Likely:
        """The same by a formula without skewness, which is sometimes nearer; what is counted is as here."""
        found = replace(self, fitted=replace(self.fit, skewed=False, worked_out=self.fit.leverage))
        shared = ("exact", "apart", "heaped")
        vars(found).update({name: getattr(self, name) for name in shared})
        return found

    @property
    def both(self) -> tuple[Likely, ...]:
        """This and `straight`, where they are not the same: a limit is held against each."""
        if not self.ways.skewness_benchmark_only:
            return (self.straight,)
        return (self,) if self.counted.all() else (self, self.straight)

    @cached_property
    def leverage(self) -> Floats:
        """(p,) the share of a record's variance that the sums explain; 0 where nothing is left to explain."""
        fit, count = self.fit, self.fit.observed.people
        moving = fit.variances[:count] > STILL
        return self._by_atom(np.where(moving, fit.leverage[:count], 0.0), 0.0)

    def _by_atom(self, of_people: Floats, others: float) -> Floats:
        """(p,) of one record of each column of somebody; `others` of nobody's."""
        found = np.full(self.known.count, others)
        found[self.fit.observed.atoms] = of_people
        return found

    # --- the formula

    @cached_property
    def tilted(self) -> Floats:
        """(p, w) of greatest entropy with the answered expected sums: what is said of groups, and no more."""
        return self._rows(np.arange(self.known.count), narrowed=False)

    def _rows(self, atoms: Ints, narrowed: bool) -> Floats:
        """(r, w) of some atoms, as `Fit.rows`; 0 of nobody's."""
        seen = self.fit.observed
        place = np.minimum(np.searchsorted(seen.atoms, atoms), seen.people - 1)
        own = seen.atoms[place] == atoms
        found = np.zeros((len(atoms), self.tilt.windows.count))
        found[own] = self.fit.rows(place[own], narrowed)
        return found

    @property
    def formula(self) -> Floats:
        """(p, w) by leverage, extremes mixed in."""
        return self.formula_of(np.arange(self.known.count))

    def formula_of(self, atoms: Ints) -> Floats:
        """(r, w) the same of some atoms."""
        found, (some, mixed_in) = self._rows(atoms, narrowed=True), self._attaining
        own = np.isin(atoms, some)
        found[own] = mixed_in[np.searchsorted(some, atoms[own])]
        return found

    @cached_property
    def _attaining(self) -> tuple[Ints, Floats]:
        """Atoms that may attain an extreme which others might not, ascending, and their rows, (a, w)."""
        fit, seen = self.fit, self.fit.observed
        if fit.ends is None:
            return seen.atoms[:0], np.zeros((0, self.tilt.windows.count))
        at = np.unique(np.concatenate([some for _, some in fit.ends.extremes]))
        kappa, turned = stiffness(fit.leverage[at], fit.variances[at]), fit.theta[at] + fit.slope[at]
        slopes = turned - kappa * (np.stack([seen.low[at], seen.high[at]]) - fit.means[at])
        rows, some = fit.ends.mixed(at, fit.rows(at, narrowed=True), self.tilt.windows.width, slopes)
        return seen.atoms[at[some]], rows[some]

    # --- where the formula is relied upon

    @cached_property
    def bits(self) -> Floats:
        """(p,) log2 of about how many tables each component has at least; ∞ where no sum is about it.

        By the saddle point: Σ H(p⁰) − ½ log det(1 + 2π H), over a component's records, slacks and sums, where
        a determinant is at most the product of its diagonal (Hadamard); the 1 stands for a whole number
        without variance. With a prior it is how many tables alike it amounts to. Of clusters that are `apart`
        it is of their own sums alone.
        """
        fit, seen = self.fit, self.fit.observed
        entropies = fit.logs - fit.theta * fit.means
        if self.tilt.logs is not None:
            entropies[: seen.people] -= self.tilted[seen.atoms] @ self.tilt.logs
        found = self._bits(seen, entropies)
        if self.apart.all:
            return found
        own = self._bits(seen.with_rows(self.apart.rows), entropies)
        return np.where(self.apart.atoms, np.minimum(found, own), found)

    def _bits(self, seen: Observations, entropies: Floats) -> Floats:
        volumes = np.log1p(2 * np.pi * (seen.rows**2 @ (seen.sizes * self.fit.variances))) / 2
        labels = seen.components
        total = np.bincount(labels, seen.sizes * np.maximum(entropies, 0.0))
        # the component that each sum is about
        of_row = labels[seen.rows.indices[np.minimum(seen.rows.indptr[:-1], max(seen.rows.nnz - 1, 0))]]
        total -= np.bincount(of_row, volumes, len(total))
        held = np.bincount(of_row, minlength=len(total)) > 0
        return self._by_atom(np.where(held, total / np.log(2), np.inf)[labels[: seen.people]], np.inf)

    @cached_property
    def reliable(self) -> Flags:
        """(p,) whether a row is counted, or the formula may be relied upon: enough tables are left, sums are
        bells, and what attained extremes add to them was found."""
        counted = self.counted
        return counted if counted.all() else counted | ((self.bits >= RELIABLE) & ~self.tangled)

    @cached_property
    def tangled(self) -> Flags:
        """(p,) where the formula does not hold: sums are no bell, or what extremes add was not found."""
        found = self.heaped.copy()
        if not self.fit.whole:
            labels = self.known.components
            found |= np.isin(labels, labels[np.concatenate([each.atoms for each in self.known.extremes])])
        return found

    @cached_property
    def characters(self) -> Characters:
        """The characteristic functions of all records."""
        fit = self.fit.sums_alone
        return Characters(fit.observed, fit.theta, self.tilt, self.top)

    @cached_property
    def heaped(self) -> Flags:
        """(p,) records in sums, differences of two, or combinations modulo a prime that are no bell."""
        fit, found = self.fit.sums_alone, np.zeros(self.known.count, dtype=np.bool_)
        seen, marked = fit.observed, in_heaps(self.characters, fit.variances)
        if self.ways.residues_benchmark_only:
            before = fit.variances[: seen.people] if self.before is None else self.before[seen.atoms]
            marked |= left_by_residues(
                self.characters, before, lambda columns: self.formula_of(seen.atoms[columns])
            )
        found[seen.atoms] = marked[: seen.people]
        return found

    @cached_property
    def apart(self) -> Apart:
        """Clusters by themselves, without sums that many share and that tell little."""
        return Apart.of(self.known, self.sums, self.fit.sums_alone, self.characters)

    # --- what is counted

    @cached_property
    def exact(self) -> tuple[Floats, Flags]:
        """(p, w) rows of the components that are counted, and (p,) which those are."""
        known, windows = self.known, self.tilt.windows
        rows, counted = np.zeros((known.count, windows.count)), np.zeros(known.count, dtype=np.bool_)
        if known.observed:
            return rows, counted  # with noise
        # p⁰ is exact for records in no answer
        free = np.setdiff1d(np.arange(known.count), self._tied)
        rows[free], counted[free] = self._rows(free, narrowed=False), True
        left = self.allowed(ALL_STEPS)
        for atoms in self._small if self.ways.counting_benchmark_only else ():
            steps = min(STEPS, left.steps)
            part = Allowance(steps, left.until)
            with contextlib.suppress(OutOfTime):
                found = self.counted_units(atoms, None, part)
                rows[atoms], counted[atoms] = gathered(known, atoms, found, windows), True
            left.spend(steps - part.steps + FOR_EACH)
            if left.over:
                break
        return rows, counted

    def allowed(self, steps: float) -> Allowance:
        """So many steps, or what there is."""
        return Allowance(min(steps, self.allowance.steps), self.allowance.until)

    @property
    def counted_components(self) -> list[Ints]:
        """Atoms of the components that are counted and of which answers tell something."""
        counted = self.counted
        return [atoms for atoms in self._small if counted[atoms].all()] if counted.any() else []

    def counted_units(
        self, atoms: Ints, aside: Aside | None = None, left: Allowance = UNLIMITED
    ) -> list[Floats]:
        """By atom of a component, probabilities over the units of its box, besides the record put aside;
        `OutOfTime` where it is too much to be counted, or no table has that."""
        part = self.component(atoms, aside)
        return self.counts.of(part.name, left, partial(part.rows, self.tilt))

    def component(self, atoms: Ints, aside: Aside | None = None) -> Component:
        """What counting some atoms, besides the record put aside, needs."""
        near = self.apart
        return Component.of(near.known, near.sums, atoms, near.tilts, aside)

    @cached_property
    def _tied(self) -> Ints:
        """Atoms that a sum or an extreme is about."""
        extremes = [each.atoms for each in self.known.extremes]
        return np.unique(np.concatenate([*np.nonzero(self.known.matrix.any(axis=0)), *extremes]))

    @property
    def _small(self) -> list[Ints]:
        """Components that are worth counting, and little work."""
        known, seen = self.apart.known, self.fit.observed
        labels = known.components
        telling = np.zeros(int(labels.max()) + 1, dtype=np.bool_)
        telling[labels[seen.atoms[self.fit.leverage[: seen.people] > LITTLE]]] = True
        telling[labels[self.heaped]] = True
        for each in known.extremes:
            telling[labels[each.atoms]] = True
        room = np.bincount(labels, known.sizes * (known.high - known.low + 1), len(telling))
        wanted = telling & (room <= MOST_UNITS)
        some = self._tied[(wanted[labels] & self.apart.atoms)[self._tied]]
        some = some[np.argsort(labels[some], kind="stable")]
        found = []
        for atoms in np.split(some, np.flatnonzero(np.diff(labels[some])) + 1):
            rows = int(known.matrix[:, atoms].any(axis=1).sum())
            if not rows and not self.apart.all and self.known.matrix[:, atoms].any():
                continue  # what is said of them is said by sums that are left out
            if len(atoms) and len(atoms) - rows <= MOST_FREE and len(atoms) * rows <= MOST_ENTRIES:
                found.append(atoms)
        return found

    # --- what is said of everybody

    @property
    def labels(self) -> Ints:
        """(n,) the atom of each record, by which all figures are; lumps are behind the records."""
        return self.known.atoms.labels

    @property
    def counted(self) -> Flags:
        """(p,) whether a row is exact; else it is the formula's."""
        return self.exact[1]

    @cached_property
    def rows(self) -> Floats:
        """(p, w) the posterior of one record of each atom."""
        return self.rows_of(np.arange(self.known.count))

    def rows_of(self, atoms: Ints) -> Floats:
        """(r, w) the posterior of one record of each of some atoms."""
        exact, counted = self.exact[0][atoms], self.counted[atoms]
        if not counted.all():
            exact[~counted] = self.formula_of(atoms[~counted])
        return exact

    @cached_property
    def plain(self) -> Flags:
        """(p,) whose row is the formula's, with no extreme mixed in."""
        found: Flags = ~self.counted
        for each in self.both:
            found[each._attaining[0]] = False
        return found


class Asked:
    """Some queries, in the order in which they would be answered after all past ones, and what answers to
    them would make likely. What hangs on the queries alone is worked out once; nothing is kept of answers."""

    def __init__(self, past: Likely, queries: Sequence[Query]) -> None:
        self.queries, self._past = list(queries), past
        self._sums = [place for place, query in enumerate(queries) if query.kind == "sum"]

    def given(self, values: Sequence[int], allowance: Allowance = UNLIMITED) -> Likely:
        """What would be likely with these answers too, one for each query, in units.

        Raises:
            InconsistentAnswers, InvalidInput, OutOfTime: as `Likely.fit`.
        """
        past, known, added = self._past, self.known, [values[place] for place in self._sums]
        for query, value in zip(self.queries, values, strict=True):
            if query.kind in ("about", "squares"):
                known = known.observing([query])
            elif query.kind != "sum":
                known = known.with_extreme(query, value)
        sums = np.append(past.sums, np.array(added, dtype=np.int64))
        before = self._variances
        return replace(past, known=known, sums=sums, fitted=None, allowance=allowance, before=before)

    @cached_property
    def known(self) -> Knowledge:
        """The parts that past answers and these queries make, before anything of the answers is known, with
        all rows of sums, past and new: a new one may follow from others."""
        past, size = self._past.known, len(self._past.known.atoms.labels)
        spares = with_spares(size, self.queries) - size
        fine = (past.grown(spares, self._past.top) if spares else past).refined(self.queries)
        if not self._sums:
            return fine
        rows = coefficients_of(fine.atoms, [self.queries[place] for place in self._sums])
        return replace(fine, matrix=np.vstack([fine.matrix, rows]))

    @cached_property
    def _variances(self) -> Floats:
        """(p,) of one record of each part, before the answers."""
        past, labels, fit = self._past.known, self.known.atoms.labels, self._past.fit.sums_alone
        before, found = np.zeros(past.count), np.zeros(self.known.count)
        before[fit.observed.atoms] = fit.variances[: fit.observed.people]
        found[labels[: len(past.atoms.labels)]] = before[past.atoms.labels]
        return found
