"""Each verdict code has a page in docs/verdict, and what the page says of SQL is so.

A fence "sql gets:CODE" holds a statement that gets that code, "sql instead" one that is understood, and
"sql runs:CODE" one that gets the code only when it runs on large tables, of which is tested that it is
understood. Other words change the circumstances: "in:postgres" the dialect, "with:bonus" a second protected
column. The first fence "text" of a page is the verdict as the command line prints it. Fences of Python and of
the command line are run with all other docs.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from auditor.data.database import StatementFailed
from auditor.decision import Decision
from auditor.gate import verdict
from auditor.gate.hints import FIXED
from auditor.sql import Column, Dialect, Plan, Protected, Schema, Table, Unsupported, understand
from auditor.sql.understood import REASONS

DOCS = Path(__file__).parents[3] / "docs"
FOLDER = DOCS / "verdicts"
PAGES = {path.stem: path.read_text("utf-8") for path in sorted(FOLDER.glob("*.md")) if path.stem != "index"}
INDEX = (FOLDER / "index.md").read_text("utf-8")

TABLES = (
    Table(
        "staff",
        (
            Column("id", "INTEGER", unique=True),
            Column("age", "INTEGER"),
            Column("sex", "VARCHAR"),
            Column("dept", "VARCHAR"),
            Column("hired", "DATE"),
        ),
    ),
    Table("regions", (Column("dept", "VARCHAR"), Column("region", "VARCHAR"), Column("size", "INTEGER"))),
)
"""The example tables of the pages; docs/verdicts/index.md describes them."""
SALARY, BONUS = Protected("staff", "salary", "INTEGER"), Protected("staff", "bonus", "INTEGER")

FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SQL = [
    (code, info.split(), sql.strip())
    for code, page in PAGES.items()
    for language, info, sql in FENCE.findall(page)
    if language == "sql"
]
FAILING = [(code, words, sql) for code, words, sql in SQL if any(word.startswith("gets:") for word in words)]
INSTEAD = [(code, words, sql) for code, words, sql in SQL if "instead" in words]
UNTIL_RUN = [(code, words, sql) for code, words, sql in SQL if f"runs:{code}" in words]

AT_RUN_TIME = {"uneven", "too-slow", "too-much", "cells", "cells-values"}
"""Codes of `REASONS` that no statement gets without data; their pages have examples that are run."""


def gate_verdicts() -> dict[str, Decision]:
    """The verdicts that the gate gives itself, by code, on the protected column salary."""
    fixed = [value for value in vars(verdict).values() if isinstance(value, Decision)]
    hints = {"range": FIXED["range"]}  # of the others the page says what the hint is about
    decided = [verdict.of(code, ["salary"], withheld=1, hint=hints.get(code, "")) for code in verdict.TEXTS]
    stopped, kinds = [], [StatementFailed]
    while kinds:
        kind = kinds.pop()
        stopped.append(verdict.failed(kind()))
        kinds += kind.__subclasses__()
    return {decision.code: decision for decision in (*fixed, *decided, *stopped)}


OWN = gate_verdicts()
CODES = set(REASONS) | set(OWN)

GROUPS = [
    "Answers and risk",
    "What you may not read",
    "What is not understood",
    "The statement itself",
    "The gate's limits",
]
"""Headings of the index."""


def verdict_of(sql: str, words: list[str]) -> Plan | Unsupported:
    """What becomes of a statement on the example tables."""
    protected = (SALARY, BONUS) if "with:bonus" in words else (SALARY,)
    dialect: Dialect = "postgres" if "in:postgres" in words else "duckdb"
    return understand(sql, None, Schema(TABLES, protected), dialect=dialect)


def printed(said: Decision | Unsupported) -> str:
    """A verdict as the command line prints it."""
    verdict = said.verdict if isinstance(said, Decision) else "unsupported"
    hint = f"\nhint: {said.hint}" if said.hint else ""
    return f"{verdict} ({said.code}): {said.message}{hint}\n"


def section(heading: str) -> str:
    """A part of the index."""
    return INDEX.split(f"\n## {heading}\n")[1].split("\n## ")[0]


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    assert set(PAGES) == CODES


@pytest.mark.parametrize("code", sorted(PAGES))
def test_a_page_begins_with_its_code(code: str) -> None:
    assert PAGES[code].startswith(f"# {code}\n")


@pytest.mark.parametrize("code", sorted(PAGES))
def test_a_page_shows_its_verdict_as_it_is_printed(code: str) -> None:
    shown = next(text for language, _, text in FENCE.findall(PAGES[code]) if language == "text")
    said = [verdict_of(sql, words) for page, words, sql in FAILING if page == code]
    expected = OWN[code] if code in OWN else said[0]
    assert not isinstance(expected, Plan)
    assert shown == printed(expected)


@pytest.mark.parametrize("code", sorted(set(PAGES) & set(REASONS) - AT_RUN_TIME))
def test_a_page_has_a_statement_that_gets_the_code(code: str) -> None:
    assert [words for page, words, _ in FAILING if page == code]


@pytest.mark.parametrize(("code", "words", "sql"), FAILING)
def test_a_failing_example_gets_the_code_of_its_page(code: str, words: list[str], sql: str) -> None:
    verdict = verdict_of(sql, words)
    assert isinstance(verdict, Unsupported), sql
    assert f"gets:{verdict.code}" in words, verdict
    assert verdict.code == code


@pytest.mark.parametrize(("code", "words", "sql"), INSTEAD)
def test_what_a_page_says_to_write_instead_is_understood(code: str, words: list[str], sql: str) -> None:
    assert isinstance(verdict_of(sql, words), Plan), sql


@pytest.mark.parametrize(("code", "words", "sql"), UNTIL_RUN)
def test_what_fails_only_when_it_runs_is_understood(code: str, words: list[str], sql: str) -> None:
    assert code in AT_RUN_TIME
    assert isinstance(verdict_of(sql, words), Plan), sql


def test_every_statement_is_marked() -> None:
    known = {"instead", "in:postgres", "with:bonus"} | {
        f"{how}:{code}" for how in ("gets", "runs") for code in REASONS
    }
    unmarked = [(code, sql) for code, words, sql in SQL if set(words) - known or not words]
    assert not unmarked


@pytest.mark.parametrize("code", sorted(PAGES))
def test_every_page_says_what_to_write_instead_or_runs_an_example(code: str) -> None:
    page = PAGES[code]
    assert any(each == code for each, _, _ in INSTEAD) or ">>> " in page or "$ cae-sql" in page


def test_the_index_lists_every_page_once_with_its_message() -> None:
    rows = re.findall(r"^\| \[`([\w-]+)`\]\(([\w-]+)\.md\) \| (.*?) \|$", INDEX, re.MULTILINE)
    assert sorted(code for code, _, _ in rows) == sorted(CODES)
    for code, link, message in rows:
        # of a code that both have the page has both messages, and the index the gate's
        template = OWN[code].message if code in OWN else REASONS[code][0]
        assert (link, message) == (code, template)


def test_every_code_stands_in_a_group_of_the_index() -> None:
    assert re.findall(r"^## (.*)$", INDEX, re.MULTILINE) == GROUPS
    assert all(re.search(r"^\| \[`", section(group), re.MULTILINE) for group in GROUPS)
    assert "](row-level.md)" in section("What you may not read")
    own = set(re.findall(r"\[`([\w-]+)`\]", section(GROUPS[0]) + section(GROUPS[-1])))
    assert set(OWN) - set(REASONS) <= own


def test_links_between_pages_lead_somewhere() -> None:
    for name, page in {**PAGES, "index": INDEX}.items():
        for link in re.findall(r"\]\(([^)#]+\.md)", page):
            assert (FOLDER / link).resolve().is_file(), f"{name}: {link}"


def test_the_docs_lead_to_the_pages() -> None:
    for name in ("index.md", "sql.md"):
        assert "(verdicts/index.md)" in (DOCS / name).read_text("utf-8")
