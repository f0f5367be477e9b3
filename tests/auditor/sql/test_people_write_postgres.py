"""Statements in PostgreSQL's dialect, as people write them, get the rows that a PostgreSQL server gives."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from gate_double import PROTECT, Protection, answer, make
from people_write_postgres import Statement
from postgres_server import Server, alike, missing, started

from auditor.data.database import Database, StatementFailed
from auditor.sql import Unsupported, understand

SEEDS = range(0, 2_000, int(os.environ.get("CAE_EVERY", "10")))
"""What `-m slow` asks: every tenth, or with CAE_EVERY=1 all."""
COLUMNS = {
    "id": "int", "age": "int", "sex": "text", "dept": "text", "hired": "date", "bonus": "numeric(8,2)",
    "active": "boolean", "salary": "numeric(10,2)",
}  # fmt: skip
TABLES = {"staff": COLUMNS, "regions": {"dept": "text", "region": "text", "size": "int"}}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = make(tmp_path_factory.mktemp("people") / "staff.duckdb")
    with duckdb.connect(str(made)) as connection:
        for column in ('"Büro Ort"', '"select"', "secret_note"):
            connection.execute("DROP VIEW IF EXISTS adults")
            connection.execute(f"ALTER TABLE staff DROP COLUMN {column}")
    return made


@pytest.fixture(scope="module")
def database(path: Path) -> Iterator[Database]:
    protection = Protection("staff", "salary", [name for name in COLUMNS if name != "salary"], PROTECT.key)
    with Database.open(path, [protection], public_tables=["regions"]) as opened:
        yield opened


@pytest.fixture(scope="module")
def server(path: Path) -> Iterator[Server]:
    if missing():
        pytest.skip(missing())
    with started() as running, duckdb.connect(str(path), read_only=True) as connection:
        text = ""
        for table, columns in TABLES.items():
            text += (
                f"CREATE TABLE {table} ({', '.join(f'{name} {type_}' for name, type_ in columns.items())});\n"
            )
            for row in connection.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall():
                text += f"INSERT INTO {table} VALUES ({', '.join(map(_written, row))});\n"
        _, errors = running.psql(text)
        assert not errors
        yield running


def _written(value: object) -> str:
    return "NULL" if value is None else "'" + str(value).replace("'", "''") + "'"


def verdict(sql: str, theirs: list[list[tuple[str, object]]] | str, database: Database) -> str:
    """What becomes of a statement: "same", the code of a refusal, or what is different."""
    plan = understand(sql, None, database.schema, "postgres")
    if isinstance(plan, Unsupported):
        return plan.code if not isinstance(theirs, str) else "rejected by both"
    try:
        ours = answer(database, plan)
    except StatementFailed as failed:
        return failed.code if not isinstance(theirs, str) else "rejected by both"
    if isinstance(theirs, str):
        return f"different: PostgreSQL says {theirs}"
    return difference(ours, plan.types, theirs) or "same"


def difference(ours: pa.Table, types: tuple[str, ...], theirs: list[list[tuple[str, object]]]) -> str:
    """What is different between an answer and PostgreSQL's rows, in any order; empty if nothing is."""
    if theirs and ours.column_names != [name for name, _ in theirs[0]]:
        return f"different: names {ours.column_names}, not {[name for name, _ in theirs[0]]}"
    left = [[value for _, value in row] for row in theirs]
    if ours.num_rows != len(left):
        return f"different: {ours.num_rows} rows, not {len(left)}"
    for row in zip(*(column.to_pylist() for column in ours.columns), strict=True):
        found = next((each for each in left if all(map(alike, row, each, types))), None)
        if found is None:
            return f"different: {row}, not one of {left[:3]}"
        left.remove(found)
    return ""


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [SEEDS], ids=["all"])
def test_generated_statements_are_answered_as_postgresql_answers_them(
    seeds: range, server: Server, database: Database
) -> None:
    asked = [Statement(seed).text for seed in seeds]
    verdicts: Counter[str] = Counter()
    for sql, theirs in zip(asked, server.ask_all(asked), strict=True):
        found = verdict(sql, theirs, database)
        assert not found.startswith("different"), f"{found}\n{sql}"
        verdicts[found] += 1
    print(dict(verdicts))
    # otherwise this would say little
    assert verdicts["same"] >= 0.9 * len(asked), verdicts
