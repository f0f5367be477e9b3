"""Kernel moves as sparse vectors: those of a tableau, and short ones by lattice reduction (LLL).

In a small, dense system the tableau's moves change many atoms at once and are soon blocked. Any integer
combination of them keeps every sum too; reducing the lattice that they span finds short ones, which fit into
narrow boxes. Exact: integer combinations of integer vectors.
"""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from cae_sql.compiled import compiled
from cae_sql.inference.facts.basis import Tableau
from cae_sql.inference.facts.query import Ints

MOST_ATOMS = 128
"""Beyond this many atoms reduction costs more than it gains: directions are sparse there."""
STUCK_WEIGHT = 1 << 12
"""How much longer a vector counts for each unit by which it changes a stuck row."""
LARGEST_START = 1 << 26
"""Entries beyond this would make the Gram matrix overflow."""
MOST_VECTORS = 6_000
"""Vectors kept."""


class Moves(NamedTuple):
    """Sparse kernel vectors: vector v changes atoms[starts[v]:starts[v + 1]] by the weights of the same
    places.
    """

    starts: Ints
    atoms: Ints
    weights: Ints


_FOUND: WeakKeyDictionary[Tableau, Moves] = WeakKeyDictionary()


def short_moves(tableau: Tableau) -> Moves:
    """The short moves of a tableau, found once; see `find_moves`."""
    if tableau not in _FOUND:
        _FOUND[tableau] = find_moves(tableau)
    return _FOUND[tableau]


def reduced_basis(tableau: Tableau) -> NDArray[np.int64]:
    """(r, p) a basis of the lattice of whole moves that keep every sum, reduced; none of many atoms."""
    count = tableau.entries.shape[1]
    free = np.setdiff1d(np.arange(count), tableau.basic)
    none = np.zeros((0, count), dtype=np.int64)
    if count > MOST_ATOMS or not len(free):
        return none
    # behind each vector, weighted, what it does to the stuck rows: reduction drives that to 0 first
    vectors = np.zeros((len(free), count + len(tableau.stuck)), dtype=np.int64)
    vectors[np.arange(len(free)), free] = 1
    vectors[:, tableau.basic] = -tableau.entries[:, free].T
    vectors[:, count:] = STUCK_WEIGHT * tableau.stuck[:, free].T
    vectors = np.ascontiguousarray(vectors[np.argsort(np.abs(vectors).sum(axis=1), kind="stable")])
    if np.abs(vectors).max() > LARGEST_START:
        return none
    reduce_lattice(vectors, 0.99)
    return vectors[~vectors[:, count:].any(axis=1), :count]


def find_moves(tableau: Tableau) -> Moves:
    """A reduced basis of the lattice, and the shortest sums and differences of two of its vectors.

    Empty for systems of more than `MOST_ATOMS` atoms.
    """
    vectors = reduced_basis(tableau)
    if not len(vectors):
        return sparse(vectors)
    gram = vectors @ vectors.T
    norms = np.diag(gram)
    longest = int(np.sort(norms)[-1])
    found = [vectors]
    for sign in (1, -1):
        together = norms[:, None] + norms[None, :] + 2 * sign * gram
        together[np.tril_indices(len(vectors))] = longest + 1
        one, two = np.nonzero(together <= longest)
        order = np.argsort(together[one, two], kind="stable")[: MOST_VECTORS // 2]
        found.append(vectors[one[order]] + sign * vectors[two[order]])
    return sparse(np.vstack(found))


def sparse(vectors: NDArray[np.int64]) -> Moves:
    """Vectors (v, p) without their zeros."""
    # strided views would have every kernel compiled a second time
    rows, atoms = map(np.ascontiguousarray, np.nonzero(vectors))
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(vectors)))])
    return Moves(starts, atoms, vectors[rows, atoms])


def of_tableau(tableau: Tableau) -> Moves:
    """Each free atom's move: a unit more of it takes its column of the tableau from the basic atoms."""
    basic, free, starts, rows, entries = tableau.directions
    # columns that are not free have no entries
    return of_columns(np.flatnonzero(free), np.diff(starts)[free], basic[rows], entries)


def both(some: Moves, more: Moves) -> Moves:
    """The moves of two lists."""
    starts = np.concatenate([some.starts, some.starts[-1] + more.starts[1:]])
    atoms, weights = (np.concatenate(each) for each in zip(some[1:], more[1:], strict=True))
    return Moves(starts, atoms, weights)


def of_columns(ends: Ints, counts: Ints, basic: Ints, entries: Ints) -> Moves:
    """Moves that raise atoms (v,) by 1 each and take from basic ones (z,) what entries (z,) say.

    `counts` (v,) says how many of these belong to each.
    """
    firsts = np.concatenate([[0], np.cumsum(counts + 1)])
    own = np.zeros(firsts[-1], dtype=np.bool_)
    own[firsts[:-1]] = True
    atoms, weights = np.empty(firsts[-1], dtype=np.int64), np.ones(firsts[-1], dtype=np.int64)
    atoms[own], atoms[~own], weights[~own] = ends, basic, -entries
    return Moves(firsts, atoms, weights)


@compiled(exact=True)
def reduce_lattice(vectors: NDArray[np.int64], delta: float) -> None:
    """LLL reduction of independent integer vectors (rows), in place.

    Source: Nguyen & Stehlé, "Floating-point LLL revisited", 2005: exact products, floating Cholesky. Rounding
    can only cost shortness, never exactness: rows are changed by integer combinations alone.
    """
    count = len(vectors)
    r, mu = np.zeros((count, count)), np.zeros((count, count))
    row, work = 0, 0
    while row < count and work < 40 * count * count:
        for _ in range(30):
            work += 1
            for j in range(row + 1):
                value = float((vectors[row] * vectors[j]).sum())
                for k in range(j):
                    value -= mu[j, k] * r[row, k]
                r[row, j] = value
                if j < row:
                    mu[row, j] = value / r[j, j] if r[j, j] > 0 else 0.0
            changed = False
            for j in range(row - 1, -1, -1):
                times = int(np.rint(mu[row, j])) if abs(mu[row, j]) > 0.501 else 0
                if times != 0:
                    changed = True
                    vectors[row] -= times * vectors[j]
                    mu[row, :j] -= times * mu[j, :j]
            if not changed:
                break
        above = row - 1
        if row == 0 or delta * r[above, above] <= r[row, row] + mu[row, above] ** 2 * r[above, above]:
            row += 1
            continue
        for k in range(vectors.shape[1]):
            vectors[row, k], vectors[above, k] = vectors[above, k], vectors[row, k]
        row = above
