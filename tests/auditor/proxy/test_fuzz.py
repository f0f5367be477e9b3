"""Damaged conversations and noise do not break a whole server, and breaking it would be noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from auditor.proxy.session.session import Session
from tests.auditor.proxy import fuzz
from tests.auditor.proxy.raw import Closed, Raw
from tests.auditor.proxy.serving import PASSWORD, running


@pytest.mark.slow
def test_a_server_keeps_the_promises(tmp_path: Path) -> None:
    total, watching = fuzz.fuzz(3_000, 11, 2, tmp_path)
    assert total.problems == []
    assert total.counts["messages"] >= 3_000
    assert total.counts["conversations"] > 30
    assert watching.asked > 5
    # the first decision brings the solver and the compiled kernels in, some 130 MB
    settled = watching.memory[len(watching.memory) // 2 :]
    assert max(settled) - settled[0] < 220 << 20


@pytest.mark.slow
def test_a_mistake_of_ours_would_be_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Session._query

    def broken(session: Session, text: str) -> object:
        if "mark" in text:
            raise RuntimeError("a mistake")
        return real(session, text)

    monkeypatch.setattr(Session, "_query", broken)
    with running(tmp_path, tls=False, per_user=50) as server:
        told = fuzz.Told()
        made = fuzz.Conversations(1)
        for _ in range(30):
            fuzz.converse(server.port, made, told)
        assert told.counts["closed"] > 0
        assert told.counts["conversations"] == 0
        assert server.events("internal error") != []


@pytest.mark.slow
def test_the_raw_client_comes_in_and_is_turned_away(tmp_path: Path) -> None:
    with running(tmp_path, tls=False) as server:
        with Raw(server.port) as client:
            assert client.log_in("ana", PASSWORD) == b"ZI"
        with Raw(server.port) as client:
            assert b"28P01" in client.log_in("ana", "wrong")
            with pytest.raises(Closed):
                client.message()
