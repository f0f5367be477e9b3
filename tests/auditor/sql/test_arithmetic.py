"""Arithmetic inside of AT_LEAST and AT_MOST: read in both dialects, and held against DuckDB's own value."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from auditor.data.database import Database, StatementFailed
from auditor.sql import Dialect, Plan, Unsupported, understand
from auditor.sql.statement import Term
from tests.auditor.sql.gate_double import answer, compute, make, open_staff, understood

Ends = tuple[Fraction, Fraction]

EXACT = ["sum(salary)", "avg(salary)", "max(salary)", "min(salary)", "sum(salary) FILTER (WHERE sex = 'f')"]
RANGED = ["count(*) FILTER (WHERE salary >= 300)", "sum(CASE WHEN salary < 200 THEN 1 ELSE 0 END)"]
PUBLIC = ["count(*)", "sum(age)", "avg(age)", "(count(*) - 10)"]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(Path(tmp_path_factory.mktemp("arithmetic")) / "staff.duckdb")


@pytest.fixture(scope="module")
def database(path: Path) -> Database:
    return open_staff(path)


def expression(chance: random.Random, leaves: list[str], depth: int) -> str:
    """A random expression that both dialects have."""
    if depth == 0 or chance.random() < 0.15:
        return chance.choice([*leaves, *leaves, *PUBLIC, "3", "2.5", "-7"])
    left, right = (expression(chance, leaves, depth - 1) for _ in range(2))
    return chance.choice(
        [
            f"({left} + {right})",
            f"({left} - {right})",
            f"({left} * {chance.choice(['2', '-0.5', *PUBLIC])})",
            f"({left} * {right})",
            f"(1.0 * {left} / {chance.choice(['4', '-3', *PUBLIC, right])})",
            f"(- {left})",
            f"round(CAST({left} AS DECIMAL(30, 4)), {chance.randrange(-1, 3)})",
            f"CAST({left} AS DOUBLE PRECISION)",
            f"coalesce({left}, {chance.choice(['0', '5'])})",
            f"nullif({left}, {chance.choice(['0', '5'])})",
        ]
    )


def with_ends(database: Database, plan: Plan, chance: random.Random) -> list[dict[str, object]]:
    """The answer where of some aggregates an interval around the value is told, and of some nothing."""
    values, ends = list[Fraction | None](), list[Ends | None]()
    for asked in database.ask(plan):
        x = compute(database, asked)
        told = asked.value(x)
        exact = chance.random() < 0.3 and asked.statistic is None
        below, above = (Fraction(chance.choice([0, 1, 40, 5000])) for _ in range(2))
        lost = chance.random() < 0.05
        values.append(x if exact else None)
        ends.append((told, told) if exact else None if lost else (told - below, told + above))
    rows: list[dict[str, object]] = database.finish(plan, values, None, ends).to_pylist()
    return rows


def is_inside(low: object, value: object, high: object) -> bool:
    """Whether a value lies between two ends, but for the last digits, which the engine rounds."""
    if low is None or high is None:
        return low is high
    if value is None:
        return False
    low, value, high = (float(each) for each in (low, value, high))  # type: ignore[arg-type]
    if not math.isfinite(value):
        return True  # a divisor that is 0
    slack = 1e-9 * max(1.0, abs(value), abs(low), abs(high))
    return low - slack <= value <= high + slack


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_the_engines_value_lies_between_the_ends(seed: int, database: Database, path: Path) -> None:
    chance, told = random.Random(seed), 0
    for _ in range(12):
        text = expression(chance, EXACT + RANGED, 3)
        if not any(each in text for each in EXACT + RANGED):
            continue
        kind = chance.choice(["dept", "sex", "dept, sex"])
        ask = f"SELECT {kind}, AT_LEAST({text}) AS low, AT_MOST({text}) AS high FROM staff GROUP BY {kind}"
        plan = understood(database, f"{ask} ORDER BY ALL")
        with duckdb.connect(str(path), read_only=True) as connection:
            sql = f"SELECT {kind}, CAST({text} AS DOUBLE) FROM staff GROUP BY {kind}"
            try:
                plain = {row[:-1]: row[-1] for row in connection.execute(sql).fetchall()}
            except duckdb.Error:
                continue  # a DECIMAL that is too narrow
        for row in with_ends(database, plan, chance):
            *keys, low, high = row.values()
            assert is_inside(low, plain[tuple(keys)], high), (text, row, plain[tuple(keys)])
            told += low is not None
    assert told


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
def test_of_exact_values_both_ends_are_the_value(dialect: Dialect, seed: int, database: Database) -> None:
    chance, compared = random.Random(seed), 0
    for _ in range(12):
        text = expression(chance, EXACT, 2)
        shown = [f"AT_LEAST({text})", f"AT_MOST({text})", f"CAST({text} AS DOUBLE PRECISION)"]
        columns = ", ".join(f"{each} AS c{i}" for i, each in enumerate(shown))
        found = understand(
            f"SELECT dept, {columns} FROM staff GROUP BY dept ORDER BY dept", None, database.schema, dialect
        )
        if isinstance(found, Unsupported):
            assert found.code in ("range-argument", "dialect", "too-large"), found
            continue
        try:
            rows = answer(database, found).to_pylist()
        except StatementFailed:
            continue  # PostgreSQL's own error, where a divisor is 0
        for row in rows:
            assert row["c0"] == row["c1"] or (row["c0"] != row["c0"] and row["c1"] != row["c1"])
            if row["c2"] is not None and row["c0"] is not None and math.isfinite(row["c2"]):
                assert math.isclose(row["c0"], row["c2"], rel_tol=1e-9, abs_tol=1e-9), (text, row)
                compared += 1
    assert compared


@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT dept, {0} AS a FROM staff GROUP BY dept HAVING {0} > 100 ORDER BY {0}, dept",
        "SELECT d, a FROM (SELECT dept AS d, {0} AS a FROM staff GROUP BY dept) q WHERE d <> 'IT' ORDER BY d",
        "WITH q AS (SELECT sex, {0} AS a FROM staff GROUP BY sex) SELECT max(a) - min(a) AS spread FROM q",
        "SELECT dept, rank() OVER (ORDER BY {0} DESC) AS r FROM staff GROUP BY dept ORDER BY dept",
        "SELECT dept, sex, {0} AS a FROM staff GROUP BY ROLLUP (dept, sex) ORDER BY a, dept, sex",
        "SELECT id FROM staff WHERE age > (SELECT {0} FROM staff) / 1000 ORDER BY id",
        "SELECT {1} AS a FROM (SELECT dept, sum(salary) AS s, count(*) AS n FROM staff GROUP BY dept) q",
    ],
)
def test_it_may_stand_where_an_aggregate_may(sql: str, dialect: Dialect, database: Database) -> None:
    if dialect == "postgres" and "{1}" in sql:
        pytest.skip("a derived sum of whole numbers is cast there, and a cast of a sum is not passed on")
    inside, passed = "2.0 * sum(salary) / count(*) - min(salary)", "2.0 * s / n"
    tables = []
    for word in ("AT_LEAST", "at_most"):
        text = sql.format(f"{word}({inside})", f"{word}({passed})")
        plan = understand(text, None, database.schema, dialect)
        assert isinstance(plan, Plan), plan
        assert not plan.shows_any
        assert plan.asks_ranges
        tables.append(sorted(map(repr, answer(database, plan).to_pylist())))
    assert tables[0] == tables[1]
    assert tables[0]


def test_a_group_key_is_a_factor_and_any_other_column_is_not(database: Database) -> None:
    plan = understood(database, "SELECT age, AT_LEAST(sum(salary) * age) AS a FROM staff GROUP BY age")
    for row in answer(database, plan).to_pylist():
        assert row["a"] is None or row["a"] > 0
    found = understand("SELECT AT_LEAST(sum(salary) * age) FROM staff", None, database.schema)
    assert isinstance(found, Unsupported)


def test_nothing_is_said_where_of_one_part_nothing_is_told(database: Database) -> None:
    sql = "SELECT AT_LEAST(coalesce(sum(salary), 0) + max(salary)) AS low FROM staff"
    plan = understood(database, sql)
    first, second = (each.value(compute(database, each)) for each in database.ask(plan))
    table = database.finish(plan, [None, None], None, [None, (second, second)])
    assert table.to_pylist() == [{"low": None}]
    table = database.finish(plan, [None, None], None, [(first, first + 1), (second, second)])
    assert table.to_pylist() == [{"low": float(first + second)}]


def test_one_aggregate_in_several_places_is_asked_once(database: Database) -> None:
    sql = "SELECT AT_LEAST(sum(salary) / 2), AT_MOST(sum(salary) + 1), AT_MOST(sum(salary)) FROM staff"
    assert len(database.ask(understood(database, sql))) == 1


def test_positions_of_what_a_term_reads() -> None:
    term = Term("add", (Term("told", place=2), Term("multiply", (Term("public", place=1), Term("told")))))
    assert (term.places("told"), term.places("public")) == ({0, 2}, {1})
