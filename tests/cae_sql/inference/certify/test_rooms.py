"""What parts of a table may give while a record and an insider move."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from cae_sql.inference.allowance import Allowance
from cae_sql.inference.certify.coverage import Coverage
from cae_sql.inference.certify.rooms import Judged, Rooms
from cae_sql.inference.facts.extremes import hold
from cae_sql.inference.system import AnsweredSystem
from cae_sql.inference.tables.exchange import Tables
from cae_sql.inference.ways import ALL


def test_spare_records_give_all_they_have_and_others_what_the_insider_leaves() -> None:
    system = AnsweredSystem(40, 0, 24, 1)
    system.add_sum(list(range(40)), 400)
    end = system.at_most(system.query("sum", np.arange(12)), 60)
    assert end is not None
    system.accept([end.answered(60)])
    tables = system.question([system.query("sum", np.arange(6, 20))]).question_tables
    boxes, pins = tables.boxes, hold(tables.boxes, tables.totals, 3, np.zeros(0, dtype=np.int64))
    assert pins is not None
    here = Tables(tables.totals, tables.totals)
    rooms = Rooms(Judged(boxes, pins, 12, 1), here)
    spare = ~boxes.protected
    assert spare.any()
    assert (rooms.down[spare] + rooms.up[spare] == 24 * boxes.sizes[spare]).all()
    for left, room in zip(rooms.left, (rooms.down, rooms.up), strict=True):
        assert (left[spare] == room[spare]).all()
        asked = ~spare & (room > 0)
        assert asked.any()
        assert (left[asked] < room[asked]).all()


def rooms_of_one(count: int, top: int, total: int, need: int, insiders: int) -> Rooms:
    """One part of so many records with values 0 to `top` and this total."""
    system = AnsweredSystem(count, 0, top, 1)
    tables = system.question([system.query("sum", np.arange(count))]).question_tables
    boxes, totals = tables.boxes, np.array([total])
    pins = hold(boxes, totals, insiders + 2, np.zeros(0, dtype=np.int64))
    assert pins is not None
    return Rooms(Judged(boxes, pins, need, insiders), Tables(totals, totals))


def small_parts(most: int) -> Iterator[tuple[int, int, int]]:
    """Numbers of records, greatest values, and totals, with few enough tables to list."""
    for count, top in product(range(2, 6), range(1, 5)):
        if (top + 1) ** count <= most:
            yield from ((count, top, total) for total in range(count * top + 1))


@pytest.mark.parametrize("count", [pytest.param(count, marks=pytest.mark.slow) if count == 5 else count
                                   for count in (2, 3, 4, 5)])  # fmt: skip
def test_who_is_rich_keeps_the_width_in_the_list_of_all_tables_and_who_is_not_does_not(count: int) -> None:
    """An outsider's run, and a run beside each value of an insider, who may have any."""
    looked_at = 0
    for top in range(1, 5):
        alone, beside = (defaultdict[int, set[int]](set), defaultdict[tuple[int, int], set[int]](set))
        for table in product(range(top + 1), repeat=count):
            alone[sum(table)].add(table[0])
            beside[sum(table), table[1]].add(table[0])
        for total, need in product(range(count * top + 1), range(1, top + 1)):
            width = max(alone[total]) - min(alone[total])
            assert bool(rooms_of_one(count, top, total, need, 0).rich(need)[0]) == (
                width >= need and min(total, count * top - total) >= need
            )
            each = [beside[total, value] for value in range(top + 1)]
            kept = all(values and max(values) - min(values) >= need for values in each)
            assert bool(rooms_of_one(count, top, total, need, 1).rich(need)[0]) == kept
            looked_at += 1
    assert looked_at == sum((count * top + 1) * top for top in range(1, 5))


def test_who_is_rich_is_shown_without_a_basis() -> None:
    system = AnsweredSystem(60, 0, 1, 1)
    question = system.question([system.query("sum", np.arange(13))])
    tables = question.question_tables
    pins = hold(tables.boxes, tables.totals, 3, np.zeros(0, dtype=np.int64))
    assert pins is not None
    tables.roomy_table.ways = ALL.without("bases", "payments")
    showing = Coverage(tables, Judged(tables.boxes, pins, 1, 1), Tables(tables.totals, tables.totals))
    shown = showing.exactly(1, Allowance())
    assert shown.own.all()
    assert shown.free.all()
