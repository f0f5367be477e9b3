"""Several values in one statement: no combination of answers is refused once the true ones are known."""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.deciding.boxes import Box, Question
from auditor.deciding.cases import Case
from auditor.deciding.decide import decide
from auditor.deciding.looks import Look
from auditor.deciding.rules import Rules
from auditor.told import Told
from cae_sql.domain import Domain
from cae_sql.inference.search.judging import Standard
from cae_sql.inference.search.runs import Effort
from cae_sql.inference.system import AnsweredSystem
from cae_sql.risk import Limit
from tests.quick import some

LAST = 20


def question(shows: np.ndarray, kept: list[tuple[int, int]], asked: list[tuple[int, ...]]) -> Question:
    """Of two sums; `shows` (21, 21) says which answers keep the limit."""

    def shown(values: tuple[int, ...]) -> Look:
        asked.append(values)
        return Look(bool(shows[values]))

    return Question(["sum", "sum"], [(0, LAST), (0, LAST)], kept, 2, shown)


PAIRS = st.tuples(st.integers(0, LAST), st.integers(0, LAST))


@given(st.lists(PAIRS, min_size=1, max_size=6), st.integers(8, 60), PAIRS, PAIRS)
def test_every_box_is_the_last_one_or_lies_in_it(
    kept: list[tuple[int, int]], width: int, one: tuple[int, int], other: tuple[int, int]
) -> None:
    """What is told of some answers does not hang on how far was looked for others."""
    rows, columns = np.indices((LAST + 1, LAST + 1))
    shows = np.abs(rows - columns) + np.abs(rows + columns - LAST) <= width
    shows[tuple(np.array(kept).T)] = True
    corners = [question(shows, kept, []).last_shown(values) for values in product((0, LAST), repeat=2)]
    far = max(corners, key=lambda box: sum(box.high) - sum(box.low))
    for values in (one, other):
        box = question(shows, kept, []).last_shown(values)
        assert all(a >= b for a, b in zip(box.low, far.low, strict=True))
        assert all(a <= b for a, b in zip(box.high, far.high, strict=True))
        if box != far:  # then these answers are told exactly, as the last box would tell them
            inside = zip(far.low, values, far.high, strict=True)
            assert all(
                (low < each or low == 0) and (each < high or high == LAST) for low, each, high in inside
            )


@given(st.lists(PAIRS, min_size=1, max_size=6), st.integers(8, 60))
def test_a_box_has_shown_corners(kept: list[tuple[int, int]], width: int) -> None:
    rows, columns = np.indices((LAST + 1, LAST + 1))
    shows = np.abs(rows - columns) + np.abs(rows + columns - LAST) <= width
    shows[tuple(np.array(kept).T)] = True
    for values in product((0, LAST), repeat=2):
        box = question(shows, kept, []).last_shown(values)
        assert all(shows[corner] for corner in product(*zip(box.low, box.high, strict=True)))


def test_of_many_values_every_two_are_seen_in_all_four_ways() -> None:
    corners = np.array(Box((0,) * 20, (1,) * 20).corners(range(20)))
    assert len(corners) == 12
    for one in range(20):
        for other in range(one):
            assert len(np.unique(corners[:, [one, other]], axis=0)) == 4


@pytest.mark.slow
def test_no_table_is_refused_for_what_two_sums_tell_together() -> None:
    """Eight records of four values, sums over five each that share two; of ten hypothetical tables two may
    break.

    Each sum looked at beside a middle answer of the other, 488 of all 65,536 tables were refused after the
    true answers had been looked at, and a record of these has a middle value in every fourth of them in
    place of every second.
    """
    limit, domain = Limit(risk=0.5), Domain(0, 3, 1)
    standard, first, second = Standard(limit.least_span(domain), insiders=0), np.arange(5), np.arange(3, 8)
    tables = np.indices((4,) * 8).reshape(8, -1).T
    answers = np.stack([tables[:, first].sum(axis=1), tables[:, second].sum(axis=1)], axis=1)
    told = set[int]()
    for values in np.unique(answers, axis=0).tolist():
        system = AnsweredSystem(8, 0, 3, 1)
        asked = [system.query("sum", first), system.query("sum", second)]
        case = Case(system, asked, standard, lambda _, values=values: values, Effort())
        found = decide([case], Rules(True, 10, 0.2, 60.0))
        assert (found.verdict, found.surprise) == ("safe", False), values
        told.add(sum(each.told.exact for each in found.parts[0].recorded))
    assert told == {0, 1, 2}


@given(
    st.lists(st.tuples(st.integers(2, 7), st.integers(12, 19)), min_size=2, max_size=6),
    st.data(),
)
def test_values_of_different_components_have_boxes_of_their_own(
    shown: list[tuple[int, int]], data: st.DataObject
) -> None:
    """Each as wide as if it had been asked alone; nothing that is looked at hangs on the true answers."""

    def alone(component: int, asked: list[tuple[int, ...]]) -> Question:
        low, high = shown[component]
        kept = [(10,), (9,), (11,)]

        def shows(values: tuple[int, ...]) -> Look:
            asked.append(values)
            return Look(low <= values[0] <= high)

        return Question(["sum"], [(0, LAST)], kept, 1, shows, (), [component])

    def together(asked: list[tuple[int, ...]]) -> Question:
        count = len(shown)

        def shows(values: tuple[int, ...]) -> Look:
            asked.append(values)
            pairs = enumerate(zip(values, shown, strict=True))
            lost = tuple(place for place, (v, (low, high)) in pairs if not low <= v <= high)
            return Look(not lost, lost)

        kept = [(value,) * count for value in (10, 9, 11)]
        domain = [(0, LAST)] * count
        return Question(["sum"] * count, domain, kept, 1, shows, (), list(range(count)))

    looked, truth = list[list[tuple[int, ...]]](), st.tuples(*[st.integers(0, LAST)] * len(shown))
    for values in (data.draw(truth), data.draw(truth)):
        looked.append([])
        box = together(looked[-1]).last_shown(values)
        for place, value in enumerate(values):
            mine = alone(place, []).last_shown((value,))
            if not box.low[place] < value < box.high[place] and value not in (0, LAST):
                # of what is told exactly it is of no account how far is shown beyond
                assert (mine.low[0], mine.high[0]) == (box.low[place], box.high[place])
    shorter, longer = sorted(looked, key=len)
    assert longer[: len(shorter)] == shorter


def test_where_nobody_says_which_component_fails_all_do() -> None:
    """As far as the nearest of them, by halving; nothing is looked at for each of them."""
    count, asked = 300, list[tuple[int, ...]]()
    limits = [4 + place % 5 for place in range(count)]

    def shows(values: tuple[int, ...]) -> Look:
        asked.append(values)
        return Look(all(low <= value <= 14 for value, low in zip(values, limits, strict=True)))

    kept = [(value,) * count for value in (10, 9, 11)]
    question = Question(["sum"] * count, [(0, LAST)] * count, kept, 2, shows, (), list(range(count)))
    box = question.last_shown((0,) * count)
    assert len(asked) < 30
    assert set(box.low) == {8}
    assert shows(box.low).safe
    assert shows(box.high).safe


@given(
    st.lists(st.tuples(*[st.integers(1, 8), st.integers(11, 19)] * 2), min_size=2, max_size=5),
    st.data(),
)
def test_of_separate_values_every_end_that_is_told_was_shown_as_an_end(
    shown: list[tuple[int, int, int, int]], data: st.DataObject
) -> None:
    """Exact answers between the first two, ends from the others inwards; what is told of one value hangs on
    no other's."""
    count = len(shown)

    def shows(values: tuple[int, ...]) -> Look:
        pairs = enumerate(zip(values, shown, strict=True))
        lost = tuple(place for place, (v, (low, high, _, _)) in pairs if not low <= v <= high)
        return Look(not lost, lost)

    def shows_ends(box: Box, way: int, places: Collection[int] = range(9)) -> Look:
        ends = [low >= each[2] for low, each in zip(box.low, shown, strict=True)]
        if way > 0:
            ends = [high <= each[3] for high, each in zip(box.high, shown, strict=True)]
        lost = tuple(place for place, safe in enumerate(ends) if not safe and place in places)
        return Look(not lost, lost)

    def asked() -> Question:
        drawn = [(value,) * count for value in (9, 10, 11)]
        return Question(
            *(["sum"] * count, [(0, LAST)] * count, [(10,) * count], 1, shows, (), list(range(count))),
            *((), drawn, shows_ends),
        )

    assert asked().without_ends == []
    truth = st.tuples(*[st.integers(0, LAST)] * count)
    values = data.draw(truth)
    box = asked().last_shown(values)
    assert shows(box.low).safe
    assert shows(box.high).safe
    assert shows_ends(box, -1).safe
    assert shows_ends(box, 1).safe
    for place, value in enumerate(values):
        others = data.draw(truth)
        other = asked().last_shown([*others[:place], value, *others[place + 1 :]])
        if box.low[place] >= value or value >= box.high[place]:
            assert (other.low[place], other.high[place]) == (box.low[place], box.high[place])


def test_a_value_no_end_of_which_is_shown_is_named_before_the_true_ones_are_looked_at() -> None:
    def shows_ends(box: Box, _: int, places: Collection[int]) -> Look:
        return Look(1 not in places, (1,))

    question = Question(
        *(["sum"] * 2, [(0, LAST)] * 2, [(10, 10)], 1, lambda _: Look(True), (), [0, 1]),
        *((), [(9, 9), (11, 11)], shows_ends),
    )
    assert question.without_ends == [1]


def test_nothing_is_looked_at_beyond_what_the_closed_form_shows() -> None:
    asked = list[tuple[int, ...]]()
    kept = [(10, 10), (9, 11)]
    reach = [(5, 15), None]

    def shows(values: tuple[int, ...]) -> Look:
        asked.append(values)
        return Look(True)

    question = Question(["sum"] * 2, [(0, LAST)] * 2, kept, 2, shows, (), [0, 1], reach)
    box = question.last_shown((0, 0))
    assert (box.low, box.high) == ((5, 0), (15, LAST))
    assert {value for value, _ in asked} <= set(range(5, 16))


@pytest.mark.parametrize(
    ("sizes", "top", "insiders"),
    some([((24, 28), 1, 1), ((22, 30), 1, 0), ((16, 18), 4, 1), ((24, 26, 30), 1, 1), ((300, 40), 1, 1)], 2),
)
def test_what_is_told_of_separate_groups_says_all_that_decided_it(
    sizes: tuple[int, ...], top: int, insiders: int
) -> None:
    """Every table that agrees with what is told is told the same, and none is refused once it is known.

    So nobody learns more than what is recorded. What is told of a group hangs on its own sum alone.
    """
    limit, domain = Limit(risk=0.5), Domain(0, top, 1)
    least = min(limit.least_span(domain), top)
    starts = np.cumsum([0, *sizes])
    tails = np.arange(0, 3 * top, top)
    every = [np.unique([*tails, size * top // 2, *(size * top - tails)]).tolist() for size in sizes]
    told = dict[tuple[int, ...], tuple[Told[int], ...]]()
    for values in product(*every):
        system = AnsweredSystem(int(starts[-1]), 0, top, 1)
        asked = [system.query("sum", np.arange(first, last)) for first, last in pairwise(starts)]
        standard = Standard(least, insiders=insiders)
        case = Case(system, asked, standard, lambda _, values=values: values, Effort())
        found = decide([case], Rules(True, 20, 0.0, 60.0))
        assert (found.verdict, found.surprise) == ("safe", False), values
        told[values] = tuple(each.told for each in found.parts[0].recorded)
    for place, sums in enumerate(every):
        own = {
            value: {each[place] for values, each in told.items() if values[place] == value} for value in sums
        }
        assert all(len(each) == 1 for each in own.values())
        said = {value: next(iter(each)) for value, each in own.items()}
        assert any(each.exact for each in said.values())
        for value in sums:
            assert said[value].holds(value)
            assert {other for other in sums if said[other] == said[value]} == {
                other for other in sums if said[value].holds(other)
            }
