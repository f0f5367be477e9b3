"""Sums that many share and that tell next to nothing of anybody: what hangs together without them.

One harmless sum, the total of a table, makes one component of everybody. So that small clusters are counted
all the same, sums are left out of which nobody has more than `LITTLE` of the variance that they explain
alone, and that so many others are in, outside of a cluster, that these are a bell. What they tell of a
cluster's records to first order stays: exp(v Σ a λ) over the sums that are left out, λ being theirs in the
fit of all of them. To second order they tell what their leverage is, and that is little for each record of a
cluster, or it is not apart.

Promise: it hangs on answers, domain and prior alone. Of whom is apart, sums that are left out tell at most
`LITTLE` of the variance that is left.

Source: `mathematics.md`, 10.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import scipy
from numpy.typing import NDArray

from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.posterior.heaps import HIDDEN, Characters
from cae_sql.inference.posterior.leverage import Factor
from cae_sql.inference.posterior.observations import Observations
from cae_sql.inference.posterior.weights import Floats, Ints

Flags = NDArray[np.bool_]

LITTLE = 0.02
"""Leverage up to which the formula is off by less than its square (`likely.LITTLE`), and up to which a sum,
or all that are left out together, tell little."""
FEWEST = 50
"""Records of a sum that can be left out: of fewer somebody has more than `LITTLE` of it."""
SPREAD = 4.0
"""Variance of what others add to a sum, in units², from which it is a bell on whole numbers: what is left of
other lobes is exp(−2π² · 4)."""
EXACT = 1e-3
"""To which a tilt over the domain is rounded, so that what was counted once can be used again."""


class Fitted(Protocol):
    """What is taken of a tilted model (`likely.Fit`). Shapes: k rows, q columns."""

    @property
    def observed(self) -> Observations:
        """Its sums."""

    @property
    def point(self) -> Floats:
        """(k,) λ."""

    @property
    def variances(self) -> Floats:
        """(q,) of one record."""

    @property
    def factor(self) -> Factor:
        """Of the sums' covariance."""


@dataclass(frozen=True, eq=False)
class Apart:
    """What is known without sums that many share. Shapes: p atoms."""

    known: Knowledge
    sums: Ints
    """Right-hand sides of the sums that are left."""
    atoms: Flags
    """(p,) whose clusters may be counted by these alone."""
    tilts: Floats
    """(p,) what the others tell: log odds by unit."""
    rows: Flags
    """(k,) of the fit's observations, which are left."""

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
    def of(cls, known: Knowledge, sums: Ints, fit: Fitted, characters: Characters) -> Apart:
        """Leave out what can be.

        Args:
            known: Boxes, extremes, and the matrix of the independent sums.
            sums: (k,) their right-hand sides.
            fit: Of the answered sums alone.
            characters: Of the same.
        """
        seen = fit.observed
        plain, count = cls.nothing(known, sums, seen.matrix.shape[0]), seen.people
        ones = scipy.sparse.csr_array(
            (np.ones(seen.rows.nnz), seen.rows.indices, seen.rows.indptr), seen.rows.shape
        )
        many = np.flatnonzero(ones @ seen.sizes >= FEWEST)
        if not len(many) or len(many) == len(sums):
            return plain
        # what of each record's variance one sum explains alone: what is lost where it is left out
        told = seen.matrix.T @ fit.factor.inverse[:, many]
        own = np.diag(fit.factor.inverse)[many]
        alone = fit.variances[:, None] * told**2 / np.maximum(own, np.finfo(float).tiny)
        far = many[(alone <= LITTLE).all(axis=0)]
        if not len(far):
            return plain
        inverse = fit.factor.inverse
        part = Factor.by(inverse[np.ix_(far, far)]).root @ (seen.matrix.T @ inverse[:, far]).T
        together = fit.variances * np.einsum("ij,ij->j", part, part)
        kept = np.ones(len(plain.rows), dtype=np.bool_)
        kept[far] = False
        rows = _rows_of(known, seen.rows, seen.atoms)
        if rows is None:
            return plain
        some = kept[rows]
        fewer = replace(known, matrix=known.matrix[some])
        labels = fewer.components
        own_tilts = seen.matrix[far].T @ fit.point[far]
        tilts, little = np.zeros(known.count), np.zeros(known.count, dtype=np.bool_)
        tilts[seen.atoms], little[seen.atoms] = own_tilts[:count], together[:count] <= LITTLE
        top = float(max(int(known.high.max()), 1))
        tilts = np.rint(tilts * top / EXACT) * EXACT / top
        bad = np.unique(labels[np.flatnonzero(~little)]) if not little.all() else labels[:0]
        atoms = ~np.isin(labels, bad)
        own_label = labels[seen.atoms]
        for row in far.tolist():
            columns = seen.rows.indices[seen.rows.indptr[row] : seen.rows.indptr[row + 1]]
            mine = columns[columns < count]
            atoms &= ~np.isin(labels, _crowding(own_label[mine], mine, seen.sizes, fit.variances, characters))
        return cls(fewer, sums[some], atoms, tilts, kept)


def _crowding(labels: Ints, columns: Ints, sizes: Ints, variances: Floats, characters: Characters) -> Ints:
    """Clusters without which a sum is no bell."""
    spread = sizes[columns] * variances[columns]
    hides = sizes[columns] * np.minimum(characters.least[columns], HIDDEN)
    count = int(labels.max()) + 1
    left_spread = spread.sum() - np.bincount(labels, spread, count)
    left_hides = hides.sum() - np.bincount(labels, hides, count)
    found: Ints = np.unique(labels[(left_spread < SPREAD)[labels] | (left_hides < HIDDEN)[labels]])
    return found


def _rows_of(known: Knowledge, rows: scipy.sparse.csr_array, atoms: Ints) -> Ints | None:
    """(k,) by which observation each sum is said; None where one is by none."""
    names = dict[tuple[bytes, bytes], int]()
    for row in range(rows.shape[0]):
        part = slice(rows.indptr[row], rows.indptr[row + 1])
        some = rows.indices[part] < len(atoms)
        order = np.argsort(rows.indices[part][some])
        name = (
            atoms[rows.indices[part][some][order]].tobytes(),
            rows.data[part][some][order].astype(float).tobytes(),
        )
        names[name] = row
    real = np.zeros(known.count, dtype=np.bool_)
    real[atoms] = True
    found = np.empty(len(known.matrix), dtype=np.int64)
    for place, row in enumerate(known.matrix):
        columns = np.flatnonzero((row != 0) & real)
        at = names.get((columns.astype(atoms.dtype).tobytes(), row[columns].astype(float).tobytes()))
        if at is None:
            return None
        found[place] = at
    return found
