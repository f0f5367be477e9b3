"""Texts that are read by their shape teach what they teach when each is read itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from auditor import Policy
from auditor.data.database import Database
from auditor.data.sources import source_of
from auditor.history.lesson import Lesson
from auditor.history.lessons import School
from auditor.history.meanings import Grid

POLICY = """
[protect]
table = "person"
column = "salary"
minimum = 0
maximum = 100
step = 1
public = ["id", "age", "height"]
key = "id"
[intruder]
insiders = 0
[limit]
risk = 0.5
[tables]
public = ["town"]
views = ["old"]
"""
SHAPES = (
    "SELECT sum(salary) FROM person WHERE age > {0} AND id BETWEEN {1} AND {2}",
    "SELECT AVG(salary), COUNT(*) FROM person WHERE floor({0} * pow(age * {1}, {3})) = floor({0} * age)",
    "SELECT id, salary FROM person WHERE NOT (age IN ({0}, {1}, {2}) OR height / {3} < -{4})",
    "SELECT MAX(salary) FROM person WHERE height BETWEEN {3} AND {4} AND age = {0}",
)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    path = Path(tmp_path_factory.mktemp("alike")) / "people.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE person AS SELECT i AS id, 20 + i % 50 AS age, 1.5 + i % 7 / 10 AS height, "
            "i * 7 % 100 AS salary FROM range(60) t(i)"
        )
        connection.execute("CREATE TABLE town AS SELECT i AS pay FROM range(9) t(i)")
        connection.execute("CREATE VIEW old AS SELECT salary AS age, id FROM person")
    policy = Policy.parse(POLICY)
    tables = policy.tables
    with Database.open(
        source_of(path), policy.protects, public_tables=tables.public, views=tables.views
    ) as opened:
        yield opened


def school(database: Database) -> School:
    return School(database, [Grid(Fraction(0), Fraction(100), Fraction(1))])


whole = st.sampled_from(["0", "1", "2", "7", "10", "59", "300", "2147483648", "99999999"])
parts = st.sampled_from(["0.5", "0.0", "1.75", "12.5", "2.50", "2.5", "3"])
constants = st.tuples(whole, whole, whole, parts, parts)


@pytest.mark.slow
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(SHAPES),
    st.lists(constants, min_size=4, max_size=12),
    st.sampled_from(["duckdb", "postgres"]),
)
def test_a_text_teaches_what_it_does_when_it_is_read_itself(
    database: Database, shape: str, numbers: list[tuple[str, ...]], dialect: str
) -> None:
    taught = school(database)
    for each in numbers:
        text = shape.format(*each)
        assert taught.lesson(text, None, dialect) == taught._read(text, None, dialect)


def test_a_shape_is_read_a_few_times_however_many_texts_have_it(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    taught, read = school(database), list[str]()
    itself = taught._read

    def noted(sql: str, parameters: Sequence[str | None] | None, dialect: str) -> Lesson:
        read.append(sql)
        return itself(sql, parameters, dialect)

    monkeypatch.setattr(taught, "_read", noted)
    texts = [
        f"SELECT sum(salary) FROM person WHERE age > {n} AND height < {n % 9 + 1}.5" for n in range(20, 60)
    ]
    lessons = [taught.lesson(text, None, "duckdb") for text in texts]
    assert len(read) < 12
    assert lessons == [itself(text, None, "duckdb") for text in texts]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT count(*) FROM person WHERE salary > {}",
        "SELECT salary AS pay FROM person WHERE pay > {}",
        "SELECT salary AS floor FROM person WHERE floor > {}",
        "SELECT sum(age) FROM old WHERE age > {}",
        "SELECT sum(salary) FROM person WHERE age > {} LIMIT 3",
        "SELECT sum(salary) FROM person WHERE age > {} GROUP BY height",
        "SELECT sum(salary) FROM person WHERE age > '{}'",
        "SELECT sum(salary) FROM person WHERE round(height, {}) > 2",
        "SELECT sum(salary) FROM person WHERE age > {} -- age",
        "SELECT sum(salary * {}) FROM person",
        "WITH town AS (SELECT salary AS pay FROM person) SELECT pay FROM town WHERE pay > {}",
    ],
)
def test_where_a_number_may_mean_more_every_text_is_read_itself(database: Database, text: str) -> None:
    taught = school(database)
    for number in range(2, 9):
        asked = text.format(number)
        assert taught.lesson(asked, None, "duckdb") == taught._read(asked, None, "duckdb")
    assert not taught._alike._templates


def test_what_the_engine_refuses_is_told_in_its_own_way(database: Database) -> None:
    """A constant that leaves the type's range: found by the engine as for a text that is read itself."""
    taught = school(database)
    for number in (2, 3, 4, 5, 999_999_999):
        asked = f"SELECT sum(salary) FROM person WHERE age > {number} * {number} * 12"
        assert taught.lesson(asked, None, "duckdb") == taught._read(asked, None, "duckdb")
