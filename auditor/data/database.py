"""The engine that holds the data: a public instance that runs lowered SQL, and a vault that runs none.

Promises that SQL which comes from a client runs only where the protected column is replaced by record
numbers, in an instance without files, network or settings; that rows stand there in an order that public
columns decide; and that every error of a client's statement has one fixed text. Decides nothing: that is
`auditor.gate.gate`'s.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from fractions import Fraction
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Literal, TypeVar

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from auditor.data.coarser import on_cells, public_on_cells
from auditor.data.loading import Loaded, load
from auditor.data.python_values import python_values
from auditor.data.relations import (
    Asked,
    Ends,
    Groups,
    ToldApart,
    Unrepresentable,
    listed_rows,
    read_groups,
    relation,
    typed,
)
from auditor.data.running import LargeResult, Limits, fetch, watched
from auditor.data.sources import Celling, Given, Protection, source_of
from auditor.data.together import Together, ask_together, extended, meant
from auditor.data.vault import Vault
from auditor.data.weighted import Uneven
from auditor.errors import AuditorError, DatabaseError
from auditor.sql import Block, Plan, Schema, Unsupported, understand
from auditor.sql.schema import View, folded, quoted
from auditor.sql.shape import DATA
from auditor.sql.time_zones import session_zone
from auditor.sql.together import room
from auditor.sql.withheld import GROUP, Rest

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Asked",
    "Database",
    "Limits",
    "NeedsRows",
    "NeedsValues",
    "StatementFailed",
    "TooMuch",
    "TooSlow",
    "UnevenWeights",
]

_REMEMBERED = 4
_BYTES = 8
"""Of a record's number: a query set found on cells may be no larger than one found on rows."""
MOST_ROWS = 5_000_000
"""Rows up to which a table that exists as cells alone is read row by row, each cell repeated."""
_Result = TypeVar("_Result")


def _require_readable(view: View, schema: Schema) -> None:
    try:
        found = understand(f"SELECT COUNT(*) FROM {'.'.join(map(quoted, view.path))}", None, schema)
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        raise DatabaseError(
            f"view {view.name} reads what is not public: {reason}; list it as public, or leave the view out"
        ) from None
    if isinstance(found, Unsupported):
        raise DatabaseError(f"view {view.name} cannot be read through the gate: {found.message} {found.hint}")


class StatementFailed(AuditorError):
    """A client's statement failed while it ran. One text for every cause, so that it carries no value."""

    code = "failed"
    """The code of the verdict that it makes."""

    def __init__(self) -> None:
        super().__init__("the statement failed while it ran")


class RowsNeeded(Exception):
    """A query reads the rows of a table that exists as cells, and has too many to be made of them."""


class UnevenWeights(StatementFailed):
    """A join repeats some records more often than others: public data say so, no value does."""

    code = "uneven"


class NeedsRows(StatementFailed):
    """The source gave cells, and the statement reads rows: more than are made of cells, or some of a cell."""

    code = "cells"


class NeedsValues(StatementFailed):
    """The source gave the sums and extremes of cells, and the statement asks for more about their values."""

    code = "cells-values"


class TooSlow(StatementFailed):
    """The statement's time was up before it ended."""

    code = "too-slow"


class TooMuch(StatementFailed):
    """The result has more rows or bytes than a statement may have, or its making took too much memory."""

    code = "too-much"


class Database:
    """The data of one policy: schema, vault and public instance. A context manager."""

    def __init__(self, loaded: Loaded) -> None:
        self.limits = Limits()
        """What each call of `ask`, `finish` and `run_public` may take; may be replaced at any time."""
        self._loaded = loaded
        self._cursors: dict[duckdb.DuckDBPyConnection, int] = {}
        self._lock = threading.Lock()
        self._closed = False
        self._groups: OrderedDict[Plan, tuple[list[Groups], list[Asked]]] = OrderedDict()

    @classmethod
    def open(
        cls,
        source: Given,
        protects: Sequence[Protection],
        *,
        public_tables: Sequence[str] = (),
        views: Sequence[str] = (),
        memory_limit: str = "2GB",
        cells: Celling | None = None,
    ) -> Database:
        """Copy what is needed from a source; it is free again afterwards.

        Args:
            source: Where the tables are; see `auditor.data.sources`.
            protects: The protected columns, each with its table, public columns and key.
            public_tables: Further tables that may be read whole.
            views: Stored queries that may be read like tables.
            memory_limit: DuckDB's limit for the public instance.
            cells: How cells are made of the protected tables, in place of records; None: records are read.

        Raises:
            PolicyError: cells are wanted, and a key.
            DatabaseError: with what is wrong and, for names, what is there.
        """
        loaded = load(source_of(source), protects, public_tables, views, memory_limit, cells)
        try:
            for view in loaded.schema.views:
                _require_readable(view, loaded.schema)
            # what reading a statement needs is made now: later there may be no descriptors for it
            understand("SELECT 1", None, loaded.schema)
        except DatabaseError:
            loaded.connection.close()
            raise
        return cls(loaded)

    @property
    def schema(self) -> Schema:
        """What statements may name."""
        return self._loaded.schema

    @property
    def vaults(self) -> tuple[Vault, ...]:
        """The values of each protected column; nothing else holds them."""
        return self._loaded.vaults

    @property
    def celled(self) -> bool:
        """Whether the protected tables exist as cells alone."""
        return bool(self._loaded.cells.alone)

    @property
    def fingerprint(self) -> str:
        """Hash of the content, whatever the order of the rows in the file."""
        return self._loaded.fingerprint

    def classes(
        self, columns: Sequence[str] | Literal["all"], protected: int = 0
    ) -> tuple[NDArray[np.int64], pd.DataFrame]:
        """The classes of records that agree on public columns.

        Args:
            columns: Public columns of a protected table; "all": all of them.
            protected: Position of the protected column whose records are meant.

        Returns:
            The class of each record, and the classes' public values, one row each in the order of the codes.

        Raises:
            DatabaseError: for a column that is not public.
        """
        record = self.schema.protected[protected]
        table = next(each for each in self.schema.tables if each.name == record.table)
        spelled = {folded(each.name): each.name for each in table.columns}
        unknown = [] if columns == "all" else [name for name in columns if folded(name) not in spelled]
        if unknown:
            raise DatabaseError(f"table {table.name} has no public column {unknown[0]}")
        chosen = list(spelled.values()) if columns == "all" else [spelled[folded(name)] for name in columns]
        if not chosen:
            from pandas import DataFrame

            return np.zeros(self.vaults[protected].size, dtype=np.int64), DataFrame(index=range(1))
        names = ", ".join(quoted(name) for name in chosen)
        number = quoted(record.column)
        cells = self._loaded.cells.of_protected[protected] if self.celled else None
        holder = table.name if cells is None else self._loaded.cells.tables[folded(table.name)].name
        source = f"{DATA}.{quoted(holder)} WHERE {number} IS NOT NULL"
        with self._cursor() as cursor:
            rank = f"dense_rank() OVER (ORDER BY {names}) - 1 AS c"
            found = cursor.execute(f"SELECT {number} AS r, {rank} FROM {source} ORDER BY r").fetchnumpy()
            codes = found["c"].astype(np.int64)
            if cells is not None:
                of_cell = np.zeros(len(cells.values), np.int64)
                of_cell[found["r"]] = codes
                codes = of_cell[cells.of_record]
            values = cursor.execute(f"SELECT DISTINCT {names} FROM {source} ORDER BY {names}").df()
        return codes, values

    def ask(self, plan: Plan) -> list[Asked]:
        """Run the groups queries: what the gate must compute, in an order that public data decide.

        Raises:
            StatementFailed: if one fails; `TooSlow` and `TooMuch` among them.
        """
        return list(self._evaluated(plan)[1])

    def keys(self, plan: Plan, block: int, group: int) -> tuple[object, ...] | None:
        """What a group of a block is grouped by; None of groups together, which come after its own."""
        table = self._evaluated(plan)[0][block].table
        if group >= table.num_rows:
            return None
        names = [name for name in table.column_names if name.startswith("_k")]
        return tuple(python_values(table.column(name).slice(group, 1))[0] for name in names)

    def together(self, plan: Plan, lost: Mapping[int, Collection[int]]) -> list[Together]:
        """Groups of a statement together, those of each grouping set as one more group.

        Args:
            plan: The plan, which has one block.
            lost: By aggregate the groups that are meant.

        Returns:
            What is to be asked of them; groups that cannot be asked about together are left out.
        """
        (groups,), asked = self._evaluated(plan)
        block, of_group = plan.blocks[0], {(each.group, each.column): each for each in asked}
        sizes = [each.size for each in self.vaults]

        def read(cursor: duckdb.DuckDBPyConnection, one: Block) -> tuple[Groups, list[Asked]]:
            more: list[Asked] = []
            return self._read(cursor, one, 0, sizes, more), more

        found = []
        for level, about in meant(block, groups, lost):
            with suppress(StatementFailed):
                work = partial(
                    ask_together,
                    block=block,
                    groups=groups,
                    asked=of_group,
                    level=level,
                    about=about,
                    read=read,
                )
                found.append(self._run(work, plan.zone))
        most = room(plan)
        if most is not None and len(groups.entries) + len(found) > most:
            return []
        return [each.of(len(groups.entries) + i, each.about) for i, each in enumerate(found)]

    def finish(
        self,
        plan: Plan,
        values: Sequence[Fraction | None],
        rest: Rest | None = None,
        ends: Sequence[Ends | None] | None = None,
        together: Sequence[Together] = (),
    ) -> pa.Table:
        """Run the rest of a statement over the computed aggregates.

        Args:
            plan: The plan.
            values: X for each of `ask(plan)`, in column units; None: SQL NULL.
            rest: What is left to run where values are withheld; by default as the plan says.
            ends: For each of `ask(plan)`, between which SQL values it is told to lie, None: nothing is told;
                by default the exact ones.
            together: Further groups; what they ask comes after `ask(plan)`, in their order.

        Raises:
            StatementFailed: if it fails.
        """
        blocks, asked = self._evaluated(plan) if plan.blocks else ([], [])
        if together:
            blocks = [extended(blocks[0], together, len(asked))]
            asked = [*asked, *(each for more in together for each in more.asked)]
        exact = [None if x is None else each.value(x) for each, x in zip(asked, values, strict=True)]
        told = [None if x is None else (x, x) for x in exact] if ends is None else ends

        def run(cursor: duckdb.DuckDBPyConnection) -> pa.Table:
            for block, groups in zip(plan.blocks, blocks, strict=True):
                rows = relation(block, groups, exact, told, rest is not None)
                cursor.register(block.name + "_values", rows)
                source = typed(block, block.name + "_values", rest is not None)
                cursor.execute(f"CREATE TEMP VIEW {quoted(block.name)} AS {source}")
            sql = plan.final_sql if rest is None else rest.sql
            sql = public_on_cells(sql, self._loaded.cells.tables) or sql if self.celled else sql
            return fetch(cursor, self._readable(sql), self.limits)

        numbered = rest is not None and rest.numbered is not None
        return self._run(run, plan.zone).rename_columns([*plan.columns, *([GROUP] if numbered else [])])

    def run_public(self, plan: Plan) -> pa.Table:
        """Run a statement that reads no protected value.

        Raises:
            StatementFailed: if it fails.
            ValueError: if the plan is not public.
        """
        if not plan.public:
            raise ValueError("the plan reads protected values; use ask and finish")
        return self.finish(plan, ())

    def cancel(self, thread: int | None = None) -> None:
        """Interrupt what runs; it raises `StatementFailed`.

        Args:
            thread: Identifier of the thread whose statement is meant; by default all are.
        """
        with self._lock:
            for cursor, owner in self._cursors.items():
                if thread in (None, owner):
                    cursor.interrupt()

    def close(self) -> None:
        """Release the instance. What other threads run goes on to its end; nothing new begins."""
        with self._lock:  # DuckDB refuses to close a connection that another thread is just using
            self._closed = True
            self._loaded.connection.close()

    def __enter__(self) -> Database:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _evaluated(self, plan: Plan) -> tuple[list[Groups], list[Asked]]:
        # `finish` follows `ask` with the same plan; the data never change, so remembering is safe.
        with self._lock:
            if plan in self._groups:
                self._groups.move_to_end(plan)
                return self._groups[plan]
        if self.celled and any(each.statistic for block in plan.blocks for each in block.aggregates):
            raise NeedsValues
        asked: list[Asked] = []
        sizes = [each.size for each in self.vaults]

        def run(cursor: duckdb.DuckDBPyConnection) -> list[Groups]:
            asked.clear()
            return [
                self._read(cursor, block, number, sizes, asked) for number, block in enumerate(plan.blocks)
            ]

        groups = self._run(run, plan.zone)
        with self._lock:
            self._groups[plan] = (groups, asked)
            while len(self._groups) > _REMEMBERED:
                self._groups.popitem(last=False)
        return groups, asked

    def _read(
        self,
        cursor: duckdb.DuckDBPyConnection,
        block: Block,
        number: int,
        sizes: Sequence[int],
        asked: list[Asked],
    ) -> Groups:
        """Find the groups of a block, on cells where that gives the same."""
        celled = self._loaded.cells
        coarse = on_cells(block.groups_sql, celled.tables)
        if coarse is None:
            result = fetch(cursor, self._readable(block.groups_sql), self.limits)
            cells = celled.of_protected if self.celled else None
            return read_groups(block, number, result, sizes, asked, cells, repeated=True)
        result = fetch(cursor, self._readable(coarse), self.limits)
        if listed_rows(block, result, celled.of_protected) * _BYTES > self.limits.bytes:
            raise LargeResult
        return read_groups(block, number, result, sizes, asked, celled.of_protected)

    def _readable(self, sql: str) -> str:
        """A lowered query, unless it reads the rows of a large table that exists as cells.

        Raises:
            RowsNeeded: it does.
        """
        for table, rows in self._loaded.cells.alone.items():
            # names are written so by lowering; in a text it would be turned away for nothing
            if rows > MOST_ROWS and f'"{DATA}".{quoted(table)}' in folded(sql):
                raise RowsNeeded
        return sql

    def _run(self, work: Callable[[duckdb.DuckDBPyConnection], _Result], zone: str) -> _Result:
        failure: type[StatementFailed] = StatementFailed
        with self._cursor(zone) as cursor, watched(cursor, self.limits.seconds) as watch:
            try:
                return work(cursor)
            except Uneven:
                failure = UnevenWeights
            except (RowsNeeded, ToldApart):
                failure = NeedsRows
            except (LargeResult, duckdb.OutOfMemoryException):
                failure = TooMuch
            except (duckdb.Error, pa.ArrowException, OSError, Unrepresentable):
                # Interrupted in the middle of a result, Arrow has an error of its own.
                failure = TooSlow if watch.expired else StatementFailed
        # Raised out here so that the cause stays behind altogether: DuckDB's messages quote values.
        raise failure

    @contextmanager
    def _cursor(self, zone: str = "UTC") -> Iterator[duckdb.DuckDBPyConnection]:
        # One cursor per run: what a run registers, and its time zone, are seen by that run alone.
        with self._lock:
            if self._closed:
                raise StatementFailed
            cursor = self._loaded.connection.cursor()
            self._cursors[cursor] = threading.get_ident()
        try:
            engine = session_zone(zone).engine
            if engine != "UTC":
                cursor.execute(f"SET SESSION TimeZone = '{engine}'")
            yield cursor
        finally:
            with self._lock:
                self._cursors.pop(cursor, None)
            cursor.close()
