"""What clients set and ask back: SET, SHOW, RESET, set_config and the parameters of the startup message.

A table says each setting's default and what it may be; a value that would change the bytes of an answer, and
that is not spoken, is an error. A SET in a transaction goes with its ROLLBACK, SET LOCAL with its end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from auditor.proxy.protocol.sqlstate import ProtocolError, SqlState
from auditor.proxy.values import quantities
from auditor.sql.time_zones import session_zone

MAX_CUSTOM = 50
"""Settings with a dot in their name, which are clients' own, at once."""
MAX_VALUE = 1_000
_NAME = re.compile(r"[A-Za-z_][\w$]{0,62}(?:\.[A-Za-z_][\w$]{0,62})+", re.ASCII)
_BOOLEANS = {
    **dict.fromkeys(("on", "true", "yes", "1", "t", "y"), "on"),
    **dict.fromkeys(("off", "false", "no", "0", "f", "n"), "off"),
}


@dataclass(frozen=True)
class Setting:
    """One setting."""

    name: str
    """As PostgreSQL spells it."""
    default: str
    accept: Callable[[str], str] | None
    """From a value as given to the value as it is kept; raises ValueError, with a hint. None: fixed."""
    reported: bool = False
    """Whether clients are told of each change."""


def _anything(value: str) -> str:
    return value


def _shown(value: str) -> str:
    return "".join(letter if " " <= letter <= "~" else "?" for letter in value)[:63]


def _boolean(value: str) -> str:
    found = _BOOLEANS.get(value.lower())
    if found is None:
        raise ValueError("It is on or off.")
    return found


def _number(value: str) -> str:
    try:
        return str(int(value))
    except ValueError:
        raise ValueError("It is a whole number.") from None


def _quantity(name: str, default: str) -> Setting:
    return Setting(name, default, lambda value: quantities.read(value, quantities.UNITS[name]))


def _one_of(*allowed: str) -> Callable[[str], str]:
    def accept(value: str) -> str:
        folded = " ".join(value.lower().split())
        if folded not in allowed:
            raise ValueError(f"It may be {', '.join(allowed)}.")
        return folded

    return accept


def _encoding(value: str) -> str:
    if value.strip("'\"").replace("-", "").replace("_", "").upper() not in ("UTF8", "UNICODE"):
        raise ValueError("Texts are sent in UTF8 alone.")
    return "UTF8"


def _datestyle(value: str) -> str:
    words = {word.strip().upper() for word in value.split(",")}
    if not words <= {"ISO", "MDY", "DMY", "YMD", "US", "EUROPEAN"}:
        raise ValueError("Dates are sent in the ISO style alone.")
    return "ISO, MDY"


def _zone(value: str) -> str:
    try:
        return session_zone(value).name
    except KeyError:
        raise ValueError("Give a name such as Europe/Berlin.") from None


def _path(value: str) -> str:
    names = {name.strip().strip('"').lower() for name in value.split(",")}
    if not names <= {"", "$user", "public", "main", "pg_catalog", "information_schema"}:
        raise ValueError("Only public can be searched; write other schemas before the table's name.")
    return value


_ISOLATION = _one_of("read committed", "read uncommitted", "repeatable read", "serializable", "default")


def _table(*rows: Setting) -> Mapping[str, Setting]:
    return {row.name.lower(): row for row in rows}


SETTINGS = _table(
    Setting("application_name", "", _shown, reported=True),
    Setting("client_encoding", "UTF8", _encoding, reported=True),
    Setting("DateStyle", "ISO, MDY", _datestyle, reported=True),
    Setting("default_transaction_read_only", "off", _boolean, reported=True),
    Setting("in_hot_standby", "off", None, reported=True),
    Setting("integer_datetimes", "on", None, reported=True),
    Setting("IntervalStyle", "postgres", _one_of("postgres"), reported=True),
    Setting("is_superuser", "off", None, reported=True),
    Setting("server_encoding", "UTF8", None, reported=True),
    Setting("server_version", "15.0", None, reported=True),
    Setting("server_version_num", "150000", None),
    Setting("session_authorization", "", None, reported=True),
    Setting("standard_conforming_strings", "on", _one_of("on", "true", "1", "yes"), reported=True),
    Setting("TimeZone", "UTC", _zone, reported=True),
    Setting("bytea_output", "hex", _one_of("hex")),
    Setting("cae_sql.hint", "auto", _one_of("auto", "message", "field")),
    Setting("client_min_messages", "notice", _anything),
    Setting("default_transaction_isolation", "read committed", _ISOLATION),
    Setting("escape_string_warning", "on", _boolean),
    Setting("extra_float_digits", "1", _number),
    _quantity("idle_in_transaction_session_timeout", "0"),
    _quantity("idle_session_timeout", "0"),
    Setting("jit", "on", _boolean),
    Setting("lc_messages", "C", _anything),
    _quantity("lock_timeout", "0"),
    Setting("max_identifier_length", "63", None),
    Setting("row_security", "on", _boolean),
    Setting("search_path", '"$user", public', _path),
    _quantity("statement_timeout", "0"),
    Setting("synchronize_seqscans", "on", _boolean),
    Setting("transaction_isolation", "read committed", _ISOLATION),
    Setting("transaction_read_only", "off", _boolean),
    _quantity("work_mem", "4096"),
)
"""The settings that a session has, by their names in lower case."""


def _as_shown(name: str, value: str) -> str:
    return quantities.shown(value, quantities.UNITS.get(name.lower(), ""))


def shown(name: str) -> str:
    """A setting's name as PostgreSQL spells it."""
    setting = SETTINGS.get(name.lower())
    return name if setting is None else setting.name


Kept = tuple[Mapping[str, str], Mapping[str, str]]
"""What is set for the session, and for the transaction."""


class Settings:
    """The settings of one session."""

    def __init__(self, fixed: Mapping[str, str]) -> None:
        """Begin with the defaults.

        Args:
            fixed: Values that this server or this user decides, by names in lower case.
        """
        self._defaults = {name: fixed.get(name, each.default) for name, each in SETTINGS.items()}
        self._session: Mapping[str, str] = {}
        self._local: Mapping[str, str] = {}

    def __getitem__(self, name: str) -> str:
        """The value of a setting.

        Raises:
            ProtocolError: 42704, where there is none.
        """
        key = name.lower()
        for values in (self._local, self._session, self._defaults):
            if key in values:
                return values[key]
        raise _unknown(name)

    def shown(self, name: str) -> str:
        """A value as SHOW has it, times and sizes with their unit.

        Raises:
            ProtocolError: 42704, where there is no such setting.
        """
        return _as_shown(name, self[name])

    def all(self) -> dict[str, str]:
        """Every setting, by the names that are shown."""
        values = {**self._defaults, **self._session, **self._local}
        return {SETTINGS[key].name if key in SETTINGS else key: value for key, value in values.items()}

    def reported(self) -> dict[str, str]:
        """Those of whose changes clients are told."""
        return {each.name: self[name] for name, each in SETTINGS.items() if each.reported}

    def change(self, name: str, value: str | None, local: bool = False) -> None:
        """Set a value, or None for the default.

        Raises:
            ProtocolError: 42704, 22023 or 55P02, as PostgreSQL.
        """
        key = name.lower()
        values = dict(self._local if local else self._session)
        if value is None:
            if key not in SETTINGS and key not in self._session and key not in self._local:
                raise _unknown(name)
            values.pop(key, None)
            if local and key in self._defaults:
                values[key] = self._defaults[key]
        else:
            values[key] = self._checked(key, name, value)
        if local:
            self._local = values
        else:
            self._session = values
            self._local = {other: each for other, each in self._local.items() if other != key}

    def _checked(self, key: str, name: str, value: str) -> str:
        setting = SETTINGS.get(key)
        if setting is None:
            custom = sum("." in each for each in (*self._session, *self._local))
            if not _NAME.fullmatch(name) or custom >= MAX_CUSTOM or len(value) > MAX_VALUE:
                raise _unknown(name)
            return value
        if setting.accept is None:
            raise ProtocolError("55P02", f'parameter "{setting.name}" cannot be changed')
        try:
            if len(value) > MAX_VALUE:
                raise ValueError(f"It may have {MAX_VALUE} characters.")
            return setting.accept(value)
        except ValueError as error:
            raise ProtocolError(
                SqlState.INVALID_PARAMETER_VALUE,
                f'invalid value for parameter "{setting.name}": "{value[:40]}"',
                hint=str(error),
            ) from None

    def reset_all(self) -> None:
        """Everything back to the defaults."""
        self._session, self._local = {}, {}

    # --- transactions

    @property
    def kept(self) -> Kept:
        """Everything as it is now, for `restore`."""
        return self._session, self._local

    def restore(self, kept: Kept) -> None:
        """Everything as it was then."""
        self._session, self._local = kept

    def end_transaction(self) -> None:
        """What was set for the transaction is over."""
        self._local = {}


def _unknown(name: str) -> ProtocolError:
    return ProtocolError(SqlState.UNDEFINED_OBJECT, f'unrecognized configuration parameter "{name[:63]}"')
