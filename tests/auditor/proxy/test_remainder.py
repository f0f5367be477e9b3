"""Withheld groups together, through PostgreSQL's protocol: one more row like the others, and a WARNING."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.auditor.gate.test_remainder import BY_DEPT, OTHERS, SMALL, total_of, with_small_ones
from tests.auditor.proxy.serving import opened, running_with
from tests.auditor.staff import build

psycopg = pytest.importorskip("psycopg", reason="the client of these tests")


@pytest.mark.parametrize(("value", "key"), [("true", None), ('"(other)"', "(other)")])
def test_its_row_comes_last_with_keys_null_or_the_label(tmp_path: Path, value: str, key: str | None) -> None:
    database, said = build(tmp_path / "staff.duckdb", with_small_ones()), list[str]()
    with (
        opened(tmp_path, f"[decision]\nremainder = {value}\n") as gate,
        running_with(gate, tmp_path, tls=False) as server,
        psycopg.connect(**(server.psycopg | {"autocommit": True})) as connection,
    ):
        connection.add_notice_handler(lambda notice: said.append(notice.message_primary or ""))
        rows = connection.execute(BY_DEPT).fetchall()
        assert [dept for dept, s, _ in rows if s is None] == list(SMALL)
        assert rows[-1] == (key, total_of(database, OTHERS), 12)
        explained = connection.execute(f"EXPLAIN {BY_DEPT}").fetchall()
        prepared = connection.execute(BY_DEPT, prepare=True).fetchall()
    assert "1 more row, the last one, has withheld groups together." in said[0]
    assert explained[-1][:3] == (f"dept {key or 'NULL'}", "sum(salary)", "known")
    assert prepared == rows
