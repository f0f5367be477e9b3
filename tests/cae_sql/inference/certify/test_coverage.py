"""What the roomy table shows to be safe is safe, as integer programs over single records see it."""

from __future__ import annotations

import pickle
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql import AnsweredSystem
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.certify import rooms
from cae_sql.inference.certify.coverage import Shown, all_pairs, certified_runs
from cae_sql.inference.facts import extremes
from cae_sql.inference.standard import Standard
from cae_sql.inference.tables.central import Central
from cae_sql.inference.tables.exchange import Bounds
from cae_sql.inference.tables.question_tables import QuestionTables
from cae_sql.inference.tables.roomy_table import RoomyTable
from tests.cae_sql.inference.told import Ints, Possible, Told, told_at_random
from tests.quick import rounds, some

TOPS = (1, 2, 3, 5, 10, 20, 40, 100)

NOBODY = np.zeros(0, dtype=np.int64)


def is_safe(told: Told, roomy_table: RoomyTable, asked: int, need: int, insiders: int) -> bool:
    """What is shown of true answers to the last queries, if they were given as well."""
    values = told.values[len(told.queries) - asked :]
    judgement = told.question(roomy_table, asked).judge_around_table(
        tuple(values), Standard(need, None, insiders), Allowance()
    )
    return judgement is not None and judgement.safe


def widest(told: Told, roomy_table: RoomyTable, asked: int, insiders: int) -> int:
    """The greatest width that is shown for everybody, by halving; 0 where none is."""
    shown_width, too_much = 0, told.top + 1
    while too_much - shown_width > 1:
        middle = (shown_width + too_much) // 2
        if is_safe(told, roomy_table, asked, middle, insiders):
            shown_width = middle
        else:
            too_much = middle
    return shown_width


def one_of_each_atom(told: Told, roomy_table: RoomyTable, count: int, rng: np.random.Generator) -> Ints:
    """Records of random atoms, so that small atoms are looked at as often as large ones."""
    labels = roomy_table.boxes.refined(told.queries).atoms.labels
    atoms = rng.integers(0, labels.max() + 1, count)
    return np.array([rng.choice(np.flatnonzero(labels == atom)) for atom in atoms])


def breaches(seed: int, insiders: int) -> tuple[int, list[str]]:
    """How many claims about a random system were looked at, and what is wrong with them."""
    rng = np.random.default_rng(seed)
    told = told_at_random(rng, int(rng.integers(15, 61)), int(rng.choice(TOPS)), int(rng.integers(1, 7)))
    asked = min(int(rng.integers(0, 3)), len(told.queries) - 1)
    roomy_table = told.roomy_table(len(told.queries) - asked)
    need = widest(told, roomy_table, asked, insiders) if roomy_table.usable else 0
    if not need:
        return 0, []
    possible, looked_at, found = told.program(), 0, []
    records = one_of_each_atom(told, roomy_table, 6, rng).tolist()
    others = one_of_each_atom(told, roomy_table, 6, rng).tolist()
    for i, j in zip(records, others, strict=True):
        if i == j:
            continue
        fixed: list[dict[int, int]] = [{}]
        if insiders:
            least, most = possible.end(j, -1, {}), possible.end(j, 1, {})
            assert least is not None
            assert most is not None
            fixed += [{j: value} for value in {least, most, int(rng.integers(least, most + 1))}]
        for held in fixed:
            if held and not possible.can(held):
                continue
            looked_at += 1
            if not possible.run(i, held, need, rng):
                found.append(f"seed {seed}: record {i} has no run of width {need} with {held}")
    return looked_at, found


@pytest.mark.slow
@pytest.mark.parametrize("insiders", some([1, 0], 1))
def test_nobody_is_shown_to_keep_a_run_that_the_answers_exclude(insiders: int) -> None:
    looked_at, found = 0, []
    for seed in [*range(1000, 1000 + rounds(75)), 1629, 2821, 2915]:
        more, wrong = breaches(seed, insiders)
        looked_at, found = looked_at + more, found + wrong
    assert not found
    assert looked_at > rounds(100)


def boxes_that_differ() -> tuple[Told, dict[str, Ints]]:
    """Records of [0, 50] take twice from an atom in which one of [0, 150] may take nearly all there is."""
    sizes = {"narrow": 2, "poor": 40, "first": 20, "second": 20, "held": 20}
    ends = np.cumsum([0, *sizes.values()])
    parts = {name: np.arange(ends[place], ends[place + 1]) for place, name in enumerate(sizes)}
    truth = np.zeros(int(ends[-1]), dtype=np.int64)
    truth[parts["poor"]] = [6] * 16 + [5] * 24
    truth[parts["first"]] = truth[parts["second"]] = 75
    truth[parts["held"]] = 50
    told = Told(truth, 150)
    narrow, poor, first, second = (parts[name] for name in ("narrow", "poor", "first", "second"))
    told.ask("sum", np.concatenate([narrow, poor, first]), np.repeat([1, 1, -1], [2, 40, 20]))
    told.ask("sum", np.concatenate([narrow, first]))
    told.ask("sum", np.concatenate([narrow, poor, second]))
    told.ask("max", np.concatenate([narrow, parts["held"]]))
    return told, parts


def test_rooms_are_divided_alike_between_records_and_insiders_of_different_boxes() -> None:
    told, parts = boxes_that_differ()
    roomy_table, possible = told.roomy_table(), told.program()
    most = possible.end(int(parts["narrow"][0]), 1, {int(parts["poor"][0]): 150})
    assert most == 33
    for need in range(34, 51):
        assert not is_safe(told, roomy_table, 0, need, 1)


def test_rooms_of_the_two_themselves_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four persons of 0..10 have 12 together: if one has 10, the others are within 2."""
    told = Told(np.array([3, 3, 3, 3]), 10)
    told.ask("sum", np.arange(4))
    possible, rng = told.program(), np.random.default_rng(0)
    assert widest(told, told.roomy_table(), 0, 1) <= 2
    monkeypatch.setattr(rooms, "without", lambda room, loose, apart: room)
    careless = widest(told, told.roomy_table(), 0, 1)
    assert careless > 2
    assert not possible.run(0, {1: 10}, careless, rng)


@pytest.mark.parametrize("insiders", [0, 1])
def test_an_extreme_is_held_by_more_than_those_who_may_be_elsewhere(
    monkeypatch: pytest.MonkeyPatch, insiders: int
) -> None:
    """A maximum of one person is a value; a maximum of two tells each of them the other's, if below."""
    told = Told(np.array([8, 3, 5, 6, 7, 2, 4]), 10)
    told.ask("max", np.arange(1 + insiders))
    possible, rng = told.program(), np.random.default_rng(0)
    assert widest(told, told.roomy_table(), 0, insiders) == 0
    monkeypatch.setattr(
        "cae_sql.inference.certify.evidence.hold",
        lambda boxes, totals, copies, basic: extremes.hold(boxes, totals, 1, basic),
    )
    careless = widest(told, told.roomy_table(), 0, insiders)
    assert careless > 0
    assert not possible.run(0, {1: 3} if insiders else {}, careless, rng)


def test_what_an_integer_program_allows_is_mostly_shown_in_a_roomy_system() -> None:
    """A test of safety alone would be passed by showing nothing."""
    rng = np.random.default_rng(5)
    told = Told(rng.integers(0, 101, 60), 100)
    for first in (0, 10, 20, 30):
        told.ask("sum", np.arange(first, first + 30))
    told.ask("max", np.arange(40))
    roomy_table = told.roomy_table()
    assert is_safe(told, roomy_table, 0, 60, 1)
    assert is_safe(told, roomy_table, 0, 80, 0)


@pytest.mark.slow
def test_answers_that_are_judged_together_are_safe_each_by_itself() -> None:
    rng, looked_at = np.random.default_rng(11), 0
    while looked_at < rounds(150):
        told = told_at_random(rng, int(rng.integers(15, 50)), int(rng.choice(TOPS)), int(rng.integers(2, 6)))
        told.queries = [*told.queries[:-1], told_at_random(rng, told.size, 1, 1, ("sum",)).queries[0]]
        roomy_table, need = told.roomy_table(len(told.queries) - 1), int(rng.integers(1, told.top + 1))
        value = told.values[-1]
        answers = [(value + by,) for by in rng.integers(-need, need + 1, 4).tolist()]
        spared, until = int(rng.integers(0, 3)), Allowance()
        judged = told.question(roomy_table, 1).judge_together(answers, Standard(need, None, 1), until, spared)
        for answer in (each for each, judgement in judged.items() if judgement.safe):
            possible = Possible(told.size, told.top, told.queries, [*told.values[:-1], *answer])
            i, j = one_of_each_atom(told, roomy_table, 2, rng).tolist()
            held = possible.end(j, int(rng.choice([-1, 1])), {})
            assert held is not None
            looked_at += 1
            assert i == j or possible.run(i, {j: held}, need, rng)


@pytest.mark.parametrize(("lost", "spared"), [(0, 0), (1, 0), (1, 1), (2, 1), (2, 2), (4, 4)])
def test_answers_for_which_no_table_is_found_fail_and_the_rest_is_judged_if_they_are_few(
    monkeypatch: pytest.MonkeyPatch, lost: int, spared: int
) -> None:
    rng = np.random.default_rng(5)
    told = Told(rng.integers(0, 101, 60), 100)
    for first in (0, 10, 20, 30):
        told.ask("sum", np.arange(first, first + 30))
    question = told.question(told.roomy_table(3), 1)
    answers = [(told.values[-1] + by,) for by in (0, 3, 5, 8)]
    found = QuestionTables.table

    def table(self: QuestionTables, bounds: Bounds, sums: Sequence[int], *rest: object) -> Ints | None:
        return None if tuple(sums) in answers[:lost] else found(self, bounds, sums, *rest)

    monkeypatch.setattr(QuestionTables, "table", table)
    monkeypatch.setattr(QuestionTables, "between", lambda *_: None)
    monkeypatch.setattr(Central, "table", lambda *_: None)
    judged = question.judge_together(answers, Standard(50, None, 1), Allowance(), spared)
    assert (
        all(judged[each].safe for each in answers[lost:])
        if lost <= spared
        else not any(judgement.safe for judgement in judged.values())
    )
    failed = [each for each in answers if each in judged and not judged[each].safe]
    assert set(failed) <= set(answers[:lost])
    assert len(failed) >= min(lost, spared + 1)


@pytest.mark.slow
def test_every_value_of_a_certified_run_is_possible() -> None:
    rng, looked_at = np.random.default_rng(12), 0
    for _ in range(rounds(120)):
        told = told_at_random(rng, int(rng.integers(15, 60)), int(rng.choice(TOPS)), int(rng.integers(1, 6)))
        roomy_table, possible = told.roomy_table(), told.program()
        low, high = certified_runs(roomy_table)
        for record in rng.integers(0, told.size, 4).tolist():
            ends = int(low[record]), int(high[record])
            if ends[0] <= ends[1]:
                looked_at += 1
                inside = int(rng.integers(ends[0], ends[1] + 1))
                assert all(possible.can({record: value}) for value in {*ends, inside})
    assert looked_at > rounds(150)


@given(
    st.integers(1, 5).flatmap(
        lambda parts: st.lists(
            st.tuples(*(st.lists(st.booleans(), min_size=parts, max_size=parts) for _ in range(2))),
            min_size=1,
            max_size=4,
        )
    )
)
def test_several_tables_show_everybody_only_if_each_pair_finds_both_around_one_of_them(
    told: list[tuple[list[bool], list[bool]]],
) -> None:
    those = [Shown(-1, np.array(own), np.array(free), NOBODY) for own, free in told]
    parts = range(len(told[0][0]))
    each_pair = all(any(own[i] and free[j] for own, free in told) for i in parts for j in parts)
    assert all_pairs(those) == each_pair
    assert not all_pairs([])


def test_judging_the_same_answers_again_and_again_says_the_same_and_keeps_no_more() -> None:
    system = AnsweredSystem(40, 0, 20, 1)
    question, standard = system.question([system.query("sum", np.arange(3))]), Standard(15, None, 1)
    answers, later = [(v,) for v in (20, 28, 33)], Allowance()
    first = (
        question.judge_together(answers, standard, later),
        question.judge_around_table((20,), standard, later),
    )
    size = len(pickle.dumps(question.evidence.past))
    for _ in range(3):
        again = (
            question.judge_together(answers, standard, later),
            question.judge_around_table((20,), standard, later),
        )
        assert again == first
        assert len(pickle.dumps(question.evidence.past)) == size
