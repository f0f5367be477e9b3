"""AT_LEAST and AT_MOST: the ends of what is told, decided and recorded as the aggregate itself would be."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from auditor import Gate, QueryRefused, QueryUnsupported
from tests.auditor.staff import HIGH, LOW, OUTSIDERS, Person, build, entries, people, policy, truth, verdict
from tests.quick import some

HIGHEST = "SELECT AT_LEAST(max(salary)) AS lo, AT_MOST(max(salary)) AS hi FROM staff"
BY_DEPT = "SELECT dept, AT_LEAST({0}) AS lo, AT_MOST({0}) AS hi FROM staff GROUP BY dept ORDER BY dept"


def low_paid(count: int = 100, seed: int = 1) -> list[Person]:
    """Everybody at the least, so that a maximum is told as an end."""
    return [(*person[:-1], LOW) for person in people(count, seed)]


def mixed(count: int = 60) -> list[Person]:
    """At random but for department b, all at the least, and z, of one person."""
    persons = [(*p[:3], "abc"[int(str(p[0])) % 3], p[4]) for p in people(count, 9)]
    persons = [(*p[:4], LOW if p[3] == "b" else p[4]) for p in persons]
    return [*persons[:-1], (*persons[-1][:3], "z", persons[-1][4])]


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    return build(tmp_path / "odd.duckdb", low_paid())


@pytest.fixture
def groups(tmp_path: Path) -> Path:
    return build(tmp_path / "groups.duckdb", mixed())


def test_both_give_the_value_where_it_is_given_exactly(tmp_path: Path) -> None:
    database = build(tmp_path / "staff.duckdb", people(100))
    shown = ", ".join(f"{word}({f}(salary))" for f in ("sum", "avg") for word in ("AT_LEAST", "AT_MOST"))
    with Gate.open(database, policy()) as gate:
        answer = gate.execute(f"SELECT {shown} FROM staff")
        [(total, average)] = truth(database, "SELECT sum(salary)::DOUBLE, avg(salary) FROM staff")
        assert answer.fetchall() == [(total, total, average, average)]
        assert (answer.decision.code, answer.ranges, set(answer.types)) == ("answered", (), {"DOUBLE"})


def test_an_end_stands_in_one_and_what_is_known_anyway_in_the_other(odd: Path) -> None:
    with Gate.open(odd, policy()) as gate:
        answer = gate.execute(HIGHEST)
        (end,) = answer.ranges
        assert answer.fetchall() == [(LOW, float(end.most or 0))]
        assert (answer.decision.code, answer.decision.hint) == ("ends", "")
        assert answer.decision.message.endswith(": AT_LEAST and AT_MOST give it.")
        assert "NULL" not in answer.decision.message


def test_whoever_asks_again_in_any_words_gets_the_same(odd: Path) -> None:
    """After a restart, too."""
    with Gate.open(odd, policy()) as gate:
        first = gate.execute(HIGHEST).fetchall()
        for sql in (HIGHEST, HIGHEST.replace("AT_LEAST(max(salary))", "at_least((max(salary)))")):
            again = gate.execute(sql)
            assert (again.fetchall(), again.decision.code) == (first, "known")
        assert gate.execute("SELECT max(salary) FROM staff").decision.code == "known"
        assert [len(entry.answers) for entry in entries(gate)] == [1, 0, 0, 0]
    with Gate.open(odd, policy()) as gate:
        assert gate.execute(HIGHEST).fetchall() == first


@pytest.mark.parametrize(
    ("sql", "shown"),
    [
        ("SELECT count(*) FROM staff HAVING AT_MOST(max(salary)) > 100", [(100,)]),
        ("SELECT count(*) FROM staff HAVING AT_MOST(max(salary)) > 240", []),
        ("SELECT count(*), max(salary) FROM staff HAVING AT_LEAST(max(salary)) > 1", [(100, None)]),
        ("SELECT 1 AS a WHERE (SELECT AT_LEAST(max(salary)) FROM staff) < 20", [(1,)]),
        ("SELECT hi - lo > 100 FROM (" + HIGHEST + ")", [(True,)]),
        ("WITH q AS (" + HIGHEST + ") SELECT coalesce(lo, -1) FROM q", [(LOW,)]),
        ("SELECT AT_LEAST(m) FROM (SELECT max(salary) AS m FROM staff)", [(LOW,)]),
        ("SELECT sex FROM staff GROUP BY sex ORDER BY AT_MOST(max(salary)), sex", [("f",), ("m",)]),
    ],
)
def test_what_hangs_on_ends_is_answered(sql: str, shown: list[tuple[object, ...]], odd: Path) -> None:
    with Gate.open(odd, policy(OUTSIDERS)) as gate:
        assert gate.execute(sql).fetchall() == shown


def test_a_condition_on_the_value_itself_is_refused_as_ever(odd: Path) -> None:
    with Gate.open(odd, policy()) as gate:
        sql = "SELECT AT_MOST(max(salary)) AS hi FROM staff HAVING max(salary) > 1"
        decision = verdict(gate, sql)
        assert (decision.verdict, decision.code) == ("refused", "range")
        assert gate.execute(decision.hint.split(": ", 1)[1]).decision.verdict == "answered"


def test_each_group_has_ends_of_its_own(groups: Path) -> None:
    with Gate.open(groups, policy(OUTSIDERS)) as gate:
        answer = gate.execute(BY_DEPT.format("max(salary)"))
        rows = {dept: (lo, hi) for dept, lo, hi in answer.fetchall()}
        exact = dict(truth(groups, "SELECT dept, max(salary) FROM staff GROUP BY dept"))
        assert answer.decision.code == "partial"
        assert rows["a"] == (exact["a"], exact["a"])
        (end,) = answer.ranges
        assert rows["b"] == (LOW, end.most)
        assert rows["z"] == (None, None), "nothing is told of it"


def test_nothing_is_worked_out_from_ends_of_a_group_that_is_withheld(groups: Path) -> None:
    sql = (
        "SELECT dept, coalesce(AT_LEAST(sum(salary)), -1), AT_MOST(sum(salary)) IS NULL FROM staff GROUP BY 1"
    )
    with Gate.open(groups, policy(OUTSIDERS)) as gate:
        rows = {row[0]: row[1:] for row in gate.execute(sql).fetchall()}
        assert rows["z"] == (None, None)
        assert rows["a"][1] is False


def test_check_says_of_ends_what_it_says_of_the_aggregate(groups: Path) -> None:
    with Gate.open(groups, policy()) as gate:
        plain = gate.check("SELECT dept, max(salary) FROM staff GROUP BY dept")
        said = gate.check(BY_DEPT.format("max(salary)"))
        assert (said.verdict, said.code) == (plain.verdict, plain.code)
        assert not any(entry.answers for entry in entries(gate))


def test_a_policy_may_refuse_both(odd: Path) -> None:
    with Gate.open(odd, policy('[decision]\nranges = "never"')) as gate:
        assert verdict(gate, HIGHEST).code == "ranges-never"
        assert gate.check(HIGHEST).code == "ranges-never"
        with pytest.raises(QueryUnsupported):
            gate.describe(HIGHEST)
        assert [len(entry.answers) for entry in entries(gate)] == [0, 0]
        plain = gate.execute("SELECT max(salary) FROM staff")
        assert (plain.decision.code, plain.decision.hint) == ("ends", "")


HINTED = [
    "SELECT max(salary) FROM staff",
    "SELECT max(salary) AS m, count(*) AS n FROM staff ORDER BY 2, m DESC",
    'SELECT sex, 2 * max(salary) AS "the most" FROM staff GROUP BY 1 HAVING "the most" < 999 ORDER BY 1',
    "SELECT count(*) FROM staff HAVING max(salary) > 5 AND 600 > max(salary)",
    "SELECT max(salary) FILTER (WHERE age > $1) FROM staff",
]


@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
@pytest.mark.parametrize("sql", HINTED)
@pytest.mark.slow
def test_the_hint_of_an_end_is_a_statement_that_shows_it(sql: str, dialect: str, odd: Path) -> None:
    if dialect == "postgres" and 'HAVING "' in sql:
        sql = sql.replace('HAVING "the most"', "HAVING max(salary)")
    values = [21] if "$1" in sql else None
    with Gate.open(odd, policy(OUTSIDERS)) as gate:
        try:
            said = gate.execute(sql, values, dialect=dialect).decision  # type: ignore[arg-type]
        except QueryRefused as refusal:
            said = refusal.decision
        assert said.code in ("ends", "range")
        instead = said.hint.split("AT_LEAST and AT_MOST give the ends as columns: ")[1]
        answer = gate.execute(instead, values, dialect=dialect)  # type: ignore[arg-type]
        assert (answer.decision.code, answer.decision.hint) == ("known", "")
        assert all(value is not None for row in answer.fetchall() for value in row)


def test_of_a_published_statement_the_value_is_known(tmp_path: Path) -> None:
    rules = policy('[intruder]\npublished = ["SELECT AT_LEAST(avg(salary)) FROM staff"]')
    database = build(tmp_path / "staff.duckdb", people(100))
    with Gate.open(database, rules) as gate:
        assert gate.execute("SELECT avg(salary) FROM staff").decision.code == "known"


WHERE = ["", "WHERE age < 40", "WHERE sex = 'f'", "WHERE dept <> 'b'", "WHERE id % 3 = 0", "WHERE age > 58"]
AGGREGATES = [
    "sum(salary)", "avg(salary)", "min(salary)", "max(salary)", "avg(2 * salary - 5)", "max(-salary)",
    "sum(CASE WHEN sex = 'f' THEN salary ELSE -salary END)", "sum(salary) FILTER (WHERE age > 30)",
]  # fmt: skip
KEYS = ["", "dept", "sex", "age // 10, sex", "ROLLUP (dept)"]


def skewed(rng: random.Random) -> list[Person]:
    """Tables in which random ones are seldom right."""
    usual = rng.choice([[LOW], [HIGH], [LOW, 20, 30], range(LOW, HIGH + 1, 10)])
    persons = people(rng.choice([40, 70]), rng.randrange(99))
    return [(*p[:4], rng.choice(usual if rng.random() < 0.9 else range(LOW, HIGH + 1, 10))) for p in persons]


def asked(rng: random.Random) -> tuple[str, str, int]:
    """A statement of aggregates, the same with their ends, and how many keys it has."""
    keys, where = rng.choice(KEYS), rng.choice(WHERE)
    chosen = rng.sample(AGGREGATES, rng.choice([1, 1, 2]))
    group = f"GROUP BY {keys}" if keys else ""
    names = keys.replace("ROLLUP (", "").replace(")", "")
    count = names.count(",") + 1 if names else 0
    order = f"ORDER BY {', '.join(str(i + 1) for i in range(count))}" if names else ""
    first = f"{names}, " if names else ""
    ends = [f"{word}({each})" for each in chosen for word in ("AT_LEAST", "AT_MOST")]
    plain, ranged = (
        f"SELECT {first}{', '.join(values)} FROM staff {where} {group} {order}" for values in (chosen, ends)
    )
    return plain, ranged, count


@pytest.mark.parametrize("seed", some([0, 1, 2, 3, 6, 9], 1))  # each policy; up to two minutes
@pytest.mark.slow
def test_ends_hold_the_truth_and_are_decided_and_recorded_like_values(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    database = build(tmp_path / "staff.duckdb", skewed(rng))
    rules = policy(rng.choice(["", OUTSIDERS, '[decision]\npartial = "refuse"']))
    ledgers = tmp_path / "a", tmp_path / "b"
    apart = False
    with Gate.open(database, rules, ledgers[0]) as one, Gate.open(database, rules, ledgers[1]) as other:
        for _ in range(5):
            plain, ranged, keys = asked(rng)
            before, after = verdict(one, plain), verdict(other, ranged)
            # who asks for ends may be told a range there: from then on they know different things
            apart |= before.verdict == "refused" or before.code == "partial"
            if apart:
                if after.verdict == "answered":
                    _hold_the_truth(other, ranged, truth(database, plain), keys)
                continue
            assert replace(after, message="", hint="") == replace(before, message="", hint=""), plain
            known = [[each.answers for each in entries(gate)][-1] for gate in (one, other)]
            assert known[0] == known[1], plain
            if after.verdict != "answered":
                continue
            rows, values = other.execute(ranged), one.execute(plain)
            assert rows.ranges == tuple(_without_place(each) for each in values.ranges)
            for found, given, right in zip(
                rows.fetchall(), values.fetchall(), truth(database, plain), strict=True
            ):
                assert found[:keys] == right[:keys]
                for i in range(len(right) - keys):
                    lo, hi = found[keys + 2 * i : keys + 2 * i + 2]
                    value, true = given[keys + i], right[keys + i]
                    if value is not None:
                        assert lo == hi == value == true
                    elif true is not None and lo is not None:
                        assert lo <= true <= hi
                        assert lo < hi
                    else:
                        assert lo is hi is None
        assert other.verify().problems == ()


def _hold_the_truth(gate: Gate, ranged: str, true: list[tuple[object, ...]], keys: int) -> None:
    for found, right in zip(gate.execute(ranged).fetchall(), true, strict=True):
        assert found[:keys] == right[:keys]
        for lo, value, hi in zip(found[keys::2], right[keys:], found[keys + 1 :: 2], strict=True):
            assert (lo is None) == (hi is None)
            assert lo is None or value is None or lo <= value <= hi  # type: ignore[operator]


def _without_place(end: object) -> object:
    return replace(end, row=None, column=None)  # type: ignore[type-var]


def test_ends_are_rounded_so_that_they_stay_true(tmp_path: Path) -> None:
    """An average of seven is no DOUBLE: what is told lies outside of it."""
    rows = [(*p[:-1], LOW) for p in people(70)]
    sql = "SELECT AT_LEAST(avg(salary)), AT_MOST(avg(salary)) FROM staff WHERE id < 47"
    with Gate.open(build(tmp_path / "staff.duckdb", rows), policy(OUTSIDERS)) as gate:
        answer = gate.execute(sql)
        [(lo, hi)] = answer.fetchall()
        (end,) = answer.ranges
        assert Fraction(lo) <= (end.least or LOW) <= LOW <= (end.most or HIGH) <= Fraction(hi)


SHAPES = [
    "SELECT {x} AS v FROM staff {where}",
    "SELECT dept, {x} AS v, count(*) FROM staff {where} GROUP BY dept ORDER BY {y}, dept",
    "SELECT sex, {x} - {y} AS v FROM staff {where} GROUP BY sex HAVING {y} > 60 ORDER BY sex",
    "SELECT dept FROM staff {where} GROUP BY dept HAVING coalesce({x}, 0) < 90 OR {y} IS NULL ORDER BY dept",
    "SELECT v FROM (SELECT dept, {x} AS v FROM staff {where} GROUP BY dept) WHERE dept < 'c' ORDER BY v",
    "WITH q AS (SELECT dept, {x} AS v FROM staff {where} GROUP BY dept) SELECT max(v), count(v) FROM q",
    "SELECT dept, {x} AS v, rank() OVER (ORDER BY {y}) AS r FROM staff {where} GROUP BY dept ORDER BY dept",
    "SELECT count(*) FROM staff {where} HAVING {x} > 100",
    "SELECT 7 WHERE (SELECT {x} FROM staff {where}) > (SELECT {y} FROM staff)",
    "SELECT {x} FROM staff {where} UNION SELECT {y} FROM staff ORDER BY 1",
]


def anything(rng: random.Random) -> str:
    """A statement of aggregates and ends in all places."""
    kinds = ["AT_LEAST({})", "AT_MOST({})", "{}"]
    x, y = (rng.choice(kinds).format(rng.choice(["max(salary)", "avg(salary)", "min(salary)"])) for _ in "xy")
    return rng.choice(SHAPES).format(x=x, y=y, where=rng.choice(WHERE))


def said(gate: Gate, sql: str) -> tuple[object, ...]:
    """All that somebody hears."""
    try:
        answer = gate.execute(sql)
    except QueryRefused as refusal:
        return (refusal.decision,)
    return answer.decision, answer.ranges, answer.fetchall()


@pytest.mark.parametrize("seed", some([0, 1, 3, 4, 6, 7, 8, 12], 1))
@pytest.mark.slow
def test_tables_of_which_the_same_is_on_record_are_told_the_same(seed: int, tmp_path: Path) -> None:
    """Where it lies beyond an end nobody hears, in whatever words: not in rows, their order or number."""
    rng = random.Random(seed)
    persons = low_paid(60, seed)
    other = [(*p[:-1], rng.choice([LOW, 20, 30])) for p in persons]
    files = [build(tmp_path / f"{i}.duckdb", rows) for i, rows in enumerate((persons, other))]
    with Gate.open(files[0], policy(OUTSIDERS)) as one, Gate.open(files[1], policy(OUTSIDERS)) as another:
        for sql in (HIGHEST, *(anything(rng) for _ in range(24))):
            heard = said(one, sql), said(another, sql)
            last = [entries(gate)[-1] for gate in (one, another)]
            if last[0].answers != last[1].answers or last[0].surprises != last[1].surprises:
                break
            assert heard[0] == heard[1], sql


# --- ranges in place of refusals

EXACT, BUT_FEW = "SELECT sum(salary) FROM staff", "SELECT sum(salary) AS s FROM staff WHERE age >= 21"
ENDS_OF_IT = (
    "SELECT AT_LEAST(SUM(salary)) AS s_at_least, AT_MOST(SUM(salary)) AS s_at_most FROM staff WHERE age >= 21"
)


def with_one_of_twenty(count: int = 300) -> list[Person]:
    """One person alone is younger than 21."""
    persons = people(count, 4)
    return [
        (*p[:1], 20 if place == 0 else 21 + int(str(p[1])) % 40, *p[2:]) for place, p in enumerate(persons)
    ]


@pytest.fixture
def one(tmp_path: Path) -> Path:
    return build(tmp_path / "one.duckdb", with_one_of_twenty())


@pytest.mark.slow
def test_where_the_exact_value_is_refused_the_hint_can_be_pasted_and_a_range_is_told(tmp_path: Path) -> None:
    four = [(i, 20 if i < 4 else 21 + i % 30, *rest) for i, _, *rest in people(300, 6)]
    one = build(tmp_path / "four.duckdb", four)
    with Gate.open(one, policy()) as gate:
        gate.execute(EXACT)
        with pytest.raises(QueryRefused) as refused:
            gate.execute(BUT_FEW)
        sql = refused.value.decision.hint.rpartition(": ")[2]
        assert sql == ENDS_OF_IT
        assert gate.check(sql).verdict == "answered"
        answer = gate.execute(sql)
        [(low, high)] = answer.fetchall()
        [(exact,)] = truth(one, BUT_FEW)
        assert low < exact < high
        assert answer.decision.code == "ends"
        [told] = answer.ranges
        assert (told.at_least, told.at_most) == (low, high)
        # the same is told to whoever asks again, also by the plain aggregate, and after a restart
        assert gate.execute(sql).fetchall() == [(low, high)]
        assert gate.execute(BUT_FEW).fetchall() == [(None,)]
        assert not gate.verify().problems
    with Gate.open(one, policy()) as gate:
        assert gate.execute(ENDS_OF_IT).fetchall() == [(low, high)]
        assert gate.execute(BUT_FEW).decision.code == "known"


@pytest.mark.slow
def test_of_several_values_each_is_told_as_it_can_be(one: Path) -> None:
    with Gate.open(one, policy()) as gate:
        gate.execute(EXACT)
        ends = ", ".join(f"{word}({f}(salary))" for f in ("avg", "min") for word in ("AT_LEAST", "AT_MOST"))
        answer = gate.execute(f"SELECT {ends} FROM staff WHERE age >= 21")
        [(low, high, *least)] = answer.fetchall()
        [(exact, smallest)] = truth(one, "SELECT avg(salary), min(salary) FROM staff WHERE age >= 21")
        assert low < exact < high
        assert least == [None, None] or least[0] <= smallest <= least[1]


def test_of_groups_those_that_are_withheld_are_told_as_ranges_where_they_can_be(one: Path) -> None:
    by_age = "SELECT age < 22 AS young, {} FROM staff GROUP BY ALL ORDER BY young"
    with Gate.open(one, policy()) as gate:
        gate.execute(EXACT)
        gate.execute("SELECT dept, avg(salary) FROM staff GROUP BY dept")
        answer = gate.execute(by_age.format("AT_LEAST(avg(salary)), AT_MOST(avg(salary))"))
        rows, true = answer.fetchall(), truth(one, by_age.format("avg(salary)"))
        for (_, low, high), (_, exact) in zip(rows, true, strict=True):
            assert (low is None and high is None) or low <= exact <= high
        assert any(low is not None for _, low, _ in rows)


def test_nobody_alone_is_told_as_a_range(one: Path) -> None:
    with Gate.open(one, policy()) as gate:
        for asked in ("age = 20", "id = 7"):
            decision = verdict(
                gate, f"SELECT AT_LEAST(avg(salary)), AT_MOST(avg(salary)) FROM staff WHERE {asked}"
            )
            assert (decision.verdict, decision.code) == ("refused", "risk")


def test_a_policy_without_ranges_offers_none(one: Path) -> None:
    with Gate.open(one, policy('[decision]\nranges = "never"')) as gate:
        gate.execute(EXACT)
        assert "range" not in verdict(gate, BUT_FEW).hint
        assert verdict(gate, ENDS_OF_IT).code == "ranges-never"
