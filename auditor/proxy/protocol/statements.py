"""Prepared statements and portals of one connection, by name.

Promises: a name stands for one thing at a time; unnamed ones are replaced; what a client keeps here stays
within the limits; a Bind that comes through fits its statement. What the owner makes of a statement or portal
(a plan, a result and the place in it) hangs on the object and goes when the object goes. Portals hold their
statement, which may be closed meanwhile.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from auditor.proxy.protocol.limits import Limits
from auditor.proxy.protocol.messages import Bind, Parse, decoded
from auditor.proxy.protocol.sqlstate import ProtocolError, SqlState

_TEXT, _BINARY = 0, 1
_OVERHEAD = 200  # bytes of an object and its place in a table, roughly


@dataclass(frozen=True)
class Statement:
    """A prepared statement."""

    name: str
    """Empty for the unnamed one."""
    query: str
    parameter_types: tuple[int, ...]
    """OIDs of all its parameters, as the owner found them."""
    columns: int | None
    """How many it returns, where the owner knows."""
    plan: object = field(default=None, repr=False, compare=False)
    """The owner's."""

    @property
    def size(self) -> int:
        """Bytes that it takes here, without its plan."""
        return _OVERHEAD + sys.getsizeof(self.query) + 40 * len(self.parameter_types)


@dataclass(eq=False)
class Portal:
    """A statement with its values: what Execute runs. The only thing here that changes: it has a place."""

    name: str
    """Empty for the unnamed one."""
    statement: Statement
    parameter_formats: tuple[int, ...] = ()
    """0 text or 1 binary, one for each value."""
    values: tuple[bytes | None, ...] = field(default=(), repr=False)
    """As sent; those in text format are UTF-8 without NUL."""
    result_formats: tuple[int, ...] = ()
    """As sent; see `formats`."""
    hold: bool = False
    """Whether it outlives its transaction (DECLARE … WITH HOLD)."""
    held: bool = False
    """Whether it has: a later ROLLBACK leaves it."""
    state: object = field(default=None, repr=False)
    """The owner's: a result, a cursor."""
    rows_sent: int = 0
    """The place in the result: how many rows the client has."""
    complete: bool = False
    """Whether the client has all of them."""

    @property
    def size(self) -> int:
        """Bytes that it takes here, without its state; its statement's too, which may be closed before it."""
        values = sum(40 + (0 if value is None else len(value)) for value in self.values)
        return _OVERHEAD + values + self.statement.size

    def formats(self, columns: int) -> tuple[int, ...]:
        """The format of each column of the result.

        Raises:
            ProtocolError: the client gave another number of formats.
        """
        return _spread(self.result_formats, columns, "result formats but query has {} columns")


class Statements:
    """The names of one connection."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._statements: dict[str, Statement] = {}
        self._portals: dict[str, Portal] = {}
        self._size = 0

    @property
    def size(self) -> int:
        """Bytes that everything takes together."""
        return self._size

    def __len__(self) -> int:
        return len(self._statements) + len(self._portals)

    # --- statements

    def statement(self, name: str) -> Statement:
        """The statement of that name.

        Raises:
            ProtocolError: there is none.
        """
        found = self._statements.get(name)
        if found is None:
            said = f'prepared statement "{_short(name)}"' if name else "unnamed prepared statement"
            raise ProtocolError(SqlState.INVALID_SQL_STATEMENT_NAME, f"{said} does not exist")
        return found

    def check_parse(self, parse: Parse) -> None:
        """Make room for a statement before the owner looks at it. The unnamed one is gone even if it fails.

        Raises:
            ProtocolError: the name is taken or too long, or the client has enough.
        """
        self.check_name(parse.name)
        if not parse.name:
            self.close_statement("")
        elif parse.name in self._statements and not self._same(parse):
            raise ProtocolError(
                SqlState.DUPLICATE_PREPARED_STATEMENT,
                f'prepared statement "{_short(parse.name)}" already exists',
                hint="Close it first, or use another name. Behind a pool that gives each transaction another "
                "connection, have the driver name no statements (psycopg: prepare_threshold=None; JDBC: "
                "prepareThreshold=0), or the pool keep them (pgbouncer 1.21: max_prepared_statements).",
            )
        elif (
            parse.name not in self._statements
            and len(self._statements.keys() - {""}) >= self._limits.statements
        ):
            raise ProtocolError(
                SqlState.PROGRAM_LIMIT_EXCEEDED,
                f"there are {self._limits.statements} prepared statements already",
                hint="Close some with DEALLOCATE, or prepare fewer.",
            )
        self._room(Statement(parse.name, parse.query, parse.parameter_types, None).size)

    def _same(self, parse: Parse) -> bool:
        """Whether a name stands for this very statement: pools send it again to a connection that has it."""
        found = self._statements[parse.name]
        open_types = zip(parse.parameter_types, found.parameter_types, strict=False)
        return found.query == parse.query and all(one in (0, two) for one, two in open_types)

    def add_statement(self, statement: Statement) -> None:
        """Keep a statement, in place of one of the same name."""
        self.close_statement(statement.name)
        self._statements[statement.name] = statement
        self._size += statement.size

    def close_statement(self, name: str) -> Statement | None:
        """Forget a statement; None if there was none, which is no error."""
        gone = self._statements.pop(name, None)
        self._size -= gone.size if gone else 0
        return gone

    def close_all_statements(self) -> None:
        """DEALLOCATE ALL, DISCARD ALL."""
        for name in list(self._statements):
            self.close_statement(name)

    # --- portals

    def portal(self, name: str) -> Portal:
        """The portal of that name.

        Raises:
            ProtocolError: there is none.
        """
        found = self._portals.get(name)
        if found is None:
            raise ProtocolError(SqlState.INVALID_CURSOR_NAME, f'portal "{_short(name)}" does not exist')
        return found

    def bound(self, bind: Bind) -> Portal:
        """The portal that a Bind would make; not kept yet.

        Raises:
            ProtocolError: there is no such statement, the name is taken, the counts or formats do not fit,
                a text is not UTF-8, or the client has enough.
        """
        statement = self.statement(bind.statement)
        formats = _spread(bind.parameter_formats, len(bind.values), "parameter formats but {} parameters")
        if len(bind.values) != len(statement.parameter_types):
            raise ProtocolError(
                SqlState.PROTOCOL_VIOLATION,
                f"bind message supplies {len(bind.values)} parameters, but prepared statement "
                f'"{_short(bind.statement)}" requires {len(statement.parameter_types)}',
            )
        for form, value in zip(formats, bind.values, strict=True):
            if form == _TEXT and value is not None:
                decoded(value)
        portal = Portal(bind.portal, statement, formats, bind.values, bind.result_formats)
        if statement.columns is None:
            _checked(bind.result_formats)
        else:
            portal.formats(statement.columns)
        self._check_portal(portal)
        return portal

    def add_portal(self, portal: Portal) -> None:
        """Keep a portal, in place of one of the same name."""
        self.close_portal(portal.name)
        self._portals[portal.name] = portal
        self._size += portal.size

    def declare(self, portal: Portal) -> None:
        """Keep the portal of a DECLARE CURSOR: portals and cursors share their names.

        Raises:
            ProtocolError: the name is taken or too long, or the client has enough.
        """
        self._check_portal(portal)
        self.add_portal(portal)

    def close_portal(self, name: str) -> Portal | None:
        """Forget a portal; None if there was none, which is no error."""
        gone = self._portals.pop(name, None)
        self._size -= gone.size if gone else 0
        return gone

    def close_all_portals(self) -> None:
        """CLOSE ALL, DISCARD ALL: held ones too."""
        for name in list(self._portals):
            self.close_portal(name)

    def end_transaction(self, committed: bool = True) -> None:
        """Forget the portals of the transaction; those WITH HOLD stay if it is committed."""
        for name, portal in list(self._portals.items()):
            if not portal.hold or not (committed or portal.held):
                self.close_portal(name)
            else:
                portal.held = True

    # --- limits

    def check_name(self, name: str) -> None:
        """Raise if a name is too long to be kept."""
        if len(name.encode()) > self._limits.name:
            raise ProtocolError(
                SqlState.NAME_TOO_LONG,
                f'name "{_short(name)}…" is too long',
                hint=f"A name may have {self._limits.name} bytes.",
            )

    def _check_portal(self, portal: Portal) -> None:
        self.check_name(portal.name)
        if not portal.name:
            self.close_portal("")
        elif portal.name in self._portals:
            raise ProtocolError(
                SqlState.DUPLICATE_CURSOR,
                f'cursor "{_short(portal.name)}" already exists',
                hint="Close it first, or use another name.",
            )
        elif len(self._portals.keys() - {""}) >= self._limits.portals:
            raise ProtocolError(
                SqlState.PROGRAM_LIMIT_EXCEEDED,
                f"there are {self._limits.portals} cursors already",
                hint="Close some, or end the transaction.",
            )
        self._room(portal.size)

    def _room(self, size: int) -> None:
        if self._size + size > self._limits.memory:
            raise ProtocolError(
                SqlState.OUT_OF_MEMORY,
                f"prepared statements and cursors take more than {self._limits.memory} bytes",
                hint="Close some with DEALLOCATE or CLOSE, or send smaller values.",
            )


def _spread(formats: Sequence[int], count: int, said: str) -> tuple[int, ...]:
    """One format for each of so many: none given means text, one means all."""
    _checked(formats)
    if len(formats) > 1 and len(formats) != count:
        raise ProtocolError(
            SqlState.PROTOCOL_VIOLATION, f"bind message has {len(formats)} {said.format(count)}"
        )
    if len(formats) == count:
        return tuple(formats)
    return (formats[0] if formats else _TEXT,) * count


def _checked(formats: Sequence[int]) -> None:
    for each in formats:
        if each not in (_TEXT, _BINARY):
            raise ProtocolError(
                SqlState.INVALID_PARAMETER_VALUE,
                f"unsupported format code: {each}",
                hint="0 is text, 1 is binary.",
            )


def _short(name: str) -> str:
    return name[:63]
