"""The order of the rules: which must come after which, each with a statement that shows it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from auditor.sql.context import Rule
from auditor.sql.pipeline import RULES
from auditor.sql.understood import NotUnderstood
from tests.auditor.sql.rules.fixtures import BY_NAME, EVERY, FOLDER, Pair, read, through

MUST_FOLLOW = [
    (*line.removeprefix("-- ").split(" after "), sql.rstrip(";"))
    for line, sql in (
        block.split("\n") for block in (FOLDER / "order.sql").read_text("utf-8").strip().split("\n\n")
    )
]
"""A rule, one that it must come after, and a statement by which it is seen."""
ONCE = {"bind_parameters", "qualify", "settle_ties"}
"""Values are used up, names are resolved, an order is written: once."""


def outcome(sql: str, rules: Sequence[Rule]) -> str:
    """The text that rules make of a statement, or the code with which they refuse it."""
    try:
        return through(sql, rules)
    except NotUnderstood as refusal:
        return refusal.code


@pytest.mark.parametrize(("rule", "earlier", "sql"), MUST_FOLLOW)
def test_a_rule_before_one_that_it_must_follow_makes_another_statement(
    rule: str, earlier: str, sql: str
) -> None:
    place, first = EVERY.index(BY_NAME[rule]), EVERY.index(BY_NAME[earlier])
    assert first < place
    moved = [*EVERY[:first], EVERY[place], *EVERY[first:place], *EVERY[place + 1 :]]
    assert outcome(sql, moved) != outcome(sql, EVERY)


def test_every_rule_but_the_limit_of_size_has_a_place_that_is_tested() -> None:
    named = {name for *names, _ in MUST_FOLLOW for name in names}
    assert named >= {rule.__name__ for rule in RULES} - {"limit_size"}


@pytest.mark.parametrize("name", sorted(BY_NAME.keys() - ONCE))
def test_a_rule_leaves_what_it_wrote_as_it_is(name: str) -> None:
    rule = BY_NAME[name]
    for case in read(rule):
        if isinstance(case, Pair):
            once = [*EVERY[: EVERY.index(rule)], rule]
            assert outcome(case.before, [*once, rule]) == outcome(case.before, once)
