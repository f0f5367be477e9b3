"""Every limit on a statement's size: at the edge it is read, beyond it there is one code, quickly."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import pytest

from auditor.sql import Column, Schema, Table, Unsupported, limits, sizes, understand
from auditor.sql.limits import parse
from auditor.sql.schema import Protected
from auditor.sql.sizes import MOST, Size, bound
from auditor.sql.understood import NotUnderstood
from tests.clocks import at_once

STAFF = Table("staff", (Column("id", "INTEGER"), Column("age", "INTEGER"), Column("dept", "VARCHAR")))
WIDE = Table("wide", tuple(Column(f"c{i}", "INTEGER") for i in range(999)))
SCHEMA = Schema((STAFF, WIDE), (Protected("staff", "salary", "INTEGER"),))


@pytest.fixture(autouse=True)
def _deep_stack() -> Iterator[None]:
    # As in the process that reads statements of this depth; here pytest has used some of the stack.
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)
    yield
    sys.setrecursionlimit(before)


def nested(form: str, times: int, inside: str) -> str:
    for _ in range(times):
        inside = form.replace("@", inside)
    return inside


def size(sql: str) -> Size:
    return bound(parse(sql), SCHEMA)


def padded(length: int) -> str:
    text = "SELECT COUNT(*) FROM staff -- "
    return text + "x" * (length - len(text))


def too_large(sql: str) -> bool:
    try:
        size(sql)
    except NotUnderstood as refusal:
        if refusal.reason.code != "too-large":
            raise
        return True
    return False


WIDES = "wide w, wide x, wide y, wide z"
DOUBLED = "WITH a0 AS (SELECT id FROM staff), "


def doubling(times: int) -> str:
    ctes = [f"a{i} AS (SELECT x.id FROM a{i - 1} x, a{i - 1} y)" for i in range(1, times + 1)]
    return DOUBLED + ", ".join(ctes) + f" SELECT COUNT(*) FROM a{times}"


@pytest.mark.parametrize(
    ("name", "statement", "most"),
    [
        ("bytes", padded, limits.MAX_BYTES),
        ("tokens", lambda n: f"SELECT id IN ({', '.join(['1'] * ((n - 6) // 2))}) FROM staff",
         limits.MAX_TOKENS),
        ("brackets", lambda n: f"SELECT {nested('abs(@)', n, 'id')} FROM staff", limits.MAX_DEPTH),
        ("signs", lambda n: f"SELECT {'- ' * n} id FROM staff", limits.MAX_DEPTH),
        ("CASE", lambda n: f"SELECT {nested('CASE WHEN @ THEN 1 END', n, 'id = 1')}", limits.MAX_DEPTH),
        ("operators", lambda n: "SELECT " + "+".join(["1"] * (n + 1)), limits.MAX_CHAINED),
        ("queries", lambda n: " UNION ALL ".join(["SELECT 1"] * ((n + 1) // 2)), sizes.SELECTS - 1),
        ("tables", lambda n: "SELECT 1 FROM " + ", ".join(f"staff s{i}" for i in range(n)), MOST.tables),
        ("columns", lambda n: f"SELECT w.*, x.*, y.*, z.*{', 1' * (n - 4000)} FROM {WIDES}", MOST.columns),
        ("digits", lambda n: f"SELECT {'1' * n}", sizes.DIGITS),
        ("exponent", lambda n: f"SELECT 1e{n}", sizes.EXPONENT),
        ("small numbers", lambda n: f"SELECT 1e-{n}", sizes.EXPONENT),
    ],
)  # fmt: skip
def test_at_the_edge_and_beyond(name: str, statement: Callable[[int], str], most: int) -> None:
    assert not too_large(statement(most))
    assert too_large(statement(most + 2))


@pytest.mark.parametrize(
    ("form", "once", "twice"),
    [
        ("nullif(@, 1)", 4, 7),
        ("split_part(@, '-', 1)", 6, 13),
        ("CASE @ WHEN 1 THEN 2 WHEN 3 THEN 4 END", 9, 25),
    ],
)
def test_what_is_repeated_counts_as_often(form: str, once: int, twice: int) -> None:
    counted = [size(f"SELECT {nested(form, times, 'id')} FROM staff").nodes for times in (0, 1, 2)]
    assert counted[1] - counted[0] < counted[2] - counted[1]
    assert not too_large(f"SELECT {nested(form, 4, 'id')} FROM staff")
    assert too_large(f"SELECT {nested(form, 20, 'id')} FROM staff")


def test_with_queries_count_as_often_as_they_are_read() -> None:
    assert size(doubling(3)).tables == 8
    assert size(doubling(6)).tables == 64
    assert too_large(doubling(7))
    assert too_large(doubling(40))


def test_with_queries_that_are_not_read_do_not_count() -> None:
    assert size("WITH a AS (SELECT id FROM staff) SELECT 1").tables == 0
    assert size("WITH staff AS (SELECT 1 FROM wide, wide x) SELECT 1 FROM main.staff").tables == 1


def test_the_innermost_with_query_of_a_name_counts() -> None:
    sql = "WITH a AS (SELECT 1 FROM staff) SELECT 1 FROM (WITH a AS (SELECT 1 FROM staff x, staff y) FROM a)"
    assert size(sql).tables == 2
    assert size(sql + ", a").tables == 3


def test_stars_count_as_the_columns_they_stand_for() -> None:
    assert size("SELECT * FROM staff").columns == 4
    assert size("SELECT *, * FROM staff s, staff t").columns == 16
    assert size("SELECT COUNT(*) FROM staff").columns == 4
    assert size("SELECT COLUMNS('i.') + 1 FROM (SELECT * FROM staff, staff t)").columns == 8
    assert too_large("SELECT * FROM wide a, wide b, wide c, wide d, wide e")


def test_aliases_count_as_what_they_name() -> None:
    steps = ", ".join(f"a{i} + a{i} AS a{i + 1}" for i in range(40))
    assert too_large(f"SELECT id + id AS a0, {steps} FROM staff")
    assert size("SELECT id + id AS a, a + a AS b FROM staff WHERE b > 1").nodes > 15


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT replace('@', 'x', '@')",
        "SELECT regexp_replace('@', 'x', '@', 'g')",
        "SELECT replace(replace(dept, 'a', '@'), 'x', '@') FROM staff",
        f"SELECT max(x) FROM {nested('(SELECT x || x AS x FROM @)', 20, '(SELECT dept AS x FROM staff)')}",
        f"WITH a AS (SELECT concat({', '.join(['dept'] * 500)}) AS x FROM staff) SELECT x || x || x FROM a",
        f"SELECT {nested('bin(@)', 6, 'dept')} FROM staff",
        f"SELECT {nested('hex(@)', 12, 'dept')} FROM staff",
        f"SELECT {nested('url_encode(@)', 8, 'dept')} FROM staff",
        "SELECT dept || dept AS a, " + ", ".join(f"a{i or ''} || a{i or ''} AS a{i + 1}" for i in range(12))
        + " FROM staff",
    ],
)  # fmt: skip
def test_texts_do_not_grow_without_bound(sql: str) -> None:
    assert too_large(sql.replace("@", "x" * 20_000))


def test_usual_texts_are_read() -> None:
    assert not too_large("SELECT replace(replace(lower(dept), 'a', 'bb'), 'c', '') || '-' || id FROM staff")
    assert not too_large("SELECT id FROM staff WHERE dept = '" + "x" * 60_000 + "'")


HOSTILE = [
    doubling(30),
    doubling(12).replace("x.id", "*"),
    "SELECT " + nested("nullif(@, 1)", 45, "id") + " FROM staff",
    "SELECT " + nested("split_part(@, 'a', 1)", 45, "dept") + " FROM staff",
    "SELECT id + id AS a0, " + ", ".join(f"a{i} + a{i} AS a{i + 1}" for i in range(60)) + " FROM staff",
    "SELECT " + nested("CASE @ WHEN 1 THEN 2 WHEN 2 THEN 3 WHEN 3 THEN 4 END", 40, "id") + " FROM staff",
    "SELECT COUNT(*) FROM " + ", ".join(f"staff s{i}" for i in range(2000)),
    "SELECT SUM(salary * 1e999999999) FROM staff",
    "SELECT SUM(salary * 1" + "0" * 50_000 + ") FROM staff",
    "SELECT SUM(salary) FROM staff WHERE id IN (" + "(" * 3000 + ")" * 3000 + ")",
    "WITH a AS (SELECT * FROM staff, staff t), b AS (SELECT * FROM a, a x), c AS (SELECT * FROM b, b x, b y, "
    "b z, b u, b v, b w, b p, b q, b r) SELECT * FROM c, c x, c y, c z",
]


@pytest.mark.parametrize("sql", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_statements_are_turned_away_quickly(sql: str) -> None:
    with at_once():
        found = understand(sql, None, SCHEMA)
        assert isinstance(found, Unsupported)
        assert found.code in ("too-large", "syntax")
