"""What queries would do to a center, beside it: the same as if they were answered, and nothing to itself."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import Bounds as Boxes
from scipy.optimize import LinearConstraint, milp

from cae_sql.inference.allowance import Allowance
from cae_sql.inference.center import Center
from cae_sql.inference.columns import columns_of
from cae_sql.inference.exchange import Tables
from cae_sql.inference.holding import bounds_of, hold
from cae_sql.inference.prospect import Prospect
from cae_sql.inference.trial import Standard

from .told import Ints, Told, told_at_random


def prospects(
    seed: int, count: int, kinds: tuple[str, ...] = ("sum", "sum", "signed")
) -> list[tuple[Told, Prospect]]:
    """Random systems of which the last one to three queries are not yet answered."""
    rng, found = np.random.default_rng(seed), []
    while len(found) < count:
        told = told_at_random(rng, int(rng.integers(8, 60)), int(rng.choice([3, 10, 100])), 6, kinds)
        asked = int(rng.integers(1, 4))
        center = told.center(len(told.queries) - asked)
        prospect = Prospect(center, told.queries[-asked:])
        if center.usable and prospect.usable:
            found.append((told, prospect))
    return found


def state(center: Center) -> list[object]:
    """Everything that a center holds, as it is now."""
    arrays = [center.totals, center.marks, center.boxes.low, center.boxes.high, center.boxes.atoms.labels]
    arrays += [array for basis in center.bases for array in (basis.basic, basis.columns)]
    return [*(array.tobytes() for array in arrays), list(center.sums), center.usable, center.renewed_at]


def values_asked(told: Told, prospect: Prospect) -> list[int]:
    return told.values[len(told.queries) - len(prospect.queries) :]


def test_pending_columns_are_those_of_a_center_that_has_applied_them() -> None:
    compared = 0
    for told, prospect in prospects(1, 60):
        center, values = prospect.center, values_asked(told, prospect)
        pins = hold(prospect.boxes, prospect.totals, 1, np.zeros(0, dtype=np.int64))
        assert pins is not None
        answers = [values[place] for place in prospect.fresh]
        totals = prospect.table(bounds_of(prospect.boxes, pins), answers)
        if totals is None:
            continue
        parts = np.arange(prospect.boxes.count)
        expected = [
            (
                pending.basic,
                columns_of(
                    basis.columns,
                    center.rank,
                    prospect.parents,
                    pending.ys,
                    pending.pivots,
                    len(pending.ys),
                    parts,
                ),
            )
            for basis, pending in zip(center.bases, prospect.pendings, strict=True)
            if pending is not None
        ]
        center.apply(prospect.boxes, prospect.parents, totals, prospect.rows, answers, prospect.pendings)
        assert not told.impossible(center)
        for basis, (basic, columns) in zip(center.bases, expected, strict=True):
            assert (basis.basic == basic).all()
            assert (basis.columns[: center.count, : center.rank] == columns).all()
            compared += 1
    assert compared > 30


@pytest.mark.parametrize("insiders", [0, 1])
def test_nothing_changes_in_a_center_by_looking_and_judging(insiders: int) -> None:
    for told, prospect in prospects(2, 25, ("sum", "sum", "signed", "max", "min")):
        center, asked = prospect.center, len(prospect.queries)
        while center.stale:
            center.renewed()  # bases are chosen anew only so often
        before = state(center)
        trial = told.trial(center, asked)
        values, standard = tuple(values_asked(told, prospect)), Standard(1, None, insiders)
        later = Allowance()
        trial.judge_together([values], standard, later)
        trial.judge_by_center(values, standard, later, renew=False)
        trial.judge_true(values, standard, later)
        assert state(center) == before


def test_only_choosing_bases_anew_changes_them_and_it_keeps_every_answer() -> None:
    renewed = 0
    for told, prospect in prospects(3, 25):
        center, asked = prospect.center, len(prospect.queries)
        before = list(center.sums)
        trial = told.trial(center, asked)
        trial.judge_by_center(tuple(values_asked(told, prospect)), Standard(told.top, None, 1), Allowance())
        renewed += center.renewed_at > 0
        known = Told(told.truth, told.top, told.queries[: len(told.queries) - asked])
        assert center.sums == before
        assert not known.impossible(center)
    assert renewed > 5


def has_table(prospect: Prospect, tables: Tables, answers: Ints) -> bool:
    """Whether whole totals inside the envelope keep all past sums and give these answers."""
    marks = prospect.center.marks[prospect.parents, : prospect.center.rank].astype(np.float64).T
    rows = np.vstack([marks, prospect.rows])
    goal = np.concatenate([np.array(prospect.center.sums, dtype=np.float64), answers])
    found = milp(
        np.zeros(rows.shape[1]),
        constraints=LinearConstraint(rows, goal, goal),
        integrality=np.ones(rows.shape[1]),
        bounds=Boxes(tables.least, tables.most),
    )
    return bool(found.status == 0)


def test_between_holds_a_table_for_every_answer_inside_the_ranges() -> None:
    rng, tried = np.random.default_rng(4), 0
    for told, prospect in prospects(5, 80):
        pins = hold(prospect.boxes, prospect.totals, 1, np.zeros(0, dtype=np.int64))
        assert pins is not None
        bounds = bounds_of(prospect.boxes, pins)
        now = np.array([int(row.astype(np.int64) @ prospect.totals) for row in prospect.rows], dtype=np.int64)
        reach = int(rng.integers(1, told.top + 2))
        ends = np.sort(rng.integers(-reach, reach + 1, (len(now), 2)), axis=1) + now[:, None]
        tables = prospect.between(bounds, [(int(low), int(high)) for low, high in ends])
        if tables is None or not len(now):
            continue
        tried += 1
        assert (tables.least >= bounds.least).all()
        assert (tables.most <= bounds.most).all()
        samples = [ends[:, 0], ends[:, 1], *rng.integers(ends[:, 0], ends[:, 1] + 1, (3, len(now)))]
        assert all(has_table(prospect, tables, answers) for answers in samples)
    assert tried > 20


def test_a_table_for_an_answer_stays_inside_the_domain() -> None:
    """What exchange between parts of one atom takes is there only once."""
    for size in (10, 20):
        told = Told(np.zeros(size, dtype=np.int64), 10)
        told.truth[[0, 1]] = 6
        told.ask("sum", [0, 1, 2])
        told.ask("sum", [2, 3, 4])
        prospect = Prospect(told.center(1), told.queries[1:])
        pins = hold(prospect.boxes, prospect.totals, 1, np.zeros(0, dtype=np.int64))
        assert pins is not None
        bounds = bounds_of(prospect.boxes, pins)
        totals = prospect.table(bounds, [0])
        assert totals is not None
        assert (totals >= 0).all()
        assert (totals <= 10 * prospect.boxes.sizes).all()
        inside = prospect.boxes.atoms.labels[[2, 3, 4]]
        assert totals[np.unique(inside)].sum() == 0


def test_sums_that_past_answers_settle_have_their_value() -> None:
    settled = 0
    for told, prospect in prospects(6, 60):
        possible = Told(told.truth, told.top, told.queries[: -len(prospect.queries)]).program()
        for query, value, known in zip(
            prospect.queries, values_asked(told, prospect), prospect.settled, strict=True
        ):
            if known is not None:
                assert known == value
                settled += 1
            elif query.kind == "sum" and len(query.members) == 1:
                assert possible.end(int(query.members[0]), 1, {}) is not None
    told = Told(np.arange(12), 12)
    for first, last in pairwise((0, 4, 9, 12)):
        told.ask("sum", np.arange(first, last))
    prospect = Prospect(told.center(), [Told(told.truth, 12).ask("sum", np.arange(12))])
    assert prospect.settled == [66]
