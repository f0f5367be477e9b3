"""Whether a ledger's tables are as this package makes them: what else is there could change or hide rows.

Promise: no trigger, rule, view or policy that was planted acts on a ledger unseen. A table, column, index or
trigger too many, one that is missing, and one that says something else are each a `LedgerError`.
"""

from __future__ import annotations

import re
from typing import NoReturn

from auditor.errors import LedgerError
from auditor.ledger.connection import TABLES, Connection
from auditor.ledger.store import TRIGGERS

_ACTING = {"AS", "CHECK", "COLLATE", "CONFLICT", "DEFAULT", "FOREIGN", "GENERATED", "REFERENCES", "UNIQUE"}
"""Words of CREATE TABLE by which SQLite would do more than keep rows."""
_BEFORE_ANY_CHANGE = 2 | 8 | 16 | 32
"""pg_trigger.tgtype: BEFORE DELETE OR UPDATE OR TRUNCATE, once for a statement."""
TYPES = {"TEXT": "text", "INTEGER": "integer", "FLOAT": "double precision", "BLOB": "bytea"}
"""What PostgreSQL calls the types."""
RAISES = "BEGIN RAISE EXCEPTION 'the ledger is append-only'; END"
"""What a server's trigger does."""
_MINE = "('ledger_binding'::regclass, 'ledger_statement'::regclass, 'ledger_answer'::regclass)"
_ON_SERVER = f"""
    SELECT 'table ' || relname AS name,
           concat_ws(' ', relkind, relpersistence, relrowsecurity, relispartition,
                     EXISTS (SELECT 1 FROM pg_inherits WHERE c.oid IN (inhrelid, inhparent))) AS said
    FROM pg_class c WHERE oid IN {_MINE}
    UNION ALL
    SELECT 'column ' || c.relname || '.' || attname,
           concat_ws(' ', format_type(atttypid, atttypmod), attnotnull, atthasdef, attgenerated, attidentity)
    FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
    WHERE attrelid IN {_MINE} AND attnum > 0 AND NOT attisdropped
    UNION ALL
    SELECT 'trigger ' || tgname || ' on ' || c.relname,
           concat_ws(' ', tgtype, tgenabled IN ('O', 'A'), tgqual IS NULL, prosrc)
    FROM pg_trigger JOIN pg_class c ON c.oid = tgrelid JOIN pg_proc p ON p.oid = tgfoid
    WHERE tgrelid IN {_MINE} AND NOT tgisinternal
    UNION ALL
    SELECT 'index ' || indexrelid::regclass, '' FROM pg_index WHERE indrelid IN {_MINE} AND NOT indisprimary
    UNION ALL
    SELECT 'rule ' || rulename, '' FROM pg_rewrite WHERE ev_class IN {_MINE}
    UNION ALL
    SELECT 'policy ' || polname, '' FROM pg_policy WHERE polrelid IN {_MINE}
    """


def require_ours(place: object, connection: Connection, version: int) -> None:
    """Hold a ledger to the tables of its format.

    Raises:
        LedgerError: names the first thing that is not ours.
    """
    if connection.on_server:
        found = {str(row["name"]): row["said"] for row in connection.rows(_ON_SERVER)}
        wanted = _of_server(version)
    else:
        found, wanted = _in_file(connection), _of_file(version)
    for name in sorted({*found, *wanted}):
        if found.get(name) != wanted.get(name):
            _refuse(place, name, missing=name not in found, added=name not in wanted)


def _refuse(place: object, name: str, missing: bool, added: bool) -> NoReturn:
    what = "is missing" if missing else "does not belong there" if added else "was changed"
    raise LedgerError(
        f"ledger {place}: its {name[:200]} {what}; find out who could write to it, and restore it from a copy"
    )


def _in_file(connection: Connection) -> dict[str, object]:
    found: dict[str, object] = {}
    for row in connection.rows("SELECT type, name, tbl_name, sql FROM sqlite_master"):
        kind, name, table, sql = row.values()
        if str(name).startswith("sqlite_") and (sql is None or str(name).startswith("sqlite_stat")):
            continue  # the index of a primary key, and what ANALYZE counted
        found[f"{kind} {name}"] = _plain(sql) if kind == "trigger" else table
        if kind == "table" and name in TABLES:
            if acting := sorted(_ACTING.intersection(re.findall(r"\w+", str(sql).upper()))):
                found[f"table {name}"] = acting
            for column in connection.rows(f"PRAGMA table_xinfo('{name}')"):
                _, called, *said = column.values()
                found[f"column {name}.{called}"] = tuple(said)
    return found


def _of_file(version: int) -> dict[str, object]:
    wanted: dict[str, object] = {f"trigger {name}": _plain(sql) for name, sql in TRIGGERS.items()}
    for name, table in TABLES.items():
        wanted[f"table {name}"] = name
        for column in TABLES[name].of(version).columns:
            key = table.key.index(column.name) + 1 if column.name in table.key else 0
            wanted[f"column {name}.{column.name}"] = (column.type, int(not column.nullable), None, key, 0)
    return wanted


def _of_server(version: int) -> dict[str, object]:
    wanted: dict[str, object] = {}
    for name in TABLES:
        wanted[f"table {name}"] = "r p f f f"
        wanted[f"trigger {name}_append_only on {name}"] = f"{_BEFORE_ANY_CHANGE} t t {RAISES}"
        for column in TABLES[name].of(version).columns:
            required = "f" if column.nullable else "t"
            wanted[f"column {name}.{column.name}"] = f"{TYPES[column.type]} {required} f  "
    return wanted


def _plain(sql: object) -> str:
    return " ".join(str(sql).split())
