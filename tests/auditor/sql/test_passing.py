"""What is grouped publicly passes groups on: they stay rows of the answer; a total of totals is one total."""

from __future__ import annotations

import random
from pathlib import Path

import duckdb
import pytest

from auditor.data.database import Database
from tests.auditor.sql.gate_double import answer, make, open_staff, understood
from tests.quick import rounds

INNER = (
    "(SELECT dept AS d, sex, sum(salary) AS s, count(*) AS n, max(salary) AS m, age // 30 AS band, "
    "7 AS seven FROM staff GROUP BY dept, sex, age // 30)"
)
ROLLED = "(SELECT dept AS d, sex, sum(salary) AS s FROM staff GROUP BY ROLLUP (dept, sex))"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(Path(tmp_path_factory.mktemp("passing")) / "staff.duckdb")


@pytest.fixture(scope="module")
def database(path: Path) -> Database:
    return open_staff(path)


def compared(database: Database, path: Path, sql: str) -> tuple[list[bool], int]:
    """Whether the answer is plain DuckDB's; which blocks are rows of it, and how much is asked."""
    plan = understood(database, sql)
    found = [tuple(row.values()) for row in answer(database, plan).to_pylist()]
    with duckdb.connect(str(path), read_only=True) as connection:
        right = connection.execute(sql).fetchall()
    assert found == right if "ORDER BY" in sql else sorted(found, key=str) == sorted(right, key=str), sql
    return [block.grouped for block in plan.blocks], len(database.ask(plan))


ROWS = [
    f"SELECT * FROM {INNER} ORDER BY ALL",
    f"SELECT d, s + 1 AS t FROM {INNER} q WHERE d <> 'IT' AND sex = 'f' ORDER BY q.d, t",
    f"SELECT d, sex, s FROM {INNER} WHERE n > 3 ORDER BY d, sex, s LIMIT 3 OFFSET 1",
    f"SELECT sex FROM {INNER} WHERE s > 300 ORDER BY s",
    f"SELECT seven, d, s FROM {INNER} ORDER BY d, s",
    f"SELECT coalesce(d, 'every') AS e, sex, s FROM {ROLLED} WHERE sex IS NULL ORDER BY e, s LIMIT 3",
    "SELECT d, old, s FROM (SELECT dept AS d, age > 40 AS old, sum(salary) AS s FROM staff "
    "GROUP BY ROLLUP (dept, age > 40)) WHERE old ORDER BY d, s",
    f"WITH g AS {INNER} SELECT d, m FROM g WHERE band = 1 ORDER BY d, m",
    f"WITH g AS {INNER}, h AS (SELECT d, s, n FROM g WHERE n > 2) SELECT d, s / n AS a FROM h ORDER BY a, d",
    f"WITH g AS {INNER} SELECT d, s FROM g WHERE sex = 'f' UNION ALL SELECT d, s FROM g WHERE sex = 'm' "
    "ORDER BY 1, 2",
    "SELECT * FROM (SELECT dept, sum(salary) AS s FROM staff GROUP BY dept ORDER BY s DESC) LIMIT 2",
    "SELECT s FROM (SELECT dept, sum(salary) AS s FROM staff GROUP BY ALL ORDER BY dept LIMIT 2) ORDER BY s",
    "SELECT m FROM (SELECT max(salary) AS m FROM staff) WHERE m > 5",
    "SELECT m FROM (SELECT max(salary) AS m FROM staff) WHERE m > 5 ORDER BY m LIMIT 1",
    "SELECT s + m AS t FROM (SELECT sum(salary) AS s, max(salary) AS m FROM staff GROUP BY ALL)",
    "SELECT x AS s FROM (SELECT sum(salary) AS x, min(age) AS s FROM staff GROUP BY dept) ORDER BY s + 1, x",
]


@pytest.mark.parametrize("sql", ROWS)
def test_groups_that_are_passed_on_are_rows_of_the_answer(sql: str, database: Database, path: Path) -> None:
    shown, _ = compared(database, path, sql)
    assert all(shown) or "FROM staff)" in sql or "LIMIT 2) ORDER" in sql or "staff GROUP BY ALL)" in sql


@pytest.mark.parametrize(
    ("sql", "asked"),
    [
        (f"SELECT sum(s), max(m), sum(n) FROM {INNER}", 2),
        (f"SELECT sum(s) / sum(n) AS a FROM {INNER} WHERE d IN ('IT', 'HR')", 1),
        (f"SELECT d, sum(s) AS t FROM {INNER} WHERE sex = 'f' GROUP BY d HAVING sum(n) > 3 ORDER BY t", 5),
        (f"SELECT band, sum(s) FROM {INNER} GROUP BY ALL ORDER BY band", 3),
        (f"SELECT sum(s) FILTER (WHERE d = 'IT') - sum(s) FILTER (WHERE sex = 'f') FROM {INNER}", 2),
        ("SELECT sum(s) FROM (SELECT sum(salary) FILTER (WHERE age > 40) AS s FROM staff GROUP BY dept)", 1),
        ("WITH g AS (SELECT dept, sex, sum(salary) AS s FROM staff GROUP BY dept, sex), "
         "h AS (SELECT dept, sum(s) AS s FROM g GROUP BY dept) SELECT sum(s) FROM h", 1),
        ("SELECT region, sum(s) FROM (SELECT region, r.dept, sum(salary) AS s FROM staff JOIN regions r "
         "USING (dept) GROUP BY ALL) GROUP BY region ORDER BY region", 2),
        ("SELECT sum(n), sum(o), sum(s) FROM (SELECT count(*) FILTER (WHERE age > 99) AS n, "
         "sum(salary) AS s, count(hired) FILTER (WHERE sex = 'f') AS o FROM staff GROUP BY dept)", 1),
        ("SELECT min(m) FROM (SELECT min(salary) AS m FROM staff GROUP BY dept)", 1),
    ],
)  # fmt: skip
def test_a_total_of_totals_is_asked_as_the_one_total_that_it_is(
    sql: str, asked: int, database: Database, path: Path
) -> None:
    assert compared(database, path, sql)[1] == asked


LEFT = [
    f"SELECT sum(s), count(*) FROM {INNER}",
    f"SELECT sum(s + 1) FROM {INNER}",
    f"SELECT avg(s) FROM {INNER}",
    f"SELECT max(s) FROM {INNER}",
    f"SELECT sum(DISTINCT s) FROM {INNER}",
    f"SELECT sum(s) FROM {INNER} WHERE n > 2",
    f"SELECT sum(s) FROM {INNER} WHERE m > 2",
    f"SELECT sum(s) FROM {ROLLED}",
    "SELECT a + 1, s FROM (SELECT age AS a, sum(salary) AS s FROM staff GROUP BY CUBE (age, age + 1))",
    f"SELECT count(*) FROM {INNER} WHERE s > 100",
    f"SELECT DISTINCT d, s FROM {INNER}",
    f"SELECT d, rank() OVER (ORDER BY s) FROM {INNER}",
    f"SELECT d, s, seven + 1 FROM {INNER}",
    "SELECT 1 FROM (SELECT max(salary) AS m FROM staff)",
    "SELECT 1 FROM (SELECT max(salary) AS m, sum(salary) AS s FROM staff GROUP BY ALL)",
    "SELECT s FROM (SELECT sum(salary) AS s FROM staff GROUP BY dept ORDER BY dept LIMIT 2) WHERE s > 5",
    "SELECT sum(s) FROM (SELECT sum(salary) AS s FROM staff GROUP BY dept HAVING count(*) > 20)",
    "SELECT q.s FROM regions r JOIN (SELECT dept, sum(salary) AS s FROM staff GROUP BY dept) q USING (dept)",
]


@pytest.mark.parametrize("sql", LEFT)
def test_what_is_something_else_is_left_as_it_is(sql: str, database: Database, path: Path) -> None:
    """Nothing of it may be withheld, since more is worked out from it."""
    shown, asked = compared(database, path, sql)
    assert not any(shown)
    assert asked > 1 or "SELECT 1" in sql


def test_a_name_keeps_its_meaning_where_a_query_moves(database: Database, path: Path) -> None:
    for sql in (
        "WITH t AS (SELECT * FROM staff WHERE age < 40), "
        "g AS (SELECT dept, sum(salary) AS s FROM t GROUP BY dept) "
        "SELECT * FROM (WITH t AS (SELECT * FROM staff WHERE age >= 40) SELECT dept, s FROM g) ORDER BY dept",
        "WITH t AS (SELECT * FROM staff WHERE age < 40) SELECT * FROM "
        "(WITH g AS (SELECT dept, sum(salary) AS s FROM t GROUP BY dept), t AS (SELECT 1 AS x) "
        "SELECT dept, s FROM g) ORDER BY dept",
        "SELECT dept AS sex, s FROM (SELECT dept, sex, sum(salary) AS s FROM staff GROUP BY dept, sex) "
        "ORDER BY sex, s",
    ):
        compared(database, path, sql)


KEYS = ["dept", "sex", "age // 20", "hired > DATE '2018-01-01'", "upper(dept)"]
VALUES = ["sum(salary)", "avg(salary)", "max(salary)", "count(*)", "count(salary)", "sum(age)",
          "sum(salary) FILTER (WHERE age > 30)", "min(age)",
          "count(salary) FILTER (WHERE age > 60)"]  # fmt: skip


def nested(rng: random.Random) -> str:
    """A query over the groups of another."""
    keys, values = rng.sample(KEYS, rng.choice([1, 2])), rng.sample(VALUES, 2)
    names = [f"k{i}" for i in range(len(keys))]
    shown = [f"{key} AS {name}" for key, name in zip(keys, names, strict=True)]
    shown += [f"{value} AS v{i}" for i, value in enumerate(values)]
    rng.shuffle(shown)
    having = rng.choice(["", "", " HAVING count(*) > 4", " HAVING max(age) > 40"])
    where = rng.choice(["", " WHERE age < 60"])
    group = rng.choice([", ".join(names), "ALL", ", ".join(keys)])
    inner = f"SELECT {', '.join(shown)} FROM staff{where} GROUP BY {group}{having}"
    conditions = ["k0 IS NOT NULL", "v0 > 50", "k0::VARCHAR < 'S'", "v1 IS NULL OR v0 > 3"]
    outer = rng.choice(["", f" WHERE {rng.choice(conditions)}"])
    total = rng.choice(["sum({})", "max({})", "min({})", "sum({}) FILTER (WHERE k0 IS NOT NULL)"])
    form = rng.choice(["rows", "rows", "total", "by key"])
    if form == "rows":
        limit = rng.choice(["", " LIMIT 3", " LIMIT 2 OFFSET 1"])
        return f"SELECT v1, k0, v0 AS k1 FROM ({inner}) q{outer} ORDER BY k0, q.v0, v1{limit}"
    if form == "total":
        return f"SELECT {total.format('v0')}, {total.format('v1')} FROM ({inner}){outer}"
    return f"SELECT k0, {total.format('v0')} AS v1 FROM ({inner}){outer} GROUP BY k0 ORDER BY k0, v1"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(rounds(40)))
def test_whatever_is_passed_on_the_answer_is_that_of_plain_duckdb(
    seed: int, database: Database, path: Path
) -> None:
    rng = random.Random(seed)
    for _ in range(8):
        sql = nested(rng)
        plan = understood(database, sql)
        found = [tuple(map(_rounded, row.values())) for row in answer(database, plan).to_pylist()]
        with duckdb.connect(str(path), read_only=True) as connection:
            right = [tuple(map(_rounded, row)) for row in connection.execute(sql).fetchall()]
        assert found == right, sql


def _rounded(value: object) -> object:
    """The gate's sums are exact to the last digit."""
    return float(f"{value:.12g}") if isinstance(value, float) else value


def test_what_would_grow_without_end_is_left_as_it_is(database: Database) -> None:
    """Each level doubles what stands below it."""
    query = "WITH q0 AS (SELECT dept AS d, sum(salary) AS s FROM staff GROUP BY dept)"
    for level in range(6):
        query += f", q{level + 1} AS (SELECT d, s - s + s AS s FROM q{level})"
    plan = understood(database, f"{query} SELECT d, s FROM q6 ORDER BY d")
    assert len(plan.final_sql) < 20_000
    assert answer(database, plan).num_rows == 5
