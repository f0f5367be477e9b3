"""What was learned stands beside what was excluded: what is counted in an audit."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from auditor import audit
from auditor.history import audit as audit_module
from auditor.history import learned as learned_module
from auditor.history.findings import Findings
from auditor.report import as_json, html, schema
from cae_sql.measure import cae_area

from . import worlds

VALUES = [1, 2, 2, 3, 1, 2, 3, 2, 8, 9, 7, 9, 8, 9, 6, 9]
ALL, POOR = "SELECT sum(v) FROM t", "SELECT sum(v) FROM t WHERE id <= 8"


def found_in(folder: Path, values: list[int], high: int, *statements: tuple[str, str]) -> Findings:
    database = worlds.build(folder / "t.duckdb", values)
    return audit(database, worlds.policy(0, high), worlds.log(statements), gate_seconds=0)


def figures(found: Findings) -> dict[str, tuple[float, float | None]]:
    return {each.party: (each.risk, each.exact_risk) for each in found.parties}


def test_a_poor_group_is_learned_to_be_poor_where_little_is_excluded(tmp_path: Path) -> None:
    found = found_in(tmp_path, VALUES, 9, ("anna", ALL), ("bob", ALL), ("bob", POOR))
    of = figures(found)
    excluded, exact = of["user bob"]
    assert excluded < 0.3
    assert exact is not None
    assert exact > 0.5
    assert of["everyone"] == of["user bob"]
    # a total is known of everybody, and counts against nobody
    assert of["user anna"][1] == pytest.approx(0, abs=1e-9)


def test_the_counted_figure_is_that_of_all_tables_listed(tmp_path: Path) -> None:
    values, said = (
        [0, 3, 1, 2],
        [("sum", (0, 1, 2, 3), (1,) * 4), ("sum", (0, 2), (1, 1)), ("max", (1, 2), ())],
    )
    asked = [("anna", worlds.sql_of(each)) for each in said]
    found = figures(found_in(tmp_path, values, 3, *asked))["user anna"][1]
    grid = np.arange(4)

    def areas(some: list[tuple[int, ...]]) -> list[float]:
        tables = np.array(some)
        return [cae_area(grid, np.bincount(tables[:, place], minlength=4)) for place in range(4)]

    base = areas(worlds.agreeing(said[:1], values, 0, 3))[0]
    assert found == pytest.approx(1 - min(areas(worlds.agreeing(said, values, 0, 3))) / base)


def test_of_what_is_too_large_or_late_there_is_no_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learned_module, "MOST_CELLS", 1)
    found = found_in(tmp_path, VALUES, 9, ("anna", POOR))
    assert figures(found)["everyone"][1] is None
    monkeypatch.undo()
    monkeypatch.setattr(audit_module, "MODEL_SECONDS", -1e9)  # on any clock
    late = found_in(tmp_path, VALUES, 9, ("anna", POOR))
    assert figures(late)["everyone"][1] is None
    assert json.loads(as_json(late))["parties"][0]["exact_risk"] is None


def test_nothing_asked_is_nothing_learned(tmp_path: Path) -> None:
    assert figures(found_in(tmp_path, VALUES, 9, ("anna", "SELECT count(*) FROM t")))["everyone"] == (0, 0)


def test_the_report_and_the_json_have_both_risks(tmp_path: Path) -> None:
    found = found_in(tmp_path, VALUES, 9, ("anna", ALL), ("anna", POOR))
    told = json.loads(as_json(found))
    jsonschema.validate(told, schema(), jsonschema.Draft202012Validator)
    everyone = told["parties"][0]
    assert everyone["exact_risk"] == found.parties[0].exact_risk
    page = html(found)
    assert "Highest risk" in page
    assert "Most learned" in page
    assert f"{found.parties[0].exact_risk:.4f}" in page
