"""What the attacks' tests measure with: the run that a limit needs, and an onlooker who misses nothing."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from auditor.attacks import ATTACKS
from cae_sql.measure import cae_area

from .arena import HIGH, LEAST_RUN, LOW, STEP, Onlooker, longest_run


def test_the_limit_of_these_tests_demands_a_run_of_14() -> None:
    prior = cae_area(range(LOW, HIGH + 1, STEP))
    risks = {count: 1 - cae_area(range(0, count * STEP, STEP)) / prior for count in range(1, 26)}
    assert min(count for count, risk in risks.items() if risk <= 0.5) == LEAST_RUN


@pytest.mark.parametrize("seed", range(6))
def test_the_onlooker_finds_exactly_the_values_that_enumeration_finds(seed: int) -> None:
    generator = np.random.default_rng(seed)
    truth = generator.integers(0, 4, 5)
    onlooker = Onlooker(5, 0, 3, 1)
    answers = []
    for kind in ("sum", "max", "min", "sum"):
        members = sorted(generator.choice(5, 3, replace=False).tolist())
        value = int(getattr(truth[members], kind)())
        answers.append((kind, members, value))
        onlooker.hears(kind, members, value)
    tables = [
        table
        for table in product(range(4), repeat=5)
        if all(getattr(np.array(table)[m], kind)() == value for kind, m, value in answers)
    ]
    possible = [{table[record] for table in tables} for record in range(5)]
    short = onlooker.everybody_keeps(4)  # so that every value is tried
    assert short == [record for record in range(5) if longest_run(possible[record]) < 4]
    for record in short:
        assert onlooker.seen[record] == possible[record]
        assert onlooker.range_of(record) == (min(possible[record]), max(possible[record]))


def test_every_attack_has_a_name_a_line_and_a_source() -> None:
    names = [attack.name for attack in ATTACKS]
    assert len(set(names)) == len(names)
    assert all(attack.about.endswith(".") and len(attack.source) > 10 for attack in ATTACKS)
