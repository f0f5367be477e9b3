"""Long lists and many examples: the first few for everybody, the rest for .ci/run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings


def some(cases: Iterable[Any], count: int, tuples: bool = True) -> list[Any]:
    """The cases of `parametrize`, all but the first `count` of them marked as slow.

    Where order says nothing, put cases first that differ in kind.

    Args:
        cases: As `parametrize` takes them.
        count: How many are for everybody.
        tuples: Whether a tuple has an argument's value in each place, and is not one value itself.
    """
    listed = list(cases)
    return [*listed[:count], *(_slow(case, tuples) for case in listed[count:])]


def _slow(case: Any, tuples: bool) -> Any:
    if isinstance(case, type(pytest.param())):
        return pytest.param(*case.values, marks=[*case.marks, pytest.mark.slow], id=case.id)
    return pytest.param(*(case if tuples and isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)


def share(part: int) -> int:
    """A part of the examples, for properties of which one example takes as long as many others do."""
    return max(4, settings().max_examples // part)


def rounds(count: int) -> int:
    """Rounds of a loop, or of what it must have seen by its end: of 100 as many as there are examples."""
    return max(1, count * max(20, settings().max_examples) // 100)
