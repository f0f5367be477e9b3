"""Oracles: HAVING, EXISTS, CASE, QUALIFY, LIMIT, ORDER BY, ranks, set operations (Aircloak's SQL backdoors).

Asked: statements that have rows only where one person's value is above a bound, and a binary search over the
bound. Persons sorted by their values, the values not shown.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from auditor.attacks.oracles import CONDITIONS, ORDERS
from auditor.attacks.runner import run_attacks
from tests.quick import some

from .arena import attacked, build, locates_nobody, named, people, policy


@pytest.mark.slow
@pytest.mark.parametrize("name", some(["condition-oracle", "order-oracle"], 1))
def test_whether_rows_come_locates_nobody(name: str, tmp_path: Path) -> None:
    outcome = attacked(tmp_path, name, people(20, 6))
    locates_nobody(outcome, answered=False)
    assert outcome.report.without is not None
    forms = len(CONDITIONS if name == "condition-oracle" else ORDERS)
    assert len(outcome.report.without.achieved) == 3 * forms, "each form works without the gate"


def test_nobody_is_ranked(tmp_path: Path) -> None:
    (report,) = run_attacks(build(tmp_path / "staff.duckdb", people(20, 6)), policy(), [named("ranking")])
    assert report.gate is not None
    assert report.without is not None
    assert report.without.tally.answered == report.without.tally.asked
    assert report.gate.tally.answered == 0
    assert report.gate.remarks == ()
