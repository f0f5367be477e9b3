"""Whatever a client writes, the catalogue stays bounded, apart from everything else, and never breaks."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.data.running import Limits
from auditor.proxy.catalogue import Catalogue, CatalogueError, Context
from tests.clocks import at_once
from tests.quick import some

from .statements import SCHEMA, statements

ADA = Context("ada")
SECONDS = 1.0
LIMITS = Limits(seconds=SECONDS, rows=50_000, bytes=16 << 20)
_SHARED: list[Catalogue] = []


def catalogue() -> Catalogue:
    if not _SHARED:
        _SHARED.append(Catalogue(SCHEMA, "staff", ["ada", "bob"], limits=LIMITS))
    return _SHARED[0]


@pytest.fixture(scope="module", autouse=True)
def _closed() -> Iterator[None]:
    yield
    while _SHARED:
        _SHARED.pop().close()


def code(sql: str, *parameters: object) -> str:
    """The error's code; "none" if the statement is not about the catalogue, "" if it is answered."""
    try:
        listing = catalogue().answer(sql, parameters, ADA)
    except CatalogueError as error:
        return error.sqlstate if error.message else "no message"
    return "none" if listing is None else ""


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT getenv('HOME'), version()",
        "SELECT * FROM pg_class, read_csv('{file}')",
        "SELECT * FROM pg_class, read_text('{file}')",
        "SELECT * FROM pg_class, query('SELECT 1')",
        "SELECT * FROM pg_class, duckdb_settings()",
        "SELECT * FROM pg_class, pragma_database_list()",
        "SELECT * FROM pg_catalog.duckdb_settings",
        "SELECT * FROM information_schema.duckdb_secrets",
        "SELECT pg_read_file('{file}') FROM pg_class",
        "SELECT pg_sleep(10) FROM pg_class",
        "SELECT pg_ls_dir('/') FROM pg_class",
        "SELECT lo_import('{file}') FROM pg_class",
        "SELECT current_setting('home_directory')",
        "SELECT * INTO t FROM pg_class",
        "SELECT * FROM pg_class FOR UPDATE",
        "SELECT * FROM pg_class TABLESAMPLE bernoulli (1)",
        "SELECT * FROM other.pg_catalog.pg_class",
        "SELECT cae_user_name(100001, ['bob']) FROM pg_class",
        "SELECT * FROM pg_class, cae_keywords()",
        "SELECT c.cae_setting('x') FROM pg_class",
        "SELECT c FROM pg_class AS c",
        "SELECT COLUMNS('rel.*') FROM pg_class",
        "SELECT error('cae:00000:x') FROM pg_class",
        "SELECT * FROM pg_class, aclexplode(read_text('{file}'))",
        "SELECT row_to_json(t) FROM (SELECT * FROM read_csv('{file}')) t, pg_class",
        "SELECT * FROM pg_show_all_settings(), read_csv('{file}')",
        "SELECT set_config('a.b', (SELECT content FROM read_text('{file}')), false) FROM pg_settings",
        "SELECT format('{file}', read_text('{file}')) FROM pg_class",
        "SELECT 'x'::nosuch FROM pg_class",
        "WITH x AS (SELECT * FROM duckdb_settings), duckdb_settings AS (SELECT 1 FROM pg_am) SELECT * FROM x",
        "WITH x AS (SELECT * FROM \"{file}\"), \"{file}\" AS (SELECT 1 FROM pg_class) SELECT * FROM x",
    ],
)  # fmt: skip
def test_nothing_beside_the_catalogue_is_reached(sql: str, tmp_path: Path) -> None:
    file = tmp_path / "secret.csv"
    file.write_text("a\nsecret\n")
    assert code(sql.replace("{file}", str(file))) in ("0A000", "42501", "42P01", "42704")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 FROM pg_class; DROP TABLE pg_class", "DELETE FROM pg_class", "DROP TABLE pg_class",
        "INSERT INTO pg_catalog.pg_class VALUES (1)", "UPDATE pg_class SET relname = 'x'", "PRAGMA version",
        "ATTACH '/tmp/x' AS y", "COPY pg_class TO '/tmp/x'", "INSTALL httpfs", "CALL pg_class",
        "VACUUM pg_class",
        "CREATE TABLE pg_x AS SELECT 1", "SET memory_limit = '1TB'", "EXPLAIN SELECT * FROM pg_class",
    ],
)  # fmt: skip
def test_only_queries_are_taken(sql: str) -> None:
    assert code(sql) == "none"
    assert code("SELECT count(*) FROM pg_class") == ""


def test_the_database_is_closed_to_the_outside_even_for_its_own_sql() -> None:
    cursor = catalogue()._everyone.connection.cursor()
    for sql in (
        "SELECT * FROM read_text('/etc/hostname')", "ATTACH '/tmp/x.db'", "COPY c.pg_class TO '/tmp/x.csv'",
        "SET enable_external_access = true", "SET memory_limit = '1TB'", "LOAD httpfs",
    ):  # fmt: skip
        with pytest.raises(Exception, match=r"(?i)permission|locked|configuration|disabled"):
            cursor.execute(sql)
    outside = [1, 2, 3]
    with pytest.raises(Exception, match="outside"):
        cursor.execute("SELECT * FROM outside")
    assert outside


A = "pg_attribute"
LONG = {
    "cross joins": f"SELECT count(*) FROM {A} a, {A} b, {A} c, {A} d",
    "rows": f"SELECT a.attname FROM {A} a, {A} b, {A} c",
    "a long text": f"SELECT string_agg(a.attname, ',') FROM {A} a, {A} b, {A} c",
    "a long list": f"SELECT array_agg(a.attname || b.attname) FROM {A} a, {A} b, {A} c",
    "endless recursion": "WITH RECURSIVE r(n) AS (SELECT 1 FROM pg_am UNION ALL SELECT n + 1 FROM r) "
    "SELECT count(*) FROM r",
    "a long series": "SELECT version(), generate_series(1, 100000000)",
    "many series": f"SELECT generate_series(1, 1000) FROM {A}, pg_class",
    "texts in texts": "SELECT replace(replace(x.v, 'a', x.v), 'a', x.v) "
    f"FROM (SELECT string_agg(attname, 'a') v FROM {A}) x",
    "texts in long texts": "SELECT replace(relname, 'a', '" + "a" * 100 + "') FROM pg_class",
    "doubled texts": "WITH a0 AS (SELECT version() v), "
    + ", ".join(f"a{i} AS (SELECT v || v || v AS v FROM a{i - 1})" for i in range(1, 14))
    + " SELECT length(v) FROM a13",
    "doubled columns": "WITH a0 AS (SELECT * FROM pg_class), "
    + ", ".join(f"a{i} AS (SELECT x.*, y.* FROM a{i - 1} x, a{i - 1} y)" for i in range(1, 14))
    + " SELECT count(*) FROM a13",
    "doubled quotes": "SELECT " + "quote_literal(" * 30 + "''''" + ")" * 30,
    "names of names": "SELECT oid" + "::regclass::text" * 200 + " FROM pg_class",
    "many tables": "SELECT 1 FROM " + ", ".join(f"pg_class a{i}" for i in range(200)),
    "a chain": "SELECT " + " || ".join(["relname"] * 900) + " FROM pg_class",
    "a long separator": f"SELECT array_to_string(array(SELECT attname FROM {A}), '{'x' * 9000}')",
    "a distinct": f"SELECT DISTINCT a.attname || b.attname || c.attname FROM {A} a, {A} b, {A} c",
    "texts padded": f"SELECT lpad(attname, 100000) FROM {A}",
    "many texts padded": "SELECT "
    + ", ".join(f"lpad(attname, 1000) AS a{i}" for i in range(100))
    + f" FROM {A}",
    "formats": "SELECT "
    + ", ".join(f"format('%s%s%s', attname, 1, 2) AS a{i}" for i in range(100))
    + f" FROM {A}",
    "doubled formats": "WITH a0 AS (SELECT version() v), "
    + ", ".join(f"a{i} AS (SELECT format('%s%s', v, v) AS v FROM a{i - 1})" for i in range(1, 14))
    + " SELECT length(v) FROM a13",
    "doubled rows": "WITH a0 AS (SELECT version() v), "
    + ", ".join(
        f"a{i} AS (SELECT row_to_json(t)::text AS v FROM (SELECT v AS a, v AS b FROM a{i - 1}) t)"
        for i in range(1, 14)
    )
    + " SELECT length(v) FROM a13",
    "doubled arrays": "WITH a0 AS (SELECT current_schemas(true) v), "
    + ", ".join(f"a{i} AS (SELECT array_cat(v, v) AS v FROM a{i - 1})" for i in range(1, 30))
    + " SELECT cardinality(v) FROM a29",
    "a window": f"SELECT row_number() OVER (ORDER BY a.attname) FROM {A} a, {A} b",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", some(LONG, 6))
def test_what_would_take_long_or_much_is_given_up(name: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with at_once():
        assert code(LONG[name]) in ("57014", "54000", "54011", "0A000")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 700_000, "KiB"
    assert code("SELECT count(*) FROM pg_class") == ""


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT " + "(" * 3000 + "version()" + ")" * 3000, "SELECT version() " + "-" * 60_000,
        "SELECT '" + "x" * 200_000 + "', version()", "SELECT version(), " + "'" * 60_001,
        "SELECT version()" + " AND true" * 5_000, "SELECT " + "NOT " * 5_000 + "true, version()",
        "SELECT * FROM pg_class WHERE oid IN (" + "1," * 9_000 + "1)", "\0SELECT version()",
        "SELECT version() AS \ud800", "SELECT version(), $1::oid[", "SELECT pg_class.",
    ],
    ids=range(11),
)  # fmt: skip
def test_texts_that_strain_the_parser_take_little_time(sql: str) -> None:
    with at_once():
        code(sql)


WORDS = sorted(
    {word for each in statements() for word in each.sql.replace("(", " ( ").replace(",", " , ").split()}
    | {"$1", "'x'", "[1]", "::regclass", "::oid[]", "ANY", "ALL", "*", "..", "\\", "\"", "'", "--", "/*",
    ";", "{", "?"}
)  # fmt: skip


@given(st.lists(st.sampled_from(WORDS), max_size=12))
def test_any_words_of_clients_give_an_answer_an_error_or_nothing(words: list[str]) -> None:
    sql = "SELECT " + " ".join(words) + " FROM pg_catalog.pg_class"
    code(sql, "x")
    try:
        catalogue().describe(sql, [], ADA)
    except CatalogueError as error:
        assert len(error.sqlstate) == 5  # noqa: PT017  (both outcomes are right)


@given(st.sampled_from([each.sql for each in statements()]), st.data())
def test_statements_with_pieces_cut_out_give_an_answer_an_error_or_nothing(
    sql: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(sql)))
    end = data.draw(st.integers(start, min(len(sql), start + 40)))
    code(sql[:start] + data.draw(st.text(max_size=3)) + sql[end:], "1", "2")


@pytest.mark.parametrize(
    "value",
    [Decimal("NaN"), Decimal("Infinity"), Decimal("-Infinity"), Decimal("1e999999999"), 10**400,
     float("nan"), float("-inf"), "\\", "'", b"", [None, [1]], date.max, "x" * 70_000],
    ids=repr,
)  # fmt: skip
def test_any_value_of_a_parameter_gives_an_answer_or_an_error(value: object) -> None:
    for sql in ("SELECT $1 AS v, relname FROM pg_class", "SELECT relname FROM pg_class WHERE oid = $1"):
        code(sql, value)
