"""Exact protected values as integers of one scale, by record or by cell.

Promises `value = integer * scale` for every record, exactly; for DOUBLE and FLOAT the value meant is the
shortest decimal text that reads back as the same number. Knows no SQL.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from auditor.data.arrow import numbers_of
from auditor.data.python_values import python_values
from auditor.data.units import Units
from auditor.errors import DatabaseError

_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER",
             "UBIGINT", "UHUGEINT")  # fmt: skip
_LARGEST = 2**63 - 1


@dataclass(frozen=True, eq=False)
class CellValues:
    """What is known of the values of a protected column in each cell that has some."""

    counts: NDArray[np.int64]
    """How many."""
    sums: NDArray[np.int64]
    """In units of the vault's scale, as are the next two."""
    least: NDArray[np.int64]
    greatest: NDArray[np.int64]
    off_grid: int
    """How many values of all cells are not on the policy's grid."""
    units: Units
    """What they are split into: places in these arrays are its cells."""

    @property
    def columns(self) -> tuple[NDArray[np.int64], ...]:
        """All that is known of each."""
        return self.counts, self.sums, self.least, self.greatest


@dataclass(frozen=True, eq=False)
class Vault:
    """The values of one protected column: rows where it is not NULL are records, numbered from 0."""

    integers: NDArray[np.int64]
    """By record, in units of `scale`; empty where there are cells."""
    scale: Fraction
    """What one unit is worth, exactly."""
    keys: list[object] | None
    """Key values by record, for the owner's findings and to know persons again; None without a key."""
    key_type: str | None = None
    """DuckDB's type of the key."""
    cells: CellValues | None = None
    """Where the table exists as cells alone: these, in place of records."""
    units: NDArray[np.int64] | None = None
    """The unit of each record, whose rows they are; None: every record is its own."""
    unit_names: list[object] | None = None
    """What the policy's column calls them, by unit; those beyond have no name."""
    unit_type: str | None = None
    """DuckDB's type of what names units."""

    @property
    def called(self) -> list[object] | None:
        """What the unit of each record is called, None where nothing names it; without a unit None."""
        if self.units is None or self.unit_names is None:
            return None
        names = [*self.unit_names, None]
        return [names[unit] for unit in np.minimum(self.units, len(names) - 1).tolist()]

    @property
    def size(self) -> int:
        """Number of records, or of units of cells."""
        return len(self.integers) if self.cells is None else len(self.cells.units)


def units_of(names: pa.ChunkedArray, column: str) -> tuple[NDArray[np.int64], list[object]]:
    """(n,) the unit of each record, from 0 on, and their names; each without a name is a unit of its own.

    Raises:
        DatabaseError: all records have one name.
    """
    coded = names.combine_chunks().dictionary_encode()
    found = numbers_of(pa.chunked_array([coded.indices.fill_null(-1)])).astype(np.int64)
    nobody = np.flatnonzero(found < 0)
    found[nobody] = len(coded.dictionary) + np.arange(len(nobody))
    if len(found) > 1 and (found == found[0]).all():
        raise DatabaseError(
            f"column {column} has one value in all rows, so all would be one person's; name another "
            "protect.unit, or leave it out"
        )
    return found, python_values(pa.chunked_array([coded.dictionary]))


def supported(type_: str) -> bool:
    """Whether a DuckDB type can be protected."""
    return type_ in (*_INTEGERS, "DOUBLE", "FLOAT", "BOOLEAN") or type_.startswith("DECIMAL(")


def exact(values: pa.ChunkedArray, type_: str, column: str) -> tuple[NDArray[np.int64], Fraction]:
    """Integers and scale of a column without NULLs.

    Args:
        values: The values; HUGEINT and DECIMAL as Arrow decimals.
        type_: DuckDB's type, one that is `supported`.
        column: The column's name, for errors.

    Raises:
        DatabaseError: for NaN, infinities and values of more digits than 64 bits hold.
    """
    if type_ == "BOOLEAN":
        return numbers_of(values.cast(pa.int8())).astype(np.int64), Fraction(1)
    if type_ in ("DOUBLE", "FLOAT"):
        return _floats(numbers_of(values), column)
    if pa.types.is_decimal(values.type):
        return _decimals(values, column), Fraction(1, 10**values.type.scale)
    numbers = numbers_of(values)
    if numbers.dtype == np.uint64 and len(numbers) and int(numbers.max()) > _LARGEST:
        raise too_long(column)
    return numbers.astype(np.int64), Fraction(1)


def too_long(column: str) -> DatabaseError:
    """The error for a column with such numbers."""
    return DatabaseError(
        f"column {column} holds numbers of more digits than 64 bits hold; round or scale them"
    )


def _decimals(values: pa.ChunkedArray, column: str) -> NDArray[np.int64]:
    scale = values.type.scale
    array = values.cast(pa.decimal128(38, scale)).combine_chunks()
    # 16 bytes each, little endian: the low word is the number if the high word only repeats its sign.
    words = np.frombuffer(array.buffers()[1], dtype="<i8")[2 * array.offset : 2 * (array.offset + len(array))]
    low, high = words[::2], words[1::2]
    if not np.array_equal(high, low >> 63):
        raise too_long(column)
    return low.astype(np.int64)


def _floats(values: NDArray[np.floating], column: str) -> tuple[NDArray[np.int64], Fraction]:
    if not np.isfinite(values).all():
        raise DatabaseError(f"column {column} holds NaN or infinity; store NULL where there is no value")
    distinct, places = np.unique(values, return_inverse=True)
    # str of a NumPy number is its shortest text in its own precision.
    decimals = [Decimal(str(value)).normalize() for value in distinct]
    exponent = min([0, *(int(value.as_tuple().exponent) for value in decimals)])
    integers = [int(value.scaleb(-exponent)) if exponent > -40 else _LARGEST + 1 for value in decimals]
    if any(abs(integer) > _LARGEST for integer in integers):
        raise too_long(column)
    return np.array(integers, dtype=np.int64)[places], Fraction(1, 10**-exponent)
