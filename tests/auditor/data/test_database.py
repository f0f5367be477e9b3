"""Opening: exact values, an order that tells nothing, one clear error each; running: fixed errors."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Literal

import duckdb
import numpy as np
import pytest

from auditor.data.database import Database, StatementFailed
from auditor.errors import DatabaseError
from auditor.sql import Plan, understand

ROWS = """
    SELECT i AS id, i % 4 AS age, ['a', 'b'][1 + i % 2] AS dept, (i * 37 % 100) * 10 AS salary
    FROM range(40) t(i)
"""


def build(path: Path, *statements: str) -> Path:
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)
    return path


@dataclass(frozen=True)
class Protection:
    table: str = "staff"
    column: str = "salary"
    public: Sequence[str] | Literal["all"] = ("age", "dept")
    key: str | None = "id"
    unit: str | None = None


def opened(path: Path, **changes: object) -> Database:
    of_column = {name: changes.pop(name) for name in ("table", "column", "public", "key") if name in changes}
    return Database.open(path, [Protection(**of_column)], **changes)  # type: ignore[arg-type]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return build(tmp_path / "data.duckdb", f"CREATE TABLE staff AS {ROWS}")


@pytest.fixture
def database(path: Path) -> Iterator[Database]:
    with opened(path) as database:
        yield database


def plan(database: Database, sql: str) -> Plan:
    found = understand(sql, None, database.schema)
    assert isinstance(found, Plan), found
    return found


@pytest.mark.parametrize(
    ("type_", "literals", "expected"),
    [
        ("INTEGER", ["-3", "0", "7"], [-3, 0, 7]),
        ("BIGINT", ["-9223372036854775807", "5"], [-9223372036854775807, 5]),
        ("HUGEINT", ["-12", "900000000000"], [-12, 900000000000]),
        ("UBIGINT", ["3"], [3]),
        ("DECIMAL(10,2)", ["-1.25", "3.10"], [Fraction(-5, 4), Fraction(31, 10)]),
        ("DECIMAL(38,4)", ["-0.0001"], [Fraction(-1, 10000)]),
        ("DOUBLE", ["0.1", "1e-3", "250"], [Fraction(1, 10), Fraction(1, 1000), 250]),
        ("FLOAT", ["0.1", "2.5"], [Fraction(1, 10), Fraction(5, 2)]),
        ("BOOLEAN", ["true", "false"], [0, 1]),
    ],
)
def test_the_vault_is_exact(tmp_path: Path, type_: str, literals: list[str], expected: list[object]) -> None:
    values = ", ".join(f"(1, {literal}::{type_})" for literal in literals)
    path = build(
        tmp_path / "t.duckdb",
        f"CREATE TABLE staff(age INTEGER, salary {type_})",
        f"INSERT INTO staff VALUES {values}",
    )
    with opened(path, public=["age"], key=None) as database:
        (vault,) = database.vaults
        exact = [int(value) * vault.scale for value in vault.integers]
        assert sorted(exact) == sorted(expected)  # type: ignore[type-var]
        assert vault.keys is None


@pytest.mark.parametrize(
    ("type_", "literal", "words"),
    [
        ("DOUBLE", "'nan'", "NaN"),
        ("DOUBLE", "'-inf'", "infinity"),
        ("DOUBLE", "1e300", "64 bits"),
        ("HUGEINT", "99999999999999999999", "64 bits"),
        ("UBIGINT", "18446744073709551615", "64 bits"),
        ("VARCHAR", "'x'", "not supported"),
        ("DATE", "'2020-01-01'", "not supported"),
        ("INTEGER[]", "[1]", "not supported"),
        ("INTEGER", "NULL", "no row"),
    ],
)
def test_values_that_cannot_be_protected(tmp_path: Path, type_: str, literal: str, words: str) -> None:
    path = build(
        tmp_path / "t.duckdb", f"CREATE TABLE staff AS SELECT 1 AS age, {literal}::{type_} AS salary"
    )
    with pytest.raises(DatabaseError, match=words):
        opened(path, public=["age"], key=None)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"table": "staf"}, "Did you mean staff"),
        ({"column": "salry"}, "Did you mean salary"),
        ({"public": ["agee"]}, "Did you mean age"),
        ({"public": ["age", "Salary"]}, "cannot be protected and public"),
        ({"key": "nr"}, "no column nr"),
        ({"public_tables": ["regions"]}, "no table regions"),
        ({"public_tables": ["STAFF"]}, "is protected"),
    ],
)
def test_names_that_are_not_there(path: Path, changes: dict[str, object], words: str) -> None:
    with pytest.raises(DatabaseError, match=words):
        opened(path, **changes)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="no database file"):
        opened(tmp_path / "none.duckdb")
    assert not (tmp_path / "none.duckdb").exists()


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "x.duckdb").write_text("not a database " * 1000)
    with pytest.raises(DatabaseError, match="not a DuckDB database"):
        opened(tmp_path / "x.duckdb")


def test_a_file_that_another_program_writes(path: Path) -> None:
    code = (
        f"import duckdb, sys; c = duckdb.connect({str(path)!r}); print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdin is not None
        writer.stdout.readline()
        with pytest.raises(DatabaseError, match="open for writing"):
            opened(path)
        writer.stdin.close()


def test_the_file_is_free_after_opening(path: Path) -> None:
    with opened(path), duckdb.connect(str(path)) as writer:
        writer.execute("CREATE TABLE more (a INTEGER)")


def test_a_path_with_a_quote(tmp_path: Path) -> None:
    path = build(tmp_path / "o'brien.duckdb", f"CREATE TABLE staff AS {ROWS}")
    with opened(path) as database:
        assert database.vaults[0].size == 40


def test_views_and_schemas(tmp_path: Path) -> None:
    path = build(
        tmp_path / "t.duckdb",
        "CREATE SCHEMA hr",
        f"CREATE TABLE hr.staff AS {ROWS}",
        "CREATE VIEW young AS SELECT * FROM hr.staff WHERE age < 2",
    )
    with opened(path, table="HR.Staff") as database:
        assert database.schema.protected[0].table == "hr.staff"
        found = plan(database, "SELECT SUM(salary) FROM hr.staff WHERE staff.age > 1")
        assert len(database.ask(found)[0].records) == 20
    with opened(path, table="young") as database:
        assert database.vaults[0].size == 20


def test_rows_and_numbers_follow_public_columns_only(tmp_path: Path) -> None:
    by_value = build(tmp_path / "a.duckdb", f"CREATE TABLE staff AS {ROWS} ORDER BY salary")
    shuffled = build(tmp_path / "b.duckdb", f"CREATE TABLE staff AS {ROWS} ORDER BY hash(i)")
    sql = "SELECT age, dept FROM staff LIMIT 7"
    with opened(by_value) as a, opened(shuffled) as b:
        assert a.fingerprint == b.fingerprint
        assert a.vaults[0].keys == b.vaults[0].keys
        assert np.array_equal(a.vaults[0].integers, b.vaults[0].integers)
        assert a.run_public(plan(a, sql)).equals(b.run_public(plan(b, sql)))
        assert a.run_public(plan(a, sql)).to_pylist() == [{"age": 0, "dept": "a"}] * 7


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE staff SET salary = salary + 10 WHERE id = 3",
        "UPDATE staff SET age = 9 WHERE id = 3",
        "UPDATE staff SET id = 99 WHERE id = 3",
        "UPDATE staff SET salary = NULL WHERE id = 3",
        "ALTER TABLE staff RENAME dept TO branch",
        "ALTER TABLE staff ALTER age TYPE SMALLINT",
        "DELETE FROM staff WHERE id = 3",
    ],
)
def test_every_change_changes_the_fingerprint(path: Path, change: str) -> None:
    with opened(path, public="all") as database:
        before = database.fingerprint
    build(path, change)
    with opened(path, public="all") as database:
        assert database.fingerprint != before


def test_the_fingerprint_tells_cells_apart(tmp_path: Path) -> None:
    prints = set()
    for number, cells in enumerate(["('ab', 'c')", "('a', 'bc')", "('abc', '')", "('abc', NULL)"]):
        path = build(
            tmp_path / f"{number}.duckdb",
            "CREATE TABLE staff(age VARCHAR, dept VARCHAR, salary INTEGER DEFAULT 1)",
            f"INSERT INTO staff(age, dept) VALUES {cells}",
        )
        with opened(path, key=None) as database:
            prints.add(database.fingerprint)
    assert len(prints) == 4


def test_classes_are_the_public_combinations(database: Database) -> None:
    codes, values = database.classes(["dept"])
    assert values["dept"].tolist() == ["a", "b"]
    assert np.bincount(codes).tolist() == [20, 20]
    codes, values = database.classes("all")
    assert len(values) == 4
    assert sorted(np.bincount(codes).tolist()) == [10, 10, 10, 10]
    with pytest.raises(DatabaseError, match="no public column id"):
        database.classes(["id"])
    codes, values = database.classes([])
    assert set(codes.tolist()) == {0}
    assert len(values) == 1


def test_nothing_but_the_data_is_reachable(database: Database, tmp_path: Path) -> None:
    target = tmp_path / "x.csv"
    connection = database._loaded.connection
    for sql in (
        f"COPY (SELECT 1) TO '{target}'",
        "SELECT * FROM read_text('/etc/hostname')",
        "ATTACH ':memory:' AS other; ATTACH 'x.duckdb'",
        "SET enable_external_access = true",
        "SET Calendar = 'japanese'",
        "SET allowed_configs = []",
        "INSTALL httpfs",
    ):
        with pytest.raises(duckdb.Error):
            connection.execute(sql)
    assert not target.exists()
    names = [row[0] for row in connection.execute("SELECT database_name FROM duckdb_databases()").fetchall()]
    assert "source" not in names


def test_no_protected_value_is_in_the_public_instance(tmp_path: Path) -> None:
    rows = "SELECT i AS id, 1 AS age, 'a' AS dept, 100000 + i AS salary FROM range(40) t(i)"
    with opened(build(tmp_path / "t.duckdb", f"CREATE TABLE staff AS {rows}")) as database:
        stored = database._loaded.connection.execute("SELECT * FROM _data.staff").fetchall()
    assert all(value < 1000 for row in stored for value in row if isinstance(value, int))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM staff WHERE dept::INTEGER > 3",
        "SELECT SUM(salary) FROM staff WHERE CAST(dept AS DATE) > DATE '2020-01-01'",
        "SELECT CAST(SUM(salary) AS TINYINT) FROM staff",
    ],
)
def test_runtime_errors_have_one_text(database: Database, sql: str) -> None:
    found = plan(database, sql)
    with pytest.raises(StatementFailed) as failure:
        database.finish(found, [Fraction(123456) for _ in database.ask(found)])
    assert str(failure.value) == "the statement failed while it ran"
    assert failure.value.__cause__ is None
    assert failure.value.__context__ is None


def test_a_running_statement_is_cancelled(tmp_path: Path) -> None:
    rows = "SELECT range AS id, range % 40 AS age, 'a' AS dept, 1 AS salary FROM range(200000)"
    with opened(build(tmp_path / "t.duckdb", f"CREATE TABLE staff AS {rows}")) as database:
        slow = plan(database, "SELECT COUNT(*) FROM staff a, staff b WHERE sqrt(a.age + b.age) > 3")
        done = threading.Event()

        def cancel() -> None:
            while not done.wait(0.05):  # DuckDB forgets an interrupt that comes before a query
                database.cancel()

        thread = threading.Thread(target=cancel)
        thread.start()
        with pytest.raises(StatementFailed):
            database.run_public(slow)
        done.set()
        thread.join()
        assert database.run_public(plan(database, "SELECT 1 AS one")).to_pylist() == [{"one": 1}]


class Busy:
    """A connection that a thread uses for as long as the test wants."""

    def __init__(self, real: duckdb.DuckDBPyConnection) -> None:
        self.real, self.told = real, list[str]()
        self.inside, self.go = threading.Event(), threading.Event()

    def cursor(self) -> duckdb.DuckDBPyConnection:
        self.inside.set()
        assert self.go.wait(60)
        self.told.append("cursor")
        return self.real.cursor()

    def close(self) -> None:
        self.told.append("close")
        self.real.close()


def test_it_is_not_closed_in_the_midst_of_another_threads_call(database: Database) -> None:
    """DuckDB refuses the one or the other of two calls at once; its error would come out of the gate."""
    busy = Busy(database._loaded.connection)
    database._loaded = replace(database._loaded, connection=busy)  # type: ignore[arg-type]
    found: list[object] = []
    one = plan(database, "SELECT 1 AS one")
    runs = threading.Thread(target=lambda: found.append(database.ask(one)))
    runs.start()
    assert busy.inside.wait(60)
    closes = threading.Thread(target=database.close)
    closes.start()
    closes.join(0.3)  # time enough for one that does not wait
    busy.go.set()
    runs.join()
    closes.join()
    assert busy.told == ["cursor", "close"]
    assert found == [[]]


def test_what_is_asked_after_the_end_fails_like_any_other_statement(database: Database) -> None:
    one = plan(database, "SELECT 1 AS one")
    database.close()
    with pytest.raises(StatementFailed):
        database.run_public(one)


def test_threads_do_not_mix_their_answers(database: Database) -> None:
    def run(low: int) -> list[object]:
        found = plan(
            database, f"SELECT dept, SUM(salary), COUNT(*) FROM staff WHERE age >= {low} GROUP BY dept"
        )
        return [
            database.finish(found, [Fraction(low) for _ in database.ask(found)]).to_pylist() for _ in range(9)
        ]

    with ThreadPoolExecutor(4) as pool:
        for low, answers in enumerate(pool.map(run, range(4))):
            assert all(rows == answers[0] for rows in answers)
            assert {row["sum(salary)"] for row in answers[0]} == {low}  # type: ignore[attr-defined]


def test_a_plan_that_reads_values_is_not_run_as_public(database: Database) -> None:
    with pytest.raises(ValueError, match="protected"):
        database.run_public(plan(database, "SELECT SUM(salary) FROM staff"))
