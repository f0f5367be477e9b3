"""The paper's experiment: sampling, query restriction and noise over all supplementary knowledge.

For each technique, parameter and repetition one release is made, and every class of every subset of the
public columns is measured. The paper averages "over all 30 samples, all attributes and all values": over
everything at once, so that each combination of values of each subset counts once. `averages` gives that, and
beside it two other readings: each subset counts once, and each record counts once.

Promise: the figures are those of `sampled`, `restricted` and `perturbed` for the same release; the same seed
gives the same figures, whatever the number of threads and whichever other parameters are asked for.

Source: paper 000, Section 5, Figures 2 and 4, Appendix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from cae_sql.domain import Domain
from cae_sql.errors import InvalidInput
from cae_sql.releases import noise as noisy
from cae_sql.releases import restriction, sampling
from cae_sql.releases.attributes import Attribute, attribute_of
from cae_sql.releases.beliefs import Figures, Floats, Ints, measured
from cae_sql.releases.drawing import generator
from cae_sql.releases.matching import check_known, positions
from cae_sql.releases.posterior import Noise, said_of, weights
from cae_sql.releases.supplementary import Knowledge, knowledge_of

if TYPE_CHECKING:
    import pandas as pd

TECHNIQUES = ("sampling", "query restriction", "noise addition")
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Parameters:
    """What is varied. The paper's text names the first two; of noise it shows figures alone."""

    sampling: tuple[float, ...] = (5, 10, 20, 50)
    """Sampling factors, percent of the records."""
    query_set_sizes: tuple[int, ...] = (2, 4, 8, 16, 32)
    noise: tuple[float, ...] = (10, 25, 50, 75, 100)
    """Percent of |D| − 1 of each attribute."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table, read once."""

    places: Ints
    """(n,) confidential values as places of the domain."""
    units: Ints
    """(n,) the same above the domain's minimum, exactly (`restriction.in_units`)."""
    unit: Fraction
    domain: Domain
    known: Sequence[Knowledge]
    public: Sequence[Attribute]
    public_places: Ints
    """(n, public columns)"""


@dataclass(frozen=True)
class Release:
    """One release of the experiment.

    Raises:
        InvalidInput: a parameter that is negative or not finite.
    """

    technique: str
    parameter: float
    repetition: int

    def __post_init__(self) -> None:
        if not (np.isfinite(self.parameter) and self.parameter >= 0):
            raise InvalidInput(f"a parameter of {self.technique} must be 0 or more, not {self.parameter}")

    def seed(self, seed: int) -> list[int]:
        """Of this release and no other."""
        return [seed, TECHNIQUES.index(self.technique), round(self.parameter * 1000), self.repetition]


def prepare(
    table: pd.DataFrame,
    column: str,
    public: Sequence[str],
    domain: Domain,
    most_subsets: int | None = None,
    seed: int = 0,
) -> Prepared:
    """Read a table for the experiment.

    Args:
        table: All records.
        column: The confidential column, on the domain's grid.
        public: What an intruder may know.
        domain: Of the confidential column.
        most_subsets: How many subsets of one size are taken at most, drawn with the seed; None: all.
        seed: Of that draw.

    Raises:
        InvalidInput: a table that cannot be used, or too many subsets.
    """
    names = check_known(table, column, public)
    places = positions(table, column, domain, "the original")
    attributes = [attribute_of(table, name) for name in names]
    columns = [each.places(table[each.name], "the original") for each in attributes]
    stacked = np.stack(columns, axis=1) if columns else np.zeros((len(table), 0), dtype=np.int64)
    units, unit = restriction.in_units(table, column, domain)
    known = knowledge_of(table, names, most_subsets, seed)
    return Prepared(places, units, unit, domain, known, attributes, stacked)


def run(
    prepared: Prepared,
    parameters: Parameters,
    repetitions: int = 30,
    seed: int = 0,
    jobs: int = 1,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Make all releases, and measure every class of each.

    Args:
        prepared: The table.
        parameters: Of the techniques; none of a technique leaves it out.
        repetitions: Releases for each technique and parameter.
        seed: Of all that is drawn.
        jobs: Threads.
        progress: Called with (releases done, releases in all).

    Returns:
        One row per release and subset: technique, parameter, repetition, known (how many columns),
        known_columns (which), combinations (classes), initial_entropy, area and risk (means over the
        classes), and the same with `_by_record` (means over the records).

    Raises:
        InvalidInput: a parameter, number of repetitions or of threads that cannot be used.
    """
    if repetitions < 1 or jobs < 1:
        raise InvalidInput("repetitions and jobs must be at least 1")
    releases = [
        Release(technique, parameter, repetition)
        for technique, levels in zip(
            TECHNIQUES, (parameters.sampling, parameters.query_set_sizes, parameters.noise), strict=True
        )
        for parameter in levels
        for repetition in range(repetitions)
    ]
    if not releases:
        raise InvalidInput("there is nothing to do: no technique has a parameter")
    found: dict[Release, list[dict[str, object]]] = {}
    with ThreadPoolExecutor(jobs) as pool:
        tasks = {pool.submit(_one, prepared, release, seed): release for release in releases}
        try:
            for done in as_completed(tasks):
                found[tasks[done]] = done.result()
                if progress is not None:
                    progress(len(found), len(releases))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    import pandas as pd

    return pd.DataFrame([row for release in releases for row in found[release]])


def averages(runs: pd.DataFrame) -> pd.DataFrame:
    """The paper's points: for each technique, parameter and number of known columns.

    Args:
        runs: What `run` gives.

    Returns:
        technique, parameter, known, subsets, combinations (in one release, all subsets together),
        initial_entropy, area and risk with each combination counting once; with `_by_subset` each subset,
        with `_by_record` each record; initial_entropy_spread and area_spread: standard deviations of the
        first over the repetitions.
    """
    import pandas as pd

    rows = []
    names = ["initial_entropy", "area", "risk"]
    for (technique, parameter, known), group in runs.groupby(["technique", "parameter", "known"], sort=False):
        row: dict[str, object] = {"technique": technique, "parameter": parameter, "known": known}
        once = group[group.repetition == group.repetition.iloc[0]]
        row |= {"subsets": len(once), "combinations": int(once.combinations.sum())}
        weighted = group[names].mul(group.combinations, axis=0)
        by_repetition = weighted.groupby(group.repetition).sum().div(once.combinations.sum())
        row |= by_repetition.mean().to_dict()
        row |= {f"{name}_by_subset": value for name, value in group[names].mean().items()}
        row |= group[[f"{name}_by_record" for name in names]].mean().to_dict()
        row |= {f"{name}_spread": by_repetition[name].std() for name in names[:2]}
        rows.append(row)
    return pd.DataFrame(rows)


def beliefs(prepared: Prepared, release: Release, seed: int) -> list[Floats]:
    """The candidate distributions of one release: for each subset (k, |D|)."""
    if release.technique == "sampling":
        return _after_sampling(prepared, release, seed)
    if release.technique == "query restriction":
        return _after_sums(prepared, release, seed)
    return _after_noise(prepared, release, seed)


def _one(prepared: Prepared, release: Release, seed: int) -> list[dict[str, object]]:
    """The rows of one release."""
    believed = beliefs(prepared, release, seed)
    figures = measured(np.concatenate(believed), prepared.domain)
    rows: list[dict[str, object]] = []
    start = 0
    for known in prepared.known:
        part = slice(start, start + known.members.size)
        start = part.stop
        row: dict[str, object] = {
            "technique": release.technique,
            "parameter": release.parameter,
            "repetition": release.repetition,
            "known": len(known.columns),
            "known_columns": ", ".join(prepared.public[k].name for k in known.columns),
            "combinations": known.members.size,
        }
        rows.append(row | _means(figures, part, known.members))
    return rows


def _means(figures: Figures, part: slice, members: Ints) -> dict[str, object]:
    names = {"initial_entropy": figures.initial_entropy, "area": figures.area, "risk": figures.risk}
    plain = {name: float(values[part].mean()) for name, values in names.items()}
    total = members.sum()
    weighted = {f"{name}_by_record": float(values[part] @ members / total) for name, values in names.items()}
    return {**plain, **weighted}


def _after_sampling(prepared: Prepared, release: Release, seed: int) -> list[Floats]:
    size = prepared.domain.count
    taken = sampling.drawn(prepared.places.size, release.parameter, release.seed(seed))
    places = prepared.places[taken]
    found = []
    for known in prepared.known:
        classes = known.members.size
        seen = np.bincount(known.labels[taken] * size + places, minlength=classes * size)
        found.append(sampling.believed(seen.reshape(classes, size), known.members))
    return found


def _after_sums(prepared: Prepared, release: Release, seed: int) -> list[Floats]:
    domain, size = prepared.domain, int(release.parameter)
    order = restriction.shuffled(prepared.places.size, size, release.seed(seed))
    left = restriction.left_open(prepared.units, prepared.unit, domain, order, size)
    return [
        restriction.averaged(left.first, left.count, known.labels, known.members, domain.count)
        for known in prepared.known
    ]


def _after_noise(prepared: Prepared, release: Release, seed: int) -> list[Floats]:
    rng = generator(release.seed(seed))
    n, size = prepared.places.size, prepared.domain.count
    percent = release.parameter
    most = Attribute("", size).largest_noise(percent)
    heard = prepared.places + noisy.drawn(n, most, rng) + most // 2
    levels = [each.largest_noise(percent) for each in prepared.public]
    released = prepared.public_places.copy()
    for column, level in enumerate(levels):
        released[:, column] += noisy.drawn(n, level, rng)
    said = said_of(size, most)
    found = []
    for known in prepared.known:
        columns = list(known.columns)
        targets = prepared.public_places[known.first][:, columns]
        tables = Noise.of([levels[column] for column in columns])
        found.append(weights(targets, released[:, columns], heard, size + most, tables) @ said)
    return found
