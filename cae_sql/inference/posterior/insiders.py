"""What somebody who knows their own value, too, makes of everybody else's.

V = I − D Aᵀ H⁻¹ A D, D = diag(σ), is a projection: what the sums leave of the records' (scaled) differences
from their means. Given that record j has the value u, the share V_ii = 1 − h_i of i's variance that is left
becomes V_ii − V_ij² / V_jj, and the mean moves by regression. In terms of the formula of `bell`:

    h' = h_i + V_ij² / V_jj,    δ = (σ_i / σ_j) (V_ij / V_jj) (u − μ_j),
    p_i(v) ∝ p⁰_i(v) · exp(−½ κ' (v − μ_i − δ / h')²),    κ' = h' / ((1 − h') σ_i²).

Skewness (`bell`) is a shift too, ℓ (1 − h') σ_i², and added to δ. Risks are the greater of those with it and
without (`likely.Likely.both`).

Since V² = V, Σ_j V_ij² = V_ii, so V_ij² ≤ h_i (1 − h_i) / m for j one of m records alike, none of them i: and
likewise with i and j exchanged. So what an insider adds to somebody's leverage is at most

    min(h_j, h_i (1 − h_i) / (m (1 − h_j)), 1 − h_i),

which spares looking at nearly all pairs.

Source: `mathematics.md`, 7 (insiders).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cae_sql.domain import Domain
from cae_sql.inference.posterior.areas import areas_of_rows, entropies_of_rows
from cae_sql.inference.posterior.bell import STILL, stiffness
from cae_sql.inference.posterior.cells import Bad
from cae_sql.inference.posterior.likely import Fit, Likely
from cae_sql.inference.posterior.members import Baselines, against
from cae_sql.inference.posterior.nearby import Bells
from cae_sql.inference.posterior.pairs import SAME, Given, KeptPairs, greatest_given
from cae_sql.inference.posterior.weights import Floats, Ints

AT_ONCE, ENTRIES = 20_000, 4_000_000
"""Distributions that are measured at once, and probabilities in them."""
FEW = 32
"""Insiders of greatest leverage who are looked at before a bound is taken over the others: who is in many
sums has most, and there is mostly one."""

PAIRS = 2_000_000
"""Of records with insiders, and their values, that are held at once."""
CHUNKS, FEW_PAIRS = 16, 8
"""Into which the pairs of one record are cut for bounds, and how few of a chunk are looked at one by one. One
GROUP BY over the 28,155 wages of 1988 was 95 % areas of pairs, of which nearly all say nothing."""
PIECES = 8
"""Into which a shift to either side is cut for a bound."""
FOR_ALL = 2_000
"""Groups of records of which all pairs are looked at: 0.04 s; the bound for everybody takes as long."""


@dataclass(frozen=True, eq=False)
class WithInsider:
    """Figures by atom, (p,)."""

    risk: Floats
    """The greatest with any insider and value, or a bound of it where that is within what was enough; by
    `Measure`."""
    pairs: int
    """How many pairs of a record and an insider were looked at."""


def covariances(fit: Fit, column: int) -> Floats:
    """(q,) V_ij of one record of a column i with one of each other j; at i, with another one of the same."""
    matrix = fit.observed.matrix
    mine = matrix[:, [column]].toarray()[:, 0]
    turned = fit.factor.solve(mine)
    found: Floats = -np.sqrt(fit.variances[column] * fit.variances) * (matrix.T @ turned)
    return found


def given(fit: Fit, column: int, values: Floats) -> Given:
    """What each record's value would tell of one of a column, skewness left out.

    Args:
        fit: Means, variances and leverage.
        column: Of somebody.
        values: (q, m) the insiders' values, in units.
    """
    between = covariances(fit, column)
    left = 1.0 - fit.leverage
    telling = (left > SAME) & (fit.variances > STILL)
    ratio = np.where(telling, between / np.where(telling, left, 1.0), 0.0)
    gain = np.clip(ratio * between, 0.0, left[column])
    deviation = np.sqrt(np.where(telling, fit.variances[column] / np.where(telling, fit.variances, 1.0), 0.0))
    shift = (deviation * ratio)[:, None] * (values - fit.means[:, None])
    return Given(np.broadcast_to((fit.leverage[column] + gain)[:, None], shift.shape), shift)


def both(fit: Fit, columns: Ints, told: Given) -> Given:
    """(2 r,) what insiders make of records of some columns, (r,) each, without skewness and then with it."""
    turned = fit.slope[columns] * fit.variances[columns] * (1.0 - told.leverage)
    return Given(np.tile(told.leverage, 2), np.append(told.shift, told.shift + turned))


def bounds_of(fit: Fit, values: Floats) -> Given:
    """(a,) each of somebody: bounds of h' and of |δ| over all insiders and values (q, m), skewness in it."""
    people = fit.observed.people
    h, left = fit.leverage, np.maximum(1.0 - fit.leverage, SAME)
    sizes, variances = fit.observed.sizes[:people], fit.variances[:people]
    away = np.abs(values[:people] - fit.means[:people, None]).max(axis=1)
    moving = variances > STILL
    apart = np.where(moving, away / np.sqrt(np.where(moving, variances, 1.0)), 0.0)
    h, left = np.where(fit.variances > STILL, h, 0.0), np.where(fit.variances > STILL, left, 1.0)
    gain, shift, h = _of_the_greatest(fit, apart, h)
    labels = fit.observed.components[:people]
    # both bounds rise with h_j, and the shift's with how far off j's value is: the greatest of each component
    top, second, place = _two_greatest(labels, h[:people], sizes)
    furthest = np.zeros(int(labels.max(initial=-1)) + 1)
    np.maximum.at(furthest, labels, apart)
    other = np.maximum(np.where(place[labels] == np.arange(people), second[labels], top[labels]), 0.0)
    rest, own = np.maximum(1.0 - other, SAME), np.where(moving, fit.leverage[:people], 0.0)
    fewest = np.full(len(furthest), np.iinfo(np.int64).max)
    np.minimum.at(fewest, labels[h[:people] > 0], sizes[h[:people] > 0])
    mine = own * left[:people] / np.maximum(fewest[labels], 1)
    gain = np.maximum(gain, np.minimum(other, mine / rest))
    # |V_ij| / V_jj = √(gain / V_jj), and V_ij² ≤ h_j (1 − h_j) besides
    steep = np.minimum(np.sqrt(mine) / rest, np.sqrt(other / rest))
    shift = np.maximum(shift, steep * furthest[labels])
    # of others alike V_ij = −h_i
    alike = np.where(moving & (sizes > 1), own, 0.0)
    gain = np.maximum(gain, alike**2 / left[:people])
    shift = np.sqrt(variances) * np.maximum(shift, alike / left[:people] * apart)
    shift = shift + np.abs(fit.shift[:people])
    return Given(fit.leverage[:people] + np.minimum(gain, left[:people]), shift)


def bounds_at_once(fit: Fit) -> Given:
    """As `bounds_of`, from the greatest leverage alone and any values of the boxes: quick, and wider."""
    some = slice(0, fit.observed.people)
    h, variances, means = fit.leverage[some], fit.variances[some], fit.means[some]
    moving = variances > STILL
    away = np.maximum(means - fit.observed.low[some], fit.observed.high[some] - means)
    apart = np.where(moving, away / np.sqrt(np.where(moving, variances, 1.0)), 0.0)
    others = np.where(moving, h, 0.0)
    left, rest = np.maximum(1.0 - others, SAME), max(1.0 - float(others.max(initial=0.0)), SAME)
    mine = others * left
    # what `bounds_of` says of one insider, each factor the greatest of anybody; of others alike V_ij = −h_i
    gain = np.minimum(float(others.max(initial=0.0)), mine / rest)
    gain = np.maximum(gain, others**2 / left)
    shift = np.minimum(
        np.sqrt(mine) * float((apart / left).max(initial=0.0)),
        float((np.sqrt(others / left) * apart).max(initial=0.0)),
    )
    shift = np.sqrt(variances) * np.maximum(shift, others / left * apart) + np.abs(fit.shift[some])
    return Given(h + np.minimum(gain, 1.0 - h), shift)


def _of_the_greatest(fit: Fit, apart: Floats, h: Floats) -> tuple[Floats, Floats, Floats]:
    """What the few insiders of greatest leverage add, exactly: they would spoil a bound for everybody.

    Returns:
        The greatest gain, and shift in terms of σ, of each of somebody, (a,), and h (q,) without these.
    """
    people, rest = fit.observed.people, h.copy()
    gain, shift = np.zeros((2, people))
    for column in np.argsort(-h[:people], kind="stable")[:FEW].tolist():
        left = 1.0 - fit.leverage[column]
        rest[column] = 0.0
        if left <= SAME or h[column] <= 0:
            continue
        between = covariances(fit, column)[:people]
        if fit.observed.sizes[column] == 1:
            between[column] = 0.0
        gain = np.maximum(gain, between**2 / left)
        shift = np.maximum(shift, np.abs(between) / left * apart[column])
    return gain, shift, rest


def narrowed(likely: Likely, columns: Ints, told: Given) -> Floats:
    """(r, w) distributions of records of some columns (r,), each with what an insider makes of it (r,)."""
    return bells_of(likely, columns, told).rows(likely.tilt)


def bells_of(likely: Likely, columns: Ints, told: Given) -> Bells:
    """What `narrowed` are distributions of."""
    fit, seen = likely.fit, likely.fit.observed
    h = np.clip(told.leverage, 0.0, 1.0)
    kappa = stiffness(h, fit.variances[columns])
    moving = kappa > 0
    middle = fit.means[columns] + np.where(moving, told.shift / np.where(moving, h, 1.0), 0.0)
    return Bells(seen.low[columns], seen.high[columns], fit.theta[columns], middle, kappa)


def told_tilts(fit: Fit, columns: Ints, told: Given) -> Floats:
    """Tilts θ' of some columns, given what an insider makes of them, (r,) each."""
    variance = fit.variances[columns]
    moving = variance > STILL
    found: Floats = fit.theta[columns] + np.where(moving, told.shift / np.where(moving, variance, 1.0), 0.0)
    return found


@dataclass(frozen=True)
class Measure:
    """How bad distributions are: the greater the worse."""

    domain: Domain
    baselines: Baselines
    epsilon: float | None = None
    """At which −H is taken; None: the risk is."""

    def left(self, rows: Floats) -> Floats:
        """(r,) of distributions (r, w): their area, or H(ε)."""
        if self.epsilon is None:
            return areas_of_rows(rows, self.domain)
        return entropies_of_rows(rows, self.domain, self.epsilon)

    def least(self, rows: Floats, bells: Bells) -> Floats:
        """(r,) bounds of what distributions leave, from below, by the bells that they are or are like."""
        return self.baselines.nearby(self.epsilon, self.left).least(rows, bells)

    def most(self, theta: Floats, kappa: Floats, shift: Floats) -> Floats:
        """(r,) bounds of how bad posteriors are, from above, as `Cells.most`."""
        return self.baselines.cells(self.epsilon, Bad(self.left, self.bad)).most(theta, kappa, shift)

    def judged(self, without: Floats, skewed: Floats) -> Floats:
        """(r,) how bad posteriors are, by how bad without skewness and with it."""
        return self.baselines.judged(without, skewed) if self.epsilon is None else np.maximum(without, skewed)

    def bad(self, left: Floats, base: Floats) -> Floats:
        """(r,) of what is left, beside A_baseline."""
        return against(left, base, self.domain) if self.epsilon is None else -left


def most_risks(likely: Likely, columns: Ints, outer: Given, measure: Measure) -> Floats:
    """(r,) bounds of the risk of records of some columns by the formula, by whole cells (`cells`).

    Both by themselves and for all insiders within bounds of h' and |δ|, (r,) each. ∞ where nothing is said,
    as of whom extremes leave less than the domain.
    """
    fit, seen = likely.fit, likely.fit.observed
    variance, left = fit.variances[columns], np.maximum(1.0 - outer.leverage, SAME)
    said = (
        likely.ways.cells & (variance > STILL) & (seen.low[columns] == 0) & (seen.high[columns] == likely.top)
    )
    some = np.flatnonzero(said)
    found = np.full(len(columns), np.inf)
    shift = outer.shift[some] / (left[some] * variance[some])
    kappa = stiffness(outer.leverage[some], variance[some])
    found[some] = measure.most(fit.theta[columns[some]], kappa, shift)
    return found


def quick_risks(likely: Likely, measure: Measure) -> Floats:
    """(a,) bounds of the risk of each of somebody by the formula, alone and whoever the insider is.

    ∞ of whom no quick bound is known, as in small systems, where all pairs are looked at.
    """
    count = likely.fit.observed.people
    if count <= FOR_ALL or not likely.ways.quick_bounds:
        return np.full(count, np.inf)
    return most_risks(likely, np.arange(count), bounds_at_once(likely.fit), measure)


def risks_with_insider(
    likely: Likely,
    values: Floats,
    measure: Measure,
    enough: float,
    bounds: Floats | None = None,
    kept: KeptPairs | None = None,
) -> WithInsider:
    """The greatest risk of everybody's posterior by the formula, whoever the insider is.

    What the insider knows better of people like somebody is no disclosure about that person either: the
    baseline is that of what he sees, with κ' and θ' = θ + δ / σ².

    Args:
        likely: What answers make likely.
        values: (q, m) for each of the fit's columns the values that an insider may have, in units. Those of
            slacks are not looked at.
        measure: Of a posterior.
        enough: How bad it may be for a bound to do.
        bounds: (a,) as `quick_risks`.
        kept: Pairs of the same with fewer answers.
    """
    fit, seen = likely.fit, likely.fit.observed
    worst = quick_risks(likely, measure) if bounds is None else bounds.copy()
    some = np.flatnonzero(~(worst <= enough))  # what is no number keeps nothing
    outer = None if kept is None else kept.bounds(fit, some, values)
    if outer is None and len(some) > FOR_ALL and likely.ways.insider_bounds:
        wide = bounds_of(fit, values)
        outer = Given(wide.leverage[some], wide.shift[some])
    if outer is not None:
        for bound in (most_risks, _bounded) if likely.ways.nearby else (most_risks,):
            worst[some] = bound(likely, some, outer, measure)
            still = ~(worst[some] <= enough)
            some, outer = some[still], Given(outer.leverage[still], outer.shift[still])
    outer = greatest_given(fit, some, values) if len(some) else Given(worst[some], worst[some])
    for pieces in (1, PIECES) if likely.ways.nearby else ():
        worst[some] = _bounded(likely, some, outer, measure, pieces)
        still = ~(worst[some] <= enough)
        some, outer = some[still], Given(outer.leverage[still], outer.shift[still])
        if not len(some):
            break
    pairs, some = 0, np.flatnonzero(~(worst <= enough))
    step = max(1, PAIRS // max(values.size, 1))
    for first in range(0, len(some), step):
        told = list[Given]()
        for column in some[first : first + step].tolist():
            each = given(fit, column, values)
            others = np.arange(len(seen.sizes)) < seen.people
            others[column] = seen.sizes[column] > 1
            # who tells nothing of it tells the same as nobody
            leverage = np.append(each.leverage[others].ravel(), fit.leverage[column])
            shift = np.append(each.shift[others].ravel(), 0.0)
            told.append(Given(*np.unique(np.stack([leverage, shift]).round(12), axis=1)))
            pairs += int(others.sum())
        worst[some[first : first + step]] = _greatest(
            likely, some[first : first + step], told, measure, enough
        )
    risk = np.full(likely.known.count, -np.inf)
    risk[seen.atoms] = worst
    return WithInsider(risk, pairs)


def _bounded(likely: Likely, columns: Ints, outer: Given, measure: Measure, pieces: int = 1) -> Floats:
    """(r,) of some columns, for all insiders within bounds of h' and |δ|, (r,) each.

    δ is cut into pieces, so many to either side: what is left is least at an end of one and with the greatest
    h', since a bell between them is neither stiffer nor further out, and the area of the baseline is at most
    `Baselines.greatest`. What is left is bounded by bells nearby.
    """
    most = min(AT_ONCE, ENTRIES // likely.tilt.windows.count)
    found, step = np.full(len(columns), -np.inf), max(1, most // (2 * pieces + 2))
    for first in range(0, len(columns), step):
        some = slice(first, first + step)
        part = Given(outer.leverage[some], outer.shift[some])
        found[some] = _bounded_at_once(likely, columns[some], part, measure, pieces)
    return found


def _bounded_at_once(likely: Likely, columns: Ints, outer: Given, measure: Measure, pieces: int) -> Floats:
    fit, count = likely.fit, 2 * pieces + 1
    own, places = fit.leverage[columns], np.arange(-pieces, pieces + 1) / pieces
    shifts = (places[:, None] * outer.shift).ravel()
    # by himself, without skewness and with it, and at the ends of the pieces
    alone = both(fit, columns, Given(own, np.zeros(len(own))))
    told = Given(np.append(alone.leverage, np.tile(outer.leverage, count)), np.append(alone.shift, shifts))
    bells = bells_of(likely, np.tile(columns, count + 2), told)
    rows = bells.rows(likely.tilt)
    left = measure.least(rows, bells).reshape(count + 2, -1)
    theta = told_tilts(fit, np.tile(columns, count), Given(np.tile(outer.leverage, count), shifts))
    kappa = [stiffness(each, fit.variances[columns]) for each in (own, outer.leverage)]
    tilts = np.stack([measure.baselines.tilts(np.tile(each, count), theta) for each in kappa])
    least, most = (end(axis=0).reshape(count, -1) for end in (tilts.min, tilts.max))
    base = measure.baselines.greatest(
        np.minimum(least[:-1], least[1:]).ravel(), np.maximum(most[:-1], most[1:]).ravel()
    )
    bad: Floats = measure.bad(np.minimum(left[2:-1], left[3:]).ravel(), base).reshape(count - 1, -1)
    by_himself = measure.baselines.areas(np.tile(kappa[0], 2), told_tilts(fit, np.tile(columns, 2), alone))
    of_himself = measure.judged(*measure.bad(left[:2].ravel(), by_himself).reshape(2, -1))
    worst: Floats = np.maximum(bad.max(axis=0), of_himself)
    return worst


class _Chunks(NamedTuple):
    """Pairs of some records that lie next to each other by shift, (c,) each."""

    owner: Ints
    """Whose: a place among the columns."""
    starts: Ints
    ends: Ints

    def some(self, which: NDArray[np.bool_] | Ints) -> _Chunks:
        """Some of them."""
        return _Chunks(*(each[which] for each in self))

    def cut(self, parts: int) -> _Chunks:
        """Each cut in so many."""
        size = self.ends - self.starts
        cuts = self.starts[:, None] + size[:, None] * np.arange(parts + 1) // parts
        starts, ends = cuts[:, :-1].ravel(), cuts[:, 1:].ravel()
        return _Chunks(np.repeat(self.owner, parts), starts, ends).some(ends > starts)


def _greatest(
    likely: Likely, columns: Ints, told: Sequence[Given], measure: Measure, enough: float
) -> Floats:
    """(a,) of some records, the greatest with any insider and value, or a bound that is enough.

    Pairs are ordered by their shift and cut into chunks. What is left with any pair of a chunk is bounded as
    in `_bounded`, by its greatest leverage at both ends of its shifts; of chunks that may be beyond what is
    enough, and beyond the worst pair so far, the pairs are looked at.

    Args:
        likely: What answers make likely.
        columns: (a,) whose.
        told: What insiders make of each.
        measure: Of a posterior.
        enough: How bad it may be for a bound to do.
    """
    sizes = np.array([len(each.shift) for each in told])
    first = np.cumsum(sizes) - sizes
    plain = Given(
        np.concatenate([each.leverage for each in told]), np.concatenate([each.shift for each in told])
    )
    every = both(likely.fit, np.repeat(columns, sizes), plain)
    pair, owner = (
        np.tile(np.arange(len(plain.shift)), 2),
        np.tile(np.repeat(np.arange(len(columns)), sizes), 2),
    )
    order = np.lexsort((every.shift, owner))
    pair, ordered = pair[order], Given(every.leverage[order], every.shift[order])
    worst, bound = np.full((2, len(columns)), -np.inf)
    seen = np.zeros(len(plain.shift), dtype=np.bool_)
    chunks = _Chunks(np.arange(len(columns)), 2 * first, 2 * (first + sizes)).cut(CHUNKS)
    while len(chunks.owner):
        most = np.full(len(chunks.owner), np.inf)
        for exactly in (False, True) if likely.ways.nearby else (True,):
            # what is no number keeps nothing
            open_ = np.flatnonzero(~(most <= np.maximum(enough, worst)[chunks.owner]))
            some = chunks.some(open_)
            most[open_] = _most_of_chunks(likely, columns[some.owner], ordered, some, measure, exactly)
        within = most <= np.maximum(enough, worst)[chunks.owner]
        np.maximum.at(bound, chunks.owner[within], most[within])
        chunks = chunks.some(~within)
        few = chunks.ends - chunks.starts <= FEW_PAIRS
        some = chunks.some(few)
        places = np.concatenate(
            [np.arange(*each) for each in zip(some.starts, some.ends, strict=True)] or [pair[:0]]
        )
        pairs = np.unique(pair[places])
        pairs = pairs[~seen[pairs]]
        seen[pairs] = True
        whose = np.searchsorted(first, pairs, "right") - 1
        for start in range(0, len(pairs), AT_ONCE):
            part = slice(start, start + AT_ONCE)
            bad = _of_pairs(likely, columns[whose[part]], plain, pairs[part], measure)
            np.maximum.at(worst, whose[part], bad)  # what is no number stays
        chunks = chunks.some(~few).cut(CHUNKS // 4)
    return np.where(worst > enough, worst, np.maximum(worst, bound))


def _most_of_chunks(
    likely: Likely, columns: Ints, ordered: Given, chunks: _Chunks, measure: Measure, exactly: bool
) -> Floats:
    """(c,) bounds of how bad the posteriors of some records are with any pair of a chunk each."""
    fit, count = likely.fit, len(columns)
    if not count:
        return np.zeros(0)
    inside = np.column_stack([chunks.starts, chunks.ends]).ravel()
    ended = np.append(ordered.leverage, 0.0)
    least, most = np.minimum.reduceat(ended, inside)[::2], np.maximum.reduceat(ended, inside)[::2]
    ways = np.append(ordered.shift[chunks.starts], ordered.shift[chunks.ends - 1])
    both_ends = np.tile(columns, 2)
    left, step = np.empty(2 * count), max(1, min(AT_ONCE, ENTRIES // likely.tilt.windows.count))
    for start in range(0, 2 * count, step):
        part = slice(start, start + step)
        bells = bells_of(likely, both_ends[part], Given(np.tile(most, 2)[part], ways[part]))
        rows = bells.rows(likely.tilt)
        left[part] = measure.left(rows) if exactly else measure.least(rows, bells)
    kappas = [np.tile(stiffness(each, fit.variances[columns]), 2) for each in (least, most)]
    told = [told_tilts(fit, both_ends, Given(np.tile(each, 2), ways)) for each in (least, most)]
    tilts = [measure.baselines.tilts(*one) for one in zip(kappas, told, strict=True)]
    ends = np.concatenate(tilts).reshape(4, count)
    found: Floats = measure.bad(
        left.reshape(2, count).min(axis=0), measure.baselines.greatest(ends.min(axis=0), ends.max(axis=0))
    )
    return found


def _of_pairs(likely: Likely, columns: Ints, told: Given, pairs: Ints, measure: Measure) -> Floats:
    """(r,) how bad the posteriors of some records are, with a pair each."""
    part = both(likely.fit, columns, Given(told.leverage[pairs], told.shift[pairs]))
    twice = np.tile(columns, 2)
    left = measure.left(narrowed(likely, twice, part))
    base = measure.baselines.areas(
        stiffness(part.leverage, likely.fit.variances[twice]), told_tilts(likely.fit, twice, part)
    )
    return measure.judged(*measure.bad(left, base).reshape(2, -1))


def _two_greatest(labels: Ints, values: Floats, sizes: Ints) -> tuple[Floats, Floats, Ints]:
    """By component: the greatest value, that of another record, and the column of the greatest."""
    count = int(labels.max(initial=-1)) + 1
    order = np.lexsort((-values, labels))
    first = np.searchsorted(labels[order], np.arange(count))
    top, place = values[order[first]], order[first]
    next_one = np.minimum(first + 1, len(order) - 1)
    alone = (labels[order[next_one]] != np.arange(count)) | (next_one == first)
    second = np.where(alone, 0.0, values[order[next_one]])
    return top, np.where(sizes[place] > 1, top, second), place
