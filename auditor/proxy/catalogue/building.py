"""The database that statements about the catalogue run in: PostgreSQL's relations and nothing else.

Promises an in-memory DuckDB instance that holds names and types only, cannot reach files, network,
settings or any other database, and runs on one thread within a memory limit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files

import duckdb
import pyarrow as pa

from auditor.proxy.catalogue.objects import Described, schema_oids
from auditor.proxy.catalogue.relations import (
    CATALOG,
    INFORMATION,
    Relation,
    relations,
    rows,
    stored_as,
    type_oids,
)
from auditor.proxy.values import quantities
from auditor.sql.schema import quoted

OWNER = "cae_sql"
"""The role that owns every table; nobody logs in as it."""
HOMES = {CATALOG: "c", INFORMATION: "i"}
"""Where the relations of PostgreSQL's schemas are: DuckDB has schemas of those names that are its own."""

KEYWORDS = "cae_keywords"
"""The table behind pg_get_keywords()."""

_OWNER_OID, _FIRST_USER = 10, 100_000
_COUNTED = ("pg_stat_all_tables", "pg_stat_user_tables", "pg_statio_all_tables", "pg_statio_user_tables")
_MEMORY = "256MB"
_VIEW = re.compile(r"^-- ([ci]\.\w+)$\n(.*?);$", re.MULTILINE | re.DOTALL)
Row = Mapping[str, object]


def build(tables: Sequence[Described], database: str, users: Sequence[str]) -> duckdb.DuckDBPyConnection:
    """Make the database.

    Args:
        tables: The user's tables and views.
        database: The database's name.
        users: Names of those who may log in.
    """
    connection = duckdb.connect(
        ":memory:", config={"threads": "1", "memory_limit": _MEMORY, "temp_directory": ""}
    )
    for home in HOMES.values():
        connection.execute(f"CREATE SCHEMA {home}")
    filled = _built_in() | _of_server(database, users) | _of_user(tables)
    views = dict(_VIEW.findall(_text("views.sql")))
    for relation in relations().values():
        if f"{HOMES[relation.schema]}.{relation.name}" not in views:
            _create(connection, relation, filled.get(relation.name, ()))
    _helpers(connection, tables, database)
    connection.execute(_text("helpers.sql"))
    connection.execute(_text("functions.sql"))
    for name, query in views.items():
        home, _, bare = name.partition(".")
        schema = next(each for each, place in HOMES.items() if place == home)
        listed = ", ".join(
            f"CAST({quoted(field.name)} AS {stored_as(field.type)}) AS {quoted(field.name)}"
            for field in relations()[schema, bare].fields
        )
        connection.execute(f"CREATE VIEW {name} AS SELECT {listed} FROM ({query})")
    for setting in (
        "python_enable_replacements = false",
        "enable_external_access = false",
        "allowed_configs = ['TimeZone']",  # the session's, on the cursor that runs its statement
        "lock_configuration = true",
    ):
        connection.execute(f"SET {setting}")
    return connection


def _text(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _create(connection: duckdb.DuckDBPyConnection, relation: Relation, found: Iterable[Row]) -> None:
    columns = {field.name: stored_as(field.type) for field in relation.fields}
    shared = _defaults().get(relation.name, {})
    name = f"{HOMES[relation.schema]}.{quoted(relation.name)}"
    _table(connection, name, columns, [{**shared, **row} for row in found])


def _table(
    connection: duckdb.DuckDBPyConnection, name: str, columns: Mapping[str, str], found: Sequence[Row]
) -> None:
    """Make a table of rows of texts, numbers and truths; a missing column is NULL."""
    listed = ", ".join(f"{quoted(column)} {kind}" for column, kind in columns.items())
    connection.execute(f"CREATE TABLE {name} ({listed})")
    if not found:
        return
    given = pa.table(
        {column: pa.array([_as_text(row.get(column)) for row in found], pa.string()) for column in columns}
    )
    connection.register("given", given)
    connection.execute(f"INSERT INTO {name} SELECT * FROM given")
    connection.unregister("given")


@cache
def _defaults() -> dict[str, dict[str, str]]:
    """By relation, what all rows that are made here have in common."""
    return {
        row["relation"] or "": dict(each.split("=", 1) for each in (row["values"] or "").split())
        for row in rows("defaults")
    }


def _as_text(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, str) and value.startswith("{") and value.endswith("}"):
        return f"[{value[1:-1]}]"
    return str(value)


@cache
def _built_in() -> dict[str, list[Row]]:
    """Rows of every PostgreSQL server."""
    names = ("pg_type", "pg_range", "pg_am", "pg_collation", "pg_language", "pg_settings", "pg_tablespace")
    found: dict[str, list[Row]] = {name: list(rows(name)) for name in names}
    found["pg_proc"] = [
        row | {"proargtypes": f"[{(row['proargtypes'] or '').replace(' ', ', ')}]"} for row in rows("pg_proc")
    ]
    return found


def _of_server(database: str, users: Sequence[str]) -> dict[str, list[Row]]:
    """Databases, roles: what the names of database and users decide."""
    roles: list[Row] = [{"rolname": OWNER, "oid": _OWNER_OID, "rolcanlogin": False}]
    roles += [
        {"rolname": user, "oid": _FIRST_USER + number}
        for number, user in enumerate(sorted(set(users) - {OWNER}))
    ]
    return {"pg_roles": roles, "pg_database": [{"datname": database}]}


def _of_user(tables: Sequence[Described]) -> dict[str, list[Row]]:
    """Schemas, tables and columns, PostgreSQL's own among them."""
    homes = {CATALOG: 11, INFORMATION: 13207} | schema_oids(tables)
    classes, attributes = [], []
    for relation in relations().values():
        classes.append(
            _class(relation.oid, relation.name, homes[relation.schema], relation.kind, len(relation.fields))
        )
        for number, field in enumerate(relation.fields, 1):
            attributes.append(_attribute(relation.oid, number, field.name, field.type, -1, field.required))
    for table in tables:
        classes.append(_class(table.oid, table.name, homes[table.schema], table.kind, len(table.attributes)))
        for number, column in enumerate(table.attributes, 1):
            attributes.append(_attribute(table.oid, number, column.name, column.type, column.modifier, False))
    spaces: list[Row] = [{"oid": oid, "nspname": name} for name, oid in homes.items()]
    # Tools join these for the tables' names; what they count is not told.
    counted: list[Row] = [
        {"relid": table.oid, "schemaname": table.schema, "relname": table.name}
        for table in tables
        if table.kind == "r"
    ]
    remarks: list[Row] = [
        {"objoid": table.oid, "objsubid": number, "description": column.remark}
        for table in tables
        for number, column in enumerate(table.attributes, 1)
        if column.remark
    ]
    return {
        "pg_namespace": spaces, "pg_class": classes, "pg_attribute": attributes, "pg_description": remarks,
        **dict.fromkeys(_COUNTED, counted),
    }  # fmt: skip


def _class(oid: int, name: str, space: int, kind: str, columns: int) -> Row:
    table = kind == "r"
    return {
        "oid": oid, "relname": name, "relnamespace": space, "relam": 2 if table else 0, "relkind": kind,
        "relnatts": columns, "relhasrules": kind == "v", "relreplident": "d" if table else "n",
    }  # fmt: skip


def _attribute(oid: int, number: int, name: str, kind: str, modifier: int, required: bool) -> Row:
    return {
        "attrelid": oid, "attname": name, "atttypid": type_oids()[kind], "attnum": number,
        "atttypmod": modifier, "attnotnull": required,
    }  # fmt: skip


def _helpers(connection: duckdb.DuckDBPyConnection, tables: Sequence[Described], database: str) -> None:
    """What helpers.sql and the macros look up, and no relation holds."""
    settings = [
        (str(row["name"]).lower(), quantities.shown(row["setting"] or "", row["unit"] or ""))
        for row in rows("pg_settings")
    ]
    definitions = [(each.oid, f" {each.definition};") for each in tables if each.definition]
    for name, columns, found in (
        ("database", {"cae_itself": "VARCHAR"}, [(database,)]),
        ("settings", {"cae_name": "VARCHAR", "cae_value": "VARCHAR"}, settings),
        ("definitions", {"cae_defined": "UINTEGER", "cae_definition": "VARCHAR"}, definitions),
    ):
        _table(connection, f"c.cae_{name}", columns, [dict(zip(columns, row, strict=True)) for row in found])
    keywords = rows("keywords")
    _table(connection, f"c.{KEYWORDS}", dict.fromkeys(keywords[0], "VARCHAR"), keywords)
