"""What is said of pairs in small systems is what listing every table says."""

from __future__ import annotations

import time

import numpy as np
import pytest

from cae_sql import AnsweredSystem
from cae_sql.inference.answers import Query
from cae_sql.inference.pairs import keeps_with_insider
from cae_sql.inference.runs import Effort
from tests.enumeration.oracle import Possible, Question, longest_run


def said(system: AnsweredSystem, need: int, effort: int = 400, seconds: float = 10.0) -> bool:
    pool = system.pool()
    return keeps_with_insider(
        pool.knowledge,
        pool.values,
        need,
        time.monotonic() + seconds,
        Effort(effort),  # type: ignore[union-attr]
    )


def is_so(possible: Possible, need: int) -> bool:
    """Whether everybody keeps need + 1 consecutive values, whatever value anyone else turns out to have."""
    everyone = range(possible.size)
    return all(
        longest_run(possible.values_given(record, insider, value)) > need
        for insider in everyone
        for value in possible.values(insider)
        for record in everyone
        if record != insider
    )


def at_random(seed: int) -> tuple[AnsweredSystem, Possible, int]:
    """A tiny system, all of its tables, and the greatest value."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(3, 7))
    top = int(rng.integers(1, 4 if size == 6 else 6))
    truth, possible = rng.integers(0, top + 1, size), Possible.everything(size, top)
    system, answers = AnsweredSystem(size, 0, top, 1, pool=6), []
    for _ in range(rng.integers(0, 4)):
        kind = str(rng.choice(["sum", "sum", "signed", "max", "min"]))
        members = np.sort(rng.permutation(size)[: rng.integers(2, size + 1)])
        signs = np.zeros(size, dtype=np.int64)
        signs[members] = rng.choice([1, -1], len(members)) if kind == "signed" else 1
        told = "sum" if kind == "signed" else kind
        weights = signs[members] if kind == "signed" else None
        query = Query(kind=told, members=members, coefficients=weights)  # type: ignore[arg-type]
        value = int(query.of(truth))
        answers.append(query.answered(value))
        possible = possible.told(Question(told, tuple(int(sign) for sign in signs)), value)
    system.accept(answers)
    return system, possible, top


def test_what_is_said_to_be_kept_is_kept_in_every_table() -> None:
    kept = lost = unsure = 0
    for seed in range(2_000):
        system, possible, top = at_random(seed)
        need = seed % top + 1
        real, told = is_so(possible, need), said(system, need)
        assert real or not told, f"seed {seed}"
        kept, lost, unsure = kept + told, lost + (not real), unsure + (real and not told)
    assert kept > 400
    assert lost > 400
    assert unsure < 20


@pytest.mark.parametrize("total", range(5))
def test_of_four_persons_with_values_of_0_or_1_two_together_leave_everybody_open(total: int) -> None:
    system = AnsweredSystem(4, 0, 1, 1)
    system.add_sum(range(4), total)
    possible = Possible.everything(4, 1).told(Question("sum", (1, 1, 1, 1)), total)
    assert said(system, 1) == is_so(possible, 1) == (total == 2)


def test_of_two_each_tells_the_other() -> None:
    system = AnsweredSystem(5, 0, 9, 1)
    system.add_sum([0, 1], 9)
    assert not said(system, 1)


def test_without_time_or_programs_nothing_is_said_to_be_kept_that_was_not_seen() -> None:
    system = AnsweredSystem(6, 0, 5, 1)
    system.add_sum(range(6), 15)
    assert said(system, 5)
    assert not said(system, 5, seconds=-1.0)


def test_large_systems_are_not_tried() -> None:
    system = AnsweredSystem(200, 0, 1_000, 1)
    for first in range(0, 200, 2):
        system.add_sum(range(first, 200), 500 * (200 - first))
    began = time.monotonic()
    system.pool()
    began = time.monotonic()
    assert not said(system, 10)
    assert time.monotonic() - began < 1
