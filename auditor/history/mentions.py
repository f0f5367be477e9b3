"""Whether a statement that was not understood could read a protected column: by its words alone.

Promises to err on one side: a statement of which this says "no" names neither a protected column, nor `*` or
a whole row of a protected table, nor anything that the policy does not know and that could hold the values.
"""

from __future__ import annotations

import re

from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from auditor.sql.schema import Schema, folded

_AGGREGATE = re.compile(r"\b([A-Za-z_][A-Za-z_0-9]*+)\s*+\(")
_PLAIN_FUNCTIONS = frozenset(
    [
        "count",
        "sum",
        "avg",
        "min",
        "max",
        "in",
        "and",
        "or",
        "not",
        "where",
        "coalesce",
        "cast",
        "round",
        "select",
        "from",
        "by",
        "over",
        "exists",
        "values",
        "as",
        "on",
        "when",
        "then",
        "else",
        "any",
        "all",
        "using",
        "within",
        "group",
        "order",
        "filter",
        "nullif",
        "extract",
        "case",
        "having",
        "distinct",
        "if",
        "limit",
        "union",
        "numeric",
        "decimal",
        "varchar",
        "char",
        "interval",
        "between",
        "interval",
        "with",
    ]
)
_COPIES = re.compile(r"\b(SELECT|RETURNING|WHERE|USING|AS\s+TABLE|AS\s+FROM)\b", re.IGNORECASE)
_ASKS = re.compile(r"\b(FROM|TABLE|WITH|EXECUTE|CALL|DO|DECLARE|FETCH|COPY)\b", re.IGNORECASE)
_CLAUSES = frozenset(["from", "where", "group", "order", "limit", "join", "on", "inner", "left"])
_AFTER = frozenset({"FROM", "JOIN", "TABLE", "INTO", "UPDATE", "USING"})


class Mentions:
    """Looks for a policy's protected columns in texts."""

    def __init__(self, schema: Schema) -> None:
        """Take the names that a policy knows."""
        self._columns = {folded(each.column): each.column for each in schema.protected}
        self._tables = {folded(each.table.rpartition(".")[2]) for each in schema.protected}
        paths = [table.path for table in schema.tables] + [view.path for view in schema.views]
        self._known = {folded(name): folded(database) for database, name in paths}
        self._public = {folded(column.name) for table in schema.tables for column in table.columns}
        self._views = {folded(view.path[1]) for view in schema.views}

    def of(self, sql: str, dialect: str) -> str | None:
        """What in a text could be protected: "column", "row", "unknown"; None where nothing could."""
        try:
            tokens = _tokens(sql, dialect)
        except (TokenError, ValueError):
            there = set(re.findall(r"\w+", folded(sql)))
            return "column" if there & (set(self._columns) | self._tables | self._views) else None
        words = [folded(token.text) for token in tokens]
        if set(words) & set(self._columns):
            return "column"
        ctes = {words[place] for place in range(len(words) - 1) if words[place + 1] == "as"}
        touched = (set(words) & (self._tables | self._views)) != set()
        if touched and (self._starred(tokens) or self._whole_row(words)):
            return "row"
        unknown = self._unknown(tokens, words, ctes) or (touched and self._unknown_column(tokens, words))
        return "unknown" if unknown else None

    def _unknown_column(self, tokens: list[Token], words: list[str]) -> bool:
        """Whether a name stands in a statement over a protected table that is none of what is known."""
        named = set(self._public) | set(self._known) | set(self._known.values()) | self._tables
        for place in range(1, len(words)):
            # what is named here: AS x, and x after a table or a bracket
            before = words[place - 1]
            if before == "as" or before in self._known or before == ")":
                named.add(words[place])
        for place, token in enumerate(tokens):
            if token.token_type not in (TokenType.VAR, TokenType.IDENTIFIER):
                continue
            call = place + 1 < len(tokens) and tokens[place + 1].token_type == TokenType.L_PAREN
            if not call and words[place] not in named:
                return True
        return False

    def touches(self, sql: str) -> bool:
        """Whether a text names a protected table, or a view."""
        return bool(set(re.findall(r"\w+", folded(sql))) & (self._tables | self._views))

    def _starred(self, tokens: list[Token]) -> bool:
        """Whether a star stands where columns are named: not in COUNT(*), not between two values."""
        for place, token in enumerate(tokens):
            if token.token_type != TokenType.STAR:
                continue
            before = tokens[place - 1] if place else token
            after = tokens[place + 1] if place + 1 < len(tokens) else token
            if before.text == "(" and after.text == ")":
                continue
            operand = after.token_type in (
                TokenType.NUMBER,
                TokenType.VAR,
                TokenType.IDENTIFIER,
                TokenType.L_PAREN,
            )
            value = before.token_type in (
                TokenType.NUMBER,
                TokenType.VAR,
                TokenType.IDENTIFIER,
                TokenType.R_PAREN,
            )
            if not (operand and value):
                return True
        return False

    def _whole_row(self, words: list[str]) -> bool:
        """Whether a protected table's name, or its alias, stands as a value: `SELECT person FROM person`."""
        aliases = set(self._tables | self._views)
        for place, word in enumerate(words[:-1]):
            if word in self._tables | self._views:
                following = (
                    words[place + 2]
                    if words[place + 1] == "as" and place + 2 < len(words)
                    else words[place + 1]
                )
                aliases.add(following)
        last = ""
        for place, word in enumerate(words):
            before = words[place - 1].upper() if place else ""
            after = words[place + 1] if place + 1 < len(words) else ""
            if before in ("SELECT", "FROM", "JOIN"):
                last = before
            stands = word in aliases and after != "." and before in ("SELECT", "(", ",")
            if stands and last == "SELECT" and word not in _CLAUSES:
                return True
        return False

    def _unknown(self, tokens: list[Token], words: list[str], ctes: set[str]) -> bool:
        """Whether a table is read that the policy does not know."""
        for place, word in enumerate(words[:-1]):
            if word.upper() not in _AFTER or tokens[place].token_type == TokenType.STRING:
                continue
            name = words[place + 1]
            at = place + 1
            while at + 2 < len(words) and words[at + 1] == ".":
                at += 2
                if name in ("information_schema", "pg_catalog"):
                    break
                name = words[at]
            if name in ("(", "select", "lateral", "unnest", "generate_series", "only") or name in ctes:
                continue
            if name in ("information_schema", "pg_catalog") or name.startswith(("pg_", "duckdb_")):
                continue
            if tokens[at].token_type not in (TokenType.VAR, TokenType.IDENTIFIER) and not name.isidentifier():
                continue
            if name not in self._known:
                return True
        return False

    def asks_nothing(self, sql: str) -> bool:
        """Whether no word of a text could begin a query, or a copy: quoted or not, for no lexer is asked."""
        return _COPIES.search(sql) is None and _ASKS.search(sql) is None

    def copies(self, sql: str) -> bool:
        """Whether a definition or a change could read protected values: it holds a query, or a condition."""
        return _COPIES.search(sql) is not None and not re.match(
            r"\s*(grant|revoke|comment|copy)\b", folded(sql)
        )

    def kind_of(self, sql: str, code: str, mention: str) -> str:
        """By which an audit counts a statement that is not modelled."""
        if mention == "unknown":
            return "table or column that the policy does not name"
        if code in ("aggregate", "function", "syntax", "construct", "volatile"):
            names = [name for name in _AGGREGATE.findall(sql) if name.lower() not in _PLAIN_FUNCTIONS]
            if names:
                return f"{names[0].upper()} (not understood)"
        if code in ("unknown-column", "unknown-table"):
            return "table or column that the policy does not name"
        return f"not understood: {code}" if re.fullmatch(r"[a-z-]+", code) else code

    def plain_names(self, sql: str, dialect: str) -> str:
        """The text with databases, and schemas that are only another name for the default one, left out."""
        try:
            tokens = _tokens(sql, dialect)
        except (TokenError, ValueError):
            return sql
        pieces, done, place = [], 0, 0
        while place < len(tokens):
            end = place
            while end + 2 < len(tokens) and tokens[end + 1].token_type == TokenType.DOT:
                end += 2
            names = [folded(token.text) for token in tokens[place : end + 1 : 2]]
            before = tokens[place - 1].text.upper() if place else ""
            listed = before in _AFTER or before == ","
            if end > place and listed and names[-1] in self._known and names[-2] != self._known[names[-1]]:
                keep = (
                    tokens[end - 2]
                    if self._known[names[-1]] != "main" and names[-2] == self._known[names[-1]]
                    else tokens[end]
                )
                if before in _AFTER or len(names) > 2:
                    pieces.append(sql[done : tokens[place].start])
                    done = keep.start
            elif end > place + 2 and listed and names[-1] in self._known:
                pieces.append(sql[done : tokens[place].start])
                done = tokens[end - 2].start
            place = end + 1
        return "".join([*pieces, sql[done:]])


def _tokens(sql: str, dialect: str) -> list[Token]:
    return Dialect.get_or_raise(dialect or "duckdb").tokenize(sql)
