"""Sensitive values by group (anatomy, permutation), in linear time.

Each record has the confidential values of its group, all alike; the matching records are averaged.

Source: as `generalisation.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from cae_sql.domain import Domain
from cae_sql.errors import InvalidInput
from cae_sql.releases.beliefs import Beliefs, Floats, Ints, check_room
from cae_sql.releases.matching import Classes, check_known, classes_of, positions

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
    believed = of_groups(classes, group, group, place, domain)
    return Beliefs(classes.values, classes.members, believed, domain)


def of_groups(classes: Classes, group: Ints, released: Ints, places: Ints, domain: Domain) -> Floats:
    """(k, |D|) what is believed of the records of each class.

    Args:
        classes: Of the original's records.
        group: (n,) the group of each, 0 … g − 1, each of which has records.
        released: (n,) the group of each released value.
        places: (n,) its place in the domain.
        domain: Which values are possible.
    """
    sizes = np.bincount(group)
    # Pairs of a class and a group that meet, and of a group and a value: no more than there are records.
    meet = csr_array((1.0 / sizes[group], (classes.labels, group)), shape=(classes.count, sizes.size))
    values = csr_array((np.ones(places.size), (released, places)), shape=(sizes.size, domain.count))
    found: Floats = (meet @ values).toarray() / classes.members[:, None]
    return found
