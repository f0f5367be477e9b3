"""Two gates on one ledger: each half of a difference asked of another, one after the other and at once."""

from __future__ import annotations

import threading
from pathlib import Path

from .arena import verdict
from .ledgers import ALL, REST, Place


def test_what_one_gate_answered_the_other_knows(tmp_path: Path) -> None:
    place = Place(tmp_path, anchored=False)
    with place.gate() as first, place.gate() as second:
        assert verdict(first, ALL).verdict == "answered"
        assert verdict(second, REST).verdict == "refused"
        assert verdict(second, ALL).code == "known"


def test_asked_at_the_same_moment_only_one_half_is_answered(tmp_path: Path) -> None:
    place = Place(tmp_path, anchored=True)
    with place.gate() as first, place.gate() as second:
        for round_ in range(4):
            found: list[str] = []
            together = threading.Barrier(2)
            halves = (f"id < {20 - round_}", f"id < {20 - round_} AND id <> {round_}")

            def ask(gate, where, found=found, together=together):  # type: ignore[no-untyped-def]
                together.wait()
                found.append(verdict(gate, f"SELECT sum(salary) FROM staff WHERE {where}").verdict)

            threads = [
                threading.Thread(target=ask, args=pair) for pair in zip((first, second), halves, strict=True)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert found.count("answered") <= 1
