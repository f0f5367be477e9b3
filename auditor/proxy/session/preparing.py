"""Statements that are prepared: by the protocol's Parse, or by PREPARE; and the values that EXECUTE gives.

A statement is described when it is prepared, without looking at data. EXECUTE takes plain values: each is
read as the text of its parameter's type, as a driver would have sent it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from auditor.proxy.catalogue import Context
from auditor.proxy.protocol import Parse, Statement
from auditor.proxy.protocol.sqlstate import ProtocolError, SqlState
from auditor.proxy.session import commands as c
from auditor.proxy.session.classifying import classify
from auditor.proxy.session.lexing import split
from auditor.proxy.sources import Described, Sources, checked
from auditor.proxy.values import types
from auditor.proxy.values.reading import read_parameter

_TYPES = {
    **{each.sql: each for each in types.BY_OID.values()},
    **{each.name: each for each in types.SCALARS if not each.sql.startswith('"')},
    "int": types.INT4,
    "float": types.FLOAT8,
    "decimal": types.NUMERIC,
    "char": types.BPCHAR,
}


@dataclass(frozen=True)
class Prepared:
    """What is known of a statement."""

    command: c.Command | None
    """None: the text is empty."""
    described: Described | None
    """Of a query."""


def prepare(sources: Sources, text: str, given: Sequence[int], context: Context) -> Prepared:
    """Read and describe a statement; blocks.

    Raises:
        ProtocolError, AuditorError, ValueProblem: with what is to be told.
    """
    statements = split(text)
    if not statements:
        return Prepared(None, None)
    if len(statements) > 1:
        raise ProtocolError(
            SqlState.SYNTAX_ERROR,
            "cannot insert multiple commands into a prepared statement",
            hint="Send them one by one.",
        )
    checked(statements[0])
    command = classify(statements[0])
    query = command.text if isinstance(command, c.Select) else ""
    query = command.query if isinstance(command, c.Declare) else query
    return Prepared(command, sources.describe(query, given, context) if query else None)


def prepared_of(statement: Statement) -> Prepared:
    """What is known of a statement that a client has; a cursor's was not prepared."""
    found = statement.plan
    return found if isinstance(found, Prepared) else Prepared(c.Select(statement.query), None)


def parse_of(command: c.Prepare) -> Parse:
    """What a driver would have sent for a PREPARE.

    Raises:
        ProtocolError: 42704, for a type that there is none of.
    """
    return Parse(command.name, command.query, tuple(_oid(name) for name in command.types))


def prepare_by_name(sources: Sources, parse: Parse, context: Context) -> Statement:
    """The statement of a PREPARE; blocks.

    Raises:
        ProtocolError, AuditorError, ValueProblem: with what is to be told.
    """
    prepared = prepare(sources, parse.query, parse.parameter_types, context)
    described = prepared.described
    if not isinstance(prepared.command, c.Select) or described is None:
        raise ProtocolError(
            SqlState.SYNTAX_ERROR, "PREPARE takes a query", hint="Write PREPARE name AS SELECT …"
        )
    columns = None if described.types is None else len(described.types)
    return Statement(parse.name, parse.query, described.parameters, columns, prepared)


def values_of(statement: Statement, given: Sequence[str | None], zone: str) -> tuple[object, ...]:
    """The values that EXECUTE gives a statement.

    Raises:
        ProtocolError: there are too many or too few.
        BadParameter: one is none of its type.
    """
    wanted = statement.parameter_types
    if len(given) != len(wanted):
        raise ProtocolError(
            SqlState.SYNTAX_ERROR,
            f'wrong number of parameters for prepared statement "{statement.name[:63]}"',
            detail=f"Expected {len(wanted)} parameters but got {len(given)}.",
        )
    return tuple(
        read_parameter(oid, 0, None if text is None else text.encode(), zone)
        for oid, text in zip(wanted, given, strict=True)
    )


def _oid(name: str) -> int:
    """The OID of a type by its name, or 0 for one that is left open."""
    if name == "unknown":
        return 0
    found = _TYPES.get(name.removesuffix("[]"))
    if found is None:
        raise ProtocolError(SqlState.UNDEFINED_OBJECT, f'type "{name[:63]}" does not exist')
    return types.array_of(found).oid if name.endswith("[]") else found.oid
