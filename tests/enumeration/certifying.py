"""What an `AnsweredSystem` says is possible, held against all tables."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from cae_sql import AnsweredSystem

from .oracle import Possible, Question
from .scenarios import Asker, Settings, shape_at_random, table_at_random

SCALES = ((Fraction(0), Fraction(1)), (Fraction(10), Fraction(10)), (Fraction(-1), Fraction(1, 2)))
"""(minimum, resolution)."""
DRAWN = 12
"""Worlds that are looked at in each system."""

Told = list[tuple[Question, int]]


def system_at_random(settings: Settings, seed: int, number: int) -> tuple[int, int, Told]:
    """Size, greatest value and answers; the same for the same seed and number."""
    rng = np.random.default_rng([seed, number])
    size, top = shape_at_random(rng, settings)
    truth = np.array([table_at_random(rng, size, top, settings.values)])
    asker = Asker(rng, size, settings.kinds)
    drawn = [asker.question() for _ in range(int(rng.integers(1, 7)))]
    return size, top, [(question, int(question.of(truth)[0])) for question in drawn]


def untrue(size: int, top: int, told: Told, scale: int) -> Iterator[str]:
    """What the system says of these answers and no table shows."""
    minimum, unit = SCALES[scale]
    system = AnsweredSystem(size, minimum, minimum + unit * top, unit)
    possible = Possible.everything(size, top)
    for question, value in told:
        add(system, question, value, minimum, unit)
        possible = possible.told(question, value)
    certified, bounds = system.certified(), system.bounds()

    def steps(x: float) -> float:
        return (x - float(minimum)) / float(unit)

    for record in range(size):
        values = possible.values(record)
        low, high = steps(float(certified.lower[record])), steps(float(certified.upper[record]))
        if not set(range(round(low), round(high) + 1)) <= set(values):
            yield f"record {record} is certified {low:g} to {high:g}, and is one of {values}"
        low, high = steps(float(bounds.lower[record])), steps(float(bounds.upper[record]))
        if low > values[0] + 1e-6 or high < values[-1] - 1e-6:
            yield f"record {record} has the interval {low:g} to {high:g}, and is one of {values}"
    tables = {tuple(table) for table in possible.tables.tolist()}
    for world in system.worlds(DRAWN).tolist():
        if tuple(round(steps(float(x))) for x in world) not in tables:
            yield f"{world} is called a world, and does not agree"


def add(system: AnsweredSystem, question: Question, value: int, minimum: Fraction, unit: Fraction) -> None:
    """Tell a system an answer that is given in steps."""
    members = list(question.members)
    if question.kind != "sum":
        {"max": system.add_max, "min": system.add_min}[question.kind](members, minimum + unit * value)
        return
    signs = [question.signs[record] for record in members]
    total = minimum * sum(signs) + unit * value
    if min(signs) == 1 and value % 2:
        system.add_mean(members, total / len(members))
    else:
        system.add_sum(members, total, None if min(signs) == 1 else signs)
