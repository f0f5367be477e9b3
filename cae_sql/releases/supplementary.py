"""All supplementary knowledge that an intruder may have: every subset of the public columns, and its classes.

Promise: subsets of all sizes, the empty one and all columns included, in a fixed order; the classes of each
are those of `matching.classes_of`. A limit on how many subsets of one size are taken draws them with a seed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from cae_sql.errors import InvalidInput
from cae_sql.releases.beliefs import Ints
from cae_sql.releases.drawing import generator
from cae_sql.releases.matching import codes_of, joined

if TYPE_CHECKING:
    import pandas as pd

MOST_SUBSETS = 5_000


@dataclass(frozen=True, eq=False)
class Knowledge:
    """One subset of the public columns, and which records share its values."""

    columns: tuple[int, ...]
    """Numbers of the public columns."""
    labels: Ints
    """(n,) class of each record, 0 … k − 1."""
    members: Ints
    """(k,) |M_o|."""
    first: Ints
    """(k,) a record of each class."""


def knowledge_of(table: pd.DataFrame, public: Sequence[str], most: int | None, seed: int) -> list[Knowledge]:
    """Every subset of the public columns, those of few columns first.

    Args:
        table: Checked (`matching.check_known`).
        public: The columns that an intruder may know.
        most: How many subsets of one size at most; None: all.
        seed: Of the draw where there are more.

    Raises:
        InvalidInput: too many subsets.
    """
    count = sum(min(comb(len(public), size), most or MOST_SUBSETS + 1) for size in range(len(public) + 1))
    if count > MOST_SUBSETS:
        raise InvalidInput(
            f"{len(public)} public columns have {2 ** len(public):,} subsets, more than {MOST_SUBSETS:,}; "
            "name fewer columns, or limit how many subsets of one size are taken"
        )
    codes = [codes_of(table[name]) for name in public]
    chosen = _subsets(len(public), most, generator([seed, len(public)]))
    return [_classes(columns, codes, len(table)) for columns in chosen]


def _subsets(columns: int, most: int | None, rng: np.random.Generator) -> Iterator[tuple[int, ...]]:
    for size in range(columns + 1):
        if most is None or comb(columns, size) <= most:
            yield from combinations(range(columns), size)
            continue
        drawn: set[tuple[int, ...]] = set()
        while len(drawn) < most:
            drawn.add(tuple(sorted(rng.choice(columns, size, replace=False).tolist())))
        yield from sorted(drawn)


def _classes(columns: tuple[int, ...], codes: Sequence[Ints], size: int) -> Knowledge:
    pairs = np.zeros(size, dtype=np.int64)
    for column in columns:
        pairs = joined(pairs, codes[column])
    _, first, labels = np.unique(pairs, return_index=True, return_inverse=True)
    return Knowledge(columns, labels, np.bincount(labels), first)
