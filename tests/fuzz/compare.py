"""Whether two results are the same, and whether plain DuckDB itself is sure of its own."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date, time

import duckdb
import pyarrow as pa
from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from tests.fuzz.worlds import World, plain

MOST_ROWS = 3000
"""Beyond this, only the number of rows is compared."""
VARIANTS = 8

Row = tuple[object, ...]
Outcome = pa.Table | duckdb.Error


def rows_of(table: pa.Table) -> list[Row]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def close(x: object, y: object) -> bool:
    """Equal, floats to 1e-9."""
    if isinstance(x, float) and isinstance(y, float):
        return math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-9) or (math.isnan(x) and math.isnan(y))
    return x == y


def same_row(left: Row, right: Row) -> bool:
    return all(map(close, left, right))


def _sort_key(row: Row) -> list[tuple[bool, str]]:
    return [(value is None, f"{value:.6e}" if isinstance(value, float) else _text(value)) for value in row]


def _text(value: object) -> str:
    return value.isoformat() if isinstance(value, date | time) else f"{value!s:>40}"


def difference(left: pa.Table, right: pa.Table) -> str | None:
    """How two results differ, in a word that is stable under minimising, or None. Order does not count."""
    if left.column_names != right.column_names:
        return "names"
    if left.schema.types != right.schema.types:
        return "types"
    if left.num_rows != right.num_rows:
        return "count"
    if left.num_rows > MOST_ROWS:
        return None
    a, b = rows_of(left), rows_of(right)
    if all(map(same_row, a, b)):
        return None
    a, b = sorted(a, key=_sort_key), sorted(b, key=_sort_key)
    return None if all(map(same_row, a, b)) or _matched(a, b) else "values"


def _matched(left: Sequence[Row], right: Sequence[Row]) -> bool:
    """Whether rows can be paired where sorting was misled by the last digits."""
    rest = list(right)
    for row in left:
        found = next((i for i, other in enumerate(rest) if same_row(row, other)), None)
        if found is None:
            return False
        del rest[found]
    return True


def same_order(left: pa.Table, right: pa.Table) -> bool:
    return left.num_rows > MOST_ROWS or all(map(same_row, rows_of(left), rows_of(right)))


def sort_columns(text: str, names: Sequence[str]) -> list[int]:
    """The columns that a statement orders its result by, as far as its first keys are columns."""
    if "ORDER" not in text.upper():
        return []
    try:
        tree = parse_one(text, dialect="duckdb")
    except (SqlglotError, RecursionError):
        return []
    while isinstance(tree, exp.Subquery) and tree.args.get("order") is None:
        tree = tree.this
    order, found = tree.args.get("order"), []
    for key in order.expressions if order is not None else []:
        place = key.this
        if isinstance(place, exp.Var) and place.name.upper() == "ALL":
            return list(range(len(names)))
        if isinstance(place, exp.Literal) and place.is_int:
            found.append(int(place.name) - 1)
        elif isinstance(place, exp.Column) and not place.table and names.count(place.name) == 1:
            found.append(names.index(place.name))
        else:
            break
    return found


def uncut(text: str) -> str | None:
    """A statement without its own LIMIT and OFFSET; None if it has none, or a query inside it has some."""
    try:
        tree = parse_one(text, dialect="duckdb")
    except (SqlglotError, RecursionError):
        return None
    cut = [query for query in tree.find_all(exp.Query) if query.args.get("limit") or query.args.get("offset")]
    if cut != [tree]:
        return None
    tree.set("limit", None)
    tree.set("offset", None)
    return tree.sql(dialect="duckdb")


def by_chance(text: str) -> bool:
    """Whether a result may hang on the order of rows that the statement leaves open."""
    return _CHANCE.search(text) is not None


def part_of(smaller: pa.Table, larger: pa.Table) -> bool:
    """Whether all rows of one result are in another."""
    rest = rows_of(larger)
    for row in rows_of(smaller):
        found = next((i for i, other in enumerate(rest) if same_row(row, other)), None)
        if found is None:
            return False
        del rest[found]
    return True


_CHANCE = re.compile(
    r"\b(row_number|ntile|lag|lead|first_value|last_value|nth_value|rows|limit|offset|fetch|qualify)\b", re.I
)


class NotOneQuery(duckdb.Error):
    """Not sent to DuckDB: several statements, or one that is no SELECT."""


class Plain:
    """Plain DuckDB over a world, and over copies of it that give the same if the result is determined."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._connections: dict[int, duckdb.DuckDBPyConnection] = {}

    def run(self, sql: str, parameters: object = None, seed: int = 0) -> Outcome:
        """The result or the error; whatever the statement changes is undone."""
        if seed not in self._connections:
            self._connections[seed] = plain(self._world, seed, optimise=seed != VARIANTS)
        connection = self._connections[seed]
        try:
            statements = connection.extract_statements(sql)
            asks = sql.lstrip("( \n\t")[:6].upper().startswith(("SELECT", "FROM", "WITH"))
            one = len(statements) == 1 and statements[0].type == duckdb.StatementType.SELECT
            if not one or not (asks or sql.lstrip().startswith(("--", "/*"))):
                return NotOneQuery("not one query")
            connection.execute("BEGIN")
            try:
                return connection.sql(sql, params=parameters).to_arrow_table()
            finally:
                connection.execute("ROLLBACK")
        except (duckdb.Error, pa.ArrowException) as error:
            return error if isinstance(error, duckdb.Error) else duckdb.Error(str(error))

    def variants(self, sql: str, parameters: object) -> Iterator[Outcome]:
        """The results over rows in other orders, and without optimiser."""
        for seed in range(1, VARIANTS + 1):
            yield self.run(sql, parameters, seed)

    def sure(self, sql: str, parameters: object, first: Outcome, same: Callable[[Outcome], bool]) -> bool:
        """Whether all copies give what the first run gave."""
        return all(
            isinstance(other, pa.Table) == isinstance(first, pa.Table) and same(other)
            for other in self.variants(sql, parameters)
        )
