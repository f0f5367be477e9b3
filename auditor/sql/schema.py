"""What an analyst may name: tables, their public columns, and the one protected column.

Values only. Reading them off a database is `auditor.database`'s, checking statements against them is
`auditor.sql.names`'s.
"""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_SCHEMA = "main"
"""The database schema of a table that is named without one, as in DuckDB."""


@dataclass(frozen=True)
class Column:
    """A public column."""

    name: str
    """As the database spells it."""
    type: str
    """DuckDB's text of the type, as DESCRIBE prints it."""


@dataclass(frozen=True)
class Table:
    """A table that may be read, with what is public of it."""

    name: str
    """`table`, or `schema.table`."""
    columns: tuple[Column, ...]
    """The public columns in table order."""

    @property
    def path(self) -> tuple[str, str]:
        """Schema and table name."""
        schema, _, name = self.name.rpartition(".")
        return schema or DEFAULT_SCHEMA, name


@dataclass(frozen=True)
class Schema:
    """Everything a statement may name."""

    tables: tuple[Table, ...]
    """Readable tables, the protected one among them with its public columns."""
    protected_table: str
    """Name of the protected table, one of `tables`."""
    protected_column: str
    """The column that is read through aggregates only."""
    protected_type: str
    """DuckDB's text of that column's type."""


def folded(name: str) -> str:
    """A name as DuckDB compares it: ASCII letters lose their case, others keep it.

    >>> folded("Straße Ä")
    'straße Ä'
    """
    return "".join(letter.lower() if letter.isascii() else letter for letter in name)


def quoted(name: str) -> str:
    """A name as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'
