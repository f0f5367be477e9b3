"""What a statement is: a query, or one of the commands that a session answers itself.

Promises to look at the first words alone; a statement that is no command and is not refused here by name is a
`Select`, which the catalogue or the gate judges. What would change data or wait for other sessions has its
SQLSTATE and its hint in a table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from auditor.proxy.protocol.sqlstate import ProtocolError, SqlState
from auditor.proxy.session import commands as c
from auditor.proxy.session.copying import read_copy
from auditor.proxy.session.lexing import Reader

_AHEAD = re.compile(r"([+-]?)(\d{1,2})(?::(\d\d))?(?::00)?")

_READ_ONLY = (
    SqlState.INSUFFICIENT_PRIVILEGE,
    "This server answers queries; the database cannot be changed through it.",
)
_ALONE = (SqlState.FEATURE_NOT_SUPPORTED, "Sessions do not hear of each other here.")
REFUSED: Mapping[str, tuple[SqlState, str]] = {
    **dict.fromkeys(
        ("insert", "update", "delete", "merge", "truncate", "create", "alter", "drop", "grant", "revoke",
         "comment", "import", "refresh", "reindex", "cluster", "vacuum", "analyze", "reassign", "security",
         "checkpoint", "install", "load", "attach", "detach", "export", "pragma"),
        _READ_ONLY,
    ),
    **dict.fromkeys(("listen", "notify"), _ALONE),
    **dict.fromkeys(("do", "call"), (SqlState.FEATURE_NOT_SUPPORTED, "There are no procedures here.")),
    "lock": (SqlState.FEATURE_NOT_SUPPORTED, "Nothing changes here, so nothing needs a lock."),
}  # fmt: skip
"""c.Commands that are refused by their first word, with the reason."""


def classify(text: str) -> c.Command:
    """What a statement is.

    Raises:
        ProtocolError: it is a command that is refused, or one that is written wrongly.
    """
    reader = Reader(text)
    first = reader.peek()
    if first in REFUSED:
        state, hint = REFUSED[first]
        raise ProtocolError(state, f"{first.upper()} is not possible here", hint=hint)
    if first == "copy":
        return read_copy(text)
    read = _READERS.get(first)
    if read is None:
        return c.Select(text)
    reader.skip()
    return read(reader)


def _begin(reader: Reader) -> c.Command:
    reader.take("work", "transaction")
    # Isolation and access modes mean nothing where nothing changes.
    return c.Begin("BEGIN")


def _start(reader: Reader) -> c.Command:
    reader.expect("transaction")
    return c.Begin("START TRANSACTION")


def _commit(reader: Reader) -> c.Command:
    reader.take("work", "transaction")
    return _ended(reader, commit=True)


def _rollback(reader: Reader) -> c.Command:
    reader.take("work", "transaction")
    if reader.take("to"):
        reader.take("savepoint")
        name = reader.name()
        reader.end()
        return c.RollbackTo(name)
    return _ended(reader, commit=False)


def _ended(reader: Reader, commit: bool) -> c.Command:
    if reader.take("prepared"):
        raise ProtocolError(SqlState.FEATURE_NOT_SUPPORTED, "two-phase commit is not supported")
    if reader.take("and"):
        if not reader.take("no"):
            raise ProtocolError(
                SqlState.FEATURE_NOT_SUPPORTED, "AND CHAIN is not supported", hint="Send BEGIN after it."
            )
        reader.take("chain")
    reader.end()
    return c.End(commit)


def _savepoint(reader: Reader) -> c.Command:
    name = reader.name()
    reader.end()
    return c.Savepoint(name)


def _release(reader: Reader) -> c.Command:
    reader.take("savepoint")
    name = reader.name()
    reader.end()
    return c.Release(name)


def _set(reader: Reader) -> c.Command:
    scope = reader.take("session", "local")
    local = scope == "local"
    if reader.take("characteristics"):
        return c.Tolerated("SET")
    if scope != "session" and reader.take("transaction"):
        return c.Tolerated("SET")
    if reader.take("time"):
        reader.expect("zone")
        return c.Set("timezone", _zone(reader), local)
    if reader.take("names"):
        return c.Set("client_encoding", _value(reader), local)
    name = reader.dotted()
    if name in ("role", "authorization"):
        return _as_oneself(reader, name)
    reader.expect("=", "to")
    return c.Set(name, _value(reader), local)


def _zone(reader: Reader) -> str | None:
    """A time zone, also as the time that its clocks are ahead: INTERVAL '+02:00' HOUR TO MINUTE."""
    if reader.take("local"):
        reader.end()
        return None
    if not reader.take("interval"):
        return _value(reader)
    lexeme = reader.skip()
    ahead = _AHEAD.fullmatch(lexeme.value) if lexeme.kind == "text" else None
    if ahead is None:
        raise reader.wrong(lexeme)
    if reader.take("hour") and reader.take("to"):
        reader.take("minute")
    reader.end()
    sign, hours, minutes = ahead[1] or "+", int(ahead[2]), int(ahead[3] or 0)
    written = f"{hours:02}" + (f":{minutes:02}" if minutes else "")
    return f"<{sign}{written}>{'-' if sign == '+' else '+'}{written}"


def _as_oneself(reader: Reader, name: str) -> c.Command:
    reader.take("=", "to")
    if reader.take("none", "default"):
        return c.Tolerated("SET")
    what = "role" if name == "role" else "session authorization"
    raise ProtocolError(
        SqlState.INSUFFICIENT_PRIVILEGE, f"permission denied to set {what}", hint="Connect as that user."
    )


def _value(reader: Reader) -> str | None:
    """The values of a SET, as one text; None for DEFAULT."""
    found: list[str] = []
    while True:
        sign = reader.take("-", "+").replace("+", "")
        lexeme = reader.skip()
        if lexeme.kind == "word" and lexeme.value in ("default", "local") and not found:
            reader.end()
            return None
        if lexeme.kind not in ("word", "name", "text", "number"):
            raise reader.wrong(lexeme)
        found.append(sign + (lexeme.written if lexeme.kind == "word" else lexeme.value))
        if not reader.take(","):
            reader.end()
            return ", ".join(found)


def _reset(reader: Reader) -> c.Command:
    if reader.take("all"):
        return c.ResetAll()
    if reader.take("session"):
        return c.Tolerated("RESET")
    if reader.take("time"):
        reader.take("zone")
        return c.Set("timezone", None, tag="RESET")
    name = reader.dotted()
    reader.end()
    return c.Tolerated("RESET") if name == "role" else c.Set(name, None, tag="RESET")


def _show(reader: Reader) -> c.Command:
    if reader.peek() in ("tables", "columns", "databases"):
        return c.Select(reader.text)  # DuckDB's, for the gate
    if reader.take("time"):
        reader.take("zone")
        return c.Show("timezone")
    if reader.take("transaction"):
        return c.Show("transaction_isolation")
    if reader.take("session"):
        return c.Show("session_authorization")
    name = reader.dotted()
    reader.end()
    return c.Show(name)


def _declare(reader: Reader) -> c.Command:
    name = reader.name()
    while option := reader.take("binary", "asensitive", "insensitive", "no", "scroll"):
        if option == "no":
            reader.take("scroll")
        elif option in ("binary", "scroll"):
            raise ProtocolError(
                SqlState.FEATURE_NOT_SUPPORTED,
                f"{option.upper()} cursors are not supported",
                hint=f"Leave {option.upper()} out: a cursor goes forward, in text format.",
            )
    reader.expect("cursor")
    hold = False
    if kind := reader.take("with", "without"):
        reader.expect("hold")
        hold = kind == "with"
    reader.expect("for")
    return c.Declare(name, reader.rest(), hold)


def _fetch(reader: Reader, move: bool = False) -> c.Command:
    count: int | None = 1
    if reader.take("backward", "prior", "first", "last", "absolute", "relative") or reader.peek() == "-":
        raise ProtocolError(
            SqlState.OBJECT_NOT_IN_PREREQUISITE_STATE,
            "cursor can only scan forward",
            hint="Fetch with NEXT, FORWARD n or ALL.",
        )
    if not reader.take("next"):
        reader.take("forward")
        if reader.take("all"):
            count = None
        elif reader.kind() == "number":
            written = reader.skip().written
            if not written.isdecimal() or len(written) > 18:
                raise ProtocolError(SqlState.SYNTAX_ERROR, f'syntax error at or near "{written[:40]}"')
            count = int(written)
    reader.take("from", "in")
    name = reader.name()
    reader.end()
    return c.Fetch(name, count, move)


def _move(reader: Reader) -> c.Command:
    return _fetch(reader, move=True)


def _close(reader: Reader) -> c.Command:
    name = None if reader.take("all") else reader.name()
    reader.end()
    return c.Close(name)


def _prepare(reader: Reader) -> c.Command:
    if reader.peek() == "transaction":
        raise ProtocolError(SqlState.FEATURE_NOT_SUPPORTED, "two-phase commit is not supported")
    name, types = reader.name(), list[str]()
    if reader.take("("):
        types.append(_type(reader))
        while reader.take(","):
            types.append(_type(reader))
        reader.expect(")")
    reader.expect("as")
    return c.Prepare(name, tuple(types), reader.rest())


def _type(reader: Reader) -> str:
    """A type's name, such as timestamp with time zone; the precision is left out."""
    words = [reader.name()]
    while reader.kind() == "word" or reader.peek() == "(":
        if reader.take("("):
            while not reader.take(")"):
                reader.skip()
        else:
            words.append(reader.name())
    if reader.take("["):
        reader.expect("]")
        words[-1] += "[]"
    return " ".join(words)


def _execute(reader: Reader) -> c.Command:
    name, values = reader.name(), list[str | None]()
    if reader.take("("):
        values.append(_plain(reader))
        while reader.take(","):
            values.append(_plain(reader))
        reader.expect(")")
    reader.end()
    return c.Execute(name, tuple(values))


def _plain(reader: Reader) -> str | None:
    """One value as a text: 'text', 12, -1.5, true, NULL, DATE '2020-01-01', '7'::int."""
    sign = reader.take("-", "+").replace("+", "")
    lexeme = reader.skip()
    if lexeme.kind == "word" and lexeme.value not in ("true", "false", "null") and reader.kind() == "text":
        lexeme = reader.skip()
    value: str | None = lexeme.value
    if lexeme.kind == "word" and value == "null" and not sign:
        value = None
    elif lexeme.kind not in ("text", "number") and value not in ("true", "false"):
        raise ProtocolError(
            SqlState.FEATURE_NOT_SUPPORTED,
            "EXECUTE takes plain values here",
            hint="Write numbers and 'texts'.",
        )
    while reader.take(":"):
        reader.expect(":")
        _type(reader)
    return value if value is None else sign + value


def _deallocate(reader: Reader) -> c.Command:
    reader.take("prepare")
    name = None if reader.take("all") else reader.name()
    reader.end()
    return c.Deallocate(name)


def _discard(reader: Reader) -> c.Command:
    what = reader.expect("all", "plans", "sequences", "temp", "temporary")
    reader.end()
    return c.Discard("temp" if what == "temporary" else what)


def _unlisten(_: Reader) -> c.Command:
    return c.Tolerated("UNLISTEN")


_READERS = {
    "begin": _begin, "start": _start, "commit": _commit, "end": _commit, "rollback": _rollback,
    "abort": _rollback, "savepoint": _savepoint, "release": _release, "set": _set, "reset": _reset,
    "show": _show, "declare": _declare, "fetch": _fetch, "move": _move, "close": _close,
    "prepare": _prepare, "execute": _execute, "deallocate": _deallocate, "discard": _discard,
    "unlisten": _unlisten,
}  # fmt: skip
