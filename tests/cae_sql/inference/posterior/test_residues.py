"""Sums that leave few people modulo a small number: these are marked, so that they are counted or not told.

What is left unmarked is held against exact counts of the same systems: the formula alone does not see it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from cae_sql.domain import Domain
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.rank import eliminated
from cae_sql.inference.posterior import likely as counting
from cae_sql.inference.posterior import residues
from cae_sql.inference.posterior.heaps import NOTHING, Characters
from cae_sql.inference.posterior.judging import LikelyKnowledge, LikelyStandard
from cae_sql.inference.posterior.likely import Likely
from cae_sql.inference.posterior.residues import WIDE
from cae_sql.inference.system import AnsweredSystem
from cae_sql.risk import Limit
from tests.cae_sql.inference.posterior.oracles import likely, risk


@pytest.fixture
def uncounted(monkeypatch: pytest.MonkeyPatch) -> None:
    """No component is counted: the formula is all there is."""
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


def marked(found: Likely, size: int) -> list[int]:
    """Records of whom sums are no bell; nothing is shown of them."""
    assert not found.reliable[found.heaped].any()
    return np.flatnonzero(found.heaped[found.known.atoms.labels[:size]]).tolist()


@pytest.mark.parametrize(
    ("top", "modulus"), [(1, 2), (1, 3), (1, 7), (1, 37), (2, 3), (3, 4), (4, 2), (4, 5), (8, 9), (24, 25)]
)
def test_one_person_left_modulo_a_number_is_marked(uncounted: None, top: int, modulus: int) -> None:
    sets = all_but_one(modulus + 1, 100)
    true = np.random.default_rng(modulus).integers(0, top + 1, 1 + 100 * (modulus + 1))
    found = likely(told(true, sets, top))
    assert found.leverage[found.known.atoms.labels[0]] < 0.01
    assert marked(found, len(true)) == [0]


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
def test_who_is_not_marked_is_hardly_ever_riskier_than_the_formula_says(
    monkeypatch: pytest.MonkeyPatch, count: int, sums: int, before: float
) -> None:
    monkeypatch.setattr(counting, "STEPS", 4_000_000)
    monkeypatch.setattr(counting, "ALL_STEPS", 10**9)
    monkeypatch.setattr(counting, "LITTLE", -1.0)
    too_low, by_formula = list[float](), list[float]()
    for seed in range(40):
        found = likely(cells(seed, 1, count, sums, 30))
        exact, counted = found.exact
        for atom in np.flatnonzero(counted & (found.bits >= 10)).tolist():
            off = risk(exact[atom]) - max(risk(each.formula[atom]) for each in (found, found.straight))
            by_formula.append(off)
            if not found.tangled[atom]:
                too_low.append(off)
    assert max(by_formula) > before
    assert max(too_low) < 0.1
    assert np.quantile(too_low, 0.98) < 0.06


@pytest.mark.parametrize("share", [0.5, 0.05])
@pytest.mark.parametrize("top", [1, 4])
def test_of_tables_of_margins_nobody_is_marked(share: float, top: int) -> None:
    """But a cell in which nearly everybody has nothing is no bell: of one or two units in 25 records."""
    chance = np.random.default_rng(0)
    key, true = chance.integers(0, [6, 5, 4], (900, 3)), chance.binomial(top, share, 900)
    sets = [np.flatnonzero(key[:, d] == v) for d in range(3) for v in range(6)]
    sets += [np.flatnonzero((key[:, 0] == v) & (key[:, 1] == w)) for v in range(6) for w in range(5)]
    found = likely(told(true, [some.tolist() for some in sets if len(some)], top))
    sparse = [some for some in sets if 0 < true[some].sum() <= 2 and top > 1]
    assert set(np.flatnonzero(found.tangled[found.known.atoms.labels])) == {
        *map(int, np.concatenate([[], *sparse]))
    }


def test_a_residue_is_seen_among_people_who_are_all_alone(uncounted: None) -> None:
    chance = np.random.default_rng(3)
    true = chance.integers(0, 2, 601)
    sets = all_but_one(3, 200)
    # every cell is one person: nobody is like anybody else
    sets += [np.flatnonzero(chance.random(601) < 0.5).tolist() for _ in range(25)]
    found = likely(told(true, sets, 1))
    assert found.known.count > 590
    assert marked(found, 601) == [0]


@pytest.mark.parametrize("others", [1, 2, 6])
def test_some_more_than_somebody_and_an_insider_hides_a_residue(uncounted: None, others: int) -> None:
    true = np.random.default_rng(5).integers(0, 2, others + 600)
    true[others:] = np.tile([0, 1], 300)
    found = likely(told(true, all_but_one(3, 200, others), 1))
    assert marked(found, len(true)) == (list(range(others)) if others <= 2 else [])


def characters(seed: int) -> Characters:
    """Of 60 people of five values in a dozen sums."""
    chance = np.random.default_rng(seed)
    true = np.minimum(chance.exponential(1.0, 60), 4).astype(int)
    return likely(
        told(true, [np.flatnonzero(chance.random(60) < 0.4).tolist() for _ in range(12)], 4)
    ).characters


def test_what_some_columns_hide_more_of_them_hide_too() -> None:
    of_all = characters(0)
    columns = np.random.default_rng(0).permutation(of_all.observed.people)[:30]
    costs = of_all.costs(columns)
    assert costs.max() <= NOTHING
    hidden = [of_all.without_two(costs[:, :n], columns[:n]) for n in range(1, 31)]
    assert (np.diff(hidden, axis=0) >= -1e-9).all()


def test_an_end_tells_no_residue_and_weights_do(uncounted: None) -> None:
    true = np.random.default_rng(0).integers(0, 2, 301)
    exact, last = all_but_one(3, 100)[:2], all_but_one(3, 100)[2]
    system = told(true, exact, 1)
    value = int(true[last].sum())
    system.add_range(last, value - 63, value + 64)
    assert marked(likely(system), 301) == []
    weighted = AnsweredSystem(301, 0, 1, 1)
    weights = np.append(1, np.full(300, 2))
    weighted.add_sum(range(301), int(true @ weights), weights.tolist())
    assert marked(likely(weighted), 301) == [0]


def test_a_combination_that_vanishes_is_divided(uncounted: None) -> None:
    # the sums over P and Q and over P less Q add up to twice P: so P, which is X and twice A, is known
    X, A, B = [0], list(range(1, 101)), list(range(101, 202))
    weights = np.concatenate([[1], np.full(100, 2)])
    true = np.random.default_rng(1).integers(0, 2, 202)
    system = AnsweredSystem(202, 0, 1, 1)
    for sign in (1, -1):
        coefficients = np.append(weights, np.full(101, sign)).tolist()
        system.add_sum(X + A + B, int(true @ coefficients), coefficients)
    assert marked(likely(system), 202) == [0]


def test_a_small_group_with_even_weights_is_no_residue(uncounted: None) -> None:
    # that 2 x + 2 y is even tells nothing; that x + y is 1 leverage tells
    true = np.random.default_rng(0).integers(0, 2, 302)
    true[:2] = 0, 1
    system = told(true, [range(2, 202), range(102, 302)], 1)
    system.add_sum([0, 1], 2, [2, 2])
    assert marked(likely(system), 302) == []


def test_nothing_of_answers_is_in_a_search() -> None:
    found = [likely(told(np.full(301, value), all_but_one(3, 100), 1)) for value in (0, 1)]
    one, other = (residues.Search.of(each.fit.observed, np.ones(4)) for each in found)
    assert residues.kept(one) is residues.kept(other)


def test_wide_ends_of_one_sum_share_a_search_and_hide_no_residue_of_others(uncounted: None) -> None:
    sets = all_but_one(26, 100)
    true = np.random.default_rng(25).integers(0, 25, 2_601)
    everybody, searches = np.arange(0, 2_601, 2), list[int]()
    for away in (2_000, 4_000):
        system = told(true, sets, 24)
        value = int(true[everybody].sum()) + away
        end = system.at_most(system.query("sum", everybody), value)
        assert end is not None
        system.accept([end.answered(value)])
        found = likely(system)
        assert found.fit.observed.high[-1] >= WIDE
        assert marked(found, 2_601) == [0]
        searches.append(residues.kept.cache_info().misses)
    assert searches[0] == searches[1]


def test_where_sums_cannot_be_brought_into_form_nothing_is_shown(
    uncounted: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(residues, "MOST_ROUNDS", 0)
    monkeypatch.setattr(residues, "_behind", residues._behind.__wrapped__)
    true = np.random.default_rng(2).integers(0, 2, 601)
    found = likely(told(true, all_but_one(3, 200), 1))
    assert not found.reliable[found.known.protected].any()


# Decisions


def judged(system: AnsweredSystem, members: Sequence[int], value: int, insiders: int):
    standard = LikelyStandard(Limit(risk=0.5), Domain(0, int(system.grid.top), 1), "members", insiders)
    question = LikelyKnowledge(system, standard).question([system.query("sum", np.array(members))])
    return question.judge((value,), Allowance(10**9)), question


@pytest.mark.parametrize("insiders", [0, 1])
@pytest.mark.parametrize("others", [1, 2])
def test_the_last_sum_of_three_is_refused_whatever_its_answer(
    uncounted: None, insiders: int, others: int
) -> None:
    true = np.random.default_rng(2).integers(0, 2, 600 + others)
    sets = all_but_one(3, 200, others)
    system = told(true, sets[:2], 1)
    for more in range(4):
        found, question = judged(system, sets[2], int(true[sets[2]].sum()) + more, insiders)
        assert not found.safe
        assert not question.smooth


@pytest.mark.parametrize("insiders", [0, 1])
def test_of_six_people_left_the_last_sum_is_told(uncounted: None, insiders: int) -> None:
    true = np.random.default_rng(5).integers(0, 2, 606)
    true[6:] = np.tile([0, 1], 300)
    sets = all_but_one(3, 200, 6)
    assert judged(told(true, sets[:2], 1), sets[2], int(true[sets[2]].sum()), insiders)[0].safe


def test_of_sums_that_leave_nobody_answers_are_judged_as_before() -> None:
    true = np.random.default_rng(2).integers(0, 2, 600)
    system = told(true, [range(300)], 1)
    found, question = judged(system, range(150, 450), 150, 1)
    assert found.safe
    assert question.smooth


# Elimination


def test_what_counts_as_unimodular_has_a_determinant_of_one() -> None:
    chance, seen = np.random.default_rng(0), 0
    for _ in range(400):
        count = int(chance.integers(1, 8))
        square = chance.integers(-1, 2, (count, count)).astype(float)
        found = residues._is_unimodular(square)
        assert found == (round(abs(float(np.linalg.det(square)))) == 1)
        seen += found
    assert seen > 40


@pytest.mark.parametrize(
    "square",
    [[[2]], [[1, 1], [1, 1]], [[1, 1], [1, -1]], [[1, 1, 0], [1, 0, 1], [0, 1, 1]], [[1, 2**40], [2**40, 1]]],
)
def test_others_are_not(square: list[list[int]]) -> None:
    assert not residues._is_unimodular(np.array(square, dtype=float))


@given(st.integers(0, 10**9), st.sampled_from([2, 3, 7, 524_309]))
def test_rows_are_of_the_sums_and_nothing_before_their_pivots(seed: int, prime: int) -> None:
    chance = np.random.default_rng(seed)
    rows, columns = int(chance.integers(2, 24)), int(chance.integers(30, 300))
    plain = chance.integers(-1, 2, (rows, columns)) * (chance.random((rows, columns)) < 0.3)
    for row in range(1, rows):  # many hang on others but for a column or two
        if chance.random() < 0.5:
            plain[row] = plain[row - 1]
            plain[row, chance.integers(0, columns, int(chance.integers(0, 3)))] += 1
    order = chance.permutation(columns)
    pivots, weights = eliminated(scipy.sparse.csc_array(plain.astype(np.float64)), order, prime)
    found = (weights @ plain % prime)[:, order]
    some = pivots < columns
    assert len(np.unique(pivots[some])) == some.sum()
    assert [*pivots] == [int(np.flatnonzero(row)[0]) if row.any() else columns for row in found]
    determinant = eliminated(scipy.sparse.csc_array(weights.astype(np.float64)), np.arange(rows), prime)[0]
    assert (determinant < rows).all()
    some = np.flatnonzero(some)[np.argsort(pivots[some])]
    matrix = scipy.sparse.csc_array(plain.astype(np.float64))
    if prime < 2**7 and len(some):
        reduced = residues._reduced(weights[some], matrix, order[pivots[some]], prime)
        assert (reduced[:, order[pivots[some]]] == np.eye(len(some))).all()
