"""Larger systems told to a roomy table without a gate, and an integer program that shares no code with it.

A `Told` is a hidden table and what was asked of it; its answers are checked on tables with plain numpy, and
what remains possible for a record by SciPy's integer programs over records, one variable each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from cae_sql.inference.certify.question import Question
from cae_sql.inference.facts.extremes import bounds_of, hold
from cae_sql.inference.facts.query import Query
from cae_sql.inference.tables.pool import Pool
from cae_sql.inference.tables.question_tables import QuestionTables
from cae_sql.inference.tables.roomy_table import RoomyTable

Ints = NDArray[np.int64]


@dataclass
class Told:
    """A hidden table of n records and the queries that were answered."""

    truth: Ints
    top: int
    queries: list[Query] = field(default_factory=list)
    units: Ints | None = None
    """Whose records they are; None: each is its own."""

    @property
    def size(self) -> int:
        return len(self.truth)

    def ask(self, kind: str, members: Sequence[int] | Ints, signs: Ints | None = None) -> Query:
        """One more query that is answered truly."""
        members = np.asarray(members, dtype=np.int64)
        order = np.argsort(members)
        signs = None if signs is None else signs[order].astype(np.int64)
        query = Query(kind=kind, members=members[order], coefficients=signs)  # type: ignore[arg-type]
        self.queries.append(query)
        return query

    @property
    def values(self) -> list[int]:
        """The true answers."""
        return [answer(query, self.truth) for query in self.queries]

    def roomy_table(self, count: int | None = None) -> RoomyTable:
        """A roomy table that was told the first queries one by one."""
        roomy_table = RoomyTable.nothing(self.size, self.top, units=self.units)
        for query, value in list(zip(self.queries, self.values, strict=True))[:count]:
            if roomy_table.usable:
                advance(roomy_table, query, value)
        return roomy_table

    def question(self, roomy_table: RoomyTable, asked: int = 0) -> Question:
        """The last queries asked of a roomy table that knows all others."""
        large_pool = Pool.draw(self.size, self.top, 1, seed=0)
        return Question(roomy_table, large_pool, self.queries[len(self.queries) - asked :])

    def program(self) -> Possible:
        return Possible(self.size, self.top, self.queries, self.values)

    def disagrees(self, table: NDArray[np.integer]) -> list[str]:
        """What is wrong with a table (n,): values outside the domain, answers that it does not give."""
        wrong = [] if table.min() >= 0 and table.max() <= self.top else ["outside the domain"]
        for number, (query, value) in enumerate(zip(self.queries, self.values, strict=True)):
            if answer(query, table.astype(np.int64)) != value:
                wrong.append(f"answer {number}, a {query.kind}, is not {value}")
        return wrong

    def impossible(self, roomy_table: RoomyTable) -> list[str]:
        """What is wrong with a table: sums in plain numpy, extremes by an integer program if small."""
        labels, totals, sizes = roomy_table.boxes.atoms.labels, roomy_table.totals, roomy_table.boxes.sizes
        wrong = []
        for number, (query, value) in enumerate(zip(self.queries, self.values, strict=True)):
            if query.kind == "sum":
                signs = 1 if query.coefficients is None else query.coefficients
                weights = np.zeros(roomy_table.count, dtype=np.int64)
                np.add.at(weights, labels[query.members], signs)
                if (weights % sizes).any() or int(weights // sizes @ totals) != value:
                    wrong.append(f"sum {number} is not {value}")
        low, high = np.zeros(self.size, dtype=np.int64), np.full(self.size, self.top)
        for query, value in zip(self.queries, self.values, strict=True):
            if query.kind == "max":
                high[query.members] = np.minimum(high[query.members], value)
            elif query.kind == "min":
                low[query.members] = np.maximum(low[query.members], value)
        least, most = (np.zeros(roomy_table.count, dtype=np.int64) for _ in range(2))
        np.add.at(least, labels, low)
        np.add.at(most, labels, high)
        if (totals < least).any() or (totals > most).any():
            wrong.append("an atom's total is outside its box")
        if self.size <= 60 and any(query.kind != "sum" for query in self.queries):
            atoms = [
                Query(kind="sum", members=np.flatnonzero(labels == atom)) for atom in range(roomy_table.count)
            ]
            queries, values = [*self.queries, *atoms], [*self.values, *totals.tolist()]
            if not Possible(self.size, self.top, queries, values).can({}):
                wrong.append("no records have these totals")
        return wrong


def advance(roomy_table: RoomyTable, query: Query, value: int) -> None:
    """Let a roomy table know one more true answer, or lose it where exchange and steps find no table."""
    tables = QuestionTables(roomy_table, [query])
    if tables.usable and tables.settled[0] is not None:
        assert tables.settled[0] == value
        return
    boxes = tables.boxes if query.kind == "sum" else tables.boxes.with_extreme(query, value)
    answers = [value] if tables.fresh else []
    pins = hold(boxes, tables.totals, 1, np.zeros(0, dtype=np.int64)) if tables.usable else None
    totals = None if pins is None else tables.table(bounds_of(boxes, pins), answers)
    if totals is None:
        roomy_table.lose()
        return
    roomy_table.apply(boxes, tables.parents, totals, tables.rows, answers, tables.pending, tables.moves)


def answer(query: Query, table: Ints) -> int:
    """What a table answers, in plain numpy."""
    picked = table[query.members].astype(np.int64)
    if query.kind == "max":
        return int(picked.max())
    if query.kind == "min":
        return int(picked.min())
    return int(picked.sum() if query.coefficients is None else (picked * query.coefficients).sum())


class Possible:
    """The tables that agree with answers, as an integer program over records."""

    def __init__(self, size: int, top: int, queries: Sequence[Query], values: Sequence[int]) -> None:
        self.size = size
        self.low, self.high = np.zeros(size), np.full(size, float(top))
        attained: list[tuple[Query, int]] = []
        rows: list[tuple[Ints, Ints | float, float, float]] = []
        for query, value in zip(queries, values, strict=True):
            if query.kind == "sum":
                weights = np.ones(len(query.members)) if query.coefficients is None else query.coefficients
                rows.append((query.members, weights, value, value))
                continue
            if query.kind == "max":
                self.high[query.members] = np.minimum(self.high[query.members], value)
            else:
                self.low[query.members] = np.maximum(self.low[query.members], value)
            attained.append((query, value))
        count = size + sum(len(query.members) for query, _ in attained)
        at = size
        for query, value in attained:
            marks = np.arange(at, at + len(query.members))
            at += len(query.members)
            rows.append((marks, 1.0, 1.0, np.inf))
            for mark, record in zip(marks, query.members, strict=True):
                # a marked record has the value: above 0 for MAX, below top for MIN
                if query.kind == "max":
                    rows.append((np.array([record, mark]), np.array([1.0, -value]), 0.0, np.inf))
                else:
                    rows.append((np.array([record, mark]), np.array([1.0, top - value]), -np.inf, float(top)))
        matrix, ends = np.zeros((len(rows), count)), np.zeros((2, len(rows)))
        for place, (columns, weights, least, most) in enumerate(rows):
            matrix[place, columns] = weights
            ends[:, place] = least, most
        self._limits = [LinearConstraint(matrix, *ends)] if rows else []
        self.low = np.append(self.low, np.zeros(count - size))
        self.high = np.append(self.high, np.ones(count - size))

    def end(self, record: int, way: int, fixed: dict[int, int]) -> int | None:
        """Greatest (way 1) or least (−1) value of a record while others are fixed; None if there is none."""
        low, high = self.low.copy(), self.high.copy()
        for other, value in fixed.items():
            if not low[other] <= value <= high[other]:
                return None
            low[other] = high[other] = value
        cost = np.zeros(len(low))
        cost[record] = -way
        found = milp(cost, constraints=self._limits, integrality=np.ones(len(low)), bounds=Bounds(low, high))
        if found.status == 2:
            return None
        assert found.status == 0, found.message
        return round(way * -found.fun)

    def can(self, fixed: dict[int, int]) -> bool:
        """Whether some records can have these values together."""
        return self.end(0, 1, fixed) is not None

    def run(self, record: int, fixed: dict[int, int], need: int, chance: np.random.Generator) -> bool:
        """Whether a record has need + 1 consecutive values; few of them are looked at where all are there."""
        least, most = self.end(record, -1, fixed), self.end(record, 1, fixed)
        assert least is not None
        assert most is not None
        if most - least < need:
            return False
        inside = least + 1 + np.arange(most - least - 1)
        some = chance.choice(inside, min(3, len(inside)), replace=False)
        if all(self.can({**fixed, record: int(value)}) for value in some):
            return True
        best = run = 0
        for value in range(least, most + 1):
            run = run + 1 if self.can({**fixed, record: value}) else 0
            best = max(best, run)
        return best > need


def values_at_random(rng: np.random.Generator, size: int, top: int) -> Ints:
    """Even, skewed, crowded in the middle, or all near the bottom."""
    shape = rng.integers(4)
    if shape == 0:
        return rng.integers(0, top + 1, size)
    if shape == 1:
        return np.minimum((rng.lognormal(0, 1, size) * top / 8).astype(np.int64), top)
    if shape == 2:
        return rng.binomial(top, 0.5, size).astype(np.int64)
    return np.minimum(rng.integers(0, max(2, top // 5), size), top)


KINDS = ("sum", "sum", "sum", "signed", "max", "min")


def told_at_random(
    rng: np.random.Generator, size: int, top: int, answers: int, kinds: Sequence[str] = KINDS
) -> Told:
    """A table and queries over ranges of records or random sets of at least three."""
    told = Told(values_at_random(rng, size, top), top)
    for _ in range(answers):
        kind, count = str(rng.choice(list(kinds))), int(rng.integers(3, size + 1))
        if rng.random() < 0.4:
            members = rng.permutation(size)[:count]
        else:
            first = int(rng.integers(0, size - 2))
            members = np.arange(first, min(size, first + count))
        if kind == "signed":
            told.ask("sum", members, rng.choice([1, -1], len(members)))
        else:
            told.ask(kind, members)
    return told
