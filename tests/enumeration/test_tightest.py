"""The tightest ranges that hang on all members, and exact answers after them: all keep the standard."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from cae_sql.inference.standard import Standard

from .tightest import Tight, played


@pytest.fixture(autouse=True)
def anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Members may be anywhere: with few values nobody near to where they are could pay."""
    monkeypatch.setattr("cae_sql.inference.facts.shares.REACH", 1.0)


def test_the_tightest_ranges_leave_everybody_the_standard() -> None:
    seen = Counter[str]()
    assert [played(11, number, seen) for number in (32, 33, 34)] == [None] * 3
    assert seen


@pytest.mark.slow
def test_many_of_the_tightest_ranges_leave_everybody_the_standard() -> None:
    seen = Counter[str]()
    for number in range(56):
        assert played(11, number, seen) is None
    assert min(seen[each] for each in ("weighted both", "spread both", "exact sum", "together")) >= 3, seen
    assert seen["exact min"] + seen["exact max"] >= 3, seen


@pytest.mark.parametrize(
    ("count", "size", "weight", "need"), [(3, 60, 20, 2), (5, 24, 15, 4), (5, 24, 15, 2)]
)
def test_a_record_and_an_insider_share_what_a_range_leaves(
    count: int, size: int, weight: int, need: int
) -> None:
    """Two single persons of great weight, everybody's sum known: each pays out of a part of the margin."""
    truth = np.random.default_rng(3).integers(0, count, size + 2)
    truth[-2:] = (count - 1) // 2
    tight = Tight((size, 1, 1), count, truth, Standard(need, insiders=1))
    everybody = tight.query("sum", (1, 1, 1))
    tight.answers.append((everybody, int(truth.sum()), (1, 1, 1)))
    assert tight.tell("weighted", (1, weight, weight), 0.5, "both")
    assert tight.finding() is None
