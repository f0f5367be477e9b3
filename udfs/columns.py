"""Arrow columns, as DuckDB hands them to a function, as flat NumPy arrays; and results back.

Promise: whatever the layout (chunks, slices, offsets that do not start at 0, fixed-size lists, items under a
NULL list), rows come out as they went in. Any numeric type is taken, as floats: the nearest ones to decimals,
single floats as the decimals that they print as. What is not numbers is one clear error.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cae_sql.errors import InvalidInput
from cae_sql.measure.rows import Flags, Floats, Ints, Lists

_EXACT_DIGITS = 15
"""Whole numbers of so many digits are floats, and so is the power of ten that they are divided by."""
_WHOLE_SINGLE = 2.0**24
"""Whole numbers below this are single floats, and print as themselves."""
_SINGLE_DIGITS = 1e6
"""No two decimals of six digits are the same single float."""
_QUICK_PLACES = 3
"""Decimals of more places are read from text, which takes several times as long."""


class ListColumn:
    """A column of lists of numbers."""

    def __init__(self, column: Any, name: str) -> None:
        array = _whole(column)
        self.name = name
        self.valid: Flags = _valid(array)
        """(n,) which rows are not NULL."""
        begin, end, items = _layout(array, name)
        self._missing: Flags | None = _missing(items)
        self.lists = Lists(_floats(items, name, "a list of numbers"), begin, end)

    def check(self, live: Flags) -> None:
        """Refuse a NULL inside a list.

        Args:
            live: (n,) the rows that are looked at.

        Raises:
            InvalidInput: names the row and the place in its list.
        """
        if self._missing is None:
            return
        before = np.concatenate([[0], np.cumsum(self._missing)])
        inside = before[self.lists.end] - before[self.lists.begin]
        for row in np.flatnonzero(live & (inside > 0)).tolist():
            begin, end = self.lists.begin[row], self.lists.end[row]
            place = int(np.flatnonzero(self._missing[begin:end])[0])
            raise InvalidInput(f"row {row}: {self.name}[{place}] is NULL; every value must be a number", row)


def is_list(column: Any) -> bool:
    """Whether a column holds lists."""
    kind = column.type
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def is_null(column: Any) -> bool:
    """Whether a column is the literal NULL, of no type."""
    return bool(pa.types.is_null(column.type))


def numbers(column: Any, name: str) -> tuple[Floats, Flags]:
    """(n,) numbers and which of them are not NULL.

    Raises:
        InvalidInput: the column is not numeric.
    """
    array = _whole(column)
    return _floats(array, name, "a number"), _valid(array)


def result(values: Floats, live: Flags) -> Any:
    """Numbers as a column; NULL where a row is not live."""
    return pa.array(values, mask=~live)


def list_of_numbers(values: Floats, begins: Ints, live: Flags) -> Any:
    """A column of lists of numbers, flat; begins (n + 1,); NULL where a number is NaN."""
    items = pa.array(values, mask=np.isnan(values))
    return pa.ListArray.from_arrays(_offsets(begins), items, mask=pa.array(~live))


def list_of_structs(fields: dict[str, Floats], begins: Ints, live: Flags) -> Any:
    """A column of lists of structures, their fields flat; begins (n + 1,)."""
    items = pa.StructArray.from_arrays([pa.array(each) for each in fields.values()], list(fields))
    return pa.ListArray.from_arrays(_offsets(begins), items, mask=pa.array(~live))


def struct_of_lists(fields: dict[str, Floats], begins: Ints, live: Flags) -> Any:
    """A column of structures of lists of the same lengths, flat; begins (n + 1,)."""
    lists = [pa.ListArray.from_arrays(_offsets(begins), pa.array(each)) for each in fields.values()]
    return pa.StructArray.from_arrays(lists, list(fields), mask=pa.array(~live))


def struct(fields: dict[str, Floats], live: Flags) -> Any:
    """A column of structures of numbers."""
    return pa.StructArray.from_arrays(
        [pa.array(each) for each in fields.values()], list(fields), mask=pa.array(~live)
    )


def _offsets(begins: Ints) -> Any:
    if begins[-1] > np.iinfo(np.int32).max:
        raise InvalidInput("the results of one vector are too long for Arrow's lists")
    return pa.array(begins.astype(np.int32))


def _whole(column: Any) -> Any:
    """One array, of however many chunks."""
    if isinstance(column, pa.ChunkedArray):
        return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return column


def _valid(array: Any) -> Flags:
    if not array.null_count:
        return np.ones(len(array), np.bool_)
    valid: Flags = array.is_valid().to_numpy(zero_copy_only=False)
    return valid


def _missing(items: Any) -> Flags | None:
    """Which items are NULL; None if none is."""
    if not items.null_count:
        return None
    missing: Flags = items.is_null().to_numpy(zero_copy_only=False)
    return missing


def _layout(array: Any, name: str) -> tuple[Ints, Ints, Any]:
    """Where each row's items begin and end, and the items: offsets count from the start of the items' array,
    whichever slice of the lists this is."""
    kind = array.type
    if is_null(array):
        nothing = np.zeros(len(array), np.int64)
        return nothing, nothing, pa.array([], pa.float64())
    if pa.types.is_fixed_size_list(kind):
        size = kind.list_size
        begin = (np.arange(len(array), dtype=np.int64) + array.offset) * size
        return begin, begin + size, array.values
    if not is_list(array):
        raise InvalidInput(f"{name} must be a list of numbers, not {kind}")
    offsets = array.offsets.to_numpy().astype(np.int64)
    return offsets[:-1], offsets[1:], array.values


def _floats(array: Any, name: str, wanted: str) -> Floats:
    """Any numbers as floats; what stands for a NULL is of no account."""
    kind = array.type
    types = pa.types
    if types.is_null(kind):
        return np.zeros(len(array))
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)):
        of = kind if wanted == "a number" else f"of {kind}"
        raise InvalidInput(f"{name} must be {wanted}, not {of}")
    if array.null_count:
        array = array.fill_null(pa.scalar(Decimal(0) if types.is_decimal(kind) else 0, kind))
    if types.is_decimal(kind):
        array = _nearest(array)
    elif kind == pa.float32():
        array = _as_printed(array)
    found: Floats = np.ascontiguousarray(array.to_numpy(zero_copy_only=False), dtype=np.float64)
    return found


def _nearest(decimals: Any) -> Any:
    """The float nearest to each decimal. Arrow's own cast is off by a rounding for one in three, and a value
    that is off by one no longer prints as the decimal that it was."""
    kind = decimals.type
    if pa.types.is_decimal128(kind) and kind.precision <= _EXACT_DIGITS:
        digits = pc.cast(decimals.view(pa.decimal128(kind.precision, 0)), pa.int64())
        return pc.divide(pc.cast(digits, pa.float64()), 10.0**kind.scale)  # both exact: rounded once
    return pc.cast(pc.cast(decimals, pa.string()), pa.float64())


def _as_printed(singles: Any) -> Any:
    """Single floats as the decimals that they print as: 0.1 is not to become 0.10000000149011612."""
    plain = pc.cast(singles, pa.float64())
    x = plain.to_numpy(zero_copy_only=False)
    for places in range(_QUICK_PLACES + 1):
        power = 10.0**places
        whole = np.rint(x * power)
        if not np.all(np.abs(whole) < (_SINGLE_DIGITS if places else _WHOLE_SINGLE)):
            break
        decimals = whole / power
        if np.all(decimals.astype(np.float32) == x):
            return pa.array(decimals)
    return pc.cast(pc.cast(singles, pa.string()), pa.float64())
