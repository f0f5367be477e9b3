"""Looker's symmetric aggregates: each record counts once where a join repeats it, by its table's key."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from gate_double import Protection, answer, make, understood
from postgres_server import Server, missing, started

from auditor.data.database import Database
from auditor.sql import Unsupported, understand
from auditor.sql.dialects import Dialect

TABLES = """
CREATE TABLE persons AS SELECT i AS id, i % 7 AS team, 20 + i % 40 AS age,
    CASE WHEN i % 9 <> 0 THEN (i * 37 % 50 * 10)::DECIMAL(9,2) END AS salary FROM range({count}) t(i);
CREATE TABLE visits AS SELECT i * 13 % ({count} + 20) AS person, i % 4 AS place FROM range({count} * 3) t(i);
"""
FAN = "FROM persons LEFT JOIN visits ON visits.person = persons.id"


def looker(value: str, key: str) -> str:
    """The difference that Looker writes for PostgreSQL."""
    high = f"('x' || MD5({key} ::varchar))::bit(64)::bigint::DECIMAL(65)  *18446744073709551616"
    hashed = f"{high} + ('x' || SUBSTR(MD5({key} ::varchar),17))::bit(64)::bigint::DECIMAL(65)"
    rounded = f"CAST(FLOOR(COALESCE({value} ,0)*(1000000*1.0)) AS DECIMAL(65,0))"
    return f"( SUM(DISTINCT ({rounded}) + {hashed} ) - SUM(DISTINCT {hashed}) )"


def measure(value: str, key: str) -> str:
    """A measure of type sum, as Looker shows it."""
    scale = "CAST((1000000*1.0) AS DOUBLE PRECISION)"
    return f"COALESCE(COALESCE(CAST( {looker(value, key)}  AS DOUBLE PRECISION) / {scale}, 0), 0)"


def mean(value: str, key: str) -> str:
    """A measure of type average."""
    scale = "CAST((1000000*1.0) AS DOUBLE PRECISION)"
    count = f"COUNT(DISTINCT CASE WHEN  {value}  IS NOT NULL THEN  {key}  ELSE NULL END)"
    total = f"CAST( {looker(value, key)}  AS DOUBLE PRECISION) / {scale}"
    return f"({total}) / NULLIF(CAST({count} AS DOUBLE PRECISION), 0.0)"


TOTAL, MEAN = measure("persons.salary", "persons.id"), mean("persons.salary", "persons.id")

OF_AGES = "SUM(DISTINCT age + hash(id)::HUGEINT) - SUM(DISTINCT hash(id)::HUGEINT)"


@pytest.fixture(scope="module", params=[300, 120_000])
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("once")
    return make(folder / "persons.duckdb", TABLES.format(count=request.param))


@pytest.fixture(scope="module")
def database(path: Path) -> Iterator[Database]:
    protects = [Protection("persons", "salary", ["id", "team", "age"], "id")]
    with Database.open(path, protects, public_tables=["visits"]) as opened:
        yield opened


def rows(database: Database, sql: str, dialect: Dialect) -> list[tuple[object, ...]]:
    plan = understand(sql, None, database.schema, dialect)
    assert not isinstance(plan, Unsupported), plan
    return list(zip(*(column.to_pylist() for column in answer(database, plan).columns), strict=True))


@pytest.mark.parametrize(
    ("sql", "dialect", "same"),
    [
        (
            f"SELECT persons.team AS t, {TOTAL} AS s {FAN} GROUP BY 1 ORDER BY 1",
            "postgres",
            f"SELECT team, COALESCE(SUM(salary), 0) FROM (SELECT DISTINCT persons.* {FAN}) "
            "GROUP BY 1 ORDER BY 1",
        ),
        (
            f"SELECT visits.place AS p, {MEAN} AS s {FAN} GROUP BY 1 ORDER BY 1",
            "postgres",
            f"SELECT place, AVG(salary) FROM (SELECT DISTINCT place, persons.* {FAN}) GROUP BY 1 ORDER BY 1",
        ),
        (
            "SELECT place, SUM(DISTINCT salary + hash(id)::HUGEINT) - SUM(DISTINCT hash(id)::HUGEINT) AS s "
            f"{FAN} WHERE age > 30 GROUP BY place ORDER BY place",
            "duckdb",
            f"SELECT place, SUM(salary) FROM (SELECT DISTINCT place, persons.* {FAN}) WHERE age > 30 "
            "GROUP BY 1 ORDER BY 1",
        ),
    ],
)
def test_each_record_counts_once_however_often_a_join_repeats_it(
    sql: str, dialect: Dialect, same: str, database: Database, path: Path
) -> None:
    with duckdb.connect(str(path), read_only=True) as plain:
        expected = plain.execute(same).fetchall()
    got = rows(database, sql, dialect)
    assert [key for key, _ in got] == [key for key, _ in expected]
    for (_, ours), (_, theirs) in zip(got, expected, strict=True):
        assert math.isclose(float(str(ours)), float(str(theirs)), rel_tol=1e-12)


def test_in_its_groups_each_is_the_sum_over_people(database: Database) -> None:
    sql = f"SELECT {looker('persons.salary', 'persons.id')} AS s {FAN}"
    plan = understand(sql, None, database.schema, "postgres")
    assert not isinstance(plan, Unsupported), plan
    (once,) = database.ask(plan)
    (plain,) = database.ask(understood(database, "SELECT SUM(salary) FROM persons"))
    assert once.kind == "sum"
    assert once.records.tolist() == plain.records.tolist()


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        (f"SELECT {measure('persons.salary', 'persons.team')} {FAN}", "each-once"),
        (f"SELECT {measure('persons.salary', 'visits.person')} {FAN}", "each-once"),
        (f"SELECT {measure('s.salary', 's.id')} FROM (SELECT * FROM persons) s", "each-once"),
        (f"SELECT {measure('persons.salary', 'persons.salary')} {FAN}", "each-once"),
        (f"SELECT {measure('persons.salary * persons.age', 'persons.id')} {FAN}", "nonlinear"),
        (f"SELECT {measure('persons.salary / 3', 'persons.id')} {FAN}", "argument"),
    ],
)
def test_other_keys_and_values_are_refused(sql: str, code: str, database: Database) -> None:
    found = understand(sql, None, database.schema, "postgres")
    assert isinstance(found, Unsupported), sql
    assert found.code == code, found


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT SUM(DISTINCT salary + id) - SUM(DISTINCT id) FROM persons",
        "SELECT SUM(DISTINCT salary + id::HUGEINT) - SUM(DISTINCT id::HUGEINT) FROM persons",
        "SELECT SUM(DISTINCT salary + hash(id)::HUGEINT) - SUM(DISTINCT hash(team)::HUGEINT) FROM persons",
        "SELECT SUM(DISTINCT salary + hash(id)::HUGEINT) FROM persons",
        "SELECT SUM(DISTINCT salary) FILTER (WHERE id IS NOT NULL) FROM persons",
        "SELECT SUM(DISTINCT age + hash(salary)::HUGEINT) - SUM(DISTINCT hash(salary)::HUGEINT) FROM persons",
        "SELECT AVG(DISTINCT salary + hash(id)::HUGEINT) - AVG(DISTINCT hash(id)::HUGEINT) FROM persons",
        "SELECT hash(id) FROM persons",
        # of public values it would be another sum
        f"SELECT {OF_AGES} FROM persons",
        f"SELECT SUM(salary), {OF_AGES} FROM persons",
        f"SELECT id FROM persons ORDER BY (SELECT {OF_AGES} FROM persons)",
    ],
)
def test_what_would_compare_values_is_refused(sql: str, database: Database) -> None:
    assert isinstance(understand(sql, None, database.schema), Unsupported)


@pytest.mark.slow
def test_postgresql_gives_the_same_sums(tmp_path: Path) -> None:
    if missing():
        pytest.skip(missing())
    path = make(tmp_path / "small.duckdb", TABLES.format(count=60))
    protects = [Protection("persons", "salary", ["id", "team", "age"], "id")]
    sums = [
        f"SELECT persons.team AS t, {TOTAL} AS s {FAN} GROUP BY 1 ORDER BY 1",
        f"SELECT visits.place AS t, {MEAN} AS s {FAN} GROUP BY 1 ORDER BY 1",
    ]
    with duckdb.connect(str(path), read_only=True) as plain:
        made = [
            "CREATE TABLE persons (id int, team int, age int, salary numeric(9,2));",
            "CREATE TABLE visits (person int, place int);",
        ]
        for table in ("persons", "visits"):
            for row in plain.execute(f"SELECT * FROM {table}").fetchall():
                cells = ", ".join("NULL" if cell is None else str(cell) for cell in row)
                made.append(f"INSERT INTO {table} VALUES ({cells});")
    with Database.open(path, protects, public_tables=["visits"]) as database, started() as server:
        _load(server, made)
        for sql, theirs in zip(sums, server.ask_all(sums), strict=True):
            assert not isinstance(theirs, str), theirs
            ours = rows(database, sql, "postgres")
            assert [key for key, _ in ours] == [dict(row)["t"] for row in theirs]
            for (_, mine), row in zip(ours, theirs, strict=True):
                assert math.isclose(float(str(mine)), float(str(dict(row)["s"])), rel_tol=1e-12)


def _load(server: Server, made: list[str]) -> None:
    _, errors = server.psql("\n".join(made))
    assert not errors
