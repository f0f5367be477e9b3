"""`cae-sql attack`: what it reports, what it leaves alone, and when it says that somebody was located."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from auditor import Gate, Policy
from auditor.attacks import ATTACKS, Claim, Target
from auditor.cli import main

from .arena import build, people
from .ledgers import ALL

RULES = """
[protect]
table = "staff"
column = "salary"
minimum = 10
maximum = 250
step = 10
public = ["id", "age", "sex", "dept"]
[limit]
risk = 0.5
[decision]
timeout = 1
{more}
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    build(tmp_path / "staff.duckdb", people(24, 23))
    (tmp_path / "staff.toml").write_text(RULES.format(more=""))
    return tmp_path


def run(
    place: Path, capsys: pytest.CaptureFixture[str], *more: str, policy: str = "staff.toml"
) -> tuple[int, str]:
    with pytest.raises(SystemExit) as left:
        main(["attack", str(place / "staff.duckdb"), "-p", str(place / policy), *more])
    return int(left.value.code or 0), capsys.readouterr().out


def test_it_reports_each_attack_and_leaves_with_0_where_nobody_was_located(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out = run(place, capsys, "--only", "general-tracker", "--only", "two-weights", "--format", "json")
    found = json.loads(out)
    rows = [dict(zip(found["columns"], row, strict=True)) for row in found["rows"]]
    assert status == 0
    assert found["code"] == "nobody"
    assert [row["attack"] for row in rows] == ["general-tracker", "two-weights"]
    assert all(row["located"] == 0 < row["without_gate"] for row in rows)
    assert rows[0]["asked"] == rows[0]["answered"] + rows[0]["refused"] + rows[0]["unsupported"] > 0


@pytest.mark.slow
def test_it_leaves_with_3_where_somebody_was(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "user.toml").write_text(RULES.format(more='[ledger]\nscope = "user"'))
    status, out = run(place, capsys, "--only", "collusion", policy="user.toml")
    assert status == 3
    assert "collusion" in out
    assert "1 of 1 attacks located somebody" in out


@pytest.mark.slow
def test_the_ledger_is_neither_made_nor_changed(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(place, capsys, "--only", "individual-tracker")
    assert sorted(path.name for path in place.iterdir()) == ["staff.duckdb", "staff.toml"]
    with Gate.open(place / "staff.duckdb", Policy.load(place / "staff.toml")) as gate:
        gate.execute(ALL)
    before = (place / "staff.ledger").read_bytes()
    run(place, capsys, "--only", "individual-tracker", "--after-history")
    assert (place / "staff.ledger").read_bytes() == before


@pytest.mark.slow
def test_after_history_it_starts_from_what_is_known(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Everybody but one was asked for: now the sum of everybody would be that one's value."""
    with Gate.open(place / "staff.duckdb", Policy.load(place / "staff.toml")) as gate:
        gate.execute("SELECT sum(salary) FROM staff WHERE id <> 0")
    answered = []
    for more in ([], ["--after-history"]):
        _, out = run(place, capsys, "--only", "with-and-without", "--format", "json", *more)
        found = json.loads(out)
        answered.append(dict(zip(found["columns"], found["rows"][0], strict=True))["answered"])
    assert answered[1] < answered[0]


def test_it_lists_attacks_with_their_sources(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["attack", "--list"])
    out = capsys.readouterr().out
    assert not left.value.code
    assert all(attack.name in out for attack in ATTACKS)
    assert "ACM TODS 4(1)" in out


def test_an_attack_that_cannot_be_tried_says_why(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "few.toml").write_text(RULES.format(more="").replace('["id", "age", "sex", "dept"]', '["sex"]'))
    status, out = run(place, capsys, "--only", "general-tracker", policy="few.toml")
    assert status == 0
    assert "no record is alone in its public columns" in out


def test_an_unknown_name_is_an_error(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _ = run(place, capsys, "--only", "no-such-attack")
    assert status == 2


def failing(target: Target) -> list[Claim]:
    raise ValueError("a mistake\nof ours")


@pytest.mark.slow
@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_an_attack_that_fails_is_a_line_and_the_rest_goes_on(
    form: str, place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = [replace(each, run=failing) if each.name == "general-tracker" else each for each in ATTACKS]
    monkeypatch.setattr("auditor.attacks.ATTACKS", tuple(broken))
    status, out = run(place, capsys, "--only", "general-tracker", "--only", "low-effect", "--format", form)
    assert status == 1
    assert out.count("failed (ValueError): a mistake") == 1
    assert "of ours" not in out
    assert "low-effect" in out
    if form == "json":
        assert json.loads(out)["failed"] == ["general-tracker"]


def test_rows_are_shown_as_attacks_end(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def looking(target: Target) -> list[Claim]:
        seen.append(capsys.readouterr().out)
        return []

    told = [replace(each, run=looking) if each.name == "low-effect" else each for each in ATTACKS]
    monkeypatch.setattr("auditor.attacks.ATTACKS", tuple(told))
    run(place, capsys, "--only", "general-tracker", "--only", "low-effect")
    assert "general-tracker" in seen[0], "the first row stands there before the second attack ends"
