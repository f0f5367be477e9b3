"""What is promised, line by line: each test is one sentence of the promise, tried on a small table.

The attacks, crashes and errors behind these sentences have test modules of their own.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from auditor import DataChanged, Gate, LedgerError, PolicyError
from cae_sql.measure import cae_area
from tests.auditor.staff import (
    HIGH,
    LOW,
    OUTSIDERS,
    STEP,
    Intruder,
    build,
    entries,
    people,
    policy,
    rows_or_none,
    truth,
    verdict,
)
from tests.quick import some

PERSONS = people(60, 4)
TOTAL, BUT_ONE = "SELECT sum(salary) FROM staff", "SELECT sum(salary) FROM staff WHERE id <> 17"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = build(tmp_path / "staff.duckdb", PERSONS)
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE secrets AS SELECT id, salary FROM staff")
    return path


@pytest.fixture
def gate(database: Path) -> Iterator[Gate]:
    with Gate.open(database, policy()) as opened:
        yield opened


# Promised


@pytest.mark.slow
def test_every_individual_could_have_values_enough_to_keep_the_risk_within_the_limit(tmp_path: Path) -> None:
    database = build(tmp_path / "few.duckdb", people(24, 6))
    with Gate.open(database, policy()) as gate:
        for number, low in enumerate(range(0, 18, 2)):
            kind = ("sum", "max", "sum", "min")[number % 4]
            rows_or_none(gate, f"SELECT {kind}(salary) FROM staff WHERE id BETWEEN {low} AND {low + 9}")
        intruder = Intruder(24)
        intruder.reads(gate)
    assert len(intruder.told) > 3
    prior = cae_area(range(LOW, HIGH + 1, STEP))
    for record in (5, 11):
        low, high = intruder.range_of(record)
        possible = [value for value in range(low, high + 1, STEP) if is_possible(intruder, record, value)]
        assert 1 - cae_area(possible) / prior <= 0.5


def test_it_holds_against_an_intruder_who_is_one_of_the_individuals(tmp_path: Path) -> None:
    """Nine persons, one sum: whoever of them asks, with the least or the greatest value they might have."""
    database = build(tmp_path / "nine.duckdb", people(9, 6))
    with Gate.open(database, policy()) as gate:
        assert rows_or_none(gate, "SELECT avg(salary) FROM staff WHERE id < 2") is None
        assert rows_or_none(gate, "SELECT avg(salary) FROM staff") is not None
        intruder = Intruder(9)
        intruder.reads(gate)
    prior = cae_area(range(LOW, HIGH + 1, STEP))
    for own in intruder.range_of(3):
        one_of_them = Intruder(9, told=list(intruder.told))
        one_of_them.hears("sum", [3], own)
        low, high = one_of_them.range_of(5)
        possible = [value for value in range(low, high + 1, STEP) if is_possible(one_of_them, 5, value)]
        assert 1 - cae_area(possible) / prior <= 0.5


def is_possible(intruder: Intruder, record: int, value: int) -> bool:
    """Whether some table that agrees with all that was told gives the record this value."""
    more = Intruder(intruder.size, told=list(intruder.told))
    more.hears("sum", [record], value)
    try:
        more.range_of(record)
    except AssertionError:
        return False
    return True


@pytest.mark.slow
def test_true_values_are_among_what_is_possible(gate: Gate) -> None:
    """An answer is never noisy, rounded or withheld in part: the true table agrees with every one."""
    for low in range(0, 40, 8):
        rows_or_none(gate, f"SELECT avg(salary), max(salary) FROM staff WHERE id >= {low}")
    for entry in entries(gate):
        for answer in entry.answers:
            true = [int(str(PERSONS[i][-1])) for i in answer.records]
            assert answer.ends.holds({"sum": sum, "max": max, "min": min}[answer.asked](true))  # type: ignore[operator]


def test_it_holds_over_the_whole_history_and_over_restarts(database: Path) -> None:
    with Gate.open(database, policy()) as gate:
        assert verdict(gate, TOTAL).verdict == "answered"
    with Gate.open(database, policy()) as gate:
        assert verdict(gate, BUT_ONE).verdict == "refused"


def test_it_holds_over_concurrent_clients(database: Path) -> None:
    with Gate.open(database, policy()) as one, Gate.open(database, policy()) as two:
        found: list[str] = []
        threads = [
            threading.Thread(target=lambda gate=gate, sql=sql: found.append(verdict(gate, sql).verdict))  # type: ignore[misc]
            for gate, sql in ((one, TOTAL), (two, BUT_ONE))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(found) == ["answered", "refused"]


def test_it_holds_over_all_users_together_unless_the_policy_says_user(database: Path, tmp_path: Path) -> None:
    for scope, second in (("everyone", "refused"), ("user", "answered")):
        rules = policy(f'[ledger]\nscope = "{scope}"')
        with Gate.open(database, rules, tmp_path / f"{scope}.ledger") as gate:
            assert verdict(gate, TOTAL, user="ann").verdict == "answered"
            assert verdict(gate, BUT_ONE, user="bob").verdict == second
            assert verdict(gate, BUT_ONE, user="ann").verdict == "refused"


def test_a_refusal_is_computed_without_the_true_answer(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    verdict(gate, TOTAL)

    def forbidden(position: int, queries: object) -> list[int]:
        raise AssertionError("the vault was read")

    monkeypatch.setattr(gate._knowledge, "truth", forbidden)
    single = "SELECT id, sum(salary) FROM staff GROUP BY id"
    for sql in (BUT_ONE, single, "SELECT max(salary) FROM staff WHERE id IN (3, 4)"):
        assert verdict(gate, sql).verdict == "refused"


def test_where_the_true_answer_would_give_everybody_away_an_end_is_told(tmp_path: Path) -> None:
    database = build(tmp_path / "odd.duckdb", [(*p[:-1], 10) for p in PERSONS])
    with Gate.open(database, policy()) as gate:
        (end,) = gate.execute("SELECT max(salary) FROM staff").ranges
        assert end.words == f"at most {end.most}"
        assert gate.history()["surprise"].tolist() == [0]


@pytest.mark.slow
def test_surprises_stay_within_their_probability_where_the_data_are_as_the_prior_says(
    tmp_path: Path,
) -> None:
    """Uniform salaries, delta = 0.05: of the statements asked, far fewer than one in twenty."""
    events = asked = 0
    for seed in range(2):
        database = build(tmp_path / f"{seed}.duckdb", people(40, 100 + seed))
        with Gate.open(database, policy()) as gate:
            for k in range(12):
                verdict(
                    gate, f"SELECT {('max', 'min')[k % 2]}(salary) FROM staff WHERE id % {3 + k} = {seed}"
                )
            history = gate.history()
            events, asked = events + int(history["surprise"].sum()), asked + len(history)
    assert asked == 24
    assert events <= 3


def test_values_are_possible_on_the_grid_and_not_only_between_its_points(tmp_path: Path) -> None:
    """Real intervals would allow three sums that a bit's parity gives away."""
    bits = [(i, i * i % 3 % 2) for i in range(31)]
    database = build(tmp_path / "bits.duckdb", bits, "id INTEGER, salary INTEGER")
    sets = [range(21), [0, *range(1, 11), *range(21, 31)], [0, *range(11, 31)]]
    with Gate.open(database, policy(minimum=0, maximum=1, step=1)) as gate:
        verdicts = [
            verdict(gate, f"SELECT sum(salary) FROM staff WHERE id IN ({', '.join(map(str, s))})").verdict
            for s in sets
        ]
    assert verdicts == ["answered", "answered", "refused"]


# Fail closed

CLOSED = {
    "an unparsable statement": "SELECT sum(salary FROM staff",
    "an unknown function": "SELECT sum(salary) FROM staff WHERE mystery(age) > 3",
    "a volatile function": "SELECT sum(salary) FROM staff WHERE random() < 0.5",
    "the time of day": "SELECT sum(salary) FROM staff WHERE TIME '12:00:00' < current_time",
    "a sample": "SELECT sum(salary) FROM staff TABLESAMPLE 10%",
    "a sample at the end": "SELECT sum(salary) FROM staff USING SAMPLE 10",
    "a condition on the protected column": "SELECT avg(age) FROM staff WHERE salary > 100",
    "a condition of a filter": "SELECT sum(age) FILTER (WHERE salary > 100) FROM staff",
    "grouping by the protected column": "SELECT avg(age) FROM staff GROUP BY salary",
    "grouping by its place": "SELECT salary, avg(age) FROM staff GROUP BY 1",
    "ordering by the protected column": "SELECT id FROM staff ORDER BY salary",
    "different values of it": "SELECT count(DISTINCT salary) FROM staff",
    "a row-level SELECT": "SELECT id, salary FROM staff",
    "a star": "SELECT * FROM staff",
    "a pattern of columns": "SELECT COLUMNS('sal.*') FROM staff",
    "a whole row": "SELECT staff FROM staff",
    "names for columns": "SELECT max(b) FROM staff AS t(a, c, d, e, b)",
    "a window function over rows": "SELECT sum(salary) OVER (ORDER BY id) FROM staff",
    "coefficients of different size": (
        "SELECT sum(CASE WHEN age > 30 THEN salary ELSE 2 * salary END) FROM staff"
    ),
    "a column that is not there": "SELECT sum(salary) FROM staff WHERE wage > 3",
    "a table that is not public": "SELECT sum(salary) FROM secrets",
    "one that is not public, inside": "SELECT sum(salary) FROM staff WHERE id IN (SELECT id FROM secrets)",
    "two statements": "SELECT 1; SELECT 2",
    "something that is no query": "UPDATE staff SET salary = 0",
}


@pytest.mark.parametrize("what", some(CLOSED, 10))
def test_what_is_not_understood_is_not_answered_and_a_reason_is_given(what: str, gate: Gate) -> None:
    decision = verdict(gate, CLOSED[what])
    assert decision.verdict == "unsupported"
    assert decision.code
    assert decision.message
    assert [entry.answers for entry in entries(gate)] == [()]


def test_a_sum_with_public_weights_is_refused_as_long_as_nobody_asks_for_its_ends(gate: Gate) -> None:
    decision = verdict(gate, "SELECT sum(salary * age) FROM staff")
    assert (decision.verdict, decision.code) == ("refused", "range")
    assert [entry.answers for entry in entries(gate)] == [()]


def test_a_count_of_values_is_refused_as_long_as_nobody_asks_for_its_ends(gate: Gate) -> None:
    decision = verdict(gate, "SELECT count(*) FILTER (WHERE salary > 100) FROM staff")
    assert (decision.verdict, decision.code) == ("refused", "range")
    assert "AT_LEAST(COUNT(*) FILTER(WHERE salary > 100))" in decision.hint
    assert [entry.answers for entry in entries(gate)] == [()]


def test_a_column_that_the_policy_does_not_list_is_not_read(database: Path) -> None:
    with Gate.open(database, policy(public='["age"]')) as gate:
        for sql in (
            "SELECT dept FROM staff",
            "SELECT sum(salary) FROM staff WHERE dept = 'a'",
            "SELECT dept, count(*) FROM staff GROUP BY dept",
            "SELECT count(*) FROM staff GROUP BY id",
        ):
            assert verdict(gate, sql).code == "unknown-column"


def test_what_cannot_be_shown_in_time_is_refused(database: Path) -> None:
    with Gate.open(database, policy()) as gate:
        gate.execute(TOTAL)
    with Gate.open(database, policy("[decision]\ntimeout = 1e-9")) as gate:
        decision = verdict(gate, "SELECT sum(salary) FROM staff WHERE id < 40")
        assert (decision.verdict, decision.code) == ("refused", "time")
        assert entries(gate)[-1].answers == ()
        certain = verdict(gate, BUT_ONE)
        assert (certain.code, certain.risk_after, certain.risk_at_least) == ("risk", 1, True)


def test_a_decision_that_takes_longer_than_its_time_is_a_refusal(database: Path) -> None:
    with Gate.open(database, policy("[decision]\ntimeout = 1e-9")) as gate:
        assert verdict(gate, "SELECT id // 20 AS k, max(salary) FROM staff GROUP BY k").verdict == "refused"


def test_a_ledger_that_cannot_be_written_releases_nothing(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(**fields: object) -> None:
        raise LedgerError("the disk is full")

    monkeypatch.setattr(gate._ledger, "append", full)
    for sql in (TOTAL, "SELECT count(*) FROM staff", "SELECT salary FROM staff"):
        with pytest.raises(LedgerError):
            gate.execute(sql)
        with pytest.raises(LedgerError):
            gate.check(sql)


def test_a_ledger_that_is_missing_or_shorter_than_its_anchor_is_not_replaced(
    database: Path, tmp_path: Path
) -> None:
    rules = policy(f'[ledger]\npath = "{tmp_path}/l"\nanchor = "{tmp_path}/a"')
    with Gate.open(database, rules) as gate:
        gate.execute(TOTAL)
    (tmp_path / "l").unlink()
    with pytest.raises(LedgerError, match="anchor"):
        Gate.open(database, rules)
    assert not (tmp_path / "l").exists()


def test_data_that_changed_since_the_first_entry_are_not_asked(database: Path) -> None:
    with Gate.open(database, policy()) as gate:
        gate.execute("SELECT count(*) FROM staff")
    with duckdb.connect(str(database)) as connection:
        connection.execute("UPDATE staff SET salary = 20 WHERE id = 17")
    with pytest.raises(DataChanged):
        Gate.open(database, policy())


# Side doors


def test_the_public_instance_never_sees_the_protected_column(gate: Gate) -> None:
    """Whatever a client's statement reads there is a record's number."""
    loaded = gate._database._loaded.connection
    for (name,) in loaded.execute("SELECT table_name FROM duckdb_tables()").fetchall():
        schema = loaded.execute(
            "SELECT schema_name FROM duckdb_tables() WHERE table_name = ?", [name]
        ).fetchone()
        assert schema is not None
        columns = loaded.execute(f'SELECT * FROM "{schema[0]}"."{name}"').df()
        assert sorted(columns["salary"]) == list(range(60))


def test_arithmetic_runs_over_the_answers_and_not_over_rows(gate: Gate, database: Path) -> None:
    """Plain DuckDB fails where a row's product leaves its type; here no row is multiplied."""
    sql = "SELECT sum(salary * 2147483647) FROM staff"
    assert gate.execute(sql).fetchall() == [(2147483647 * sum(int(str(p[-1])) for p in PERSONS),)]
    with pytest.raises(duckdb.OutOfRangeException):
        truth(database, sql)


OUTSIDE = [
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM read_text('/etc/hostname')",
    "SELECT * FROM glob('*')",
    "SELECT * FROM 'https://example.org/x.csv'",
    "COPY staff TO '/tmp/out.csv'",
    "EXPORT DATABASE '/tmp/out'",
    "ATTACH '/tmp/other.duckdb'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "RESET lock_configuration",
    "PRAGMA database_list",
    "SELECT current_setting('threads')",
    "SELECT getvariable('x')",
    "SET VARIABLE x = 1",
    "SELECT getenv('HOME')",
    "SELECT * FROM duckdb_tables()",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM information_schema.columns",
    "SELECT * FROM pragma_storage_info('staff')",
    "SELECT stats(salary) FROM staff",
    "SELECT * FROM PERSONS",
    "SELECT * FROM database",
    "SELECT * FROM query('SELECT 1')",
    "SELECT * FROM query_table('staff')",
    "PREPARE p AS SELECT 1",
    "EXECUTE p",
    "SUMMARIZE secrets",
    "DESCRIBE secrets",
    "SHOW ALL TABLES",
    "EXPLAIN ANALYZE SELECT sum(salary) FROM staff",
    "CALL pragma_version()",
    "CREATE TEMP TABLE t AS SELECT 1",
    "CREATE MACRO f(x) AS x",
    "WITH x AS (INSERT INTO staff VALUES (1)) SELECT 1",
    "DROP TABLE staff",
    "CHECKPOINT",
]


@pytest.mark.parametrize("sql", some(OUTSIDE, 10))
def test_nothing_outside_the_data_is_reachable(sql: str, gate: Gate, database: Path) -> None:
    before = database.read_bytes()
    assert verdict(gate, sql).verdict == "unsupported"
    assert database.read_bytes() == before


def test_what_may_be_read_is_listed_and_nothing_else(gate: Gate) -> None:
    """Names and types of the policy's tables; `secrets` stands beside them in the file."""
    assert gate.execute("SHOW TABLES").fetchall() == [("staff",)]
    described = gate.execute("DESCRIBE staff").fetchall()
    assert [row[:2] for row in described][-1] == ("salary", "INTEGER")
    assert {value for row in described for value in row[2:]} <= {"YES", None}


def test_a_runtime_error_has_one_fixed_text_and_a_hint_by_the_text_of_the_statement(gate: Gate) -> None:
    failing = [
        "SELECT dept::INTEGER FROM staff",
        "SELECT sum(salary) FROM staff WHERE (dept || '-01-01')::DATE > DATE '2020-01-01'",
        "SELECT sum(salary)::UTINYINT FROM staff",
        "SELECT (max(salary) - 1000000)::UINTEGER FROM staff",
    ]
    said = [verdict(gate, sql) for sql in failing]
    assert {(each.code, each.message) for each in said} == {("failed", "The statement failed while it ran.")}
    # columns and types are public; which value does not fit is not said
    assert said[0].hint.startswith("It casts dept, which is VARCHAR, to INTEGER: ")
    assert said[2].hint == said[3].hint


def test_messages_depend_on_the_statement_alone(tmp_path: Path) -> None:
    """Two tables with other persons and other salaries: the same refusals, word for word."""
    sqls = [BUT_ONE.replace("<>", "="), "SELECT id, max(salary) FROM staff GROUP BY id", *CLOSED.values()]
    said = []
    for seed in (1, 2):
        database = build(tmp_path / f"{seed}.duckdb", people(60, seed))
        with Gate.open(database, policy()) as gate:
            said.append([(d.code, d.message, d.hint) for d in (verdict(gate, sql) for sql in sqls)])
    assert said[0] == said[1]


def test_the_risk_figures_go_to_the_ledger(database: Path) -> None:
    with Gate.open(database, policy(OUTSIDERS)) as gate:
        verdict(gate, TOTAL)
        decision = verdict(gate, BUT_ONE)
        figure = decision.risk_after
        assert figure is not None
        assert str(figure) not in decision.message + decision.hint
        assert gate.history()["risk_after"].tolist()[-1] == figure


# Not promised, and said so


def test_the_answer_dependent_mode_offers_no_dry_run(database: Path) -> None:
    with Gate.open(database, policy('[decision]\nmode = "answer-dependent"')) as gate:
        with pytest.raises(PolicyError):
            gate.check(TOTAL)
        assert verdict(gate, TOTAL).verdict == "answered"
        assert verdict(gate, BUT_ONE).verdict == "refused"


def test_answers_are_exact(gate: Gate, database: Path) -> None:
    sql = "SELECT dept, sum(salary), avg(salary) FROM staff GROUP BY dept ORDER BY dept"
    assert gate.execute(sql).fetchall() == truth(database, sql)
