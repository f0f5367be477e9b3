"""Tables led to where they keep ranges: every sum and box stays, and what is said to be kept is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from cae_sql.inference.facts.query import Query
from cae_sql.inference.facts.ranges import Bound, Share
from cae_sql.inference.tables.lead import INSIDE, Alike, led, with_shares
from cae_sql.inference.tables.margins import Soft

Ints = NDArray[np.int64]


class Drawn(NamedTuple):
    """Some records in sets, one of them free or none, and a table in their boxes."""

    table: Ints
    boxes: tuple[Ints, Ints]
    alike: Alike


def drawn(chance: np.random.Generator) -> Drawn:
    size, top = int(chance.integers(4, 40)), int(chance.integers(1, 12))
    labels = chance.integers(0, 3, size)
    low = chance.integers(0, top // 3 + 1, size)
    high = np.maximum(low, top - chance.integers(0, top // 3 + 1, size))
    order = np.argsort(labels, kind="stable")
    firsts = np.searchsorted(labels[order], np.arange(4))
    free = np.array([False, False, chance.random() < 0.5])
    return Drawn(chance.integers(low, high + 1), (low, high), Alike(labels, order, firsts, free))


def is_kept(found: Ints, before: Drawn) -> bool:
    """Whether boxes are kept, and the sums of all sets but those that are free."""
    (low, high), alike = before.boxes, before.alike
    sums = [np.bincount(alike.labels, each, 3)[~alike.free] for each in (found, before.table)]
    return bool((low <= found).all() and (found <= high).all() and (sums[0] == sums[1]).all())


@given(st.integers(0, 2**32 - 1))
def test_shares_are_kept_with_some_to_spare_and_every_sum_and_box(seed: int) -> None:
    chance = np.random.default_rng(seed)
    before, shares, spare = drawn(chance), list[Share](), int(chance.integers(0, 3))
    size, top = len(before.table), int(before.boxes[1].max())
    for _ in range(int(chance.integers(1, 4))):
        members = np.sort(chance.choice(size, int(chance.integers(2, size + 1)), replace=False))
        low = int(chance.integers(0, top + 1))
        region = ((low, int(chance.integers(low, top + 1))),)
        region = (*region, (top, top)) if region[0][1] < top - 1 and chance.random() < 0.5 else region
        shares.append(Share(members, region, int(chance.integers(0, len(members) // 2 + 1))))
    found = with_shares(before.table, before.boxes, before.alike, shares, spare)
    if found is not None:
        assert is_kept(found, before)
        assert all(share.inside(found).sum() >= share.least + spare for share in shares)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["weighted", "spread"]), st.booleans())
def test_statistics_are_inside_where_it_is_said_and_every_sum_and_box_is_kept(
    seed: int, kind: str, mixed: bool
) -> None:
    chance = np.random.default_rng(seed)
    before = drawn(chance)
    size = len(before.table)
    weights = chance.integers(-4, 5, size) if kind == "weighted" else None
    query = Query(kind=kind, members=np.arange(size), coefficients=weights)  # type: ignore[arg-type]
    near = int(query.of(before.table)) + int(chance.integers(-20, 21))
    bound, ones = Bound(query, near - 10, near + 10, 21), np.ones(size, dtype=np.int64)
    soft = Soft(bound, np.arange(size), ones, several=False)
    found, well = led([soft], ones, before.table, before.boxes, before.alike, seed, mixed)
    assert is_kept(found, before)
    if well:
        off = INSIDE * 21 - 1  # spreads are rounded downwards
        assert near - 10 + off <= int(query.of(found)) <= near + 10 - off


def test_of_a_crowd_half_can_be_brought_above_its_mean_and_a_spread_be_doubled() -> None:
    size = 60
    alike = Alike(np.zeros(size, np.int64), np.arange(size), np.array([0, size]), np.zeros(1, np.bool_))
    table, boxes = np.tile([4, 6], size // 2), (np.zeros(size, np.int64), np.full(size, 20))
    share = Share(np.arange(size), ((6, 20),), 40)
    found = with_shares(table, boxes, alike, [share], 2)
    assert found is not None
    assert found.sum() == 300
    assert share.inside(found).sum() >= 42
    bound, ones = Bound(Query(kind="spread", members=np.arange(size)), 115, 125, 11), np.ones(size, np.int64)
    found, well = led([Soft(bound, np.arange(size), ones, several=False)], ones, table, boxes, alike, 1)
    assert well
    assert found.sum() == 300
    assert 115 <= ((found - 5) ** 2).sum() <= 125
