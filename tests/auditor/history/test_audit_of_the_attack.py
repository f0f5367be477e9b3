"""The log of a real reconstruction attack (Cohen & Nissim 2020): everybody is found, with proofs that hold.

The checks share no code with the audit: sets are asked of plain DuckDB, tables are looked for by SciPy.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from auditor import Policy, audit
from auditor.history.findings import Finding, Findings
from auditor.history.statement import Logged

pytestmark = pytest.mark.slow

STATEMENTS = 36
"""By integers everybody is located from the 22nd on, by reals all with the 34th (found by SciPy as well)."""
POLICY = """
[protect]
table = "loans"
column = "good"
minimum = 0
maximum = 1
step = 1
key = "client_id"
public = ["client_id"]
[intruder]
insiders = 0
[limit]
risk = 0.5
"""


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory, shared_data: Path) -> tuple[Path, list[str], Findings]:
    """The database, the statements, and what the audit of them found."""
    loans = pd.read_csv(shared_data / "attack" / "loans_2000_3000.csv.gz")
    asked = pd.read_csv(shared_data / "attack" / "queries_2000_3000.csv.gz")["sum_sql"][:STATEMENTS].tolist()
    database = tmp_path_factory.mktemp("attack") / "loans.duckdb"
    with duckdb.connect(str(database)) as connection:
        connection.register("told", loans)
        connection.execute("CREATE TABLE loans AS SELECT client_id, good FROM told")
    log = [Logged(number, sql, user="analyst") for number, sql in enumerate(asked, 1)]
    return database, asked, audit(database, Policy.parse(POLICY), log, gate_seconds=0)


class Tables:
    """0/1 tables that agree with some of the statements' answers."""

    def __init__(self, database: Path, asked: list[str]) -> None:
        with duckdb.connect(str(database), read_only=True) as connection:
            rows = connection.execute("SELECT client_id, good FROM loans").fetchall()
            self.place = {client: place for place, (client, _) in enumerate(rows)}
            self.good = dict(rows)
            self.rows = np.zeros((len(asked), len(rows)))
            self.sums = np.zeros(len(asked))
            for number, sql in enumerate(asked):
                self.sums[number] = connection.execute(sql).fetchone()[0] or 0
                members = connection.execute(sql.replace("sum(good)", "client_id")).fetchall()
                self.rows[number, [self.place[client] for (client,) in members]] = 1

    def exists(self, numbers: list[int], client: int, value: int) -> bool:
        """Whether one agrees with these answers and gives the client that value."""
        count = self.rows.shape[1]
        low, high = np.zeros(count), np.ones(count)
        low[self.place[client]] = high[self.place[client]] = value
        some = [number - 1 for number in numbers]
        rule = LinearConstraint(self.rows[some], self.sums[some], self.sums[some])
        found = milp(np.zeros(count), constraints=rule, integrality=np.ones(count), bounds=Bounds(low, high))
        if found.status == 0:
            table = np.rint(found.x)
            assert (self.rows[some] @ table == self.sums[some]).all()
        return bool(found.status == 0)


def of_everyone(findings: Findings) -> list[Finding]:
    return [each for each in findings.findings if each.party == "everyone"]


def numbers_of(finding: Finding) -> list[int]:
    return [term.statement.number for term in finding.certificate.terms]


@pytest.mark.slow
def test_every_record_of_the_attack_is_found_disclosed(attacked: tuple[Path, list[str], Findings]) -> None:
    database, asked, findings = attacked
    found = of_everyone(findings)
    good = Tables(database, asked).good
    assert {int(each.key) for each in found} == set(good)
    assert all(each.kind == "exact" and each.lower == each.upper == good[int(each.key)] for each in found)
    first = sorted(each.first.number for each in found)
    by_reals = sorted(each.by_reals.number for each in found if each.by_reals is not None)
    assert (first[0], first[-1]) == (19, 22)
    assert len(by_reals) == len(found)
    assert (by_reals[0], by_reals[-1]) == (34, 34)


def test_no_other_table_agrees_with_the_answers_of_a_certificate(
    attacked: tuple[Path, list[str], Findings],
) -> None:
    database, asked, findings = attacked
    tables = Tables(database, asked)
    for each in of_everyone(findings):
        client = int(each.key)
        assert tables.exists(numbers_of(each), client, tables.good[client])
        assert not tables.exists(numbers_of(each), client, 1 - tables.good[client])


def test_an_equation_adds_up_over_the_records_as_well(attacked: tuple[Path, list[str], Findings]) -> None:
    """Σ multiplier · answer bounds the record whatever the others are: weak duality, in floats."""
    database, asked, findings = attacked
    tables, checked = Tables(database, asked), 0
    for each in of_everyone(findings):
        weights = [term.multiplier for term in each.certificate.terms]
        if each.certificate.proof != "reals" or None in weights:
            continue
        some = [number - 1 for number in numbers_of(each)]
        lam = np.array([float(weight) for weight in weights])
        left = -(lam @ tables.rows[some])
        left[tables.place[int(each.key)]] += 1
        # x = Σ λ b + Σ left · x: between what the others' 0 … 1 make of it
        base = float(lam @ tables.sums[some])
        low, high = base + np.minimum(left, 0).sum(), base + np.maximum(left, 0).sum()
        value = tables.good[int(each.key)]
        assert low - 1e-6 <= value <= high + 1e-6
        assert low > value - 1 + 1e-9 or high < value + 1 - 1e-9
        checked += 1
    assert checked > 3


def test_of_no_certificate_an_answer_is_cited_twice_or_without_its_query(
    attacked: tuple[Path, list[str], Findings],
) -> None:
    database, asked, findings = attacked
    with duckdb.connect(str(database), read_only=True) as connection:
        for each in of_everyone(findings)[:10]:
            assert len(set(numbers_of(each))) == len(each.certificate.terms)
            for term in each.certificate.terms[:3]:
                assert term.statement.sql == asked[term.statement.number - 1]
                assert connection.execute(term.sql).fetchone()[0] == term.value


def test_what_a_log_has_not_answered_teaches_nothing(
    attacked: tuple[Path, list[str], Findings],
) -> None:
    database, asked, _ = attacked
    log = [Logged(number, sql, answered=False) for number, sql in enumerate(asked, 1)]
    found = audit(database, Policy.parse(POLICY), log, gate_seconds=0)
    assert not found.findings
    assert all(each.located == 0 and each.answers == 0 for each in found.parties)
