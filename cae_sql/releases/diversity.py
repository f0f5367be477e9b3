"""Entropy l-diversity by full-domain generalisation: a rival of randomised response (paper 004, Section V-B).

Every attribute has a ladder of ever coarser values, the last of which is "any". All combinations of rungs are
looked at, as Incognito would find them, and of those in which each class has an entropy of at least ln l the
one with the least sum of squares of class sizes is taken. The paper does not say which ladders it used, nor
which combination it took where several will do; `ADULT` has ours.

Libraries: anjana's `entropy_l_diversity` climbs one ladder after the other until it fits, and wants older
versions of NumPy and pandas than this project; pycanon's check agrees with `entropies` below.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd

from cae_sql.errors import InvalidInput
from cae_sql.releases.distortion import Floats, Ints

SCHOOL = ("Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th")
SOME = ("HS-grad", "Some-college", "Assoc-acdm", "Assoc-voc")
DEGREE = ("Bachelors", "Masters", "Prof-school", "Doctorate")
Ladders = Mapping[str, Sequence[Mapping[str, str]]]
ADULT: Ladders = {
    "education": [
        {
            **dict.fromkeys(SCHOOL[:4], "primary"),
            **dict.fromkeys(SCHOOL[4:], "secondary"),
            **dict.fromkeys(SOME[2:], "associate"),
            **dict.fromkeys(DEGREE[1:], "graduate"),
        },
        {
            **dict.fromkeys(SCHOOL, "no diploma"),
            **dict.fromkeys(SOME, "diploma"),
            **dict.fromkeys(DEGREE, "degree"),
        },
    ],
    "race": [
        {"Amer-Indian-Eskimo": "other", "Asian-Pac-Islander": "other", "Other": "other", "Black": "other"}
    ],
}
"""What a value of a column becomes on each rung after the first; one that is not named stays."""


@dataclass(frozen=True)
class Generalised:
    """A table that is l-diverse."""

    rungs: tuple[int, ...]
    """How far up its ladder each quasi-identifier was taken."""
    estimate: Floats
    """What its user takes the original to be: alike over the cells that a class covers."""


def diversify(
    table: Floats,
    names: Sequence[str],
    domains: Mapping[str, Sequence[Hashable]],
    ell: int,
    ladders: Ladders | None = None,
) -> Generalised:
    """The best l-diverse generalisation of a contingency table, the sensitive attribute's axis last.

    Args:
        table: Proportions.
        names: Of the quasi-identifiers, in the order of the axes.
        domains: Their values, in the order of the axis.
        ell: l.
        ladders: Of columns; one without has two rungs, its values and "any".

    Raises:
        InvalidInput: not even one class of everybody is diverse enough.
    """
    climbs = [rungs_of(domains[name], (ladders or {}).get(name, ())) for name in names]
    best: tuple[float, tuple[int, ...], Ints] | None = None
    for rungs in product(*(range(len(ladder)) for ladder in climbs)):
        label = classes([ladder[rung] for ladder, rung in zip(climbs, rungs, strict=True)])
        sums = added(table, label)
        sizes = sums.sum(axis=1)
        if (entropies(sums[sizes > 0]) >= np.log(ell) - 1e-12).all():
            cost = float((sizes**2).sum())
            if best is None or cost < best[0]:
                best = (cost, rungs, label)
    if best is None:
        raise InvalidInput(f"no generalisation is entropy {ell}-diverse")
    _, rungs, label = best
    covered = np.bincount(label)
    estimate = (added(table, label) / covered[:, None])[label]
    return Generalised(rungs, estimate.reshape(table.shape))


def rungs_of(domain: Sequence[Hashable], ladder: Sequence[Mapping[str, str]]) -> list[Ints]:
    """On each rung, the class of each value of the domain."""
    words = [list(domain), *([rung.get(str(value), value) for value in domain] for rung in ladder)]
    return [np.asarray(pd.factorize(pd.Series(each, dtype=object))[0], dtype=np.int64)
            for each in [*words, ["any"] * len(domain)]]  # fmt: skip


def classes(codes: Sequence[Ints]) -> Ints:
    """The class of each cell of the quasi-identifiers, flat."""
    grids = np.meshgrid(*codes, indexing="ij")
    sizes = [int(code.max()) + 1 for code in codes]
    return np.unique(np.ravel_multi_index([grid.ravel() for grid in grids], sizes), return_inverse=True)[1]


def added(table: Floats, label: Ints) -> Floats:
    """(classes, d_s) the table of the classes."""
    rows = table.reshape(-1, table.shape[-1])
    found = np.zeros((int(label.max()) + 1, rows.shape[1]))
    np.add.at(found, label, rows)
    return found


def entropies(sums: Floats) -> Floats:
    """In nats, of the sensitive value within each class."""
    shares = sums / sums.sum(axis=1, keepdims=True)
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    found: Floats = -(shares * logs).sum(axis=1)
    return found
