"""The partition of records into atoms: records that no answer tells apart.

They are interchangeable, so everything that can be inferred depends on the atoms' totals (`mathematics.md`,
2: reductions that are exact).
"""

from __future__ import annotations

from copy import copy

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference.facts.query import Ints, Query
from cae_sql.inference.facts.units import Occupied

NO_LUMPS: Ints = np.zeros(0, dtype=np.int64)
FEW = 8
"""Atoms for each record of an answer from which on labels are sorted; else they are counted, in less time."""


class Atoms:
    """Labels 0..count-1 of the records, refined by one answer at a time.

    Lumps (`cae_sql.inference.facts.lumps`) are counted as the records they stand for, or kept `apart`.
    """

    def __init__(
        self, size: int, real: int | None = None, lumps: Ints = NO_LUMPS, units: Ints | None = None
    ) -> None:
        """All records in one atom: those from `real` on are spare (`cae_sql.inference.facts.spares`), and the
        last real ones stand for so many records each as `lumps` says.

        `units` says to which unit each real record belongs; spare ones are units of their own.
        """
        self.labels: Ints = np.zeros(size, dtype=np.int64)
        """(n,) atom of each record."""
        self.real = size if real is None else real
        self._stands_for: Ints | None = None
        """(n,) for how many records each counts; None: for one."""
        if len(lumps):
            self._stands_for = np.ones(size, dtype=np.int64)
            self._stands_for[self.real - len(lumps) : self.real] = lumps
            size += int(lumps.sum()) - len(lumps)
        self.sizes: Ints = np.array([size])
        """(p,) records in each atom."""
        self.multiples: Ints = np.array([1])
        """(p,) records that each thing in an atom stands for where lumps are apart, else 1."""
        self._by_atom: tuple[Ints, Ints] | None = None
        self.units: Ints | None = None if units is None else _with_spares(units, size - len(units))
        """(n,) the unit of each record, also of spare ones; None: every record is its own."""
        self._occupied: Occupied | None = None

    @classmethod
    def apart(cls, size: int, lumps: Ints, spares: int = 0, units: Ints | None = None) -> Atoms:
        """Records and spare ones in one atom, and lumps between them in one for each of their sizes, as
        nobody's.
        """
        found = cls(size + len(lumps) + spares, size, units=units)
        sizes, places, counts = np.unique(lumps, return_inverse=True, return_counts=True)
        found.labels[size : size + len(lumps)] = 1 + places
        found.sizes, found.multiples = np.append(size + spares, counts), np.append(1, sizes)
        return found

    @property
    def count(self) -> int:
        """Number of atoms."""
        return len(self.sizes)

    @property
    def occupied(self) -> Occupied:
        """How units lie over the atoms."""
        if self._occupied is None:
            if self.units is None:
                self._occupied = Occupied.alone(self.sizes)
            else:
                self._occupied = Occupied.of(self.labels, self.units, self.count)
        return self._occupied

    @property
    def numbers(self) -> Ints:
        """(p,) numbers in each atom: a lump is one, for however many records it stands."""
        return self.sizes if self._stands_for is None else np.bincount(self.labels, minlength=self.count)

    def copy(self) -> Atoms:
        """An independent copy."""
        twin = copy(self)
        twin.labels, twin.sizes = self.labels.copy(), self.sizes.copy()
        return twin

    def grown(self, spares: int) -> Atoms:
        """With so many spare records more, an atom of their own, the last."""
        twin, last = copy(self), self.count
        twin.labels = np.append(self.labels, np.full(spares, last))
        twin.sizes, twin.multiples = np.append(self.sizes, spares), np.append(self.multiples, 1)
        twin._by_atom = twin._occupied = None
        twin.units = None if self.units is None else _with_spares(self.units, spares)
        if self._stands_for is not None:
            twin._stands_for = np.append(self._stands_for, np.ones(spares, dtype=np.int64))
        return twin

    @property
    def protected(self) -> NDArray[np.bool_]:
        """(p,) atoms of which a record is somebody's."""
        found = np.zeros(self.count, dtype=np.bool_)
        found[self.labels[: self.real]] = True
        return found

    def refine(self, answer: Query) -> Ints:
        """Split the atoms whose records the answer tells apart; labels keep their meaning.

        Returns:
            (p,) the atom before that each atom came from.
        """
        labels, count = self.labels[answer.members], self.count
        stands_for = None if self._stands_for is None else self._stands_for[answer.members]
        # a piece is what of an atom has one coefficient
        if answer.coefficients is None and len(labels) >= count // FEW:
            pieces, place = np.arange(count), labels
        else:
            weights = answer.coefficients
            ranks = 0 if weights is None else np.unique(weights, return_inverse=True)[1] * count
            pieces, place = np.unique(ranks + labels, return_inverse=True)
        atoms = pieces % count
        counts = np.bincount(place, stands_for, minlength=len(pieces)).astype(np.int64)
        # of an atom that is asked about as a whole the last piece keeps the label
        order = np.argsort(atoms, kind="stable")
        last = np.flatnonzero(np.diff(atoms[order], append=-1))
        asked = np.diff(np.cumsum(counts[order])[last], prepend=0)
        cut = counts > 0
        cut[order[last[asked == self.sizes[atoms[order[last]]]]]] = False
        origin, names = atoms[cut], atoms.copy()
        names[cut] = np.arange(count, count + len(origin))
        self.labels[answer.members] = names[place]
        np.subtract.at(self.sizes, origin, counts[cut])
        self.sizes = np.append(self.sizes, counts[cut])
        self.multiples = np.append(self.multiples, self.multiples[origin])
        self._by_atom = self._occupied = None
        return np.append(np.arange(count), origin)

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
        row[self.labels[answer.members]] = 1 if answer.coefficients is None else answer.coefficients
        return row


def _with_spares(units: Ints, spares: int) -> Ints:
    """With so many spare records behind, each a unit of its own."""
    first = int(units.max(initial=-1)) + 1
    return np.append(units, np.arange(first, first + spares))
