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
from cae_sql.inference.facts.rank import components, independent_sums
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
        return components(len(self.sizes), np.split(self.rows.indices, self.rows.indptr[1:-1]))

    @cached_property
    def name(self) -> bytes:
        """Equal for equal matrices."""
        found = blake2b(digest_size=20)
        for part in (self.matrix.indptr, self.matrix.indices, self.matrix.data):
            found.update(b"%d " % len(part) + np.ascontiguousarray(part).tobytes())
        return found.digest()

    def with_rows(self, some: Flags) -> Observations:
        """The same records under some of the sums, (k,)."""
        return replace(self, matrix=self.rows[some].tocsc(), sums=self.sums[some])

    def bordered(self, rows: NDArray[np.generic], own: Ints, sums: Ints, width: Ints) -> Observations:
        """With rows more, over the same columns (r, q) and slacks of their own (r, t), from 0 to `width`."""
        above = scipy.sparse.hstack([self.matrix, scipy.sparse.csc_array((len(self.sums), len(width)))])
        below = scipy.sparse.hstack([sparse_columns(rows), sparse_columns(own)])
        nothing = np.zeros(len(width), dtype=np.int64)
        return Observations(
            scipy.sparse.vstack([above, below]).tocsc(),
            np.append(self.sums, sums),
            np.append(self.sizes, nothing + 1),
            np.append(self.low, nothing),
            np.append(self.high, width),
            self.atoms,
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
    people = np.arange(known.count) if not spare.any() else np.flatnonzero(own)
    low, high, sizes = known.low[people], known.high[people], own[people]
    if not len(known.matrix):
        return Observations(scipy.sparse.csc_array((0, len(people))), sums, sizes, low, high, people)
    matrix = sparse_columns(known.matrix)
    slack = np.flatnonzero(spare * (np.diff(matrix.indptr) > 0)) if spare.any() else people[:0]
    if not len(slack) and (low < high).all():
        # spare records of an end of MAX or MIN are in no sum, and have columns here all the same
        return Observations(matrix[:, people], sums, sizes, low, high, people)
    # between which each sum over people lies
    by = matrix[:, slack].toarray().astype(np.int64)
    ends = np.sort(np.stack([by * (spare * known.low)[slack], by * (spare * known.high)[slack]]), axis=0)
    most, least = sums - ends[0].sum(axis=1), sums - ends[1].sum(axis=1)
    kept, most, least = _cut(matrix[:, people], most, least, np.where(low < high, 0, sizes * low), low < high)
    widths = (most - least)[kept]
    narrow = np.flatnonzero(widths > 0)
    entries = (np.ones(len(narrow)), (narrow, np.arange(len(narrow))))
    slacks = scipy.sparse.csc_array(entries, shape=(len(kept), len(narrow)))
    found = matrix[:, people][kept]
    nothing = np.zeros(len(narrow), dtype=np.int64)
    return Observations(
        scipy.sparse.hstack([found, slacks]).tocsc() if len(narrow) else found,
        most[kept],
        np.append(sizes, nothing + 1),
        np.append(low, nothing),
        np.append(high, widths[narrow]),
        people,
    )


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
    for row in range(rest.shape[0]):
        part = slice(rest.indptr[row], rest.indptr[row + 1])
        order = np.argsort(rest.indices[part])
        name = rest.indices[part][order].tobytes(), rest.data[part][order].tobytes()
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
