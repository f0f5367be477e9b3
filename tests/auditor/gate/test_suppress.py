"""`partial = "suppress"`: the groups that may be answered are, and a NULL tells no more than a refusal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import pytest

from auditor import Gate, LedgerError, Policy, QueryRefused
from auditor.deciding.cases import NOTHING, Case, Outcome, Part
from auditor.errors import WithheldWarning
from auditor.gate import suppress
from auditor.parties import confidential
from auditor.told import Withheld, named
from cae_sql.inference import system as systems
from tests.auditor.staff import Person, build, entries, people, policy, truth, verdict
from tests.quick import some

SUPPRESS = '[decision]\npartial = "suppress"'
BY_DEPT = "SELECT dept, sum(salary) AS s, count(salary) AS n FROM staff GROUP BY dept ORDER BY dept"


def suppressing(more: str = "", **protect: object) -> Policy:
    return policy(f"{SUPPRESS}\n{more}", **protect)


def with_loners(count: int = 60, seed: int = 4) -> list[Person]:
    """Three large departments, and two of one person each."""
    persons = [(i, age, sex, "abc"[i % 3], pay) for i, age, sex, _, pay in people(count, seed)]
    return [*persons[:-2], (*persons[-2][:3], "y", persons[-2][4]), (*persons[-1][:3], "z", persons[-1][4])]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return build(tmp_path / "staff.duckdb", with_loners())


@pytest.fixture
def gate(database: Path) -> Iterator[Gate]:
    with Gate.open(database, suppressing()) as opened:
        yield opened


# What is given


@pytest.mark.slow
def test_safe_groups_are_given_exactly_and_unsafe_ones_are_null(gate: Gate, database: Path) -> None:
    answer = gate.execute(BY_DEPT)
    assert answer.decision.verdict == "answered"
    assert answer.decision.code == "partial"
    assert answer.decision.message.startswith("2 groups are withheld (NULL)")
    expected = truth(database, BY_DEPT)
    assert answer.fetchall() == [(d, None if d in "yz" else s, n) for d, s, n in expected]
    assert answer._types == ("VARCHAR", "HUGEINT", "BIGINT")


@pytest.mark.slow
def test_no_total_is_lost_for_a_cell_that_could_be_withheld(tmp_path: Path) -> None:
    """One cell has one person: it is withheld with one more, and every margin and the total are told."""
    cells = {0: ("usual", "recommend")}
    rows = [(i, cells.get(i, ("abc"[i // 3 % 3], "xyz"[i % 3])), 10 * (i * 37 % 26)) for i in range(181)]
    with duckdb.connect(str(tmp_path / "margins.duckdb")) as connection:
        connection.execute("CREATE TABLE t (id INTEGER, p VARCHAR, r VARCHAR, x INTEGER)")
        connection.executemany(
            "INSERT INTO t VALUES (?, ?, ?, ?)",
            [(i, p if p != "c" else "usual", r, x) for i, (p, r), x in rows],
        )
    protect = Policy.parse(
        '[protect]\ntable = "t"\ncolumn = "x"\nminimum = 0\nmaximum = 250\nstep = 10\nkey = "id"\n'
        'public = ["p", "r"]\n[limit]\nrisk = 0.5\n[intruder]\ninsiders = 0\n'
    )
    with Gate.open(tmp_path / "margins.duckdb", protect) as gate:
        told = gate.execute("SELECT p, r, sum(x) FROM t GROUP BY ROLLUP (p, r)").fetchall()
    withheld = [(p, r) for p, r, total in told if total is None]
    assert len(told) == 14
    assert len(withheld) == 2
    assert ("usual", "recommend") in withheld
    assert all(r is not None for _, r in withheld)


def many_groups(path: Path, sizes: list[int], values: list[int]) -> Policy:
    """A table of yes and no by group, and its policy."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t (id INTEGER, g INTEGER, x INTEGER)")
        rows = [(i, int(g), x) for i, (g, x) in enumerate(zip(labels, values, strict=True))]
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    return Policy.parse(
        '[protect]\ntable = "t"\ncolumn = "x"\nminimum = 0\nmaximum = 1\nstep = 1\nkey = "id"\n'
        'public = ["g"]\n[limit]\nrisk = 0.5\n[intruder]\ninsiders = 1\n'
    )


@pytest.mark.slow
def test_a_group_that_cannot_be_told_costs_the_others_of_its_question_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of thirty groups two have three people: they are dropped, and the others are one question still."""
    sizes = [20] * 14 + [3] + [20] * 14 + [3]
    values = [i % 2 for i in range(sum(sizes))]
    protect, asked, real = many_groups(tmp_path / "g.duckdb", sizes, values), list[int](), suppress.decide

    def counting(cases: list[Case], *more: object) -> Outcome:
        asked.append(len(cases[0].queries))
        return real(cases, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(suppress, "decide", counting)
    with Gate.open(tmp_path / "g.duckdb", protect) as gate:
        told = dict(gate.execute("SELECT g, sum(x) FROM t GROUP BY g").fetchall())
    assert {group for group, total in told.items() if total is None} == {14, 29}
    assert asked[0] == 30
    assert 28 in asked
    assert sorted(asked)[:-2] == [1, 1]


def test_a_surprise_among_groups_withholds_those_alone_that_it_is_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And is counted; the one that it is about is not looked at again, which would hang on its value."""
    sizes = [20] * 6
    protect = many_groups(tmp_path / "g.duckdb", sizes, [i % 2 for i in range(120)])
    real, looked = suppress.decide, list[int]()

    def surprised(cases: list[Case], *more: object) -> Outcome:
        looked.append(len(cases[0].queries))
        if len(looked) > 1:
            return real(cases, *more)  # type: ignore[arg-type]
        return Outcome("risk", (Part(surprise=True, given=False, open=(cases[0].queries[2],)),))

    monkeypatch.setattr(suppress, "decide", surprised)
    with Gate.open(tmp_path / "g.duckdb", protect) as gate:
        told = gate.execute("SELECT g, sum(x) FROM t GROUP BY g ORDER BY g").fetchall()
        assert gate.history()["surprise"].sum() == 1
    assert [total for _, total in told] == [10, 10, None, 10, 10, 10]
    assert looked == [6, 5]


def test_withheld_groups_are_named_since_a_top_two_may_lack_one(gate: Gate) -> None:
    """Of the rows nobody sees that a group is missing."""
    sql = "SELECT dept, sum(salary) AS s FROM staff GROUP BY dept ORDER BY s DESC NULLS LAST LIMIT 2"
    answer = gate.execute(sql)
    assert None not in [value for _, value in answer.fetchall()]
    assert answer.decision.message.startswith("2 groups are withheld (NULL), dept y; dept z: ")
    assert [dict(each.group) for each in answer.withheld] == [{"dept": "y"}, {"dept": "z"}]
    with pytest.warns(WithheldWarning, match="dept y; dept z"):
        frame = answer.df()
    assert frame.attrs["withheld"] == [
        {"group": {"dept": "y"}, "aggregates": []},
        {"group": {"dept": "z"}, "aggregates": []},
    ]
    again = gate.execute(sql)
    assert again.decision.message == answer.decision.message
    assert "dept y; dept z" in gate.check(sql).message


def test_of_a_group_that_is_told_in_part_the_aggregate_is_named() -> None:
    assert Withheld({"dept": "a", "sex": None}, ("max(salary)",)).name == "dept a, sex NULL (max(salary))"
    assert Withheld({}, ("sum(salary)",)).name == "sum(salary)"


def test_ten_are_named_and_the_others_counted() -> None:
    many = [Withheld({"dept": name}) for name in range(13)]
    assert named(many).endswith("dept 9; and 3 more")
    assert named(many[:10]).endswith("dept 9")
    assert "\x1b" not in named([Withheld({"dept": "a\x1b[2J\nb"})])
    assert len(named([Withheld({"note": "x" * 5000})])) <= 80


def test_refuse_gives_nothing_of_the_same_statement(database: Path) -> None:
    with Gate.open(database, policy('[decision]\npartial = "refuse"')) as gate:
        assert verdict(gate, BY_DEPT).code == "risk"


def test_a_statement_all_of_whose_groups_are_safe_is_answered_as_ever(gate: Gate, database: Path) -> None:
    sql = BY_DEPT.replace("staff GROUP", "staff WHERE dept < 'd' GROUP")
    answer = gate.execute(sql)
    assert (answer.decision.code, answer.fetchall()) == ("answered", truth(database, sql))


def test_a_statement_none_of_whose_groups_is_safe_is_refused(gate: Gate) -> None:
    decision = verdict(gate, "SELECT id, sum(salary) FROM staff GROUP BY id")
    assert (decision.verdict, decision.code) == ("refused", "risk")
    assert [entry.answers for entry in entries(gate)] == [()]


def test_what_is_not_grouped_must_be_safe(gate: Gate) -> None:
    loner = "(SELECT sum(salary) FROM staff WHERE dept = 'z')"
    assert verdict(gate, f"SELECT dept, sum(salary), {loner} FROM staff GROUP BY dept").code == "risk"
    assert [entry.answers for entry in entries(gate)] == [()]
    everyone = "(SELECT sum(salary) FROM staff)"
    answer = gate.execute(f"SELECT dept, sum(salary), {everyone} FROM staff GROUP BY dept ORDER BY dept")
    # everybody less a, b and c would be the two loners together
    assert [row[1] is None for row in answer.fetchall()] == [False, False, True, True, True]


def test_a_group_is_judged_with_those_before_it_known(gate: Gate) -> None:
    """With all but z told, the last of the departments would leave y alone."""
    gate.execute("SELECT sum(salary) FROM staff WHERE dept <> 'z'")
    found = dict(gate.execute(BY_DEPT.replace("count(salary)", "1")).df()[["dept", "s"]].to_numpy().tolist())
    assert [np.isnan(found[dept]) for dept in "abcyz"] == [False, False, True, True, True]


def test_a_group_that_those_after_it_settle_is_given(
    gate: Gate, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What everybody can work out from the answer is not withheld in it."""
    import auditor.gate.suppress as module

    gate.execute("SELECT sum(salary) FROM staff WHERE dept IN ('a', 'b')")
    real, turns = module.decide, iter(range(9))

    def first_refused(*given: object) -> object:
        return Outcome("risk", (NOTHING,)) if next(turns) == 0 else real(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "decide", first_refused)
    sql = "SELECT dept, sum(salary) FROM staff WHERE dept IN ('a', 'b') GROUP BY dept ORDER BY dept"
    answer = gate.execute(sql)
    assert (answer.decision.code, answer.fetchall()) == ("answered", truth(database, sql))
    assert [len(entry.answers) for entry in entries(gate)] == [1, 1]


def test_known_groups_are_given_again(gate: Gate, database: Path) -> None:
    gate.execute("SELECT sum(salary) FROM staff WHERE dept = 'b'")
    before = len(entries(gate)[0].answers)
    answer = gate.execute(
        "SELECT dept, sum(salary) FROM staff WHERE dept IN ('b', 'z') GROUP BY dept ORDER BY dept"
    )
    assert answer.decision.code == "partial"
    total = truth(database, "SELECT sum(salary) FROM staff WHERE dept = 'b'")[0][0]
    assert answer.fetchall() == [("b", total), ("z", None)]
    assert sum(len(entry.answers) for entry in entries(gate)) == before == 1


GROUPS = "FROM staff GROUP BY dept"
INNER = f"(SELECT dept, sum(salary) AS s {GROUPS})"
POST = {
    "HAVING": f"SELECT dept {GROUPS} HAVING sum(salary) > {{x}} ORDER BY dept",
    "HAVING, the other way": f"SELECT dept {GROUPS} HAVING sum(salary) <= {{x}} ORDER BY dept",
    "NOT HAVING": f"SELECT dept {GROUPS} HAVING NOT sum(salary) > {{x}} ORDER BY dept",
    "ORDER BY": f"SELECT dept {GROUPS} ORDER BY sum(salary) + 0 * {{x}} DESC, dept",
    "LIMIT": f"SELECT dept {GROUPS} ORDER BY sum(salary) + 0 * {{x}}, dept LIMIT 4",
    "arithmetic": f"SELECT dept, sum(salary) - {{x}}, coalesce(avg(salary), {{x}}) {GROUPS} ORDER BY 1",
    "CASE": f"SELECT dept, CASE WHEN sum(salary) > {{x}} THEN 1 ELSE 0 END {GROUPS} ORDER BY 1",
    "a window": f"SELECT dept, rank() OVER (ORDER BY sum(salary) + 0 * {{x}}, dept) {GROUPS} ORDER BY 1",
    "a running total": f"SELECT dept, sum(sum(salary)) OVER (ORDER BY dept) + {{x}} {GROUPS} ORDER BY 1",
    "a moving average": f"SELECT dept, avg(sum(salary)) OVER w + {{x}} {GROUPS} WINDOW w AS (ORDER BY dept "
    "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) ORDER BY 1",
    "how many there are": f"SELECT dept, count(sum(salary)) OVER () * {{x}} {GROUPS} ORDER BY 1",
    "numbered": f"SELECT dept, sum(salary) + {{x}}, row_number() OVER (ORDER BY dept) {GROUPS} ORDER BY 1",
    "a window over some": f"SELECT dept, sum(sum(salary)) OVER () {GROUPS} HAVING sum(salary) > {{x}}",
    "a window by value": f"SELECT dept, sum(sum(salary)) OVER w + {{x}} {GROUPS} "
    "WINDOW w AS (ORDER BY sum(salary)) ORDER BY 1",
    "a row before": f"SELECT dept, lag(sum(salary)) OVER (ORDER BY dept) + {{x}} {GROUPS} ORDER BY 1",
    "chosen by a window": f"SELECT dept, sum(salary) {GROUPS} QUALIFY sum(sum(salary)) OVER () > {{x}}",
    "ordered by a window": f"SELECT dept {GROUPS} ORDER BY sum(sum(salary)) OVER () + {{x}} LIMIT 2",
    "several": "SELECT dept, min(salary) + {x}, sum(salary) FILTER (WHERE id % 11 = 0), sum(salary) "
    f"{GROUPS} ORDER BY 3, 1",
    "a total of totals": f"SELECT sum(s), count(s), count(*), max(s) + {{x}} FROM {INNER}",
    "a filtered total": f"SELECT count(*) FROM {INNER} WHERE s > {{x}}",
    "two sets": f"SELECT dept, sum(salary) {GROUPS} UNION SELECT dept, {{x}} {GROUPS} ORDER BY 1, 2",
    "a text": f"SELECT dept || (avg(salary) + {{x}})::VARCHAR AS t {GROUPS} ORDER BY t",
}


WHOLE = (
    *(
        "a window",
        "a window over some",
        "a window by value",
        "a row before",
        "chosen by a window",
        "ordered by a window",
    ),
    *("a total of totals", "a filtered total"),
)


@pytest.mark.slow
@pytest.mark.parametrize("what", some(POST, 4))
def test_what_follows_reads_null_and_nothing_else(what: str, tmp_path: Path) -> None:
    """Tables that differ in the withheld values alone give the same rows, whatever is done with them."""
    sql, found = POST[what].format(x=130), []
    for number, pay in enumerate((10, 250)):
        persons = [(*p[:4], pay if p[3] in "yz" else p[4]) for p in with_loners()]
        database = build(tmp_path / f"{number}.duckdb", persons)
        with Gate.open(database, suppressing()) as gate:
            try:
                answer = gate.execute(sql)
                found.append((answer.decision, answer.fetchall()))
            except QueryRefused as refusal:
                found.append((refusal.decision, []))
    assert found[0] == found[1]
    # where more is computed from the groups, a part of them would give another result: refused whole
    assert found[0][0].code == ("risk" if what in WHOLE else "partial")


def test_of_a_group_the_aggregates_are_given_that_can_be_where_not_all_can(
    gate: Gate, database: Path
) -> None:
    """Of each department one or two have a number that is a multiple of 11."""
    few = "sum(salary) FILTER (WHERE id % 11 = 0)"
    sql = f"SELECT dept, {few}, sum(salary), {few} / avg(salary) {GROUPS} ORDER BY dept"
    answer = gate.execute(sql)
    given = [(dept, None, total, None) for dept, _, total, _ in truth(database, sql)[:3]]
    assert answer.fetchall() == [*given, ("y", None, None, None), ("z", None, None, None)]
    assert answer.decision.code == "partial"
    assert verdict(gate, f"SELECT dept, sum(salary) {GROUPS} HAVING dept < 'd'").code == "known"
    assert [len(entry.answers) for entry in entries(gate)] == [3, 0]


def test_what_a_window_makes_of_given_groups_is_given_and_of_withheld_ones_null(
    gate: Gate, database: Path
) -> None:
    """Beside plain DuckDB's: NULL where a group that the window reads is withheld, else the same."""
    around = "ORDER BY dept ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING"
    sql = f"""
        SELECT dept, sum(salary), sum(sum(salary)) OVER (ORDER BY dept), avg(avg(salary)) OVER ({around}),
               sum(salary) / sum(sum(salary)) OVER (PARTITION BY dept < 'c'), sum(sum(salary)) OVER (),
               row_number() OVER (ORDER BY dept DESC), count(*) OVER ()
        {GROUPS} ORDER BY dept"""
    answer = gate.execute(sql)
    assert answer.decision.code == "partial"
    lacking = {
        "a": (False, False, False, False, True),
        "b": (False, False, False, False, True),
        "c": (False, False, True, True, True),
        "y": (True,) * 5,
        "z": (True,) * 5,
    }
    for row, real in zip(answer.fetchall(), truth(database, sql), strict=True):
        wanted = [None if lacks else value for lacks, value in zip(lacking[row[0]], real[1:], strict=False)]
        assert row == (row[0], *wanted, *real[6:])


# On record


def test_all_of_a_statement_is_one_entry_recorded_before_it_is_released(gate: Gate) -> None:
    gate.execute(BY_DEPT)
    (entry,) = entries(gate)
    assert (entry.verdict, entry.code, len(entry.answers), entry.surprises) == ("answered", "partial", 3, 0)
    assert gate.verify().problems == ()


@pytest.mark.slow
def test_what_could_not_be_recorded_is_known_to_nobody(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    """The groups were taken into memory one by one; a full disk must take all of them out again."""
    gate.execute("SELECT sum(salary) FROM staff WHERE sex = 'f'")
    real = gate._ledger.append

    def full(**fields: object) -> None:
        raise LedgerError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(gate._ledger, "append", full)
        with pytest.raises(LedgerError):
            gate.execute(BY_DEPT)
    assert gate._ledger.append == real
    assert [len(entry.answers) for entry in entries(gate)] == [1]
    again = verdict(gate, "SELECT sum(salary) FROM staff WHERE dept = 'a'")
    assert again.code == "answered", "an answer that is not on record was taken for known"
    assert verdict(gate, "SELECT avg(salary) FROM staff WHERE sex = 'f'").code == "known"


def test_what_was_recorded_before_something_failed_is_known_and_counts(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The entry is on disk, its anchor is not: nothing is released, and nothing is forgotten either."""
    real = gate._ledger.append

    def failing(**fields: object) -> None:
        real(**fields)  # type: ignore[arg-type]
        raise LedgerError("the anchor cannot be written")

    with monkeypatch.context() as patched:
        patched.setattr(gate._ledger, "append", failing)
        with pytest.raises(LedgerError):
            gate.execute(BY_DEPT)
    assert verdict(gate, "SELECT sum(salary) FROM staff WHERE dept IN ('a', 'z')").code == "risk"
    assert verdict(gate, "SELECT sum(salary) FROM staff WHERE dept = 'a'").code == "known"
    learned = gate._knowledge.learned("eve")
    assert learned == sum(len(entry.answers) for entry in entries(gate)) == 3


def test_an_interrupted_statement_is_known_to_nobody(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody presses Ctrl-C after the first group."""
    import auditor.gate.suppress as module

    real, groups = module.decide, iter(range(9))

    def interrupted(*given: object) -> object:
        if next(groups) == 1:
            raise KeyboardInterrupt
        return real(*given)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(module, "decide", interrupted)
        with pytest.raises(KeyboardInterrupt):
            gate.execute(BY_DEPT)
    assert entries(gate) == []
    assert verdict(gate, "SELECT sum(salary) FROM staff WHERE dept = 'a'").code == "answered"


def test_answer_dependent_decisions_may_suppress_too(database: Path) -> None:
    with Gate.open(database, suppressing('mode = "answer-dependent"')) as gate:
        answer = gate.execute(BY_DEPT)
        assert [row[1] is None for row in answer.fetchall()] == [False, False, False, True, True]
        assert not gate.history()["surprise"].any()


@pytest.mark.slow
def test_a_gate_opened_again_knows_what_was_given(database: Path) -> None:
    with Gate.open(database, suppressing()) as gate:
        gate.execute(BY_DEPT)
    with Gate.open(database, suppressing()) as gate:
        assert verdict(gate, "SELECT sum(salary) FROM staff WHERE dept IN ('a', 'b')").code == "known"
        assert verdict(gate, "SELECT sum(salary) FROM staff WHERE dept IN ('a', 'z')").code == "risk"


def test_asked_again_it_gives_the_same_rows_without_deciding(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = gate.execute(BY_DEPT)

    def forbidden(*_: object) -> None:
        raise AssertionError("decided again")

    with monkeypatch.context() as patched:
        patched.setattr("auditor.gate.suppress.decide", forbidden)
        again = gate.execute(BY_DEPT)
    assert again.fetchall() == first.fetchall()
    assert (again.decision.code, again.decision.message) == ("partial", first.decision.message)
    assert [len(entry.answers) for entry in entries(gate)] == [3, 0]


def test_what_was_withheld_stays_so_without_deciding_while_nothing_settles_it(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever else is learned meanwhile, and also where nothing of the statement was told."""
    first, other = gate.execute(BY_DEPT), "SELECT sum(salary) FROM staff WHERE age < 40 AND dept < 'd'"
    rows = first.fetchall()
    alone = "SELECT dept, sum(salary) FROM staff WHERE dept > 'd' GROUP BY dept"
    refused = verdict(gate, alone)
    assert refused.code == "risk"
    assert verdict(gate, other).code == "answered"

    def forbidden(*_: object) -> None:
        raise AssertionError("decided again")

    monkeypatch.setattr("auditor.gate.suppress.decide", forbidden)
    for _ in range(2):
        again = gate.execute(BY_DEPT)
        assert again.fetchall() == rows
        assert (again.decision.code, again.decision.message) == ("partial", first.decision.message)
        said = verdict(gate, alone)
        assert (said.code, said.message, said.hint) == ("risk", refused.message, refused.hint)
    assert [len(entry.answers) for entry in entries(gate)] == [3, 0, 1, 0, 0, 0, 0]


@pytest.mark.parametrize("where", ["dept = 'c'", "dept IN ('a', 'c')"])
def test_what_was_withheld_is_given_once_later_answers_settle_it(
    gate: Gate, database: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """A surprise withholds a group that is asked by itself, or with another one, later."""
    sql = "SELECT dept, sum(salary) FROM staff WHERE dept < 'd' GROUP BY dept ORDER BY dept"
    real = suppress.decide

    def surprised(cases: list[Case], *more: object) -> Outcome:
        if len(cases[0].queries) < 3:
            return real(cases, *more)  # type: ignore[arg-type]
        return Outcome("risk", (Part(surprise=True, given=False, open=(cases[0].queries[0],)),))

    with monkeypatch.context() as patched:
        patched.setattr(suppress, "decide", surprised)
        withheld = gate.execute(sql).fetchall()
        assert [total is None for _, total in withheld].count(True) == 1
        assert gate.execute(sql).fetchall() == withheld
    lost = next(dept for dept, total in withheld if total is None)
    beside = next(dept for dept, total in withheld if total is not None)
    where = where.replace("'a'", f"'{beside}'").replace("'c'", f"'{lost}'")
    assert verdict(gate, f"SELECT sum(salary) FROM staff WHERE {where}").code == "answered"
    assert gate.execute(sql).fetchall() == truth(database, sql)
    assert entries(gate)[-1].code == "known"


def test_what_another_gate_was_told_of_a_withheld_group_is_given_once_it_is_heard(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was heard and not learned yet may settle anything."""
    sql = "SELECT dept, sum(salary) FROM staff WHERE dept < 'd' GROUP BY dept ORDER BY dept"
    with Gate.open(database, suppressing()) as one, Gate.open(database, suppressing()) as two:
        with monkeypatch.context() as patched:
            patched.setattr(
                suppress,
                "decide",
                lambda cases, *_: Outcome("risk", (Part(surprise=True, given=False, open=cases[0].queries),)),
            )
            assert verdict(one, sql).code == "risk"
        assert verdict(two, "SELECT sum(salary) FROM staff WHERE dept = 'a'").code == "answered"
        assert verdict(one, sql).code == "risk"
        one._hear()
        assert one.execute(sql).fetchall() == truth(database, sql)


@pytest.mark.slow
def test_when_time_is_over_the_remaining_groups_are_withheld_and_not_for_good(database: Path) -> None:
    with Gate.open(database, suppressing("timeout = 1e-9")) as gate:
        assert verdict(gate, BY_DEPT).code == "time"
    with Gate.open(database, suppressing()) as gate:
        assert gate.execute(BY_DEPT).decision.code == "partial"
    slow = suppressing("timeout = 1e-9")
    with Gate.open(database, slow) as gate:
        some = "CASE WHEN dept < 'c' THEN dept WHEN age < 40 THEN 'young' ELSE 'old' END"
        answer = gate.execute(f"SELECT {some} AS k, sum(salary) FROM staff GROUP BY k ORDER BY k")
        assert answer.decision.code == "partial", "what is known needs no time"
        assert [row[1] is None for row in answer.fetchall()] == [False, False, True, True]
        asked = len(gate.history())
        assert gate.execute(BY_DEPT).decision.code == "partial"
        assert len(gate.history()) == asked + 1


# Ends


def odd(count: int = 60) -> list[Person]:
    """Everybody at random but those of department b, all at the least: their maximum is told as an end."""
    return [
        (*p[:3], "abc"[int(str(p[0])) % 3], 10 if int(str(p[0])) % 3 == 1 else p[4]) for p in people(count, 9)
    ]


HIGHEST = "SELECT dept, max(salary) FROM staff GROUP BY dept ORDER BY dept"


@pytest.mark.slow
def test_a_group_may_be_told_as_an_end_beside_exact_ones(tmp_path: Path) -> None:
    database = build(tmp_path / "odd.duckdb", odd())
    with Gate.open(database, suppressing()) as gate:
        assert gate.check(HIGHEST).code == "answered"
        answer = gate.execute(HIGHEST)
        assert [row[1] is None for row in answer.fetchall()] == [False, True, False]
        assert answer.decision.code == "ends"
        (end,) = answer.ranges
        assert (end.group, end.row, end.column, end.least) == ({"dept": "b"}, 1, "max(salary)", None)
        (told,) = [each for entry in entries(gate) for each in entry.answers if each.kind == "max at most"]
        assert (len(told.records), told.value) == (20, end.most)
        assert gate.history()["surprise"].tolist() == [0, 0]
        assert verdict(gate, "SELECT sum(salary) FROM staff WHERE dept = 'a'").code == "answered"
        backwards = gate.execute(HIGHEST.replace("ORDER BY dept", "ORDER BY dept DESC"))
        assert (backwards.decision.code, backwards.decision.ends, backwards.ranges[0].row) == ("known", 1, 1)
        reversed_keys = HIGHEST.replace("dept, max(salary)", "max(salary) AS m, dept AS d")
        assert gate.execute(reversed_keys).ranges[0].column == "m"


def test_nothing_is_worked_out_from_a_group_that_is_withheld(gate: Gate) -> None:
    shown = "coalesce(sum(salary), 0), sum(salary) IS NULL, CASE WHEN sum(salary) > 0 THEN 1 ELSE 0 END"
    answer = gate.execute(f"SELECT dept, {shown} FROM staff GROUP BY dept ORDER BY dept")
    assert answer.decision.code == "partial"
    assert [row for row in answer.fetchall() if row[0] in "yz"] == [
        ("y", None, None, None),
        ("z", None, None, None),
    ]


# Check


@pytest.mark.slow
def test_check_judges_groups_without_a_true_answer_and_releases_nothing(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(*_: object) -> list[int]:
        raise AssertionError("the vault was read")

    with monkeypatch.context() as patched:
        patched.setattr(gate._knowledge, "truth", forbidden)
        found = gate.check(BY_DEPT)
        assert (found.verdict, found.code) == ("answered", "partial")
        assert gate.check("SELECT id, sum(salary) FROM staff GROUP BY id").code == "risk"
        assert gate.check(BY_DEPT.replace("staff GROUP", "staff WHERE dept < 'd' GROUP")).code == "answered"
    assert [entry.answers for entry in entries(gate)] == [(), (), ()]
    gate.execute(BY_DEPT)
    assert gate.check(BY_DEPT.replace("staff GROUP", "staff WHERE dept < 'd' GROUP")).code == "known"


def test_of_many_records_the_tables_that_groups_are_judged_in_are_thought_up_when_groups_are_asked_for(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confidential, "EARLY", 10)
    monkeypatch.setattr(systems, "SMALL", 10)
    with Gate.open(database, suppressing()) as gate:
        answer = gate.execute("SELECT sum(salary) FROM staff")
        pool = gate._knowledge.of("analyst").columns[0].system.pool
        few = len(pool().values)
        assert answer.decision.code == "answered"
        gate.check(BY_DEPT)
        assert len(pool().values) == few, "a check leaves no trace"
        gate.execute(BY_DEPT)
        assert (few, len(pool().values)) == (systems.POOL, confidential.GROUP_WORLDS)
