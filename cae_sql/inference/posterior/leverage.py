"""What answered sums say, as independent rows, and leverage: the share of a record's variance they explain.

**Rows** (`Observations`) are over columns: one for each atom of somebody, and one for what each end or range
leaves open. An end "at most b" is kept as an exact sum about spare records (`facts.spares`). Of those only
the total matters: it is one column, the *slack*, all values of its range alike before the answer. Two ends of
one sum are one row.

**Leverage.** Records are independent, with variances σ², until the sums A x = b are known. With H = A
diag(σ²) Aᵀ, h_i = σ_i² a_iᵀ H⁻¹ a_i lies in [0, 1]: 0 for a record in no sum, 1 for one that the sums
determine. Over all records and slacks the h_i add up to the rank of A. Which answers carry that of a record
(`Carriers`) is found greedily, which proves nothing: fewer might do.

Promise: rows are independent over the columns that can move, and rows without slack stay so when those with
slack are taken away. h is never less than it is by more than rounding: where rows are nearly dependent H⁻¹ is
taken from its eigenvectors, rather too large than too small.

Source: `mathematics.md`, 7 and 8.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy

from cae_sql.cached import cached_property
from cae_sql.compiled import compiled
from cae_sql.errors import InconsistentAnswers
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.rank import components, independent_sums
from cae_sql.inference.intervals.interior import add_squares, gram, inverse_root, sparse_columns
from cae_sql.inference.posterior.bell import STILL
from cae_sql.inference.posterior.weights import Flags, Floats, Ints
from cae_sql.threads import alone, in_two

NEARLY = 0.9
"""Leverage from which it is worked out anew as a sum of squares: of 1 − h, what is left decides."""
NOTHING = 1e-9
"""Leverage below which a sum adds nothing."""


@dataclass(frozen=True, eq=False)
class Observations:
    """Shapes: k rows; q columns, of which the first a are atoms of somebody."""

    matrix: scipy.sparse.csc_array
    """(k, q) coefficients."""
    sums: Ints
    """(k,) right-hand sides, in units."""
    sizes: Ints
    """(q,) records of each column; of a slack 1."""
    low: Ints
    high: Ints
    """(q,) least and greatest value of one record of each column."""
    atoms: Ints
    """(a,) which of the knowledge's atoms the first columns are."""

    @cached_property
    def rows(self) -> scipy.sparse.csr_array:
        """The matrix by rows."""
        return self.matrix.tocsr()

    @cached_property
    def components(self) -> Ints:
        """(q,) which component each column is in: columns that share no sum are independent."""
        return components(len(self.sizes), np.split(self.rows.indices, self.rows.indptr[1:-1]))

    def with_rows(self, some: Flags) -> Observations:
        """The same records under some of the sums, (k,)."""
        return replace(self, matrix=self.rows[some].tocsc(), sums=self.sums[some])

    def with_slacks(self, rows: Ints, width: Ints) -> Observations:
        """With slacks more, each from 0 to its width, (t,), in one of the rows, (t,)."""
        nothing, places = np.zeros(len(width), dtype=np.int64), np.arange(len(width))
        slacks = scipy.sparse.csc_array((nothing + 1.0, (rows, places)), (len(self.sums), len(width)))
        return replace(
            self,
            matrix=scipy.sparse.hstack([self.matrix, slacks]).tocsc(),
            sizes=np.append(self.sizes, nothing + 1),
            low=np.append(self.low, nothing),
            high=np.append(self.high, width),
        )

    @property
    def people(self) -> int:
        """How many columns are somebody's."""
        return len(self.atoms)


def observations(known: Knowledge, sums: Ints) -> Observations:
    """Of boxes, atoms, and independent sums with their right-hand sides, (k,).

    Raises:
        InconsistentAnswers: two ends of one sum leave nothing between them.
    """
    spare = np.bincount(known.atoms.labels[known.atoms.real :], minlength=known.count)
    own = known.sizes - spare
    people, matrix = np.flatnonzero(own), sparse_columns(known.matrix)
    low, high, sizes = known.low[people], known.high[people], own[people]
    slack = np.flatnonzero(spare * (np.diff(matrix.indptr) > 0))
    if not len(slack) and (low < high).all():
        return Observations(matrix[:, people], sums, sizes, low, high, people)
    # between which each sum over people lies
    by = matrix[:, slack].toarray().astype(np.int64)
    ends = np.sort(np.stack([by * (spare * known.low)[slack], by * (spare * known.high)[slack]]), axis=0)
    most, least = sums - ends[0].sum(axis=1), sums - ends[1].sum(axis=1)
    kept, most, least = _cut(matrix[:, people], most, least, np.where(low < high, 0, sizes * low), low < high)
    widths = (most - least)[kept]
    narrow = np.flatnonzero(widths > 0)
    found = Observations(matrix[:, people][kept], most[kept], sizes, low, high, people)
    return found.with_slacks(narrow, widths[narrow])


def _cut(
    matrix: scipy.sparse.csc_array, most: Ints, least: Ints, settled: Ints, free: Flags
) -> tuple[Ints, Ints, Ints]:
    """Sums over people that say something, and between which each lies, (k,).

    Of those with the same movable members one is kept, with the ends that all together leave it; of
    those that are exact such as do not follow from others. `settled` are totals of atoms that cannot move.
    """
    fixed = (matrix @ settled).astype(np.int64)
    most, least, columns = most - fixed, least - fixed, np.flatnonzero(free)
    rest, first = scipy.sparse.csr_array(matrix[:, columns]), dict[tuple[bytes, bytes], int]()
    rest.sort_indices()
    for row in range(rest.shape[0]):
        part = slice(rest.indptr[row], rest.indptr[row + 1])
        name = rest.indices[part].tobytes(), rest.data[part].tobytes()
        if not name[0]:
            continue
        at = first.setdefault(name, row)
        most[at], least[at] = min(most[at], most[row]), max(least[at], least[row])
        if least[at] > most[at]:
            raise InconsistentAnswers("two ends of one sum leave nothing between them")
    kept = np.array(list(first.values()), dtype=np.int64)
    exact = kept[most[kept] == least[kept]]
    if len(exact):
        dense = rest[exact].toarray().astype(np.int64)
        exact = exact[independent_sums(dense, most[exact])]
    return np.sort(np.append(exact, kept[most[kept] > least[kept]])), most + fixed, least + fixed


@dataclass(frozen=True, eq=False)
class Factor:
    """H⁻¹ = Rᵀ R of some rows."""

    root: Floats
    """(k, k) R, lower triangular unless rows are nearly dependent."""

    @classmethod
    def of(cls, matrix: scipy.sparse.csc_array, weights: Floats) -> Factor:
        """Of H = A diag(weights) Aᵀ; weights are records times variance, (q,)."""
        return cls.by(gram(matrix, weights))

    @classmethod
    def by(cls, covariance: Floats) -> Factor:
        """Of H, (k, k)."""
        with alone():
            return cls(inverse_root(covariance))

    @cached_property
    def inverse(self) -> Floats:
        """(k, k) H⁻¹."""
        with alone():
            found: Floats = np.ascontiguousarray(self.root.T @ self.root)
        return found

    def leverages(self, matrix: scipy.sparse.csc_array, variances: Floats) -> Floats:
        """(q,) h = σ² aᵀ H⁻¹ a of one record of each column."""
        forms, inverse = np.zeros(matrix.shape[1]), self.inverse

        def work(first: int, last: int) -> None:
            add_forms(matrix.indptr, matrix.indices, matrix.data, inverse, first, last, forms)

        in_two(work, len(forms), (matrix.nnz // max(len(forms), 1)) ** 2)
        found = variances * forms
        near = np.flatnonzero((found > NEARLY) | bool(np.triu(self.root, 1).any()))
        exactly, turned = np.zeros(len(near)), np.ascontiguousarray(self.root.T)
        add_squares(matrix.indptr, matrix.indices, matrix.data, turned, near, exactly)
        found[near] = variances[near] * exactly
        return np.clip(found, 0.0, 1.0)

    def solve(self, right: Floats) -> Floats:
        """H⁻¹ times (k,) or (k, r)."""
        found: Floats = self.root.T @ (self.root @ right)
        return found


@compiled()
def add_forms(
    starts: Ints, rows: Ints, entries: Floats, inverse: Floats, first: int, last: int, out: Floats
) -> None:  # fmt: skip
    """Add aᵀ M a of some columns a of a sparse matrix, M symmetric."""
    for j in range(first, last):
        total = 0.0
        for a in range(starts[j], starts[j + 1]):
            line, part = inverse[rows[a]], 0.0
            for b in range(starts[j], a):
                part += entries[b] * line[rows[b]]
            total += entries[a] * (2.0 * part + entries[a] * line[rows[a]])
        out[j] += total


class Carriers:
    """All answered sums, to be asked about one record after the other."""

    def __init__(self, matrix: scipy.sparse.csc_array, variances: Floats, sizes: Floats) -> None:
        """Of the sums over groups of records, (k, p), the variance of one of each, and how many these are."""
        self._matrix, self._variances = matrix, variances
        self._covariances = ((matrix * (sizes * variances)) @ matrix.T).toarray()

    def of(self, group: int, most: int, share: float) -> list[tuple[int, float]]:
        """At most so many sums with most leverage on a record of a group, or with such a share of all of it.

        Each sum's number, and the leverage by it and those before it, 0 to 1.
        """
        variance, taken = float(self._variances[group]), list[tuple[int, float]]()
        if variance <= STILL or not len(self._covariances):
            return taken
        # covariances given the sums that are taken: of the sums, and of these with the record
        left, toward = self._covariances.copy(), variance * self._matrix[:, [group]].toarray()[:, 0]
        least = NOTHING * np.diag(left) + np.finfo(float).tiny
        total, enough = 0.0, share * float(toward @ np.linalg.lstsq(left, toward, rcond=1e-10)[0]) / variance
        while len(taken) < most and total < enough:
            open_ = np.diag(left)
            gains = np.where(open_ > least, toward**2 / np.maximum(open_, least), 0.0) / variance
            row = int(np.argmax(gains))
            if gains[row] <= NOTHING:
                break
            total += float(gains[row])
            taken.append((row, min(total, 1.0)))
            said = left[row] / left[row, row]
            toward, left = toward - said * toward[row], left - np.outer(said, left[row])
        return taken
