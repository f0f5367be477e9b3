"""Statistics by groups of public columns: sums, histograms, means and variances, as offices publish them.

Who is in which group is public, and how many they are. What is believed of a record is a matter of its group:

- `sums_by_group`, which also means, since sizes are known: all tables that have the group's sum are equally
  likely, as before its release all tables were. Its bits less than log2 |D| are paper 003's privacy loss;
- `histograms_by_group`: the shares of the group's values. `histogram_risk` is paper 002's for a release of
  draws from it;
- `parameters_by_group`, mean and variance: a normal distribution with these, on the values of the domain.
  `compute_risk_1` and `compute_risk_2` (per cent) are paper 002's.

Groups of fewer records than wanted are withheld: nothing is believed of their records but the domain.

Contract: one row of `told` sums to 1. The matching records of a class are averaged, as everywhere here. Only
what is within each group counts; who adds totals over groups publishes more.

Source: papers 002 and 003; `privacy.py`, `responsible.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cae_sql.domain import Domain, exact
from cae_sql.errors import InvalidInput
from cae_sql.releases.beliefs import Beliefs, Floats, Ints, check_room
from cae_sql.releases.matching import Classes, check_known, classes_of, positions

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class GroupStatistics:
    """What was released of each group, and what it tells."""

    groups: Classes
    """Records that share the values of the grouping columns."""
    told: Floats
    """(g, |D|) what is believed of a record of each group; of withheld ones every value alike."""
    released: NDArray[np.bool_]
    """(g,) whether anything is."""
    published: pd.DataFrame
    """The table that is published: the grouping columns, records, and what is released of them."""
    figures: Mapping[str, Floats] = field(default_factory=dict)
    """Of companion papers, (g,) each; NaN where there is none."""

    def beliefs(self, original: pd.DataFrame, column: str, known: Sequence[str], domain: Domain) -> Beliefs:
        """What somebody believes who knows these columns of the target.

        Raises:
            InvalidInput: a table that cannot be used, or more than can be held.
        """
        classes = classes_of(original, check_known(original, column, known))
        label, group, counts = self._met(classes)
        check_room(label.size, domain)
        starts = np.searchsorted(label, np.arange(classes.count))
        totals = np.add.reduceat(self.told[group] * counts[:, None], starts, axis=0)
        return Beliefs(classes.values, classes.members, totals / classes.members[:, None], domain)

    def worst(self, original: pd.DataFrame, known: Sequence[str], figure: str) -> Floats:
        """(k,) the greatest figure of a group that a record of each class is in; NaN where none has any."""
        classes = classes_of(original, known)
        label, group, _ = self._met(classes)
        found = np.full(classes.count, -math.inf)
        values = self.figures[figure][group]
        np.maximum.at(found, label, np.where(np.isnan(values), -math.inf, values))
        return np.where(found == -math.inf, np.nan, found)

    def _met(self, classes: Classes) -> tuple[Ints, Ints, Ints]:
        """Each class with each group that some of its records are in, and how many."""
        pairs, counts = np.unique(classes.labels * self.groups.count + self.groups.labels, return_counts=True)
        label, group = np.divmod(pairs, self.groups.count)
        return label, group, counts


def sums_by_group(
    original: pd.DataFrame, column: str, by: Sequence[str], domain: Domain, least: int = 1
) -> GroupStatistics:
    """Sums of the confidential column.

    Args:
        original: All records.
        column: The confidential column; its values lie in the domain.
        by: Columns by whose values is grouped; none: all records are one group.
        domain: Which values are possible.
        least: Groups of fewer records are withheld.

    Raises:
        InvalidInput: a table that cannot be used, a bad number, or a group whose sum cannot be counted.
    """
    from cae_sql.releases.privacy import record_given_sum

    groups, places = _grouped(original, column, by, domain, least)
    totals = np.bincount(groups.labels, weights=places).astype(np.int64)
    steps = np.arange(domain.count)
    found: dict[tuple[int, int], Floats] = {}

    def told(group: int, of: Ints) -> Floats:
        key = (of.size, int(totals[group]))
        if key not in found:
            try:
                found[key] = record_given_sum(steps, *key)[1]
            except InvalidInput as error:
                raise InvalidInput(
                    f"what the sum of {of.size:,} records leaves of each cannot be counted over "
                    f"{domain.count:,} values; take a coarser step of the domain, and round the column to it"
                ) from error
        return found[key]

    believed, released = _told(groups, places, domain, least, told)
    low, step = exact(domain.minimum), exact(domain.step)
    sums = [float(n * low + t * step) for n, t in zip(groups.members.tolist(), totals.tolist(), strict=True)]
    published = _published(groups, released, {"sum": np.array(sums)})
    return GroupStatistics(groups, believed, released, published)


def histograms_by_group(
    original: pd.DataFrame,
    column: str,
    by: Sequence[str],
    domain: Domain,
    least: int = 1,
    draws: int | None = None,
    confidence: float = 0.95,
) -> GroupStatistics:
    """How often each confidential value occurs; arguments and errors as `sums_by_group`, and

    Args:
        draws: Records of synthetic data that are drawn from each histogram; None: as many as it has.
        confidence: As for `histogram_risk`.
    """
    from cae_sql.releases.responsible import histogram_risk

    groups, places = _grouped(original, column, by, domain, least)
    risk = np.full(groups.count, np.nan)

    def told(group: int, of: Ints) -> Floats:
        counts = np.bincount(of, minlength=domain.count)
        # whoever is alone is drawn for certain, and without them nobody would be
        alone = of.size < 2
        risk[group] = 1.0 if alone else histogram_risk(counts, draws or of.size, confidence).worst
        share: Floats = counts / of.size
        return share

    _check_synthetic(draws, confidence, 0.0)
    believed, released = _told(groups, places, domain, least, told)
    return GroupStatistics(
        groups, believed, released, _histograms(groups, released, believed, column, domain),
        {"histogram_risk": risk},
    )  # fmt: skip


def parameters_by_group(
    original: pd.DataFrame,
    column: str,
    by: Sequence[str],
    domain: Domain,
    least: int = 3,
    draws: int | None = None,
    confidence: float = 0.95,
) -> GroupStatistics:
    """Means and standard deviations; arguments and errors as `histograms_by_group`.

    Without one of two records there is no variance: groups of fewer than three have no `compute_risk_1`
    and no `compute_risk_2`, and groups of one are withheld, having no variance themselves.
    """
    from cae_sql.releases.responsible import LEAST_CONFIDENCE

    groups, places = _grouped(original, column, by, domain, least)
    _check_synthetic(draws, confidence, LEAST_CONFIDENCE)
    figures = {name: np.full(groups.count, np.nan) for name in ("compute_risk_1", "compute_risk_2")}
    mean, deviation = np.full(groups.count, np.nan), np.full(groups.count, np.nan)

    def told(group: int, of: Ints) -> Floats:
        values = domain.values[of]
        mean[group], deviation[group] = values.mean(), values.std(ddof=1)
        for name, figure in _responsible(values, draws or of.size, confidence).items():
            figures[name][group] = figure
        return _normal(domain.values, float(mean[group]), float(deviation[group]))

    believed, released = _told(groups, places, domain, max(least, 2), told)
    published = _published(groups, released, {"mean": mean, "standard_deviation": deviation})
    return GroupStatistics(groups, believed, released, published, figures)


def _grouped(
    original: pd.DataFrame, column: str, by: Sequence[str], domain: Domain, least: int
) -> tuple[Classes, Ints]:
    names = check_known(original, column, by)
    if isinstance(least, bool) or not isinstance(least, int | np.integer) or least < 1:
        raise InvalidInput(f"least must be a whole number from 1, not {least!r}")
    places = positions(original, column, domain, "the original")
    groups = classes_of(original, names)
    check_room(groups.count, domain)
    return groups, places


def _told(
    groups: Classes, places: Ints, domain: Domain, least: int, told: Callable[[int, Ints], Floats]
) -> tuple[Floats, NDArray[np.bool_]]:
    """(g, |D|) what is believed, and (g,) of whom anything is released."""
    released = groups.members >= least
    order = np.argsort(groups.labels, kind="stable")
    ends = np.cumsum(groups.members)
    believed = np.full((groups.count, domain.count), 1.0 / domain.count)
    for group in np.flatnonzero(released).tolist():
        of = places[order[ends[group] - groups.members[group] : ends[group]]]
        try:
            believed[group] = told(group, of)
        except InvalidInput as error:
            who = groups.told(groups.values.iloc[group]) or "all records"
            raise InvalidInput(f"the group of {who}: {error}") from error
    return believed, released


def _responsible(values: Floats, draws: int, confidence: float) -> dict[str, float]:
    from cae_sql.releases.responsible import mean_risk, parameter_risk

    found = {}
    if values.size >= 3:
        if np.ptp(values) > 0:
            found["compute_risk_1"] = mean_risk(values, confidence, draws).risk
        if values.any():
            found["compute_risk_2"] = parameter_risk(values)
    return found


def _normal(values: Floats, mean: float, deviation: float) -> Floats:
    """A normal distribution on these values; of no deviation, or one far below a step, the nearest."""
    away = np.abs(values - mean)
    if deviation <= 0:
        found = (away == away.min()).astype(np.float64)
    else:
        logs = -((away / deviation) ** 2) / 2
        found = np.exp(logs - logs.max())
    total: Floats = found / found.sum()
    return total


def _published(
    groups: Classes, released: NDArray[np.bool_], columns: Mapping[str, NDArray[np.float64]]
) -> pd.DataFrame:
    found = groups.values.assign(records=groups.members, **columns)
    return found[released].reset_index(drop=True)


def _histograms(
    groups: Classes, released: NDArray[np.bool_], told: Floats, column: str, domain: Domain
) -> pd.DataFrame:
    """A row for each value that occurs in a group."""
    group, place = np.nonzero((told > 0) & released[:, None])
    counts = np.rint(told[group, place] * groups.members[group]).astype(np.int64)
    rows = groups.values.iloc[group].reset_index(drop=True)
    return rows.assign(**{column: domain.values[place], "records": counts})


def _check_synthetic(draws: int | None, confidence: float, least: float) -> None:
    from cae_sql.measure.distribution import is_number
    from cae_sql.releases.responsible import checked_count

    if draws is not None:
        checked_count(draws, "draws", 1)
    if not (is_number(confidence) and least < confidence < 1):
        raise InvalidInput(f"confidence must lie between {least:.3g} and 1, not {confidence!r}")
