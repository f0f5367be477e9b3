"""Repeated checks: verdicts are free, so the statement that passes is looked for and only then asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from auditor import Gate

from .arena import attacked, build, locates_nobody, paid, people, policy


@pytest.mark.slow
def test_choosing_by_checks_locates_nobody(tmp_path: Path) -> None:
    outcome = attacked(tmp_path, "repeated-checks", people(18, 18))
    locates_nobody(outcome)
    assert outcome.report.gate is not None
    assert outcome.report.gate.tally.checks > outcome.report.gate.tally.asked


@pytest.mark.slow
def test_checks_are_the_same_whatever_the_salaries(tmp_path: Path) -> None:
    """Two tables that agree on what was answered, and on nothing else of these persons."""
    rows = people(24, 18)
    swapped = [int(str(row[-1])) for row in rows]
    other = paid(rows, {i: swapped[23 - i] for i in range(24)})
    found = []
    for place, salaries in enumerate((rows, other)):
        database = build(tmp_path / f"{place}.duckdb", salaries)
        with Gate.open(database, policy("[decision]\ntimeout = 30")) as gate:
            gate.execute("SELECT sum(salary) FROM staff")
            asked = [
                f"SELECT {kind}(salary) FROM staff WHERE id < {k}"
                for k in range(1, 24, 3)
                for kind in ("sum", "max")
            ]
            decisions = [gate.check(sql) for sql in asked]
        found.append([(each.verdict, each.code, each.message, each.risk_after) for each in decisions])
    assert found[0] == found[1]
    assert len({each[0] for each in found[0]}) == 2
