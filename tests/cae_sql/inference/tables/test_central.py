"""Tables in the middle agree with all answers, and between tables there is one for each answer on the way."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.optimize import Bounds as Box
from scipy.optimize import LinearConstraint, milp

from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.extremes import bounds_of, hold
from cae_sql.inference.tables.central import Central
from cae_sql.inference.tables.exchange import Bounds, Tables
from cae_sql.inference.tables.question_tables import QuestionTables
from tests.cae_sql.inference.told import Ints, Told, told_at_random
from tests.quick import rounds


def asked(count: int) -> Iterator[tuple[Told, QuestionTables, Bounds]]:
    """Random systems whose last query is a new sum."""
    rng = np.random.default_rng(17)
    while count:
        told = told_at_random(rng, int(rng.integers(15, 60)), int(rng.choice([3, 10, 24])), 4)
        told.ask("sum", np.flatnonzero(rng.random(told.size) < 0.5))
        roomy_table = told.roomy_table(len(told.queries) - 1)
        question_tables = QuestionTables(roomy_table, told.queries[-1:])
        if not question_tables.usable or not question_tables.fresh:
            continue
        pins = hold(question_tables.boxes, question_tables.totals, 1, np.zeros(0, dtype=np.int64))
        if pins is not None:
            count -= 1
            yield told, question_tables, bounds_of(question_tables.boxes, pins)


def has_table(question_tables: QuestionTables, tables: Tables, answer: int) -> bool:
    """Whether an integer program finds totals between two that give all past answers and a new one."""
    marks = question_tables.marks_of(np.arange(question_tables.boxes.count)).T.astype(float)
    sums = np.array([*question_tables.roomy_table.sums, answer], dtype=float)
    found = milp(
        np.zeros(marks.shape[1]), integrality=np.ones(marks.shape[1]),
        constraints=LinearConstraint(marks, sums, sums), bounds=Box(tables.least, tables.most),
    )  # fmt: skip
    return bool(found.status == 0)


def test_a_table_in_the_middle_gives_every_answer_and_one_lies_between_for_each_on_the_way() -> None:
    found, ways = 0, 0
    for told, question_tables, bounds in asked(rounds(60)):
        truth, central = told.values[-1], Central(question_tables, bounds, Allowance())
        table = central.table([truth])
        if table is None:
            continue
        found += 1
        assert question_tables.holds(table, question_tables.totals, bounds, [truth])
        tables = central.between(table, [(truth - 6, truth + 9)])
        if tables is not None:
            ways += 1
            assert (tables.least >= bounds.least).all()
            assert (tables.most <= bounds.most).all()
            assert all(has_table(question_tables, tables, truth + by) for by in range(-6, 10))
    assert found > rounds(30)
    assert ways > rounds(15)


def test_the_middle_leaves_everybody_of_a_poor_group_something() -> None:
    """Ten with twenty together have two each, where the table was kept they had nothing or all."""
    told = Told(np.array([20] + [0] * 9 + [12] * 20), 24)
    told.ask("sum", np.arange(10))
    for first in range(4):
        told.ask("sum", np.arange(first, 30, 4))
    question_tables = QuestionTables(told.roomy_table(4), told.queries[4:])
    boxes = question_tables.boxes
    bounds = Bounds(boxes.sizes * boxes.low, boxes.sizes * boxes.high)
    table = Central(question_tables, bounds, Allowance()).table([told.values[4]])
    assert table is not None
    poor: Ints = np.unique(boxes.atoms.labels[:10])
    assert int(table[poor].sum()) == 20
    assert (np.abs(table[poor] - 2 * boxes.sizes[poor]) <= boxes.sizes[poor] + 2).all()


def test_without_an_allowance_nothing_is_looked_for() -> None:
    _, question_tables, bounds = next(asked(1))
    central = Central(question_tables, bounds, Allowance(0))
    assert central.table([0]) is None
    assert central.between(question_tables.totals, [(0, 0)]) is None
