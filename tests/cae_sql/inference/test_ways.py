"""Ways of showing: all of them in every gate, none that does nothing, and no policy that names one."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest

from auditor import Gate, Policy, PolicyError
from auditor.parties.confidential import Confidential
from benchmarks.usefulness.columns import FIVE_POINT
from benchmarks.usefulness.switched import switched
from cae_sql.inference.system import AnsweredSystem
from cae_sql.inference.ways import ALL, Ways, names

ROOT = Path(__file__).resolve().parents[3]
SOURCES = {
    path: path.read_text(encoding="utf-8")
    for package in ("cae_sql", "auditor", "udfs")
    for path in (ROOT / package).rglob("*.py")
}


@pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in names()])
def test_each_way_is_asked_for_where_its_mechanism_is(name: str) -> None:
    assert any(re.search(rf"\b_?ways\.{name}\b", text) for text in SOURCES.values())


def test_the_packages_use_all_ways_and_switch_none_off() -> None:
    found = [
        path.name
        for path, text in SOURCES.items()
        if path.name != "ways.py" and re.search(r"\bWays\(|\.without\(|_benchmark_only=", text)
    ]
    assert found == []


def test_a_gate_has_all_ways() -> None:
    assert Confidential.ways == ALL == Ways()
    assert AnsweredSystem(3, 0, 4, 1).ways == ALL


@pytest.mark.parametrize("lines", ["[ways]\npayments = false\n", "[decision]\nways = []\n"])
def test_no_policy_can_name_one(lines: str) -> None:
    text = FIVE_POINT.policy("t", '["part"]').removesuffix("[decision]\n")
    with pytest.raises(PolicyError, match="ways"):
        Policy.parse(text + lines)


def test_a_way_that_is_none_is_an_error() -> None:
    with pytest.raises(TypeError, match="payment"):
        ALL.without("payment")


def test_gates_are_switched_inside_of_a_block_alone(tmp_path: Path) -> None:
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT i AS part, 1 + i % 5 AS value FROM range(60) r(i)")
    policy = Policy.parse(FIVE_POINT.policy("t", '["part"]'))
    sql = "SELECT SUM(value) FILTER (part < 32), SUM(value) FILTER (part >= 30) FROM t"
    fewer = ALL.without("closed_form", "bases", "payments", "search")
    with switched(fewer), Gate.open(path, policy, tmp_path / "a") as gate:
        assert gate.check(sql).verdict == "refused"
    with Gate.open(path, policy, tmp_path / "b") as gate:
        assert gate.check(sql).verdict == "answered"


def test_an_exception_inside_of_a_block_leaves_gates_as_they_were() -> None:
    with pytest.raises(ZeroDivisionError), switched(ALL.without("bases")):
        raise ZeroDivisionError
    assert Confidential.ways == ALL
