"""Record numbers as people give them: lists, arrays, boolean masks."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cae_sql.errors import InvalidInput
from cae_sql.inference.facts.query import Ints


def members_of(members: ArrayLike, size: int) -> tuple[Ints, Ints]:
    """Members ascending, and where each was given.

    Args:
        members: Record numbers, or a boolean mask of all records.
        size: Number of records.

    Raises:
        InvalidInput: none, twice, out of range, or not numbers at all.
    """
    try:
        given = np.asarray(members)
    except ValueError as error:
        raise InvalidInput("members must be a list of record numbers or a boolean mask") from error
    if given.ndim != 1:
        raise InvalidInput("members must be a list of record numbers or a boolean mask")
    if given.dtype == np.bool_:
        if len(given) != size:
            raise InvalidInput(f"a mask must have {size} entries, not {len(given)}")
        given = np.flatnonzero(given)
    elif len(given) and given.dtype.kind not in "iu":
        raise InvalidInput("members must be whole numbers or a boolean mask")
    if not len(given):
        raise InvalidInput("an answer needs at least one member")
    numbers = given.astype(np.int64)
    if numbers.min() < 0 or numbers.max() >= size:
        place = int(np.flatnonzero((numbers < 0) | (numbers >= size))[0])
        raise InvalidInput(f"no record {numbers[place]}: records are 0 to {size - 1}", place)
    if (numbers[1:] > numbers[:-1]).all():
        return numbers, np.arange(len(numbers))
    order = np.argsort(numbers, kind="stable")
    twice = np.flatnonzero(np.diff(numbers[order]) == 0)
    if len(twice):
        place = int(order[twice[0] + 1])
        raise InvalidInput(f"record {numbers[place]} is a member twice", place)
    return numbers[order], order


def records_of(records: ArrayLike, size: int) -> Ints:
    """Record numbers as given, or those of a mask.

    Raises:
        InvalidInput: out of range, or not numbers at all.
    """
    given = np.asarray(records)
    if given.dtype == np.bool_ and len(given) == size:
        return np.flatnonzero(given)
    if given.ndim != 1 or (len(given) and given.dtype.kind not in "iu"):
        raise InvalidInput("records must be whole numbers or a boolean mask")
    wrong = np.flatnonzero((given < 0) | (given >= size))
    if len(wrong):
        raise InvalidInput(f"no record {given[wrong[0]]}: records are 0 to {size - 1}", int(wrong[0]))
    return given.astype(np.int64)
