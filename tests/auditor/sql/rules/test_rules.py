"""Each rule writes the statements of its fixture as the fixture says, and refuses those that it must."""

from __future__ import annotations

import pytest

from auditor.sql.context import Rule
from auditor.sql.understood import NotUnderstood
from tests.auditor.sql.rules.fixtures import BY_NAME, FOLDER, Pair, Refused, before, read, through

CASES = [(rule, case) for rule in BY_NAME.values() for case in read(rule)]
PAIRS = [(rule, case) for rule, case in CASES if isinstance(case, Pair)]
REFUSED = [(rule, case) for rule, case in CASES if isinstance(case, Refused)]


def test_every_fixture_is_a_rules() -> None:
    assert {each.stem for each in FOLDER.glob("*.sql")} - {"order"} == BY_NAME.keys()


@pytest.mark.parametrize(("rule", "pair"), PAIRS, ids=lambda each: getattr(each, "__name__", None))
def test_a_rule_writes_a_statement_as_its_fixture_does(rule: Rule, pair: Pair) -> None:
    assert through(pair.before, [*before(rule), rule]) == through(pair.after, before(rule))


@pytest.mark.parametrize(("rule", "refused"), REFUSED, ids=lambda each: getattr(each, "__name__", None))
def test_a_rule_refuses_what_its_fixture_says(rule: Rule, refused: Refused) -> None:
    through(refused.sql, before(rule))  # no rule before it does
    with pytest.raises(NotUnderstood) as reason:
        through(refused.sql, [*before(rule), rule])
    assert reason.value.code == refused.code
