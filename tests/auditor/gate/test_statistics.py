"""Ranges of counts and quantiles, as somebody at a gate has them."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from auditor import Gate, QueryRefused, QueryUnsupported
from auditor.sql.dialects import Dialect
from tests.auditor.staff import build, entries, people, policy, verdict

ENDS = "AT_LEAST({0}) AS low, AT_MOST({0}) AS high"
RICH = "COUNT_IF(salary > 150)"
ASKED = [
    RICH,
    "COUNT(*) FILTER (WHERE salary BETWEEN 50 AND 120 AND age < 50)",
    "SUM(CASE WHEN salary <= 80 THEN 1 ELSE 0 END)",
    "100 * AVG(CASE WHEN salary <= 80 THEN 1.0 ELSE 0 END)",
    "MEDIAN(salary)",
    "QUANTILE_CONT(salary, 0.9)",
    "QUANTILE_DISC(salary, 0.25)",
]
FROM_ALL = [
    "STDDEV(salary)",
    "STDDEV_SAMP(salary)",
    "STDDEV_POP(salary) FILTER (WHERE age < 60)",
    "VARIANCE(salary)",
    "VAR_SAMP(salary)",
    "VAR_POP(salary)",
    "SUM(salary * age)",
    "AVG(2 * age * salary)",
    "COVAR_POP(salary, age)",
    "COVAR_SAMP(age, salary)",
    "REGR_SLOPE(salary, age)",
    "REGR_INTERCEPT(salary, age)",
    "CORR(age, salary)",
    "CORR(salary, age) FILTER (WHERE age < 60)",
    "REGR_R2(salary, age)",
]
"""What hangs on every member."""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return build(tmp_path / "staff.duckdb", people(300, 3))


def ends_of(sql: str) -> str:
    """The two ends of an aggregate; a factor stays outside."""
    factor, _, aggregate = sql.rpartition(" * ")
    times = f"{factor} * " if factor else ""
    return f"{times}AT_LEAST({aggregate}) AS low, {times}AT_MOST({aggregate}) AS high"


def true_values(database: Path, sql: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(database), read_only=True) as connection:
        return connection.execute(sql).fetchall()


@pytest.mark.parametrize("where", ["", " WHERE age >= 40", " WHERE sex = 'f'"])
@pytest.mark.parametrize("aggregate", ASKED)
def test_the_true_value_lies_inside_and_the_range_says_something(
    aggregate: str, where: str, database: Path
) -> None:
    with Gate.open(database, policy()) as gate:
        answer = gate.execute(f"SELECT {ends_of(aggregate)} FROM staff{where}")
        assert answer.decision.code == "ends"
        ((low, high),) = answer.fetchall()
        ((true,),) = true_values(database, f"SELECT {aggregate} FROM staff{where}")
        assert low <= float(str(true)) <= high
        assert (low, high) != (0, 100 if "AVG" in aggregate else 250 if "salary, " in aggregate else 300)
        assert low < high
        (told,) = answer.ranges
        assert "salary" in told.name


def test_groups_have_their_ranges_and_later_sums_keep_them(database: Path) -> None:
    by_dept = f"SELECT dept, {ENDS.format(RICH)} FROM staff GROUP BY dept ORDER BY dept"
    with Gate.open(database, policy()) as gate:
        first = gate.execute(by_dept).fetchall()
        true = dict(true_values(database, f"SELECT dept, {RICH} FROM staff GROUP BY dept"))
        assert len(first) == 4
        assert all(low <= true[dept] <= high for dept, low, high in first)
        total = gate.execute("SELECT SUM(salary) FROM staff WHERE age > 30").fetchall()
        assert total == true_values(database, "SELECT SUM(salary) FROM staff WHERE age > 30")
        assert gate.execute(by_dept).fetchall() == first


@pytest.mark.slow
def test_the_same_is_told_again_also_by_a_gate_that_is_opened_later(database: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "staff.ledger"
    asked = [f"SELECT {ends_of(each)} FROM staff" for each in ASKED]
    with Gate.open(database, policy(), ledger) as gate:
        told = [gate.execute(sql).fetchall() for sql in asked]
        mean = gate.execute("SELECT AVG(salary) FROM staff").fetchall()
    with Gate.open(database, policy(), ledger) as gate:
        assert [gate.execute(sql).fetchall() for sql in asked] == told
        other = f"SELECT AT_LEAST({RICH}) AS something_else FROM staff WHERE id >= 0"
        assert gate.execute(other).fetchall() == [(told[0][0][0],)]
        assert gate.execute("SELECT AVG(salary) FROM staff").fetchall() == mean
        assert set(gate.history()["code"].tail(9)) == {"known"}
        # and further questions are answered, with all of that kept
        assert gate.execute(f"SELECT {ENDS.format('MEDIAN(salary)')} FROM staff WHERE sex = 'm'").ranges
        assert not gate.verify().problems
        assert next(answer.detail for entry in entries(gate) for answer in entry.answers) == "15..24"


def test_outside_of_the_two_the_hint_has_the_statement(database: Path) -> None:
    with Gate.open(database, policy()) as gate:
        said = verdict(gate, f"SELECT dept, {RICH} AS rich FROM staff GROUP BY dept ORDER BY dept")
        assert (said.verdict, said.code) == ("refused", "range")
        assert said.message == "COUNT_IF(salary > 150) is told as a range alone: salary is protected."
        shown = said.hint.rpartition(": ")[2]
        assert len(gate.execute(shown).fetchall()) == 4
        assert verdict(gate, "SELECT MEDIAN(salary) FROM staff").code == "range"
    with Gate.open(
        database, policy('[decision]\nranges = "never"\n'), database.with_suffix(".other")
    ) as gate:
        said = verdict(gate, "SELECT MEDIAN(salary) FROM staff")
        assert "AT_LEAST" not in said.hint
        assert verdict(gate, "SELECT AT_LEAST(MEDIAN(salary)) FROM staff").code == "ranges-never"


def test_few_people_have_no_range(database: Path) -> None:
    with Gate.open(database, policy()) as gate:
        for aggregate in ("MEDIAN(salary)", RICH):
            with pytest.raises(QueryRefused) as refused:
                gate.execute(f"SELECT {ENDS.format(aggregate)} FROM staff WHERE id < 3")
            assert refused.value.decision.code == "risk"


def test_a_count_of_all_or_of_nobody_is_public(database: Path) -> None:
    """Salaries lie between 10 and 250: that is the domain, and no value is looked at."""
    with Gate.open(database, policy()) as gate:
        some = "AT_LEAST(COUNT_IF(salary > 5)) AS a, AT_MOST(COUNT_IF(salary > 900)) AS b"
        more = "AT_LEAST(COUNT_IF(salary < 900)) AS c, AT_MOST(COUNT_IF(salary < 5)) AS d"
        assert gate.execute(f"SELECT {some}, {more} FROM staff WHERE id < 3").fetchall() == [(3, 0, 3, 0)]
        assert gate.history()["code"].tolist() == ["known"]


@pytest.mark.parametrize(
    ("asked", "other"),
    [
        ("salary >= 100", "salary < 100"),
        ("salary BETWEEN 50 AND 120", "salary NOT BETWEEN 50 AND 120"),
        ("salary = 80", "salary <> 80"),
        ("salary > 60 AND NOT salary IN (100, 150)", "salary <= 60 OR salary = 100 OR salary = 150"),
    ],
)
def test_who_knows_how_many_are_in_a_region_knows_how_many_are_not(
    asked: str, other: str, database: Path
) -> None:
    with Gate.open(database, policy()) as gate:
        ((low, high),) = gate.execute(f"SELECT {ENDS.format(f'COUNT_IF({asked})')} FROM staff").fetchall()
        answer = gate.execute(f"SELECT {ENDS.format(f'SUM(CASE WHEN {other} THEN 1 ELSE 0 END)')} FROM staff")
        ((people,),) = true_values(database, "SELECT COUNT(salary) FROM staff")
        assert answer.fetchall() == [(people - high, people - low)]
        assert gate.history()["code"].iloc[-1] == "known"
        assert len([answer for entry in entries(gate) for answer in entry.answers]) == 1


@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
@pytest.mark.parametrize(
    ("quantile", "plain"),
    [
        ("PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY salary)", "QUANTILE_CONT(salary, 0.9)"),
        ("PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY salary ASC)", "MEDIAN(salary)"),
        (
            "percentile_disc(0.25) WITHIN GROUP (ORDER BY salary) FILTER (WHERE sex = 'f')",
            "QUANTILE_DISC(salary, 0.25) FILTER (WHERE sex = 'f')",
        ),
    ],
)
def test_percentiles_within_group_are_quantiles(
    quantile: str, plain: str, dialect: Dialect, database: Path
) -> None:
    with Gate.open(database, policy()) as gate:
        ((low, high),) = gate.execute(
            f"SELECT {ENDS.format(quantile)} FROM staff", dialect=dialect
        ).fetchall()
        ((true,),) = true_values(database, f"SELECT {plain} FROM staff")
        assert low <= float(str(true)) <= high
        assert (low, high) != (10, 250)
        assert gate.execute(f"SELECT {ENDS.format(plain)} FROM staff").fetchall() == [(low, high)]


@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
@pytest.mark.parametrize(
    "quantile",
    [
        "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY salary DESC)",
        "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY salary, age)",
        "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY 2 * salary)",
        "PERCENTILE_CONT(salary) WITHIN GROUP (ORDER BY salary)",
        "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age)",
        "MODE() WITHIN GROUP (ORDER BY salary)",
    ],
)
def test_other_orders_within_group_are_not_understood(
    quantile: str, dialect: Dialect, database: Path
) -> None:
    with Gate.open(database, policy()) as gate, pytest.raises(QueryUnsupported):
        gate.execute(f"SELECT AT_LEAST({quantile}) FROM staff", dialect=dialect)


def test_where_groups_count_as_learned_such_ranges_are_refused(database: Path) -> None:
    """What a range says of a whole group is not weighed, so nothing is told where it would have to be."""
    prior = policy('[intruder]\nbaseline = "prior"\n', limit="risk = 0.9")
    with Gate.open(database, prior) as gate:
        said = verdict(gate, f"SELECT {ENDS.format('MEDIAN(salary)')} FROM staff")
        assert (said.verdict, said.code) == ("refused", "risk")


def test_check_foresees_and_tells_nothing(database: Path) -> None:
    few = f"SELECT {ENDS.format('MEDIAN(salary)')} FROM staff WHERE id < 2"
    with Gate.open(database, policy()) as gate:
        assert gate.check(f"SELECT {ENDS.format(RICH)} FROM staff").verdict == "answered"
        assert gate.check(few).verdict == "refused"
        assert not any(entry.answers for entry in entries(gate))


def test_the_true_answer_alone_may_decide_too(database: Path) -> None:
    with Gate.open(database, policy('[decision]\nmode = "answer-dependent"\n')) as gate:
        ((low, high),) = gate.execute(f"SELECT {ENDS.format(RICH)} FROM staff").fetchall()
        ((true,),) = true_values(database, f"SELECT {RICH} FROM staff")
        assert low <= float(str(true)) <= high < low + 8


@pytest.mark.slow
def test_mixed_with_exact_sums_each_is_judged_by_itself(database: Path) -> None:
    ends, of_staff = ENDS.format("MEDIAN(salary)"), "FROM staff GROUP BY dept"
    true = {}
    for dept, total, median in true_values(database, f"SELECT dept, SUM(salary), MEDIAN(salary) {of_staff}"):
        true[dept] = total, float(str(median))
    with Gate.open(database, policy()) as gate:
        rows = gate.execute(f"SELECT dept, SUM(salary) AS total, {ends} {of_staff}").fetchall()
    assert len(rows) == 4
    assert any(row[2] is not None for row in rows)
    for dept, total, low, high in rows:
        assert total in (None, true[dept][0])
        assert low is None or low <= true[dept][1] <= high


@pytest.mark.slow
def test_a_condition_on_values_in_where_is_one_under_filter(database: Path) -> None:
    count = "AT_LEAST(COUNT(*){0}) AS low, AT_MOST(COUNT(*){0}) AS high FROM staff{1}"
    with Gate.open(database, policy()) as gate:
        told = gate.execute("SELECT " + count.format("", " WHERE salary > 100"))
        again = gate.execute("SELECT " + count.format(" FILTER (WHERE salary > 100)", ""))
        assert again.decision.code == "known"
        assert told.fetchall() == again.fetchall()
        groups = gate.execute("SELECT dept, " + count.format("", " WHERE salary > 100 GROUP BY dept"))
        assert len(groups.fetchall()) == len(gate.execute("SELECT DISTINCT dept FROM staff").fetchall())


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("many") / "staff.duckdb", people(1000, 3))


@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
@pytest.mark.parametrize("aggregate", FROM_ALL)
@pytest.mark.slow
def test_what_hangs_on_every_member_lies_inside_in_both_dialects(
    aggregate: str, dialect: Dialect, many: Path, tmp_path: Path
) -> None:
    with Gate.open(many, policy(), tmp_path / "ledger") as gate:
        answer = gate.execute(f"SELECT {ENDS.format(aggregate)} FROM staff", dialect=dialect)
        ((low, high),) = answer.fetchall()
        ((true,),) = true_values(many, f"SELECT {aggregate} FROM staff")
        assert answer.decision.code == "ends"
        assert low <= float(str(true)) <= high
        assert low < high
        again = gate.execute(f"SELECT {ENDS.format(aggregate)} FROM staff WHERE id >= 0", dialect=dialect)
        assert (again.fetchall(), again.decision.code) == ([(low, high)], "known")
        assert not gate.verify().problems


@pytest.mark.slow
def test_deviations_of_one_kind_are_one_question_and_later_sums_keep_them(many: Path, tmp_path: Path) -> None:
    asked = [f"SELECT {ENDS.format(each)} FROM staff" for each in ("VAR_POP(salary)", "SUM(salary * age)")]
    with Gate.open(many, policy(), tmp_path / "ledger") as gate:
        gate.execute("SELECT SUM(salary) FROM staff")
        ((low, high),) = gate.execute(asked[0]).fetchall()
        told = gate.execute(asked[1]).fetchall()
        for other in ("STDDEV_POP(salary)", "VAR_SAMP(salary)", "STDDEV(salary)", "VARIANCE(salary)"):
            assert gate.execute(f"SELECT {ENDS.format(other)} FROM staff").decision.code == "known"
        ((root_low, root_high),) = gate.execute(
            f"SELECT {ENDS.format('STDDEV_POP(salary)')} FROM staff"
        ).fetchall()
        assert (root_low, root_high) == pytest.approx((low**0.5, high**0.5))
        average = "SELECT AT_LEAST(SUM(salary * age)) / SUM(age) AS low FROM staff"
        assert gate.execute(average).decision.code == "known"
    with Gate.open(many, policy(), tmp_path / "ledger") as gate:
        assert [gate.execute(sql).fetchall() for sql in asked] == [[(low, high)], told]
        assert gate.execute("SELECT SUM(salary) FROM staff").decision.code == "known"
        assert not gate.verify().problems


@pytest.mark.slow
def test_groups_have_ranges_of_weighted_sums_and_deviations(many: Path, tmp_path: Path) -> None:
    for aggregate in ("STDDEV(salary)", "AVG(salary * age)"):
        sql = f"SELECT sex, {ENDS.format(aggregate)} FROM staff GROUP BY sex ORDER BY sex"
        with Gate.open(many, policy(), tmp_path / aggregate.replace("*", "")) as gate:
            told = gate.execute(sql).fetchall()
            true = dict(true_values(many, f"SELECT sex, {aggregate} FROM staff GROUP BY sex"))
            assert len(told) == 2
            assert all(low <= true[sex] <= high for sex, low, high in told if low is not None)
            assert any(low is not None for _, low, _ in told)


def test_one_person_has_no_deviation_and_equal_weights_no_covariance(many: Path, tmp_path: Path) -> None:
    """Nobody's value is looked at: NULL, also where DuckDB has NaN, and 0."""
    with Gate.open(many, policy(), tmp_path / "ledger") as gate:
        one = "FROM staff WHERE id = 7"
        assert gate.execute(f"SELECT AT_LEAST(STDDEV(salary)) AS a {one}").fetchall() == [(None,)]
        assert gate.execute(f"SELECT AT_LEAST(STDDEV_POP(salary)) AS a {one}").fetchall() == [(0.0,)]
        same = "SELECT AT_LEAST(COVAR_POP(salary, age)) AS a, AT_MOST(REGR_SLOPE(salary, age)) AS b"
        assert gate.execute(f"{same} FROM staff WHERE age = 40").fetchall() == [(0.0, None)]
        assert set(gate.history()["code"]) <= {"known", "public"}
