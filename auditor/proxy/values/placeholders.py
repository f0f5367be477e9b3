"""Where a statement's parameters stand: `$1`, outside of texts, names and comments.

One pass over the text, whether or not it parses.
"""

from __future__ import annotations

from dataclasses import dataclass

from auditor.proxy.values.errors import BadParameter
from auditor.sql.postgres.lexing import lexemes

MAX_PARAMETERS = 65_535
"""As many as Bind can count."""


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
    return [
        Place(_number(sql[start:end]), start, end) for kind, start, end in lexemes(sql) if kind == "parameter"
    ]


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
