"""A text's lexemes, as PostgreSQL's lexer (scan.l) finds them, whether or not the text parses.

Promises that every letter belongs to exactly one lexeme, in the order of the text, and that time grows with
the text alone. Nothing is raised: what is never closed goes to the end. sqlglot's tokenizer is the parser's;
it takes what follows SHOW, FETCH and DECLARE for one text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

BLANKS = frozenset({"blank", "comment"})
"""Kinds that say nothing."""
_LINE = r"--[^\n\r]*+"
_GAP = rf"(?:[ \t\f\v]++|{_LINE})*+[\n\r](?:[ \t\n\r\f\v]++|{_LINE}[\n\r])*+"
"""Blanks with a line's end, behind which a text goes on: 'a' <line end> 'b' is 'ab', and E'…' stays E'…'."""
_BACKSLASHED = rf"'(?:[^'\\]++|\\.|''|'{_GAP}')*+(?:'|\\?\Z)"
_TEXT = rf"'(?:[^']++|''|'{_GAP}')*+(?:'|\Z)"
_BITS = rf"'(?:[^']++|'{_GAP}')*+(?:'|\Z)"
_NAME = r'"(?:[^"]++|"")*+(?:"|\Z)'
_DIGITS = r"[0-9](?:_?[0-9])*+"
_COMMENTS = {"bigquery": r"(?:--|\#)[^\n\r]*+", "snowflake": r"(?:--|//)[^\n\r]*+"}
_EDGE = re.compile(r"/\*|\*/")
_INNER = re.compile(rf"''|'{_GAP}'")


def lexemes(text: str, dialect: str = "postgres") -> Iterator[tuple[str, int, int]]:
    """The lexemes of a text: what each is, where it starts, and where it ends.

    Kinds are "blank", "comment" and "unclosed" (a comment that never ends), "word", "name", "text", "escaped"
    (E'…' and U&…), "bits" (B'…', X'…'), "dollar", "number", "parameter", and "sign": `..`, or one letter,
    so that an operator is several of them.

    Args:
        text: Any text.
        dialect: "bigquery" and "snowflake" have comments and texts of their own; others are PostgreSQL's.
    """
    match, size, place = _pattern(dialect).match, len(text), 0
    while place < size and (found := match(text, place)):  # a sign is any letter
        start, place, kind = place, found.end(), found.lastgroup or ""
        if kind == "block":
            kind, place = _comment(text, place, dialect)
        elif kind == "dollar":
            closing = text.find(found[0], place)
            place = size if closing < 0 else closing + len(found[0])
        yield kind, start, place


def content(written: str) -> str:
    """What a lexeme of kind "text" says."""
    return _INNER.sub(lambda found: "'" if found[0] == "''" else "", written[1:].removesuffix("'"))


@cache
def _pattern(dialect: str) -> re.Pattern[str]:
    text, bits = (_BACKSLASHED, _BACKSLASHED) if dialect in _COMMENTS else (_TEXT, _BITS)
    name = rf"{_NAME}|`[^`]*+(?:`|\Z)" if dialect == "bigquery" else _NAME
    return re.compile(
        rf"""
          (?P<blank> [ \t\n\r\f\v]++ )
        | (?P<comment> {_COMMENTS.get(dialect, _LINE)} )
        | (?P<block> /\* )
        | (?P<escaped> [eE]{_BACKSLASHED} | [uU]&(?:{text}|{_NAME}) )
        | (?P<bits> [bBxX]{bits} )
        | (?P<text> {text} )
        | (?P<name> {name} )
        | (?P<word> [A-Za-z_\x80-\U0010ffff][A-Za-z0-9_$\x80-\U0010ffff]*+ )
        | (?P<parameter> \$[0-9]++ )
        | (?P<dollar> \$(?:[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_\x80-\U0010ffff]*+)?\$ )
        | (?P<number> 0(?:[xX](?:_?[0-9A-Fa-f])++|[oO](?:_?[0-7])++|[bB](?:_?[01])++)
            | (?:{_DIGITS}(?:\.(?!\.)(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})? )
        | (?P<sign> \.\. | . )
        """,
        re.VERBOSE | re.DOTALL,
    )


def _comment(text: str, place: int, dialect: str) -> tuple[str, int]:
    """Where a comment ends. PostgreSQL's nest; those of BigQuery and Snowflake do not."""
    nested, depth = dialect not in _COMMENTS, 1
    while found := _EDGE.search(text, place):
        place = found.end()
        depth += -1 if found[0] == "*/" else nested
        if not depth:
            return "comment", place
    return "unclosed", len(text)
