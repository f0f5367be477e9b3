"""What if these were answered? Likelihood after hypothetical answers, from what is kept of the past ones.

Of new sums the factor of the past ones is kept: their rows are added as a border (`leverage.Border`), so
leverage is worked out once for all hypothetical answers, and an answer only moves λ: some chord steps, each
with the bordered factor in place of a new one. The slack of an end is far from where it was before the
answer, so there they begin where one equation in the new sum's λ says. Where they do not lead there, where
variances have changed by more than `CHANGED`, and where an extreme is asked, which changes boxes, it is
worked out anew.

Promise: expected sums are right to `CLOSE` of their standard deviations either way. Leverage that is not
worked out anew is that of the variances before the answers.

Source: `mathematics.md`, 7 (cost).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from cae_sql.cached import cached_property
from cae_sql.inference.allowance import UNLIMITED, Allowance
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Query
from cae_sql.inference.facts.rank import coefficients_of
from cae_sql.inference.facts.spares import with_spares
from cae_sql.inference.intervals.interior import sparse_columns
from cae_sql.inference.posterior.attaining import Attaining, with_attained
from cae_sql.inference.posterior.bell import STILL
from cae_sql.inference.posterior.leverage import Border, Factor
from cae_sql.inference.posterior.likely import Fit, Likely, moments_of
from cae_sql.inference.posterior.noisy import Layout, with_observed
from cae_sql.inference.posterior.observations import Observations, observations
from cae_sql.inference.posterior.tilt import of_boxes
from cae_sql.inference.posterior.weights import Floats, Ints
from cae_sql.inference.posterior.windows import Tilt

CHORDS = 8
"""Steps with a kept factor, at most; each needs every column's moments, as one of Newton's does."""
CLOSE = 1e-6
"""Standard deviations of the sums by which expected ones may be off."""
HALVED = 60
"""How often the interval of an end's λ is halved: to the digits that floats have."""
CHANGED = 1.1
"""Factor by which variances may have changed before leverage is worked out anew: h/(1 − h) is then off by
less than its square. An answer moves few records' variances by so much in a large system; in a small one a
new factor costs nothing."""


class Asked:
    """Some queries, and what answers to them would make likely."""

    def __init__(self, past: Likely, queries: Sequence[Query]) -> None:
        """Work out nothing yet.

        Args:
            past: What is likely after all past answers.
            queries: In the order in which they would be answered.
        """
        self.queries, self._past = list(queries), past
        self._laid: tuple[scipy.sparse.csc_array, Layout] | None = None

    def given(self, values: Sequence[int], allowance: Allowance = UNLIMITED) -> Likely:
        """What would be likely with these answers too.

        Args:
            values: One answer for each query, in units.
            allowance: What may be spent; nothing more is tried beyond it.

        Raises:
            InconsistentAnswers, InvalidInput, OutOfTime: as `Likely.fit`.
        """
        known, sums = self._refined.answered(self.queries, values, self._past.sums)
        if self._widened is not None:
            fit = self._widened.fit(values, self._past.tilt, allowance)
        else:
            seen, tilt = observations(known, sums), self._past.tilt
            fit = Fit.of(seen, tilt, None, allowance, Attaining.of(known, seen, tilt))
        fit = with_observed(fit, known, self._past.tilt, self._layout(fit.observed, known))
        return Likely(
            known,
            sums,
            self._past.tilt,
            self._past.top,
            fit,
            allowance,
            self._past.counts,
            ways=self._past.ways,
        )

    def _layout(self, seen: Observations, known: Knowledge) -> Layout | None:
        """Of what is observed: the same for all answers, where they leave the rows of sums as they are."""
        if not known.observed or self._widened is None:
            return None
        if self._laid is None or self._laid[0] is not seen.matrix:
            self._laid = seen.matrix, Layout.of(seen, known.observed, known.count)
        return self._laid[1]

    def apart(self) -> Asked:
        """The same queries, with nothing kept of the answers to them that were looked at.

        What hangs on the queries alone is the same, and what was counted, which costs the same again.
        """
        found = Asked(self._past, self.queries)
        vars(found).update(
            {name: vars(self)[name] for name in ("_refined", "_widened") if name in vars(self)}
        )
        return found

    @property
    def known(self) -> Knowledge:
        """The parts that past answers and these queries make, before anything of the answers is known."""
        return self._refined.known

    @cached_property
    def _refined(self) -> _Refined:
        return _Refined.of(self._past.known, self.queries, self._past.top)

    @cached_property
    def _widened(self) -> _Widened | None:
        if any(query.kind not in ("sum", "about", "squares") for query in self.queries):
            return None
        past = self._past.fit.of_sums or self._past.fit
        return _Widened.of(past, self._past.known, self._refined, self._past.tilt) if past.whole else None


@dataclass(frozen=True, eq=False)
class _Refined:
    """Past knowledge over the parts that queries make."""

    known: Knowledge
    """With all rows of sums, past and new: a new one may follow from others."""
    fresh: int
    """How many rows are new."""

    @classmethod
    def of(cls, past: Knowledge, queries: Sequence[Query], top: int) -> _Refined:
        spares = with_spares(len(past.atoms.labels), queries) - len(past.atoms.labels)
        fine = (past.grown(spares, top) if spares else past).refined(queries)
        sums = [query for query in queries if query.kind == "sum"]
        if sums:
            fine = replace(fine, matrix=np.vstack([fine.matrix, coefficients_of(fine.atoms, sums)]))
        return cls(fine, len(sums))

    def answered(self, queries: Sequence[Query], values: Sequence[int], past: Ints) -> tuple[Knowledge, Ints]:
        """With answers, and the right-hand sides of all sums."""
        known, added = self.known, list[int]()
        for query, value in zip(queries, values, strict=True):
            if query.kind == "sum":
                added.append(value)
            elif query.kind in ("about", "squares"):
                known = known.observing([query])
            else:
                known = known.with_extreme(query, value)
        return known, np.append(past, np.array(added, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class _Widened:
    """Observations and factor of the past with the rows of new sums, before they are answered."""

    past: Fit
    observed: Observations
    """Rows of the past, then new ones, whose right-hand sides are still 0."""
    border: Border
    variances: Floats
    """(q,) before the answers."""
    base: Floats
    """(q,) leverage before them."""
    image: Floats
    """(r, q) what their rows say of each column: see `leverage.Border.image`."""
    theta: Floats
    """(q,) with the λ of the past."""
    expected: Floats
    """(r,) the new sums by the λ of the past, slack left out."""
    offset: Ints
    """(r,) what is to be added to an answer so that slack counts from 0."""
    ends: Attaining | None
    """Extremes that were answered."""
    slacks: Ints
    """(r,) the column of each new sum's slack, -1 of one that is told exactly; empty where a new sum has more
    than one, or new sums hang together."""

    @classmethod
    def of(cls, past: Fit, before: Knowledge, refined: _Refined, tilt: Tilt) -> _Widened | None:
        """None where a new sum has the members of a range or an end that was answered: both are one row."""
        seen, known = past.observed, refined.known
        labels = known.atoms.labels
        spare = np.bincount(labels[known.atoms.real :], minlength=known.count)
        people = np.flatnonzero(known.sizes - spare)
        parent = np.zeros(known.count, dtype=np.int64)
        parent[labels[: len(before.atoms.labels)]] = before.atoms.labels
        column = np.zeros(before.count, dtype=np.int64)
        column[seen.atoms] = np.arange(seen.people)
        source = np.append(column[parent[people]], np.arange(seen.people, len(seen.sizes)))
        fresh = known.matrix[len(known.matrix) - refined.fresh :]
        rows = sparse_columns(fresh[:, people])
        mine = np.unique(labels[len(before.atoms.labels) :])  # spare records of these queries
        if (spare > 0).any() and _shared(seen.rows, rows.tocsr(), source, len(people)):
            return None
        signs = fresh[:, mine].astype(np.int64)
        if (np.abs(signs).sum(axis=0) != 1).any() or np.abs(fresh[:, spare > 0]).sum() != len(mine):
            return None  # spare records that several sums share, or that are like somebody
        width = known.sizes[mine] * (known.high[mine] - known.low[mine])
        offset = np.zeros(refined.fresh, dtype=np.int64)
        of_slack = np.nonzero(signs.T)[1]  # the new sum of each
        np.add.at(offset, of_slack, np.where(signs.sum(axis=0) < 0, width, 0))
        old = seen.matrix[:, source]
        slack = scipy.sparse.csc_array(np.abs(signs).astype(np.float64))
        nothing = scipy.sparse.csc_array((refined.fresh, len(seen.sizes) - seen.people))
        new = scipy.sparse.hstack([rows, nothing, slack]).tocsc()
        old = scipy.sparse.hstack([old, scipy.sparse.csc_array((old.shape[0], len(mine)))]).tocsc()
        zeros = np.zeros(len(mine), dtype=np.int64)
        observed = Observations(
            scipy.sparse.vstack([old, new]).tocsc(),
            np.append(seen.sums, np.zeros(refined.fresh, dtype=np.int64)),
            np.concatenate([(known.sizes - spare)[people], seen.sizes[seen.people :], zeros + 1]),
            np.concatenate([seen.low[source], zeros]),
            np.concatenate([seen.high[source], width]),
            people,
        )
        variances = np.append(past.variances[source], width * (width + 2) / 12)
        weighed = new * (observed.sizes * variances)
        border = past.factor.bordered((old @ weighed.T).toarray(), (new @ weighed.T).toarray())
        if not np.diag(border.root).all():
            return None  # a sum that follows from others: what is worked out anew leaves it out
        base, theta, means = (
            np.append(each[source], np.zeros(len(mine))) for each in (past.leverage, past.theta, past.means)
        )
        image, expected = border.image(old, new), new @ (observed.sizes * means)
        ends = Attaining.of(known, observed, tilt)
        slacks = np.full(refined.fresh, -1)
        slacks[of_slack] = len(people) + len(seen.sizes) - seen.people + np.arange(len(mine))
        if (
            len(mine) > np.count_nonzero(slacks >= 0)
            or border.root[~np.eye(len(slacks), dtype=np.bool_)].any()
        ):
            slacks = slacks[:0]
        return cls(past, observed, border, variances, base, image, theta, expected, offset, ends, slacks)

    @cached_property
    def leverage(self) -> Floats:
        """(q,) with the new sums."""
        gained = self.variances * np.einsum("ij,ij->j", self.image, self.image)
        found: Floats = np.clip(self.base + gained, 0.0, 1.0)
        return found

    def _begun(self, new: Ints) -> tuple[_Widened, Floats]:
        """Where λ is looked for first, (k,), and this with the variance that slack has there.

        Of ends that hang on nothing together: with the past sums kept an end's λ moves its sum by the
        variance that these leave it, and its slack as a box moves.

        Args:
            new: (r,) right-hand sides of the new sums.
        """
        rows = np.flatnonzero(self.slacks >= 0)
        points, total = np.zeros(len(new)), 1.0 / np.diag(self.border.root)[rows] ** 2
        slacks = self.slacks[rows]
        width = self.observed.high[slacks]
        moves = total - self.variances[slacks]
        if not len(rows) or (moves <= STILL).any():
            return self, np.append(self.past.point, points)
        lacking, of_slack = new[rows] - self.expected[rows], of_boxes(np.zeros_like(width), width)
        # slack is between 0 and its width; a unit more to both sides, for rounding
        low, high = (lacking - width - 1) / moves, (lacking + 1) / moves
        for _ in range(HALVED):
            middle = (low + high) / 2
            over = moves * middle + of_slack(middle).means > lacking
            low, high = np.where(over, low, middle), np.where(over, middle, high)
        points[rows] = (low + high) / 2
        left = moves + of_slack(points[rows]).variances
        root, image, variances = self.border.root.copy(), self.image.copy(), self.variances.copy()
        root[rows, rows], image[rows] = 1.0 / np.sqrt(left), image[rows] * np.sqrt(total / left)[:, None]
        variances[slacks] = left - moves
        start = np.append(self.past.point - self.border.weights @ points, points)
        border = replace(self.border, root=root)
        return replace(self, border=border, variances=variances, image=image), start

    def fit(self, values: Sequence[int], tilt: Tilt, allowance: Allowance) -> Fit:
        """λ for these answers, by chord steps, or by Newton's where those do not lead there."""
        known = len(self.past.point)
        new = np.array(values, dtype=np.int64) + self.offset
        observed = self.observed.with_sums(np.append(self.observed.sums[:known], new))
        plain = moments_of(observed, tilt)
        moments = with_attained(self.ends, plain)
        here, point = self._begun(observed.sums[known:])
        theta, last = self.theta if here is self else observed.matrix.T @ point, np.inf
        for _ in range(CHORDS + 1):
            now = moments(theta)
            off = observed.matrix @ (observed.sizes * now.means) - observed.sums
            step = np.concatenate(here.border.solve(off[:known], off[known:]))
            decrement = float(off @ step)
            if not decrement <= last / 2:
                return self._anew(observed, tilt, allowance, point)
            if decrement <= CLOSE**2:
                break
            last = decrement
            point = point - step
            theta = observed.matrix.T @ point
        else:
            return self._anew(observed, tilt, allowance, point)
        ratio = (now.variances + TINY) / (here.variances + TINY)
        off = float(np.sqrt(max(decrement, 0.0)))
        found = Fit(
            *(observed, point, off, theta, now.means, now.variances, now.logs),
            *(here.border.factor, tilt, here.leverage),
            before=self.variances,
        )
        if max(ratio.max(initial=1.0), 1 / ratio.min(initial=1.0)) <= CHANGED:
            return found
        factor = Factor.of(observed.matrix, observed.sizes * now.variances)
        found = replace(found, factor=factor, worked_out=None)
        if self.ends is None:
            return found
        return replace(found, worked_out=found.beside(self.ends.shared(theta, plain(theta))))

    def _anew(self, observed: Observations, tilt: Tilt, allowance: Allowance, start: Floats) -> Fit:
        found = Fit.of(observed, tilt, start, allowance, self.ends)
        return replace(found, before=self.variances)


ALIKE = 1e-9
"""Part of a weighted sum over a row that is rounding."""
TINY = 1e-6
"""Variance in units² that is none: who has so little is not made likelier by ratios of it."""


def _shared(old: scipy.sparse.csr_array, new: scipy.sparse.csr_array, source: Ints, people: int) -> bool:
    """Whether a new row is one of the old ones, as far as people go: of those that add up alike."""
    weights = np.random.default_rng(0).random(people)
    past, fresh = old @ np.bincount(source[:people], weights, old.shape[1]), new @ weights
    near = np.abs(past[:, None] - fresh) <= ALIKE * (1.0 + np.abs(fresh))
    return any(
        np.array_equal(old[[row]].toarray()[0, source[:people]], new[[other]].toarray()[0])
        for row, other in zip(*np.nonzero(near), strict=True)
    )
