"""Lumps: many records that nobody tells apart, as one thing that has the sum of their values.

Of a cell, the records that agree in everything public, a few stand in a system one by one, the others as
lumps of 1, 2, 4, 8, … records each, at most one of a size. The values of q records on the grid 0..top add up
to any whole number from 0 to q · top and to no other, so the tables of all records and those of records and
lumps leave the same to the records of a system: to one, to two together, to all.

As long as every query has all of a cell or nothing of it, a record that went into a lump can change places
with one that stands by itself: what holds of these holds of all of the cell, and of a record and an insider
where at least two stand by themselves. Lumps are nobody's: none is judged and none is an insider.

Promise: memory and time hang on the number of cells, not of records.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from cae_sql.errors import InvalidInput
from cae_sql.inference.facts.atoms import NO_LUMPS as NO_LUMPS
from cae_sql.inference.facts.atoms import Atoms
from cae_sql.inference.facts.query import Ints, Query
from cae_sql.inference.facts.spares import own

FEWEST = 4
"""Records of a cell that stand by themselves at least: one that is judged, an insider, and two more that may
have the cell's least and greatest value in place of a lump's records."""


def in_lumps(count: int, kept: int) -> tuple[int, Ints]:
    """How many records of a cell stand by themselves, `kept` or up to twice as many, and (m,) the lumps."""
    if count < 0 or kept < FEWEST:
        raise InvalidInput(f"a cell needs a count of at least 0 and {FEWEST} or more kept records")
    if count < 2 * kept:
        return count, NO_LUMPS
    least = 1 << (kept.bit_length() - 1)  # what does not fill a lump of that size stays
    rest = (count - kept) // least * least
    sizes = [1 << place for place in range(rest.bit_length()) if rest >> place & 1]
    return count - rest, np.array(sizes, dtype=np.int64)


def checked(lumps: ArrayLike | None) -> Ints:
    """(m,) how many records each lump stands for; InvalidInput where these are no powers of two."""
    given = np.asarray(NO_LUMPS if lumps is None else lumps)
    if given.ndim != 1 or (len(given) and given.dtype.kind not in "iu"):
        raise InvalidInput("lumps must be a list of whole numbers: how many records each stands for")
    for place, each in enumerate(given.tolist()):
        if each < 1 or each & (each - 1):
            raise InvalidInput(f"lump {place} stands for {each} records: a power of two is needed", place)
    return given.astype(np.int64)


def have_equals(
    atoms: Atoms, size: int, lumps: Ints, answers: Sequence[Query], queries: Sequence[Query]
) -> bool:
    """Whether beside each lump in an extreme there are `FEWEST` records that all of these treat as it, which
    may have its extremes in its place. `atoms` is the answers' partition.
    """
    whole, extreme = size + len(lumps), np.zeros(len(lumps), dtype=np.bool_)
    if queries:
        atoms = atoms.copy()
    for query in queries:
        atoms.refine(own(query, whole))
    for query in (*answers, *queries):
        if query.kind != "sum":
            extreme[query.members[(query.members >= size) & (query.members < whole)] - size] = True
    alike = np.bincount(atoms.labels[:size], minlength=atoms.count)
    return bool((alike[atoms.labels[size:whole][extreme & (lumps > 1)]] >= FEWEST).all())


def weight(query: Query, size: int, lumps: Ints) -> tuple[int, int]:
    """The positive and the negative coefficients of a sum added up, each lump's once for every record in it:
    lumps follow the first `size` records, spare records follow them.
    """
    signs = query.signs.copy()
    first, last = np.searchsorted(query.members, [size, size + len(lumps)])
    signs[first:last] *= lumps[query.members[first:last] - size]
    return int(signs[signs > 0].sum()), int(signs[signs < 0].sum())
