"""What answered sums say, as independent rows over columns: one column for each atom of somebody, and one for
what each end or range leaves open.

An end "at most b" is kept as an exact sum about spare records (`cae_sql.inference.facts.spares`). Those are
nobody's, and their total is all that matters of them: here it is one column, the *slack*, with every value of
its range alike before the answer. Its variance is what the row's own variance gains: w²/12 for a range of
width w where nothing else is known of the sum, less where the other answers say. Two ends of one sum are one
row: their ranges are cut.

Promise: rows are independent over the columns that can move, and rows without slack stay so when those with
slack are taken away. Nobody's column is more than one record.

Source: `mathematics.md`, 7 and 8.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy

from cae_sql.cached import cached_property
from cae_sql.errors import InconsistentAnswers
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.rank import components, independent_sums
from cae_sql.inference.intervals.interior import sparse_columns
from cae_sql.inference.posterior.weights import Flags, Ints


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

    Of those with the same members who can move one is kept, with the ends that all together leave it; of
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
