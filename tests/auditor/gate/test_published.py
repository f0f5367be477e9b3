"""What everybody knows anyway is put on record first, and worlds agree with it from then on."""

from __future__ import annotations

import warnings
from pathlib import Path

import duckdb
import numpy as np
import pytest

from auditor import Gate, Policy, PolicyError
from auditor.errors import NotPublishedWarning
from auditor.policy.suggest import suggest
from tests.auditor.staff import build, entries, policy, policy_text, verdict

PUBLISHED = '[intruder]\npublished = ["SELECT AVG(salary) FROM staff"]'
SKEWED = [
    (i, 20 + i % 40, "mf"[i % 2], "abcd"[i % 4], 10 + 10 * min(24, int(value)))
    for i, value in enumerate(np.random.default_rng(3).exponential(3, 400))
]
"""Most are paid little, hardly anybody more than 130."""


@pytest.mark.slow
def test_it_is_recorded_once(tmp_path: Path) -> None:
    path = build(tmp_path / "t.duckdb", SKEWED)
    for _ in range(2):
        with Gate.open(path, policy(PUBLISHED)) as gate:
            (entry,) = entries(gate)
            assert (entry.user, entry.verdict, len(entry.answers)) == ("published", "answered", 1)
    with Gate.open(path, policy(PUBLISHED)) as gate:
        assert verdict(gate, "SELECT SUM(salary) FROM staff").code == "known"


@pytest.mark.slow
def test_extremes_are_told_the_more_narrowly_once_the_mean_is_known(tmp_path: Path) -> None:
    """Without the mean worlds are uniform, and true maxima far below theirs are told as ends."""
    path = build(tmp_path / "t.duckdb", SKEWED)
    found, surprises = {}, 0
    for name, text in (("alone", ""), ("published", PUBLISHED)):
        with Gate.open(path, policy(text), tmp_path / f"{name}.ledger") as gate:
            said = [
                verdict(gate, f"SELECT MAX(salary) FROM staff WHERE age BETWEEN {age} AND {age + 1}")
                for age in range(20, 60, 2)
            ]
            found[name] = sum(each.ends for each in said)
            surprises += sum(entry.surprises for entry in entries(gate))
    assert found["alone"] >= 5
    assert surprises == 0


@pytest.mark.parametrize(
    "sql", ["SELECT MAX(salary) FROM staff WHERE id = 3", "SELECT salary FROM staff", "x"]
)
def test_what_cannot_be_taken_as_known_is_an_error(sql: str, tmp_path: Path) -> None:
    path = build(tmp_path / "t.duckdb", SKEWED)
    with pytest.raises(PolicyError, match=r"intruder\.published: '.*' cannot be taken as known"):
        Gate.open(path, policy(f'[intruder]\npublished = ["{sql}"]'))


@pytest.mark.parametrize("candidates", ["interval", "exact", "posterior"])
def test_it_is_taken_as_known_however_far_it_lies_from_what_the_gate_thinks_up(
    candidates: str, tmp_path: Path
) -> None:
    """Everybody knows it: hypothetical answers would hide nothing, and here they are all far too high."""
    path = build(tmp_path / "t.duckdb", SKEWED)
    models = f'{PUBLISHED}\ncandidates = "{candidates}"'
    with Gate.open(path, policy(models), tmp_path / "t.ledger") as gate:
        (entry,) = entries(gate)
        assert (entry.code, entry.surprises) == ("answered", 0)
        assert gate.execute("SELECT AVG(salary) FROM staff").decision.code == "known"


@pytest.mark.slow
def test_somebody_called_published_is_judged_like_anybody(tmp_path: Path) -> None:
    path = build(tmp_path / "t.duckdb", SKEWED)
    models = '[intruder]\ncandidates = "posterior"\nbaseline = "prior"'
    asked = "SELECT AVG(salary) FROM staff"
    with Gate.open(path, policy(models), tmp_path / "one.ledger") as gate:
        theirs = gate.execute(asked, user="published")
    with Gate.open(path, policy(models), tmp_path / "two.ledger") as gate:
        ours = gate.execute(asked)
    assert (theirs.decision.code, theirs.ranges) == (ours.decision.code, ours.ranges)
    assert ours.decision.code == "ends"


def test_it_counts_for_everyone() -> None:
    with pytest.raises(PolicyError, match=r'intruder\.published.*scope = "everyone"'):
        Policy.parse(policy_text(PUBLISHED + '\n[ledger]\nscope = "user"'))


def test_init_suggests_the_overall_mean_of_a_large_table(tmp_path: Path) -> None:
    path = build(tmp_path / "t.duckdb", SKEWED)
    suggested = Policy.parse(suggest(path, "staff", "salary").text)
    assert suggested.intruder.published == ("SELECT AVG(salary) FROM staff",)
    with Gate.open(path, suggested, tmp_path / "l.ledger") as gate:
        assert len(entries(gate)) == 1
    small = build(tmp_path / "small.duckdb", SKEWED[:20])
    assert Policy.parse(suggest(small, "staff", "salary").text).intruder.published == ()


def test_the_suggested_statement_is_right_for_odd_names(tmp_path: Path) -> None:
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute('CREATE SCHEMA "h r"')
        connection.execute(
            'CREATE TABLE "h r"."order" AS '
            'SELECT i % 40 AS age, (i * 37 % 100) * 10 AS "Gehalt (€)" FROM range(200) t(i)'
        )
    suggested = Policy.parse(suggest(path, "h r.order", "Gehalt (€)").text)
    with Gate.open(path, suggested, tmp_path / "t.ledger") as gate:
        assert entries(gate)[0].verdict == "answered"


def keyed() -> Policy:
    return policy(PUBLISHED, key='"id"')


@pytest.mark.slow
def test_in_a_later_edition_what_is_not_safe_is_not_published_and_that_is_said(tmp_path: Path) -> None:
    """The mean before and after one hire tells the hire. Everything else is answered as ever."""
    before, after = (
        build(tmp_path / "1.duckdb", SKEWED),
        build(tmp_path / "2.duckdb", [*SKEWED, (1000, 30, "m", "a", 60)]),
    )
    ledger = tmp_path / "l.ledger"
    Gate.open(before, keyed(), ledger).close()
    with pytest.warns(NotPublishedWarning, match="edition 2: Together with earlier answers"):
        assert Gate.renew(after, keyed(), ledger).opened
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it is said once
        gate = Gate.open(after, keyed(), ledger)
    with gate:
        assert gate.execute("SELECT count(*) FROM staff").fetchall() == [(401,)]
        assert verdict(gate, "SELECT AVG(salary) FROM staff").code == "risk"
        assert [entry.user for entry in entries(gate)][:3] == ["published", "owner", "published"]


@pytest.mark.slow
def test_in_a_later_edition_what_is_safe_is_published(tmp_path: Path) -> None:
    hired = [(1000 + i, 30, "mf"[i % 2], "abcd"[i % 4], 10 + 10 * (i % 25)) for i in range(60)]
    before, after = build(tmp_path / "1.duckdb", SKEWED), build(tmp_path / "2.duckdb", [*SKEWED, *hired])
    ledger = tmp_path / "l.ledger"
    Gate.open(before, keyed(), ledger).close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Gate.renew(after, keyed(), ledger)
    with Gate.open(after, keyed(), ledger) as gate:
        assert gate.execute("SELECT AVG(salary) FROM staff").decision.code == "known"


@pytest.mark.slow
def test_what_becomes_of_it_in_a_later_edition_does_not_hang_on_the_values(tmp_path: Path) -> None:
    """It is judged like anybody's question: the same people with other values get the same verdict."""
    codes = set()
    for value in (10, 60, 130, 250):
        hired = [*SKEWED, (1000, 30, "m", "a", value)]
        before, after = build(tmp_path / "1.duckdb", SKEWED), build(tmp_path / "2.duckdb", hired)
        ledger = tmp_path / f"{value}.ledger"
        Gate.open(before, keyed(), ledger).close()
        with pytest.warns(NotPublishedWarning):
            Gate.renew(after, keyed(), ledger)
        with Gate.open(after, keyed(), ledger) as gate:
            codes.add(tuple((entry.code, entry.surprises) for entry in entries(gate)))
    assert len(codes) == 1
