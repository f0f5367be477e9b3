"""PREPARE and EXECUTE as SQL, and parameters as logs write them.

An EXECUTE becomes the prepared text with its values as parameters; where an argument is more than a value,
it is written into the text in its place instead, so that nothing is lost.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass

from auditor.history.readers.splitting import begin, pieces
from auditor.sql.postgres.lexing import lexemes

_OVERHEAD = 300
"""Bytes that a statement takes besides its text, about."""
Parameters = tuple[str | None, ...]

_NAME = r'(?P<name>"(?:[^"]|"")+"|[^\W\d][\w$]*)'
_PREPARE = re.compile(
    rf"PREPARE\s+{_NAME}\s*(?P<types>\((?:[^()]|\([^()]*\))*\))?\s*\bAS\b\s*", re.IGNORECASE
)
_EXECUTE = re.compile(
    rf"EXECUTE\s+{_NAME}\s*(?:\((?P<arguments>.*)\))?\s*(?:;\s*)?\Z", re.IGNORECASE | re.DOTALL
)
_TYPE = r'(?:\s*::\s*[A-Za-z_"][\w ".]*(?:\(\s*\d+\s*(?:,\s*\d+\s*)?\))?(?:\[\])?)?'
_STRING = re.compile(rf"(?:[A-Za-z_]\w*\s+)?'((?:[^']|'')*+)'{_TYPE}\Z")
_PLAIN = re.compile(rf"([-+]?\d[\d.]*(?:[eE][-+]?\d+)?|true|false){_TYPE}\Z", re.IGNORECASE)
_NULL = re.compile(rf"NULL{_TYPE}\Z", re.IGNORECASE)
_DETAIL = re.compile(r"\$\d+ = (?:'((?:[^']|'')*+)'|(NULL))(?:, |\Z)")


@dataclass(frozen=True)
class Prepared:
    """A statement that was prepared under a name."""

    name: str
    sql: str


class Kept:
    """Prepared statements of all sessions; the oldest are forgotten when they are too many."""

    def __init__(self, limit: int = 64 << 20) -> None:
        self._limit = limit
        self._size = 0
        self._kept: OrderedDict[tuple[object, str], Prepared] = OrderedDict()

    def put(self, session: object, statement: Prepared) -> None:
        """A statement that was prepared in a session."""
        self._size += len(statement.sql) + _OVERHEAD
        if (before := self._kept.pop((session, statement.name), None)) is not None:
            self._size -= len(before.sql) + _OVERHEAD
        self._kept[session, statement.name] = statement
        while self._size > self._limit and len(self._kept) > 1:
            self._size -= len(self._kept.popitem(last=False)[1].sql) + _OVERHEAD

    def get(self, session: object, name: str) -> Prepared | None:
        """What has that name in that session."""
        return self._kept.get((session, name))


def is_utility(sql: str, word: str) -> bool:
    """Whether a statement starts with a word, comments aside."""
    start = begin(sql)
    return sql[start : start + len(word)].upper() == word


def prepare(sql: str) -> Prepared | None:
    """What `PREPARE name (types) AS sql` prepares."""
    found = _PREPARE.match(sql, begin(sql))
    if found is None:
        return None
    return Prepared(_folded(found["name"]), sql[found.end() :].strip().removesuffix(";").strip())


def executed(sql: str) -> tuple[str, list[str]] | None:
    """The name and the arguments, as they are written, of `EXECUTE name(arguments)`."""
    found = _EXECUTE.match(sql, begin(sql))
    if found is None:
        return None
    inside = found["arguments"] or ""
    arguments = [inside[start:end].strip() for start, end in pieces(inside, ",")]
    return _folded(found["name"]), ([] if arguments == [""] else arguments)


def resolve(
    statement: Prepared, arguments: list[str], dialect: str = "postgres"
) -> tuple[str, Parameters | None]:
    """The prepared text with its arguments: as parameters, or in the text where they are no plain values."""
    sql = _numbered(statement.sql) if dialect == "duckdb" else statement.sql
    values: list[str | None] = []
    for argument in arguments:
        if text := _STRING.match(argument):
            values.append(text[1].replace("''", "'"))
        elif number := _PLAIN.match(argument):
            values.append(number[1])
        elif _NULL.match(argument):
            values.append(None)
        else:
            return _written_in(sql, arguments), None
    return sql, tuple(values) if values else None


def detail_parameters(detail: str) -> Parameters | None:
    """Values of PostgreSQL's `parameters: $1 = '46', $2 = NULL`; None if that is not what it says."""
    kind, _, rest = detail.partition(": ")
    if kind.lower() != "parameters":
        return None
    values: list[str | None] = []
    place = 0
    while found := _DETAIL.match(rest, place):
        values.append(None if found[2] else found[1].replace("''", "'"))
        place = found.end()
    return tuple(values) if place == len(rest) and values else None


def detail_prepare(detail: str) -> Prepared | None:
    """What PostgreSQL's `prepare: PREPARE …` beside an EXECUTE says was prepared."""
    kind, _, rest = detail.partition(": ")
    return prepare(rest) if kind.lower() == "prepare" else None


def _folded(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name.lower()


def _numbered(sql: str) -> str:
    """DuckDB's `?` as `$1`, `$2`, … where there are no numbered ones."""
    marks = [(start, end) for kind, start, end in lexemes(sql) if kind == "sign" and sql[start] == "?"]
    if not marks or any(kind == "parameter" for kind, _, _ in lexemes(sql)):
        return sql
    pieces, done = [], 0
    for number, (start, end) in enumerate(marks, start=1):
        pieces += [sql[done:start], f"${number}"]
        done = end
    return "".join([*pieces, sql[done:]])


def _written_in(sql: str, arguments: list[str]) -> str:
    places = [(start, end) for kind, start, end in lexemes(sql) if kind == "parameter"]
    pieces, done = [], 0
    for start, end in places:
        # Python does not take a number of thousands of digits
        number = int(sql[start + 1 : end]) if end - start < 9 else 0
        if 1 <= number <= len(arguments):
            pieces += [sql[done:start], f"({arguments[number - 1]})"]
            done = end
    return "".join([*pieces, sql[done:]])
