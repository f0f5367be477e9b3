"""Original and released tables: files that DuckDB reads, or tables of a DuckDB database.

Promise: a database is opened for reading; what cannot be read is one error that names it and says what would
do. Tables are read as they are: whether they can be used is said by those who measure them.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from auditor.data.sources import frame, source_of
from auditor.data.sources.files import Files, format_of
from auditor.data.sources.postgres import PostgreSQL
from auditor.errors import DatabaseError
from auditor.sql.names import nearest
from auditor.sql.schema import folded, quoted

if TYPE_CHECKING:
    import pandas as pd

_MAGIC = b"DUCK"
"""What stands at byte 8 of a DuckDB file."""


@dataclass(frozen=True, eq=False)
class Read:
    """A table, and how to call it."""

    name: str
    """For people: the file, or the table."""
    table: pd.DataFrame


def read(source: str | Path, table: str | None, policy_table: str | None) -> Read:
    """The original.

    Args:
        source: A file (CSV, Parquet, JSON, Arrow), a pattern or folder of Parquet, CSV or Arrow files, a
            DuckDB database or a PostgreSQL one.
        table: The database's table; by default the policy's.
        policy_table: The table that the policy protects, where there is a policy.

    Raises:
        DatabaseError: what is not there or cannot be read, or a database of which no table was named.
    """
    server = isinstance(source_of(source), PostgreSQL)
    if not server and not is_database(source):
        if table is not None:
            raise DatabaseError(f"{_shown(source)} is one table, not a database; leave --original out")
        return _file(Path(source))
    name = table or policy_table
    if name is None:
        raise DatabaseError(
            f"{_shown(source)} is a database: name its table with --original, or give a policy"
        )
    return _table(source, name)


def read_release(source: str | Path, release: str, original: pd.DataFrame | None) -> Read:
    """The release: a table of the same database as the original if it has one of that name, else a file.

    In a CSV file, columns that are words in the original are words, also where they look like numbers; not so
    without an original (noise releases the numbers of words).

    Raises:
        DatabaseError: neither is there, or it cannot be read.
    """
    if Path(release).is_file():
        if original is None:
            return _file(Path(release))
        words = {folded(str(name)) for name in original.columns if _is_words(original[name])}
        return _file(Path(release), words)
    if isinstance(source_of(source), PostgreSQL) or is_database(source):
        return _table(source, release)
    raise DatabaseError(f"{release}: no such file")


def is_database(path: str | Path) -> bool:
    """Whether a file is a DuckDB database.

    Raises:
        DatabaseError: a file that is not there or may not be read.
    """
    if _of_sources(path):
        return False
    try:
        with Path(path).open("rb") as file:
            return file.read(12)[8:] == _MAGIC
    except OSError as error:
        raise DatabaseError(f"{path}: cannot be read: {error.strerror or error}") from error


def _of_sources(path: str | Path) -> bool:
    """Whether a folder, a pattern or an Arrow file, which DuckDB's names of files do not stand for."""
    given = source_of(path)
    return isinstance(given, Files) and (not Path(path).is_file() or format_of(str(path)) == "Arrow")


def _file(path: Path, words: Set[str] = frozenset()) -> Read:
    if _of_sources(path):
        return Read(path.name, frame(path))
    if is_database(path):
        raise DatabaseError(f"{path} is a database: name one of its tables, not the file")
    if not path.stat().st_size:
        raise DatabaseError(f"{path} is empty")
    with duckdb.connect(":memory:", config={"temp_directory": ""}) as connection:
        literal = str(path).replace("'", "''")
        table = _select(connection, f"'{literal}'", str(path))
        taken = [str(name) for name in table.columns if folded(str(name)) in words]
        if path.suffix.lower() == ".csv" and any(not _is_words(table[name]) for name in taken):
            types = ", ".join(f"{_text(name)}: 'VARCHAR'" for name in taken)
            table = _select(connection, f"read_csv('{literal}', types = {{{types}}})", str(path))
        return Read(path.name, table)


def _is_words(column: pd.Series) -> bool:
    return column.dtype.kind == "O" or str(column.dtype).startswith(("str", "category"))


def _text(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"


def _table(path: str | Path, name: str) -> Read:
    if isinstance(source_of(path), PostgreSQL):
        return Read(name, frame(path, name))
    try:
        connection = duckdb.connect(str(path), read_only=True)
    except duckdb.Error as error:
        raise DatabaseError(f"{path}: {_first_line(error)}") from error
    with connection:
        there = connection.execute(
            "SELECT table_schema, table_name FROM information_schema.tables ORDER BY ALL"
        ).fetchall()
        spelled = {}
        for schema, table in there:
            full = f"{quoted(schema)}.{quoted(table)}"
            spelled[folded(f"{schema}.{table}")] = full
            if schema == "main":
                spelled[folded(table)] = full
        if folded(name) not in spelled:
            known = [table if schema == "main" else f"{schema}.{table}" for schema, table in there]
            raise DatabaseError(f"{path} has no table {name}. {nearest(name, known)}")
        return Read(name, _select(connection, spelled[folded(name)], f"{path}, table {name}"))


def _select(connection: duckdb.DuckDBPyConnection, what: str, name: str) -> pd.DataFrame:
    try:
        return connection.sql(f"SELECT * FROM {what}").df()
    except duckdb.Error as error:
        raise DatabaseError(
            f"{name}: {_first_line(error)}; what can be read are CSV, Parquet and JSON files, and tables "
            "of a DuckDB database"
        ) from error


def _shown(source: str | Path) -> str:
    return source_of(source).name


def _first_line(error: duckdb.Error) -> str:
    return str(error).splitlines()[0]
