"""A text's words and statements, as PostgreSQL's lexer finds them, whether or not the text parses.

sqlglot's tokenizer takes what follows SHOW, FETCH and DECLARE for one text, so it cannot do this. One pass,
each letter looked at once; nothing is raised but `ProtocolError` for a text with too many statements.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from auditor.proxy.protocol.sqlstate import ProtocolError, SqlState

MAX_STATEMENTS = 100
"""Of one text."""
_LEXEME = re.compile(
    r"""
      (?P<blank> (?:\s|--[^\n]*+)++ )
    | (?P<block> /\* )
    | (?P<escaped> [eE]'(?:[^'\\]|\\.|'')*+(?:'|\Z|\\\Z) )
    | (?P<text> '(?:[^']|'')*+(?:'|\Z) )
    | (?P<name> "(?:[^"]|"")*+(?:"|\Z) )
    | (?P<word> [A-Za-z_\x80-\U0010ffff][A-Za-z0-9_$\x80-\U0010ffff]*+ )
    | (?P<parameter> \$[0-9]++ )
    | (?P<dollar> \$(?:[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_\x80-\U0010ffff]*+)?\$ )
    | (?P<number> (?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)? )
    | (?P<sign> . )
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT = re.compile(r"/\*|\*/")


@dataclass(frozen=True)
class Lexeme:
    """One word, name, text, number or sign."""

    kind: str
    """word, name, text, escaped, dollar, number, parameter or sign."""
    written: str
    """As it stands in the text."""
    start: int
    end: int

    @property
    def value(self) -> str:
        """What it says: names and texts without their quotes, words in lower case."""
        if self.kind == "word":
            return self.written.lower()
        if self.kind == "name":
            return self.written[1:].removesuffix('"').replace('""', '"')
        if self.kind == "text":
            return self.written[1:].removesuffix("'").replace("''", "'")
        return self.written


def lexemes(text: str, start: int = 0) -> Iterator[Lexeme]:
    """The lexemes of a text, without blanks and comments."""
    position = start
    while position < len(text):
        found = _LEXEME.match(text, position)
        assert found is not None  # a sign is any letter
        begin, position, kind = position, found.end(), str(found.lastgroup)
        if kind == "blank":
            continue
        if kind == "block":
            position = _after_comment(text, position)
            continue
        if kind == "dollar":
            closing = text.find(found[0], position)
            position = len(text) if closing < 0 else closing + len(found[0])
        yield Lexeme(kind, text[begin:position], begin, position)


def split(text: str) -> list[str]:
    """The statements of a text, without the semicolons between them; those with nothing in them are left out.

    Raises:
        ProtocolError: 54000, for too many.
    """
    found: list[str] = []
    first: int | None = None
    for lexeme in lexemes(text):
        if lexeme.kind != "sign" or lexeme.written != ";":
            first = lexeme.start if first is None else first
        elif first is not None:
            found.append(text[first : lexeme.start].rstrip())
            first = None
            if len(found) > MAX_STATEMENTS:
                raise ProtocolError(
                    SqlState.PROGRAM_LIMIT_EXCEEDED,
                    f"a query may have {MAX_STATEMENTS} statements at most",
                    hint="Send them one by one.",
                )
    if first is not None:
        found.append(text[first:].rstrip())
    return found


def in_main(text: str) -> str:
    """The statement with DuckDB's name of the schema that PostgreSQL calls public: `public.staff` is
    `main.staff`. A text that has the name public for anything else is left as it is."""
    if "public" not in text.lower():
        return text
    pieces, position = [], 0
    before: Lexeme | None = None
    held: Lexeme | None = None
    for lexeme in lexemes(text):
        if held is not None:
            if lexeme.written != ".":
                return text
            pieces += [text[position : held.start], "main"]
            position, held = held.end, None
        if lexeme.kind in ("word", "name") and lexeme.value == "public":
            if before is not None and before.written == ".":
                return text
            held = lexeme
        before = lexeme
    return text if held is not None else "".join(pieces) + text[position:]


def _after_comment(text: str, position: int) -> int:
    """Where a comment ends; they nest."""
    depth = 1
    while depth:
        mark = _COMMENT.search(text, position)
        if mark is None:
            return len(text)
        position = mark.end()
        depth += 1 if mark[0] == "/*" else -1
    return position
