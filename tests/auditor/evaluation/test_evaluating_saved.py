"""What `cae-sql evaluate --save` writes is what was judged."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from tests.auditor.evaluation.evaluating import complaint, folder, frame, run, staff, told
from tests.quick import some

__all__ = ["folder", "staff"]

CASES = [
    (["sampling", "--percent", "40"], []),
    (["noise", "--noise", "40"], ["--noise", "40"]),
    (["randomised-response", "--probability", "0.6", "--probability", "sex=0.8"],
     ["--probability", "0.6", "--probability", "sex=0.8"]),
    (["generalisation", "--k", "4"], []),
    (["anatomy", "--ell", "2"], ["--group", "group"]),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize(("make", "read"), CASES)
@pytest.mark.parametrize("known", some(["sex", "all", "none"], 8))
def test_evaluating_the_saved_file_gives_the_figures_of_what_was_made(folder, make, read, suffix, known):
    out = f"release.{suffix}"
    options = ("-p", "policy.toml", "--known", known, "--format", "json")
    status, said, err = run("staff.csv", "--technique", *make, *options, "--save", out, "--fail-on", "none")
    made = json.loads(said)
    assert status == 0
    assert made["release"]["saved"] == out
    assert f"wrote {out}; its seed" in err
    given = told("staff.csv", "--technique", make[0], *read, "--release", out, "--known", known)
    key = ["sex", "age"] if known == "all" else ["sex"] if known == "sex" else ["matches"]
    both = [frame(each).sort_values(key).reset_index(drop=True) for each in (made, given)]
    pd.testing.assert_frame_equal(*both, rtol=1e-9, atol=1e-9)
    assert made["summary"] == pytest.approx(given["summary"])


def test_words_of_a_database_stay_words_in_a_file(folder, staff):
    coded = staff.assign(sex=staff.sex.map({"f": "01", "m": "02"}))  # noqa: F841 -- DuckDB reads it by name
    with duckdb.connect("coded.duckdb") as connection:
        connection.execute("CREATE TABLE staff AS SELECT * FROM coded")
    run("coded.duckdb", "-p", "policy.toml", "--technique", "sampling", "--percent", "50", "--seed", "3",
        "--save", "half.csv")  # fmt: skip
    made = told("coded.duckdb", "--technique", "sampling", "--percent", "50", "--seed", "3")
    assert told("coded.duckdb", "--technique", "sampling", "--release", "half.csv")["rows"] == made["rows"]


@pytest.mark.parametrize("text", ["=HYPERLINK(A1)", "\x1b[2J"])
def test_a_text_that_a_spreadsheet_would_run_is_not_written_to_csv_but_to_parquet(folder, staff, text):
    hostile = staff.assign(sex=staff.sex.map({"f": text, "m": "m"}))  # noqa: F841 -- DuckDB reads it by name
    with duckdb.connect("hostile.duckdb") as connection:
        connection.execute("CREATE TABLE staff AS SELECT * FROM hostile")
    made = (
        "hostile.duckdb",
        "-p",
        "policy.toml",
        "--technique",
        "sampling",
        "--percent",
        "100",
        "--seed",
        "3",
    )
    status, _, err = run(*made, "--fail-on", "none", "--save", "all.csv")
    assert status == 2
    assert "column sex" in err
    assert ".parquet" in err
    assert not Path("all.csv").exists()
    assert run(*made, "--fail-on", "none", "--save", "all.parquet")[0] == 0
    assert set(pd.read_parquet("all.parquet").sex) == {text, "m"}


def test_the_order_of_the_records_tells_nothing(folder, staff):
    run("staff.csv", "-p", "policy.toml", "--technique", "randomised-response", "--probability", "1",
        "--save", "all.csv", "--fail-on", "none")  # fmt: skip
    saved = pd.read_csv("all.csv")
    own = staff[saved.columns]
    assert not saved.equals(own)
    assert sorted(map(tuple, saved.to_numpy())) == sorted(map(tuple, own.to_numpy()))


@pytest.mark.slow
def test_each_saved_release_has_a_seed_of_its_own_unless_one_is_given(folder):
    def seed(*more: object) -> int:
        _, out, _ = run("staff.csv", "-p", "policy.toml", "--technique", "noise", "--noise", "40", "--format",
                        "json", "--fail-on", "none", *more)  # fmt: skip
        return json.loads(out)["release"]["seed"]

    drawn = {seed("--save", "a.csv"), seed("--save", "b.csv")}
    assert len(drawn) == 2
    assert min(drawn) > 2**32
    assert Path("a.csv").read_text() != Path("b.csv").read_text()
    assert (seed(), seed("--seed", "5", "--save", "c.csv"), seed("--seed", "5", "--save", "d.csv")) == (
        0,
        5,
        5,
    )
    assert Path("c.csv").read_text() == Path("d.csv").read_text()


def test_groups_are_written_in_one_table_with_values_permuted_within_each(folder, staff):
    run("staff.csv", "-p", "policy.toml", "--technique", "anatomy", "--ell", "2", "--save", "g.csv",
        "--fail-on", "none")  # fmt: skip
    saved = pd.read_csv("g.csv")
    assert set(saved.columns) == {"sex", "age", "group", "salary"}
    assert saved.groupby("group").salary.nunique().min() >= 2
    people = ["sex", "age"]
    assert sorted(map(tuple, saved[people].to_numpy())) == sorted(map(tuple, staff[people].to_numpy()))
    joined = ["sex", "age", "salary"]
    assert sorted(map(tuple, saved[joined].to_numpy())) != sorted(map(tuple, staff[joined].to_numpy()))


def test_statistics_are_written_as_a_group_by_gives_them(folder, staff):
    run("staff.csv", "-p", "policy.toml", "--technique", "sums", "--by", "sex", "--save", "sums.csv")
    expected = staff.groupby("sex").agg(records=("salary", "size"), sum=("salary", "sum")).reset_index()
    assert pd.read_csv("sums.csv").to_numpy().tolist() == expected.to_numpy().tolist()


def test_what_is_beyond_the_limit_is_not_written_unless_that_is_wanted(folder):
    options = (
        "staff.csv",
        "-p",
        "policy.toml",
        "--technique",
        "sampling",
        "--percent",
        "100",
        "--known",
        "all",
    )
    status, _, err = run(*options, "--save", "all.csv")
    assert (status, Path("all.csv").exists()) == (3, False)
    assert "all.csv: not written: a record is beyond the limit; --fail-on none writes it all the same" in err
    assert run(*options, "--save", "all.csv", "--fail-on", "none")[0] == 0
    assert len(pd.read_csv("all.csv")) == 60


@pytest.mark.slow
def test_a_sweep_writes_the_setting_that_it_chose(folder):
    options = (
        "staff.csv",
        "--sweep",
        "sampling:5,20",
        "--sweep",
        "randomised-response:0.3,0.6",
        "--known",
        "sex",
    )
    found = told_and_saved(*options, "--save", "best.csv")
    technique, value = found["best"]["technique"], found["best"]["value"]
    assert found["saved"] == "best.csv"
    assert technique == "randomised-response"
    given = told("staff.csv", "--technique", technique, "--release", "best.csv", "--probability", value)
    made = told("staff.csv", "--technique", technique, "--probability", value, "--seed", found["seed"])
    assert given["summary"] == pytest.approx(made["summary"])
    assert given["summary"]["beyond_records"] == 0


def told_and_saved(*arguments: object) -> dict[str, object]:
    _, out, err = run(*arguments, "-p", "policy.toml", "--format", "json")
    assert err.startswith("wrote ")
    return json.loads(out)


def test_a_sweep_of_which_nothing_keeps_the_limit_writes_nothing(folder):
    status, _, err = run("staff.csv", "-p", "policy.toml", "--sweep", "sampling:100", "--known", "all",
                         "--save", "best.csv")  # fmt: skip
    assert (status, Path("best.csv").exists()) == (3, False)
    assert "best.csv: not written: no setting keeps the limit" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--technique", "query-restriction", "--query-set-size", "4", "--save", "x.csv", "--fail-on",
          "none"],
         "what is published are answers to queries, not a table"),
        (["--technique", "sampling", "--percent", "5", "--save", "x.xlsx"], "ends in .csv or .parquet"),
        (["--technique", "sampling", "--percent", "5", "--save", "nowhere/x.csv"],
         "there is no folder nowhere"),
        (["--technique", "sampling", "--release", "staff.csv", "--save", "x.csv"],
         "--save writes what is made here, and --release names what is there already"),
    ],
)  # fmt: skip
def test_what_cannot_be_written_is_said(folder, arguments, message):
    err = " ".join(complaint("staff.csv", "-p", "policy.toml", *arguments).replace("│", " ").split())
    assert message in err
    assert not list(folder.glob("x.*"))


def test_a_sweep_without_a_limit_has_nothing_to_choose(folder):
    domain = (
        "--minimum",
        "10",
        "--maximum",
        "100",
        "--step",
        "10",
        "--column",
        "salary",
        "--public",
        "sex,age",
    )
    err = complaint("staff.csv", *domain, "--sweep", "sampling:5", "--save", "x.csv")
    assert "give a limit" in " ".join(err.replace("│", " ").split())
