"""Tables led to where they keep ranges of statistics, by exchange within atoms: every sum stays as it is.

Records or parts that no sum tells apart give each other units. What is led is no evidence: which records are
held follows from it (`cae_sql.inference.facts.ranges`), and whether that keeps ranges is shown by tables that
are looked at anew (`cae_sql.inference.tables.margins`). So a bad one costs a range and never a promise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import compiled
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.facts.ranges import Share
from cae_sql.inference.tables.margins import Soft

ASKED = 1_000
"""Records that are asked to make up for one, at most."""
ROUNDS = 4
"""How often the shares are gone through."""
INSIDE = 3 / 8
"""Part of a cell that shall be left on both sides of a weighted sum or a spread."""
TRIES = 100
"""Exchanges that are tried for each part."""
MIXES = 20
"""And for each where a table is mixed: most are seen several times."""
SCALES = 6
"""Exchanges are of at most all that there is, of half of it, ... : so many halvings, each as often."""


class Alike(NamedTuple):
    """Sets of records or parts that no sum tells apart: they may exchange units. Shapes: p of them."""

    labels: Ints  # (p,) the set of each
    order: Ints  # (p,) set by set ...
    firsts: Ints  # ... and where each set's start
    free: NDArray[np.bool_]  # by set: no sum is about it, so nobody makes up for what one of it gains


class _Goals(NamedTuple):
    """Where statistics shall be. Shapes: m weighted sums and spreads, p parts."""

    weights: NDArray[np.float64]  # (m, p) mean weights; of spreads 1 for members
    centers: NDArray[np.float64]  # (m,) of spreads; nan of weighted sums
    counts: NDArray[np.float64]  # (m,) members
    least: NDArray[np.float64]  # (m,)
    most: NDArray[np.float64]  # (m,)
    scales: NDArray[np.float64]  # (m,) widths of cells, in which what is missed is counted


# --- shares


def with_shares(
    table: NDArray[np.integer], boxes: tuple[Ints, Ints], alike: Alike, shares: Sequence[Share], spare: int
) -> Ints | None:
    """(n,) a table with the same sums that keeps boxes, and shares with `spare` more; None if not found."""
    values = table.astype(np.int64)
    if ((values < boxes[0]) | (values > boxes[1])).any():
        return None
    about = np.zeros((len(shares), len(values)), dtype=np.bool_)
    for place, share in enumerate(shares):
        about[place, share.members] = True
    wanted = np.array([share.least + spare for share in shares], dtype=np.int64)
    for _ in range(ROUNDS):
        for place, share in enumerate(shares):
            lacking = wanted - _counts(shares, values)
            if lacking[place] > 0:
                goals = _goals(share, values, boxes)
                asked = about[place] & ~share.holds(values) & (goals >= 0)
                for other, each in enumerate(shares):
                    if other != place and lacking[other] >= 0:
                        asked &= ~about[other] | ~each.holds(values) | each.holds(goals)
                turns = np.flatnonzero(asked)
                turns = turns[np.argsort(np.abs(goals - values)[turns], kind="stable")]
                cells = _cells(shares, about, values, boxes)
                _brought(turns, goals, lacking[place], values, *cells, alike)
        if (_counts(shares, values) >= wanted).all():
            return values
    return None


def _counts(shares: Sequence[Share], values: Ints) -> Ints:
    return np.array([share.inside(values).sum() for share in shares], dtype=np.int64)


def _goals(share: Share, values: Ints, boxes: tuple[Ints, Ints]) -> Ints:
    """(n,) the nearest value of a share's region in each record's box; -1 where there is none."""
    found = np.full(len(values), -1, dtype=np.int64)
    for low, high in share.region:
        least, most = np.maximum(boxes[0], low), np.minimum(boxes[1], high)
        goal = np.clip(values, least, np.maximum(most, least))
        nearer = (found < 0) | (np.abs(goal - values) < np.abs(found - values))
        found = np.where((least <= most) & nearer, goal, found)
    return found


def _cells(
    shares: Sequence[Share], about: NDArray[np.bool_], values: Ints, boxes: tuple[Ints, Ints]
) -> tuple[Ints, Ints]:
    """(n,) each: between which values records are on the same side of every region that they count for."""
    least, most = boxes[0].copy(), boxes[1].copy()
    for mine, share in zip(about, shares, strict=True):
        for low, high in share.region:
            below, above = mine & (values < low), mine & (values > high)
            inside = mine & ~below & ~above
            least[above] = np.maximum(least[above], high + 1)
            least[inside] = np.maximum(least[inside], low)
            most[below] = np.minimum(most[below], low - 1)
            most[inside] = np.minimum(most[inside], high)
    return least, most


@compiled()
def _brought(
    turns: Ints, goals: Ints, wanted: int, values: Ints, least: Ints, most: Ints, alike: Alike
) -> None:  # fmt: skip
    """Give records their goals, so many of those whose fellows can make up for it inside of their cells."""
    np.random.seed(len(turns))
    count = 0
    for record in turns:
        if count >= wanted:
            break
        of = alike.labels[record]
        first, size = alike.firsts[of], alike.firsts[of + 1] - alike.firsts[of]
        start, left = np.random.randint(0, size), values[record] - goals[record]
        # first it is seen whether there is enough, then it is done
        for run in range(0 if alike.free[of] else 2):
            left = values[record] - goals[record]  # what the others must gain
            for step in range(min(size, ASKED)):
                other = alike.order[first + (start + step) % size]
                if left == 0:
                    break
                if other == record:
                    continue
                by = max(min(left, most[other] - values[other]), least[other] - values[other])
                by = max(by, 0) if left > 0 else min(by, 0)
                left -= by
                values[other] += by * run
            if left != 0:
                break
        if left == 0 or alike.free[of]:
            # others do not count on him from here on
            values[record] = least[record] = most[record] = goals[record]
            count += 1


# --- weighted sums and spreads


def led(
    softs: Sequence[Soft], sizes: Ints, totals: Ints, ends: tuple[Ints, Ints], alike: Alike, seed: int,
    mixed: bool = False, inside: float = INSIDE,
) -> tuple[Ints, bool]:  # fmt: skip
    """Totals (p,) with the same sums, between ends, nearer to the middle of ranges; and whether well inside.

    That is by `inside` of a cell on both sides. With `mixed` they are others, at random, that miss the ranges
    by no more.
    """
    found, count = totals.astype(np.int64), len(totals)
    goals = np.zeros((len(softs), 5))
    for place, each in enumerate(softs):
        bound, off = each.bound, inside * each.bound.width
        here, members = each.sizes > 0, each.sizes.sum()
        center = np.nan if bound.query.kind == "weighted" else found[here].sum() / members
        least = -np.inf if bound.least is None else bound.least + off
        most = np.inf if bound.most is None else bound.most - off
        goals[place] = center, members, least, most, bound.width
    weights = np.array([np.where(each.sizes > 0, each.mean, 0.0) for each in softs]).reshape(-1, count)
    steps = MIXES * count * mixed
    well = _led(found, sizes, *ends, alike, _Goals(weights, *goals.T.copy()), seed, steps)
    return found, well


@compiled()
def _led(
    totals: Ints, sizes: Ints, least: Ints, most: Ints, alike: Alike, goals: _Goals, seed: int, mixing: int
) -> bool:
    """An exchange is kept where the ranges together are missed by no more than before."""
    np.random.seed(seed)
    count, parts = goals.weights.shape
    now = np.zeros((count, 2))
    for k in range(count):
        for part in range(parts):
            if not np.isnan(goals.centers[k]):
                away = totals[part] - sizes[part] * goals.centers[k]
                now[k] += np.array([away, away**2 / sizes[part]]) * (goals.weights[k, part] != 0)
            else:
                now[k, 0] += goals.weights[k, part] * totals[part]
    missed, after = _missed(now, goals), now.copy()
    for step in range(mixing + TRIES * parts):
        if step >= mixing and missed <= 1e-9:
            return True
        one = np.random.randint(0, parts)
        of = alike.labels[one]
        other = alike.order[np.random.randint(alike.firsts[of], alike.firsts[of + 1])]
        way = 1
        if alike.free[of]:
            other, way = -1, 1 - 2 * np.random.randint(0, 2)
        room = totals[one] - least[one] if way > 0 else most[one] - totals[one]
        if other >= 0:
            room = min(room, most[other] - totals[other])
        if one == other or room <= 0:
            continue
        halvings = 0 if step < mixing else np.random.randint(0, SCALES)
        by = 1 + np.random.randint(0, max(1, room >> halvings))
        after[:] = now
        _add(after, one, -way * by, totals, sizes, goals)
        if other >= 0:
            _add(after, other, by, totals, sizes, goals)
        then = _missed(after, goals)
        if then <= missed:  # tables that drift differ more, as hypothetical answers should
            missed = then
            now[:] = after
            totals[one] -= way * by
            if other >= 0:
                totals[other] += by
    return bool(missed <= 1e-9)


@compiled()
def _add(now: NDArray[np.float64], part: int, by: int, totals: Ints, sizes: Ints, goals: _Goals) -> None:
    """Add a part's gain: (m, 2) to a weighted sum, or to Σ (v − c) and Σ (v − c)² of a spread's members."""
    for k in range(len(now)):
        weight = goals.weights[k, part]
        if np.isnan(goals.centers[k]):
            now[k, 0] += weight * by
        elif weight != 0:
            away = totals[part] / sizes[part] - goals.centers[k]
            now[k, 0] += by
            now[k, 1] += 2 * by * away + by * by / sizes[part]


@compiled()
def _missed(now: NDArray[np.float64], goals: _Goals) -> float:
    """By how many cells statistics are outside of their goals, all together."""
    found = 0.0
    for k in range(len(now)):
        value = now[k, 0] if np.isnan(goals.centers[k]) else now[k, 1] - now[k, 0] ** 2 / goals.counts[k]
        found += max(0.0, goals.least[k] - value, value - goals.most[k]) / goals.scales[k]
    return found
