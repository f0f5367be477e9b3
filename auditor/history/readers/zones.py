"""In which time zone a session reckons, as its own statements say.

A log does not tell the zone that a session began with: "" stands for what the server gives it. SET LOCAL ends
with its transaction, and a ROLLBACK takes back what was set in it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from auditor.sql.time_zones import session_zone

_SET = re.compile(
    r"\s*SET\s+(?:SESSION\s+|(?P<local>LOCAL)\s+)?(?:TIME\s+ZONE\s+|\"?TimeZone\"?\s*(?:=|TO\b)\s*)(?P<zone>.+?)\s*;?\s*\Z",
    re.IGNORECASE | re.DOTALL,
)
_RESET = re.compile(
    r"\s*(?:RESET\s+(?:TIME\s*ZONE|\"?TimeZone\"?|ALL)|DISCARD\s+ALL)\s*;?\s*\Z", re.IGNORECASE
)
_AHEAD = re.compile(
    r"INTERVAL\s+'([+-]?)(\d{1,2})(?::(\d{2}))?'(?:\s+HOUR(?:\s+TO\s+MINUTE)?)?\Z", re.IGNORECASE
)
_BEGIN = re.compile(r"\s*(?:BEGIN|START\s+TRANSACTION)\b", re.IGNORECASE)
_COMMIT = re.compile(r"\s*(?:COMMIT|END)\b", re.IGNORECASE)
_ROLLBACK = re.compile(r"\s*(?:ROLLBACK|ABORT)\b(?!.*\bTO\b)", re.IGNORECASE | re.DOTALL)
_QUICK = re.compile(r"\s*(?:SET|RESET|DISCARD|BEGIN|START|COMMIT|END|ROLLBACK|ABORT)\b", re.IGNORECASE)
SERVERS = ""
"""The zone that the server gives."""


@dataclass(slots=True)
class SessionZone:
    """The zone of one session."""

    zone: str = SERVERS
    """A name of `auditor.sql.time_zones`."""
    _local: str | None = None
    """Until the transaction ends."""
    _before: str | None = None
    """Of the session, before its transaction; None outside of one."""

    @property
    def now(self) -> str:
        """In which the next statement is reckoned."""
        return self.zone if self._local is None else self._local

    def take(self, sql: str) -> bool:
        """Follow a statement that was answered; False where it sets a zone that is not known."""
        if not _QUICK.match(sql):
            return True
        if found := _SET.match(sql):
            zone = _named(found["zone"])
            if zone is None:
                return False
            if not found["local"]:
                self.zone, self._local = zone, None
            elif self._before is not None:
                self._local = zone
        elif _RESET.match(sql):
            self.zone, self._local = SERVERS, None
        elif _BEGIN.match(sql):
            self._before = self.zone if self._before is None else self._before
        elif _COMMIT.match(sql):
            self._before = self._local = None
        elif _ROLLBACK.match(sql):
            self.zone = self.zone if self._before is None else self._before
            self._before = self._local = None
        return True


def _named(written: str) -> str | None:
    """The zone that a SET names; None where it is not known."""
    if written.upper() in ("DEFAULT", "LOCAL"):
        return SERVERS
    if ahead := _AHEAD.match(written):
        sign, hours, minutes = ahead[1] or "+", int(ahead[2]), int(ahead[3] or 0)
        shown = f"{hours:02}" + (f":{minutes:02}" if minutes else "")
        written = f"<{sign}{shown}>{'-' if sign == '+' else '+'}{shown}"
    elif written[0] in "'\"" and written[-1] == written[0]:
        written = written[1:-1].replace(written[0] * 2, written[0])
    try:
        return session_zone(written).name
    except KeyError:
        return None
