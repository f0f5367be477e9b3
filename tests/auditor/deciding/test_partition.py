"""What is told of an answer follows from the question alone, is true, and says no more than it says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from auditor.deciding.looks import Look
from auditor.deciding.partition import Partition
from auditor.told import Told
from cae_sql.inference.facts.query import Query
from cae_sql.inference.facts.spares import MOST

TOP, SIZE = 9, 12
LAST = TOP * SIZE


def possible(kind: str) -> tuple[int, int]:
    """The least and the greatest answer."""
    return 0, LAST if kind == "sum" else TOP


def partition(
    kind: str,
    safe: tuple[int, int],
    kept: list[int],
    broken: list[int],
    asked: list[int] | None = None,
    margin: int = 0,
) -> Partition:
    """Of one question whose answers keep the limit between two values; `asked` takes what is judged."""

    def look(told: Sequence[Told[int]]) -> Look:
        value = told[0].value
        if value is None:
            return Look(True)
        if asked is not None:
            asked.append(value)
        return Look(safe[0] <= value <= safe[1])

    query = Query(kind=kind, members=np.arange(SIZE))  # type: ignore[arg-type]
    return Partition(
        [query.kind],
        [possible(kind)],
        [False],
        MOST * TOP,
        2,
        look,
        [(each,) for each in kept],
        margin,
        [(each,) for each in broken],
    )


def with_ends(found: Partition, are_shown: Callable[[Told[int]], bool]) -> Partition:
    """The same, where of ends something else says whether they are shown."""
    exactly = found.look
    return replace(found, look=lambda told: exactly(told) if told[0].exact else Look(are_shown(told[0])))


@st.composite
def partitions(draw: st.DrawFn) -> tuple[str, tuple[int, int], list[int], list[int]]:
    """Kinds, which answers keep the limit, and hypothetical ones that do and do not."""
    kind = draw(st.sampled_from(["sum", "max", "min"]))
    last = LAST if kind == "sum" else TOP
    low = draw(st.integers(0, last))
    high = draw(st.integers(low, last))
    drawn = draw(st.lists(st.integers(0, last), max_size=8))
    kept = [each for each in drawn if low <= each <= high] or [draw(st.integers(low, high))]
    return kind, (low, high), kept, [each for each in drawn if not low <= each <= high]


@given(partitions(), st.integers(0, 30))
def test_every_answer_is_told_truly_and_all_that_are_told_as_an_end_by_one(asked, margin) -> None:
    kind, safe, kept, broken = asked
    last = possible(kind)[1]
    ends = {1: set[Told[int]](), -1: set[Told[int]]()}
    exact = []
    for value in range(last + 1):
        (told,) = partition(kind, safe, kept, broken, None, margin * (kind == "sum")).told([value])
        assert told is not None
        assert told.holds(value)
        if told.exact:
            exact.append(value)
            # a value is told if it was shown, or lies between two that were
            assert safe[0] <= value <= safe[1] or kind != "sum"
        else:
            ends[1 if told.most is None else -1].add(told)
    assert exact == list(range(exact[0], exact[-1] + 1)) if exact else True
    for way, found in ends.items():
        assert len(found) <= 1
        for told in found:
            # whoever can work out the partition learns no more from an end than it says: its own value has it
            end = told.least if way > 0 else told.most
            # where hardly more than one answer was shown one end is told of it, and the other begins beyond
            assert safe[0] <= end <= safe[1] or (way > 0 and end - 1 in {each.most for each in ends[-1]})
            assert end not in exact


@given(partitions(), st.lists(st.integers(0, TOP), min_size=1, max_size=6), st.integers(0, 30))
def test_what_is_told_does_not_hang_on_what_was_looked_for_before(asked, values, margin) -> None:
    kind, safe, kept, broken = asked
    margin *= kind == "sum"
    one = partition(kind, safe, kept, broken, margin=margin)
    for value in values:
        assert one.told([value]) == partition(kind, safe, kept, broken, margin=margin).told([value])


@given(st.integers(0, 50), st.integers(51, LAST), st.integers(1, 20))
def test_an_end_has_the_margin_to_what_is_known_to_fail(low, high, margin) -> None:
    middle = low + (high - low) // 2
    for value in (0, LAST):
        asked = list[int]()
        (told,) = partition("sum", (low, high), [middle], [], asked, margin).told([value])
        failed = [each for each in asked if not low <= each <= high and (each < middle) == (value < middle)]
        assert told is not None
        if told.exact:
            assert not failed
            continue
        end = told.most if told.least is None else told.least
        # or all that there is to the middle
        assert min(abs(end - each) for each in failed) >= margin or abs(end - middle) <= 1


@given(st.data(), st.integers(0, 30))
def test_the_same_ends_are_told_whatever_the_judge_says(data, margin) -> None:
    """Judging is a search: what is shown need not be an interval, nor the same for both ends."""
    bits = st.lists(st.booleans(), min_size=LAST + 1, max_size=LAST + 1)
    safe, low, high = data.draw(bits), data.draw(bits), data.draw(bits)
    kept = sorted(data.draw(st.sets(st.integers(20, 80), min_size=1, max_size=5)))
    broken = [each for each in (kept[0] - 1, kept[-1] + 1) if data.draw(st.booleans())]

    def end_is_safe(told: Told[int]) -> bool:
        return high[told.least] if told.most is None else low[told.most]

    told = []
    for value in range(LAST + 1):
        each = partition("sum", (0, LAST), kept, broken, None, margin)
        each.look = lambda told: Look(safe[told[0].value] if told[0].exact else end_is_safe(told[0]))
        told += each.told([value])
    assert all(one is not None and one.holds(value) for value, one in enumerate(told))
    exact = [value for value, one in enumerate(told) if one.exact]
    assert exact == list(range(exact[0], exact[-1] + 1)) if exact else True
    # an end tells what it says: all values that it holds are told so
    for one in {one for one in told if not one.exact}:
        assert [value for value, other in enumerate(told) if other == one] == [
            value for value in range(LAST + 1) if one.holds(value)
        ]


def test_an_answer_inside_of_those_drawn_has_no_candidate_judged() -> None:
    judged = list[int]()
    assert partition("sum", (10, 90), [40, 60], [], judged).told([50]) == [Told(50, 50)]
    assert not judged
    assert partition("sum", (10, 90), [40, 60], [], judged).told([30]) == [Told(30, 30)]
    assert judged
    assert max(judged) < 40


def test_a_greatest_value_has_no_end_at_least_and_a_least_one_none_at_most() -> None:
    assert partition("max", (4, 6), [5], []).told([8]) == [Told(8, 8)]
    assert partition("max", (4, 6), [5], []).told([1]) == [Told(None, 4)]
    assert partition("min", (4, 6), [5], []).told([1]) == [Told(1, 1)]
    assert partition("min", (4, 6), [5], []).told([8]) == [Told(6, None)]


def test_what_past_answers_settle_is_told_as_it_is() -> None:
    found = partition("sum", (40, 60), [50], [])
    found.settled = [True]
    assert found.told([3]) == [Told(3, 3)]


def test_of_a_single_query_an_end_is_judged_as_an_end_too() -> None:
    found = partition("sum", (10, 90), [40, 60], [])
    found = with_ends(found, lambda told: told.most is None or told.most >= 25)
    (told,) = found.told([5])
    assert told is not None
    assert told.most is not None
    assert 25 <= told.most <= 40
    assert found.told([told.most + 1]) == [Told(told.most + 1, told.most + 1)]


@given(st.integers(0, LAST), st.integers(0, LAST), st.integers(0, LAST))
def test_what_is_told_around_a_surprise_leaves_out_its_neighbours_which_would_be_told_exactly(
    one, other, value
) -> None:
    found = partition("sum", (0, LAST), sorted({one, other}), [])
    told, low, high = found.around(value), min(one, other), max(one, other)
    if low < value < high:
        assert told == Told(low + 1, high - 1)
        assert told.holds(value)
    else:
        assert told is None


@given(partitions(), st.sets(st.integers(0, LAST)), st.integers(0, 30))
def test_every_end_that_is_told_was_shown_or_nothing_is_told(
    asked: tuple[str, tuple[int, int], list[int], list[int]], fails: set[int], margin: int
) -> None:
    kind, safe, kept, broken = asked
    last = possible(kind)[1]
    found = partition(kind, safe, kept, broken, None, margin * (kind == "sum"))
    seen = set[Told[int]]()

    def is_shown(told: Told[int]) -> bool:
        seen.add(told)
        return (told.most if told.least is None else told.least) not in fails

    shown = with_ends(found, is_shown).with_shown_ends()
    if shown is None:
        assert fails
        return
    for value in range(last + 1):
        (told,) = shown.told([value])
        if told is not None and not told.exact:
            assert told in seen
            assert (told.most if told.least is None else told.least) not in fails


@given(st.integers(0, 40), st.integers(1, 40), st.integers(1, 40), st.integers(0, 40))
def test_with_a_margin_the_two_ends_have_nothing_in_common_and_both_are_shown(
    below: int, apart: int, above: int, margin: int
) -> None:
    """Moved inwards past each other, the upper one began where the lower one ends, and had no look."""
    low, high = below + 1, min(below + 1 + apart, LAST - 1)
    found = partition("sum", (max(0, low - 5), min(LAST, high + above % 9)), [low, high], [], None, margin)
    seen = set[Told[int]]()

    def is_shown(told: Told[int]) -> bool:
        seen.add(told)
        return True

    shown = with_ends(found, is_shown).with_shown_ends()
    assert shown is not None
    told = [shown.told([value])[0] for value in range(LAST + 1)]
    ends = {each for each in told if each is not None and not each.exact}
    assert ends <= seen
    assert sum(each.holds(value) for each in ends for value in (low, high)) <= 2
