"""What answers would make likely: against every table listed, and against the figures of reports."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from cae_sql.domain import Domain
from cae_sql.errors import InvalidInput
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.query import Kind, Query
from cae_sql.inference.posterior import components
from cae_sql.inference.posterior.judging import UNKNOWN, ModelKnowledge, ModelQuestion, ModelStandard
from cae_sql.inference.posterior.marginals import about_everybody, marginals, model_risks
from cae_sql.inference.system import AnsweredSystem
from cae_sql.measure import cae_area, cae_entropy
from cae_sql.risk import Limit
from tests.cae_sql.inference.posterior.tables import Listed, listed

HALF = Limit(risk=0.5)


def later() -> Allowance:
    return Allowance()


def some_queries(small: Listed, seed: int) -> tuple[list[Query], tuple[int, ...], np.ndarray]:
    """One to three queries, their answers in one of the tables, and the tables that agree with these."""
    chance = np.random.default_rng(seed)
    table, tables = small.tables[chance.integers(len(small.tables))], small.tables
    queries, values = list[Query](), list[int]()
    for _ in range(int(chance.integers(1, 4))):
        members = np.flatnonzero(chance.random(small.system.size) < 0.6)
        if len(members):
            kind: Kind = chance.choice(["sum", "sum", "max", "min"])
            query = small.system.query(kind, members)
            queries.append(query)
            values.append(int(query.of(table)))
            tables = tables[query.of(tables) == values[-1]]
    return queries, tuple(values), tables


def with_answers(system: AnsweredSystem, queries: list[Query], values: tuple[int, ...]) -> AnsweredSystem:
    after = AnsweredSystem(system.size, 0, int(system.grid.top), 1, prior=system.prior)
    after.accept([*system.answers, *(q.answered(v) for q, v in zip(queries, values, strict=True))])
    return after


def spread(tables: np.ndarray, record: int, top: int) -> np.ndarray:
    return np.bincount(tables[:, record], minlength=top + 1) / len(tables)


# Against all tables


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_exact_is_judged_by_the_share_of_all_tables_that_agree(seed: int, other: int) -> None:
    small = listed(seed)
    queries, values, tables = some_queries(small, other)
    assume(queries)
    domain, grid = Domain(0, small.top, 1), np.arange(small.top + 1)
    standard = ModelStandard(Limit(risk=0.5, epsilon=1, min_entropy=0.3), domain)
    found = ModelKnowledge(small.system, standard).question(queries).judge(values, later())
    everybody = np.array(list(itertools.product(grid, repeat=small.system.size)))
    after = with_answers(small.system, queries, values).solved
    for told in about_everybody(after):
        everybody = everybody[told.of(everybody) == told.value]
    base = cae_area(grid, spread(everybody, 0, small.top))
    each = [spread(tables, record, small.top) for record in range(small.system.size)]
    area = min(cae_area(grid, p) for p in each)
    risk = 1.0 if base <= 1e-12 else 1 - area / base
    assert found.risk == pytest.approx(risk, abs=1e-9)
    kept = risk <= 0.5 + 1e-9 and min(cae_entropy(grid, p, 1) for p in each) >= 0.3 - 1e-9
    assert found.safe == kept


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 10**6))
def test_where_all_records_keep_the_limit_classes_do(seed: int, other: int, cut: int) -> None:
    small = listed(seed)
    queries, values, _ = some_queries(small, other)
    assume(queries)
    limit, domain = Limit(risk=0.4, epsilon=1, min_entropy=0.5), Domain(0, small.top, 1)
    found = ModelKnowledge(small.system, ModelStandard(limit, domain)).question(queries)
    if not found.judge(values, later()).safe:
        return
    labels = np.random.default_rng(cut).integers(0, 3, small.system.size)
    figures = model_risks(with_answers(small.system, queries, values), labels, domain, epsilon=1)
    assert (figures.risk <= 0.4 + 1e-8).all()
    assert figures.entropy_at_epsilon is not None
    assert (figures.entropy_at_epsilon >= 0.5 - 1e-8).all()


# Against the figures of reports


@given(st.integers(0, 10**9), st.integers(0, 10**9))
@example(309638, 0)  # nothing is left open, of the baseline either
@example(536170, 536170)  # with a value known the other sums hang on each other
def test_the_worst_risk_is_that_of_a_report_on_the_same_answers(seed: int, other: int) -> None:
    small = listed(seed)
    queries, values, _ = some_queries(small, other)
    assume(queries)
    domain = Domain(0, small.top, 1)
    found = ModelKnowledge(small.system, ModelStandard(HALF, domain)).question(queries)
    after = with_answers(small.system, queries, values)
    report = model_risks(after, np.arange(small.system.size), domain)
    assert found.judge(values, later()).risk == pytest.approx(report.worst_risk.max(), abs=1e-7)


# What is shown, and what is kept


def test_three_salaries_of_average_200_lose_a_fraction_of_a_bit() -> None:
    system, domain = AnsweredSystem(3, 100, 300, 100), Domain(100, 300, 100)
    query = system.query("sum", np.arange(3))
    for bits, safe in ((1.55, True), (1.56, False)):
        standard = ModelStandard(Limit(epsilon=0, min_entropy=bits), domain)
        found = ModelKnowledge(system, standard).question([query]).judge((3,), later())
        assert found.safe is safe
        assert found.risk == 0  # it is about everybody


def test_an_estimate_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(components, "MOST_COUNTED", 0)
    system = AnsweredSystem(6, 0, 4, 1)
    query = system.query("sum", np.arange(4))
    past = ModelKnowledge(system, ModelStandard(Limit(risk=0.99), Domain(0, 4, 1)))
    assert past.question([query]).judge((8,), later()) == UNKNOWN


def test_what_is_late_shows_nothing_and_may_be_tried_again() -> None:
    system = AnsweredSystem(6, 0, 4, 1)
    question = ModelKnowledge(system, ModelStandard(HALF, Domain(0, 4, 1))).question(
        [system.query("sum", np.arange(4))]
    )
    assert question.judge((8,), Allowance(0)) == UNKNOWN
    assert question.judge((8,), later()).safe


def test_too_many_probabilities_to_hold_show_nothing() -> None:
    system = AnsweredSystem(60, 0, 10**6, 1)
    past = ModelKnowledge(system, ModelStandard(HALF, Domain(0, 10**6, 1)))
    queries = [system.query("sum", np.array([record])) for record in range(50)]
    assert past.question(queries).judge((5,) * 50, later()) == UNKNOWN


def test_true_answers_leave_nothing_behind_for_later_judgements() -> None:
    system = AnsweredSystem(9, 0, 4, 1)
    system.add_sum([0, 1, 2], 5)
    queries = [system.query("sum", np.arange(2, 7)), system.query("max", np.arange(6))]

    def asked() -> ModelQuestion:
        return ModelKnowledge(system, ModelStandard(HALF, Domain(0, 4, 1))).question(queries)

    question = asked()
    question.judge((12, 4), later(), keep=False)
    for values in ((9, 3), (12, 4), (10, 4)):
        mine, fresh = Allowance(10**6), Allowance(10**6)
        assert question.judge(values, mine) == asked().judge(values, fresh)
        assert mine.steps == fresh.steps < 10**6


def test_a_knowledge_is_of_its_systems_answers_alone() -> None:
    system = AnsweredSystem(5, 0, 9, 1)
    past = ModelKnowledge(system, ModelStandard(HALF, Domain(0, 9, 1)))
    assert past.current
    system.add_sum([0, 1, 2], 12)
    assert not past.current


# Wrong arguments


@pytest.mark.parametrize("record", [-1, 3, 10**30, 1.0, "0", None, True, [0], math.nan])
def test_a_record_that_is_none_is_one_clear_error(record: object) -> None:
    found = marginals(AnsweredSystem(3, 0, 9, 1))
    with pytest.raises(InvalidInput, match="record"):
        found.of(record)  # type: ignore[arg-type]
    assert found.of(np.int64(2)).sum() == pytest.approx(1)


def test_arguments_of_other_types_are_one_clear_error() -> None:
    system, domain = AnsweredSystem(3, 0, 9, 1), Domain(0, 9, 1)
    with pytest.raises(InvalidInput, match="system must be an AnsweredSystem, not int"):
        marginals(3)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="domain must be a Domain, not tuple"):
        marginals(system, (0, 9, 1))  # type: ignore[arg-type]
    for labels in ("abc", [0.0, 1.0, 2.0], [[0], [1], [2]], None, [True, False, True]):
        with pytest.raises(InvalidInput, match="labels must be 3 whole numbers"):
            model_risks(system, labels, domain)  # type: ignore[arg-type]
    for epsilon in ("x", -1, math.nan, [1]):
        with pytest.raises(InvalidInput, match="epsilon"):
            model_risks(system, [0, 0, 0], domain, epsilon)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="domain must be a Domain, not NoneType"):
        model_risks(system, [0, 0, 0], None)  # type: ignore[arg-type]
