"""Answers over reals as whole numbers: a system in units of 1 / scale, so that everything after is exact."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

from cae_sql.inference.facts.atoms import Atoms
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.lumps import NO_LUMPS
from cae_sql.inference.facts.query import Answer, Grid, Ints
from cae_sql.inference.intervals.bounds import Solved

REAL_TOLERANCE = Fraction(1, 10**9)
"""Relative difference within which sums of reals do not contradict each other."""
FINEST = 2**45
"""Real-valued right-hand sides are kept as fixed-point numbers up to about this size."""


def scale_of(size: int, grid: Grid, answers: Sequence[Answer]) -> int:
    """By what reals are multiplied so that all right-hand sides are whole; 1 on a grid."""
    if grid.whole:
        return 1
    values = [grid.top, *(answer.value for answer in answers)]
    scale: int = lcm(*(value.denominator for value in values))
    largest = max([Fraction(1), *(abs(value) for value in values), grid.top * size])
    return scale if scale * largest < FINEST else max(1, int(FINEST / largest))


def solved(
    size: int,
    grid: Grid,
    answers: Sequence[Answer],
    numbers: Sequence[int],
    scale: int,
    atoms: Atoms | None = None,
    lumps: Ints = NO_LUMPS,
) -> Solved:
    """The system of some answers alone, in units of 1 / scale (`scale_of`).

    The partition that they make may be given where it is known; lumps say for how many records each stands.

    Raises:
        InconsistentAnswers: a sum contradicts others, or boxes are empty.
    """
    chosen = [answers[number] for number in numbers]
    if scale != 1:
        chosen = [answer.answered(Fraction(round(answer.value * scale))) for answer in chosen]
    slack = 0
    if not grid.whole:
        # reals arrive rounded, means above all: what differs in the last digits is no contradiction
        largest = max([grid.top, *(abs(answer.value) for answer in answers)])
        slack = int(largest * scale * REAL_TOLERANCE)
        if any((answer.value * scale).denominator != 1 for answer in answers):
            slack += 2 * len(numbers)
    return Solved(*Knowledge.of(size, int(grid.top * scale), chosen, slack, atoms and atoms.copy(), lumps))
