"""From a PostgreSQL server's messages to statements: what was sent, once each, and whether it was answered.

Rules, for each session by itself:
1. `statement: …` (log_statement) is written before a statement runs, `duration: … statement: …` after it was
   answered, and for one execution a server writes the text once. A duration beside the same text is its own.
2. Of the extended protocol only `execute` counts: `parse` and `bind` answer nothing, `execute fetch` goes on.
3. pgaudit's message comes after `statement: …`, but before `execute …`. It is the same statement if the text
   is the same, and the parameters are; more of pgaudit's messages with that number say what it touched.
4. An ERROR with that STATEMENT says that it was not answered. Of a message with several statements, those
   before the error may have been. Where it is not certain whether it is this execution that failed, it is
   left open, and hence taken as answered: so of the extended protocol, where an error while binding looks
   the same unless the log says what the session was doing, and where pgaudit alone speaks of a statement,
   since one that fails early is not told at all.
5. What comes next in the session says that a statement has ended, and without an error it was answered.
   Statements wait for that, in the order of the log; `WAITING` of them at most.

Never is a statement taken for another of a different text or with different parameters. What the messages
show to have been answered and do not tell is counted: messages missing by their numbers, durations without a
text, plans whose query is told nowhere else, rows of cursors from before the log, texts in messages of
another language.
"""

from __future__ import annotations

import re
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from auditor.history.readers import kinds
from auditor.history.readers.entry import Entry
from auditor.history.readers.pgaudit import PREVIOUS, START, Audited, audited
from auditor.history.readers.prepared import (
    Kept,
    Parameters,
    Prepared,
    detail_parameters,
    detail_prepare,
    executed,
    is_utility,
    prepare,
    resolve,
)
from auditor.history.readers.splitting import statements
from auditor.history.readers.tally import Tally
from auditor.history.readers.times import parse_time
from auditor.history.readers.wholeness import is_damaged
from auditor.history.readers.zones import SessionZone
from auditor.history.statement import Logged

WAITING = 10_000
"""Statements whose end has not been seen; the oldest goes on as one whose answer is not known."""
HELD = 64 << 20
"""Characters of their texts."""
SESSIONS = 20_000
"""Sessions that are remembered; the one that was silent longest is forgotten first."""
_DURATION = re.compile(r"duration: [\d.]+ ms(?:  (?:(statement|execute|parse|bind|plan)\b)?|\Z)")
_AUTHORIZED = re.compile(
    r"connection authorized: user=(\S+)(?: database=(\S+))?(?: application_name=(.*?))?"
    r"(?: SSL enabled.*| GSS .*)?\Z"
)
_SENT = re.compile(r"(?:statement|execute (?P<name>fetch from .*?|.*?)): ", re.DOTALL)
_UNPARSED = re.compile(
    r"syntax error\b|unterminated |trailing junk|zero-length delimited|invalid Unicode escape"
)
_OUTSIDE = re.compile(r"(?:unnamed portal|portal \".*\") parameter ", re.DOTALL)
_BEFORE = ("PARSE", "BIND")
_ASKS = re.compile(
    r"\bselect\b|(?::|\xa0)\s*(?:table|execute|copy|fetch|with|call|do|prepare|declare|values|insert|update|delete)\b",
    re.IGNORECASE,
)
"""What messages that are not known may hold a statement by."""
_PLANNED = re.compile(r"duration: [\d.]+ ms  plan:\s*(?:\{\s*)?\"?Query Text\"?: \"?", re.DOTALL)
_FETCHED = re.compile(
    r"\s*(?:FETCH|MOVE)\b.*?(?P<name>\"(?:[^\"]|\"\")+\"|[^\W\d][\w$]*)\s*;?\s*\Z", re.IGNORECASE | re.DOTALL
)
_DECLARED = re.compile(r"\s*DECLARE\s+(?P<name>\"(?:[^\"]|\"\")+\"|[^\W\d][\w$]*)", re.IGNORECASE)
_DURATIONS = {"simple": 1, "extended": 3, "audit": 3}
"""Durations without a text that one statement has: of the extended protocol also those of parse and bind."""


@dataclass(slots=True)
class Sent:
    """A message of a client that may hold several statements, and what is known of its end."""

    entry: Entry
    sql: str
    kind: str
    """"simple", "extended", or "audit" as long as pgaudit alone speaks of it."""
    parameters: Parameters | None = None
    prepared: Prepared | None = None
    """What the log says that an EXECUTE ran."""
    number: str = ""
    """pgaudit's."""
    audits: int = 0
    over: bool = False
    answered: bool | None = None
    failed_at: int = -1
    """Where its error is, from 1; 0 if the log does not say; -1 without one."""
    unparsed: bool = False
    runs: bool = False
    """Whether a PREPARE as its text means that the prepared statement ran."""


@dataclass(slots=True)
class Session:
    """What has been seen of one connection."""

    user: str
    last: Sent | None = None
    authorized: tuple[str, str, str] = ("", "", "")
    """User, database and application, as the connection began."""
    number: int = 0
    durations: int = 0
    """Those without a text that no statement accounts for; below 0 where statements may have more."""
    line: int = 0
    """Where the last of these was."""
    cursors: set[str] = field(default_factory=set)
    zone: SessionZone = field(default_factory=SessionZone)


class Sessions:
    """All connections of one log."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._count = 0
        self._kept = Kept()
        self._waiting: deque[tuple[Session, Sent]] = deque()
        self._held = 0
        self._serials: OrderedDict[str, tuple[int, int]] = OrderedDict()

    def statements(self, entries: Iterable[Entry]) -> Iterator[Logged]:
        """The statements of a log, in its order."""
        waiting = self._waiting
        for entry in entries:
            if entry.serial:
                self._count_missing(entry)
            if entry.damaged or _is_damaged(entry):
                self._tally.lost(entry.line, "message with bytes that are no text")
            self._take(entry)
            while waiting and (waiting[0][1].over or len(waiting) > WAITING or self._held > HELD):
                yield from self._made(*waiting.popleft())
        while waiting:
            yield from self._made(*waiting.popleft())
        for session in self._sessions.values():
            self._untold(session)

    def _count_missing(self, entry: Entry) -> None:
        """A session numbers its messages: what is not there was lost, unless it was counted as broken."""
        before, bad = self._serials.pop(entry.session, (entry.serial - 1, self._tally.bad))
        missing = entry.serial - before - 1 - (self._tally.bad - bad)
        if missing > 0:
            self._tally.lost(entry.line, "message that is missing by the server's own count", missing)
        self._serials[entry.session] = entry.serial, self._tally.bad
        if len(self._serials) > SESSIONS:
            self._serials.popitem(last=False)

    def _untold(self, session: Session) -> None:
        if session.durations > 0:
            self._tally.lost(
                session.line, "duration of a statement whose text is not in the log", session.durations
            )

    def _take(self, entry: Entry) -> None:
        severity = entry.severity
        if severity in ("ERROR", "FATAL", "PANIC"):
            self._failed(entry)
            return
        message = entry.message
        if message.startswith(START):
            # at whatever level pgaudit.log_level says
            self._audited(entry)
        elif severity != "LOG":
            self._tally.pass_over("notice")
        elif message.startswith("duration: "):
            self._timed(entry)
        elif message.startswith(("statement: ", "execute ")) and (found := _SENT.match(message)):
            self._sent(entry, message[found.end() :], found["name"], over=False)
        else:
            kind = kinds.of(message)
            self._tally.pass_over(kind)
            if kind == "connection":
                self._connected(entry)
            elif kind == "fast path":
                self._tally.lost(entry.line, "function that was called by the fast path")
            elif kind == "server" and _ASKS.search(message):
                self._tally.lost(entry.line, "message that is not known and may hold a statement")

    def _session(self, entry: Entry) -> Session:
        key = entry.session or f"{entry.user}@{entry.database} {entry.application}"
        session = self._sessions.get(key)
        if session is None or session.user != entry.user:
            if session is not None:
                self._untold(session)
                _close(session, None)
            self._count += 1
            session = self._sessions[key] = Session(entry.user, number=self._count)
            if len(self._sessions) > SESSIONS:
                _, oldest = self._sessions.popitem(last=False)
                self._untold(oldest)
                _close(oldest, None)
        else:
            self._sessions.move_to_end(key)
        return session

    def _connected(self, entry: Entry) -> None:
        """A connection begins or ends: what was known of the one with its number is over."""
        key = entry.session or f"{entry.user}@{entry.database} {entry.application}"
        session = self._sessions.pop(key, None)
        if session is not None:
            self._untold(session)
            _close(session, True if entry.message.startswith("disconnection") else None)
        if found := _AUTHORIZED.match(entry.message):
            self._session(entry).authorized = (found[1], found[2] or "", (found[3] or "").strip())

    def _timed(self, entry: Entry) -> None:
        found = _DURATION.match(entry.message)
        if found is None:
            self._tally.pass_over("duration")
        elif found[1] in ("statement", "execute"):
            text = entry.message[found.start(1) :]
            sent = _SENT.match(text)
            if sent is None:
                self._tally.broken(entry.line, "duration without a statement")
                return
            self._sent(entry, text[sent.end() :], sent["name"], over=True)
        elif found[1] == "plan":
            self._planned(entry)
        elif found[1]:
            self._tally.pass_over(found[1])
        else:
            self._tally.pass_over("duration")
            session = self._session(entry)
            session.durations, session.line = session.durations + 1, entry.line
            if session.last is not None and session.last.kind != "audit":
                _end(session.last, True)

    def _planned(self, entry: Entry) -> None:
        """auto_explain's: its query is told by other messages, unless nothing else is logged."""
        self._tally.pass_over("plan")
        found, last = _PLANNED.match(entry.message), self._session(entry).last
        text = entry.message[found.end() :] if found else ""
        if last is None or not text.startswith(last.sql.strip()[:40]):
            self._tally.lost(entry.line, "query of a plan that no other message tells")

    def _sent(self, entry: Entry, sql: str, name: str | None, over: bool) -> None:
        session = self._session(entry)
        last = session.last
        parameters = detail_parameters(entry.detail) if entry.detail else None
        if name is not None and name.startswith("fetch from ") and last is not None and last.sql == sql:
            self._tally.pass_over("fetch")
            session.durations -= _DURATIONS["extended"]
            return
        prepared = detail_prepare(entry.detail) if entry.detail else None
        if last is not None and _claimed(last, sql, parameters):
            last.kind = "simple" if name is None else "extended"
            self._held += len(sql) - len(last.sql)
            last.sql, last.prepared = sql, prepared or last.prepared
            last.parameters = parameters or last.parameters
        elif last is not None and over and _told_before(last, sql, name, parameters):
            self._tally.pass_over("duration")
        else:
            last = Sent(entry, sql, "simple" if name is None else "extended", parameters, prepared)
            # binding to what SQL has prepared shows the PREPARE as the text
            last.runs = (
                name is not None and (kept := prepare(sql)) is not None and kept.name == name.split("/")[0]
            )
            self._add(session, last)
        if over:
            _end(last, True)

    def _audited(self, entry: Entry) -> None:
        found = audited(entry.message)
        if found is None:
            self._tally.broken(entry.line, "not what pgaudit writes")
            return
        session = self._session(entry)
        last = session.last
        if found.sql == PREVIOUS or (last is not None and _told(last, found)):
            self._tally.pass_over("pgaudit, of a statement already told")
            return
        if found.command == "PREPARE" and found.parameters is None:
            self._tally.pass_over("prepare")
            return
        sent = Sent(entry, found.sql, "audit", found.parameters, number=found.number, audits=1)
        sent.runs = found.command != "PREPARE"
        self._add(session, sent)

    def _add(self, session: Session, sent: Sent) -> None:
        _close(session, True)
        session.last = sent
        session.durations -= _DURATIONS[sent.kind]
        self._held += len(sent.sql)
        self._waiting.append((session, sent))

    def _failed(self, entry: Entry) -> None:
        self._tally.pass_over("error")
        session = self._session(entry)
        last, sql = session.last, entry.statement
        if not sql:
            if last is not None and not last.over:
                certain = last.kind == "simple" and entry.severity == "ERROR"
                _fail(last, entry) if certain else _end(last, None)
            return
        outside = entry.tag in _BEFORE or _OUTSIDE.match(entry.context) is not None
        if last is None or last.over or last.sql != sql or (outside and last.kind != "simple"):
            last = Sent(entry, sql, "simple")
            self._add(session, last)
        elif last.kind == "audit" or (last.kind == "extended" and not entry.tag):
            _end(last, None)
            return
        _fail(last, entry)

    def _made(self, session: Session, sent: Sent) -> list[Logged]:
        self._held -= len(sent.sql)
        if not sent.over:
            _end(sent, None)
        entry = sent.entry
        time, unknown = parse_time(entry.time)
        if unknown:
            self._tally.odd("time zone that is not known, taken as UTC")
        made = []
        for sql, answered in _answers(sent):
            if answered is not False and not sent.runs and sent.parameters is None and (kept := prepare(sql)):
                self._kept.put(session.number, kept)
                self._tally.pass_over("prepare")
                continue
            self._follow_cursor(entry, sql, session, answered)
            if answered is not False and not session.zone.take(sql):
                self._tally.lost(entry.line, "time zone that is not known, of the statements after it")
            text, parameters = self._meant(sent, sql, session)
            made.append(
                self._tally.statement(
                    entry.line, text, parameters=parameters, user=entry.user or session.authorized[0],
                    time=time, application=_known(entry.application) or session.authorized[2],
                    database=entry.database or session.authorized[1], answered=answered, dialect="postgres",
                    zone=session.zone.now,
                )
            )  # fmt: skip
        return made

    def _follow_cursor(self, entry: Entry, sql: str, session: Session, answered: bool | None) -> None:
        """Rows that are fetched are counted where the cursor is declared: that must be in the log."""
        if answered is False:
            return
        if found := _DECLARED.match(sql):
            session.cursors.add(found["name"].strip('"').lower())
        elif (found := _FETCHED.match(sql)) and found["name"].strip('"').lower() not in session.cursors:
            self._tally.lost(entry.line, "rows of a cursor whose declaration is not in the log")

    def _meant(self, sent: Sent, sql: str, session: Session) -> tuple[str, Parameters | None]:
        """What runs and with which values: an EXECUTE is what was prepared."""
        if (
            (sent.runs or sent.parameters is not None)
            and is_utility(sql, "PREPARE")
            and (inner := prepare(sql))
        ):
            return inner.sql, sent.parameters
        if not is_utility(sql, "EXECUTE") or (call := executed(sql)) is None:
            return sql, sent.parameters if sent.kind != "simple" else None
        name, arguments = call
        known = (
            sent.prepared
            if sent.prepared and sent.prepared.name == name
            else self._kept.get(session.number, name)
        )
        if known is None:
            return sql, sent.parameters
        text, parameters = resolve(known, arguments)
        if parameters is None and sent.parameters is not None and len(sent.parameters) == len(arguments):
            # pgaudit has the values of what was an expression
            return known.sql, sent.parameters
        return text, parameters


def _is_damaged(entry: Entry) -> bool:
    """Whether what is known of a message is; that of a statement is counted with the statement."""
    told = [entry.time, entry.user, entry.database, entry.session, entry.severity, entry.statement]
    if not entry.message.startswith("statement: "):
        told += [entry.message, entry.detail]
    return any(map(is_damaged, told))


def _known(name: str) -> str:
    return "" if name == "[unknown]" else name


def _end(sent: Sent, answered: bool | None) -> None:
    if not sent.over:
        sent.over, sent.answered = True, answered


def _close(session: Session, answered: bool | None) -> None:
    if session.last is not None:
        _end(session.last, answered)


def _fail(sent: Sent, entry: Entry) -> None:
    sent.over, sent.answered = True, False
    sent.failed_at = entry.position
    sent.unparsed = _UNPARSED.match(entry.message) is not None


def _claimed(last: Sent, sql: str, parameters: Parameters | None) -> bool:
    """Whether it is this text that pgaudit alone has spoken of so far."""
    if last.kind != "audit" or last.over:
        return False
    if last.sql == sql:
        return parameters is None or _alike(last.parameters, parameters)
    if not is_utility(sql, "EXECUTE") or (call := executed(sql)) is None:
        return False
    kept = prepare(last.sql)
    if kept is None or kept.name != call[0]:
        return False
    last.prepared = kept
    return True


def _told_before(last: Sent, sql: str, name: str | None, parameters: Parameters | None) -> bool:
    """Whether a text beside a duration was logged already, as it was sent."""
    if last.over or last.sql != sql:
        return False
    if name is None:
        # values of an EXECUTE are pgaudit's, and not beside its text
        return last.kind == "simple"
    return last.kind == "extended" and last.parameters == parameters


def _alike(audit: Parameters | None, parameters: Parameters) -> bool:
    """pgaudit writes NULL and the empty text alike; None where it writes no parameters."""
    return audit is None or tuple(each or None for each in parameters) == audit


def _told(last: Sent, found: Audited) -> bool:
    """Whether pgaudit speaks of a statement that has been seen, or of what it does inside."""
    if last.number == found.number:
        return found.part != "1" or found.sql == last.sql or last.kind != "audit"
    if last.kind == "audit":
        return found.sql == last.sql and 0 < last.audits < len(statements(last.sql)) and _count(last, found)
    if last.kind == "simple" and not last.over:
        runs = last.sql == found.sql or is_utility(last.sql, "EXECUTE") or is_utility(last.sql, "EXPLAIN")
        if runs and (last.audits == 0 or last.audits < len(statements(last.sql))):
            if last.sql != found.sql and last.prepared is None:
                last.prepared = prepare(found.sql)
            if last.sql != found.sql and last.parameters is None:
                last.parameters = found.parameters
            return _count(last, found)
    return False


def _count(last: Sent, found: Audited) -> bool:
    last.audits += 1
    last.number = found.number
    return True


def _answers(sent: Sent) -> list[tuple[str, bool | None]]:
    """Each statement of a message, and whether it was answered."""
    if sent.kind == "extended":
        return [(sent.sql, sent.answered)]
    parts = statements(sent.sql)
    if sent.answered is not False or len(parts) <= 1:
        return [(sql, sent.answered) for _, sql in parts]
    if sent.unparsed:
        return [(sql, False) for _, sql in parts]
    if sent.failed_at > 0:
        # those before the error ran; the one with it did not, nor did those after it
        starts = [start for start, _ in parts[1:]] + [len(sent.sql)]
        ends = zip(parts, starts, strict=True)
        return [(sql, None if end < sent.failed_at else False) for (_, sql), end in ends]
    return [(sql, None) for _, sql in parts[:-1]] + [(parts[-1][1], False)]
