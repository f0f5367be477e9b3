"""Randomised response and its rivals on Adult: what is computed. `randomised.py` shows it.

EMGRW: education, marital status, gender and race, with work class sensitive. ESGRO: education, salary, gender
and race, with occupation sensitive (paper 004, Section V).
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from benchmarks._data import timed
from benchmarks._generalising import generalise
from cae_sql.errors import InvalidInput
from cae_sql.releases import anatomise, optimal_probabilities, randomise, randomise_within, reconstruct
from cae_sql.releases.anatomy import anatomy_estimate
from cae_sql.releases.disclosure import Combinations
from cae_sql.releases.distortion import Distortion, Floats
from cae_sql.releases.optimal import Optimum, best_retentions
from cae_sql.releases.utility import cube_error, distances, group_by_error, pair, uncertainty_coefficient

LETTERS = {"education": "E", "marital_status": "M", "sex": "G", "race": "R", "workclass": "W", "income": "S",
           "occupation": "O"}  # fmt: skip
CASES = ("RR-QI", "RR-S", "RR-Both")
SIZES = (0.5, 1, 1.5, 2, 2.5)
SIZED_AT = 3
"""l of Figure 4; the paper does not say."""


@dataclass(frozen=True)
class Study:
    """One set of attributes."""

    name: str
    frame: pd.DataFrame
    quasi: tuple[str, ...]
    sensitive: str

    @cached_property
    def domains(self) -> dict[str, list[str]]:
        return {name: sorted(self.frame[name].unique()) for name in (*self.quasi, self.sensitive)}

    @cached_property
    def plain(self) -> Distortion:
        """Of nothing: only the order of columns and values."""
        return Distortion.of({}, self.domains)

    @cached_property
    def table(self) -> Floats:
        return self.plain.table(self.plain.codes(self.frame))

    def optimum(self, ell: int, case: str) -> Optimum | None:
        """The best probabilities; None where none suffice."""
        distort = {"RR-QI": self.quasi, "RR-S": [self.sensitive], "RR-Both": None}[case]
        try:
            return optimal_probabilities(
                self.frame, self.quasi, self.sensitive, self.domains, 1 / ell, distort
            )
        except InvalidInput:
            return None


@dataclass(frozen=True)
class Measured:
    """What releases of one kind are good for, on average."""

    study: str
    technique: str
    ell: int
    euclidean: float
    total_variation: float
    kullback_leibler: float
    chi_squared: float
    group_by_error: float
    cube_error: float
    uncertainty: Mapping[str, float]
    """By pair of attributes, first letter first, × 10⁻²; the second is explained."""

    def mean_uncertainty(self, sensitive: bool) -> float:
        """Over the pairs with the sensitive attribute, or over those without (Figure 7)."""
        return statistics.fmean(u for key, u in self.uncertainty.items() if key.endswith("O") == sensitive)


def measured(study: Study, technique: str, ell: int, estimates: Iterable[Floats], records: int) -> Measured:
    """Averages over the estimates that releases gave."""
    axes = combinations(range(study.table.ndim), 2)
    names = {(a, b): "".join(LETTERS[study.plain.names[axis]] for axis in (a, b)) for a, b in axes}
    found: list[dict[str, float]] = []
    for estimate in estimates:
        each = asdict(distances(study.table, estimate, records))
        each["group_by_error"] = group_by_error(study.table, estimate)
        each["cube_error"] = cube_error(study.table, estimate)
        each |= {key: 100 * uncertainty_coefficient(pair(estimate, *at)) for at, key in names.items()}
        found.append(each)
    mean = {key: statistics.fmean(each[key] for each in found) for key in found[0]}
    return Measured(
        study.name, technique, ell, uncertainty={key: mean.pop(key) for key in names.values()}, **mean
    )


def responses(
    study: Study, optimum: Optimum, seeds: Sequence[int], projected: bool = False
) -> Iterable[Floats]:
    """What is reconstructed from releases."""
    for seed in seeds:
        released = randomise(study.frame, optimum.probabilities, study.domains, seed)
        found = reconstruct(released, optimum.probabilities, study.domains)
        yield found.projected if projected else found.proportions


def resized(study: Study, share: float) -> Study:
    """The same distribution, up to a record, with another number of records: each twice the share of times,
    and every other one of these, in the order of the attributes."""
    order = study.frame.sort_values([*study.quasi, study.sensitive], ignore_index=True)
    return Study(study.name, order.iloc[np.repeat(np.arange(len(order)), round(2 * share))[::2]], study.quasi,
                 study.sensitive)  # fmt: skip


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


def compared(study: Study, ell: int, seeds: Sequence[int]) -> list[Measured]:
    """RR-QI against its rivals under the same limit."""
    optimum, n = study.optimum(ell, "RR-QI"), len(study.frame)
    assert optimum is not None
    groups = (anatomise(study.frame, study.sensitive, ell, seed) for seed in seeds)
    return [
        measured(study, "RR-QI", ell, responses(study, optimum, seeds), n),
        measured(study, "RR-QI, projected", ell, responses(study, optimum, seeds, True), n),
        measured(study, "anatomy", ell, (anatomy_estimate(study.frame, g, study.plain) for g in groups), n),
        measured(
            study, "l-diversity", ell, [generalise(study.table, study.quasi, study.domains, ell).estimate], n
        ),
    ]


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
                generalise(study.plain.table(study.plain.codes(study.frame)), study.quasi, study.domains, ell)
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
        for case in CASES:
            optimum = optima[ell, case]
            if optimum is not None:
                fig_3.append(measured(emgrw, case, ell, responses(emgrw, optimum, seeds), len(emgrw.frame)))
        advance()
    fig_4 = []
    for size in SIZES:
        study, optimum = resized(emgrw, size), optima[SIZED_AT, "RR-Both"]
        assert optimum is not None
        fig_4.append(
            (size, measured(study, "RR-Both", SIZED_AT, responses(study, optimum, seeds), len(study.frame)))
        )
        advance()
    rivals = []
    for ell in ls:
        rivals += compared(esgro, ell, seeds)
        advance()
    original = measured(esgro, "original", 1, [esgro.table], len(esgro.frame))
    sizes = dict(zip(emgrw.plain.names, emgrw.plain.shape, strict=True))
    return Found(
        sizes, optima, esgro_optima, fig_3, fig_4, rivals, original, times(esgro, ls, repeats, advance)
    )
