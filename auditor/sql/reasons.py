"""Every reason why a statement is not answered: code, message, hint.

Part of the table of `auditor.sql.understood`, which is the module to import. Texts are in an analyst's words;
the names in braces come from the statement, the parameters' types or the public schema, never from a record.
"""

from __future__ import annotations

_LIST = "Name the public columns that you need."

REASONS: dict[str, tuple[str, str]] = {
    "syntax": ("The text could not be read as SQL.", "Check brackets, quotes and commas."),
    "empty": ("There is no statement.", ""),
    "too-large": (
        "The statement is too long, too deeply nested, or has a number that is too long.",
        "Keep to 64 KiB, 1,000 conditions, 50 levels of brackets and 100 tables. IN stands for many ORs; a "
        "WITH query counts as often as it is read.",
    ),
    "several-statements": ("The text holds more than one statement.", "Send one statement at a time."),
    "statement": (
        "Only queries are answered, not {name}.",
        "Start with SELECT, FROM or WITH; SHOW TABLES and DESCRIBE say what there is.",
    ),
    "summarize": (
        "SUMMARIZE is answered of a table, or of columns listed from one, that are public.",
        "DESCRIBE lists the columns; ask for COUNT, MIN, MAX and AVG of those that you need.",
    ),
    "statement-inside": ("A query may not contain a statement that changes something.", ""),
    "into": ("SELECT INTO is not answered.", "Leave INTO out; the rows come back to you."),
    "parameters": ("The parameters do not fit the statement: {detail}.", "Give each parameter one value."),
    "construct": (
        "{name} is not understood.",
        "Say it in plainer SQL.",
    ),
    "function": (
        "The function {name} is not understood.",
        "Use one that the docs list, or compute it from the answer on your side.",
    ),
    "type": ("The type {name} is not understood.", "Use a number, text, date, time or boolean type."),
    "volatile": (
        "{name} depends on more than the data, so the query could not be checked.",
        "Write the value itself, for example a date.",
    ),
    "aggregate": (
        "The aggregate {name} is not understood.",
        "SUM, AVG, MIN, MAX and COUNT are; of public columns also MEDIAN, STDDEV, CORR, quantiles, lists and "
        "more, FIRST and LAST with ORDER BY inside.",
    ),
    "aggregate-arguments": (
        "{name} takes one argument here.",
        "Use one column and no ORDER BY inside; several columns: COUNT(*) over a SELECT DISTINCT of them.",
    ),
    "sample": ("Samples are not answered.", "Select records by a condition on public columns."),
    "pivot": (
        "This PIVOT is not understood, and UNPIVOT is not.",
        "Give the values, ON … IN (…), and a name to each aggregate; or use FILTER on each aggregate; for "
        "UNPIVOT, UNION ALL.",
    ),
    "lateral": (
        "LATERAL is understood of aggregates of a group alone, compared by = with columns around it.",
        "Use a derived table without references to the outside.",
    ),
    "lambda": (
        "Lambda functions are not understood.",
        "Apply functions to columns.",
    ),
    "quantile-list": (
        "Several quantiles in one list are not answered here.",
        "Ask for each by itself: {name}. Of a protected column each stands inside of AT_LEAST and AT_MOST.",
    ),
    "nested-type": ("Lists, structs, maps and their elements are not understood.", "Use plain columns."),
    "star": ("This form of * is not understood.", _LIST),
    "values": (
        "These VALUES are not understood.",
        "Use IN with a list, parameters, or SELECT … UNION ALL SELECT ….",
    ),
    "table-function": (
        "Functions in FROM and functions that return several rows are not understood, but for RANGE, "
        "GENERATE_SERIES and UNNEST of constants in FROM.",
        "Read one of the tables: {tables}.",
    ),
    "catalogue": ("The database's catalogue cannot be read.", "Readable tables: {tables}."),
    "unknown-table": ("There is no readable table {name}.", "{near}"),
    "unknown-column": ("There is no public column {name} here.", "{near}"),
    "duplicate-column": (
        "An inner query has two columns named {name}.",
        "Name them apart with AS.",
    ),
    "row-reference": ("{name} stands for whole rows, which are not answered.", _LIST),
    "alias-columns": (
        "Column names after a table's or WITH query's name are not understood.",
        "Rename the columns with AS inside.",
    ),
    "uneven": (
        "A join repeats some records more often than others, so they would count with different weights.",
        "Join on a column that has each value once, or use a condition such as `dept IN (SELECT …)`.",
    ),
    "join-kind": (
        "This kind of join is not understood.",
        "Use INNER, LEFT, RIGHT, FULL, CROSS, SEMI or ANTI JOIN … ON, also in place of a second USING after "
        "RIGHT or FULL.",
    ),
    "recursive": (
        "WITH RECURSIVE is not understood.",
        "Write the steps out with UNION ALL.",
    ),
    "correlated": (
        "An aggregate of a protected column stands in a subquery that refers to the query around it.",
        "Compare by = and AND alone; or aggregate in a derived table with GROUP BY, then LEFT JOIN it, which "
        "keeps rows without a group.",
    ),
    "set-operation": (
        "This set operation would compare values of {column}.",
        "Aggregate in each part, or use UNION ALL with {column} in the same place of each.",
    ),
    "limit-percent": (
        "This percentage of rows is not understood.",
        "LIMIT 10% is, of a number up to 100 that is written out; or give a number of rows.",
    ),
    "row-level": (
        "{column} is protected: it is not shown row by row.",
        "Write * EXCLUDE ({column}), list public columns, or aggregate it: SUM, AVG, MIN, MAX, COUNT.",
    ),
    "protected-condition": (
        "{column} is protected: rows cannot be selected by its value.",
        "Conditions may use public columns, or `{column} IS NULL`.",
    ),
    "protected-join": (
        "{column} is protected: rows cannot be joined by its value.",
        "Join on public columns.",
    ),
    "protected-correlated": (
        "A subquery reads {column} of the query around it row by row.",
        "Subqueries may refer to public columns of the query around them.",
    ),
    "protected-window": (
        "A window function would read {column} row by row.",
        "PARTITION BY alone may stand around SUM, AVG, MIN, MAX and COUNT; else aggregate first: "
        "SUM(SUM({column})) OVER (…) with GROUP BY.",
    ),
    "window-ties": (
        "Which rows are chosen would hang on the order of rows that are equal here.",
        "Order the window by a column that is unique, or use RANK, DENSE_RANK or an aggregate.",
    ),
    "two-columns": (
        "One aggregate reads two protected columns.",
        "Aggregate each by itself: SUM(a) + SUM(b) instead of SUM(a + b).",
    ),
    "protected-having": (
        "{column} is protected: HAVING may read it inside an aggregate only.",
        "For example HAVING AVG({column}) > …, which counts as released for every group.",
    ),
    "protected-group": (
        "{column} is protected: rows cannot be grouped by it.",
        "Group by public columns, or by CASE WHEN {column} < … THEN … END and show AT_LEAST(COUNT(*)).",
    ),
    "protected-order": (
        "{column} is protected: rows cannot be ordered by it.",
        "Order by public columns, or by an aggregate.",
    ),
    "protected-distinct": (
        "{column} is protected: DISTINCT would compare its values.",
        "Leave {column} out, or aggregate it.",
    ),
    "protected-expression": (
        "{column} is protected: it may only be used inside SUM, AVG, MIN, MAX or COUNT.",
        "Move the aggregate inside: for example ROUND(AVG({column})) instead of AVG(ROUND({column})).",
    ),
    "protected-limit": (
        "LIMIT would choose records of {column} by their place.",
        "Order by a public column that is unique, use a condition on public columns, or QUALIFY RANK() OVER "
        "(ORDER BY …) <= … with a public order.",
    ),
    "protected-aggregate": (
        "{name} of the protected column {column} is not answered.",
        "SUM, AVG, MIN, MAX and COUNT of {column} are understood, and inside of AT_LEAST and AT_MOST its "
        "median, quantiles, deviations, correlations and counts by value.",
    ),
    "range-argument": (
        "{name} stands around an aggregate of a protected column, or arithmetic with such, here around "
        "{what}.",
        "For example {name}(AVG({column})), or {name}(SUM({column}) / COUNT(*)), with each FILTER inside. "
        "Arithmetic is + - * /, ROUND, CAST, COALESCE and NULLIF; other functions go outside.",
    ),
    "range": (
        "{name} is told as a range alone: {column} is protected.",
        "Ask for its ends: AT_LEAST({name}) and AT_MOST({name}).",
    ),
    "count-distinct": (
        "Counting different values of {column} would compare them.",
        "How many there are is not answered; COUNT({column}) counts the records.",
    ),
    "each-once": (
        "A symmetric aggregate counts each record once by a hash of {name}, which may not tell the records "
        "of {column} apart: two of one value would be compared.",
        "Take the hash of a public column of {column}'s own table that no two rows share, or aggregate "
        "before joining.",
    ),
    "distinct-aggregate": (
        "DISTINCT inside an aggregate of {column} would compare its values.",
        "Leave DISTINCT out.",
    ),
    "argument": (
        "This expression of {column} inside an aggregate is not understood.",
        "Constant multiples, offsets and CASE are; other functions go outside: ROUND(AVG({column})).",
    ),
    "protected-cast": (
        "{column} is cast inside an aggregate to a type that may not hold every value of it.",
        "Cast the result: SUM({column})::DOUBLE.",
    ),
    "nonlinear": (
        "{column} may be multiplied by constants only: products with columns read values digit by digit.",
        "Group instead, for example AVG({column}) by bands of the other column.",
    ),
    "offset": (
        "{column} and another column are added inside one aggregate.",
        "Aggregate each by itself: SUM({column}) + SUM(…). MAX and MIN of both together are not answered.",
    ),
    "coefficients": (
        "Records would count with different weights, which reads values digit by digit.",
        "One sum for each weight: SUM({column}) FILTER (WHERE …) + 2 * SUM({column}) FILTER (WHERE …).",
    ),
    "extreme-case": (
        "MIN and MAX of {column} take one expression of it and no other value here.",
        "Leave ELSE out: MAX(CASE WHEN … THEN {column} END).",
    ),
    "subquery-in-aggregate": (
        "A subquery inside an aggregate reads an aggregate of a protected column: it would select records.",
        "Ask for that aggregate first, and write its value into the condition.",
    ),
    "released-condition": (
        "Records are selected by an aggregate of {column}.",
        "Group by what is chosen, or choose groups by HAVING; or ask for the aggregate first and write its "
        "value into the condition.",
    ),
    "ungrouped": (
        "An expression is grouped in other words than it is selected, or not at all.",
        "Give it a name with AS and group by that, or use GROUP BY ALL.",
    ),
    "cells": (
        "Of this table sums by public columns are known, and this reads its rows one by one.",
        "Ask for SUM, AVG, MIN, MAX or COUNT by public columns, without windows, lists and joins of the "
        'table with itself. Owners have all rows read by [source] mode = "records".',
    ),
    "cells-values": (
        "Of the protected values sums, least and greatest by public columns are known, and this needs more.",
        "Ask for SUM, AVG, MIN, MAX or COUNT. Owners have medians, deviations and counts of values answered "
        "as ranges by [source] values = true.",
    ),
    "too-slow": (
        "The statement ran for too long and was stopped.",
        "Ask for fewer groups, or for fewer rows at once.",
    ),
    "too-much": (
        "The statement gives too much, or needs too much memory on the way.",
        "Aggregate, or select fewer rows: a result may have a million rows and 512 MiB.",
    ),
    "engine": ("The database rejects the statement: {detail}", ""),
    "dialect": ("As PostgreSQL reads it, this cannot be answered: {detail}.", "{hint}"),
    "translation": (
        "The statement means something else to the database than was understood.",
        "Put brackets around each operation; write each column with its table's name; use a derived table "
        "for unusual forms.",
    ),
}
"""By code: message and hint."""

IN_POSTGRES: dict[str, str] = {
    "statement": "Start with SELECT or WITH.",
    "summarize": "Ask for COUNT, MIN, MAX and AVG of the columns that you need.",
    "row-level": "List public columns, or aggregate it: SUM, AVG, MIN, MAX, COUNT.",
    "protected-limit": "Order by a public column that is unique, or use a condition on public columns.",
    "protected-cast": "Cast the result: SUM({column})::double precision.",
    "join-kind": "Use INNER, LEFT, RIGHT, FULL or CROSS JOIN.",
    "ungrouped": "Give it a name with AS and group by that.",
    "aggregate": "SUM, AVG, MIN, MAX and COUNT are; of public columns also STDDEV, CORR, PERCENTILE_CONT, "
    "STRING_AGG, ARRAY_AGG and more.",
}
"""By code: the hint where the other one says what PostgreSQL has no words for."""


def in_dialect(code: str, hint: str, dialect: str) -> str:
    """A code's hint in words that a dialect has."""
    return IN_POSTGRES.get(code, hint) if dialect == "postgres" else hint
