"""Histograms of a protected column by fixed bins: counts, one row for each bin, held against DuckDB."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from auditor.data.database import Database
from auditor.sql import Dialect, Plan, Schema, Unsupported, understand
from tests.auditor.sql.gate_double import STAFF, answer, make, open_staff

WHOLE = STAFF.replace("salary DECIMAL(10,2)", "salary INTEGER").replace(
    "(1000 + hash(i) % 90000) / 100", "hash(i) % 400"
)
CASE = "CASE WHEN salary < 100 THEN 'low' WHEN salary BETWEEN 100 AND 250 THEN 'middle' ELSE 'high' END"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(Path(tmp_path_factory.mktemp("bins")) / "staff.duckdb", WHOLE)


@pytest.fixture(scope="module")
def database(path: Path) -> Database:
    return open_staff(path)


@pytest.fixture(scope="module")
def schema(database: Database) -> Schema:
    (protected,) = database.schema.protected
    return replace(database.schema, protected=(replace(protected, least=Fraction(0), most=Fraction(499)),))


def counted(rows: list[tuple[object, ...]]) -> dict[tuple[object, ...], float]:
    return {row[:-1]: float(row[-1]) for row in rows if row[-1]}  # type: ignore[arg-type]


KEYS = [
    CASE,
    "CASE WHEN salary < 100 THEN 1 WHEN salary > 300 THEN 3 END",
    "CASE WHEN salary >= 200 THEN 'yes' ELSE 'no' END",
    "CASE WHEN salary < 50 THEN 'edge' WHEN salary < 350 THEN 'middle' ELSE 'edge' END",
    "CASE WHEN salary < 50 OR NOT salary < 300 THEN 'far' WHEN salary IN (60, 61) THEN 'odd' ELSE 'near' END",
    "CASE WHEN salary < 200 THEN 'a' WHEN salary >= 200 THEN 'b' END",
    "CASE WHEN salary < 200 THEN 'a' WHEN salary >= 200 THEN 'b' ELSE 'none' END",
    "CASE WHEN salary >= 0 OR salary < 0 THEN 'all' ELSE 'none' END",
    "salary // 100",
    "salary // 150 * 150",
    "floor(salary / 70)",
    "50 * floor(salary / 50)",
    "salary - salary % 70",
]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("count", ["COUNT(*)", "COUNT(salary)", "COUNT(*) FILTER (WHERE age > 30)"])
@pytest.mark.parametrize("others", ["", "dept, "])
def test_each_bin_has_duckdbs_count(
    key: str, count: str, others: str, database: Database, schema: Schema, path: Path
) -> None:
    sql = f"SELECT {others}{key} AS bin, {{0}} AS n FROM staff WHERE age < 60 GROUP BY {others}bin"
    plan = understand(sql.format(f"AT_LEAST({count})"), None, schema)
    assert isinstance(plan, Plan), plan
    assert not plan.shows_any
    table = answer(database, plan)
    rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    with duckdb.connect(str(path), read_only=True) as connection:
        plain = connection.execute(sql.format(f"CAST({count} AS DOUBLE)"))
        assert table.column_names == [each[0] for each in plain.description or ()]
        assert counted(rows) == counted(plain.fetchall())
    assert len(rows) == len({row[:-1] for row in rows})


@pytest.mark.parametrize("key", ["salary // 100", CASE])
@pytest.mark.parametrize(
    ("with_", "source"),
    [
        ("", "(SELECT * FROM staff WHERE age > 30) AS s"),
        ("WITH s AS (SELECT * FROM staff WHERE age > 30) ", "s"),
        ("", "staff JOIN (SELECT 1 AS one) AS o ON age < 50"),
    ],
)
def test_bins_of_derived_tables_with_queries_and_joins_have_duckdbs_counts(
    key: str, with_: str, source: str, database: Database, schema: Schema, path: Path
) -> None:
    sql = f"{with_}SELECT {key} AS bin, {{}} AS n FROM {source} GROUP BY bin ORDER BY bin"
    plan = understand(sql.format("AT_MOST(COUNT(*))"), None, schema)
    assert isinstance(plan, Plan), plan
    rows = list(zip(*(column.to_pylist() for column in answer(database, plan).columns), strict=True))
    with duckdb.connect(str(path), read_only=True) as connection:
        assert counted(rows) == counted(connection.execute(sql.format("COUNT(*)")).fetchall())


def condition(chance: random.Random) -> str:
    sign, number = chance.choice(["<", "<=", ">", ">=", "=", "<>"]), chance.randrange(450)
    more = chance.choice(["", "", f" AND salary > {chance.randrange(300)}"])
    return f"salary {sign} {number}{more}"


@pytest.mark.slow
def test_random_bins_have_duckdbs_counts(database: Database, schema: Schema, path: Path) -> None:
    chance = random.Random(4)
    for _ in range(25):
        branches = " ".join(
            f"WHEN {condition(chance)} THEN '{chance.choice('abcd')}'" for _ in range(chance.randrange(1, 5))
        )
        key = f"CASE {branches} {chance.choice(['', chr(69) + 'LSE ' + repr('d')])} END"
        plan = understand(f"SELECT {key} AS b, AT_MOST(COUNT(*)) FROM staff GROUP BY 1", None, schema)
        assert isinstance(plan, Plan), (key, plan)
        rows = list(zip(*(column.to_pylist() for column in answer(database, plan).columns), strict=True))
        with duckdb.connect(str(path), read_only=True) as connection:
            plain = connection.execute(f"SELECT {key} AS b, COUNT(*) FROM staff GROUP BY 1").fetchall()
        assert counted(rows) == counted(plain), key


@pytest.mark.parametrize("key", ["salary // 100", "CASE WHEN salary >= 0 OR salary < 0 THEN 'all' END"])
@pytest.mark.parametrize(
    "share",
    [
        "1.0 * COUNT(*) FILTER (WHERE age > 30) / COUNT(*)",
        "COUNT(*) - COUNT(*) FILTER (WHERE age > 30)",
        "COUNT(*) + COUNT(salary) + COUNT(*)",
    ],
)
def test_several_counts_of_one_bin_are_each_of_that_bin(
    share: str, key: str, database: Database, schema: Schema, path: Path
) -> None:
    sql = f"SELECT {key} AS bin, {{0}} AS n FROM staff GROUP BY bin"
    plan = understand(sql.format(f"AT_LEAST({share})"), None, schema)
    assert isinstance(plan, Plan), plan
    told = {row["bin"]: row["n"] for row in answer(database, plan).to_pylist()}
    with duckdb.connect(str(path), read_only=True) as connection:
        true = dict(connection.execute(sql.format(f"CAST({share} AS DOUBLE)")).fetchall())
    assert true.get(None)
    assert {each: told[each] for each in true} == pytest.approx(true)


def test_a_bin_that_is_empty_is_a_row_as_well(database: Database, schema: Schema) -> None:
    sql = "SELECT salary // 100 AS bin, AT_MOST(COUNT(*)) AS n FROM staff GROUP BY bin ORDER BY bin DESC"
    plan = understand(sql, None, schema)
    assert isinstance(plan, Plan)
    rows = answer(database, plan).to_pylist()
    assert [row["bin"] for row in rows if row["bin"] is not None] == [4, 3, 2, 1, 0]
    assert next(row["n"] for row in rows if row["bin"] == 4) == 0


@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
def test_order_having_and_arithmetic_go_with_it(dialect: Dialect, database: Database, schema: Schema) -> None:
    sql = (
        f"SELECT {CASE} AS bin, AT_LEAST(100.0 * COUNT(*) / 120) AS share FROM staff GROUP BY 1 "
        "HAVING AT_LEAST(COUNT(*)) > 20 ORDER BY 2 DESC"
    )
    plan = understand(sql, None, schema, dialect)
    assert isinstance(plan, Plan), plan
    shares = [row["share"] for row in answer(database, plan).to_pylist()]
    assert shares == sorted(shares, reverse=True)
    assert shares
    assert min(shares) > 100 * 20 / 120


@pytest.mark.parametrize("key", ["salary / 100", "floor(salary / 100)", "salary / 100 * 100", CASE])
def test_postgres_has_bins_too(key: str, database: Database, schema: Schema) -> None:
    sql = f"SELECT {key} AS bin, AT_LEAST(COUNT(*)) FROM staff GROUP BY 1"
    plan = understand(sql, None, schema, "postgres")
    assert isinstance(plan, Plan), plan
    assert len(answer(database, plan)) >= 3


@pytest.mark.parametrize("count", ["COUNT(*)", "COUNT(salary)", "AT_LEAST(COUNT(*)), COUNT(*)"])
def test_without_the_two_functions_it_is_told_as_a_range_alone(count: str, schema: Schema) -> None:
    found = understand(f"SELECT {CASE} AS bin, {count} FROM staff GROUP BY bin", None, schema)
    assert isinstance(found, Unsupported)
    assert found.code == "range"


OTHER = [
    "SELECT salary AS bin, AT_LEAST(COUNT(*)) FROM staff GROUP BY bin",
    "SELECT salary // 1 AS bin, AT_LEAST(COUNT(*)) FROM staff GROUP BY bin",
    "SELECT salary // age AS bin, AT_LEAST(COUNT(*)) FROM staff GROUP BY bin, age",
    "SELECT salary // -5 AS bin, AT_LEAST(COUNT(*)) FROM staff GROUP BY bin",
    "SELECT salary % 5 AS bin, AT_LEAST(COUNT(*)) FROM staff GROUP BY bin",
    f"SELECT {CASE} AS bin, AVG(age) FROM staff GROUP BY bin",
    f"SELECT {CASE} AS bin, AT_LEAST(AVG(salary)) FROM staff GROUP BY bin",
    f"SELECT {CASE} AS bin, AT_LEAST(COUNT(DISTINCT age)) FROM staff GROUP BY bin",
    f"SELECT {CASE} AS bin, AT_LEAST(COUNT(age)) FROM staff GROUP BY bin",
    f"SELECT {CASE} AS bin, AT_LEAST(COUNT(*)) FROM staff GROUP BY bin LIMIT 1",
    f"SELECT {CASE} AS bin, AT_LEAST(COUNT(*)) FROM staff GROUP BY bin ORDER BY MIN(age)",
    f"SELECT DISTINCT {CASE} AS bin, AT_LEAST(COUNT(*)) FROM staff GROUP BY bin",
    f"SELECT {CASE} AS bin, AT_LEAST(COUNT(*)) FROM staff GROUP BY ROLLUP ({CASE})",
    "SELECT CASE WHEN salary < age THEN 1 ELSE 2 END AS bin, AT_LEAST(COUNT(*)) FROM staff GROUP BY bin, age",
    "SELECT CASE WHEN salary < 5 THEN salary ELSE 2 END AS bin, AT_LEAST(COUNT(*)) FROM staff GROUP BY bin",
    f"SELECT {CASE} AS bin, AT_LEAST(SUM(COUNT(*)) OVER ()) FROM staff GROUP BY bin",
    f"SELECT {CASE} AS bin, AT_LEAST(COUNT(*)) FROM staff WHERE salary > 3 GROUP BY bin",
    f"SELECT {CASE} AS bin, salary FROM staff GROUP BY bin, salary",
    f"SELECT {CASE} AS bin, AT_LEAST(COUNT(*) FILTER (WHERE salary > 3)) FROM staff GROUP BY bin",
]


@pytest.mark.parametrize(
    "rest",
    [
        f"{CASE} AS bin FROM staff GROUP BY bin",
        "salary // 100 AS bin FROM staff GROUP BY bin",
        f"dept, {CASE} AS bin FROM staff GROUP BY dept, bin",
        f"{CASE} AS bin FROM staff GROUP BY bin HAVING AT_LEAST(COUNT(*)) > 3",
        f"{CASE} AS bin, EXISTS (SELECT AT_LEAST(COUNT(*)) FROM staff) AS some FROM staff GROUP BY bin",
    ],
)
def test_bins_that_show_no_count_are_refused_with_a_hint(rest: str, schema: Schema) -> None:
    refusal = understand(f"SELECT {rest}", None, schema)
    assert isinstance(refusal, Unsupported), refusal
    assert refusal.code == "protected-group"
    assert "show AT_LEAST(COUNT(*))" in refusal.hint


@pytest.mark.parametrize("sql", OTHER)
def test_other_groups_by_the_value_stay_refused(sql: str, schema: Schema) -> None:
    assert isinstance(understand(sql, None, schema), Unsupported)


def test_without_a_domain_there_are_no_bins_of_a_quotient(database: Database) -> None:
    sql = "SELECT salary // 100 AS bin, AT_LEAST(COUNT(*)) FROM staff GROUP BY bin"
    found = understand(sql, None, database.schema)
    assert isinstance(found, Unsupported)


def test_fractions_are_not_divided_into_bins(tmp_path: Path) -> None:
    schema = open_staff(make(tmp_path / "staff.duckdb")).schema
    (protected,) = schema.protected
    known = replace(schema, protected=(replace(protected, least=Fraction(0), most=Fraction(900)),))
    sql = "SELECT {0} AS bin, AT_LEAST(COUNT(*)) FROM staff GROUP BY bin"
    assert isinstance(understand(sql.format("floor(salary / 100)"), None, known), Unsupported)
    assert isinstance(understand(sql.format(CASE), None, known), Plan)


@pytest.mark.slow
def test_every_value_of_a_small_domain_is_a_bin_of_its_own(tmp_path: Path) -> None:
    """Of a large domain, and without a count, it stays a group by the value."""
    path = make(tmp_path / "few.duckdb", WHOLE.replace("hash(i) % 400", "(hash(i) % 9)::INTEGER * 10 - 20"))
    schema = open_staff(path).schema
    (protected,) = schema.protected
    few = replace(protected, least=Fraction(-20), most=Fraction(80), grid=Fraction(10))
    schema = replace(schema, protected=(few,))
    sql = "SELECT salary, AT_LEAST(COUNT(*)) AS n FROM staff GROUP BY salary ORDER BY salary"
    plan = understand(sql, None, schema)
    assert isinstance(plan, Plan), plan
    with duckdb.connect(str(path), read_only=True) as plain:
        expected = dict(plain.execute("SELECT salary, COUNT(*) FROM staff GROUP BY salary").fetchall())
    table = answer(open_staff(path), plan)
    told = dict(zip(*(column.to_pylist() for column in table.columns), strict=True))
    assert {each: count for each, count in told.items() if count} == expected
    assert set(range(-20, 90, 10)) <= told.keys()
    for other, least in ((few, Fraction(-20_000)), (replace(few, grid=None), Fraction(-20))):
        unread = replace(schema, protected=(replace(other, least=least),))
        refusal = understand(sql, None, unread)
        assert isinstance(refusal, Unsupported)
        assert refusal.code in ("protected-group", "row-level")
    exact = understand("SELECT salary, COUNT(*) AS n FROM staff GROUP BY salary", None, schema)
    assert isinstance(exact, Unsupported)
    assert exact.code == "range"
