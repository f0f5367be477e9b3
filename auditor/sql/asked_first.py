"""Subqueries that give the value with which a condition compares a protected column: questions of their own.

    SELECT AT_LEAST(COUNT(*)) FROM staff WHERE salary > (SELECT AVG(salary) FROM staff)

    SELECT AVG(salary) FROM staff                                      is asked first, and told 71.5, say
    SELECT AT_LEAST(COUNT(*)) FROM staff WHERE salary > (71.5)         is asked then

That is what an analyst would do by hand. Nothing is chosen by a value that nobody has been told: what stands
in the condition is what the first question was answered with.

Promise: what is found are subqueries in brackets that stand where one value does, with nothing in them that
the statement around them defines; what comes out is the same text with constants in their places. Safety does
not rest on it: each text that comes out is read like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from sqlglot.dialects.duckdb import DuckDB
from sqlglot.tokenizer_core import Token, TokenType

from auditor.sql.dialects import Dialect
from auditor.sql.limits import tokens_of
from auditor.sql.understood import NotUnderstood

MOST = 4
"""Such subqueries in one statement."""
UNTOLD = "0"
"""Stands for a value as long as nobody has asked for it."""
_DIGITS = 38
"""Of a number that both dialects read as it is written."""

_COMPARED = {TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE}
_BEFORE = _COMPARED | {
    TokenType.PLUS, TokenType.DASH, TokenType.STAR, TokenType.SLASH, TokenType.BETWEEN, TokenType.AND,
}  # fmt: skip
_NOT_BEFORE = {
    TokenType.IN, TokenType.ANY, TokenType.ALL, TokenType.SOME, TokenType.EXISTS, TokenType.FROM,
    TokenType.JOIN, TokenType.COMMA,
}  # fmt: skip
_VALUES = {TokenType.PARAMETER, TokenType.PLACEHOLDER}


@dataclass(frozen=True)
class First:
    """A subquery that is asked first."""

    start: int
    """Where its opening bracket stands in the text."""
    end: int
    """Where the text goes on."""
    sql: str
    """What is in the brackets."""


def asked_first(text: str, dialect: Dialect) -> tuple[First, ...]:
    """The subqueries of a statement that can be asked before it; none where one of them cannot."""
    try:
        tokens = _tokens(text, dialect)
    except NotUnderstood:
        return ()
    found, place = list[First](), 0
    while place < len(tokens):
        end = _closing(tokens, place) if _opens(tokens, place) else 0
        if not end or not _is_value(tokens, place, end):
            if tokens[place].token_type in (TokenType.WITH, TokenType.RECURSIVE):
                return ()  # it may give the subquery another table of a name
            place += 1
            continue
        inner = tokens[place + 1 : end]
        if any(each.token_type in _VALUES for each in inner):
            return ()  # whose values are counted by their place in the whole text
        found.append(
            First(tokens[place].start, tokens[end].end + 1, text[inner[0].start : inner[-1].end + 1])
        )
        place = end + 1
    return tuple(found) if len(found) <= MOST else ()


def with_values(text: str, firsts: Sequence[First], values: Sequence[str]) -> str:
    """The text with constants in place of subqueries."""
    pieces, position = list[str](), 0
    for first, value in zip(firsts, values, strict=True):
        pieces += [text[position : first.start], f"({value})"]
        position = first.end
    return "".join(pieces) + text[position:]


def written(value: object) -> str | None:
    """A value that was told, as a constant; None where it is no number that can be written.

    >>> written(71.5), written(1e-7), written(None)
    ('71.5', '0.0000001', None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if not number.is_finite():
        return None
    text = format(number, "f")
    return text if sum(sign.isdecimal() for sign in text) <= _DIGITS else None


def _tokens(text: str, dialect: Dialect) -> list[Token]:
    if dialect == "duckdb":
        return tokens_of(text, DuckDB())
    from auditor.sql.postgres.reading import tokens  # loaded where it is needed

    return tokens(text)


def _opens(tokens: Sequence[Token], place: int) -> bool:
    """Whether a query in brackets begins."""
    following = tokens[place + 1].token_type if place + 1 < len(tokens) else None
    return tokens[place].token_type == TokenType.L_PAREN and following == TokenType.SELECT


def _closing(tokens: Sequence[Token], place: int) -> int:
    """The place of the bracket that closes one; 0 where there is none."""
    depth = 0
    for position in range(place, len(tokens)):
        kind = tokens[position].token_type
        depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        if not depth:
            return position
    return 0


def _is_value(tokens: Sequence[Token], place: int, end: int) -> bool:
    """Whether what stands in brackets is compared, or reckoned with, as one value."""
    before = tokens[place - 1].token_type if place else None
    after = tokens[end + 1].token_type if end + 1 < len(tokens) else None
    return before in _BEFORE or (before not in _NOT_BEFORE and after in _COMPARED)
