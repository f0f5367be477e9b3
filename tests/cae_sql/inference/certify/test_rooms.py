"""What parts of a table may give while a record and an insider move."""

from __future__ import annotations

import numpy as np

from cae_sql.inference.certify.rooms import Rooms
from cae_sql.inference.system import AnsweredSystem
from cae_sql.inference.tables.exchange import Tables
from cae_sql.inference.tables.holding import bounds_of, hold


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
    rooms = Rooms(boxes, pins, bounds_of(boxes, pins), here, 12, 1)
    spare = ~boxes.protected
    assert spare.any()
    assert (rooms.down[spare] + rooms.up[spare] == 24 * boxes.sizes[spare]).all()
    for left, room in zip(rooms.left, (rooms.down, rooms.up), strict=True):
        assert (left[spare] == room[spare]).all()
        asked = ~spare & (room > 0)
        assert asked.any()
        assert (left[asked] < room[asked]).all()
