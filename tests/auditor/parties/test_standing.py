"""What is called excluded is impossible, what is called shown is possible, and nothing else is claimed.

Held against integer programs that share nothing with the package, value by value.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from auditor import Gate
from auditor.parties.standing import Standing
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.intervals.bounds import Bounds
from cae_sql.inference.search.runs import Runs
from cae_sql.inference.standard import Standard
from cae_sql.inference.system import AnsweredSystem
from tests.attacks.arena import Onlooker
from tests.auditor.staff import build, people, policy

SIZE, LOW, HIGH, STEP = 8, 10, 130, 10
COUNT = (HIGH - LOW) // STEP + 1


def answered(seed: int) -> tuple[AnsweredSystem, Onlooker]:
    """Some sums and extremes over eight records, and an onlooker who heard them too."""
    generator = np.random.default_rng(seed)
    truth = LOW + STEP * generator.integers(0, COUNT, SIZE)
    system, onlooker = AnsweredSystem(SIZE, LOW, HIGH, STEP, seed=seed), Onlooker(SIZE, LOW, HIGH, STEP)
    for kind in ("sum", "sum", "sum", "max", "min")[: 3 + seed % 3]:
        members = np.sort(generator.choice(SIZE, int(generator.integers(2, 5)), replace=False))
        value = int(getattr(truth[members], kind)())
        getattr(system, f"add_{kind}")(members, value)
        onlooker.hears(kind, members.tolist(), value)
    return system, onlooker


@pytest.mark.parametrize("closer", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_nothing_excluded_is_possible_and_nothing_shown_is_impossible(seed: int, closer: bool) -> None:
    system, onlooker = answered(seed)
    standing = Standing(system, Standard(6))
    if closer:
        standing.look(np.arange(SIZE))
    onlooker.everybody_keeps(COUNT + 1)  # so that every value is tried
    for record in range(SIZE):
        possible = {LOW + STEP * step for step in onlooker.seen[record]}
        assert standing.lower[record] <= min(possible)
        assert max(possible) <= standing.upper[record]
        shown = np.arange(standing.low[record], standing.high[record] + 1, STEP)
        assert set(shown.astype(int).tolist()) <= possible
        if record in standing.sets:
            assert {LOW + STEP * int(unit) for unit in standing.sets[record]} == possible
            assert len(possible) < COUNT
        elif closer:
            assert len(shown), "a closer look at eight records shows something"


def test_values_that_are_no_neighbours_are_known_one_by_one() -> None:
    """3 · the one + 4 · the other is 120: whole numbers leave eleven pairs."""
    system = AnsweredSystem(2, 0, 60, 1)
    system.add_sum([0, 1], 120, [3, 4])
    standing = Standing(system, Standard(30))
    standing.look(np.arange(2))
    assert standing.sets[0].tolist() == list(range(0, 41, 4))
    assert standing.sets[1].tolist() == list(range(0, 31, 3))


@pytest.mark.slow
def test_what_is_not_shown_is_not_called_excluded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no table shows anything the figures say that nothing is known, and no limit is passed."""

    def nothing(runs: Runs, totals: Ints, keep: bool = True) -> bool:
        runs.worlds.append(totals)
        return True

    with Gate.open(build(tmp_path / "staff.duckdb", people(40, 1)), policy()) as gate:
        gate.execute("SELECT dept, avg(salary) FROM staff GROUP BY dept")
        held = gate.history()["risk_after"].tolist()[-1]
        monkeypatch.setattr(Runs, "absorb", nothing)
        monkeypatch.setattr(Standing, "look", lambda *_: None, raising=False)
        empty = Bounds(np.full(40, 20.0), np.full(40, 10.0))
        monkeypatch.setattr(AnsweredSystem, "certified_at_once", lambda _: empty, raising=False)
        frame = gate.risk()
        assert gate.held() == held < 0.5
    assert (frame["risk"] <= 0.1).all()
    assert (frame["risk_at_most"] == held).all()
    assert (frame["possible"] == 0).all()
    assert (frame["not_known"] >= 24).all()


@pytest.mark.slow
def test_only_so_many_classes_get_a_closer_look_and_the_bar_hears_of_it(tmp_path: Path) -> None:
    heard = list[tuple[int, int]]()
    with Gate.open(build(tmp_path / "staff.duckdb", people(40, 1)), policy()) as gate:
        gate.execute("SELECT dept, avg(salary), max(salary) FROM staff GROUP BY dept")
        frame = gate.risk(top=3, progress=lambda done, of: heard.append((done, of)))
        assert frame["looked_at"].sum() >= 3
        assert heard[-1] == (3, 3)
        everybody = gate.risk()
    assert everybody["looked_at"].all()
    assert (frame["excluded"] + frame["possible"] + frame["not_known"] == 25).all()
