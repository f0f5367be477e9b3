"""What sort of statement a logged text is, before anything is asked of its meaning.

Promises that a text which could show protected values is sorted as a query, whatever stands around it:
`COPY (…) TO`, `DECLARE … CURSOR FOR`, `TABLE t`, several statements in one text. Pure; knows no schema.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from auditor.history.readers.splitting import begin

KINDS = {
    "transaction": "BEGIN START COMMIT ROLLBACK SAVEPOINT RELEASE END ABORT",
    "settings": "SET RESET SHOW DISCARD USE PRAGMA LISTEN UNLISTEN NOTIFY LOCK CHECKPOINT",
    "definition": "CREATE ALTER DROP TRUNCATE COMMENT GRANT REVOKE REINDEX VACUUM ANALYZE ANALYSE CLUSTER "
    "REFRESH ATTACH DETACH INSTALL LOAD SECURITY REASSIGN IMPORT EXPORT",
    "change": "INSERT UPDATE DELETE MERGE REPLACE UPSERT",
    "preparation": "PREPARE DEALLOCATE CLOSE MOVE",
    "cursor": "FETCH",
    "description": "DESCRIBE DESC",
}
"""Kinds of statements that are no query, by their first word."""

_FIRST = {word: kind for kind, words in KINDS.items() for word in words.split()}
_QUERIES = frozenset(["SELECT", "WITH", "FROM", "VALUES", "("])
_DECLARE = re.compile(r"^\s*DECLARE\b.*?\bFOR\b", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class Part:
    """One statement of a text."""

    kind: str
    """"query", or one of `KINDS`, "explanation", "call", "unknown"."""
    sql: str
    """The query where it is one, else the statement."""


def parts_of(text: str, dialect: str) -> list[Part]:
    """The statements of a text, sorted; empty ones are left out."""
    try:
        tokens = Dialect.get_or_raise(dialect or "duckdb").tokenize(text)
    except (TokenError, ValueError):
        return [Part("unknown", text)] if text.strip() else []
    parts: list[Part] = []
    first = 0
    for place in range(len(tokens) + 1):
        if place < len(tokens) and tokens[place].token_type != TokenType.SEMICOLON:
            continue
        if place > first:
            parts.append(_sorted(text, tokens[first:place]))
        first = place + 1
    return parts


def first_kind(text: str) -> str:
    """The kind that a text's first word says, "unknown" for a query; reads no further."""
    start = begin(text)
    word = re.match(r"\w*", text[start : start + 20])
    return _FIRST.get(word[0].upper(), "unknown") if word else "unknown"


def _sorted(text: str, tokens: list[Token]) -> Part:
    sql = text[tokens[0].start : tokens[-1].end + 1]
    words = [token.text.upper() for token in tokens]
    word = words[0]
    if word in _QUERIES:
        return Part("query", sql)
    if word == "TABLE" and len(tokens) > 1:
        return Part("query", "SELECT * FROM " + text[tokens[1].start : tokens[-1].end + 1])
    if word == "COPY":
        return _copied(text, tokens, words, sql)
    if word == "DECLARE":
        found = _DECLARE.match(sql)
        return Part("query", sql[found.end() :].strip()) if found else Part("unknown", sql)
    if word == "EXPLAIN":
        return Part("explanation", sql)
    if word in ("CALL", "DO", "EXECUTE"):
        return Part("call", sql)
    if word == "SUMMARIZE":
        return Part("unknown", sql)
    return Part(_FIRST.get(word, "unknown"), sql)


def _copied(text: str, tokens: list[Token], words: list[str], sql: str) -> Part:
    """COPY (query) TO, COPY table [(columns)] TO; COPY … FROM loads."""
    if len(tokens) > 2 and tokens[1].token_type == TokenType.L_PAREN:
        depth = 0
        for token in tokens[1:]:
            depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
            if not depth:
                return Part("query", text[tokens[1].end + 1 : token.start].strip())
        return Part("unknown", sql)
    ends = [place for place, word in enumerate(words) if word in ("TO", "FROM")]
    if not ends or words[ends[0]] == "FROM":
        return Part("change", sql)
    if tokens[ends[0] - 1].token_type == TokenType.R_PAREN:
        opened = words.index("(")
        columns = text[tokens[opened].end + 1 : tokens[ends[0] - 1].start]
        return Part("query", f"SELECT {columns} FROM {text[tokens[1].start : tokens[opened].start]}")
    return Part("query", "SELECT * FROM " + text[tokens[1].start : tokens[ends[0] - 1].end + 1])
