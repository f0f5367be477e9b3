"""Parameters as a log writes them, put into the statement's text.

A log has every value as text. A quoted text in its place means the same: PostgreSQL gives both a type by
what stands around it, and DuckDB does so too. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

_NUMBER = re.compile(r"^[+-]?\d+$")
_ARRAYS = frozenset({"ANY", "SOME", "ALL"})


class Unbound(Exception):
    """A parameter has no value, or the text cannot be read."""


def bound(sql: str, parameters: Sequence[str | None] | None, dialect: str) -> str:
    """The statement with its parameters written in.

    Args:
        sql: With $1, $2, … or ?.
        parameters: Their values as text, NULL as None; None where the log has none.
        dialect: Whose words it is read by.

    Raises:
        Unbound: a placeholder has no value.
    """
    try:
        tokens = Dialect.get_or_raise(dialect or "duckdb").tokenize(sql)
    except (TokenError, ValueError):
        raise Unbound("the statement cannot be read") from None
    pieces: list[str] = []
    done, asked = 0, 0
    for place, token in enumerate(tokens):
        number, last = _numbered(tokens, place)
        if number == 0:
            asked += 1
            number = asked
        if number is None:
            continue
        if parameters is None or number > len(parameters):
            raise Unbound(f"parameter {number} has no value in the log")
        before = tokens[place - 1].text.upper() if place else ""
        pieces += [sql[done : token.start], _literal(parameters[number - 1], before)]
        done = last.end + 1
    return _lists("".join([*pieces, sql[done:]]), dialect)


def _numbered(tokens: list[Token], place: int) -> tuple[int | None, Token]:
    """The number of a placeholder, 0 for `?`, None where a token is none; and where it ends."""
    token = tokens[place]
    if token.token_type == TokenType.PLACEHOLDER and token.text == "?":
        return 0, token
    if token.token_type == TokenType.PARAMETER and place + 1 < len(tokens):
        after = tokens[place + 1]
        if after.token_type == TokenType.NUMBER and after.start == token.end + 1:
            return int(after.text), after
    if token.text.startswith("$") and token.text[1:].isdigit():
        return int(token.text[1:]), token
    return None, token


def _literal(value: str | None, before: str) -> str:
    if value is None:
        return " NULL "
    if before in ("LIMIT", "OFFSET", "FETCH") and _NUMBER.match(value):
        return f" {value} "
    return " '" + value.replace("'", "''") + "' "


def _lists(sql: str, dialect: str) -> str:
    """`= ANY('{a,b}')` as IN, `<> ALL('{a,b}')` as NOT IN: arrays are texts in a log."""
    tokens = Dialect.get_or_raise(dialect or "duckdb").tokenize(sql)
    pieces, done = [], 0
    for place in range(len(tokens) - 4):
        sign, word, opening, text = tokens[place : place + 4]
        after = place + 4
        if word.text.upper() not in _ARRAYS or opening.token_type != TokenType.L_PAREN:
            continue
        if text.token_type != TokenType.STRING or not text.text.startswith("{"):
            continue
        while after < len(tokens) and tokens[after].token_type != TokenType.R_PAREN:
            after += 1
        every = word.text.upper() == "ALL"
        if after == len(tokens) or sign.text not in (("<>", "!=") if every else ("=",)):
            continue
        values = ", ".join("'" + each.replace("'", "''") + "'" for each in elements(text.text))
        pieces += [sql[done : sign.start], f"{'NOT IN' if every else 'IN'} ({values or 'NULL'})"]
        done = tokens[after].end + 1
    return "".join([*pieces, sql[done:]])


def elements(array: str) -> list[str]:
    r"""The elements of a one-dimensional array as PostgreSQL writes it.

    >>> elements('{SRV,"a,b","say \\"x\\""}')
    ['SRV', 'a,b', 'say "x"']
    """
    found, current, quoted, escaped, started = [], "", False, False, False
    for letter in array[1:-1]:
        if escaped:
            current, escaped = current + letter, False
        elif letter == "\\":
            escaped = True
        elif letter == '"':
            quoted, started = not quoted, True
        elif letter == "," and not quoted:
            found.append(current)
            current, started = "", False
        else:
            current += letter
    return [*found, current] if current or started or found else []
