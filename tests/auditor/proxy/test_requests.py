"""`SELECT cae_request(…)` files a request under the name of who logged in, and answers one text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from auditor.proxy import requests
from tests.auditor.proxy.serving import Running, running

psycopg = pytest.importorskip("psycopg", reason="the client of these tests")

TWO = "SELECT sum(salary) FROM staff WHERE id IN (4, 8) AND dept = 'a'"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("requests"), tls=False) as server:
        yield server


def connect(server: Running, **more: Any) -> Any:
    return psycopg.connect(**(server.psycopg | {"autocommit": True} | more))


def test_a_request_is_filed_by_who_logged_in(server: Running) -> None:
    with connect(server) as connection:
        quoted = TWO.replace("'", "''")
        (text,) = connection.execute(f"SELECT cae_request('{quoted}', 'for the report')").fetchone()
    last = server.gate.requests().iloc[-1]
    assert text == f"request {last['number']} is on record; the owner of the data decides"
    assert (last["user"], last["sql"], last["because"], last["state"]) == (
        "ana",
        TWO,
        "for the report",
        "open",
    )


def test_texts_may_be_parameters(server: Running) -> None:
    with connect(server) as connection:
        connection.execute("SELECT cae_request(%s, %s)", (TWO, "why"))
        connection.execute("SELECT cae_request(%s)", (TWO,), prepare=True)
    assert server.gate.requests()["because"].tolist()[-2:] == ["why", ""]


def test_what_is_no_text_is_an_error_that_says_what_to_write(server: Running) -> None:
    before = len(server.gate.requests())
    with connect(server) as connection:
        for call in ("cae_request()", "cae_request(1)", "cae_request('a', 'b', 'c')", "cae_request('  ')"):
            with pytest.raises(psycopg.Error, match=r"cae_request|in words"):
                connection.execute(f"SELECT {call}")
    assert len(server.gate.requests()) == before


def test_a_statement_that_is_more_than_the_call_is_none() -> None:
    for sql in (
        "SELECT cae_request('a'), 1",
        "SELECT cae_request('a') FROM staff",
        "SELECT sum(salary) FROM staff WHERE dept = 'cae_request(1)'",
        "WITH t AS (SELECT 1) SELECT cae_request('a')",
        "SELECT cae_request('a') UNION SELECT 'b'",
    ):
        assert requests.called(sql) is None
    assert requests.called("select CAE_REQUEST('a') AS said;") is not None


@pytest.mark.parametrize(
    ("aggregate", "end"),
    [
        ("sum", "age = 20 AND sex = 'm' AND dept = 'a'"),
        ("max", "Or ask the owner for it: SELECT cae_request('SELECT …', 'why')."),
    ],
)
def test_the_hint_of_a_refusal_says_so_and_a_statement_to_copy_stays_at_its_end(
    server: Running, aggregate: str, end: str
) -> None:
    sql = f"SELECT {aggregate}(salary) FROM staff WHERE age = 20 AND sex = 'm' AND dept = 'a'"
    with connect(server, options="-c cae_sql.hint=field") as connection:
        with pytest.raises(psycopg.errors.InsufficientPrivilege) as caught:
            connection.execute(sql)
        hint = caught.value.diag.message_hint
        assert hint.count(requests.OR) == 1
        assert hint.endswith(end)
        with pytest.raises(psycopg.errors.FeatureNotSupported) as unsupported:
            connection.execute("SELECT salary FROM staff")
        assert requests.NAME not in (unsupported.value.diag.message_hint or "")
