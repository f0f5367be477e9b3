"""What reads a protected column is a fact or is named as not modelled; it is never public."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from auditor import Policy, audit
from auditor.history.findings import Findings
from auditor.history.statement import Logged

POLICY = """
[protect]
table = "person"
column = "salary"
minimum = 0
maximum = 100
step = 1
public = ["id", "age", "hours", "dept", "good"]
key = "id"
[intruder]
insiders = 0
[limit]
risk = 0.5
"""


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("d") / "d.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE person AS SELECT i AS id, 20 + i % 5 AS age, 30 + i AS hours, "
            "'ab'[1 + i % 2] AS dept, i % 2 AS good, "
            "(i * 37) % 101 AS salary, (i * 37) % 101 AS secret FROM range(1, 21) AS r(i)"
        )
        connection.execute("CREATE VIEW paid AS SELECT id, salary AS pay FROM person")
    return path


def audited(database: Path, sql: str, dialect: str = "duckdb", policy: str = POLICY) -> Findings:
    return audit(database, Policy.parse(policy), [Logged(1, sql, user="a", dialect=dialect)], gate_seconds=0)


UNMODELLED = [
    ("SELECT MEDIAN(salary) FROM person", "MEDIAN of the protected column"),
    ("SELECT VAR_SAMP(salary) FROM person", "VARIANCE of the protected column"),
    ("SELECT STDDEV(salary) FROM person", "STDDEV of the protected column"),
    ("SELECT CORR(salary, age) FROM person", "CORR of the protected column"),
    ("SELECT COUNT(*) FROM person WHERE salary > 50", "condition on the protected column"),
    ("SELECT id FROM person WHERE salary > 50", "condition on the protected column"),
    ("SELECT SUM(salary) FILTER (WHERE salary > 50) FROM person", "condition on the protected column"),
    ("SELECT SUM(CASE WHEN salary > 5 THEN 1 ELSE 0 END) FROM person", "condition on the protected column"),
    ("SELECT id FROM person ORDER BY salary LIMIT 1", "ORDER BY the protected column with LIMIT"),
    ("SELECT id FROM person ORDER BY salary", "ORDER BY the protected column"),
    ("SELECT salary, COUNT(*) FROM person GROUP BY salary", "GROUP BY the protected column"),
    ("SELECT dept FROM person GROUP BY dept HAVING SUM(salary) > 9", "HAVING on the protected column"),
    ("SELECT DISTINCT salary FROM person", "DISTINCT"),
    ("SELECT COUNT(DISTINCT salary) FROM person", "COUNT(DISTINCT …) of the protected column"),
    ("SELECT SUM(DISTINCT salary) FROM person", "SUM(DISTINCT …)"),
    ("SELECT * FROM person LIMIT 3", "LIMIT"),
    ("SELECT SUM(salary) FROM (SELECT salary FROM person LIMIT 3)", "LIMIT"),
    ("SELECT SUM(salary * salary) FROM person", "product of protected values"),
    ("SELECT MAX(salary * age) FROM person", "MAX, MIN of an expression"),
    ("SELECT id, RANK() OVER (ORDER BY salary) FROM person", "window over the protected column"),
    ("SELECT SQRT(salary) FROM person", "SQRT of the protected column"),
    ("SELECT my_udf(salary) FROM person", "MY_UDF (not understood)"),
    ("SELECT SUM(salary) FROM person WHERE random() < 0.5", "RANDOM (not understood)"),
    ("SELECT a.id FROM person a JOIN person b ON a.salary = b.salary", "join on the protected column"),
    (
        "SELECT id FROM person WHERE age > (SELECT AVG(salary) FROM person)",
        "condition on the protected column",
    ),
    ("SELECT ROUND(AVG(salary), -1) FROM person", "rounded aggregate"),
    ("SELECT person FROM person", "not understood: row-reference"),
    ("SUMMARIZE person", "SUMMARIZE statement"),
    ("CREATE TABLE copy AS SELECT * FROM person", "copied into another table"),
    ("DELETE FROM person WHERE salary > 10", "change that reads the protected column"),
    ("EXECUTE q(1)", "call or EXECUTE"),
    ("SELECT pay FROM paid", "table or column that the policy does not name"),
    ("SELECT SUM(secret) FROM person", "table or column that the policy does not name"),
    ("SELECT random(), secret FROM person", "table or column that the policy does not name"),
    ("SELECT salary FROM person EXCEPT SELECT age FROM person", "set operation"),
    ("SELECT SUM(salary) FROM person WHERE (", "not understood: syntax"),
]


@pytest.mark.parametrize(("sql", "kind"), UNMODELLED)
def test_what_is_not_modelled_is_named(database: Path, sql: str, kind: str) -> None:
    found = audited(database, sql)
    assert [each.kind for each in found.unmodelled] == [kind]
    assert found.unmodelled[0].count == 1
    assert found.unmodelled[0].examples[0].sql == sql
    assert not found.findings
    assert "public" not in found.kinds


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("SELECT dept, COUNT(*), COUNT(salary) FROM person GROUP BY dept", "public"),
        ("SELECT MEDIAN(age) FROM person WHERE salary IS NOT NULL", "public"),
        ("SELECT random(), age * 2 FROM person", "public"),
        ("SHOW TABLES", "settings"),
        ("DESCRIBE person", "description"),
        ("SELECT * FROM information_schema.tables", "catalogue"),
        ("CREATE TABLE person (id INTEGER, salary INTEGER)", "definition"),
        ("BEGIN; COMMIT", "transaction"),
        ("SET threads = 1", "settings"),
        ("EXPLAIN SELECT SUM(salary) FROM person", "explanation"),
        ("INSERT INTO person VALUES (1)", "change"),
    ],
)
def test_what_shows_nothing_of_the_protected_column_is_counted_by_kind(
    database: Path, sql: str, kind: str
) -> None:
    found = audited(database, sql)
    assert found.kinds == {kind: 1}
    assert not found.unmodelled
    assert not found.parties[0].answers


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sql", "records"),
    [
        ("SELECT SUM(salary) - 2 * SUM(salary) FILTER (WHERE id > 1) FROM person WHERE id < 3", 0),
        ("SELECT SUM(salary) FROM person WHERE id = 3", 1),
        ("SELECT (SELECT SUM(salary) FROM person) - (SELECT SUM(salary) FROM person WHERE id <> 3)", 1),
        ("SELECT SUM(s) FROM (SELECT dept, SUM(salary) AS s FROM person WHERE id < 3 GROUP BY dept)", 0),
        ("SELECT id, SUM(salary) OVER (ORDER BY id) FROM person WHERE id < 5", 4),
        ("SELECT salary * 2 + 1 FROM person WHERE id < 3", 2),
        ("WITH q AS (SELECT id, salary AS s FROM person) SELECT s FROM q WHERE id = 2", 1),
        ("SELECT a.salary FROM person a JOIN person b ON a.id = b.id + 1 WHERE b.id = 4", 1),
        ("SELECT MAX(salary) FROM person WHERE id = 7", 1),
        ("COPY (SELECT salary FROM person WHERE id = 2) TO STDOUT", 1),
        ("DECLARE c CURSOR FOR SELECT salary FROM person WHERE id = 2", 1),
        ("SELECT id, salary FROM person ORDER BY id LIMIT 2", 2),
        ("SELECT salary FROM person WHERE id < 4 LIMIT 10", 3),
    ],
)
def test_what_is_modelled_locates_just_those_whom_it_shows(database: Path, sql: str, records: int) -> None:
    """Two sums that were added up by the statement were never shown by themselves."""
    found = audited(database, sql)
    assert not found.unmodelled
    assert (
        sum(each.kind in ("exact", "direct") for each in found.findings if each.party == "everyone")
        == records
    )


BINARY = (
    POLICY.replace('"salary"', '"good"')
    .replace("maximum = 100", "maximum = 1")
    .replace(', "good"]', ', "salary"]')
)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM person WHERE good = 1 AND id < 4",
        "SELECT COUNT(DISTINCT id) FROM person WHERE id < 4 AND good <> 0",
        "SELECT COUNT(*) FILTER (WHERE good = 0) FROM person WHERE id < 4",
        "SELECT COUNT(CASE WHEN good = 1 THEN 1 END) FROM person WHERE id < 4",
        "SELECT SUM(CASE WHEN good = 1 THEN 1 ELSE 0 END) FROM person WHERE id < 4",
        "SELECT dept, COUNT(*) FROM person WHERE good = 1 AND id < 4 GROUP BY dept",
    ],
)
def test_counting_by_a_column_of_zeros_and_ones_is_a_sum(database: Path, sql: str) -> None:
    with duckdb.connect(str(database)) as connection:
        unique = connection.execute("SELECT COUNT(DISTINCT id) = COUNT(*) FROM person").fetchall()
    assert unique == [(True,)]
    found = audited(database, sql, policy=BINARY)
    assert not found.unmodelled
    assert found.parties[0].answers >= 1
