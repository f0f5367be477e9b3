"""What residues of sums tell, against exact counts of the same systems: the formula alone does not see it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from cae_sql.domain import Domain
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.posterior import likely as counting
from cae_sql.inference.posterior import residues
from cae_sql.inference.posterior.keeping import LikelyKnowledge, LikelyStandard
from cae_sql.inference.posterior.likely import Likely
from cae_sql.inference.posterior.members import posterior_risks
from cae_sql.inference.posterior.residues import search_of
from cae_sql.inference.posterior.telling import SLACK_LISTED, _Characters
from cae_sql.inference.system import AnsweredSystem
from cae_sql.risk import Limit
from tests.cae_sql.inference.posterior.oracles import likely, risk


@pytest.fixture
def uncounted(monkeypatch: pytest.MonkeyPatch) -> None:
    """No component is counted: the formula and residues are all there is."""
    monkeypatch.setattr(counting, "MOST_UNITS", -1)


def told(true: np.ndarray, sets: Sequence[Sequence[int]], top: int) -> AnsweredSystem:
    system = AnsweredSystem(len(true), 0, top, 1)
    for members in sets:
        system.add_sum(members, int(true[list(members)].sum()))
    return system


def all_but_one(count: int, size: int, others: int = 1) -> list[list[int]]:
    """`others` first, with each of `count` groups left out once: each group is in all sums but one."""
    group = np.append(np.full(others, -1), np.repeat(np.arange(count), size))
    return [np.flatnonzero(group != left).tolist() for left in range(count)]


def risks(found: Likely, size: int) -> np.ndarray:
    domain = Domain(0, found.top, 1)
    judged: np.ndarray = posterior_risks(found, domain).risk[found.known.atoms.labels[:size]]
    return judged


@pytest.mark.parametrize(
    ("top", "modulus"), [(1, 2), (1, 3), (1, 7), (1, 37), (2, 3), (3, 4), (4, 5), (8, 9), (24, 25)]
)
def test_one_person_left_modulo_a_number_is_known(uncounted: None, top: int, modulus: int) -> None:
    sets = all_but_one(modulus + 1, 100)
    true = np.random.default_rng(modulus).integers(0, top + 1, 1 + 100 * (modulus + 1))
    found = likely(told(true, sets, top))
    worst = risks(found, len(true))
    assert found.leverage[found.known.atoms.labels[0]] < 0.01
    assert worst[0] > 0.99
    assert found.rows[found.known.atoms.labels[0]].argmax() == true[0]
    assert worst[1:].max() < 0.05


def test_of_five_values_a_parity_leaves_two_or_three(uncounted: None) -> None:
    sets = all_but_one(3, 100)
    true = np.random.default_rng(0).integers(0, 5, 301)
    true[0] = 2
    found = likely(told(true, sets, 4))
    row = found.rows[found.known.atoms.labels[0]]
    assert row[[1, 3]] == pytest.approx(0, abs=1e-6)
    assert row[[0, 2, 4]].min() > 0.25


def cells(seed: int, top: int, count: int, sums: int, biggest: int) -> AnsweredSystem:
    """Sums over random cells, of which four in ten are one person."""
    chance = np.random.default_rng(seed)
    sizes = chance.integers(1, biggest + 1, count)
    sizes[chance.random(count) < 0.4] = 1
    cell = np.repeat(np.arange(count), sizes)
    true = chance.binomial(top, 0.5, len(cell))
    chosen = [np.flatnonzero((chance.random(count) < 0.5)[cell]) for _ in range(sums)]
    return told(true, [some.tolist() for some in chosen if len(some) > 1], top)


@pytest.mark.parametrize(("count", "sums", "before"), [(6, 4, 0.7), (8, 5, 0.9)])
@pytest.mark.slow
def test_what_is_counted_is_hardly_ever_riskier_where_it_used_to_be(
    monkeypatch: pytest.MonkeyPatch, count: int, sums: int, before: float
) -> None:
    monkeypatch.setattr(counting, "STEPS", 4_000_000)
    monkeypatch.setattr(counting, "ALL_STEPS", 10**9)
    monkeypatch.setattr(counting, "LITTLE", -1.0)
    too_low, by_formula = list[float](), list[float]()
    for seed in range(40):
        found = likely(cells(seed, 1, count, sums, 30))
        exact, counted = found.exact
        for atom in np.flatnonzero(counted & (found.bits >= 10) & ~found.tangled).tolist():
            true = risk(exact[atom])
            too_low.append(
                true - max(risk(each.narrowed_of(np.array([atom]))[0]) for each in (found, found.straight))
            )
            by_formula.append(true - risk(found.formula[atom]))
    assert max(by_formula) > before
    assert max(too_low) < 0.1
    assert np.quantile(too_low, 0.98) < 0.06


@pytest.mark.parametrize("share", [0.5, 0.05])
@pytest.mark.parametrize("top", [1, 4])
def test_tables_of_margins_tell_no_residues(share: float, top: int) -> None:
    """But a cell in which nearly everybody has nothing is no bell: of one or two units in 25 records."""
    chance = np.random.default_rng(0)
    key, true = chance.integers(0, [6, 5, 4], (900, 3)), chance.binomial(top, share, 900)
    sets = [np.flatnonzero(key[:, d] == v) for d in range(3) for v in range(6)]
    sets += [np.flatnonzero((key[:, 0] == v) & (key[:, 1] == w)) for v in range(6) for w in range(5)]
    found = likely(told(true, [some.tolist() for some in sets if len(some)], top))
    assert not len(found.telling.columns)
    sparse = [some for some in sets if 0 < true[some].sum() <= 2 and top > 1]
    assert set(np.flatnonzero(found.tangled[found.known.atoms.labels])) == {
        *map(int, np.concatenate([[], *sparse]))
    }
    assert (found.narrowed_of(np.arange(len(found.formula))) == found.formula).all()


def test_a_residue_hides_among_people_who_are_all_alone(uncounted: None) -> None:
    chance = np.random.default_rng(3)
    true = chance.integers(0, 2, 601)
    sets = all_but_one(3, 200)
    # every cell is one person: nobody is like anybody else
    sets += [np.flatnonzero(chance.random(601) < 0.5).tolist() for _ in range(25)]
    found = likely(told(true, sets, 1))
    assert found.known.count > 590
    assert risks(found, 601)[0] > 0.99


@pytest.mark.parametrize("seed", range(3))
def test_of_many_columns_a_part_is_looked_at_first_and_nothing_is_missed(
    seed: int, uncounted: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    # cells of one or two people under random sums, and a person left over by three of them
    chance = np.random.default_rng(seed)
    true = chance.integers(0, 2, 301)
    sets = all_but_one(3, 100) + [np.flatnonzero(chance.random(301) < 0.5).tolist() for _ in range(7)]
    told_by = []
    for sampled in (10**9, 60, 7):
        monkeypatch.setattr(residues, "SAMPLED", sampled)
        residues._searches.clear()
        residues._latest.clear()
        found = likely(told(true, sets, 1))
        assert found.known.count > 100
        columns = found.telling.columns.tolist()
        told_by.append({column: found.telling.weights(column).tolist() for column in columns})
    whole, *parts = told_by
    assert whole
    for part in parts:
        assert part.keys() == whole.keys()
        for column, weights in part.items():
            assert weights == pytest.approx(whole[column], abs=1e-9)


def characters(seed: int) -> _Characters:
    """Of 60 people of five values in a dozen sums."""
    chance = np.random.default_rng(seed)
    true = np.minimum(chance.exponential(1.0, 60), 4).astype(int)
    found = likely(told(true, [np.flatnonzero(chance.random(60) < 0.4).tolist() for _ in range(12)], 4))
    seen = found.fit.observed

    def rows(columns: np.ndarray) -> np.ndarray:
        return found.formula_of(seen.atoms[columns])

    return _Characters(seen, found.fit.theta, rows, found.tilt.windows)


def test_what_some_columns_hide_more_of_them_hide_too() -> None:
    chance, of_all = np.random.default_rng(0), characters(0)
    for prime in (2, 3, 7):
        columns = chance.permutation(of_all.observed.people)[:30]
        coefficients = chance.integers(1, prime, 30)
        hidden = [of_all.hides(columns[:n], coefficients[None, :n], prime)[0] for n in range(1, 31)]
        assert (np.diff(hidden) >= -1e-9).all()


def test_rows_are_hidden_together_as_each_by_itself() -> None:
    chance, of_all = np.random.default_rng(1), characters(1)
    people = of_all.observed.people
    for prime in (2, 3, 7):
        rows = chance.integers(0, prime, (20, people)) * (chance.random((20, people)) < 0.3)
        rows[0] = 0
        together = of_all.hides(np.arange(people), rows, prime)
        for row, hidden in zip(rows, together, strict=True):
            touched = np.flatnonzero(row)
            alone = of_all.hides(touched, row[None, touched], prime)[0]
            assert hidden == pytest.approx(alone, abs=1e-9)


def test_an_end_tells_no_residue_and_weights_do(uncounted: None) -> None:
    true = np.random.default_rng(0).integers(0, 2, 301)
    exact, last = all_but_one(3, 100)[:2], all_but_one(3, 100)[2]
    system = told(true, exact, 1)
    value = int(true[last].sum())
    system.add_range(last, value - 7, value + 8)
    assert risks(likely(system), 301)[0] < 0.05
    weighted = AnsweredSystem(301, 0, 1, 1)
    weights = np.append(1, np.full(300, 2))
    weighted.add_sum(range(301), int(true @ weights), weights.tolist())
    assert risks(likely(weighted), 301)[0] > 0.99


def test_a_combination_that_vanishes_is_divided(uncounted: None) -> None:
    # the sums over P and Q and over P less Q add up to twice P: so P, which is X and twice A, is known
    X, A, B = [0], list(range(1, 101)), list(range(101, 202))
    weights = np.concatenate([[1], np.full(100, 2)])
    true = np.random.default_rng(1).integers(0, 2, 202)
    system = AnsweredSystem(202, 0, 1, 1)
    for sign in (1, -1):
        coefficients = np.append(weights, np.full(101, sign)).tolist()
        system.add_sum(X + A + B, int(true @ coefficients), coefficients)
    assert risks(likely(system), 202)[0] > 0.99


def test_nothing_of_answers_is_in_a_search() -> None:
    found = [likely(told(np.full(301, value), all_but_one(3, 100), 1)) for value in (0, 1)]
    matrix, room = found[0].fit.observed.matrix, np.ones(4)
    assert search_of(matrix, room) is search_of(matrix.copy(), room.copy())


def test_wide_ends_of_one_sum_share_a_search_and_hide_no_residue_of_others(uncounted: None) -> None:
    sets = all_but_one(26, 100)
    true = np.random.default_rng(25).integers(0, 25, 2_601)
    everybody, searches = np.arange(0, 2_601, 2), []
    for away in (2_000, 4_000):
        system = told(true, sets, 24)
        value = int(true[everybody].sum()) + away
        end = system.at_most(system.query("sum", everybody), value)
        assert end is not None
        system.accept([end.answered(value)])
        found = likely(system)
        assert found.fit.observed.high[-1] >= SLACK_LISTED
        assert risks(found, 2_601)[0] > 0.99
        searches.append(next(reversed(residues._searches.values())))
    assert searches[0] is searches[1]


# Decisions


def judged(system: AnsweredSystem, members: Sequence[int], value: int, insiders: int):
    standard = LikelyStandard(Limit(risk=0.5), Domain(0, int(system.grid.top), 1), "members", insiders)
    question = LikelyKnowledge(system, standard).question([system.query("sum", np.array(members))])
    return question.judge((value,), Allowance(10**9)), question


@pytest.mark.parametrize("insiders", [0, 1])
def test_the_last_sum_of_three_is_refused_whatever_its_answer(uncounted: None, insiders: int) -> None:
    true = np.random.default_rng(2).integers(0, 2, 601)
    sets = all_but_one(3, 200)
    system = told(true, sets[:2], 1)
    for more in range(4):
        found, question = judged(system, sets[2], int(true[sets[2]].sum()) + more, insiders)
        assert found.counted
        assert not found.safe
        assert not question.smooth


@pytest.mark.parametrize(("others", "alone", "with_insider"), [(2, True, False), (4, True, True)])
def test_of_two_people_left_each_tells_the_other(
    uncounted: None, others: int, alone: bool, with_insider: bool
) -> None:
    sets = all_but_one(3, 200, others)
    true = np.random.default_rng(5).integers(0, 2, others + 600)
    true[others:] = np.tile([0, 1], 300)
    system = told(true, sets[:2], 1)
    value = int(true[sets[2]].sum())
    assert judged(system, sets[2], value, 0)[0].safe == alone
    assert judged(system, sets[2], value, 1)[0].safe == with_insider


def test_of_sums_that_leave_nobody_answers_are_judged_as_before() -> None:
    true = np.random.default_rng(2).integers(0, 2, 600)
    system = told(true, [range(300)], 1)
    found, question = judged(system, range(150, 450), 150, 1)
    assert found.safe
    assert question.smooth


def test_where_too_many_hang_together_nothing_is_shown(uncounted: None) -> None:
    # sixteen parities, each about some of sixty people: together they tell more than one by one
    chance, sets, people = np.random.default_rng(0), list[list[int]](), 60
    first = people
    for _ in range(16):
        parts = [list(range(first + k * 40, first + (k + 1) * 40)) for k in range(3)]
        left = np.flatnonzero(chance.random(people) < 0.1).tolist()
        sets += [parts[0] + parts[1], parts[0] + parts[2], left + parts[1] + parts[2]]
        first += 120
    true = (chance.random(first) < 0.05).astype(np.int64)
    found = likely(told(true, sets, 1))
    assert found.tangled.any()
    assert not found.reliable[found.tangled].any()


def test_where_sums_cannot_be_brought_into_form_nothing_is_shown(
    uncounted: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(residues, "MOST_ROUNDS", 0)
    monkeypatch.setattr(residues, "_searches", type(residues._searches)())
    true = np.random.default_rng(2).integers(0, 2, 601)
    found = likely(told(true, all_but_one(3, 200), 1))
    assert not found.reliable[found.known.protected].any()
