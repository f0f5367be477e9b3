"""Statements that analysts and BI tools write: what becomes of each, and why not where it is not answered.

    python -m benchmarks.analysts [--reasons]

The statements (`../shared/data/sql/analysts`, in both dialects, and `../shared/data/sql/bi`) were collected
without this gate in mind. Each is read, and what is understood is computed with every aggregate exact, and
compared with plain DuckDB: on the statement itself, or on what PostgreSQL's is translated to. What a limit
would refuse afterwards is `newcomer`'s. Those that a proxy answers from its catalogue, and those that are no
queries, are counted apart: nobody asks them of the data.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path

import duckdb
from rich.console import Console
from rich.table import Table

from auditor.data.database import Database, StatementFailed
from auditor.data.pivoting import with_list
from auditor.sql import Dialect, Plan, Schema, Unsupported, macros, understand
from auditor.sql.dialects import translate
from benchmarks._data import ACS
from benchmarks._results import Line, options, write
from benchmarks.corpora import SHARED, Protection, alike, answered

ANSWERED = "answered"
_CATALOGUE = re.compile(r"information_schema|pg_catalog|pg_type|current_setting", re.IGNORECASE)
_ANY = re.compile(r"\b(any_value|arbitrary)\(", re.IGNORECASE)
_NO_QUERY = re.compile(r"\s*(CREATE|EXPLAIN|SELECT (TABLE|SUMMARIZE|TOP)\b|SELECT \* LIKE)", re.IGNORECASE)


@dataclass(frozen=True)
class Told:
    """What became of a statement."""

    source: str
    """The file."""
    dialect: Dialect
    sql: str
    verdict: str
    """"answered", "unsupported", "DIFFERENT", "catalogue" or "no query"."""
    code: str = ""
    message: str = ""
    hint: str = ""


def build(path: Path, shared: Path = SHARED) -> None:
    """A DuckDB file with the tables of all statements."""
    with duckdb.connect(str(path)) as connection:
        for name in ("analysts/tables.sql", "bi/persons.sql"):
            lines = (shared / name).read_text("utf-8").replace("(ACS)", f"('{ACS}')").splitlines()
            text = "\n".join(line for line in lines if not line.startswith("--"))
            # the tables of the BI statements stand in both files
            connection.execute(re.sub(r"CREATE (?=TABLE|VIEW)", "CREATE OR REPLACE ", text))


def statements(shared: Path = SHARED) -> Iterator[tuple[str, Dialect, str]]:
    """File, dialect and text of each."""
    for folder in ("analysts", "bi"):
        for file in sorted((shared / folder).glob("*.sql")):
            if file.stem in ("tables", "persons"):
                continue
            dialect: Dialect = "duckdb" if file.stem == "duckdb" else "postgres"
            for sql in file.read_text("utf-8").splitlines():
                sql = sql.strip().removesuffix(";")
                if sql and not sql.startswith("--"):
                    yield f"{folder}/{file.stem}", dialect, sql


def told(folder: Path, shared: Path = SHARED) -> Iterator[Told]:
    """What becomes of each statement."""
    path = folder / "analysts.duckdb"
    build(path, shared)
    protects = [Protection("staff", "salary"), Protection("persons", "salary")]
    with (
        Database.open(
            path, protects, public_tables=["depts", "industries"], views=["staff_view"]
        ) as database,
        duckdb.connect(str(path), read_only=True) as plain,
    ):
        schema = with_domains(database.schema)
        for macro in macros.STATEMENTS:
            plain.execute(macro.replace("CREATE", "CREATE TEMP", 1))
        for source, dialect, sql in statements(shared):
            yield one(source, dialect, sql, database, plain, schema)


def with_domains(schema: Schema) -> Schema:
    """The schema with what a policy says of the values."""
    known = [replace(each, least=Fraction(0), most=Fraction(1_000)) for each in schema.protected]
    return replace(schema, protected=tuple(known))


def one(
    source: str,
    dialect: Dialect,
    sql: str,
    database: Database,
    plain: duckdb.DuckDBPyConnection,
    schema: Schema,
) -> Told:
    """What becomes of one."""
    if _CATALOGUE.search(sql):
        return Told(source, dialect, sql, "catalogue")
    if _NO_QUERY.match(sql):
        return Told(source, dialect, sql, "no query")
    plan = understand(sql, None, schema, dialect)
    if isinstance(plan, Unsupported) and plan.code == "pivot":
        listed = with_list(sql, "UTC", schema, database)
        plan = plan if listed is None else understand(listed, None, schema)
    if isinstance(plan, Unsupported):
        return Told(source, dialect, sql, "unsupported", plan.code, plan.message, plan.hint)
    try:
        rows = answered(plan, database)
    except StatementFailed as failed:
        return Told(source, dialect, sql, "unsupported", failed.code, str(failed))
    verdict = ANSWERED if _same(rows, sql, dialect, plan, plain, schema) else "DIFFERENT"
    return Told(source, dialect, sql, verdict, "public" if plan.public else "")


def _same(
    rows: list[tuple[object, ...]],
    sql: str,
    dialect: Dialect,
    plan: Plan,
    plain: duckdb.DuckDBPyConnection,
    schema: Schema,
) -> bool:
    """Whether DuckDB gives the same rows; of two ends, whether the value lies between them."""
    if "AT_LEAST" in sql or "AT_MOST" in sql or plan.preview:
        return True
    expected = plain.execute(translate(sql, dialect, schema)).fetchall()
    if _ANY.search(sql):
        # which one is any is nobody's promise
        return len(rows) == len(expected)
    mine, theirs = ([tuple(map(_unordered, row)) for row in each] for each in (rows, expected))
    return alike(mine, theirs)


def _unordered(cell: object) -> object:
    """A list or map as what is in it: without ORDER BY in the aggregate nobody promises an order."""
    if isinstance(cell, dict):
        cell = list(cell.items())
    return sorted(map(str, cell)) if isinstance(cell, list) else cell


def main(arguments: list[str] | None = None) -> None:
    """Print shares by file, and with `--reasons` each statement that is not answered."""
    parser = options("analysts", __doc__)
    parser.add_argument("--reasons", action="store_true")
    given = parser.parse_args(arguments)
    console = Console(width=150, soft_wrap=True)
    if not SHARED.exists():
        console.print("the statements are not here: ../shared/data/sql")
        return
    with tempfile.TemporaryDirectory() as folder:
        found = list(told(Path(folder)))
    table = Table(
        "file", "statements", "of the data", "answered", "not", title="What analysts and BI tools write"
    )
    lines = []
    for source in dict.fromkeys(each.source for each in found):
        own = [each for each in found if each.source == source]
        asked = [each for each in own if each.verdict not in ("catalogue", "no query")]
        good = sum(each.verdict == ANSWERED for each in asked)
        codes = Counter(each.code or each.verdict for each in asked if each.verdict != ANSWERED)
        table.add_row(
            source,
            str(len(own)),
            str(len(asked)),
            str(good),
            ", ".join(f"{code} {n}" for code, n in codes.items()),
        )
    for kind in ("analysts", "bi"):
        asked = [e for e in found if e.source.startswith(kind) and e.verdict not in ("catalogue", "no query")]
        good = sum(each.verdict == ANSWERED for each in asked)
        table.add_row(f"all of {kind}", "", str(len(asked)), str(good), f"{good / len(asked):.0%} answered")
        lines.append(
            Line("statements answered", kind, f"{len(asked)} statements", good / len(asked), unit="share")
        )
    console.print(table)
    if given.reasons:
        for each in found:
            if each.verdict not in (ANSWERED, "catalogue", "no query"):
                console.print(
                    f"{each.source}: {each.sql}\n    {each.verdict} {each.code}: {each.message} {each.hint}",
                    markup=False,
                    highlight=False,
                )
    write(given.json, lines, [asdict(each) for each in found])


if __name__ == "__main__":
    main()
