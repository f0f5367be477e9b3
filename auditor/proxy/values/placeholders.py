"""Where a statement's parameters stand: `$1`, outside of texts, names and comments.

One pass over the text, whether or not it parses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from auditor.proxy.values.errors import BadParameter

MAX_PARAMETERS = 65_535
"""As many as Bind can count."""
_LEXEME = re.compile(
    r"""
      (?P<text> '(?:[^']|'')*+(?:'|\Z) )
    | (?P<escaped> [eE]'(?:[^'\\]|\\.|'')*+(?:'|\Z|\\\Z) )
    | (?P<name> "(?:[^"]|"")*+(?:"|\Z) )
    | (?P<line> --[^\n]*+ )
    | (?P<block> /\* )
    | (?P<word> [A-Za-z_\x80-\U0010ffff][A-Za-z0-9_$\x80-\U0010ffff]*+ )
    | (?P<parameter> \$[0-9]++ )
    | (?P<dollar> \$(?:[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_\x80-\U0010ffff]*+)?\$ )
    | (?P<other> [^'"$/\-A-Za-z_\x80-\U0010ffff]++ | . )
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT = re.compile(r"/\*|\*/")


@dataclass(frozen=True)
class Place:
    """One mention of a parameter."""

    number: int
    start: int
    end: int


def places(sql: str) -> list[Place]:
    """Every mention of a parameter, in the order of the text.

    Raises:
        BadParameter: 42P02, for a number that no parameter has.
    """
    found, position = [], 0
    while position < len(sql):
        lexeme = _LEXEME.match(sql, position)
        assert lexeme is not None  # `.` matches whatever is left
        start, position = position, lexeme.end()
        kind = lexeme.lastgroup
        if kind == "parameter":
            found.append(Place(_number(lexeme[0]), start, position))
        elif kind == "block":
            position = _after_comment(sql, position)
        elif kind == "dollar":
            closing = sql.find(lexeme[0], position)
            position = len(sql) if closing < 0 else closing + len(lexeme[0])
    return found


def highest(sql: str) -> int:
    """The highest number of a parameter; 0: there is none.

    Raises:
        BadParameter: see `places`.
    """
    return max((place.number for place in places(sql)), default=0)


def spaced(sql: str) -> str:
    """The statement with a blank behind each parameter that something else follows.

    sqlglot reads `$1,$2` as the beginning of a text quoted with `$1,$`.
    """
    pieces, position = [], 0
    for place in places(sql):
        if place.end == len(sql) or sql[place.end].isspace():
            continue
        pieces += [sql[position : place.end], " "]
        position = place.end
    return "".join(pieces) + sql[position:]


def _number(text: str) -> int:
    digits = text[1:].lstrip("0")
    if not digits or len(digits) > 5 or int(digits) > MAX_PARAMETERS:
        raise BadParameter("42P02", f"there is no parameter {text[:20]}")
    return int(digits)


def _after_comment(sql: str, position: int) -> int:
    """Where a comment ends; they nest."""
    depth = 1
    while depth:
        mark = _COMMENT.search(sql, position)
        if mark is None:
            return len(sql)
        position = mark.end()
        depth += 1 if mark[0] == "/*" else -1
    return position
