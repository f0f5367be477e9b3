"""Which sums carry the leverage of a record."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cae_sql.inference.system import AnsweredSystem


def answered(seed: int, records: int = 12, sums: int = 6) -> AnsweredSystem:
    rng = np.random.default_rng(seed)
    values, system = rng.integers(0, 10, records), AnsweredSystem(records, 0, 9, 1)
    for _ in range(sums):
        members = np.flatnonzero(rng.random(records) < 0.5)
        if len(members):
            system.add_sum(members, int(values[members].sum()))
    return system


def test_a_tracker_is_carried_by_its_two_halves() -> None:
    system = AnsweredSystem(60, 0, 9, 1)
    system.add_sum(range(30, 60), 130)
    system.add_sum(range(30), 140)
    system.add_sum(range(15, 45), 133)
    system.add_sum(range(1, 30), 135)
    carried = system.carried_by(0)
    assert [number for number, _ in carried] in ([1, 3], [3, 1])
    assert carried[-1][1] == pytest.approx(1.0)


def test_who_is_in_no_sum_is_carried_by_none() -> None:
    system = AnsweredSystem(10, 0, 9, 1)
    assert system.carried_by(3) == []
    system.add_sum(range(3), 12)
    assert system.carried_by(5) == []


@given(st.integers(0, 10_000))
@example(4129)  # one person varies by no more than rounding: nothing is left to carry
def test_all_sums_together_carry_all_of_it(seed: int) -> None:
    system = answered(seed)
    for record in range(system.size):
        carried = system.carried_by(record, most=100, share=1.0)
        last = carried[-1][1] if carried else 0.0
        assert last == pytest.approx(system.leverage([record])[0], abs=1e-6)


@given(st.integers(0, 10_000))
def test_each_figure_is_the_leverage_of_these_sums_alone(seed: int) -> None:
    """By a system that knows just these, at the variances of all."""
    system = answered(seed)
    likely = system._likely(None, None)
    each = np.zeros(likely.known.count)
    each[likely.fit.observed.atoms] = likely.fit.variances[: likely.fit.observed.people]
    spread = np.diag(each[likely.known.atoms.labels])
    rows = np.zeros((len(system.answers), system.size))
    for number, answer in enumerate(system.answers):
        rows[number, answer.members] = 1
    for record in (0, 5):
        carried = system.carried_by(record, most=3)
        for count in range(1, len(carried) + 1):
            those = rows[[number for number, _ in carried[:count]]]
            mine = spread @ those.T
            explained = mine[record] @ np.linalg.pinv(those @ mine) @ mine[record]
            assert carried[count - 1][1] == pytest.approx(explained / spread[record, record], abs=1e-6)
