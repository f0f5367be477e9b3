"""Published tables (the handbook on disclosure control, chapter 4; Garfinkel, Abowd & Martindale 2019).

Asked: a table without its small cells, and both of its margins; all margins at once; groups made for one.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.quick import some

from .arena import attacked, locates_nobody, people


def table(count: int) -> list[tuple[object, ...]]:
    """Most cells of sex and dept are large, one has a single person."""
    rows = [(i, 20 + i, "mf"[i % 2], "ab"[i // 2 % 2], row[-1]) for i, row in enumerate(people(count, 15))]
    return [
        *rows[:-1],
        (*rows[-1][:2], "m", "c", rows[-1][-1]),
        (count, 60, "f", "c", 100),
        (count + 1, 61, "f", "c", 90),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", some(["margins", "rollup"], 1))
def test_margins_do_not_tell_the_cell_that_was_left_out(name: str, tmp_path: Path) -> None:
    locates_nobody(attacked(tmp_path, name, table(20)), answered=None)


@pytest.mark.slow
def test_a_group_of_one_is_not_shown_in_any_form(tmp_path: Path) -> None:
    locates_nobody(attacked(tmp_path, "groups-of-one", people(20, 15)), answered=None)
