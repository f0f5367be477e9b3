"""What an audit finds is what enumeration of all tables finds, party by party, since the same statement."""

from __future__ import annotations

import itertools
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor import PolicyError, audit
from auditor.errors import LogError
from auditor.history.findings import Finding, Findings
from auditor.history.lesson import Lesson
from auditor.history.lessons import School, Taught
from auditor.history.statement import Logged
from cae_sql.candidates import grid_candidates

from . import worlds

LOW, HIGH = 0, 3


def state(values: set[int], risk: float = 0.5) -> str:
    """What these remaining values mean under the policy, by its own limit."""
    if len(values) == 1:
        return "exact"
    rules = worlds.policy(LOW, HIGH, risk)
    column = rules.protects[0]
    kept = rules.limits_of(column).limit.keeps(*grid_candidates(sorted(values), column.domain), column.domain)
    return "keeps" if kept else "approximate"


@st.composite
def said(draw: st.DrawFn) -> worlds.Said:
    members = draw(st.lists(st.integers(0, 3), min_size=1, max_size=4, unique=True).map(sorted))
    kind = draw(st.sampled_from(["sum", "sum", "sum", "max", "min"]))
    weights = [1] * len(members)
    if kind == "sum" and draw(st.booleans()):
        weights = draw(
            st.lists(st.sampled_from([-2, -1, 1, 2, 3]), min_size=len(members), max_size=len(members))
        )
    return kind, tuple(members), tuple(weights)


@pytest.mark.slow
@given(
    table=st.lists(st.integers(LOW, HIGH), min_size=4, max_size=4),
    asked=st.lists(st.tuples(st.sampled_from(["anna", "bob"]), said()), min_size=1, max_size=5),
)
def test_who_is_located_is_what_enumeration_says_for_each_party_and_since_the_same_statement(
    table: list[int], asked: list[tuple[str, worlds.Said]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    database = worlds.build(tmp_path_factory.mktemp("t") / "t.duckdb", table)
    statements = worlds.log([(user, worlds.sql_of(each)) for user, each in asked])
    found = audit(database, worlds.policy(LOW, HIGH), statements, gate_seconds=0)
    assert not found.partial
    for party in ("everyone", "user anna", "user bob"):
        own = [
            (place, each) for place, (user, each) in enumerate(asked) if party in ("everyone", f"user {user}")
        ]
        if not own:
            continue
        remaining = worlds.possible([each for _, each in own], table, LOW, HIGH)
        expected = {record: state(values) for record, values in enumerate(remaining)}
        shown = {each.record: each for each in found.findings if each.party == party}
        assert {record: each.kind for record, each in shown.items()} == {
            record: kind for record, kind in expected.items() if kind != "keeps"
        }
        for record, finding in shown.items():
            assert finding.lower <= min(remaining[record])
            assert finding.upper >= max(remaining[record])
            assert finding.first.number == first(record, own, table)


def first(record: int, asked: list[tuple[int, worlds.Said]], table: list[int]) -> int:
    """The statement after which a record was first beyond the limit."""
    for count in range(1, len(asked) + 1):
        remaining = worlds.possible([each for _, each in asked[:count]], table, LOW, HIGH)
        if state(remaining[record]) != "keeps":
            return asked[count - 1][0] + 1
    raise AssertionError("never")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return worlds.build(tmp_path / "t.duckdb", [3, 7, 1, 9, 4, 6])


RULES = worlds.policy(0, 9)


def only(found: Findings, record: int, party: str = "everyone") -> Finding:
    (finding,) = [each for each in found.findings if each.record == record and each.party == party]
    return finding


def test_two_sums_that_differ_by_a_person_are_found_with_their_statements(database: Path) -> None:
    asked = ["SELECT SUM(v) FROM t", "SELECT AVG(v) FROM t WHERE g = 0", "SELECT SUM(v) FROM t WHERE id <> 4"]
    found = audit(database, RULES, worlds.log(asked), gate_seconds=0)
    finding = only(found, 3)
    assert (finding.kind, finding.lower, finding.upper, finding.key) == ("exact", 9.0, 9.0, "4")
    assert finding.first.number == 3
    assert [term.statement.number for term in finding.certificate.terms] == [1, 3]
    assert finding.certificate.proof == "reals"


def test_a_row_that_was_read_is_direct(database: Path) -> None:
    found = audit(database, RULES, worlds.log(["SELECT v FROM t WHERE id = 2"]), gate_seconds=0)
    finding = only(found, 1)
    assert (finding.kind, finding.certificate.proof, finding.lower) == ("direct", "direct", 7.0)


def test_all_rows_of_a_star_are_direct(database: Path) -> None:
    found = audit(database, RULES, worlds.log(["SELECT * FROM t WHERE g = 0"]), gate_seconds=0)
    assert worlds.of_everyone(found) == {0: "direct", 2: "direct", 4: "direct"}


def test_digits_of_a_weighted_sum_are_read(database: Path) -> None:
    found = audit(
        database, RULES, worlds.log(["SELECT SUM(v * power(10000, id)) FROM t WHERE id < 4"]), gate_seconds=0
    )
    read = [only(found, record) for record in (0, 1, 2)]
    assert {each.record: (each.lower, each.certificate.proof) for each in read} == {
        0: (3.0, "integers"), 1: (7.0, "integers"), 2: (1.0, "integers"),
    }  # fmt: skip


def test_what_two_users_know_together_neither_knows_alone(database: Path) -> None:
    asked = [("anna", "SELECT SUM(v) FROM t"), ("bob", "SELECT SUM(v) FROM t WHERE id <> 4")]
    found = audit(
        database,
        RULES,
        worlds.log(asked),
        groups={"friends": ["anna", "bob"], "others": ["anna", "carl"]},
        gate_seconds=0,
    )
    assert {each.party for each in found.findings if each.record == 3} == {"everyone", "group friends"}
    assert [party.party for party in found.parties] == [
        "everyone", "group friends", "group others", "user anna", "user bob",
    ]  # fmt: skip


def test_failed_statements_teach_nothing(database: Path) -> None:
    statements = [Logged(1, "SELECT v FROM t WHERE id = 1", user="anna", answered=False)]
    found = audit(database, RULES, statements, gate_seconds=0)
    assert not found.findings
    assert found.kinds == {"failed": 1}


def test_kinds_add_up_to_all_statements(database: Path) -> None:
    asked = [
        "BEGIN",
        "SELECT 1",
        "SELECT SUM(v) FROM t",
        "SELECT SUM(v) FROM t",
        "SELECT MEDIAN(v) FROM t",
        "SET x = 1",
    ]
    found = audit(database, RULES, worlds.log(asked), gate_seconds=0)
    assert sum(found.kinds.values()) == len(asked)
    assert found.kinds["SUM"] == 2


def test_parameters_as_a_server_logs_them_are_bound(database: Path) -> None:
    sql = "SELECT sum(v) FROM public.t WHERE id = ANY($1) AND g >= $2"
    statements = [
        Logged(1, sql, ("{2,4}", "0"), "anna", dialect="postgres"),
        Logged(2, sql, ("{2}", "1"), "anna", dialect="postgres"),
    ]
    found = audit(database, RULES, statements, gate_seconds=0)
    assert worlds.of_everyone(found) == {1: "exact", 3: "exact"}


def test_postgres_divides_whole_numbers_as_postgres_does(database: Path) -> None:
    statements = [Logged(1, "SELECT id / 4 AS part, sum(v) FROM t GROUP BY 1", user="a", dialect="postgres")]
    found = audit(database, RULES, statements, gate_seconds=0)
    assert found.parties[0].answers == 2


@pytest.mark.parametrize("dialect", ["snowflake", "bigquery"])
def test_other_dialects_are_transpiled(database: Path, dialect: str) -> None:
    statements = [Logged(1, "SELECT SUM(v) FROM t WHERE id = 3", user="a", dialect=dialect)]
    assert worlds.of_everyone(audit(database, RULES, statements, gate_seconds=0)) == {2: "exact"}


def test_an_audit_that_is_stopped_says_so_and_goes_on_from_its_checkpoint(
    database: Path, tmp_path: Path
) -> None:
    asked = ["SELECT SUM(v) FROM t", "SELECT MEDIAN(v) FROM t", "SELECT MAX(v) FROM t WHERE g = 1",
             "SELECT SUM(v) FROM t WHERE id <> 4", "SELECT v FROM t WHERE id = 1"]  # fmt: skip
    whole = audit(database, RULES, worlds.log(asked), gate_seconds=0)
    kept, seen = tmp_path / "state", [0]

    def stop() -> bool:
        seen[0] += 1
        return seen[0] > 3

    part = audit(database, RULES, worlds.log(asked), checkpoint=kept, stop=stop, gate_seconds=0)
    assert "stopped after statement 3" in part.partial
    assert kept.exists()
    again = audit(database, RULES, worlds.log(asked), checkpoint=kept, gate_seconds=0)
    assert not again.partial
    assert not kept.exists()
    assert said_by(again) == said_by(whole)


def said_by(found: Findings) -> object:
    return [
        [
            (each.record, each.party, each.kind, each.first.number, each.certificate.equation)
            for each in found.findings
        ],
        [(each.party, each.answers, each.located, each.statements) for each in found.parties],
        found.kinds,
        [(each.kind, each.count) for each in found.unmodelled],
        [(each.statement, each.party, each.located, each.risk) for each in found.timeline],
    ]


def test_a_checkpoint_of_another_policy_is_refused(database: Path, tmp_path: Path) -> None:
    kept = tmp_path / "state"
    audit(
        database,
        RULES,
        worlds.log(["SELECT SUM(v) FROM t"]),
        checkpoint=kept,
        stop=lambda: True,
        gate_seconds=0,
    )
    with pytest.raises(LogError, match="another policy"):
        audit(database, worlds.policy(0, 9, 0.25), worlds.log([]), checkpoint=kept, gate_seconds=0)


SPOILT = {
    "lists in lists": lambda state: "[" * 100_000,
    "a list": lambda state: "[]",
    "a number of thousands of digits": lambda state: '{"version": ' + "9" * 5_000 + "}",
    "no parties": lambda state: json.dumps({**state, "parties": []}),
    "a party that is none": lambda state: json.dumps({**state, "parties": [1]}),
    "a source that is none": lambda state: json.dumps({**state, "sources": [[1]]}),
    "no times": lambda state: json.dumps({name: each for name, each in state.items() if name != "times"}),
    "a time that is none": lambda state: json.dumps({**state, "times": {"zz": 1}}),
}


@pytest.mark.slow
@pytest.mark.parametrize("how", SPOILT)
def test_a_checkpoint_that_is_spoilt_is_one_error_that_says_what_would_do(
    database: Path, tmp_path: Path, how: str
) -> None:
    kept = tmp_path / "state"
    turns = iter([False, True])
    asked = worlds.log(["SELECT SUM(v) FROM t", "SELECT MAX(v) FROM t"])
    audit(database, RULES, asked, checkpoint=kept, stop=lambda: next(turns), gate_seconds=0)
    with zipfile.ZipFile(kept) as file:
        held = {name: file.read(name) for name in file.namelist()}
    held["state.json"] = SPOILT[how](json.loads(held["state.json"])).encode()
    with zipfile.ZipFile(kept, "w") as file:
        for name, content in held.items():
            file.writestr(name, content)
    with pytest.raises(LogError, match=r"^checkpoint .*state: cannot be read \(.*\); delete it") as caught:
        audit(database, RULES, asked, checkpoint=kept, gate_seconds=0)
    assert "\n" not in str(caught.value)


def test_ctrl_c_leaves_what_was_found_so_far(database: Path) -> None:
    def statements() -> object:
        yield from worlds.log(["SELECT v FROM t WHERE id = 1"])
        raise KeyboardInterrupt

    found = audit(database, RULES, statements(), gate_seconds=0)  # type: ignore[arg-type]
    assert found.partial
    assert worlds.of_everyone(found) == {0: "direct"}


def test_values_that_do_not_fit_the_policy_are_the_gates_errors(database: Path) -> None:
    with pytest.raises(PolicyError, match="lie outside"):
        audit(database, worlds.policy(0, 5), [], gate_seconds=0)


def test_progress_tells_how_far_it_is(database: Path) -> None:
    told = []
    audit(
        database,
        RULES,
        worlds.log(["SELECT SUM(v) FROM t WHERE id = 1"]),
        progress=told.append,
        gate_seconds=0,
    )
    assert (told[-1].statements, told[-1].answers, told[-1].located) == (1, 1, 1)


def test_a_gate_would_have_refused_what_located(database: Path) -> None:
    asked = [
        "SELECT SUM(v) FROM t",
        "SELECT SUM(v) FROM t WHERE id <> 4",
        "SELECT SKEWNESS(v) FROM t",
        "SELECT SUM(v) FROM t",
    ]
    gate = audit(database, RULES, worlds.log(asked)).parties[0].gate
    assert gate is not None
    assert (gate.answered, gate.refused, gate.unsupported) == (2, 1, 1)
    assert gate.first_refused is not None
    assert gate.first_refused.number == 2


def test_risk_never_falls_along_the_timeline(database: Path) -> None:
    asked = [f"SELECT SUM(v) FROM t WHERE id <= {last}" for last in (6, 5, 4, 3)]
    moments = [
        each
        for each in audit(database, RULES, worlds.log(asked), gate_seconds=0).timeline
        if each.party == "everyone"
    ]
    assert [each.located for each in moments] == sorted(each.located for each in moments)
    assert moments[-1].risk == 1.0
    assert [each.risk for each in moments] == sorted(each.risk for each in moments)


@pytest.mark.slow
def test_thousands_of_rows_that_were_read_cost_little(tmp_path: Path) -> None:
    values = np.random.default_rng(0).integers(0, 10, 3_000).tolist()
    database = worlds.build(tmp_path / "t.duckdb", values)
    asked = ["SELECT SUM(v) FROM t", "SELECT id, v FROM t WHERE id > 2", "SELECT SUM(v) FROM t WHERE id <> 1"]
    found = audit(database, RULES, worlds.log(asked), gate_seconds=0)
    assert found.parties[0].direct == 2_998
    assert only(found, 0).kind == "exact"
    assert only(found, 1).kind == "exact"


def test_findings_can_be_written_as_json(database: Path) -> None:
    found = audit(database, RULES, worlds.log(["SELECT v FROM t"]), gate_seconds=0)
    assert json.dumps([each.certificate.sentence for each in found.findings])


@pytest.mark.slow
def test_the_same_log_gives_the_same_certificates_in_whatever_order_groups_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB gives groups in any order; here they are turned."""
    database = worlds.build(tmp_path / "t.duckdb", [0, 3, 1, 2, 3, 0, 1, 1])
    asked = ["SELECT id % 3 AS part, SUM(v) FROM t GROUP BY id % 3", "SELECT SUM(v) FROM t WHERE id <> 4"]

    def said() -> list[tuple[int, str, list[str]]]:
        found = audit(database, worlds.policy(LOW, HIGH), worlds.log(asked), gate_seconds=0)
        proofs = [(each.record, each.certificate) for each in found.findings]
        return [(record, proof.equation, [term.sql for term in proof.terms]) for record, proof in proofs]

    as_they_come, taught = said(), School.taught

    def turned(school: School, lesson: Lesson) -> Taught:
        found = taught(school, lesson)  # once: a second run may have its groups in another order
        return replace(found, facts=found.facts[::-1])

    monkeypatch.setattr(School, "taught", turned)
    assert as_they_come
    assert said() == as_they_come


def test_findings_are_the_same_whatever_the_clock_says(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that jumps by minutes at each look ends nothing but what says so."""
    asked = [
        "SELECT SUM(v) FROM t",
        "SELECT SUM(v) FROM t WHERE id <> 3",
        "SELECT MAX(v) FROM t WHERE id < 3",
    ]
    quiet = audit(database, RULES, worlds.log(asked), gate_seconds=0)
    now = itertools.count(step=300.0)
    monkeypatch.setattr("time.monotonic", lambda: next(now))
    hasty = audit(database, RULES, worlds.log(asked), gate_seconds=0)
    assert quiet.findings
    assert hasty.findings == quiet.findings
    assert hasty.likely == quiet.likely
    assert hasty.parties == quiet.parties
    assert hasty.partial == quiet.partial == ""
