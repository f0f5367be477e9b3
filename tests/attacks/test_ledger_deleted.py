"""A deleted ledger: who can make the gate forget can ask the second half of a difference."""

from __future__ import annotations

from pathlib import Path

import pytest

from auditor import LedgerError

from .arena import verdict
from .ledgers import ALL, REST, Place


def test_with_an_anchor_a_deleted_ledger_ends_all_answers(tmp_path: Path) -> None:
    place = Place(tmp_path, anchored=True)
    assert place.asked(ALL) == ["answered"]
    place.remove()
    with pytest.raises(LedgerError, match="is missing, and its anchor"):
        place.asked(REST)
    assert not place.ledger.exists(), "nor is a new one begun"


def test_without_one_it_is_begun_anew_and_the_difference_is_told(tmp_path: Path) -> None:
    """Documented: a chain cannot show that the whole file is gone. Keep an anchor."""
    place = Place(tmp_path, anchored=False)
    assert place.asked(ALL, REST) == ["answered", "refused"]
    place.remove()
    assert place.asked(REST) == ["answered"]


def test_deleted_while_a_gate_is_open_nothing_is_forgotten_by_it(tmp_path: Path) -> None:
    place = Place(tmp_path, anchored=True)
    with place.gate() as gate:
        assert verdict(gate, ALL).verdict == "answered"
        place.remove()
        with_errors = []
        try:
            with_errors.append(verdict(gate, REST).verdict)
        except LedgerError as error:
            with_errors.append(str(error))
        assert with_errors != ["answered"]
