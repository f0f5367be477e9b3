"""Whom one table leaves open others may show: they are asked about those alone; answers apart are halved."""

from __future__ import annotations

import numpy as np
import pytest

from cae_sql import AnsweredSystem
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.certify import question as questions
from cae_sql.inference.certify.coverage import Shown, left_open, show
from cae_sql.inference.certify.question import Standard
from cae_sql.inference.certify.rooms import Whom
from cae_sql.inference.search.judging import Judgement
from cae_sql.inference.tables.central import Central
from cae_sql.inference.tables.exchange import Bounds, Tables
from cae_sql.inference.tables.holding import bounds_of, hold
from cae_sql.inference.tables.question_tables import QuestionTables
from tests.cae_sql.inference.told import Told


def test_left_open_are_just_those_pairs_that_no_table_shows() -> None:
    one = Shown(-1, np.array([True, False, True]), np.array([True, True, False]))
    assert [each.tolist() for each in left_open([one])] == [[True, True, True], [True, True, True]]
    other = Shown(-1, np.array([False, True, True]), np.array([True, True, False]))
    # the third is free as an insider around neither; all others are shown with each other
    assert [each.tolist() for each in left_open([one, other])] == [[True, True, True], [False, False, True]]
    last = Shown(-1, np.array([True, True, True]), np.array([False, False, True]))
    assert not any(each.any() for each in left_open([one, other, last]))


def test_of_whom_nothing_is_asked_nothing_is_shown() -> None:
    told = Told(np.full(40, 50), 100)
    for first in (0, 20):
        told.ask("sum", np.arange(first, first + 20))
    question = told.question(told.roomy_table(2))
    tables, boxes = question.question_tables, question.question_tables.boxes
    pins = hold(boxes, tables.totals, 3, np.zeros(0, dtype=np.int64))
    assert pins is not None
    around = Tables(tables.totals, tables.totals)
    everybody = show(tables, boxes, pins, around, 50, 1, Allowance())
    assert everybody.own.all()
    assert everybody.free.all()
    first = np.arange(boxes.count) == boxes.atoms.labels[0]
    some = show(tables, boxes, pins, around, 50, 1, Allowance(), whom=Whom(first, ~first))
    assert some.own.tolist() == first.tolist()
    assert some.free.tolist() == (~first).tolist()
    assert some.width == -1
    assert bounds_of(boxes, pins).least.shape == first.shape


@pytest.mark.parametrize(("apart", "shown"), [(100, 8), (8, 8), (4, 8), (1, 0)])
def test_answers_that_lie_too_far_apart_are_judged_in_halves(
    monkeypatch: pytest.MonkeyPatch, apart: int, shown: int
) -> None:
    told = Told(np.random.default_rng(5).integers(0, 101, 60), 100)
    for first in (0, 10, 20, 30):
        told.ask("sum", np.arange(first, first + 30))
    question = told.question(told.roomy_table(3), 1)
    answers = [(told.values[-1] + by,) for by in range(0, 16, 2)]
    between = QuestionTables.between

    def near(
        self: QuestionTables, bounds: Bounds, ranges: list[tuple[int, int]], *rest: object
    ) -> Tables | None:
        if any(high - low > apart for low, high in ranges):
            return None
        return between(self, bounds, ranges, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(QuestionTables, "between", near)
    monkeypatch.setattr(Central, "table", lambda *_: None)
    monkeypatch.setattr(questions.Question, "_between_single", lambda *_: None)
    judged = question.judge_together(answers, Standard(50, None, 1), Allowance())
    assert sum(judgement.safe for judgement in judged.values()) == shown


@pytest.mark.parametrize("shown_alone", [(), (0,), (14,)])
def test_where_neither_the_least_nor_the_greatest_is_shown_alone_no_half_is_looked_at(
    monkeypatch: pytest.MonkeyPatch, shown_alone: tuple[int, ...]
) -> None:
    system = AnsweredSystem(40, 0, 100, 1)
    system.add_sum(range(40), 2_000)
    looked: list[list[int]] = []

    def show(_: questions.Question, group: list[tuple[int]], *__: object, **___: object) -> Judgement:
        looked.append([value for (value,) in group])
        return Judgement(looked[-1] in [[each] for each in shown_alone], -1)

    monkeypatch.setattr(questions.Question, "_show", show)
    question = system.question([system.query("sum", np.arange(20))])
    question.judge_together([(by,) for by in range(0, 16, 2)], Standard(50, None, 1), Allowance())
    halves = [0, 2, 4, 6] in looked and [8, 10, 12, 14] in looked
    assert halves == bool(shown_alone)
    assert [0] in looked
