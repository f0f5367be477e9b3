"""What past answers leave of a statistic anyway is told where nothing else can be, and cuts rungs short."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest

from auditor.deciding import statistics
from auditor.deciding.cases import Case
from auditor.deciding.decide import decide
from auditor.deciding.rules import Rules
from auditor.deciding.statistics import StatisticLadder
from auditor.told import Told
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.query import Query
from cae_sql.inference.standard import Effort, Standard
from cae_sql.inference.system import AnsweredSystem

RULES = Rules(True, 20, 0.05, 60.0)
EVERYBODY = np.arange(40)
MEDIAN = Query(kind="quantile", members=EVERYBODY, ranks=(19, 20), part=Fraction(1, 2))
MANY = Query(kind="count", members=EVERYBODY, region=((10, 20),))
FEW = Query(kind="count", members=EVERYBODY, region=((2, 20),))
BY_GROUP = np.where(EVERYBODY < 10, 3, 1)
WEIGHTED = Query(kind="weighted", members=EVERYBODY, coefficients=BY_GROUP)
SPREAD = Query(kind="spread", members=EVERYBODY)


def case(query: Query, need: int, looked: list[Query] | None = None) -> Case:
    """Of forty people between 0 and 20, with 5 on average, the first ten with 2; who looks at the truth?"""
    system = AnsweredSystem(40, 0, 20, 1)
    system.add_sum(range(40), 200)
    system.add_sum(range(10), 20)

    def truth(queries: Sequence[Query]) -> Sequence[int]:
        assert looked is not None, "the true answer is looked at"
        looked.extend(queries)
        return [0 for _ in queries]

    return Case(system, [query], Standard(need, insiders=1), truth, Effort())


NEED_ALL = 20
"""Nobody keeps the whole domain once there is a sum: no cell can be told."""


@pytest.mark.parametrize(
    ("query", "told"),
    [
        (MEDIAN, Told(0, 10)),
        (MANY, Told(0, 20)),
        (WEIGHTED, Told(240, 240)),
        (SPREAD, Told(120, 3000)),
    ],
    ids=lambda each: each.kind if isinstance(each, Query) else "",
)
def test_where_no_cell_can_be_told_what_is_known_anyway_is(query: Query, told: Told[int]) -> None:
    """Nobody looks at the true answer, and nothing is learned."""
    asked = case(query, NEED_ALL)
    outcome = decide([asked], RULES, ranges=True)
    (part,) = outcome.parts
    if query.kind == "spread":  # of 4,000 that the domain allows it is too much
        assert outcome.verdict == "risk"
        assert StatisticLadder(asked, RULES).known == (told.least, told.most)
        return
    assert outcome.verdict == "safe"
    assert part.recorded[0].told == told
    assert part.learned is None
    assert part.kept is None


def test_what_says_hardly_anything_is_refused() -> None:
    asked = case(FEW, NEED_ALL)
    assert StatisticLadder(asked, RULES).known == (9, 40)
    assert decide([asked], RULES, ranges=True).verdict == "risk"


def test_what_is_known_of_a_covariance_is_told_where_it_is_a_quarter_at_most() -> None:
    narrow, wide = (np.where(EVERYBODY < 30, 1, weight) for weight in (2, 9))
    for weights, verdict in ((narrow, "safe"), (wide, "risk")):
        query = Query(kind="weighted", members=EVERYBODY, coefficients=weights.astype(np.int64))
        asked = case(query, NEED_ALL)
        low, high = StatisticLadder(asked, RULES).known
        assert (4 * (high - low) <= 20 * weights.sum()) == (verdict == "safe")
        assert decide([asked], RULES, ranges=True).verdict == verdict


def test_a_rung_of_which_one_cell_is_left_is_not_on_the_ladder() -> None:
    asked = StatisticLadder(case(MEDIAN, 1), RULES)
    assert [rung.width for rung in statistics.rungs(MEDIAN, 20, 2)] == [2, 4, 8]
    assert [rung.width for rung in asked.rungs] == [2, 4, 8]
    few = Query(kind="quantile", members=EVERYBODY[:10], ranks=(8, 8))
    asked = StatisticLadder(case(few, 1), RULES)
    assert asked.known == (0, 10)
    few = Query(kind="quantile", members=EVERYBODY[:10], ranks=(5, 5))
    assert [rung.width for rung in StatisticLadder(case(few, 1), RULES).rungs] == [2, 4]


def shown_where(
    monkeypatch: pytest.MonkeyPatch, safe: Callable[[Told[int]], bool], looked: list[Told[int]]
) -> None:
    """Everybody is shown to keep the limit with some ranges alone."""

    def evidence(self: StatisticLadder, told: Told[int], *_: object) -> object:
        looked.append(told)
        return object() if safe(told) else None

    monkeypatch.setattr(StatisticLadder, "_evidence", evidence)


def test_beyond_what_past_answers_leave_nothing_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = list[Told[int]]()
    shown_where(monkeypatch, lambda told: (told.least or 0) <= 10, looked)
    statistic = StatisticLadder(case(MEDIAN, 1), RULES)
    assert statistic.known == (0, 10)
    found = statistic.narrowest(Allowance())
    assert found is not None
    assert (found.rung.width, found.low, found.high) == (2, 0, 5)
    assert not [each for each in looked if (each.least or 0) > 10]


def test_a_cell_that_was_not_shown_is_not_told_because_it_is_the_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else a refusal there would say that the true answer lies in it."""
    looked = list[Told[int]]()
    quarter = Query(kind="quantile", members=EVERYBODY[:10], ranks=(5, 5))
    shown_where(monkeypatch, lambda told: told == Told(None, 3), looked)
    statistic = StatisticLadder(case(quarter, 1), RULES)
    assert statistic.known == (0, 4)
    assert statistic.narrowest(Allowance()) is None
    assert Told(4, None) in looked


def test_a_rung_of_which_both_ends_are_one_cell_keeps_no_narrower_one_from_being_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is told must leave one of 4 to 7: of cells of four one alone does, of cells of two two."""
    query = Query(kind="quantile", members=EVERYBODY, ranks=(25, 25))
    shown_where(monkeypatch, lambda told: (told.least or 0) <= 7 and (told.most or 20) >= 4, [])
    statistic = StatisticLadder(case(query, 1), RULES)
    assert [rung.width for rung in statistic.rungs] == [2, 4, 8]
    hypothetical = query.of(statistic.case.system.tables[: RULES.worlds])
    assert set(hypothetical // 4) == {1}
    found = statistic.narrowest(Allowance())
    assert found is not None
    assert (found.rung.width, found.low, found.high) == (2, 2, 3)


def test_an_end_counts_for_no_wider_than_what_past_answers_leave() -> None:
    statistic = StatisticLadder(case(FEW, 1), RULES)
    assert statistic.known == (9, 40)
    assert statistic._left(Told(None, 15)) == Told(9, 15)
    assert statistic._left(Told(None, 7)) == Told(7, 7)
    assert statistic._left(Told(24, None)) == Told(24, 40)
    assert statistic._left(Told(24, 31)) == Told(24, 31)
