"""What is asked again, in whatever words, costs a look-up: nothing is decided, tried or recorded twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor import Gate
from auditor.deciding.cases import Outcome
from auditor.gate import memory
from auditor.gate.memory import Memory, Remembered
from auditor.gate.request import Ask
from auditor.gate.verdict import KNOWN
from auditor.parties import kept, party
from auditor.parties.kept import Figures, Refusals, digest
from auditor.sql import Plan
from cae_sql.inference.facts.query import Query
from cae_sql.inference.system import AnsweredSystem
from tests.auditor.staff import Intruder, build, entries, people, policy, truth, verdict

PERSONS = people(100)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return build(tmp_path / "staff.duckdb", PERSONS)


@pytest.fixture
def gate(database: Path) -> Iterator[Gate]:
    with Gate.open(database, policy()) as opened:
        yield opened


@pytest.fixture
def decided(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The verdicts that were worked out, not remembered."""
    made = list[str]()
    decide = party.decide

    def counted(*given: object, **named: object) -> Outcome:
        outcome = decide(*given, **named)  # type: ignore[arg-type]
        made.append(outcome.verdict)
        return outcome

    monkeypatch.setattr(party, "decide", counted)
    return made


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many queries were looked up in what past answers amount to, each time."""
    made = list[int]()
    question = AnsweredSystem.question

    def counted(system: AnsweredSystem, queries: list[Query]) -> object:
        made.append(len(queries))
        return question(system, queries)

    monkeypatch.setattr(AnsweredSystem, "question", counted)
    return made


GROUPS = "SELECT dept, sum(salary) FROM staff GROUP BY dept ORDER BY dept"
PART = "SELECT sum(salary) FROM staff WHERE dept = 'b'"
MIXED = "SELECT dept, sum(salary), max(salary) FROM staff GROUP BY dept ORDER BY dept"
ALL_BUT_ONE = "SELECT sum(salary) FROM staff WHERE id <> 17"
TOTAL = "SELECT sum(salary) FROM staff"


@pytest.mark.slow
def test_only_what_is_new_in_a_statement_is_recorded_and_learned(gate: Gate, database: Path) -> None:
    assert verdict(gate, GROUPS).code == "answered"
    found = gate.execute(MIXED)
    assert (found.decision.code, found.fetchall()) == ("answered", truth(database, MIXED))
    assert [[each.kind for each in entry.answers] for entry in entries(gate)] == [["sum"] * 4, ["max"] * 4]
    assert len(gate._knowledge.of("eve").columns[0].system.answers) == 8


@pytest.mark.slow
def test_what_is_not_recorded_again_follows_from_what_is(gate: Gate, database: Path) -> None:
    for sql in (GROUPS, MIXED, "SELECT sex, dept, min(salary), sum(salary) FROM staff GROUP BY sex, dept"):
        assert verdict(gate, sql).code == "answered"
    told = Intruder(len(PERSONS))
    told.reads(gate)
    with Gate.open(database, policy()) as again:
        for sql in (GROUPS, MIXED, PART):
            assert again.execute(sql, user="bob").fetchall() == truth(database, sql)
            assert entries(again)[-1].code == "known"
    assert told.range_of(0)  # no two records of the ledger contradict each other


def test_a_settled_question_in_other_words_is_not_worked_out_again(
    gate: Gate, database: Path, tried: list[int]
) -> None:
    assert verdict(gate, GROUPS).code == "answered"
    tried.clear()
    for number in range(3):
        found = gate.execute(f"{PART} -- {number}")
        assert (found.decision.code, found.fetchall()) == ("known", truth(database, PART))
    assert tried == []  # it was told as a group
    halves = "SELECT sum(salary) FROM staff WHERE dept IN ('a', 'b')"
    for number in range(3):
        found = gate.execute(f"{halves} -- {number}")
        assert (found.decision.code, found.fetchall()) == ("known", truth(database, halves))
    assert tried == []  # a sum of what was told: nothing needs to be tried


def test_figures_are_kept_for_each_user_where_users_count_alone(database: Path) -> None:
    with Gate.open(database, policy('[ledger]\nscope = "user"')) as gate:
        assert verdict(gate, TOTAL, user="ann").code == "answered"
        assert verdict(gate, f"{TOTAL} -- again", user="ann").code == "known"
        assert verdict(gate, f"{TOTAL} -- again", user="bob").code == "answered"


@pytest.mark.slow
def test_a_refusal_is_not_decided_again_until_something_is_learned(gate: Gate, decided: list[str]) -> None:
    assert verdict(gate, TOTAL).code == "answered"
    first = verdict(gate, ALL_BUT_ONE)
    again = [verdict(gate, f"{ALL_BUT_ONE} -- {number}") for number in range(3)]
    assert first.code == "risk"
    assert again == [first] * 3
    assert decided == ["safe", "risk"]
    assert verdict(gate, GROUPS).code == "answered"
    assert verdict(gate, ALL_BUT_ONE).code == "risk"
    assert decided == ["safe", "risk", "risk"]  # groups are decided elsewhere
    assert [entry.code for entry in entries(gate)] == ["answered", *["risk"] * 4, "answered", "risk"]


def test_one_refusal_is_not_taken_for_another(gate: Gate, decided: list[str]) -> None:
    assert verdict(gate, TOTAL).code == "answered"
    for refused in (17, 18):
        assert verdict(gate, f"SELECT sum(salary) FROM staff WHERE id <> {refused}").code == "risk"
    assert verdict(gate, "SELECT max(salary) FROM staff WHERE id < 50").code == "answered"
    assert decided == ["safe", "risk", "risk", "safe"]


def test_a_refusal_that_hangs_on_the_clock_is_decided_again(database: Path, decided: list[str]) -> None:
    with Gate.open(database, policy("[decision]\ntimeout = 1e-9")) as gate:
        assert [verdict(gate, TOTAL).code for _ in range(2)] == ["time"] * 2
    assert decided == ["time"] * 2


def test_a_refusal_by_the_true_answer_is_decided_again(database: Path, decided: list[str]) -> None:
    with Gate.open(database, policy('[decision]\nmode = "answer-dependent"')) as gate:
        assert verdict(gate, TOTAL).code == "answered"
        assert [verdict(gate, ALL_BUT_ONE).code for _ in range(2)] == ["risk"] * 2
    assert decided == ["safe", "risk", "risk"]


# What is kept


def query(kind: str, members: list[int], signs: list[int] | None) -> Query:
    weights = None if signs is None else np.array(signs, dtype=np.int64)
    return Query(kind=kind, members=np.array(members, dtype=np.int64), coefficients=weights)  # type: ignore[arg-type]


members = st.lists(st.integers(0, 3), min_size=1, max_size=3, unique=True).map(sorted)
queries = st.builds(query, st.sampled_from(["sum", "max", "min"]), members, st.none()) | members.flatmap(
    lambda found: st.lists(st.sampled_from([1, -1]), min_size=len(found), max_size=len(found)).map(
        lambda signs: query("sum", found, signs)
    )
)
several = st.lists(queries, min_size=1, max_size=2)


@given(several, several)
def test_names_are_equal_for_what_asks_the_same_and_for_nothing_else(
    one: list[Query], other: list[Query]
) -> None:
    same = [each.name for each in one] == [each.name for each in other]
    assert (digest(one) == digest(other)) == same


def test_figures_are_bounded_and_the_oldest_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "FIGURES", 3)
    figures, asked = Figures(), [query("max", [number], None) for number in range(4)]
    figures.keep(asked[:3], [0, 1, 2])
    assert figures.recall(asked[0]) == 0
    figures.keep(asked[3:], [3])
    assert [figures.recall(each) for each in asked] == [0, None, 2, 3]


def test_refusals_are_bounded_and_hold_for_what_was_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "REFUSALS", 2)
    refusals, outcome = Refusals(), Outcome("risk", ())
    for name in (b"a", b"b", b"c"):
        refusals.keep(name, 5, outcome)
    assert [refusals.recall(name, 5) for name in (b"a", b"b", b"c")] == [None, outcome, outcome]
    assert refusals.recall(b"c", 6) is None
    refusals.keep(b"d", 6, outcome)
    assert [refusals.recall(name, 6) for name in (b"c", b"d")] == [None, outcome]


def test_results_are_kept_up_to_so_many_bytes(monkeypatch: pytest.MonkeyPatch, gate: Gate) -> None:
    monkeypatch.setattr(memory, "LARGEST_MEMORY", 3_000)
    kept_answers, table = Memory(), pa.table({"x": np.zeros(125, dtype=np.int64)})
    plan = Plan.__new__(Plan)
    assert table.nbytes == 1_000
    asks = [Ask(f"SELECT {number}", None, "eve") for number in range(4)]
    for ask in (*asks[:3], asks[2]):
        kept_answers.keep("everyone", ask, Remembered(plan, table, KNOWN))
    assert all(kept_answers.recall("everyone", ask) for ask in asks[:3])
    kept_answers.keep("everyone", asks[3], Remembered(plan, table, KNOWN))
    assert [kept_answers.recall("everyone", ask) is not None for ask in asks] == [False, True, True, True]
