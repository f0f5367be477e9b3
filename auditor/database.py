"""The engine that holds the data: a public instance that runs lowered SQL, and a vault that runs none.

Promises that SQL which comes from a client runs only where the protected column is replaced by record
numbers, in an instance without files, network or settings; that rows stand there in an order that public
columns decide; and that every error of a client's statement has one fixed text. Decides nothing: that is
`auditor.gate`'s.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from types import TracebackType
from typing import Literal, TypeVar

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from auditor.errors import AuditorError, DatabaseError
from auditor.sql import Plan, Schema
from auditor.sql.loading import Loaded, load
from auditor.sql.relations import Asked, Groups, Unrepresentable, read_groups, relation, typed
from auditor.sql.schema import folded, quoted
from auditor.sql.shape import DATA

__all__ = ["Asked", "Database", "StatementFailed"]

_REMEMBERED = 4
_Result = TypeVar("_Result")


class StatementFailed(AuditorError):
    """A client's statement failed while it ran. One text for every cause, so that it carries no value."""

    def __init__(self) -> None:
        super().__init__("the statement failed while it ran")


class Database:
    """The data of one policy: schema, vault and public instance. A context manager."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._cursors: set[duckdb.DuckDBPyConnection] = set()
        self._lock = threading.Lock()
        self._groups: OrderedDict[Plan, tuple[list[Groups], list[Asked]]] = OrderedDict()

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        table: str,
        column: str,
        public: Sequence[str] | Literal["all"],
        key: str | None = None,
        public_tables: Sequence[str] = (),
        memory_limit: str = "2GB",
    ) -> Database:
        """Copy what is needed from a DuckDB file; the file is free again afterwards.

        Args:
            path: The DuckDB file.
            table: The protected table or view, `name` or `schema.name`.
            column: The protected column.
            public: Its public columns; "all": every other column.
            key: A column that names records in the owner's findings.
            public_tables: Further tables that may be read whole.
            memory_limit: DuckDB's limit for the public instance.

        Raises:
            DatabaseError: with what is wrong and, for names, what is there.
        """
        return cls(load(os.fspath(path), table, column, public, key, public_tables, memory_limit))

    @property
    def schema(self) -> Schema:
        """What statements may name."""
        return self._loaded.schema

    @property
    def size(self) -> int:
        """Number of records: rows whose protected value is not NULL, numbered from 0."""
        return len(self._loaded.integers)

    @property
    def integers(self) -> NDArray[np.int64]:
        """The vault: protected values by record number, in units of `scale`."""
        return self._loaded.integers

    @property
    def scale(self) -> Fraction:
        """What one unit of `integers` is worth, exactly."""
        return self._loaded.scale

    @property
    def keys(self) -> list[object] | None:
        """Key values by record number, for the owner's findings; None without a key."""
        return self._loaded.keys

    @property
    def fingerprint(self) -> str:
        """Hash of the content, whatever the order of the rows in the file."""
        return self._loaded.fingerprint

    def classes(self, columns: Sequence[str] | Literal["all"]) -> tuple[NDArray[np.int64], pd.DataFrame]:
        """The classes of records that agree on public columns.

        Args:
            columns: Public columns of the protected table; "all": all of them.

        Returns:
            The class of each record, and the classes' public values, one row each in the order of the codes.

        Raises:
            DatabaseError: for a column that is not public.
        """
        schema = self.schema
        table = next(each for each in schema.tables if each.name == schema.protected_table)
        spelled = {folded(each.name): each.name for each in table.columns}
        unknown = [] if columns == "all" else [name for name in columns if folded(name) not in spelled]
        if unknown:
            raise DatabaseError(f"table {table.name} has no public column {unknown[0]}")
        chosen = list(spelled.values()) if columns == "all" else [spelled[folded(name)] for name in columns]
        if not chosen:
            return np.zeros(self.size, dtype=np.int64), pd.DataFrame(index=range(1))
        names = ", ".join(quoted(name) for name in chosen)
        record = quoted(schema.protected_column)
        source = f"{DATA}.{quoted(table.name)} WHERE {record} IS NOT NULL"
        with self._cursor() as cursor:
            rank = f"dense_rank() OVER (ORDER BY {names}) - 1 AS c"
            codes = (
                cursor.execute(f"SELECT {record} AS r, {rank} FROM {source} ORDER BY r")
                .fetchnumpy()["c"]
                .astype(np.int64)
            )
            values = cursor.execute(f"SELECT DISTINCT {names} FROM {source} ORDER BY {names}").df()
        return codes, values

    def ask(self, plan: Plan) -> list[Asked]:
        """Run the groups queries: what the gate must compute, in an order that public data decide.

        Raises:
            StatementFailed: if one fails.
        """
        return list(self._evaluated(plan)[1])

    def finish(self, plan: Plan, values: Sequence[Fraction | None]) -> pa.Table:
        """Run the rest of a statement over the computed aggregates.

        Args:
            plan: The plan.
            values: X for each of `ask(plan)`, in column units; None: SQL NULL.

        Raises:
            StatementFailed: if it fails.
        """
        blocks, asked = self._evaluated(plan)
        exact = [None if x is None else each.value(x) for each, x in zip(asked, values, strict=True)]

        def run(cursor: duckdb.DuckDBPyConnection) -> pa.Table:
            for block, groups in zip(plan.blocks, blocks, strict=True):
                cursor.register(block.name + "_values", relation(block, groups, exact))
                cursor.execute(
                    f"CREATE TEMP VIEW {quoted(block.name)} AS {typed(block, block.name + '_values')}"
                )
            return cursor.sql(plan.final_sql).to_arrow_table()

        return self._run(run).rename_columns(list(plan.columns))

    def run_public(self, plan: Plan) -> pa.Table:
        """Run a statement that reads no protected value.

        Raises:
            StatementFailed: if it fails.
            ValueError: if the plan is not public.
        """
        if not plan.public:
            raise ValueError("the plan reads protected values; use ask and finish")
        return self.finish(plan, ())

    def cancel(self) -> None:
        """Interrupt what runs; it raises `StatementFailed`."""
        with self._lock:
            for cursor in self._cursors:
                cursor.interrupt()

    def close(self) -> None:
        """Release the instance and its memory."""
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
        asked: list[Asked] = []

        def run(cursor: duckdb.DuckDBPyConnection) -> list[Groups]:
            asked.clear()
            return [
                read_groups(block, number, cursor.sql(block.groups_sql).to_arrow_table(), self.size, asked)
                for number, block in enumerate(plan.blocks)
            ]

        groups = self._run(run)
        with self._lock:
            self._groups[plan] = (groups, asked)
            while len(self._groups) > _REMEMBERED:
                self._groups.popitem(last=False)
        return groups, asked

    def _run(self, work: Callable[[duckdb.DuckDBPyConnection], _Result]) -> _Result:
        try:
            with self._cursor() as cursor:
                return work(cursor)
        except (duckdb.Error, pa.ArrowException, Unrepresentable):
            pass
        # Raised out here so that the cause stays behind altogether: DuckDB's messages quote values.
        raise StatementFailed

    @contextmanager
    def _cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        # One cursor per run: what a run registers is seen by that run alone.
        cursor = self._loaded.connection.cursor()
        with self._lock:
            self._cursors.add(cursor)
        try:
            yield cursor
        finally:
            with self._lock:
                self._cursors.discard(cursor)
            cursor.close()
