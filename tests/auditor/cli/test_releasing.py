"""`cae-sql release` asks before it releases, and `cae-sql requests` shows what was asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from auditor import Gate
from auditor.cli.app import app
from tests.auditor.staff import OUTSIDERS, build, people, policy_text

TWO = "SELECT sum(salary) AS total FROM staff WHERE id IN (4, 8)"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    build(tmp_path / "staff.duckdb", people(60))
    (tmp_path / "policy.toml").write_text(policy_text(OUTSIDERS, key='"id"'))
    return tmp_path


def run(folder: Path, command: str, *more: str, answer: str | None = None) -> Result:
    data, policy = str(folder / "staff.duckdb"), str(folder / "policy.toml")
    return CliRunner().invoke(app(), [command, data, *more, "-p", policy], input=answer)


def test_nothing_is_released_before_somebody_says_yes(folder: Path) -> None:
    said = run(folder, "release", TWO, "--because", "the board agreed", answer="n\n")
    assert said.exit_code == 3
    assert "2 are set aside" in said.output
    assert "nothing was released" in said.output
    assert run(folder, "query", TWO).exit_code == 3
    said = run(folder, "release", TWO, "--because", "the board agreed", "--by", "olga", answer="y\n")
    assert said.exit_code == 0
    assert "130" in said.output
    assert run(folder, "query", TWO).exit_code == 0
    with Gate.open(folder / "staff.duckdb", folder / "policy.toml") as gate:
        assert "olga" in [entry.by for entry in gate._ledger.entries()]


def test_where_nobody_can_be_asked_nothing_is_released_and_that_is_said(folder: Path) -> None:
    said = run(folder, "release", TWO, "--because", "the board agreed", answer="")
    assert said.exit_code == 3
    assert "--yes releases it without asking" in said.output
    assert "nothing was released" in said.output


def test_with_yes_it_does_not_ask_and_json_lists_the_persons(folder: Path) -> None:
    said = run(folder, "release", TWO, "--because", "it is known", "--yes", "--format", "json")
    found = json.loads(said.stdout)
    assert found["rows"] == [[130]]
    assert found["code"] == "released"
    assert found["set_aside"] == 2
    assert [row[0] for row in found["persons"]["rows"]] == [4, 8]


def test_requests_are_listed_and_declined(folder: Path) -> None:
    with Gate.open(folder / "staff.duckdb", folder / "policy.toml") as gate:
        number = gate.request(TWO, "for the report", user="ana")
    listed = json.loads(run(folder, "requests", "--format", "json").stdout)
    assert listed["message"] == "1 requests, 1 open"
    assert listed["rows"][0][2] == "ana"
    said = run(folder, "requests", "--decline", str(number), "--because", "two persons", "--by", "olga")
    assert "declined" in said.output
    assert "two persons" in said.output
    assert run(folder, "requests", "--decline", str(number), "--because", "again").exception is not None
