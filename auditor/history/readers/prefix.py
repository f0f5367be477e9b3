"""PostgreSQL's log_line_prefix: what stands before each message on stderr.

A prefix is compiled from its own setting, or found among those that are in use; where none fits, its parts
are looked for one by one. Names of users and databases are taken to have no blanks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

_LEVELS = (
    "DEBUG[1-5]?|LOG|INFO|NOTICE|WARNING|ERROR|FATAL|PANIC"
    "|DETAIL|HINT|QUERY|CONTEXT|LOCATION|STATEMENT|BACKTRACE"
)
LEVEL = re.compile(rf"(?:^|[^A-Za-z0-9])(?P<severity>{_LEVELS}):  ?")
WITHIN = re.compile(rf"(?<![A-Za-z0-9])(?:{_LEVELS}):  ")
"""A level within a message: what a line that was cut and the next one, which it swallowed, leave."""
LONGEST = 600
"""Characters of a line in which its prefix must end."""
_TIME = r"(?P<time>\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)? ?(?:[A-Za-z]{1,6}|[+-]\d\d(?::?\d\d)?))"
_PARTS = {
    "a": r"(?P<application>.{0,64}?)", "u": r"(?P<user>\S{0,64})", "d": r"(?P<database>[^\s@/]{0,64}?)",
    "r": r"(?:[\w.:%\-\[\]]{0,100}\(\d+\)|\[local\]|[\w.\-]{0,100})",
    "h": r"(?:\[local\]|[\w.:%\-]{0,100}?)", "b": r".{0,64}?", "p": r"(?P<pid>\d+)", "P": r"\d*",
    "t": _TIME, "m": _TIME, "n": r"(?P<time>\d+\.\d+)", "i": r"(?P<tag>[A-Za-z ]{0,64}?)",
    "e": r"[0-9A-Z]{5}", "c": r"(?P<session>[0-9a-f]+\.[0-9a-f]+)", "l": r"\d+",
    "s": r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S{1,6}?", "v": r"[-\d/]*", "x": r"\d+", "Q": r"-?\d*",
    "L": r"\S{0,64}?",
    "%": "%",
}  # fmt: skip
NO_TIME = "-"
"""Stands in a line out of syslog for a time that is not known, as in RFC 5424."""
COMMON = (
    "%m [%p] %q%u@%d %a ",
    "%m [%p] %q%u@%d ",
    "%m [%p] ",
    "%m [%p] %u@%d %a ",
    "%m [%p] %u@%d/%a ",
    "%m [%p] %q%a %u@%d ",
    "%m [%p] %q[user=%u,db=%d,app=%a,client=%h] ",
    "%m [%p] %q[user=%u,db=%d,app=%a] ",
    "%m [%p] user=%u,db=%d,app=%a,client=%h ",
    "%m [%p] %quser=%u,db=%d,app=%a,client=%h ",
    "%t [%p]: [%l-1] user=%u,db=%d,app=%a,client=%h ",
    "%t [%p]: user=%u,db=%d,app=%a,client=%h ",
    "%m [%p]: [%l-1] user=%u,db=%d,app=%a,client=%h ",
    "%t [%p]: [%l-1] user=%u,db=%d ",
    "%m [%p]: [%l-1] db=%d,user=%u ",
    "%m [%p]: user=%u,db=%d,app=%a,client=%h ",
    "%t:%r:%u@%d:[%p]:",
    "%m:%r:%u@%d:[%p]:%l:%e:%s:%v:%x:%c:%q%a:",
    "%t [%p-%l] %q%u@%d ",
    "%m [%p-%l] %q%u@%d ",
    "%t [%p] %q%u@%d ",
    "%t-%c-user=%u,db=%d,app=%a,client=%h ",
    "%t-%c-",
    "%m %c %u@%d %a ",
    "%m [%p] %c %q%u@%d %a ",
    "%n [%p] %q%u@%d %a ",
    "< %m >",
    "%t ",
    "%m ",
    "",
)
"""Those that servers, packages, clouds and log analysers set or advise."""
Found = tuple[str, str, str, str, str, str, str, int]
"""time, user, database, application, session, tag, severity, where the message starts."""
Matcher = Callable[[str], "Found | None"]


def compiled(setting: str) -> Matcher:
    """A log_line_prefix as a function of a line.

    Raises:
        ValueError: if it has a part that PostgreSQL does not know.
    """
    pattern = re.compile(_regex(setting) + rf"(?P<severity>{_LEVELS}):(?:  | \Z|\Z)")
    names = ("time", "user", "database", "application", "session", "pid", "tag", "severity")
    there = [pattern.groupindex.get(name, 0) for name in names]

    def match(line: str) -> Found | None:
        found = pattern.match(line[:LONGEST])
        if found is None:
            return None
        part = [found[place] or "" if place else "" for place in there]
        time, user, database, application, session, pid, tag, severity = part
        return (
            time, _known(user), _known(database), _known(application), session or pid, tag, severity,
            found.end(),
        )  # fmt: skip

    return match


def _regex(setting: str) -> str:
    written, optional, seen = "", False, set()
    for found in re.finditer(r"%(-?\d*)([a-zA-Z%])|(.)", setting, re.DOTALL):
        padding, letter, other = found.groups()
        if other is not None:
            written += re.escape(other)
        elif letter == "q":
            written, optional = written + "(?:", True
        elif letter not in _PARTS:
            raise ValueError(f"log_line_prefix has %{letter}, which PostgreSQL does not know")
        else:
            part = _PARTS[letter]
            name = re.match(r"\(\?P<(\w+)>", part)
            if name is not None and name[1] in seen:
                part = part.replace(f"?P<{name[1]}>", "?:", 1)
            elif name is not None:
                seen.add(name[1])
            written += rf" *{part} *" if padding else part
    return written + (")?" if optional else "")


def _known(name: str) -> str:
    return "" if name == "[unknown]" else name


def loose(line: str) -> Found | None:
    """A line by the parts that can be told whatever their order; the last resort."""
    head = line[:LONGEST]
    level = LEVEL.search(head)
    if level is None:
        return None
    before = head[: level.start("severity")]
    time = re.search(_TIME, before)
    if time is None and not before.startswith(f"{NO_TIME} "):
        return None
    around = before[: time.start()] + " " + before[time.end() :] if time else before
    session = re.search(r"\b[0-9a-f]{8}\.[0-9a-f]+\b", around) or re.search(
        r"\[(\d+)(?:-\d+)?\]|\bp(?:id)?[=: ](\d+)", around
    )
    user = re.search(r"\b(?:user|usr|u)[=:]([^\s,;|\]]*)", around)
    database = re.search(r"\b(?:database|dbname|db|d)[=:]([^\s,;|\]]*)", around)
    pair = re.search(r"([^\s,;|\[\]:]+|\[unknown\])@([^\s,;|\[\]:]+|\[unknown\])", around)
    application = re.search(
        r"\b(?:application_name|application|app|a)[=:]([^,;|\]]*?)(?=[,;|\]]|\s*$|\s\w+=)", around
    )
    return (
        time[0] if time else "",
        _known(user[1] if user else pair[1] if pair else ""),
        _known(database[1] if database else pair[2] if pair else ""),
        _known(application[1] if application else ""),
        next((each for each in session.groups() if each), session[0]) if session else "",
        "",
        level["severity"],
        level.end(),
    )


MATCHERS: Sequence[Matcher] = tuple(compiled(each) for each in COMMON)
_SAMPLE = 400


def detect(lines: Sequence[str]) -> Matcher | None:
    """The prefix that explains most of some lines, with the earlier of `COMMON` where several do.

    Returns:
        None where no line looks like a message of a server.
    """
    sample = [line for line in lines if LEVEL.search(line[:LONGEST])][:_SAMPLE]
    best, most = None, 0
    for matcher, setting in zip(MATCHERS, COMMON, strict=True):
        count = sum(matcher(line) is not None for line in sample)
        if count > most and (setting or count > len(sample) // 2):
            best, most = matcher, count
    if most < 0.9 * len(sample):
        count = sum(loose(line) is not None for line in sample)
        if count > most:
            return loose
    return best
