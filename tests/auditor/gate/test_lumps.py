"""A gate over cells of thousands: persons go into lumps, and what it says is said of everybody."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from auditor import DataChanged, Gate, QueryRefused
from auditor.policy.policy import Policy

RULES = """
[protect]
table = "staff"
column = "salary"
minimum = 0
maximum = 200
resolution = 1
step = 10
public = ["age", "sex"]
[limit]
risk = 0.5
[decision]
partial = "suppress"
[source]
mode = "%s"
"""
ROWS = 60_000


@pytest.fixture(scope="module")
def staff() -> pa.Table:
    """Twenty large cells, and one person by himself."""
    rng = np.random.default_rng(3)
    age, sex = rng.integers(20, 30, ROWS), rng.integers(0, 2, ROWS)
    age[0] = 64
    salary = np.minimum(30 + rng.gamma(2.0, 12.0, ROWS).astype(np.int64), 200)
    return pa.table({"age": age, "sex": sex, "salary": salary})


def opened(staff: pa.Table, ledger: Path, mode: str = "cells") -> Gate:
    return Gate.open(staff, Policy.parse(RULES % mode), ledger)


STATEMENTS = (
    "SELECT AVG(salary) FROM staff",
    "SELECT sex, SUM(salary), COUNT(*) FROM staff GROUP BY sex ORDER BY sex",
    "SELECT MAX(salary) FROM staff WHERE sex = 1",
    "SELECT age, AVG(salary) FROM staff WHERE age < 25 GROUP BY age ORDER BY age",
)


@pytest.mark.slow
def test_few_units_stand_for_many_persons_and_give_the_rows_of_records(
    staff: pa.Table, tmp_path: Path
) -> None:
    with (
        opened(staff, tmp_path / "a.ledger") as cells,
        opened(staff, tmp_path / "b.ledger", "records") as rows,
    ):
        column = cells._knowledge.columns[0]
        assert column.size < ROWS / 20
        assert column.new_system().people.sum() == ROWS
        for sql in STATEMENTS:
            assert cells.execute(sql).fetchall() == rows.execute(sql).fetchall(), sql
        for gate in (cells, rows):
            with pytest.raises(QueryRefused):
                gate.execute("SELECT SUM(salary) FROM staff WHERE age = 64")
            with pytest.raises(QueryRefused):
                gate.execute("SELECT SUM(salary) FROM staff WHERE age <> 64")


@pytest.mark.slow
@pytest.mark.parametrize("candidates", ["interval", "posterior", "exact"])
def test_figures_count_everybody_in_lumps_too(staff: pa.Table, tmp_path: Path, candidates: str) -> None:
    with opened(staff, tmp_path / "a.ledger") as gate:
        for sql in STATEMENTS[:3]:
            gate.execute(sql)
        found = gate.risk(candidates)  # type: ignore[arg-type]
        counts = staff.group_by(["age", "sex"]).aggregate([("salary", "count")]).to_pandas()
        both = found.merge(counts, on=["age", "sex"])
        assert (both["records"] == both["salary_count"]).all()
        assert found["records"].sum() == ROWS
        assert (found["risk"] <= 0.5).all()


@pytest.mark.slow
def test_those_nearest_the_limit_are_counted_as_persons(staff: pa.Table, tmp_path: Path) -> None:
    with (
        opened(staff, tmp_path / "a.ledger") as cells,
        opened(staff, tmp_path / "b.ledger", "records") as rows,
    ):
        for gate in (cells, rows):
            for sql in STATEMENTS[:3]:
                gate.execute(sql)
        found, expected = cells.nearest(20), rows.nearest(20)
        assert sum(each.records for each in found) > ROWS * 0.9
        assert {(*each.about.values(), each.records) for each in found} == {
            (*each.about.values(), each.records) for each in expected
        }


@pytest.mark.slow
def test_a_gate_over_lumps_is_reopened_and_verified(staff: pa.Table, tmp_path: Path) -> None:
    with opened(staff, tmp_path / "a.ledger") as gate:
        given = [gate.execute(sql).fetchall() for sql in STATEMENTS]
    with opened(staff, tmp_path / "a.ledger") as gate:
        assert [gate.check(sql).code for sql in STATEMENTS] == ["known"] * len(STATEMENTS)
        assert [gate.execute(sql).fetchall() for sql in STATEMENTS] == given
        assert not gate.verify().problems
        other = gate.execute("SELECT SUM(salary) FROM staff WHERE age BETWEEN 22 AND 27").fetchall()
    ages = np.array(staff["age"])
    assert other == [(int(np.array(staff["salary"])[(ages >= 22) & (ages <= 27)].sum()),)]


@pytest.mark.parametrize("begun", ["cells", "records"])
def test_another_state_is_told_without_counts_of_units(staff: pa.Table, tmp_path: Path, begun: str) -> None:
    with opened(staff, tmp_path / "a.ledger", begun) as gate:
        gate.execute(STATEMENTS[0])
    with pytest.raises(DataChanged, match="other cells, or on records") as caught:
        opened(staff.slice(0, ROWS - 10), tmp_path / "a.ledger")
    assert "records then" not in str(caught.value)
    assert "renew" not in str(caught.value)


@pytest.mark.slow
def test_the_mean_of_millions_is_told_however_far_it_is_from_the_middle_of_the_domain(tmp_path: Path) -> None:
    """Hypothetical sums of so many lie close together; the true one must be looked for far outside."""
    size = 4_000_000
    table = pa.table(
        {"age": np.arange(size) % 40, "sex": np.arange(size) % 2, "salary": np.arange(size) % 31}
    )
    with opened(table, tmp_path / "a.ledger") as gate:
        assert gate.execute("SELECT SUM(salary) FROM staff").fetchall() == [
            (int((np.arange(size) % 31).sum()),)
        ]
