"""Verdicts, answers and figures are the same where Python runs the exact kernels: of random days."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator

import cae_sql.compiled as compiled_module
from auditor import Gate, QueryRefused, QueryUnsupported
from cae_sql.compiled import Compiled
from tests.auditor.staff import build, people, policy

BY = ("dept", "sex", "age // 10", "CASE WHEN age < 40 THEN 0 ELSE 1 END")
WHAT = ("sum(salary)", "avg(salary)", "max(salary)", "min(salary)", "AT_MOST(stddev(salary))")
STATEMENTS = 8


def statement(draw: Generator) -> str:
    """Over some ages or everybody, in groups or not."""
    first, last = sorted(draw.integers(20, 60, 2).tolist())
    where = f" WHERE age BETWEEN {first} AND {last}" if draw.random() < 0.5 else ""
    what = draw.choice(WHAT, p=(0.35, 0.35, 0.1, 0.1, 0.1))
    if draw.random() < 0.5:
        return f"SELECT {what} FROM staff{where}"
    by = ", ".join(draw.choice(BY, int(draw.integers(1, 3)), replace=False))
    return f"SELECT {by}, {what} FROM staff{where} GROUP BY {by}"


def day(place: Path, seed: int) -> list[object]:
    """What became of each statement, everything that is said of it."""
    draw, found = np.random.default_rng(seed), list[object]()
    place.mkdir()
    more = f'[decision]\npartial = "suppress"\n[intruder]\ninsiders = {draw.integers(0, 2)}'
    rules = policy(more, f"risk = {draw.choice([0.5, 0.8])}")
    with Gate.open(build(place / "staff.duckdb", people(int(draw.integers(30, 150)), seed)), rules) as gate:
        for _ in range(STATEMENTS):
            try:
                answer = gate.execute(statement(draw))
                found += [answer.fetchall(), answer.decision]
            except (QueryRefused, QueryUnsupported) as error:
                found.append(error.decision)
        found.append(gate.risk().to_csv())
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_day_is_the_same_where_python_runs_exact_kernels(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled, ran = day(tmp_path / "compiled", seed), Counter[str]()

    def call(self: Compiled, *arguments: Any) -> Any:
        if compiled_module._here.python:
            return self.py_func(*arguments)
        if not self.exact:
            return self.dispatcher(*arguments)
        ran[self.py_func.__name__] += 1
        return self._by_python(arguments)

    monkeypatch.setattr(Compiled, "__call__", call)
    assert day(tmp_path / "python", seed) == compiled
    assert len(ran) > 8
