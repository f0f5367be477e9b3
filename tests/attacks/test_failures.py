"""Errors (Aircloak's division by zero and overflow; Haeberlen et al. 2011; messages that quote values).

Asked: statements that fail at one value only, or above a bound, and such as fail on the value itself, so that
the message says it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from auditor import Gate
from auditor.attacks.failures import ABOVE, SPEAKING, ZERO
from tests.quick import some

from .arena import attacked, build, locates_nobody, paid, people, policy, verdict

TARGET = 17


@pytest.mark.parametrize("name", some(["division-by-zero", "overflow", "error-messages"], 1))
def test_whether_a_statement_fails_locates_nobody(name: str, tmp_path: Path) -> None:
    locates_nobody(attacked(tmp_path, name, people(20, 7)), answered=False)


FORMS = [*ZERO.values(), *ABOVE.values(), *SPEAKING]


@pytest.mark.slow
def test_what_is_said_of_a_statement_that_fails_does_not_depend_on_the_value(tmp_path: Path) -> None:
    """The same persons, one of them with the least or the greatest salary: not a word differs."""
    said = []
    for salary in (10, 250):
        database = build(tmp_path / f"{salary}.duckdb", paid(people(20, 7), {TARGET: salary}))
        with Gate.open(database, policy()) as gate:
            words = {"t": "staff", "c": "salary", "p": f"id = {TARGET}"}
            asked = [form.format(**words).format(bound) for form in FORMS for bound in (10, 130, 249)]
            decisions = [verdict(gate, sql) for sql in asked]
        said.append([(each.verdict, each.code, each.message, each.hint) for each in decisions])
    assert said[0] == said[1]
    assert {each[0] for each in said[0]} <= {"refused", "unsupported"}
    assert "failed" not in {each[1] for each in said[0]}


def test_what_fails_over_everybody_is_on_record_first(tmp_path: Path) -> None:
    """Whether it fails tells something about the sum; the sum is known by then."""
    database = build(tmp_path / "staff.duckdb", people(20, 7))
    with Gate.open(database, policy()) as gate:
        form = ABOVE["overflow"].format(t="staff", c="salary", p="TRUE")
        assert verdict(gate, form.format(0)).code == "failed"
        answers = [answer for entry in gate._ledger.entries() for answer in entry.answers]
        assert [(answer.kind, len(answer.records)) for answer in answers] == [("sum", 20)]
        assert verdict(gate, "SELECT sum(salary) FROM staff").code == "known"
