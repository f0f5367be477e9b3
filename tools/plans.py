"""Plans of all statements that are at hand, as text: to see that a change of `auditor.sql` changes none.

    python -m tools.plans FILE

Promises a line for a statement and one for what became of it, in an order that does not change: statements
of the tests' fixtures, 2,000 generated ones in each dialect, and the corpora of `../shared` where they are.
Two files of two trees are compared with `cmp`.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import duckdb

from auditor.data.database import Database
from auditor.sql import Dialect, Schema, understand
from benchmarks import _tpch, analysts, corpora
from tests.auditor.sql import gate_double, people_write, people_write_postgres

ARRIVED = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
GENERATED = 2_000
_OWN = ["id", "age", "sex", "dept", "hired", "bonus", "active"]
Statement = tuple[str, Schema, Dialect]


def bounded(schema: Schema) -> Schema:
    """A schema with what a policy says of the values."""
    known = [replace(each, least=Fraction(0), most=Fraction(1_000)) for each in schema.protected]
    return replace(schema, protected=tuple(known))


def of_tests(folder: Path) -> Iterator[Statement]:
    """Those of fixtures, in both dialects, and generated ones."""
    with gate_double.open_staff(gate_double.make(folder / "staff.duckdb")) as database:
        staff = database.schema
    refused = [sql for _, sql in gate_double.failures("must_fail.sql")]
    for sql in [*gate_double.statements("understood.sql"), *refused]:
        yield from ((sql, staff, "duckdb"), (sql, bounded(staff), "duckdb"), (sql, staff, "postgres"))
    for seed in range(GENERATED):
        yield people_write.Statement(seed).text, bounded(staff), "duckdb"
    path = gate_double.make(folder / "plain.duckdb")
    with duckdb.connect(str(path)) as connection:
        connection.execute("DROP VIEW adults")
        for column in ('"Büro Ort"', '"select"', "secret_note"):
            connection.execute(f"ALTER TABLE staff DROP COLUMN {column}")
    protection = gate_double.Protection("staff", "salary", _OWN, "id")
    with Database.open(path, [protection], public_tables=["regions"]) as database:
        plain = database.schema
    for seed in range(GENERATED):
        yield people_write_postgres.Statement(seed).text, plain, "postgres"


def of_corpora(folder: Path) -> Iterator[Statement]:
    """What analysts and BI tools write, and TPC-H with columns protected in turn."""
    analysts.build(folder / "analysts.duckdb")
    protects = [corpora.Protection("staff", "salary"), corpora.Protection("persons", "salary")]
    others = ["depts", "industries"]
    with Database.open(
        folder / "analysts.duckdb", protects, public_tables=others, views=["staff_view"]
    ) as database:
        schema = analysts.with_domains(database.schema)
    yield from ((sql, schema, dialect) for _, dialect, sql in analysts.statements())
    path = _tpch.build(folder / "tpch.duckdb")
    tables = ["region", "nation", "supplier", "part", "partsupp", "customer", "orders"]
    for column in corpora.PROTECTED_LINES:
        with Database.open(path, [corpora.Protection("lineitem", column)], public_tables=tables) as database:
            schema = database.schema
        yield from ((sql, schema, "duckdb") for sql in _tpch.queries(corpora.SHARED).values())


def main(target: Path) -> None:
    """Write the plans of all statements, rows with NULL in protected columns allowed."""
    with tempfile.TemporaryDirectory() as name, target.open("w", encoding="utf-8") as file:
        statements = list(of_tests(Path(name)))
        if corpora.SHARED.exists():
            statements += of_corpora(Path(name))
        for sql, schema, dialect in statements:
            file.write(f"{dialect} {sql!r}\n{understand(sql, None, schema, dialect, True, ARRIVED)!r}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
