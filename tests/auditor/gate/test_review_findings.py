"""Defects found by attacking the gate, each with what holds instead.

What an onlooker knows is worked out by hand in each case: few persons, few numbers.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from auditor import Gate, Policy
from auditor.errors import DatabaseError
from auditor.gate import ends
from auditor.ledger import KnownAnswer
from tests.auditor.staff import (
    NEEDED,
    OUTSIDERS,
    Intruder,
    build,
    people,
    policy,
    rows_or_none,
    truth,
    verdict,
)
from tests.quick import some


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# What a true answer that is not given tells


def located(gate: Gate, size: int) -> list[int]:
    """Who has fewer possible values than the limit allows, by all that is on record."""
    intruder = Intruder(size)
    intruder.reads(gate)
    return [record for record, (low, high) in enumerate(intruder.ranges()) if high - low < NEEDED]


@pytest.mark.slow
def test_an_end_and_the_sum_of_all_others_locate_nobody(tmp_path: Path) -> None:
    """A refused MAX once said that six persons have at most 130; total less the others says 780 together."""
    rows = [list(person) for person in people(40, 3)]
    for row in rows[:6]:
        row[4] = 130
    with Gate.open(build(tmp_path / "staff.duckdb", [tuple(row) for row in rows]), policy(OUTSIDERS)) as gate:
        assert verdict(gate, "SELECT sum(salary) FROM staff").code == "answered"
        extreme = "SELECT max(salary) FROM staff WHERE id < 6"
        assert gate.check(extreme).code == "answered"
        assert verdict(gate, extreme).verdict == "answered"
        for sql in (
            "SELECT sum(salary) FROM staff WHERE id < 6",
            "SELECT sum(salary) FROM staff WHERE id >= 6",
        ):
            verdict(gate, sql)
        assert located(gate, 40) == []


@pytest.mark.slow
def test_the_groups_given_do_not_settle_one_that_is_told_as_an_end(tmp_path: Path) -> None:
    """One statement: a NULL once said that ten persons have at most 130, the others say 1250 together."""
    rows = [list(person) for person in people(40, 3)]
    for row in rows:
        row[3] = "wxyz"[int(str(row[0])) // 10]
    for i, row in enumerate(rows[:10]):
        row[4] = 120 + 10 * (i % 2)
    database = build(tmp_path / "staff.duckdb", [tuple(row) for row in rows])
    with Gate.open(database, policy(OUTSIDERS)) as gate:
        assert verdict(gate, "SELECT sum(salary) FROM staff").code == "answered"
        rows_or_none(gate, "SELECT dept, sum(salary), max(salary) FROM staff GROUP BY dept ORDER BY dept")
        rows_or_none(gate, "SELECT sum(salary) FROM staff WHERE dept = 'w'")
        assert located(gate, 40) == []


def test_the_ends_of_some_do_not_locate_the_others(tmp_path: Path) -> None:
    """1400 in all; were five of the eight known to have at most 130, the other three would have 250 each."""
    rows = [(i, 20 + i, "mf"[i % 2], "abcd"[i % 4], 130 if i < 5 else 250) for i in range(8)]
    with Gate.open(build(tmp_path / "staff.duckdb", rows), policy(OUTSIDERS + 'knows = ["id"]')) as gate:
        verdict(gate, "SELECT sum(salary) FROM staff")
        verdict(gate, "SELECT max(salary) FROM staff WHERE id < 5")
        assert located(gate, 8) == []
        assert (gate.risk()["risk"] <= 0.5).all()


TWO = """
[[protect]]
table = "staff"
column = "a"
minimum = 0
maximum = 250
step = 10
public = ["id"]
[[protect]]
table = "staff"
column = "b"
minimum = 0
maximum = 100
step = 1
public = ["id"]
limit = {risk = 0.9}
[intruder]
insiders = 0
[limit]
risk = 0.5
"""


@pytest.mark.slow
def test_an_end_about_one_column_tells_nothing_of_the_other(tmp_path: Path) -> None:
    """Persons 0 and 1 have 0 and 11 in b; a run of 12 values is wanted.

    A statement asks for the maximum of both columns, and a's would break the limit. Were it refused, and b
    asked about afterwards, it would be known that the maximum of b kept it: it is at least 11. With a sum of
    11, person 0 has 0 or 11, and nothing between.
    """
    path = tmp_path / "two.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("""
            CREATE TABLE staff AS SELECT i AS id,
            CASE WHEN i < 10 THEN 100 ELSE i * 70 % 251 // 10 * 10 END AS a,
            CASE i WHEN 0 THEN 0 WHEN 1 THEN 11 ELSE i * 37 % 101 END AS b FROM range(20) t(i)""")
    with Gate.open(path, Policy.parse(TWO)) as gate:
        assert gate._knowledge.columns[1].standard.need == 11
        both = "SELECT max(a) FILTER (WHERE id < 10), max(b) FILTER (WHERE id < 2) FROM staff"
        assert gate.check(both).code == "answered"
        verdict(gate, both)
        assert rows_or_none(gate, "SELECT sum(b) FROM staff WHERE id < 2") is None  # [(11,)]


# Views


VIEWS = """
[[protect]]
table = "{table}"
column = "salary"
minimum = 0
maximum = 250
step = 1
public = ["id"]
[tables]
public = {public}
[limit]
risk = 0.5
"""
STAFF = "CREATE TABLE staff AS SELECT i AS id, i * 37 % 251 AS salary FROM range(60) t(i);"


def opened_with_view(path: Path, sql: str, public: str, table: str = "staff") -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute(sql)
    Gate.open(path, Policy.parse(VIEWS.format(table=table, public=f'["{public}"]'))).close()


def test_a_public_view_does_not_read_a_protected_table_through_a_macro(tmp_path: Path) -> None:
    """`SELECT * FROM shown` shows everybody's salary, verdict "public"."""
    sql = STAFF + (
        "CREATE TABLE ids AS SELECT id FROM staff;"
        "CREATE MACRO pay(i) AS (SELECT any_value(salary) FROM staff WHERE id = i);"
        "CREATE VIEW shown AS SELECT id, pay(id) AS p FROM ids"
    )
    with pytest.raises(DatabaseError):
        opened_with_view(tmp_path / "macro.duckdb", sql, "shown")


@pytest.mark.parametrize("before", ["", "CREATE TABLE main.staff AS SELECT 1 AS x;"])
def test_a_public_view_does_not_read_a_protected_table_of_its_own_schema(before: str, tmp_path: Path) -> None:
    """DuckDB stores `FROM staff`, which means hr.staff in a view of hr."""
    sql = (
        before
        + "CREATE SCHEMA hr; USE hr;"
        + STAFF
        + "CREATE VIEW shown AS SELECT id, salary AS s FROM staff"
    )
    with pytest.raises(DatabaseError):
        opened_with_view(tmp_path / "schema.duckdb", sql, "hr.shown", "hr.staff")


def test_the_table_behind_a_protected_view_cannot_be_public(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError):
        opened_with_view(
            tmp_path / "base.duckdb", STAFF + "CREATE VIEW shown AS FROM staff", "staff", "shown"
        )


def test_two_protected_views_of_one_table_are_not_counted_apart(tmp_path: Path) -> None:
    """The sum over one, less the sum over the other without 17, is what 17 has."""
    path = tmp_path / "views.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(STAFF + "CREATE VIEW one AS FROM staff; CREATE VIEW two AS FROM staff")
    text = VIEWS.format(table="one", public="[]")
    both = text[: text.index("[tables]")] + text.replace('"one"', '"two"')
    try:
        gate = Gate.open(path, Policy.parse(both))
    except DatabaseError:
        return
    with gate:
        assert verdict(gate, "SELECT sum(salary) FROM one").code == "answered"
        assert verdict(gate, "SELECT sum(salary) FROM two WHERE id <> 17").code != "answered"


# Rows that differ from DuckDB's


@pytest.mark.parametrize(
    "sql",
    some(
        [
            "SELECT * FROM (SELECT DISTINCT ON (dept) dept, sex, sum(salary) AS s FROM staff "
            "GROUP BY dept, sex ORDER BY dept, sex) AS t WHERE sex = 'm' ORDER BY 1",
            "WITH c AS (SELECT dept, sum(salary) AS s FROM staff GROUP BY dept) SELECT a.dept, a.s "
            "FROM (SELECT dept, s FROM c WHERE dept = 'a') AS a SEMI JOIN c ON c.dept = 'b'",
            "WITH c AS (SELECT dept, sum(salary) AS s FROM staff GROUP BY dept) SELECT a.dept, a.s "
            "FROM (SELECT dept, s FROM c WHERE dept = 'a') AS a ANTI JOIN c ON c.dept = 'b'",
            "SELECT dept, sum(salary), (SELECT count(*) FROM (SELECT dept AS _k0 FROM staff) AS _block0 "
            "WHERE _block0._k0 = s.dept) FROM staff AS s GROUP BY dept ORDER BY dept",
        ],
        2,
    ),
)
def test_rows_are_those_of_plain_duckdb(sql: str, tmp_path: Path) -> None:
    rows = [(i, 20 + i, "mf"[i % 2], "ab"[i // 2 % 2], 10 + i * 70 % 250) for i in range(60)]
    database = build(tmp_path / "staff.duckdb", rows)
    with Gate.open(database, policy()) as gate:
        assert rows_or_none(gate, sql) == truth(database, sql)


@pytest.mark.slow
def test_columns_of_a_star_come_in_the_order_of_the_table(tmp_path: Path) -> None:
    sql = "SELECT max(COLUMNS(*)) FROM staff"
    path = tmp_path / "order.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE staff AS SELECT i AS id, i * 37 % 251 AS salary, i % 2 AS dept FROM range(60) t(i)"
        )
    text = VIEWS.format(table="staff", public="[]").replace('["id"]', '["id", "dept"]')
    with Gate.open(path, Policy.parse(text)) as gate:
        assert gate.execute(sql).fetchall() == truth(path, sql)


def test_a_view_with_a_dot_in_its_name_does_not_stand_for_another(tmp_path: Path) -> None:
    sql = STAFF + (
        'CREATE SCHEMA hr; CREATE TABLE ids AS SELECT 1 AS id; CREATE VIEW main."hr.shown" AS FROM ids;'
        "CREATE VIEW hr.shown AS SELECT id, salary AS s FROM main.staff"
    )
    with pytest.raises(DatabaseError):
        opened_with_view(tmp_path / "dots.duckdb", sql, "hr.shown")


JUNIORS = [(i, 20 + i * 7 % 45, "fm"[i % 2], "ab"[i % 2], 20 + i % 5 * 10) for i in range(60)]
"""Nobody has the greatest values: the maximum is told as an end."""
FAR = ("CASE WHEN age > 0 THEN DATE '12951-01-01' END", "CAST('infinity' AS DATE)")
ABOVE = "SELECT max(salary) FROM staff WHERE age >= (SELECT MIN(m) FROM (SELECT MIN(age) AS m FROM staff {}))"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT max(salary) FROM staff",
        "SELECT max(salary) FROM staff GROUP BY ROLLUP (age >= 0)",
        "SELECT max(salary) FROM staff GROUP BY CUBE (age >= 0)",
        "SELECT max(salary) FROM staff GROUP BY GROUPING SETS ((age >= 0))",
        ABOVE.format("GROUP BY ROLLUP (age >= 30)"),
        *(f"SELECT {day} AS day, max(salary) FROM staff GROUP BY 1" for day in FAR),
    ],
)
def test_an_end_is_on_record_whatever_the_statement_is_grouped_by(sql: str, tmp_path: Path) -> None:
    """Where words for an end could not be made, the statement failed, and who saw that knew of the end."""
    with Gate.open(build(tmp_path / "staff.duckdb", JUNIORS), policy(), tmp_path / "l.ledger") as gate:
        assert gate.execute(sql).decision.code == "ends"
        assert [answer.ends.exact for answer in recorded(gate)] == [False]
        assert gate.execute(sql).decision.code == "known"


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_what_was_decided_is_on_record_also_where_it_cannot_be_put_into_words(
    grouped: bool, error: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql = "SELECT sex, max(salary) FROM staff GROUP BY sex" if grouped else "SELECT max(salary) FROM staff"
    with Gate.open(build(tmp_path / "staff.duckdb", JUNIORS), policy(), tmp_path / "l.ledger") as gate:

        def failing(*_: object, **__: object) -> None:
            raise error("no words")

        with monkeypatch.context() as patched:
            patched.setattr(ends, "ranges_of", failing)
            with pytest.raises(error):
                gate.execute(sql)
        told = [answer.ends for answer in recorded(gate)]
        assert len(told) == 1 + grouped
        assert gate.verify().problems == ()
        assert gate.execute(sql).decision.code == "known"
        assert [answer.ends for answer in recorded(gate)] == told


def recorded(gate: Gate) -> list[KnownAnswer]:
    """Everything that was told."""
    return [answer for entry in gate._ledger.entries() for answer in entry.answers]
