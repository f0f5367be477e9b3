"""From text to one parsed SELECT, within limits that keep the parser's time and stack bounded.

Promises one query expression (SELECT, set operation, or one in parentheses), or raises `NotUnderstood`. Looks
at no name and no function: that is `classify`'s and `names`'s.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ParseError, TokenError
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

from auditor.sql.understood import NotUnderstood

MAX_BYTES = 64 * 1024
MAX_TOKENS = 20_000
# 100 nested parentheses overflow sqlglot's stack; a chain of 1,000 operators takes it half a second, of
# 5,000 eight.
MAX_DEPTH = 50
MAX_CHAINED = 1_000

_DIALECT = DuckDB()
_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END}
_STARTS = {TokenType.SELECT, TokenType.FROM, TokenType.WITH, TokenType.L_PAREN}
# Statements that people take for queries, and the code that says what to write instead.
_NAMED_STATEMENTS = {"PIVOT": "pivot", "UNPIVOT": "pivot", "SUMMARIZE": "summarize"}
_CHAINED = (
    {
        TokenType.AND, TokenType.OR, TokenType.PLUS, TokenType.DASH, TokenType.STAR, TokenType.SLASH,
        TokenType.DIV, TokenType.MOD, TokenType.DPIPE, TokenType.AMP, TokenType.PIPE, TokenType.CARET,
        TokenType.DSTAR, TokenType.TILDE,
    },
    {TokenType.DCOLON, TokenType.IS, TokenType.LIKE, TokenType.ILIKE, TokenType.EQ, TokenType.COLLATE},
    {TokenType.SELECT, TokenType.FROM, TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT},
)  # fmt: skip
# Prefix operators nest without parentheses.
_PREFIXES = {TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE}


def parse(
    text: str, dialect: Dialect = _DIALECT, respell: Callable[[str, list[Token]], str] | None = None
) -> exp.Query:
    """The tree of a text that holds one query.

    Args:
        text: The statement.
        dialect: Whose words it is read by.
        respell: Writes what the dialect's parser would misread in other words, given text and tokens.

    Raises:
        NotUnderstood: codes "empty", "too-large", "syntax", "several-statements", "statement".
    """
    tokens = tokens_of(text, dialect)
    if respell is not None:
        text = respell(text, tokens)
        tokens = tokens_of(text, dialect)
    text, tokens = _numbered(text, tokens, dialect)
    try:
        trees = [tree for tree in _parser(dialect).parse(tokens, text) if tree is not None]
    except ParseError:
        # sqlglot's message quotes the text and is written for programmers.
        raise NotUnderstood("syntax") from None
    except RecursionError:
        raise NotUnderstood("too-large") from None
    if len(trees) != 1:
        raise NotUnderstood("several-statements" if trees else "empty")
    if not isinstance(trees[0], exp.Query):
        raise NotUnderstood("statement", name=tokens[0].text.upper())
    return trees[0]


def reread(sql: str) -> exp.Query:
    """The tree of SQL that was written from a tree of `parse`: the same parser, no limits.

    Any other parser stumbles over what this one accepts.

    Raises:
        SqlglotError: it is no query.
    """
    trees = _parser(_DIALECT).parse(_DIALECT.tokenize(sql), sql)
    if len(trees) != 1 or not isinstance(trees[0], exp.Query):
        raise ParseError("not a query")
    return trees[0]


class _Closer(Parser):
    """Closer to DuckDB: GROUPING SETS over any expression, numbers and functions as they are written."""

    def _parse_cube_or_rollup(self, with_prefix: bool = False) -> exp.Cube | exp.Rollup | None:
        if with_prefix:
            return super()._parse_cube_or_rollup(with_prefix)
        if self._match(TokenType.CUBE):
            return self.expression(exp.Cube(expressions=self._parse_wrapped_csv(self._parse_disjunction)))
        if self._match(TokenType.ROLLUP):
            return self.expression(exp.Rollup(expressions=self._parse_wrapped_csv(self._parse_disjunction)))
        return None

    def _parse_grouping_set(self) -> exp.Expr | None:
        return self._parse_grouping_sets() or self._parse_cube_or_rollup() or self._parse_disjunction()

    def _parse_primary(self) -> exp.Expr | None:
        if self._match_pair(TokenType.DOT, TokenType.NUMBER):
            # as it stands: a zero before it makes another type of it
            return exp.Literal.number(f".{self._prev.text}")
        return super()._parse_primary()


# sqlglot would write LOG2(x) as LOG(2, x), which rounds otherwise.
_BY_NAME = frozenset({"LOG2", "LOG10"})


@cache
def _parser_class(dialect: type[Dialect]) -> type[Parser]:
    base = dialect.parser_class
    functions = {name: make for name, make in base.FUNCTIONS.items() if name not in _BY_NAME}
    return type("Parser", (_Closer, base), {"FUNCTIONS": functions})


def _parser(dialect: Dialect) -> Parser:
    return _parser_class(type(dialect))(dialect=dialect)


def tokens_of(text: str, dialect: Dialect) -> list[Token]:
    """The tokens of a text that a parser may be given.

    Raises:
        NotUnderstood: codes "empty", "too-large", "syntax", "statement", "pivot", "summarize".
    """
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise NotUnderstood("syntax") from None
    if size > MAX_BYTES:
        raise NotUnderstood("too-large")
    if "\0" in text:
        raise NotUnderstood("syntax")
    try:
        tokens = dialect.tokenize(text)
    except TokenError:
        raise NotUnderstood("syntax") from None
    if len(tokens) > MAX_TOKENS or _depth(tokens) > MAX_DEPTH:
        raise NotUnderstood("too-large")
    for operators in _CHAINED:
        if sum(token.token_type in operators for token in tokens) > MAX_CHAINED:
            raise NotUnderstood("too-large")
    while tokens and tokens[0].token_type == TokenType.SEMICOLON:
        tokens = tokens[1:]
    if not tokens:
        raise NotUnderstood("empty")
    if tokens[0].token_type not in _STARTS:
        # Before parsing: sqlglot logs a warning for each command that it does not know.
        name = tokens[0].text.upper()[:20]
        raise NotUnderstood(_NAMED_STATEMENTS.get(name, "statement"), name=name)
    for token, following in pairwise(tokens):
        # sqlglot reads 0xff as `0 AS xff`, DuckDB as a number.
        if (
            token.token_type == TokenType.NUMBER
            and following.start == token.end + 1
            and (following.token_type == TokenType.VAR)
        ):
            raise NotUnderstood("syntax")
    return tokens


def _numbered(text: str, tokens: list[Token], dialect: Dialect) -> tuple[str, list[Token]]:
    """Write `?` as `$1`, `$2`, …: the tree does not keep the order of the text."""
    marks = [token for token in tokens if token.token_type == TokenType.PLACEHOLDER]
    if not marks:
        return text, tokens
    if any(token.token_type == TokenType.PARAMETER for token in tokens):
        raise NotUnderstood("parameters", detail="`?` and numbered or named parameters are mixed")
    pieces, position = [], 0
    for number, mark in enumerate(marks, 1):
        # The space keeps `?1` from becoming another number.
        pieces += [text[position : mark.start], f"${number} "]
        position = mark.end + 1
    numbered = "".join(pieces) + text[position:]
    try:
        return numbered, dialect.tokenize(numbered)
    except TokenError:
        raise NotUnderstood("syntax") from None


def _depth(tokens: list[Token]) -> int:
    depth = deepest = prefixes = 0
    for token in tokens:
        if token.token_type in _OPENING:
            depth += 1
        elif token.token_type in _CLOSING:
            depth -= 1
        prefixes = prefixes + 1 if token.token_type in _PREFIXES else 0
        deepest = max(deepest, depth + prefixes)
    return deepest
