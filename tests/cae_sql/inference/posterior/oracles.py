"""What the formula is held against: every table listed, and stars by convolution. No code of the package."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cae_sql.domain import Domain
from cae_sql.inference.posterior.likely import Likely
from cae_sql.inference.system import AnsweredSystem
from cae_sql.inference.tables.priors import Prior
from cae_sql.risk import risk_of


@dataclass
class Dense:
    """Random overlapping sums over a few records, with every table that agrees."""

    system: AnsweredSystem
    tables: np.ndarray
    top: int

    def posterior(self, record: int) -> np.ndarray:
        """How often each unit occurs as a record's value."""
        return np.bincount(self.tables[:, record], minlength=self.top + 1) / len(self.tables)


def all_tables(size: int, top: int) -> np.ndarray:
    """(…, size)"""
    return np.stack(np.meshgrid(*[np.arange(top + 1)] * size, indexing="ij"), -1).reshape(-1, size)


def dense(
    seed: int, size: int, top: int, sums: int, share: float = 0.5, odds: np.ndarray | None = None
) -> Dense:
    """Sums over random members; values drawn from `odds`, by default all alike."""
    chance = np.random.default_rng(seed)
    p = None if odds is None else odds / odds.sum()
    true = chance.choice(top + 1, size, p=p)
    system, tables = AnsweredSystem(size, 0, top, 1), all_tables(size, top)
    for _ in range(sums):
        members = np.flatnonzero(chance.random(size) < share)
        if len(members) < 2:
            continue
        query = system.query("sum", members)
        system.accept([query.answered(int(true[members].sum()))])
        tables = tables[tables[:, members].sum(axis=1) == true[members].sum()]
    return Dense(system, tables, top)


def coins(seed: int, size: int, sums: int) -> Dense:
    """0/1, and sums over about half of the records."""
    chance = np.random.default_rng(seed)
    true, tables = chance.integers(0, 2, size), all_tables(size, 1)
    system = AnsweredSystem(size, 0, 1, 1)
    for _ in range(sums):
        query = system.query("sum", np.flatnonzero(chance.random(size) < 0.5))
        told = int(query.of(true))
        system.accept([query.answered(told)])
        tables = tables[query.of(tables) == told]
    return Dense(system, tables, 1)


@dataclass
class Star:
    """Record 0 in many sums, each with others of its own."""

    system: AnsweredSystem
    values: np.ndarray
    sums: int
    others: int

    def posterior(self) -> np.ndarray:
        """Of record 0, by convolution."""
        count = int(self.system.grid.top) + 1
        ways = np.ones(1)
        for _ in range(self.others):
            ways = np.convolve(ways, np.ones(count) / count)
        told = self.values[0] + self.values[1:].reshape(self.sums, self.others).sum(axis=1)
        rest = told[:, None] - np.arange(count)
        inside = (rest >= 0) & (rest < len(ways))
        with np.errstate(divide="ignore"):
            logs = np.log(np.where(inside, ways[np.clip(rest, 0, len(ways) - 1)], 0.0)).sum(axis=0)
        p = np.exp(logs - logs.max())
        return p / p.sum()


def star(values: int, sums: int, others: int, seed: int, centre: int | None = None) -> Star:
    """All values alike; `centre`: what record 0 has."""
    chance = np.random.default_rng(seed)
    size = 1 + sums * others
    true = chance.integers(0, values, size)
    if centre is not None:
        true[0] = centre
    system = AnsweredSystem(size, 0, values - 1, 1)
    for place in range(sums):
        members = np.append(0, 1 + place * others + np.arange(others))
        query = system.query("sum", members)
        system.accept([query.answered(int(true[members].sum()))])
    return Star(system, true, sums, others)


def believed(odds: np.ndarray) -> Prior:
    """A prior of these odds, value by value."""

    def draw(count: int, seed: int) -> np.ndarray:
        return np.random.default_rng(seed).choice(len(odds), count, p=odds)

    return Prior.of(draw, odds)


def likely(system: AnsweredSystem) -> Likely:
    """What the system works with, its steps apart."""
    return system._likely(None, None)


def by_formula(system: AnsweredSystem, skewed: bool = True) -> np.ndarray:
    """(n, w) by leverage alone, whether or not it is counted."""
    found = likely(system) if skewed else likely(system).straight
    return found.formula[found.known.atoms.labels[: system.size]]


def variation(p: np.ndarray, q: np.ndarray) -> float:
    """Total variation."""
    return float(np.abs(p - q).sum() / 2)


def bits(p: np.ndarray) -> float:
    return float(-(p[p > 0] * np.log2(p[p > 0])).sum())


def judged(system: AnsweredSystem) -> np.ndarray:
    """(n,) risks by the formula against all values alike, the greater of those with skewness and without."""
    both = by_formula(system), by_formula(system, skewed=False)
    return np.array([max(risk(p), risk(q)) for p, q in zip(*both, strict=True)])


def risk(p: np.ndarray) -> float:
    """CAE risk against all values alike, on a grid of unit steps."""
    domain = Domain(0, len(p) - 1, 1)
    some = p > 0
    return risk_of(np.arange(len(p))[some], p[some], domain).risk
