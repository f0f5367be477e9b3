"""What answered sums say, as observations: independent rows over columns, one column for each atom of
somebody and one for what each end or range leaves open.

An end "at most b" is kept as an exact sum about spare records (`cae_sql.inference.facts.spares`). Those are
nobody's, and their total is all that matters of them. Here it is one column, the *slack*, with every value of
its range alike before the answer. Its variance is what the row's own variance gains: w²/12 for a range of
width w where nothing is known of where in it the sum lies, less where the other answers say. Two ends of one
sum are one row: their ranges are cut.

Promise: rows are independent over the columns that can move, and rows without slack stay so when those with
slack are taken away. Nobody's column is more than one record.

Source: `mathematics.md`, 7 and 8.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b

import numpy as np
import scipy
from numpy.typing import NDArray

from cae_sql.cached import cached_property
from cae_sql.errors import InconsistentAnswers
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.rank import independent_sums, join, roots
from cae_sql.inference.intervals.interior import sparse_columns
from cae_sql.inference.posterior.weights import Ints

Flags = NDArray[np.bool_]


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
    """(q,) least value of one record of each column."""
    high: Ints
    """(q,) greatest value."""
    atoms: Ints
    """(a,) which of the knowledge's atoms the first columns are."""

    @cached_property
    def rows(self) -> scipy.sparse.csr_array:
        """The matrix by rows."""
        return self.matrix.tocsr()

    @cached_property
    def components(self) -> Ints:
        """(q,) which component each column is in: columns that share no sum are independent."""
        root = np.arange(len(self.sizes))
        for row in range(self.rows.shape[0]):
            join(root, self.rows.indices[self.rows.indptr[row] : self.rows.indptr[row + 1]].astype(np.int64))
        found: Ints = np.unique(roots(root), return_inverse=True)[1].astype(np.int64)
        return found

    @cached_property
    def name(self) -> bytes:
        """Equal for equal matrices."""
        found = blake2b(digest_size=20)
        for part in (self.matrix.indptr, self.matrix.indices, self.matrix.data):
            found.update(b"%d " % len(part) + np.ascontiguousarray(part).tobytes())
        return found.digest()

    def with_sums(self, sums: Ints) -> Observations:
        """With other right-hand sides; what hangs on the matrix alone is not worked out anew."""
        found = replace(self, sums=sums)
        vars(found).update(rows=self.rows, components=self.components, name=self.name)
        return found

    def with_rows(self, some: Flags) -> Observations:
        """The same records under some of the sums, (k,)."""
        return replace(self, matrix=self.rows[some].tocsc(), sums=self.sums[some])

    @property
    def people(self) -> int:
        """How many columns are somebody's."""
        return len(self.atoms)


def observations(known: Knowledge, sums: Ints) -> Observations:
    """The answered sums of a system.

    Args:
        known: Boxes, atoms, and the matrix of the independent sums.
        sums: (k,) their right-hand sides.

    Raises:
        InconsistentAnswers: two ends of one sum leave nothing between them.
    """
    spare = np.bincount(known.atoms.labels[known.atoms.real :], minlength=known.count)
    own = known.sizes - spare
    people = np.arange(known.count) if not spare.any() else np.flatnonzero(own)
    low, high, sizes = known.low[people], known.high[people], own[people]
    if not len(known.matrix):
        return Observations(scipy.sparse.csc_array((0, len(people))), sums, sizes, low, high, people)
    matrix = sparse_columns(known.matrix)
    slack = np.flatnonzero(spare * (np.diff(matrix.indptr) > 0)) if spare.any() else people[:0]
    if not len(slack) and (low < high).all():
        # spare records of an end of MAX or MIN are in no sum, and have columns here all the same
        return Observations(matrix[:, people], sums, sizes, low, high, people)
    rows = _Rows(
        matrix[:, people],
        sums,
        sizes * low,
        low < high,
        matrix[:, slack].toarray(),
        spare[slack] * known.low[slack],
        spare[slack] * known.high[slack],
    )
    found, values, widths = rows.cut()
    narrow = np.flatnonzero(widths > 0)
    entries = (np.ones(len(narrow)), (narrow, np.arange(len(narrow))))
    slacks = scipy.sparse.csc_array(entries, shape=(len(values), len(narrow)))
    nothing = np.zeros(len(narrow), dtype=np.int64)
    return Observations(
        scipy.sparse.hstack([found, slacks]).tocsc() if len(narrow) else found,
        values,
        np.append(sizes, nothing + 1),
        np.append(low, nothing),
        np.append(high, widths[narrow]),
        people,
    )


@dataclass(frozen=True, eq=False)
class _Rows:
    """Sums over people and spare records, on the way to observations."""

    matrix: scipy.sparse.csc_array
    """(k, a)"""
    sums: Ints
    fixed: Ints
    """(a,) total of an atom that cannot move."""
    free: Flags
    """(a,)"""
    slack: NDArray[np.float64]
    """(k, s) coefficients of the spare records' totals."""
    least: Ints
    """(s,)"""
    most: Ints

    def cut(self) -> tuple[scipy.sparse.csc_array, Ints, Ints]:
        """Rows over people, right-hand sides, and how far below each its sum may be."""
        slack = self.slack.astype(np.int64)
        ends = np.sort(np.stack([slack * self.least, slack * self.most]), axis=0)
        high, low = self.sums - ends[0].sum(axis=1), self.sums - ends[1].sum(axis=1)
        columns = np.flatnonzero(self.free)
        rest = scipy.sparse.csr_array(self.matrix[:, columns])
        settled = (self.matrix @ np.where(self.free, 0, self.fixed)).astype(np.int64)
        high, low = high - settled, low - settled
        kept, high, low = _merged(rest, high, low)
        exact = kept[high[kept] == low[kept]]
        if len(exact):
            dense = rest[exact].toarray().astype(np.int64)
            exact = exact[independent_sums(dense, high[exact], np.ones(len(columns)))]
        kept = np.sort(np.append(exact, kept[high[kept] > low[kept]]))
        return self.matrix[kept], (high + settled)[kept], (high - low)[kept]


def _merged(rows: scipy.sparse.csr_array, high: Ints, low: Ints) -> tuple[Ints, Ints, Ints]:
    """Rows that say something, each set of coefficients once, with the ends that all together leave it."""
    high, low = high.copy(), low.copy()
    first: dict[tuple[bytes, bytes], int] = {}
    for row in range(rows.shape[0]):
        part = slice(rows.indptr[row], rows.indptr[row + 1])
        order = np.argsort(rows.indices[part])
        name = rows.indices[part][order].tobytes(), rows.data[part][order].tobytes()
        if not name[0]:
            continue
        at = first.setdefault(name, row)
        high[at], low[at] = min(high[at], high[row]), max(low[at], low[row])
        if low[at] > high[at]:
            raise InconsistentAnswers("two ends of one sum leave nothing between them")
    return np.array(list(first.values()), dtype=np.int64), high, low
