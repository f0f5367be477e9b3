"""psycopg, asyncpg, pg8000, SQLAlchemy and pandas, over TLS."""

from __future__ import annotations

import asyncio
import datetime
import importlib
import ssl
import threading
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from tests.auditor.proxy.serving import PASSWORD, Running, running
from tests.clocks import soon
from tests.quick import some

psycopg = pytest.importorskip("psycopg", reason="the client of these tests")

SLOW = """SELECT COUNT(*) FROM staff a, staff b, staff c, staff d, staff e, staff f
WHERE a.id * b.id + c.id * d.id > e.id * f.id + {}"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("clients")) as made:
        yield made


def connect(server: Running, **more: Any) -> Any:
    return psycopg.connect(**(server.psycopg | {"autocommit": True} | more))


TYPES = """SELECT TRUE AS b, 7::SMALLINT AS s, 7::INTEGER AS i, 7::BIGINT AS l, 1.5::DOUBLE AS d,
1.50::DECIMAL(10, 2) AS n, 'é' AS t, DATE '2024-02-29' AS day, TIME '12:30:00' AS clock,
TIMESTAMP '2024-02-29 12:30:00' AS moment, NULL::INTEGER AS nothing"""
VALUES = (
    True, 7, 7, 7, 1.5, Decimal("1.50"), "é", datetime.date(2024, 2, 29), datetime.time(12, 30),
    datetime.datetime(2024, 2, 29, 12, 30), None,
)  # fmt: skip


# psycopg


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("prepare", [False, True])
def test_psycopg_reads_every_type_in_both_formats(server: Running, binary: bool, prepare: bool) -> None:
    with connect(server) as connection:
        cursor = connection.cursor(binary=binary)
        for _ in range(2):
            assert cursor.execute(TYPES, prepare=prepare).fetchone() == VALUES


@pytest.mark.parametrize("binary", [False, True])
def test_psycopg_sends_parameters_and_nulls(server: Running, binary: bool) -> None:
    mark = "%b" if binary else "%s"
    with connect(server) as connection:
        sql = f"SELECT COUNT(*) FROM staff WHERE age >= {mark} AND dept = {mark}"
        assert connection.execute(sql, (40, "a")).fetchone() == (5,)
        assert connection.execute(sql, (40, None)).fetchone() == (0,)
        assert connection.execute(f"SELECT id FROM staff ORDER BY id LIMIT {mark}", (2,)).fetchall() == [
            (0,), (1,),
        ]  # fmt: skip
        # an exact sum of the protected column is a HUGEINT, which arrives as a number
        found = connection.execute(f"SELECT SUM(salary) FROM staff WHERE id >= {mark}", (0,)).fetchone()
        assert found is not None
        assert isinstance(found[0], int | Decimal)


@pytest.mark.parametrize("binary", [False, True])
def test_psycopg_reads_ends_as_floats(server: Running, binary: bool) -> None:
    with connect(server) as connection:
        sql = "SELECT AT_LEAST(SUM(salary)), AT_MOST(SUM(salary)) FROM staff HAVING AT_MOST(SUM(salary)) > %s"
        cursor = connection.cursor(binary=binary).execute(sql, (0,))
        assert [column.type_code for column in cursor.description] == [701, 701]
        [(least, most)] = cursor.fetchall()
        assert isinstance(least, float)
        assert least == most == float(connection.execute("SELECT SUM(salary) FROM staff").fetchone()[0])


def test_psycopg_sees_a_refusal_with_code_detail_and_hint(server: Running) -> None:
    with connect(server) as connection:
        with pytest.raises(psycopg.errors.InsufficientPrivilege) as caught:
            connection.execute("SELECT AVG(salary) FROM staff WHERE id = %s", (3,))
        said = caught.value.diag
        assert said.message_detail == "Verdict: refused, code: risk."
        assert str(caught.value).count("Drop the condition") == 1
        assert (said.message_primary.count("Hint: Drop"), said.message_hint) == (1, None)
    with psycopg.connect(**server.psycopg, options="-c cae_sql.hint=field", autocommit=True) as connection:
        with pytest.raises(psycopg.errors.InsufficientPrivilege) as caught:
            connection.execute("SELECT AVG(salary) FROM staff WHERE id = %s", (3,))
        assert "Hint:" not in caught.value.diag.message_primary
        assert caught.value.diag.message_hint.startswith("Drop the condition")
        with pytest.raises(psycopg.errors.FeatureNotSupported):
            connection.execute("SELECT salary FROM staff")
        with pytest.raises(psycopg.errors.UndefinedTable):
            connection.execute("SELECT %s FROM nowhere", (1,))
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_psycopg_keeps_its_transactions(server: Running) -> None:
    """A failed block answers nothing but its end; a savepoint brings it back."""
    with connect(server, autocommit=False) as connection:
        connection.execute("SET LOCAL application_name TO 'inside'")
        with pytest.raises(psycopg.errors.UndefinedTable), connection.transaction():
            connection.execute("SELECT 1 FROM nowhere")
        assert connection.execute("SHOW application_name").fetchone() == ("inside",)
        with pytest.raises(psycopg.errors.UndefinedTable):
            connection.execute("SELECT 1 FROM nowhere")
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            connection.execute("SELECT 1")
        connection.rollback()
        assert connection.execute("SHOW application_name").fetchone() == ("",)


def test_psycopg_pipelines(server: Running) -> None:
    with connect(server) as connection:
        with connection.pipeline():
            found = [connection.execute("SELECT %s::int", (number,)) for number in range(20)]
        assert [each.fetchone() for each in found] == [(number,) for number in range(20)]
        with pytest.raises(psycopg.errors.UndefinedTable), connection.pipeline():
            connection.cursor().executemany("SELECT 1 FROM nowhere WHERE 1 = %s", [(1,), (2,)])
        assert connection.execute("SELECT 2").fetchone() == (2,)


def test_psycopg_fetches_with_a_cursor_at_the_server(server: Running) -> None:
    with connect(server, autocommit=False) as connection:
        with connection.cursor(name="c") as cursor:
            cursor.execute("SELECT id FROM staff WHERE age > %s ORDER BY id", (20,))
            assert [row[0] for row in cursor.fetchmany(3)] == [1, 2, 3]
            assert len(cursor.fetchall()) == 55
        with connection.cursor() as cursor:
            assert sum(1 for _ in cursor.stream("SELECT id FROM staff")) == 60


def test_psycopg_cancels_and_goes_on(server: Running) -> None:
    with connect(server) as connection:

        def cancel() -> None:
            assert soon(lambda: server.gate._database._cursors)
            connection.cancel_safe()  # cancel() holds the GIL

        thread = threading.Thread(target=cancel)
        thread.start()
        with pytest.raises(psycopg.errors.QueryCanceled, match="user request"):
            connection.execute(SLOW.format(1))
        thread.join()
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_psycopg_sets_a_time_limit(server: Running) -> None:
    with connect(server, options="-c statement_timeout=300ms -c TimeZone=Europe/Berlin") as connection:
        with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout"):
            connection.execute(SLOW.format(2))
        assert connection.info.parameter_status("TimeZone") == "Europe/Berlin"
        connection.execute("SET TIME ZONE 'UTC'")
        assert connection.info.parameter_status("TimeZone") == "UTC"


# others


def tls(server: Running) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(server.certificate))


@pytest.mark.slow
def test_asyncpg_asks_prepares_pools_and_is_refused(server: Running) -> None:
    asyncpg = pytest.importorskip("asyncpg", reason="the client of this test")

    async def ask() -> None:
        where = {
            "host": "localhost", "port": server.port, "user": "ana", "password": PASSWORD,
            "database": "staff", "ssl": tls(server),
        }  # fmt: skip
        async with asyncpg.create_pool(**where, min_size=2, max_size=3) as pool:
            rows = await asyncio.gather(*[pool.fetchval("SELECT $1::int + 1", n) for n in range(12)])
            assert rows == list(range(1, 13))
            async with pool.acquire() as connection:
                assert tuple(await connection.fetchrow(TYPES)) == VALUES
                sql = "SELECT COUNT(*) FROM staff WHERE age >= $1 AND dept = $2"
                assert await connection.fetchval(sql, 40, "a") == 5
                assert await connection.fetchval(sql, 40, None) == 0
                with pytest.raises(asyncpg.InsufficientPrivilegeError) as caught:
                    await connection.fetch("SELECT AVG(salary) FROM staff WHERE id = $1", 5)
                assert caught.value.detail == "Verdict: refused, code: risk."
                assert str(caught.value).count("Hint: ") == 1
                assert caught.value.hint is None
                with pytest.raises(asyncpg.FeatureNotSupportedError):
                    await connection.fetch("SELECT salary FROM staff")
                with pytest.raises(asyncio.TimeoutError):
                    await connection.fetch(SLOW.format(3), timeout=0.5)
                assert await connection.fetchval("SELECT 1") == 1
                async with connection.transaction():
                    found = [row[0] async for row in connection.cursor("SELECT id FROM staff", prefetch=7)]
                assert len(found) == 60

    asyncio.run(ask())


def test_pg8000_asks_and_is_refused(server: Running) -> None:
    pg8000 = pytest.importorskip("pg8000.dbapi", reason="the client of this test")
    connection = pg8000.connect(
        "ana",
        host="localhost",
        port=server.port,
        password=PASSWORD,
        database="staff",
        ssl_context=tls(server),
    )
    cursor = connection.cursor()
    cursor.execute(TYPES)
    assert tuple(cursor.fetchone()) == VALUES
    cursor.execute("SELECT COUNT(*) FROM staff WHERE age >= %s AND dept = %s", (40, "a"))
    assert cursor.fetchone()[0] == 5
    with pytest.raises(pg8000.DatabaseError) as caught:
        cursor.execute("SELECT AVG(salary) FROM staff WHERE id = %s", (7,))
    said = caught.value.args[0]
    assert said["C"] == "42501"
    assert said["D"] == "Verdict: refused, code: risk."
    assert said["M"].count("Hint: ") == 1
    assert "H" not in said
    connection.rollback()
    cursor.execute("SELECT 1")
    assert cursor.fetchone()[0] == 1
    connection.close()


def engine(server: Running, driver: str = "psycopg") -> Any:
    sqlalchemy = pytest.importorskip("sqlalchemy")
    certificate = {"sslmode": "verify-full", "sslrootcert": str(server.certificate)}
    return sqlalchemy.create_engine(
        f"postgresql+{driver}://ana:{PASSWORD.replace(' ', '%20')}@localhost:{server.port}/staff",
        connect_args=certificate,
    )


@pytest.mark.slow
@pytest.mark.parametrize("driver", some(["psycopg", "psycopg2"], 1))
def test_sqlalchemy_reflects_and_asks(server: Running, driver: str) -> None:
    sqlalchemy = importlib.import_module("sqlalchemy")
    pytest.importorskip(driver, reason="the driver of this test")
    made = engine(server, driver)
    assert sqlalchemy.inspect(made).get_table_names() == ["staff"]
    for schema in (None, "public"):
        table = sqlalchemy.Table("staff", sqlalchemy.MetaData(), autoload_with=made, schema=schema)
        assert [column.name for column in table.columns] == ["id", "age", "sex", "dept", "salary"]
        asked = sqlalchemy.select(sqlalchemy.func.count()).select_from(table).where(table.c.age >= 40)
        with made.connect() as connection:
            assert connection.execute(asked).scalar() == 20
            with pytest.raises(sqlalchemy.exc.DBAPIError, match="could tell too much"):
                connection.execute(sqlalchemy.text("SELECT AVG(salary) FROM staff WHERE id = 9"))
            connection.rollback()
            assert connection.execute(asked).scalar() == 20
    made.dispose()


def test_pandas_reads_a_query(server: Running) -> None:
    pandas = importlib.import_module("pandas")
    made = engine(server)
    frame = pandas.read_sql("SELECT dept, COUNT(*) AS n FROM staff GROUP BY dept ORDER BY dept", made)
    assert frame.to_dict("list") == {"dept": list("abcd"), "n": [15] * 4}
    frame = pandas.read_sql_query(
        importlib.import_module("sqlalchemy").text("SELECT id FROM staff WHERE age < :a ORDER BY id"),
        made, params={"a": 22},
    )  # fmt: skip
    assert frame["id"].tolist() == [0, 1, 40, 41]
    made.dispose()


def test_a_tracker_through_two_users_and_two_tools_is_stopped(server: Running) -> None:
    """Half of the difference comes from psycopg, half from pg8000, under two names: scope = "everyone"."""
    pg8000 = pytest.importorskip("pg8000.dbapi", reason="one of the tools")
    other = pg8000.connect(
        "bob",
        host="localhost",
        port=server.port,
        password=PASSWORD,
        database="staff",
        ssl_context=tls(server),
    )
    with connect(server) as connection:
        assert connection.execute("SELECT SUM(salary) FROM staff WHERE sex = 'm'").fetchone()
        cursor = other.cursor()
        with pytest.raises(pg8000.DatabaseError, match="42501"):
            cursor.execute("SELECT SUM(salary) FROM staff WHERE sex = 'm' AND id <> 20")
    other.close()


@pytest.mark.slow
def test_who_comes_again_is_served_again(server: Running) -> None:
    for _ in range(5):
        with connect(server) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
    assert not server.events("internal error")
