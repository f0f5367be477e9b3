"""What an insider makes of others in small systems, against all tables."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from cae_sql.domain import Domain
from cae_sql.inference.posterior import insiders
from cae_sql.inference.posterior.insiders import counted_with_insider
from cae_sql.inference.posterior.judging import LikelyKnowledge, LikelyStandard
from cae_sql.inference.system import AnsweredSystem
from cae_sql.measure import cae_area
from cae_sql.risk import Limit
from tests.quick import some


def drawn(seed: int) -> tuple[AnsweredSystem, NDArray[np.int64], LikelyStandard]:
    """Some answers about three to five people, an end among them now and then; and the tables that agree."""
    rng = np.random.default_rng(seed)
    size, top = int(rng.integers(3, 6)), int(rng.integers(1, 5))
    table, system = rng.integers(0, top + 1, size), AnsweredSystem(size, 0, top, 1)
    tables = np.array(list(product(range(top + 1), repeat=size)))
    for _ in range(int(rng.integers(1, 4))):
        members = np.flatnonzero(rng.random(size) < 0.7)
        if not len(members):
            continue
        kind = rng.choice(["sum", "sum", "max", "min", "range"])
        if kind == "range":
            total = int(table[members].sum())
            least, most = max(0, total - top), total
            system.add_range(members, least, most)
            found = tables[:, members].sum(axis=1)
            tables = tables[(found >= least) & (found <= most)]
            continue
        of = {"sum": np.sum, "max": np.max, "min": np.min}[kind]
        value = int(of(table[members]))
        getattr(system, {"sum": "add_sum", "max": "add_max", "min": "add_min"}[kind])(members, value)
        tables = tables[of(tables[:, members], axis=1) == value]
    return system, tables, LikelyStandard(Limit(risk=0.5), Domain(0, top, 1), "prior", 1)


def by_all_tables(tables: NDArray[np.int64], record: int, top: int, insiders: bool = True) -> float:
    """The greatest risk of one, whoever else's value is known."""
    grid = np.arange(top + 1)
    whole = cae_area(grid, np.full(top + 1, 1 / (top + 1)))
    those = [tables[:, record]]
    for insider in set(range(tables.shape[1])) - {record} if insiders else ():
        for value in np.unique(tables[:, insider]):
            those.append(tables[tables[:, insider] == value, record])
    left = [cae_area(grid, np.bincount(some, minlength=top + 1) / len(some)) for some in those]
    return max(1 - each / whole for each in left)


@pytest.mark.parametrize("seed", some(range(40), 12))
def test_the_greatest_risk_with_an_insider_is_that_by_all_tables(seed: int) -> None:
    system, tables, standard = drawn(seed)
    past = LikelyKnowledge(system, standard)
    found = counted_with_insider(past.likely, past.measures[0][0])
    labels, top = past.likely.known.atoms.labels, int(standard.domain.maximum)
    for record in range(system.size):
        if found.atoms[labels[record]]:
            # of whom others tell nothing there is no figure: they are as they are to everybody
            mine = max(found.risk[labels[record]], by_all_tables(tables, record, top, insiders=False))
            assert mine == pytest.approx(by_all_tables(tables, record, top), abs=1e-9)


def test_most_of_these_systems_are_counted() -> None:
    counted = []
    for seed in range(12):
        system, _, standard = drawn(seed)
        past = LikelyKnowledge(system, standard)
        found = counted_with_insider(past.likely, past.measures[0][0])
        counted += found.atoms[past.likely.known.atoms.labels[: system.size]].tolist()
    assert np.mean(counted) > 0.6


def test_who_has_nearly_all_of_a_sum_knows_what_the_others_have_better_than_the_formula() -> None:
    """Five have 5 together. To one who has 4 another is 0 in three tables of four."""
    system = AnsweredSystem(5, 0, 4, 1)
    system.add_sum(range(5), 5)
    standard = LikelyStandard(Limit(risk=0.8194), Domain(0, 4, 1), "prior", 1)
    past = LikelyKnowledge(system, standard)
    (risk,) = counted_with_insider(past.likely, past.measures[0][0]).risk[:1]
    grid = np.arange(5)
    assert risk == pytest.approx(1 - cae_area(grid[:2], [0.75, 0.25]) / cae_area(grid, np.full(5, 0.2)))
    assert risk > 0.8194


def test_components_of_many_records_and_values_are_left_to_the_formula(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    system = AnsweredSystem(8, 0, 4, 1)
    system.add_sum(range(8), 16)
    past = LikelyKnowledge(system, LikelyStandard(Limit(risk=0.5), Domain(0, 4, 1), "prior", 1))
    measure = past.measures[0][0]
    assert counted_with_insider(past.likely, measure).atoms.all()
    monkeypatch.setattr(insiders, "MOST_ROOM", 39)
    assert not counted_with_insider(past.likely, measure).atoms.any()


def test_what_cannot_be_counted_with_what_may_be_spent_is_left_to_the_formula(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    system = AnsweredSystem(6, 0, 4, 1)
    system.add_sum([0, 1, 2, 3], 7)
    system.add_sum([2, 3, 4, 5], 8)
    system.add_sum([0, 2, 4], 6)
    past = LikelyKnowledge(system, LikelyStandard(Limit(risk=0.5), Domain(0, 4, 1), "prior", 1))
    measure = past.measures[0][0]
    assert past.likely.exact[1].all()
    monkeypatch.setattr(insiders, "ALL_STEPS", 0)
    assert not counted_with_insider(past.likely, measure).atoms.any()
    monkeypatch.undo()
    assert counted_with_insider(past.likely, measure).atoms.all()
