"""Randomised response beside sampling on the scale of paper 000: mean H0, area and risk by what is known.

On the paper-like ACS records: every subset of the six public attributes is known in turn, and every
combination of their values that occurs counts once. One release of each kind; probabilities are stated as
retentions r, since p = r + (1 − r) / d means different things for different numbers of values d.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from itertools import combinations

import numpy as np
import pandas as pd
from rich.table import Table

from cae_sql.domain import Domain
from cae_sql.releases import draw_sample, randomise, randomised, sampled

SALARY = Domain(10, 250, 10)
PUBLIC = {
    "age": range(16, 85),
    "sex": None,
    "education": None,
    "industry": None,
    "occupation": None,
    "travel_time": range(1, 178),
}
"""Domains that are known; None: the values that occur."""

Means = Mapping[str, list[tuple[float, float, float]]]


def one_scale(frame: pd.DataFrame, quick: bool, advance: Callable[[], None]) -> Means:
    """Mean H0, area and risk with 0, 1, … attributes known, of each release."""
    domains = {name: list(values or sorted(frame[name].unique())) for name, values in PUBLIC.items()}
    domains["salary"] = SALARY.values.tolist()
    kept: dict[str, dict[str, float]] = {
        "RR-S, r = 0.5": {"salary": 0.5},
        "RR-QI, r = 0.5": dict.fromkeys(PUBLIC, 0.5),
        "RR-QI, r = 0.9": dict.fromkeys(PUBLIC, 0.9),
        "RR-Both, r = 0.9": dict.fromkeys([*PUBLIC, "salary"], 0.9),
    }
    found: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    sample = draw_sample(frame, 50, seed=1)
    probabilities = {
        name: {column: r + (1 - r) / len(domains[column]) for column, r in each.items()}
        for name, each in kept.items()
    }
    released = {name: randomise(frame, each, domains, seed=1) for name, each in probabilities.items()}
    for count in (0, len(PUBLIC)) if quick else range(len(PUBLIC) + 1):
        figures: dict[str, list[pd.DataFrame]] = defaultdict(list)
        for known in combinations(PUBLIC, count):
            figures["sampling, 50 %"].append(sampled(frame, sample, "salary", known, SALARY))
            for name, each in probabilities.items():
                table = randomised(frame, released[name], "salary", known, SALARY, each, domains)
                figures[name].append(table)
        for name, tables in figures.items():
            means = pd.concat(tables)[["initial_entropy", "area", "risk"]].mean()
            found[name].append((float(means.iloc[0]), float(means.iloc[1]), float(means.iloc[2])))
        advance()
    return found


def shown_means(found: Means) -> Table:
    """H0 / risk for each number of known attributes."""
    width = len(next(iter(found.values())))
    table = Table(title="On one scale, ACS: mean H0 in bits / mean risk, by number of known attributes")
    known = np.linspace(0, len(PUBLIC), width).astype(int)
    for name in ("release", *map(str, known)):
        table.add_column(name, justify="left" if name == "release" else "right")
    for name, means in found.items():
        table.add_row(name, *(f"{h0:.2f} / {risk:.2f}" for h0, _, risk in means))
    return table
