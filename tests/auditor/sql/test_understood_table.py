"""The table of what is understood is true, complete, and the one that the docs print."""

from __future__ import annotations

import pytest
from gate_double import ROOT

from auditor.sql import Column, Plan, Protected, Schema, Table, Unsupported, understand
from auditor.sql.understood import CONSTRUCTS, REASONS, UNDERSTOOD, Construct, table_markdown

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


@pytest.mark.parametrize("construct", CONSTRUCTS, ids=lambda construct: construct.name)
def test_each_example_gets_its_verdict(construct: Construct) -> None:
    verdict = understand(construct.example, None, SCHEMA)
    if construct.code == UNDERSTOOD:
        assert isinstance(verdict, Plan), verdict
    else:
        assert isinstance(verdict, Unsupported), verdict
        assert verdict.code == construct.code, verdict


def test_each_reason_has_a_row() -> None:
    assert set(REASONS) - HARD <= {row.code for row in CONSTRUCTS}


def test_the_docs_print_the_table() -> None:
    assert table_markdown() in (ROOT / "docs" / "sql.md").read_text("utf-8")
