"""A statement of PostgreSQL gets the answer that PostgreSQL gives, or a reason why it gets none."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
from gate_double import FIXTURES, ROOT, answer, failures, statements
from hypothesis import given
from hypothesis import strategies as st
from postgres_expressions import Expressions
from postgres_server import SCHEMA, TABLES, Server, answers_alike, missing, parsed, plain_duckdb, started

from auditor.data.database import Database
from auditor.gate.python_types import rows_of
from auditor.sql import Column, Plan, Schema, Table, macros, understand
from auditor.sql.dialects import translate
from auditor.sql.reasons import REASONS
from auditor.sql.schema import Protected
from auditor.sql.understood import NotUnderstood

STATEMENTS = statements("postgres.sql")
REFUSED = list(failures("postgres_refused.sql"))
RECORDED = FIXTURES / "postgres.json"
GENERATED = range(2_000)


@pytest.fixture(scope="module")
def plain() -> Iterator[duckdb.DuckDBPyConnection]:
    with plain_duckdb() as connection:
        yield connection


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    if missing():
        pytest.skip(missing())
    with started() as running:
        yield running


@pytest.fixture(scope="module")
def recorded() -> dict[str, list[list[tuple[str, object]]]]:
    """What PostgreSQL 15 answered to each statement of the fixture."""
    return {sql: parsed(rows) for sql, rows in json.loads(RECORDED.read_text("utf-8")).items()}


def to_duckdb(sql: str) -> str:
    return translate(sql, "postgres", SCHEMA)


def reason(sql: str, schema: Schema = SCHEMA) -> tuple[str, str]:
    with pytest.raises(NotUnderstood) as refusal:
        translate(sql, "postgres", schema)
    return refusal.value.reason.code, refusal.value.reason.message


def code_of(sql: str, schema: Schema = SCHEMA) -> str:
    """The code of the refusal; empty if it is translated."""
    try:
        translate(sql, "postgres", schema)
    except NotUnderstood as refusal:
        return refusal.reason.code
    return ""


def ordered(sql: str) -> bool:
    return re.search(r"order by(?!.*\))", sql, re.IGNORECASE | re.DOTALL) is not None


@pytest.mark.parametrize("sql", STATEMENTS)
def test_answers_are_those_that_postgresql_gave(
    sql: str, plain: duckdb.DuckDBPyConnection, recorded: dict[str, list[list[tuple[str, object]]]]
) -> None:
    assert answers_alike(plain.execute(to_duckdb(sql)), recorded[sql], ordered(sql)) == ""


def test_the_records_are_what_a_server_answers(
    server: Server, recorded: dict[str, list[list[tuple[str, object]]]]
) -> None:
    for sql, rows in zip(STATEMENTS, server.ask_all(STATEMENTS), strict=True):
        assert not isinstance(rows, str), f"{sql}\n{rows}"
        # Rows come in any order where the statement does not say.
        assert sorted(map(str, rows)) == sorted(map(str, recorded[sql])), sql


@pytest.mark.slow
def test_generated_statements_answer_as_the_server_does(
    server: Server, plain: duckdb.DuckDBPyConnection
) -> None:
    asked = [Expressions(seed).statement() for seed in GENERATED]
    verdicts: Counter[str] = Counter()
    for sql, rows in zip(asked, server.ask_all(asked), strict=True):
        verdict = compared(sql, rows, plain)
        assert not verdict.startswith("different"), f"{verdict}\n{sql}"
        verdicts[verdict] += 1
    print(dict(verdicts))
    # Otherwise the generator or the translation would say little.
    assert verdicts["same"] >= 0.6 * len(asked), verdicts
    assert verdicts["refused"] <= 0.05 * len(asked), verdicts


def compared(sql: str, theirs: list[list[tuple[str, object]]] | str, plain: duckdb.DuckDBPyConnection) -> str:
    """What becomes of one generated statement."""
    try:
        result = plain.execute(to_duckdb(sql))
    except NotUnderstood:
        return "refused" if not isinstance(theirs, str) else "rejected"
    except duckdb.Error as error:
        # A number of more than 15 digits is not rounded: an error, not another number.
        return "rejected" if isinstance(theirs, str) else f"failed: {type(error).__name__}"
    if isinstance(theirs, str):
        # DuckDB does not compute what the result does not depend on.
        return "spared" if "division by zero" in theirs else f"different: {theirs}"
    difference = answers_alike(result, theirs, ordered=False)
    return f"different: {difference}" if difference else "same"


@pytest.mark.parametrize(("code", "sql"), REFUSED)
def test_what_cannot_be_carried_over_has_its_code(code: str, sql: str) -> None:
    found, message = reason(sql)
    assert found == code, message
    assert not re.search(r"[{}]", message) or "{" in sql


def test_each_code_has_a_reason() -> None:
    folder = ROOT / "auditor" / "sql" / "postgres"
    codes = {
        code
        for file in folder.glob("*.py")
        for code in re.findall(r'NotUnderstood\("([a-z-]+)"', file.read_text("utf-8"))
    }
    assert codes
    assert codes <= set(REASONS)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT i / (id - 3) FROM items", "SELECT i % (id - 3) FROM items", "SELECT d / (id - 3) FROM items",
        "SELECT n / (id - 3) FROM items", "SELECT 1 / (id / n) FROM items", "SELECT sqrt(-id) FROM items",
        "SELECT ln(id - 1) FROM items", "SELECT log(id - 2.0) FROM items",
        "SELECT power(-id, 0.5) FROM items",
        "SELECT power(id - 1, -1) FROM items", "SELECT exp(id * 1000) FROM items",
        "SELECT 2147483647 + id FROM items",
        "SELECT x::int FROM items", "SELECT x::float8 FROM items", "SELECT x::date FROM items",
        "SELECT n::numeric(3, 1) FROM items", "SELECT (id * 100000)::smallint FROM items",
        "SELECT (SELECT id FROM items)", "SELECT sum(i) * 9223372036854775807 FROM items",
        "SELECT sum(c)::bigint FROM (SELECT 9223372036854775807 AS c FROM items) q",
        "SELECT sum(n) / 0.0 FROM items",
    ],
)  # fmt: skip
def test_what_is_an_error_there_is_an_error_here(
    sql: str, server: Server, plain: duckdb.DuckDBPyConnection
) -> None:
    assert isinstance(server.ask_all([sql])[0], str)
    with pytest.raises((NotUnderstood, duckdb.Error)):
        plain.execute(to_duckdb(sql)).fetchall()


def test_refusals_say_what_to_write_instead() -> None:
    for sql in ("SELECT round(d, 2) FROM items", "SELECT i / $1 FROM items"):
        with pytest.raises(NotUnderstood) as refusal:
            to_duckdb(sql)
        assert "::" in refusal.value.reason.hint


def test_duckdbs_own_dialect_is_left_as_it_is() -> None:
    assert translate("FROM anything WHERE 7 / 2 :: x", "duckdb", SCHEMA) == "FROM anything WHERE 7 / 2 :: x"


def test_integers_divide_as_integers() -> None:
    assert to_duckdb("SELECT i / 2 FROM items").startswith('SELECT "items"."i" // 2 AS')
    assert "//" not in to_duckdb("SELECT i / 2::float8 FROM items")


@pytest.mark.parametrize(
    ("sql", "parameters", "expected"),
    [
        ("SELECT count(*) FROM items WHERE i > $1", [3], 5),
        ("SELECT count(*) FROM items WHERE i > $1::int AND s < $2", [3, 50], 4),
        ("SELECT 7 / $1::int", [2], 3),
        ("SELECT 7 / $1::numeric(5, 1)", [2], 3.5),
        ("SELECT count(*) FROM items WHERE i > ? AND s < ?", [3, 50], 4),
        ("SELECT count(*) FROM items WHERE x = $1", ["abc"], 1),
        ("SELECT count(*) FROM items WHERE day BETWEEN $1 AND $2", ["2020-01-01", "2020-12-31"], 4),
        ("SELECT id FROM items ORDER BY id LIMIT $1", [1], 1),
        ("SELECT count(*) FROM items WHERE i IN ($1, $2)", [7, 8], 3),
        ("SELECT count(*) FROM items WHERE x LIKE $1", ["a%"], 3),
        ("SELECT count(*) FROM items WHERE i = $name", {"name": 7}, 2),
    ],
)
def test_parameters_survive(
    sql: str, parameters: list[object], expected: object, plain: duckdb.DuckDBPyConnection
) -> None:
    row = plain.execute(to_duckdb(sql), parameters).fetchone()
    assert row is not None
    assert row[0] == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (r"E'a\'b'", "a'b"), (r"E'\\'", "\\"), (r"E'\t\n'", "\t\n"), (r"E'\u00e9\U0001F600'", "é😀"),
        (r"E'\x41\101'", "AA"), (r"'a\'", "a\\"),
        ("$$a'b$$", "a'b"), ("$x$ $$ $x$", " $$ "), ("'it''s'", "it's"),
        (r"e'it''s'", "it's"), ("'a' -- comment\n 'b'", "ab"), ("/* a /* b */ */ 'x'", "x"), ("'--'", "--"),
    ],
)  # fmt: skip
def test_texts_are_read_by_postgresqls_rules(
    written: str, expected: str, plain: duckdb.DuckDBPyConnection
) -> None:
    assert plain.execute(to_duckdb(f"SELECT {written}")).fetchone() == (expected,)


def test_names_without_quotes_lose_their_case_and_names_in_quotes_keep_it() -> None:
    schema = Schema((Table("Staff", (Column("Age", "INTEGER"), Column("büro ort", "VARCHAR"))),), ())
    assert translate("SELECT AGE FROM STAFF", "postgres", schema) == (
        'SELECT "staff"."Age" AS "age" FROM "main"."Staff" AS "staff"'
    )
    assert '"Staff"."Age"' in translate('SELECT "Age" FROM "Staff"', "postgres", schema)
    assert reason('SELECT "AGE" FROM Staff', schema)[0] == "unknown-column"
    assert translate('SELECT "büro ort" AS Ort FROM staff', "postgres", schema).startswith(
        'SELECT "staff"."büro ort" AS "ort"'
    )


def test_duckdbs_types_that_postgresql_lacks_count_as_the_next_wider_one(
    plain: duckdb.DuckDBPyConnection,
) -> None:
    types = ["TINYINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "HUGEINT", "ENUM('a', 'b')"]
    schema = Schema((Table("t", tuple(Column(f"c{i}", type_) for i, type_ in enumerate(types))),), ())
    text = translate(
        "SELECT c0 * 2, c1 / 2, c2 + 1, c3 / 2, c4 / 2, c5 / 2, c6 || 'x' FROM t", "postgres", schema
    )
    columns = ", ".join(f"CAST({value} AS {type_}) AS c{i}" for i, (value, type_) in enumerate(
        zip((100, 255, 65535, 7, 7, 7, "'a'"), types, strict=True)))  # fmt: skip
    text = text.replace('"main"."t"', f"(SELECT {columns})")
    assert plain.execute(text).fetchone() == (200, 127, 65536, 3, 3.5, 3.5, "ax")


@pytest.mark.parametrize("type_", ["INTEGER[]", "STRUCT(a INTEGER)", "BLOB", "UUID", "BIT"])
def test_types_that_are_not_understood_may_be_selected_and_counted_only(type_: str) -> None:
    schema = Schema((Table("t", (Column("c", type_),)),), ())
    assert translate("SELECT c, count(c) FROM t WHERE c IS NOT NULL GROUP BY c", "postgres", schema)
    assert reason("SELECT c FROM t WHERE c = c", schema)[0] == "dialect"
    assert reason("SELECT max(c) FROM t", schema)[0] == "dialect"


@pytest.mark.parametrize(
    "type_", ["SMALLINT", "INTEGER", "BIGINT", "DECIMAL(10,2)", "DOUBLE", "FLOAT", "TINYINT"]
)
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT sum(p), avg(p), min(p), max(p), count(p) FROM t",
        "SELECT sum(12 * p + 100), max(-p) FROM t",
        "SELECT sum(CASE WHEN age > 30 THEN p ELSE 0 END) FROM t",
        "SELECT round(avg(p)::numeric, 2), sum(p) / count(*) FROM t GROUP BY age",
        "SELECT sum(p) FILTER (WHERE age / 10 = 3) FROM t HAVING avg(p) > 3",
        "SELECT m / 2 FROM (SELECT max(p) AS m FROM t GROUP BY age) q",
        "WITH x AS (SELECT p, age FROM t) SELECT avg(p) FROM x",
    ],
)
def test_aggregates_of_a_protected_column_stay_as_the_gate_understands_them(sql: str, type_: str) -> None:
    schema = Schema((Table("t", (Column("age", "INTEGER"),)),), (Protected("t", "p", type_),))
    assert isinstance(understand(translate(sql, "postgres", schema), None, schema), Plan)


@pytest.mark.slow
def test_answers_are_the_same_behind_the_gates_parser(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What is translated is read once more, and rewritten, before it runs."""
    path = tmp_path_factory.mktemp("dialects") / "items.duckdb"
    with plain_duckdb(path) as connection:
        connection.execute("ALTER TABLE items ADD COLUMN secret INTEGER")
        connection.execute("UPDATE items SET secret = id * 10")
    database = Database.open(path, [_Protection()], public_tables=["kinds"])
    with duckdb.connect(str(path), read_only=True) as plain:
        planned = 0
        plain.execute("SET TimeZone = 'UTC'")
        for macro in macros.STATEMENTS:
            plain.execute(macro.replace("CREATE", "CREATE TEMP", 1))
        for sql in [*STATEMENTS, "SELECT ok, sum(secret) / 4, round(avg(secret), 1) FROM items GROUP BY ok"]:
            text = translate(sql, "postgres", database.schema)
            plan = understand(text, None, database.schema)
            if not isinstance(plan, Plan):
                continue
            planned += 1
            expected = plain.execute(text)
            names = [each[0] for each in expected.description or []]
            got = answer(database, plan)
            assert got.column_names == names
            rows = rows_of(got, plan.types)
            key = repr if not ordered(sql) else None
            assert _sorted(rows, key) == _sorted(expected.fetchall(), key), sql
    assert planned >= 0.95 * len(STATEMENTS)


class _Protection:
    table, column, key, unit = "items", "secret", "id", None
    public = tuple(TABLES["items"])


def _sorted(rows: list[tuple[object, ...]], key: object) -> list[str]:
    # The gate's parser may leave a whole number as DECIMAL where DuckDB has HUGEINT.
    numbers = (float, int, Decimal)
    shown = [str([f"{float(v):.9g}" if type(v) in numbers else v for v in row]) for row in rows]
    return sorted(shown) if key else shown


LOG_SCHEMA = Schema(
    (
        Table(
            "person",
            tuple(
                Column(name, type_)
                for name, type_ in {
                    "id": "INTEGER", "age": "INTEGER", "sex": "INTEGER", "education": "INTEGER",
                    "industry": "VARCHAR", "occupation": "VARCHAR", "travel_time": "INTEGER",
                    "wagp": "INTEGER",
                }.items()
            ),
        ),
    ),
    (Protected("person", "salary", "INTEGER"),),
)  # fmt: skip


def logged(folder: Path) -> list[str]:
    """The SELECTs of a server's log, prepared ones too."""
    found = []
    with (folder / "logs" / "log_statement_all_pgaudit.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.reader(file):
            text = re.match(r"(?:statement|execute [^:]*): (.*)", row[13], re.DOTALL)
            if text and re.match(r"\s*(select|with)\b", text[1], re.IGNORECASE):
                found.append(text[1])
    return found


@pytest.mark.slow
def test_each_select_of_a_servers_log_is_translated_or_refused_with_a_reason(shared_data: Path) -> None:
    verdicts: Counter[str] = Counter()
    for sql in logged(shared_data):
        refused = code_of(sql, LOG_SCHEMA)
        if refused:
            verdicts[f"not translated: {refused}"] += 1
            continue
        verdict = understand(translate(sql, "postgres", LOG_SCHEMA), [0] * sql.count("$"), LOG_SCHEMA)
        verdicts["translated"] += 1
        verdicts["plan" if isinstance(verdict, Plan) else verdict.code] += 1
    # The rest names catalogue tables, misspells a column or asks for quantiles.
    assert verdicts["translated"] >= 40, verdicts
    assert verdicts["plan"] >= 30, verdicts
    assert not {"engine", "translation", "syntax"} & set(verdicts), verdicts


WORDS = sorted({word for sql in STATEMENTS for word in re.findall(r"\w+|[^\w\s]+|'[^']*'", sql)})


@given(st.lists(st.sampled_from(WORDS), max_size=12))
def test_nothing_but_a_reason_comes_of_nonsense(words: list[str]) -> None:
    assert code_of("SELECT " + " ".join(words)) in {"", *REASONS}


@given(st.sampled_from(STATEMENTS), st.data())
def test_nothing_but_a_reason_comes_of_mutilated_statements(sql: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(sql)))
    end = data.draw(st.integers(start, len(sql)))
    put = data.draw(st.sampled_from(["", "(", "'", " x ", "$", "E'\\"]))
    assert code_of(sql[:start] + put + sql[end:]) in {"", *REASONS}


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT " + "(" * 60 + "1" + ")" * 60,
        "SELECT " + "- " * 200 + "1",
        "SELECT 1" + " + 1" * 2000,
        "SELECT '" + "x" * 70_000 + "'",
        "SELECT " + "NOT " * 100 + "TRUE",
        "SELECT i FROM items WHERE " + " AND ".join(["d::numeric::int > 3"] * 200),
    ],
)
def test_statements_that_are_too_large_are_refused(sql: str) -> None:
    assert reason(sql)[0] == "too-large"


def test_long_chains_of_conditions_are_translated() -> None:
    chain = " OR ".join(f"i = {number}" for number in range(900))
    assert to_duckdb(f"SELECT id FROM items WHERE {chain}").count(" OR ") == 899


def record() -> None:
    """Write down what a server answers; to be run when the fixture changes."""
    with started() as running:
        answers = dict(zip(STATEMENTS, running.ask_for_json(STATEMENTS), strict=True))
    assert not [each for each in answers.values() if isinstance(each, str)]
    RECORDED.write_text(json.dumps(answers, indent=0, ensure_ascii=False) + "\n", "utf-8")
