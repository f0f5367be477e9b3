"""What an analyst may name: tables and views, their public columns, and the protected columns.

Values only. Reading them off a database is `auditor.data.database`'s, checking statements against them is
`auditor.sql.names`'s.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

DEFAULT_SCHEMA = "main"
"""The database schema of a table that is named without one, as in DuckDB."""


@dataclass(frozen=True)
class Column:
    """A public column."""

    name: str
    """As the database spells it."""
    type: str
    """DuckDB's text of the type, as DESCRIBE prints it."""
    unique: bool = False
    """Whether every row has a value of its own, so that an order by it is total."""
    far: bool = field(default=False, repr=False)
    """Whether it holds moments that dialects read in two ways: infinity, or days before the year 1. Follows
    from the data, so that the fingerprint, which is made of the repr, need not know of it."""


@dataclass(frozen=True)
class Table:
    """A table that may be read, with what is public of it."""

    name: str
    """`table`, or `schema.table`."""
    columns: tuple[Column, ...]
    """The public columns in table order."""
    order: tuple[str, ...] = ()
    """Names of all readable columns in table order, protected ones among them; empty: these stand last."""

    @property
    def path(self) -> tuple[str, str]:
        """Schema and table name."""
        schema, _, name = self.name.rpartition(".")
        return schema or DEFAULT_SCHEMA, name


@dataclass(frozen=True)
class Protected:
    """A column that is read through aggregates only."""

    table: str
    """Name of its table, one of the schema's."""
    column: str
    """Its name, as the database spells it."""
    type: str
    """DuckDB's text of its type."""
    least: Fraction | None = field(default=None, compare=False)
    """The least value of its domain, which is public; None: unknown. Names and types are the same without."""
    most: Fraction | None = field(default=None, compare=False)
    """The greatest."""
    grid: Fraction | None = field(default=None, compare=False)
    """Values are the least and whole multiples of this more; None: unknown."""


@dataclass(frozen=True)
class View:
    """A stored query that may be read like a table; statements over it are judged with it written out."""

    name: str
    """`view`, or `schema.view`."""
    query: str
    """Its SELECT, in DuckDB's SQL."""
    columns: tuple[str, ...]
    """Names of its columns, where the view gives them others than its query; else empty."""

    @property
    def path(self) -> tuple[str, str]:
        """Schema and view name."""
        return Table(self.name, ()).path


@dataclass(frozen=True)
class Schema:
    """Everything a statement may name."""

    tables: tuple[Table, ...]
    """Readable tables, those with protected columns among them with their public columns."""
    protected: tuple[Protected, ...]
    """The protected columns; everything else refers to them by position."""
    views: tuple[View, ...] = ()
    """Readable views, in an order in which each reads only those before it."""

    def columns_of(self, table: Table) -> list[tuple[str, str]]:
        """Names and types of a table's readable columns, protected ones among them, in table order."""
        columns = [(each.name, each.type) for each in table.columns]
        columns += [(each.column, each.type) for _, each in self.protected_of(table)]
        places = {name: place for place, name in enumerate(table.order)}
        return sorted(columns, key=lambda column: places.get(column[0], len(places)))

    def protected_of(self, table: Table) -> tuple[tuple[int, Protected], ...]:
        """The protected columns of a table, with their positions."""
        return tuple((i, each) for i, each in enumerate(self.protected) if each.table == table.name)


def folded(name: str) -> str:
    """A name as DuckDB compares it: ASCII letters lose their case, others keep it.

    >>> folded("Straße Ä")
    'straße Ä'
    """
    return "".join(letter.lower() if letter.isascii() else letter for letter in name)


def quoted(name: str) -> str:
    """A name as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'
