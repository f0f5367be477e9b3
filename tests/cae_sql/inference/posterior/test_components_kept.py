"""What was counted of components is kept, and no verdict hangs on what happens to be kept."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cae_sql.errors import OutOfTime
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.posterior import components
from cae_sql.inference.posterior.components import Counts, Rows

STEPS = (5, 20, 20, 60)
"""By component, what each of two halves of counting it takes; the last one cannot be counted."""


def counting(component: int, seen: list[int]) -> Callable[[Allowance], Rows]:
    def count(allowance: Allowance) -> Rows:
        seen.append(component)
        for _ in range(2):
            if not allowance.spend(STEPS[component]):
                raise OutOfTime("too much")
        if component == len(STEPS) - 1:
            raise OutOfTime("cannot be counted")
        return [np.array([float(component)])]

    return count


def asked(known: Counts, component: int, steps: float, seen: list[int]) -> tuple[float | None, float]:
    """What is found, and what is left."""
    allowance = Allowance(steps)
    try:
        (rows,) = known.of(b"%d" % component, allowance, counting(component, seen))
    except OutOfTime:
        return None, allowance.steps
    return float(rows[0]), allowance.steps


@given(st.lists(st.tuples(st.integers(0, len(STEPS) - 1), st.integers(1, 150)), max_size=30))
def test_what_is_found_and_what_it_costs_do_not_hang_on_what_was_counted_before(
    questions: list[tuple[int, int]],
) -> None:
    known = Counts()
    for component, steps in questions:
        fresh = asked(Counts(), component, steps, [])
        assert asked(known, component, steps, []) == (fresh[0], max(fresh[1], 0))
        assert fresh[1] >= 0 or fresh[0] is None


def test_a_component_is_counted_once() -> None:
    known, seen = Counts(), list[int]()
    assert [asked(known, 1, 100, seen) for _ in range(3)] == [(1.0, 60.0)] * 3
    assert seen == [1]
    assert asked(known, 1, 30, seen) == (None, 0.0)
    assert asked(known, 3, 1000, seen) == asked(known, 3, 1000, seen) == (None, 880.0)
    assert seen == [1, 3]


def test_more_steps_than_did_not_suffice_are_tried() -> None:
    known, seen = Counts(), list[int]()
    assert [asked(known, 2, steps, seen)[0] for steps in (30, 30, 20, 100)] == [None, None, None, 2.0]
    assert seen == [2, 2]


def test_what_the_clock_ended_is_not_kept() -> None:
    known, seen = Counts(), list[int]()
    with pytest.raises(OutOfTime, match="in time"):
        known.of(b"0", Allowance(100, 0.0), counting(0, seen))
    assert asked(known, 0, 100, seen) == (0.0, 90.0)


def test_the_oldest_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(components, "MOST_KEPT", 2)
    known, seen = Counts(), list[int]()
    for component in (0, 1, 2, 2, 0):
        asked(known, component, 100, seen)
    assert seen == [0, 1, 2, 0]
