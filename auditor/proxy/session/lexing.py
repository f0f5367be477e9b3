"""A text's words and statements, whether or not the text parses.

One pass of PostgreSQL's lexer (`auditor.sql.postgres.lexing`); nothing is raised but `ProtocolError` for a
text with too many statements.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from auditor.proxy.protocol.sqlstate import ProtocolError, SqlState
from auditor.sql.postgres.lexing import BLANKS, content
from auditor.sql.postgres.lexing import lexemes as scanned

MAX_STATEMENTS = 100
"""Of one text."""
MAX_WORDS = 200
"""Lexemes of a command that are read; the query of a DECLARE or COPY is not among them."""


@dataclass(frozen=True)
class Lexeme:
    """One word, name, text, number or sign."""

    kind: str
    """word, name, text, escaped, bits, dollar, number, parameter or sign."""
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
            return content(self.written)
        return self.written


def lexemes(text: str) -> Iterator[Lexeme]:
    """The lexemes of a text, without blanks and comments."""
    for kind, start, end in scanned(text):
        if kind not in BLANKS and kind != "unclosed":
            yield Lexeme(kind, text[start:end], start, end)


class Reader:
    """The words of a command, one after the other."""

    def __init__(self, text: str, found: Iterable[Lexeme] | None = None) -> None:
        """Begin.

        Args:
            text: The command.
            found: Its lexemes, if not from the beginning on.
        """
        self.text = text
        self._left = list(islice(lexemes(text) if found is None else found, MAX_WORDS))
        self._left.reverse()

    def peek(self) -> str:
        """The next word in lower case; a sign as it is; empty for anything else, and at the end."""
        return self._left[-1].value if self.kind() in ("word", "sign") else ""

    def kind(self) -> str:
        """The kind of the next lexeme; empty at the end."""
        return self._left[-1].kind if self._left else ""

    def skip(self) -> Lexeme:
        """Take whatever is next."""
        if not self._left:
            raise ProtocolError(SqlState.SYNTAX_ERROR, "syntax error at end of input")
        return self._left.pop()

    def take(self, *words: str) -> str:
        """Take the next word or sign if it is one of these."""
        found = self.peek()
        if found and found in words:
            self._left.pop()
            return found
        return ""

    def expect(self, *words: str) -> str:
        """Take one of these words or signs; anything else is a syntax error."""
        found = self.take(*words)
        if not found:
            raise self.wrong(self.skip())
        return found

    def name(self) -> str:
        """Take a name."""
        lexeme = self.skip()
        if lexeme.kind not in ("word", "name") or not lexeme.value:
            raise self.wrong(lexeme)
        return lexeme.value

    def dotted(self) -> str:
        """Take a name that may have others before it: as in SET cae_sql.hint."""
        name = self.name()
        while self.take("."):
            name += f".{self.name()}"
        return name

    def rest(self) -> str:
        """Take the rest of the text."""
        text = self.text[self._left[-1].start :] if self._left else ""
        self._left.clear()
        return text

    def end(self) -> None:
        """Nothing may be left."""
        if self._left:
            raise self.wrong(self._left[-1])

    def wrong(self, lexeme: Lexeme) -> ProtocolError:
        """A syntax error there."""
        said = f'syntax error at or near "{lexeme.written[:40]}"'
        return ProtocolError(SqlState.SYNTAX_ERROR, said)


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
