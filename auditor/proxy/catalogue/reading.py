"""Whose a statement is: the catalogue's, the user's tables', or a mixture that nobody answers.

Promises to look at the statement alone, never at who sent it, and to parse within the limits of
`auditor.sql.limits`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from enum import Enum

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from auditor.proxy.catalogue.columns import is_session_word, name_of
from auditor.proxy.catalogue.errors import SYNTAX, TOO_DEEP, UNSUPPORTED, CatalogueError
from auditor.proxy.catalogue.functions import ABOUT
from auditor.proxy.catalogue.relations import CATALOG, INFORMATION, OBJECT_NAMES, relations
from auditor.sql.limits import MAX_BYTES, MAX_TOKENS
from auditor.sql.postgres.reading import read
from auditor.sql.understood import NotUnderstood

_DIALECT = Postgres()
_SAID = re.compile(
    r"\b(?:pg_\w+|information_schema|reg[a-z]+|"
    + "|".join(sorted(map(re.escape, ABOUT), key=len, reverse=True))
    + r")\b",
    re.IGNORECASE,
)
_CERTAIN = re.compile(
    r"\b(?:pg_catalog|information_schema)\s*\.|\b(?:from|join)\s+(?:only\s+)?pg_[a-z_]+\b", re.IGNORECASE
)
_ALIASES = frozenset({"oid", "regclass", "regtype", "regproc", "regprocedure", "regnamespace", "regrole"})
_QUOTED = frozenset({TokenType.IDENTIFIER, TokenType.STRING})
_WORDS = (exp.CurrentUser, exp.SessionUser, exp.CurrentSchema, exp.CurrentCatalog)


class Subject(Enum):
    """What a statement is about."""

    CATALOGUE = "the catalogue alone"
    OTHER = "something else"
    MIXED = "the catalogue and tables of the user"


def read_statement(text: str) -> exp.Expr | None:
    """The tree of a statement that may be about the catalogue; None if it certainly is not.

    Raises:
        CatalogueError: if it is about the catalogue and cannot be read.
    """
    if len(text) > MAX_BYTES or not _SAID.search(text):
        return None
    try:
        return read(_respelled(text))
    except NotUnderstood as error:
        if error.reason.code in ("statement", "empty", "several-statements") or not _CERTAIN.search(text):
            return None
        code = {"syntax": SYNTAX, "too-large": TOO_DEEP}.get(error.reason.code, UNSUPPORTED)
        raise CatalogueError(error.reason.message, code, error.reason.hint) from None
    except RecursionError:
        return None


def _respelled(text: str) -> str:
    """What sqlglot's parser reads only in other words: `oid[]` as `pg_catalog.oid[]`, `AS select` as
    `AS "select"`."""
    try:
        tokens = _DIALECT.tokenize(text)
    except TokenError:
        return text
    if len(tokens) > MAX_TOKENS:
        return text
    pieces, position = [], 0
    for place, token in enumerate(tokens):
        if place and _is_label(tokens, place):
            pieces += [text[position : token.start], f'"{token.text.lower()}"']
            position = token.end + 1
        elif place + 1 < len(tokens) and (
            token.text.lower() in _ALIASES
            and tokens[place + 1].token_type == TokenType.L_BRACKET
            and place
            and tokens[place - 1].token_type in (TokenType.DCOLON, TokenType.ALIAS)
        ):
            pieces += [text[position : token.start], "pg_catalog."]
            position = token.start
    return "".join(pieces) + text[position:]


def _is_label(tokens: Sequence[Token], place: int) -> bool:
    """Whether a word that sqlglot keeps for itself stands where PostgreSQL takes a name."""
    if tokens[place].text.lower() not in ("select", "not") or tokens[place].token_type in _QUOTED:
        return False
    before, after = tokens[place - 1], tokens[place + 1] if place + 1 < len(tokens) else None
    if before.token_type == TokenType.DOT:
        return True
    ends = after is None or after.token_type in (TokenType.COMMA, TokenType.R_PAREN, TokenType.FROM)
    return before.token_type == TokenType.ALIAS and ends


def subject(tree: exp.Expr, own: Collection[str]) -> Subject:
    """What a statement is about; the tables of the catalogue get the schema that they are of.

    Args:
        tree: The statement.
        own: Names of the user's tables in `public`, which hide the catalogue's without a schema.
    """
    ours = others = 0
    for table in _tables(tree):
        name, schema = name_of(table.this), name_of(table.args.get("db") or "")
        if not schema and (CATALOG, name) in relations() and name not in own:
            table.set("db", exp.to_identifier(CATALOG))
            schema = CATALOG
        if schema in (CATALOG, INFORMATION):
            ours += 1
        else:
            others += 1
    if ours:
        return Subject.MIXED if others else Subject.CATALOGUE
    return Subject.CATALOGUE if not others and _asks(tree) else Subject.OTHER


def _tables(tree: exp.Expr) -> Iterator[exp.Table]:
    """Tables that are named, without names of CTEs."""
    for table in tree.find_all(exp.Table):
        if isinstance(table.this, exp.Identifier) and (table.args.get("db") or not _is_cte(table)):
            yield table


def _is_cte(table: exp.Table) -> bool:
    name = name_of(table.this)
    node: exp.Expr | None = table
    while node is not None:
        with_ = node.args.get("with_")
        if with_ is not None and any(name_of(cte.args["alias"].this) == name for cte in with_.expressions):
            return True
        node = node.parent
    return False


def _asks(tree: exp.Expr) -> bool:
    """Whether a statement without tables calls a function about the catalogue or the session."""
    for node in tree.walk():
        if isinstance(node, _WORDS):
            return True
        if isinstance(node, exp.Cast) and _is_object_type(node.args["to"]):
            return True
        if isinstance(node, exp.Anonymous) and str(node.this).lower() in ABOUT:
            return True
        if isinstance(node, exp.Column) and is_session_word(node):
            return True
    return False


def _is_object_type(node: exp.Expr) -> bool:
    kind = node.args.get("kind")
    name = (
        node.this
        if isinstance(node, exp.ObjectIdentifier)
        else kind.expression
        if isinstance(kind, exp.Dot)
        else ""
    )
    return name_of(name) in OBJECT_NAMES
