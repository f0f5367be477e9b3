"""`cae-sql evaluate`: a release in, risk by class out; techniques compared; one line for errors."""

from __future__ import annotations

import doctest
import json
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from auditor.cli.app import app
from auditor.evaluation import words
from cae_sql import releases
from cae_sql.risk import risk_of
from tests.auditor.evaluation.evaluating import POLICY, SALARY, complaint, folder, frame, run, staff, told
from tests.quick import some

__all__ = ["folder", "staff"]

# One release


@pytest.mark.slow
def test_a_release_that_is_given_has_the_figures_of_the_library_worst_first(folder, staff):
    sample = releases.draw_sample(staff[["sex", "age", "salary"]], 50, 3)
    sample.to_csv("sample.csv", index=False)
    found = told("staff.csv", "--technique", "sampling", "--release", "sample.csv", "--known", "sex,age")
    expected = releases.sampled(staff, sample, "salary", ["sex", "age"], SALARY)
    rows = frame(found)
    assert rows.risk.tolist() == sorted(expected.risk, reverse=True)
    both = rows.merge(expected, on=["sex", "age"], suffixes=("", "_expected"))
    assert len(both) == len(rows) == len(expected)
    for name in ("matches", "initial_entropy", "area", "risk"):
        assert both[name].tolist() == pytest.approx(both[f"{name}_expected"].tolist(), abs=1e-12)
    assert found["release"] == {
        "technique": "sampling", "parameters": {}, "made": False, "source": "sample.csv", "seed": None,
        "saved": None,
    }  # fmt: skip
    assert found["summary"]["beyond_records"] == int(expected.matches[expected.risk > 0.5].sum())


@pytest.mark.parametrize(
    ("arguments", "library"),
    [
        (["sampling", "--percent", "50"], lambda t, r, k: r.sampled(
            t, r.draw_sample(t, 50, 4), "salary", k, SALARY)),
        (["noise", "--noise", "40"], lambda t, r, k: r.perturbed(
            t, r.add_noise(t, "salary", ["sex", "age"], SALARY, 40, 4), "salary", k, SALARY, 40)),
        (["query-restriction", "--query-set-size", "8"], lambda t, r, k: r.restricted(
            t, "salary", k, SALARY, 8, 4)),
        (["randomised-response", "--probability", "0.7"], lambda t, r, k: r.randomised(
            t, r.randomise(t, {"salary": 0.7}, {"salary": SALARY.values.tolist()}, 4), "salary", k, SALARY,
            {"salary": 0.7})),
        (["anatomy", "--ell", "2"], lambda t, r, k: r.generalised(
            t.assign(g=r.anatomise(t, "salary", 2, 4)), t.assign(g=r.anatomise(t, "salary", 2, 4)), "salary",
            k, SALARY, group="g")),
    ],
)  # fmt: skip
def test_a_release_that_is_made_is_the_librarys_with_this_seed(folder, staff, arguments, library):
    found = told("staff.csv", "--technique", *arguments, "--seed", "4")
    expected = library(staff[["salary", "sex", "age"]], releases, ["sex"])
    rows = frame(found).sort_values("sex")
    assert rows.risk.tolist() == pytest.approx(expected.risk.tolist(), abs=1e-12)
    assert found["release"]["made"] is True
    assert found["release"]["seed"] == 4


def test_a_coarser_table_is_evaluated(folder, staff):
    staff[["age", "salary"]].assign(age="30-59").to_csv("coarse.csv", index=False)
    found = told("staff.csv", "--technique", "generalisation", "--release", "coarse.csv", "--known", "age")
    risk = risk_of(*np.unique(staff.salary, return_counts=True), SALARY).risk
    assert frame(found).risk.tolist() == pytest.approx([risk] * staff.age.nunique())


def test_randomised_response_of_several_columns_takes_a_probability_for_each(folder):
    found = told("staff.csv", "--technique", "randomised-response", "--probability", "0.8",
                 "--probability", "sex=0.9")  # fmt: skip
    assert found["release"]["parameters"] == {"probability": {"salary": 0.8, "sex": 0.9}}


def test_a_table_of_a_database_is_the_same_as_the_file(folder):
    arguments = ("--technique", "sampling", "--percent", "30")
    from_file, from_database = told("staff.csv", *arguments), told("staff.duckdb", *arguments)
    assert from_file["rows"] == from_database["rows"]
    assert from_database["subject"]["table"] == "staff"


def test_with_a_unit_persons_are_sampled_with_all_their_rows_and_rows_are_what_is_judged(folder, staff):
    staff.assign(person=staff["id"] // 4).to_csv("rows.csv", index=False)
    Path("policy.toml").write_text(POLICY.replace("public =", 'unit = "person"\npublic ='))
    arguments = ("rows.csv", "--technique", "sampling", "--percent", "20")
    assert told(*arguments)["subject"]["unit"] == "person"
    text = run(*arguments, "-p", "policy.toml", "--seed", "3", "--save", "sample.csv")[1]
    rows = pd.read_csv("sample.csv")
    assert len(rows) == 12  # three of fifteen persons
    assert "person" not in rows.columns
    assert "percent 20 of the units (person), each with all rows, seed 3" in text
    assert "somebody who knows the row's sex" in text
    assert "what several rows of one unit (person) tell together is not in it" in text


def test_a_unit_that_the_table_does_not_have_is_an_error(folder):
    Path("policy.toml").write_text(POLICY.replace("public =", 'unit = "person"\npublic ='))
    assert "has no column person" in complaint(
        "staff.csv", "-p", "policy.toml", "--technique", "sampling", "--percent", "20"
    )


def test_a_release_may_be_another_table_of_the_database(folder, staff):
    half = releases.draw_sample(staff, 50, 1)  # noqa: F841 -- DuckDB reads it by name
    with duckdb.connect("staff.duckdb") as connection:
        connection.execute("CREATE TABLE half AS SELECT * FROM half")
    found = told("staff.duckdb", "--technique", "sampling", "--release", "half")
    assert found["release"]["source"] == "half"
    assert (
        frame(found).risk.tolist() == frame(told("staff.csv", "--technique", "sampling", "--percent", "50",
                                                 "--seed", "1")).risk.tolist()
    )  # fmt: skip


@pytest.mark.parametrize("form", ["parquet", "json"])
def test_other_files_that_duckdb_reads_are_read(folder, staff, form):
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT * FROM staff) TO 'staff.{form}'")
    arguments = ("--technique", "query-restriction", "--query-set-size", "4")
    assert told(f"staff.{form}", *arguments)["rows"] == told("staff.csv", *arguments)["rows"]


def test_groups_that_are_given_are_judged_as_groups_that_are_made(folder, staff):
    grouped = staff.assign(team=releases.anatomise(staff[["salary", "sex", "age"]], "salary", 2, 4))
    grouped.to_csv("grouped.csv", index=False)
    grouped[["team", "salary"]].to_csv("values.csv", index=False)
    given = told("grouped.csv", "--technique", "anatomy", "--release", "values.csv", "--group", "team")
    made = told("grouped.csv", "--technique", "anatomy", "--ell", "2", "--seed", "4")
    assert frame(given).risk.tolist() == pytest.approx(frame(made).risk.tolist())


def test_columns_are_found_as_duckdb_compares_names(folder, staff):
    sample = releases.draw_sample(staff, 50, 1)
    sample.rename(columns=str.upper).to_csv("upper.csv", index=False)
    found = told("staff.csv", "--technique", "sampling", "--release", "upper.csv", "--known", "SEX")
    assert (
        found["rows"]
        == told("staff.csv", "--technique", "sampling", "--percent", "50", "--seed", "1")["rows"]
    )


def test_nothing_known_is_one_class_of_everybody(folder):
    found = told("staff.csv", "--technique", "sampling", "--percent", "50", "--known", "none")
    assert found["rows"][0][found["columns"].index("matches")] == 60
    assert found["summary"]["classes"] == 1
    assert found["summary"]["worst_risk"] == found["summary"]["anybody_risk"]


def test_everything_released_with_everything_known_is_risk_1_nothing_released_is_0(folder):
    every = told("staff.csv", "--technique", "sampling", "--percent", "100", "--known", "all")
    alone = frame(every)[frame(every).matches == 1]
    assert len(alone) > 0
    assert (alone.risk == 1).all()
    none = told("staff.csv", "--technique", "sampling", "--percent", "0", "--known", "all")
    assert (frame(none).risk == 0).all()


def test_by_number_looks_at_every_set_of_so_many_columns(folder, staff):
    found = told("staff.csv", "--technique", "sampling", "--percent", "50", "--by-number")
    lines = found["by_number_known"]
    assert [(line["known"], line["subsets"]) for line in lines] == [(0, 1), (1, 2), (2, 1)]
    sample = releases.draw_sample(staff[["salary", "sex", "age"]], 50, 0)
    means = []
    for known in (["sex"], ["age"]):
        each = releases.sampled(staff, sample, "salary", known, SALARY)
        means.append(np.average(each.risk, weights=each.matches))
    assert lines[1]["mean_risk"] == pytest.approx(np.mean(means))


def test_without_a_policy_options_say_it_all(folder):
    domain = ("--minimum", "10", "--maximum", "100", "--step", "10")
    columns = ("--column", "SALARY", "--public", "sex,age")
    status, out, _ = run("staff.csv", "--technique", "sampling", "--percent", "50", *columns, *domain)
    assert status == 0
    assert "no limit was given" in out


def test_rounding_is_done_where_it_is_asked_for(folder, staff):
    staff.assign(salary=staff.salary + 3).to_csv("odd.csv", index=False)
    arguments = ("--technique", "sampling", "--percent", "50")
    assert "round the column first" in complaint("odd.csv", *arguments, "-p", "policy.toml")
    assert told("odd.csv", *arguments, "--round")["rows"] == told("staff.csv", *arguments)["rows"]


# Status and words


def test_the_status_says_whether_the_limit_is_broken(folder):
    arguments = ("staff.csv", "--technique", "sampling", "-p", "policy.toml", "--known", "sex,age")
    assert run(*arguments, "--percent", "100")[0] == 3
    assert run(*arguments, "--percent", "0")[0] == 0
    assert run(*arguments, "--percent", "100", "--fail-on", "none")[0] == 0
    assert run(*arguments, "--percent", "100", "--max-risk", "1")[0] == 0


def test_a_limit_on_bits_at_epsilon_is_judged_too(folder):
    Path("bits.toml").write_text(POLICY.replace("risk = 0.5", "epsilon = 20\nmin_entropy = 0.5"))
    status, out, _ = run("staff.csv", "--technique", "sampling", "--percent", "100", "--known", "sex,age",
                         "-p", "bits.toml", "--format", "json")  # fmt: skip
    found = json.loads(out)
    rows = frame(found)
    assert status == 3
    assert rows.beyond.tolist() == (rows.entropy_at_epsilon < 0.5 - 1e-12).tolist()


def test_people_are_told_what_was_made_and_how_many_are_beyond_the_limit(folder, staff):
    classes = len(staff.groupby(["sex", "age"]))
    result = CliRunner().invoke(
        app(), ["evaluate", "staff.csv", "--technique", "sampling", "--percent", "100", "-p", "policy.toml",
              "--known", "sex,age", "--top", "2"],
    )  # fmt: skip
    assert result.exit_code == 3
    assert "Made here: a release of salary in staff.csv by sampling, percent 100, seed 0." in result.output
    assert f"the 2 riskiest of {classes} classes" in result.output
    assert "of 60 records" in result.output
    assert "(risk at most 0.5), against somebody who knows the person's sex and age" in result.output


def test_a_release_that_is_given_is_said_to_be(folder, staff):
    staff.to_csv("all.csv", index=False)
    _, out, _ = run("staff.csv", "--technique", "sampling", "--release", "all.csv", "-p", "policy.toml")
    assert out.startswith("Given: all.csv, taken as a release of salary in staff.csv by sampling.")


def test_the_words_are_as_their_examples_say():
    tried = doctest.testmod(words)
    assert tried.attempted == 3
    assert tried.failed == 0


# Bad input


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.assign(weight=1.0), "the sample has weights ('weight')"),
        (lambda t: t.assign(town="x"), "the sample has a column 'town' that the original does not have"),
        (lambda t: t.drop(columns="sex"), "the sample has no column 'sex'"),
        (lambda t: t.assign(salary=t.salary + 500), "is outside of the domain 10 … 100"),
        (lambda t: t.assign(salary=t.salary + 1), "is not a value of the domain"),
        (lambda t: t.assign(sex=t.sex.where(t.index > 5)), "the sample has no value of 'sex' in row 0"),
        (lambda t: t.assign(sex="x"), "which no record of the original has"),
        (lambda t: pd.concat([t] * 20), "it is no sample without replacement"),
    ],
)
def test_a_release_that_cannot_be_one_is_one_clear_line(folder, staff, change, message):
    change(staff.iloc[:40]).to_csv("bad.csv", index=False)
    err = complaint("staff.csv", "--technique", "sampling", "--release", "bad.csv", "-p", "policy.toml")
    assert message in err
    assert err.count("\n") == 1


def test_a_person_in_no_class_of_a_coarser_table_is_one_clear_line(folder, staff):
    staff[["age", "salary"]].assign(age="60-69").to_csv("coarse.csv", index=False)
    err = complaint("staff.csv", "--technique", "generalisation", "--release", "coarse.csv", "-p",
                    "policy.toml", "--known", "age")  # fmt: skip
    assert "release" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    some([
        (["staff.csv", "-p", "policy.toml"], "give --technique for one release, or --sweep"),
        (["staff.csv", "--technique", "magic", "-p", "policy.toml"], "'magic' is not one of"),
        (["staff.csv", "--sweep", "magic:1", "-p", "policy.toml"], "there is no technique magic"),
        (["staff.csv", "--sweep", "sampling", "-p", "policy.toml"], "write sampling:5,10,20"),
        (["staff.csv", "--sweep", "sampling:five", "-p", "policy.toml"], "write sampling:5,10,20"),
        (["staff.csv", "--sweep", "generalisation:500", "-p", "policy.toml"],
         "generalisation, k = 500: k is 500, but there are 60 records"),
        (["staff.csv", "--sweep", "sampling:5", "--by", "sex", "-p", "policy.toml"],
         "none of the techniques compared has --by"),
        (["staff.csv", "--sweep", "sums:1", "--by", "salary", "-p", "policy.toml"],
         "--by names 'salary', which is not public; there are sex, age"),
        (["staff.csv", "--technique", "sampling", "--percent", "5", "--column", "salary", "--column", "age",
          "-p", "policy.toml"], "several confidential columns are evaluated one a run"),
        (["staff.csv", "--sweep", "query-restriction:7", "-p", "policy.toml"],
         "query-restriction, Q = 7: query_set_size must be even"),
        (["staff.csv", "--sweep", "query-restriction:7.5", "-p", "policy.toml"], "must be a whole number"),
        (["staff.csv", "--sweep", "sampling:5", "--percent", "5", "-p", "policy.toml"],
         "--sweep has its parameters with it"),
        (["staff.csv", "--technique", "sampling", "-p", "policy.toml"], "sampling needs --percent"),
        (["staff.csv", "--technique", "sampling", "--percent", "120", "-p", "policy.toml"],
         "percent must lie between 0 and 100"),
        (["staff.csv", "--technique", "noise", "--percent", "5", "-p", "policy.toml"],
         "noise has no --percent"),
        (["staff.csv", "--technique", "noise", "--release", "staff.csv", "-p", "policy.toml"],
         "noise needs --noise"),
        (["staff.csv", "--technique", "sampling", "--percent", "5", "--release", "staff.csv", "-p",
          "policy.toml"], "--percent says how a release is made, and one is given"),
        (["staff.csv", "--technique", "query-restriction", "--release", "staff.csv", "-p", "policy.toml"],
         "query-restriction publishes statistics of the original, and not a table of persons: leave "
         "--release out and give --query-set-size"),
        (["staff.csv", "--technique", "sums", "--release", "staff.csv", "-p", "policy.toml"],
         "sums publishes statistics of the original, and not a table of persons: leave --release out"),
        (["staff.csv", "--technique", "generalisation", "-p", "policy.toml"], "generalisation needs --k"),
        (["staff.csv", "--technique", "sums", "--least", "0", "-p", "policy.toml"],
         "least must be a whole number from 1, not 0"),
        (["staff.csv", "--technique", "anatomy", "--group", "sex", "-p", "policy.toml"],
         "give --release too"),
        (["staff.csv", "--technique", "sampling", "--make", "--release", "staff.csv", "-p", "policy.toml"],
         "leave one of the two out"),
        (["staff.csv", "--technique", "randomised-response", "--probability", "often", "-p", "policy.toml"],
         "write 0.8, or COLUMN=0.8"),
        (["staff.csv", "--technique", "randomised-response", "--probability", "id=0.8", "-p", "policy.toml"],
         "id, which is not released"),
        (["staff.csv", "--technique", "sampling", "--percent", "5"],
         "without a policy the columns are needed"),
        (["staff.csv", "--technique", "sampling", "--percent", "5", "--column", "salary", "--public", "sex"],
         "without a policy the domain is needed"),
        (["staff.csv", "--technique", "sampling", "--percent", "5", "-p", "policy.toml", "--known", "town"],
         "staff.csv has no column town. There are: id, sex, age, salary."),
        (["staff.csv", "--technique", "sampling", "--percent", "5", "-p", "policy.toml", "--known", "id"],
         "known names 'id', which is not public"),
        (["staff.csv", "--technique", "sampling", "--percent", "5", "-p", "policy.toml", "--column", "age"],
         "the policy does not protect age"),
        (["staff.csv", "--technique", "sampling", "--percent", "5", "-p", "policy.toml", "--max-risk", "2"],
         "risk must lie between 0 and 1"),
        (["none.csv", "--technique", "sampling", "--percent", "5", "-p", "policy.toml"],
         "none.csv: cannot be read: No such file"),
        (["policy.toml", "--technique", "sampling", "--percent", "5", "-p", "policy.toml"],
         "CSV, Parquet and JSON files"),
        (["staff.csv", "--original", "staff", "--technique", "sampling", "--percent", "5", "-p",
          "policy.toml"], "leave --original out"),
        (["staff.duckdb", "--original", "stuff", "--technique", "sampling", "--percent", "5", "-p",
          "policy.toml"], "has no table stuff. Did you mean staff?"),
        (["staff.csv", "--technique", "sampling", "--release", "none.csv", "-p", "policy.toml"],
         "none.csv: no such file"),
        (["staff.csv", "--technique", "sampling", "--percent", "5", "-p", "policy.toml", "-o",
          "nowhere/report.html"], "there is no folder nowhere"),
    ], 12),
)  # fmt: skip
def test_what_cannot_be_asked_is_said(folder, arguments, message):
    err = " ".join(complaint(*arguments).replace("│", " ").split())
    assert message in err


def test_a_policy_of_another_table_is_one_clear_line(folder):
    Path("other.toml").write_text(POLICY.replace('column = "salary"', 'column = "wage"'))
    err = complaint("staff.csv", "--technique", "sampling", "--percent", "5", "-p", "other.toml")
    assert "staff.csv has no column wage" in err
    assert err.count("\n") == 1


def test_a_policy_of_several_columns_wants_one_of_them_named(folder):
    more = POLICY.replace("[protect]", "[[protect]]").replace('"sex", "age"', '"sex"')
    first, rest = more.split("[limit]")
    Path("two.toml").write_text(first + first.replace('"salary"', '"age"') + "[limit]" + rest)
    arguments = ("staff.csv", "--technique", "sampling", "--percent", "5", "-p", "two.toml")
    assert "name one of these columns with --column" in complaint(*arguments)
    assert run(*arguments, "--column", "salary")[0] in (0, 3)


def test_a_column_that_two_tables_have_is_not_guessed(folder):
    first, rest = POLICY.replace("[protect]", "[[protect]]").split("[limit]")
    Path("two.toml").write_text(first + first.replace('"staff"', '"managers"') + "[limit]" + rest)
    err = complaint("staff.csv", "--technique", "sampling", "--percent", "5", "-p", "two.toml",
                    "--column", "salary")  # fmt: skip
    assert "the policy protects staff.salary and managers.salary; take a policy with one" in err


def test_missing_values_of_the_original_are_one_clear_line(folder, staff):
    staff.assign(salary=staff.salary.where(staff.index != 7)).to_csv("gap.csv", index=False)
    for technique in (["sampling", "--percent", "5"], ["randomised-response", "--probability", "0.9"],
                      ["query-restriction", "--query-set-size", "4"], ["noise", "--noise", "10"],
                      ["anatomy", "--ell", "2"]):  # fmt: skip
        err = complaint("gap.csv", "--technique", *technique, "-p", "policy.toml")
        assert "the original has no value of 'salary' in row 7" in err


# Comparing techniques

SWEEP = ("--sweep", "sampling:10,50,100", "--sweep", "noise:20,80", "--sweep", "query-restriction:2,8",
         "--sweep", "randomised-response:0.9,0.4", "--sweep", "anatomy:2")  # fmt: skip


@pytest.mark.slow
def test_a_larger_share_is_riskier_and_nearer_to_the_original(folder):
    found = told("staff.csv", "--sweep", "sampling:5,20,50,80,100", "--repetitions", "8")
    rows = frame(found)
    assert rows.mean_risk.is_monotonic_increasing
    assert rows.distance.is_monotonic_decreasing
    assert rows[["distance", "query_error", "association_error"]].iloc[-1].tolist() == [0, 0, 0]


@pytest.mark.slow
def test_a_sweep_has_each_setting_in_the_order_asked_for(folder):
    rows = frame(told("staff.csv", *SWEEP))
    assert list(zip(rows.technique, rows.value, strict=True)) == [
        ("sampling", 10), ("sampling", 50), ("sampling", 100), ("noise", 20), ("noise", 80),
        ("query-restriction", 2), ("query-restriction", 8), ("randomised-response", 0.9),
        ("randomised-response", 0.4), ("anatomy", 2),
    ]  # fmt: skip


@pytest.mark.slow
def test_the_risks_of_a_sweep_are_those_of_its_releases(folder):
    found = frame(told("staff.csv", *SWEEP, "--repetitions", "2", "--seed", "6"))
    each = [told("staff.csv", "--technique", "noise", "--noise", "80", "--seed", str(seed))["summary"]
            for seed in (6, 7)]  # fmt: skip
    row = found[(found.technique == "noise") & (found.value == 80)].iloc[0]
    assert row.mean_risk == pytest.approx(np.mean([one["mean_risk"] for one in each]))
    assert row.worst_risk == max(one["worst_risk"] for one in each)
    assert row.anybody_risk == pytest.approx(np.mean([one["anybody_risk"] for one in each]))
    assert row.beyond_share == pytest.approx(np.mean([one["beyond_records"] / 60 for one in each]))


@pytest.mark.slow
def test_the_best_setting_keeps_the_limit_and_is_nearest_to_the_original(folder):
    found = told("staff.csv", *SWEEP, "--known", "all")
    rows = frame(found)
    kept = rows[rows.keeps_limit]
    assert 0 < len(kept) < len(rows)
    best = kept.loc[kept.distance.idxmin()]
    assert found["best"] == {"technique": best.technique, "value": best.value}
    assert found["code"] == "within"


def test_a_sweep_of_which_no_setting_keeps_the_limit_has_status_3(folder):
    status, out, _ = run("staff.csv", "--sweep", "sampling:90,100", "-p", "policy.toml", "--known", "all")
    assert status == 3
    assert "No setting keeps the limit" in out
    assert run("staff.csv", "--sweep", "sampling:90,100", "-p", "policy.toml", "--known", "all",
               "--fail-on", "none")[0] == 0  # fmt: skip


@pytest.mark.parametrize(
    "what", [("--technique", "sampling", "--percent", "100"), ("--sweep", "sampling:10,100")]
)
def test_the_report_is_written_whole_and_says_what_the_terminal_says(folder, what):
    before = {path.name for path in folder.iterdir()}
    _, out, err = run("staff.csv", "-p", "policy.toml", *what, "--known", "all", "-o", "report.html")
    assert {path.name for path in folder.iterdir()} - before == {"report.html"}
    assert err == "wrote report.html\n"
    said = next(line for line in out.splitlines() if "limit (risk at most 0.5)" in line)
    shown = Path("report.html").read_text(encoding="utf-8").replace("&#39;", "'")
    assert said in shown


def test_csv_has_all_classes_and_nothing_else(folder, staff):
    _, out, _ = run("staff.csv", "--technique", "sampling", "--percent", "50", "-p", "policy.toml",
                    "--known", "sex,age", "--format", "csv")  # fmt: skip
    lines = out.splitlines()
    assert lines[0] == "sex,age,matches,initial_entropy,privacy_loss,area,risk,beyond"
    assert len(lines) == 1 + len(staff.groupby(["sex", "age"]))


def test_a_known_column_is_never_taken_for_a_figure_of_the_result(folder, staff):
    staff.rename(columns={"sex": "beyond"}).to_csv("other.csv", index=False)
    options = ["--column", "salary", "--minimum", 10, "--maximum", 100, "--step", 10]
    error = complaint("other.csv", *options, "--public", "beyond", "--technique", "sampling", "--percent", 50)
    assert "a known column cannot be named 'beyond'" in error


@pytest.mark.parametrize(
    ("public", "said"),
    [
        ("sex,salary", "public names the confidential column 'salary'"),
        ("sex,SEX", "public names 'sex' twice"),
    ],
)
def test_the_public_columns_are_each_another_and_not_the_confidential_one(folder, public, said):
    sums = ["--technique", "query-restriction", "--query-set-size", 4]
    assert said in complaint("staff.csv", "-p", "policy.toml", "--public", public, "--known", "sex", *sums)


@pytest.mark.parametrize("value", ["inf", "nan", "2.5"])
def test_a_sweep_over_groups_of_no_whole_number_is_one_error(folder, value):
    error = complaint("staff.csv", "-p", "policy.toml", "--sweep", f"anatomy:{value}")
    assert f"anatomy, l = {value}: --ell must be a whole number, not {value}" in error
