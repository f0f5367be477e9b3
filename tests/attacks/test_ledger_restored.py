"""A ledger restored from an old copy: from before the first half of the difference was answered."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from auditor import LedgerError

from .ledgers import ALL, REST, Place

OTHER = "SELECT sum(salary) FROM staff WHERE id < 12"


def old_copy_put_back(place: Place) -> None:
    assert place.asked(OTHER) == ["answered"]
    copy = place.elsewhere / "copy"
    shutil.copy(place.ledger, copy)
    assert place.asked(ALL, REST) == ["answered", "refused"]
    place.remove()
    shutil.copy(copy, place.ledger)


def test_with_an_anchor_an_old_copy_is_not_opened(tmp_path: Path) -> None:
    place = Place(tmp_path, anchored=True)
    old_copy_put_back(place)
    with pytest.raises(LedgerError, match="where its anchor says"):
        place.asked(REST)


def test_without_one_it_is_and_the_difference_is_told(tmp_path: Path) -> None:
    """Documented: the anchor is what tells an old copy from the ledger."""
    place = Place(tmp_path, anchored=False)
    old_copy_put_back(place)
    assert place.asked(REST) == ["answered"]


def test_an_old_anchor_beside_a_longer_ledger_forgets_nothing(tmp_path: Path) -> None:
    """The anchor alone put back: the ledger is longer, as after a crash, and all of it is known."""
    place = Place(tmp_path, anchored=True)
    assert place.asked(OTHER) == ["answered"]
    old = place.anchor.read_bytes()
    assert place.asked(ALL) == ["answered"]
    place.anchor.write_bytes(old)
    assert place.asked(REST) == ["refused"]
