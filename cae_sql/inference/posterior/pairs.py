"""The most that any insider's value makes of somebody: over all pairs, and by what is known of pairs.

With z_i = √σ_i² R a_i, H⁻¹ = Rᵀ R, an insider j adds V_ij² / V_jj = (z_i z_j)² / V_jj to somebody's
leverage, and shifts the mean by |V_ij| / V_jj times how far off j's value may be (`insiders`). The greatest
of both over all j takes a product of two matrices.

A question's rows are a border to the factor (`leverage.Border`): with g_i what they say of i,

    a_i H'⁻¹ a_j = a_i H⁻¹ a_j + g_i g_j.

Where answers change variances so much that the factor is worked out anew, to G' from G = H'⁻¹, with
Δ = Σ w_l a_l a_lᵀ between both covariances, G' = G − G Δ G', so

    |a_i G' a_j| ≤ |a_i G a_j| + √q_i √q'_j,    q_i = Σ |w_l| (a_i G a_l)²,    q'_j = Σ |w_l| (a_j G' a_l)²,

which is little beside a_i G a_j for whoever has little to do with those whose variances change. So the
greatest over j after the question is at most the greatest before it, times what each j's own part may have
grown by, and |g_i| times the greatest |g_j|, and √q_i times the greatest √q'_j. The few who would spoil that
for everybody are looked at by themselves. One look at all pairs serves all answers to all questions until one
is told.

Source: `mathematics.md`, 7 (insiders); the bounds by a border and by Δ are this project's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference.posterior.bell import STILL
from cae_sql.inference.posterior.leverage import Factor, covariance, exactly
from cae_sql.inference.posterior.likely import Changed, Fit
from cae_sql.inference.posterior.weights import Floats, Ints
from cae_sql.threads import alone as on_one_thread
from cae_sql.threads import in_two

Singles = NDArray[np.float32]

SAME = 1e-9
"""V_jj below which j's value was known before he said it: it tells nothing."""
HALF_AS_LONG = 2.0**-23
"""What rounding to floats of 32 bits may add to 1, twice."""
HELD = 4_000_000
"""Numbers of insiders' rows that are held at once."""
BLOCK = 100_000
"""Pairs that are looked at at once: what the processor holds near."""
MOST_PAIRS = 200_000_000
"""Pairs that are looked at for later questions: a second's work with a hundred sums."""
MOST_PEOPLE = 50_000
"""Of more it costs less to look at the few anew."""
GROWN = 64
"""Insiders whose part grew most, who are looked at by themselves."""


@dataclass(frozen=True, eq=False)
class Given:
    """What an insider's value makes of one record: for `insiders.narrowed`. Arrays of one shape."""

    leverage: Floats
    """h'."""
    shift: Floats
    """δ, in units."""


@dataclass(frozen=True, eq=False)
class _Telling:
    """What insiders' values tell. Shapes: a columns of somebody."""

    part: Floats
    """(a,) 1 / √V_jj; 0 of whom nothing is told."""
    deviation: Floats
    """(a,) σ_j."""
    apart: Floats
    """(a,) how far off j's value may be, in terms of σ_j √V_jj."""

    @classmethod
    def of(cls, fit: Fit, values: Floats) -> _Telling:
        count = fit.observed.people
        left, variances = 1.0 - fit.leverage[:count], fit.variances[:count]
        telling = (left > SAME) & (variances > STILL)
        part = np.where(telling, 1.0 / np.sqrt(np.where(telling, left, 1.0)), 0.0)
        deviation = np.sqrt(np.where(telling, variances, 1.0))
        away = np.abs(values[:count] - fit.means[:count, None]).max(axis=1, initial=0.0)
        return cls(part, deviation, part * away / deviation)


@dataclass(frozen=True, eq=False)
class _Greatest:
    """Of some columns i, (r,) each, in terms of σ_i."""

    between: Floats
    """The greatest |V_ij| / √V_jj over all insiders j."""
    shift: Floats
    """The greatest of the same times how far off j may be."""


def greatest_given(fit: Fit, columns: Ints, values: Floats) -> Given:
    """(r,) each of some columns: the greatest h' and the greatest |δ| over all insiders and values (q, m).

    As `insiders.given` has them pair by pair, but the two may be of different insiders. In floats of 32 bits,
    which take half the time, and greater by as much as these may be off.
    """
    people = np.arange(fit.observed.people)
    return _made(fit, columns, _over(fit, columns, people, _Telling.of(fit, values)))


def _made(fit: Fit, columns: Ints, found: _Greatest) -> Given:
    own, deviation = fit.leverage[columns], np.sqrt(fit.variances[columns])
    gain = np.minimum((deviation * found.between) ** 2, 1.0 - own)
    return Given(own + gain, fit.variances[columns] * found.shift + np.abs(fit.shift[columns]))


def _over(fit: Fit, columns: Ints, insiders: Ints, telling: _Telling) -> _Greatest:
    """Of some columns, over some insiders, (s,) ascending columns of somebody."""
    seen, variances = fit.observed, fit.variances
    found, height = np.zeros((2, len(columns))), len(fit.factor.root)
    wide = max(1, HELD // max(height, 1))
    step = max(1, BLOCK // max(min(len(insiders), wide), 1))
    mine, longest = np.empty((height, len(columns)), dtype=np.float32), 0.0
    off, single = np.empty(len(columns)), seen.sizes[columns] == 1

    def images(some: Ints) -> Floats:
        """(k, s) what a_i H⁻¹ a_j is a product of two of."""
        held: Floats = fit.factor.root @ seen.matrix[:, some].toarray()
        return held

    def compare(block: Ints, told: Singles, far: Singles, start: int, end: int) -> None:
        for first in range(start, end, step):
            each = slice(first, min(first + step, end))
            # |V_ij| / √V_jj but for σ_i
            between = np.abs(mine[:, each].T @ told)
            at = np.minimum(np.searchsorted(block, columns[each]), len(block) - 1)
            here = np.flatnonzero(single[each] & (block[at] == columns[each]))
            between[here, at[here]] = 0.0
            found[0, each] = np.maximum(found[0, each], between.max(axis=1, initial=0.0))
            between *= far
            found[1, each] = np.maximum(found[1, each], between.max(axis=1, initial=0.0))

    with on_one_thread():
        for first in range(0, len(columns), wide):
            held = images(columns[first : first + wide])
            mine[:, first : first + wide] = held
            off[first : first + wide] = np.sqrt((held**2).sum(axis=0))
        for start in range(0, len(insiders), wide):
            block = insiders[start : start + wide]
            told = images(block) * (np.sqrt(variances[block]) * telling.part[block])
            longest = max(longest, float((told**2).sum(axis=0).max(initial=0.0)))
            work = partial(compare, block, told.astype(np.float32), telling.apart[block].astype(np.float32))
            in_two(work, len(columns), len(block))
    off *= (height + 4) * HALF_AS_LONG * np.sqrt(longest)
    return _Greatest(found[0] + off, found[1] + 2 * off * telling.apart[insiders].max(initial=0.0))


class KeptPairs:
    """What all pairs of some answers' fit say, for questions asked after them."""

    def __init__(self, fit: Fit, values: Floats) -> None:
        """Look at no pair yet.

        Args:
            fit: Of the past answers.
            values: (q, m) for each of its columns the values that an insider may have, in units.
        """
        self._fit, self._telling = fit, _Telling.of(fit, values)
        # NaN of whom no pair was looked at
        self._between, self._shift = np.full((2, fit.observed.people), np.nan)

    def bounds(self, fit: Fit, columns: Ints, values: Floats) -> Given | None:
        """(r,) bounds of `greatest_given` after a question, without a look at all pairs.

        Args:
            fit: With the question's answer.
            columns: (r,) of somebody.
            values: (q, m) as `greatest_given`.

        Returns:
            None where the fit is of other queries than the past ones and a question's, where something is
            observed with noise or sums are nearly dependent, and where pairs are too many.
        """
        added = fit.added
        if added is None or added.past is not self._fit or fit.of_sums is not None:
            return None
        if not len(columns) or fit.observed.people > MOST_PEOPLE:
            return None
        factors = [fit.factor] if added.changed is None else [fit.factor, added.changed.factor]
        if any(np.triu(each.root, 1).any() for each in factors):
            return None  # of rows that are nearly dependent: no inverse, but a bound of one
        source = added.source[columns]
        if not self._looked(np.unique(source)):
            return None
        telling, before, of_insiders = _Telling.of(fit, values), self._telling, added.source
        # w_j = σ_j / √V_jj, before and now: what |V_ij| / √V_jj has of j besides a_i H⁻¹ a_j
        was = before.part[of_insiders] * before.deviation[of_insiders]
        now = telling.part * telling.deviation
        was_far, far = was * before.apart[of_insiders], now * telling.apart
        with np.errstate(divide="ignore", invalid="ignore"):
            grown, grown_far = (
                np.where(new > 0, new / old, 0.0) for new, old in ((now, was), (far, was_far))
            )
        image = np.sqrt((added.image[:, : len(now)] ** 2).sum(axis=0))
        mine, theirs = _moved(fit, added.changed, columns)
        spoiling = np.maximum(np.maximum(grown, grown_far) - 1.0, 0.0) + (image + theirs) * now
        order = np.argsort(-spoiling, kind="stable")
        apart, rest = np.sort(order[:GROWN]), order[GROWN:]
        some = _over(fit, columns, apart, telling)
        found = list[Floats]()
        for kept, more, part, exact in (
            (self._between, grown, now, some.between),
            (self._shift, grown_far, far, some.shift),
        ):
            most = more[rest].max(initial=0.0)
            bound = kept[source] * most if np.isfinite(most) else np.full(len(columns), np.inf)
            bound += image[columns] * (image * part)[rest].max(initial=0.0)
            bound += mine * (theirs * part)[rest].max(initial=0.0)
            found.append(np.maximum(bound, exact))
        return _made(fit, columns, _Greatest(*found))

    def _looked(self, columns: Ints) -> bool:
        """Whether all pairs of some columns of the past fit are known: now, if they are not too many."""
        missing = columns[np.isnan(self._between[columns])]
        people = self._fit.observed.people
        if len(missing) * people > MOST_PAIRS:
            return False
        if len(missing):
            found = _over(self._fit, missing, np.arange(people), self._telling)
            self._between[missing], self._shift[missing] = found.between, found.shift
        return True


def _moved(fit: Fit, changed: Changed | None, columns: Ints) -> tuple[Floats, Floats]:
    """√q_i of some columns, (r,), and √q'_j of everybody, (a,): 0 where the factor is the past one's."""
    people = fit.observed.people
    if changed is None:
        return np.zeros(len(columns)), np.zeros(people)
    matrix = fit.observed.matrix
    with on_one_thread():
        spread = covariance(matrix, np.abs(changed.weights))
        scale = np.sqrt(np.diag(spread))
        part = np.where(scale > 0, 1.0 / np.where(scale > 0, scale, 1.0), 0.0)
        values, vectors = np.linalg.eigh(spread * part * part[:, None])
        root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T * scale
        before, after = (root @ (each.root.T @ each.root) for each in (changed.factor, fit.factor))
    # sums of squares: what is little beside what it is the difference of keeps its digits
    return (
        np.sqrt(exactly(matrix, Factor(before), columns)),
        np.sqrt(exactly(matrix, Factor(after), np.arange(people))),
    )
