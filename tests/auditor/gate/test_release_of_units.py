"""Releases where persons have several rows, where data grow, and where cells are all that is known."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations, product
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from auditor import Gate, Policy
from cae_sql.domain import Domain
from cae_sql.risk import risk_of
from tests.auditor.gate.test_release import agree, asides, asked, counts
from tests.auditor.staff import OUTSIDERS, build, entries, people, policy, verdict
from tests.enumeration.units import longest

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


# by enumeration

Ints = NDArray[np.int64]
WHOSE, VALUES, LIMIT = np.array([0, 0, 0, 1, 1, 2, 2, 3]), 4, 0.8
"""Four persons with one to three rows each, and the values 0 to 3."""
TABLES = np.array(list(product(range(VALUES), repeat=len(WHOSE))), dtype=np.int64)


def need() -> int:
    """How far a row's possible values reach at least, in a run, where the limit is kept."""
    domain = Domain(0, VALUES - 1, 1)
    runs = (np.arange(values, dtype=float) for values in range(1, VALUES + 1))
    return next(len(run) - 1 for run in runs if risk_of(run, None, domain).risk <= LIMIT)


def short(left: Ints, aside: set[int], insiders: int) -> Iterator[str]:
    """Rows that are not set aside, or sums of a person's, that may take too few values to another person."""
    for insider in (-1, *range(4)) if insiders else (-1,):  # -1: nobody
        for value in np.unique(left[:, np.equal(WHOSE, insider)], axis=0):
            some = left[(left[:, np.equal(WHOSE, insider)] == value).all(axis=1)]
            for unit in (each for each in range(4) if each != insider):
                mine = [row for row in np.flatnonzero(np.equal(WHOSE, unit)).tolist() if row not in aside]
                for rows in chain.from_iterable(combinations(mine, n) for n in range(1, len(mine) + 1)):
                    taken = np.unique(some[:, list(rows)].sum(axis=1))
                    if longest(taken) < need() * len(rows):
                        yield f"rows {rows} of {unit}, insider {insider} with {value}: {taken}"


SEEDS = [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 8))]


@pytest.mark.parametrize("insiders", [0, 1])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_release_makes_the_limit_of_no_other_rows_or_totals_fall(
    tmp_path: Path, seed: int, insiders: int
) -> None:
    draw, size = np.random.default_rng(seed), len(WHOSE)
    rows = [(i, unit, int(draw.integers(VALUES))) for i, unit in enumerate(WHOSE.tolist())]
    build(tmp_path / "s.duckdb", rows, "id INTEGER, person INTEGER, salary INTEGER")
    more = f"[intruder]\ninsiders = {insiders}\n[ledger]\neditions = false\n"
    rules = policy(more, f"risk = {LIMIT}", minimum=0, maximum=VALUES - 1, step=1, unit='"person"')
    aside, after = set[int](), np.zeros((size, VALUES))
    with Gate.open(tmp_path / "s.duckdb", rules) as gate:
        for turn in range(14):
            some = draw.random(size) < 0.8
            if aside and draw.random() < 0.7:  # all of them or none
                some[list(aside)] = draw.random() < 0.5
            if turn in (2, 8):  # some rows of one person, or all
                some = np.equal(WHOSE, draw.integers(4)) & ((turn == 8) | (draw.random(size) < 0.6))
                some[draw.integers(size)] |= not some.any()
                sql = asked(draw, some)
                gate.release(sql, "a test", seen=gate.exposed_by(sql))
            else:
                sql = asked(draw, some)
                verdict(gate, sql)
            now = [answer for entry in entries(gate) for answer in entry.answers]
            left = TABLES[agree(now, TABLES)]
            if turn in (2, 8):
                aside, after = asides(now), counts(left, VALUES)
            # of those set aside nothing more is known; of all other rows no more than the limit allows
            assert asides(now) == aside
            assert np.allclose(counts(left, VALUES)[sorted(aside)], after[sorted(aside)])
            lost = next(short(left, aside, insiders), None)
            assert lost is None, (sql, aside, lost)
    assert aside
