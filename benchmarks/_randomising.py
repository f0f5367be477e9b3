"""Randomised response and its rivals on Adult: what is computed. `randomised.py` shows it.

EMGRW: education, marital status, gender and race, with work class sensitive. ESGRO: education, salary, gender
and race, with occupation sensitive (paper 004, Section V).
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from benchmarks._data import timed
from cae_sql.releases import anatomise, randomise_within
from cae_sql.releases.disclosure import Combinations
from cae_sql.releases.diversity import diversify
from cae_sql.releases.optimal import Optimum, best_retentions
from cae_sql.releases.rivals import CASES, SIZES, Measured, Study, cases, original, rivals, sizes

LETTERS = {"education": "E", "marital_status": "M", "sex": "G", "race": "R", "workclass": "W", "income": "S",
           "occupation": "O"}  # fmt: skip
SIZED_AT = 3
"""l of Figure 4; the paper does not say."""


def table_3(
    study: Study, ls: Sequence[int], advance: Callable[[], None]
) -> dict[tuple[int, str], Optimum | None]:
    """Optimal probabilities for each l and case."""
    found = {}
    for ell in ls:
        for case in CASES:
            found[ell, case] = study.optimum(ell, case)
            advance()
    return found


def times(
    study: Study, ls: Sequence[int], repeats: int, advance: Callable[[], None]
) -> dict[str, list[float]]:
    """Medians of CPU seconds for each l, in turn: RR-Both, its search alone, anatomy, its groups alone,
    l-diversity."""
    names = ("RR-Both", "search", "anatomy", "groups", "l-diversity")
    found: dict[str, list[float]] = {name: [] for name in names}
    codes = study.plain.codes(study.frame)
    combinations = Combinations.read(codes, study.plain.shape)
    for ell in ls:
        each: dict[str, list[float]] = {name: [] for name in found}
        for seed in range(repeats):
            with timed(time.process_time) as both:
                table = study.frame[list(study.domains)]
                randomise_within(table, study.quasi, study.sensitive, study.domains, 1 / ell, seed)
            with timed(time.process_time) as search:
                best_retentions(combinations, np.arange(codes.shape[0]), 1 / ell)
            with timed(time.process_time) as anatomy:
                with timed(time.process_time) as grouping:
                    group = anatomise(study.frame, study.sensitive, ell, seed)
                study.frame[list(study.quasi)].assign(group=group)
                pd.DataFrame({"group": group, study.sensitive: study.frame[study.sensitive]}).value_counts()
            with timed(time.process_time) as diverse:
                codes = study.plain.codes(study.frame)
                diversify(study.plain.table(codes), study.quasi, study.domains, ell, study.ladders)
            for name, watch in zip(found, (both, search, anatomy, grouping, diverse), strict=True):
                each[name].append(watch.seconds)
        for name, seconds in each.items():
            found[name].append(statistics.median(seconds))
        advance()
    return found


@dataclass(frozen=True)
class Found:
    """Everything that is shown."""

    sizes: Mapping[str, int]
    """Of the domains of EMGRW."""
    optima: Mapping[tuple[int, str], Optimum | None]
    esgro_optima: Mapping[tuple[int, str], Optimum | None]
    fig_3: Sequence[Measured]
    fig_4: Sequence[tuple[float, Measured]]
    rivals: Sequence[Measured]
    original: Measured
    seconds: Mapping[str, list[float]]

    def whole_objective(self, ell: int, case: str) -> float:
        """Π ‖P⁻¹‖² over all attributes of EMGRW, those that are left alone included."""
        optimum = self.optima[ell, case]
        assert optimum is not None
        alone = [size for name, size in self.sizes.items() if name not in optimum.probabilities]
        return optimum.objective * math.prod(alone)

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        optima = {
            f"{study} l={ell} {case}": None if each is None else {
                "p": dict(each.probabilities), "objective": each.objective, "risk": each.risk,
                "binding": each.binding.to_dict("records")}
            for study, all_of in (("EMGRW", self.optima), ("ESGRO", self.esgro_optima))
            for (ell, case), each in all_of.items()
        }  # fmt: skip
        return {"table 3": optima, "figure 3": [asdict(m) for m in self.fig_3],
                "figure 4": [{"size": size, **asdict(m)} for size, m in self.fig_4],
                "figures 5 to 7, tables 4 and 5": [asdict(m) for m in (self.original, *self.rivals)],
                "seconds": dict(self.seconds)}  # fmt: skip


def run(
    emgrw: Study,
    esgro: Study,
    ls: Sequence[int],
    seeds: Sequence[int],
    repeats: int,
    advance: Callable[[], None],
) -> Found:
    """All of it."""
    optima, esgro_optima = table_3(emgrw, ls, advance), table_3(esgro, ls, advance)
    fig_3 = []
    for ell in ls:
        fig_3 += cases(emgrw, ell, seeds)
        advance()
    fig_4 = []
    for share in SIZES:
        fig_4 += [(share, each) for each in sizes(emgrw, SIZED_AT, share, seeds)]
        advance()
    compared = []
    for ell in ls:
        compared += rivals(esgro, ell, seeds)
        advance()
    shape = dict(zip(emgrw.plain.names, emgrw.plain.shape, strict=True))
    return Found(
        shape, optima, esgro_optima, fig_3, fig_4, compared, original(esgro),
        times(esgro, ls, repeats, advance),
    )  # fmt: skip
