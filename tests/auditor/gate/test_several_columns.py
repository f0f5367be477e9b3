"""Several protected columns and tables in one policy: judged together where asked together, else apart."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pytest

from auditor import DataChanged, Gate, LedgerError, Policy, PolicyError, QueryRefused
from auditor.ledger import Entry
from cae_sql.inference.allowance import Allowance
from tests.auditor.staff import OUTSIDERS, Intruder, entries, rows_or_none, truth, verdict

STAFF = """
[[protect]]
table = "staff"
column = "salary"
minimum = 10
maximum = 250
step = 10
key = "id"
public = ["id", "age", "dept"]
"""
BONUS = """
[[protect]]
table = "staff"
column = "bonus"
minimum = 0
maximum = 60
step = 5
key = "id"
public = ["id", "age", "dept"]
"""
FIRMS = """
[[protect]]
table = "firms"
column = "profit"
minimum = -100
maximum = 100
step = 10
public = ["town", "dept"]
limit = {risk = 0.6}
"""
REST = "\n[limit]\nrisk = 0.5\n"
ALL = STAFF + BONUS + FIRMS + REST


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "two.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("""
            CREATE TABLE staff AS
            SELECT i AS id, 20 + i % 40 AS age, ['a', 'b', 'c'][1 + i % 3] AS dept,
                   10 + (i * 37) % 25 * 10 AS salary,
                   CASE WHEN i % 10 = 9 THEN NULL ELSE (i * 11) % 13 * 5 END AS bonus
            FROM range(60) t(i);
            CREATE TABLE firms AS
            SELECT i AS town, ['a', 'b'][1 + i % 2] AS dept, (i * 7) % 21 * 10 - 100 AS profit
            FROM range(40) t(i)
        """)
    return path


@pytest.fixture
def gate(database: Path) -> Iterator[Gate]:
    with Gate.open(database, Policy.parse(ALL)) as opened:
        yield opened


# One statement, several columns


BOTH = [
    "SELECT sum(salary), avg(bonus), max(salary), count(bonus) FROM staff",
    "SELECT dept, sum(salary) + sum(bonus) AS pay FROM staff GROUP BY dept ORDER BY dept",
    "SELECT (SELECT sum(profit) FROM firms) / (SELECT sum(salary) FROM staff) AS ratio",
    "SELECT s.dept, s.a, f.p FROM (SELECT dept, avg(salary) AS a FROM staff GROUP BY dept) AS s JOIN "
    "(SELECT dept, sum(profit) AS p FROM firms GROUP BY dept) AS f ON s.dept = f.dept ORDER BY 1",
    "SELECT sum(salary) FROM staff UNION ALL SELECT sum(profit) FROM firms",
]


@pytest.mark.parametrize("sql", BOTH)
def test_answers_about_several_columns_are_those_of_plain_duckdb(
    sql: str, gate: Gate, database: Path
) -> None:
    answer = gate.execute(sql)
    assert answer.decision.code == "answered"
    assert answer.fetchall() == truth(database, sql)
    assert verdict(gate, sql).code == "known"
    assert gate.verify().problems == ()


def test_columns_are_independent_of_each_other(gate: Gate) -> None:
    """What refuses one says nothing of the other: a tracker needs both halves about one column."""
    assert verdict(gate, "SELECT sum(salary) FROM staff").code == "answered"
    assert verdict(gate, "SELECT sum(bonus) FROM staff WHERE id <> 17").code == "answered"
    assert verdict(gate, "SELECT sum(salary) FROM staff WHERE id <> 17").code == "risk"
    assert verdict(gate, "SELECT sum(bonus) FROM staff").code == "risk"


def test_one_unsafe_column_refuses_the_statement_and_tells_nothing_of_the_others(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(*_: object) -> list[int]:
        raise AssertionError("the vault was read")

    with monkeypatch.context() as patched:
        patched.setattr(gate._knowledge, "truth", forbidden)
        decision = verdict(
            gate, "SELECT sum(salary), (SELECT sum(profit) FROM firms WHERE town = 3) FROM staff"
        )
        assert decision.code == "risk"
        assert "salary or profit" in decision.message or "profit or salary" in decision.message
    assert [entry.answers for entry in entries(gate)] == [()]
    assert verdict(gate, "SELECT sum(salary) FROM staff").code == "answered"


def test_known_parts_of_a_statement_are_not_recorded_again(gate: Gate) -> None:
    gate.execute("SELECT sum(salary) FROM staff")
    gate.execute("SELECT avg(salary), (SELECT sum(profit) FROM firms) FROM staff")
    told = [[answer.name for answer in entry.answers] for entry in entries(gate)]
    assert told == [[("staff", "salary")], [("firms", "profit")]]


def test_an_end_about_one_column_stands_beside_an_exact_value_of_another(tmp_path: Path) -> None:
    """All bonuses are 0, so their maximum would give everybody away."""
    path = tmp_path / "odd.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("""
            CREATE TABLE staff AS SELECT i AS id, 20 + i % 40 AS age, 'a' AS dept,
            10 + (i * 37) % 25 * 10 AS salary, 0 AS bonus FROM range(60) t(i)""")
    both = "SELECT sum(salary), max(bonus) FROM staff"
    with Gate.open(path, Policy.parse(STAFF + BONUS + REST)) as gate:
        assert gate.check(both).code == "answered"
        answer = gate.execute(both)
        assert (answer.decision.code, answer.fetchall()[0][1]) == ("ends", None)
        assert [each.aggregate for each in answer.ranges] == ["max(bonus)"]
        told = [(each.kind, each.name) for each in entries(gate)[-1].answers]
        assert told == [("max at most", ("staff", "bonus")), ("sum", ("staff", "salary"))]
    with Gate.open(path, Policy.parse(STAFF + BONUS + REST)) as gate:
        assert verdict(gate, both).code == "known"
        assert verdict(gate, "SELECT sum(salary) FROM staff").ends == 0


def test_delta_is_of_the_statement_and_not_of_each_column(tmp_path: Path) -> None:
    """Hypothetical tables break the limit in either column; together they are more than in one."""
    from auditor.deciding.cases import Case
    from auditor.deciding.hypothetical import simulate
    from auditor.deciding.rules import Rules
    from cae_sql.inference.standard import Effort, Standard
    from cae_sql.inference.system import AnsweredSystem

    def case(seed: int) -> Case:
        system = AnsweredSystem(6, 0, 9, 1, seed=seed, pool=100)
        query = system.query("max", np.arange(6))
        return Case(system, [query], Standard(9), lambda _: [9], Effort())

    cases = [case(seed) for seed in (1, 2)]
    broken = [
        sum(len(worlds) for (value,), worlds in each.question().hypothetical(100).items() if value < 9)
        for each in cases
    ]
    rules = Rules(True, 100, (max(broken) + 1) / 100, 10.0)
    for each in cases:
        assert simulate([each], rules, Allowance()) is None
    assert simulate(cases, rules, Allowance()) is not None
    assert simulate(cases, replace(rules, delta=sum(broken) / 100), Allowance()) is None


# The ledger


@pytest.mark.slow
def test_the_order_of_the_protect_sections_means_nothing(database: Path) -> None:
    with Gate.open(database, Policy.parse(ALL)) as gate:
        for sql in BOTH[:3]:
            gate.execute(sql)
        told = entries(gate)
    for text in (FIRMS + BONUS + STAFF, BONUS + STAFF + FIRMS):
        with Gate.open(database, Policy.parse(text + REST)) as gate:
            assert verdict(gate, "SELECT avg(salary), sum(bonus) FROM staff").code == "known"
            assert verdict(gate, "SELECT sum(profit) FROM firms WHERE town <> 3").code == "risk"
            assert [answers(e) for e in entries(gate)[: len(told)]] == [answers(e) for e in told]
            assert gate.verify().problems == ()


def answers(entry: Entry) -> Sequence[object]:
    return [(each.name, each.kind, each.value, each.records.tolist()) for each in entry.answers]


OTHER = {
    "another column fewer": (STAFF + FIRMS + REST, "begun for firms.profit, staff.bonus, staff.salary"),
    "another domain": (ALL.replace("maximum = 60", "maximum = 65"), "maximum of bonus was 60, is 65"),
    "another scope": (ALL + '[ledger]\nscope = "user"\n', 'scope = "everyone", the policy says "user"'),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", OTHER)
def test_a_ledger_is_bound_to_all_columns_and_to_the_scope(what: str, database: Path) -> None:
    with Gate.open(database, Policy.parse(ALL)) as gate:
        gate.execute(BOTH[0])
    text, part = OTHER[what]
    with pytest.raises(LedgerError, match=part):
        Gate.open(database, Policy.parse(text))
    with Gate.open(database, Policy.parse(ALL.replace("risk = 0.6", "risk = 0.4"))) as gate:
        assert verdict(gate, BOTH[0]).code == "known", "a limit is not bound"


@pytest.mark.slow
@pytest.mark.parametrize("change", ["UPDATE firms SET profit = -profit", "DELETE FROM staff WHERE id = 3"])
def test_data_that_changed_in_any_table_are_not_asked(change: str, database: Path) -> None:
    with Gate.open(database, Policy.parse(ALL)) as gate:
        gate.execute(BOTH[0])
    with duckdb.connect(str(database)) as connection:
        connection.execute(change)
    with pytest.raises(DataChanged):
        Gate.open(database, Policy.parse(ALL))


# For the administrator


def test_risk_has_the_classes_of_every_column_under_its_own_limit(gate: Gate) -> None:
    gate.execute("SELECT dept, sum(profit) FROM firms GROUP BY dept")
    risk = gate.risk()
    assert list(risk.columns[:2]) == ["table", "column"]
    by_column = risk.groupby(["table", "column"], sort=True)["records"].sum().to_dict()
    assert by_column == {("firms", "profit"): 40, ("staff", "bonus"): 54, ("staff", "salary"): 60}
    assert (risk.loc[risk["column"] != "profit", "risk"] == 0).all()
    greatest = max(risk["risk"].max(), gate.risk("posterior")["worst_risk"].max())
    assert greatest - 0.05 <= gate.history()["risk_after"].tolist()[-1] < 0.5  # an insider sees more


def test_the_worst_column_gives_the_risk_of_a_decision(gate: Gate) -> None:
    gate.execute("SELECT max(salary) FROM staff WHERE id IN (0, 1, 3, 5, 7, 9, 11, 12)")
    worst = gate.history()["risk_after"].tolist()[-1]
    gate.execute("SELECT sum(profit) FROM firms")
    assert gate.history()["risk_before"].tolist()[-1] == worst
    assert gate.history()["risk_after"].tolist()[-1] >= worst > 0


def test_each_table_uses_those_known_columns_that_it_has(database: Path) -> None:
    knows = '\n[intruder]\nknows = ["dept", "AGE"]\n'
    with Gate.open(database, Policy.parse(ALL + knows)) as gate:
        risk = gate.risk()
        counts = risk.groupby("column")["records"].count().to_dict()
        assert counts["profit"] == 2
        assert counts["salary"] == len(set(truth(database, "SELECT dept, age FROM staff")))
    shoe = ALL.replace('["town", "dept"]', '"all"') + '\n[intruder]\nknows = ["shoe"]\n'
    with pytest.raises(PolicyError, match=r"intruder.knows.*shoe.*there are"):
        Gate.open(database, Policy.parse(shoe), database.with_suffix(".other"))


# Nobody is located


@pytest.mark.slow
def test_nobody_is_located_by_random_statements_about_two_columns(database: Path) -> None:
    """Checked apart, by integer programs over each column's answers."""
    rng = np.random.default_rng(5)
    with Gate.open(database, Policy.parse(STAFF + BONUS + REST + OUTSIDERS)) as gate:
        for _ in range(16):
            low, width = rng.integers(20, 50), rng.integers(4, 40)
            one, two = rng.choice(["sum", "max", "min", "avg"], 2)
            where = f"age BETWEEN {low} AND {low + width}"
            rows_or_none(gate, f"SELECT {one}(salary), {two}(bonus) FROM staff WHERE {where}")
        told = [answer for entry in entries(gate) for answer in entry.answers]
    salary = Intruder(60)
    bonus = Intruder(54, low=0, high=60, step=5)
    for answer in told:
        intruder = salary if answer.column == "salary" else bonus
        intruder.reads_answer(answer)
    assert min(len(salary.told), len(bonus.told)) >= 3
    assert salary.narrowest() >= 130
    assert bonus.narrowest() >= 30


# Views, and dialects


@pytest.mark.slow
def test_a_view_may_be_read_and_counts_as_its_table(database: Path) -> None:
    with duckdb.connect(str(database)) as connection:
        connection.execute("CREATE VIEW young AS SELECT id, dept, salary FROM staff WHERE age < 45")
    with Gate.open(database, Policy.parse(ALL + '[tables]\nviews = ["young"]\n')) as gate:
        sql = "SELECT sum(salary) FROM young"
        assert gate.execute(sql).fetchall() == truth(database, sql)
        assert verdict(gate, "SELECT sum(salary) FROM staff WHERE age < 45").code == "known"
        assert verdict(gate, "SELECT sum(salary) FROM staff WHERE age < 45 AND id <> 3").code == "risk"


def test_the_dialect_of_the_connection_comes_before_that_of_the_policy(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    import auditor.gate.reading as module

    seen: list[str] = []
    real = module.understand

    def noted(*arguments: object, dialect: str, **more: object) -> object:
        seen.append(dialect)
        return real(*arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "understand", noted)
    sql = "SELECT sum(salary) FROM staff"
    gate.execute(sql)
    gate.execute(sql, dialect="postgres")
    gate.execute(sql, dialect="postgres")
    gate.check(sql, dialect="postgres")
    assert seen == ["duckdb", "postgres", "postgres"], "an answer is remembered for one dialect"


def test_an_unknown_dialect_is_an_error(gate: Gate) -> None:
    from auditor.errors import StatementError

    with pytest.raises(StatementError, match="dialect must be one of duckdb, postgres"):
        gate.execute("SELECT 1", dialect="mysql")  # type: ignore[arg-type]


def test_users_have_each_their_own_knowledge_of_all_columns(database: Path) -> None:
    with Gate.open(database, Policy.parse(ALL + '[ledger]\nscope = "user"\n')) as gate:
        gate.execute("SELECT sum(salary) FROM staff", user="ann")
        assert verdict(gate, "SELECT sum(salary) FROM staff WHERE id <> 3", user="bob").code == "answered"
        with pytest.raises(QueryRefused):
            gate.execute("SELECT sum(salary) FROM staff WHERE id <> 3", user="ann")
        assert list(gate.risk().columns[:3]) == ["user", "table", "column"]
