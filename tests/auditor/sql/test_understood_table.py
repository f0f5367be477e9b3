"""The table of what is understood, in docs/sql.md, is true and complete."""

from __future__ import annotations

import re

import pytest
from gate_double import ROOT

from auditor.sql import Column, Plan, Protected, Schema, Table, Unsupported, understand
from auditor.sql.understood import REASONS

ROW = re.compile(r"\| (.*?) \| `(.*)` \| (?:understood|`([a-z-]+)`: (.*)) \|")
"""A construct, an example, and what becomes of it: \"understood\", or a code with its message and hint."""
LINES = (ROOT / "docs" / "sql.md").read_text("utf-8").replace("\\|", "|").splitlines()
ROWS = [found for line in LINES if (found := ROW.fullmatch(line)) is not None]

SCHEMA = Schema(
    (
        Table(
            "staff",
            (
                Column("id", "INTEGER"),
                Column("age", "INTEGER"),
                Column("sex", "VARCHAR"),
                Column("dept", "VARCHAR"),
                Column("hired", "DATE"),
            ),
        ),
    ),
    (Protected("staff", "salary", "INTEGER"),),
)


HARD = {"too-large", "ungrouped", "translation", "uneven", "two-columns", "dialect", "too-slow", "too-much"}
HARD |= {"cells", "cells-values"}
"""Codes that no statement of one line on this schema gets."""


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[1])
def test_each_example_gets_its_verdict(row: re.Match[str]) -> None:
    verdict = understand(row[2], None, SCHEMA)
    if row[3] is None:
        assert isinstance(verdict, Plan), verdict
    else:
        assert isinstance(verdict, Unsupported), verdict
        assert verdict.code == row[3], verdict


def test_every_row_is_read() -> None:
    start = LINES.index("| construct | example | |") + 2
    rows = [line for line in LINES[start:] if line.startswith("| ")]
    assert len(ROWS) == len(rows) > 100


def test_each_reason_has_a_row() -> None:
    assert set(REASONS) - HARD <= {row[3] for row in ROWS}


@pytest.mark.parametrize("row", [row for row in ROWS if row[3] is not None], ids=lambda row: row[1])
def test_each_code_stands_with_its_message_and_hint(row: re.Match[str]) -> None:
    assert row[4] == " ".join(REASONS[row[3]]).strip()
