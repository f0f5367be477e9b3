"""The table of what is understood: every node, function and type that may stand in a statement, by name.

What is in none of these sets is unsupported; functions and aggregates are those of `auditor.sql.pure`, the
reasons those of `auditor.sql.reasons`. Examples with their verdicts stand in `docs/sql.md`, where the tests
read them. Nothing here looks at a statement.
"""

from __future__ import annotations

from auditor.sql import macros, pure
from auditor.sql.reasons import REASONS, in_dialect
from auditor.sql.spelling import written
from auditor.sql.statement import Unsupported
from auditor.sql.wording import worded

__all__ = ["REASONS", "NotUnderstood"]


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
