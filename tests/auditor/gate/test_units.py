"""Persons with several rows: what is protected is each row and every sum over some of a person's rows."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from auditor import DatabaseError, Gate, Policy, PolicyError, QueryRefused

STAYS = """CREATE TABLE stays AS
SELECT i AS id, (hash(i) % 120)::INT AS patient, ['a', 'b', 'c'][1 + (hash(i * 7) % 3)::INT] AS ward,
       (hash(i * 17) % 101)::INT AS charge
FROM range(600) each(i)"""


def policy(more: str = 'unit = "patient"', rest: str = "[ledger]\neditions = false") -> Policy:
    return Policy.parse(
        '[protect]\ntable = "stays"\ncolumn = "charge"\nminimum = 0\nmaximum = 100\nstep = 1\n'
        f'public = ["patient", "ward"]\n{more}\n[limit]\nrisk = 0.5\n{rest}'
    )


@pytest.fixture
def stays(tmp_path: Path) -> Path:
    with duckdb.connect(str(tmp_path / "stays.duckdb")) as connection:
        connection.execute(STAYS)
    return tmp_path / "stays.duckdb"


def test_a_persons_total_is_refused_and_groups_are_told(stays: Path) -> None:
    with Gate.open(stays, policy()) as gate:
        with pytest.raises(QueryRefused):
            gate.execute("SELECT sum(charge) FROM stays WHERE patient = 7")
        told = gate.execute("SELECT ward, sum(charge) AS s FROM stays GROUP BY ward ORDER BY ward")
        assert (
            told.fetchall()
            == duckdb.connect(str(stays))
            .sql("SELECT ward, sum(charge) FROM stays GROUP BY ward ORDER BY ward")
            .fetchall()
        )
        # the difference to what was told is one person's total in a ward
        with pytest.raises(QueryRefused):
            gate.execute("SELECT sum(charge) FROM stays WHERE ward = 'a' AND patient <> 7")


def test_without_a_unit_rows_alone_are_protected(stays: Path) -> None:
    """The same statement, which the unit refuses."""
    with Gate.open(stays, policy("")) as gate:
        assert gate.execute("SELECT count(*) FROM stays WHERE patient < 12").fetchall()[0][0] > 40
        gate.execute("SELECT sum(charge) FROM stays WHERE patient < 2")
    with Gate.open(stays, policy(), stays.with_name("another.ledger")) as gate, pytest.raises(QueryRefused):
        gate.execute("SELECT sum(charge) FROM stays WHERE patient < 2")


def test_rows_without_a_name_are_persons_of_their_own(stays: Path) -> None:
    with duckdb.connect(str(stays)) as connection:
        connection.execute("UPDATE stays SET patient = NULL WHERE patient >= 60")
    with Gate.open(stays, policy()) as gate:
        gate.execute("SELECT sum(charge) FROM stays WHERE patient IS NULL")


def test_a_unit_with_one_value_is_an_error(stays: Path) -> None:
    with duckdb.connect(str(stays)) as connection:
        connection.execute("UPDATE stays SET patient = 1")
    with pytest.raises(DatabaseError, match="one value in all rows"):
        Gate.open(stays, policy())


def test_a_key_that_is_not_unique_is_an_error_that_names_both_ways_out(stays: Path) -> None:
    with pytest.raises(DatabaseError, match='unit = "patient" in place of key; else name another'):
        Gate.open(stays, policy('key = "patient"'))


@pytest.mark.parametrize(
    ("more", "rest", "message"),
    [
        ('unit = "charge"', "", "is the protected column"),
        ('unit = "patient"', '[intruder]\ncandidates = "interval"', 'needs candidates = "posterior"'),
    ],
)
def test_a_unit_that_cannot_be_kept_is_an_error(more: str, rest: str, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        policy(more, rest)


def test_a_unit_that_is_no_column_is_an_error(stays: Path) -> None:
    with pytest.raises(DatabaseError, match="no column pupil"):
        Gate.open(stays, policy('unit = "pupil"'))
