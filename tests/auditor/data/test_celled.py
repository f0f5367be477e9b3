"""A table that exists as cells is asked the same as its rows; what tells rows of one cell apart is not."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from auditor.data import celled, database, units
from auditor.data.database import Database, NeedsRows, NeedsValues, StatementFailed
from auditor.data.relations import ToldApart, _Members, _of_rows
from auditor.data.sources import Celling, Lattice
from auditor.data.units import fill
from auditor.errors import DatabaseError, PolicyError
from auditor.parties.confidential import Confidential
from auditor.policy.policy import Policy
from auditor.sql import Plan, Unsupported, understand
from cae_sql.inference.facts.query import Query
from tests.auditor.data.test_cells import AGGREGATES, CONDITIONS, ENDS, PEOPLE, SOURCES, said
from tests.auditor.sql.gate_double import Protection, make, understood

PUBLIC = ["age", "sex", "dept", "part"]
PROTECTS = [Protection("staff", "salary", PUBLIC), Protection("staff", "bonus", PUBLIC)]
ANY = Lattice(Fraction(0), Fraction(1_000), Fraction(1))
NO_ID = PEOPLE.replace("CREATE VIEW", "ALTER TABLE staff DROP COLUMN id; CREATE VIEW")


def opened(
    given: object, protects: list[Protection] = PROTECTS, cells: bool = True, **more: object
) -> Database:
    celling = Celling((ANY,) * len(protects)) if cells else None
    more = {"public_tables": ["places"], "views": ["adults"], **more}
    return Database.open(given, protects, cells=celling, **more)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Both:
    """One file, opened as records and as cells."""

    rows: Database
    cells: Database

    def told(self, sql: str) -> None:
        """Both ask the same, of the same values, and give the same rows."""
        self.same(understood(self.rows, sql))

    def same(self, plan: Plan) -> None:
        found = []
        for each in (self.rows, self.cells):
            try:
                asked = each.ask(plan)
                values = [true_of(each, one.protected, one.kind, one.records, one.signs) for one in asked]
                table = each.finish(plan, [Fraction(7)] * len(asked)).to_pylist()
                rows = list(map(repr, table))
                ordered = rows if "ORDER BY" in plan.normalised else sorted(rows)
                found.append(([said(one) for one in asked], values, ordered))
            except StatementFailed as error:
                found.append(type(error).__name__)
        assert found[0] == found[1], plan.normalised


def true_of(
    opened: Database, protected: int, kind: str, records: np.ndarray, signs: np.ndarray | None
) -> int:
    vault = opened.vaults[protected]
    values = vault.integers
    if vault.cells is not None:
        values = fill(vault.cells.units, *vault.cells.columns)
    picked = values[records] * (1 if signs is None else signs)
    return int(picked.sum() if kind == "sum" else picked.max() if kind == "max" else picked.min())


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    path = make(tmp_path_factory.mktemp("celled") / "people.duckdb", NO_ID)
    return Both(opened(path, cells=False), opened(path))


@pytest.mark.slow
@given(aggregates=AGGREGATES, source=SOURCES, condition=CONDITIONS, end=ENDS)
def test_random_statements_ask_the_same_of_the_same_values(
    both: Both, aggregates: str, source: str, condition: str, end: str
) -> None:
    plan = understand(f"SELECT {aggregates} FROM {source} WHERE {condition} {end}", None, both.rows.schema)
    assume(isinstance(plan, Plan))
    assert isinstance(plan, Plan)
    both.same(plan)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT SUM(salary), AVG(age), MEDIAN(age), STDDEV(part), MODE(dept) FROM staff",
        "SELECT SUM(a.salary), SUM(b.bonus) FROM staff a JOIN staff b ON a.age = b.age AND a.dept = b.dept",
        "SELECT SUM(a.salary) FROM staff a JOIN staff b ON a.age = b.age",
        "SELECT SUM(salary) FROM (FROM staff QUALIFY RANK() OVER (ORDER BY age) < 99)",
        "SELECT SUM(salary) FROM (SELECT salary, COUNT(*) OVER (PARTITION BY age) n FROM staff) WHERE n > 9",
        "SELECT dept, SUM(salary), LIST(DISTINCT age ORDER BY age) FROM staff GROUP BY dept ORDER BY dept",
        "SELECT COUNT(*), COUNT(salary), SUM(age), AVG(part), COUNT(DISTINCT dept), MAX(age) FROM staff",
        "SELECT age, sex, salary IS NULL AS n FROM staff ORDER BY ALL LIMIT 30 OFFSET 20",
        "SELECT sex, COUNT(*) AS n, COUNT(bonus) FROM staff GROUP BY sex HAVING COUNT(*) > 9 ORDER BY n, sex",
        "SELECT dept, row_number() OVER (ORDER BY age, dept) AS r FROM staff ORDER BY r, dept LIMIT 9",
        "SELECT place, COUNT(*) FROM places LEFT JOIN staff USING (dept) GROUP BY place ORDER BY place",
        "SELECT COUNT(*) FILTER (WHERE age > 21) * 2, COUNT(*) FROM adults",
        "SELECT DISTINCT age, dept FROM staff ORDER BY ALL",
        "SELECT COUNT(*) FROM (SELECT DISTINCT age, part FROM staff)",
        "SELECT (SELECT COUNT(*) FROM staff WHERE sex = 'f') AS n, SUM(salary) FROM staff",
    ],
)
def test_rows_are_made_up_again_where_a_statement_reads_them(both: Both, sql: str) -> None:
    both.told(sql)


def test_the_classes_of_units_are_those_of_records(both: Both) -> None:
    for place in (0, 1):
        for columns in (["age"], ["dept", "sex"], "all"):
            codes, values = both.rows.classes(columns, place)  # type: ignore[arg-type]
            again, as_well = both.cells.classes(columns, place)  # type: ignore[arg-type]
            assert (codes == again).all()
            assert values.equals(as_well)


@pytest.mark.parametrize(
    "name", ["_cells", "_data._cells", '"_data"."_cells"', "main._cells", "_cells.staff"]
)
def test_no_statement_can_name_the_cells(both: Both, name: str) -> None:
    assert isinstance(understand(f"SELECT COUNT(*) FROM {name}", None, both.cells.schema), Unsupported)


def test_nothing_of_a_value_is_in_the_public_instance(both: Both) -> None:
    (loaded,) = (both.cells._loaded,)
    names = loaded.connection.execute("SELECT database_name FROM duckdb_databases()").fetchall()
    assert {name for (name,) in names} == {"memory", "system", "temp"}
    held = loaded.connection.execute(
        'SELECT max(salary), max(bonus), count(*) FROM "_data"."_cells"'
    ).fetchall()
    assert held[0][0] < held[0][2]
    assert held[0][1] < held[0][2]


@pytest.mark.parametrize("sql", ["COUNT(*)", "COUNT(salary)", "MIN(age), COUNT(DISTINCT age)"])
def test_of_a_table_of_many_rows_what_cells_say_is_answered(
    sql: str, both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "MOST_ROWS", 10)
    both.told(f"SELECT dept, {sql} FROM staff WHERE age > 21 GROUP BY dept ORDER BY dept")
    both.told(f"SELECT SUM(salary), {sql} FROM staff WHERE age IN (SELECT age FROM staff WHERE sex = 'm')")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT DISTINCT dept FROM staff ORDER BY dept",
        "SELECT DISTINCT age % 2 AS odd, sex FROM staff WHERE age > 21 ORDER BY odd, sex LIMIT 3 OFFSET 1",
        "SELECT dept FROM staff GROUP BY dept ORDER BY dept LIMIT 1000",
        "SELECT dept, sex FROM staff GROUP BY ALL HAVING MIN(age) > 20 ORDER BY dept, sex",
    ],
)
def test_of_a_table_of_many_rows_the_values_of_public_columns_are_listed(
    sql: str, both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "MOST_ROWS", 10)
    both.told(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT SUM(salary), AVG(age) FROM staff",
        "SELECT SUM(salary) FROM (FROM staff QUALIFY RANK() OVER (ORDER BY age) < 99)",
        "SELECT AVG(age) FROM staff",
        "SELECT age FROM staff LIMIT 9",
        "SELECT DISTINCT ON (dept) dept, age FROM staff",
        "SELECT DISTINCT COUNT(*) FROM staff GROUP BY dept",
        "SELECT SUM(salary) FROM staff WHERE age > (SELECT AVG(age) FROM staff)",
        "SELECT SUM(salary) / (SELECT COUNT(*) FROM staff) FROM staff",
        "SELECT COUNT(*) FROM staff a, staff b",
    ],
)
def test_of_a_table_of_many_rows_what_reads_them_is_turned_away(
    sql: str, both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = understood(both.cells, sql)
    both.cells._groups.clear()
    monkeypatch.setattr(database, "MOST_ROWS", 10)
    with pytest.raises(NeedsRows):
        both.cells.finish(plan, [Fraction(7)] * len(both.cells.ask(plan)))


@pytest.mark.parametrize(
    "aggregate",
    ["MEDIAN(salary)", "COUNT(*) FILTER (WHERE salary > 50)", "STDDEV(salary)", "SUM(salary * age)",
     "CORR(salary, age)", "QUANTILE_CONT(salary, 0.1)"],
)  # fmt: skip
def test_what_cells_lack_is_not_asked(both: Both, aggregate: str) -> None:
    plan = understood(both.rows, f"SELECT AT_LEAST({aggregate}) AS a FROM staff")
    assert both.rows.ask(plan)
    with pytest.raises(NeedsValues):
        both.cells.ask(plan)


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 9)), min_size=1, max_size=5))
def test_a_cell_that_is_not_listed_evenly_is_turned_away(listed: list[tuple[int, int]]) -> None:
    sizes = np.array([size for size, _ in listed])
    times = np.array([count for _, count in listed])
    members = _Members(np.arange(len(listed)), times, int(times.sum()))
    if all(count % size == 0 for size, count in listed):
        found = _of_rows(members, sizes)
        repeated = np.ones(len(sizes)) if found.times is None else found.times
        assert (repeated * sizes == times).all()
        assert found.rows == times.sum()
    else:
        with pytest.raises(ToldApart):
            _of_rows(members, sizes)


# --- what makes a cell


def cells_of(table: pa.Table, **more: object) -> Database:
    public = [name for name in table.schema.names if name != "salary"]
    protects = [Protection("staff", "salary", public)]
    return opened({"staff": table}, protects, public_tables=[], views=[], **more)


def test_rows_without_a_value_are_cells_of_their_own() -> None:
    found = cells_of(pa.table({"age": [1, 1, 1, 2], "salary": [10, None, 30, None]}))
    plan = understood(
        found, "SELECT age, COUNT(*), COUNT(salary), AVG(salary) FROM staff GROUP BY age ORDER BY age"
    )
    (asked,) = found.ask(plan)
    assert asked.divisor == 2
    assert found.finish(plan, [Fraction(40)]).to_pylist() == [
        {"age": 1, "count_star()": 3, "count(salary)": 2, "avg(salary)": 20.0},
        {"age": 2, "count_star()": 1, "count(salary)": 0, "avg(salary)": None},
    ]


@pytest.mark.parametrize(
    ("column", "same"),
    [
        (pa.array([0.0, -0.0] * 4), False),
        (pa.array([float("nan")] * 8), True),
        (pa.array(["a", "A"] * 4), False),
    ],
)
def test_values_that_are_equal_and_not_the_same_are_cells_apart(column: pa.Array, same: bool) -> None:
    found = cells_of(pa.table({"x": column, "salary": list(range(8))}))
    ((count,),) = found._loaded.connection.execute('SELECT count(*) FROM "_data"."_cells"').fetchall()
    assert count == (1 if same else 2)


def test_texts_that_are_equal_under_a_collation_are_cells_apart(tmp_path: Path) -> None:
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE staff (x VARCHAR COLLATE NOCASE, salary INT)")
        connection.execute("INSERT INTO staff SELECT ['a', 'A', 'b'][1 + i % 3], i FROM range(90) t(i)")
    protects = [Protection("staff", "salary", ["x"])]
    pair = Both(*(opened(path, protects, cells, public_tables=[], views=[]) for cells in (False, True)))
    for sql in (
        "SELECT SUM(salary), COUNT(*) FROM staff WHERE x LIKE 'a'",
        "SELECT x, COUNT(*) FROM staff GROUP BY x",
    ):
        pair.told(sql)


@pytest.mark.slow
def test_the_order_of_rows_counts_nowhere_and_what_is_in_them_does() -> None:
    table = pa.table({"age": [1, 2, 1, 2, 3], "salary": [10, 20, 30, None, 50]})
    first = cells_of(table).fingerprint
    assert cells_of(table.take([4, 2, 0, 3, 1])).fingerprint == first
    # whose value it is in a cell is told by nothing
    assert cells_of(table.set_column(1, "salary", pa.array([30, 20, 10, None, 50]))).fingerprint == first
    changed = {
        "a value": table.set_column(1, "salary", pa.array([11, 20, 30, None, 50])),
        "a value's place": table.set_column(1, "salary", pa.array([30, 20, None, 10, 50])),
        "a public value": table.set_column(0, "age", pa.array([1, 2, 1, 3, 3])),
        "a row without value": table.take([0, 1, 2, 3, 4, 3]),
        "a row": table.take([0, 1, 2, 3, 4, 4]),
        "a type": table.set_column(0, "age", table.column(0).cast(pa.int32())),
    }
    for what, other in changed.items():
        assert cells_of(other).fingerprint != first, what
    protects = [Protection("staff", "salary", ["age"])]
    assert opened({"staff": table}, protects, False, public_tables=[], views=[]).fingerprint != first


def test_other_units_of_the_same_cells_are_other_data(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"age": [1] * 40, "salary": [10, 20] * 20})
    first = cells_of(table).fingerprint  # all stand alone
    monkeypatch.setattr(units, "ALONE", (4,))
    assert cells_of(table).fingerprint != first


@pytest.mark.parametrize(
    "values",
    [
        pa.array([10, None, 30, 17, 10], pa.int16()),
        pa.array([1.5, None, 3.0, 17.5, 1.5]),
        pa.array([1.5, None, 3.0, 17.5, 1.5], pa.float32()),
        pa.array([150, None, 300, 1750, 150]).cast(pa.decimal128(21, 0)).cast(pa.decimal128(30, 2)),
        pa.array([True, None, False, True, True]),
    ],
)
def test_sums_and_extremes_are_exact_whatever_the_type(values: pa.Array) -> None:
    table = pa.table({"age": [1, 1, 1, 2, 1], "salary": values})
    half = Lattice(Fraction(0), Fraction(10**6), Fraction(1, 2))
    protects = [Protection("staff", "salary", ["age"])]
    found = Database.open({"staff": table}, protects, cells=Celling((half,)))
    vault = found.vaults[0]
    assert vault.cells is not None
    assert vault.cells.off_grid == 0
    told = [[int(each) * vault.scale for each in column] for column in vault.cells.columns[1:]]
    one, two = ([Fraction(str(float(v))) for v in values.take(places).to_pylist() if v is not None]
                for places in ([0, 1, 2, 4], [3]))  # fmt: skip
    assert told == [[sum(one), sum(two)], [min(one), min(two)], [max(one), max(two)]]
    assert found.schema.protected[0].type == str(duckdb.from_arrow(table).types[1])


@pytest.mark.parametrize(
    "values",
    [
        pa.array([10, 13, 30, None]),
        pa.array([10.0, 10.5, 30.0, None]),
        pa.array([10.0, float("nan"), 30.0, None]),
        pa.array([10.0, float("inf"), 30.0, None]),
        pa.array([10.0, 1e300, 30.0, None]),
        pa.array([10.0, 10.000000001, 30.0, None]),
    ],
)
def test_values_off_the_grid_are_counted(values: pa.Array) -> None:
    table = pa.table({"age": [1, 1, 1, 1], "salary": values})
    tens = Lattice(Fraction(0), Fraction(100), Fraction(10))
    found = Database.open({"staff": table}, [Protection("staff", "salary", ["age"])], cells=Celling((tens,)))
    assert found.vaults[0].cells is not None
    assert found.vaults[0].cells.off_grid == 1


def test_sums_beyond_38_digits_are_an_error() -> None:
    values = duckdb.sql(
        "SELECT 1 AS age, 9::HUGEINT * 10::HUGEINT ** 37 AS salary FROM range(3)"
    ).to_arrow_table()
    with pytest.raises(DatabaseError, match="more than 38 digits"):
        cells_of(values.set_column(1, "salary", values.column(1).cast(pa.decimal128(38, 0))))


def test_sums_beyond_64_bits_are_an_error() -> None:
    with pytest.raises(DatabaseError, match="more digits than 64 bits hold"):
        cells_of(pa.table({"age": [1, 1], "salary": [2**62, 2**62]}))


def test_too_many_cells_are_an_error_that_says_which_columns_make_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(units, "MOST", 20)
    monkeypatch.setattr(units, "ALONE", (None,))
    table = pa.table({"a": [i % 3 for i in range(40)], "id": list(range(40)), "salary": [1] * 40})
    with pytest.raises(DatabaseError, match=r"has 40 cells, and at most 20.*: id \d+, a 3\. Leave out"):
        cells_of(table)
    with pytest.raises(DatabaseError, match=r"3 cells with 40 values"):
        cells_of(table.drop_columns("id"))


def test_cells_that_contradict_themselves_are_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    from auditor.data.sources import celling

    made = celling.put_made

    def wrapped(change: str) -> None:
        def changed(connection: duckdb.DuckDBPyConnection, *arguments: object) -> None:
            made(connection, *arguments)  # type: ignore[arg-type]
            connection.execute(f"UPDATE _cells.staff SET {change}")

        monkeypatch.setattr(celling, "put_made", changed)

    table = pa.table({"age": [1, 1, 1], "salary": [10, 20, 30]})
    for change in (
        '"s salary" = 80',
        '"s salary" = 40',
        '"c salary" = 2',
        '"o salary" = 4',
        '"l salary" = 31',
    ):
        wrapped(change)
        with pytest.raises(DatabaseError, match="contradict themselves"):
            cells_of(table)
    wrapped('"s salary" = NULL')
    with pytest.raises(DatabaseError, match="more digits"):
        cells_of(table)
    wrapped('"s salary" = 61')
    assert cells_of(table).vaults[0].cells is not None


def test_a_key_is_an_error() -> None:
    table = pa.table({"id": [1, 2], "salary": [10, 20]})
    with pytest.raises(PolicyError, match=r'protect.key = "id": .* leave it out, or write'):
        Database.open({"staff": table}, [Protection("staff", "salary", [], "id")], cells=Celling((ANY,)))


def test_two_protected_tables_are_cells_each() -> None:
    table = pa.table({"age": [1, 1, 2], "salary": [10, 20, 30]})
    other = pa.table({"age": [1, 2, 2, 2], "debt": [5, 6, 7, 8]})
    found = Database.open(
        {"staff": table, "debtors": other},
        [Protection("staff", "salary", ["age"]), Protection("debtors", "debt", ["age"])],
        cells=Celling((ANY, ANY)),
    )
    plan = understood(
        found,
        "SELECT s.age, s.n, s.t, d.m, d.u "
        "FROM (SELECT age, COUNT(*) AS n, SUM(salary) AS t FROM staff GROUP BY age) s "
        "JOIN (SELECT age, COUNT(*) AS m, SUM(debt) AS u FROM debtors GROUP BY age) d ON s.age = d.age "
        "ORDER BY s.age",
    )
    asked = found.ask(plan)
    values = [Fraction(true_of(found, each.protected, each.kind, each.records, each.signs)) for each in asked]
    assert [tuple(row.values()) for row in found.finish(plan, values).to_pylist()] == [
        (1, 2, 30, 1, 5),
        (2, 1, 30, 3, 21),
    ]


def test_cells_that_do_not_fit_into_memory_are_an_error_that_names_their_columns() -> None:
    table = pa.table({"id": list(range(400_000)), "salary": [1] * 400_000})
    with pytest.raises(DatabaseError, match=r"do not fit into memory; they are by id: leave out"):
        cells_of(table, memory_limit="20MB")


def test_a_table_without_public_columns_is_one_cell() -> None:
    found = cells_of(pa.table({"salary": [10, None, 30]}))
    plan = understood(found, "SELECT COUNT(*), SUM(salary) FROM staff")
    (asked,) = found.ask(plan)
    assert asked.records.tolist() == [0, 1]


def test_columns_named_like_those_of_cells_stay_apart() -> None:
    table = pa.table(
        {"n": [1, 1, 2], "k n": [3, 3, 3], "s salary": [4, 4, 4], "_weight": [5, 5, 5], "number": [6, 6, 6],
         "_row": [7, 7, 7], "salary": [10, 20, 30]}
    )  # fmt: skip
    found = cells_of(table)
    plan = understood(found, 'SELECT n, "k n", "s salary", _weight, number, _row FROM staff ORDER BY n')
    assert found.run_public(plan).to_pylist() == table.drop_columns("salary").to_pylist()


def test_lumps_stand_for_their_persons(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = make(tmp_path / "people.duckdb", NO_ID)
    rows = opened(path, cells=False)
    monkeypatch.setattr(celled.units, "ALONE", (2,))
    lumped = opened(path)
    for sql in (
        "SELECT dept, SUM(salary), AVG(salary), COUNT(*), COUNT(salary) FROM staff GROUP BY ALL ORDER BY 1",
        "SELECT SUM(CASE WHEN sex = 'f' THEN salary WHEN sex = 'm' THEN -salary END) FROM staff",
        "SELECT SUM(salary), AVG(age) FROM staff",
    ):
        plan = understood(rows, sql)
        found = []
        for each in (rows, lumped):
            asked = each.ask(plan)
            values = [
                Fraction(true_of(each, one.protected, one.kind, one.records, one.signs)) for one in asked
            ]
            found.append(each.finish(plan, values).to_pylist())
        assert found[0] == found[1], sql
    assert lumped.vaults[0].size < rows.vaults[0].size


RULES = """
[protect]
table = "staff"
column = "salary"
minimum = 10
maximum = 100
step = 10
public = ["age"]
[limit]
risk = 0.9
"""


@pytest.mark.parametrize("alone", [(None,), (8,), (2,)])
def test_sums_and_extremes_of_whole_cells_are_true_however_they_are_split(
    alone: tuple[int | None, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(celled.units, "ALONE", alone)
    salaries = [10 * (1 + i * 7 % 9) for i in range(40)]
    table = pa.table({"age": [i % 3 for i in range(40)], "salary": salaries})
    lattice = Lattice(Fraction(10), Fraction(100), Fraction(10))
    found = Database.open(
        {"staff": table}, [Protection("staff", "salary", ["age"])], cells=Celling((lattice,))
    )
    policy = Policy.parse(RULES)
    column = Confidential(policy, policy.protects[0], found.vaults[0], 0)
    for place, (function, of) in enumerate({"SUM": sum, "MIN": min, "MAX": max}.items()):
        plan = understood(found, f"SELECT age, {function}(salary) FROM staff GROUP BY age ORDER BY age")
        for each in found.ask(plan):
            mine = [salary for i, salary in enumerate(salaries) if i % 3 == each.group]
            (told,) = column.truth([Query(kind=each.kind, members=each.records)])  # type: ignore[arg-type]
            assert 10 * told + 10 * (1 if place else len(mine)) == of(mine)
            least, most = (10, 100) if place else (10 * len(mine), 100 * len(mine))
            assert column.possible(each) == (least, most)
