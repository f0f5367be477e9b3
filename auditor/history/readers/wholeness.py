"""Whether a statement's text shows that a log does not have the whole of it.

Promises to err on one side: a text of which this says nothing may have been cut all the same, as `id <> 71`
may become `id <> 7`; one that it names could not have been answered as it stands, or ends as tools end what
they cut.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from auditor.history.readers.splitting import begin
from auditor.sql.postgres.lexing import lexemes

_LEAST = 1023
"""Bytes that pg_stat_activity keeps of a text by default (track_activity_query_size = 1024)."""
_SNOWFLAKE = 100_000
"""Characters that QUERY_HISTORY keeps of a text."""
_MARKS = ("...", "\u2026", "[truncated]", "(truncated)", "<truncated>")
"""With what tools end a text that they cut, and PostgreSQL a value (log_parameter_max_length)."""
_WITHHELD = re.compile(
    r"<(?:redacted|insufficient privilege|command string not enabled|long param suppressed)", re.IGNORECASE
)
_PAIRS = (("(", ")"), ("/*", "*/"), ("[", "]"))


def flaw(sql: str, parameters: Sequence[str | None] | None, dialect: str) -> str:
    """Why a statement is not whole; "" where nothing shows that.

    Args:
        sql: Its text.
        parameters: Its values.
        dialect: Whose SQL it is.
    """
    values = [value for value in parameters or () if value]
    if any(map(is_damaged, (sql, *values))):
        return "statement with bytes that are no text"
    if any(value.endswith("...") or _WITHHELD.match(value) for value in values):
        return "statement with a value that was cut or left out"
    text = sql.rstrip().rstrip(";").rstrip()
    if text.endswith(_MARKS):
        return "statement whose text was cut"
    if _WITHHELD.match(text) or not _begins(text):
        return "text that is no statement"
    if _at_limit(sql, dialect) or _open(text, dialect):
        return "statement whose text ends in its middle"
    return ""


def is_damaged(text: str) -> bool:
    """Whether bytes of a text were no text, or zeros, as a crash leaves them."""
    return "\ufffd" in text or "\0" in text


def _begins(text: str) -> bool:
    """Whether a text begins as statements do: with a word, a bracket, or a comment before it."""
    place = begin(text)
    return place >= len(text) or text[place].isalpha() or text[place] in "(\\"


def _at_limit(sql: str, dialect: str) -> bool:
    """Whether a text is exactly as long as what keeps texts up to a limit keeps."""
    if dialect == "snowflake" and len(sql) == _SNOWFLAKE:
        return True
    # limits are powers of two, the last byte ends the text
    size = len(sql) if len(sql) < _LEAST - 3 else len(sql.encode("utf-8", "replace"))
    return size >= _LEAST and size & (size + 1) == 0


def _open(text: str, dialect: str) -> bool:
    """Whether a quote, a bracket or a comment of a text never ends."""
    # behind a backslash a quote may end nothing
    odd = "\\" in text or text.count("'") % 2 or text.count('"') % 2 or text.count("$$") % 2
    if not odd and all(text.count(first) == text.count(second) for first, second in _PAIRS):
        return False
    depth, last = 0, ("", 0, 0)
    for kind, start, end in lexemes(text, dialect or "postgres"):
        last = kind, start, end
        if kind == "sign":
            depth += {"(": 1, ")": -1}.get(text[start:end], 0)
    kind, start, end = last
    return depth > 0 or kind == "unclosed" or _unended(kind, text[start:end])


def _unended(kind: str, lexeme: str) -> bool:
    """Whether the last lexeme of a text is a quote that never closes."""
    if kind == "dollar":
        tag = lexeme[: lexeme.index("$", 1) + 1]
        return len(lexeme) < 2 * len(tag) or not lexeme.endswith(tag)
    if kind not in ("text", "name", "escaped", "bits"):
        return False
    plain = re.sub(r"\\.", "", lexeme, flags=re.DOTALL) if kind == "escaped" else lexeme
    return any(plain.count(mark) % 2 for mark in ("'", '"') if mark in (plain.lstrip("eEbBxXuU&")[:1]))
