"""What hostile statements of a log cost is bounded by counts, and what was not read is counted and named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from auditor import audit
from auditor.cli.auditing import lines
from auditor.data.database import Database
from auditor.history.findings import Findings
from auditor.history.lessons import School
from auditor.history.meanings import Grid
from auditor.sql.dialects import translate
from auditor.sql.postgres import queries
from auditor.sql.schema import Column, Schema, Table
from auditor.sql.understood import NotUnderstood

from . import worlds

RULES = worlds.policy(0, 9)
COSTLY = "not understood: too costly"
SCHEMA = Schema((Table("t", (Column("id", "INTEGER"),)),), ())


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return worlds.build(tmp_path / "t.duckdb", [3, 7, 1, 9, 4, 6])


@pytest.fixture
def school(database: Path) -> Iterator[School]:
    with Database.open(database, list(RULES.protects)) as data:
        domain = RULES.protects[0]
        yield School(data, [Grid(domain.minimum, domain.maximum, domain.grid)])


def nested(levels: int) -> str:
    """CASE within CASE over the protected column."""
    return "SELECT SUM(" + "CASE WHEN id = 1 THEN v ELSE " * levels + "v" + " END" * levels + ") FROM t"


def listed(size: int, seed: int = 0) -> str:
    """A statement with a list of numbers, so many characters long."""
    numbers = ", ".join(str(10**8 + seed * 1000 + number) for number in range(size // 11))
    return f"SELECT SUM(v) FROM t WHERE id NOT IN ({numbers})"


def of(found: Findings, kind: str) -> int:
    return sum(each.count for each in found.unmodelled if each.kind == kind)


# --- each


def test_case_within_case_is_listed_by_sql_that_grows_with_the_depth_and_not_with_its_power(
    school: School,
) -> None:
    shorter, longer = (
        sum(len(work.sql) for work in school.lesson(nested(levels), None, "duckdb").works)
        for levels in (4, 8)
    )
    assert 0 < longer < 3 * shorter


def test_what_case_within_case_shows_is_what_it_showed(database: Path) -> None:
    plain = audit(database, RULES, worlds.log(["SELECT SUM(v) FROM t WHERE id = 3"]), gate_seconds=0)
    deep = "CASE WHEN id = 1 THEN 0 ELSE " * 20 + "CASE id WHEN 3 THEN v ELSE 0 END" + " END" * 20
    found = audit(database, RULES, worlds.log([f"SELECT SUM({deep}) FROM t"]), gate_seconds=0)
    assert worlds.of_everyone(found) == worlds.of_everyone(plain) == {2: "exact"}


def test_forms_within_forms_that_double_are_too_large_before_they_fill_the_memory(school: School) -> None:
    levels = 40
    doubling = "CASE WHEN id = 1 THEN v ELSE v + " * levels + "v" + " END" * levels
    lesson = school.lesson(f"SELECT SUM({doubling}) FROM t", None, "duckdb")
    assert (lesson.works, [kind for kind, _ in lesson.unmodelled]) == ((), ["not understood: too-large"])


@pytest.mark.parametrize("chain", [4, 12])
def test_a_chain_of_unions_is_translated_in_proportion_to_its_length(
    chain: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = queries._Select.output
    seen = []

    def counted(self: object, *arguments: object) -> object:
        seen.append(self)
        return read(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(queries._Select, "output", counted)
    made = translate(" UNION ALL ".join(["SELECT id FROM t"] * chain), "postgres", SCHEMA)
    assert made.count("SELECT") == chain
    assert len(seen) <= 2 * chain


def test_a_chain_of_unions_still_has_the_kinds_that_postgresql_gives_it() -> None:
    chain = "SELECT 1 UNION SELECT 2.5 UNION ALL SELECT id FROM t UNION SELECT '7'"
    assert translate(chain, "postgres", SCHEMA) == (
        '((SELECT CAST(1 AS DECIMAL(38, 1)) AS "?column?" UNION SELECT 2.5 AS "?column?") UNION ALL '
        'SELECT CAST("t"."id" AS DECIMAL(38, 1)) AS "id" FROM "main"."t" AS "t") UNION '
        'SELECT CAST(7 AS DECIMAL(38, 1)) AS "?column?"'
    )
    with pytest.raises(NotUnderstood) as refused:
        translate("SELECT 1 UNION SELECT 2, 3 UNION SELECT 4", "postgres", SCHEMA)
    assert "different numbers of columns" in refused.value.reason.message


def test_queries_nested_in_set_operations_end_in_a_refusal_and_not_in_their_power(school: School) -> None:
    levels = 30
    sql = "SELECT * FROM (" * levels + "SELECT id FROM t" + " UNION SELECT id FROM t) AS q" * levels
    lesson = school.lesson(sql, None, "postgres")
    assert lesson.works == ()


@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
@pytest.mark.parametrize("sql", ["SELECT SUM(v) FROM t WHERE id = ${}", "SELECT v FROM t ORDER BY {}"])
def test_a_number_of_thousands_of_digits_is_not_read_and_not_fatal(
    database: Path, sql: str, dialect: str
) -> None:
    log = worlds.log([sql.format("9" * 5_000), "SELECT SUM(v) FROM t WHERE id = 3"])
    found = audit(database, RULES, log, dialect=dialect, gate_seconds=0)
    assert worlds.of_everyone(found) == {2: "exact"}
    assert sum(each.count for each in found.unmodelled) == 1


def test_the_same_statement_many_times_in_one_entry_is_read_once(
    school: School, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    read = school._query
    monkeypatch.setattr(school, "_query", lambda *each: (seen.append(each), read(*each))[1])
    assert len(school.lesson("SELECT SUM(v) FROM t;" * 500, None, "duckdb").works) == 1
    assert len(seen) == 1


def test_an_entry_of_more_statements_than_are_read_is_named_as_too_costly(school: School) -> None:
    sql = ";".join(f"SELECT SUM(v) FROM t WHERE id <> {number}" for number in range(1_001))
    lesson = school.lesson(sql, None, "duckdb")
    assert lesson.works == ()
    assert [kind for kind, _ in lesson.unmodelled] == [COSTLY]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("SELECT SUM(v) FROM t WHERE '{}' <> ''", COSTLY),
        ("INSERT INTO other VALUES ('{}'); SELECT v FROM t", COSTLY),
        ("INSERT INTO other VALUES ('{}'); TABLE t", COSTLY),
        ("/* {} */ FROM t", COSTLY),
        ("INSERT INTO other VALUES ('{}')", ""),
    ],
)
def test_an_entry_too_long_to_be_read_counts_as_too_costly_unless_nothing_in_it_can_be_a_query(
    database: Path, sql: str, kind: str
) -> None:
    log = worlds.log([sql.format("x" * (1 << 20)), "SELECT SUM(v) FROM t WHERE id = 3"])
    found = audit(database, RULES, log, gate_seconds=0)
    assert worlds.of_everyone(found) == {2: "exact"}
    assert [each.kind for each in found.unmodelled] == ([kind] if kind else [])


# --- all


@pytest.mark.slow
def test_costly_statements_together_are_read_until_the_budget_is_spent_and_the_rest_is_counted_and_named(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("auditor.history.budget.BEGIN", 110_000)
    monkeypatch.setattr("auditor.history.budget.SHARE", 0)
    costly = [listed(30_000, seed) for seed in range(8)]
    log = worlds.log([*costly, "SELECT SUM(v) FROM t WHERE id = 3", costly[-1]])
    found = audit(database, RULES, log, gate_seconds=0)
    # two cost 30,000 of text and 30,000 of SQL each, of which 10,000 are ordinary
    assert of(found, COSTLY) == 7
    assert found.kinds == {"SUM": 3, "unmodelled": 7}
    assert worlds.of_everyone(found) == {2: "exact"}, "what is ordinary is read whatever others have cost"
    assert any(line.startswith(f"not modelled: {COSTLY}, 7 statements: ") for line in lines(found))


@pytest.mark.slow
def test_more_effort_reads_what_was_too_costly(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("auditor.history.budget.BEGIN", 110_000)
    monkeypatch.setattr("auditor.history.budget.SHARE", 0)
    log = worlds.log([listed(30_000, seed) for seed in range(4)])
    assert of(audit(database, RULES, log, gate_seconds=0), COSTLY) == 2
    assert of(audit(database, RULES, log, gate_seconds=0, effort=10), COSTLY) == 0


@pytest.mark.slow
def test_each_statement_of_a_log_adds_to_what_costly_ones_may_cost(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("auditor.history.budget.BEGIN", 0)
    monkeypatch.setattr("auditor.history.budget.SHARE", 6_000)
    cheap = [f"SELECT SUM(v) FROM t WHERE id > {number}" for number in range(10)]
    assert of(audit(database, RULES, worlds.log([listed(30_000)]), gate_seconds=0), COSTLY) == 1
    assert of(audit(database, RULES, worlds.log([*cheap, listed(30_000)]), gate_seconds=0), COSTLY) == 0


@pytest.mark.slow
def test_an_audit_that_goes_on_from_its_checkpoint_has_spent_what_it_had_spent(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("auditor.history.budget.BEGIN", 110_000)
    monkeypatch.setattr("auditor.history.budget.SHARE", 0)
    log, kept = worlds.log([listed(30_000, seed) for seed in range(4)]), tmp_path / "state"
    turns = iter([False, False, True])
    audit(database, RULES, log, checkpoint=kept, stop=lambda: next(turns), gate_seconds=0)
    again = audit(database, RULES, log, checkpoint=kept, gate_seconds=0)
    assert of(again, COSTLY) == of(audit(database, RULES, log, gate_seconds=0), COSTLY) == 2


def test_the_last_resort_of_all_statements_leaves_each_some_seconds() -> None:
    from auditor.history.budget import PATIENT, SECONDS, Budget

    budget = Budget()
    assert budget.patience(60.0) == 60.0
    budget.wait(PATIENT)
    assert budget.waited == 0
    budget.wait(PATIENT + SECONDS)
    assert budget.patience(60.0) == PATIENT
    assert budget.patience(1.0) == 1.0
