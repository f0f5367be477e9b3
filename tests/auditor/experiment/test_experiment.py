"""`cae-sql experiment`: a file in, averages and figures out, one line for errors; the built-in data sets."""

from __future__ import annotations

import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from auditor.cli import main
from auditor.experiment.data import read, step_for
from auditor.experiment.figures import against_knowledge, against_noise
from cae_sql import InvalidInput
from cae_sql.releases.experiment import Parameters, averages, prepare
from cae_sql.releases.experiment import run as run_experiment

SHORT = ["--sampling", "50", "--query-set-sizes", "2,4", "--noise", "30,90", "--repetitions", "2"]


@pytest.fixture
def staff(tmp_path: Path) -> Path:
    rng = np.random.default_rng(3)
    columns = {"salary": rng.choice([10, 20, 30, 50], 40), "age": rng.integers(30, 36, 40)}
    columns |= {"job": rng.choice(["cook", "nurse"], 40), "exact": rng.uniform(10, 50, 40)}
    table = pd.DataFrame(columns)
    path = tmp_path / "staff.csv"
    table.to_csv(path, index=False)
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = 0
    try:
        main(["experiment", *(str(argument) for argument in arguments)])
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else 0 if left.code is None else 1
    out, err = capsys.readouterr()
    return status, out, err


def of(staff: Path, *more: object) -> list[object]:
    return ["--data", staff, "--column", "salary", "--public", "age,job", *SHORT, *more]


def test_the_averages_printed_are_those_of_the_library(staff, capsys):
    status, out, _ = run(capsys, *of(staff, "--format", "json", "--seed", "4"))
    told = json.loads(out)
    data = read(str(staff), "salary", ["age", "job"])
    prepared = prepare(data.table, "salary", ["age", "job"], data.domain)
    expected = averages(run_experiment(prepared, Parameters((50,), (2, 4), (30, 90)), 2, 4))
    assert status == 0
    assert told["columns"] == list(expected.columns)
    assert [row[:3] for row in told["rows"]] == expected.iloc[:, :3].to_numpy().tolist()
    assert [row[5] for row in told["rows"]] == pytest.approx(expected.initial_entropy.tolist())


def test_the_table_has_a_row_for_each_parameter_in_the_papers_order(staff, capsys):
    _, out, _ = run(capsys, *of(staff))
    rows = re.findall(r"(sampling|query restriction|noise addition) +(\d+) ", out)
    assert rows == 2 * [("sampling", "50"), ("query restriction", "2"), ("query restriction", "4"),
                        ("noise addition", "30"), ("noise addition", "90")]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("form", ["svg", "png"])
def test_the_folder_gets_csv_files_and_the_papers_figures(staff, tmp_path, capsys, form):
    folder = tmp_path / "new" / "results"
    status, _, err = run(capsys, *of(staff, "-o", folder, "--picture", form))
    assert status == 0, err
    names = ["averages.csv", f"figure-2.{form}", f"figure-4.{form}", "runs.csv"]
    assert sorted(path.name for path in folder.iterdir()) == names
    runs, points = pd.read_csv(folder / "runs.csv"), pd.read_csv(folder / "averages.csv")
    assert len(runs) == 5 * 2 * 4
    assert averages(runs).initial_entropy.tolist() == pytest.approx(points.initial_entropy.tolist())
    if form == "svg":
        text = " ".join(ElementTree.parse(folder / "figure-2.svg").getroot().itertext())
        assert {"Sampling", "Query restriction", "Noise addition", "50 %", "Q = 4"} <= set(
            re.split(r"\s*\n\s*", text)
        )
        assert "number of known attributes" in text


def test_the_lines_are_the_averages(staff):
    figure = pytest.importorskip("matplotlib.figure")
    data = read(str(staff), "salary", ["age", "job"])
    prepared = prepare(data.table, "salary", ["age", "job"], data.domain)
    points = averages(run_experiment(prepared, Parameters((20, 50), (), (30, 90)), 2, 4))
    axes = figure.Figure().subplots()
    against_knowledge(axes, points[points.technique == "sampling"], "sampling", "area", "area")
    for line, parameter in zip(axes.lines, (20, 50), strict=True):
        part = points[(points.technique == "sampling") & (points.parameter == parameter)]
        assert line.get_label() == f"{parameter} %"
        assert list(line.get_xdata()) == [0, 1, 2]
        assert list(line.get_ydata()) == part.area.tolist()
    axes = figure.Figure().subplots()
    against_noise(axes, points[points.technique == "noise addition"], "initial_entropy", "H0")
    for line, known in zip(axes.lines, range(3), strict=True):
        part = points[(points.technique == "noise addition") & (points.known == known)]
        assert list(line.get_xdata()) == [30, 90]
        assert list(line.get_ydata()) == part.initial_entropy.tolist()


@pytest.mark.slow
def test_pictures_can_be_left_out_and_are_the_same_each_time(staff, tmp_path, capsys):
    run(capsys, *of(staff, "-o", tmp_path / "a", "--picture", "none"))
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["averages.csv", "runs.csv"]
    for name in ("b", "c"):
        run(capsys, *of(staff, "-o", tmp_path / name, "--jobs", "2" if name == "c" else "1"))
    for path in (tmp_path / "b").iterdir():
        assert path.read_bytes() == (tmp_path / "c" / path.name).read_bytes()


@pytest.mark.slow
def test_a_technique_without_parameters_is_left_out(staff, tmp_path, capsys):
    status, out, err = run(capsys, *of(staff, "--sampling", "", "--noise", "", "-o", tmp_path / "a"))
    assert status == 0, err
    assert set(re.findall(r"sampling|query restriction|noise", out)) == {"query restriction"}
    assert (tmp_path / "a" / "figure-2.svg").is_file()


@pytest.mark.slow
def test_one_amount_of_noise_makes_no_figure_against_the_amount(staff, tmp_path, capsys):
    run(capsys, *of(staff, "-o", tmp_path / "a", "--noise", "30"))
    assert not (tmp_path / "a" / "figure-4.svg").exists()


def test_a_missing_matplotlib_is_said_before_the_work(staff, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    status, out, err = run(capsys, *of(staff, "-o", tmp_path / "a"))
    assert (status, out) == (2, "")
    assert "pictures need matplotlib: pip install 'cae-sql[experiment]', or --picture none" in err
    assert not (tmp_path / "a").exists()


def test_a_missing_scikit_learn_is_said(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    status, _, err = run(capsys, "--data", "wine")
    assert status == 2
    assert "wine needs scikit-learn: pip install 'cae-sql[experiment]'" in err


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--data", "none.csv"], "none.csv: no such file"),
        (["--column", "wages"], "has no column 'wages'"),
        (["--public", "salary"], "known names the confidential column 'salary'"),
        (["--column", "exact"], "exact would have|exact has .* steps"),
        (["--maximum", "30"], "salary = 50 is outside of the domain 10 … 30"),
        (["--step", "x"], "step must be a finite number"),
        (["--sampling", "5,x"], "is no list of numbers"),
        (["--query-set-sizes", "2.5"], "is no list of whole numbers"),
        (["--query-set-sizes", "inf"], "is no list of whole numbers"),
        (["--query-set-sizes", "nan"], "is no list of whole numbers"),
        (["--query-set-sizes", "3"], "query_set_size must be even"),
        (["--query-set-sizes", "64"], "query_set_size is 64, but there are 40 records"),
        (["--sampling", "", "--query-set-sizes", "", "--noise", ""], "there is nothing to do"),
        (["--noise=-5"], "a parameter of noise addition must be 0 or more"),
        (["-o", "/dev/null/results"], "/dev/null/results: "),
    ],
)
def test_what_cannot_be_is_one_line(staff, capsys, more, said):
    status, out, err = run(capsys, *of(staff, *more))
    assert (status, out) == (2, "")
    assert re.search(said, err.replace("│\n│", ""))
    assert "Traceback" not in err


def test_a_file_needs_its_columns_named(staff, capsys):
    assert "a file needs the confidential column" in run(capsys, "--data", staff)[2]


def test_the_column_is_rounded_to_a_step_that_is_given_and_only_then(staff):
    data = read(str(staff), "exact", ["age"], step=10)
    assert set(data.table.exact) <= {10, 20, 30, 40, 50}
    assert (data.table.exact - pd.read_csv(staff).exact).abs().max() <= 5
    assert data.domain.count == 5
    with pytest.raises(InvalidInput, match=r"round it|--step"):
        read(str(staff), "exact", ["age"])
    assert read(str(staff), "salary", ["age"]).domain.values.tolist() == [10, 20, 30, 40, 50]
    assert read(str(staff), "salary", ["age"], minimum=0, maximum=60).domain.count == 7


@pytest.mark.parametrize(
    ("low", "high", "most", "step"),
    [
        (0, 24, 25, 1),
        (0, 25, 25, 2),
        (11.03, 14.83, 25, Fraction(1, 5)),
        (0, 1, 100, Fraction(1, 50)),
        (7, 7, 25, 1),
    ],
)
def test_a_step_is_the_finest_round_one_that_leaves_few_values(low, high, most, step):
    assert step_for(np.array([high, low, (low + high) / 2]), most) == step


@pytest.mark.parametrize("name", ["wine", "breast-cancer"])
def test_the_papers_other_data_sets_run(name, capsys):
    pytest.importorskip("sklearn")
    data = read(name, None, [])
    assert data.domain.count <= 25
    assert len(data.public) == 6
    assert (data.table[data.public].nunique() <= 100).all()
    status, out, err = run(capsys, "--data", name, "--public", data.public[0], "--subsets", "2", *SHORT)
    assert status == 0, err
    assert "noise addition" in out
