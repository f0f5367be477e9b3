"""docs/rules.md: its tables are those that are worked out, and what it proves holds where it is tried."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pytest

from auditor import Gate
from benchmarks import rules
from benchmarks._data import ACS

PAGE = (Path(__file__).parents[2] / "docs" / "rules.md").read_text("utf-8")


def test_the_table_of_what_a_limit_implies_is_worked_out() -> None:
    assert "\n".join(rules.proved()) in PAGE


@pytest.mark.parametrize("percent", [5, 10, 15, 20, 30])
def test_the_risk_for_a_p_is_worked_out(percent: int) -> None:
    assert f"| {percent} | {rules.risk_for(percent)} |" in PAGE


@pytest.mark.parametrize("risk", [0.3, 0.5, 0.7, 0.85])
def test_no_number_is_within_p_per_cent_of_all_that_is_left(risk: float) -> None:
    """Every run that keeps the limit, and every number in hundredths: the bound holds, and is sharp."""
    left, near = rules.width_left(risk), np.arange(0, 260, 0.01)
    best = 1.0
    for low in range(rules.MINIMUM, rules.MAXIMUM - left + 1, rules.STEP):
        for high in range(low + left, rules.MAXIMUM + 1, rules.STEP):
            off = np.maximum(abs(near - low) / low, abs(near - high) / high)
            best = min(best, float(off.min()))
    assert 100 * best == pytest.approx(rules.percent_kept(risk), abs=0.02)


@pytest.fixture(scope="module")
def told() -> dict[tuple[object, ...], str]:
    if not ACS.is_file():
        pytest.skip("the ACS records are not beside the project")
    return rules.told_by_gate(1, "posterior")


@pytest.mark.slow
def test_the_table_of_groups_is_counted(told: dict[tuple[object, ...], str]) -> None:
    assert "\n".join(rules.table(told)) in PAGE


@pytest.mark.slow
def test_a_sum_that_is_told_exactly_keeps_what_is_proved_of_it(told: dict[tuple[object, ...], str]) -> None:
    left, values = rules.width_left(0.5), rules.values_by_group()
    low, high = rules.MINIMUM, rules.MAXIMUM
    exact = [values[group] for group, how in told.items() if how == "exactly"]
    assert exact
    for each in exact:
        n, total = len(each), sum(each)
        assert n >= rules.least_told(0.5)
        assert (n - 1) * low + high + left <= total <= (n - 1) * high + low - left
        assert 100 * each[0] <= rules.greatest_share(0.5) * total


@pytest.mark.slow
def test_sums_of_up_to_three_people_and_no_others_are_withheld(told: dict[tuple[object, ...], str]) -> None:
    values = rules.values_by_group()
    assert {len(values[group]) <= 3 for group, how in told.items() if how == "withheld"} == {True}
    assert min(len(values[group]) for group, how in told.items() if how != "withheld") == 4


@pytest.mark.slow
def test_the_figures_of_top_coding_are_counted(tmp_path: Path) -> None:
    if not ACS.is_file():
        pytest.skip("the ACS records are not beside the project")
    count = "count(*) FILTER (salary = 250), count(*), max(wagp)"
    assert duckdb.sql(f"SELECT {count} FROM read_csv('{ACS}')").fetchall() == [(31, 2_435, 507_000)]
    with Gate.open(ACS, rules.policy(1, "posterior"), ledger=tmp_path / "ledger") as gate:
        answer = gate.execute(f"SELECT industry, MAX(salary) FROM {rules.TABLE} GROUP BY industry")
    exact = [most for _, most in answer.fetchall() if most is not None]
    assert (len(exact), exact.count(250)) == (16, 11)
    assert [each.words for each in answer.ranges] == ["at most 140", "at most 140"]


@pytest.mark.slow
def test_a_threshold_is_not_implied(told: dict[tuple[object, ...], str]) -> None:
    values = rules.values_by_group()
    assert any(len(values[group]) < 10 for group, how in told.items() if how == "exactly")
