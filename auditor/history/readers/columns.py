"""Logs that are tables: which column says what, in plain tables and in the exports of products.

Promises that a column that is named and not there is an error, and that what a cell cannot mean is counted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

from auditor.errors import LogError
from auditor.history.readers.prepared import Parameters, detail_parameters
from auditor.history.readers.tally import Tally
from auditor.history.readers.times import parse_time

ROLES = ("time", "user", "sql", "parameters", "application", "database", "success")
Row = Mapping[str, object]
"""Cells by their columns' names, in small letters."""
_YES = {"true", "t", "yes", "y", "1", "success", "succeeded", "ok", "done", "completed", "answered"}
_NO = {"false", "f", "no", "n", "0", "fail", "failed", "failure", "error", "aborted", "cancelled", "canceled",
       "refused"}  # fmt: skip


def _no_reason(_: Row) -> str:
    return ""


@dataclass(frozen=True)
class Table:
    """How a table's rows become statements."""

    name: str
    """The format."""
    columns: Mapping[str, Sequence[str]]
    """Of each role, the columns that may have it; the first that is there does."""
    dialect: str = ""
    skip: Callable[[Row], str] = _no_reason
    """Why a row is no statement; "" if it is one."""
    answered: Callable[[Row], bool | None] | None = None
    """Whether a row's statement was answered; by default as the column "success" says."""
    session: str = ""
    """The column by which PREPARE and EXECUTE belong together."""
    needs: Sequence[str] = ("sql",)
    """Roles without which it is not this table."""


PLAIN = Table("table", {role: (role,) for role in ROLES})


def named(columns: Mapping[str, str], table: Table = PLAIN) -> Table:
    """A table with columns of other names.

    Raises:
        LogError: for a role that there is none of.
    """
    unknown = [role for role in columns if role not in (*ROLES, "prefix")]
    if unknown:
        raise LogError(
            f"columns: there is no {unknown[0]!r}; one of {', '.join(ROLES)} can be given a column"
        )
    roles = {role: name for role, name in columns.items() if role != "prefix"}
    found = {**table.columns, **{role: (name.lower(),) for role, name in roles.items()}}
    return replace(table, columns=found, needs=tuple(dict.fromkeys([*table.needs, *roles])))


def chosen(table: Table, there: Sequence[str]) -> dict[str, str]:
    """The column of each role, of those that are there.

    Raises:
        LogError: if one that is needed is not.
    """
    found = {}
    for role, names in table.columns.items():
        column = next((name for name in names if name in there), None)
        if column is not None:
            found[role] = column
        elif role in table.needs:
            shown = ", ".join(map(_printable, there[:30])) or "none"
            raise LogError(
                f"there is no column {names[0]!r} for {role}; the columns are {shown}; "
                f"say --columns {role}=NAME"
            )
    return found


def _printable(name: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in name[:40])


def text(cell: object) -> str:
    """A cell as text; "" for none."""
    if cell is None:
        return ""
    return cell if isinstance(cell, str) else str(cell)


def moment(cell: object, tally: Tally) -> datetime | None:
    """A cell as a time; in UTC where no zone is written."""
    if isinstance(cell, datetime):
        return cell if cell.tzinfo else cell.replace(tzinfo=UTC)
    if isinstance(cell, date):
        return datetime(cell.year, cell.month, cell.day, tzinfo=UTC)
    written = text(cell)
    if not written.strip():
        return None
    found, unknown = parse_time(written)
    if found is None:
        tally.odd("time that is none, left out")
    elif unknown:
        tally.odd("time zone that is not known, taken as UTC")
    return found


def success(cell: object, tally: Tally) -> bool | None:
    """A cell as whether a statement was answered."""
    if isinstance(cell, bool):
        return cell
    word = text(cell).strip().lower()
    if word in _YES or word in _NO:
        return word in _YES
    if word:
        tally.odd("success that is neither yes nor no, taken as answered")
    return None


def values(cell: object, tally: Tally) -> Parameters | None:
    """A cell as parameters: a JSON list, or as PostgreSQL writes them."""
    found = cell
    if isinstance(cell, str):
        written = cell.strip()
        if not written:
            return None
        if written.startswith("$"):
            found = detail_parameters("parameters: " + written)
            if found is None:
                _unread(tally)
            return found
        try:
            found = json.loads(written)
        except (ValueError, RecursionError):
            _unread(tally)
            return None
    if found is None:
        return None
    if not isinstance(found, list | tuple):
        _unread(tally)
        return None
    try:
        return tuple(None if each is None else _value(each) for each in found)
    except RecursionError:
        _unread(tally)
        return None


def _value(each: object) -> str:
    if isinstance(each, str):
        return each
    if isinstance(each, bool):
        return "true" if each else "false"
    return json.dumps(each, default=str) if isinstance(each, list | dict) else str(each)


def _unread(tally: Tally) -> None:
    tally.odd("parameters that could not be read, left out")
