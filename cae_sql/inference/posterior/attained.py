"""Answered extremes that some record must attain: a mixture over the records that may.

That somebody has a maximum makes everybody who can a little more likely to be the one. Taking records for
independent, each with its own distribution p_i inside of its box,

    p_i(v | all extremes attained) ∝ p_i(v) · Σ_M (−1)^|M| [v attains none of M] Π_{j ≠ i} (1 − P_j(M))

over all sets M of extremes, P_j(M) the probability that j attains one of M. Of rows (`mixed`) up to
`MOST_TOGETHER` extremes that share records are so counted; of more each is taken by itself. An extreme that
is missed with a chance below `NEVER` even without a few of the records that may attain it is left out.

Expected sums are raised too (`given`), each extreme being attained independently of the others. Sums vary
less then than their members do: with p_i the probability of having the extreme, M that nobody does and d_i =
p_i (extreme − μ_i) / (1 − p_i), the covariance of two people is −c d_i d_j, c = M / (1 − M)², one such term
for each extreme that shares nobody with others (`shared`).

It neglects that an attaining record leaves less of a sum to the others.

Source: `mathematics.md`, 7; exact convolutions (`tests/.../posterior/test_attained_moments.py`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy

from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.posterior.components import attained
from cae_sql.inference.posterior.leverage import Observations
from cae_sql.inference.posterior.tilt import Moments, Tilt, log_geometric
from cae_sql.inference.posterior.weights import Flags, Floats, Ints

MOST_TOGETHER = 6
"""Extremes that share records and are counted together: 64 sets of them."""
CERTAIN = 1 - 1e-12
"""Probability of a record that attains an extreme for certain, so that 1 less it can be divided by."""
SURE = 1 - 1e-15
"""The same in alternating sums."""
NEVER = 1e-5
"""Chance that one of all extremes is not attained below which it is."""
CRUMB, ALTERNATING = 1e-12, 1e-14
"""Weights below this are rounding: nothing is changed there. And alternating sums."""

Extreme = tuple[bool, Ints]
"""Whether it is a maximum, and the columns that can have it."""


@dataclass(frozen=True, eq=False)
class Attaining:
    """Extremes that somebody must attain, beside a system's observations. Shapes: a columns of somebody."""

    extremes: list[Extreme]
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
        count = observed.people
        low, high = observed.low[:count], observed.high[:count]
        found = [(each.top, np.searchsorted(observed.atoms, known.able_atoms[each])) for each in extremes]
        width = tilt.windows.width
        none = np.zeros(count)
        logs = (none, none) if tilt.logs is None else (tilt.logs[low // width], tilt.logs[high // width])
        return cls([each for each in found if len(each[1])], observed.sizes[:count], low, high, logs)

    # --- what is expected

    def given(self, theta: Floats, plain: Moments) -> Moments:
        """Moments of one record of each column, (q,), given that all extremes are attained, by tilts and
        moments inside of the boxes; log − θ m stays what it was."""
        count, (low, high) = len(self.low), (self.low, self.high)
        theta, means = theta[:count], plain.means[:count]
        second, chances = means**2 + plain.variances[:count], self.chances(theta, plain)
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
        chances = self.chances(theta[:count], plain)
        often = np.bincount(np.concatenate([some for _, some in self.extremes]), minlength=count)
        for row, (top, some) in zip(found, self.extremes, strict=True):
            if (often[some] > 1).any():
                continue
            chance, end = np.minimum(chances[int(top)][some], CERTAIN), (self.low, self.high)[int(top)][some]
            nobody = float(self.sizes[some] @ np.log1p(-chance))
            anybody = max(-np.expm1(nobody), CRUMB)
            row[some] = np.exp(nobody / 2) / anybody * chance * (end - plain.means[some]) / (1.0 - chance)
        return found[found.any(axis=1)]

    def chances(self, theta: Floats, plain: Moments) -> Floats:
        """(2, a) how likely one record of each column has its least, its greatest value, in its box alone."""
        logs = np.stack(self.logs) + theta * np.stack([self.low, self.high]) - plain.logs[: len(self.low)]
        found: Floats = np.exp(np.minimum(logs, 0.0))
        return found

    def _weights(self, at_low: Floats, at_high: Floats) -> tuple[Floats, Floats, Floats]:
        """(a,) how likely others attain what a record inside, at its least, at its greatest value does not,
        each beside how likely anybody does."""
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

    # --- rows

    def mixed(self, columns: Ints, rows: Floats, width: int, slopes: Floats) -> tuple[Floats, Flags]:
        """(c, w) distributions given that extremes are attained, of all columns that may attain one, by those
        inside of the boxes, and by how much log p rises per unit at the boxes' ends, (2, c); and (c,) for
        which some extreme might not be attained."""
        found, touched = rows.copy(), np.zeros(len(columns), dtype=np.bool_)
        low_, high_ = self.low[columns], self.high[columns]
        for linked in self.missing(columns, rows, width, slopes):
            places = np.searchsorted(columns, linked.columns)
            touched[places] = True
            plain, low, high = np.ones((3, len(places)))
            for part in (linked,) if linked.few else linked.each:
                factors = part.factors()
                plain, low, high = plain * factors[0], low * factors[1], high * factors[2]
            # a record that can have one value alone has it
            moving = low_[places] < high_[places]
            some = places[moving]
            found[some] *= plain[moving][:, None]
            found[some, low_[some] // width] += (linked.chances[0] * (low - plain))[moving]
            found[some, high_[some] // width] += (linked.chances[1] * (high - plain))[moving]
        found = np.maximum(found, 0.0)
        total = found.sum(axis=1, keepdims=True)
        # where nobody is likely to attain an extreme at all, differences have no digits left
        said = total > ALTERNATING
        return np.where(said, found / np.where(said, total, 1.0), rows), touched

    def missing(self, columns: Ints, rows: Floats, width: int, slopes: Floats) -> list[Linked]:
        """The extremes that might not be attained, those that share records together. As `mixed`."""
        own, all_able = self.sizes[columns], np.stack([np.isin(columns, some) for _, some in self.extremes])
        tops = np.array([top for top, _ in self.extremes])
        at_ends = at_ends_of(self.low[columns], self.high[columns], rows, width, slopes)
        # given a record's value, and that others attain the other extremes, the rest attain one
        chance = np.where(all_able, at_ends[tops.astype(np.int64)], 0.0)
        expected = chance @ own - (MOST_TOGETHER + 1) * chance.max(axis=1)
        doubtful = ~(expected >= -np.log(NEVER / len(tops)))
        all_able, tops, found = all_able[doubtful], tops[doubtful], []
        labels = scipy.sparse.csgraph.connected_components(all_able @ all_able.T)[1]
        for label in np.unique(labels):
            group = np.flatnonzero(labels == label)
            places = np.flatnonzero(all_able[group].any(axis=0))
            able = all_able[np.ix_(group, places)]
            found.append(Linked(columns[places], own[places], at_ends[:, places], able, tops[group]))
        return found


@dataclass(frozen=True, eq=False)
class Linked:
    """Extremes that share records and might not be attained. Shapes: e extremes, a columns."""

    columns: Ints
    """(a,) that may attain one."""
    own: Ints
    """(a,) records of each."""
    chances: Floats
    """(2, a) how likely one record has its least, its greatest value."""
    able: Flags
    """(e, a) which may attain which."""
    top: Flags
    """(e,) whether it is a maximum."""

    @property
    def few(self) -> bool:
        """Whether all are counted together."""
        return len(self.top) <= MOST_TOGETHER

    @property
    def each(self) -> Iterator[Linked]:
        """One after the other."""
        for row in range(len(self.top)):
            yield replace(self, able=self.able[row : row + 1], top=self.top[row : row + 1])

    def sets(self) -> Iterator[tuple[int, Flags, Flags, Floats]]:
        """All sets M of them: the sign, (a,) whether a record's least, whether its greatest value attains
        one, and the logarithm of how likely it does not."""
        for count in range(len(self.top) + 1):
            for missing in itertools.combinations(range(len(self.top)), count):
                some = np.array(missing, dtype=np.int64)
                at_low, at_high = (self.able[some[self.top[some] == end]].any(axis=0) for end in (0, 1))
                chance = np.where(at_low, self.chances[0], 0.0) + np.where(at_high, self.chances[1], 0.0)
                yield (-1) ** count, at_low, at_high, np.log1p(-np.minimum(chance, SURE))

    def factors(self) -> Floats:
        """(3, a) how likely others attain what a record does not: inside, at its least, at its greatest."""
        found = np.zeros((3, len(self.own)))
        for sign, at_low, at_high, none in self.sets():
            others = sign * np.exp(float(self.own @ none) - none)
            found += np.stack([others, np.where(at_low, 0.0, others), np.where(at_high, 0.0, others)])
        return np.where(found > ALTERNATING, found, 0.0)


def at_ends_of(low: Ints, high: Ints, rows: Floats, width: int, slopes: Floats) -> Floats:
    """(2, c) of the windows that hold the ends what belongs to the one unit: within one p is geometric."""
    last = np.minimum(low // width * width + width - 1, high)
    first = np.maximum(high // width * width, low)
    below = log_geometric(slopes[0], (last - low + 1).astype(np.float64))
    above = log_geometric(-slopes[1], (high - first + 1).astype(np.float64))
    each = np.arange(len(rows))
    return np.stack([rows[each, low // width] * np.exp(-below), rows[each, high // width] * np.exp(-above)])
