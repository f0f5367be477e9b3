"""Sums that are asked together: which share records, their components, and ends in closed form.

Nothing here knows an answer that is asked for. Shapes: m queries, k past sums, p' parts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cae_sql.cached import cached_property
from cae_sql.inference.facts.query import Ints, Query
from cae_sql.inference.facts.rank import components
from cae_sql.inference.standard import Standard
from cae_sql.inference.tables.question_tables import QuestionTables

ROWS = 20_000
"""Parts whose coefficients are copied at a time: of a million records a copy of all would be too much."""


class Overlap:
    """Of queries over the parts that they make."""

    def __init__(self, tables: QuestionTables, queries: Sequence[Query], plain: bool) -> None:
        """`plain`: whether sums and extremes alone were told, no ranges of other statistics."""
        self._tables, self._queries, self._plain = tables, queries, plain

    def _marks(self, parts: Ints) -> NDArray[np.int8]:
        """(a, k) coefficients of some parts in past sums."""
        roomy_table = self._tables.roomy_table
        return roomy_table.marks[self._tables.parents[parts], : roomy_table.rank]

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """(m, k + m) the fraction of each sum's records that is in each past sum and in each other asked one;
        -1 on itself."""
        boxes, count, rank = self._tables.boxes, len(self._queries), self._tables.roomy_table.rank
        found = np.zeros((count, rank + count))
        among = [np.unique(boxes.atoms.labels[each.members], return_counts=True) for each in self._queries]
        inside = np.zeros(boxes.count, dtype=np.bool_)
        for other, (parts, _) in enumerate(among):
            inside[parts] = True
            found[:, rank + other] = [sizes @ inside[mine] for mine, sizes in among]
            inside[parts] = False
        for place, (parts, sizes) in enumerate(among):
            for first in range(0, len(parts), ROWS):
                some = slice(first, first + ROWS)
                found[place, :rank] += sizes[some].astype(float) @ self._marks(parts[some]).astype(float)
        found /= np.array([len(query.members) for query in self._queries])[:, None]
        found[:, rank:][np.diag_indices(count)] = -1
        return found

    @cached_property
    def to_ask_apart(self) -> set[int]:
        """Sums that should be asked by themselves: where several cover all but a few records of a known sum,
        the largest of them. What the few have follows from all answers together, so that no answer's own
        limits bound it unless one is asked last."""
        boxes, found = self._tables.boxes, set[int]()
        sizes = np.array([len(query.members) for query in self._queries])
        past = np.zeros(self._tables.roomy_table.rank, dtype=np.int64)
        for first in range(0, boxes.count, ROWS):
            some = np.arange(first, min(first + ROWS, boxes.count))
            past += boxes.sizes[some] @ (self._marks(some) != 0)
        whole = np.append(past, sizes)
        for share, size in zip(self.shares.T, whole.tolist(), strict=True):
            inside = np.flatnonzero(share == 1)
            if len(inside) > 1 and 0 < size - sizes[inside].sum() < sizes[inside].min():
                found.add(int(inside[sizes[inside].argmax()]))
        return found

    def reach(self, standard: Standard) -> list[tuple[int, int] | None]:
        """(m,) between which answers the closed form shows everybody's runs (`Rooms.rich`).

        None where that is not known at once: of what is no sum over records in no answer.
        """
        tables, found = self._tables, list[tuple[int, int] | None]()
        boxes = tables.boxes
        if not tables.usable or boxes.outer is not None or boxes.extremes or not self._plain:
            return [None] * len(self._queries)
        marks = np.abs(self._marks(np.arange(boxes.count))).sum(axis=1)
        for query in self._queries:
            parts = np.unique(boxes.atoms.labels[query.members])
            part, count = int(parts[0]), len(query.members)
            plain = query.kind == "sum" and len(parts) == 1 and not marks[part] and query.coefficients is None
            if not plain or boxes.sizes[part] != count or boxes.atoms.multiples[part] > 1:
                found.append(None)
                continue
            low, high = int(boxes.low[part]), int(boxes.high[part])
            room = standard.need + (high - low if standard.insiders else 0)
            found.append((count * low + room, count * high - room))
        return found

    @cached_property
    def by_part(self) -> Ints:
        """(p',) the component that each part is of: what is answered of different ones hangs on nothing
        together, whatever was answered before. All of one where ranges are kept, or no table is at hand."""
        boxes = self._tables.boxes
        parts = np.arange(boxes.count)
        if not self._tables.usable or not self._plain:
            return np.zeros_like(parts)
        asked = (np.unique(boxes.atoms.labels[query.members]) for query in self._queries)
        sums = map(np.flatnonzero, self._marks(parts).T)
        return components(boxes.count, [*sums, *(each.atoms for each in boxes.extremes), *asked])

    @property
    def components(self) -> list[int]:
        """(m,) the component that each query is of."""
        labels = self._tables.boxes.atoms.labels
        return [int(self.by_part[labels[query.members[0]]]) for query in self._queries]

    def about(self, parts: Ints) -> list[int]:
        """Queries that some parts' records are in; where none is, those of these parts' components."""
        boxes = self._tables.boxes
        those = np.zeros(boxes.count, dtype=np.bool_)
        those[parts] = True
        records = those[boxes.atoms.labels]
        found = [place for place, query in enumerate(self._queries) if records[query.members].any()]
        if found:
            return found
        components = set(self.by_part[parts].tolist())
        return [place for place, component in enumerate(self.components) if component in components]
