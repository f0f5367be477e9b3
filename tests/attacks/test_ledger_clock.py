"""A clock set back: entries with times before those of their predecessors, which decide nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from auditor.ledger import book

from .arena import verdict
from .ledgers import ALL, REST, Place


class Backwards(datetime):
    """Each look at this clock is a year earlier than the one before."""

    year_now = 2026

    @classmethod
    def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
        cls.year_now -= 1
        return datetime(cls.year_now, 1, 1, tzinfo=UTC)


def test_a_clock_that_runs_backwards_makes_nothing_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(book, "datetime", Backwards)
    place = Place(tmp_path, anchored=True)
    assert place.asked(ALL) == ["answered"]
    assert place.asked(REST) == ["refused"]
    with place.gate() as gate:
        history = gate.history()
        times = list(history["time"])
        assert times == sorted(times, reverse=True), "the clock did run backwards"
        assert list(history["number"]) == sorted(history["number"])
        assert gate.verify().problems == ()
        assert verdict(gate, REST).verdict == "refused"
