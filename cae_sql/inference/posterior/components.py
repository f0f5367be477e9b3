"""Exact marginals of the components of an answered system: sums counted, extremes by inclusion and exclusion.

A component is the atoms that hang together by sums or extremes. Tables in which all extremes are attained are
those inside the boxes, less those in which one is not, plus those in which two are not …: where nobody
attains an extreme, boxes end one unit before it. How tables are counted under sums alone is for `counting`.

Promise: a component's records get the share of the tables that agree, right up to rounding, or none.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from cae_sql.errors import OutOfTime
from cae_sql.inference.allowance import UNLIMITED, Allowance
from cae_sql.inference.facts.knowledge import Extreme, Knowledge
from cae_sql.inference.posterior.counting import counted
from cae_sql.inference.posterior.weights import Flags, Floats, Ints, Weighted
from cae_sql.inference.posterior.windows import Tilt, Windows

MOST_EXTREMES = 6
"""Extremes of one component: 64 sets of them are counted."""
MOST_COUNTED = 200_000
"""Values of a box that are counted one by one."""
_CERTAIN = 1e-7
"""Least share of tables that must attain all extremes, so that differences keep their digits."""
MOST_KEPT = 4_096
"""Components whose counts are kept; of 25 values and ten atoms it is 8 MB. Then the oldest go."""
WHOLE = 2.0**50
"""Steps of which none is lost when they are subtracted."""
Aside = tuple[int, int]
"""An atom of a component, and how many units one of its records has."""
Rows = list[Floats]
"""By atom, probabilities over the units of its box."""


class Counts:
    """What was counted of components, by name (`name_of`), under one prior.

    Promise: what is found again costs as many steps as it did first, and what takes more steps than there are
    is not found, whether or not it was counted before. So no verdict hangs on what happens to be kept, and
    answers that were looked at because they are the true ones may be kept as well.
    """

    def __init__(self) -> None:
        """Nothing was counted."""
        # rows; steps that they took, or that did not suffice; whether more steps would change nothing
        self._known = dict[bytes, tuple[Rows | None, float, bool]]()

    def of(self, name: bytes, allowance: Allowance, count: Callable[[Allowance], Rows]) -> Rows:
        """What `count` finds of the component of this name; what was counted before is charged too.

        Raises:
            OutOfTime: it takes more than may be spent, or cannot be counted.
        """
        most = min(allowance.steps, WHOLE)
        rows, cost, for_good = self._known.get(name, (None, 0.0, False))
        if not for_good and cost < most:
            part, rows = Allowance(most, allowance.until), None
            with suppress(OutOfTime):
                rows = count(part)
            if part.late:
                raise OutOfTime("not counted in time")  # what the clock ended says nothing
            for_good = part.steps > 0 or rows is not None
            cost = most - part.steps if for_good else most
            self._known[name] = rows, cost, for_good
            if len(self._known) > MOST_KEPT:
                for old in list(self._known)[: MOST_KEPT // 2]:
                    self._known.pop(old, None)
        allowance.spend(min(cost, most))
        if rows is None or cost >= most:
            raise OutOfTime("more steps than may be spent")
        return rows


def counted_exactly(
    known: Knowledge,
    sums: Ints,
    windows: Windows,
    counts: Counts | None = None,
    allowance: Allowance = UNLIMITED,
) -> tuple[Floats, Flags]:
    """(p, w) the model `exact` as far as it can be counted, and (p,) where it cannot: rows of no meaning.

    By what is known, the right-hand sides of its sums, (k,), and windows in which values are gathered.

    Raises:
        OutOfTime: more than may be spent.
    """
    rows = Tilt(windows).rows(known.low, known.high, np.zeros(known.count))  # of those tied to nobody
    missing, counts = np.zeros(known.count, dtype=np.bool_), counts or Counts()
    tied = np.array(known.matrix.any(axis=0), dtype=np.bool_)
    for extreme in attained(known):
        tied[extreme.atoms] = True
    for label in np.unique(known.components[tied]).tolist():
        if allowance.over:
            raise OutOfTime("not all components were counted in time")
        atoms = np.flatnonzero(known.components == label)
        name = name_of(known, sums, atoms)
        try:
            found = counts.of(name, allowance, partial(of_component, known, sums, atoms))
        except OutOfTime:
            missing[atoms] = True
            continue
        for atom, p in zip(atoms.tolist(), found, strict=True):
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
) -> Rows:
    """By atom, probabilities over the units of its box.

    Args:
        known: Boxes, extremes, and the matrix of the independent sums, whose right-hand sides are `sums`.
        sums: (k,)
        atoms: All of the component.
        allowance: What may be spent.
        odds: By atom, how likely each unit of its box is before any answer, up to a factor; None where all
            are alike.
        aside: What somebody is known to have: the others of the atom are told of.

    Raises:
        OutOfTime: too much to be counted, or differences that lose their digits.
    """
    real, boxes, sizes, matrix, sides = _sums_of(known, sums, atoms, odds, aside)
    low, high = known.low[atoms], known.high[atoms]
    extremes = [each for each in attained(known) if np.isin(each.atoms, atoms).any()]
    if aside is not None:  # who is put aside may be the one who attains it
        extremes = [each for each in extremes if aside[1] != each.value or aside[0] not in each.atoms]
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


def _mixed(shares: Floats, parts: list[tuple[Ints, list[Floats]]], real: Ints, widths: Ints) -> Rows:
    """By atom, the distributions of several boxes together, each by its share; spare atoms have one value."""
    total = float(shares.sum())
    if total < _CERTAIN:
        raise OutOfTime("the extremes are attained too seldom to be counted by differences")
    found = [np.zeros(width) for width in widths]
    for share, (start, probabilities) in zip((shares / total).tolist(), parts, strict=True):
        for place, first, p in zip(real, start, probabilities, strict=False):
            found[place][first : first + len(p)] += share * p
    for place in np.setdiff1d(np.arange(len(widths)), real):
        found[place][0] = 1.0
    kept = [np.where(each > 1e-12, each, 0.0) for each in found]  # differences leave crumbs where nothing is
    return [each / each.sum() for each in kept]


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
