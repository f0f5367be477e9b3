"""Worlds of crowds are all tables: held against tables that are listed one by one."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import floor
from statistics import median_low

import pytest

from .crowds import Crowds, Fact

SIZES, VALUES = (2, 1, 3), (5, 15, 25)
WEIGHTS = (1, -2, 3)
FACTS = [
    Fact("sum", (1, 0, 1), Fraction(60), Fraction(75)),
    Fact("weighted", WEIGHTS, Fraction(10), Fraction(90)),
    Fact("max", (1, 1, 0), None, Fraction(15)),
    Fact("min", (0, 1, 1), Fraction(15), Fraction(15)),
    Fact("count", (1, 1, 1), Fraction(2), Fraction(3), (1, 2)),
    Fact("quantile", (1, 0, 1), Fraction(15), None, (), (2, 2, Fraction(0))),
    Fact("quantile", (1, 1, 1), Fraction(5), Fraction(15), (), (2, 3, Fraction(1, 2))),
    Fact("spread", (1, 1, 1), Fraction(200), Fraction(400)),
]


def agrees(table: tuple[int, ...], fact: Fact) -> bool:
    """By the definition of each statistic."""
    classes = [place for place, size in enumerate(SIZES) for _ in range(size)]
    some = [(value, fact.weights[place]) for value, place in zip(table, classes, strict=True)]
    values = sorted(value for value, weight in some if weight)
    if fact.kind in ("sum", "weighted"):
        found = sum(value * weight for value, weight in some)
    elif fact.kind in ("max", "min"):
        found = values[-1 if fact.kind == "max" else 0]
    elif fact.kind == "count":
        found = sum(VALUES.index(value) in fact.values for value in values)
    elif fact.kind == "quantile":
        first, second, part = fact.ranks
        found = 5 + floor((values[first] - 5 + part * (values[second] - values[first])) / 10) * 10
        assert part or found == median_low(values)
    else:
        mean = Fraction(sum(values), len(values))
        found = floor(sum((value - mean) ** 2 for value in values) / 100) * 100
    return (fact.least is None or found >= fact.least) and (fact.most is None or found <= fact.most)


@pytest.mark.parametrize("facts", [*([each] for each in FACTS), [FACTS[0], FACTS[7]], [FACTS[4], FACTS[1]]])
def test_what_is_left_and_how_likely_it_is_follows_from_all_tables(facts: list[Fact]) -> None:
    crowds = Crowds(SIZES, VALUES)
    for fact in facts:
        crowds.told(fact)
    tables = [table for table in product(VALUES, repeat=6) if all(agrees(table, fact) for fact in facts)]
    assert 0 < len(tables) < 3**6
    someone, other = (0, 2, 3), (1, 2, 4)  # of each class, and of classes of several another one
    left = {(each.place, each.insider, each.known): each.values for each in crowds.excluded()}
    likely = {(each.place, each.insider, each.known): each.chances for each in crowds.likely()}
    expected = dict[tuple[int, int | None, int | None], list[int]]()
    for place, insider in product(range(3), (None, 0, 1, 2)):
        if place == insider == 1:
            continue
        for table in tables:
            known = None if insider is None else VALUES.index(table[other[insider]])
            if insider is not None and insider != place:
                known = VALUES.index(table[someone[insider]])
            counts = expected.setdefault((place, insider, known), [0, 0, 0])
            counts[VALUES.index(table[someone[place]])] += 1
    assert left == {
        name: tuple(place for place in range(3) if counts[place]) for name, counts in expected.items()
    }
    assert likely.keys() == expected.keys()
    for name, counts in expected.items():
        assert likely[name] == pytest.approx([count / sum(counts) for count in counts])
