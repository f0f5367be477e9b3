"""Sessions with remainders: nobody is located, and neither their rows nor their absence are an oracle.

As `test_suppress_attacks` has it for groups: what anybody can infer is worked out apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from auditor import Gate, QueryRefused, QueryUnsupported
from tests.auditor.gate.test_suppress_attacks import before_surprises, narrowest, random_statements
from tests.auditor.staff import NEEDED, OUTSIDERS, Person, build, people, policy

REMAINDER = "[decision]\nremainder = true\ntimeout = 60"
SETS = (
    "SELECT dept, age % 7, sum(salary) FROM staff GROUP BY ROLLUP (dept, 2) ORDER BY 1, 2",
    "SELECT sex, id // 8, sum(salary), max(salary) FROM staff GROUP BY CUBE (sex, 2) ORDER BY 1, 2",
)
Shape = tuple[str, str, tuple[int, ...], tuple[tuple[bool, ...], ...]]
"""Code, message, which rows are remainders, and which cells are NULL."""


def session(gate: Gate, statements: Sequence[str]) -> tuple[list[Shape], list[object]]:
    """The shape of each answer, and the rows that came back."""
    shapes, rows = list[Shape](), list[object]()
    for sql in statements:
        try:
            answer = gate.execute(sql, user="eve")
            told, said = answer.fetchall(), answer.decision
            nulls = tuple(tuple(value is None for value in row) for row in told)
            shapes.append((said.code, said.message, tuple(each.row for each in answer.remainder), nulls))
            rows.append(told)
        except (QueryRefused, QueryUnsupported) as error:
            shapes.append((error.decision.code, error.decision.message, (), ()))
            rows.append(None)
    return shapes, rows


def remainders(shapes: Sequence[Shape]) -> int:
    """How many rows are remainders."""
    return sum(len(rows) for _, _, rows, _ in shapes)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 9, 10])
@pytest.mark.parametrize("more", ["", "\n[rules]\nmin_size = 5"])
def test_a_table_that_agrees_with_all_answers_has_answers_of_the_same_shape(
    seed: int, more: str, tmp_path: Path
) -> None:
    """Which rows are withheld, and whether a remainder is there: whoever could compute it learns nothing."""
    persons, statements = people(40, seed), [*random_statements(seed, 5), *SETS]
    rules = policy(REMAINDER + more)
    with Gate.open(build(tmp_path / "true.duckdb", persons), rules) as gate:
        shapes, rows = session(gate, statements)
        count = before_surprises(gate)
        world = gate._knowledge.of("eve").columns[0].system.worlds(1, seed)[0]
    others: list[Person] = [(*p[:4], int(value)) for p, value in zip(persons, world, strict=True)]
    assert sum(a != b for a, b in zip(persons, others, strict=True)) > 15
    with Gate.open(build(tmp_path / "other.duckdb", others), rules) as gate:
        again, same = session(gate, statements)
        count = min(count, before_surprises(gate))
    assert count >= 4
    assert (again[:count], same[:count]) == (shapes[:count], rows[:count])


@pytest.mark.slow
def test_values_of_those_of_whom_nothing_is_told_change_no_shape(tmp_path: Path) -> None:
    """Of two persons who are groups of their own no sum is told, together either. Of MAX more groups are
    withheld, whose remainder is told: it is another's, whatever the two have."""
    persons = people(40, 8)
    alone = "CASE WHEN id < 38 THEN dept ELSE id::VARCHAR END"
    statements = [
        f"SELECT {alone} AS k, {kind}(salary) FROM staff GROUP BY k ORDER BY k"
        for kind in ("sum", "max", "avg")
    ]
    found = []
    for number, last in enumerate(([10, 250], [250, 250], [10, 10], [130, 20])):
        changed: list[Person] = [(*p[:4], pay) for p, pay in zip(persons[38:], last, strict=True)]
        with Gate.open(
            build(tmp_path / f"{number}.duckdb", [*persons[:38], *changed]), policy(REMAINDER)
        ) as gate:
            found.append(session(gate, statements))
    assert all(each == found[0] for each in found)
    assert [code for code, *_ in found[0][0]] == ["partial"] * 3
    assert [len(rows) for _, _, rows, _ in found[0][0]] == [0, 1, 0]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 4])
def test_nobody_is_located_by_random_groups_and_their_remainders(seed: int, tmp_path: Path) -> None:
    with Gate.open(build(tmp_path / "staff.duckdb", people(48, seed)), policy(OUTSIDERS + REMAINDER)) as gate:
        shapes, _ = session(gate, [*random_statements(seed, 8), *SETS])
        spread, told = narrowest(gate, 48)
        assert gate.verify().problems == ()
    assert remainders(shapes) >= 1, "nothing was tried"
    assert told >= 8
    assert spread >= NEEDED


def test_a_remainder_is_no_way_to_the_group_that_is_left_out_of_the_next_one(tmp_path: Path) -> None:
    """The same small groups without one of them: the two remainders would differ by two persons."""
    names = "uvwxyz"
    persons = [(*p[:3], "a" if p[0] < 60 else names[(p[0] - 60) // 2], p[4]) for p in people(72, 4)]
    sql = "SELECT dept, sum(salary) FROM staff WHERE dept <> '{}' GROUP BY dept ORDER BY dept"
    with Gate.open(build(tmp_path / "staff.duckdb", persons), policy(REMAINDER)) as gate:
        first, second = (gate.execute(sql.format(name)) for name in ("none", "u"))
        assert len(first.remainder) == 1
        assert second.remainder == ()
        assert narrowest(gate, 72)[0] >= NEEDED
    assert np.all([total is None for dept, total in second.fetchall() if dept != "a"])
