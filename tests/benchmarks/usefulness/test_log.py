"""Logs of decisions: written, read again, and held beside each other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.usefulness.__main__ import main
from benchmarks.usefulness.log import Decided, compared, read, summary, write

ONE = Decided(1, "a", "answered", "partial", "exact", "34")
TWO = Decided(1, "b", "answered", "partial", "withheld", "–")
LAST = Decided(2, "", "refused", "risk", "refused", "")


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    write(tmp_path / "log.csv", [ONE, TWO, LAST])
    assert read(tmp_path / "log.csv") == [ONE, TWO, LAST]


def test_a_file_that_is_no_log_is_named(tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"other\.csv: not a log"):
        read(tmp_path / "other.csv")


def test_what_was_lost_and_gained_is_said_group_by_group() -> None:
    lost, gained = replace(ONE, told="end", value="≤ 40"), replace(TWO, told="exact", value="7")
    changes = compared([ONE, TWO, LAST], [lost, gained])
    assert [str(each) for each in changes] == [
        "- 1: a: exact 34 (partial) -> end ≤ 40 (partial)",
        "+ 1: b: withheld – (partial) -> exact 7 (partial)",
        "- 2: refused (risk) -> nothing",
    ]
    assert summary(changes).startswith("2 lost (1 of them were told exactly), 1 gained (1 are told exactly)")


def test_logs_that_say_the_same_differ_in_nothing() -> None:
    assert compared([ONE, LAST], [LAST, ONE]) == []


def test_a_command_compares_two_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, each in (("before", ONE), ("after", replace(ONE, told="range", value="3 … 9"))):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "day.0.csv", [each])
    assert main(["compare", str(tmp_path / "before"), str(tmp_path / "after")]) == 0
    assert "1: a: exact 34 (partial) -> range 3 … 9 (partial)" in capsys.readouterr().out


def test_a_line_that_there_is_not_is_said_with_those_that_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["--quick", "--only", "nothing"])
    assert "no line begins with 'nothing'; there are: quick groups" in capsys.readouterr().err


def test_one_line_is_counted_logged_and_held_against_its_band(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, bands = "quick groups: five-point, 6 of 15", tmp_path / "bands.csv"
    words = ["--quick", "--only", name, "--seeds", "1", "--bands", str(bands)]
    assert main([*words, "--write-bands", "--log", str(tmp_path / "log")]) == 0
    assert len(read(tmp_path / "log" / "quick-groups-five-point-6-of-15.0.csv")) == 6
    bands.write_text(bands.read_text().replace("exact,6,6", "exact,7,7"))
    assert main(words) == 3
    assert f"left its band: {name}, seed 0: exact 6, band 7 to 7" in capsys.readouterr().out
