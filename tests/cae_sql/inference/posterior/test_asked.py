"""Hypothetical answers, judged from what is kept: the same as worked out anew."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql.inference.facts.query import Query
from cae_sql.inference.posterior.components import Component
from cae_sql.inference.posterior.likely import Asked
from cae_sql.inference.system import AnsweredSystem
from tests.cae_sql.inference.posterior.oracles import likely, variation


def grouped(seed: int, size: int = 400, top: int = 24) -> tuple[AnsweredSystem, np.ndarray]:
    """Sums by two keys."""
    chance = np.random.default_rng(seed)
    system, true = AnsweredSystem(size, 0, top, 1), chance.integers(0, top + 1, size)
    for key in (chance.integers(0, 6, size), chance.integers(0, 4, size)):
        for level in np.unique(key):
            query = system.query("sum", np.flatnonzero(key == level))
            system.accept([query.answered(int(query.of(true)))])
    return system, true


def anew(system: AnsweredSystem, queries: list[Query], values: list[int]) -> AnsweredSystem:
    after = AnsweredSystem(system.size, 0, int(system.grid.top), 1)
    after.accept([*system.answers, *(q.answered(v) for q, v in zip(queries, values, strict=True))])
    return after


def compared(system: AnsweredSystem, queries: list[Query], values: list[int]) -> tuple[float, float]:
    """Greatest difference of leverage, and total variation, from what is worked out anew."""
    found = Asked(likely(system), queries).given(values)
    after = likely(anew(system, queries, values))
    one, other = found.known.atoms.labels[: system.size], after.known.atoms.labels[: system.size]
    off = np.abs(found.leverage[one] - after.leverage[other]).max()
    return float(off), max(variation(found.rows[a], after.rows[b]) for a, b in zip(one, other, strict=True))


@given(st.integers(0, 10**9), st.integers(1, 3), st.integers(-40, 40))
def test_of_hypothetical_sums_it_is_what_is_worked_out_anew(seed: int, count: int, away: int) -> None:
    system, true = grouped(seed % 50)
    chance = np.random.default_rng(seed)
    queries = [
        system.query("sum", np.flatnonzero(chance.random(400) < chance.uniform(0.1, 0.6)))
        for _ in range(count)
    ]
    leverage, off = compared(system, queries, [int(q.of(true)) + away for q in queries])
    assert leverage < 0.01
    assert off < 0.01


def test_a_far_answer_is_worked_out_anew() -> None:
    system, _ = grouped(2)
    query = system.query("sum", np.arange(30))
    assert max(compared(system, [query], [30 * 23])) < 1e-3


def test_a_sum_that_follows_from_others_changes_nothing() -> None:
    system, true = grouped(3)
    query = system.query("sum", np.arange(400))
    assert max(compared(system, [query], [int(true.sum())])) < 1e-6


def test_a_difference_of_one_person_is_seen() -> None:
    system, true = grouped(4)
    system.add_sum(range(300), int(true[:300].sum()))
    query = system.query("sum", np.arange(1, 300))
    found = Asked(likely(system), [query]).given([int(query.of(true))])
    atom = found.known.atoms.labels[0]
    assert found.leverage[atom] == pytest.approx(1, abs=1e-6)
    assert found.rows[atom][true[0]] == pytest.approx(1, abs=1e-6)


def test_ends_and_ranges_are_asked_with_their_slack() -> None:
    system, true = grouped(5)
    plain = system.query("sum", np.arange(50, 110))
    true_sum = int(plain.of(true))
    for told, value in (
        (system.at_most(plain, true_sum + 1_000), true_sum + 1_000),
        (system.at_least(plain, 200), 200),
        (system.within(plain, true_sum - 20, true_sum + 20)[0], true_sum + 20),  # type: ignore[index]
    ):
        if told is not None:
            assert max(compared(system, [told], [value])) < 0.01


@given(st.integers(0, 10**9), st.integers(-60, 60), st.booleans())
def test_of_ends_it_is_what_is_worked_out_anew(seed: int, away: int, below: bool) -> None:
    system, true = grouped(seed % 50)
    chance = np.random.default_rng(seed)
    plain = system.query("sum", np.flatnonzero(chance.random(400) < chance.uniform(0.1, 0.6)))
    value = int(plain.of(true)) + away
    end = system.at_most(plain, value) if below else system.at_least(plain, value)
    assert end is not None
    leverage, off = compared(system, [end], [value])
    assert leverage < 0.01
    assert off < 0.01


@given(st.integers(0, 10**9), st.lists(st.sampled_from(["value", "low", "high"]), min_size=2, max_size=5))
def test_of_several_ends_asked_together_it_is_what_is_worked_out_anew(seed: int, told: list[str]) -> None:
    """Each with its own slack: of two ends the upper one once had what the lower one left open."""
    chance = np.random.default_rng(seed)
    sizes = chance.integers(8, 60, len(told))
    starts, system = np.cumsum(sizes) - sizes, AnsweredSystem(400, 0, 24, 1)
    true, queries, values = chance.integers(0, 25, 400), list[Query](), list[int]()
    for kind, start, size in zip(told, starts.tolist(), sizes.tolist(), strict=True):
        plain = system.query("sum", np.arange(start, start + size))
        value = int(plain.of(true))
        ends = {"low": system.at_most, "high": system.at_least}
        query = plain if kind == "value" else ends[kind](plain, value, queries)
        assert query is not None
        queries.append(query)
        values.append(value)
    leverage, off = compared(system, queries, values)
    assert leverage < 0.01
    assert off < 0.03  # of eight people variances may have changed by up to `fit.CHANGED`


def test_a_range_of_a_sum_that_was_told_is_one_row_with_it() -> None:
    system, true = grouped(6)
    system.add_range(range(40), int(true[:40].sum()) - 30, int(true[:40].sum()) + 30)
    assert max(compared(system, [system.query("sum", np.arange(40))], [int(true[:40].sum())])) < 1e-6


def test_a_sum_and_a_range_of_a_statistic_are_asked_together() -> None:
    system, true = grouped(8)
    plain = system.query("sum", np.arange(50, 200))
    weights = np.arange(1, 151) % 5 + 1
    observed = Query(kind="about", members=np.arange(100, 250), coefficients=weights, part=Fraction(400))
    value = int(plain.of(true))
    found = Asked(likely(system), [plain, observed]).given([value, 0])
    after = anew(system, [plain], [value])
    after.observed.append(observed)
    one, other = found.known.atoms.labels[:400], likely(after).known.atoms.labels[:400]
    assert found.leverage[one] == pytest.approx(likely(after).leverage[other], abs=0.01)
    assert found.leverage[one[120]] > likely(anew(system, [plain], [value])).leverage.max()


def test_extremes_change_boxes_and_are_worked_out_anew() -> None:
    system, true = grouped(7)
    true[:20] = np.minimum(true[:20], 20)
    true[0] = 20
    system, _ = AnsweredSystem(400, 0, 24, 1), None
    system.add_sum(range(400), int(true.sum()))
    queries = [system.query("max", np.arange(20)), system.query("sum", np.arange(10, 90))]
    assert max(compared(system, queries, [20, int(true[10:90].sum())])) < 1e-6


def test_what_was_counted_of_parts_that_a_question_leaves_alone_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the next question too: each component is counted once, and each answer to a question."""
    counted, count = list[int](), Component.rows
    monkeypatch.setattr(
        Component, "rows", lambda part, *args: counted.append(len(part.low)) or count(part, *args)
    )
    system = AnsweredSystem(20, 0, 9, 1)
    system.add_sum([0, 1, 2], 12)
    past = likely(system)
    for members in (np.arange(10, 14), np.arange(5, 8)):
        question = Asked(past, [system.query("sum", members)])
        for value in (10, 11, 12, 11):
            assert question.given([value]).exact[1].all()
    assert len(counted) == 1 + 3 + 2  # three records that have 12 together were counted before
    for value in (10, 11, 12):
        assert max(compared(system, question.queries, [value])) < 1e-9
