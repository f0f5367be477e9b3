"""Shares of rooms: all of a unit's parts together never have more than a room, however they are shown."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cae_sql.inference.certify.sharing import ROUNDS, Sharing
from cae_sql.inference.facts.units import Occupied


@given(st.integers(0, 10**9))
def test_what_the_parts_of_a_unit_were_shown_with_adds_up_to_one_room_at_most(seed: int) -> None:
    chance = np.random.default_rng(seed)
    size, parts = int(chance.integers(1, 40)), int(chance.integers(1, 10))
    labels, units = chance.integers(0, parts, size), chance.integers(0, 9, size)
    drawing = chance.random(parts) < 0.8
    sharing = Sharing(Occupied.of(labels, units, parts), drawing)
    spent, shown = np.zeros(parts), chance.random(parts) < 0.3
    inside = shown.copy()
    for part_of in ROUNDS:
        lacking = ~shown
        share = 1.0 / sharing.divisions(lacking, part_of)
        now = lacking & (chance.random(parts) < 0.5)
        spent[lacking] = np.maximum(spent, share)[lacking]
        sharing.take(now)
        shown |= now
    for unit in np.unique(units):
        mine = [part for part in np.unique(labels[units == unit]) if drawing[part] and not inside[part]]
        assert sum(spent[part] for part in mine if shown[part]) <= 1 + 1e-9


def test_what_is_left_goes_to_the_part_that_lacks() -> None:
    """Of a unit with eight parts one is hard to show: it has most of every room, not an eighth."""
    labels, none = np.arange(8), np.zeros(8, dtype=np.bool_)
    sharing = Sharing(Occupied.of(labels, np.zeros(8, dtype=np.int64), 8), ~none)
    lacking = np.ones(8, dtype=np.bool_)
    assert set(sharing.divisions(lacking, ROUNDS[0])) == {32}
    lacking[1:] = False
    sharing.take(~lacking)
    assert sharing.divisions(lacking, ROUNDS[1])[0] == 2
