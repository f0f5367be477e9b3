"""Opening: from a DuckDB file to a locked public instance and the exact protected values.

Promises that the file is attached read-only and detached again, that the public instance never stores a
protected value, and that rows and record numbers follow the public columns; ties among publicly equal rows
are broken by key, then value, which nothing but the fingerprint can see. Runs before any client's text.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from auditor.errors import DatabaseError
from auditor.sql import vault
from auditor.sql.names import nearest
from auditor.sql.schema import DEFAULT_SCHEMA, Column, Schema, Table, folded, quoted
from auditor.sql.shape import DATA

_SOURCE = "source"


@dataclass(frozen=True, eq=False)
class Loaded:
    """An opened database."""

    connection: duckdb.DuckDBPyConnection
    """The public instance, locked."""
    schema: Schema
    """What statements may name."""
    integers: NDArray[np.int64]
    """Protected values by record, in units of `scale`."""
    scale: Fraction
    """What one unit is worth."""
    keys: list[object] | None
    """Key values by record."""
    fingerprint: str
    """Hash of the content."""


def load(
    path: str,
    table: str,
    column: str,
    public: Sequence[str] | Literal["all"],
    key: str | None,
    public_tables: Sequence[str],
    memory_limit: str,
) -> Loaded:
    """Open a file. Arguments and errors as for `Database.open`."""
    connection = duckdb.connect(":memory:", config={"memory_limit": memory_limit})
    try:
        _attach(connection, path)
        loaded = _Loader(connection, path).load(table, column, public, key, public_tables)
        connection.execute(f"DETACH {_SOURCE}")
        # In this order: without external access the next settings could no longer be made.
        connection.execute(
            "SET temp_directory = ''; SET enable_external_access = false; SET lock_configuration = true"
        )
    except DatabaseError:
        connection.close()
        raise
    except duckdb.Error as error:
        connection.close()
        raise DatabaseError(f"{path} could not be read: {str(error).splitlines()[0]}") from None
    return loaded


def _attach(connection: duckdb.DuckDBPyConnection, path: str) -> None:
    if not os.path.isfile(path):
        raise DatabaseError(f"there is no database file {path}")
    literal = path.replace("'", "''")
    try:
        connection.execute(f"ATTACH '{literal}' AS {_SOURCE} (TYPE duckdb, READ_ONLY)")
    except duckdb.Error as error:
        if "lock" in str(error).lower():
            raise DatabaseError(f"{path} is open for writing in another program; close it there") from None
        if "same database file" in str(error).lower() or "already attached" in str(error).lower():
            raise DatabaseError(f"{path} is open in this process; close that connection first") from None
        raise DatabaseError(f"{path} is not a DuckDB database that this version can read") from None


class _Loader:
    """Reads tables of the attached file into the public instance."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, path: str) -> None:
        self._connection = connection
        self._path = path
        rows = connection.execute(
            "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = $1 AND NOT internal "
            "UNION ALL SELECT schema_name, view_name FROM duckdb_views() "
            "WHERE database_name = $1 AND NOT internal ORDER BY ALL",
            [_SOURCE],
        ).fetchall()
        self._names = [name if schema == DEFAULT_SCHEMA else f"{schema}.{name}" for schema, name in rows]
        connection.execute(f"CREATE SCHEMA {DATA}")

    def load(
        self,
        table: str,
        column: str,
        public: Sequence[str] | Literal["all"],
        key: str | None,
        public_tables: Sequence[str],
    ) -> Loaded:
        """Copy the tables and read the vault."""
        name = self._table(table)
        columns = self._columns(name)
        protected = _column(columns, column, name)
        others = [each for each in columns if each is not protected]
        if public == "all":
            shown = others
        else:
            wanted = {id(_column(columns, each, name)) for each in public}
            if id(protected) in wanted:
                raise DatabaseError(f"column {protected.name} cannot be protected and public")
            shown = [each for each in others if id(each) in wanted]
        if not vault.supported(protected.type):
            raise DatabaseError(
                f"column {protected.name} has type {protected.type}, which is not supported: "
                "integers, DECIMAL, DOUBLE, FLOAT and BOOLEAN are"
            )
        key_column = None if key is None else _column(columns, key, name)
        tables = [Table(name, tuple(shown))]
        integers, scale, keys = self._vault(name, shown, protected, key_column)
        self._copy_protected(name, shown, protected, key_column)
        for other in dict.fromkeys(self._table(each) for each in public_tables):
            if other == name:
                raise DatabaseError(f"table {name} is protected and cannot be public as well")
            tables.append(Table(other, tuple(self._columns(other))))
            self._connection.execute(
                f"CREATE TABLE {DATA}.{quoted(other)} AS SELECT * FROM {self._source(other)} ORDER BY ALL"
            )
        schema = Schema(tuple(tables), name, protected.name, protected.type)
        fingerprint = self._fingerprint(schema, key_column, (integers, scale, keys))
        listed = None if keys is None else keys.to_pylist()
        return Loaded(self._connection, schema, integers, scale, listed, fingerprint)

    def _table(self, name: str) -> str:
        spelled = {folded(each): each for each in self._names}
        wanted = folded(name)
        found = spelled.get(wanted) or spelled.get(wanted.removeprefix(DEFAULT_SCHEMA + "."))
        if found is None:
            there = nearest(name, self._names) if self._names else "It has no tables."
            raise DatabaseError(f"{self._path} has no table {name}. {there}")
        return found

    def _source(self, name: str) -> str:
        schema, table = Table(name, ()).path
        return f"{_SOURCE}.{quoted(schema)}.{quoted(table)}"

    def _columns(self, name: str) -> list[Column]:
        rows = self._connection.execute(f"DESCRIBE SELECT * FROM {self._source(name)}").fetchall()
        return [Column(str(row[0]), str(row[1])) for row in rows]

    def _order(self, shown: Sequence[Column], protected: Column, key: Column | None) -> str:
        value = quoted(protected.name)
        # Key before value, so that a unique key leaves nothing to the values; and a digest of the value, so
        # that the numbers of records that are alike in all else do not rank them.
        ties = [quoted(each.name) for each in (*shown, *([key] if key else []))]
        return ", ".join([f"{value} IS NULL", *ties, f"md5(CAST({value} AS VARCHAR))"])

    def _vault(
        self, name: str, shown: Sequence[Column], protected: Column, key: Column | None
    ) -> tuple[NDArray[np.int64], Fraction, pa.ChunkedArray | None]:
        value = quoted(protected.name)
        keyed = f", {quoted(key.name)} AS k" if key else ""
        result = self._connection.sql(
            f"SELECT {value} AS v{keyed} FROM {self._source(name)} WHERE {value} IS NOT NULL "
            f"ORDER BY {self._order(shown, protected, key)}"
        ).to_arrow_table()
        if not result.num_rows:
            raise DatabaseError(f"table {name} has no row with a value in {protected.name}")
        integers, scale = vault.exact(result.column("v"), protected.type, protected.name)
        integers.flags.writeable = False
        return integers, scale, result.column("k") if key else None

    def _copy_protected(
        self, name: str, shown: Sequence[Column], protected: Column, key: Column | None
    ) -> None:
        value = quoted(protected.name)
        columns = "".join(f"{quoted(each.name)}, " for each in shown)
        order = self._order(shown, protected, key)
        self._connection.execute(
            f"CREATE TABLE {DATA}.{quoted(name)} AS SELECT {columns}"
            f"CASE WHEN {value} IS NOT NULL THEN row_number() OVER (ORDER BY {order}) - 1 END::BIGINT "
            f"AS {value} FROM {self._source(name)} ORDER BY {order}"
        )

    def _fingerprint(
        self,
        schema: Schema,
        key: Column | None,
        records: tuple[NDArray[np.int64], Fraction, pa.ChunkedArray | None],
    ) -> str:
        integers, scale, keys = records
        digest = hashlib.blake2b(digest_size=32)
        digest.update(repr((schema, key, scale)).encode())
        digest.update(integers.astype("<i8").tobytes())
        for part in _texts(self._connection, schema, keys):
            digest.update(part)
        return digest.hexdigest()


def _texts(
    connection: duckdb.DuckDBPyConnection, schema: Schema, keys: pa.ChunkedArray | None
) -> Iterable[bytes]:
    """Every public cell and key as text, by column, with lengths so that no two contents look alike."""
    columns = []
    for table in schema.tables:
        for column in table.columns:
            relation = connection.sql(
                f"SELECT {quoted(column.name)}::VARCHAR AS c FROM {DATA}.{quoted(table.name)}"
            )
            columns.append(relation.to_arrow_table().column("c"))
    if keys is not None:
        columns.append(
            pa.chunked_array(
                [pa.array([None if k is None else str(k) for k in keys.to_pylist()], pa.string())]
            )
        )
    for texts in columns:
        lengths = pc.fill_null(pc.binary_length(texts), -1)
        yield lengths.to_numpy().astype("<i8").tobytes()
        yield "".join(pc.fill_null(texts, "").to_pylist()).encode()


def _column(columns: Sequence[Column], name: str, table: str) -> Column:
    for column in columns:
        if folded(column.name) == folded(name):
            return column
    raise DatabaseError(
        f"table {table} has no column {name}. {nearest(name, [each.name for each in columns])}"
    )
