"""Tables with suppressed cells whose intervals others have published or computed, and the paper's example."""

from __future__ import annotations

import csv
import json
import math
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cae_sql import AnsweredSystem, cae_area, cae_entropy
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.search.judging import judge
from cae_sql.inference.standard import Standard

TABLES = ["example1_small", "example1_3d", "magnitude1_p30"]


@pytest.fixture(scope="session")
def tables(shared_data: Path) -> Path:
    folder = shared_data / "tables"
    if not folder.is_dir():
        pytest.skip("the shared data have no tables")
    return folder


@pytest.fixture(scope="session")
def examples(tables: Path) -> dict[str, dict[str, Any]]:
    path = tables / "published_examples.json"
    if not path.is_file():
        pytest.skip("published_examples.json is not among the shared data")
    return {example["name"]: example for example in json.loads(path.read_text(encoding="utf-8"))}


def rows(path: Path) -> list[dict[str, str]]:
    if not path.is_file():
        pytest.skip(f"{path.name} is not among the shared data")
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


class CellTable:
    """A table as records: first its inner cells, then one record for each suppressed cell.

    Inner values are >= 0 without an upper limit. The grand total is published and no cell exceeds it, so as
    the maximum of the domain it excludes nothing that the total does not exclude.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.cells = rows(folder / f"{name}_cells.csv")
        self.inner = defaultdict(list)
        for row in rows(folder / f"{name}_matrix.csv"):
            self.inner[row["cell"]].append(int(row["inner"]) - 1)
        self.count = len(rows(folder / f"{name}_inner.csv"))
        self.suppressed = [cell for cell in self.cells if cell["suppressed"] == "True"]
        self.total = max(Fraction(cell["value"]) for cell in self.cells)

    def system(self, resolution: Fraction | None = None) -> AnsweredSystem:
        system = AnsweredSystem(self.count + len(self.suppressed), 0, self.total, resolution)
        for place, cell in enumerate(self.suppressed):
            members = [*self.inner[cell["cell"]], self.count + place]
            system.add_sum(members, 0, [1] * (len(members) - 1) + [-1])
        for cell in self.cells:
            if cell["suppressed"] == "False":
                system.add_sum(self.inner[cell["cell"]], Fraction(cell["value"]))
        return system


@pytest.mark.parametrize("name", TABLES)
def test_intervals_of_suppressed_cells_are_those_that_two_solvers_found(tables: Path, name: str) -> None:
    table = CellTable(tables, name)
    bounds = table.system().bounds()
    compared = 0
    for place, cell in enumerate(table.suppressed):
        found = bounds.lower[table.count + place], bounds.upper[table.count + place]
        assert found[0] <= float(cell["value"]) <= found[1]
        for solver in ("glpk", "highs"):
            if cell[f"{solver}_lo"]:
                expected = float(cell[f"{solver}_lo"]), float(cell[f"{solver}_up"])
                assert found == pytest.approx(expected, abs=1e-7), cell
                compared += 1
    assert compared >= len(table.suppressed)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["example1_small", "example1_3d"])
def test_in_tables_of_counts_every_count_of_an_interval_occurs(tables: Path, name: str) -> None:
    system = CellTable(tables, name).system(Fraction(1))
    bounds, found = system.bounds(), system.certified()
    assert found.lower.tolist() == bounds.lower.tolist()
    assert found.upper.tolist() == bounds.upper.tolist()


def test_a_larger_maximum_than_the_total_changes_no_interval(tables: Path) -> None:
    table = CellTable(tables, "magnitude1_p30")
    one = table.system().bounds()
    table.total *= 10
    two = table.system().bounds()
    assert one.lower.tolist() == two.lower.tolist()
    assert one.upper.tolist() == two.upper.tolist()


# --- two-way tables


TWO_WAY = [
    "sdctable_4x4_two_suppressions_per_line_but_disclosed",
    "sdctable_4x4_one_more_suppression",
    "fischetti_salazar_investment",
]


def two_way(example: dict[str, Any], resolution: int | None) -> AnsweredSystem:
    """Inner cells row by row; margins and published cells answered."""
    height, width = len(example["rows"]), len(example["cols"])
    system = AnsweredSystem(height * width, 0, example["grand_total"], resolution)
    system.add_sum(range(height * width), example["grand_total"])
    for i, total in enumerate(example["row_totals"]):
        system.add_sum([i * width + j for j in range(width)], total)
    for j, total in enumerate(example["col_totals"]):
        system.add_sum([i * width + j for i in range(height)], total)
    for i, line in enumerate(example["published"]):
        for j, value in enumerate(line):
            if value is not None:
                system.add_sum([i * width + j], value)
    return system


@pytest.mark.parametrize("name", TWO_WAY)
@pytest.mark.parametrize("resolution", [None, 1], ids=["reals", "counts"])
def test_published_intervals_of_two_way_tables_come_out(
    examples: dict[str, dict[str, Any]], name: str, resolution: int | None
) -> None:
    example = examples[name]
    bounds = two_way(example, resolution).bounds()
    claims = dict(example["intervals_recomputed"])
    claims |= {cell: claim for cell, claim in example["published_claims"].items() if isinstance(claim, list)}
    suppressed = 0
    for i, row in enumerate(example["rows"]):
        for j, column in enumerate(example["cols"]):
            place, true = i * len(example["cols"]) + j, example["true"][i][j]
            found = [bounds.lower[place], bounds.upper[place]]
            if example["published"][i][j] is None:
                suppressed += 1
                assert found == claims[f"{row}|{column}"]
                assert found[0] <= true <= found[1]
            else:
                assert found == [true, true]
    assert suppressed == len(example["intervals_recomputed"])


def test_counts_of_a_two_way_table_take_every_value_of_their_interval(
    examples: dict[str, dict[str, Any]],
) -> None:
    system = two_way(examples["fischetti_salazar_investment"], 1)
    bounds, found = system.bounds(), system.certified()
    assert found.lower.tolist() == bounds.lower.tolist()
    assert found.upper.tolist() == bounds.upper.tolist()


def test_a_cell_that_suppression_did_not_protect_has_a_certificate(
    examples: dict[str, dict[str, Any]],
) -> None:
    system = two_way(examples["sdctable_4x4_two_suppressions_per_line_but_disclosed"], 1)
    for found in (system.explain(1, "lower"), system.explain(1, "upper")):
        assert (found.bound, found.kind) == (47, "multipliers")
        assert sum(m * system.answers[n].value for n, m in found.terms) == 47


# --- Denning's students


def students(examples: dict[str, dict[str, Any]]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    example = examples["denning_students"]
    return example, [dict(zip(example["columns"], record, strict=True)) for record in example["records"]]


def test_the_students_tables_are_those_of_the_book(examples: dict[str, dict[str, Any]]) -> None:
    example, people = students(examples)
    assert len(people) == 13
    assert sum(p["sat"] for p in people) == example["total_sat"] == 8010
    for sex, years in example["sum_sat_sex_class"].items():
        for year, total in years.items():
            chosen = [p["sat"] for p in people if (p["sex"], p["class"]) == (sex, int(year))]
            assert (len(chosen), sum(chosen)) == (example["count_sex_class"][sex][year], total)


def test_the_table_of_sums_tells_the_students_who_are_alone_in_their_class(
    examples: dict[str, dict[str, Any]],
) -> None:
    example, people = students(examples)
    system = AnsweredSystem(13, 0, 800, 10)
    alone = []
    for sex, years in example["sum_sat_sex_class"].items():
        for year, total in years.items():
            members = [i for i, p in enumerate(people) if (p["sex"], p["class"]) == (sex, int(year))]
            if members:
                system.add_sum(members, total)
            alone += members if len(members) == 1 else []
    bounds, found = system.bounds(), system.certified()
    known = np.flatnonzero(bounds.lower == bounds.upper).tolist()
    assert {people[i]["name"] for i in alone} == {"Davis", "Kline"}
    assert known == np.flatnonzero(found.lower == found.upper).tolist() == sorted(alone)
    assert [bounds.lower[i] for i in known] == [people[i]["sat"] for i in known]


def test_an_individual_tracker_tells_a_student(examples: dict[str, dict[str, Any]]) -> None:
    _, people = students(examples)
    women = [i for i, p in enumerate(people) if p["sex"] == "F"]
    others = [i for i in women if people[i]["class"] != 1978]
    system = AnsweredSystem(13, 0, 800, 10)
    system.add_sum(women, sum(people[i]["sat"] for i in women))
    system.add_sum(others, sum(people[i]["sat"] for i in others))
    (davis,) = set(women) - set(others)
    found = system.explain(davis, "lower")
    assert (people[davis]["name"], found.bound) == ("Davis", 800)
    assert found.terms == [(0, Fraction(1)), (1, Fraction(-1))]
    assert sorted(np.flatnonzero(system.bounds().lower == system.bounds().upper)) == [davis]


# --- the paper's two persons


def two_persons() -> AnsweredSystem:
    system = AnsweredSystem(2, 0, 250, 1)
    system.add_max([0, 1], 107)
    system.add_mean([0, 1], 78.5)
    return system


def test_the_papers_two_persons_have_50_or_107_and_nothing_between() -> None:
    system = two_persons()
    bounds, found = system.bounds(), system.certified()
    assert (bounds.lower.tolist(), bounds.upper.tolist()) == ([50, 50], [107, 107])
    assert {tuple(world) for world in system.worlds(60).tolist()} == {(50, 107), (107, 50)}
    assert found.lower.tolist() == found.upper.tolist()
    assert set(found.lower.tolist()) <= {50, 107}


def told_apart() -> AnsweredSystem:
    """The two persons, and a third whose value with the first is known: each has 50 or 107."""
    system = AnsweredSystem(3, 0, 250, 1)
    system.add_max([0, 1], 107)
    system.add_mean([0, 1], 78.5)
    system.add_mean([0, 2], 78.5)
    return system


def judged(system: AnsweredSystem, enough: bool) -> tuple[bool, set[tuple[int, ...]]]:
    """The verdict where no run is long enough, and the sets of values that were asked about."""
    asked: set[tuple[int, ...]] = set()

    def accepts(values: Any) -> bool:
        asked.add(tuple(int(x) for x in values))
        return enough

    pool = system.pool()
    assert pool.knowledge is not None
    verdict = judge(pool.knowledge, pool.totals(), Standard(20, accepts), Allowance())
    return verdict.safe, asked


@pytest.mark.parametrize("system", [two_persons, told_apart])
def test_the_judge_finds_out_the_two_values_that_are_left(system: Callable[[], AnsweredSystem]) -> None:
    safe, asked = judged(system(), enough=True)
    assert safe
    assert (50, 107) in asked
    assert not judged(system(), enough=False)[0]


@pytest.mark.parametrize("system", [two_persons, told_apart])
def test_without_a_word_about_sets_two_values_far_apart_are_no_run(
    system: Callable[[], AnsweredSystem],
) -> None:
    pool = system().pool()
    assert pool.knowledge is not None
    assert not judge(pool.knowledge, pool.totals(), Standard(20), Allowance()).safe


def test_what_is_left_of_the_two_persons_is_one_bit_over_57() -> None:
    assert cae_entropy([50, 107]) == 1
    assert cae_area([50, 107]) == 57
    assert math.isclose(cae_entropy([50, 107], epsilon=57), 0)
