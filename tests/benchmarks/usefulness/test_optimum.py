"""The closed form against a list of all tables of small groups."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from auditor.data.database import Database
from auditor.data.sources import source_of
from auditor.parties.party import Knowledge
from benchmarks.usefulness.columns import KINDS, Column
from benchmarks.usefulness.day import patient
from benchmarks.usefulness.optimum import is_roomy, may_be_told, needed

SMALL = [(size, top) for size in (1, 2, 3, 4, 5) for top in (1, 2, 3, 4)]


def is_wide(values: Iterable[int], need: int) -> bool:
    """Whether these values, which have no gaps, are wide enough."""
    found = sorted(set(values))
    assert found == list(range(found[0], found[-1] + 1))
    return found[-1] - found[0] >= need


def listed(size: int, total: int, top: int, need: int) -> bool:
    """`may_be_told`, by all tables: what a record may have, alone and given each value of another."""
    tables = [each for each in product(range(top + 1), repeat=size) if sum(each) == total]
    if not is_wide((each[0] for each in tables), need):
        return False
    own = {each[0] for each in tables}
    return size > 1 and all(is_wide((each[1] for each in tables if each[0] == v), need) for v in own)


@pytest.mark.parametrize(("size", "top"), SMALL)
def test_a_sum_may_be_told_as_all_tables_say(size: int, top: int) -> None:
    for total in range(size * top + 1):
        for need in range(1, top + 1):
            assert may_be_told(size, total, top, need) == listed(size, total, top, need), (total, need)


@pytest.mark.parametrize(("size", "top"), SMALL)
def test_where_both_rooms_are_wide_the_short_rule_says_so_too(size: int, top: int) -> None:
    for total in range(size * top + 1):
        for need in range(1, top + 1):
            assert may_be_told(size, total, top, need) or not is_roomy(size, total, top, need)


def test_of_zeros_and_ones_two_rooms_of_two_are_enough_and_less_is_not() -> None:
    assert [total for total in range(14) if may_be_told(13, total, 1, 1)] == list(range(2, 12))


@pytest.mark.parametrize("column", [*KINDS], ids=lambda column: column.name)
def test_the_width_that_everybody_must_keep_is_the_gates(column: Column, tmp_path: Path) -> None:
    policy = patient(column.policy("t", '["part"]'))
    values = np.arange(column.minimum, column.maximum + 1, column.step)
    table = pa.table({"part": np.zeros(len(values), dtype=np.int64), "value": values})
    with Database.open(source_of({"t": table}), policy.protects) as database:
        (found,) = Knowledge(policy, database).columns
        assert needed(policy) == found.standard.need
