"""Damaged conversations and noise break none of the promises of `fuzz`, and breaking one would be noticed."""

from __future__ import annotations

import random
import subprocess
import sys
import tracemalloc

import pytest

from auditor.proxy.protocol import Connection, Limits
from auditor.proxy.protocol.framing import Inbox
from tests.auditor.proxy.protocol import fuzz
from tests.auditor.proxy.protocol.wire import message


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_streams_keep_the_promises(seed: int) -> None:
    outcome = fuzz.fuzz(3_000, seed)
    assert outcome.counts["errors"] > 100
    assert outcome.counts["closed"] > 20
    assert outcome.counts["ExecutePortal"] > 5


@pytest.mark.slow
def test_memory_does_not_grow_with_streams() -> None:
    streams = fuzz.Streams(4)
    for _ in range(20):
        fuzz.converse(streams.stream(), streams.rng, fuzz.Outcome())
    tracemalloc.start()
    try:
        for _ in range(60):
            fuzz.converse(streams.stream(), streams.rng, fuzz.Outcome())
        left, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert left < 300_000


def test_an_exception_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Inbox, expected: object) -> None:
        raise IndexError

    monkeypatch.setattr(Inbox, "message", broken)
    with pytest.raises(IndexError):
        fuzz.fuzz(1_000, 1)


def test_bytes_that_are_kept_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "LIMITS", Limits(small=1, message=1, memory=1))
    monkeypatch.setattr(Connection, "__init__", _without_limits(Connection.__init__))
    rng = random.Random(3)
    start = fuzz.started()
    flood = [[*start, message("d", bytes(30_000))[:-1]]] * 20

    def converse() -> None:
        for stream in flood:
            fuzz.converse(stream, rng, fuzz.Outcome())

    with pytest.raises(AssertionError):
        converse()


def _without_limits(init: object) -> object:
    def made(self: Connection, **settings: object) -> None:
        settings["limits"] = Limits()
        init(self, **settings)  # type: ignore[operator]

    return made


def test_the_command_says_what_it_saw() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.auditor.proxy.protocol.fuzz", "--messages", "300", "--seed", "5"],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    for name in ("errors", "closed", "messages per second", "peak memory"):
        assert name in done.stdout
