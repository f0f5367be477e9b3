"""Answered extremes that somebody must attain, as a mixture over who does.

Boxes say that nobody is beyond a maximum; that somebody has it makes everybody who can a little more likely
to be the one. Taking records for independent, each with its own distribution p_i inside of its box,

    p_i(v | all extremes attained) ∝ p_i(v) · Σ_M (−1)^|M| [v attains none of M] Π_{j ≠ i} (1 − P_j(M))

over all sets M of extremes, P_j(M) the probability that j attains one of M. Up to `MOST_TOGETHER` extremes
that share records are so counted; of more each is taken by itself.

An extreme that hundreds may attain is attained whatever one of them has: where even without a few of them
it is missed with a chance below `NEVER`, it is left out (`doubtful`); all that are change no probability by
more than that part. (Where more than `MOST_TOGETHER` share records fewer may be counted together then, which
is nearer to what is exact.)

It neglects that who attains an extreme leaves less of a sum to the others.

Source: `mathematics.md`, 7.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference.facts.knowledge import Extreme, Knowledge
from cae_sql.inference.facts.rank import join, roots
from cae_sql.inference.posterior.components import attained
from cae_sql.inference.posterior.tilt import log_geometric
from cae_sql.inference.posterior.weights import Floats, Ints

MOST_TOGETHER = 6
"""Extremes that share records and are counted together: 64 sets of them."""
CERTAIN = 1 - 1e-15
"""Probability of who attains an extreme for certain, so that what is left of 1 can be divided by."""
NEVER = 1e-5
"""Chance that one of all extremes is not attained below which it is."""
CRUMB = 1e-14
"""Alternating sums below this are none."""


class Ends(NamedTuple):
    """Probabilities that one record of each atom has the least, the greatest value of its box, (p,) each."""

    low: Floats
    high: Floats


def doubtful(known: Knowledge, own: Ints, chances: Ends) -> list[Extreme]:
    """Answered extremes that might not be attained, as far as what is likely of records by themselves goes.

    Given a record's value, and that the other extremes are attained by as many others at most, those who are
    left attain one with no less than their own chances.

    Args:
        known: Boxes and extremes.
        own: (p,) somebody's records in each atom.
        chances: Lower bounds, or nearly.
    """
    found, extremes = [], attained(known)
    for each in extremes:
        able = known.able_atoms[each]
        chance = (chances.high if each.top else chances.low)[able]
        expected = float(own[able] @ chance) - (MOST_TOGETHER + 1) * float(chance.max(initial=0.0))
        if not expected >= -np.log(NEVER / len(extremes)):
            found.append(each)
    return found


def mixed(
    known: Knowledge, extremes: list[Extreme], atoms: Ints, own: Ints, rows: Floats, width: int, slopes: Ends
) -> Floats:
    """(a, w) distributions of some atoms given that extremes are attained.

    Args:
        known: Boxes.
        extremes: Those that are reckoned with.
        atoms: (a,) all who may attain one, ascending.
        own: (a,) somebody's records in each.
        rows: (a, w) distributions inside of the boxes.
        width: Units in a window.
        slopes: How much log p rises from unit to unit at the ends of the boxes, (a,) each.
    """
    if not extremes:
        return rows
    found, low_, high_ = rows.copy(), known.low[atoms], known.high[atoms]
    for group in _together(known, extremes):
        places = np.searchsorted(atoms, np.unique(np.concatenate([known.able_atoms[e] for e in group])))
        able = np.stack([np.isin(atoms[places], known.able_atoms[each]) for each in group])
        at_ends = Ends(slopes.low[places], slopes.high[places])
        chances = _at_the_ends(low_[places], high_[places], rows[places], width, at_ends)
        top = np.array([each.top for each in group])
        whole = [np.arange(len(group))]
        plain, low, high = np.ones((3, len(places)))
        for part in whole if len(group) <= MOST_TOGETHER else np.arange(len(group))[:, None]:
            factors = _factors(able[part], top[part], chances, own[places])
            plain, low, high = plain * factors[0], low * factors[1], high * factors[2]
        # a record that can have one value alone has it
        moving = low_[places] < high_[places]
        some = places[moving]
        found[some] *= plain[moving][:, None]
        found[some, low_[some] // width] += (chances.low * (low - plain))[moving]
        found[some, high_[some] // width] += (chances.high * (high - plain))[moving]
    found = np.maximum(found, 0.0)
    total = found.sum(axis=1, keepdims=True)
    # where nobody is likely to attain an extreme at all, differences have no digits left
    return np.where(total > CRUMB, found / np.where(total > CRUMB, total, 1.0), rows)


def _factors(
    able: NDArray[np.bool_], top: NDArray[np.bool_], chances: Ends, own: Ints
) -> NDArray[np.float64]:
    """(3, a) how likely others attain what a record does not: inside, at its least, at its greatest value."""
    found = np.zeros((3, able.shape[1]))
    for count in range(len(top) + 1):
        for missing in itertools.combinations(range(len(top)), count):
            some = np.array(missing, dtype=np.int64)
            at_low, at_high = able[some[~top[some]]].any(axis=0), able[some[top[some]]].any(axis=0)
            chance = np.where(at_low, chances.low, 0.0) + np.where(at_high, chances.high, 0.0)
            none = np.log1p(-np.minimum(chance, CERTAIN))
            others = (-1) ** count * np.exp(float(own @ none) - none)
            found += np.stack([others, np.where(at_low, 0.0, others), np.where(at_high, 0.0, others)])
    return np.where(found > CRUMB, found, 0.0)


def _at_the_ends(low: Ints, high: Ints, rows: Floats, width: int, slopes: Ends) -> Ends:
    """Of the windows that hold the ends what belongs to the one unit: the shape within one is geometric."""
    last = np.minimum(low // width * width + width - 1, high)
    first = np.maximum(high // width * width, low)
    below = log_geometric(slopes.low, (last - low + 1).astype(np.float64))
    above = log_geometric(-slopes.high, (high - first + 1).astype(np.float64))
    each = np.arange(len(rows))
    return Ends(rows[each, low // width] * np.exp(-below), rows[each, high // width] * np.exp(-above))


def _together(known: Knowledge, extremes: list[Extreme]) -> list[list[Extreme]]:
    """Extremes that share records who can attain them."""
    root = np.arange(known.count)
    for each in extremes:
        join(root, known.able_atoms[each])
    labels, found = roots(root), dict[int, list[Extreme]]()
    for each in extremes:
        able = known.able_atoms[each]
        if len(able):
            found.setdefault(int(labels[able[0]]), []).append(each)
    return list(found.values())
