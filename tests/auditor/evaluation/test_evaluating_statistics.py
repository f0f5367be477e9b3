"""`cae-sql evaluate` of published statistics, of coarser tables, and of settings that cannot be made."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from auditor.evaluation.releases import FIGURES
from cae_sql import releases
from tests.auditor.evaluation.evaluating import SALARY, complaint, folder, frame, run, staff, told

__all__ = ["folder", "staff"]


# The companion papers' measures, beside the measure


@pytest.mark.parametrize("technique", [
    ["sampling", "--percent", "50"], ["noise", "--noise", "40"], ["anatomy", "--ell", "2"],
    ["query-restriction", "--query-set-size", "4"], ["generalisation", "--k", "5"],
    ["randomised-response", "--probability", "0.7"],
    ["sums", "--by", "sex,age"], ["histogram", "--by", "sex"], ["parameters", "--by", "sex"],
])  # fmt: skip
def test_every_technique_has_the_measure_the_privacy_loss_and_the_figures_of_its_paper(folder, technique):
    found = told("staff.csv", "--technique", *technique, "--known", "sex,age")
    rows = frame(found)
    assert (rows.initial_entropy + rows.privacy_loss).tolist() == pytest.approx([np.log2(10)] * len(rows))
    assert found["summary"]["privacy_loss"] == rows.privacy_loss.max()
    own = {"randomised-response": {"disclosure_risk"}, "histogram": {"histogram_risk"},
           "query-restriction": {"likely_risk"},
           "parameters": {"compute_risk_1", "compute_risk_2"}}.get(technique[0], set())  # fmt: skip
    assert {name for name in FIGURES if name in rows.columns} == own
    for name in FIGURES:
        assert found["summary"][name] == (rows[name].max() if name in own else None)


def test_sums_over_query_sets_show_what_they_make_likely_beside_what_they_exclude(folder, staff):
    found = frame(told("staff.csv", "--technique", "query-restriction", "--query-set-size", "4",
                       "--seed", "3", "--known", "sex"))  # fmt: skip
    sets = releases.query_sets(len(staff), 4, seed=3)
    expected = releases.answered(staff, "salary", ["sex"], SALARY, sets, likely=True).set_index("sex").risk
    assert found.set_index("sex").likely_risk.to_dict() == pytest.approx(expected.to_dict())
    assert (found.likely_risk > found.risk).all()


def test_of_too_many_query_sets_nothing_is_said_of_what_they_make_likely(folder, monkeypatch):
    monkeypatch.setattr("auditor.evaluation.releases.MOST_SUMS", 3)
    options = ("--technique", "query-restriction", "--query-set-size", "2", "--known", "sex")
    assert told("staff.csv", *options)["summary"]["likely_risk"] is None


def test_sums_by_group_have_the_privacy_loss_of_paper_003(folder, staff):
    found = frame(told("staff.csv", "--technique", "sums", "--by", "sex", "--known", "sex"))
    for row in found.itertuples():
        group = staff[staff.sex == row.sex]
        loss = releases.privacy_loss(SALARY.values, len(group), int(group.salary.sum()))
        assert row.privacy_loss == pytest.approx(loss, abs=1e-9)


def test_somebody_who_does_not_know_the_group_learns_less_of_sums(folder):
    known = told("staff.csv", "--technique", "sums", "--by", "sex,age", "--known", "sex,age")["summary"]
    unknown = told("staff.csv", "--technique", "sums", "--by", "sex,age", "--known", "none")["summary"]
    assert unknown["privacy_loss"] < known["privacy_loss"]
    assert unknown["worst_risk"] < known["worst_risk"] == 1


def test_randomised_response_shows_the_attribute_disclosure_risk_of_paper_004(folder, staff):
    found = frame(told("staff.csv", "--technique", "randomised-response", "--probability", "0.6",
                       "--probability", "sex=0.8", "--known", "sex"))  # fmt: skip
    domains = {"sex": ["f", "m"], "salary": SALARY.values.tolist()}
    risk = releases.attribute_disclosure_risk(staff, ["sex"], "salary", {"sex": 0.8, "salary": 0.6}, domains)
    expected = risk.groupby(staff.sex).max()
    assert found.set_index("sex").disclosure_risk.to_dict() == pytest.approx(expected.to_dict())


def test_histograms_and_parameters_show_the_risks_of_paper_002(folder, staff):
    women = staff[staff.sex == "f"].salary
    options = ("--by", "sex", "--known", "sex", "--draws", "40", "--confidence", "0.9")
    histogram = frame(told("staff.csv", "--technique", "histogram", *options)).set_index("sex")
    counts = np.bincount(women // 10 - 1, minlength=10)
    assert histogram.histogram_risk["f"] == pytest.approx(releases.histogram_risk(counts, 40, 0.9).worst)
    parameters = frame(told("staff.csv", "--technique", "parameters", *options)).set_index("sex")
    assert parameters.compute_risk_1["f"] == pytest.approx(releases.mean_risk(women, 0.9, 40).risk)
    assert parameters.compute_risk_2["f"] == pytest.approx(releases.parameter_risk(women))


def test_groups_of_fewer_records_than_wanted_are_withheld(folder, staff):
    found = frame(
        told("staff.csv", "--technique", "sums", "--by", "sex,age", "--least", "3", "--known", "all")
    )
    small = found.matches < 3
    assert small.any()
    assert (found.risk[small] == 0).all()
    assert (found.risk[~small] > 0).any()


def test_people_are_told_what_the_companion_papers_figures_are(folder):
    _, out, _ = run("staff.csv", "-p", "policy.toml", "--technique", "parameters", "--by", "sex")
    assert "Made here: a release of salary in staff.csv by parameters, by sex.\n" in out
    assert "compute_risk_2 is at most" in out
    assert "(ComputeRisk2, per cent)" in out


# Coarser tables


def test_a_coarser_table_is_made_and_is_less_risky_the_coarser_it_is(folder, staff):
    found = frame(told("staff.csv", "--sweep", "generalisation:1,5,60", "--known", "all"))
    assert found.mean_risk.is_monotonic_decreasing
    assert found.distance.is_monotonic_increasing
    everybody = releases.sampled(staff, staff, "salary", [], SALARY).risk[0]
    assert found.mean_risk.iloc[-1] == pytest.approx(everybody)


def test_a_coarser_table_is_the_librarys(folder, staff):
    coarse = releases.generalise(staff, "salary", ["sex", "age"], 4)
    expected = releases.generalised(staff, coarse, "salary", ["sex"], SALARY)
    found = frame(told("staff.csv", "--technique", "generalisation", "--k", "4")).sort_values("sex")
    assert found.risk.tolist() == pytest.approx(expected.risk.tolist(), abs=1e-12)


# Sweeps


def test_a_setting_that_cannot_be_made_says_why_and_the_others_are_compared(folder):
    options = (
        "staff.csv",
        "--sweep",
        "anatomy:2,40",
        "--sweep",
        "sampling:10",
        "--sweep",
        "query-restriction:7",
    )
    found = told(*options, "--known", "none")
    rows = frame(found)
    assert rows.impossible.isna().tolist() == [True, False, True, False]
    assert "no groups of 40 different values" in rows.impossible[1]
    assert "query_set_size must be even" in rows.impossible[3]
    figures = rows.loc[[1, 3], "mean_risk":"association_error"]
    assert figures.isna().all(axis=None)
    assert rows.loc[[0, 2], ["mean_risk", "keeps_limit", "distance"]].notna().all(axis=None)
    status, out, _ = run(*options, "-p", "policy.toml", "--known", "none")
    assert status == 0
    assert "anatomy (l = 40) is impossible: " in out
    assert "1 of 4 settings keeps" in out or "2 of 4 settings keep" in out


def test_a_sweep_of_which_what_is_possible_breaks_the_limit_has_status_3(folder):
    options = ("staff.csv", "-p", "policy.toml", "--sweep", "sampling:100", "--sweep", "anatomy:40")
    assert run(*options, "--known", "all")[0] == 3


def test_a_table_that_cannot_be_used_is_one_error_and_no_list_of_impossible_settings(folder, staff):
    staff.assign(salary=staff.salary + 500).to_csv("far.csv", index=False)
    err = complaint("far.csv", "--sweep", "sampling:5,10", "--sweep", "noise:10", "-p", "policy.toml")
    assert "is outside of the domain 10 … 100" in err
    assert err.count("\n") == 1


def test_statistics_are_compared_by_the_size_of_groups_that_are_withheld(folder):
    rows = frame(told("staff.csv", "--sweep", "sums:1,3", "--sweep", "histogram:1,3", "--sweep",
                      "parameters:3", "--sweep", "sampling:20", "--by", "sex,age", "--known",
                      "all"))  # fmt: skip
    assert rows.technique.tolist() == ["sums", "sums", "histogram", "histogram", "parameters", "sampling"]
    assert rows.mean_risk[0] > rows.mean_risk[1]
    assert rows.mean_risk[2] > rows.mean_risk[3]
    assert rows.histogram_risk.notna().tolist() == [False, False, True, True, False, False]


def test_the_report_of_a_sweep_draws_all_techniques_and_names_what_is_impossible(folder):
    sweeps = ("sampling:20", "noise:20", "query-restriction:4", "generalisation:3", "anatomy:2,40", "sums:1",
              "randomised-response:0.7", "histogram:2", "parameters:3")  # fmt: skip
    options = [word for each in sweeps for word in ("--sweep", each)]
    run("staff.csv", "-p", "policy.toml", *options, "--by", "sex", "-o", "report.html", "--repetitions", "1")
    shown = Path("report.html").read_text(encoding="utf-8")
    for each in sweeps:
        assert f"<bdi>{each.split(':')[0]}</bdi>" in shown
    assert 'translate(15 6)" d=""' not in shown  # each has a mark in the legend
    assert "anatomy (l = 40) is impossible" in shown
    assert "ComputeRisk2, %" in shown


# Domains of many values


@pytest.mark.slow
def test_a_domain_of_too_many_values_is_refused_with_a_step_that_would_do(folder, staff):
    options = (
        "--column",
        "salary",
        "--public",
        "sex,age",
        "--minimum",
        "0",
        "--maximum",
        "1000000",
        "--known",
        "sex",
    )
    err = complaint("staff.csv", *options, "--step", "1", "--technique", "sampling", "--percent", "50")
    assert "over a domain of 1,000,001 values would take too long" in err
    assert "take a coarser step" in err
    assert err.count("\n") == 1
    status, out, _ = run("staff.csv", *options, "--step", "10", "--technique", "sampling", "--percent", "0")
    assert status == 0  # equally likely neighbours have a closed form
    assert "0.0" in out


@pytest.mark.slow
def test_a_sum_that_cannot_be_counted_is_refused_with_what_would_do(folder):
    domain = ("--minimum", "0", "--maximum", "1000", "--step", "0.0001")
    err = complaint("staff.csv", "-p", "policy.toml", "--technique", "sums", *domain)
    assert "what the sum of 60 records leaves of each cannot be counted over 10,000,001 values" in err
    assert "take a coarser step" in err


def test_an_empty_file_is_said_to_be_empty(folder):
    Path("nothing.csv").touch()
    assert "nothing.csv is empty" in complaint(
        "nothing.csv", "-p", "policy.toml", "--technique", "sampling", "--percent", "5"
    )
    assert "nothing.csv is empty" in complaint(
        "staff.csv", "-p", "policy.toml", "--technique", "sampling", "--release", "nothing.csv"
    )
