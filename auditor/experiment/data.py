"""A table for the experiment: a file that DuckDB reads, or one of two other data sets that the paper names.

Promise: the confidential column lies on the domain's grid. It is rounded, to the nearest step, only where a
step was asked for, as the paper rounds salaries to 10 K; a value outside of a domain that was given is an
error, not clipped. The paper does not say how it rounds Wine and Breast Cancer, nor which columns it takes:
here the first column is confidential and the six after it are known, each rounded to the finest step of 1, 2
or 5 times a power of ten that leaves at most 25 or 100 values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from auditor.data.sources import frame, source_of
from auditor.data.sources.files import Files, format_of
from auditor.errors import DatabaseError
from cae_sql.domain import Domain, Number, exact, grid_values
from cae_sql.errors import InvalidInput
from cae_sql.releases.attributes import attribute_of
from cae_sql.releases.matching import check_known, numbers

if TYPE_CHECKING:
    import pandas as pd

BUILT_IN = ("wine", "breast-cancer")
MOST_CONFIDENTIAL, MOST_PUBLIC, COLUMNS = 25, 100, 6
"""Of the built-in data sets: values of the confidential column, of a public one, and how many of these."""
LARGEST_DOMAIN = 1_000


@dataclass(frozen=True, eq=False)
class Data:
    """What the experiment is run on."""

    name: str
    table: pd.DataFrame
    column: str
    public: list[str]
    domain: Domain


def read(
    source: str,
    column: str | None,
    public: list[str],
    minimum: Number | None = None,
    maximum: Number | None = None,
    step: Number | None = None,
) -> Data:
    """The table and its domain.

    Args:
        source: A file, or "wine" or "breast-cancer".
        column: The confidential column; of the built-in data sets by default the first.
        public: What an intruder may know; of the built-in data sets by default the six columns after it.
        minimum: Least possible value; by default the least there is.
        maximum: Greatest possible value; by default the greatest there is.
        step: Resolution; values are rounded to it. By default the largest step that reaches every value.

    Raises:
        DatabaseError: a file that cannot be read, or a library that is missing.
        InvalidInput: a table or domain that cannot be used.
    """
    if source in BUILT_IN:
        return _built_in(source, column, public, minimum, maximum, step)
    if column is None or not public:
        raise InvalidInput("a file needs the confidential column and the public ones: --column and --public")
    table = file(Path(source))
    check_known(table, column, public)
    return _on_grid(Path(source).stem, table, column, public, minimum, maximum, step)


def _on_grid(
    name: str,
    table: pd.DataFrame,
    column: str,
    public: list[str],
    minimum: Number | None,
    maximum: Number | None,
    step: Number | None,
) -> Data:
    kept = table[[column, *public]].copy()
    if step is not None:
        kept[column] = rounded(numbers(kept, column, name), exact(step, "step"), exact(minimum or 0))
    found = attribute_of(kept, column)
    low = found.origin if minimum is None else exact(minimum, "minimum")
    high = found.origin + (found.count - 1) * found.step if maximum is None else exact(maximum, "maximum")
    domain = Domain(low, high, found.step if step is None else exact(step))
    if domain.count > LARGEST_DOMAIN:
        raise InvalidInput(
            f"{column} would have {domain.count:,} possible values, more than {LARGEST_DOMAIN:,}; give a "
            "--step to which it is rounded"
        )
    return Data(name, kept, column, public, domain)


def rounded(values: NDArray[np.float64], step: Fraction, origin: Fraction) -> NDArray[np.float64]:
    """The nearest values origin + k · step, halves up."""
    k = np.floor((values - float(origin)) / float(step) + 0.5).astype(np.int64)
    return grid_values(k, origin, step)


def step_for(values: NDArray[np.float64], most: int) -> Fraction:
    """The finest of 1, 2, 5 times a power of ten at which these span at most so many values."""
    spread = float(values.max() - values.min())
    power = math.floor(math.log10(spread / most)) if spread > 0 else 0
    for exponent in (power, power + 1):
        for factor in (1, 2, 5):
            step = Fraction(factor) * Fraction(10) ** exponent
            if np.ptp(np.floor(np.array([values.min(), values.max()]) / float(step) + 0.5)) < most:
                return step
    raise AssertionError("a power of ten further the spread is less than a step")  # pragma: no cover


def file(path: Path) -> pd.DataFrame:
    """The table in a file that DuckDB reads, in Arrow files, or in a pattern or folder of files.

    Raises:
        DatabaseError: a file that is not there or cannot be read.
    """
    import duckdb

    source = source_of(path)
    if isinstance(source, Files) and (not path.is_file() or format_of(str(path)) == "Arrow"):
        return frame(source)
    if not path.is_file():
        raise DatabaseError(f"{path}: no such file")
    with duckdb.connect(":memory:", config={"temp_directory": ""}) as connection:
        try:
            return connection.sql(f"SELECT * FROM '{str(path).replace(chr(39), chr(39) * 2)}'").df()
        except duckdb.Error as error:
            raise DatabaseError(f"{path}: {error}") from error


def _built_in(
    source: str,
    column: str | None,
    public: list[str],
    minimum: Number | None,
    maximum: Number | None,
    step: Number | None,
) -> Data:
    try:
        from sklearn import datasets
    except ImportError as error:
        raise DatabaseError(f"{source} needs scikit-learn: pip install 'cae-sql[experiment]'") from error
    load = datasets.load_wine if source == "wine" else datasets.load_breast_cancer
    table: pd.DataFrame = load(as_frame=True).data
    confidential = column or str(table.columns[0])
    others = public or [str(name) for name in table.columns if name != confidential][:COLUMNS]
    check_known(table, confidential, others)
    table = table[[confidential, *others]].copy()
    for name in others:
        values = numbers(table, name, source)
        table[name] = rounded(values, step_for(values, MOST_PUBLIC), Fraction(0))
    step = step_for(numbers(table, confidential, source), MOST_CONFIDENTIAL) if step is None else step
    return _on_grid(source, table, confidential, others, minimum, maximum, step)
