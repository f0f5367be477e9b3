"""The table of what is understood, shared by the code, the docs and the tests.

`REASONS` holds every code with its message and hint; `CONSTRUCTS` the constructs with an example each and the
code that the example gets; the sets name every node, function and type that may stand in a statement: what is
in none of them is unsupported. Nothing here looks at a statement.
"""

from __future__ import annotations

from dataclasses import dataclass

from auditor.sql.reasons import REASONS
from auditor.sql.statement import Unsupported

UNDERSTOOD = "understood"


class NotUnderstood(Exception):  # noqa: N818
    """Carries the reason up to `understand`, which returns it as a value; never leaves `auditor.sql`."""

    def __init__(self, code: str, **names: str) -> None:
        super().__init__(code)
        message, hint = REASONS[code]
        self.reason = Unsupported(code, message.format(**names), hint.format(**names))


# Names of sqlglot's classes. A class that is missing here is unsupported.
STRUCTURE = frozenset(
    "Select Union Intersect Except Subquery From Table TableAlias Alias Identifier Column Where Group Having Order "
    "Ordered Limit Offset Fetch LimitOptions Distinct With CTE Join Star Literal RawString Null Boolean Paren Tuple "
    "Filter Case If Cast TryCast DataType DataTypeParam Interval Var Exists In Between Is Placeholder Any All "
    "Escape".split()
)
OPERATORS = frozenset(
    "And Or Not EQ NEQ GT GTE LT LTE NullSafeEQ NullSafeNEQ Like ILike SimilarTo Glob RegexpLike Add Sub Mul Div "
    "IntDiv Mod Neg Pow DPipe BitwiseAnd BitwiseOr BitwiseNot".split()
)
FUNCTIONS = frozenset(
    "Abs Ceil Floor Round Trunc Sqrt Cbrt Exp Ln Log Sign Greatest Least Coalesce Nullif Lower Upper Length Trim "
    "Substring Concat ConcatWs Left Right Replace StrPosition StartsWith EndsWith Contains Reverse Pad Year Month "
    "Day Quarter Week DayOfWeek DayOfYear DayOfWeekIso Hour Minute Second Dayname Monthname Extract "
    "TimestampTrunc DateTrunc DateDiff TimeToStr StrToTime LastDay DateFromParts RegexpReplace RegexpExtract IsNan "
    "Sin Cos Tan Pi Degrees Radians SplitPart Ascii Unicode Chr".split()
)
# Functions that sqlglot has no class for, by DuckDB's name.
NAMED_FUNCTIONS = frozenset(
    "strlen prefix suffix weekday date_part date_sub isfinite even round_even century mean count_star".split()
)
# Aggregates that the gate computes over the protected column itself.
PROTECTED_AGGREGATES = frozenset("Sum Avg Min Max".split())
# Aggregates over public columns, and over aggregates.
PUBLIC_AGGREGATES = PROTECTED_AGGREGATES | frozenset(
    "Count CountIf Median Stddev StddevSamp StddevPop Variance VariancePop LogicalAnd LogicalOr".split()
)
TYPES = frozenset(
    "TINYINT SMALLINT INT BIGINT INT128 UTINYINT USMALLINT UINT UBIGINT UINT128 FLOAT DOUBLE DECIMAL BOOLEAN "
    "TEXT VARCHAR CHAR DATE TIME TIMESTAMP TIMESTAMPTZ INTERVAL".split()
)
# Classes that get a code of their own instead of "construct".
CODED_NODES = {
    "Window": "window", "WindowSpec": "window", "Qualify": "window", "RowNumber": "window", "Lag": "window",
    "Lead": "window", "Rank": "window", "DenseRank": "window", "TableSample": "sample", "Pivot": "pivot",
    "Lateral": "lateral", "Rollup": "rollup", "Cube": "rollup", "GroupingSets": "rollup", "Grouping": "rollup",
    "Lambda": "lambda", "Transform": "lambda", "TableColumn": "row-reference", "Struct": "nested-type", "Array": "nested-type", "Bracket": "nested-type",
    "Dot": "nested-type", "Map": "nested-type", "Columns": "star", "Insert": "statement-inside",
    "Update": "statement-inside", "Delete": "statement-inside", "Create": "statement-inside", "Into": "into",
    "Lock": "construct", "Values": "values", "ArrayAgg": "aggregate", "GroupConcat": "aggregate",
    "ArgMax": "aggregate", "ArgMin": "aggregate", "Quantile": "aggregate", "PercentileCont": "aggregate",
    "PercentileDisc": "aggregate", "ApproxDistinct": "aggregate", "ApproxQuantile": "aggregate",
    "Mode": "aggregate", "First": "aggregate", "Last": "aggregate", "AnyValue": "aggregate",
    "IgnoreNulls": "aggregate", "WithinGroup": "aggregate", "Skewness": "aggregate", "Kurtosis": "aggregate",
    "Corr": "aggregate", "Rand": "volatile", "Uuid": "volatile", "CurrentDate": "volatile",
    "CurrentTimestamp": "volatile", "CurrentTime": "volatile", "CurrentDatetime": "volatile",
    "CurrentUser": "volatile", "CurrentVersion": "volatile", "Localtime": "volatile",
    "Localtimestamp": "volatile", "Parameter": "parameters-syntax", "SessionParameter": "parameters-syntax",
    "PositionalColumn": "construct", "Collate": "construct", "ByteString": "construct",
    "Explode": "table-function", "GenerateSeries": "table-function", "ReadCSV": "table-function",
}  # fmt: skip
VOLATILE_NAMES = frozenset(
    "now today random setseed nextval currval getvariable current_setting txid_current get_current_timestamp "
    "get_current_time transaction_timestamp current_localtime current_localtimestamp uuidv4 uuidv7 current_schema "
    "current_database current_catalog in_search_path version pg_typeof getenv".split()
)
AGGREGATE_NAMES = frozenset(
    "product fsum sumkahan kahan_sum favg sum_no_overflow histogram entropy any_value arbitrary first last mode "
    "list array_agg string_agg group_concat quantile quantile_disc mad bitstring_agg approx_top_k reservoir_quantile "
    "kurtosis kurtosis_pop regr_slope sem geometric_mean geomean weighted_avg max_by min_by arg_max_null "
    "arg_min_null first_value last_value nth_value histogram_exact".split()
)


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
