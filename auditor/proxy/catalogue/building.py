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

from auditor.proxy.catalogue.objects import PUBLIC, Described, schema_oids
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
_DATABASE_OID = 90_000_000
"""Above what is built in, as tools take it; apart from tables, so that a new table moves nothing."""
_COUNTED = ("pg_stat_all_tables", "pg_stat_user_tables", "pg_statio_all_tables", "pg_statio_user_tables")
_CLASSES = 1259
"""pg_class's own OID."""
_MEMORY = "256MB"
_COLLATED = frozenset({"text", "varchar", "bpchar"})
_VIEW = re.compile(r"^-- ([ci]\.\w+)$\n(.*?);$", re.MULTILINE | re.DOTALL)
_SPELLED = {
    "bool": "boolean", "char": '"char"', "int8": "bigint", "int2": "smallint", "int4": "integer",
    "float4": "real", "float8": "double precision", "bpchar": "character", "varchar": "character varying",
    "varbit": "bit varying", "time": "time", "timestamp": "timestamp", "timestamptz": "timestamp",
    "timetz": "time",
}  # fmt: skip
_ENDINGS = {
    "time": " without time zone", "timestamp": " without time zone", "timestamptz": " with time zone",
    "timetz": " with time zone",
}  # fmt: skip

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
    name = f"{HOMES[relation.schema]}.{quoted(relation.name)}"
    listed = ", ".join(f"{quoted(field.name)} {stored_as(field.type)}" for field in relation.fields)
    connection.execute(f"CREATE TABLE {name} ({listed})")
    _insert(connection, name, [field.name for field in relation.fields], list(found))


def _insert(
    connection: duckdb.DuckDBPyConnection, name: str, columns: Sequence[str], found: Sequence[Row]
) -> None:
    """Insert rows of texts, numbers and truths; a missing column is NULL."""
    if not found:
        return
    given = pa.table(
        {column: pa.array([_as_text(row.get(column)) for row in found], pa.string()) for column in columns}
    )
    connection.register("given", given)
    connection.execute(f"INSERT INTO {name} SELECT * FROM given")
    connection.unregister("given")


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
    role: Row = dict.fromkeys(
        ("rolsuper", "rolcreaterole", "rolcreatedb", "rolcanlogin", "rolreplication", "rolbypassrls"), False
    )
    shared: Row = {**role, "rolinherit": True, "rolconnlimit": -1, "rolpassword": "********"}
    roles: list[Row] = [{**shared, "rolname": OWNER, "oid": _OWNER_OID}]
    for number, user in enumerate(sorted(set(users) - {OWNER})):
        roles.append({**shared, "rolname": user, "oid": _FIRST_USER + number, "rolcanlogin": True})
    return {
        "pg_roles": roles,
        "pg_database": [
            {
                "oid": _DATABASE_OID, "datname": database, "datdba": _OWNER_OID, "encoding": 6,
                "datlocprovider": "c", "datistemplate": False, "datallowconn": True, "datconnlimit": -1,
                "datfrozenxid": 0, "datminmxid": 0, "dattablespace": 1663, "datcollate": "C",
                "datctype": "C.UTF-8",
            }
        ],
    }  # fmt: skip


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
    spaces: list[Row] = [
        {"oid": oid, "nspname": name, "nspowner": _OWNER_OID, "nspacl": _granted("U")}
        for name, oid in homes.items()
    ]
    # Tools join these for the tables' names; what they count is not told.
    counted: list[Row] = [
        {"relid": table.oid, "schemaname": table.schema, "relname": table.name}
        for table in tables
        if table.kind == "r"
    ]
    remarks: list[Row] = [
        {"objoid": oid, "classoid": _CLASSES, "objsubid": place, "description": text}
        for oid, place, text in _remarks(tables)
    ]
    return {
        "pg_namespace": spaces, "pg_class": classes, "pg_attribute": attributes, "pg_description": remarks,
        **dict.fromkeys(_COUNTED, counted),
    }  # fmt: skip


def _remarks(tables: Sequence[Described]) -> list[tuple[int, int, str]]:
    """What is said of columns: that they are protected."""
    return [
        (table.oid, number, column.remark)
        for table in tables
        for number, column in enumerate(table.attributes, 1)
        if column.remark
    ]


def _granted(privilege: str) -> str:
    """Access that everybody has, as PostgreSQL writes it; nobody may do more."""
    return f"{{{OWNER}={privilege}/{OWNER},={privilege}/{OWNER}}}"


def _class(oid: int, name: str, space: int, kind: str, columns: int) -> Row:
    return {
        "oid": oid, "relname": name, "relnamespace": space, "reltype": 0, "reloftype": 0,
        "relowner": _OWNER_OID,
        "relam": 2 if kind == "r" else 0, "relfilenode": 0, "reltablespace": 0, "relpages": 0,
        "reltuples": -1,
        "relallvisible": 0, "reltoastrelid": 0, "relhasindex": False, "relisshared": False,
        "relpersistence": "p", "relkind": kind, "relnatts": columns, "relchecks": 0,
        "relhasrules": kind == "v",
        "relhastriggers": False, "relhassubclass": False, "relrowsecurity": False,
        "relforcerowsecurity": False,
        "relispopulated": True, "relreplident": "d" if kind == "r" else "n", "relispartition": False,
        "relrewrite": 0, "relfrozenxid": 0, "relminmxid": 0, "relacl": _granted("r"),
    }  # fmt: skip


def _attribute(oid: int, number: int, name: str, kind: str, modifier: int, required: bool) -> Row:
    type_ = _types()[kind]
    return {
        "attrelid": oid, "attname": name, "atttypid": type_["oid"], "attstattarget": -1,
        "attlen": type_["typlen"],
        "attnum": number, "attndims": int(kind.startswith("_")), "attcacheoff": -1, "atttypmod": modifier,
        "attbyval": type_["typbyval"], "attalign": type_["typalign"], "attstorage": type_["typstorage"],
        "attcompression": "", "attnotnull": required, "atthasdef": False, "atthasmissing": False,
        "attidentity": "", "attgenerated": "", "attisdropped": False, "attislocal": True, "attinhcount": 0,
        "attcollation": type_["typcollation"],
    }  # fmt: skip


@cache
def _types() -> dict[str, dict[str, str | None]]:
    return {str(row["typname"]): row for row in rows("pg_type")}


def _helpers(connection: duckdb.DuckDBPyConnection, tables: Sequence[Described], database: str) -> None:
    """What the macros look up."""
    spelled = _spellings()
    names: list[tuple[str, int | str | None]] = list(type_oids().items())
    for oid, base, start, ending, brackets in spelled:
        names += [(f"{start}{ending}{brackets}", oid)] + [(f"{base}[]", oid)] * bool(brackets)
    names += [("int", 23), ("decimal", 1700), ("float", 701)]
    settings = [
        (str(row["name"]).lower(), quantities.shown(row["setting"] or "", row["unit"] or ""))
        for row in rows("pg_settings")
    ]
    keywords = [tuple(row.values()) for row in rows("keywords")]
    definitions = [(each.oid, f" {each.definition};") for each in tables if each.definition]
    for name, columns, found in (
        ("database", "itself VARCHAR", [(database,)]),
        ("reserved", "word VARCHAR", [(word,) for word in sorted(_reserved())]),
        ("settings", "name VARCHAR, value VARCHAR", settings),
        ("definitions", "defined UINTEGER, definition VARCHAR", definitions),
        (
            "spellings",
            "kind UINTEGER, base VARCHAR, spelled VARCHAR, ending VARCHAR, brackets VARCHAR",
            spelled,
        ),
        ("types", "type_name VARCHAR, type UINTEGER", names),
        ("classes", "class_name VARCHAR, class UINTEGER, rank INTEGER", _class_names(tables, database)),
        ("shown_classes", "shown_class UINTEGER, shown VARCHAR, visible BOOLEAN", _shown(tables)),
        ("remarks", "remarked UINTEGER, place INTEGER, remark VARCHAR", _remarks(tables)),
    ):
        fields = [f"cae_{each}" for each in columns.split(", ")]
        connection.execute(f"CREATE TABLE c.cae_{name} ({', '.join(fields)})")
        places = [each.split()[0] for each in fields]
        _insert(connection, f"c.cae_{name}", places, [dict(zip(places, row, strict=True)) for row in found])
    connection.execute(
        f"CREATE TABLE c.{KEYWORDS} ({', '.join(f'{each} VARCHAR' for each in rows('keywords')[0])})"
    )
    places = list(rows("keywords")[0])
    _insert(connection, f"c.{KEYWORDS}", places, [dict(zip(places, row, strict=True)) for row in keywords])
    for name, columns, source in (
        ("procs", "oid AS cae_proc, proname AS cae_proc_name", "pg_proc"),
        ("spaces", "oid AS cae_space, nspname AS cae_space_name", "pg_namespace"),
        ("roles", "oid AS cae_role, rolname AS cae_role_name", "pg_roles"),
    ):
        connection.execute(f"CREATE TABLE c.cae_{name} AS SELECT {columns} FROM c.{source}")


def _spellings() -> list[tuple[str | None, str, str, str, str]]:
    """OID, name, and the parts that format_type() makes of each type."""
    found = []
    for name, row in _types().items():
        base = name.removeprefix("_") if row["typelem"] != "0" else name
        brackets = "[]" if base != name else ""
        found.append((row["oid"], base, _SPELLED.get(base, base), _ENDINGS.get(base, ""), brackets))
    return found


@cache
def _reserved() -> frozenset[str]:
    """PostgreSQL's words that quote_ident() puts into quotes."""
    return frozenset(str(row["word"]) for row in rows("keywords") if row["catcode"] != "U")


def quote_ident(name: str) -> str:
    """A name as PostgreSQL's quote_ident() writes it."""
    plain = re.fullmatch(r"[a-z_][a-z0-9_$]*", name) and name not in _reserved()
    return name if plain else quoted(name)


def _all_classes(tables: Sequence[Described]) -> list[tuple[str, str, int]]:
    found = [(each.schema, each.name, each.oid) for each in relations().values()]
    return found + [(each.schema, each.name, each.oid) for each in tables]


def _shown(tables: Sequence[Described]) -> list[tuple[int, str, bool]]:
    """How a regclass is shown: with its schema unless the name alone finds it; and whether it does."""
    built_in = {name for schema, name in relations() if schema == CATALOG}
    found = []
    for schema, name, oid in _all_classes(tables):
        visible = schema == CATALOG or (schema == PUBLIC and name not in built_in)
        text = quote_ident(name) if visible else f"{quote_ident(schema)}.{quote_ident(name)}"
        found.append((oid, text, visible))
    return found


def _class_names(tables: Sequence[Described], database: str) -> list[tuple[str, int, int]]:
    """Every way to write the name of a relation; the lower rank wins, as the search path has it."""
    found = []
    for schema, name, oid in _all_classes(tables):
        rank = {CATALOG: 0, PUBLIC: 1}.get(schema, 2)
        bare = {quote_ident(name), quoted(name)}
        texts = {f"{one}.{two}" for one in {quote_ident(schema), quoted(schema)} for two in bare}
        whole = {f"{base}.{text}" for base in {quote_ident(database), quoted(database)} for text in texts}
        found += [(text, oid, rank) for text in sorted(texts | whole | (bare if rank < 2 else set()))]
    return found
