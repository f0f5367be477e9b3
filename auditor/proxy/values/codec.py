"""How the values of one type travel: its writers and readers, in PostgreSQL's text and binary formats.

Each type has one file with both directions, as in psycopg's `types`; `registry` finds a codec by type. A
writer takes a column as DuckDB gives it, and makes its cells (see `cells`). A reader takes one parameter; all
that it raises is `BadParameter`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from auditor.proxy.values import cells
from auditor.proxy.values.errors import invalid_binary

Writer = Callable[[pa.Array], pa.Array]
TextReader = Callable[[str], object]
BinaryReader = Callable[[bytes], object]


@dataclass(frozen=True)
class Codec:
    """The writers and readers of a type; None: it does not travel that way."""

    write_text: Writer | None = None
    write_binary: Writer | None = None
    read_text: TextReader | None = None
    read_binary: BinaryReader | None = None


def one_by_one(write: Callable[[Any], bytes]) -> Writer:
    """A writer for types of which Python writes each value."""
    return lambda column: cells.of_values(
        None if each is None else write(each) for each in column.to_pylist()
    )


def packed(form: str) -> Writer:
    """A writer of numbers that are sent as they stand in memory, in a form of NumPy's."""

    def write(column: pa.Array) -> pa.Array:
        return cells.of_fixed(numbers(column).astype(form), column.is_valid())

    return write


def numbers(column: pa.Array, stored: pa.DataType | None = None) -> NDArray[Any]:
    """A column's numbers, or those that a type is stored as; 0 for NULL."""
    if pa.types.is_null(column.type):
        return np.zeros(len(column), dtype=np.int64)
    column = column if stored is None else column.view(stored)
    found: NDArray[Any] = column.fill_null(0).to_numpy(zero_copy_only=False)
    return found


def unpacked(form: struct.Struct, content: bytes, name: str) -> tuple[Any, ...]:
    """The parts of a parameter of fixed width.

    Raises:
        BadParameter: 22P03, for another width.
    """
    if len(content) != form.size:
        raise invalid_binary(name)
    return form.unpack(content)
