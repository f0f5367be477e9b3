"""Anatomy whose groups are at hand: what `generalised_beliefs` says with a group, in linear time.

A release that somebody else made has to be compared with the original, group by group; one that was made of
these very records need not be. Each record has the confidential values of its group, all alike; the matching
records are averaged.

Source: as `generalisation.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from cae_sql.domain import Domain
from cae_sql.errors import InvalidInput
from cae_sql.releases.beliefs import Beliefs, Ints, check_room
from cae_sql.releases.matching import check_known, classes_of, positions

if TYPE_CHECKING:
    import pandas as pd


def grouped_beliefs(
    original: pd.DataFrame, group: Ints, column: str, known: Sequence[str], domain: Domain
) -> Beliefs:
    """What somebody believes who knows who is in which group, and each group's confidential values.

    Args:
        original: All records.
        group: (n,) the group of each record, 0 … g − 1, as `anatomise` gives it.
        column: The confidential column; its values lie in the domain.
        known: What the intruder knows of the target.
        domain: Which values are possible.

    Raises:
        InvalidInput: a table that cannot be used, or groups of another number of records.
    """
    place = positions(original, column, domain, "the original")
    classes = classes_of(original, check_known(original, column, known))
    if group.size != place.size:
        raise InvalidInput(f"there are groups of {group.size} records, and {place.size} records")
    check_room(classes.count, domain)
    sizes = np.bincount(group)
    order = np.argsort(group, kind="stable")
    first = np.cumsum(sizes) - sizes
    # Of each pair of a class and a group that meet, all values of the group, each with 1/size a record.
    pairs, counts = np.unique(classes.labels * sizes.size + group, return_counts=True)
    label, met = np.divmod(pairs, sizes.size)
    length = sizes[met]
    within = np.arange(int(length.sum())) - np.repeat(np.cumsum(length) - length, length)
    records = order[np.repeat(first[met], length) + within]
    flat = np.bincount(
        np.repeat(label, length) * domain.count + place[records],
        weights=np.repeat(counts / length, length),
        minlength=classes.count * domain.count,
    )
    believed = flat.reshape(classes.count, domain.count) / classes.members[:, None]
    return Beliefs(classes.values, classes.members, believed, domain)
