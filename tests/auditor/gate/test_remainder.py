"""`decision.remainder`: withheld groups together are one more row, judged and recorded like others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from auditor import Gate, Policy, QueryRefused
from auditor.errors import WithheldWarning
from auditor.told import Remainder
from tests.auditor.staff import Person, build, entries, people, policy, truth, verdict
from tests.quick import some

LABELLED = '[decision]\nremainder = "(other)"'
BY_DEPT = "SELECT dept, sum(salary) AS s, count(*) AS n FROM staff GROUP BY dept ORDER BY dept"
SMALL = ("u", "v", "w", "x", "y", "z")


def with_small_ones(seed: int = 4) -> list[Person]:
    """Three large departments, and six of two persons each: together they are twelve."""
    persons = [(i, age, sex, "abc"[i % 3], pay) for i, age, sex, _, pay in people(102, seed)]
    moved = [(*p[:3], SMALL[n // 2], p[4]) for n, p in enumerate(persons[-12:])]
    return [*persons[:-12], *moved]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return build(tmp_path / "staff.duckdb", with_small_ones())


@pytest.fixture
def gate(database: Path) -> Iterator[Gate]:
    with Gate.open(database, policy(LABELLED)) as opened:
        yield opened


def total_of(database: Path, condition: str = "true") -> object:
    ((total,),) = truth(database, f"SELECT sum(salary) FROM staff WHERE {condition}")
    return total


OTHERS = "dept >= 'u'"
"""Who is in the groups that are withheld."""


# The row


def test_given_groups_and_the_remainder_add_up_to_the_total(gate: Gate, database: Path) -> None:
    answer = gate.execute(BY_DEPT)
    rows = answer.fetchall()
    assert [dept for dept, s, _ in rows if s is None] == list(SMALL)
    assert rows[-1] == ("(other)", total_of(database, OTHERS), 12)
    assert sum(s for _, s, _ in rows if s is not None) == total_of(database)
    assert answer.remainder == (Remainder(row=9, groups=6, rows=12),)
    assert answer.decision.message.endswith("1 more row, the last one, has withheld groups together.")


def test_by_default_there_is_none(database: Path) -> None:
    with Gate.open(database, policy()) as gate:
        answer = gate.execute(BY_DEPT)
    assert len(answer.fetchall()) == 9
    assert answer.remainder == ()
    assert "more row" not in answer.decision.message


def test_with_true_its_keys_are_null(database: Path) -> None:
    with Gate.open(database, policy("[decision]\nremainder = true")) as gate:
        assert gate.execute(BY_DEPT).fetchall()[-1] == (None, total_of(database, OTHERS), 12)


def test_a_label_stands_in_text_keys_alone(gate: Gate) -> None:
    shown = "dept, age >= 0 AS of_age, upper(dept) || '!' AS loud"
    sql = f"SELECT {shown}, sum(salary) FROM staff GROUP BY dept, of_age"
    rows = gate.execute(sql).fetchall()
    assert rows[-1][:3] == ("(other)", None, "(other)")


def test_it_is_one_more_question_on_record(gate: Gate, database: Path) -> None:
    gate.execute(BY_DEPT)
    (entry,) = [entry for entry in entries(gate) if entry.answers]
    sizes = sorted(len(answer.records) for answer in entry.answers)
    assert sizes == [12, 30, 30, 30]
    assert gate.verify().problems == ()
    assert verdict(gate, "SELECT sum(salary) FROM staff").code == "known"


def test_what_follows_from_the_total_is_known(gate: Gate, database: Path) -> None:
    """The total comes first: the remainder then tells nothing, and nothing of it is recorded."""
    gate.execute("SELECT sum(salary) FROM staff")
    assert gate.execute(BY_DEPT).fetchall()[-1][1] == total_of(database, OTHERS)
    assert all(len(answer.records) != 12 for entry in entries(gate) for answer in entry.answers)


def test_one_withheld_group_has_no_remainder(tmp_path: Path) -> None:
    """It would be that group."""
    persons = [(*p[:3], "z" if p[0] < 2 else "a", p[4]) for p in people(60, 4)]
    with Gate.open(build(tmp_path / "one.duckdb", persons), policy(LABELLED)) as gate:
        answer = gate.execute(BY_DEPT)
    assert [(dept, s is None) for dept, s, _ in answer.fetchall()] == [("a", False), ("z", True)]


def test_a_remainder_that_may_not_be_told_is_no_row(tmp_path: Path) -> None:
    """Two departments of one person each: together they are two, each of whom would know the other's."""
    persons = [(*p[:3], "yz"[p[0]] if p[0] < 2 else "a", p[4]) for p in people(60, 4)]
    with Gate.open(build(tmp_path / "two.duckdb", persons), policy(LABELLED)) as gate:
        answer = gate.execute(BY_DEPT)
        assert [dept for dept, _, _ in answer.fetchall()] == ["a", "y", "z"]
        assert answer.remainder == ()
        assert verdict(gate, "SELECT sum(salary) FROM staff WHERE dept > 'a'").code == "risk"


def test_where_all_groups_are_withheld_they_may_be_told_together(gate: Gate, database: Path) -> None:
    answer = gate.execute(
        f"SELECT dept, sum(salary) AS s FROM staff WHERE {OTHERS} GROUP BY dept ORDER BY dept"
    )
    assert answer.decision.code == "partial"
    assert [s for _, s in answer.fetchall()] == [None] * 6 + [total_of(database, OTHERS)]


# Aggregates


def test_what_is_worked_out_from_aggregates_is_worked_out_of_them_together(gate: Gate) -> None:
    shown = "avg(salary) AS a, sum(salary) / count(*) AS q, coalesce(sum(salary), 0)"
    sql = f"SELECT dept, {shown} FROM staff GROUP BY dept"
    _, mean, quotient, total = gate.execute(sql).fetchall()[-1]
    assert mean == quotient == total / 12


@pytest.mark.slow
def test_other_aggregates_are_judged_each_and_null_where_not_told(gate: Gate) -> None:
    rows = gate.execute("SELECT dept, sum(salary), min(salary), count(*) FROM staff GROUP BY dept").fetchall()
    dept, total, least, _ = rows[-1]
    assert dept == "(other)"
    assert total is not None or least is not None


def test_public_aggregates_are_of_the_withheld_groups(gate: Gate, database: Path) -> None:
    sql = (
        "SELECT dept, sum(salary), count(*), count(DISTINCT age), max(id), avg(age) FROM staff GROUP BY dept"
    )
    expected = truth(
        database, f"SELECT count(*), count(DISTINCT age), max(id), avg(age) FROM staff WHERE {OTHERS}"
    )
    assert gate.execute(sql).fetchall()[-1][2:] == expected[0]


def test_columns_withheld_in_different_groups_each_add_up_and_are_not_mixed(tmp_path: Path) -> None:
    """Women are few in four departments, men in four, one of which is the same: no difference, no count."""
    sizes = dict.fromkeys("abc", (3, 20)) | {"d": (3, 3)} | dict.fromkeys("efg", (20, 3))
    kinds = [
        (sex, d) for d, both in sizes.items() for sex, n in zip("fm", both, strict=True) for _ in range(n)
    ]
    persons = [(*p[:2], *kind, p[4]) for p, kind in zip(people(len(kinds), 4), kinds, strict=True)]
    database = build(tmp_path / "cross.duckdb", persons)
    women, men = (f"sum(salary) FILTER (sex = '{sex}')" for sex in "fm")
    sql = f"SELECT dept, {women}, {men}, {women} - {men}, count(*) FROM staff GROUP BY dept ORDER BY dept"
    with Gate.open(database, policy(LABELLED)) as gate:
        *rows, last = gate.execute(sql).fetchall()
    assert [[row[0] for row in rows if row[place] is None] for place in (1, 2)] == [
        list("abcd"),
        list("defg"),
    ]
    few_women, few_men = "sex = 'f' AND dept <= 'd'", "sex = 'm' AND dept >= 'd'"
    assert last == ("(other)", total_of(database, few_women), total_of(database, few_men), None, None)


# Grouping sets


@pytest.mark.parametrize(("groups", "levels"), [("ROLLUP (dept, sex)", [0, 1]), ("CUBE (dept, sex)", [0, 1])])
def test_each_grouping_set_has_a_row_of_its_own(database: Path, groups: str, levels: list[int]) -> None:
    sql = (
        f"SELECT dept, sex, grouping(dept, sex) AS g, sum(salary) AS s, count(*) FROM staff GROUP BY {groups}"
    )
    with Gate.open(database, policy(LABELLED)) as gate:
        answer = gate.execute(f"{sql} ORDER BY g, 1, 2")
        rows = answer.fetchall()
    last = rows[-len(answer.remainder) :]
    assert [row[2] for row in last] == levels
    assert [row[:2] for row in last] == [("(other)", "(other)"), ("(other)", None)]
    for level in levels:
        told = [s for *_, g, s, _ in rows if g == level and s is not None]
        assert sum(told) == total_of(database)


def test_a_rolled_up_key_is_shown_as_it_is_elsewhere(database: Path) -> None:
    shown = "coalesce(dept, 'all') AS d, coalesce(sex, 'both') AS x"
    sql = f"SELECT {shown}, sum(salary) FROM staff GROUP BY ROLLUP (dept, sex)"
    with Gate.open(database, policy(LABELLED)) as gate:
        last = gate.execute(sql).fetchall()[-2:]
    assert [row[:2] for row in last] == [("(other)", "(other)"), ("(other)", "both")]


# Its place in a statement


@pytest.mark.parametrize(
    "sql",
    some(
        [
            f"{BY_DEPT} LIMIT 8",
            BY_DEPT.replace("ORDER BY dept", "HAVING sum(salary) > 10 OR count(*) < 5"),
            "SELECT dept, sum(salary) / sum(sum(salary)) OVER () FROM staff GROUP BY dept",
            "SELECT DISTINCT dept, sum(salary) FROM staff GROUP BY dept",
            "SELECT dept, sum(salary) FROM staff GROUP BY dept UNION SELECT 'all', sum(salary) FROM staff",
            "SELECT dept, sum(salary), (SELECT max(age) FROM staff t WHERE t.dept = staff.dept) FROM staff "
            "GROUP BY dept",
        ],
        2,
    ),
)
def test_where_a_statement_has_no_place_for_it_the_answer_is_as_without(database: Path, sql: str) -> None:
    found = []
    for number, rules in enumerate((LABELLED, "")):
        with Gate.open(database, policy(rules), ledger=database.with_suffix(f".{number}")) as gate:
            try:
                answer = gate.execute(sql)
                found.append((answer.decision, answer.fetchall()))
                assert answer.remainder == ()
            except QueryRefused as error:
                found.append((error.decision, []))
    assert found[0] == found[1]


@pytest.mark.parametrize("order", some(["ORDER BY dept", "ORDER BY s DESC", ""], 1))
@pytest.mark.parametrize(("limit", "rows"), [(10, 1), (9, 0), (1_000, 1)])
def test_a_limit_that_leaves_out_no_row_leaves_it(gate: Gate, order: str, limit: int, rows: int) -> None:
    """Tools for tables and charts write LIMIT anyway."""
    sql = f"SELECT dept, sum(salary) AS s FROM staff GROUP BY dept {order} LIMIT {limit}"
    assert len(gate.execute(sql).remainder) == rows


@pytest.mark.parametrize(
    "sql",
    [
        'SELECT dept AS dept, SUM(salary) AS "SUM(salary)" FROM main.staff GROUP BY dept '
        'ORDER BY "SUM(salary)" DESC LIMIT 10000',
        'SELECT "main"."staff"."dept" AS "dept", SUM("main"."staff"."salary") AS "sum" FROM "main"."staff" '
        'GROUP BY "main"."staff"."dept" ORDER BY "main"."staff"."dept" ASC LIMIT 2000',
    ],
)
def test_as_superset_and_metabase_write_it_it_is_there(gate: Gate, database: Path, sql: str) -> None:
    answer = gate.execute(sql, dialect="postgres")
    assert answer.fetchall()[-1] == ("(other)", total_of(database, OTHERS))


def test_it_comes_last_whatever_the_order(gate: Gate) -> None:
    answer = gate.execute("SELECT dept, sum(salary) AS s FROM staff GROUP BY dept ORDER BY dept DESC")
    assert [dept for dept, _ in answer.fetchall()] == [*reversed(SMALL), "c", "b", "a", "(other)"]


def test_a_public_having_chooses_groups_and_not_the_row(gate: Gate, database: Path) -> None:
    sql = BY_DEPT.replace("ORDER BY dept", "HAVING count(*) < 5")
    assert gate.execute(sql).fetchall()[-1] == ("(other)", total_of(database, OTHERS), 12)


def test_a_derived_table_that_passes_groups_on_has_it_too(gate: Gate, database: Path) -> None:
    sql = "SELECT d, s FROM (SELECT dept AS d, sum(salary) AS s FROM staff GROUP BY dept) ORDER BY d"
    assert gate.execute(sql).fetchall()[-1] == ("(other)", total_of(database, OTHERS))


# Elsewhere


def test_check_says_that_there_would_be_one(gate: Gate) -> None:
    said = gate.check(BY_DEPT)
    assert said.code == "partial"
    assert said.message.endswith("1 more row, the last one, has withheld groups together.")
    assert not any(entry.answers for entry in entries(gate))


def test_asked_again_it_comes_from_memory_and_after_a_restart_from_the_ledger(database: Path) -> None:
    with Gate.open(database, policy(LABELLED)) as gate:
        first = gate.execute(BY_DEPT)
        again = gate.execute(BY_DEPT)
        assert (again.fetchall(), again.remainder) == (first.fetchall(), first.remainder)
    with Gate.open(database, policy(LABELLED)) as gate:
        later = gate.execute(BY_DEPT)
        assert later.arrow().to_pylist()[-1] == first.arrow().to_pylist()[-1]


@pytest.mark.parametrize(("least", "rows"), [(12, 1), (13, 0)])
def test_the_rule_for_sizes_holds_for_a_remainder(database: Path, least: int, rows: int) -> None:
    with Gate.open(database, policy(f"{LABELLED}\n[rules]\nmin_size = {least}")) as gate:
        assert len(gate.execute(BY_DEPT).remainder) == rows


def test_a_data_frame_says_which_rows_they_are(gate: Gate) -> None:
    with pytest.warns(WithheldWarning, match="1 more row"):
        frame = gate.execute(BY_DEPT).df()
    assert frame.attrs["remainder"] == [{"row": 9, "groups": 6, "rows": 12}]


def test_ends_of_a_remainder_are_named_by_its_label(tmp_path: Path) -> None:
    """Everybody in small departments has least: their total is told as an end."""
    persons = [(*p[:4], 10 if p[3] in SMALL else p[4]) for p in with_small_ones()]
    with Gate.open(build(tmp_path / "poor.duckdb", persons), policy(LABELLED)) as gate:
        answer = gate.execute(BY_DEPT)
    (end,) = answer.ranges
    assert (end.name, end.row) == ("sum(salary) of dept (other)", 9)
    assert answer.fetchall()[-1] == ("(other)", None, 12)


def test_of_cells_it_is_whole_cells_together(tmp_path: Path) -> None:
    """The table exists as cells, and a remainder is a sum of them, in records."""
    kinds = [(dept, sex) for dept in "abc" for sex in "fm" for _ in range(15)]
    kinds += [(dept, "f") for dept in SMALL for _ in range(2)]
    pays = [p[4] for p in people(len(kinds), 4)]
    dept, sex = ([kind[place] for kind in kinds] for place in (0, 1))
    staff = pa.table({"dept": dept, "sex": sex, "salary": pays})
    rules = policy(f'[source]\nmode = "cells"\n{LABELLED}')
    with Gate.open(staff, rules, tmp_path / "ledger") as gate:
        answer = gate.execute(BY_DEPT)
        rows = answer.fetchall()
        assert [dept for dept, s, _ in rows if s is None] == list(SMALL)
        assert rows[-1] == ("(other)", sum(pays[90:]), 12)
        assert answer.remainder == (Remainder(row=9, groups=6, rows=12),)
        assert gate.verify().problems == ()
        assert verdict(gate, "SELECT sum(salary) FROM staff").code == "known"


def test_over_editions_it_is_judged_by_what_it_told_before(tmp_path: Path) -> None:
    """One in the small departments has another salary: both remainders would tell by how much."""
    persons = with_small_ones()
    before = build(tmp_path / "before.duckdb", persons)
    raised = [(*p[:4], 260 - p[4]) if p[3] == "u" and p[0] % 2 == 0 else p for p in persons]
    assert sum(a != b for a, b in zip(persons, raised, strict=True)) == 1
    after = build(tmp_path / "after.duckdb", raised)
    rules = policy(f'{LABELLED}\n[ledger]\npath = "{tmp_path / "ledger"}"\n', key='"id"')
    with Gate.open(before, rules) as gate:
        assert gate.execute(BY_DEPT).fetchall()[-1] == ("(other)", total_of(before, OTHERS), 12)
    Gate.renew(after, rules)
    with Gate.open(after, rules) as gate:
        answer = gate.execute(BY_DEPT)
        rows = answer.fetchall()
        assert [(dept, s is None) for dept, s, _ in rows[:3]] == [(dept, False) for dept in "abc"]
        assert answer.remainder == ()
        assert verdict(gate, f"SELECT sum(salary) FROM staff WHERE {OTHERS}").code == "risk"
        assert gate.verify().problems == ()


def test_over_editions_that_changed_nobody_in_it_it_is_known(tmp_path: Path) -> None:
    persons = with_small_ones()
    before = build(tmp_path / "before.duckdb", persons)
    after = build(tmp_path / "after.duckdb", [(*p[:4], 260 - p[4]) if p[3] == "a" else p for p in persons])
    rules = policy(f'{LABELLED}\n[ledger]\npath = "{tmp_path / "ledger"}"\n', key='"id"')
    with Gate.open(before, rules) as gate:
        first = gate.execute(BY_DEPT).fetchall()[-1]
    Gate.renew(after, rules)
    with Gate.open(after, rules) as gate:
        assert gate.execute(BY_DEPT).fetchall()[-1] == first
        assert all(len(told.records) != 12 for told in entries(gate)[-1].answers)


def test_units_are_told_together(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "stays.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE stays AS SELECT i AS id, (hash(i) % 120)::INT AS patient, "
            "CASE WHEN (hash(i) % 120) < 90 THEN 'abc'[1 + i % 3] "
            "ELSE 'uvwxyz'[1 + ((hash(i) % 120) // 5 % 6)::INT] END AS ward, "
            "(hash(i * 17) % 101)::INT AS charge FROM range(600) t(i)"
        )
    text = (
        '[protect]\ntable = "stays"\ncolumn = "charge"\nminimum = 0\nmaximum = 100\nstep = 1\n'
        'unit = "patient"\npublic = ["ward"]\n[limit]\nrisk = 0.5\n[ledger]\neditions = false\n'
        '[decision]\nremainder = "(other)"\n[rules]\nmin_size = 10\n'
    )
    with Gate.open(tmp_path / "stays.duckdb", Policy.parse(text)) as gate:
        answer = gate.execute("SELECT ward, sum(charge) AS s FROM stays GROUP BY ward ORDER BY ward")
    rows = answer.fetchall()
    assert [ward for ward, s in rows if s is None] == list("uvwxyz")
    assert rows[-1][0] == "(other)"
    true = duckdb.connect(str(tmp_path / "stays.duckdb")).sql(
        "SELECT sum(charge) FROM stays WHERE ward > 'c'"
    )
    assert rows[-1][1] == true.fetchall()[0][0]


def test_groups_that_share_somebody_are_not_asked_together(tmp_path: Path) -> None:
    """A join gives somebody two groups: some would count twice, others once."""
    database = build(tmp_path / "join.duckdb", with_small_ones())
    with duckdb.connect(str(database)) as connection:
        connection.execute(
            "CREATE TABLE tags AS SELECT 'u' AS dept, 't1' AS tag UNION ALL SELECT 'u', 't2' "
            "UNION ALL SELECT 'v', 't1' UNION ALL SELECT 'a', 't3'"
        )
    rules = policy(f'[tables]\npublic = ["tags"]\n{LABELLED}')
    with Gate.open(database, rules) as gate:
        answer = gate.execute(
            "SELECT tag, sum(salary) FROM staff JOIN tags USING (dept) GROUP BY tag ORDER BY tag"
        )
    assert [(tag, s is None) for tag, s in answer.fetchall()] == [("t1", True), ("t2", True), ("t3", False)]


@pytest.mark.parametrize("factor", ["30", "sum(salary)"])
def test_where_the_statement_fails_for_that_row_alone_it_comes_without_it(
    gate: Gate, database: Path, factor: str
) -> None:
    """Of large groups it casts 0, of two persons 60 or NULL, of the twelve together too much."""
    cast = f"((count(*) % 30) * {factor})::UTINYINT"
    sql = f"SELECT dept, sum(salary) AS s, {cast} AS n FROM staff GROUP BY dept ORDER BY dept"
    answer = gate.execute(sql)
    rows = answer.fetchall()
    assert [dept for dept, *_ in rows] == [*"abc", *SMALL]
    assert (answer.remainder, answer.decision.code) == ((), "partial")
    assert "more row" not in answer.decision.message
    assert gate.execute(sql).fetchall() == rows
    # it was judged, so what it would have told is known
    assert 12 in [len(told.records) for entry in entries(gate) for told in entry.answers]
    assert verdict(gate, "SELECT sum(salary) FROM staff").code == "known"
    assert gate.verify().problems == ()
