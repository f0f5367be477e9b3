"""The rows of an answered statement, in the types that plain DuckDB gives."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pyarrow as pa

from auditor.decision import Decision
from auditor.errors import WithheldWarning
from auditor.gate.python_types import frame_of, rows_of
from auditor.sql.statement import Plan
from auditor.sql.time_zones import UTC_ZONE, session_zone
from auditor.told import Range, Remainder, Withheld

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class Answer:
    """What was released. Like a DuckDB cursor, `fetchone` goes on where it stopped."""

    def __init__(
        self,
        table: pa.Table,
        types: tuple[str, ...],
        decision: Decision,
        ranges: tuple[Range, ...] = (),
        plan: Plan | None = None,
        remainder: tuple[Remainder, ...] = (),
    ) -> None:
        """Wrap rows.

        Args:
            table: The rows.
            types: DuckDB's type of each column, as text.
            decision: The verdict that released them.
            ranges: What is told of values that are not given exactly.
            plan: The statement, for pictures.
            remainder: Which rows are withheld groups together.
        """
        self._table, self._types, self._plan = table, types, plan
        self.decision = decision
        """The verdict."""
        self.ranges = ranges
        """Where values lie that are not given exactly: they are NULL in the rows."""
        self.remainder = remainder
        """Which rows are withheld groups together, if the policy has such: the last ones."""
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
        """The rows that are left.

        Raises:
            ConversionError: Python has no value for one of them; `arrow` has.
        """
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

    @property
    def withheld(self) -> tuple[Withheld, ...]:
        """Of which groups, or values, nothing is told."""
        return self.decision.withheld

    def df(self) -> pd.DataFrame:
        """All rows, as plain DuckDB's `df()` gives them; infinite dates as Python's values.

        Where groups are withheld, `attrs["withheld"]` lists them, each a dict of "group" and "aggregates"
        (empty: all of them), and a `WithheldWarning` says so: what is ranked over the rows lacks them.
        Where rows are withheld groups together, `attrs["remainder"]` says which.

        Raises:
            ConversionError: Python has no value for one of them; `arrow` has.
        """
        frame = frame_of(self._table, self._types, self._shown_in)
        if self.withheld:
            frame.attrs["withheld"] = [each.as_dict for each in self.withheld]
            warnings.warn(self.decision.message, WithheldWarning, stacklevel=2)
        if self.remainder:
            frame.attrs["remainder"] = [each.as_dict for each in self.remainder]
        return frame

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
            self._rows = rows_of(self._table, self._types, self._shown_in)
        return self._rows

    @property
    def _shown_in(self) -> str:
        """The time zone of moments: the session's, or UTC where that has no name that Python knows."""
        zone = UTC_ZONE if self._plan is None else session_zone(self._plan.zone)
        return zone.engine if isinstance(zone.clocks, ZoneInfo) else UTC_ZONE.engine
