"""Between groups query and final statement: what is asked of the gate, and the relation of its answers.

Pure: Arrow tables and numbers in, values out; runs no SQL. A SQL value is `(coefficient * X + offset) /
divisor` with X the sum, maximum or minimum that the gate computes; all of it is exact until the value takes
its SQL type.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from auditor.sql.schema import quoted
from auditor.sql.statement import Aggregate, Block, Leaf, aggregate_name

# A bitmap beats sorting when a query set holds at least this share of all records.
_DENSE = 1 / 50


class Unrepresentable(Exception):
    """A value that its SQL type cannot hold."""


class Uneven(Exception):
    """Records that count with different weights in one aggregate."""


@dataclass(frozen=True, eq=False)
class Asked:
    """One aggregate of one group that the gate is to compute."""

    protected: int
    """Position of the protected column in the schema."""
    kind: Literal["sum", "max", "min"]
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

    def value(self, x: Fraction) -> Fraction:
        """The aggregate's exact SQL value from X."""
        return (self.coefficient * x + self.offset) / self.divisor


@dataclass(frozen=True, eq=False)
class Groups:
    """A block's groups: the public part of its relation, and what its cells wait for."""

    table: pa.Table
    """Keys and public aggregates, one row per group."""
    cells: tuple[tuple[int | Fraction | None, ...], ...]
    """By group, then aggregate: position among the asked (int), a value known already, or None for NULL."""


def read_groups(
    block: Block, position: int, result: pa.Table, sizes: Sequence[int], asked: list[Asked]
) -> Groups:
    """Split a groups query's result; what is to be computed is appended to `asked`.

    Args:
        block: The block.
        position: Its position in the plan.
        result: What its groups query gave.
        sizes: The number of records of each protected column.
        asked: Filled.

    Raises:
        Uneven: a join repeats some records of an aggregate more often than others.
    """
    columns = [list(_leaf_values(aggregate, result, sizes)) for aggregate in block.aggregates]
    cells: list[tuple[int | Fraction | None, ...]] = []
    for group in range(result.num_rows):
        row: list[int | Fraction | None] = []
        for number, (aggregate, leaves) in enumerate(zip(block.aggregates, columns, strict=True)):
            found = _cell(aggregate, [leaf[group] for leaf in leaves], (position, group, number))
            if isinstance(found, Asked):
                asked.append(found)
                row.append(len(asked) - 1)
            else:
                row.append(found)
        cells.append(tuple(row))
    return Groups(result.select(range(len(block.public_columns))), tuple(cells))


@dataclass(frozen=True, eq=False)
class _Members:
    """The records that take one outcome of an aggregate's argument in one group."""

    records: NDArray[np.int64]
    """Ascending, each once."""
    times: NDArray[np.int64]
    """How many rows each stands in."""
    rows: int
    """Number of rows."""


def _leaf_values(aggregate: Aggregate, result: pa.Table, sizes: Sequence[int]) -> Iterator[Sequence[Any]]:
    """By leaf: for each group its records, or the number of its rows."""
    size = sizes[aggregate.protected]
    for number, leaf in enumerate(aggregate.leaves):
        column = result.column(aggregate.column + number)
        if not leaf.coefficient:
            yield column.to_pylist()
            continue
        lists: list[_Members] = []
        for chunk in column.chunks:
            offsets = chunk.offsets.to_numpy()
            values = chunk.values.to_numpy(zero_copy_only=False)
            # A NULL list has equal offsets, so it reads as the empty query set that it is.
            lists += [_members(values[a:b], size) for a, b in pairwise(offsets)]
        yield lists


def _members(rows: NDArray[np.int64], size: int) -> _Members:
    if len(rows) >= size * _DENSE:
        counts = np.bincount(rows, minlength=size)
        records = np.flatnonzero(counts).astype(np.int64, copy=False)
        return _Members(records, counts[records], len(rows))
    records, times = np.unique(rows, return_counts=True)
    return _Members(records, times, len(rows))


def _cell(aggregate: Aggregate, leaves: list[Any], place: tuple[int, int, int]) -> Asked | Fraction | None:
    counts = [
        leaf.rows if spec.coefficient else int(leaf)
        for spec, leaf in zip(aggregate.leaves, leaves, strict=True)
    ]
    rows = sum(counts)
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
        return Asked(
            aggregate.protected, kind, members.records, None, *place, spec.coefficient, spec.offset, 1
        )
    offset = sum(
        (spec.offset * count for spec, count in zip(aggregate.leaves, counts, strict=True)), start=Fraction(0)
    )
    divisor = rows if aggregate.function == "avg" else 1
    records, signs, weight = _weights(parts)
    if not len(records):
        return offset / divisor
    return Asked(aggregate.protected, "sum", records, signs, *place, weight, offset, divisor)


def _weights(
    parts: list[tuple[Leaf, _Members]],
) -> tuple[NDArray[np.int64], NDArray[np.int8] | None, Fraction]:
    """The records of a sum, their signs (None: all 1), and the weight that is common to them."""
    if not parts:
        return np.empty(0, np.int64), None, Fraction(1)
    magnitude = abs(parts[0][0].coefficient)
    signed = [members.times if spec.coefficient > 0 else -members.times for spec, members in parts]
    if len(parts) == 1:
        records, net = parts[0][1].records, signed[0]
    else:
        every = np.concatenate([members.records for _, members in parts])
        records, places = np.unique(every, return_inverse=True)
        net = np.zeros(len(records), np.int64)
        np.add.at(net, places, np.concatenate(signed))
        records, net = records[net != 0], net[net != 0]
    if not len(records):
        return records, None, magnitude
    times = abs(int(net[0]))
    if (np.abs(net) != times).any():
        raise Uneven
    if (net > 0).all() or (net < 0).all():
        return records, None, magnitude * (times if net[0] > 0 else -times)
    return records, np.sign(net).astype(np.int8), magnitude * times


def relation(block: Block, groups: Groups, values: Sequence[Fraction | None]) -> pa.Table:
    """The block's relation, protected aggregates as text.

    Args:
        block: The block.
        groups: Its groups.
        values: The SQL values of everything asked, None for NULL.

    Raises:
        Unrepresentable: if a value does not fit its type.
    """
    arrays = list(groups.table.columns)
    names = [name for name, _ in block.public_columns]
    for number, aggregate in enumerate(block.aggregates):
        texts = []
        for row in groups.cells:
            cell = row[number]
            value = values[cell] if isinstance(cell, int) else cell
            texts.append(None if value is None else text_of(value, aggregate.type))
        arrays.append(pa.array(texts, pa.string()))
        names.append(aggregate_name(number))
    if not arrays:
        arrays, names = [pa.array([0] * len(groups.cells))], ["_rows"]
    return pa.table(arrays, names=names)


def typed(block: Block, source: str) -> str:
    """SQL that gives a registered relation its columns' own types; Arrow's are coarser."""
    columns = list(block.public_columns)
    columns += [(aggregate_name(i), aggregate.type) for i, aggregate in enumerate(block.aggregates)]
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
