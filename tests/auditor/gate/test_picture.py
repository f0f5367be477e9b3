"""`Answer.plot`: bars where values are given, bands and markers where their ends are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from auditor import Gate
from tests.auditor.staff import LOW, OUTSIDERS, build, people, policy

pytest.importorskip("matplotlib")
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """At random but for department b, all at the least, and z, of one person."""
    persons = [(*p[:3], "abc"[int(str(p[0])) % 3], p[4]) for p in people(60, 9)]
    persons = [(*p[:4], LOW if p[3] == "b" else p[4]) for p in persons]
    return build(tmp_path / "mixed.duckdb", [*persons[:-1], (*persons[-1][:3], "z", persons[-1][4])])


def drawn(answer: Any) -> tuple[Any, list[tuple[float, float]]]:
    """The axes, and from where to where each bar and band goes; those without height are the legend's."""
    axes = answer.plot(Figure().subplots())
    bars = [each for each in axes.patches if isinstance(each, Rectangle) and each.get_height()]
    return axes, [(bar.get_y(), bar.get_y() + bar.get_height()) for bar in bars]


def test_values_are_bars_from_zero_and_ends_are_bands(mixed: Path) -> None:
    with Gate.open(mixed, policy(OUTSIDERS)) as gate:
        answer = gate.execute(
            "SELECT dept, AT_LEAST(max(salary)) AS lo, AT_MOST(max(salary)) AS hi FROM staff GROUP BY dept "
            "ORDER BY dept"
        )
        rows = answer.fetchall()
        axes, bars = drawn(answer)
        assert [each.get_text() for each in axes.get_xticklabels()] == ["a", "b", "c", "z"]
        assert axes.get_ylabel() == "lo … hi"
        told = [(0.0 if low == high else low, high) for _, low, high in rows if low is not None]
        assert any(low for low, _ in told), "somewhere there is a band"
        assert bars == [(low, pytest.approx(high)) for low, high in told]


def test_what_is_null_is_drawn_by_what_is_told_of_it(mixed: Path) -> None:
    with Gate.open(mixed, policy(OUTSIDERS)) as gate:
        answer = gate.execute("SELECT dept, max(salary) AS top FROM staff GROUP BY dept ORDER BY dept")
        (end,) = answer.ranges
        assert (end.column, end.least) == ("top", None)
        axes, bars = drawn(answer)
        assert bars == [(0.0, value) for _, value in answer.fetchall() if value is not None]
        [marker] = axes.collections
        assert [list(each) for each in marker.get_offsets()] == [[1.0, float(end.most or 0)]]


def test_values_beside_each_other_have_a_legend(tmp_path: Path) -> None:
    with Gate.open(build(tmp_path / "staff.duckdb", people(400)), policy(OUTSIDERS)) as gate:
        answer = gate.execute(
            "SELECT sex, dept, count(*) AS n, avg(salary) AS mean, sum(salary) / 10 AS tens FROM staff "
            "GROUP BY ALL ORDER BY ALL"
        )
        axes, bars = drawn(answer)
        assert [each.get_text() for each in axes.get_legend().get_texts()] == ["mean", "tens"]
        assert len(bars) == 2 * len(answer.fetchall())
        assert axes.get_xticklabels()[0].get_text().startswith("f, ")


def test_what_is_no_number_is_a_label(tmp_path: Path) -> None:
    with Gate.open(build(tmp_path / "staff.duckdb", people(100)), policy()) as gate:
        answer = gate.execute(
            "SELECT sum(salary) AS s, CASE WHEN sum(salary) > 1 THEN 'much' END AS t, avg(salary) > 1 AS b "
            "FROM staff"
        )
        axes, bars = drawn(answer)
        assert len(bars) == 1
        assert [each.get_text() for each in axes.get_xticklabels()] == ["much, True"]


def test_drawn_twice_and_after_being_asked_again_it_is_the_same(tmp_path: Path) -> None:
    with Gate.open(build(tmp_path / "staff.duckdb", people(100)), policy()) as gate:
        first, again = (gate.execute("SELECT sum(salary) FROM staff") for _ in range(2))
        assert drawn(first)[1] == drawn(first)[1] == drawn(again)[1] != []


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT dept, count(*) FROM staff GROUP BY dept", "nothing to draw"),
        (
            "SELECT id, count(*), (SELECT sum(salary) FROM staff) FROM staff GROUP BY id",
            "too many to be read",
        ),
    ],
)
def test_what_cannot_be_drawn_says_why(tmp_path: Path, sql: str, said: str) -> None:
    with Gate.open(build(tmp_path / "staff.duckdb", people(100)), policy()) as gate:
        answer = gate.execute(sql)
        with pytest.raises(ValueError, match=said):
            answer.plot()


def test_counts_of_a_boolean_column_are_drawn(tmp_path: Path) -> None:
    path = tmp_path / "wards.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE staff AS SELECT i AS id, i % 4 AS ward, i * i % 7 < 3 AS ill FROM range(400) t(i)"
        )
    with Gate.open(path, policy(OUTSIDERS, column='"ill"', minimum=0, maximum=1, step=1)) as gate:
        answer = gate.execute(
            "SELECT ward, COUNT(*) FILTER (WHERE ill) AS n FROM staff GROUP BY ward ORDER BY 1"
        )
        axes, bars = drawn(answer)
        assert axes.get_ylabel() == "n"
        assert [high for _, high in bars] == [value for _, value in answer.fetchall() if value is not None]
