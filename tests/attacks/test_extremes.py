"""Maxima and minima (Chin & Özsoyoğlu 1982; Kenthapadi, Mishra & Nissim 2005).

Asked: MAX of ever smaller sets; equal maxima of sets with one person in common; pairs, where a refusal would
say that both are low; MAX, MIN and SUM of the same small sets.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from auditor import Gate

from .arena import attacked, build, locates_nobody, paid, people, policy, verdict


@pytest.mark.slow
def test_halving_by_maxima_locates_nobody(tmp_path: Path) -> None:
    rows = [(*row[:-1], min(int(str(row[-1])), 230)) for row in people(24, 10)]
    locates_nobody(attacked(tmp_path, "halving-by-max", paid(rows, {17: 250})))


@pytest.mark.slow
def test_equal_maxima_do_not_single_out_who_is_in_all_sets(tmp_path: Path) -> None:
    rows = [(*row[:-1], min(int(str(row[-1])), 230)) for row in people(24, 10)]
    locates_nobody(attacked(tmp_path, "equal-maxima", paid(rows, {17: 250})))


@pytest.mark.slow
def test_extremes_and_sums_of_small_sets_locate_nobody(tmp_path: Path) -> None:
    locates_nobody(attacked(tmp_path, "extremes-and-sums", people(16, 11)))


@pytest.mark.slow
def test_refused_maxima_tell_nothing_unless_the_mode_is_answer_dependent(tmp_path: Path) -> None:
    outcome = attacked(tmp_path, "refused-maxima", people(24, 12))
    locates_nobody(outcome, answered=None)
    # with an insider every pair is refused, whatever its maximum
    speaking = policy('[decision]\ntimeout = 1\nmode = "answer-dependent"\n[intruder]\ninsiders = 0')
    (tmp_path / "other").mkdir()
    other = attacked(tmp_path / "other", "refused-maxima", people(24, 12), speaking)
    assert other.report.gate is not None
    assert other.report.gate.located > 0, "what docs/decisions.md says of this mode"


def test_rich_or_poor_the_same_pairs_are_refused(tmp_path: Path) -> None:
    """Refusals of a first question are the same whatever the salaries."""
    poor = [(*row[:-1], 10 + int(str(row[-1])) // 3 // 10 * 10) for row in people(24, 12)]
    rich = [(*row[:-1], 260 - int(str(row[-1]))) for row in poor]
    seen = []
    for name, rows in (("poor", poor), ("rich", rich)):
        database = build(tmp_path / f"{name}.duckdb", rows)
        verdicts = []
        for pair in ((0, 1), (2, 9), (5, 20)):
            ledger = (
                tmp_path / f"{name}-{pair[0]}.ledger"
            )  # an empty ledger each: both agree on what was told
            with Gate.open(database, policy(), ledger) as gate:
                verdicts.append(verdict(gate, f"SELECT max(salary) FROM staff WHERE id IN {pair}").verdict)
        seen.append(verdicts)
    assert seen[0] == seen[1]
