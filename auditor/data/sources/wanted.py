"""What is wanted of a source: tables, and which of their columns.

Promise: of a table no more is read than the policy names, or all of it where another table says whose rows
they are; a column that is not there is said before anything is read, with the names that are near it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, Protocol

from auditor.errors import DatabaseError, PolicyError
from auditor.sql.names import nearest
from auditor.sql.schema import DEFAULT_SCHEMA, folded


class Protection(Protocol):
    """What a policy says of one protected column."""

    @property
    def table(self) -> str:
        """Its table or view, `name` or `schema.name`."""

    @property
    def column(self) -> str:
        """Its name."""

    @property
    def public(self) -> Sequence[str] | Literal["all"]:
        """The table's public columns; "all": every column that is not protected."""

    @property
    def key(self) -> str | None:
        """A column that names records in the owner's findings."""

    @property
    def unit(self) -> str | None:
        """A column that names the person whose rows these are; of a public table, `table.column`."""


@dataclass(frozen=True)
class Lattice:
    """Where the values of a protected column lie: the least, and whole multiples of a step more."""

    least: Fraction
    most: Fraction
    step: Fraction

    @property
    def digits(self) -> int:
        """How many decimals its values have at most.

        >>> Lattice(Fraction(0), Fraction(9), Fraction(1, 4)).digits
        2
        """
        found = 0
        while any((each * 10**found).denominator > 1 for each in (self.least, self.step)):
            found += 1
        return found


@dataclass(frozen=True)
class Needed:
    """One table."""

    table: str
    """`name` or `schema.name`, as the policy writes it."""
    columns: tuple[str, ...] | None = None
    """The columns that are read; None: all."""
    protected: tuple[str, ...] = ()
    """Those among them whose values decide nothing, not even a type."""
    lattices: tuple[Lattice, ...] = ()
    """Where the values of each of these lie, where cells are read; empty: records are."""
    by_value: bool = False
    """Whether cells are by protected values, too."""

    def chosen(self, columns: Sequence[str]) -> list[str]:
        """The columns that are read, as the source spells them and in its order.

        Raises:
            DatabaseError: one is not there, or two of all differ in case alone.
        """
        spelled: dict[str, str] = {}
        for name in columns:
            if folded(name) in spelled:
                raise DatabaseError(
                    f"table {self.table} has columns {spelled[folded(name)]} and {name}, which SQL does not "
                    "tell apart; rename one"
                )
            spelled[folded(name)] = name
        wanted = {
            *map(folded, self.protected),
            *map(folded, columns if self.columns is None else self.columns),
        }
        for name in (*self.protected, *(self.columns or ())):
            if folded(name) not in spelled:
                raise DatabaseError(f"table {self.table} has no column {name}. {nearest(name, columns)}")
        return [name for name in columns if folded(name) in wanted]

    def protects(self, column: str) -> bool:
        """Whether a column is among the protected ones."""
        return folded(column) in map(folded, self.protected)


@dataclass(frozen=True)
class Wanted:
    """Everything that a policy names."""

    tables: tuple[Needed, ...]
    """Each once."""
    views: tuple[str, ...] = ()
    """Stored queries, which a DuckDB file alone has."""


@dataclass(frozen=True)
class Celling:
    """How cells are made of protected tables."""

    lattices: tuple[Lattice, ...]
    """By protected column, in the order of the policy's."""
    by_value: bool = False
    """Whether by its values, too."""


def wanted_of(
    protects: Sequence[Protection],
    public: Sequence[str] = (),
    views: Sequence[str] = (),
    cells: Celling | None = None,
) -> Wanted:
    """What a policy names.

    Args:
        protects: The protected columns.
        public: Further tables.
        views: Stored queries.
        cells: How cells are made of the protected tables; None: records are read.

    Raises:
        PolicyError: cells are wanted, and a key.
    """
    tables: dict[str, Needed] = {}
    for place, protect in enumerate(protects):
        if protect.key is not None and cells is not None:
            raise PolicyError(
                f'protect.key = "{protect.key}": a key names single records, and of this source cells are '
                'read; leave it out, or write [source] mode = "records"'
            )
        if protect.unit is not None and cells is not None:
            raise PolicyError(
                f'protect.unit = "{protect.unit}": a unit has single rows, and of this source cells are '
                'read; leave it out, or write [source] mode = "records"'
            )
        names = filter(None, [protect.key, protect.unit])
        # by which column a row finds its person in another table is seen when both are there
        every = protect.public == "all" or "." in (protect.unit or "")
        columns = None if every else (*protect.public, *names)
        needed = Needed(protect.table, columns, (protect.column,))
        if cells is not None:
            needed = replace(needed, lattices=(cells.lattices[place],), by_value=cells.by_value)
        tables[same(protect.table)] = _with(tables.get(same(protect.table)), needed)
    for name in public:
        tables.setdefault(same(name), Needed(name))
    return Wanted(tuple(tables.values()), tuple(views))


def _with(found: Needed | None, more: Needed) -> Needed:
    if found is None:
        return more
    both = None
    if found.columns is not None and more.columns is not None:
        both = _once((*found.columns, *more.columns))
    return Needed(
        found.table,
        both,
        _once((*found.protected, *more.protected)),
        (*found.lattices, *more.lattices),
        found.by_value,
    )


def _once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def same(table: str) -> str:
    """A table's name as tables are compared by it: `main.staff` is `staff`."""
    return folded(table).removeprefix(DEFAULT_SCHEMA + ".")
