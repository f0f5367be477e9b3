"""The table of what is understood, shared by the code, the docs and the tests.

`REASONS` holds every code with its message and hint; `CONSTRUCTS` the constructs with an example each and the
code that the example gets; the sets name every node, function and type that may stand in a statement: what is
in none of them is unsupported; functions and aggregates are those of `auditor.sql.pure`. Nothing here looks
at a statement.
"""

from __future__ import annotations

from dataclasses import dataclass

from auditor.sql import macros, pure
from auditor.sql.reasons import REASONS, in_dialect
from auditor.sql.spelling import written
from auditor.sql.statement import Unsupported
from auditor.sql.wording import worded

__all__ = ["CONSTRUCTS", "REASONS", "UNDERSTOOD", "Construct", "NotUnderstood", "table_markdown"]

UNDERSTOOD = "understood"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


class NotUnderstood(Exception):
    """Carries the reason up to `understand`, which returns it as a value; never leaves `auditor.sql`."""

    def __init__(self, code: str, **names: str) -> None:
        super().__init__(code)
        self._code, self._names = code, names

    @property
    def reason(self) -> Unsupported:
        """The reason, with a hint in DuckDB's dialect."""
        return self.reason_for("duckdb")

    @property
    def code(self) -> str:
        """The reason's short stable name."""
        return self._code

    def reason_for(self, dialect: str) -> Unsupported:
        """The reason, with a hint that can be followed in a dialect."""
        message, hint = REASONS[self._code]
        hint = in_dialect(self._code, hint, dialect)
        given = dict(self._names)
        if self._code == "range":
            given["name"] = worded(given["name"], dialect)
        names = dict(given)
        if "column" in names:
            names["column"] = written(names["column"])
        return Unsupported(self._code, message.format(**given), hint.format(**names))


# Names of sqlglot's classes. A class that is missing here is unsupported.
STRUCTURE = _words("""
    Select Union Intersect Except Subquery From Table TableAlias Alias Identifier Column Where Group
    Having Order Ordered Limit Offset Fetch LimitOptions Distinct With CTE Join Star Literal
    RawString Null Boolean Paren Tuple Filter Case If Cast TryCast DataType DataTypeParam Interval
    Var Exists In Between Is Placeholder Any All Escape
    Rollup Cube GroupingSets Grouping GroupingId Window WindowSpec Qualify IgnoreNulls RespectNulls
    Columns Array Explode GenerateSeries
""")
OPERATORS = _words("""
    And Or Not EQ NEQ GT GTE LT LTE NullSafeEQ NullSafeNEQ Like ILike SimilarTo Glob RegexpLike Add
    Sub Mul Div IntDiv Mod Neg Pow DPipe BitwiseAnd BitwiseOr BitwiseNot AtTimeZone
""")
FUNCTIONS = pure.classes("scalar", "macro") | _words("Coalesce Extract")
# Functions and aggregates that sqlglot has no class for, by DuckDB's name.
NAMED_FUNCTIONS = pure.accepted("scalar", "Anonymous") | macros.ARITIES.keys()
NAMED_AGGREGATES = pure.accepted("aggregate", "Anonymous") | {"any_value"}
# Aggregates that the gate computes over a protected column itself.
PROTECTED_AGGREGATES = frozenset(["Sum", "Avg", "Min", "Max"])
# Aggregates over public columns, and over aggregates.
PUBLIC_AGGREGATES = pure.classes("aggregate", "aggregate macro") | PROTECTED_AGGREGATES
# Aggregates that may be told in which order they meet their rows.
ORDERED_AGGREGATES = frozenset(["ArrayAgg", "GroupConcat", "First", "Last", "ArgMax", "ArgMin", "Mode"])
# Functions that stand before OVER only; PUBLIC_AGGREGATES may stand there too.
WINDOW_FUNCTIONS = pure.classes("window")
TYPES = _words("""
    TINYINT SMALLINT INT BIGINT INT128 UTINYINT USMALLINT UINT UBIGINT UINT128 FLOAT DOUBLE DECIMAL
    BOOLEAN TEXT VARCHAR CHAR DATE TIME TIMESTAMP TIMESTAMPTZ TIMESTAMPNTZ INTERVAL
""")
# Classes that get a code of their own instead of "construct".
CODED_NODES = {
    "TableSample": "sample", "Pivot": "pivot", "Lateral": "lateral",
    "Lambda": "lambda", "Transform": "lambda", "TableColumn": "row-reference",
    "Struct": "nested-type", "Bracket": "nested-type",
    "Dot": "nested-type", "Map": "nested-type", "Insert": "statement-inside",
    "Update": "statement-inside", "Delete": "statement-inside", "Create": "statement-inside", "Into": "into",
    "Lock": "construct", "Values": "values", "ApproxQuantile": "aggregate", "WithinGroup": "aggregate",
    "Rand": "volatile", "Uuid": "volatile", "CurrentDate": "volatile",
    "CurrentTimestamp": "volatile", "CurrentTime": "volatile", "CurrentDatetime": "volatile",
    "CurrentUser": "volatile", "CurrentVersion": "volatile", "Localtime": "volatile",
    "Localtimestamp": "volatile",
    "PositionalColumn": "construct", "Collate": "construct", "ByteString": "construct",
    "ReadCSV": "table-function",
}  # fmt: skip
VOLATILE_NAMES = _words("""
    now today random setseed nextval currval getvariable current_setting txid_current
    get_current_timestamp get_current_time transaction_timestamp current_localtime
    current_localtimestamp uuidv4 uuidv7 current_schema current_database current_catalog
    in_search_path version pg_typeof getenv
""")
AGGREGATE_NAMES = _words("""
    fsum sumkahan kahan_sum favg sum_no_overflow quantile_disc bitstring_agg approx_top_k reservoir_quantile
    first_value last_value nth_value histogram_exact
""")


@dataclass(frozen=True)
class Construct:
    """A row of the table: a construct, an example and what becomes of it."""

    name: str
    """The construct in an analyst's words."""
    example: str
    """A statement on the example table `staff(id, age, sex, dept, hired, salary)`, salary protected."""
    code: str = UNDERSTOOD
    """`UNDERSTOOD`, or a key of `REASONS`."""

    @property
    def reason(self) -> tuple[str, str]:
        """Message and hint; empty texts if understood."""
        return ("", "") if self.code == UNDERSTOOD else REASONS[self.code]


CONSTRUCTS: tuple[Construct, ...] = (
    Construct(
        "SUM, AVG, MIN, MAX, COUNT of the protected column", "SELECT SUM(salary), AVG(salary) FROM staff"
    ),
    Construct("conditions on public columns", "SELECT AVG(salary) FROM staff WHERE age > 30 AND sex = 'f'"),
    Construct(
        "IN, BETWEEN, LIKE",
        "SELECT SUM(salary) FROM staff WHERE dept IN ('IT', 'HR') AND age BETWEEN 30 AND 40",
    ),
    Construct("NULLs", "SELECT COUNT(*) FROM staff WHERE salary IS NULL AND dept IS NOT NULL"),
    Construct("dates", "SELECT SUM(salary) FROM staff WHERE hired >= DATE '2020-01-01' AND month(hired) = 5"),
    Construct(
        "subqueries on public columns",
        "SELECT SUM(salary) FROM staff WHERE dept IN (SELECT dept FROM staff WHERE age > 60)",
    ),
    Construct("FILTER", "SELECT SUM(salary) FILTER (WHERE sex = 'f') FROM staff"),
    Construct(
        "subqueries on public columns in FILTER and CASE",
        "SELECT SUM(salary) FILTER (WHERE dept IN (SELECT dept FROM staff WHERE age > 60)) FROM staff",
    ),
    Construct(
        "CASE inside an aggregate", "SELECT SUM(CASE WHEN sex = 'f' THEN salary ELSE 0 END) FROM staff"
    ),
    Construct("constant multiples and offsets", "SELECT SUM(12 * salary + 100), MAX(-salary) FROM staff"),
    Construct("ROUND that changes no value of the column", "SELECT AVG(ROUND(salary, 2)) FROM staff"),
    Construct(
        "casts that change no value of the column",
        "SELECT AVG(CAST(salary AS DOUBLE)), SUM(salary::BIGINT) FROM staff",
    ),
    Construct(
        "such expressions named first",
        "WITH y AS (SELECT dept, salary * 12 AS a FROM staff) SELECT dept, AVG(a) FROM y GROUP BY dept",
    ),
    Construct(
        "MIN and MAX with ELSE, or of COALESCE",
        "SELECT MAX(COALESCE(salary, 0)), MIN(CASE WHEN age > 30 THEN salary ELSE 99 END) FROM staff",
    ),
    Construct(
        "AT_LEAST, AT_MOST: the ends of what is told of an aggregate",
        "SELECT dept, AT_LEAST(AVG(salary)), AT_MOST(AVG(salary)) FROM staff GROUP BY dept",
    ),
    Construct(
        "arithmetic inside of them",
        "SELECT dept, AT_LEAST(ROUND(SUM(salary) / COUNT(*) - MIN(salary), 1)) FROM staff GROUP BY dept",
    ),
    Construct("GROUP BY, also ALL and positions", "SELECT dept, sex, AVG(salary) FROM staff GROUP BY ALL"),
    Construct("HAVING", "SELECT dept, AVG(salary) FROM staff GROUP BY dept HAVING COUNT(*) >= 10"),
    Construct(
        "ORDER BY, LIMIT", "SELECT dept, AVG(salary) AS a FROM staff GROUP BY dept ORDER BY a DESC LIMIT 3"
    ),
    Construct(
        "LIMIT with a percentage", "SELECT dept, AVG(salary) FROM staff GROUP BY dept ORDER BY dept LIMIT 50%"
    ),
    Construct("names and types of columns alone, no row", "SELECT * FROM staff LIMIT 0"),
    Construct(
        "arithmetic and functions over aggregates", "SELECT ROUND(SUM(salary) / COUNT(*), 1) FROM staff"
    ),
    Construct("WITH", "WITH x AS (SELECT * FROM staff WHERE age > 30) SELECT AVG(salary) FROM x"),
    Construct(
        "derived tables",
        "SELECT MAX(s) FROM (SELECT dept, SUM(salary) AS s FROM staff GROUP BY dept) WHERE dept <> 'IT'",
    ),
    Construct(
        "totals of grouped totals, asked as the one total that they are",
        "SELECT SUM(s) FROM (SELECT dept, SUM(salary) AS s FROM staff GROUP BY dept)",
    ),
    Construct(
        "aggregates in scalar subqueries", "SELECT id FROM staff WHERE age > (SELECT AVG(salary) FROM staff)"
    ),
    Construct(
        "ROLLUP, CUBE, GROUPING SETS",
        "SELECT dept, GROUPING(dept), SUM(salary) FROM staff GROUP BY ROLLUP (dept)",
    ),
    Construct(
        "joins on public columns",
        "SELECT AVG(salary) FROM staff s JOIN (SELECT MAX(age) AS top FROM staff) d ON s.age = d.top",
    ),
    Construct(
        "semi-joins",
        "SELECT AVG(salary) FROM staff s SEMI JOIN (SELECT DISTINCT dept FROM staff) d USING (dept)",
    ),
    Construct(
        "self-joins on the key",
        "SELECT SUM(a.salary) FROM staff a JOIN staff b ON a.id = b.id WHERE b.age > 30",
    ),
    Construct(
        "UNION, INTERSECT, EXCEPT of aggregates",
        "SELECT SUM(salary) FROM staff UNION ALL SELECT AVG(salary) FROM staff",
    ),
    Construct(
        "UNION ALL of records",
        "SELECT SUM(salary) FROM (FROM staff WHERE age < 30 UNION ALL FROM staff WHERE age > 60)",
    ),
    Construct(
        "window functions over aggregates",
        "SELECT dept, RANK() OVER (ORDER BY AVG(salary)) AS r FROM staff GROUP BY dept QUALIFY r < 4",
    ),
    Construct(
        "window functions and QUALIFY over public columns",
        "SELECT AVG(salary) FROM (FROM staff QUALIFY RANK() OVER (PARTITION BY dept ORDER BY age) <= 3)",
    ),
    Construct(
        "correlated subqueries over public columns",
        "SELECT AVG(salary) FROM staff s WHERE age > (SELECT AVG(age) FROM staff t WHERE t.dept = s.dept)",
    ),
    Construct(
        "correlated and LATERAL aggregates of a group",
        "SELECT id, (SELECT AVG(salary) FROM staff t WHERE t.dept = s.dept) FROM staff s",
    ),
    Construct(
        "windows over PARTITION BY alone",
        "SELECT DISTINCT dept, AVG(salary) OVER (PARTITION BY dept) FROM staff",
    ),
    Construct(
        "groups chosen by an aggregate: the top three",
        "SELECT dept, sex, AVG(salary) FROM staff JOIN (SELECT dept FROM staff GROUP BY dept "
        "ORDER BY SUM(salary) DESC LIMIT 3) t USING (dept) GROUP BY dept, sex",
    ),
    Construct(
        "VALUES, RANGE, GENERATE_SERIES and UNNEST of constants in FROM",
        "SELECT lo, AVG(salary) FROM range(20, 70, 10) t(lo) JOIN staff ON age // 10 * 10 = lo GROUP BY lo",
    ),
    Construct(
        "PIVOT with a list, or of a public column",
        "SELECT * FROM (SELECT dept, sex, salary FROM staff) PIVOT (SUM(salary) FOR sex IN ('f', 'm'))",
    ),
    Construct(
        "SUMMARIZE of a table, or of columns of one: those that are public",
        "SUMMARIZE SELECT * EXCLUDE (salary) FROM staff",
    ),
    Construct(
        "lists, texts put together, ARG_MAX, MODE and the like of public columns",
        "SELECT dept, STRING_AGG(sex, ',' ORDER BY id), ARG_MAX(id, age) FROM staff GROUP BY dept",
    ),
    Construct(
        "dates relative to now",
        "SELECT AVG(salary) FROM staff WHERE hired > CURRENT_DATE - INTERVAL 5 YEAR",
    ),
    Construct(
        "COLLATE NOCASE and NOACCENT where public texts are compared",
        "SELECT AVG(salary) FROM staff WHERE dept = 'it' COLLATE NOCASE",
    ),
    Construct("VALUES as a statement", "VALUES (1, 'a'), (2, 'b')"),
    Construct("FROM first", "FROM staff SELECT dept, SUM(salary) GROUP BY ALL"),
    Construct("EXCLUDE, REPLACE, RENAME", "SELECT * EXCLUDE (salary) REPLACE (age // 10 AS age) FROM staff"),
    Construct("COLUMNS(…)", "SELECT MIN(COLUMNS('age|salary')) FROM staff"),
    Construct(
        "DISTINCT ON public columns", "SELECT DISTINCT ON (dept) dept, id FROM staff ORDER BY dept, id"
    ),
    Construct(
        "names for the columns of derived tables",
        "WITH q(a, b) AS (SELECT id, salary FROM staff) SELECT SUM(b) FROM q",
    ),
    Construct("SHOW TABLES, DESCRIBE", "DESCRIBE staff"),
    Construct("quoted and unicode names", 'SELECT SUM(salary) AS "Σ größer" FROM "Staff"'),
    Construct("queries on public columns alone", "SELECT dept, COUNT(*) FROM staff GROUP BY dept"),
    Construct("the protected column row by row", "SELECT id, salary FROM staff", "row-level"),
    Construct("* of the protected table", "SELECT * FROM staff", "row-level"),
    Construct(
        "selecting by the protected column",
        "SELECT AVG(salary) FROM staff WHERE salary > 100",
        "protected-condition",
    ),
    Construct(
        "the protected column in HAVING",
        "SELECT dept FROM staff GROUP BY dept HAVING salary > 1",
        "protected-having",
    ),
    Construct(
        "grouping by the protected column", "SELECT COUNT(*) FROM staff GROUP BY salary", "protected-group"
    ),
    Construct("ordering by the protected column", "SELECT id FROM staff ORDER BY salary", "protected-order"),
    Construct("expressions of the protected column", "SELECT salary + 1 FROM staff", "protected-expression"),
    Construct(
        "DISTINCT protected values",
        "SELECT COUNT(*) FROM (SELECT DISTINCT salary FROM staff)",
        "protected-distinct",
    ),
    Construct(
        "LIMIT before aggregating, without an order by a public column that is unique",
        "SELECT MAX(x) FROM (SELECT salary AS x FROM staff LIMIT 3)",
        "protected-limit",
    ),
    Construct(
        "COUNT(DISTINCT …) of the protected column",
        "SELECT COUNT(DISTINCT salary) FROM staff",
        "count-distinct",
    ),
    Construct("SUM(DISTINCT …)", "SELECT SUM(DISTINCT salary) FROM staff", "distinct-aggregate"),
    Construct(
        "skewness, lists and the like of the protected column, or in its order",
        "SELECT STRING_AGG(dept, ',' ORDER BY salary) FROM staff",
        "protected-aggregate",
    ),
    Construct("FIRST and LAST without ORDER BY, approximations", "SELECT FIRST(id) FROM staff", "aggregate"),
    Construct(
        "counts by the protected value, medians, deviations, weights inside of AT_LEAST and AT_MOST",
        "SELECT dept, AT_LEAST(MEDIAN(salary)), AT_MOST(COUNT_IF(salary > 60)) FROM staff GROUP BY dept",
        UNDERSTOOD,
    ),
    Construct(
        "histograms of the protected column by fixed bins, inside of AT_LEAST and AT_MOST",
        "SELECT CASE WHEN salary < 60 THEN 1 ELSE 2 END AS bin, AT_MOST(COUNT(*)) FROM staff GROUP BY 1",
        UNDERSTOOD,
    ),
    Construct("the same outside of them", "SELECT MEDIAN(salary) FROM staff", "range"),
    Construct(
        "AT_LEAST, AT_MOST of anything but such aggregates and arithmetic with them",
        "SELECT AT_LEAST(LN(AVG(salary))) FROM staff",
        "range-argument",
    ),
    Construct(
        "several arguments, ORDER BY inside", "SELECT MAX(salary, 3) FROM staff", "aggregate-arguments"
    ),
    Construct("products with a column in MIN, MAX", "SELECT MAX(salary * age) FROM staff", "nonlinear"),
    Construct(
        "different weights",
        "SELECT SUM(CASE WHEN age > 30 THEN salary ELSE 2 * salary END) FROM staff",
        "coefficients",
    ),
    Construct("adding a column inside", "SELECT SUM(salary + age) FROM staff", "offset"),
    Construct(
        "MIN and MAX with ELSE inside of AT_LEAST and AT_MOST",
        "SELECT AT_MOST(MAX(CASE WHEN age > 30 THEN salary ELSE 0 END)) FROM staff",
        "extreme-case",
    ),
    Construct("other functions inside", "SELECT SUM(ABS(salary)) FROM staff", "argument"),
    Construct(
        "symmetric aggregates by a hash of what is no key",
        "SELECT SUM(DISTINCT salary + HASH(dept)::HUGEINT) - SUM(DISTINCT HASH(dept)::HUGEINT) FROM staff",
        "each-once",
    ),
    Construct(
        "casts inside to what may not hold a value",
        "SELECT SUM(salary::TINYINT) FROM staff",
        "protected-cast",
    ),
    Construct(
        "subqueries inside that aggregate the protected column",
        "SELECT SUM(salary) FILTER (WHERE age > (SELECT AVG(salary) FROM staff)) FROM staff",
        "subquery-in-aggregate",
    ),
    Construct(
        "selecting records by an aggregate of the protected column",
        "SELECT SUM(salary) FROM staff WHERE age > (SELECT AVG(salary) FROM staff)",
        "released-condition",
    ),
    Construct(
        "joining by the protected column",
        "SELECT COUNT(*) FROM staff a JOIN staff b ON a.salary = b.salary",
        "protected-join",
    ),
    Construct(
        "ASOF and POSITIONAL joins",
        "SELECT COUNT(*) FROM staff a POSITIONAL JOIN staff b",
        "join-kind",
    ),
    Construct(
        "set operations over protected values",
        "SELECT SUM(salary) FROM (SELECT salary FROM staff UNION SELECT salary FROM staff)",
        "set-operation",
    ),
    Construct(
        "window functions over rows in an order",
        "SELECT SUM(salary) OVER (ORDER BY id) FROM staff",
        "protected-window",
    ),
    Construct(
        "choosing among equal rows",
        "SELECT SUM(salary) FROM (FROM staff QUALIFY row_number() OVER (ORDER BY age) < 9)",
        "window-ties",
    ),
    Construct(
        "correlated aggregates of what are no groups",
        "SELECT id, (SELECT AVG(salary) FROM staff t WHERE t.age < s.age) FROM staff s",
        "correlated",
    ),
    Construct(
        "correlation by the protected column",
        "SELECT id FROM staff s WHERE EXISTS (SELECT 1 FROM staff t WHERE t.age > s.salary)",
        "protected-correlated",
    ),
    Construct("whole rows", "SELECT p FROM staff p", "row-reference"),
    Construct("names for the columns of tables", "SELECT MAX(b) FROM staff AS t(a, b)", "alias-columns"),
    Construct(
        "two inner columns of one name",
        "SELECT SUM(x) FROM (SELECT age AS x, salary AS x FROM staff)",
        "duplicate-column",
    ),
    Construct("COLUMNS outside the list of columns", "SELECT id FROM staff WHERE COLUMNS('i.*') > 1", "star"),
    Construct("lists, structs, maps", "SELECT [id] FROM staff", "nested-type"),
    Construct(
        "several quantiles of the protected column in one list",
        "SELECT QUANTILE_CONT(salary, [0.25, 0.75]) FROM staff",
        "quantile-list",
    ),
    Construct("lambda functions", "SELECT list_transform(dept, x -> x) FROM staff", "lambda"),
    Construct(
        "volatile functions, settings", "SELECT SUM(salary) FROM staff WHERE random() < 0.5", "volatile"
    ),
    Construct("other functions", "SELECT hash(id) FROM staff", "function"),
    Construct("other types", "SELECT CAST(id AS BLOB) FROM staff", "type"),
    Construct("other constructs", "SELECT dept COLLATE nocase FROM staff", "construct"),
    Construct("samples", "SELECT SUM(salary) FROM staff TABLESAMPLE 10%", "sample"),
    Construct("UNPIVOT, and other forms of PIVOT", "UNPIVOT staff ON age, id INTO NAME n VALUE v", "pivot"),
    Construct("LATERAL of anything else", "SELECT COUNT(*) FROM staff, LATERAL (SELECT 1)", "lateral"),
    Construct(
        "VALUES of several columns under IN",
        "SELECT COUNT(*) FROM staff WHERE (id, age) IN (VALUES (1, 2))",
        "values",
    ),
    Construct("files and table functions", "SELECT * FROM read_csv('x.csv')", "table-function"),
    Construct("the catalogue", "SELECT * FROM information_schema.tables", "catalogue"),
    Construct("WITH RECURSIVE", "WITH RECURSIVE t AS (SELECT 1 AS a) SELECT a FROM t", "recursive"),
    Construct(
        "FETCH FIRST with a percentage",
        "SELECT dept FROM staff FETCH FIRST 10 PERCENT ROWS ONLY",
        "limit-percent",
    ),
    Construct("SUMMARIZE of a query with anything else", "SUMMARIZE SELECT salary FROM staff", "summarize"),
    Construct("anything but a query", "DROP TABLE staff", "statement"),
    Construct("statements inside a query", "WITH x AS (DELETE FROM staff) SELECT 1", "statement-inside"),
    Construct("SELECT INTO", "SELECT id INTO x FROM staff", "into"),
    Construct("several statements", "SELECT 1; SELECT 2", "several-statements"),
    Construct("no statement", "-- nothing", "empty"),
    Construct("text that is no SQL", "SELECT SUM(salary FROM staff", "syntax"),
    Construct("parameters without values", "SELECT SUM(salary) FROM staff WHERE age > ?", "parameters"),
    Construct("unknown tables", "SELECT SUM(salary) FROM staf", "unknown-table"),
    Construct("unknown columns", "SELECT SUM(salaryy) FROM staff", "unknown-column"),
    Construct("what DuckDB rejects", "SELECT SUM(dept) FROM staff", "engine"),
)
"""The table. Codes without a row are hard to show in one line, or need other tables: "too-large",
"ungrouped", "translation", "uneven", "cells", "cells-values", "two-columns", "too-slow", "too-much",
"dialect"."""


def table_markdown() -> str:
    """The table as Markdown, for the docs."""
    lines = ["| construct | example | |", "|---|---|---|"]
    for row in CONSTRUCTS:
        message, hint = row.reason
        verdict = row.code if row.code == UNDERSTOOD else f"`{row.code}`: {message} {hint}".strip()
        cells = (cell.replace("|", "\\|") for cell in (row.name, f"`{row.example}`", verdict))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
