"""What the ledger asks of a database, and the tables that it keeps there. No I/O.

Promise: every statement of the ledger is plain SQL that SQLite and PostgreSQL both understand, with
parameters by name, so that an SQLite file needs no other library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

Row = Mapping[str, Any]
"""A row by its column names."""


class Connection(Protocol):
    """A connection within a transaction, of a file or of a server."""

    @property
    def on_server(self) -> bool:
        """Whether it speaks PostgreSQL; else it speaks SQLite."""

    def tables(self) -> set[str]:
        """Names of the tables that are there."""

    def rows(self, sql: str, **parameters: object) -> Sequence[Row]:
        """All rows of a statement, whose parameters are written `:name`."""

    def value(self, sql: str, **parameters: object) -> Any:
        """The first value of the first row, None where there is none."""

    def run(self, sql: str, *rows: Row) -> None:
        """Run a statement, once for each of the rows where there are any."""


class Column(NamedTuple):
    """A column; none has a default."""

    name: str
    type: str
    """TEXT, INTEGER, FLOAT or BLOB."""
    nullable: bool = False
    since: int = 0
    """The first format of ledgers that has it."""


class Table(NamedTuple):
    """A table."""

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]

    def of(self, version: int) -> Table:
        """As ledgers of a format have it."""
        return self._replace(columns=tuple(each for each in self.columns if each.since <= version))

    @property
    def names(self) -> str:
        """Names of the columns, as a statement lists them."""
        return ", ".join(column.name for column in self.columns)

    @property
    def insert(self) -> str:
        """The statement that adds a row, with a parameter for each column."""
        places = ", ".join(f":{column.name}" for column in self.columns)
        return f"INSERT INTO {self.name} ({self.names}) VALUES ({places})"

    def create(self, types: Mapping[str, str]) -> str:
        """The statement that creates it, where the database has other names for some types."""
        columns = [
            f"{each.name} {types.get(each.type, each.type)}{'' if each.nullable else ' NOT NULL'}"
            for each in self.columns
        ]
        return f"CREATE TABLE {self.name} ({', '.join(columns)}, PRIMARY KEY ({', '.join(self.key)}))"


BINDING = Table(
    "ledger_binding",
    (
        Column("id", "TEXT"),
        Column("format", "INTEGER"),
        Column("protect_digest", "TEXT"),
        Column("fingerprint", "TEXT"),
        Column("sizes", "TEXT"),
        Column("scope", "TEXT"),
        Column("protect", "TEXT"),
        Column("created", "TEXT"),
        Column("insiders", "INTEGER", since=3),
        Column("people", "BLOB", nullable=True, since=4),
    ),
    ("id",),
)

STATEMENT = Table(
    "ledger_statement",
    (
        Column("number", "INTEGER"),
        Column("time", "TEXT"),
        Column("user_name", "TEXT"),
        Column("sql", "TEXT"),
        Column("parameters", "TEXT"),
        Column("normalised", "TEXT"),
        Column("verdict", "TEXT"),
        Column("code", "TEXT"),
        Column("is_check", "INTEGER"),
        Column("risk_before", "FLOAT", nullable=True),
        Column("risk_after", "FLOAT", nullable=True),
        Column("leak", "INTEGER"),
        Column("answers", "INTEGER"),
        Column("hash", "BLOB"),
    ),
    ("number",),
)

ANSWER = Table(
    "ledger_answer",
    (
        Column("statement", "INTEGER"),
        Column("position", "INTEGER"),
        Column("table_name", "TEXT"),
        Column("column_name", "TEXT"),
        Column("kind", "TEXT"),
        Column("records", "BLOB"),
        Column("signs", "BLOB", nullable=True),
        Column("value", "TEXT"),
    ),
    ("statement", "position"),
)

TABLES: Mapping[str, Table] = {table.name: table for table in (BINDING, STATEMENT, ANSWER)}
