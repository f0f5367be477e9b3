"""Records that share values, and values on the domain's grid: what every technique reads its tables with.

Promise: a table that comes through here has the columns that are needed, no missing value in them, and
confidential values on the grid of the domain; what is wrong is one error that names it. Values are compared
as they are: the number 1 and the text "1" differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cae_sql.domain import Domain
from cae_sql.errors import InvalidInput
from cae_sql.releases.arguments import checked_column, checked_columns, checked_domain
from cae_sql.releases.beliefs import FIGURES, Ints, check_room

if TYPE_CHECKING:
    import pandas as pd

_SLACK = 1e-9
"""In steps: values this near to a value of the domain are that value."""
_EXACT = 2**53
"""Whole numbers up to here are floats exactly."""
_WEIGHTS = frozenset({"weight", "weights", "w", "wt", "wgt", "pwgt", "pwgtp", "perwt", "fnlwgt"})


@dataclass(frozen=True, eq=False)
class Classes:
    """Records that share the values of the known columns."""

    known: tuple[str, ...]
    """Names of the columns; none: all records are one class."""
    labels: Ints
    """(n,) class of each record, 0 … k − 1."""
    members: Ints
    """(k,) |M_o|: how many records each has."""
    values: pd.DataFrame
    """(k, known columns) what they share."""

    @property
    def count(self) -> int:
        """How many classes there are."""
        return int(self.members.size)

    def told(self, record: pd.Series) -> str:
        """The known values of a record, in words; text in quotes, so that "1" is not taken for 1."""
        values = ((name, record[name]) for name in self.known)
        return ", ".join(
            f"{name} = {value!r}" if isinstance(value, str) else f"{name} = {value}" for name, value in values
        )

    def of(self, table: pd.DataFrame, name: str) -> Ints:
        """The class of each record of another table.

        Raises:
            InvalidInput: a record whose values no record of the original has.
        """
        if not self.known:
            return np.zeros(len(table), dtype=np.int64)
        codes = np.zeros(len(table) + self.count, dtype=np.int64)  # of its records, then of these classes
        for column in self.known:
            here = self.values[column]
            distinct = here.drop_duplicates()
            codes = joined(codes, np.concatenate([_places(distinct, table[column]), _places(distinct, here)]))
        codes, own = codes[: len(table)], codes[len(table) :]
        order = np.argsort(own, kind="stable")
        found = np.searchsorted(own[order], codes).clip(max=own.size - 1)
        strange = np.flatnonzero(own[order][found] != codes)
        if strange.size:
            row = int(strange[0])
            told = self.told(table.iloc[row])
            raise InvalidInput(f"row {row} of {name} has {told}, which no record of the original has", row)
        labels: Ints = order[found]
        return labels


def classes_of(original: pd.DataFrame, known: Sequence[str]) -> Classes:
    """The classes of records of a checked table, in ascending order of their values."""
    names = tuple(known)
    if not names:
        labels = np.zeros(len(original), dtype=np.int64)
        members = np.array([len(original)])
        return Classes(names, labels, members, original.iloc[:1][[]].reset_index(drop=True))
    codes = np.zeros(len(original), dtype=np.int64)
    for column in names:
        codes = joined(codes, codes_of(original[column]))
    _, first, labels = np.unique(codes, return_index=True, return_inverse=True)
    values = original[list(names)].iloc[first].reset_index(drop=True)
    return Classes(names, labels.astype(np.int64), np.bincount(labels), values)


def codes_of(column: pd.Series) -> Ints:
    """The place of each value among the distinct ones, which are in ascending order where they have one.

    Raises:
        InvalidInput: values that cannot be told apart.
    """
    import pandas as pd

    try:
        codes, _ = pd.factorize(column, sort=True)
    except TypeError:  # numbers and words in one column: no order
        try:
            codes, _ = pd.factorize(column)
        except TypeError as error:
            raise InvalidInput(
                f"{column.name} holds values that cannot be compared, such as lists"
            ) from error
    found: Ints = codes.astype(np.int64)
    return found


def _places(distinct: pd.Series, column: pd.Series) -> Ints:
    """Where each value stands among distinct ones; −1: it does not."""
    import pandas as pd

    return np.asarray(pd.Index(distinct).get_indexer(pd.Index(column)), dtype=np.int64)


def joined(codes: Ints, more: Ints) -> Ints:
    """One code for each pair of codes, small again and in their order; `more` may hold −1."""
    _, found = np.unique(codes * (int(more.max(initial=0)) + 2) + more + 1, return_inverse=True)
    pairs: Ints = found.astype(np.int64)
    return pairs


def check_table(table: pd.DataFrame, columns: Sequence[str], name: str, empty: bool = False) -> None:
    """Refuse a table without these columns, with missing values in them, or (unless `empty`) without records.

    Raises:
        InvalidInput: names table, column and row.
    """
    import pandas as pd

    if not isinstance(table, pd.DataFrame):
        raise InvalidInput(f"{name} must be a pandas DataFrame, not {type(table).__name__}")
    for column in columns:
        checked_column(column, "a column")
        count = list(table.columns).count(column)
        if count == 0:
            there = ", ".join(str(each) for each in table.columns)
            raise InvalidInput(f"{name} has no column {column!r}; it has {there}")
        if count > 1:
            raise InvalidInput(f"{name} has {count} columns named {column!r}")
    if not (len(table) or empty):
        raise InvalidInput(f"{name} has no records")
    for column in columns:
        missing = np.flatnonzero(table[column].isna().to_numpy())
        if missing.size:
            raise InvalidInput(
                f"{name} has no value of {column!r} in row {missing[0]} ({missing.size} missing in all); "
                "leave such records out, or give missing a value of its own",
                int(missing[0]),
            )


def check_known(original: pd.DataFrame, column: str, known: Sequence[str]) -> list[str]:
    """The known columns as a list, with the table checked.

    Raises:
        InvalidInput: a bad table; the confidential column among the known ones; a name twice or of a figure.
    """
    checked_column(column, "column")
    names = checked_columns(known, "known")
    for place, name in enumerate(names):
        if name == column:
            raise InvalidInput(f"known names the confidential column {column!r}", place)
        if name in names[:place]:
            raise InvalidInput(f"known names {name!r} twice", place)
        if name in FIGURES:
            raise InvalidInput(
                f"a known column cannot be named {name!r}: the result has one; rename it", place
            )
    check_table(original, [column, *names], "the original")
    return names


def check_release(
    original: pd.DataFrame, released: pd.DataFrame, columns: Sequence[str], name: str, empty: bool = False
) -> None:
    """Refuse a release that is not one of the original: other columns, weights, missing values.

    Raises:
        InvalidInput: names what is wrong.
    """
    check_table(released, columns, name, empty)
    others = [each for each in released.columns if each not in set(original.columns)]
    weights = [each for each in others if str(each).lower() in _WEIGHTS]
    if weights:
        raise InvalidInput(
            f"{name} has weights ({weights[0]!r}); every record counts once here: release the records as "
            "they are and leave that column out"
        )
    if others:
        raise InvalidInput(f"{name} has a column {others[0]!r} that the original does not have; leave it out")


def positions(table: pd.DataFrame, column: str, domain: Domain, name: str) -> Ints:
    """(n,) place of each confidential value in the domain.

    Raises:
        InvalidInput: a value that is no number, outside of the domain, or between two of its values; a domain
            of too many values.
    """
    checked_domain(domain)
    values = numbers(table, column, name)
    check_room(1, domain)
    grid = domain.values
    step = float(grid[1] - grid[0]) if grid.size > 1 else 1.0
    place = np.rint((values - grid[0]) / step)
    outside = np.flatnonzero((place < 0) | (place > grid.size - 1))
    if outside.size:
        row = int(outside[0])
        raise InvalidInput(
            f"row {row} of {name}: {column} = {values[row]:g} is outside of the domain "
            f"{domain.minimum} … {domain.maximum}; take a domain that has every value",
            row,
        )
    found: Ints = place.astype(np.int64)
    between = np.flatnonzero(np.abs(grid[found] - values) > _SLACK * step)
    if between.size:
        row = int(between[0])
        raise InvalidInput(
            f"row {row} of {name}: {column} = {values[row]:g} is not a value of the domain "
            f"({domain.minimum}, and every {domain.step} from there); round the column first",
            row,
        )
    return found


def numbers(table: pd.DataFrame, column: str, name: str) -> NDArray[np.float64]:
    """A column as finite floats.

    Raises:
        InvalidInput: a value that is none, or a whole number that floats do not tell from its neighbours.
    """
    if table[column].dtype.kind in "iu":
        far = np.flatnonzero(~table[column].between(-_EXACT, _EXACT).to_numpy(dtype=np.bool_))
        if far.size:
            row = int(far[0])
            raise InvalidInput(
                f"row {row} of {name}: {column} = {table[column].iloc[row]} is beyond ±2⁵³, where whole "
                "numbers are not told apart; subtract what all have in common, or make them words",
                row,
            )
    try:
        values: NDArray[np.float64] = table[column].to_numpy(dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{column} of {name} must be numbers") from error
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise InvalidInput(f"row {bad[0]} of {name}: {column} = {values[bad[0]]} is not finite", int(bad[0]))
    return values
