"""Points inside and priced programs, exact as programs of all columns; and what they spare large systems.

SciPy and enumeration know the answer of small ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from cae_sql import AnsweredSystem, InconsistentAnswers
from cae_sql.inference.intervals import interior, presolve, pricing
from cae_sql.inference.intervals.bounds import ByPrograms, intervals
from cae_sql.inference.intervals.presolve import from_single_sums
from cae_sql.inference.solver import Program
from tests.quick import some

from .oracles import Case, asked_at_random, cases, linear_intervals

NEAR = 1e-7


@pytest.fixture
def as_if_large() -> Iterator[None]:
    """Programs start with few columns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pricing, "LEAST_ROWS", 1)
        patch.setattr(pricing, "FIRST", 1)
        yield


def no_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("a program was solved")

    monkeypatch.setattr(Program, "minimise", never)


each_with_its_case = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.usefixtures("as_if_large")
@each_with_its_case
@given(cases(("sum", "weighted", "mean")))
def test_sums_give_the_intervals_of_two_programs_per_record(case: Case) -> None:
    found, (low, high) = case.system().bounds(), case.intervals()
    assert found.lower == pytest.approx(low, abs=NEAR)
    assert found.upper == pytest.approx(high, abs=NEAR)


@pytest.mark.usefixtures("as_if_large")
@each_with_its_case
@given(cases())
def test_extremes_are_attained_by_somebody(case: Case) -> None:
    found, (low, high) = case.system().bounds(), case.intervals()
    assert found.lower == pytest.approx(low, abs=NEAR)
    assert found.upper == pytest.approx(high, abs=NEAR)


def system_at_random(seed: int, kinds: tuple[str, ...]) -> AnsweredSystem:
    """40 to 120 records, of which some are alike; 4 to 14 answers over 2 to 40 of them; skewed values."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(40, 121))
    truth = tuple(np.clip(rng.lognormal(1.5, 0.9, size), 0, 24).astype(int).tolist())
    asked = [asked_at_random(rng, size, kinds, int(rng.choice([4, 40]))) for _ in range(rng.integers(4, 15))]
    case = Case(minimum=10, resolution=10, top=24, truth=truth, asked=tuple(asked))  # type: ignore[arg-type]
    return case.system()


def both_ways(system: AnsweredSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    solved = system.solved
    with monkeypatch.context() as patch:
        patch.setattr(ByPrograms, "interior_points", ())
        plain = intervals(replace(solved, programs={}))
    with monkeypatch.context() as patch:
        patch.setattr(pricing, "LEAST_ROWS", 1)
        assert intervals(solved) == plain
    small = replace(
        solved, known=replace(solved.known, matrix=solved.known.matrix.astype(np.int8)), programs={}
    )
    assert intervals(small) == plain


@pytest.mark.parametrize("seed", range(40))
def test_sums_give_the_same_fractions_either_way(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    both_ways(system_at_random(seed, ("sum", "sum", "mean", "weighted")), monkeypatch)


@pytest.mark.parametrize("seed", range(15))
def test_extremes_give_the_same_fractions_either_way(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    both_ways(system_at_random(100 + seed, ("sum", "sum", "max", "min")), monkeypatch)


# --- roomy systems


def roomy(size: int = 8_000, answers: int = 16) -> tuple[AnsweredSystem, np.ndarray]:
    rng = np.random.default_rng(9)
    truth = np.clip(rng.lognormal(1.5, 0.7, size), 0, 24).astype(int)
    system = AnsweredSystem(size, 0, 24, 1)
    for _ in range(answers):
        members = np.flatnonzero(rng.random(size) < 0.4)
        system.add_sum(members, int(truth[members].sum()))
    return system, truth


def test_where_everything_is_reached_no_program_is_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    system, _ = roomy()
    no_programs(monkeypatch)
    found = system.bounds()
    assert (found.lower == 0).all()
    assert (found.upper == 24).all()


def test_maxima_among_many_need_no_program(monkeypatch: pytest.MonkeyPatch) -> None:
    system, truth = roomy()
    system.add_max(np.arange(1_000, 4_000), int(truth[1_000:4_000].max()))
    system.add_max(np.arange(0, 800), 20)
    system.add_min(np.arange(500, 900), 1)
    no_programs(monkeypatch)
    found = system.bounds()
    assert found.lower[500:900].tolist() == [1] * 400
    assert found.upper[:800].tolist() == [20] * 800
    assert (found.upper[4_000:] == 24).all()
    assert (found.lower[900:] == 0).all()


def test_small_sums_in_a_large_system_are_exact() -> None:
    system, _ = roomy()
    system.add_sum([0, 1, 2], 5)
    system.add_sum([2, 3, 4], 46)
    system.add_sum([10, 11, 12, 13], 94, [2, 1, 1, 1])
    system.add_sum([20, 21, 22], 10)
    system.add_sum([21, 22, 23], 31)
    found = system.bounds()
    assert found.lower[:5].tolist() == [0, 0, 0, 17, 17]
    assert found.upper[:5].tolist() == [5, 5, 5, 24, 24]
    assert found.lower[10:14].tolist() == [11, 0, 0, 0]
    assert found.upper[10:14].tolist() == [24, 24, 24, 24]
    assert found.lower[20:24].tolist() == [0, 0, 0, 21]
    assert found.upper[20:24].tolist() == [3, 10, 10, 24]


@pytest.mark.slow
def test_the_only_one_who_can_attain_a_maximum_does() -> None:
    system, _ = roomy()
    system.add_max([0, 1, 2], 20)
    system.add_max([0, 1], 12)
    found = system.bounds()
    assert found.lower[:3].tolist() == [0, 0, 20]
    assert found.upper[:3].tolist() == [12, 12, 20]


def test_sums_out_of_reach_are_a_contradiction() -> None:
    system, _ = roomy()
    system.add_sum(np.arange(100), 24 * 100)
    system.add_sum(np.arange(50, 150), 5)
    with pytest.raises(InconsistentAnswers):
        system.bounds()


def test_sums_that_only_together_are_out_of_reach_are_a_contradiction() -> None:
    system, _ = roomy(2_000, 8)
    system.add_sum(np.arange(0, 100), 1_300)
    system.add_sum(np.arange(100, 200), 1_300)
    system.add_sum(np.r_[0:50, 100:150], 2_300)
    system.add_sum(np.r_[0:25, 150:200], 1_100)
    with pytest.raises(InconsistentAnswers):
        system.bounds()


# --- some records


def test_some_records_cost_no_second_centre(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    roomy_table = interior.analytic_center

    def counted(*arguments: object) -> object:
        calls.append(1)
        return roomy_table(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("cae_sql.inference.intervals.reached.analytic_center", counted)
    system, _ = roomy()
    part, again, whole = system.bounds([3, 77]), system.bounds([5]), system.bounds()
    assert len(calls) == 1
    assert part.lower.tolist() == whole.lower[[3, 77]].tolist()
    assert again.upper.tolist() == whole.upper[[5]].tolist()
    system.add_sum([3, 77], 2)
    assert system.bounds([3]).upper.tolist() == [2]


def test_progress_rises_to_all_atoms() -> None:
    system, _ = roomy(800, 20)
    for start in range(0, 60, 4):
        system.add_sum(np.arange(start, start + 6), 40)
    told: list[tuple[int, int]] = []
    system.bounds(progress=lambda done, of: told.append((done, of)))
    count = system.solved.known.count
    done = [each[0] for each in told]
    assert done == sorted(done)
    assert told[-1] == (count, count)
    assert {each[1] for each in told} == {count}


# --- single sums


@pytest.mark.parametrize("seed", some(range(30), 8))
def test_what_single_sums_say_contains_the_intervals(seed: int) -> None:
    solved = system_at_random(seed, ("sum", "weighted")).solved
    known, atoms = solved.known, np.arange(solved.known.count)
    low, high = from_single_sums(known, atoms, np.arange(len(known.matrix)), solved.sums)
    totals = linear_intervals(known.matrix, solved.sums, known.sizes * known.low, known.sizes * known.high)
    assert totals is not None
    assert (low <= totals[0] + NEAR).all()
    assert (high >= totals[1] - NEAR).all()


def test_one_sum_says_all_there_is_to_know_and_passes_it_on() -> None:
    system = AnsweredSystem(5, 0, 9, 1)
    system.add_sum([0, 1], 15)
    system.add_sum([1, 2, 3], 8)
    system.add_sum([3, 4], -15, [1, -2])
    solved = system.solved
    low, high = from_single_sums(solved.known, np.arange(solved.known.count), np.arange(3), solved.sums)
    labels = solved.known.atoms.labels
    # 6 <= x1 leaves 2 to x2 and x3; 2 x4 = 15 + x3, outwards to whole numbers
    assert low[labels].tolist() == [7, 6, 0, 0, 7]
    assert high[labels].tolist() == [9, 8, 2, 2, 9]


def test_sums_too_large_for_64_bits_are_left_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presolve, "LARGEST", 1.0)
    system = AnsweredSystem(3, 0, 9, 1)
    system.add_sum([0, 1], 18)
    solved = system.solved
    low, _ = from_single_sums(solved.known, np.arange(2), np.arange(1), solved.sums)
    assert low.tolist() == [0, 0]
