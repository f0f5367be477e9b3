"""Equivalence classes of at least k records: Mondrian, which halves the widest column again and again.

All records are one class at first. A class is cut in two along the quasi-identifier that is widest in it, as
a part of its width in the whole table, at the cut that comes nearest to halves; where that would leave fewer
than k records on a side, along the next widest; where none can be cut, the class is done. Words are cut in
their order (that of a pandas categorical, else ascending), as if they were numbered. Nothing is drawn: the
same table gives the same classes.

Contract: classes are disjoint boxes, so each record is covered by the released records of its class and by no
others; what is written for a class is read again by `covering.py` as exactly that.

Source: K. LeFevre, D. DeWitt, R. Ramakrishnan, "Mondrian Multidimensional K-Anonymity", ICDE 2006 (strict
partitioning, normalised widths; where the median leaves too few on a side, the nearest cut is taken).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cae_sql.errors import InvalidInput
from cae_sql.releases.beliefs import Floats, Ints
from cae_sql.releases.covering import covered
from cae_sql.releases.matching import check_known, codes_of, numbers

if TYPE_CHECKING:
    import pandas as pd


def generalise(original: pd.DataFrame, column: str, known: Sequence[str], k: int) -> pd.DataFrame:
    """A table whose quasi-identifiers are made so coarse that at least k records share them.

    Args:
        original: All records.
        column: The confidential column, which stays as it is.
        known: The quasi-identifiers, at least one; others are left out.
        k: Least number of records in a class.

    Returns:
        As many records, in the original's order: numbers as `[30, 39]`, words as `{a, b}`, and what all of a
        class share as it is.

    Raises:
        InvalidInput: a table that cannot be used, a k that is no whole number from 1 or more than there are
            records, or words that cannot be told apart once they stand in a set.
    """
    names = check_known(original, column, known)
    label = equivalence_classes(original, names, k)
    released = original[[column]].copy()
    for name in names:
        released[name] = _written(original[name], label)
    return released


def equivalence_classes(original: pd.DataFrame, known: Sequence[str], k: int) -> Ints:
    """(n,) the class of each record of a checked table, 0 … c − 1; arguments and errors as `generalise`."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise InvalidInput(f"k must be a whole number from 1, not {k!r}")
    if not known:
        raise InvalidInput("known must name at least one column that is to be made coarser")
    if k > len(original):
        raise InvalidInput(f"k is {k}, but there are {len(original)} records: no class has so many")
    codes = np.stack([codes_of(original[name]) for name in known])
    places = [_places(original, name, row) for name, row in zip(known, codes, strict=True)]
    spread = np.array([max(float(each[-1] - each[0]), 1e-300) for each in places])
    label = np.empty(len(original), dtype=np.int64)
    found, left = 0, [np.arange(len(original))]
    while left:
        records = left.pop()
        halves = _halves(codes, places, spread, records, int(k))
        if halves is None:
            label[records] = found
            found += 1
        else:
            left += halves[::-1]
    return label


def _places(original: pd.DataFrame, name: str, codes: Ints) -> Floats:
    """(d,) where each distinct value stands, ascending: numbers by their value, words by their number."""
    if not _is_numeric(original[name]):
        return np.arange(int(codes.max()) + 1, dtype=np.float64)
    return np.unique(numbers(original, name, "the original"))


def _halves(
    codes: Ints, places: Sequence[Floats], spread: Floats, records: Ints, k: int
) -> list[Ints] | None:
    """A class in two, or None."""
    if records.size < 2 * k:
        return None
    part = codes[:, records]
    low, high = part.min(axis=1), part.max(axis=1)
    width = np.array([each[b] - each[a] for each, a, b in zip(places, low, high, strict=True)]) / spread
    for axis in np.argsort(-width, kind="stable").tolist():
        if low[axis] == high[axis]:
            continue
        own = part[axis]
        before = np.cumsum(np.bincount(own - low[axis]))[:-1]
        smaller = np.minimum(before, records.size - before)
        cut = int(smaller.argmax())
        if smaller[cut] >= k:
            first = own <= low[axis] + cut
            return [records[first], records[~first]]
    return None


def _written(column: pd.Series, label: Ints) -> pd.Series:
    """What is released of a column: for each class, what its records have."""
    import pandas as pd

    codes = codes_of(column)
    _, first = np.unique(codes, return_index=True)
    values = column.iloc[first].tolist()
    pairs = np.unique(label * len(values) + codes)  # class by class, values ascending
    classes, have = np.divmod(pairs, len(values))
    starts = np.flatnonzero(np.diff(classes, prepend=-1))
    if starts.size == pairs.size:  # nothing is coarser
        return column.copy()
    of_class = [part.tolist() for part in np.split(have, starts[1:])]
    text = _range_of if _is_numeric(column) else _words(str(column.name), values)
    seen: dict[tuple[int, ...], str] = {}
    for each in map(tuple, of_class):
        if each not in seen:
            seen[each] = text([values[place] for place in each])
            _check_read(seen[each], each, values, str(column.name), not _is_numeric(column))
    labels = np.array([seen[tuple(each)] for each in of_class], dtype=object)
    return pd.Series(labels[label], index=column.index)


def _range_of(values: Sequence[Any]) -> str:
    return f"{values[0]!r}" if len(values) == 1 else f"[{values[0]!r}, {values[-1]!r}]"


def _words(name: str, values: Sequence[Any]) -> Callable[[Sequence[Any]], str]:
    """How sets of these values are written."""
    texts = [str(each) for each in values]
    mark = next((mark for mark in (", ", "|") if not any(mark.strip() in each for each in texts)), None)
    if mark is None:
        raise InvalidInput(
            f"values of {name} have both commas and bars in them, so no set of them can be written; recode "
            "them"
        )
    return lambda several: (
        str(several[0]) if len(several) == 1 else "{" + mark.join(str(each) for each in several) + "}"
    )


def _check_read(text: str, places: Sequence[int], values: list[Any], name: str, exactly: bool) -> None:
    """Refuse what would be read as something else."""
    read = np.flatnonzero(covered(text, values, name)).tolist()
    wanted = list(places) if exactly else list(range(places[0], places[-1] + 1))
    if read != wanted:
        raise InvalidInput(
            f"{name} has values that cannot be told apart once they are written as {text!r}; recode them"
        )


def _is_numeric(column: pd.Series) -> bool:
    import pandas as pd

    return bool(pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype))
