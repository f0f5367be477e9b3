"""Clusters beside sums that many share and that tell next to nothing of anybody: counted without these.

The total of a table makes one component of everybody. So that small clusters are counted all the same, sums
are left out of which nobody has more than `LITTLE` of the variance that they explain alone, and that so many
others are in, outside of a cluster, that these are a bell. What they tell of a cluster's records to first
order stays, exp(v Σ a λ), λ being theirs in the fit of all sums; to second order they tell their leverage.

Promise: it hangs on answers, domain and prior alone. Of whom is apart, sums that are left out tell at most
`LITTLE` of the variance that is left.

Source: `mathematics.md`, 10.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy

from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.posterior.heaps import Characters
from cae_sql.inference.posterior.leverage import Factor
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
    def nothing(cls, known: Knowledge, sums: Ints, rows: int) -> Apart:
        """With nothing left out."""
        everybody = np.ones(known.count, dtype=np.bool_)
        return cls(known, sums, everybody, np.zeros(known.count), np.ones(rows, dtype=np.bool_))

    @classmethod
    def of(
        cls,
        known: Knowledge,
        sums: Ints,
        characters: Characters,
        variances: Floats,
        factor: Factor,
        point: Floats,
    ) -> Apart:
        """Leave out what can be; all but what is known is of the answered sums alone."""
        seen = characters.observed
        far = _shared_by_many(characters, variances, factor, len(sums))
        rows = _rows_of(known, seen.rows, seen.atoms) if len(far) else None
        if rows is None:
            return cls.nothing(known, sums, seen.matrix.shape[0])
        kept = np.ones(seen.matrix.shape[0], dtype=np.bool_)
        kept[far] = False
        fewer = replace(known, matrix=known.matrix[kept[rows]])
        labels = fewer.components
        part = Factor.by(factor.inverse[np.ix_(far, far)]).root @ (seen.matrix.T @ factor.inverse[:, far]).T
        leverage = variances * np.einsum("ij,ij->j", part, part)
        told = seen.atoms[leverage[: seen.people] > LITTLE]
        others = np.setdiff1d(np.arange(known.count), seen.atoms)
        bad = [labels[told], labels[others]]
        bad += [_crowding(characters, variances, row, labels[seen.atoms]) for row in far.tolist()]
        tilts, top = np.zeros(known.count), float(max(int(known.high.max()), 1))
        tilts[seen.atoms] = (seen.matrix[far].T @ point[far])[: seen.people]
        tilts = np.rint(tilts * top / EXACT) * EXACT / top
        return cls(fewer, sums[kept[rows]], ~np.isin(labels, np.concatenate(bad)), tilts, kept)


def _shared_by_many(characters: Characters, variances: Floats, factor: Factor, count: int) -> Ints:
    """Observations that many are in and of which each tells little of anybody; none where many are in
    each of the sums, `count`."""
    seen = characters.observed
    many = np.flatnonzero((seen.rows != 0) @ seen.sizes >= FEWEST)
    if len(many) == count:
        return many[:0]
    # what of each record's variance one sum explains alone: what is lost where it is left out
    told = seen.matrix.T @ factor.inverse[:, many]
    own = np.diag(factor.inverse)[many]
    alone = variances[:, None] * told**2 / np.maximum(own, np.finfo(float).tiny)
    found: Ints = many[(alone <= LITTLE).all(axis=0)]
    return found


def _crowding(characters: Characters, variances: Floats, row: int, labels: Ints) -> Ints:
    """Clusters, by label of each of somebody's columns, without which a sum is no bell."""
    seen = characters.observed
    columns = seen.rows.indices[seen.rows.indptr[row] : seen.rows.indptr[row + 1]]
    columns = columns[columns < seen.people]
    labels, sizes = labels[columns], seen.sizes[columns]
    spread, hides = sizes * variances[columns], sizes * np.minimum(characters.least[columns], HIDDEN)
    left_spread, left_hides = (each.sum() - np.bincount(labels, each)[labels] for each in (spread, hides))
    found: Ints = np.unique(labels[(left_spread < SPREAD) | (left_hides < HIDDEN)])
    return found


def _rows_of(known: Knowledge, rows: scipy.sparse.csr_array, atoms: Ints) -> Ints | None:
    """By which observation each sum is said; None where one is by none."""
    dense = rows[:, : len(atoms)].toarray().astype(np.int64)
    of_name = {row.tobytes(): number for number, row in enumerate(dense)}
    found = [of_name.get(row.tobytes()) for row in known.matrix[:, atoms].astype(np.int64)]
    return None if None in found else np.array(found, dtype=np.int64)
