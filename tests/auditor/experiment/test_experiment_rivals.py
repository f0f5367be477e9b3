"""`cae-sql experiment --paper randomization`: a file in, paper 004's figures and their numbers out."""

from __future__ import annotations

import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from auditor.cli import main
from auditor.experiment.rivals import ADULT, against_l, against_size, studies
from cae_sql.releases.diversity import ADULT as LADDERS
from cae_sql.releases.rivals import Study
from cae_sql.releases.rivals import run as run_all
from tests.quick import some


@pytest.fixture(scope="module")
def patients(tmp_path_factory: pytest.TempPathFactory) -> Path:
    random = np.random.default_rng(5)
    table = pd.DataFrame({"sex": random.choice(["f", "m"], 300), "age": random.choice([30, 40, 50], 300)})
    table["ill"] = random.choice(["flu", "cold", "cough", "none"], 300)
    path = tmp_path_factory.mktemp("data") / "patients.csv"
    table.to_csv(path, index=False)
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = 0
    try:
        main(["experiment", "--paper", "randomization", *(str(argument) for argument in arguments)])
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else 0 if left.code is None else 1
    out, err = capsys.readouterr()
    return status, out, err


def of(patients: Path, *more: object) -> list[object]:
    named = ["--data", patients, "--column", "ill", "--public", "sex,age"]
    return [*named, "--l", "2,3", "--repetitions", 2, *more]


@pytest.mark.slow
@pytest.mark.parametrize("form", some(["svg", "png"], 1))
def test_the_folder_gets_figures_3_to_7_and_their_numbers(patients, tmp_path, capsys, form):
    status, _, err = run(capsys, *of(patients, "-o", tmp_path / "new", "--picture", form, "--seed", 4))
    assert status == 0, err
    figures = [f"figure-{number}.{form}" for number in range(3, 8)]
    tables = ["averages.csv", "probabilities.csv", "uncertainties.csv"]
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted([*figures, *tables])
    table = pd.read_csv(patients)
    study = Study("patients", table, ("sex", "age"), "ill")
    expected = run_all(study, study, [2, 3], range(4, 6))
    found = pd.read_csv(tmp_path / "new" / "averages.csv")
    assert found.euclidean.tolist() == pytest.approx(expected.averages.euclidean.tolist())
    if form == "svg":
        root = ElementTree.parse(tmp_path / "new" / "figure-5.svg").getroot()
        text = set(re.split(r"\s*\n\s*", " ".join(root.itertext())))
        assert {"RR-QI", "anatomy", "l-diversity", "l", "distance", "KL, patients"} <= text


@pytest.mark.slow
def test_the_averages_are_printed_and_the_same_each_time(patients, capsys):
    first, again = (run(capsys, *of(patients, "--format", "json")) for _ in range(2))
    told = json.loads(first[1])
    assert first == again
    assert first[0] == 0
    assert told["columns"][:5] == ["figure", "study", "technique", "l", "size"]
    assert {row[2] for row in told["rows"]} >= {"RR-Both", "anatomy", "l-diversity"}
    _, out, _ = run(capsys, *of(patients))
    assert re.search(r"5 to 7 +patients +anatomy +3 ", out)


def test_the_lines_are_the_averages(patients):
    figure = pytest.importorskip("matplotlib.figure")
    study = Study("patients", pd.read_csv(patients), ("sex", "age"), "ill")
    rows = run_all(study, study, [2, 3], [0]).averages
    part = rows[rows.figure == "3"]
    axes = figure.Figure().subplots()
    against_l(axes, part, "kullback_leibler")
    names = [line.get_label() for line in axes.lines]
    assert names == list(dict.fromkeys(part.technique))
    for line in axes.lines:
        expected = part[part.technique == line.get_label()]
        assert list(line.get_xdata()) == expected.l.tolist()
        assert list(line.get_ydata()) == expected.kullback_leibler.tolist()
    part = rows[rows.figure == "4"]
    axes = figure.Figure().subplots()
    against_size(axes, part, "euclidean")
    assert [line.get_label() for line in axes.lines] == ["l = 2", "l = 3"]
    assert list(axes.lines[1].get_xdata()) == [0.5, 1, 1.5, 2, 2.5]
    assert list(axes.lines[1].get_ydata()) == part[part.l == 3].euclidean.tolist()


def test_without_columns_adults_are_taken_with_their_ladders():
    table = pd.DataFrame(
        {name: ["a", "b"] for quasi, sensitive in ADULT.values() for name in (*quasi, sensitive)}
    )
    first, second = studies(table, "adult", None, [])
    assert (first.name, first.quasi, first.sensitive) == ("EMGRW", *ADULT["EMGRW"])
    assert (second.name, second.quasi, second.sensitive) == ("ESGRO", *ADULT["ESGRO"])
    assert second.ladders is LADDERS


def test_a_missing_matplotlib_is_said_before_the_work(patients, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    status, out, err = run(capsys, *of(patients, "-o", tmp_path / "a"))
    assert (status, out) == (2, "")
    assert "pictures need matplotlib" in err
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--data", "none.csv"], "none.csv: no such file"),
        (["--column", "wages"], "the table has no column 'wages'"),
        (["--public", "ill"], "sensitive column 'ill' is among the quasi-identifiers"),
        (["--l", "1"], "l must be a whole number from 2, not 1"),
        (["--l", "2.5"], "is no list of whole numbers"),
        (["--l", ""], "there is nothing to do"),
        (["--sampling", "5"], "--sampling is not for --paper randomization"),
        (["--jobs", "1"], "--jobs is not for --paper randomization"),
        (["--paper", "quantifying-privacy"], "--l is not for --paper quantifying-privacy"),
    ],
)
def test_bad_input_is_one_line(patients, capsys, more, said):
    status, out, err = run(capsys, *of(patients, *more))
    assert (status, out) == (2, "")
    assert said in re.sub(r"[\s│]+", " ", err)


def test_one_of_column_and_public_alone_is_an_error(patients, capsys):
    status, _, err = run(capsys, "--data", patients, "--column", "ill")
    assert status == 2
    assert "--column and --public belong together" in err
