"""The command `audit`: its options, files and exit statuses. What is found is tested where it is found."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import types
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import typer

from auditor.cli import main
from auditor.cli.auditing import LogFormat, columns_of, doing, groups_of
from auditor.cli.estimate import Estimate, in_words
from auditor.history.findings import (
    Certificate,
    Cited,
    Finding,
    Findings,
    Kind,
    PartyFindings,
    Term,
    Unmodelled,
)
from auditor.history.readers import FORMATS

POLICY = """\
[protect]
table = "staff"
column = "salary"
minimum = 10
maximum = 250
step = 10
public = ["age"]
[limit]
risk = 0.5
"""
CITED = Cited(7, None, "anna", "SELECT salary FROM staff WHERE id = 3", "server.log:12")
TERM = Term(CITED, "A1", "row", 1, Fraction(50), None, "SELECT salary FROM staff WHERE id = 3")
CERTIFICATE = Certificate("direct", [TERM], "the row was read \x1b[31m", "v = A1", "SELECT 50")
NOTHING = Findings(
    findings=[], parties=[PartyFindings("user anna", ["anna"], 3, 2, 0, 0, 0, 0, 0.1, [(240.0, 10)])],
    timeline=[], classes=[], prior_curve=[(0.0, 4.6)], prior_width=240.0, unmodelled=[], kinds={"SUM": 3},
    reading={"statements": 3, "broken": {}}, policy=POLICY, policy_digest="d", fingerprint="f",
)  # fmt: skip
Run = Callable[..., tuple[int, str, str]]


def found(*kinds: Kind) -> Findings:
    findings = [
        Finding(number, "", "staff", "salary", "user anna", kind, 50.0, 50.0, CITED, CERTIFICATE)
        for number, kind in enumerate(kinds)
    ]
    return replace(NOTHING, findings=findings)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command line over an audit that finds what it is told."""
    monkeypatch.chdir(tmp_path)
    Path("policy.toml").write_text(POLICY)
    Path("server.log").write_text("")
    asked: dict[str, Any] = {}

    def outcome(result: Findings | Callable[..., Findings], *options: str) -> tuple[int, str, str]:
        def fake(database: Path, policy: object, log: Sequence[Path], **more: object) -> Findings:
            asked.update(more, database=database, log=list(log))
            return result(**more) if callable(result) else result

        module = types.ModuleType("auditor.history.audit")
        module.audit = fake  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "auditor.history.audit", module)
        with pytest.raises(SystemExit) as left:
            main(["audit", "staff.duckdb", "server.log", "-p", "policy.toml", *options])
        captured = capsys.readouterr()
        return int(left.value.code or 0), captured.out, captured.err

    outcome.asked = asked  # type: ignore[attr-defined]
    return outcome


def test_nothing_found_is_status_0_and_says_so(run: Run) -> None:
    status, out, _ = run(NOTHING)
    assert status == 0
    assert "nobody was found to be located" in out
    assert "as it is now" in out


@pytest.mark.parametrize(
    ("kinds", "fail_on", "status"),
    [
        (("approximate",), "approximate", 3), (("approximate",), "exact", 0), (("exact",), "exact", 3),
        (("exact",), "direct", 0), (("direct",), "direct", 3), (("direct",), "approximate", 3),
        (("direct", "exact"), "none", 0), ((), "approximate", 0), (("exact",), "open", 3),
    ],
)  # fmt: skip
def test_the_status_is_3_from_the_kind_on_that_is_named(
    run: Run, kinds: tuple[Kind, ...], fail_on: str, status: int
) -> None:
    assert run(found(*kinds), "--fail-on", fail_on)[0] == status


def test_what_is_open_fails_where_that_is_asked_for(run: Run) -> None:
    open_one = replace(NOTHING, parties=[replace(NOTHING.parties[0], open=1)])
    assert [run(open_one, "--fail-on", each)[0] for each in ("open", "approximate")] == [3, 0]


def test_who_was_not_judged_stands_beside_nothing_found(run: Run) -> None:
    open_one = replace(NOTHING, parties=[replace(NOTHING.parties[0], open=3)])
    assert (
        "nobody was found to be located, but 3 records were left unjudged: somebody may be"
        in run(open_one)[1]
    )


UNREAD = [
    (
        {"statements": 3, "broken": {"not JSON": 4}, "unread_bytes": 120},
        "4 lines or records of the log (120 bytes) were not read",
    ),
    (
        {"statements": 3, "lost": {"statement whose text was cut": 1}},
        "1 statement was cut, or missing from the log",
    ),
    ({"statements": 0}, "no statement was read"),
]


@pytest.mark.parametrize(("reading", "said"), UNREAD)
def test_what_was_not_read_stands_beside_nothing_found_and_is_status_4(
    run: Run, reading: dict[str, object], said: str
) -> None:
    status, out, _ = run(replace(NOTHING, reading=reading))
    assert status == 4
    assert f"nobody was found to be located, but {said}: somebody may be" in out
    assert run(replace(NOTHING, reading=reading), "--allow-unread")[0] == 0
    assert run(replace(found("exact"), reading=reading), "--allow-unread")[0] == 3
    assert (
        f"more may have been given away than is found here: {said}"
        in run(replace(found("exact"), reading=reading))[1]
    )


def test_what_is_not_modelled_stands_beside_nothing_found_and_is_status_4(run: Run) -> None:
    unmodelled = replace(NOTHING, unmodelled=[Unmodelled("MEDIAN", 4, "is no sum", [CITED])])
    status, out, _ = run(unmodelled)
    assert status == 4
    assert "nobody was found to be located, but 4 statements were not modelled: somebody may be" in out
    assert "not modelled: MEDIAN, 4 statements: is no sum" in out
    assert run(unmodelled, "--allow-unread")[0] == 0


def test_what_was_found_is_told_and_written(run: Run, tmp_path: Path) -> None:
    status, out, err = run(found("exact", "direct"), "-o", "r.html", "--json", "r.json", "--csv", "r.csv")
    assert status == 3
    assert (
        "exact: staff.salary of record 0, to user anna, since statement 7 (server.log:12): the row was" in out
    )
    assert "\x1b" not in out
    assert (tmp_path / "r.html").read_text(encoding="utf-8").lower().startswith("<!doctype html>")
    assert len(json.loads((tmp_path / "r.json").read_text())["findings"]) == 2
    assert len((tmp_path / "r.csv").read_text().splitlines()) == 3
    assert "wrote r.html" in err
    assert not list(tmp_path.glob(".*.part"))


def test_json_on_stdout_is_json_alone(run: Run) -> None:
    status, out, err = run(found("exact"), "--json", "-")
    assert status == 3
    assert json.loads(out)["findings"][0]["kind"] == "exact"
    assert "since statement 7" in err


def test_options_are_passed_on(run: Run) -> None:
    run(
        NOTHING, "more.csv", "--format", "csv", "--columns", "time=When,user=Who",
        "--columns", "prefix=%m,%u ",
        "--group", "staff=anna, otto", "--checkpoint", "point", "--dialect", "postgres",
    )  # fmt: skip
    asked = run.asked  # type: ignore[attr-defined]
    assert asked["log"] == [Path("server.log"), Path("more.csv")]
    assert asked["format"] == "csv"
    assert asked["columns"] == {"time": "When", "user": "Who", "prefix": "%m,%u "}
    assert asked["groups"] == {"staff": ["anna", "otto"]}
    assert asked["checkpoint"] == Path("point")
    assert asked["dialect"] == "postgres"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--columns", "When"), "write time=NAME"),
        (("--columns", "time=a,time=b"), "given twice"),
        (("--group", "staff"), "write NAME=USER"),
        (("--group", "a=x", "--group", "a=y"), "given twice"),
        (("-o", "nowhere/report.html"), "there is no folder"),
        (("-o", "same", "--json", "same"), "go to one place"),
        (("--format", "oracle"), "oracle"),
        (("--fail-on", "everything"), "everything"),
        (("-p", "none.toml"), "none.toml"),
    ],
)
def test_a_usage_error_is_status_2_before_anything_is_read(
    run: Run, options: tuple[str, ...], message: str
) -> None:
    status, _, err = run(NOTHING, *options)
    assert status == 2
    assert message in " ".join(err.replace("│", " ").split())
    assert not run.asked  # type: ignore[attr-defined]


def test_ctrl_c_leaves_a_report_that_says_it_is_partial(run: Run, tmp_path: Path) -> None:
    def interrupted(stop: Callable[[], bool], **_: object) -> Findings:
        assert not stop()
        os.kill(os.getpid(), signal.SIGINT)
        while not stop():
            time.sleep(0.001)
        return replace(NOTHING, partial="stopped after 5 of 10 statements")

    before = signal.getsignal(signal.SIGINT)
    status, out, err = run(interrupted, "--json", "r.json")
    assert status == 130
    assert "PARTIAL: stopped after 5 of 10 statements" in out
    assert "the report will be partial" in err
    assert json.loads((tmp_path / "r.json").read_text())["partial"] == "stopped after 5 of 10 statements"
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("before", [signal.default_int_handler, signal.SIG_IGN])  # as in the background
def test_a_second_ctrl_c_stops_at_once(run: Run, before: Any) -> None:
    def stubborn(*, stop: Callable[[], bool], **_: object) -> Findings:
        os.kill(os.getpid(), signal.SIGINT)
        while not stop():  # two that come before Python looks are one
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(10)
        raise AssertionError("went on")

    found_here = signal.signal(signal.SIGINT, before)
    try:
        status, _, err = run(stubborn)
        assert signal.getsignal(signal.SIGINT) == before
    finally:
        signal.signal(signal.SIGINT, found_here)
    assert status == 130
    assert "once more to stop at once" in err


def test_a_partial_audit_that_found_something_is_status_3(run: Run) -> None:
    assert run(replace(found("exact"), partial="stopped"))[0] == 3


def test_a_log_without_statements_and_broken_lines_are_told(run: Run) -> None:
    empty = replace(NOTHING, reading={"statements": 0, "broken": {"not JSON": 4}})
    _, out, _ = run(empty)
    assert "no statement was found in the logs" in out
    assert "lines and records that were not read: not JSON: 4" in out


def test_a_record_is_told_once_for_the_smallest_party(run: Run) -> None:
    (finding,) = found("exact").findings
    parties = ("everyone", "group staff", "user anna", "user otto")
    several = replace(NOTHING, findings=[replace(finding, party=party) for party in parties])
    _, out, _ = run(several)
    assert out.count("staff.salary of record 0") == 1
    assert "to user anna" in out


def test_the_estimate_is_by_the_slower_of_two_paces() -> None:
    estimate = Estimate()
    assert estimate.seconds(1000) is None
    for second in range(41):
        # ten a second for ten seconds, then two a second
        estimate.take(float(second), min(10 * second, 100) + 2 * max(second - 10, 0))
    assert estimate.seconds(1000) == pytest.approx((1000 - 160) / 2)
    assert estimate.seconds(0) is None
    assert estimate.seconds(160) == 0.0
    quick = Estimate()
    quick.take(0.0, 0)
    quick.take(1.0, 500)
    assert quick.seconds(1000) is None
    assert [in_words(each) for each in (None, 5.0, 300.0, 36000.0)] == [
        "time left not known yet", "less than a minute left", "about 5 min left", "about 10 h left",
    ]  # fmt: skip


def test_the_bar_says_that_proofs_come_after_the_log() -> None:
    estimate = Estimate()
    at = types.SimpleNamespace(statements=1200, answers=30, located=2, bytes_read=50, bytes_in_all=100)
    assert doing(at, estimate) == (  # type: ignore[arg-type]
        "1,200 statements, 30 answers, 2 located; time left not known yet, then proofs"
    )
    at.bytes_read = 100
    assert "the log's end is near" in doing(at, estimate)  # type: ignore[arg-type]


def test_the_formats_are_those_of_the_readers() -> None:
    assert tuple(each.value for each in LogFormat) == FORMATS


def test_pairs_are_read_or_refused() -> None:
    assert columns_of(["time=a=b"]) == {"time": "a=b"}
    assert groups_of(["x=a,,b"]) == {"x": ["a", "b"]}
    with pytest.raises(typer.BadParameter):
        groups_of(["=a"])
