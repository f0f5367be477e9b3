"""Randomised response beside anatomy and l-diversity: what each release of one table is still good for, when
nobody's sensitive value may be found with more than 1 in l (paper 004, Section V).

`cases` compares RR-QI, RR-S and RR-Both (Figure 3), `sizes` tables of the same proportions with more and
fewer records (Figure 4), `rivals` RR-QI with the group-based techniques (Figures 5 to 7, Tables 4 and 5).
Each gives a `Measured` for every point of the figure: averages over releases, one for each seed. `run` gives
all of them as tables.

Promise: where a technique cannot keep a limit (RR-S with people who are alone, anatomy with a value that more
than 1 in l have), there is no point, whatever the others can. The same seeds give the same figures.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import combinations, product

import numpy as np
import pandas as pd

from cae_sql.cached import cached_property
from cae_sql.errors import InvalidInput
from cae_sql.releases.anatomy import anatomise, anatomy_estimate
from cae_sql.releases.disclosure import in_order
from cae_sql.releases.distortion import Distortion, Floats, randomise
from cae_sql.releases.diversity import Ladders, diversify
from cae_sql.releases.optimal import Optimum, optimal_probabilities
from cae_sql.releases.reconstruction import reconstruct
from cae_sql.releases.utility import cube_error, distances, group_by_error, pair, uncertainty_coefficient

Progress = Callable[[int, int], None]
Step = tuple[str, float, Callable[[], "list[Measured]"]]
"""Figure, size, and what gives its points."""
CASES = ("RR-QI", "RR-S", "RR-Both")
SIZES = (0.5, 1.0, 1.5, 2.0, 2.5)
"""Of Figure 4, in terms of the table's records."""


@dataclass(frozen=True, eq=False)
class Study:
    """A table with the attributes that are looked at.

    Raises:
        InvalidInput: no quasi-identifiers, the sensitive column among them, missing values.
    """

    name: str
    frame: pd.DataFrame
    quasi: tuple[str, ...]
    sensitive: str
    ladders: Ladders = field(default_factory=dict)
    """For l-diversity; columns without one become "any" or stay."""

    def __post_init__(self) -> None:
        in_order(self.quasi, self.sensitive, {}, dict.fromkeys((*self.quasi, self.sensitive), ("any",)))
        for name in (*self.quasi, self.sensitive):
            if name not in self.frame.columns:
                raise InvalidInput(f"the table has no column {name!r}")

    @cached_property
    def domains(self) -> dict[str, list[Hashable]]:
        """The values of each column that occur, in ascending order where they have one."""
        found = {}
        for name in (*self.quasi, self.sensitive):
            values = self.frame[name].dropna().unique().tolist()
            try:
                found[name] = sorted(values)
            except TypeError:
                found[name] = values
        return found

    @cached_property
    def plain(self) -> Distortion:
        """Of nothing: only the order of columns and values."""
        return Distortion.of({}, self.domains)

    @cached_property
    def table(self) -> Floats:
        """Proportions of the original."""
        return self.plain.table(self.plain.codes(self.frame))

    def optimum(self, ell: int, case: str) -> Optimum | None:
        """The best probabilities; None where none suffice."""
        _ = self.table  # so that what is wrong with the table is not taken for a limit that cannot be kept
        distort = {"RR-QI": self.quasi, "RR-S": [self.sensitive], "RR-Both": None}[case]
        try:
            return optimal_probabilities(
                self.frame, self.quasi, self.sensitive, self.domains, 1 / ell, distort
            )
        except InvalidInput:
            return None

    def resized(self, share: float) -> Study:
        """The same distribution, up to a record, with another number of records: each twice the share of
        times, and every other one of these, in the order of the attributes."""
        columns = [*self.quasi, self.sensitive]
        codes = self.plain.codes(self.frame)
        order = np.lexsort(codes[::-1])
        repeated = np.repeat(order, round(2 * share))[::2]
        return Study(self.name, self.frame[columns].iloc[repeated], self.quasi, self.sensitive, self.ladders)


@dataclass(frozen=True, eq=False)
class Points:
    """The figures as tables; `figure` says of which."""

    averages: pd.DataFrame
    """figure, study, technique, l, size (in terms of the table's records), and the fields of `Measured`."""
    uncertainties: pd.DataFrame
    """Tables 4 and 5: study, technique, l, first, second, uncertainty."""
    probabilities: pd.DataFrame
    """Table 3: study, l, case, column, probability, objective, risk; no row where none suffice."""


@dataclass(frozen=True)
class Measured:
    """What releases of one kind are good for, on average."""

    study: str
    technique: str
    ell: int
    records: int
    releases: int
    """How many the averages are over."""
    euclidean: float
    total_variation: float
    kullback_leibler: float
    chi_squared: float
    group_by_error: float
    cube_error: float
    uncertainty_sensitive: float
    """Mean uncertainty coefficient of a quasi-identifier and the sensitive attribute, × 10⁻² (Figure 7a)."""
    uncertainty_quasi: float
    """The same of two quasi-identifiers (Figure 7b); NaN where there is one."""
    uncertainty: Mapping[str, float]
    """By pair of attributes, "first, second", × 10⁻²; the second is explained."""


def measured(study: Study, technique: str, ell: int, estimates: Iterable[Floats], records: int) -> Measured:
    """Averages over the estimates of the original's proportions that releases gave."""
    names = {pair_: ", ".join(study.plain.names[axis] for axis in pair_)
             for pair_ in combinations(range(study.table.ndim), 2)}  # fmt: skip
    found: list[dict[str, float]] = []
    for estimate in estimates:
        each = asdict(distances(study.table, estimate, records))
        each["group_by_error"] = group_by_error(study.table, estimate)
        each["cube_error"] = cube_error(study.table, estimate)
        each |= {key: 100 * uncertainty_coefficient(pair(estimate, *at)) for at, key in names.items()}
        found.append(each)
    mean = {key: statistics.fmean(each[key] for each in found) for key in found[0]}
    uncertainty = {key: mean.pop(key) for key in names.values()}
    last = study.table.ndim - 1
    kinds = [
        [uncertainty[key] for at, key in names.items() if (at[1] == last) == is_] for is_ in (True, False)
    ]
    averages = [statistics.fmean(each) if each else float("nan") for each in kinds]
    return Measured(
        study.name, technique, ell, records, len(found), **mean, uncertainty_sensitive=averages[0],
        uncertainty_quasi=averages[1], uncertainty=uncertainty,
    )  # fmt: skip


def original(study: Study) -> Measured:
    """The table itself: no distance, its own associations."""
    return measured(study, "original", 1, [study.table], len(study.frame))


def responses(
    study: Study, optimum: Optimum, seeds: Sequence[int], projected: bool = False
) -> Iterable[Floats]:
    """What is reconstructed from releases; projected: as the nearest distribution."""
    for seed in seeds:
        released = randomise(study.frame, optimum.probabilities, study.domains, seed)
        found = reconstruct(released, optimum.probabilities, study.domains)
        yield found.projected if projected else found.proportions


def cases(study: Study, ell: int, seeds: Sequence[int]) -> list[Measured]:
    """RR-QI, RR-S and RR-Both under one limit (Figure 3); those that can keep it."""
    found = []
    for case in CASES:
        optimum = study.optimum(ell, case)
        if optimum is not None:
            found.append(measured(study, case, ell, responses(study, optimum, seeds), len(study.frame)))
    return found


def sizes(study: Study, ell: int, share: float, seeds: Sequence[int]) -> list[Measured]:
    """RR-Both with so many times as many records of the same proportions (Figure 4), if it can."""
    optimum = study.optimum(ell, "RR-Both")
    if optimum is None:
        return []
    other = study.resized(share)
    return [measured(other, "RR-Both", ell, responses(other, optimum, seeds), len(other.frame))]


def rivals(study: Study, ell: int, seeds: Sequence[int]) -> list[Measured]:
    """RR-QI against anatomy and l-diversity under one limit (Figures 5 to 7); those that can keep it."""
    found, n = [], len(study.frame)
    optimum = study.optimum(ell, "RR-QI")
    if optimum is not None:
        found.append(measured(study, "RR-QI", ell, responses(study, optimum, seeds), n))
        found.append(measured(study, "RR-QI, projected", ell, responses(study, optimum, seeds, True), n))
    try:
        groups = [anatomise(study.frame, study.sensitive, ell, seed) for seed in seeds]
    except InvalidInput:
        groups = []
    if groups:
        estimates = (anatomy_estimate(study.frame, group, study.plain) for group in groups)
        found.append(measured(study, "anatomy", ell, estimates, n))
    try:
        diverse = diversify(study.table, study.quasi, study.domains, ell, study.ladders)
    except InvalidInput:
        return found
    return [*found, measured(study, "l-diversity", ell, [diverse.estimate], n)]


def run(
    varied: Study,
    compared: Study,
    ells: Sequence[int],
    seeds: Sequence[int],
    progress: Progress | None = None,
) -> Points:
    """Everything that Section V shows.

    Args:
        varied: The paper's EMGRW: Table 3, Figures 3 and 4.
        compared: Its ESGRO, or the same: Figures 5 to 7, Tables 4 and 5.
        ells: l of the limits 1 / l, from 2.
        seeds: One for each release.
        progress: Called with (points done, points in all).

    Raises:
        InvalidInput: no l or one that is no whole number from 2, no seeds, or a table that cannot be used.
    """
    if not ells or not seeds:
        raise InvalidInput("there is nothing to do: there must be an l and a release at least")
    for ell in ells:
        if isinstance(ell, bool) or not isinstance(ell, int) or ell < 2:
            raise InvalidInput(f"l must be a whole number from 2, not {ell!r}")
    steps: list[Step] = [("3", 1.0, partial(cases, varied, ell, seeds)) for ell in ells]
    steps += [("4", each, partial(sizes, varied, ell, each, seeds)) for ell in ells for each in SIZES]
    steps += [("5 to 7", 1.0, lambda: [original(compared)])]
    steps += [("5 to 7", 1.0, partial(rivals, compared, ell, seeds)) for ell in ells]
    found: list[tuple[str, float, Measured]] = []
    for done, (figure, size, step) in enumerate(steps, 1):
        found += [(figure, size, each) for each in step()]
        if progress is not None:
            progress(done, len(steps))
    rows = [{"figure": figure, "size": size, **asdict(each)} for figure, size, each in found]
    averages = pd.DataFrame(rows).drop(columns="uncertainty").rename(columns={"ell": "l"})
    first = ["figure", "study", "technique", "l", "size", "records", "releases"]
    return Points(averages[first + [name for name in averages if name not in first]],
                  _uncertainties([each for figure, _, each in found if figure == "5 to 7"]),
                  _probabilities(dict.fromkeys((varied, compared)), ells))  # fmt: skip


def _uncertainties(found: Iterable[Measured]) -> pd.DataFrame:
    rows = [
        (each.study, each.technique, each.ell, *key.split(", "), value)
        for each in found
        for key, value in each.uncertainty.items()
    ]
    return pd.DataFrame(rows, columns=["study", "technique", "l", "first", "second", "uncertainty"])


def _probabilities(studies: Iterable[Study], ells: Iterable[int]) -> pd.DataFrame:
    rows = []
    for study, ell, case in product(studies, ells, CASES):
        optimum = study.optimum(ell, case)
        if optimum is not None:
            rows += [(study.name, ell, case, column, p, optimum.objective, optimum.risk)
                     for column, p in optimum.probabilities.items()]  # fmt: skip
    return pd.DataFrame(rows, columns=["study", "l", "case", "column", "probability", "objective", "risk"])
