"""What was measured of a constant takes the place of what stood there, and of others all stays."""

from __future__ import annotations

import csv
from pathlib import Path

from benchmarks.constants import HEAD, TABLE, constants, write


def test_rows_of_the_same_constant_are_replaced_and_others_stay(tmp_path: Path) -> None:
    table = tmp_path / "constants.csv"
    write(table, [("a", "X", 4, 2, 7, 8, 0, 1.5), ("a", "X", 4, 8, 6, 8, 0, 1.5)])
    write(table, [("a", "X", 4, 8, 9, 9, 0, 2.5), ("b", "Y", 1.0, 0.5, 3, 3, 0, 0.5)])
    with table.open(encoding="utf-8", newline="") as stream:
        head, *rows = csv.reader(stream)
    assert tuple(head) == HEAD
    assert [row[:5] for row in rows] == [
        ["a", "X", "4", "2", "7"],
        ["a", "X", "4", "8", "9"],
        ["b", "Y", "1.0", "0.5", "3"],
    ]


def test_rows_of_a_constant_whose_value_was_another_go(tmp_path: Path) -> None:
    table = tmp_path / "constants.csv"
    write(
        table,
        [("a", "X", 4, 2, 7, 8, 0, 1.5), ("a", "X", 4, 8, 6, 8, 0, 1.5), ("a", "Y", 4, 8, 6, 8, 0, 1.5)],
    )
    write(table, [("a", "X", 8, 4, 9, 9, 0, 2.5)])
    with table.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream))[1:]
    assert [row[:4] for row in rows] == [["a", "X", "8", "4"], ["a", "Y", "4", "8"]]


def test_numbers_of_a_file_are_found_whichever_way_they_are_written() -> None:
    found = {each.name: each.value for each in constants(["tables/pool"])}
    assert {"FEWEST", "MOST", "TURNS"} <= set(found)
    assert all(isinstance(value, int | float) for value in found.values())


def test_the_table_has_every_number_of_the_engine_as_it_is_now() -> None:
    with TABLE.open(encoding="utf-8", newline="") as stream:
        measured = {(row[0], row[1], float(row[2])) for row in list(csv.reader(stream))[1:] if row[2]}
    assert measured == {(each.file, each.name, each.value) for each in constants([]) if not each.compiled}
