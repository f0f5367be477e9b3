"""Query restriction: intervals against enumeration, SciPy and the gate's engine; Algorithm 2 literally."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from cae_sql import AnsweredSystem, Domain, InconsistentAnswers, InvalidInput
from cae_sql.releases import answered, answered_beliefs, query_sets, restricted, restricted_beliefs
from cae_sql.releases.windows import intervals
from tests.cae_sql.releases.small_tables import DOMAIN, KNOWN, matching, tables


def sets_of(size: int, half: int) -> list[list[int]]:
    """The query sets of records that stand in order."""
    return [list(range(k * half, (k + 2) * half)) for k in range(size // half - 1)]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=7), st.integers(1, 3))
def test_intervals_are_what_all_tables_on_the_grid_that_agree_span(values, half):
    sets = sets_of(len(values), half)
    answers = [sum(values[i] for i in members) for members in sets]
    agree = np.array([
        table for table in product(range(4), repeat=len(values))
        if [sum(table[i] for i in members) for members in sets] == answers
    ])  # fmt: skip
    lower, upper = intervals(np.array(values), half, 3)
    for record, (low, high) in enumerate(zip(lower, upper, strict=True)):
        assert sorted(set(agree[:, record])) == list(range(low, high + 1)), "and every value between is taken"


@given(st.integers(2, 30), st.integers(1, 5), st.integers(0, 2**32), st.sampled_from([1, 4, 24]))
def test_intervals_are_those_of_the_gates_engine(size, half, seed, top):
    values = np.random.default_rng(seed).integers(0, top + 1, size)
    system = AnsweredSystem(size, 0, top, 1)
    for members in sets_of(size, half):
        system.add_sum(members, int(values[members].sum()))
    found = system.bounds()
    lower, upper = intervals(values, half, top)
    assert lower.tolist() == found.lower.tolist()
    assert upper.tolist() == found.upper.tolist()


@given(st.integers(2, 20), st.integers(1, 4), st.integers(0, 2**32))
def test_intervals_are_those_of_two_linear_programs_a_record(size, half, seed):
    values = np.random.default_rng(seed).choice([0, 1, 5, 24], size)
    sets = sets_of(size, half)
    lower, upper = intervals(values, half, 24)
    if not sets:
        assert (lower == 0).all()
        assert (upper == 24).all()
        return
    A = np.zeros((len(sets), size))
    for row, members in enumerate(sets):
        A[row, members] = 1
    for record in range(size):
        cost = np.eye(size)[record]
        least = linprog(cost, A_eq=A, b_eq=A @ values, bounds=(0, 24)).fun
        most = -linprog(-cost, A_eq=A, b_eq=A @ values, bounds=(0, 24)).fun
        assert lower[record] == pytest.approx(least, abs=1e-7)
        assert upper[record] == pytest.approx(most, abs=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("size", [4, 8, 16])
def test_the_whole_table_of_the_paper_gets_the_engines_intervals(shared_data, size):
    table = pd.read_csv(shared_data / "microdata" / "acs2011_us_paperlike.csv")
    domain, known = Domain(10, 250, 10), ["age", "sex", "education", "industry"]
    quick = restricted(table, "salary", known, domain, size, seed=3)
    engine = answered(table, "salary", known, domain, query_sets(len(table), size, seed=3))
    assert quick.equals(engine)


@given(tables(), KNOWN, st.sampled_from([2, 4]), st.integers(0, 100))
def test_probabilities_are_algorithm_2(table, known, size, seed):
    if size > len(table):
        return
    found = restricted_beliefs(table, "pay", known, DOMAIN, size, seed)
    system = AnsweredSystem(len(table), 10, 50)
    for members in query_sets(len(table), size, seed):
        system.add_sum(members, int(table.pay.to_numpy()[members].sum()))
    bounds = system.bounds()
    for row in range(len(found.matches)):
        there = matching(table, known, found.known.iloc[row]).index
        believed = np.zeros(DOMAIN.count)
        for record in there:  # the paper's loop, L and U in steps of the domain
            low, high = round(bounds.lower[record] / 10) - 1, round(bounds.upper[record] / 10) - 1
            for place in range(low, high + 1):
                believed[place] += 1 / (high - low + 1) / len(there)
        assert found.probabilities[row] == pytest.approx(believed, abs=1e-12)
        assert found.probabilities[row].sum() == pytest.approx(1)


def test_no_answers_tell_nothing_and_an_answer_about_one_tells_all():
    table = pd.DataFrame({"pay": [10, 20, 50], "age": [1, 2, 3]})
    assert answered(table, "pay", ["age"], DOMAIN, []).risk.tolist() == [0, 0, 0]
    frame = answered(table, "pay", ["age"], DOMAIN, [[0, 1, 2], [1, 2], np.array([False, True, False])])
    assert frame.risk.tolist() == [1, 1, 1]


def test_with_certified_values_a_value_that_only_whole_steps_settle_counts_as_known():
    table = pd.DataFrame({"pay": [20, 10, 10, 10], "id": range(4)})
    domain = Domain(10, 20, 10)
    sets = [[0, 1, 2], [0, 1, 3], [0, 2, 3]]
    assert answered(table, "pay", ["id"], domain, sets).risk[0] == 0  # by its interval it can be either
    assert answered(table, "pay", ["id"], domain, sets, certified=True).risk.tolist() == [1] * 4


def test_query_sets_are_the_papers():
    sets = query_sets(13, 4, seed=5)
    assert len(sets) == 2 * 13 // 4 - 1
    order = [*sets[0], *(record for members in sets[1:] for record in members[2:])]
    assert sorted(order) == sorted(set(order))
    assert all(set(a[2:]) == set(b[:2]) for a, b in pairwise(sets))


def test_values_off_the_grid_are_taken_exactly():
    table = pd.DataFrame({"pay": [10.25, 20.5, 49.75, 33.1], "age": [1, 2, 3, 4]})
    quick = restricted_beliefs(table, "pay", ["age"], DOMAIN, 2, seed=1)
    engine = answered_beliefs(table, "pay", ["age"], DOMAIN, query_sets(4, 2, seed=1))
    assert quick.probabilities.tolist() == engine.probabilities.tolist()


def test_records_that_no_query_covers_stay_open():
    table = pd.DataFrame({"pay": [10, 20, 30, 40, 50], "key": range(5)})
    covered = np.concatenate(query_sets(5, 4, seed=2))
    frame = restricted(table, "pay", ["key"], DOMAIN, 4, seed=2)
    left = [key for key in range(5) if key not in covered]
    assert len(left) == 1
    assert frame.risk[left[0]] == 0


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (3, "must be even and at least 2, not 3"),
        (0, "must be even and at least 2, not 0"),
        (6, "query_set_size is 6, but there are 5 records"),
        (2.0, "must be a whole number, not 2.0"),
        (True, "must be a whole number"),
    ],
)
def test_a_query_set_size_that_cannot_be_is_an_error(size, message):
    table = pd.DataFrame({"pay": [10, 20, 30, 40, 50]})
    with pytest.raises(InvalidInput, match=message):
        restricted(table, "pay", [], DOMAIN, size, seed=0)


@pytest.mark.parametrize("members", [[], [0, 9], [0, 0], [True, False], [0.5]])
def test_a_query_set_that_cannot_be_is_an_error(members):
    table = pd.DataFrame({"pay": [10, 20, 30]})
    with pytest.raises((InvalidInput, InconsistentAnswers)):
        answered(table, "pay", [], DOMAIN, [members])


def test_what_is_likely_is_the_mean_of_the_matching_records_posteriors():
    table = pd.DataFrame({"pay": [10, 20, 50, 30, 40, 20, 30, 30], "age": [1, 2, 1, 1, 2, 2, 1, 1]})
    sets = [[0, 1, 2], [2, 3, 4], [0, 3, 5]]
    found = answered_beliefs(table, "pay", ["age"], DOMAIN, sets, likely=True)
    # the oracle: all tables of the grid that have the same sums
    tables = np.array(list(product(range(10, 51, 10), repeat=6)))
    values = table.pay.to_numpy()
    for members in sets:
        tables = tables[tables[:, members].sum(axis=1) == values[members].sum()]
    posterior = np.array([(tables == value).mean(axis=0) for value in range(10, 51, 10)]).T
    posterior = np.vstack([posterior, np.full((2, 5), 0.2)])  # whom no sum is about
    for row, age in enumerate(found.known.age):
        assert found.probabilities[row] == pytest.approx(posterior[table.age == age].mean(axis=0), abs=1e-9)


def test_what_is_possible_and_what_is_likely_are_two_readings():
    table = pd.DataFrame({"pay": [20, 10, 10, 10], "id": range(4)})
    with pytest.raises(InvalidInput, match="choose one"):
        answered(table, "pay", ["id"], DOMAIN, [], certified=True, likely=True)
