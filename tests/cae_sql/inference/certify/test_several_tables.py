"""Later tables are asked only about the parts for which earlier ones showed nothing."""

from __future__ import annotations

import numpy as np

from cae_sql.inference.allowance import Allowance
from cae_sql.inference.certify.coverage import Shown, left_open, show
from cae_sql.inference.certify.rooms import Judged, Wanted
from cae_sql.inference.facts.extremes import hold
from cae_sql.inference.tables.exchange import Tables
from tests.cae_sql.inference.told import Told

NOBODY = np.zeros(0, dtype=np.int64)


def test_left_open_are_just_those_pairs_that_no_table_shows() -> None:
    one = Shown(-1, np.array([True, False, True]), np.array([True, True, False]), NOBODY)
    assert [each.tolist() for each in left_open([one])] == [[True, True, True], [True, True, True]]
    other = Shown(-1, np.array([False, True, True]), np.array([True, True, False]), NOBODY)
    # the third is free as an insider around neither; all others are shown with each other
    assert [each.tolist() for each in left_open([one, other])] == [[True, True, True], [False, False, True]]
    last = Shown(-1, np.array([True, True, True]), np.array([False, False, True]), NOBODY)
    assert not any(each.any() for each in left_open([one, other, last]))


def test_nothing_is_shown_for_parts_that_are_not_asked_about() -> None:
    told = Told(np.full(40, 50), 100)
    for first in (0, 20):
        told.ask("sum", np.arange(first, first + 20))
    question = told.question(told.roomy_table(2))
    tables, boxes = question.question_tables, question.question_tables.boxes
    pins = hold(boxes, tables.totals, 3, np.zeros(0, dtype=np.int64))
    assert pins is not None
    around = Tables(tables.totals, tables.totals)
    everybody = show(tables, Judged(boxes, pins, 50, 1), around, Allowance())
    assert everybody.own.all()
    assert everybody.free.all()
    first = np.arange(boxes.count) == boxes.atoms.labels[0]
    some = show(tables, Judged(boxes, pins, 50, 1, Wanted(first, ~first)), around, Allowance())
    assert some.own.tolist() == first.tolist()
    assert some.free.tolist() == (~first).tolist()
    assert some.width == -1
