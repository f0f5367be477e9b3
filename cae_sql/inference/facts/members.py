"""Record numbers as people give them: lists, arrays, boolean masks."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cae_sql.errors import InvalidInput
from cae_sql.inference.facts.query import Ints


def records_of(records: ArrayLike, size: int, noun: str = "records") -> Ints:
    """(k,) record numbers as given, or those of a mask of all `size` records; InvalidInput of others."""
    try:
        given = np.asarray(records)
    except ValueError as error:
        raise InvalidInput(f"{noun} must be a list of record numbers or a boolean mask") from error
    if given.ndim != 1 or (len(given) and given.dtype.kind not in "biu"):
        raise InvalidInput(f"{noun} must be a list of record numbers, whole numbers, or a boolean mask")
    if given.dtype == np.bool_:
        if len(given) != size:
            raise InvalidInput(f"a mask must have {size} entries, not {len(given)}")
        return np.flatnonzero(given)
    wrong = np.flatnonzero((given < 0) | (given >= size))
    if len(wrong):
        raise InvalidInput(f"no record {given[wrong[0]]}: records are 0 to {size - 1}", int(wrong[0]))
    return given.astype(np.int64)


def members_of(members: ArrayLike, size: int) -> tuple[Ints, Ints]:
    """Members of an answer, one or more, each once, ascending, (m,), and where each was given.

    InvalidInput of others.
    """
    numbers = records_of(members, size, "members")
    if not len(numbers):
        raise InvalidInput("an answer needs at least one member")
    order = np.argsort(numbers, kind="stable")
    twice = np.flatnonzero(np.diff(numbers[order]) == 0)
    if len(twice):
        place = int(order[twice[0] + 1])
        raise InvalidInput(f"record {numbers[place]} is a member twice", place)
    return numbers[order], order
