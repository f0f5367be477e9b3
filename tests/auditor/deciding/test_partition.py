"""What is told of an answer follows from the question alone, is true, and says no more than it says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from auditor.deciding.cases import Case, Look
from auditor.deciding.decide import decide
from auditor.deciding.hypothetical import is_decided_by_partition
from auditor.deciding.partition import LISTED, Asked, Box, Partition, Values
from auditor.deciding.rules import Rules
from auditor.told import Told, exactly
from cae_sql.domain import Domain
from cae_sql.inference.standard import Effort, Standard
from cae_sql.inference.system import AnsweredSystem
from cae_sql.risk import Limit
from tests.quick import some

TOP, SIZE = 9, 12
LAST = TOP * SIZE


class Judge:
    """Says of answers, and of bounds, whether they are safe; keeps what it was asked about, in order."""

    def __init__(
        self, exact: Callable[[Values], Look], bound: Callable[[Sequence[Told[int]]], Look] | None = None
    ) -> None:
        self.exact, self.bound = exact, bound or (lambda _: Look(True))
        self.asked, self.kept = list[Values](), list[bool]()

    def excluded(self, values: Values, keep: bool) -> Look:
        self.asked.append(values)
        self.kept.append(keep)
        return self.exact(values)

    def together(self, answers: Sequence[Values]) -> bool:
        return False

    def likely(self, told: Sequence[Told[int]], keep: bool) -> Look:
        self.kept.append(keep)
        return Look(True) if all(each.exact for each in told) else self.bound(told)

    def bounds(self, told: Sequence[Told[int]]) -> Look:
        return self.bound(told)


def possible(kind: str) -> tuple[int, int]:
    """The least and the greatest answer."""
    return 0, LAST if kind == "sum" else TOP


def partition(
    kind: str, safe: tuple[int, int], drawn: Sequence[int], margin: int = 0, judge: Judge | None = None
) -> Partition | None:
    """Of one question whose answers keep the limit between two values; None where no end is shown."""
    judge = judge or Judge(lambda values: Look(safe[0] <= values[0] <= safe[1]))
    asked = Asked([kind], [possible(kind)], [(each,) for each in drawn], margin=margin, step=2)
    found = Partition(asked, judge)
    return found if found.settle().safe else None


@st.composite
def questions(draw: st.DrawFn) -> tuple[str, tuple[int, int], list[int]]:
    """Kinds, which answers keep the limit, and hypothetical ones that do and do not."""
    kind = draw(st.sampled_from(["sum", "max", "min"]))
    last = LAST if kind == "sum" else TOP
    low = draw(st.integers(0, last))
    high = draw(st.integers(low, last))
    return kind, (low, high), draw(st.lists(st.integers(0, last), min_size=1, max_size=8))


@given(questions(), st.integers(0, 30))
def test_every_answer_is_told_truly_and_all_that_are_told_as_a_bound_by_one(
    asked: tuple[str, tuple[int, int], list[int]], margin: int
) -> None:
    kind, safe, drawn = asked
    margin *= kind == "sum"
    if partition(kind, safe, drawn, margin) is None:
        middle = sorted(drawn)[len(drawn) // 2]
        around = [max(middle - margin, 0), min(middle + margin, possible(kind)[1])]
        assert not all(safe[0] <= each <= safe[1] for each in around)
        return
    bounds, exact = {1: set[Told[int]](), -1: set[Told[int]]()}, []
    for value in range(possible(kind)[1] + 1):
        found = partition(kind, safe, drawn, margin)
        assert found is not None
        (told,) = found.told([value])
        assert told.holds(value)
        if told.exact:
            exact.append(value)
            # of a sum those that are told have the margin to both sides, or nothing lies there
            assert kind != "sum" or max(value - margin, 0) >= safe[0]
            assert kind != "sum" or min(value + margin, LAST) <= safe[1]
        else:
            bounds[1 if told.most is None else -1].add(told)
    assert exact == list(range(exact[0], exact[-1] + 1)) if exact else True
    for way, found_bounds in bounds.items():
        assert len(found_bounds) <= 1
        for told in found_bounds:
            # whoever can work out the partition learns no more from a bound than it says: its end has it
            end = told.least if way > 0 else told.most
            assert end is not None
            assert safe[0] <= end <= safe[1] or (way > 0 and safe[0] <= end - 1 <= safe[1])
            assert end not in exact


@given(questions(), st.integers(1, 30))
def test_an_end_is_shown_by_an_answer_that_it_leaves_and_that_was_looked_at(
    asked: tuple[str, tuple[int, int], list[int]], margin: int
) -> None:
    """Not by the end itself, which nobody looked at: it lies inside of that answer by the margin."""
    _, safe, drawn = asked
    judge = Judge(lambda values: Look(safe[0] <= values[0] <= safe[1]))
    found = partition("sum", safe, drawn, margin, judge)
    for value in range(LAST + 1) if found is not None else ():
        assert found is not None
        (told,), (shown,) = found.told([value]), found.shown([value])
        assert told.holds(shown)
        assert told.exact or (shown,) in judge.asked
        assert told.exact or safe[0] <= shown <= safe[1]


@given(st.sets(st.integers(-LISTED, LISTED), max_size=4), st.integers(0, LISTED))
@example({1}, 2)
def test_a_few_steps_from_the_middle_no_answer_is_told_exactly_that_was_not_shown(
    lost: set[int], wide: int
) -> None:
    """Of eight people with 0 or 1 the sums 2 and 4 were shown, 3 was between them, and was refused then."""
    middle = LAST // 2
    judge = Judge(lambda values: Look(abs(values[0] - middle) <= LISTED and values[0] - middle not in lost))
    for value in range(middle - LISTED, middle + LISTED + 1):
        found = partition("sum", (0, LAST), [middle - wide, middle, middle + wide], judge=judge)
        if found is not None and found.told([value])[0].exact:
            assert (value,) in judge.asked
            assert value - middle not in lost


@given(questions(), st.lists(st.integers(0, TOP), min_size=1, max_size=6), st.integers(0, 30))
def test_what_is_told_does_not_hang_on_what_was_looked_for_before(
    asked: tuple[str, tuple[int, int], list[int]], values: list[int], margin: int
) -> None:
    kind, safe, drawn = asked
    margin *= kind == "sum"
    one = partition(kind, safe, drawn, margin)
    for value in values if one is not None else ():
        other = partition(kind, safe, drawn, margin)
        assert one is not None
        assert other is not None
        assert one.told([value]) == other.told([value])


@given(st.data(), st.integers(0, 30))
def test_the_same_bounds_are_told_whatever_the_judge_says(data: st.DataObject, margin: int) -> None:
    """Judging is a search: what is shown need not be an interval, nor the same for both ends."""
    bits = st.lists(st.booleans(), min_size=LAST + 1, max_size=LAST + 1)
    safe, low, high = data.draw(bits), data.draw(bits), data.draw(bits)
    drawn = sorted(data.draw(st.sets(st.integers(20, 80), min_size=1, max_size=5)))

    def bound_is_safe(told: Sequence[Told[int]]) -> Look:
        least, most = told[0].least, told[0].most
        return Look(high[least] if most is None and least is not None else low[most or 0])

    told, asked = [], set[tuple[int, ...]]()
    for value in range(LAST + 1):
        judge = Judge(lambda values: Look(safe[values[0]]), bound_is_safe)
        each = partition("sum", (0, LAST), drawn, margin, judge)
        asked.add(tuple(value for (value,), keep in zip(judge.asked, judge.kept, strict=False) if keep))
        if each is None:
            assert not told
            return
        told += each.told([value])
    assert all(one.holds(value) for value, one in enumerate(told))
    exact = [value for value, one in enumerate(told) if one.exact]
    assert exact == list(range(exact[0], exact[-1] + 1)) if exact else True
    # a bound tells what it says: all values that it holds are told so
    for one in {one for one in told if not one.exact}:
        assert [value for value, other in enumerate(told) if other == one] == [
            value for value in range(LAST + 1) if one.holds(value)
        ]


def test_an_answer_inside_of_what_is_settled_has_nothing_more_judged() -> None:
    judge = Judge(lambda values: Look(10 <= values[0] <= 90))
    found = partition("sum", (10, 90), [40, 60], judge=judge)
    assert found is not None
    assert judge.asked == [(60,), (20,), (80,)]
    assert found.told([70]) == [exactly(70)]
    assert len(judge.asked) == 3
    assert found.told([85]) == [exactly(85)]
    assert min(judge.asked[3:]) > (80,)
    assert (
        judge.kept.count(False) == len(judge.kept) - 7
    )  # the middle, two answers that are likely, too, and two bounds


def test_a_greatest_value_has_no_bound_at_least_and_a_least_one_none_at_most() -> None:
    for kind, value, told in (
        *(("max", 8, exactly(8)), ("max", 1, Told(None, 4))),
        *(("min", 1, exactly(1)), ("min", 8, Told(6, None))),
    ):
        found = partition(kind, (4, 6), [5])
        assert found is not None
        assert found.told([value]) == [told]


def test_what_past_answers_settle_is_told_as_it_is() -> None:
    asked = Asked(["sum"], [(0, LAST)], [(50,)], settled=[True])
    found = Partition(asked, Judge(lambda _: Look(True)))
    assert found.settle().safe
    assert found.told([3]) == [exactly(3)]


@given(st.integers(0, LAST), st.integers(0, LAST), st.integers(0, LAST))
def test_what_is_told_around_a_surprise_leaves_out_its_neighbours_which_would_be_told_exactly(
    one: int, other: int, value: int
) -> None:
    low, high = min(one, other), max(one, other)
    asked = Asked(["sum"], [(0, LAST)], [(low,), (high,)], [(low,), (high,)])
    told = Partition(asked, Judge(lambda _: Look(False))).around(value)
    assert told == (Told(low + 1, high - 1) if low < value < high else None)


@given(questions(), st.sets(st.integers(0, LAST)), st.integers(0, 30))
def test_every_bound_that_is_told_was_shown_or_nothing_is_told(
    asked: tuple[str, tuple[int, int], list[int]], fails: set[int], margin: int
) -> None:
    kind, safe, drawn = asked
    seen = set[Told[int]]()

    def is_shown(told: Sequence[Told[int]]) -> Look:
        seen.add(told[0])
        end = told[0].most if told[0].least is None else told[0].least
        return Look(end not in fails)

    judge = Judge(lambda values: Look(safe[0] <= values[0] <= safe[1]), is_shown)
    found = partition(kind, safe, drawn, margin * (kind == "sum"), judge)
    for value in range(possible(kind)[1] + 1) if found is not None else ():
        assert found is not None
        (told,) = found.told([value])
        if not told.exact:
            assert told in seen
            assert (told.most if told.least is None else told.least) not in fails


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 40), st.integers(0, 40))
def test_the_two_bounds_have_nothing_in_common(below: int, apart: int, above: int, margin: int) -> None:
    """Where one answer alone is shown one bound ends there, and the other begins beyond and has a look."""
    low, high, told = below + 1, min(below + 1 + apart, LAST - 1), []
    for value in range(LAST + 1):
        found = partition("sum", (max(0, low - above), min(LAST, high + above % 9)), [low, high], margin)
        if found is None:
            return
        told += found.told([value])
    bounds = {each for each in told if not each.exact}
    assert all(sum(each.holds(value) for each in bounds) <= 1 for value in range(LAST + 1))


def test_a_bound_that_no_exact_answer_speaks_for_is_looked_at_as_a_bound() -> None:
    """At most 50 and at least 51: nothing was shown of an answer from 51 on."""
    seen = list[Told[int]]()

    class Bounds(Judge):
        def bounds(self, told: Sequence[Told[int]]) -> Look:
            seen.append(told[0])
            return Look(True)

    found = partition("sum", (0, 0), [50], 0, Bounds(lambda values: Look(values == (50,))))
    assert found is not None
    assert [found.told([value])[0] for value in (49, 50, 51)] == [Told(None, 50)] * 2 + [Told(51, None)]
    assert seen == [Told(51, None)]


END = 20
PAIRS = st.tuples(st.integers(0, END), st.integers(0, END))


def tied(shows: np.ndarray, kept: list[tuple[int, int]]) -> Partition:
    """Of two sums that hang together; `shows` (21, 21) says which answers keep the limit."""
    asked = Asked(["sum", "sum"], [(0, END), (0, END)], kept, kept, step=2)
    found = Partition(asked, Judge(lambda values: Look(bool(shows[values]))))
    assert found.settle().safe
    return found


def diamond(width: int, kept: list[tuple[int, int]]) -> np.ndarray:
    rows, columns = np.indices((END + 1, END + 1))
    shows = np.abs(rows - columns) + np.abs(rows + columns - END) <= width
    shows[tuple(np.array(kept).T)] = True
    return shows


@given(st.lists(PAIRS, min_size=1, max_size=6), st.integers(8, 60), PAIRS)
def test_of_values_that_hang_together_every_combination_between_their_ends_has_shown_corners(
    kept: list[tuple[int, int]], width: int, values: tuple[int, int]
) -> None:
    shows = diamond(width, kept)
    found = tied(shows, kept)
    told = found.told(values)
    assert all(shows[corner] for corner in product(*zip(*found.exact.ends, strict=True)))
    assert all(each.holds(value) for each, value in zip(told, values, strict=True))
    # what is told of some answers does not hang on how far was looked for others
    for other in product((0, END), repeat=2):
        again = tied(shows, kept)
        again.told(other)
        assert all(each.exact or again.told(values)[place] == each for place, each in enumerate(told))


def test_of_many_values_every_two_are_seen_in_all_four_ways() -> None:
    ways = Box(((0,) * 20, (1,) * 20)).ways(range(20), 0)
    corners = np.array([[each[number] for number in range(20)] for each in ways])
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


def apart(
    shown: Sequence[tuple[int, int]],
    ends: Sequence[tuple[int, int]] | None = None,
    drawn: Sequence[int] = (9, 10, 11),
) -> Partition:
    """Of sums that hang on nothing together, each of which keeps the limit between two values, and may be
    told as bounds at most at, and at least from, two others."""
    count, of_ends = len(shown), ends or [(0, END)] * len(shown)

    def exact(values: Values) -> Look:
        pairs = enumerate(zip(values, shown, strict=True))
        lost = tuple(place for place, (value, (low, high)) in pairs if not low <= value <= high)
        return Look(not lost, lost)

    def bound(told: Sequence[Told[int]]) -> Look:
        lost = list[int]()
        for place, (each, (low, high)) in enumerate(zip(told, of_ends, strict=True)):
            if not each.exact and not ((each.most is None or each.most >= low) and (each.least or 0) <= high):
                lost.append(place)
        return Look(not lost, tuple(lost))

    asked = Asked(
        *(["sum"] * count, [(0, END)] * count, [(value,) * count for value in drawn]),
        components=range(count),
    )
    return Partition(asked, Judge(exact, bound))


@given(st.lists(st.tuples(*[st.integers(1, 9), st.integers(11, 19)] * 2), min_size=2, max_size=6), st.data())
def test_of_values_apart_each_is_told_as_if_it_had_been_asked_alone(
    shown: list[tuple[int, int, int, int]], data: st.DataObject
) -> None:
    found = apart([each[:2] for each in shown], [each[2:] for each in shown])
    assert found.settle().safe
    values = data.draw(st.tuples(*[st.integers(0, END)] * len(shown)))
    told = found.told(values)
    for place, value in enumerate(values):
        alone = apart([shown[place][:2]], [shown[place][2:]])
        assert alone.settle().safe
        assert alone.told([value]) == [told[place]]


def total_known(
    shown: Sequence[tuple[int, int]], ends: Sequence[tuple[int, int]], rest: tuple[int, int]
) -> tuple[Partition, list[Sequence[Told[int]]]]:
    """Of sums of which a total is known, so that what others have follows: as `apart`, and that must lie
    between two values, too; and what was looked at as bounds, in order."""
    count, drawn, seen = len(shown), (9, 10, 11), list[Sequence[Told[int]]]()

    def exact(values: Values) -> Look:
        pairs = enumerate(zip(values, shown, strict=True))
        lost = tuple(place for place, (value, (low, high)) in pairs if not low <= value <= high)
        return Look(not lost and rest[0] <= 10 * count - sum(values) <= rest[1], lost)

    def bound(told: Sequence[Told[int]]) -> Look:
        seen.append(told)
        pairs = enumerate(zip(told, ends, strict=True))
        lost = [
            place
            for place, (each, (low, high)) in pairs
            if not each.exact and not ((each.most is None or each.most >= low) and (each.least or 0) <= high)
        ]
        return Look(not lost, tuple(lost))

    shares = np.hstack([np.ones((count, 1)), -np.eye(count)])
    asked = Asked(
        *(["sum"] * count, [(0, END)] * count, [(value,) * count for value in drawn]),
        components=range(count), shares=shares,
    )  # fmt: skip
    return Partition(asked, Judge(exact, bound)), seen


@given(
    st.lists(st.tuples(*[st.integers(0, 9), st.integers(11, 20)] * 2), min_size=2, max_size=7),
    st.integers(0, 30), st.integers(0, 30), st.data(),
)  # fmt: skip
def test_where_a_total_is_known_what_is_told_of_one_value_hangs_on_no_other_and_was_looked_at(
    shown: list[tuple[int, int, int, int]], below: int, above: int, data: st.DataObject
) -> None:
    def asked() -> tuple[Partition, list[Sequence[Told[int]]]]:
        return total_known([each[:2] for each in shown], [each[2:] for each in shown], (-below, above))

    found, seen = asked()
    settled = found.settle()
    if not settled.safe:
        assert settled.open
        return
    truth = st.tuples(*[st.integers(0, END)] * len(shown))
    values, others = data.draw(truth), data.draw(truth)
    told = found.told(values)
    for place, (value, each) in enumerate(zip(values, told, strict=True)):
        assert each.holds(value)
        if each.exact:
            assert shown[place][0] <= value <= shown[place][1]
        else:
            assert any(looked[place] == each for looked in seen)
        again, _ = asked()
        assert again.settle().safe
        assert again.told([*others[:place], value, *others[place + 1 :]])[place] == each


def test_many_values_beyond_what_was_drawn_take_hardly_more_looks_than_two() -> None:
    """Each end by itself was most of what a statement of 72 months took."""

    def looks(count: int) -> int:
        found, seen = total_known([(0, END)] * count, [(0, END)] * count, (-END * count, END * count))
        assert found.settle().safe
        assert all(each.exact for each in found.told([END - 1] * count))
        return len(seen)

    assert looks(40) <= looks(2) + 2


@given(st.lists(st.integers(1, 1_000), min_size=2, max_size=40), st.integers(1, 3))
def test_low_and_high_ends_are_looked_at_together_so_that_every_known_total_stays_about_as_it_is(
    widths: list[int], groups: int
) -> None:
    """No total is further off than one of its sums may be, where no two totals have a sum in common."""
    count = len(widths)
    of = np.arange(count) % groups
    asked = Asked(
        *(["sum"] * count, [(0, 1_000)] * count, [(0,) * count, tuple(widths)]),
        components=range(count), shares=(of[:, None] == np.arange(groups)).astype(np.float64),
    )  # fmt: skip
    signs = 2 * np.array(Partition(asked, Judge(lambda _: Look(True)))._first) - 1
    for group in range(groups):
        mine = of == group
        assert abs(int((signs * widths)[mine].sum())) <= max(np.array(widths)[mine], default=0)


@pytest.mark.parametrize(("rest", "apart"), [(12, {1}), (300, set[int]())])
def test_sums_that_leave_a_few_others_with_what_follows_are_not_told_together(
    rest: int, apart: set[int]
) -> None:
    """Of a total over 300, 340 and 12 people the last 12 have what the two sums leave, whatever each is."""
    system = AnsweredSystem(640 + rest, 0, 1, 1)
    system.add_sum(np.arange(640 + rest), 320)
    asked = [system.query("sum", np.arange(300)), system.query("sum", np.arange(300, 640))]
    case = Case(system, asked, Standard(1, insiders=1), lambda _: [], Effort())
    assert case.question().overlap.to_ask_apart == apart
    assert is_decided_by_partition(case) == (not apart)
    np.testing.assert_allclose(case.question().overlap.shares, [[1, -1, 0], [1, 0, -1]])


def test_where_nobody_says_which_component_fails_all_do() -> None:
    """As far as the nearest of them, by halving; nothing is looked at for each of them."""
    count = 300
    limits = [4 + place % 5 for place in range(count)]
    judge = Judge(lambda values: Look(all(a <= v <= 14 for v, a in zip(values, limits, strict=True))))
    asked = Asked(
        *(["sum"] * count, [(0, END)] * count, [(value,) * count for value in (9, 10, 11)]), step=2,
        components=range(count),
    )  # fmt: skip
    found = Partition(asked, judge)
    assert found.settle().safe
    told = found.told((0,) * count)
    assert len(judge.asked) < 30
    assert set(told) == {Told(None, 8)}


def test_a_value_none_of_whose_bounds_is_shown_is_named_before_the_true_ones_are_looked_at() -> None:
    found = apart([(0, END)] * 2, [(0, END), (END, 0)]).settle()
    assert (found.safe, found.open) == (False, (1,))


def test_nothing_is_looked_at_beyond_what_the_closed_form_shows() -> None:
    judge = Judge(lambda _: Look(True))
    asked = Asked(
        *(["sum"] * 2, [(0, END)] * 2, [(10, 10), (9, 11)]), reach=[(5, 15), None], components=[0, 1]
    )
    found = Partition(asked, judge)
    assert found.settle().safe
    assert found.told((0, 0)) == [Told(None, 5), exactly(0)]
    assert {values[0] for values in judge.asked} <= set(range(5, 16))


@pytest.mark.parametrize(
    ("sizes", "top", "insiders"),
    some([((24, 28), 1, 1), ((22, 30), 1, 0), ((16, 18), 4, 1), ((24, 26, 30), 1, 1), ((300, 40), 1, 1)], 2),
)
@pytest.mark.parametrize("rest", [0, 300])
def test_what_is_told_of_groups_says_all_that_decided_it(
    sizes: tuple[int, ...], top: int, insiders: int, rest: int
) -> None:
    """Every table that agrees with what is told is told the same, and none is refused once it is known.

    So nobody learns more than what is recorded. What is told of a group hangs on its own sum alone. That is
    so of groups that hang on nothing together, and where their total with that of many others is known.
    """
    limit, domain = Limit(risk=0.5), Domain(0, top, 1)
    least = min(limit.least_span(domain), top)
    starts = np.cumsum([0, *sizes])
    tails = np.arange(0, 3 * top, top)
    every = [np.unique([*tails, size * top // 2, *(size * top - tails)]).tolist() for size in sizes]
    told = dict[tuple[int, ...], tuple[Told[int], ...]]()
    total = (int(starts[-1]) + rest) * top // 2
    for values in product(*every):
        if rest and not 0 <= total - sum(values) <= rest * top:
            continue  # no table
        system = AnsweredSystem(int(starts[-1]) + rest, 0, top, 1)
        if rest:
            system.add_sum(np.arange(system.size), total)
        asked = [system.query("sum", np.arange(first, last)) for first, last in pairwise(starts)]
        standard = Standard(least, insiders=insiders)
        case = Case(system, asked, standard, lambda _, values=values: values, Effort())
        assert is_decided_by_partition(case)
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
