"""What was made likely stands beside what was excluded: to whom, since when, by which statements."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from auditor import audit
from auditor.cli.auditing import FailOn, exit_status, lines
from auditor.history import audit as audit_module
from auditor.history import likely as likely_module
from auditor.history.findings import Findings, MadeLikely
from auditor.report import as_json, html, schema
from cae_sql.measure import cae_area

from . import worlds

OTHERS, SUMS = 12, 60
PERSON = 1
"""Number of the record that stands in all sums of the star; its value is 1."""


def star(seed: int = 5) -> tuple[list[int], list[str]]:
    """A 0/1 column, and sums over one person and a dozen others each, whom nothing else is about."""
    values = np.random.default_rng(seed).integers(0, 2, 2 + OTHERS * SUMS).tolist()
    values[PERSON] = 1
    sums = []
    for number in range(SUMS):
        first = 3 + OTHERS * number  # ids count from 1
        sums.append(
            f"SELECT sum(v) FROM t WHERE id = {PERSON + 1} OR id BETWEEN {first} AND {first + OTHERS - 1}"
        )
    return values, sums


def exact_risk(values: list[int], sums: int) -> float:
    """Of the person's value, by the binomial weights of what is left to the others: 1 − A / A_prior."""
    odds = np.zeros(2)
    ways = np.array([1.0])
    for _ in range(OTHERS):
        ways = np.convolve(ways, [1.0, 1.0])
    for number in range(sums):
        told = values[PERSON] + sum(values[2 + OTHERS * number : 2 + OTHERS * (number + 1)])
        for value in (0, 1):
            odds[value] += np.log(ways[told - value]) if 0 <= told - value <= OTHERS else -np.inf
    p = np.exp(odds - odds.max())
    return 1 - cae_area(np.arange(2), p / p.sum()) / cae_area(np.arange(2), np.ones(2))


def found_in(folder: Path, values: list[int], high: int, *statements: tuple[str, str]) -> Findings:
    database = worlds.build(folder / "t.duckdb", values)
    return audit(database, worlds.policy(0, high), worlds.log(statements), gate_seconds=0)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Findings, list[int]]:
    """Anna asks all sums, bob the first five."""
    values, sums = star()
    statements = [("bob", sql) for sql in sums[:5]] + [("anna", sql) for sql in sums]
    return found_in(tmp_path_factory.mktemp("star"), values, 1, *statements), values


def of(found: Findings, party: str) -> list[MadeLikely]:
    return [one for one in found.likely if one.party == party]


@pytest.mark.slow
def test_one_person_in_many_sums_is_named_though_nothing_is_excluded(
    asked: tuple[Findings, list[int]],
) -> None:
    found, values = asked
    assert not found.findings
    (one,) = of(found, "user anna")
    assert (one.record, one.key) == (PERSON, str(PERSON + 1))
    assert (one.possible, one.lower, one.upper) == (2, 0.0, 1.0)
    assert (one.likely_lower, one.likely_upper) == (1.0, 1.0)
    assert one.risk == pytest.approx(exact_risk(values, SUMS), abs=0.02)
    standing = {each.party: (each.located, each.likely) for each in found.parties}
    assert standing == {"everyone": (0, 1), "user anna": (0, 1), "user bob": (0, 0)}
    assert [each.record for each in of(found, "everyone")] == [PERSON]


def test_the_statement_since_which_it_is_so_is_the_first_after_which_the_limit_is_broken(
    asked: tuple[Findings, list[int]],
) -> None:
    found, values = asked
    (one,) = of(found, "user anna")
    after = one.first.number - 5  # bob's come first
    assert exact_risk(values, after) > 0.45
    assert exact_risk(values, after - 1) < 0.55
    assert one.first.user == "anna"


def test_the_statements_that_carry_it_are_the_party_s_own(asked: tuple[Findings, list[int]]) -> None:
    (one,) = of(asked[0], "user anna")
    assert 0 < one.carried <= one.leverage <= 1
    assert one.carried_by
    assert all(f"id = {PERSON + 1} " in cited.sql and cited.user == "anna" for cited in one.carried_by)


def test_no_group_is_made_likely_by_what_is_said_of_it(tmp_path: Path) -> None:
    values = [1 + number % 2 for number in range(200)]
    asked = ("anna", "SELECT sum(v) FROM t"), ("anna", "SELECT sum(v) FROM t WHERE g = 1")
    found = found_in(tmp_path, values, 9, *asked)
    assert not found.likely
    assert all(each.likely_risk is not None and each.likely_risk < 0.5 for each in found.parties)


@pytest.mark.slow
def test_of_what_is_too_large_or_late_there_is_no_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values, sums = star()
    with monkeypatch.context() as patched:
        patched.setattr(likely_module, "MOST_CELLS", 1)
        found = found_in(tmp_path, values, 1, ("anna", sums[0]))
        assert found.parties[0].likely_risk is None
    monkeypatch.setattr(audit_module, "LIKELY_STEPS", 0)
    late = found_in(tmp_path, values, 1, ("anna", sums[0]))
    assert late.parties[0].likely_risk is None
    assert json.loads(as_json(late))["parties"][0]["likely_risk"] is None


def test_nothing_asked_makes_nothing_likely(tmp_path: Path) -> None:
    found = found_in(tmp_path, [1, 2], 9, ("anna", "SELECT count(*) FROM t"))
    assert (found.parties[0].likely, found.parties[0].likely_risk, found.likely) == (0, 0.0, ())


def test_report_json_and_terminal_say_what_is_possible_and_what_is_likely(
    asked: tuple[Findings, list[int]],
) -> None:
    found, _ = asked
    told = json.loads(as_json(found))
    jsonschema.validate(told, schema(), jsonschema.Draft202012Validator)
    assert [one["record"] for one in told["likely"]] == [PERSON, PERSON]
    assert told["likely"][0]["carried_by"][0]["sql"].startswith("SELECT sum(v)")
    page = html(found)
    assert '<section id="likely">' in page
    assert "make too much likely of 1 record" in page
    said = "\n".join(lines(found))
    assert f"likely: t.v of record {PERSON + 1}, to user anna, since statement" in said
    assert "could still be any of 2 values, 0 to 1; most likely 1 to 1" in said
    assert exit_status(found, FailOn.LIKELY, False) == 3
    assert exit_status(found, FailOn.APPROXIMATE, False) == 0


@pytest.mark.slow
def test_records_whose_posterior_is_not_relied_upon_count_as_not_judged(tmp_path: Path) -> None:
    # their sums add up to 3 x + 2 (…): whether x, of three people, is even is known; leverage does not see it
    crowds = [(4, 303), (304, 603), (604, 903)]
    values = np.random.default_rng(0).binomial(1, 0.1, 903).tolist()
    sums = [
        f"SELECT sum(v) FROM t WHERE id <= 3 OR id BETWEEN {a} AND {b} OR id BETWEEN {c} AND {d}"
        for (a, b), (c, d) in itertools.combinations(crowds, 2)
    ]
    # beside these there are too many tables to be counted
    sums += [f"SELECT sum(v) FROM t WHERE id > 3 AND id % {by} = 0" for by in range(2, 20)]
    (one, _) = found_in(tmp_path, values, 1, *(("anna", sql) for sql in sums)).parties
    assert (one.located, one.open) == (0, 3)
    (other, _) = found_in(tmp_path, values, 1, *(("anna", sql) for sql in sums[1:])).parties
    assert (other.located, other.open) == (0, 0)
