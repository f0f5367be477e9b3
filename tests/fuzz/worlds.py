"""The tables that random statements are asked of, and the databases made from them.

Each world exists several times: the original (values "A"), a twin with the same public data and NULLs and
unrelated protected values ("B"), and copies of the original with its rows in another order. `open_world` is
the only place that knows how `Database` is opened; `relabelled` and `classes` alone reach into it.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from unittest import mock

import duckdb
import numpy as np
from numpy.typing import NDArray

from auditor.data.database import Database
from auditor.sql.shape import DATA

Cell = object
Row = tuple[Cell, ...]


@dataclass(frozen=True)
class Column:
    """A column: `kind` is what expressions may do with it; a secret has a range of values instead."""

    name: str
    type: str
    kind: str = "int"
    secret: bool = False
    hidden: bool = False
    low: int = 0
    high: int = 100
    step: Decimal = Decimal(1)

    @property
    def public(self) -> bool:
        return not (self.secret or self.hidden)


@dataclass(frozen=True)
class Table:
    """A table, its rows with None or a mark in place of each protected value."""

    name: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    key: str | None = None

    @property
    def secrets(self) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.secret)

    @property
    def public(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns if column.public)


@dataclass(frozen=True)
class World:
    """Tables, the protected ones first, and views on them."""

    name: str
    tables: tuple[Table, ...]
    views: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """By name: the table that the view keeps the columns of, and its condition."""

    @property
    def protected(self) -> tuple[Table, ...]:
        return tuple(table for table in self.tables if table.secrets)

    @property
    def lookups(self) -> tuple[Table, ...]:
        return tuple(table for table in self.tables if not table.secrets)

    @property
    def secrets(self) -> tuple[tuple[Table, Column], ...]:
        """Each protected column with its table, in the policy's order."""
        return tuple((table, each) for table in self.protected for each in table.secrets)

    def rows(self, table: Table, values: str) -> list[Row]:
        """The rows of a table; `values` names a set of protected values."""
        rng = random.Random(f"{self.name} {table.name} {values}")
        return [
            tuple(
                None if cell is None else _value(rng, column) if column.secret else cell
                for cell, column in zip(row, table.columns, strict=True)
            )
            for row in table.rows
        ]


def _value(rng: random.Random, column: Column) -> Decimal:
    return column.low + rng.randrange(int((column.high - column.low) / column.step) + 1) * column.step


def quoted_whole(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def quoted(name: str) -> str:
    return ".".join('"' + part.replace('"', '""') + '"' for part in name.split("."))


def fill(
    connection: duckdb.DuckDBPyConnection,
    world: World,
    rows: Mapping[str, Sequence[Row]],
    shuffle: random.Random,
    hidden: bool = True,
) -> None:
    """Create a world's tables and views, rows in the order of `shuffle`; `hidden`: with hidden columns."""
    for table in world.tables:
        if "." in table.name:
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(table.name.split('.')[0])}")
        shown = [i for i, column in enumerate(table.columns) if hidden or not column.hidden]
        columns = ", ".join(f"{quoted_whole(table.columns[i].name)} {table.columns[i].type}" for i in shown)
        connection.execute(f"CREATE TABLE {quoted(table.name)} ({columns})")
        ordered = [tuple(row[i] for i in shown) for row in rows[table.name]]
        shuffle.shuffle(ordered)
        if ordered:
            marks = ", ".join("?" * len(shown))
            connection.executemany(f"INSERT INTO {quoted(table.name)} VALUES ({marks})", ordered)
    for name, (table_name, condition) in world.views.items():
        connection.execute(
            f"CREATE VIEW {quoted(name)} AS SELECT * FROM {quoted(table_name)} WHERE {condition}"
        )


def plain(world: World, seed: int = 0, optimise: bool = True) -> duckdb.DuckDBPyConnection:
    """Plain DuckDB over the original tables, without files and settings; `seed` orders the rows."""
    connection = duckdb.connect(":memory:", config={"threads": 1, "memory_limit": "1GB"})
    fill(connection, world, all_rows(world, "A"), random.Random(seed), hidden=False)
    if not optimise:
        connection.execute("PRAGMA disable_optimizer")
    if seed:
        # groups in the order of the rows instead of the keys, so that what depends on it shows
        connection.execute("SET perfect_ht_threshold = 0")
    connection.execute(
        "SET temp_directory = ''; SET enable_external_access = false; SET lock_configuration = true"
    )
    return connection


def all_rows(world: World, values: str) -> dict[str, list[Row]]:
    """The rows of every table."""
    return {table.name: world.rows(table, values) for table in world.tables}


def write(path: Path, world: World, rows: Mapping[str, Sequence[Row]]) -> Path:
    """A DuckDB file, its rows in an order that has nothing to do with the values."""
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as connection:
        fill(connection, world, rows, random.Random(f"{world.name} order"))
    return path


@dataclass(frozen=True)
class Protection:
    """What a policy would say of one protected column."""

    table: str
    column: str
    public: tuple[str, ...]
    key: str | None
    unit: str | None = None


def open_world(path: Path, world: World) -> Database:
    """Open a world's file, as its policy would; with one thread, so that ties always fall the same way."""
    connect = duckdb.connect

    def single(database: str, config: dict[str, object] | None = None) -> duckdb.DuckDBPyConnection:
        return connect(database, config={**(config or {}), "threads": 1})

    with mock.patch.object(duckdb, "connect", single):
        return Database.open(
            path,
            [Protection(table.name, each.name, table.public, table.key) for table, each in world.secrets],
            public_tables=[each.name for each in world.lookups],
            views=list(world.views),
        )


def relabelled(database: Database, rng: random.Random) -> list[NDArray[np.int64]]:
    """Number the records of an opened database otherwise, by chance.

    A record's number must not matter to anything but the gate. Returns, for each protected column, the
    number that each record had before, by its number now.
    """
    before = []
    connection = database._loaded.connection
    for protected, vault in zip(database.schema.protected, database.vaults, strict=True):
        numbers = list(range(vault.size))
        rng.shuffle(numbers)
        table, column = f"{DATA}.{quoted_whole(protected.table)}", quoted_whole(protected.column)
        new = np.argsort(np.array(numbers, dtype=np.int64))
        listed = ", ".join(str(number) for number in new)
        connection.execute(
            f"UPDATE {table} SET {column} = ([{listed}])[{column} + 1] WHERE {column} IS NOT NULL"
        )
        before.append(np.array(numbers, dtype=np.int64))
    return before


def classes(database: Database) -> list[NDArray[np.int64]]:
    """For each protected column, by record: the class of records that are equal in all public columns.

    Whether other protected columns of the row are NULL is public too.
    """
    found = []
    for protected, vault in zip(database.schema.protected, database.vaults, strict=True):
        table = next(each for each in database.schema.tables if each.name == protected.table)
        keys = [quoted_whole(column.name) for column in table.columns]
        keys += [f"{quoted_whole(each.column)} IS NULL" for _, each in database.schema.protected_of(table)]
        column = quoted_whole(protected.column)
        rows = database._loaded.connection.execute(
            f"SELECT {column}, dense_rank() OVER (ORDER BY {', '.join(keys)}) "
            f"FROM {DATA}.{quoted_whole(table.name)} WHERE {column} IS NOT NULL"
        ).fetchall()
        by_record = np.zeros(vault.size, dtype=np.int64)
        for record, number in rows:
            by_record[record] = number
        found.append(by_record)
    return found


def _rows(seed: str, count: int, *cells: object) -> tuple[Row, ...]:
    """Rows whose cells are drawn: a list is drawn from, "#" is the row's number, other cells stay."""
    rng = random.Random(seed)
    return tuple(
        tuple(rng.choice(cell) if isinstance(cell, list) else i if cell == "#" else cell for cell in cells)
        for i in range(count)
    )


def _thrice(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Each row three times, the last one twice."""
    return tuple(row for row in rows for _ in range(3))[:-1]


_DAYS: list[object] = [datetime.date(2015, 1, 31) + datetime.timedelta(days=37 * i) for i in range(40)]
_TEXTS: list[object] = ["IT", "HR", "Ops", "R&D", None]
_SALARY = Column("salary", "DECIMAL(10,2)", "num", secret=True, low=1000, high=1500, step=Decimal("12.50"))

STAFF = World(
    "staff",
    (
        Table(
            "staff",
            (
                Column("id", "INTEGER"),
                Column("age", "INTEGER"),
                Column("sex", "VARCHAR", "text"),
                Column("dept", "VARCHAR", "text"),
                Column("hired", "DATE", "date"),
                Column("Büro Ort", "VARCHAR", "text"),
                Column("bonus", "DECIMAL(8,2)", "num"),
                Column("active", "BOOLEAN", "bool"),
                Column("select", "SMALLINT"),
                Column("note", "VARCHAR", "text", hidden=True),
                _SALARY,
            ),
            _rows(
                "staff", 40, "#", [*range(20, 65, 5), None], ["f", "m", "m", None], _TEXTS, [*_DAYS, None],
                ["Köln", "Zürich", "O'Fallon"], [Decimal("1.25"), Decimal("0.00"), Decimal("-7.50"), None],
                [True, False, None], [0, 1, 2, 3], ["n1", "n2"], ["v", "v", "v", "v", "v", None],
            ),
            "id",
        ),
        Table(
            "regions",
            (Column("dept", "VARCHAR", "text"), Column("region", "VARCHAR", "text"),
             Column("size", "INTEGER")),
            (("IT", "north", 3), ("IT", "south", 3), ("HR", "south", 5), ("Ops", "north", None),
             (None, "west", 1), (None, None, 2)),
        ),
        Table(
            "depts",
            (Column("dept", "VARCHAR", "text"), Column("opened", "DATE", "date"), Column("id", "INTEGER")),
            (("IT", _DAYS[1], 0), ("HR", _DAYS[4], 1), ("Ops", None, 2), ("R&D", _DAYS[3], 3),
             ("Lab", None, 4)),
        ),
        Table("hr.grades", (Column("grade", "INTEGER"), Column("name", "VARCHAR", "text")),
              ((1, "a"), (2, "b"))),
        Table("nothing", (Column("dept", "VARCHAR", "text"), Column("n", "BIGINT")), ()),
    ),
    {"adults": ("staff", "age >= 30")},
)  # fmt: skip

CROWD = World(
    "crowd",
    (
        Table(
            "Löhne 2024",
            (
                Column("team", "VARCHAR", "text"),
                Column("Größe", "INTEGER"),
                Column("flag", "BOOLEAN", "bool"),
                Column("since", "DATE", "date"),
                Column("rate", "DOUBLE", "num"),
                Column("group", "VARCHAR", "text"),
                Column("pay €", "DOUBLE", "num", secret=True, low=-4, high=6, step=Decimal("0.25")),
            ),
            (*_thrice(_rows("crowd", 14, ["red", "blue", "a'b", None], [160, 175, 190, None],
                            [True, False, None], [*_DAYS[:3], None], [0.5, -2.25, None],
                            ["x", "Y", "ß", ""], "v")),
             ("red", 160, None, None, None, "x", None), ("red", 160, None, None, None, "x", "v")),
        ),
        Table(
            "teams",
            (Column("team", "VARCHAR", "text"), Column("area", "VARCHAR", "text"),
             Column("Größe", "INTEGER")),
            (("red", "e", 160), ("red", "w", 175), ("blue", "e", None), (None, "n", 190), ("new", None, 1)),
        ),
        Table("empty one", (Column("team", "VARCHAR", "text"), Column("day", "DATE", "date")), ()),
    ),
)  # fmt: skip

SEVERAL = World(
    "several",
    (
        Table(
            "pay",
            (
                Column("id", "BIGINT"),
                Column("grp", "VARCHAR", "text"),
                Column("year", "INTEGER"),
                Column("ok", "BOOLEAN", "bool"),
                Column("base", "BIGINT", "int", secret=True, low=10, high=40),
                Column("extra", "DECIMAL(9,1)", "num", secret=True, low=-5, high=5, step=Decimal("0.5")),
            ),
            _rows("pay", 24, "#", ["a", "b", "c", None], [2019, 2020, 2021], [True, False, None],
                  ["v", "v", "v", None], ["v", "v", None]),
            "id",
        ),
        Table(
            "loans",
            (
                Column("loan", "INTEGER"),
                Column("id", "BIGINT"),
                Column("kind", "VARCHAR", "text"),
                Column("due", "DATE", "date"),
                Column("amount", "INTEGER", "int", secret=True, low=0, high=60, step=Decimal(5)),
            ),
            _rows("loans", 16, "#", [*range(12), None], ["car", "home", None], [*_DAYS[:5], None],
                  ["v", "v", "v", None]),
            "loan",
        ),
        Table(
            "groups",
            (Column("grp", "VARCHAR", "text"), Column("label", "VARCHAR", "text"), Column("rank", "INTEGER")),
            (("a", "first", 1), ("b", "second", 2), ("c", "third", 2), (None, "none", None)),
        ),
    ),
)  # fmt: skip

SMALL = World(
    "small",
    (
        Table(
            "staff",
            (
                Column("id", "INTEGER"),
                Column("age", "INTEGER"),
                Column("sex", "VARCHAR", "text"),
                Column("dept", "VARCHAR", "text"),
                Column("hired", "DATE", "date"),
                Column("active", "BOOLEAN", "bool"),
                Column("salary", "INTEGER", "int", secret=True, low=0, high=100, step=Decimal(10)),
            ),
            _rows("small", 12, "#", [20, 30, 40, 50], ["f", "m", None], ["IT", "HR"], [*_DAYS[:4], None],
                  [True, False], ["v", "v", "v", "v", "v", "v", None]),
            "id",
        ),
        Table(
            "depts",
            (Column("dept", "VARCHAR", "text"), Column("region", "VARCHAR", "text")),
            (("IT", "north"), ("HR", "south"), (None, "none")),
        ),
    ),
)  # fmt: skip

WORLDS = {world.name: world for world in (STAFF, CROWD, SEVERAL, SMALL)}
