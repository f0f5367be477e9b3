"""Synthetic data by clusters: those too small, or whose release would not be responsible, are withheld.

Records are clustered (Ward's method on standardised attributes); of each cluster that is large enough tables
are drawn from the posterior predictive distribution of a multivariate normal, and the release carries the
risk of paper 002's ComputeRisk2. Withheld records are named, so that somebody can look at them.

Promise: nothing of a withheld record's cluster is drawn from, and no withheld record has a part in the
parameters that others are drawn from.

Source: paper 002, Sections 2.1 (normal synthetic data) and 3.2 (clusters).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.cluster import hierarchy

from cae_sql.errors import InvalidInput
from cae_sql.measure.distribution import is_number
from cae_sql.releases.drawing import generator
from cae_sql.releases.responsible import Floats, checked_count, parameter_risk, table

MOST_RECORDS = 20_000
"""All pairs of records are compared: 1.6 GB of distances."""


@dataclass(frozen=True, eq=False)
class SyntheticCluster:
    """What is released of one cluster."""

    records: NDArray[np.int64]
    """(r,) its records in the original, ascending: for the owner, not for release."""
    risk: float
    """ComputeRisk2 of the cluster, per cent."""
    tables: Floats
    """(t, r, m) synthetic tables of its size."""


@dataclass(frozen=True, eq=False)
class SyntheticRelease:
    """A release by clusters."""

    clusters: tuple[SyntheticCluster, ...]
    """Those that are released."""
    withheld: NDArray[np.int64]
    """Records of the original of which nothing is released, ascending."""

    @property
    def risk(self) -> float:
        """The greatest risk of a cluster, per cent; 0 where all is withheld."""
        return max((cluster.risk for cluster in self.clusters), default=0.0)


def responsible_release(
    data: ArrayLike,
    clusters: int,
    smallest: int,
    *,
    most_risk: float | None = None,
    tables: int = 1,
    seed: int = 0,
) -> SyntheticRelease:
    """Synthetic data of the clusters that may be released.

    Args:
        data: (N, m) records by attributes.
        clusters: How many clusters to make, at most.
        smallest: Clusters of fewer records are withheld; at least m + 2, so that covariances can be drawn.
        most_risk: Clusters of a greater risk, in per cent, are withheld too; None: of any.
        tables: How many synthetic tables are drawn of each cluster.
        seed: Of the draws.

    Raises:
        InvalidInput: data or numbers that cannot be used, a bad seed, or more than `MOST_RECORDS` records.
    """
    x = table(data)
    if len(x) > MOST_RECORDS:
        raise InvalidInput(f"{len(x):,} records are too many to cluster; take up to {MOST_RECORDS:,}")
    checked_count(clusters, "clusters", 1)
    checked_count(smallest, "smallest", x.shape[1] + 2)
    checked_count(tables, "tables", 1)
    if most_risk is not None and not (is_number(most_risk) and most_risk > 0):
        raise InvalidInput(f"most_risk must be greater than 0 per cent, not {most_risk!r}")
    chance = generator(seed)
    labels = _clustered(x, clusters)
    found, withheld = list[SyntheticCluster](), list[NDArray[np.int64]]()
    for label in np.unique(labels).tolist():
        records = np.flatnonzero(labels == label)
        if len(records) < smallest:
            withheld.append(records)
            continue
        risk = parameter_risk(x[records])
        if most_risk is not None and risk > most_risk:
            withheld.append(records)
            continue
        drawn = np.stack([synthetic(x[records], len(records), chance) for _ in range(tables)])
        found.append(SyntheticCluster(records, risk, drawn))
    nobody = np.zeros(0, dtype=np.int64)
    return SyntheticRelease(tuple(found), np.sort(np.concatenate([nobody, *withheld])))


def synthetic(data: ArrayLike, size: int, chance: np.random.Generator) -> Floats:
    """One table drawn from the posterior predictive distribution of a multivariate normal.

    Covariance from the inverse Wishart distribution with N − 1 degrees of freedom, the mean given it.

    Args:
        data: (N, m) records by attributes, N >= m + 2.
        size: Records to draw.
        chance: Where the draws come from.

    Raises:
        InvalidInput: too few records, or attributes of which one follows from others.
    """
    x = table(data)
    n, m = x.shape
    if n < m + 2:
        raise InvalidInput(f"{n} records are too few for {m} attributes; {m + 2} are the least")
    off = x - x.mean(axis=0)
    scatter = off.T @ off
    if np.linalg.matrix_rank(scatter) < m:
        raise InvalidInput("an attribute is constant or follows from others; leave it out")
    covariance = np.atleast_2d(stats.invwishart.rvs(n - 1, scatter, random_state=chance))
    mean = chance.multivariate_normal(x.mean(axis=0), covariance / n)
    drawn: Floats = chance.multivariate_normal(mean, covariance, size)
    return drawn


def _clustered(x: Floats, clusters: int) -> NDArray[np.int64]:
    """(N,) labels by Ward's method, attributes standardised."""
    if clusters == 1:
        return np.zeros(len(x), dtype=np.int64)
    deviation = x.std(axis=0)
    standard = (x - x.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    found: NDArray[np.int64] = hierarchy.fcluster(
        hierarchy.linkage(standard, "ward"), clusters, criterion="maxclust"
    ).astype(np.int64)
    return found
