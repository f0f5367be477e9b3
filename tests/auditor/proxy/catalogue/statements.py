"""The statements that clients sent to a real PostgreSQL 15, and the tables that they asked about.

Not a test. A file of `statements/` holds what one action of one client sent; `@staff@` stands for the OID
of a table, which is another on each server.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from auditor.proxy.catalogue import Catalogue, Context
from auditor.proxy.catalogue.objects import PROTECTED
from auditor.sql.schema import Column, Protected, Schema, Table, View

HERE = Path(__file__).parent
KINDS = {
    "b": ("BOOLEAN", "boolean"), "s": ("SMALLINT", "smallint"), "i": ("INTEGER", "integer"),
    "l": ("BIGINT", "bigint"), "n": ("DECIMAL(10,2)", "numeric(10,2)"), "f": ("FLOAT", "real"),
    "d": ("DOUBLE", "double precision"), "t": ("VARCHAR", "text"), "y": ("BLOB", "bytea"),
    "day": ("DATE", "date"),
    "at": ("TIME", "time"), "ts": ("TIMESTAMP", "timestamp"), "tz": ("TIMESTAMP WITH TIME ZONE",
    "timestamptz"),
    "iv": ("INTERVAL", "interval"), "u": ("UUID", "uuid"), "j": ("JSON", "json"), "ia": ("INTEGER[]",
    "integer[]"),
    "ta": ("VARCHAR[]", "text[]"),
}  # fmt: skip
STAFF = {"id": "INTEGER", "name": "VARCHAR", "age": "INTEGER", "sex": "VARCHAR", "dept": "VARCHAR"}


def _columns(types: Mapping[str, str]) -> tuple[Column, ...]:
    return tuple(Column(name, type_) for name, type_ in types.items())


SCHEMA = Schema(
    (
        Table("staff", _columns(STAFF), (*STAFF, "salary")),
        Table("kinds", _columns({name: ours for name, (ours, _) in KINDS.items()})),
        Table("Odd Name", _columns({"A b": "INTEGER", "select": "VARCHAR"})),
        Table("hr.grade", _columns({"dept": "VARCHAR", "pay": "BIGINT"})),
    ),
    (Protected("staff", "salary", "INTEGER"),),
    (View("grown", "SELECT name, age FROM staff WHERE age > 30", ()),),
)
CREATED = f"""
CREATE ROLE ada LOGIN;
CREATE TABLE staff (id integer, name text, age integer, sex text, dept text, salary integer);
CREATE TABLE kinds ({", ".join(f'"{name}" {theirs}' for name, (_, theirs) in KINDS.items())});
CREATE TABLE "Odd Name" ("A b" integer, "select" text);
CREATE SCHEMA hr;
CREATE TABLE hr.grade (dept text, pay bigint);
CREATE VIEW grown AS SELECT name, age FROM staff WHERE age > 30;
COMMENT ON COLUMN staff.salary IS '{PROTECTED}';
GRANT USAGE ON SCHEMA hr TO ada;
GRANT SELECT ON ALL TABLES IN SCHEMA public, hr TO ada;
"""
DATABASE = "staff"
ADA = Context("ada", pid=4711)


def catalogue() -> Catalogue:
    """Ours, of the same tables."""
    return Catalogue(SCHEMA, DATABASE, ["ada", "bob"], version="15.18")


@dataclass(frozen=True)
class Statement:
    """One statement of a client."""

    name: str
    """Client, action, and number within it."""
    sql: str
    parameters: tuple[str | None, ...]
    """As texts."""

    def on(self, oids: Mapping[str, int]) -> tuple[str, list[str | None]]:
        """Text and parameters where the tables have these OIDs."""
        return _placed(self.sql, oids), [each and _placed(each, oids) for each in self.parameters]


def _placed(text: str, oids: Mapping[str, int]) -> str:
    for name, oid in oids.items():
        text = text.replace(f"@{name.replace(' ', '_')}@", str(oid))
    return text


def statements() -> Iterator[Statement]:
    """Every statement of every client."""
    for path in sorted((HERE / "statements").rglob("*.sql")):
        text = path.read_text(encoding="utf-8")
        for number, part in enumerate(re.split(r";\n\n|;\n\Z", text)):
            if not part.strip():
                continue
            found = re.match(r"-- parameters: (.*)\n", part)
            parameters = tuple(json.loads(found[1])) if found else ()
            name = f"{path.parent.name}/{path.stem}/{number}"
            yield Statement(name, part[found.end() :] if found else part, parameters)
