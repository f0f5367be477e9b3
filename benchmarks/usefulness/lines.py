"""All lines of the table, in its order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from benchmarks.usefulness import attack, crossing, days, disjoint, sums
from benchmarks.usefulness.day import Line

FULL: tuple[Line, ...] = (*disjoint.LINES, *crossing.LINES, *attack.LINES, *sums.LINES, *days.LINES)
QUICK: tuple[Line, ...] = tuple(
    replace(line, name=f"quick {line.name}")
    for line in (*disjoint.QUICK, *crossing.QUICK, *sums.QUICK, *attack.QUICK)
)
"""What the README's tests count."""


def chosen(names: Sequence[str], quick: bool) -> list[Line]:
    """Those whose names begin with one of some; all of a part without any.

    Raises:
        ValueError: names the beginning that no line has, and how lines are called.
    """
    lines = QUICK if quick else FULL
    for name in names:
        if not any(line.name.startswith(name) for line in lines):
            called = "; ".join(line.name for line in lines)
            raise ValueError(f"no line begins with {name!r}; there are: {called}")
    return [line for line in lines if not names or any(line.name.startswith(name) for name in names)]
