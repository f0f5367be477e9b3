"""JSON and CSV: by the schema, complete, and harmless."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from auditor.history.findings import Findings
from auditor.report import as_csv, as_json, schema
from auditor.report.csv_form import COLUMNS

from .made import made, nothing_found, said

ANY = st.text(st.characters(), max_size=40)
VALIDATOR = Draft202012Validator(schema())
DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "report.md"


@pytest.fixture(scope="module")
def found() -> Findings:
    return made(60)


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(schema())


def test_the_json_keeps_to_the_schema(found: Findings) -> None:
    for one in (found, nothing_found(), replace(found, partial="stopped", timeline=[], classes=[])):
        VALIDATOR.validate(json.loads(as_json(one)))


def test_the_schema_notices_a_member_that_is_missing_or_not_named(found: Findings) -> None:
    document = json.loads(as_json(found))
    assert not VALIDATOR.is_valid({**document, "more": 1})
    del document["findings"][0]["certificate"]["terms"]
    assert not VALIDATOR.is_valid(document)


def test_the_names_that_others_rely_on_are_there(found: Findings) -> None:
    finding = json.loads(as_json(found))["findings"][0]
    assert {"record", "kind", "first_query", "certificate"} <= finding.keys()
    assert set(finding["first_query"]) == {"number", "time", "user", "sql", "source"}


def test_every_member_of_the_findings_is_in_the_json(found: Findings) -> None:
    document = json.loads(as_json(found))
    moved = {"prior_curve": "prior", "prior_width": "prior"}
    assert {moved.get(field.name, field.name) for field in fields(found)} <= document.keys()


def test_exact_values_come_back_exactly(found: Findings) -> None:
    third = replace(found.findings[0].certificate.terms[0], value=Fraction(1, 3), multiplier=Fraction(-5, 4))
    finding = replace(found.findings[0], certificate=replace(found.findings[0].certificate, terms=[third]))
    term = json.loads(as_json(replace(found, findings=[finding])))["findings"][0]["certificate"]["terms"][0]
    assert (term["value"], term["multiplier"]) == ("1/3", "-1.25")
    VALIDATOR.validate(json.loads(as_json(replace(found, findings=[finding]))))


def test_a_number_that_is_none_is_null(found: Findings) -> None:
    finding = replace(found.findings[0], lower=float("-inf"), upper=float("nan"))
    document = json.loads(as_json(replace(found, findings=[finding])))
    assert (document["findings"][0]["lower"], document["findings"][0]["upper"]) == (None, None)
    VALIDATOR.validate(document)


def test_the_summary_counts_a_record_once_whoever_located_it(found: Findings) -> None:
    summary = json.loads(as_json(found))["summary"]
    distinct = {one.record for one in found.findings}
    assert summary["located"] == len(distinct) < len(found.findings)
    assert summary["direct"] + summary["exact"] + summary["approximate"] == summary["located"]
    earliest = min(found.findings, key=lambda one: one.first.number)
    assert summary["first_query"]["number"] == earliest.first.number


@given(ANY)
@example("\ud800\x00\u202e</script>")
def test_any_text_comes_back_from_the_json_as_it_was(text: str) -> None:
    written = as_json(said(text))
    assert written.isascii()
    document = json.loads(written)
    finding = document["findings"][0]
    assert finding["key"] == finding["first_query"]["sql"] == finding["certificate"]["sentence"] == text
    VALIDATOR.validate(document)


def test_every_finding_is_a_row_of_the_csv(found: Findings) -> None:
    read = rows(as_csv(found))
    assert [int(row["record"]) for row in read] == [one.record for one in found.findings]
    assert [float(row["lower"]) for row in read] == [one.lower for one in found.findings]
    assert [row["first_sql"] for row in read] == [one.first.sql for one in found.findings]
    assert [row["proof"] for row in read] == [one.certificate.proof for one in found.findings]
    assert [row["first_time"] for row in read] == [
        one.first.time.isoformat() for one in found.findings if one.first.time
    ]


@given(ANY)
@example("=cmd|' /C calc'!A0")
@example("  \u200b=1+1")
@example("'quoted'")
@example('a "b",\r\nc;\x00')
def test_any_text_that_can_be_seen_comes_back_from_the_csv_without_its_apostrophe(text: str) -> None:
    written = as_csv(said(text))
    written.encode("utf-8")
    cell = rows(written)[0]["first_sql"]
    kept = (c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)
    plain = "".join(kept)  # what steers a terminal is shown as its escape
    assert (cell == plain) or (cell == "'" + plain)


@pytest.mark.parametrize(
    "start", ["=", "+", "-", "@", "\t=", "\r=", "\n@", " =", "'", "|", "%", "\ufeff=", "＝"]
)
def test_no_cell_begins_like_a_formula(start: str) -> None:
    for row in rows(as_csv(said(f"{start}HYPERLINK(1)"))):
        assert row["key"].startswith("'")
        assert row["sentence"].startswith("'")
        assert row["certificate_sql"].startswith("'")


def test_a_number_below_zero_stays_a_number(found: Findings) -> None:
    finding = replace(found.findings[0], lower=-5.0)
    assert rows(as_csv(replace(found, findings=[finding])))[0]["lower"] == "-5.0"


def test_the_page_about_the_report_names_every_column_and_member() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    names = {*COLUMNS, *schema()["properties"], *schema()["$defs"]["finding"]["properties"]}
    names |= {*schema()["$defs"]["certificate"]["properties"], *schema()["$defs"]["term"]["properties"]}
    names |= {*schema()["$defs"]["likely"]["properties"]}
    assert {name for name in names if f"`{name}`" not in text} == set()
