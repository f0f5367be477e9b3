"""Equal extremes of overlapping sets, read without ties.

MAX{t,a} = MAX{t,b} = MAX{t,c} = 250 leaves worlds in which a, b and c all have 250, and yet t = 250 is almost
certain: values that attain a maximum are rare. So besides all worlds a decision judges those in which as few
records as possible attain equal extremes (`mathematics.md`, 4).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cae_sql.errors import OutOfTime
from cae_sql.inference.answers import Ints
from cae_sql.inference.knowledge import Extreme, Knowledge
from cae_sql.inference.solver import Program
from cae_sql.inference.witnesses import able


def without_ties(known: Knowledge) -> list[Knowledge]:
    """The reading without ties, strictest first; empty where it says nothing new.

    Over each group of equal extremes, where the fewest records that could attain all of them must include one
    from certain atoms, the reading says so; where one record attains them all, nobody else has the value.
    """
    added: list[Extreme] = []
    low, high = known.low.copy(), known.high.copy()
    for top in (True, False):
        values = {extreme.value for extreme in known.extremes if extreme.top == top}
        for value in sorted(values):
            sets = [able(known, e) for e in known.extremes if e.top == top and e.value == value]
            for group in _overlapping([s for s in sets if (known.low[s] < known.high[s]).all()]):
                for atoms, alone in _needed(group):
                    added.append(Extreme(top, atoms, value))
                    others = np.setdiff1d(np.concatenate(group), atoms)
                    if alone and top:
                        high[others] = np.minimum(high[others], value - 1)
                    elif alone:
                        low[others] = np.maximum(low[others], value + 1)
    if not added:
        return []
    loose = replace(known, extremes=(*known.extremes, *added))
    if (low > high).any():
        return [loose]
    return [replace(loose, low=low, high=high), loose]


def _overlapping(sets: list[Ints]) -> list[list[Ints]]:
    """Sets joined where they share atoms; groups of two or more different ones."""
    different = list({tuple(s.tolist()): s for s in sets}.values())
    if len(different) < 2:
        return []
    atoms = np.unique(np.concatenate(different))
    member = np.array([np.isin(atoms, s) for s in different])
    shared = sparse.csr_matrix(member.astype(np.int64) @ member.T.astype(np.int64))
    labels = sparse.csgraph.connected_components(shared, directed=False)[1]
    groups = [[different[i] for i in np.flatnonzero(labels == k)] for k in range(labels.max() + 1)]
    return [group for group in groups if len(group) > 1]


def _needed(group: list[Ints]) -> list[tuple[Ints, bool]]:
    """Atoms of one pattern of membership that every smallest set of attainers needs; and whether alone."""
    atoms = np.unique(np.concatenate(group))
    member = np.array([np.isin(atoms, s) for s in group])
    patterns, places = np.unique(member, axis=1, return_inverse=True)
    fewest = _hitting(patterns, None)
    found = []
    for pattern in range(patterns.shape[1]):
        if patterns[:, pattern].sum() > 1 and _hitting(patterns, pattern) > fewest:
            found.append((atoms[places.ravel() == pattern], fewest == 1))
    return found


def _hitting(patterns: NDArray[np.bool_], without: int | None) -> int:
    """Least number of patterns that together meet every set (rows); one of them may be left out."""
    sets, count = patterns.shape
    upper = np.ones(count)
    if without is not None:
        upper[without] = 0.0
    if not (patterns & (upper > 0)).any(axis=1).all():
        return int(sets) + 1
    program = Program(
        patterns.astype(np.int64),
        np.ones(sets),
        np.full(sets, np.inf),
        np.zeros(count),
        upper,
        np.ones(count, np.bool_),
    )
    outcome = program.minimise(dict.fromkeys(range(count), 1.0), seconds=5.0)
    if outcome.status != "optimal":
        raise OutOfTime("the reading without ties was not settled in the time allowed")
    return int(np.rint(outcome.value))
