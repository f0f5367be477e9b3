"""Exact marginals of an answered system, component by component: sums counted, extremes by inclusion and
exclusion.

Promise: a component's records get the share of the tables that agree, right up to rounding, or none. It is
asked of knowledge, boxes and sums; how sums alone are counted is for `counting`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from cae_sql.errors import OutOfTime
from cae_sql.inference.allowance import UNLIMITED, Allowance
from cae_sql.inference.facts.knowledge import Extreme, Knowledge
from cae_sql.inference.posterior.counting import counted
from cae_sql.inference.posterior.weights import Floats, Ints, Weighted
from cae_sql.inference.posterior.windows import Tilt, Windows

MOST_EXTREMES = 6
"""Extremes of one component that are counted by inclusion and exclusion."""
MOST_COUNTED = 200_000
"""Values of a box that are counted one by one."""
Aside = tuple[int, int]
"""An atom of a component, and how many units one of its records has."""
_CERTAIN = 1e-7
"""Least share of tables that must attain all extremes, so that differences keep their digits."""


def counted_exactly(
    known: Knowledge,
    sums: Ints,
    windows: Windows,
    kept: dict[bytes, list[Floats]] | None = None,
    allowance: Allowance = UNLIMITED,
    strict: bool = False,
) -> tuple[Floats, NDArray[np.bool_]]:
    """(p, w) the model `exact` as far as it can be counted, and (p,) where it cannot: rows of no meaning.

    Args:
        known: Boxes, extremes, and the matrix of the independent sums.
        sums: (k,) their right-hand sides.
        windows: In which values are gathered.
        kept: What was counted of components before; what is counted now is added.
        allowance: What may be spent.
        strict: Whether one that cannot be counted is the end.

    Raises:
        OutOfTime: more than may be spent; strict, and something cannot be counted.
    """
    rows = Tilt(windows).rows(known.low, known.high, np.zeros(known.count))  # of those tied to nobody
    missing = np.zeros(known.count, dtype=np.bool_)
    tied = np.array(known.matrix.any(axis=0), dtype=np.bool_)
    for extreme in attained(known):
        tied[extreme.atoms] = True
    kept = {} if kept is None else kept
    for label in np.unique(known.components[tied]).tolist():
        if allowance.over:
            raise OutOfTime("not all components were counted in time")
        atoms = np.flatnonzero(known.components == label)
        name = name_of(known, sums, atoms)
        try:
            if name not in kept:
                kept[name] = of_component(known, sums, atoms, allowance)
        except OutOfTime:
            if strict:
                raise
            missing[atoms] = True
            continue
        for atom, p in zip(atoms.tolist(), kept[name], strict=True):
            rows[atom] = windows.gathered(np.arange(known.low[atom], known.high[atom] + 1), p)
    return rows, missing


def name_of(
    known: Knowledge, sums: Ints, atoms: Ints, aside: Aside | None = None, tilts: Floats | None = None
) -> bytes:
    """One name for components that are counted alike, by a prior that is tilted so, (p,)."""
    rows = np.flatnonzero(known.matrix[:, atoms].any(axis=1))
    parts = [known.low[atoms], known.high[atoms], known.sizes[atoms], spares_of(known)[atoms], sums[rows]]
    parts.append(known.matrix[np.ix_(rows, atoms)].astype(np.int64).ravel())
    for each in attained(known):
        inside = np.flatnonzero(np.isin(atoms, each.atoms))
        if len(inside):
            parts.append(np.array([len(inside), each.top, each.value, *inside], dtype=np.int64))
    if aside is not None:
        parts.append(np.array([int(np.searchsorted(atoms, aside[0])), aside[1]], dtype=np.int64))
    turned = b"" if tilts is None else tilts[atoms].tobytes()
    text = b"".join(b"%d " % len(part) + part.tobytes() for part in parts)
    return blake2b(text + turned, digest_size=20).digest()


def of_component(
    known: Knowledge,
    sums: Ints,
    atoms: Ints,
    allowance: Allowance,
    odds: list[Floats] | None = None,
    aside: Aside | None = None,
) -> list[Floats]:
    """By atom, probabilities over the units of its box.

    Tables in which all extremes are attained are those inside the boxes, less those in which one is not, plus
    those in which two are not …: where nobody attains an extreme, boxes end one unit before it.

    Args:
        known: Boxes, extremes, and the matrix of the independent sums, whose right-hand sides are `sums`.
        odds: By atom, how likely each unit of its box is before any answer, up to a factor; None where all
            are alike.
        aside: What somebody is known to have: the others of the atom are told of.

    Raises:
        OutOfTime: too much to be counted, or differences that lose their digits.
    """
    real, boxes, sizes, matrix, sides = _sums_of(known, sums, atoms, odds, aside)
    low, high = known.low[atoms], known.high[atoms]
    extremes = _extremes_of(known, atoms, aside)
    if len(extremes) > MOST_EXTREMES or int((high - low).max()) >= MOST_COUNTED:
        raise OutOfTime("too much to be counted")
    logs, signs, parts = list[float](), list[int](), list[tuple[Ints, list[Floats]]]()
    for missing in itertools.chain(*(itertools.combinations(extremes, n) for n in range(len(extremes) + 1))):
        under, over = _without(known, atoms, missing)
        if (under > over).any():
            continue
        start, end = (under - low)[real], (over - low)[real] + 1
        some = [box.part(a, b) for box, a, b in zip(boxes, start, end, strict=False)] + boxes[len(real) :]
        part = counted(some, sizes, matrix, sides, allowance)
        if part.log_weight > -math.inf:
            logs.append(part.log_weight)
            signs.append(-1 if len(missing) % 2 else 1)
            parts.append((start, part.probabilities))
    if not logs:
        raise OutOfTime("no table was counted")
    return _mixed(np.array(signs) * np.exp(np.array(logs) - max(logs)), parts, real, high - low + 1)


def _mixed(shares: Floats, parts: list[tuple[Ints, list[Floats]]], real: Ints, widths: Ints) -> list[Floats]:
    """By atom, the distributions of several boxes together, each by its share; spare atoms have one value."""
    total = float(shares.sum())
    if total < _CERTAIN:
        raise OutOfTime("the extremes are attained too seldom to be counted by differences")
    found = [np.zeros(width) for width in widths]
    for share, (start, probabilities) in zip(shares.tolist(), parts, strict=True):
        for place, first, p in zip(real, start, probabilities, strict=False):
            found[place][first : first + len(p)] += share * p
    for place in np.setdiff1d(np.arange(len(widths)), real):
        found[place][0] = total
    return [_cleaned(each / total) for each in found]


def _sums_of(
    known: Knowledge, sums: Ints, atoms: Ints, odds: list[Floats] | None, aside: Aside | None
) -> tuple[Ints, list[Weighted], Ints, NDArray[np.signedinteger], Ints]:
    """Places of a component's atoms that hold somebody, and as `counted` takes them: boxes, sizes and sums of
    these, and behind them of the totals of spare records.

    Spare records say how far an answer is known, and no more: each of their totals is as likely as any other,
    in however many ways they may share it, since each table of the others counts once.
    """
    rows = np.flatnonzero(known.matrix[:, atoms].any(axis=1))
    matrix, sides, spares = known.matrix[np.ix_(rows, atoms)], sums[rows], spares_of(known)[atoms]
    low, high, sizes = known.low[atoms], known.high[atoms], known.sizes[atoms] - spares
    if aside is not None:
        place = int(np.searchsorted(atoms, aside[0]))
        sizes[place] -= 1
        sides = sides - matrix[:, place] * aside[1]
    real, extended = np.flatnonzero(sizes), np.flatnonzero((spares > 0) & matrix.any(axis=0))
    units = [np.arange(low[place], high[place] + 1) for place in real]
    weights = [np.ones(len(each)) for each in units] if odds is None else [odds[place] for place in real]
    slack = [np.arange(spares[place] * low[place], spares[place] * high[place] + 1) for place in extended]
    boxes = [Weighted(*each) for each in zip(units, weights, strict=True)]
    boxes += [Weighted(each, np.ones(len(each))) for each in slack]
    sizes = np.append(sizes[real], np.ones(len(extended), dtype=np.int64))
    return real, boxes, sizes, np.hstack([matrix[:, real], matrix[:, extended]]), sides


def spares_of(known: Knowledge) -> Ints:
    """(p,) spare records in each atom: an atom may hold somebody's too."""
    return np.bincount(known.atoms.labels[known.atoms.real :], minlength=known.count)


def attained(known: Knowledge) -> list[Extreme]:
    """Extremes that somebody must have: one that a spare record may have is said by boxes."""
    spares = spares_of(known)
    return [each for each in known.extremes if not spares[each.atoms].any()]


def _extremes_of(known: Knowledge, atoms: Ints, aside: Aside | None) -> list[Extreme]:
    """Those of a component that somebody must have, besides whom is put aside."""
    found = [each for each in attained(known) if np.isin(each.atoms, atoms).any()]
    if aside is None:
        return found
    return [each for each in found if aside[1] != each.value or aside[0] not in each.atoms]


def _cleaned(p: Floats) -> Floats:
    """Differences leave crumbs where nothing is."""
    kept = np.where(p > 1e-12, p, 0.0)
    found: Floats = kept / kept.sum()
    return found


def _without(known: Knowledge, atoms: Ints, missing: Sequence[Extreme]) -> tuple[Ints, Ints]:
    """Boxes in which nobody attains any of these extremes."""
    low, high = known.low.copy(), known.high.copy()
    for extreme in missing:
        able = known.able_atoms[extreme]
        if extreme.top:
            high[able] = np.minimum(high[able], extreme.value - 1)
        else:
            low[able] = np.maximum(low[able], extreme.value + 1)
    return low[atoms], high[atoms]
