"""Kinds of protected columns, from two values to two hundred, and draws of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Draws = Callable[[np.random.Generator, int], Ints]


@dataclass(frozen=True)
class Column:
    """A domain, and how values are drawn."""

    name: str
    minimum: int
    maximum: int
    step: int
    draw: Draws

    def policy(self, table: str, public: str, more: str = "") -> str:
        """A policy that protects it, as TOML; `more`: lines of [intruder]."""
        return (
            f'[protect]\ntable = "{table}"\ncolumn = "value"\nminimum = {self.minimum}\n'
            f"maximum = {self.maximum}\nstep = {self.step}\npublic = {public}\n"
            f"[intruder]\ninsiders = 1\n{more}[limit]\nrisk = 0.5\n[decision]\n"
        )


def _rated(rate: float, rng: np.random.Generator, count: int) -> Ints:
    return (rng.random(count) < rate).astype(np.int64)


def _opinions(rng: np.random.Generator, count: int) -> Ints:
    return rng.choice(np.arange(1, 6), count, p=(0.1, 0.2, 0.3, 0.25, 0.15)).astype(np.int64)


def _scores(rng: np.random.Generator, count: int) -> Ints:
    return np.clip(np.round(rng.normal(60, 18, count)), 0, 100).astype(np.int64)


def _amounts(rng: np.random.Generator, count: int) -> Ints:
    return np.clip(np.round(rng.lognormal(3.2, 0.8, count)), 0, 200).astype(np.int64)


def _salaries(rng: np.random.Generator, count: int) -> Ints:
    return (np.clip(np.round(rng.lognormal(3.6, 0.7, count) / 10), 1, 25) * 10).astype(np.int64)


def yes_or_no(rate: float) -> Column:
    """0/1, with so many ones."""
    return Column("0/1", 0, 1, 1, partial(_rated, rate))


FIVE_POINT = Column("five-point", 1, 5, 1, _opinions)
SCORES = Column("scores 0–100", 0, 100, 1, _scores)
AMOUNTS = Column("amounts 0–200", 0, 200, 1, _amounts)
SALARIES = Column("25 values", 10, 250, 10, _salaries)
"""Skewed, as salaries are."""
KINDS = (yes_or_no(0.3), FIVE_POINT, SALARIES, SCORES, AMOUNTS)
