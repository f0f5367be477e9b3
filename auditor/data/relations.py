"""Between groups query and final statement: what is asked of the gate, and the relation of its answers.

Pure: Arrow tables and numbers in, values out; runs no SQL. A SQL value is `(coefficient * X + offset) /
divisor` with X the sum, maximum or minimum that the gate computes; all of it is exact until the value takes
its SQL type.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from auditor.data.arrow import numbers_of, texts, whole
from auditor.data.cells import Cells
from auditor.data.spans import NoSpan, span_of
from auditor.data.weighted import Uneven, Weighted, root_of, weighted
from auditor.sql.schema import quoted
from auditor.sql.statement import (
    AT_LEAST,
    AT_MOST,
    ENDS,
    Aggregate,
    Block,
    Leaf,
    Statistic,
    aggregate_name,
    end_name,
    exact_name,
    told_name,
)
from auditor.sql.withheld import GROUP, lost_name, mark_name

# A bitmap beats sorting when a query set holds at least this share of all records.
_DENSE = 1 / 500


class Unrepresentable(Exception):
    """A value that its SQL type cannot hold."""


class ToldApart(Exception):
    """Rows of one cell are told apart, where cells are all that is known of the rows."""


@dataclass(frozen=True, eq=False)
class Asked:
    """One aggregate of one group that the gate is to compute."""

    protected: int
    """Position of the protected column in the schema."""
    kind: Literal["sum", "max", "min", "count", "quantile", "weighted", "spread"]
    """What to compute over the records' values."""
    records: NDArray[np.int64]
    """The query set: record numbers, sorted, each once; never empty."""
    signs: NDArray[np.int8] | None
    """For "sum": 1 or -1 by record; None: all 1."""
    block: int
    """Position of the block in the plan."""
    group: int
    """Position of the group in the block, in the public order of the groups."""
    column: int
    """Position of the aggregate in the block."""
    coefficient: Fraction
    """Multiplier of X."""
    offset: Fraction
    """Added to `coefficient * X`."""
    divisor: int
    """Number of rows that AVG counts, else 1."""
    statistic: Statistic | None = None
    """Of what ranges alone are told of: which."""
    weights: NDArray[np.int64] | None = None
    """Of "weighted": coprime integers by record, the first one positive."""
    root: bool = False
    """Whether the aggregate is the square root of what `coefficient`, `offset` and `divisor` say."""

    def value(self, x: Fraction) -> Fraction:
        """The aggregate's exact SQL value from X; a root is less by up to 2**-80."""
        value = (self.coefficient * x + self.offset) / self.divisor
        return root_of(value) if self.root else value


@dataclass(frozen=True, eq=False)
class Groups:
    """A block's groups: the public part of its relation, and what the rest of it waits for."""

    table: pa.Table
    """Keys and public aggregates, one row per group."""
    entries: tuple[tuple[int | Fraction | None, ...], ...]
    """By group, then aggregate: position among the asked (int), a value known already, or None for NULL."""


def read_groups(
    block: Block,
    position: int,
    result: pa.Table,
    sizes: Sequence[int],
    asked: list[Asked],
    cells: Sequence[Cells | None] | None = None,
    repeated: bool = False,
) -> Groups:
    """Split a groups query's result; what is to be computed is appended to `asked`.

    Args:
        block: The block.
        position: Its position in the plan.
        result: What its groups query gave.
        sizes: The number of records of each protected column.
        asked: Filled.
        cells: By protected column, where the result lists cells; None: it lists records.
        repeated: Whether it lists a cell once for each of its rows, and not once.

    Raises:
        Uneven: a join repeats some records of an aggregate more often than others.
        ToldApart: some rows of a cell are listed more often than others.
    """
    listing = _Listing(result, sizes, cells, repeated)
    columns = [
        [listing.leaf(aggregate, place) for place in range(len(aggregate.leaves))]
        for aggregate in block.aggregates
    ]
    entries: list[tuple[int | Fraction | None, ...]] = []
    for group in range(result.num_rows):
        row: list[int | Fraction | None] = []
        for number, (aggregate, leaves) in enumerate(zip(block.aggregates, columns, strict=True)):
            found = _entry(aggregate, [leaf[group] for leaf in leaves], (position, group, number), listing)
            if isinstance(found, Asked):
                asked.append(found)
                row.append(len(asked) - 1)
            else:
                row.append(found)
        entries.append(tuple(row))
    return Groups(result.select(range(len(block.public_columns))), tuple(entries))


def listed_rows(block: Block, result: pa.Table, cells: Sequence[Cells | None]) -> int:
    """How many record numbers the lists of a result stand for that lists cells."""
    total, seen = 0, set[int]()
    for aggregate in block.aggregates:
        sizes = _cells_of(cells, aggregate).sizes
        for number, leaf in enumerate(aggregate.leaves, aggregate.column):
            if leaf.coefficient and number not in seen:
                seen.add(number)
                total += sum(
                    int(sizes[numbers_of(chunk.values)].sum()) for chunk in result.column(number).chunks
                )
    return total


def _cells_of(cells: Sequence[Cells | None], aggregate: Aggregate) -> Cells:
    found = cells[aggregate.protected]
    assert found is not None
    return found


@dataclass(frozen=True, eq=False)
class _Members:
    """The records, or the cells, that take one outcome of an aggregate's argument in one group."""

    numbers: NDArray[np.int64]
    """Ascending, each once."""
    times: NDArray[np.int64] | None
    """How many rows each record stands in; None: one each."""
    rows: int
    """Number of rows."""


class _Listing:
    """The leaves' columns of a result, each read once."""

    def __init__(
        self,
        result: pa.Table,
        sizes: Sequence[int],
        cells: Sequence[Cells | None] | None,
        repeated: bool,
    ) -> None:
        self._result, self._sizes, self._cells, self._repeated = result, sizes, cells, repeated
        self._leaves: dict[int, Sequence[Any]] = {}
        self._records: dict[int, tuple[NDArray[np.int64], NDArray[np.int64]]] = {}

    def leaf(self, aggregate: Aggregate, place: int) -> Sequence[Any]:
        """For each group its members, or the number of its rows."""
        number = aggregate.column + place
        if number not in self._leaves:
            column = self._result.column(number)
            self._leaves[number] = (
                self._lists(aggregate, column) if aggregate.leaves[place].coefficient else column.to_pylist()
            )
        return self._leaves[number]

    def weights(self, aggregate: Aggregate, group: int) -> Sequence[Any]:
        """Of a group, what its rows are weighted by, in ascending order of their members.

        Raises:
            Uneven: cells are listed, whose records have weights of their own.
        """
        if self._cells is not None:
            raise Uneven
        # the engine lists them by record (`auditor.sql.lower`)
        found: Sequence[Any] = self._result.column(aggregate.column + len(aggregate.leaves))[group].as_py()
        return found

    def _lists(self, aggregate: Aggregate, column: pa.ChunkedArray) -> list[_Members]:
        cells = None if self._cells is None else _cells_of(self._cells, aggregate)
        lists: list[_Members] = []
        for chunk in column.chunks:
            offsets = numbers_of(chunk.offsets)
            values = numbers_of(chunk.values)
            # A NULL list has equal offsets, so it reads as the empty query set that it is.
            for a, b in pairwise(offsets.tolist()):
                if cells is None:
                    lists.append(_members(values[a:b], self._sizes[aggregate.protected]))
                else:
                    found = _members(values[a:b], len(cells.values))
                    sizes = cells.values[found.numbers]
                    if self._repeated:
                        lists.append(_of_rows(found, sizes))
                        continue
                    rows = sizes.sum() if found.times is None else found.times @ sizes
                    lists.append(_Members(found.numbers, found.times, int(rows)))
        return lists

    def records(self, aggregate: Aggregate, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The records that members stand for."""
        if self._cells is None:
            return numbers
        # by identity: SUM and AVG of one argument share their members
        if id(numbers) not in self._records:
            self._records[id(numbers)] = numbers, _cells_of(self._cells, aggregate).records(numbers)
        return self._records[id(numbers)][1]

    def signs(
        self,
        aggregate: Aggregate,
        numbers: NDArray[np.int64],
        signs: NDArray[np.int8] | None,
        records: NDArray[np.int64],
    ) -> NDArray[np.int8] | None:
        """The signs of the records that members stand for."""
        if self._cells is None or signs is None:
            return signs
        cells = _cells_of(self._cells, aggregate)
        of_cell = np.zeros(len(cells.values), np.int8)
        of_cell[numbers] = signs
        return of_cell[cells.of_record[records]]


def _of_rows(found: _Members, sizes: NDArray[np.int64]) -> _Members:
    """Cells that are listed once for each of their rows, each once.

    Raises:
        ToldApart: one is not listed as often as a multiple of its rows.
    """
    times, rest = np.divmod(_times(found), sizes)
    if rest.any():
        raise ToldApart
    return _Members(found.numbers, None if (times == 1).all() else times, found.rows)


def _members(numbers: NDArray[np.integer], size: int) -> _Members:
    """Each of the numbers below `size` once."""
    if len(numbers) < size * _DENSE:
        found, times = np.unique(numbers, return_counts=True)
        alone = len(found) == len(numbers)
        return _Members(found.astype(np.int64, copy=False), None if alone else times, len(numbers))
    seen = np.zeros(size, np.bool_)
    seen[numbers] = True
    found = np.flatnonzero(seen).astype(np.int64, copy=False)
    alone = len(found) == len(numbers)
    return _Members(found, None if alone else np.bincount(numbers, minlength=size)[found], len(numbers))


def _entry(
    aggregate: Aggregate, leaves: list[Any], place: tuple[int, int, int], listing: _Listing
) -> Asked | Fraction | None:
    counts = [
        leaf.rows if spec.coefficient else int(leaf)
        for spec, leaf in zip(aggregate.leaves, leaves, strict=True)
    ]
    rows = sum(counts)
    if aggregate.statistic is not None and aggregate.statistic.kind == "weighted":
        weights = listing.weights(aggregate, place[1])
        return _of_weighted(aggregate, leaves[0], place, weights) if rows else None
    if aggregate.statistic is not None:
        return _of_statistic(aggregate, leaves[0], rows, place, listing)
    if not rows:
        return None
    parts = [
        (spec, leaf)
        for spec, leaf in zip(aggregate.leaves, leaves, strict=True)
        if spec.coefficient and leaf.rows
    ]
    if aggregate.function in ("max", "min"):
        spec, members = parts[0]
        kind: Literal["max", "min"] = (
            "max" if (aggregate.function == "max") == (spec.coefficient > 0) else "min"
        )
        # an extreme is the same however often a row is repeated
        records = listing.records(aggregate, members.numbers)
        return Asked(aggregate.protected, kind, records, None, *place, spec.coefficient, spec.offset, 1)
    offset = sum(
        (spec.offset * count for spec, count in zip(aggregate.leaves, counts, strict=True)), start=Fraction(0)
    )
    divisor = rows if aggregate.function == "avg" else 1
    numbers, signs, weight = _weights(parts)
    if not len(numbers):
        return offset / divisor
    records = listing.records(aggregate, numbers)
    signs = listing.signs(aggregate, numbers, signs, records)
    return Asked(aggregate.protected, "sum", records, signs, *place, weight, offset, divisor)


def _of_weighted(
    aggregate: Aggregate, members: _Members, place: tuple[int, int, int], weights: Sequence[Any]
) -> Asked | Fraction | None:
    """What is a sum with public weights, with the weights that it has."""
    if members.times is not None:
        raise Uneven
    assert len(weights) == len(members.numbers)
    found = weighted(aggregate, weights)
    if not isinstance(found, Weighted):
        return found
    numbers = members.numbers[found.places]
    return Asked(
        aggregate.protected, "weighted", numbers, None, *place, found.coefficient, Fraction(0), 1,
        aggregate.statistic, found.weights,
    )  # fmt: skip


def _of_statistic(
    aggregate: Aggregate, members: _Members, rows: int, place: tuple[int, int, int], listing: _Listing
) -> Asked | Fraction | None:
    statistic, coefficient = aggregate.statistic, aggregate.leaves[0].coefficient
    assert statistic is not None
    if not rows and (aggregate.function != "count" or len(aggregate.leaves) > 1):
        return None
    if not len(members.numbers):
        return Fraction(0) if statistic.kind == "count" else None
    if members.times is not None:
        # a quantile of repeated values is another one
        if statistic.kind != "count" or (members.times != members.times[0]).any():
            raise Uneven
        coefficient *= int(members.times[0])
    records, offset = listing.records(aggregate, members.numbers), Fraction(0)
    if statistic.kind == "count" and statistic.region[0].least is None:
        # by those who are not in it: who has asked `>= 100` knows `< 100`
        statistic, coefficient, offset = statistic.other, -coefficient, coefficient * len(records)
    if statistic.kind == "spread":
        divisor = len(records) - statistic.sample
        if not divisor:
            return None
        root = aggregate.function == "stddev"
        return Asked(
            aggregate.protected, "spread", records, None, *place, Fraction(1), offset, divisor, statistic,
            root=root,
        )  # fmt: skip
    scale = coefficient, offset, rows if aggregate.function == "avg" else 1
    return Asked(aggregate.protected, statistic.kind, records, None, *place, *scale, statistic)


def _weights(
    parts: list[tuple[Leaf, _Members]],
) -> tuple[NDArray[np.int64], NDArray[np.int8] | None, Fraction]:
    """The members of a sum, their signs (None: all 1), and the weight that is common to them."""
    if not parts:
        return np.empty(0, np.int64), None, Fraction(1)
    magnitude = abs(parts[0][0].coefficient)
    if len(parts) == 1 and parts[0][1].times is None:
        spec, members = parts[0]
        return members.numbers, None, spec.coefficient
    signed = [_times(members) if spec.coefficient > 0 else -_times(members) for spec, members in parts]
    if len(parts) == 1:
        numbers, net = parts[0][1].numbers, signed[0]
    else:
        every = np.concatenate([members.numbers for _, members in parts])
        numbers, places = np.unique(every, return_inverse=True)
        net = np.zeros(len(numbers), np.int64)
        np.add.at(net, places, np.concatenate(signed))
        numbers, net = numbers[net != 0], net[net != 0]
    if not len(numbers):
        return numbers, None, magnitude
    times = abs(int(net[0]))
    if (np.abs(net) != times).any():
        raise Uneven
    if (net > 0).all() or (net < 0).all():
        return numbers, None, magnitude * (times if net[0] > 0 else -times)
    return numbers, np.sign(net).astype(np.int8), magnitude * times


def _times(members: _Members) -> NDArray[np.int64]:
    return np.ones(len(members.numbers), np.int64) if members.times is None else members.times


Ends = tuple[Fraction, Fraction]
"""Between which a value lies, both included."""


def relation(
    block: Block,
    groups: Groups,
    values: Sequence[Fraction | None],
    ends: Sequence[Ends | None],
    marked: bool = False,
) -> pa.Table:
    """The block's relation, protected aggregates as text.

    Args:
        block: The block.
        groups: Its groups.
        values: The SQL values of everything asked, None for NULL.
        ends: Between which values everything asked is told to lie, None for NULL.
        marked: Whether to add each group's position, and which of its aggregates, and of their ends, are
            withheld.

    Raises:
        Unrepresentable: if a value does not fit its type.
    """
    arrays = list(groups.table.columns)
    names = [name for name, _ in block.public_columns]
    for number, aggregate in enumerate(block.aggregates):
        written: list[str | None] = []
        for row in groups.entries:
            entry = row[number]
            value = values[entry] if isinstance(entry, int) else entry
            # of a statistic ranges alone are told
            bare = value is None or aggregate.statistic is not None
            written.append(None if bare or value is None else text_of(value, aggregate.type))
        arrays.append(texts(written))
        names.append(aggregate_name(number))
        entries = [row[number] for row in groups.entries]
        if aggregate.ranged:
            arrays += _ends_as_texts(aggregate, entries, ends)
            names += [end_name(word, number) for word in ENDS]
        if marked:
            for name, told in ((mark_name(number), values), (lost_name(number), ends)):
                lacks = [isinstance(entry, int) and told[entry] is None for entry in entries]
                arrays.append(pa.array(lacks, pa.bool_()))
                names.append(name)
    for name, array in _of_arithmetic(block, groups, values, ends):
        names.append(name)
        arrays.append(array)
    if marked:
        arrays.append(whole(list(range(len(groups.entries)))))
        names.append(GROUP)
    if not arrays:
        arrays, names = [whole([0] * len(groups.entries))], ["_rows"]
    return pa.Table.from_arrays(arrays, names=names)


def _of_arithmetic(
    block: Block, groups: Groups, values: Sequence[Fraction | None], ends: Sequence[Ends | None]
) -> Iterator[tuple[str, pa.Array]]:
    """What arithmetic reads of the aggregates, whether all of that is exact, and its ends, by group."""
    read = block.in_arithmetic
    known = [[_known(block, row, i, values, ends) for i in read] for row in groups.entries]
    for column, i in enumerate(read):
        of = [each[column][0] for each in known]
        type_ = block.aggregates[i].type
        yield exact_name(i), texts([None if value is None else text_of(value, type_) for value in of])
    for number, term in enumerate(block.arithmetic):
        places = sorted(term.places("public"))
        public = {place: groups.table.column(place).to_pylist() for place in places}
        written: dict[str, list[str | None]] = {word: [] for word in ENDS}
        exact = list[bool]()
        for group, of_group in enumerate(known):
            inside = {i: each for i, each in zip(read, of_group, strict=True) if i in term.places("told")}
            exact.append(all(each[2] for each in inside.values()))
            told = {i: each[1] for i, each in inside.items() if each[1] is not None or each[2]}
            try:
                span = span_of(term, told, {place: column[group] for place, column in public.items()})
            except NoSpan:
                span = None
            for word, up in ((AT_LEAST, False), (AT_MOST, True)):
                end = None if span is None or exact[-1] else repr(outward(span[up], up))
                written[word].append(end)
        yield told_name(number), pa.array(exact, pa.bool_())
        for word in ENDS:
            yield end_name(word, len(block.aggregates) + number), texts(written[word])


def _known(
    block: Block,
    row: Sequence[int | Fraction | None],
    aggregate: int,
    values: Sequence[Fraction | None],
    ends: Sequence[Ends | None],
) -> tuple[Fraction | None, Ends | None, bool]:
    """The value of an aggregate in a group where it is exact, its ends, and whether it is exact."""
    entry = row[aggregate]
    if not isinstance(entry, int):
        return entry, None if entry is None else (entry, entry), True
    value = None if block.aggregates[aggregate].statistic is not None else values[entry]
    return value, ends[entry], value is not None


def _ends_as_texts(
    aggregate: Aggregate, entries: Sequence[int | Fraction | None], ends: Sequence[Ends | None]
) -> list[pa.Array]:
    """AT_LEAST and AT_MOST of an aggregate by group, as texts of DOUBLEs."""
    written: dict[str, list[str | None]] = {word: [] for word in ENDS}
    for entry in entries:
        told = ends[entry] if isinstance(entry, int) else None if entry is None else (entry, entry)
        for word, up in ((AT_LEAST, False), (AT_MOST, True)):
            if told is None:
                written[word].append(None)
            elif told[0] == told[1] and aggregate.statistic is None:
                written[word].append(_as_double(told[0], aggregate.type))
            else:
                written[word].append(repr(outward(told[up], up, aggregate.type == "FLOAT")))
    return [texts(written[word]) for word in ENDS]


def _as_double(value: Fraction, type_: str) -> str:
    """What the exact value is as a DOUBLE, once it has its own type."""
    return text_of(value, "DOUBLE") if type_ != "FLOAT" else repr(float(np.float32(float(value))))


def outward(value: Fraction, up: bool, single: bool = False) -> float:
    """The nearest DOUBLE, or FLOAT, that is not less, or not greater.

    >>> outward(Fraction(1, 3), up=True) > Fraction(1, 3) > outward(Fraction(1, 3), up=False)
    True
    """
    try:
        near = np.float32(float(value)) if single else np.float64(float(value))
    except OverflowError:
        raise Unrepresentable("DOUBLE") from None
    found = float(near)
    if math.isfinite(found) and (found < value if up else found > value):
        found = float(np.nextafter(near, near.dtype.type(math.inf if up else -math.inf)))
    return found


def typed(block: Block, source: str, marked: bool = False) -> str:
    """SQL that gives a registered relation its columns' own types; Arrow's are coarser."""
    columns = list(block.public_columns)
    columns += [(aggregate_name(i), aggregate.type) for i, aggregate in enumerate(block.aggregates)]
    ranged = [i for i, aggregate in enumerate(block.aggregates) if aggregate.ranged]
    columns += [(end_name(word, i), "DOUBLE") for i in ranged for word in ENDS]
    columns += [(exact_name(i), block.aggregates[i].type) for i in block.in_arithmetic]
    for number in range(len(block.arithmetic)):
        columns.append((told_name(number), "BOOLEAN"))
        columns += [(end_name(word, len(block.aggregates) + number), "DOUBLE") for word in ENDS]
    if marked:
        marks = [name(i) for i in range(len(block.aggregates)) for name in (mark_name, lost_name)]
        columns += [(name, "BOOLEAN") for name in marks]
        columns.append((GROUP, "BIGINT"))
    casts = ", ".join(f"CAST({quoted(name)} AS {type_}) AS {quoted(name)}" for name, type_ in columns)
    return f"SELECT {casts} FROM {quoted(source)}"


def text_of(value: Fraction, type_: str) -> str:
    """A value as text that casts to a SQL type without loss.

    >>> text_of(Fraction(7, 2), "DECIMAL(10,2)"), text_of(Fraction(1, 3), "DOUBLE")
    ('3.50', '0.3333333333333333')
    """
    if type_ in ("DOUBLE", "FLOAT"):
        try:
            return repr(float(value))
        except OverflowError:
            raise Unrepresentable(type_) from None
    if type_ == "BOOLEAN":
        return "true" if value else "false"
    places = int(type_.rstrip(")").rpartition(",")[2]) if type_.startswith("DECIMAL") else 0
    scaled = value * 10**places
    if scaled.denominator != 1:
        raise Unrepresentable(type_)
    digits = str(abs(scaled.numerator)).rjust(places + 1, "0")
    whole = digits[: len(digits) - places] + ("." + digits[-places:] if places else "")
    return ("-" if scaled < 0 else "") + whole
