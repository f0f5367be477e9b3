"""What queries would do to a roomy table, beside it: the same as if they were answered, and nothing to
itself.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import Bounds as Boxes
from scipy.optimize import LinearConstraint, milp

from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.extremes import bounds_of, hold
from cae_sql.inference.standard import Standard
from cae_sql.inference.tables.columns import columns_of
from cae_sql.inference.tables.exchange import Tables
from cae_sql.inference.tables.question_tables import QuestionTables
from cae_sql.inference.tables.roomy_table import RoomyTable
from tests.cae_sql.inference.told import Ints, Told, told_at_random


def tables_of_questions(
    seed: int, count: int, kinds: tuple[str, ...] = ("sum", "sum", "signed")
) -> list[tuple[Told, QuestionTables]]:
    """Random systems of which the last one to three queries are not yet answered."""
    rng, found = np.random.default_rng(seed), []
    while len(found) < count:
        told = told_at_random(rng, int(rng.integers(8, 60)), int(rng.choice([3, 10, 100])), 6, kinds)
        asked = int(rng.integers(1, 4))
        roomy_table = told.roomy_table(len(told.queries) - asked)
        question_tables = QuestionTables(roomy_table, told.queries[-asked:])
        if roomy_table.usable and question_tables.usable:
            found.append((told, question_tables))
    return found


def state(roomy_table: RoomyTable) -> list[object]:
    """Everything that a roomy table holds, as it is now."""
    arrays = [
        roomy_table.totals,
        roomy_table.marks,
        roomy_table.boxes.low,
        roomy_table.boxes.high,
        roomy_table.boxes.atoms.labels,
    ]
    arrays += [roomy_table.basis.basic, roomy_table.basis.columns]
    return [
        *(array.tobytes() for array in arrays),
        list(roomy_table.sums),
        roomy_table.usable,
    ]


def values_asked(told: Told, question_tables: QuestionTables) -> list[int]:
    return told.values[len(told.queries) - len(question_tables.queries) :]


def test_pending_columns_are_those_of_a_center_that_has_applied_them() -> None:
    compared = 0
    for told, question_tables in tables_of_questions(1, 60):
        roomy_table, values = question_tables.roomy_table, values_asked(told, question_tables)
        pins = hold(question_tables.boxes, question_tables.totals, 1, np.zeros(0, dtype=np.int64))
        assert pins is not None
        answers = [values[place] for place in question_tables.fresh]
        totals = question_tables.table(bounds_of(question_tables.boxes, pins), answers)
        if totals is None:
            continue
        parts = np.arange(question_tables.boxes.count)
        basic, columns = question_tables.pending.basic, columns_of(question_tables.pending.form, parts)
        roomy_table.apply(
            question_tables.boxes,
            question_tables.parents,
            totals,
            question_tables.rows,
            answers,
            question_tables.pending,
        )
        assert not told.impossible(roomy_table)
        basis = roomy_table.basis
        assert (basis.basic == basic).all()
        assert (basis.columns[: roomy_table.count, : roomy_table.rank] == columns).all()
        compared += 1
    assert compared > 30


@pytest.mark.slow
@pytest.mark.parametrize("insiders", [0, 1])
def test_nothing_changes_in_a_center_by_looking_and_judging(insiders: int) -> None:
    for told, question_tables in tables_of_questions(2, 25, ("sum", "sum", "signed", "max", "min")):
        roomy_table, asked = question_tables.roomy_table, len(question_tables.queries)
        before = state(roomy_table)
        question = told.question(roomy_table, asked)
        values, standard = tuple(values_asked(told, question_tables)), Standard(1, None, insiders)
        later = Allowance()
        question.judge_together([values], standard, later)
        question.judge_around_table(values, standard, later)
        question.judge_true(values, standard, later)
        assert state(roomy_table) == before


def has_table(question_tables: QuestionTables, tables: Tables, answers: Ints) -> bool:
    """Whether whole totals inside the envelope keep all past sums and give these answers."""
    marks = (
        question_tables.roomy_table.marks[question_tables.parents, : question_tables.roomy_table.rank]
        .astype(np.float64)
        .T
    )
    rows = np.vstack([marks, question_tables.rows])
    goal = np.concatenate([np.array(question_tables.roomy_table.sums, dtype=np.float64), answers])
    found = milp(
        np.zeros(rows.shape[1]),
        constraints=LinearConstraint(rows, goal, goal),
        integrality=np.ones(rows.shape[1]),
        bounds=Boxes(tables.least, tables.most),
    )
    return bool(found.status == 0)


@pytest.mark.slow
def test_between_holds_a_table_for_every_answer_inside_the_ranges() -> None:
    rng, tried = np.random.default_rng(4), 0
    for told, question_tables in tables_of_questions(5, 80):
        pins = hold(question_tables.boxes, question_tables.totals, 1, np.zeros(0, dtype=np.int64))
        assert pins is not None
        bounds = bounds_of(question_tables.boxes, pins)
        now = np.array(
            [int(row.astype(np.int64) @ question_tables.totals) for row in question_tables.rows],
            dtype=np.int64,
        )
        reach = int(rng.integers(1, told.top + 2))
        ends = np.sort(rng.integers(-reach, reach + 1, (len(now), 2)), axis=1) + now[:, None]
        tables = question_tables.between(bounds, [(int(low), int(high)) for low, high in ends])
        if tables is None or not len(now):
            continue
        tried += 1
        assert (tables.least >= bounds.least).all()
        assert (tables.most <= bounds.most).all()
        samples = [ends[:, 0], ends[:, 1], *rng.integers(ends[:, 0], ends[:, 1] + 1, (3, len(now)))]
        assert all(has_table(question_tables, tables, answers) for answers in samples)
    assert tried > 20


def test_a_table_for_an_answer_stays_inside_the_domain() -> None:
    """What exchange between parts of one atom takes is there only once."""
    for size in (10, 20):
        told = Told(np.zeros(size, dtype=np.int64), 10)
        told.truth[[0, 1]] = 6
        told.ask("sum", [0, 1, 2])
        told.ask("sum", [2, 3, 4])
        question_tables = QuestionTables(told.roomy_table(1), told.queries[1:])
        pins = hold(question_tables.boxes, question_tables.totals, 1, np.zeros(0, dtype=np.int64))
        assert pins is not None
        bounds = bounds_of(question_tables.boxes, pins)
        totals = question_tables.table(bounds, [0])
        assert totals is not None
        assert (totals >= 0).all()
        assert (totals <= 10 * question_tables.boxes.sizes).all()
        inside = question_tables.boxes.atoms.labels[[2, 3, 4]]
        assert totals[np.unique(inside)].sum() == 0


def test_a_sum_that_hangs_on_another_of_the_same_question_is_not_settled() -> None:
    told = Told(np.arange(12), 12)
    told.ask("sum", np.arange(12))
    asked = [Told(told.truth, 12).ask("sum", np.arange(*each)) for each in ((0, 5), (5, 12))]
    question_tables = QuestionTables(told.roomy_table(), asked)
    assert (question_tables.fresh, question_tables.settled) == ([0], [None, None])


def test_sums_that_past_answers_settle_have_their_value() -> None:
    settled = 0
    for told, question_tables in tables_of_questions(6, 60):
        possible = Told(told.truth, told.top, told.queries[: -len(question_tables.queries)]).program()
        for query, value, known in zip(
            question_tables.queries, values_asked(told, question_tables), question_tables.settled, strict=True
        ):
            if known is not None:
                assert known == value
                settled += 1
            elif query.kind == "sum" and len(query.members) == 1:
                assert possible.end(int(query.members[0]), 1, {}) is not None
    told = Told(np.arange(12), 12)
    for first, last in pairwise((0, 4, 9, 12)):
        told.ask("sum", np.arange(first, last))
    question_tables = QuestionTables(told.roomy_table(), [Told(told.truth, 12).ask("sum", np.arange(12))])
    assert question_tables.settled == [66]
