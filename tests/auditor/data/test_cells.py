"""What is asked is found on cells exactly as on rows; what cells cannot say is read from the rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from sqlglot import parse_one

from auditor.data import cells
from auditor.data.coarser import on_cells
from auditor.data.database import Asked, Database, StatementFailed, TooMuch, UnevenWeights
from auditor.sql import Plan, Unsupported, understand
from auditor.sql.shape import DATA
from auditor.sql.writing import bracketed as written_out
from tests.auditor.sql.gate_double import PROTECT, Protection, make, open_staff, statements, understood
from tests.fuzz.grammar import generate
from tests.fuzz.worlds import WORLDS, all_rows, open_world, write
from tests.quick import rounds, some

ALL_COLUMNS = 99.0
"""Cells per row that are never reached: then every column that may be is a column of the cells."""

PEOPLE = """
CREATE TABLE staff AS SELECT i AS id, CASE WHEN i % 7 <> 0 THEN 20 + hash(i) % 6 END::INTEGER AS age,
    CASE WHEN hash(i + 1) % 3 < 2 THEN ['f', 'm'][1 + (hash(i + 1) % 3)::INTEGER] END AS sex,
    ['IT', 'HR', 'O''Ps', 'É'][1 + (hash(i + 2) % 4)::INTEGER] AS dept,
    ((hash(i + 5) % 3) / 2)::DECIMAL(4,1) AS part,
    CASE WHEN hash(i + 3) % 6 <> 0 THEN (hash(i + 4) % 90)::INTEGER * 10 END AS salary,
    CASE WHEN hash(i + 6) % 4 <> 0 THEN (hash(i + 7) % 9)::INTEGER END AS bonus FROM range(400) t(i);
CREATE TABLE places AS SELECT * FROM (VALUES ('IT', 'north', 21), ('HR', 'south', 22), ('IT', 'east', 23),
    ('none', 'west', 24), (NULL, 'sky', NULL)) t(dept, place, size);
CREATE VIEW adults AS SELECT * FROM staff WHERE age > 21;
"""
PUBLIC = ["id", "age", "sex", "dept", "part"]
PROTECTS = [Protection("staff", "salary", PUBLIC, "id"), Protection("staff", "bonus", PUBLIC, "id")]


@dataclass(frozen=True)
class Both:
    """One file, opened with cells and without."""

    rows: Database
    cells: Database

    def plan(self, sql: str) -> Plan:
        return understood(self.rows, sql)

    def coarse(self, sql: str) -> list[str | None]:
        tables = self.cells._loaded.cells.tables
        return [on_cells(block.groups_sql, tables) for block in self.plan(sql).blocks]


def opened(monkeypatch: pytest.MonkeyPatch, path: Path, protects: list[Protection], most: float) -> Both:
    def database() -> Database:
        return Database.open(path, protects, public_tables=["places"], views=["adults"])

    rows = database()
    assert not rows._loaded.cells.tables
    with monkeypatch.context() as patch:
        patch.setattr(cells, "LEAST_ROWS", 0)
        patch.setattr(cells, "MOST_CELLS", most)
        return Both(rows, database())


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    path = make(tmp_path_factory.mktemp("cells") / "people.duckdb", PEOPLE)
    with pytest.MonkeyPatch.context() as patch:
        yield opened(patch, path, PROTECTS, 1.0)


def said(asked: Asked) -> tuple[object, ...]:
    """All of it, to be compared."""
    signs = None if asked.signs is None else asked.signs.tolist()
    place = (asked.block, asked.group, asked.column)
    value = (asked.coefficient, asked.offset, asked.divisor)
    return (asked.protected, asked.kind, asked.records.tolist(), signs, *place, *value)


def told(database: Database, plan: Plan) -> tuple[object, object]:
    """What a plan asks, and the statement's rows where every value asked for is 7; or how it fails."""
    try:
        asked = database.ask(plan)
        table = database.finish(plan, [Fraction(7)] * len(asked))
    except StatementFailed as error:
        return type(error).__name__, None
    return [said(each) for each in asked], table.to_pylist()


def same(both: Both, plan: Plan) -> None:
    on_rows, on_their_cells = told(both.rows, plan), told(both.cells, plan)
    assert on_rows[0] == on_their_cells[0], plan.normalised
    if "ORDER BY" not in plan.normalised:
        on_rows, on_their_cells = (
            (asked, table and sorted(map(repr, table)))  # type: ignore[call-overload]
            for asked, table in (on_rows, on_their_cells)
        )
    assert repr(on_rows[1]) == repr(on_their_cells[1]), plan.normalised


# --- the same as on rows

PEOPLE_COLUMNS = {"age": ("20", "22", "24", "NULL"), "sex": ("'f'", "'m'", "'x'"), "part": ("0", "0.5", "1"),
                  "dept": ("'IT'", "'HR'", "'O''Ps'", "'É'")}  # fmt: skip


def conditions(deeper: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(deeper, st.sampled_from(["AND", "OR"]), deeper).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
        deeper.map(lambda c: f"NOT ({c})"),
        st.tuples(deeper, deeper).map(lambda p: f"CASE WHEN {p[0]} THEN {p[1]} ELSE sex = 'f' END"),
    )


SIMPLE = st.sampled_from(sorted(PEOPLE_COLUMNS)).flatmap(
    lambda name: st.tuples(
        st.sampled_from(["=", "<>", "<", ">=", "IS DISTINCT FROM"]), st.sampled_from(PEOPLE_COLUMNS[name])
    ).map(lambda drawn: f"s.{name} {drawn[0]} {drawn[1]}")
)
OTHERS = st.sampled_from(
    [
        "s.salary IS NULL",
        "s.bonus IS NOT NULL",
        "s.age IS NULL",
        "s.dept LIKE '%P%'",
        "s.age BETWEEN 21 AND 23",
        "s.age % 2 = 0",
        "s.dept IN ('IT', NULL)",
        "s.dept IN (SELECT dept FROM places WHERE size > 21)",
        "s.dept NOT IN (SELECT dept FROM places WHERE dept IS NOT NULL)",
        "s.age IN (SELECT age FROM staff WHERE id < 9)",
        "s.age IN (SELECT age FROM staff WHERE sex = 'f' AND salary IS NULL)",
        "s.age NOT IN (SELECT t.age FROM staff t JOIN places p ON t.dept = p.dept WHERE t.part = 0.5)",
        "NOT EXISTS (SELECT 1 FROM staff t WHERE t.age = s.age + 1 AND t.dept = s.dept AND t.sex IS NULL)",
        "s.age >= (SELECT MAX(t.age) FROM staff t WHERE t.dept = s.dept AND t.sex = s.sex)",
        "(SELECT COUNT(DISTINCT t.age) FROM staff t WHERE t.dept = s.dept AND t.bonus IS NULL) > 6",
        "(SELECT COUNT(*) FROM (SELECT DISTINCT t.age, t.sex FROM staff t WHERE t.salary IS NULL)) > 9",
        "(SELECT SUM(t.age) FROM staff t WHERE t.dept = s.dept) > 2000",
        "EXISTS (SELECT 1 FROM places p WHERE p.dept = s.dept AND p.size > s.age)",
        "s.age > (SELECT AVG(t.age) FROM staff t WHERE t.dept = s.dept)",
        "(SELECT COUNT(*) FROM staff t WHERE t.dept = s.dept AND t.salary IS NULL) > 15",
        "s.age < (SELECT MAX(age) FROM (FROM staff QUALIFY row_number() OVER (ORDER BY id) < 50))",
    ]
)
CONDITIONS = st.recursive(SIMPLE | OTHERS, conditions, max_leaves=5)
SOURCES = st.sampled_from(
    [
        "staff s",
        "staff s JOIN places p ON s.dept = p.dept",
        "staff s LEFT JOIN places p ON s.dept = p.dept AND p.size >= s.age",
        "places p LEFT JOIN staff s ON s.dept = p.dept AND s.age = p.size",
        "staff s FULL JOIN places p ON s.dept = p.dept AND s.age = p.size",
        "staff s SEMI JOIN places p ON s.dept = p.dept",
        "staff s ANTI JOIN places p ON s.dept = p.dept",
        "staff s JOIN (SELECT dept, COUNT(*) AS n FROM staff GROUP BY dept) d ON s.dept = d.dept",
        "adults s",
        "(SELECT * FROM staff WHERE age < 23 UNION ALL FROM staff WHERE sex = 'f') s",
        "(SELECT s.*, p.place FROM staff s LEFT JOIN places p ON s.age = p.size) s",
    ]
)
AGGREGATES = st.sampled_from(
    [
        "SUM(s.salary)",
        "AVG(s.salary), COUNT(*), COUNT(s.salary), COUNT(s.age)",
        "MAX(s.bonus), MIN(s.salary), MAX(s.age), COUNT(DISTINCT s.age)",
        "SUM(CASE WHEN s.sex = 'f' THEN s.salary ELSE 3 END), AVG(s.bonus + 2)",
        "SUM(CASE WHEN s.sex = 'f' THEN s.salary WHEN s.sex = 'm' THEN -s.salary END)",
        "SUM(s.salary) FILTER (s.age > 21) - SUM(s.salary), COUNT(*) FILTER (s.part > 0)",
    ]
)
ENDS = st.sampled_from(
    [
        "",
        "GROUP BY s.dept",
        "GROUP BY s.sex, s.age // 2",
        "GROUP BY ROLLUP (s.dept, s.sex)",
        "GROUP BY s.dept HAVING COUNT(*) > 40 AND MIN(s.age) > 0",
        "GROUP BY s.dept ORDER BY COUNT(*) DESC, s.dept LIMIT 2",
        "GROUP BY s.salary IS NULL, s.age",
    ]
)


@pytest.mark.slow
@given(aggregates=AGGREGATES, source=SOURCES, condition=CONDITIONS, end=ENDS)
@example(
    aggregates="SUM(s.salary)",
    source="(SELECT * FROM staff WHERE age < 23 UNION ALL FROM staff WHERE sex = 'f') s",
    condition="s.bonus IS NOT NULL",
    end="",
)
def test_random_conditions_find_the_same_records(
    both: Both, aggregates: str, source: str, condition: str, end: str
) -> None:
    sql = f"SELECT {aggregates} FROM {source} WHERE {condition} {end}"
    plan = understand(sql, None, both.rows.schema)
    assume(isinstance(plan, Plan))
    assert isinstance(plan, Plan)
    assert None not in both.coarse(sql), sql
    same(both, plan)


@pytest.mark.slow
@pytest.mark.parametrize("most", some([0.5, ALL_COLUMNS], 1))
def test_random_statements_ask_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, most: float) -> None:
    worlds = {}
    for name, world in WORLDS.items():
        path = write(tmp_path / f"{name}.duckdb", world, all_rows(world, "A"))
        rows = open_world(path, world)
        with monkeypatch.context() as patch:
            patch.setattr(cells, "LEAST_ROWS", 0)
            patch.setattr(cells, "MOST_CELLS", most)
            worlds[name] = Both(rows, open_world(path, world))
    coarse = 0
    for number in range(rounds(150)):
        statement = generate(31, number)
        pair = worlds[statement.world]
        plan = understand(statement.text, statement.parameters, pair.rows.schema)
        if isinstance(plan, Plan) and not plan.public:
            same(pair, plan)
            tables = pair.cells._loaded.cells.tables
            coarse += any(on_cells(block.groups_sql, tables) for block in plan.blocks)
    assert coarse >= (rounds(10) if most == ALL_COLUMNS else 1)


@pytest.mark.slow
def test_understood_statements_ask_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = make(tmp_path / "staff.duckdb")
    rows = open_staff(path)
    monkeypatch.setattr(cells, "LEAST_ROWS", 0)
    monkeypatch.setattr(cells, "MOST_CELLS", ALL_COLUMNS)
    pair = Both(rows, open_staff(path))
    coarse = 0
    for sql in statements("understood.sql"):
        plan = pair.plan(sql)
        if not plan.public:
            coarse += any(pair.coarse(sql))
            same(pair, plan)
    assert coarse >= 150


@pytest.mark.parametrize(
    ("subquery", "coarse"),
    [
        ("age IN (SELECT t.age FROM staff t WHERE t.sex = 'f')", True),
        ("EXISTS (SELECT 1 FROM staff t WHERE t.age = staff.age + 1)", True),
        ("age = (SELECT MAX(t.age) FROM staff t)", True),
        ("(SELECT COUNT(*) FROM (SELECT DISTINCT t.age FROM staff t)) = 7", True),
        ("age IN (SELECT t.age FROM staff t WHERE t.id < 9)", False),
        ("age IN (SELECT t.age FROM staff t ORDER BY t.age LIMIT 9)", False),
        ("(SELECT t.age FROM staff t WHERE t.sex = 'f') IN (21, 22)", False),
        ("age > (SELECT AVG(t.age) FROM staff t)", False),
        ("(SELECT COUNT(*) FROM staff t WHERE t.dept = staff.dept) > 98", False),
        ("(SELECT COUNT(t.salary) FROM staff t WHERE t.dept = staff.dept) > 80", False),
    ],
)
def test_subqueries_read_cells_where_only_the_set_of_rows_matters(
    both: Both, subquery: str, coarse: bool
) -> None:
    sql = f"SELECT SUM(salary) FROM staff WHERE {subquery}"
    (text,) = both.coarse(sql)
    assert text is not None
    assert (f'"{DATA}"."staff"' not in text) is coarse
    same(both, both.plan(sql))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*), COUNT(s.age), SUM(s.salary) FROM places p LEFT JOIN staff s ON s.age = p.size",
        "SELECT p.dept, COUNT(*), MAX(s.salary) FROM staff s FULL JOIN places p "
        "ON s.age = p.size AND s.sex = 'f' GROUP BY p.dept HAVING COUNT(*) < 60",
        "SELECT place, COUNT(*), COUNT(salary), MIN(salary) FROM (SELECT p.place, s.salary FROM places p "
        "LEFT JOIN staff s ON s.age = p.size) GROUP BY place",
        "SELECT SUM(CASE WHEN p.size > 21 THEN s.salary ELSE 7 END) FROM places p LEFT JOIN staff s "
        "ON s.age = p.size AND s.dept = p.dept",
    ],
)
def test_rows_of_outer_joins_without_a_partner_count_once(both: Both, sql: str) -> None:
    assert None not in both.coarse(sql)
    same(both, both.plan(sql))


def test_a_join_that_repeats_records_unevenly_is_noticed(both: Both) -> None:
    plan = both.plan("SELECT SUM(s.salary) FROM staff s LEFT JOIN places p ON s.dept = p.dept")
    for database in (both.rows, both.cells):
        with pytest.raises(UnevenWeights):
            database.ask(plan)


def test_query_sets_take_as_many_bytes_as_on_rows(both: Both) -> None:
    plan = both.plan("SELECT dept, age, SUM(salary) FROM staff GROUP BY CUBE (dept, age)")
    for database in (both.rows, both.cells):
        asked = sum(len(each.records) for each in database.ask(plan))
        database._groups.clear()
        database.limits = replace(database.limits, bytes=8 * asked - 1)
        try:
            with pytest.raises(TooMuch):
                database.ask(plan)
        finally:
            database.limits = replace(database.limits, bytes=512 << 20)


# --- what is read from rows


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT SUM(salary) FROM staff WHERE id > 7",
        "SELECT SUM(a.salary) FROM staff a JOIN staff b ON a.id = b.id WHERE b.age > 21",
        "SELECT SUM(salary) FROM staff s WHERE EXISTS (SELECT 1 FROM staff t WHERE t.id = s.id + 1)",
        "SELECT SUM(a.salary), SUM(b.bonus) FROM staff a JOIN staff b ON a.id = b.id",
        "SELECT SUM(salary), AVG(age) FROM staff",
        "SELECT SUM(salary), MEDIAN(age) FROM staff",
        "SELECT SUM(salary) FROM (FROM staff QUALIFY RANK() OVER (ORDER BY age) < 9)",
        "SELECT SUM(salary) FROM (SELECT salary, COUNT(*) OVER (PARTITION BY age) n FROM staff) WHERE n > 9",
        "SELECT SUM(salary) FROM (SELECT salary, RANK() OVER (ORDER BY age) AS r FROM staff) WHERE r < 90",
        "SELECT SUM(salary) FROM (SELECT salary, LAG(age) OVER (ORDER BY id) AS r FROM staff) WHERE r < 22",
        "SELECT dept, SUM(salary) FROM staff GROUP BY dept HAVING COUNT(*) > (SELECT MAX(size) FROM places)",
    ],
)
def test_what_hangs_on_single_rows_is_read_from_rows(both: Both, sql: str) -> None:
    assert None in both.coarse(sql)
    same(both, both.plan(sql))


STAFF = '"_data"."staff" AS "staff"'
SALARIES = f'SELECT "staff"."salary" AS "salary" FROM {STAFF}'


@pytest.mark.parametrize(
    "rest",
    [
        ', "staff"."salary" AS "_k0" FROM {STAFF} GROUP BY 2',
        ' FROM {STAFF} WHERE "staff"."salary" < 9',
        ' FROM {STAFF} POSITIONAL JOIN "_data"."places" AS "p"',
        ' FROM (SELECT "staff"."salary" AS "salary", ROW_NUMBER() OVER (ORDER BY "staff"."age") AS "r" '
        'FROM {STAFF}) AS "staff" WHERE "staff"."r" < 9',
        ' FROM (SELECT DISTINCT "staff"."salary" AS "salary" FROM {STAFF}) AS "staff"',
        ' FROM ({SALARIES} LIMIT 9) AS "staff"',
        ' FROM ({SALARIES} UNION {SALARIES}) AS "staff"',
        ' FROM ({SALARIES} UNION ALL SELECT "staff"."bonus" AS "salary" FROM {STAFF}) AS "staff"',
        ' FROM ({SALARIES} UNION ALL SELECT 3 AS "salary") AS "staff"',
    ],
)
def test_what_lowering_never_writes_is_read_from_rows(both: Both, rest: str) -> None:
    groups_sql = f'SELECT LIST("staff"."salary") AS "_m"{rest.format(STAFF=STAFF, SALARIES=SALARIES)}'
    written = groups_sql.replace("LIST(", "MAX(")
    assert written_out(parse_one(written, dialect="duckdb")) == written
    assert on_cells(groups_sql, both.cells._loaded.cells.tables) is None


@pytest.mark.parametrize(
    "rest",
    [
        ' FROM {STAFF} WHERE "staff"."age" < 9',
        ' FROM ({SALARIES} UNION ALL {SALARIES}) AS "staff"',
    ],
)
def test_what_lowering_could_write_is_read_from_cells(both: Both, rest: str) -> None:
    groups_sql = f'SELECT LIST("staff"."salary") AS "_m"{rest.format(STAFF=STAFF, SALARIES=SALARIES)}'
    assert on_cells(groups_sql, both.cells._loaded.cells.tables) is not None


def test_the_occurrence_that_is_summed_is_read_from_cells_and_others_from_rows(both: Both) -> None:
    (coarse,) = both.coarse("SELECT SUM(a.salary) FROM staff a JOIN staff b ON a.age = b.age AND b.id < 3")
    assert coarse is not None
    assert coarse.count(f'"{DATA}"."staff"') == 1
    assert coarse.count(f'"{DATA}"."_cells0"') == 1


def test_columns_that_nothing_reads_do_not_matter(both: Both) -> None:
    sql = "WITH x AS (SELECT * FROM staff WHERE age > 21) SELECT SUM(salary), COUNT(*) FROM x WHERE sex = 'f'"
    assert None not in both.coarse(sql)
    same(both, both.plan(sql))


@pytest.mark.parametrize("name", ["_cells0", f"{DATA}._cells0", '"_data"."_cells0"', "main._cells0"])
def test_no_statement_can_name_a_table_of_cells(both: Both, name: str) -> None:
    assert "staff" in both.cells._loaded.cells.tables
    assert both.cells._loaded.cells.tables["staff"].name == "_cells0"
    assert isinstance(understand(f"SELECT COUNT(*) FROM {name}", None, both.cells.schema), Unsupported)


def test_a_table_of_that_name_stays_apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tables = 'CREATE TABLE "_Cells0" AS SELECT i % 3 AS _weight, i AS salary FROM range(90) t(i);'
    tables += "CREATE TABLE places(x INTEGER); CREATE VIEW adults AS FROM places"
    path = make(tmp_path / "t.duckdb", tables)
    pair = opened(monkeypatch, path, [Protection("_Cells0", "salary", ["_weight"])], 0.5)
    sql = 'SELECT _weight, SUM(salary), COUNT(*) FROM "_Cells0" GROUP BY _weight ORDER BY 1'
    assert None not in pair.coarse(sql)
    same(pair, pair.plan(sql))


# --- which columns


def columns(monkeypatch: pytest.MonkeyPatch, path: Path, table: str, most: float = 0.5) -> frozenset[str]:
    """The columns of the cells of a table with a column salary."""
    tables = (
        f"CREATE TABLE staff AS {table}; CREATE TABLE places(x INTEGER); CREATE VIEW adults AS FROM places"
    )
    with opened(monkeypatch, make(path, tables), [Protection("staff", "salary", "all")], most).cells as found:
        made = found._loaded.cells.tables
        return made["staff"].columns if made else frozenset()


@pytest.mark.parametrize(
    "value",
    [
        "CASE WHEN i % 2 = 0 THEN 0.0 ELSE -0.0::DOUBLE END",
        "CASE WHEN i % 2 = 0 THEN 'nan'::FLOAT ELSE 1 END",
        "INTERVAL (i % 2) DAY",
        "[i % 2]",
    ],
)
def test_values_that_are_equal_and_not_the_same_make_no_cells(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str
) -> None:
    table = f"SELECT {value} AS x, i % 3 AS y, i AS salary FROM range(300) t(i)"
    assert columns(monkeypatch, tmp_path / "t.duckdb", table) == {"y"}


def test_texts_that_are_equal_under_a_collation_make_no_cells(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE staff (x VARCHAR COLLATE NOCASE, y VARCHAR COLLATE NOCASE, salary INT)"
        )
        connection.execute(
            "INSERT INTO staff SELECT ['a', 'A'][1 + i % 2], 'a' || i % 3, i FROM range(90) t(i)"
        )
        connection.execute("CREATE TABLE places(x INTEGER); CREATE VIEW adults AS FROM places")
    pair = opened(monkeypatch, path, [Protection("staff", "salary", "all")], 0.5)
    assert pair.cells._loaded.cells.tables["staff"].columns == {"y"}
    sql = "SELECT SUM(salary), COUNT(*) FROM staff WHERE x LIKE 'a' AND y = 'A1'"
    same(pair, pair.plan(sql))


def test_the_columns_with_the_most_values_are_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    table = (
        "SELECT i AS id, i % 900 AS often, i % 31 AS a, i % 7 AS b, i % 2 AS c, i AS salary "
        "FROM range(1000) t(i)"
    )
    assert columns(monkeypatch, tmp_path / "t.duckdb", table) == {"a", "b", "c"}


def test_small_tables_have_no_cells(tmp_path: Path) -> None:
    with Database.open(make(tmp_path / "t.duckdb"), [PROTECT]) as database:
        assert not database._loaded.cells.tables


# --- the records of cells


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.sets(st.integers(0, 6)), st.booleans())
def test_the_records_of_cells_are_those_that_are_in_them(
    of_record: list[int], chosen: set[int], ascending: bool
) -> None:
    numbers = sorted(of_record) if ascending else of_record
    found = cells.Cells(np.array(numbers, np.int32), 7).records(np.array(sorted(chosen), np.int64))
    expected: Sequence[int] = [record for record, cell in enumerate(numbers) if cell in chosen]
    assert found.tolist() == expected
    assert found.dtype == np.int64
