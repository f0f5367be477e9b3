"""The oracle itself: what is told does not leave its bands downwards, and whoever breaks the engine is seen.

The quick lines take up to a minute of CPU; the slow ones, and mutants, two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from auditor.deciding import hypothetical
from benchmarks.usefulness import bands
from benchmarks.usefulness.counted import count
from benchmarks.usefulness.day import Line
from benchmarks.usefulness.lines import FULL, QUICK
from benchmarks.usefulness.switched import switched
from cae_sql.inference.ways import ALL

BANDS = bands.read()
SLOW = ("groups: 0/1, 20 of 13, rate 0.3", "groups: five-point, 40 of 15", "crossing: 25 values, 300")
"""With one seed each: what may take two minutes in .ci/run."""


def lost(line: Line, seeds: int | None = None) -> list[str]:
    """What left the line's band."""
    if line.absent:
        pytest.skip(line.absent)
    return bands.fallen(count(line, seeds), BANDS)


def test_each_line_has_a_name_of_its_own_and_bands_are_of_lines() -> None:
    every = [line.name for line in (*QUICK, *FULL)]
    assert len(set(every)) == len(every)
    assert set(BANDS) <= set(every)


@pytest.mark.slow
def test_what_is_told_of_the_quick_lines_stays_in_its_bands() -> None:
    assert [line.name for line in QUICK if not line.absent and line.name not in BANDS] == []
    assert [words for line in QUICK if not line.absent for words in lost(line)] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_what_is_told_of_some_lines_stays_in_its_bands(name: str) -> None:
    (line,) = (line for line in FULL if line.name == name)
    assert name in BANDS
    assert lost(line, 1) == []


@contextmanager
def without_payments() -> Iterator[None]:
    """Nobody is shown out of shared rooms."""
    with switched(ALL.without("payments")):
        yield


@contextmanager
def early_ends() -> Iterator[None]:
    """Ends stay ten times as far inside of what breaks the limit."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hypothetical, "MARGIN", 10 * hypothetical.MARGIN)
        yield


MUTANTS = (
    (without_payments, "quick sums: 8 of 25 values, 300"),
    (early_ends, "quick sums: 8 of 25 values, 300"),
)
"""Each with the line that notices it soonest."""


@pytest.mark.slow
@pytest.mark.parametrize(("mutant", "name"), MUTANTS)
def test_a_mutant_leaves_a_band_of_the_quick_part(
    mutant: Callable[[], AbstractContextManager[None]], name: str
) -> None:
    (line,) = (line for line in QUICK if line.name == name)
    with mutant():
        found = lost(line, 1)
    assert any("exact" in words or "told" in words for words in found), found
