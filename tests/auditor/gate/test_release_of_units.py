"""Releases where persons have several rows, where data grow, and where cells are all that is known."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from auditor import Gate, Policy
from tests.auditor.staff import OUTSIDERS, build, entries, people, policy, verdict

STAYS = """CREATE TABLE stays AS
SELECT i AS id, (hash(i) % 120)::INT AS patient, ['a', 'b', 'c'][1 + (hash(i * 7) % 3)::INT] AS ward,
       (hash(i * 17) % 101)::INT AS charge
FROM range(600) each(i)"""
RULES = """[protect]
table = "stays"
column = "charge"
minimum = 0
maximum = 100
step = 1
public = ["id", "patient", "ward"]
unit = "patient"
[limit]
risk = 0.5
[ledger]
editions = false
"""


def test_of_a_patient_those_rows_are_set_aside_that_an_answer_is_about(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "stays.duckdb")) as connection:
        connection.execute(STAYS)
        one = "SELECT sum(charge) FROM stays WHERE patient = 7 AND ward = 'a'"
        rows = connection.sql("SELECT id FROM stays WHERE patient = 7 AND ward = 'a'").fetchall()
    with Gate.open(tmp_path / "stays.duckdb", Policy.parse(RULES)) as gate:
        gate.execute("SELECT ward, sum(charge) FROM stays GROUP BY ward")
        seen = gate.exposed_by(one)
        assert set(seen.persons["patient"]) == {7}
        assert seen.count == len(rows)
        gate.release(one, "the patient asked for it")
        assert verdict(gate, one).code == "known"
        assert verdict(gate, "SELECT sum(charge) FROM stays WHERE patient = 7").code == "risk"
        assert verdict(gate, f"SELECT sum(charge) FROM stays WHERE id <> {rows[0][0]}").code == "risk"
        half = "SELECT ward, avg(charge) FROM stays WHERE patient > 60 GROUP BY ward"
        assert verdict(gate, half).code == "answered"


def test_who_is_set_aside_stays_so_in_a_later_edition(tmp_path: Path) -> None:
    rules = policy(OUTSIDERS + f'[ledger]\npath = "{tmp_path / "l"}"\n', key='"id"')
    before = build(tmp_path / "before.duckdb", people(60))
    rows = [(*person[:4], 250 if person[0] == 50 else person[4]) for person in people(60)[1:]]
    after = build(tmp_path / "after.duckdb", [*rows, (60, 30, "m", "a", 100)])
    with Gate.open(before, rules) as gate:
        gate.release("SELECT sum(salary) FROM staff WHERE id IN (4, 8)", "the board agreed")
        gate.execute("SELECT sum(salary) FROM staff")
    Gate.renew(after, rules)
    with Gate.open(after, rules) as gate:
        assert verdict(gate, "SELECT sum(salary) FROM staff WHERE id IN (4, 8)").code == "known"
        assert verdict(gate, "SELECT sum(salary) FROM staff WHERE id BETWEEN 5 AND 30").code == "risk"
        assert verdict(gate, "SELECT sum(salary) FROM staff WHERE id BETWEEN 1 AND 30").code == "answered"
        assert gate.verify().problems == ()
        # a second release sees what was told in both
        gate.release("SELECT sum(salary) FROM staff WHERE id = 9", "so did he")
        assert verdict(gate, "SELECT sum(salary) FROM staff WHERE id BETWEEN 1 AND 30").code == "known"


def test_of_cells_whole_ones_are_set_aside(tmp_path: Path) -> None:
    draw = np.random.default_rng(3)
    age, sex = draw.integers(20, 30, 3_000), draw.integers(0, 2, 3_000)
    age[:2] = 64
    salary = np.minimum(30 + draw.gamma(2.0, 12.0, 3_000).astype(np.int64), 200)
    rules = policy(OUTSIDERS + '[source]\nmode = "cells"\n', minimum=0, maximum=200, resolution=1)
    staff = pa.table({"age": age, "sex": sex, "salary": salary})
    with Gate.open(staff, rules, tmp_path / "ledger") as gate:
        gate.execute("SELECT sum(salary) FROM staff")
        old = "SELECT sum(salary) FROM staff WHERE age = 64"
        assert verdict(gate, old).code == "risk"
        seen = gate.exposed_by(old)
        assert seen.count == 2
        gate.release(old, "they agreed", seen=seen)
        assert verdict(gate, "SELECT sum(salary) FROM staff WHERE age < 64").code == "known"
        assert verdict(gate, "SELECT sex, avg(salary) FROM staff WHERE age < 64 GROUP BY sex").code in (
            "answered",
            "ends",
        )


def test_of_several_columns_each_has_its_own_persons(tmp_path: Path) -> None:
    path = build(tmp_path / "staff.duckdb", people(60))
    with duckdb.connect(str(path)) as connection:
        connection.execute("ALTER TABLE staff ADD COLUMN bonus INTEGER")
        connection.execute("UPDATE staff SET bonus = id % 25 * 10")
    second = '[[protect]]\ntable = "staff"\ncolumn = "bonus"\nminimum = 0\nmaximum = 240\nstep = 10\n'
    second += 'public = "all"'
    first = second.replace("bonus", "salary").replace("maximum = 240", "maximum = 250")
    rules = Policy.parse(f"{first}\n{second}\n{OUTSIDERS}[limit]\nrisk = 0.5\n")
    with Gate.open(path, rules) as gate:
        seen = gate.exposed_by("SELECT sum(salary), sum(bonus) FROM staff WHERE id = 4")
        assert set(seen.persons["column"]) == {"staff.salary", "staff.bonus"}
        gate.release("SELECT sum(salary) FROM staff WHERE id = 4", "the board agreed")
        assert verdict(gate, "SELECT max(bonus) FROM staff WHERE id > 3").code == "answered"
        assert verdict(gate, "SELECT max(salary), max(bonus) FROM staff WHERE id > 2").code == "risk"
        assert verdict(gate, "SELECT max(salary) FROM staff WHERE id > 4").code == "answered"


@pytest.mark.parametrize("mode", ["answer-dependent", "simulatable"])
def test_whoever_is_set_aside_is_so_in_every_mode(tmp_path: Path, mode: str) -> None:
    path = build(tmp_path / "staff.duckdb", people(60))
    with Gate.open(path, policy(f'{OUTSIDERS}[decision]\nmode = "{mode}"\n')) as gate:
        gate.release("SELECT sum(salary) FROM staff WHERE id IN (4, 8)", "the board agreed")
        assert verdict(gate, "SELECT sum(salary) FROM staff WHERE id > 5").code == "risk"
        assert entries(gate)[-1].answers == ()
