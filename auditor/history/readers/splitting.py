"""A text of several statements, cut where they end: quotes, comments and dollar quotes are seen through.

Reads no grammar, so that what no parser takes is cut as the server that ran it did.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

_COMMENT = r"--[^\n]*"
_COMMENTS = {"bigquery": r"(?:--|\#)[^\n]*", "snowflake": r"(?:--|//)[^\n]*"}
_TOKENS = r"""(?P<comment>COMMENT)
      | (?P<block>/\*)
      | (?P<escaped>(?<![\w$])[eE]'(?:[^'\\]|\\.|'')*+(?:'|$))
      | (?P<quoted>'(?:[^']|'')*+(?:'|\Z) | "(?:[^"]|"")*+(?:"|\Z) | `[^`]*+(?:`|\Z))
      | (?P<dollar>(?<![\w$])\$(?:[^\W\d]\w*)?\$)
      | (?P<parameter>(?<![\w$])\$\d+)
      | (?P<mark>[;,?()\[\]])"""


@lru_cache
def _token(dialect: str) -> re.Pattern[str]:
    written = _TOKENS.replace("COMMENT", _COMMENTS.get(dialect, _COMMENT))
    return re.compile(written, re.VERBOSE | re.DOTALL)


_BACKSLASHED = re.compile(r"""'(?:[^'\\]|\\.|'')*+(?:'|\Z)""", re.DOTALL)
"""How BigQuery and Snowflake read a string."""
_NESTED = re.compile(r"/\*|\*/")
BLANK = re.compile(r"(?:\s++|--[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)*+")
"""Blanks and comments at the start of a text."""
_BACKSLASH = {"bigquery", "snowflake", "mysql"}


def tokens(text: str, dialect: str = "postgres") -> Iterator[tuple[str, int, int]]:
    """What matters for cutting: (";" "," "(" … or "parameter" or "comment" or "quoted", start, end)."""
    place, size, token = 0, len(text), _token(dialect)
    while place < size and (found := token.search(text, place)):
        kind = found.lastgroup or ""
        start, place = found.start(), found.end()
        if kind == "block":
            place, kind = _after_comment(text, place, dialect), "comment"
        elif kind == "dollar":
            closing = text.find(found.group(), place)
            place, kind = (size if closing < 0 else closing + len(found.group())), "quoted"
        elif kind == "quoted" and text[start] == "'" and dialect in _BACKSLASH:
            again = _BACKSLASHED.match(text, start)
            place = again.end() if again else size
        elif kind == "escaped":
            kind = "quoted"
        yield (text[start] if kind == "mark" else kind), start, place


def _after_comment(text: str, place: int, dialect: str) -> int:
    """PostgreSQL's comments nest; those of others do not."""
    depth = 1
    while depth:
        found = _NESTED.search(text, place)
        if found is None:
            return len(text)
        place = found.end()
        opening = found.group() == "/*"
        depth += (1 if dialect in ("postgres", "duckdb") else 0) if opening else -1
    return place


def pieces(text: str, mark: str, dialect: str = "postgres") -> list[tuple[int, int]]:
    """Where the pieces between a mark outside of parentheses start and end; the last may be blank."""
    found, start, depth = [], 0, 0
    for kind, place, after in tokens(text, dialect):
        if kind in "([":
            depth += 1
        elif kind in ")]":
            depth = max(depth - 1, 0)
        elif kind == mark and not depth:
            found.append((start, place))
            start = after
    found.append((start, len(text)))
    return found


def blank(text: str) -> bool:
    """Whether there is nothing but blanks, comments and semicolons."""
    found = BLANK.match(text)
    rest = text[found.end() :] if found else text
    return not rest.strip("; \t\r\n\f") or (rest.startswith(";") and blank(rest[1:]))


def statements(text: str, dialect: str = "postgres") -> list[tuple[int, str]]:
    """The statements of a text, and where each starts; a single one is left exactly as it is."""
    semicolons = text.count(";")
    if not semicolons or (semicolons == 1 and text.rstrip().endswith(";")):
        return [] if blank(text) else [(0, text)]
    found = [(start, text[start:end].strip()) for start, end in pieces(text, ";", dialect)]
    found = [each for each in found if not blank(each[1])]
    return [(0, text)] if len(found) == 1 else found
