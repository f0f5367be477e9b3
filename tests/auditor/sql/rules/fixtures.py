"""Statements of a rule's fixture: pairs, before and after it, and those that it refuses.

Blocks stand apart by a blank line. A block of two statements is a pair; `-- code: …` heads a block of
statements that get this code from the rule; any other comment is for the reader.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from auditor.sql.context import Context, Rule
from auditor.sql.limits import parse
from auditor.sql.pipeline import LAST, RULES, rewritten
from auditor.sql.rules.settle_ties import settle_ties
from auditor.sql.schema import Column, Protected, Schema, Table, View
from auditor.sql.writing import generate

FOLDER = Path(__file__).parent
EVERY: tuple[Rule, ...] = (*RULES, *LAST, settle_ties)
"""All rules, in the order in which a statement meets them."""
BY_NAME = {rule.__name__: rule for rule in EVERY}

_COLUMNS = {"id": "INTEGER", "age": "INTEGER", "sex": "VARCHAR", "dept": "VARCHAR", "hired": "DATE"}
SCHEMA = Schema(
    (
        Table("staff", tuple(Column(name, type_, unique=name == "id") for name, type_ in _COLUMNS.items())),
        Table("regions", (Column("dept", "VARCHAR"), Column("region", "VARCHAR"))),
    ),
    (
        Protected("staff", "salary", "INTEGER", Fraction(0), Fraction(99), Fraction(1)),
        Protected("staff", "ill", "BOOLEAN"),
    ),
    (View("adults", "SELECT * FROM staff WHERE age >= 18", ()),),
)
VALUES = {"least": 30, "name": "IT", "none": 0}
"""What `$least` and the others are."""


@dataclass(frozen=True)
class Pair:
    """A statement before and after a rule."""

    before: str
    after: str


@dataclass(frozen=True)
class Refused:
    """A statement that a rule refuses."""

    code: str
    sql: str


def read(rule: Rule) -> Iterator[Pair | Refused]:
    """What the fixture of a rule holds."""
    for block in (FOLDER / f"{rule.__name__}.sql").read_text("utf-8").split("\n\n"):
        lines = block.strip().split("\n")
        code = next((line.removeprefix("-- code: ") for line in lines if line.startswith("-- code: ")), "")
        text = "\n".join(line for line in lines if not line.startswith("--"))
        found = [each.strip() for each in (text + "\n").split(";\n") if each.strip()]
        if code:
            yield from (Refused(code, each) for each in found)
        else:
            before, after = found
            yield Pair(before, after)


def through(sql: str, rules: Sequence[Rule]) -> str:
    """A statement's text after rules."""
    given = {name: value for name, value in VALUES.items() if f"${name}" in sql}
    context = Context(sql, SCHEMA, given or None, datetime(2026, 3, 1, 9, 30, tzinfo=UTC))
    return generate(rewritten(parse(sql), context, rules))


def before(rule: Rule) -> tuple[Rule, ...]:
    """The rules that a statement meets before one."""
    return EVERY[: EVERY.index(rule)]
