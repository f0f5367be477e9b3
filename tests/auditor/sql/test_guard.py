"""DuckDB's own parser, asked once more: what it sees must be on the lists, whatever sqlglot made of it."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest
from gate_double import make, open_staff, statements, understood

from auditor.data.database import Database
from auditor.sql import guard, pure
from auditor.sql.guard import check, refusal
from auditor.sql.instance import Instance
from auditor.sql.understood import NotUnderstood

RELATIONS = ["_block0"]
STAFF = '"_data"."staff"'


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with open_staff(make(tmp_path_factory.mktemp("guard") / "staff.duckdb")) as opened:
        yield opened


@pytest.mark.parametrize("sql", statements("understood.sql"))
def test_what_lowering_writes_passes(database: Database, sql: str) -> None:
    plan = understood(database, sql)
    names = [block.name for block in plan.blocks]
    assert [refusal(block.groups_sql, ()) for block in plan.blocks] == [None] * len(plan.blocks)
    assert refusal(plan.final_sql, names) is None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        f"SELECT t.a + 1, -t.a, t.b || 'x', t.a BETWEEN 1 AND 2, t.a IN (1, 2) FROM {STAFF} AS t",
        f"SELECT CASE WHEN a > 1 THEN 1.5 ELSE NULL END, COALESCE(a, 1), NULLIF(a, 1) FROM {STAFF}",
        f"SELECT LIST(r) FILTER (WHERE NOT r IS NULL) FROM {STAFF} GROUP BY ROLLUP (a)",
        f"SELECT LIST((2) * (a)) FILTER (WHERE NOT r IS NULL) FROM {STAFF}",
        f"SELECT LIST((2) * (a) ORDER BY t.r) FILTER (WHERE NOT r IS NULL) FROM {STAFF} AS t",
        'SELECT _a0 FROM "temp"."main"."_block0" WHERE _a0 > 1 ORDER BY 1 LIMIT 3',
        f"WITH x AS (SELECT a FROM {STAFF}), y AS (SELECT a FROM x) SELECT 1 FROM Y JOIN x ON y.a = x.a",
        f"SELECT rank() OVER (ORDER BY b ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM {STAFF}",
        f"SELECT lag(a, 2, 0) OVER (ORDER BY b), sum(a) OVER () FROM {STAFF}",
        f"SELECT a FROM {STAFF} UNION ALL SELECT b FROM {STAFF} EXCEPT SELECT 1",
        f"SELECT DATE '2020-01-01' + INTERVAL 1 DAY, CAST(a AS DECIMAL(10, 2)), lpad(b, 5, '0') FROM {STAFF}",
        f"SELECT a FROM {STAFF} WHERE (a, b) IN ((1, 'x')) AND EXISTS (SELECT 1 FROM {STAFF}) ORDER BY ALL",
    ],
)
def test_what_may_stand(sql: str) -> None:
    assert refusal(sql, RELATIONS) is None


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        # statements
        ("SELECT 1; SELECT 2", "not one SELECT"),
        ("DROP TABLE staff", "not one SELECT"),
        ("SELECT FROM WHERE", "not one SELECT"),
        ("", "not one SELECT"),
        ("PRAGMA database_list", "not one SELECT"),
        (f"SELECT $1 FROM {STAFF}", "named_param_map"),
        ("VALUES (1)", "expression STAR"),
        # tables
        ("SELECT 1 FROM staff", "table staff"),
        ("SELECT 1 FROM main.staff", "table staff"),
        ("SELECT 1 FROM memory.main.staff", "table staff"),
        ("SELECT 1 FROM information_schema.tables", "table tables"),
        ("SELECT 1 FROM duckdb_settings", "table duckdb_settings"),
        ("SELECT 1 FROM other._data.staff", "table staff"),
        ('SELECT 1 FROM "temp"."main"."_block1"', "table _block1"),
        ('SELECT 1 FROM "temp"."main"."_block0_values"', "table _block0_values"),
        ("SELECT 1 FROM 'file.csv'", "table file.csv"),
        ("SELECT 1 FROM x, (WITH x AS (SELECT 1) SELECT 1 FROM x) AS y", "table x"),
        ("WITH x AS (SELECT 1 FROM x) SELECT 1 FROM x", "table x"),
        ("WITH x AS (SELECT 1 FROM y), y AS (SELECT 1) SELECT 1 FROM x", "table y"),
        ("WITH RECURSIVE r AS (SELECT 1 UNION SELECT 1 FROM r) SELECT 1 FROM r", "query RECURSIVE_CTE_NODE"),
        ("SELECT 1 FROM range(3)", "source TABLE_FUNCTION"),
        ("SELECT 1 FROM read_csv('x')", "source TABLE_FUNCTION"),
        ("SELECT 1 FROM (VALUES (1)) AS t", "expression STAR"),
        (f"SELECT 1 FROM {STAFF} TABLESAMPLE 10%", "sample of BASE_TABLE"),
        (f"SELECT 1 FROM {STAFF} AS t(a, b)", "column_name_alias"),
        (f"SELECT 1 FROM {STAFF} AT (VERSION => 1)", "at_clause"),
        (f"SELECT 1 FROM {STAFF} ASOF JOIN {STAFF} AS u ON a >= b", "ref_type of JOIN"),
        (f"SELECT 1 FROM {STAFF} POSITIONAL JOIN {STAFF} AS u", "ref_type of JOIN"),
        (f"SELECT 1 FROM {STAFF} NATURAL JOIN {STAFF} AS u", "ref_type of JOIN"),
        # functions
        ("SELECT random()", "random with 0"),
        ("SELECT now()", "now with 0"),
        ("SELECT current_date", "current_date without a table"),
        ('SELECT "USER"', "USER without a table"),
        ("SELECT getenv('HOME')", "getenv with 1"),
        ("SELECT getvariable('x')", "getvariable with 1"),
        ("SELECT stats(a)", "stats with 1"),
        ("SELECT error('x')", "error with 1"),
        ("SELECT repeat('x', 1000000000)", "repeat with 2"),
        ("SELECT nextval('s')", "nextval with 1"),
        ("SELECT age(d)", "age with 1"),
        ("SELECT nosuch(1)", "nosuch with 1"),
        ("SELECT ago(INTERVAL 1 DAY)", "ago with 1"),
        ("SELECT main.sum(a)", "schema of FUNCTION"),
        ("SELECT system.main.abs(a)", "schema of FUNCTION"),
        ("SELECT round(x := 1)", "named argument"),
        ("SELECT sum(a ORDER BY b)", "ORDER BY in a function"),
        ("SELECT max(a ORDER BY b DESC)", "ORDER BY in a function"),
        ("SELECT list(a ORDER BY getenv('HOME'))", "getenv with 1"),
        ("SELECT list(a ORDER BY ALL)", "ORDER BY in a function"),
        ("SELECT string_agg(a, ',', b)", "string_agg with 3"),
        ("SELECT max(a, 3)", "max with 2"),
        ("SELECT list(a, 1)", "list"),
        ("SELECT list(getenv('HOME'))", "getenv with 1"),
        ("SELECT fill(a) OVER (ORDER BY b)", "fill with 1"),
        ("SELECT sum(a ORDER BY b) OVER ()", "arg_orders of WINDOW"),
        ("SELECT row_number()", "row_number with 0"),
        ("SELECT lpad(b, 1001, 'x')", "length of lpad"),
        ("SELECT lpad(b, a, 'x')", "length of lpad"),
        ("SELECT rpad(b, 500 * 1000, 'x')", "length of rpad"),
        # expressions
        ("SELECT *", "expression STAR"),
        ("SELECT COLUMNS('a')", "expression STAR"),
        ("SELECT t.* FROM _data.staff AS t", "expression STAR"),
        ("SELECT #1", "expression POSITIONAL_REFERENCE"),
        ("SELECT [1, 2]", "list_value with 2"),
        ("SELECT {'a': 1}", "named argument"),
        ("SELECT (1, 2)", "row with 2"),
        ("SELECT a[1]", "expression ARRAY_EXTRACT"),
        ("SELECT f(x -> x + 1)", "expression LAMBDA"),
        ("SELECT lambda x : x", "expression LAMBDA"),
        ("SELECT a COLLATE nocase", "expression COLLATE"),
        ("SELECT unnest(a)", "unnest"),
        ("SELECT unnest([a])", "unnest"),
        ("SELECT unnest(range((SELECT 3)))", "unnest"),
        ("SELECT range(3)", "range with 1"),
        ("SELECT format(a, 3)", "pattern of format"),
        ("SELECT format('{:>5000}', 3)", "pattern of format"),
        ("SELECT printf('%*d', 3, 3)", "pattern of printf"),
        ("SELECT bar(a, 0, 1, 5000)", "length of bar"),
        ("SELECT a::BLOB", "type BLOB"),
        ("SELECT a::INTEGER[]", "type list"),
        ("SELECT a::STRUCT(x INTEGER)", "type STRUCT"),
        ("SELECT a::JSON", "type JSON"),
        ("SELECT a::mood", "type mood"),
        ("SELECT '\\x00'::BLOB", "type BLOB"),
        ("SELECT DEFAULT", "expression DEFAULT"),
    ],
)
def test_what_may_not_stand(sql: str, said: str) -> None:
    found = refusal(sql, RELATIONS)
    assert found is not None
    assert said in found
    with pytest.raises(NotUnderstood) as caught:
        check(sql, RELATIONS)
    assert caught.value.reason.code == "translation"


def test_every_table_function_is_refused() -> None:
    with duckdb.connect(":memory:") as connection:
        names = [
            row[0]
            for row in connection.execute(
                "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type LIKE '%table%'"
            ).fetchall()
        ]
    assert len(names) > 50
    for name in names:
        assert refusal(f'SELECT 1 FROM "{name}"()', RELATIONS) is not None, name


def test_every_function_outside_the_list_is_refused() -> None:
    allowed = pure.scalars | pure.aggregates | pure.operators | {"list"}
    with duckdb.connect(":memory:") as connection:
        rows = connection.execute(
            "SELECT DISTINCT function_name, len(parameters) FROM duckdb_functions() "
            "WHERE function_type IN ('scalar', 'aggregate', 'macro', 'window')"
        ).fetchall()
    tried = [(name, count) for name, count in rows if name not in allowed]
    assert len(tried) > 500
    for name, count in tried:
        arguments = ", ".join(["a"] * count)
        assert refusal(f'SELECT "{name}"({arguments}) FROM {STAFF}', ()) is not None, name


def test_bare_names_that_duckdb_calls_are_refused() -> None:
    called = []
    with duckdb.connect(":memory:") as connection:
        names = {
            row[0] for row in connection.execute("SELECT function_name FROM duckdb_functions()").fetchall()
        }
        for name in sorted(names | pure.value_functions):
            try:
                connection.execute(f'DESCRIBE SELECT "{name}"')
            except duckdb.Error:
                continue
            called.append(name)
            assert refusal(f'SELECT "{name}"', ()) is not None, name
    assert "current_date" in called


def nodes(tree: object) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        if "type" in tree or "class" in tree:
            yield tree
        for value in tree.values():
            yield from nodes(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from nodes(value)


class Replayed:
    """A parser that says what it was given."""

    def __init__(self, tree: dict[str, Any], arities: object) -> None:
        self._tree, self.arities = tree, arities

    def tree(self, sql: str) -> dict[str, Any]:
        return self._tree


def test_a_part_or_kind_that_a_release_adds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    sql = (
        f"WITH x AS (SELECT a FROM {STAFF}) SELECT DISTINCT sum(a) FILTER (WHERE a > 1), CAST(1 AS DATE), "
        f"CASE WHEN a IS NULL THEN 1 END, rank() OVER (ORDER BY a), (SELECT 1 FROM x) FROM {STAFF} "
        "JOIN x ON a = b WHERE a BETWEEN 1 AND 2 AND a IN (1) GROUP BY a HAVING a > 1 ORDER BY 1 LIMIT 1"
    )
    parser = guard._parser()
    original = parser.tree(sql)

    def verdict(tree: dict[str, Any]) -> str | None:
        monkeypatch.setattr(guard, "_parser", lambda: Replayed(tree, parser.arities))
        return refusal(sql, ())

    assert verdict(original) is None
    count = len(list(nodes(original)))
    assert count > 40
    for position in range(count):
        for part, value in [("extra_part", "x"), ("type", "NEW_KIND"), ("class", "NEW_KIND")]:
            tree = copy.deepcopy(original)
            node = list(nodes(tree))[position]
            if part != "extra_part" and part not in node:
                continue
            # The one kind of node whose kind does not matter: the function's name decides.
            named = node.get("class") in ("WINDOW", "FUNCTION", "COLUMN_REF", "CONSTANT", "TYPE", "SUBQUERY")
            if part == "type" and named:
                continue
            node[part] = value
            assert verdict(tree) is not None, (part, json.dumps(node)[:200])


def test_names_that_the_running_release_withdraws_do_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pure, "withdrawn", lambda connection: frozenset({"sqrt"}))
    monkeypatch.setattr(pure, "VERSION", duckdb.__version__)
    assert Instance().withdrawn == frozenset()  # the release that the list was derived from
    monkeypatch.setattr(pure, "VERSION", "1.9.9")
    monkeypatch.setattr(guard, "empty", Instance)
    parser = guard._Parser()
    monkeypatch.setattr(guard, "_parser", lambda: parser)
    assert refusal("SELECT sqrt(1)", ()) == "sqrt with 1 arguments"
    assert refusal("SELECT cbrt(1)", ()) is None
