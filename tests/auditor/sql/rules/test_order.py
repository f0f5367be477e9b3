"""The order of the rules: which must come before which, with a statement that becomes another one otherwise."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from auditor.sql.context import Rule
from auditor.sql.pipeline import RESOLVED, WRITTEN
from auditor.sql.rules.bind_parameters import bind_parameters
from auditor.sql.rules.canonicalize import canonicalize
from auditor.sql.rules.choose_by_having import choose_by_having
from auditor.sql.rules.classify import classify
from auditor.sql.rules.count_bins import count_bins
from auditor.sql.rules.divide_correlations import divide_correlations
from auditor.sql.rules.drop_offset import drop_offset
from auditor.sql.rules.expand_columns import expand_columns
from auditor.sql.rules.filter_counts import filter_counts
from auditor.sql.rules.fix_clock import fix_clock
from auditor.sql.rules.group_beside_rows import group_beside_rows
from auditor.sql.rules.group_laterals import group_laterals
from auditor.sql.rules.inline_expressions import inline_expressions
from auditor.sql.rules.mark_each_once import mark_each_once
from auditor.sql.rules.merge_groups import merge_groups
from auditor.sql.rules.qualify import qualify
from auditor.sql.rules.settle_ties import settle_ties
from auditor.sql.rules.split_extremes import split_extremes
from auditor.sql.rules.sum_truths import sum_truths
from auditor.sql.rules.write_rows import write_rows
from auditor.sql.understood import NotUnderstood
from tests.auditor.sql.rules.fixtures import EVERY, Pair, read, through

CHOSEN = (
    "SELECT dept, AVG(salary) AS a FROM staff WHERE dept IN (SELECT d FROM (SELECT dept AS d, SUM(salary) AS s "
    "FROM staff GROUP BY dept) AS q WHERE s > 50) GROUP BY dept"
)
MUST_FOLLOW: list[tuple[Rule, Rule, str]] = [
    (drop_offset, bind_parameters, "SELECT id FROM staff ORDER BY id LIMIT 5 OFFSET $none"),
    (classify, write_rows, "SELECT x FROM (VALUES (1), (2)) v(x)"),
    (classify, fix_clock, "SELECT now()"),
    (classify, canonicalize, "SELECT DATE('2020-01-01')"),
    (group_laterals, canonicalize, "SELECT x.m FROM regions d, LATERAL (SELECT mean(t.salary) AS m FROM staff t "
     "WHERE t.dept = d.dept) x"),
    (classify, mark_each_once, "SELECT SUM(DISTINCT salary + HASH(id)::HUGEINT) - SUM(DISTINCT HASH(id)::HUGEINT) "
     "FROM staff"),
    (classify, group_laterals, "SELECT x.m FROM regions d, LATERAL (SELECT AVG(t.salary) AS m FROM staff t "
     "WHERE t.dept = d.dept) x"),
    (qualify, classify, "SELECT * FROM read_csv('x.csv')"),
    (qualify, expand_columns, "SELECT MIN(COLUMNS('age|id')) FROM staff"),
    (inline_expressions, qualify, "SELECT AVG(a) AS m FROM (SELECT salary * 2 AS a FROM staff)"),
    (group_beside_rows, inline_expressions, "SELECT id, AVG(a) OVER (PARTITION BY dept) AS m FROM "
     "(SELECT id, dept, salary * 2 AS a FROM staff)"),
    (split_extremes, inline_expressions, "SELECT MAX(a) AS m FROM (SELECT COALESCE(salary, 0) AS a FROM staff)"),
    (filter_counts, inline_expressions, "SELECT AT_LEAST(COUNT(*)) AS n FROM (SELECT salary * 2 AS a FROM staff) "
     "WHERE a > 50"),
    (choose_by_having, qualify, CHOSEN),
    (divide_correlations, qualify, "SELECT AT_LEAST(ROUND(CORR(age, salary), 2)) AS r FROM staff"),
    (count_bins, qualify, "SELECT salary // 50 AS bin, AT_LEAST(COUNT(*)) AS n FROM staff GROUP BY bin"),
    (merge_groups, choose_by_having, "SELECT dept, AVG(salary) AS a FROM staff JOIN (SELECT dept AS d, SUM(salary) "
     "AS s FROM staff GROUP BY dept) AS g ON dept = d GROUP BY dept"),
    (sum_truths, qualify, "SELECT COUNT(*) FILTER (WHERE ill) AS n FROM staff"),
]  # fmt: skip
"""A rule, one that it must come after, and a statement by which it is seen."""

ONCE = {bind_parameters, qualify, settle_ties}
"""Values are used up, names are resolved, an order is written: once."""


def outcome(sql: str, rules: Sequence[Rule]) -> str:
    """The text that rules make of a statement, or the code with which they refuse it."""
    try:
        return through(sql, rules)
    except NotUnderstood as refusal:
        return refusal.code


@pytest.mark.parametrize(
    ("rule", "earlier", "sql"), MUST_FOLLOW, ids=lambda each: getattr(each, "__name__", "")
)
def test_a_rule_before_one_that_it_must_follow_makes_another_statement(
    rule: Rule, earlier: Rule, sql: str
) -> None:
    place, first = EVERY.index(rule), EVERY.index(earlier)
    assert first < place
    moved = [*EVERY[:first], rule, *EVERY[first:place], *EVERY[place + 1 :]]
    assert outcome(sql, moved) != outcome(sql, EVERY)


def test_every_rule_but_checks_is_in_the_table() -> None:
    named = {each for rule, earlier, _ in MUST_FOLLOW for each in (rule, earlier)}
    assert named >= {rule for rule in (*WRITTEN, *RESOLVED) if rule.__name__ != "limit_size"}


@pytest.mark.parametrize("rule", [each for each in EVERY if each not in ONCE], ids=lambda each: each.__name__)
def test_a_rule_leaves_what_it_wrote_as_it_is(rule: Rule) -> None:
    for case in read(rule):
        if isinstance(case, Pair):
            once = [*EVERY[: EVERY.index(rule)], rule]
            assert outcome(case.before, [*once, rule]) == outcome(case.before, once)
