"""Some answers over the records in them, stated once, so that any part of them is stated quickly.

Whether a certificate does without an answer is asked about part after part of the same answers. Their
partition serves all of them: it is finer than a part needs, and says the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference.facts.atoms import Atoms
from cae_sql.inference.facts.basis import Tableau
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Answer, Ints, Query
from cae_sql.inference.facts.rank import independent_sums

SINGULAR = 1e-7
"""An inverse that is so far from one counts as none."""


class Framed:
    """Answers that bear on one record. Shapes: c answers, m records in any of them, p atoms."""

    def __init__(
        self, size: int, top: int, answers: Sequence[Answer], numbers: Sequence[int], record: int
    ) -> None:
        """State those of some numbers; nobody else is in the record's atom."""
        self.record, self.numbers = record, frozenset(numbers)
        self._top = top
        inside = np.zeros(size, dtype=np.bool_)
        inside[record] = True
        for number in numbers:
            inside[answers[number].members] = True
        self.everybody: Ints = np.flatnonzero(inside)
        """(m,) the records, ascending."""
        self._place = np.full(size, -1, dtype=np.int64)
        self._place[self.everybody] = np.arange(len(self.everybody))
        self.atoms = Atoms(len(self.everybody))
        self.atoms.refine(Query(kind="sum", members=self._place[[record]]))
        for number in numbers:
            self.atoms.refine(replace(answers[number], members=self._place[answers[number].members]))
        self._place[self.everybody] = self.atoms.labels
        self.atom = int(self._place[record])
        """The record's."""
        self._answers = {number: answers[number] for number in numbers}
        self._rows: dict[int, NDArray[np.int64]] = {}
        for number in numbers:
            if answers[number].kind == "sum":
                row = np.zeros(self.atoms.count, dtype=np.int64)
                own = answers[number].coefficients
                row[self._place[answers[number].members]] = 1 if own is None else own
                self._rows[number] = row

    def stated(self, numbers: Sequence[int]) -> tuple[Knowledge, Ints, list[int]]:
        """Some of the answers: what they amount to, the independent sums' right-hand sides and numbers."""
        count = self.atoms.count
        low, high = np.zeros(count, dtype=np.int64), np.full(count, self._top, dtype=np.int64)
        none = np.zeros((0, count), dtype=np.int64)
        known = Knowledge(self.atoms, low, high, Tableau.empty(count), none)
        for number in numbers:
            answer = self._answers[number]
            if answer.kind != "sum":
                members = np.searchsorted(self.everybody, answer.members)
                known = known.with_extreme(replace(answer, members=members), int(answer.value))
        sums = [number for number in numbers if number in self._rows]
        values = np.array([int(self._answers[number].value) for number in sums], dtype=np.int64)
        matrix = np.array([self._rows[number] for number in sums], dtype=np.int64).reshape(len(sums), count)
        room = (known.sizes * (known.high - known.low)).astype(np.float64)
        rows = independent_sums(matrix, values, room)
        known = replace(known, matrix=matrix[rows])
        return known, values[rows], [sums[row] for row in rows.tolist()]

    def each_moves(self, truth: Ints, numbers: Sequence[int]) -> bool:
        """Whether without any one of some sums the record can have another real value, near to a true table.

        The sums add up to the record. Where each can be changed alone by moving records that have room, none
        can be spared: that is what an inverse shows for all of them at once. False where it is not seen so.
        """
        if any(number not in self._rows for number in numbers):
            return False
        matrix = np.array([self._rows[number] for number in numbers], dtype=np.float64)
        sizes, top = self.atoms.sizes, self._top
        totals = np.bincount(self._place[self.everybody], truth[self.everybody], self.atoms.count)
        room = np.minimum(totals, sizes * top - totals)
        room[self.atom] = 1.0  # to one side at least
        scaled = matrix * np.minimum(room, top) ** 2
        gram = scaled @ matrix.T
        try:
            moves = np.linalg.solve(gram, scaled)
        except np.linalg.LinAlgError:
            return False
        apart = np.abs(moves @ matrix.T - np.eye(len(numbers))).max()
        return bool(apart < SINGULAR and (np.abs(moves[:, self.atom]) > SINGULAR).all())
