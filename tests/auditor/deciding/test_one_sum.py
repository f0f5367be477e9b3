"""Of one value, hypothetical answers that break the limit refuse nothing: an end is told in their place."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

from auditor.deciding.cases import Case
from auditor.deciding.decide import decide
from auditor.deciding.hypothetical import is_decided_by_partition, margin_of, sides
from auditor.deciding.rules import Rules
from cae_sql.domain import Domain
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.query import Ints, Query
from cae_sql.inference.posterior.judging import LikelyKnowledge, LikelyStandard, ModelJudgement
from cae_sql.inference.standard import Effort, Standard
from cae_sql.inference.system import AnsweredSystem
from cae_sql.risk import Limit

SIZE, TOP, FEW = 400, 24, 17
RULES = Rules(True, 20, 0.05, 60.0)
STANDARD = Standard(13, insiders=1)


def asked(total: int, kind: str = "sum", size: int = SIZE) -> tuple[AnsweredSystem, Query, Ints]:
    """A system that knows the mean of many, a question about a few of them, a table with that answer."""
    table = np.full(size, 3, dtype=np.int64)
    table[:FEW] = total // FEW
    table[: total % FEW] += 1
    # what the few have more or less the others make up for
    rest = FEW * 3 - total
    spread = np.arange(FEW, size)
    step = 1 if rest > 0 else -1
    for place in range(abs(rest)):
        table[spread[place % len(spread)]] += step
    system = AnsweredSystem(size, 0, TOP, 1)
    system.add_sum(range(size), 3 * size)
    return system, system.query(kind, np.arange(FEW)), table


def case(system: AnsweredSystem, query: Query, table: Ints) -> Case:
    return Case(system, [query], STANDARD, lambda those: [int(each.of(table)) for each in those], Effort())


def test_answers_that_break_the_limit_are_told_as_one_end_and_the_others_exactly() -> None:
    told = dict[int, tuple[int | None, int | None]]()
    for total in (0, 10, 20, 30, 70, 90, 120):
        system, query, table = asked(total)
        outcome = decide([case(system, query, table)], RULES)
        assert (outcome.verdict, outcome.surprise) == ("safe", False)
        (recorded,) = outcome.parts[0].recorded
        assert recorded.told.holds(total)
        told[total] = recorded.told.least, recorded.told.most
    # more of them break it than delta allows: before, that refused the question whatever the answer was
    question = case(*asked(51)).question()
    lost = [
        worlds
        for values, worlds in question.hypothetical(RULES.worlds).items()
        if not (shown := question.judge_around_table(values, STANDARD, Allowance())) or not shown.safe
    ]
    assert sum(map(len, lost)) > RULES.delta * RULES.worlds
    low = {ends for ends in told.values() if ends[0] is None}
    assert len(low) == 1
    ((_, end),) = low
    assert end is not None
    # with 13 units for a record and 24 for an insider, and the margin besides
    assert end >= STANDARD.need + TOP
    assert all(ends == (total, total) for total, ends in told.items() if end < total)


def test_tables_that_give_the_same_answers_so_far_get_the_same_partition() -> None:
    found = []
    for total in (5, 15, 25):
        system, query, table = asked(total)
        outcome = decide([case(system, query, table)], RULES)
        found.append((outcome.verdict, outcome.parts[0].recorded[0].told))
    assert len(set(found)) == 1


@pytest.mark.parametrize(("kind", "size", "margin"), [("sum", SIZE, 10), ("max", SIZE, 0), ("sum", 200, 0)])
def test_sums_of_large_tables_have_a_margin(kind: str, size: int, margin: int) -> None:
    assert margin_of(case(*asked(42, kind, size))) == margin


def test_two_persons_are_refused_as_before() -> None:
    system = AnsweredSystem(SIZE, 0, TOP, 1)
    system.add_sum(range(SIZE), 3 * SIZE)
    query = system.query("sum", np.arange(2))
    table = np.full(SIZE, 3, dtype=np.int64)
    outcome = decide([case(system, query, table)], RULES)
    assert (outcome.verdict, outcome.surprise) == ("risk", False)


class Judging:
    """A model that finds some answers unsafe, and says which it was asked about."""

    def __init__(self, unsafe: set[int], smooth: bool = True) -> None:
        self.unsafe, self.smooth, self.asked = unsafe, smooth, list[int]()

    def judge(self, values: tuple[int, ...], _: Allowance, keep: bool = True) -> ModelJudgement:
        if values[0] not in self.asked:
            self.asked.append(values[0])
        return ModelJudgement(values[0] not in self.unsafe, 0.0)


@pytest.mark.parametrize(
    ("unsafe", "smooth", "asked", "all_sides"),
    [
        (set(), True, [0, 8], [[0], [8]]),
        ({0, 1}, True, [0, 4], [[0, 1, 2, 3], [8, 7, 6, 5]]),
        ({8}, True, [0, 8, 4], [[0, 1, 2, 3], [8, 7, 6, 5]]),
        ({0, 4}, True, [0, 4], [[each] for each in range(9)]),
        (set(), False, [0, 8, 4], [[each] for each in range(9)]),
    ],
)
def test_the_least_and_the_greatest_are_judged_first_and_more_where_one_breaks_the_limit(
    unsafe: set[int], smooth: bool, asked: list[int], all_sides: list[list[int]]
) -> None:
    model, answers = Judging(unsafe, smooth), [(each,) for each in range(9)]
    found = sides(model, answers, Allowance())  # type: ignore[arg-type]
    assert [[value for (value,) in side] for side in found] == all_sides
    assert model.asked == asked


def test_of_no_answers_there_are_no_sides() -> None:
    assert not sides(Judging(set()), [], Allowance())  # type: ignore[arg-type]


@pytest.mark.parametrize(("kind", "passed_over"), [("sum", True), ("max", False), ("min", False)])
def test_between_two_extremes_that_keep_the_limit_one_may_break_it(
    kind: Literal["sum", "max", "min"], passed_over: bool
) -> None:
    """Whoever attains a rare one stands out: each is looked at. Of sums those between are as the others."""
    system = AnsweredSystem(40, 0, 24, 1)
    standard = LikelyStandard(Limit(risk=0.5), Domain(0, 24, 1), "members", 0)
    question = LikelyKnowledge(system, standard).question([system.query(kind, np.arange(30))])
    answers = [(value,) for value in (range(300, 400, 10) if kind == "sum" else range(8, 18))]
    looked_at = sides(question, answers, Allowance(10**9))
    assert (sum(map(len, looked_at)) < len(answers)) == passed_over


@pytest.mark.parametrize("pay", [1, 12])
def test_a_small_table_whose_sums_say_nothing_exact_is_decided_as_a_large_one(pay: int) -> None:
    """Five random halves of 100 people: what these leave is known of reals alone, and runs of 13 are too wide
    to be searched for. The partition decides, with a margin, whatever the number of records."""
    draw = np.random.default_rng(0)
    table = draw.integers(0, TOP + 1, 100)
    table[:16] = pay
    system = AnsweredSystem(100, 0, TOP, 1)
    for _ in range(5):
        members = np.flatnonzero(draw.random(100) < 0.5)
        system.add_sum(members, int(table[members].sum()))
    one = case(system, system.query("sum", np.arange(16)), table)
    assert (is_decided_by_partition(one), margin_of(one)) == (True, 10)
    ((recorded,),) = [part.recorded for part in decide([one], RULES).parts]
    told = recorded.told
    assert (told.least, told.most) == (192, 192) if pay == 12 else told.least is None and told.holds(16)
