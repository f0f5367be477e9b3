"""Logs and scripts as statements that are worth asking: each once, and what is not asked by reason.

Promise: files are read by the audit's readers. A statement that was answered, or of which the log does not
say, is asked; one that failed taught nothing. Two statements are the same if they are so in canonical form.
A statement is worth what a comment before it says (`-- worth: 5`), else as often as it is in the list.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import get_args

from auditor.errors import LogError, QueryUnsupported, StatementError
from auditor.gate.gate import Gate
from auditor.history import budget
from auditor.history.binding import Unbound, bound
from auditor.history.readers import read
from auditor.history.sorting import KINDS, parts_of
from auditor.history.statement import Logged, Reading
from auditor.policy.policy import Dialect
from auditor.sql.time_zones import session_zone

_COMMENTS = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*", re.DOTALL)
_WORTH = re.compile(r"\bworth\s*[:=]\s*(\d+(?:\.\d+)?)", re.IGNORECASE)
PASSED_OVER = frozenset(KINDS) | {"explanation"}
"""Kinds of statements that are no questions."""


_Name = tuple[str, str, str, str]
_Became = str | None | tuple[_Name, tuple[int, ...]]


@dataclass(frozen=True)
class Statement:
    """One that is asked."""

    number: int
    """Its place among those that are asked, from 1, as written."""
    sql: str
    """Parameters written in."""
    dialect: Dialect
    """Whose SQL it is."""
    zone: str = "UTC"
    """The session's time zone."""
    user: str = "unknown"
    """Who asked it first."""
    source: str = ""
    """File and line where it is first."""
    times: int = 1
    """How often it is in the list."""
    stated: float | None = None
    """What a comment says that it is worth."""
    groups: tuple[int, ...] = ()
    """Records of each of its groups; empty where what is asked hangs on answers."""

    @property
    def worth(self) -> float:
        """What it is worth to have it."""
        return float(self.times) if self.stated is None else self.stated

    @property
    def asks(self) -> int:
        """How many groups it asks of."""
        return max(1, len(self.groups))


@dataclass
class NotAsked:
    """Statements that a gate answers under no limit, for one reason."""

    reason: str
    count: int = 0
    examples: list[Statement] = field(default_factory=list)


EXAMPLES = 3
REMEMBERED = 4_096
"""Texts of which it is remembered what statements they are."""


@dataclass
class Listed:
    """What a list comes to."""

    statements: list[Statement] = field(default_factory=list)
    """About protected values, each once, as written."""
    public: int = 0
    """Those that read no protected value: they are always answered, and cost nothing."""
    not_asked: dict[str, NotAsked] = field(default_factory=dict)
    """By reason."""
    passed_over: Counter[str] = field(default_factory=Counter)
    """What is no question, by kind; "failed" where the log says that it failed."""
    read: int = 0
    """Entries of the list that are questions."""
    reading: Reading = field(default_factory=Reading)
    """What could not be read."""

    @property
    def repeated(self) -> int:
        """How many were not asked again, as they are the same as one before."""
        return sum(each.times - 1 for each in self.statements)

    @property
    def weighed(self) -> bool:
        """Whether some are worth more than others."""
        return len({each.worth for each in self.statements}) > 1


def listed(
    paths: Sequence[Path],
    gate: Gate,
    form: str = "auto",
    columns: Mapping[str, str] | None = None,
    dialect: Dialect | None = None,
    timezone: str = "UTC",
) -> Listed:
    """Read files, and find out what their statements ask about.

    Args:
        paths: Scripts and logs, in order; `-` is standard input.
        gate: With a ledger that is thrown away; it decides nothing.
        form: Their format, one of `auditor.history.readers.FORMATS`.
        columns: As for the readers.
        dialect: Whose SQL it is where a file does not say; by default as the policy says.
        timezone: In which sessions reckon where a log does not say.

    Raises:
        LogError: a file that cannot be read or is no log, or an unknown time zone.
    """
    try:
        zone = session_zone(timezone).name
    except KeyError:
        raise LogError(f"{timezone} is no time zone that is known here: write Europe/Berlin, say") from None
    found = Listed()
    logged = read(paths, form, columns, found.reading)
    return of_logged(logged, gate, found, dialect or gate.policy.dialect, zone)


def of_logged(
    logged: Iterable[Logged], gate: Gate, found: Listed, dialect: Dialect, zone: str = "UTC"
) -> Listed:
    """The same of statements that were read; `found` is filled."""
    apart = gate.policy.ledger.scope == "user"
    became, places = dict[_Name, _Became](), dict[_Name, int]()
    for each in logged:
        if each.answered is False:
            found.passed_over["failed"] += 1
            continue
        for one in _questions(each, dialect, zone, found):
            found.read += 1
            user = one.user if apart else ""
            text = one.sql, one.dialect, one.zone, user
            if text not in became:
                became[text] = _surveyed(one, gate, user)
            about = became[text]
            if isinstance(about, str):
                _refuse(one, about, found)
            elif about is None:
                found.public += 1
            else:
                _count(one, about, found, places)
    return found


def _count(
    one: Statement, about: tuple[_Name, tuple[int, ...]], found: Listed, places: dict[_Name, int]
) -> None:
    """One that is asked: it is new, or there once more."""
    name, groups = about
    if name not in places:
        places[name] = len(found.statements)
        found.statements.append(replace(one, number=len(found.statements) + 1, groups=groups))
        return
    known = found.statements[places[name]]
    stated = known.stated if one.stated is None else one.stated
    found.statements[places[name]] = replace(known, times=known.times + 1, stated=stated)


def _questions(each: Logged, dialect: Dialect, zone: str, found: Listed) -> Iterator[Statement]:
    """The queries of one entry, with their parameters; what is none is counted."""
    said = each.dialect or dialect
    one = Statement(0, each.sql, dialect, each.zone or zone, each.user or "unknown", each.source)
    worth = _WORTH.search(_COMMENTS.match(each.sql)[0])  # type: ignore[index]
    one = replace(one, stated=float(worth[1]) if worth else None)
    if len(each.sql) > budget.ENTRY:
        _refuse(one, "longer than a gate reads", found)
    elif said not in get_args(Dialect):
        _refuse(one, f"written in {said}'s SQL; a gate reads that of DuckDB and PostgreSQL", found)
    else:
        spoken: Dialect = "postgres" if said == "postgres" else "duckdb"
        for kind, sql, reason in _parts(each.sql, each.parameters, spoken):
            if kind in PASSED_OVER:
                found.passed_over[kind] += 1
            elif reason:
                _refuse(replace(one, sql=sql), reason, found)
            else:
                yield replace(one, sql=sql, dialect=spoken)


@lru_cache(maxsize=REMEMBERED)
def _parts(
    text: str, parameters: tuple[str | None, ...] | None, dialect: Dialect
) -> tuple[tuple[str, str, str], ...]:
    """Kind, SQL and a reason not to ask it of each statement of a text. A log has the same texts again."""
    found = list[tuple[str, str, str]]()
    for part in parts_of(text, dialect):
        try:
            asked = part.kind not in PASSED_OVER
            found.append((part.kind, bound(part.sql, parameters, dialect) if asked else part.sql, ""))
        except Unbound as error:
            found.append((part.kind, part.sql, str(error)))
    return tuple(found)


def _surveyed(one: Statement, gate: Gate, user: str) -> _Became:
    """A reason not to ask a statement, None where it is public, or its name and groups."""
    try:
        about = gate.survey(one.sql, dialect=one.dialect, timezone=one.zone)
    except QueryUnsupported as error:
        decision = error.decision
        return f"{decision.code}: {decision.message} {decision.hint}".strip()
    except StatementError as error:
        return str(error)
    if not about.groups and not about.two_questions:
        return None
    name = about.normalised, one.dialect, one.zone, user
    return name, tuple(sorted(about.groups.values()))


def _refuse(one: Statement, reason: str, found: Listed) -> None:
    known = found.not_asked.setdefault(reason, NotAsked(reason))
    known.count += 1
    if len(known.examples) < EXAMPLES:
        known.examples.append(one)
