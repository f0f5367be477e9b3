"""PostgreSQL as a source: one snapshot, by a role that may only read; its types are DuckDB's."""

from __future__ import annotations

import builtins
import datetime
import sys
from collections.abc import Iterator
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from auditor.data.sources import frame, source_of
from auditor.data.sources.postgres import server as server_module
from auditor.data.sources.wanted import Needed, Wanted
from auditor.errors import DatabaseError, DataChanged
from auditor.gate.gate import Gate
from auditor.policy.policy import Policy
from tests.auditor.data.sources.made import (
    POSTGRES,
    ROWS,
    duckdb_file,
    fill,
    fingerprint,
    opened,
    policy,
    staff,
    url,
)  # fmt: skip
from tests.auditor.proxy import postgres_server

psycopg = pytest.importorskip("psycopg", reason="what a server is reached by")
_NAMES = count(1)


@pytest.fixture(scope="module")
def server() -> Iterator[dict[str, Any]]:
    """One that has the table, and a role that may do nothing but read it."""
    with postgres_server.running() as place:
        run(
            place, f"CREATE TABLE staff ({POSTGRES})", "CREATE ROLE reader LOGIN PASSWORD 'geheim'",
            "GRANT SELECT ON staff TO reader",
        )  # fmt: skip
        with psycopg.connect(**place) as connection:
            fill(connection, "staff", [tuple(row.values()) for row in staff().to_pylist()])
        yield place


def run(place: dict[str, Any], *statements: str) -> None:
    with psycopg.connect(**place, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def rows(place: dict[str, Any], *columns: str, table: str = "t", user: str = "postgres") -> list[Any]:
    with duckdb.connect(":memory:") as connection:
        source_of(url(place, user)).attach(connection, "source", Wanted((Needed(table, columns or None),)))
        return connection.execute(f"SELECT * FROM source.{table} ORDER BY ALL").fetchall()


@pytest.fixture
def made(server: dict[str, Any]) -> dict[str, Any]:
    """The server with a schema of one's own, first in the search path."""
    schema = f"own_{next(_NAMES)}"
    run(server, f"CREATE SCHEMA {schema}", f"GRANT USAGE ON SCHEMA {schema} TO reader")
    return {**server, "options": f"-csearch_path={schema},public"}


def at(place: dict[str, Any], user: str = "postgres") -> str:
    return url(place, user) + "&options=" + place["options"].replace("=", "%3D").replace(",", "%2C")


@pytest.mark.slow
def test_a_table_of_a_server_has_the_fingerprint_of_a_duckdb_file(
    server: dict[str, Any], tmp_path: Path
) -> None:
    bound = fingerprint(duckdb_file(tmp_path / "staff.duckdb"), tmp_path)
    assert fingerprint(url(server), tmp_path) == bound
    assert fingerprint(url(server, "reader"), tmp_path) == bound
    assert fingerprint(url(server).replace("postgresql:", "postgres:"), tmp_path) == bound
    assert fingerprint(url(server), tmp_path, policy(table='"PUBLIC.Staff"')) != ""


def test_the_ledger_of_a_server_must_be_named(server: dict[str, Any]) -> None:
    from auditor import PolicyError

    with pytest.raises(PolicyError, match=r"ledger\.path: missing"):
        Gate.open(url(server), policy())


def test_every_type_is_read_as_duckdb_writes_it(made: dict[str, Any]) -> None:
    run(
        made, "CREATE TYPE mood AS ENUM ('low', 'high''er', 'a')", "CREATE DOMAIN money_ AS numeric(8, 3)",
        "CREATE DOMAIN more_ AS money_",
        "CREATE TABLE t (a int2, b int8, c numeric(38, 10), d numeric, e float4, f float8, g bool, "
        "h char(4), i varchar(5), j timestamptz, k time, l interval, m uuid, n bytea, "
        "o jsonb, p mood, q more_, r date)",
        "INSERT INTO t VALUES (-1, 9223372036854775807, 1234567890123456789012345678.0123456789, 0.1, 0.1, "
        "1e-300, true, 'ab', 'c', '2020-01-01 10:00:00.000001+05', '23:59:59.5', "
        "'1 year -2 days 03:04:05.6', "
        "'00000000-0000-0000-0000-000000000001', '\\x00ff41', '{\"a\": [1]}', 'high''er', 12345.678, "
        "'infinity'), " + f"({', '.join(['NULL'] * 18)})",
    )  # fmt: skip
    with duckdb.connect(":memory:") as connection:
        source_of(at(made)).attach(connection, "source", Wanted((Needed("t"),)))
        described = {row[0]: row[1] for row in connection.execute("DESCRIBE source.t").fetchall()}
        texts = ", ".join(f"{name}::VARCHAR" for name in described)
        connection.execute("SET TimeZone = 'UTC'")
        found = connection.execute(f"SELECT {texts} FROM source.t ORDER BY a NULLS LAST").fetchall()
    assert list(described.values()) == [
        "SMALLINT", "BIGINT", "DECIMAL(38,10)", "DOUBLE", "FLOAT", "DOUBLE", "BOOLEAN", "VARCHAR", "VARCHAR",
        "TIMESTAMP WITH TIME ZONE", "TIME", "INTERVAL", "UUID", "BLOB", "VARCHAR",
        "ENUM('low', 'high''er', 'a')", "DECIMAL(8,3)", "DATE",
    ]  # fmt: skip
    assert found[0] == (
        "-1", "9223372036854775807", "1234567890123456789012345678.0123456789", "0.1", "0.1", "1e-300",
        "true", "ab", "c", "2020-01-01 05:00:00.000001+00", "23:59:59.5", "1 year -2 days 03:04:05.6",
        "00000000-0000-0000-0000-000000000001", "\\x00\\xFFA", '{"a": [1]}', "high'er", "12345.678",
        "infinity",
    )  # fmt: skip
    assert found[1] == (None,) * 18


def test_texts_come_as_they_are(made: dict[str, Any]) -> None:
    texts = [None, "", " ", ",", '"', "a\nb", "\r\n", "\\N", "\\.", "NULL", "Zoë ☃", "x" * 100_000]
    run(made, "CREATE TABLE t (s text)")
    with psycopg.connect(**made) as connection:
        fill(connection, "t", [(text,) for text in texts])
    with duckdb.connect(":memory:") as connection:
        source_of(at(made)).attach(connection, "source", Wanted((Needed("t"),)))
        found = [row[0] for row in connection.execute("SELECT s FROM source.t").fetchall()]
    assert sorted(found, key=str) == sorted(texts, key=str)


VALUES = st.tuples(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    st.floats(),
    st.floats(width=32),
    st.decimals(-(10**13), 10**13, places=5),
    st.datetimes(datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31)).map(
        lambda at: at.replace(fold=0)
    ),
    st.times().map(lambda at: at.replace(fold=0)),
    st.timedeltas(datetime.timedelta(-(10**6)), datetime.timedelta(10**6)),
    st.integers(-(2**63), 2**63 - 1),
    st.binary(max_size=9),
)


@pytest.mark.slow
@given(st.lists(VALUES, min_size=1, max_size=9))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_values_there_are_they_are_read_as_they_are(
    server: dict[str, Any], values: list[tuple[Any, ...]]
) -> None:
    with psycopg.connect(**server, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS drawn")
        connection.execute(
            "CREATE TABLE drawn (i int, s text, d float8, f float4, n numeric(20, 5), t timestamp, o time, "
            "l interval, b int8, x bytea)"
        )
        fill(connection, "drawn", [(i, *row) for i, row in enumerate(values)])
    with duckdb.connect(":memory:") as connection:
        source_of(url(server)).attach(connection, "source", Wanted((Needed("drawn"),)))
        found = connection.execute("SELECT * EXCLUDE (i) FROM source.drawn ORDER BY i").fetchall()
    assert [tuple(map(repr, row)) for row in found] == [tuple(map(repr, row)) for row in values]


def test_many_rows_are_read_in_few_batches(made: dict[str, Any]) -> None:
    run(made, "CREATE TABLE t AS SELECT i, repeat('x', i % 90) AS s FROM generate_series(1, 30000) AS g(i)")
    with duckdb.connect(":memory:", config={"memory_limit": "200MB", "temp_directory": ""}) as connection:
        source_of(at(made)).attach(connection, "source", Wanted((Needed("t"),)))
        found = connection.execute("SELECT count(*), sum(i), sum(length(s)) FROM source.t").fetchall()
    assert found == [(30_000, 450_015_000, sum(i % 90 for i in range(1, 30_001)))]


def test_an_empty_table_is_read(made: dict[str, Any], tmp_path: Path) -> None:
    run(made, "CREATE TABLE t (a int, salary int)")
    assert frame(at(made), "t").shape == (0, 2)
    with pytest.raises(DatabaseError, match="no row with a value in salary"):
        opened(at(made), tmp_path, policy(table='"t"', key="")).__enter__()


def test_tables_are_found_as_postgresql_finds_them(made: dict[str, Any]) -> None:
    schema = made["options"].partition("=")[2].partition(",")[0]
    run(
        made, "CREATE TABLE t (a int)", "INSERT INTO t VALUES (1)", 'CREATE TABLE "T" (a int)',
        'INSERT INTO "T" VALUES (2)', 'CREATE TABLE "Odd" (a int)', "INSERT INTO \"Odd\" VALUES (3)",
        "CREATE TABLE staff (a int)", "INSERT INTO staff VALUES (4)",
        "CREATE VIEW v AS SELECT a + 1 AS a FROM t",
        'CREATE TABLE "tW" (a int)', 'CREATE TABLE "Tw" (a int)',
    )  # fmt: skip
    found = {
        name: frame(at(made), name)["a"].tolist() for name in ("t", "T", "odd", "staff", f"{schema}.T", "v")
    }
    assert found == {"t": [1], "T": [2], "odd": [3], "staff": [4], f"{schema}.T": [2], "v": [2]}
    assert len(frame(at(made), "public.staff")) == 150
    with pytest.raises(DatabaseError, match=r"has tables (tW and Tw|Tw and tW); write one as it is spelled"):
        frame(at(made), "tw")
    with pytest.raises(DatabaseError, match=r"has no table stuff\. Did you mean staff"):
        frame(at(made), "stuff")


def test_all_tables_are_of_one_moment(
    made: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(made, "CREATE TABLE a (x int, salary int)", "CREATE TABLE b (x int)", "INSERT INTO b VALUES (1)",
        "INSERT INTO a SELECT i % 3, 20 + i * 10 % 200 FROM generate_series(1, 90) AS t(i)")  # fmt: skip
    rules = Policy.parse(
        '[protect]\ntable = "a"\ncolumn = "salary"\nminimum = 0\nmaximum = 250\nstep = 10\npublic = ["x"]\n'
        '[tables]\npublic = ["b"]\n[limit]\nrisk = 0.5\n'
    )
    put = server_module.staging.put_stream

    def changing(*arguments: Any) -> None:
        put(*arguments)
        run(made, "UPDATE b SET x = x + 1", "DELETE FROM a")

    monkeypatch.setattr(server_module.staging, "put_stream", changing)
    with opened(at(made), tmp_path, rules) as gate:
        assert gate.execute("SELECT x FROM b").fetchall() == [(1,)]
        assert gate.execute("SELECT count(*) FROM a").fetchall() == [(90,)]


def test_rows_that_changed_do_not_fit_the_ledger(made: dict[str, Any], tmp_path: Path) -> None:
    run(made, "CREATE TABLE staff AS SELECT * FROM public.staff")
    with Gate.open(at(made), policy(), tmp_path / "a.ledger"):
        pass
    run(made, "UPDATE staff SET salary = 60 WHERE id = 3")
    with pytest.raises(DataChanged):
        Gate.open(at(made), policy(), tmp_path / "a.ledger")


def test_nothing_is_written_and_the_role_needs_to_read_alone(made: dict[str, Any]) -> None:
    run(made, "CREATE TABLE t (a int, b int)", "GRANT SELECT (a) ON t TO reader",
        "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'INSERT INTO t VALUES (1, 1) RETURNING 1'",
        "CREATE VIEW w AS SELECT f() AS a")  # fmt: skip
    with pytest.raises(DatabaseError, match="SQLSTATE 25006"):
        frame(at(made), "w")
    with duckdb.connect(":memory:") as connection:
        source_of(at(made, "reader")).attach(connection, "source", Wanted((Needed("t", ("a",)),)))
    with pytest.raises(DatabaseError, match="does not let the role read column b of table t"):
        frame(at(made, "reader"), "t")


def test_a_role_that_is_shown_a_part_is_not_given_the_part_for_the_whole(made: dict[str, Any]) -> None:
    run(made, "CREATE TABLE t (a int)", "INSERT INTO t VALUES (1), (2)", "GRANT SELECT ON t TO reader",
        "ALTER TABLE t ENABLE ROW LEVEL SECURITY", "CREATE POLICY p ON t FOR SELECT TO reader USING (a = 1)",
        "CREATE VIEW v WITH (security_invoker = true) AS SELECT * FROM t",
        "GRANT SELECT ON v TO reader")  # fmt: skip
    with pytest.raises(DatabaseError, match="a part of table t only"):
        frame(at(made, "reader"), "t")
    with pytest.raises(DatabaseError, match="SQLSTATE 42501"):
        frame(at(made, "reader"), "v")
    assert len(frame(at(made), "t")) == 2


@pytest.mark.parametrize(
    ("statements", "protected", "public"),
    [
        (["CREATE VIEW w AS SELECT salary AS s FROM staff"], "staff", "w"),
        (["CREATE VIEW v AS SELECT * FROM staff", "CREATE VIEW w AS SELECT * FROM v"], "staff", "w"),
        (["CREATE MATERIALIZED VIEW w AS SELECT salary FROM staff"], "staff", "w"),
        (["CREATE VIEW w AS SELECT * FROM staff"], "w", "staff"),
        (["CREATE TABLE p (id int, salary int) PARTITION BY RANGE (id)",
          "CREATE TABLE w PARTITION OF p FOR VALUES FROM (0) TO (9)"], "p", "w"),
        (["CREATE TABLE p (salary int)", "CREATE TABLE w () INHERITS (p)"], "w", "p"),
        (["CREATE VIEW v AS SELECT * FROM staff", "CREATE VIEW w AS SELECT salary FROM staff"], "v", "w"),
        (["CREATE TABLE w (a int)"], "staff", "public.staff"),
    ],
)  # fmt: skip
def test_no_public_table_has_protected_rows(
    made: dict[str, Any], statements: list[str], protected: str, public: str, tmp_path: Path
) -> None:
    run(made, *statements)
    wanted = Wanted((Needed(protected, None, ("salary",)), Needed(public)))
    with duckdb.connect(":memory:") as connection, pytest.raises(DatabaseError, match="have rows in common"):
        source_of(at(made)).attach(connection, "source", wanted)


def test_the_servers_own_statistics_are_not_public(made: dict[str, Any]) -> None:
    run(made, "CREATE VIEW w AS SELECT tablename, most_common_vals::text FROM pg_stats")
    protected = Needed("staff", None, ("salary",))
    for name, says in (("pg_catalog.pg_stats", "server's own"), ("w", "the server's own tables")):
        with duckdb.connect(":memory:") as connection, pytest.raises(DatabaseError, match=says):
            source_of(at(made)).attach(connection, "source", Wanted((protected, Needed(name))))


def test_a_public_view_that_calls_a_function_is_not_taken_at_its_word(made: dict[str, Any]) -> None:
    run(made, "CREATE FUNCTION f() RETURNS SETOF int LANGUAGE sql AS 'SELECT salary FROM public.staff'",
        "CREATE VIEW w AS SELECT * FROM f()")  # fmt: skip
    wanted = Wanted((Needed("staff", None, ("salary",)), Needed("w")))
    with duckdb.connect(":memory:") as connection, pytest.raises(DatabaseError, match="calls a function"):
        source_of(at(made)).attach(connection, "source", wanted)


def test_a_column_that_is_computed_from_the_protected_one_is_not_public(
    made: dict[str, Any], tmp_path: Path
) -> None:
    run(made, "CREATE TABLE t (age int, salary int, double int GENERATED ALWAYS AS (salary * 2) STORED)",
        "INSERT INTO t SELECT i, i * 10 % 200 FROM generate_series(1, 90) AS t(i)")  # fmt: skip
    with pytest.raises(DatabaseError, match="column double of table t is computed from a protected column"):
        opened(at(made), tmp_path, policy(table='"t"', key="")).__enter__()
    with opened(at(made), tmp_path, policy(table='"t"', key="", public='["age"]')):
        pass


@pytest.mark.parametrize(
    ("statements", "says"),
    [
        (["CREATE TABLE t (a int[])"], r"has PostgreSQL's type integer\[\], which is not carried over"),
        (["CREATE TABLE t (a money)"], "type money"),
        (["CREATE TABLE t (a numeric)", "INSERT INTO t VALUES (4711.00000000000001)"], "more than 15 digits"),
        (["CREATE TABLE t (a numeric(9, 2))", "INSERT INTO t VALUES ('NaN')"], "column a of table t"),
        (["CREATE TABLE t (a date)", "INSERT INTO t VALUES ('4711-03-15 BC')"], "column a of table t"),
        (["CREATE TABLE t (a int, \"A\" int)"], "columns a and A"),
        (["CREATE VIEW t AS SELECT 1 / (i - 1) AS a FROM generate_series(1, 3) AS s(i)"], "SQLSTATE 22012"),
    ],
)  # fmt: skip
def test_what_cannot_be_carried_over_is_one_clear_error_without_a_value(
    made: dict[str, Any], statements: list[str], says: str
) -> None:
    run(made, *statements)
    with pytest.raises(DatabaseError, match=says) as raised:
        frame(at(made), "t")
    assert "4711" not in str(raised.value)


def test_a_server_that_lets_nobody_in_is_one_clear_error_without_a_password(
    server: dict[str, Any], tmp_path: Path
) -> None:
    place = url(server)
    for place_, says in (
        (place.replace("/postgres?", "/nowhere?"), "there is no such database on it"),
        (url(server, "nobody"), "it has no such role"),
        ("postgresql://ann:geheim@127.0.0.1:1/x", "it cannot be reached"),
        ("postgresql://ann:geheim@/x?host=/nowhere", "it cannot be reached"),
        (place + "&nonsense=geheim", "not a URL that libpq reads"),
    ):
        with pytest.raises(DatabaseError, match=says) as raised:
            Gate.open(place_, policy(), tmp_path / "a.ledger")
        assert "geheim" not in str(raised.value)
    assert not (tmp_path / "a.ledger").exists()


@pytest.mark.parametrize(
    "said",
    ['connection failed: FATAL:  password authentication failed for user "ann"',
     "connection to server failed: fe_sendauth: no password supplied"],
)  # fmt: skip
def test_a_wrong_password_is_said(said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refusing(*arguments: Any, **more: Any) -> None:
        raise psycopg.OperationalError(said)

    monkeypatch.setattr(psycopg, "connect", refusing)
    with pytest.raises(DatabaseError, match="does not accept the user name or the password"):
        Gate.open("postgresql://ann:geheim@host/x", policy(), tmp_path / "a.ledger")


@pytest.mark.slow
def test_a_connection_that_is_lost_leaves_nothing(
    made: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(made, "CREATE TABLE t (salary int, pad text)",
        "INSERT INTO t SELECT 10, repeat('x', 100000) FROM generate_series(1, 900)")  # fmt: skip
    fill_ = server_module.copying.Stream._fill
    seen = count()

    def losing(stream: Any) -> None:
        if next(seen) == 300:
            run(made, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'COPY%'")
        fill_(stream)

    monkeypatch.setattr(server_module.copying.Stream, "_fill", losing)
    with pytest.raises(DatabaseError, match="could not be read"):
        Gate.open(at(made), policy(table='"t"', key=""), tmp_path / "a.ledger")
    assert not (tmp_path / "a.ledger").exists()


def test_without_psycopg_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    real = builtins.__import__

    def without(name: str, *more: Any, **named: Any) -> Any:
        if name.partition(".")[0] == "psycopg":
            raise ImportError(name)
        return real(name, *more, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.delitem(sys.modules, "psycopg", raising=False)
    with pytest.raises(DatabaseError, match=r"pip install 'cae-sql\[postgres\]'"):
        Gate.open("postgresql://ann:geheim@host/x", policy(), tmp_path / "a.ledger")


def test_dates_and_decimals_are_answered_as_by_a_duckdb_file(server: dict[str, Any], tmp_path: Path) -> None:
    asked = 'SELECT max(since), sum(dist), max("at") FROM staff'
    with opened(url(server), tmp_path) as gate:
        found = gate.execute(asked).fetchall()
    assert found == [(datetime.date(2020, 1, 30), Decimal("2793.75"),
                      datetime.datetime(2020, 1, 7, 5, 0, 0, 149))]  # fmt: skip
    assert found == duckdb.sql(asked.replace("staff", f"({ROWS})")).fetchall()
