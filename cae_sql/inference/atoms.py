"""The partition of records into atoms: records that no answer tells apart.

Records with the same coefficients and the same MAX and MIN memberships are interchangeable, so everything
that can be inferred depends on the atoms' totals (`mathematics.md`, 2: reductions that are exact).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference.answers import Ints, Query


class Atoms:
    """Labels 0..count-1 of the records, refined by one answer at a time."""

    def __init__(self, size: int) -> None:
        self.labels: Ints = np.zeros(size, dtype=np.int64)
        """(n,) atom of each record."""
        self.sizes: Ints = np.array([size], dtype=np.int64)
        """(p,) records in each atom."""
        self.parents: Ints = np.zeros(1, dtype=np.int64)
        """(p,) atom of the partition before the last refinement that each atom came from."""
        self._by_atom: tuple[Ints, Ints] | None = None

    @property
    def count(self) -> int:
        """How many atoms there are."""
        return len(self.sizes)

    def copy(self) -> Atoms:
        """An independent copy."""
        twin = Atoms(0)
        twin.labels, twin.sizes, twin.parents = self.labels.copy(), self.sizes.copy(), self.parents.copy()
        return twin

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
        self.parents = np.arange(first)
        for part in parts:
            self._split(part)
        # a part may split an atom that an earlier part of the same answer made
        parents = self.parents
        while (parents >= first).any():
            parents = np.where(parents >= first, parents[np.minimum(parents, len(parents) - 1)], parents)
        self.parents = parents

    def _split(self, members: Ints) -> None:
        touched, places, counts = np.unique(self.labels[members], return_inverse=True, return_counts=True)
        cut = counts < self.sizes[touched]
        fresh = np.where(cut, self.count + np.cumsum(cut) - 1, touched)
        self.labels[members] = fresh[places]
        self.sizes[touched[cut]] -= counts[cut]
        self.sizes = np.concatenate([self.sizes, counts[cut]])
        self.parents = np.concatenate([self.parents, touched[cut]])

    @property
    def by_atom(self) -> tuple[Ints, Ints]:
        """Records sorted by atom, and where each atom's records start: (n,) and (p + 1,)."""
        if self._by_atom is None:
            order = np.argsort(self.labels, kind="stable")
            self._by_atom = order, np.concatenate([[0], np.cumsum(self.sizes)])
        return self._by_atom

    def row(self, answer: Query) -> NDArray[np.int64]:
        """(p,) the coefficient that each atom's records have in the answer; 0 outside of it."""
        row = np.zeros(self.count, dtype=np.int64)
        row[self.labels[answer.members]] = 1 if answer.coefficients is None else answer.coefficients
        return row
