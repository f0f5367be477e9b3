"""From PostgreSQL's text to a tree in which every function still has PostgreSQL's name.

Promises the limits of `auditor.sql.limits`, and a tree whose texts are plain: E'…', U&'…', $$…$$ and texts
that are continued on the next line are spelled as '…' before they are parsed. `?` is numbered.
"""

from __future__ import annotations

import re

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.parsers.postgres import PostgresParser
from sqlglot.tokenizer_core import Token, TokenType

from auditor.sql.limits import parse, tokens_of
from auditor.sql.postgres.values import quoted_text, refuse
from auditor.sql.understood import NotUnderstood

_OWN_SYNTAX = ("CAST", "EXTRACT", "OVERLAY", "POSITION", "SUBSTRING", "TRIM")


class _Parser(PostgresParser):
    # sqlglot would write date_part as extract, div as a cast, log by its own order: each loses a type.
    FUNCTIONS = {}  # noqa: RUF012
    FUNCTION_PARSERS = {  # noqa: RUF012
        name: parser for name, parser in PostgresParser.FUNCTION_PARSERS.items() if name in _OWN_SYNTAX
    }


class _Dialect(Postgres):
    Parser = _Parser


_DIALECT = _Dialect()
_TEXTS = {TokenType.STRING, TokenType.BYTE_STRING, TokenType.HEREDOC_STRING}
_ESCAPE = re.compile(
    r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))|''", re.DOTALL
)
_LETTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def read(text: str) -> exp.Query:
    """The tree of a text that holds one query in PostgreSQL's dialect.

    Raises:
        NotUnderstood: codes of `auditor.sql.limits.parse`.
    """
    return parse(text, _DIALECT, _plain)


def tokens(text: str) -> list[Token]:
    """The tokens of a text in PostgreSQL's dialect.

    Raises:
        NotUnderstood: codes of `auditor.sql.limits.tokens_of`.
    """
    return tokens_of(text, _DIALECT)


def _plain(text: str, tokens: list[Token]) -> str:
    """The text with every literal spelled '…'."""
    pieces, position = [], 0
    index = 0
    while index < len(tokens):
        token, first = tokens[index], index
        if token.token_type == TokenType.UNICODE_STRING:
            raise refuse("texts written U&'…' are not understood", "Write the characters themselves.")
        if token.token_type in _TEXTS:
            spelled = _content(text, token)
            while index + 1 < len(tokens) and tokens[index + 1].token_type == TokenType.STRING:
                following = tokens[index + 1]
                if "\n" not in text[token.end + 1 : following.start] or token.token_type != TokenType.STRING:
                    raise NotUnderstood("syntax")
                spelled += _content(text, following)
                index, end = index + 1, following
                token = Token(TokenType.STRING, "", start=token.start, end=end.end)
            before = tokens[first - 1] if first else None
            if before is not None and _is_whole_interval(before, spelled):
                pieces += [text[position : before.start], f" CAST({quoted_text(spelled)} AS INTERVAL) "]
            else:
                pieces += [text[position : token.start], " ", quoted_text(spelled), " "]
            position = token.end + 1
        index += 1
    return "".join(pieces) + text[position:]


def _is_whole_interval(before: Token, spelled: str) -> bool:
    """Whether a text behind INTERVAL says its units itself: of those the parser keeps only a part."""
    number = re.fullmatch(r"\s*[+-]?\d+\s*", spelled)
    return before.token_type == TokenType.INTERVAL and number is None


def _content(text: str, token: Token) -> str:
    written = text[token.start : token.end + 1]
    if token.token_type == TokenType.HEREDOC_STRING:
        tag = written[: written.index("$", 1) + 1]
        return written[len(tag) : -len(tag)]
    if token.token_type == TokenType.STRING:
        return written[1:-1].replace("''", "'")
    decoded = _ESCAPE.sub(_character, written[2:-1])
    if any("\ud800" <= letter <= "\udfff" or letter == "\0" for letter in decoded):
        raise NotUnderstood("syntax")
    return decoded


def _character(match: re.Match[str]) -> str:
    octal, byte, short, long, letter = match.groups()
    if match[0] == "''":
        return "'"
    if letter is not None:
        return _LETTERS.get(letter, letter)
    code = int(octal, 8) & 0xFF if octal else int(byte or short or long, 16)
    if (octal or byte) and code > 0x7F:
        # Bytes of an encoded character.
        raise refuse("bytes in a text are not understood", "Write the characters themselves.")
    if code > 0x10FFFF:
        raise NotUnderstood("syntax")
    return chr(code)
