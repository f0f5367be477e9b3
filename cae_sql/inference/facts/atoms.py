"""The partition of records into atoms: records that no answer tells apart.

Records with the same coefficients and the same MAX and MIN memberships are interchangeable, so everything
that can be inferred depends on the atoms' totals (`mathematics.md`, 2: reductions that are exact).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference.facts.lumps import NO_LUMPS
from cae_sql.inference.facts.query import Ints, Query

FEW = 8
"""Atoms for each record of an answer from which on labels are sorted; else they are counted, in less time."""


class Atoms:
    """Labels 0..count-1 of the records, refined by one answer at a time.

    Lumps, which stand for many records each (`cae_sql.inference.facts.lumps`), are counted as those, or kept
    apart as one thing each: `apart`.
    """

    def __init__(self, size: int, real: int | None = None, lumps: Ints = NO_LUMPS) -> None:
        """All in one atom.

        Args:
            size: Number of records.
            real: How many of them are somebody's; those after are spare (`cae_sql.inference.facts.spares`).
            lumps: For how many records each of the last real ones stands.
        """
        self.labels: Ints = np.zeros(size, dtype=np.int64)
        """(n,) atom of each record."""
        self.real = size if real is None else real
        """Records that are somebody's: those from here on are spare."""
        self._stands_for: Ints | None = None
        """(n,) for how many records each counts; None: for one."""
        if len(lumps):
            self._stands_for = np.ones(size, dtype=np.int64)
            self._stands_for[self.real - len(lumps) : self.real] = lumps
            size += int(lumps.sum()) - len(lumps)
        self._sizes: Ints = np.full(8, size, dtype=np.int64)
        self._multiples: Ints = np.ones(8, dtype=np.int64)
        self._parents: Ints = np.zeros(8, dtype=np.int64)
        self.count = 1
        """How many atoms there are."""
        self._by_atom: tuple[Ints, Ints] | None = None

    @classmethod
    def apart(cls, size: int, lumps: Ints, spares: int = 0) -> Atoms:
        """Records in one atom, and lumps behind them in one for each of their sizes, as nobody's.

        Args:
            size: Number of records.
            lumps: For how many records each lump stands.
            spares: Number of spare records behind the lumps.
        """
        found = cls(size + len(lumps) + spares, size)
        sizes, places, counts = np.unique(lumps, return_inverse=True, return_counts=True)
        found._reserve(1 + len(sizes))
        found.count = 1 + len(sizes)
        found.labels[size : size + len(lumps)] = 1 + places
        found._sizes[: found.count] = [size + spares, *counts.tolist()]
        found._multiples[1 : found.count] = sizes
        found._parents[: found.count] = np.arange(found.count)
        return found

    @classmethod
    def of(cls, labels: Ints) -> Atoms:
        """A partition that is known already: labels 0..count-1, each of somebody."""
        found = cls(0)
        found.labels, found._sizes, found.real = labels, np.bincount(labels), len(labels)
        found.count, found._parents = len(found._sizes), np.arange(len(found._sizes))
        found._multiples = np.ones(found.count, dtype=np.int64)
        return found

    @property
    def sizes(self) -> Ints:
        """(p,) records in each atom."""
        return self._sizes[: self.count]

    @property
    def numbers(self) -> Ints:
        """(p,) how many numbers each atom has: a lump is one of them, for however many records it stands."""
        return self.sizes if self._stands_for is None else np.bincount(self.labels, minlength=self.count)

    @property
    def multiples(self) -> Ints:
        """(p,) for how many records each thing in an atom stands where lumps are apart, else 1."""
        return self._multiples[: self.count]

    @property
    def parents(self) -> Ints:
        """(p,) atom of the partition before the last refinement that each atom came from."""
        return self._parents[: self.count]

    def copy(self) -> Atoms:
        """An independent copy."""
        twin = Atoms(0)
        twin.labels, twin.count, twin.real = self.labels.copy(), self.count, self.real
        twin._sizes, twin._parents = self._sizes.copy(), self._parents.copy()
        twin._multiples = self._multiples.copy()
        twin._stands_for = self._stands_for
        return twin

    def grown(self, spares: int) -> Atoms:
        """With so many spare records more, an atom of their own, the last."""
        twin = self.copy()
        twin.labels = np.append(self.labels, np.full(spares, self.count, dtype=np.int64))
        twin._reserve(self.count + 1)
        twin._sizes[self.count], twin._parents[self.count] = spares, self.count
        twin._multiples[self.count] = 1
        if self._stands_for is not None:
            twin._stands_for = np.append(self._stands_for, np.ones(spares, dtype=np.int64))
        twin.count += 1
        return twin

    @property
    def protected(self) -> NDArray[np.bool_]:
        """(p,) atoms of which a record is somebody's."""
        found = np.ones(self.count, dtype=np.bool_)
        if self.real < len(self.labels):
            found[self.labels[self.real :]] = False
            found[self.labels[: self.real]] = True
        return found

    def refine(self, answer: Query) -> None:
        """Split the atoms whose records the answer tells apart. Existing labels keep their meaning."""
        if answer.coefficients is None:
            parts = [answer.members]
        else:
            order = np.argsort(answer.coefficients, kind="stable")
            cuts = np.flatnonzero(np.diff(answer.coefficients[order])) + 1
            parts = [np.sort(part) for part in np.split(answer.members[order], cuts)]
        first = self.count
        self._by_atom = None
        self._parents[:first] = np.arange(first)
        for part in parts:
            self._split(part)
        if len(parts) > 1:
            # a part may split an atom that an earlier part of the same answer made
            while (self.parents >= first).any():
                parents = self.parents
                self._parents[: self.count] = np.where(parents >= first, parents[parents], parents)

    def _split(self, members: Ints) -> None:
        labels = self.labels[members]
        stands_for = None if self._stands_for is None else self._stands_for[members]
        if len(labels) < self.count // FEW:
            touched, place = np.unique(labels, return_inverse=True)
            counts = np.bincount(place, stands_for).astype(np.int64)
        else:
            place, counts = labels, np.bincount(labels, stands_for).astype(np.int64)
            touched = np.flatnonzero(counts)
            counts = counts[touched]
        cut = counts < self._sizes[touched]
        split, left = touched[cut], counts[cut]
        fresh = np.arange(self.count, self.count + len(split))
        self._reserve(self.count + len(split))
        if len(split) == len(touched) == 1:
            self.labels[members] = fresh[0]
        elif len(split):
            names = touched.copy()
            names[cut] = fresh
            if place is labels:
                every = np.zeros(touched[-1] + 1, dtype=np.int64)
                every[touched] = names
                names = every
            self.labels[members] = names[place]
        self._sizes[split] -= left
        self._sizes[fresh] = left
        self._multiples[fresh] = self._multiples[split]
        self._parents[fresh] = split
        self.count += len(split)

    def _reserve(self, count: int) -> None:
        if count > len(self._sizes):
            more = np.zeros(max(count, 2 * len(self._sizes)) - len(self._sizes), dtype=np.int64)
            self._sizes = np.concatenate([self._sizes, more])
            self._multiples = np.concatenate([self._multiples, more + 1])
            self._parents = np.concatenate([self._parents, more])

    @property
    def by_atom(self) -> tuple[Ints, Ints]:
        """Records sorted by atom, and where each atom's records start: (n,) and (p + 1,)."""
        if self._by_atom is None:
            order = np.argsort(self.labels, kind="stable")
            self._by_atom = order, np.concatenate([[0], np.cumsum(self.numbers)])
        return self._by_atom

    def row(self, answer: Query) -> NDArray[np.int64]:
        """(p,) the coefficient that each atom's records have in the answer; 0 outside of it."""
        row = np.zeros(self.count, dtype=np.int64)
        self.fill_row(answer, row)
        return row

    def fill_row(self, answer: Query, row: NDArray[np.int64]) -> None:
        """As `row`, into zeros that are there already."""
        row[self.labels[answer.members]] = 1 if answer.coefficients is None else answer.coefficients
