"""Casts and rounding of a protected column that change no value: `SUM(pay::BIGINT)`, `AVG(ROUND(pay, 2))`.

Tools write them for the type of the result. What is cast is a value, so it must be the same number whatever
the value is: the column's type, or its public domain, says which numbers there may be. A cast that could
round, cut off or fail would tell of values, by an error or by what it does to a sum.

Promise: what is marked gives every value of the column as the same number, and fails for none.
"""

from __future__ import annotations

import re
from fractions import Fraction

from sqlglot import exp

from auditor.sql.schema import Protected

_MARK = "harmless"
_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")
_BITS = {
    "TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "INT": 32, "BIGINT": 64, "HUGEINT": 128, "INT128": 128,
    "UTINYINT": 8, "USMALLINT": 16, "UINTEGER": 32, "UINT": 32, "UBIGINT": 64, "UHUGEINT": 128,
    "UINT128": 128,
}  # fmt: skip
_EXACT = {"DOUBLE": (2**53, 15), "FLOAT": (2**24, 6)}
"""Whole numbers up to which, and decimal digits up to which, each is the number that was written."""
_DEFAULT_DECIMAL = (18, 3)
_ROUNDED = frozenset(["this", "decimals"])


def mark(cast: exp.Cast, protected: Protected) -> None:
    """Note on a cast of a protected column, or of such a cast, that it changes no value, if so."""
    if _changes_nothing(protected, cast.to):
        cast.meta[_MARK] = True


def mark_rounding(node: exp.Round, protected: Protected) -> None:
    """Note on ROUND of a protected column that it changes no value, if so: all are multiples already."""
    given = node.args.get("decimals")
    digits = 0 if given is None else _digits(given)
    numbers = _numbers(protected.type)
    if digits is None or numbers is None or any(v for k, v in node.args.items() if k not in _ROUNDED):
        return
    step = Fraction(1, 10**digits) if digits >= 0 else Fraction(10**-digits)
    grid = [Fraction(1, 10 ** numbers[2])]
    if protected.grid is not None and protected.least is not None:
        grid.append(protected.grid)
    for each in grid:
        start = protected.least if each is protected.grid else Fraction(0)
        if start is not None and not each % step and not start % step:
            node.meta[_MARK] = True


def grid_of(protected: Protected) -> Fraction | None:
    """What all values are whole multiples of, by the column's type; None where it is binary."""
    numbers = _numbers(protected.type)
    return None if numbers is None else Fraction(1, 10 ** numbers[2])


def _digits(node: exp.Expr) -> int | None:
    negative = isinstance(node, exp.Neg)
    number = node.this if negative else node
    if not isinstance(number, exp.Literal) or not number.is_int or len(number.name) > 2:
        return None
    return -int(number.name) if negative else int(number.name)


def uncast(node: exp.Expr) -> exp.Expr:
    """What stands inside of parentheses, and of casts and ROUND that are marked."""
    while isinstance(node, exp.Paren) or is_marked(node):
        node = node.this
    return node


def is_marked(node: exp.Expr) -> bool:
    """Whether a node is a cast, or ROUND, that changes no value."""
    return isinstance(node, exp.Cast | exp.Round) and bool(node.meta.get(_MARK))


def _changes_nothing(protected: Protected, to: exp.DataType) -> bool:
    name = to.this.value if isinstance(to.this, exp.DType) else str(to.this)
    given = _numbers(protected.type)
    if given is None:
        # of a binary number the shortest decimal counts: as DOUBLE it is that number again
        return name == "DOUBLE" or (name == "FLOAT" and protected.type == "FLOAT")
    least, most, scale = given
    if protected.least is not None and protected.most is not None:
        least, most = max(least, protected.least), min(most, protected.most)
    largest = max(abs(least), abs(most))
    if name in _BITS:
        low, high = _range(name)
        return scale == 0 and low <= least and most <= high
    if name == "DECIMAL":
        digits = [int(each.name) for each in to.expressions if each.name.isdecimal()]
        width, kept = (*digits, 0)[:2] if digits else _DEFAULT_DECIMAL
        return kept >= scale and largest < 10 ** (width - kept)
    if name in _EXACT:
        whole, decimals = _EXACT[name]
        return largest <= whole if scale == 0 else largest * 10**scale < 10**decimals
    return False


def _numbers(type_: str) -> tuple[Fraction, Fraction, int] | None:
    """Least and greatest value of a type, and digits after the point; None where it is binary."""
    decimal = _DECIMAL.fullmatch(type_)
    if decimal:
        width, scale = int(decimal[1]), int(decimal[2])
        most = Fraction(10**width - 1, 10**scale)
        return -most, most, scale
    if type_ in _BITS:
        low, high = _range(type_)
        return Fraction(low), Fraction(high), 0
    return None


def _range(name: str) -> tuple[int, int]:
    bits = _BITS[name]
    return (0, 2**bits - 1) if name.startswith("U") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
