"""Clusters beside sums that many share and that tell next to nothing of anybody: counted without these.

The total of a table makes one component of everybody. So that small clusters are counted all the same, sums
are left out of which nobody has more than `LITTLE` of the variance that they explain alone, and that so many
others are in, outside of a cluster, that these are a bell. What they tell to first order stays, exp(v Σ a λ),
λ being theirs in the fit of all sums; to second order they tell their leverage, at most `LITTLE`.

Promise: it hangs on answers, domain and prior alone.

Source: `mathematics.md`, 10.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.posterior.fit import Fit
from cae_sql.inference.posterior.heaps import Characters
from cae_sql.inference.posterior.leverage import Factor, Observations
from cae_sql.inference.posterior.weights import Flags, Floats, Ints

LITTLE = 0.02
"""Leverage up to which the formula is off by less than its square (`likely.LITTLE`), and up to which a sum,
or all that are left out together, tell little."""
FEWEST = 50
"""Records of a sum that can be left out: of fewer somebody has more than `LITTLE` of it."""
SPREAD = 4.0
"""Variance of what others add to a sum, in units², from which it is a bell on whole numbers: what is left of
other lobes is exp(−2π² · 4)."""
HIDDEN = 3.0
"""−log of a lobe, as part of the main one, that is none (`heaps.SMALL`)."""
EXACT = 1e-3
"""To which a tilt over the domain is rounded, so that what was counted once can be used again."""


@dataclass(frozen=True, eq=False)
class Apart:
    """What is known without sums that many share. Shapes: p atoms."""

    known: Knowledge
    sums: Ints
    """Right-hand sides of the sums that are left."""
    atoms: Flags
    """(p,) whose clusters may be counted by these alone."""
    tilts: Floats
    """(p,) log odds by unit that the others tell."""
    rows: Flags
    """(k,) which of the fit's observations are left."""

    @property
    def all(self) -> bool:
        """Whether nothing is left out."""
        return bool(self.rows.all())

    @classmethod
    def of(cls, known: Knowledge, sums: Ints, fit: Fit, characters: Characters) -> Apart:
        """Leave out what can be, by the fit of the answered sums alone."""
        seen, inverse, everybody = fit.observed, fit.factor.inverse, np.ones(known.count, dtype=np.bool_)
        far = _shared_by_many(fit, len(sums))
        rows = None if known.observed or not len(far) else _rows_of(known, seen)
        if rows is None:
            return cls(known, sums, everybody, np.zeros(known.count), np.ones(len(seen.sums), dtype=np.bool_))
        kept = ~np.isin(np.arange(len(seen.sums)), far)
        fewer = replace(known, matrix=known.matrix[kept[rows]])
        labels = fewer.components
        part = Factor.by(inverse[np.ix_(far, far)]).root @ (seen.matrix.T @ inverse[:, far]).T
        leverage = fit.variances * np.einsum("ij,ij->j", part, part)
        told = seen.atoms[leverage[: seen.people] > LITTLE]
        others = np.setdiff1d(np.arange(known.count), seen.atoms)
        bad = [labels[told], labels[others]]
        bad += [_crowding(fit, characters.least, row, labels[seen.atoms]) for row in far.tolist()]
        tilts, top = np.zeros(known.count), float(max(int(known.high.max()), 1))
        tilts[seen.atoms] = (seen.matrix[far].T @ fit.point[far])[: seen.people]
        tilts = np.rint(tilts * top / EXACT) * EXACT / top
        return cls(fewer, sums[kept[rows]], ~np.isin(labels, np.concatenate(bad)), tilts, kept)


def _shared_by_many(fit: Fit, count: int) -> Ints:
    """Observations that many are in and that each tell little of anybody; none where all `count` sums are."""
    seen, inverse = fit.observed, fit.factor.inverse
    many = np.flatnonzero((seen.rows != 0) @ seen.sizes >= FEWEST)
    if len(many) == count:
        return many[:0]
    # what of each record's variance one sum explains alone: what is lost where it is left out
    own = np.maximum(np.diag(inverse)[many], np.finfo(float).tiny)
    alone = fit.variances[:, None] * (seen.matrix.T @ inverse[:, many]) ** 2 / own
    found: Ints = many[(alone <= LITTLE).all(axis=0)]
    return found


def _crowding(fit: Fit, least: Floats, row: int, labels: Ints) -> Ints:
    """Clusters, by label of each of somebody's columns, without which a sum is no bell."""
    seen = fit.observed
    columns = seen.rows.indices[seen.rows.indptr[row] : seen.rows.indptr[row + 1]]
    columns = columns[columns < seen.people]
    labels, sizes = labels[columns], seen.sizes[columns]
    spread, hides = sizes * fit.variances[columns], sizes * np.minimum(least[columns], HIDDEN)
    left_spread, left_hides = (each.sum() - np.bincount(labels, each)[labels] for each in (spread, hides))
    found: Ints = np.unique(labels[(left_spread < SPREAD) | (left_hides < HIDDEN)])
    return found


def _rows_of(known: Knowledge, seen: Observations) -> Ints | None:
    """By which observation each sum is said; None where one is by none."""
    dense = seen.rows[:, : seen.people].toarray().astype(np.int64)
    of_name = {row.tobytes(): number for number, row in enumerate(dense)}
    found = [of_name.get(row.tobytes()) for row in known.matrix[:, seen.atoms].astype(np.int64)]
    return None if None in found else np.array(found, dtype=np.int64)
