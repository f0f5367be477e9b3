"""Persons with several rows behind the proxy: clients are told what Python is told, on any ledger."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from auditor import Gate, Policy, QueryRefused
from tests.auditor.gate.test_unit_editions import COLUMNS, ROWS, TEXT, TOTAL, admitted
from tests.auditor.proxy import postgres_server
from tests.auditor.proxy.serving import running_with
from tests.auditor.staff import build
from tests.clocks import soon

psycopg = pytest.importorskip("psycopg", reason="the client of these tests")

POLICY = Policy.parse(TEXT.replace('["ward"]', '["ward", "patient"]') + "[ledger]\neditions = true\n")
WARDS = "SELECT ward, sum(salary) FROM staff GROUP BY ward ORDER BY ward"
ONE = "SELECT sum(salary) FROM staff WHERE patient = 7"
PARTS = """SELECT CASE WHEN patient = 7 THEN 'seven' WHEN patient < 30 THEN 'low' ELSE 'high' END AS part,
sum(salary) FROM staff GROUP BY part ORDER BY part"""
_SCHEMAS = count(1)


@pytest.fixture(scope="module")
def server() -> Iterator[dict[str, Any]]:
    with postgres_server.running() as place:
        yield place


@pytest.fixture(params=["file", "server"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where answers are remembered: a file, or a schema of one's own on a server."""
    if request.param == "file":
        return str(tmp_path / "ledger")
    place = request.getfixturevalue("server")
    schema = f"ledger_{next(_SCHEMAS)}"
    with psycopg.connect(**place, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
    return f"postgresql://postgres:hidden@/postgres?host={place['host']}&options=-csearch_path%3D{schema}"


def refusal(client: Any, sql: str) -> tuple[str, str]:
    """SQLSTATE and text."""
    with pytest.raises(psycopg.Error) as refused:
        client.execute(sql)
    return refused.value.sqlstate, refused.value.diag.message_primary


@pytest.mark.slow
def test_clients_are_told_of_units_what_python_is_told_over_editions(tmp_path: Path, ledger: str) -> None:
    before = build(tmp_path / "before.duckdb", ROWS, COLUMNS)
    after = build(tmp_path / "after.duckdb", [*ROWS, *admitted([3] * 30)], COLUMNS)
    with Gate.open(before, POLICY, tmp_path / "by Python") as gate:
        wards = gate.execute(WARDS).fetchall()
        with pytest.raises(QueryRefused) as refused:
            gate.execute(ONE)
        parts = gate.execute(PARTS)
    notices = list[str]()
    with (
        Gate.open(before, POLICY, ledger) as gate,
        running_with(gate, tmp_path, tls=False, reopen=lambda: Gate.open(after, POLICY, ledger)) as proxy,
        psycopg.connect(**proxy.psycopg, autocommit=True) as client,
    ):
        client.add_notice_handler(lambda each: notices.append(str(each.message_primary)))
        assert client.execute(WARDS).fetchall() == wards
        state, text = refusal(client, ONE)
        assert text.startswith(refused.value.decision.message)
        assert refusal(client, "SELECT AT_LEAST(median(salary)) FROM staff")[0] == state
        found = client.execute(PARTS).fetchall()
        assert found == parts.fetchall()
        assert dict(found)["seven"] is None
        assert notices == [parts.decision.message]
        # thirty stays more of one patient
        Gate.renew(after, POLICY, ledger)
        proxy.call(proxy.server.reload)
        assert soon(lambda: proxy.events("reloaded") != [])
        assert refusal(client, TOTAL)[0] == state
        assert client.execute(WARDS).fetchall() == [("a", None), *wards[1:]]
        assert (proxy.gate.edition, proxy.gate.verify().problems) == (2, ())
