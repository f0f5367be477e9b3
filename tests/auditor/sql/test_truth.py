"""A BOOLEAN protected column: what is counted of it is a sum, value and type as DuckDB has them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from auditor import Gate
from auditor.data.database import Database
from auditor.sql import Unsupported, understand
from tests.auditor.sql.gate_double import Protection, answer, make, same_tables, understood
from tests.auditor.staff import OUTSIDERS, policy
from tests.quick import some

PATIENTS = """
CREATE TABLE patients (id INTEGER, ward VARCHAR, age INTEGER, ill BOOLEAN);
INSERT INTO patients SELECT i, ['a', 'b', 'c', 'd'][1 + i % 4], 20 + i * 7 % 50,
    CASE WHEN i % 4 = 3 THEN NULL WHEN i % 4 = 2 THEN FALSE WHEN i % 5 = 0 THEN NULL ELSE i % 3 = 0 END
    FROM range(60) t(i);
INSERT INTO patients SELECT 60 + i, CASE WHEN i % 2 = 0 THEN 'a' END, CASE WHEN i % 3 > 0 THEN 30 + i END,
    CASE WHEN i % 5 > 0 THEN i % 2 = 0 END FROM range(30) t(i);
CREATE TABLE other (ward VARCHAR, size INTEGER);
INSERT INTO other VALUES ('a', 1), ('b', 2);
"""
PUBLIC = ["id", "ward", "age"]

LITERALS = [
    "ill", "NOT ill", "(ill)", "ill = TRUE", "TRUE = ill", "ill = FALSE", "ill <> TRUE", "ill IS TRUE",
    "ill IS FALSE", "ill IS NOT TRUE", "ill IS NOT FALSE", "ill IS NOT DISTINCT FROM TRUE",
    "ill IS DISTINCT FROM FALSE", "CAST(ill AS INTEGER) = 1", "NOT (ill::INT = 1)", "ill AND ill IS NOT NULL",
    "NOT (NOT ill)", "ill::INT <> 1",
]  # fmt: skip
CONDITIONS = [
    *LITERALS,
    "ill AND age > 40",
    "age > 40 AND ward <> 'b' AND NOT ill",
    "(age > 40) AND (ill IS NOT TRUE)",
]
AGGREGATES = [
    "COUNT(*) FILTER (WHERE {c})",
    "COUNT(*) FILTER ({c})",
    "COUNT(id) FILTER (WHERE {c})",
    "COUNT(1) FILTER (WHERE {c})",
    "COUNT(CASE WHEN {c} THEN 1 END)",
    "COUNT(CASE WHEN {c} THEN TRUE END)",
    "COUNT(CASE WHEN {c} THEN 1 ELSE NULL END) FILTER (WHERE age < 60)",
    "COUNT(IF({c}, 1, NULL))",
    "COUNT_IF({c})",
    "COUNT_IF({c}) FILTER (WHERE age < 60)",
    "SUM(1) FILTER (WHERE {c})",
    "SUM(CASE WHEN {c} THEN 1 END)",
    "SUM(CASE WHEN {c} THEN 1 ELSE 0 END)",
    "SUM(CASE WHEN {c} THEN 0 ELSE 1 END)",
    "SUM(CASE WHEN {c} THEN 100.0 ELSE 0 END)",
    "SUM(IF({c}, 1, 0))",
    "AVG(CASE WHEN {c} THEN 1 ELSE 0 END)",
    "AVG(CASE WHEN {c} THEN 1.0 ELSE 0.0 END) FILTER (WHERE age < 60)",
    "100.0 * COUNT(*) FILTER (WHERE {c}) / COUNT(*)",
]
NUMBERS = [
    "SUM(ill)", "SUM(ill::INT)", "SUM(CAST(ill AS BIGINT))", "AVG(ill::INT)", "AVG(CAST(ill AS DOUBLE))",
    "MAX(ill::INT)", "MIN(ill::TINYINT)", "SUM(1 - ill::INT)",
    "SUM(CASE WHEN age > 40 THEN ill::INT ELSE 0 END)",
    "AVG(COALESCE(ill::INT, 0))", "COUNT(ill) FILTER (WHERE ill)", "COUNT(*) FILTER (WHERE ill IS NULL)",
    "COUNT(ill)", "COUNT(*) FILTER (WHERE ill IS NOT NULL AND age > 40)",
    "SUM(CASE WHEN age > 60 THEN 0 WHEN ill THEN 1 ELSE 0 END)",
]  # fmt: skip
EVERY = [[form.format(c=condition) for condition in CONDITIONS] for form in AGGREGATES] + [NUMBERS]
"""By form, with each of the conditions."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("truth") / "patients.duckdb", PATIENTS)


@pytest.fixture(scope="module")
def database(place: Path) -> Iterator[Database]:
    with Database.open(
        place, [Protection("patients", "ill", PUBLIC, None)], public_tables=["other"]
    ) as opened:
        yield opened


def plain(place: Path, sql: str) -> object:
    with duckdb.connect(str(place), read_only=True) as connection:
        return connection.sql(sql).to_arrow_table()


@pytest.mark.parametrize(
    "rest",
    [
        "FROM patients",
        "FROM patients WHERE age < 0",
        "FROM patients WHERE ward = 'd'",
        "FROM patients GROUP BY ward ORDER BY ward",
    ],
)
@pytest.mark.parametrize("aggregates", EVERY, ids=[each[0] for each in EVERY])
def test_what_is_counted_is_what_duckdb_counts(
    database: Database, place: Path, aggregates: list[str], rest: str
) -> None:
    sql = f"SELECT {', '.join([*(['ward'] if 'GROUP BY' in rest else []), *aggregates])} {rest}"
    same_tables(answer(database, understood(database, sql)), plain(place, sql), ordered=True)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT ward FROM patients GROUP BY ward HAVING COUNT(*) FILTER (WHERE ill) > 2 ORDER BY ward",
        "SELECT ward, COUNT_IF(ill) FROM patients GROUP BY ward ORDER BY COUNT_IF(ill) DESC, ward",
        "WITH p AS (SELECT ward, ill FROM patients WHERE age > 30) "
        "SELECT ward, AVG(CASE WHEN ill THEN 1 ELSE 0 END) FROM p GROUP BY ward ORDER BY ward",
        "SELECT q.ward, COUNT(*) FILTER (WHERE q.sick AND size > 1) "
        "FROM (SELECT ward, ill AS sick FROM patients) q JOIN other o USING (ward) "
        "GROUP BY q.ward ORDER BY 1",
        "SELECT COUNT(*) FILTER (WHERE ill), COUNT(*) FILTER (WHERE NOT ill), COUNT(*) FROM patients",
        "SELECT COUNT(*) FROM patients WHERE ill",
        "SELECT COUNT(*) AS n, COUNT(id) FILTER (WHERE ward <> 'a') FROM patients WHERE NOT ill AND age > 30",
        "SELECT COUNT(*) * 2 FROM patients WHERE (ill AND age > 30) AND ward IN (SELECT ward FROM other)",
        "SELECT COUNT(*) FROM patients WHERE ill IS NOT TRUE AND ward IS NOT NULL HAVING COUNT(*) > 1",
        "SELECT o.ward, (SELECT COUNT(*) FROM patients WHERE ill) FROM other o ORDER BY o.ward",
        "SELECT COUNT(*) FROM patients p JOIN other o ON p.ward = o.ward WHERE p.ill AND o.size = 1",
        "SELECT COUNT(*) FROM patients WHERE ill IS NOT NULL AND ill",
        "SELECT COUNT(*) FROM patients WHERE ill IS NULL",
        "SELECT ward, COUNT(*) AS n FROM patients WHERE ill GROUP BY ward ORDER BY ward",
        "SELECT ward, COUNT(*) AS n FROM patients WHERE ill AND age > 30 GROUP BY ALL ORDER BY n DESC, ward",
        "SELECT ward, age > 40 AS old, COUNT(*) FROM patients WHERE NOT ill GROUP BY 1, 2 "
        "HAVING COUNT(*) > 2 OR ward = 'a' ORDER BY 1, 2 LIMIT 4",
        "SELECT COUNT(*), SUM(n) FROM (SELECT ward, COUNT(*) AS n FROM patients WHERE ill GROUP BY ward)",
        "SELECT MAX(n) FROM (SELECT ward, COUNT(*) FILTER (WHERE ill) AS n FROM patients GROUP BY ward)",
    ],
)
def test_they_stand_wherever_an_aggregate_may(database: Database, place: Path, sql: str) -> None:
    same_tables(answer(database, understood(database, sql)), plain(place, sql), ordered=True)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT ward, COUNT(*) FROM patients WHERE ill GROUP BY ROLLUP (ward)", "protected-condition"),
        ("SELECT ward FROM patients WHERE ill GROUP BY ward", "protected-condition"),
        ("SELECT ward, COUNT(*), MAX(age) FROM patients WHERE ill GROUP BY ward", "protected-condition"),
        ("SELECT COUNT(*), AVG(age) FROM patients WHERE ill", "protected-condition"),
        ("SELECT COUNT(DISTINCT ward) FROM patients WHERE ill", "protected-condition"),
        ("SELECT COUNT(*) FROM patients WHERE ill OR age > 40", "protected-condition"),
        ("SELECT id FROM patients WHERE ill", "protected-condition"),
        (
            "SELECT ward FROM other o WHERE EXISTS (SELECT 1 FROM patients WHERE ill AND size = age)",
            "",
        ),
        ("SELECT COUNT(*) FILTER (WHERE ill OR age > 40) FROM patients", "protected-condition"),
        ("SELECT COUNT(*) FILTER (WHERE ill = 2) FROM patients", "protected-condition"),
        ("SELECT SUM(age) FILTER (WHERE ill) FROM patients", "protected-condition"),
        ("SELECT AVG(CASE WHEN ill THEN 1 END) FROM patients", "protected-condition"),
        ("SELECT SUM(CASE WHEN ill THEN age ELSE 0 END) FROM patients", "offset"),
        ("SELECT COUNT(*) FILTER (WHERE ill) OVER (ORDER BY id) FROM patients", "protected-condition"),
        ("SELECT COUNT(DISTINCT id) FILTER (WHERE ill) FROM patients", "protected-condition"),
        ("SELECT COUNT(*) FILTER (WHERE ill AND id IN (SELECT size FROM other)) FROM patients", ""),
        ("SELECT MAX(CASE WHEN ill THEN 1 ELSE 0 END) FROM patients", "extreme-case"),
        (
            "SELECT SUM(CASE WHEN ill THEN 1 WHEN NOT ill THEN 2 ELSE 4 END) FROM patients",
            "protected-condition",
        ),
        ("SELECT MAX(ward) FILTER (WHERE ill) FROM patients", "protected-condition"),
        ("SELECT ill::INT FROM patients", "protected-expression"),
    ],
)
def test_what_is_no_sum_of_it_is_refused(database: Database, sql: str, code: str) -> None:
    refused = understand(sql, None, database.schema)
    assert isinstance(refused, Unsupported)
    assert not code or refused.code == code


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FILTER (WHERE ill), AVG(CASE WHEN ill THEN 1.0 ELSE 0 END) FROM patients",
        "SELECT SUM(ill::int), SUM(CASE WHEN ill THEN 1 ELSE 0 END) FROM patients",
        "SELECT AVG(ill::int), COUNT(CASE WHEN ill THEN 1 END) * 100.0 / COUNT(*) FROM patients",
    ],
)
def test_in_postgres_words(database: Database, place: Path, sql: str) -> None:
    plan = understand(sql, None, database.schema, "postgres")
    assert not isinstance(plan, Unsupported), plan
    given_, expected = (
        [float(column[0].as_py()) for column in table.columns]
        for table in (answer(database, plan), plain(place, sql))  # type: ignore[attr-defined]
    )
    assert given_ == pytest.approx(expected)


LEAVES = [
    *LITERALS, "ill IS NULL", "ill = ill", "COALESCE(ill, FALSE)", "COALESCE(ill, TRUE)", "ill IN (TRUE)",
    "ill::INT > 0", "ill::INT", "(ill = TRUE) IS NULL", "age > 40", "ward = 'a'", "ward IS NULL",
    "ward IN ('a', 'b')", "TRUE", "FALSE", "NULL", "age", "ill::TEXT = 'true'",
]  # fmt: skip
CONDITION = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["AND", "OR", "=", "IS DISTINCT FROM"]), inner).map(
            lambda parts: f"({' '.join(parts)})"
        ),
        st.tuples(
            st.sampled_from(["NOT ({})", "({}) IS TRUE", "({}) IS NOT FALSE", "({})::INT = 1"]), inner
        ).map(lambda parts: parts[0].format(parts[1])),
    ),
    max_leaves=4,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(CONDITION, st.sampled_from([*AGGREGATES, "COUNT(*)"]), st.booleans())
def test_whatever_is_understood_has_duckdbs_value(
    database: Database, place: Path, condition: str, form: str, grouped: bool
) -> None:
    """Public columns are NULL in some rows. Where COUNT_IF's public part always is, NULL may stand for 0."""
    where = f"WHERE {condition}" if form == "COUNT(*)" else ""
    rest = "GROUP BY age % 3 ORDER BY age % 3" if grouped else ""
    sql = f"SELECT {form.format(c=condition)} AS n FROM patients {where} {rest}"
    plan = understand(sql, None, database.schema)
    if isinstance(plan, Unsupported):
        event("not understood")
        return
    event("public" if plan.public else "understood")
    try:
        expected = plain(place, sql)
    except duckdb.Error:
        return
    given_ = answer(database, plan)
    if form.startswith("COUNT_IF"):
        zero = [[each or 0 for each in table.column("n").to_pylist()] for table in (given_, expected)]  # type: ignore[attr-defined]
        assert zero[0] == zero[1]
    else:
        same_tables(given_, expected, ordered=True)  # type: ignore[arg-type]


@pytest.fixture
def wards(tmp_path: Path) -> Path:
    return make(
        tmp_path / "wards.duckdb",
        "CREATE TABLE staff AS SELECT i AS id, ['a', 'b', 'c', 'd'][1 + i % 4] AS ward, "
        "20 + i * 7 % 50 AS age, "
        "CASE WHEN i % 29 > 0 THEN i * i % 7 < 3 END AS ill "
        "FROM range(400) t(i) "
        "UNION ALL SELECT * FROM (VALUES (400, 'z', 30, TRUE), (401, 'z', 31, FALSE))",
    )


def gate_of(path: Path) -> Gate:
    return Gate.open(path, policy(OUTSIDERS, column='"ill"', minimum=0, maximum=1, step=1))


def test_what_is_withheld_is_no_number(wards: Path) -> None:
    count = "COUNT(*) FILTER (WHERE ill)"
    with gate_of(wards) as gate, duckdb.connect(str(wards), read_only=True) as plain_:
        given = gate.execute(f"SELECT ward, {count} AS n FROM staff GROUP BY ward ORDER BY ward")
        real = dict(plain_.sql(f"SELECT ward, {count} FROM staff GROUP BY ward").fetchall())
        shown = dict(given.fetchall())
        assert shown.pop("z") is None
        assert sum(value is not None for value in shown.values()) >= 3
        assert all(value in (None, real[ward]) for ward, value in shown.items())
        assert gate.execute("SELECT SUM(ill) FROM staff WHERE ward = 'a'").decision.code == "known"


@pytest.mark.slow
@pytest.mark.parametrize("key", some(["age // 5", "age"], 1))
def test_ends_stand_around_what_is_counted(key: str, wards: Path) -> None:
    """After exact counts by ward, and after each other; bands of ages take a part of the time."""
    by_ward = "SELECT ward, COUNT(*) FILTER (WHERE ill) AS n FROM staff GROUP BY ward ORDER BY ward"
    with gate_of(wards) as gate, duckdb.connect(str(wards), read_only=True) as plain_:
        gate.execute(by_ward)
        for counted in (
            "COUNT(*) FILTER (WHERE ill)",
            "COUNT_IF(ill)",
            "COUNT(CASE WHEN NOT ill THEN 1 END)",
        ):
            rows = gate.execute(
                f"SELECT {key}, AT_LEAST({counted}), AT_MOST({counted}) FROM staff GROUP BY 1 ORDER BY 1"
            ).fetchall()
            real = dict(plain_.sql(f"SELECT {key}, {counted} FROM staff GROUP BY 1").fetchall())
            told = [(age, low, high) for age, low, high in rows if low is not None]
            assert told
            assert all(low <= real[age] <= high for age, low, high in told)
            condition = "NOT ill" if "NOT" in counted else "ill"
            again = gate.execute(
                f"SELECT {key}, AT_LEAST(COUNT(*)), AT_MOST(COUNT(*)) FROM staff "
                f"WHERE {condition} GROUP BY 1 ORDER BY 1"
            ).fetchall()
            # as many as before, and whoever could not be told of then
            assert {each for each in told if each[2]} <= set(again)
            assert all(low <= real[age] <= high and high for age, low, high in again)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT AT_LEAST(COUNT(*)) AS n FROM patients WHERE ill",
        "SELECT AT_LEAST(COUNT(*) FILTER (WHERE ill)) AS n FROM patients",
        "SELECT AT_MOST(COUNT(CASE WHEN ill AND age > 30 THEN 1 END)) AS n FROM patients",
        "SELECT AT_MOST(SUM(CASE WHEN ill THEN 1 END)) AS n FROM patients",
        "SELECT AT_MOST(AVG(ill::INT)) AS n FROM patients",
        "SELECT AT_LEAST(COUNT_IF(NOT ill)) AS n FROM patients",
    ],
)
def test_at_least_and_at_most_stand_around_them(database: Database, sql: str) -> None:
    plan = understood(database, sql)
    assert plan.asks_ranges
    assert plan.types == ("DOUBLE",)


@pytest.mark.slow
def test_ends_of_a_count_are_named_with_the_column_that_lacks_them(tmp_path: Path) -> None:
    path = make(
        tmp_path / "rare.duckdb",
        "CREATE TABLE staff AS SELECT i AS id, i % 8 AS ward, i % 97 = 0 AS ill FROM range(400) t(i)",
    )
    with Gate.open(path, policy(OUTSIDERS, column='"ill"', minimum=0, maximum=1, step=1)) as gate:
        answer = gate.execute("SELECT ward, COUNT(*) FILTER (WHERE ill) AS n FROM staff GROUP BY ward")
        assert answer.ranges
        assert {(each.column, each.aggregate) for each in answer.ranges} == {("n", "sum(ill)")}
        rows = answer.fetchall()
        assert all(each.row is not None and rows[each.row][1] is None for each in answer.ranges)
