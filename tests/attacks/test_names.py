"""Other names: aliases of tables and columns, whole rows, stars, structures, windows, PIVOT (Aircloak).

Asked: one person's value in some forty spellings that never aggregate, or aggregate only in name.
"""

from __future__ import annotations

from pathlib import Path

from .arena import attacked, locates_nobody, people


def test_a_value_by_another_name_is_not_told(tmp_path: Path) -> None:
    outcome = attacked(tmp_path, "other-names", people(20, 16))
    locates_nobody(outcome, answered=False)
    assert outcome.report.without is not None
    assert outcome.report.without.tally.answered >= 30, "most spellings are DuckDB's"
