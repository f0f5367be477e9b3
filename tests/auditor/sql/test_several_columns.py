"""Several protected columns and tables in one statement, and joins that repeat records."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest
from gate_double import Protection, answer, make, same_tables, understood

from auditor.data.database import Database, UnevenWeights
from auditor.errors import DatabaseError
from auditor.sql import Unsupported, understand

TABLES = """
CREATE TABLE staff AS SELECT i AS id, i % 5 AS team, i % 2 = 0 AS full_time,
    CASE WHEN i % 7 <> 0 THEN (i * 37 % 100) * 10 END AS salary, i * 11 % 40 AS bonus FROM range(60) t(i);
CREATE TABLE visits AS SELECT i // 2 AS staff_id, i % 3 AS clinic, (i * 53 % 90) / 2 AS charge
    FROM range(100) t(i);
CREATE TABLE teams AS SELECT i AS team, 'team ' || i AS name FROM range(5) t(i);
CREATE TABLE uneven AS SELECT i % 4 AS team, i AS n FROM range(9) t(i);
CREATE VIEW full_timers AS SELECT * FROM staff WHERE full_time;
CREATE VIEW paid (person, pay) AS SELECT id, salary FROM full_timers;
CREATE VIEW names AS SELECT name FROM teams;
"""
PROTECTS = [
    Protection("staff", "salary", "all", "id"),
    Protection("visits", "charge", ["staff_id", "clinic"]),
    Protection("staff", "bonus", "all"),
]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("several") / "data.duckdb", TABLES)


@pytest.fixture(scope="module")
def database(path: Path) -> Iterator[Database]:
    with Database.open(
        path, PROTECTS, public_tables=["teams", "uneven"], views=["paid", "full_timers", "names"]
    ) as opened:
        yield opened


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT SUM(salary), SUM(bonus), AVG(salary) + MAX(bonus), COUNT(salary), COUNT(bonus) FROM staff",
        "SELECT team, SUM(salary) + SUM(bonus) FROM staff GROUP BY team ORDER BY team",
        "SELECT SUM(salary) FROM staff WHERE bonus IS NOT NULL",
        "SELECT SUM(charge), SUM(bonus) FROM staff JOIN visits ON id = staff_id",
        "SELECT clinic, SUM(charge) FROM visits JOIN staff ON id = staff_id GROUP BY 1 ORDER BY 1",
        "SELECT (SELECT SUM(salary) FROM staff) - (SELECT SUM(charge) FROM visits)",
        "SELECT SUM(salary) FROM staff UNION ALL SELECT SUM(charge) FROM visits",
        "SELECT SUM(a), MAX(b) FROM (SELECT salary AS a, bonus AS b FROM staff WHERE team < 3)",
        "SELECT SUM(bonus), SUM(charge) FROM staff, visits",
        "SELECT AVG(pay) FROM paid WHERE person > 10",
        "SELECT SUM(salary), SUM(bonus) FROM full_timers f JOIN teams USING (team) WHERE name <> 'team 3'",
        "SELECT team, SUM(pay) FROM full_timers JOIN paid ON id = person GROUP BY team ORDER BY 1",
        "SELECT COUNT(*) FROM names",
        "WITH staff AS (SELECT 7 AS id) SELECT (SELECT SUM(id) FROM staff), SUM(pay) FROM paid",
        "SELECT SUM(salary) FROM staff JOIN uneven USING (team) WHERE n IN (1, 2, 3)",
        "SELECT team, SUM(salary), AVG(bonus) FROM staff JOIN uneven USING (team) GROUP BY team ORDER BY 1",
        "SELECT MAX(salary), MIN(salary) FROM staff JOIN uneven USING (team)",
    ],
)
def test_answers_equal_plain_duckdb(sql: str, database: Database, path: Path) -> None:
    with duckdb.connect(str(path), read_only=True) as plain:
        expected = plain.sql(sql).to_arrow_table()
    same_tables(
        answer(database, understood(database, sql)).rename_columns(expected.column_names),
        expected,
        "ORDER BY" in sql,
    )


def test_each_aggregate_says_which_column_it_is_of(database: Database) -> None:
    sql = "SELECT SUM(bonus), SUM(salary), MAX(charge) FROM staff JOIN visits ON id = staff_id"
    asked = database.ask(understood(database, sql))
    assert [database.schema.protected[each.protected].column for each in asked] == [
        "bonus",
        "salary",
        "charge",
    ]
    assert [len(each.records) for each in asked] == [50, 42, 100]
    assert [each.coefficient for each in asked] == [2, 2, 1]


def test_records_that_stand_on_both_sides_of_a_choice_cancel_out(database: Database) -> None:
    sql = "SELECT SUM(CASE WHEN t.team = 0 THEN salary WHEN t.team = 1 THEN -salary END) FROM staff, teams t"
    assert database.ask(understood(database, sql)) == []
    assert answer(database, understood(database, sql)).column(0).to_pylist() == [0]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT SUM(salary) FROM staff JOIN uneven USING (team)",
        "SELECT AVG(salary) FROM staff LEFT JOIN uneven USING (team)",
        "SELECT SUM(charge) FROM visits, staff WHERE id <= staff_id",
        "SELECT full_time, SUM(salary) FROM staff JOIN uneven USING (team) GROUP BY full_time",
        "SELECT SUM(CASE WHEN n < 2 THEN salary ELSE -salary END) FROM staff JOIN uneven USING (team)",
        "SELECT SUM(salary) FROM (FROM staff UNION ALL FROM staff WHERE team = 1)",
    ],
)
def test_records_that_a_join_repeats_unevenly_are_not_summed(sql: str, database: Database) -> None:
    with pytest.raises(UnevenWeights) as error:
        database.ask(understood(database, sql))
    assert error.value.code == "uneven"


def test_one_aggregate_of_two_protected_columns_is_not_understood(database: Database) -> None:
    for sql in (
        "SELECT SUM(salary + bonus) FROM staff",
        "SELECT SUM(CASE WHEN team = 1 THEN salary ELSE bonus END) FROM staff",
        "SELECT MAX(salary - charge) FROM staff JOIN visits ON id = staff_id",
    ):
        found = understand(sql, None, database.schema)
        assert isinstance(found, Unsupported)
        assert found.code == "two-columns"


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT SUM(salary) FROM staff WHERE bonus > 3", "protected-condition"),
        ("SELECT SUM(charge) FROM visits JOIN staff ON charge = salary", "protected-join"),
        ("SELECT SUM(salary) FROM staff GROUP BY bonus", "protected-group"),
        ("SELECT SUM(pay) FROM paid WHERE pay > 5", "protected-condition"),
        ("SELECT pay FROM paid", "row-level"),
        (
            "SELECT SUM(x) FROM (SELECT salary AS x FROM staff UNION ALL SELECT bonus FROM staff)",
            "set-operation",
        ),
        ("SELECT SUM(salary) FILTER (WHERE bonus > 3) FROM staff", "protected-condition"),
    ],
)
def test_no_protected_column_helps_to_select_another(sql: str, code: str, database: Database) -> None:
    found = understand(sql, None, database.schema)
    assert isinstance(found, Unsupported), sql
    assert found.code == code


def test_values_are_exact_and_numbered_by_column(database: Database) -> None:
    salary, charge, bonus = database.vaults
    assert (salary.size, charge.size, bonus.size) == (51, 100, 60)
    assert charge.scale == Fraction(1, 10)
    assert salary.keys is not None
    assert 0 not in salary.keys
    assert charge.keys is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"public_tables": ["full_timers"]}, "reads the protected table staff"),
        ({"public_tables": ["paid"]}, "reads the protected table staff"),
        ({"views": ["teams"]}, "not a view"),
        (
            {"protects": [PROTECTS[0], Protection("full_timers", "salary", "all")]},
            "reads the protected table",
        ),
        ({"protects": [PROTECTS[0], PROTECTS[0]]}, "protected twice"),
        ({"protects": [PROTECTS[0], Protection("staff", "bonus", ["team"])]}, "different public columns"),
        ({"protects": [PROTECTS[2], Protection("staff", "salary", "all", "nobody")]}, "no column nobody"),
        ({"protects": [Protection("staff", "salary", ["id"])], "views": ["full_timers"]}, "full_time"),
    ],
)
def test_what_would_count_values_apart_is_an_error(
    path: Path, changes: dict[str, object], words: str
) -> None:
    given = {"protects": PROTECTS, "public_tables": ["teams"], "views": [], **changes}
    protects = given.pop("protects")
    with pytest.raises(DatabaseError, match=words):
        Database.open(path, protects, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("column", ["twice", "more"])
def test_a_column_computed_from_a_protected_one_is_not_public(column: str, tmp_path: Path) -> None:
    path = make(
        tmp_path / "t.duckdb",
        "CREATE TABLE staff (id INTEGER, salary INTEGER, twice INTEGER AS (salary * 2), "
        "more INTEGER AS (twice + 1), other INTEGER AS (id + 1)); "
        "INSERT INTO staff (id, salary) SELECT i, i * 37 % 90 FROM range(40) t(i)",
    )
    for public in ("all", ["id", column]):
        with pytest.raises(DatabaseError, match="computed from a protected column"):
            Database.open(path, [Protection("staff", "salary", public)])
    Database.open(path, [Protection("staff", "salary", ["id", "other"])]).close()
