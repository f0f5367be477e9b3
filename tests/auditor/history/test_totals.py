"""Totals of units that an audit finds are those of enumeration and exact linear algebra; rows are as ever."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import duckdb
import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor import Policy, audit, report
from auditor.cli.auditing import FailOn, exit_status, lines
from auditor.history.findings import Findings, TotalFinding
from auditor.history.unread import unread
from cae_sql.inference.lookback import totals as lookback

from . import worlds

WARDS = "SELECT ward, SUM(charge) FROM stays GROUP BY ward"
WITHOUT = "SELECT ward, SUM(charge) FROM stays WHERE patient <> 7 GROUP BY ward"


def policy(unit: str = "patient") -> Policy:
    named = f'unit = "{unit}"\n' if unit else ""
    return Policy.parse(
        '[protect]\ntable = "stays"\ncolumn = "charge"\nminimum = 0\nmaximum = 100\nstep = 1\nkey = "id"\n'
        f'public = ["id", "patient", "ward", "visit"]\n{named}[limit]\nrisk = 0.5\n'
    )


@pytest.fixture
def stays(tmp_path: Path) -> Path:
    """Nine patients with four rows each, two in either ward; each row has a visit of its own."""
    path = tmp_path / "stays.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("""CREATE TABLE stays AS
            SELECT i AS id, i % 9 AS patient, i // 18 AS ward, 1000 + i AS visit, (i * 7) % 100 AS charge
            FROM range(36) t(i)""")
    return path


def found_in(path: Path, asked: Sequence[str], unit: str = "patient") -> Findings:
    return audit(path, policy(unit), worlds.log(asked), gate_seconds=0)


def of_everyone(found: Findings) -> dict[str, TotalFinding]:
    return {each.key: each for each in found.totals if each.party == "everyone"}


def test_sums_that_differ_by_a_patient_locate_the_total_and_no_row(stays: Path) -> None:
    found = found_in(stays, [WARDS, WITHOUT])
    assert found.findings == ()
    told = of_everyone(found)
    assert {name: (each.kind, each.lower, each.upper) for name, each in told.items()} == {
        "patient 7's total": ("exact", 174.0, 174.0),
        "patient 7's total over 2 of 4 rows (7, 16)": ("exact", 61.0, 61.0),
        "patient 7's total over 2 of 4 rows (25, 34)": ("exact", 113.0, 113.0),
    }
    total = told["patient 7's total"]
    assert (total.unit, total.rows, total.first.number) == ("7", (7, 16, 25, 34), 2)
    proof = total.certificate
    assert [term.statement.number for term in proof.terms] == [1, 1, 2, 2]
    assert sum(term.value * (term.multiplier or 0) for term in proof.terms) == 174
    with duckdb.connect(str(stays), read_only=True) as connection:
        assert connection.sql(proof.sql).fetchall() == [(174,)]


def test_one_user_alone_has_located_what_everyone_has(stays: Path) -> None:
    found = found_in(stays, [WARDS, WITHOUT])
    anna = [each for each in found.totals if each.party == "user anna"]
    assert [each.key for each in anna] == [*of_everyone(found)]
    assert [(party.party, party.totals, party.totals_open) for party in found.parties] == [
        ("everyone", 3, 0),
        ("user anna", 3, 0),
    ]


def test_what_two_users_know_together_neither_knows_alone(stays: Path) -> None:
    asked = [("anna", "SELECT SUM(charge) FROM stays"), ("bob", WITHOUT)]
    found = audit(stays, policy(), worlds.log(asked), gate_seconds=0)
    assert {each.party for each in found.totals} == {"everyone"}
    assert [*of_everyone(found)] == ["patient 7's total"]


def test_rows_that_were_read_add_up_to_a_total(stays: Path) -> None:
    found = found_in(stays, ["SELECT charge FROM stays WHERE patient = 3"])
    assert {each.kind for each in found.findings} == {"direct"}
    total = of_everyone(found)["patient 3's total"]
    assert total.kind == "exact"
    assert len(total.certificate.terms) == 4


def test_most_rows_of_a_patient_leave_too_little_of_the_total(stays: Path) -> None:
    found = found_in(stays, ["SELECT charge FROM stays WHERE patient = 3 AND id <> 3"])
    total = of_everyone(found)["patient 3's total"]
    assert (total.kind, total.upper - total.lower) == ("approximate", 100.0)


def test_with_one_row_a_unit_an_audit_says_what_it_says_without(stays: Path) -> None:
    asked = [WARDS, WITHOUT, "SELECT SUM(charge) FROM stays WHERE id <> 4", "SELECT SUM(charge) FROM stays"]
    with_unit, without = (found_in(stays, asked, unit) for unit in ("visit", ""))
    assert report.as_csv(with_unit) == report.as_csv(without)
    told = [json.loads(report.as_json(each)) for each in (with_unit, without)]
    assert [each.pop("unit") for each in told] == ["visit", ""]
    for each in told:
        # whose rows they are counts in the fingerprint
        for name in ("policy", "policy_digest", "seconds", "fingerprint"):
            del each[name]
    assert told[0] == told[1]
    assert told[0]["findings"]


def test_rows_are_found_with_a_unit_as_without(stays: Path) -> None:
    asked = [WARDS, WITHOUT, "SELECT SUM(charge) FROM stays WHERE id <> 4", "SELECT MAX(charge) FROM stays"]
    with_unit, without = (found_in(stays, asked, unit) for unit in ("patient", ""))
    assert with_unit.findings == without.findings
    assert with_unit.totals


def test_every_form_of_the_report_says_whose_total_it_is(stays: Path) -> None:
    found = found_in(stays, [WARDS, WITHOUT])
    told = json.loads(report.as_json(found))
    jsonschema.validate(told, report.schema(), jsonschema.Draft202012Validator)
    assert told["totals"][0]["total"] == "patient 7's total"
    assert told["summary"]["units"] == 1
    assert "patient 7's total" in report.as_csv(found)
    page = report.html(found)
    assert "<h1>The answers give away “charge”: totals of 1 unit</h1>" in page
    assert "patient 7&#39;s total" in page
    shown = [*lines(found)]
    assert any(line.startswith("located: patient 7's total (stays.charge), to user anna") for line in shown)
    assert not any("nobody" in line for line in shown)
    assert exit_status(found, FailOn.EXACT, allow_unread=False) == 3


def test_totals_that_take_too_much_work_are_open_and_counted(
    stays: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookback, "WORK", 0.0)
    found = found_in(stays, [WARDS, WITHOUT])
    assert not found.totals
    assert found.parties[0].totals_open == 3
    assert (
        unread(found.reading, found.unmodelled, found.parties).said == "3 totals of units were left unjudged"
    )
    assert "totals of units" in next(line for line in lines(found) if line.startswith("nobody"))
    assert exit_status(found, FailOn.OPEN, allow_unread=False) == 3


def test_what_digits_of_a_weighted_sum_tell_is_proved_on_the_grid(tmp_path: Path) -> None:
    database = worlds.build(tmp_path / "t.duckdb", [3, 7, 1, 9, 4, 6])
    rules = Policy.parse(worlds.POLICY.format(low=0, high=9, risk=0.5).replace("key =", 'unit = "g"\nkey ='))
    asked = ["SELECT SUM(v * power(100, id)) FROM t WHERE g = 0"]
    found = audit(database, rules, worlds.log(asked), gate_seconds=0)
    total = of_everyone(found)["g 0's total"]
    assert (total.lower, total.certificate.proof) == (8.0, "integers")


def test_rows_without_a_name_are_nobodys_total(stays: Path) -> None:
    with duckdb.connect(str(stays)) as connection:
        connection.execute("UPDATE stays SET patient = NULL WHERE patient = 7")
    found = found_in(
        stays, ["SELECT SUM(charge) FROM stays", "SELECT SUM(charge) FROM stays WHERE patient < 7"]
    )
    assert [*of_everyone(found)] == []
    assert found.parties[0].totals_open == 0


LOW, HIGH = 0, 3


@given(
    table=st.lists(st.integers(LOW, HIGH), min_size=5, max_size=5),
    asked=st.lists(
        st.tuples(
            st.sampled_from(["anna", "bob"]),
            st.lists(st.integers(0, 4), min_size=1, max_size=5, unique=True).map(sorted),
        ),
        min_size=1,
        max_size=4,
    ),
)
def test_the_totals_of_each_party_are_those_that_enumeration_finds(
    table: list[int], asked: list[tuple[str, list[int]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    database = worlds.build(tmp_path_factory.mktemp("t") / "t.duckdb", table)
    sums = [(user, ("sum", tuple(members), (1,) * len(members))) for user, members in asked]
    rules = Policy.parse(
        worlds.POLICY.format(low=LOW, high=HIGH, risk=0.5).replace("key =", 'unit = "g"\nkey =')
    )
    found = audit(
        database, rules, worlds.log([(user, worlds.sql_of(each)) for user, each in sums]), gate_seconds=0
    )
    assert not found.partial
    for party in found.parties:
        own = [each for user, each in sums if party.party in ("everyone", f"user {user}")]
        tables = worlds.agreeing(own, table, LOW, HIGH)
        need = 3 * width(rules), 2 * width(rules)
        expected = {}
        for unit, rows in enumerate(([0, 2, 4], [1, 3])):
            left = {sum(other[row] for row in rows) for other in tables}
            if max(left) - min(left) < need[unit]:
                expected[f"g {unit}'s total"] = "exact" if len(left) == 1 else "approximate"
            if determined([members for _, members, _ in own], rows):
                assert len(left) == 1
        shown = {each.key: each.kind for each in found.totals if each.party == party.party and each.whole}
        assert shown == expected
        assert party.totals_open == 0


def width(rules: Policy) -> int:
    """How far apart the ends of a record's values must be, by the policy's own limit."""
    column = rules.protects[0]
    least = rules.limits_of(column).limit.least_run(column.domain)
    assert least is not None
    return least - 1


def determined(sums: Sequence[Sequence[int]], rows: Sequence[int]) -> bool:
    """Whether some sums over the reals add up to that of these rows: elimination in fractions."""
    wanted = [Fraction(row in rows) for row in range(5)]
    left = [[Fraction(row in members) for row in range(5)] for members in sums]
    for place in range(5):
        pivot = next((line for line in left if line[place]), None)
        if pivot is None:
            continue
        left.remove(pivot)
        for line in [*left, wanted]:
            times = line[place] / pivot[place]
            line[:] = [a - times * b for a, b in zip(line, pivot, strict=True)]
    return not any(wanted)
