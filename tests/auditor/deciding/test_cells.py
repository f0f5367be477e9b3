"""Where the exact sum is refused, the fixed public cell that it lies in is told, as narrow as it may be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.deciding import decide as module
from auditor.deciding.cases import Case, Outcome
from auditor.deciding.cells import Rung
from auditor.deciding.decide import decide
from auditor.deciding.rules import Rules
from auditor.deciding.sums import SumLadder
from auditor.told import Told, exactly
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.query import Ints, Query
from cae_sql.inference.standard import Effort, Standard
from cae_sql.inference.system import AnsweredSystem

SIZE, TOP = 300, 24
RULES = Rules(True, 20, 0.05, 60.0)
STANDARD = Standard(13, insiders=1)


def case(system: AnsweredSystem, query: Query, table: Ints) -> Case:
    return Case(system, [query], STANDARD, lambda those: [int(each.of(table)) for each in those], Effort())


def but_one(table: Ints) -> Case:
    """After the sum of all, the sum of all but one: exactly told, it tells that one's value."""
    system = AnsweredSystem(len(table), 0, TOP, 1)
    system.add_sum(range(len(table)), int(table.sum()))
    return case(system, system.query("sum", np.arange(1, len(table))), table)


def but_five(table: Ints) -> Case:
    """The sum of all but five, where everybody keeps twenty values of 25: too much is told exactly.

    Of ten seeds three draw a middle answer that is so far off that no partition is found around it.
    """
    system = AnsweredSystem(len(table), 0, TOP, 1, seed=3)
    system.add_sum(range(len(table)), int(table.sum()))
    asked = case(system, system.query("sum", np.arange(5, len(table))), table)
    return replace(asked, standard=Standard(20, insiders=1))


def rungs(asked: Case) -> list[Rung]:
    return list(SumLadder(asked, RULES).all_rungs)


def told_in(outcome: Outcome) -> Told[int]:
    assert (outcome.verdict, outcome.surprise) == ("safe", False)
    (recorded,) = outcome.parts[0].recorded
    return recorded.told


@pytest.fixture
def table() -> Ints:
    return np.random.default_rng(0).integers(0, TOP + 1, SIZE)


@given(st.integers(1, 40), st.integers(1, 9), st.integers(0, 30))
def test_cells_are_fixed_have_one_width_and_hold_every_answer_once(size: int, top: int, minus: int) -> None:
    system = AnsweredSystem(size + minus, 0, top, 1)
    signs = np.append(np.ones(size, dtype=np.int64), -np.ones(minus, dtype=np.int64))
    query = system.query("sum", np.arange(size + minus), signs)
    found = rungs(case(system, query, np.zeros(size + minus, dtype=np.int64)))
    assert [rung.width - 1 for rung in found] == [2**place * top for place in range(len(found))]
    for rung in found:
        cells = [rung.told(cell, cell) for cell in range(rung.last + 1)]
        assert all(cell.most - cell.least == rung.width - 1 for cell in cells)  # type: ignore[operator]
        for answer in range(rung.possible[0], rung.possible[1] + 1):
            assert [cell for cell in cells if cell.holds(answer)] == [cells[rung.cell(answer)]]


@given(st.integers(2, 40), st.integers(1, 9), st.data())
def test_several_cells_as_one_end_begin_where_the_others_end(
    size: int, top: int, data: st.DataObject
) -> None:
    """Found by enumeration: the upper tail said "from 8 to 23" where it was told from 12 on."""
    system = AnsweredSystem(size, 0, top, 1)
    asked = case(system, system.query("sum", np.arange(size)), np.zeros(size, dtype=np.int64))
    for rung in rungs(asked):
        first = data.draw(st.integers(0, rung.last))
        last = data.draw(st.integers(first, rung.last))
        cells = rung.told(first, last)
        for way, end in ((-1, cells.most), (1, cells.least)):
            told = rung.told(first, last, way)
            assert end == (told.most if way < 0 else told.least)
            assert told.least <= cells.least < cells.most <= told.most  # type: ignore[operator]
            # recorded as it is said
            found = system.within(asked.queries[0], told.least, told.most)  # type: ignore[arg-type]
            assert found is not None
            assert found[1] == told.least


def test_a_range_is_told_where_the_exact_sum_is_refused(table: Ints) -> None:
    exact, ranged = decide([but_five(table)], RULES), decide([but_five(table)], RULES, ranges=True)
    assert exact.verdict == "risk"
    told = told_in(ranged)
    assert told.holds(int(table[5:].sum()))
    # a cell of the narrowest rung: past answers leave nearly five times as many
    assert told == rungs(but_five(table))[0].told(149, 149)
    assert SumLadder(but_five(table), RULES).known == (int(table.sum()) - 5 * TOP, int(table.sum()))


def test_where_no_cell_says_more_than_is_known_anyway_that_is_told_and_nothing_is_learned(
    table: Ints,
) -> None:
    outcome, total = decide([but_one(table)], RULES, ranges=True), int(table.sum())
    assert told_in(outcome) == Told(total - TOP, total)
    assert outcome.parts[0].learned is None


def test_a_sum_that_can_be_told_exactly_is(table: Ints) -> None:
    system = AnsweredSystem(SIZE, 0, TOP, 1)
    half = case(system, system.query("sum", np.arange(SIZE // 2)), table)
    assert told_in(decide([half], RULES, ranges=True)) == exactly(int(table[: SIZE // 2].sum()))


@pytest.mark.slow
def test_the_cell_is_the_same_for_every_table_in_it(table: Ints) -> None:
    told, total = told_in(decide([but_five(table)], RULES, ranges=True)), int(table.sum())
    inside = 0
    for five in range(0, 5 * TOP + 1, 6):
        other = table.copy()
        other[:5] = [five // 5 + (place < five % 5) for place in range(5)]
        # the sum of all stays as it was
        while rest := total - int(other.sum()):
            open_ = np.flatnonzero((other[5:] < TOP) if rest > 0 else (other[5:] > 0))[: abs(rest)] + 5
            other[open_] += np.sign(rest)
        found = told_in(decide([but_five(other)], RULES, ranges=True))
        assert found.holds(total - five)
        assert (found == told) == told.holds(total - five)
        inside += found == told
    assert inside > 1


def test_which_rung_is_taken_does_not_hang_on_the_true_answer(table: Ints) -> None:
    def blind(_: object) -> list[int]:
        raise AssertionError("the true answer was looked at")

    asked = replace(but_five(table), truth=blind)
    found = SumLadder(asked, RULES).narrowest(Allowance(RULES.steps))
    assert found is not None
    assert told_in(decide([but_five(table)], RULES, ranges=True)) == found.told(int(table[5:].sum()))
    assert decide([asked], RULES).verdict == "risk"


def test_one_person_has_no_cell_but_all_of_the_domain(table: Ints) -> None:
    system = AnsweredSystem(SIZE, 0, TOP, 1)
    alone = case(system, system.query("sum", np.arange(1)), table)
    assert rungs(alone) == []
    assert decide([alone], RULES, ranges=True).verdict == "risk"


def test_extremes_and_several_values_have_no_ladder(table: Ints) -> None:
    system = AnsweredSystem(SIZE, 0, TOP, 1)
    highest, total = system.query("max", np.arange(9)), system.query("sum", np.arange(9))
    asked = case(system, total, table)
    assert isinstance(module._ladder([asked], RULES, ranges=True), SumLadder)
    assert module._ladder([asked], RULES, ranges=False) is None
    assert module._ladder([case(system, highest, table)], RULES, ranges=True) is None
    assert module._ladder([replace(asked, queries=[total, highest])], RULES, ranges=True) is None


def test_where_the_true_answer_decides_the_narrowest_safe_cell_of_it_is_told(table: Ints) -> None:
    speaking = replace(RULES, simulatable=False)
    table[:5], total = 3, int(table.sum())
    assert decide([but_five(table)], speaking).verdict == "risk"
    told = told_in(decide([but_five(table)], speaking, ranges=True))
    assert told.holds(total - 15)
    assert told.least is not None
    assert told.least > total - 5 * TOP


def test_a_refusal_that_the_clock_decided_stays_one(table: Ints, monkeypatch: pytest.MonkeyPatch) -> None:
    late = Outcome("time", (module.NOTHING,))
    monkeypatch.setattr(module, "at_once", lambda *_: late)
    assert decide([but_one(table)], RULES, ranges=True) is late


def test_what_is_told_counts_for_what_is_asked_afterwards(table: Ints) -> None:
    """A cell and the sum of all bound the five: the sum that would tell one of them is still refused."""
    asked = but_five(table)
    outcome = decide([asked], RULES, ranges=True)
    (recorded,) = outcome.parts[0].recorded
    asked.system.accept([recorded.query.answered(recorded.value)], outcome.parts[0].learned)
    again = decide([replace(asked, queries=[asked.system.query("sum", np.arange(1, SIZE))])], RULES)
    assert again.verdict == "risk"
    bounds = asked.system.bounds([0])
    assert bounds.lower[0] <= table[0] <= bounds.upper[0]
    assert bounds.upper[0] - bounds.lower[0] >= 20 - 1
