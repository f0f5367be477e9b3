"""One guard for every terminal and every CSV: nothing printed steers a terminal or is a formula."""

from __future__ import annotations

import csv
import io
import json

import pytest

from auditor.cli import main, show
from auditor.cli.show import Format
from auditor.plain import cell, line, plain

NASTY = ["\x1b[2Jgone", "\x9b31m", "a\u202etxt", "b\rc", "\x07", "\x7f", "\u2028x", "\ud800"]
FORMULAS = [
    '=HYPERLINK("http://x","y")',
    "=cmd|' /C calc'!A1",
    "+1",
    "-1+cmd",
    "@SUM(1)",
    " =1",
    "\t=1",
    "\x00=1",
]


@pytest.mark.parametrize("text", NASTY)
@pytest.mark.parametrize("form", [Format.TABLE, Format.CSV, Format.JSON])
def test_no_value_and_no_name_of_a_column_steers_a_terminal(
    text: str, form: Format, capsys: pytest.CaptureFixture[str]
) -> None:
    show.rows([text, "n"], [[text, 1], [[text], -2]], form, {"message": text})
    out = capsys.readouterr().out
    assert all(each.isprintable() or each in "\n\r" for each in out)
    assert "\r" not in out.replace("\r\n", "\n")
    if form is Format.JSON:
        assert json.loads(out)["rows"][0][0] == text, "JSON is exact"


@pytest.mark.parametrize("text", FORMULAS)
def test_no_cell_and_no_heading_of_csv_is_a_formula(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    show.rows([text, "n"], [[text, -5]], Format.CSV, {})
    heading, row = csv.reader(io.StringIO(capsys.readouterr().out))
    assert heading[0].startswith("'")
    assert row[0].startswith("'")
    assert row[1] == "-5", "a negative number is none"
    assert cell(text) == row[0]


def test_an_error_that_quotes_somebodys_text_is_one_harmless_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["query", "no\x1b[31m\nanswered.duckdb", "SELECT 1", "-p", "no\x1b[31m\n.toml"])
    err = capsys.readouterr().err
    assert "\x1b" not in err
    assert err.count("\n") == 1


def test_plain_text_stays_as_it_is() -> None:
    for text in ("Grüße, 北京", "a\nb", "it's = 1"):
        assert plain(text) == text
        assert cell(text) == text
    assert line("a\n  b") == "a b"
