"""`SELECT cae_request('SELECT …', 'why')`: a refused answer is asked of the owner, through the proxy.

A refusal's hint says that one may. Promises that a statement which is more than this one call is none, that
the request is recorded under the name of the user who logged in, and that its answer is one text with the
request's number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from auditor.errors import StatementError
from auditor.gate.hints import RANGE
from auditor.proxy.protocol.sqlstate import ProtocolError, SqlState
from auditor.sql import limits
from auditor.sql.understood import NotUnderstood

if TYPE_CHECKING:
    from auditor.gate.gate import Gate

NAME = "cae_request"
CODES = ("risk", "min-size")
"""Codes of refusals that an owner may go past."""
OR = f"Or ask the owner for it: SELECT {NAME}('SELECT …', 'why')."
"""What the hint of such a refusal says besides."""
_CALLED = re.compile(rf"\b{NAME}\s*\(", re.IGNORECASE)


def offered(hint: str) -> str:
    """A hint that says so; a statement that it ends with stays at its end, where it is copied from."""
    before, sentence, after = hint.partition(RANGE)
    return f"{before.rstrip()} {OR} {sentence}{after}".strip()


def called(sql: str) -> list[exp.Expr] | None:
    """The arguments, where a statement is the call and nothing else; else None."""
    if not _CALLED.search(sql):
        return None
    try:
        tree = limits.parse(sql)
    except (NotUnderstood, RecursionError):
        return None
    if not isinstance(tree, exp.Select) or len(tree.expressions) != 1:
        return None
    if any(value for key, value in tree.args.items() if key not in ("expressions", "kind")):
        return None
    call = tree.expressions[0].unalias()
    return list(call.expressions) if isinstance(call, exp.Anonymous) and call.name.lower() == NAME else None


def file(gate: Gate, arguments: Sequence[exp.Expr], values: Sequence[object], user: str) -> pa.Table:
    """Put a request on record; its answer.

    Raises:
        ProtocolError: it is called with something else than one or two texts.
    """
    given = [_text(each, values) for each in arguments]
    if not 1 <= len(given) <= 2 or None in given:
        raise ProtocolError(
            SqlState.SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION,
            f"{NAME} takes a statement and, if you like, a reason, both as texts",
            hint=f"Write SELECT {NAME}('SELECT …', 'why'), quotes inside of the texts doubled.",
        )
    sql, because = [str(each) for each in given] + ([] if len(given) == 2 else [""])
    try:
        number = gate.request(sql, because, user)
    except StatementError as error:
        raise ProtocolError(SqlState.SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION, str(error)) from None
    return pa.table({NAME: [f"request {number} is on record; the owner of the data decides"]})


def _text(argument: exp.Expr, values: Sequence[object]) -> str | None:
    if isinstance(argument, exp.Cast):
        argument = argument.this
    if isinstance(argument, exp.Literal) and argument.is_string:
        return str(argument.this)
    if isinstance(argument, exp.Parameter | exp.Placeholder) and argument.name.isdigit():
        place = int(argument.name) - 1
        value = values[place] if 0 <= place < len(values) else None
        return value if isinstance(value, str) else None
    return None
