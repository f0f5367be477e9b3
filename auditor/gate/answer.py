"""The rows of an answered statement, in the types that plain DuckDB gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from auditor.decision import Decision
from auditor.sql.statement import Plan
from auditor.told import Range

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

PLAIN = (
    "BOOLEAN",
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "DOUBLE",
    "FLOAT",
    "VARCHAR",
    "DATE",
    "DECIMAL",
)
"""Types whose Python values Arrow gives as DuckDB does."""


class Answer:
    """What was released. Like a DuckDB cursor, `fetchone` goes on where it stopped."""

    def __init__(
        self,
        table: pa.Table,
        types: tuple[str, ...],
        decision: Decision,
        ranges: tuple[Range, ...] = (),
        plan: Plan | None = None,
    ) -> None:
        """Wrap rows.

        Args:
            table: The rows.
            types: DuckDB's type of each column, as text.
            decision: The verdict that released them.
            ranges: What is told of values that are not given exactly.
            plan: The statement, for pictures.
        """
        self._table, self._types, self._plan = table, types, plan
        self.decision = decision
        """The verdict."""
        self.ranges = ranges
        """Where values lie that are not given exactly: they are NULL in the rows."""
        self._rows: list[tuple[Any, ...]] | None = None
        self._next = 0

    @property
    def columns(self) -> list[str]:
        """Column names."""
        return list(self._table.column_names)

    @property
    def types(self) -> tuple[str, ...]:
        """DuckDB's type of each column, as text."""
        return self._types

    def fetchall(self) -> list[tuple[Any, ...]]:
        """The rows that are left."""
        rows = self._all()[self._next :]
        self._next = len(self._all())
        return rows

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row, or None."""
        rows = self._all()
        if self._next >= len(rows):
            return None
        self._next += 1
        return rows[self._next - 1]

    def df(self) -> pd.DataFrame:
        """All rows, as plain DuckDB's `df()` gives them."""
        return self._in_duckdb("df")

    def arrow(self) -> pa.Table:
        """All rows."""
        return self._table

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw what is told of each aggregate of a protected column: a bar where it is a value, a band from
        AT_LEAST to AT_MOST, a marker where there is one end alone. Public columns say whose it is.

        Args:
            ax: Where; None: new axes. Needs matplotlib.

        Raises:
            ImportError: matplotlib is not installed.
            ValueError: there is no such aggregate in the answer, or too many rows to be read.
        """
        from auditor.gate.picture import NOTHING, draw

        if self._plan is None:
            raise ValueError(NOTHING)
        return draw(self._plan, self.columns, self._all(), self.ranges, ax)

    def __repr__(self) -> str:
        return f"<Answer: {self._table.num_rows} rows of {', '.join(self.columns)}>"

    def _all(self) -> list[tuple[Any, ...]]:
        if self._rows is None:
            if all(kind == "HUGEINT" or kind.startswith(PLAIN) for kind in self._types) and not any(
                "[" in kind for kind in self._types
            ):
                columns = [
                    [None if value is None else int(value) for value in column.to_pylist()]
                    if kind == "HUGEINT"
                    else column.to_pylist()
                    for kind, column in zip(self._types, self._table.columns, strict=True)
                ]
                self._rows = list(zip(*columns, strict=True))
            else:
                self._rows = self._in_duckdb("fetchall")
        return self._rows

    def _in_duckdb(self, method: str) -> Any:
        """Give the rows back the DuckDB types that Arrow lacks, in an instance of their own."""
        import duckdb

        numbered = self._table.rename_columns([f"c{place}" for place in range(self._table.num_columns)])
        names = [name.replace('"', '""') for name in self.columns]
        casts = ", ".join(
            f'CAST(c{place} AS {kind}) AS "{name}"'
            for place, (name, kind) in enumerate(zip(names, self._types, strict=True))
        )
        with duckdb.connect(config={"threads": 1}) as connection:
            connection.register("released", numbered)
            return getattr(connection.sql(f"SELECT {casts} FROM released"), method)()
