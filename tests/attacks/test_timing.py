"""Timing (Aircloak's JOIN timing attack; Haeberlen et al. 2011).

No time is asserted. What is: outside of times, nothing that comes back depends on a value outside of what was
answered; and the attack's own report says what it measured and claims nothing.
"""

from __future__ import annotations

from pathlib import Path

from auditor import Gate
from auditor.attacks.runner import run_attacks

from .arena import build, named, paid, people, policy, verdict


def test_times_are_shown_and_nothing_is_claimed_from_them(tmp_path: Path) -> None:
    (report,) = run_attacks(build(tmp_path / "staff.duckdb", people(20, 19)), policy(), [named("timing")])
    assert report.gate is not None
    assert report.gate.claims == ()
    assert any("median times" in remark for remark in report.gate.remarks)


def test_verdicts_texts_and_rows_do_not_depend_on_values_outside_of_the_set(tmp_path: Path) -> None:
    """The persons asked about have the same values in both tables; the others have not."""
    rows = people(24, 19)
    other = paid(rows, {i: 260 - int(str(rows[i][-1])) for i in range(12, 24)})
    asked = [
        "SELECT sum(salary), count(*) FROM staff WHERE id < 12",
        "SELECT dept, avg(salary) FROM staff WHERE id < 12 GROUP BY dept ORDER BY dept",
        "SELECT max(salary) FROM staff WHERE id = 3",
        "SELECT count(*) FROM staff WHERE id < 12 AND salary > 100",
        "SELECT id FROM staff WHERE id < 12 ORDER BY salary",
        "SELECT 1 // (sum(salary)::BIGINT - 100) FROM staff WHERE id = 3",
        "SELECT count(*) FROM staff JOIN (SELECT DISTINCT dept FROM staff) AS b USING (dept) WHERE id < 12",
        "SELECT sum(salary) FROM staff WHERE id < 11",
    ]
    found = []
    for place, salaries in enumerate((rows, other)):
        database = build(tmp_path / f"{place}.duckdb", salaries)
        with Gate.open(database, policy("[decision]\ntimeout = 30")) as gate:
            replies = []
            for sql in asked:
                said = verdict(gate, sql)
                rows_back = gate.execute(sql).fetchall() if said.verdict == "answered" else None
                replies.append((said.verdict, said.code, said.message, said.hint, rows_back))
        found.append(replies)
    assert found[0] == found[1]
    assert {reply[0] for reply in found[0]} == {"answered", "refused", "unsupported"}
