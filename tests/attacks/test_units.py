"""Persons with several rows: attacks on the total of somebody's rows.

Asked: every group with a person's rows and without them; groups in which one person has all rows; a person's
rows together with somebody else's, person by person; and a person with fewer rows of others, whose ends are
asked for. Each succeeds against a gate that protects rows alone.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from auditor.attacks import ATTACKS, Target
from auditor.attacks.deduction import Deduction
from auditor.attacks.runner import Judge
from auditor.data.sources import source_of
from tests.quick import some

from .arena import LEAST_RUN, STEP, Outcome, Row, attacked, build, locates_nobody, policy

COLUMNS = "id INTEGER, person INTEGER, sex VARCHAR, ward VARCHAR, salary INTEGER"
NAMES = ["alone-in-a-group", "total-by-groups", "person-in-every-sum", "total-beside-extremes"]
UNIT = policy(unit='"person"')


def stays(count: int = 60) -> list[Row]:
    """A person has 16 rows and one 12, the others some; nine of the first are alone in a group.

    Nobody is paid much: of an extreme of few there is something to be learned.
    """
    rng = np.random.default_rng(5)
    whose = [0] * 16 + [1] * 12 + (2 + rng.integers(0, count // 7, count - 28)).tolist()
    groups = ["x"] * 9 + rng.choice(list("abc"), count - 9).tolist()
    values = (rng.integers(5, 18, count) * 10).tolist()
    return [(i, whose[i], "mf"[i % 2], groups[i], values[i]) for i in range(count)]


def everybodys_total_keeps_its_run(outcome: Outcome) -> None:
    """Everybody's total of n rows keeps n times the width of a row."""
    rows = stays()  # by id, as the gate numbers them
    for person in {row[1] for row in rows}:
        records = [place for place, row in enumerate(rows) if row[1] == person]
        assert outcome.onlooker.width_of_total(records) >= len(records) * (LEAST_RUN - 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", some(NAMES, 1))
def test_a_persons_total_is_not_learned_of_a_gate_with_a_unit(name: str, tmp_path: Path) -> None:
    outcome = attacked(tmp_path, name, stays(), UNIT, COLUMNS)
    locates_nobody(outcome, answered=None)
    everybodys_total_keeps_its_run(outcome)


@pytest.mark.parametrize("name", some(NAMES, 1))
def test_it_is_learned_of_a_gate_that_protects_rows(name: str, tmp_path: Path) -> None:
    outcome = attacked(tmp_path, name, stays(), None, COLUMNS, unit="person")
    assert outcome.report.gate is not None
    assert outcome.report.gate.located >= 1
    assert all(claim.whole for claim in outcome.report.gate.achieved), "rows by themselves are safe"


@pytest.mark.parametrize("name", some([each.name for each in ATTACKS if each.name not in NAMES], 1))
def test_no_other_attack_locates_a_row_where_a_unit_is_protected(name: str, tmp_path: Path) -> None:
    report = attacked(tmp_path, name, stays(160), UNIT, COLUMNS).report
    assert report.error is None
    assert report.gate is not None, report.reason
    assert report.gate.located == 0, report.gate.achieved


def test_without_persons_these_attacks_are_not_tried(tmp_path: Path) -> None:
    outcome = attacked(tmp_path, NAMES[0], stays(), None, COLUMNS)
    assert outcome.report.gate is None
    assert outcome.report.reason == "no public column names persons who have several rows each"


@pytest.mark.parametrize("seed", range(6))
def test_bounds_of_a_total_are_those_of_all_tables(seed: int) -> None:
    """Of sums and a maximum of four rows with values from 0 to 3, the total of two rows or three."""
    rng, tables = np.random.default_rng(seed), np.array(list(product(range(4), repeat=4)))
    truth, notes = rng.integers(0, 4, 4), Deduction(4, Fraction(0), Fraction(3), Fraction(1))
    for kind in ("sum", "max", "sum"):
        weights = (rng.permutation(4) < 3).astype(np.int64)
        of_all = tables @ weights if kind == "sum" else tables[:, weights > 0].max(axis=1)
        value = int(weights @ truth) if kind == "sum" else int(truth[weights > 0].max())
        notes.hears(kind, weights, Fraction(value))
        tables = tables[of_all == value]
    who = rng.permutation(4) < 2 + seed % 2
    totals = tables @ who
    low, high = notes.total(who)
    assert low <= totals.min() <= totals.max() <= high
    if seed % 2:
        assert (low, high) == (totals.min(), totals.max())


@pytest.mark.parametrize(
    ("below", "above", "counts"),
    [(0, 0, True), (78, 77, True), (78, 78, False), (-1, 2, False)],  # 12 rows keep 12 times 13 steps
)
def test_a_total_counts_if_it_is_true_and_narrower_than_that_many_rows_may_be(
    below: int, above: int, counts: bool, tmp_path: Path
) -> None:
    judge = Judge(source_of(build(tmp_path / "staff.duckdb", stays(), COLUMNS)), UNIT, UNIT.protects[0])
    target = Target(judge.scene(), judge.answers)
    truth = target.sum(target.rows_of(1))
    assert truth is not None
    claim = target.total(target.rows_of(1), truth - below * STEP, truth + above * STEP, "")
    assert bool(judge.achieved([claim])) is counts
    judge.close()


def test_what_two_persons_have_together_is_nobodys_total(tmp_path: Path) -> None:
    judge = Judge(source_of(build(tmp_path / "staff.duckdb", stays(), COLUMNS)), UNIT, UNIT.protects[0])
    target = Target(judge.scene(), judge.answers)
    both = target.rows_of(0, 1)
    total = target.sum(both)
    assert total is not None
    assert judge.achieved([target.total(both, total, total, "")]) == ()
    judge.close()
