"""COPY as it is written: of a query to the client, in the options of today and those of before 9.0.

Promises that nothing but `COPY (query) TO STDOUT` is a command: what would read rows or a file, write
a file, or take a table's rows without a query is refused, with what to write in its place.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from auditor.proxy.protocol.sqlstate import ProtocolError, SqlState
from auditor.proxy.session import commands as c
from auditor.proxy.session.lexing import Lexeme, Reader, lexemes
from auditor.proxy.values.copying import CopyForm

_KNOWN = frozenset({"format", "delimiter", "null", "header", "quote", "escape", "force_quote", "encoding"})
_TRUTHS = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}
_SPECIAL = frozenset("\\.abcdefghijklmnopqrstuvwxyz0123456789")
"""What PostgreSQL's text format has for no delimiter."""


def read_copy(text: str) -> c.Copy:
    """The command that a text that begins with COPY is.

    Raises:
        ProtocolError: it is refused, or written wrongly.
    """
    found = lexemes(text)
    next(found)
    first = next(found, None)
    if first is None or first.written != "(":
        raise _of_a_table(text, ([first] if first else []) + list(islice(found, 50)))
    depth, last = 1, first
    for last in found:
        depth += {"(": 1, ")": -1}.get(last.written, 0) if last.kind == "sign" else 0
        if not depth:
            break
    if depth:
        raise ProtocolError(SqlState.SYNTAX_ERROR, "syntax error at end of input")
    query = text[first.end : last.start].strip()
    rest = Reader(text, found)
    rest.expect("to")
    if not rest.take("stdout"):
        raise ProtocolError(
            SqlState.INSUFFICIENT_PRIVILEGE, "COPY to a file of the server is not possible here",
            hint="Copy to the client: COPY (SELECT …) TO STDOUT; in psql, \\copy (SELECT …) TO 'file'.",
        )  # fmt: skip
    return c.Copy(query, _form(rest))


def _of_a_table(text: str, found: list[Lexeme]) -> ProtocolError:
    words = [each.value for each in found if each.kind == "word"]
    if "from" in words:
        return ProtocolError(
            SqlState.INSUFFICIENT_PRIVILEGE,
            "COPY FROM is not possible here",
            hint="This server answers queries; the database cannot be changed through it.",
        )
    end = next((place for place, each in enumerate(found) if each.value in ("to", "(")), len(found))
    name = text[found[0].start : found[end - 1].end] if found and end else "staff"
    return ProtocolError(
        SqlState.FEATURE_NOT_SUPPORTED,
        "COPY of a table's rows is not possible here",
        hint=f"Copy what a query answers: COPY (SELECT count(*) FROM {name[:100]}) TO STDOUT.",
    )


def _text(rest: Reader) -> str:
    """Take a text, a name or a word."""
    lexeme = rest.skip()
    if lexeme.kind == "sign":
        raise rest.wrong(lexeme)
    if lexeme.kind == "escaped":
        inner = lexeme.written[2:-1]
        return {"\\t": "\t", "\\b": "\b", "\\x01": "\x01"}.get(inner, inner)
    return lexeme.value


def _form(rest: Reader) -> CopyForm:
    rest.take("with")
    given: dict[str, str | bool | tuple[str, ...] | None] = {}
    if rest.take("("):
        while True:
            name = _text(rest).lower()
            given[name] = _option(rest, name)
            if rest.expect(")", ",") == ")":
                break
        rest.end()
        return _checked(given)
    while rest.kind():
        name = _text(rest).lower()
        if name in ("binary", "csv"):
            given["format"] = name
        elif name == "header":
            given["header"] = True
        elif name in ("delimiter", "null", "quote", "escape", "encoding"):
            rest.take("as")
            given[name] = _text(rest)
        elif name == "force" and rest.take("quote"):
            given["force_quote"] = _names(rest)
        else:
            raise rest.wrong(rest.skip())
    return _checked(given)


def _option(rest: Reader, name: str) -> str | bool | tuple[str, ...] | None:
    if name not in _KNOWN:
        raise _refused(f'COPY option "{name[:63]}" is not possible here', SqlState.FEATURE_NOT_SUPPORTED)
    if name == "header":
        for word, truth in _TRUTHS.items():
            if rest.take(word):
                return truth
        return True
    if name == "force_quote":
        if rest.take("("):
            found = _names(rest)
            rest.expect(")")
            return found
        return _names(rest)
    return _text(rest)


def _names(rest: Reader) -> tuple[str, ...] | None:
    if rest.take("*"):
        return None
    found = [_text(rest)]
    while rest.take(","):
        found.append(_text(rest))
    return tuple(found)


def _checked(given: dict[str, str | bool | tuple[str, ...] | None]) -> CopyForm:
    """The form of some options.

    Raises:
        ProtocolError: one is unknown, or no such one as the format takes.
    """
    form = str(given.pop("format", "text")).lower()
    if form not in ("text", "csv", "binary"):
        raise _refused(f'COPY format "{form[:63]}" not recognized', SqlState.INVALID_PARAMETER_VALUE)
    if str(given.pop("encoding", "UTF8")).upper().replace("-", "") not in ("UTF8", "UNICODE"):
        raise _refused("COPY writes UTF8 alone", SqlState.FEATURE_NOT_SUPPORTED)
    if form == "binary":
        if given:
            raise _refused(f"cannot specify {min(given).upper()} in BINARY mode", SqlState.SYNTAX_ERROR)
        return CopyForm("binary")
    if form == "text" and (wrong := sorted(set(given) & {"quote", "escape", "force_quote"})):
        raise _refused(f"COPY {wrong[0]} available only in CSV mode", SqlState.FEATURE_NOT_SUPPORTED)
    base = CopyForm("csv", delimiter=",", null="") if form == "csv" else CopyForm()
    if "quote" in given and "escape" not in given:
        given["escape"] = given["quote"]
    made = replace(base, **given)  # type: ignore[arg-type]
    for name, value in (("delimiter", made.delimiter), ("quote", made.quote), ("escape", made.escape)):
        if len(value) != 1 or ord(value) > 127 or value in "\r\n":
            raise _refused(f"COPY {name} must be a single one-byte character", SqlState.FEATURE_NOT_SUPPORTED)
    if (form == "text" and made.delimiter in _SPECIAL) or made.delimiter == made.quote:
        raise _refused(f'COPY delimiter cannot be "{made.delimiter}"', SqlState.INVALID_PARAMETER_VALUE)
    if "\n" in made.null or "\r" in made.null or made.delimiter in made.null:
        raise _refused("this COPY null is not possible", SqlState.INVALID_PARAMETER_VALUE)
    return made


def _refused(message: str, state: SqlState) -> ProtocolError:
    return ProtocolError(
        state, message, hint="Write COPY (SELECT …) TO STDOUT (FORMAT csv, HEADER), or FORMAT text or binary."
    )
