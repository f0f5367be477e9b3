"""pandas, polars and Arrow tables, and whatever else hands out Arrow's batches; read as they are now.

Promise: no library is imported for this that is not there already: a polars table comes with its own. A
pandas column of Python's Decimals is not protected as it is: its precision would be read off the values.
"""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa

from auditor.data.sources import staging
from auditor.data.sources.single import Single
from auditor.data.sources.wanted import Needed
from auditor.errors import DatabaseError
from auditor.sql.schema import quoted


class Frame(Single):
    """See `Source`."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self._kind = type(frame).__module__.partition(".")[0]
        self.name = f"the {self._kind} {type(frame).__name__}"

    @classmethod
    def takes(cls, given: object) -> bool:
        """Whether something is a table that Arrow's batches can be had of."""
        if hasattr(given, "__arrow_c_stream__") or isinstance(given, pa.RecordBatch):
            return True
        kind = type(given).__module__.partition(".")[0]
        return (kind, type(given).__name__) in {("pandas", "DataFrame"), ("polars", "LazyFrame")} or (
            kind == "pyarrow" and hasattr(given, "scanner")
        )

    def put(self, connection: duckdb.DuckDBPyConnection, catalog: str, needed: Needed) -> None:
        """Its rows, as they are now."""
        if isinstance(self._frame, pa.RecordBatchReader):
            # batches come once, and a source may be opened again
            self._frame = self._frame.read_all()
        try:
            stream = _of_pandas(self._frame, needed) if self._kind == "pandas" else _stream(self._frame)
            chosen = needed.chosen(stream.schema.names)
            staging.put_stream(connection, catalog, needed, stream, list(map(quoted, chosen)))
        except (pa.ArrowException, duckdb.Error, NotImplementedError):
            # their texts may quote values
            raise DatabaseError(
                f"{self.name} could not be read: a column has a type that Arrow and DuckDB do not share; "
                "cast it, or leave it out of public"
            ) from None


def _stream(frame: Any) -> pa.RecordBatchReader:
    if type(frame).__name__ == "LazyFrame":
        frame = frame.collect()
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame]).to_reader()
    if hasattr(frame, "scanner"):
        return frame.scanner().to_reader()
    return pa.RecordBatchReader.from_stream(frame)


def _of_pandas(frame: Any, needed: Needed) -> pa.RecordBatchReader:
    """Columns that are wanted, NaN as NULL, as pandas has it; without the index."""
    names = [str(name) for name in frame.columns]
    chosen = needed.chosen(names)
    arrays = []
    for name in chosen:
        column = frame.iloc[:, names.index(name)]
        try:
            array = pa.Array.from_pandas(column)
        except pa.ArrowException:
            raise DatabaseError(
                f"column {name} of {needed.table} holds values of several types, or of one that Arrow does "
                "not know; give it one, for example with astype"
            ) from None
        if pa.types.is_decimal(array.type) and needed.protects(name) and str(column.dtype) == "object":
            raise DatabaseError(
                f"column {name} of {needed.table} holds Decimals without a precision, which would be read "
                "off the values; give it one: astype(pandas.ArrowDtype(pyarrow.decimal128(18, 2)))"
            )
        arrays.append(array)
    return pa.Table.from_arrays(arrays, names=chosen).to_reader()
