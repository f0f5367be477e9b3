"""What is asked: query sets, coefficients and groups, and that nothing else of the values is read."""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest
from gate_double import answer, make, open_staff, same_tables, statements, understood

from auditor.data.database import Database
from auditor.sql import Unsupported, understand

SUMS = "(SELECT dept AS d, SUM(salary) AS s FROM staff GROUP BY dept)"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("lowering") / "staff.duckdb")


@pytest.fixture(scope="module")
def database(path: Path) -> Iterator[Database]:
    with open_staff(path) as opened:
        yield opened


def groups_asked(database: Database, sql: str) -> int:
    return len(database.ask(understood(database, sql)))


def test_query_sets_are_sorted_numbers_of_records_with_a_value(database: Database) -> None:
    (asked,) = database.ask(understood(database, "SELECT SUM(salary) FROM staff"))
    assert asked.kind == "sum"
    assert asked.records.tolist() == list(range(database.vaults[0].size))
    assert asked.signs is None


@pytest.mark.parametrize(
    ("expression", "kind", "coefficient", "offset", "divisor"),
    [
        ("SUM(2 * salary + 3)", "sum", 2, 3 * 106, 1),
        ("SUM(-salary)", "sum", -1, 0, 1),
        ("AVG(salary)", "sum", 1, 0, 106),
        ("AVG(salary / 4 - 1)", "sum", Fraction(1, 4), -106, 106),
        ("AVG(COALESCE(salary, 5))", "sum", 1, 70, 120),
        ("MAX(-salary)", "min", -1, 0, 1),
        ("MIN(3 - 2 * salary)", "max", -2, 3, 1),
        ("MAX(salary * 0.5)", "max", Fraction(1, 2), 0, 1),
    ],
)
def test_values_follow_from_sums_and_extremes(
    database: Database, expression: str, kind: str, coefficient: Fraction, offset: Fraction, divisor: int
) -> None:
    (asked,) = database.ask(understood(database, f"SELECT {expression} FROM staff"))
    assert (asked.kind, asked.coefficient, asked.offset, asked.divisor) == (
        kind,
        coefficient,
        offset,
        divisor,
    )


def test_signs_may_differ(database: Database) -> None:
    (asked,) = database.ask(
        understood(
            database, "SELECT SUM(CASE WHEN sex = 'f' THEN 3 * salary ELSE -3 * salary END) FROM staff"
        )
    )
    assert asked.signs is not None
    assert set(asked.signs.tolist()) == {1, -1}
    assert asked.coefficient == 3
    assert (asked.records[1:] > asked.records[:-1]).all()


def test_groups_without_records_are_null_unasked(database: Database) -> None:
    plan = understood(database, "SELECT SUM(salary), COUNT(*) FROM staff WHERE salary IS NULL")
    assert database.ask(plan) == []
    assert database.finish(plan, []).to_pylist() == [{"sum(salary)": None, "count_star()": 14}]


@pytest.mark.parametrize(
    ("sql", "asked"),
    [
        ("SELECT dept, SUM(salary) FROM staff GROUP BY dept", 5),
        ("SELECT dept, SUM(salary) FROM staff GROUP BY dept HAVING COUNT(*) >= 28", 1),
        ("SELECT dept, SUM(salary) FROM staff GROUP BY dept HAVING dept = 'IT' AND SUM(salary) > 0", 1),
        ("SELECT dept, SUM(salary) FROM staff GROUP BY dept HAVING dept = 'IT' OR SUM(salary) > 0", 5),
        ("SELECT dept, SUM(salary) FROM staff GROUP BY dept HAVING SUM(salary) > 1e9", 5),
        ("SELECT dept, SUM(salary) FROM staff GROUP BY dept LIMIT 2", 5),
        ("SELECT dept, SUM(salary) FROM staff GROUP BY dept ORDER BY 2 LIMIT 2", 5),
        ("SELECT dept, SUM(salary) FROM staff GROUP BY dept ORDER BY dept LIMIT 2", 2),
        ("SELECT dept AS d, SUM(salary) FROM staff GROUP BY d ORDER BY COUNT(*), d LIMIT 2 OFFSET 1", 2),
        ("SELECT dept, SUM(salary) FROM staff GROUP BY dept ORDER BY COUNT(*) LIMIT 2", 5),
        ("SELECT dept, SUM(salary) FROM staff GROUP BY dept HAVING SUM(salary) > 1 ORDER BY dept LIMIT 2", 5),
        (
            f"SELECT * FROM {SUMS} WHERE d = 'IT' AND s > 1",
            1,
        ),
        (
            f"SELECT * FROM {SUMS} WHERE d = 'IT' OR s > 1",
            5,
        ),
        (
            f"WITH t AS {SUMS} SELECT s FROM t WHERE d = 'IT'",
            1,
        ),
        (
            f"WITH t AS {SUMS} SELECT s FROM t WHERE d = 'IT' AND s < (SELECT MAX(s) FROM t)",
            5,
        ),
        (
            f"SELECT s FROM regions LEFT JOIN {SUMS} t ON t.d = regions.dept WHERE t.d IS NULL",
            5,
        ),
        ("SELECT SUM(salary) + SUM(salary) FROM staff", 1),
    ],
)
def test_groups_that_public_filters_remove_are_not_asked(
    database: Database, path: Path, sql: str, asked: int
) -> None:
    assert groups_asked(database, sql) == asked
    # Three departments have equally many members: which two of them are least DuckDB chooses afresh.
    tied = "ORDER BY COUNT(*) LIMIT" in sql
    if "LIMIT" not in sql or ("ORDER BY" in sql and not tied):
        with duckdb.connect(str(path), read_only=True) as plain:
            names = [str(row[0]) for row in plain.sql(f"DESCRIBE {sql}").fetchall()]
            expected = plain.sql(sql).to_arrow_table().rename_columns(names)
        same_tables(answer(database, understood(database, sql)), expected, ordered=False)


@pytest.mark.slow
def test_nothing_depends_on_the_values_but_the_values(tmp_path: Path) -> None:
    """Another table with the values shuffled among the records asks the same of every statement."""
    shuffled = make(tmp_path / "b.duckdb")
    with duckdb.connect(str(shuffled)) as connection:
        held = connection.execute("SELECT id, salary FROM staff WHERE salary IS NOT NULL").fetchall()
        values = [salary for _, salary in held]
        random.Random(7).shuffle(values)
        for (number, _), salary in zip(held, values, strict=True):
            connection.execute("UPDATE staff SET salary = ? WHERE id = ?", [salary, number])
    with open_staff(make(tmp_path / "a.duckdb")) as one, open_staff(shuffled) as other:
        assert one.vaults[0].integers.tolist() != other.vaults[0].integers.tolist()
        for sql in statements("understood.sql"):
            plan = understood(one, sql)
            first, second = one.ask(plan), other.ask(plan)
            assert [_seen(asked) for asked in first] == [_seen(asked) for asked in second]
            # With the same numbers in, the same rows come out: the final statement reads nothing else.
            numbers = [Fraction(1000 + i) for i in range(len(first))]
            same_tables(one.finish(plan, numbers), other.finish(plan, numbers), ordered=False)


def _seen(asked: object) -> tuple[object, ...]:
    found = dict(vars(asked))
    found["records"] = found["records"].tolist()
    found["signs"] = None if found["signs"] is None else found["signs"].tolist()
    return tuple(found.values())


@pytest.mark.parametrize(
    ("sql", "parameters"),
    [
        ("SELECT SUM(salary) FROM staff WHERE age > ? AND dept = ?", [30, "IT"]),
        ("SELECT SUM(salary) FROM staff WHERE dept = $2 AND age > $1", [30, "IT"]),
        ("SELECT SUM(salary) FROM staff WHERE age > $low AND age < $high", {"low": 30, "high": 40}),
        ("SELECT SUM(salary) FROM staff WHERE hired > ?", [datetime.date(2019, 5, 1)]),
        ("SELECT SUM(salary) FROM staff WHERE hired > ?", [datetime.datetime(2019, 5, 1, 12, 30)]),
        ("SELECT SUM(salary) FROM staff WHERE bonus > ?", [Decimal("-1.25")]),
        ("SELECT SUM(salary) FROM staff WHERE bonus > ?", [12.5]),
        ("SELECT SUM(salary) FROM staff WHERE active = ?", [True]),
        ("SELECT SUM(salary) FROM staff WHERE dept IS NOT DISTINCT FROM ?", [None]),
        ('SELECT SUM(salary) FROM staff WHERE "Büro Ort" = ?', ["O'Fallon"]),
        ("SELECT SUM(salary) FROM staff WHERE dept <> ?", ["\\'; DROP TABLE staff; --"]),
        (
            "SELECT SUM(CASE WHEN age > ? THEN salary END), ? FROM staff WHERE age < ? LIMIT ?",
            [30, "x", 60, 5],
        ),
        ("SELECT dept, SUM(salary) FROM staff GROUP BY dept HAVING COUNT(*) > ? ORDER BY dept", [20]),
        (
            "WITH a AS (SELECT * FROM staff WHERE age > ?) SELECT ?, SUM(salary) FROM a WHERE age < ?",
            [30, -5, 50],
        ),
    ],
)
def test_parameters(database: Database, path: Path, sql: str, parameters: object) -> None:
    plan = understood(database, sql, parameters)
    with duckdb.connect(str(path), read_only=True) as plain:
        expected = plain.execute(sql, parameters).fetchall()
    got = answer(database, plan)
    rows = [tuple(row) for row in zip(*(column.to_pylist() for column in got.columns), strict=True)]
    assert rows == expected


@pytest.mark.parametrize(
    ("sql", "parameters"),
    [
        ("SELECT ?", None),
        ("SELECT ?, ?", [1]),
        ("SELECT ?", [1, 2]),
        ("SELECT 1", [1]),
        ("SELECT $a", {"b": 1}),
        ("SELECT $a", {"a": 1, "b": 2}),
        ("SELECT ?, $1", [1]),
        ("SELECT ?", [[1, 2]]),
        ("SELECT ?", [object()]),
    ],
)
def test_parameters_that_do_not_fit(database: Database, sql: str, parameters: object) -> None:
    verdict = understand(sql, parameters, database.schema)  # type: ignore[arg-type]
    assert isinstance(verdict, Unsupported)
    assert verdict.code == "parameters"


@pytest.mark.parametrize(
    "literal",
    [
        "'it''s'",
        "'a\\'",
        "'\\''; --'",
        "$$it's$$",
        "$x$a'b$x$",
        "'\n'",
        "'ü/*'",
        "'--'",
        "'a\"b'",
        "'$1'",
        "'?'",
        "''",
    ],
)
def test_texts_reach_duckdb_as_they_are(database: Database, path: Path, literal: str) -> None:
    sql = f"SELECT {literal} AS t, SUM(salary) FROM staff WHERE dept <> {literal}"
    verdict = understand(sql, None, database.schema)
    with duckdb.connect(str(path), read_only=True) as plain:
        try:
            expected = plain.execute(sql).fetchall()
        except duckdb.ParserException:
            assert isinstance(verdict, Unsupported)
            return
    assert not isinstance(verdict, Unsupported), verdict
    got = answer(database, verdict)
    assert [tuple(row.values()) for row in got.to_pylist()] == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "SELECT SUM(salary) FROM staff WHERE age>30",
            "select  sum(Salary)\nfrom STAFF /* x */ where AGE > 30 -- y",
        ),
        ("SELECT SUM(salary) FROM staff;", "SELECT SUM(salary) FROM main.staff"),
        (
            "SELECT dept, SUM(salary) FROM staff GROUP BY 1",
            "SELECT dept, SUM(salary) FROM staff GROUP BY dept",
        ),
    ],
)
def test_normalised_text_is_one_for_equal_statements(database: Database, one: str, other: str) -> None:
    assert understood(database, one).normalised == understood(database, other).normalised


def test_normalised_text_tells_parameters_apart(database: Database) -> None:
    sql = "SELECT SUM(salary) FROM staff WHERE age > ?"
    assert understood(database, sql, [30]).normalised != understood(database, sql, [31]).normalised
    assert (
        understood(database, sql, [30]).normalised == understood(database, sql.replace("?", "30")).normalised
    )


@pytest.mark.slow
def test_foreign_corpora_are_classified_without_a_crash(database: Database, shared_data: Path) -> None:
    texts = []
    for file in sorted((shared_data / "sql").glob("**/*.sql")):
        whole = file.read_text("utf-8")
        texts += [whole, *whole.split(";"), *whole.splitlines()]
    assert texts
    for text in texts:
        verdict = understand(text, None, database.schema)
        assert not isinstance(verdict, Unsupported) or verdict.message
