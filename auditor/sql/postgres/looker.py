"""Looker's symmetric aggregates for PostgreSQL, in the shorter words that `mark_each_once` reads.

    SUM(DISTINCT (CAST(FLOOR(COALESCE(salary, 0) * (1000000*1.0)) AS DECIMAL(65,0)))
        + ('x' || MD5(id::varchar))::bit(64)::bigint::DECIMAL(65) * 18446744073709551616
        + ('x' || SUBSTR(MD5(id::varchar), 17))::bit(64)::bigint::DECIMAL(65))
    - SUM(DISTINCT ('x' || MD5(id::varchar))::bit(64)::bigint::DECIMAL(65) * 18446744073709551616 + …)

Promise: what is found is a difference in which this hash, and no other, is added and taken away. DuckDB's own
hash stands for it: either tells keys apart, and neither is seen in the result.
"""

from __future__ import annotations

from sqlglot import exp

from auditor.sql.rules.mark_each_once import apart, whole

_HALF = "CAST(CAST(CAST(('x' || {}) AS BIT(64)) AS BIGINT) AS DECIMAL{})"
_MD5 = "MD5(CAST({} AS {}))"
_TEXTS = ("VARCHAR", "TEXT")
_DECIMALS = ("(65)", "(65, 0)")


def difference(node: exp.Expr) -> tuple[exp.Expr, bool, exp.Column] | None:
    """What is summed, whether FLOOR stands around it, and the key that tells records apart."""
    if not isinstance(node, exp.Sub):
        return None
    added, taken = (_summed(side) for side in (node.this, node.expression))
    if added is None or taken is None:
        return None
    found = apart(added, taken, _hashed)
    if found is None:
        return None
    value, key = found
    inner = whole(_named(value))
    return (value if inner is None else inner), inner is not None, key


def _named(value: exp.Expr) -> exp.Expr:
    """FLOOR as a class of its own: here every function still has its name."""
    made = value.copy()
    for call in list(made.find_all(exp.Anonymous)):
        if str(call.this).lower() == "floor" and len(call.expressions) == 1:
            call.replace(exp.Floor(this=call.expressions[0]))
    return made


def _summed(node: exp.Expr) -> exp.Expr | None:
    call = node.unnest()
    named = isinstance(call, exp.Anonymous) and str(call.this).lower() == "sum"
    distinct = call.expressions[0] if named and len(call.expressions) == 1 else None
    if not isinstance(distinct, exp.Distinct) or len(distinct.expressions) != 1:
        return None
    found: exp.Expr = distinct.expressions[0]
    return found


def _hashed(terms: list[exp.Expr]) -> exp.Column | None:
    columns = [column for term in terms for column in term.find_all(exp.Column)]
    if not columns or any(each != columns[0] for each in columns):
        return None
    key, written = columns[0], sorted(each.sql("postgres") for each in terms)
    for text in _TEXTS:
        for digits in _DECIMALS:
            md5 = _MD5.format(key.sql("postgres"), text)
            high = f"{_HALF.format(md5, digits)} * 18446744073709551616"
            low = _HALF.format(f"SUBSTR({md5}, 17)", digits)
            if written == sorted([high, low]):
                return key
    return None
