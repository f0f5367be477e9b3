"""The command `plan`: its options, files and exit statuses. What is found is tested where it is found."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from auditor.cli import main
from auditor.planning import plan as planning
from auditor.planning.plan import Plan, Wanted
from tests.auditor.report.test_plan_page import made
from tests.auditor.staff import policy_text

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command line over a plan that was made up."""
    monkeypatch.chdir(tmp_path)
    Path("policy.toml").write_text(policy_text())
    asked: dict[str, Any] = {}

    def outcome(found: Plan, *options: str) -> tuple[int, str, str]:
        def fake(source: str, rules: object, paths: object, wanted: Wanted, **more: object) -> Plan:
            asked.update(more, source=source, paths=paths, wanted=wanted)
            return found

        monkeypatch.setattr(planning, "plan", fake)
        with pytest.raises(SystemExit) as left:
            main(["plan", "staff.duckdb", "a.sql", "b.log", "-p", "policy.toml", *options])
        captured = capsys.readouterr()
        return int(left.value.code or 0), captured.out, captured.err

    outcome.asked = asked  # type: ignore[attr-defined]
    return outcome


def whole() -> Plan:
    found = made()
    found.partial = ""
    return found


def test_a_plan_is_status_0_and_says_what_each_limit_and_order_buys(run: Run) -> None:
    status, out, err = run(whole())
    assert (status, err) == (0, "")
    for said in ("by limit, as written", "the policy's own", "totals first", "recommended", "3 (+2), 4 (-1)"):
        assert said in out
    assert run.asked["paths"] == [Path("a.sql"), Path("b.log")]  # type: ignore[attr-defined]


def test_what_is_asked_for_is_handed_on(run: Run) -> None:
    run(
        whole(),
        *("--limits", "0.3, 0.9", "--insiders", "1", "--orders", "totals", "--leave-one-out", "0"),
        *("--seconds", "60", "--workers", "1", "--dialect", "postgres", "--format", "pgaudit"),
    )
    asked = run.asked  # type: ignore[attr-defined]
    assert asked["wanted"] == Wanted((0.3, 0.9), (1,), ("totals",), 0, 60.0, 1)
    assert (asked["dialect"], asked["form"]) == ("postgres", "pgaudit")


def test_page_and_json_are_written(run: Run) -> None:
    status, _, err = run(whole(), "-o", "plan.html", "--json", "plan.json")
    assert status == 0
    assert "wrote plan.html" in err
    assert "Plan of statements" in Path("plan.html").read_text()
    assert json.loads(Path("plan.json").read_text())["format"] == 1


def test_json_on_stdout_stands_there_alone(run: Run) -> None:
    _, out, _ = run(whole(), "--json", "-")
    assert json.loads(out)["limits"]


def test_nothing_to_play_is_status_4_and_an_interrupt_130(run: Run) -> None:
    nothing = whole()
    nothing.statements, nothing.results, nothing.orders, nothing.effects = [], [], [], {}
    assert run(nothing)[0] == 4
    stopped = whole()
    stopped.partial = "it was stopped"
    status, out, _ = run(stopped)
    assert status == 130
    assert "PARTIAL: it was stopped" in out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--limits", "0.4,1"), "0 or more and below 1"),
        (("--limits", "half"), "--limits half"),
        (("--insiders", "2"), "take of 0, 1"),
        (("--orders", "best"), "take of written, totals, worth"),
        (("--dialect", "oracle"), "take of duckdb, postgres"),
        (("-o", "nowhere/plan.html"), "there is no folder nowhere"),
    ],
)
def test_what_cannot_be_asked_for_is_one_error(run: Run, options: tuple[str, ...], said: str) -> None:
    status, _, err = run(whole(), *options)
    assert status == 2
    assert said in " ".join(err.replace("│", " ").split())


def test_nothing_steers_a_terminal(run: Run) -> None:
    found = whole()
    found.source = "\x1b[31m"
    found.not_run[0] = (found.not_run[0][0], "\x1b[31mred")
    _, out, _ = run(found)
    assert "\x1b" not in out
