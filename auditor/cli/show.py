"""Rows and decisions as a table, as CSV or as one JSON object.

Promise: JSON carries numbers exactly (decimals and big integers as JSON numbers, with all their digits),
dates as ISO 8601, NULL and NaN as null. In tables, text from data or statements is never taken as markup. In
tables, CSV and messages it passes `auditor.plain`, so that no value can steer a terminal or be a formula.
"""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING

from auditor.decision import IN_ROWS
from auditor.plain import cell, line, plain
from auditor.told import Range, rounded

if TYPE_CHECKING:
    from pandas import DataFrame
    from rich.console import Console
    from rich.status import Status

    from auditor.decision import Decision
    from cae_sql.warming import Progress

__all__ = [
    "Format",
    "Stream",
    "csv_cell",
    "decision",
    "ends",
    "for_people",
    "frame_rows",
    "json_text",
    "line",
    "note",
    "plain",
    "reason",
    "rows",
    "short",
]

Rows = Sequence[Sequence[object]]
SOURCE = (
    "Where the protected table is: a DuckDB file; a Parquet, CSV or Arrow file, a pattern or a folder of "
    "them; or postgresql://USER@HOST/DATABASE."
)
"""Help of every command's DATABASE."""
MOST_CLASSES = 20
"""Classes on the terminal; `--top` says otherwise, CSV and JSON have all."""
_NOISE = 1e-9
"""Less is rounding."""


class Format(StrEnum):
    """What `--format` takes."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


def rows(
    columns: Sequence[str],
    content: Rows,
    form: Format,
    about: Mapping[str, object],
    title: str = "",
    ranges: Sequence[Range] = (),
) -> None:
    """Show rows on stdout; `about` has the other members of the JSON object, `ranges` what is no value."""
    if form is Format.JSON:
        verdict = {
            "verdict": about.get("verdict", "answered"),
            "columns": list(columns),
            "rows": list(content),
        }
        print(json_text({**verdict, **about}))
    elif form is Format.CSV:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow([cell(str(name)) for name in columns])
        writer.writerows([_guarded(value) for value in row] for row in content)
    else:
        _table(columns, content, title, ranges)


class Stream:
    """Rows of a command that takes long, shown as they come; JSON is one object, at the end."""

    def __init__(self, columns: Sequence[str], form: Format, widths: Sequence[int]) -> None:
        """Show the names of the columns.

        Args:
            columns: Their names; the last one is the words beside each row.
            form: How to print.
            widths: Of the columns of a table, in characters; what is longer is not cut.
        """
        self._columns, self._form, self._widths = columns, form, widths
        self._rows: list[Sequence[object]] = []
        if form is Format.CSV:
            rows(columns, [], form, {})
        elif form is Format.TABLE:
            self._line(columns)

    def row(self, row: Sequence[object]) -> None:
        """Show one more."""
        self._rows.append(row)
        if self._form is Format.CSV:
            csv.writer(sys.stdout, lineterminator="\n").writerow([_guarded(value) for value in row])
            sys.stdout.flush()
        elif self._form is Format.TABLE:
            self._line([plain(csv_cell(value)) for value in row])

    def _line(self, texts: Sequence[str]) -> None:
        first, *between = zip(texts[:-1], self._widths[:-1], strict=True)
        padded = [first[0].ljust(first[1]), *(text.rjust(width) for text, width in between), texts[-1]]
        print("  ".join(padded).rstrip(), flush=True)

    def end(self, about: Mapping[str, object]) -> None:
        """There are no more; `about` as for `rows`."""
        if self._form is Format.JSON:
            rows(self._columns, self._rows, self._form, about)


def ends(ranges: Sequence[Range]) -> list[dict[str, object]]:
    """What is told as ends, for JSON; rounded so that it stays true."""
    return [
        {
            "aggregate": each.aggregate,
            "group": dict(each.group),
            "at_least": None if each.least is None else Decimal(rounded(each.least, up=False)),
            "at_most": None if each.most is None else Decimal(rounded(each.most, up=True)),
            "row": each.row,
            "column": each.column,
        }
        for each in ranges
    ]


def decision(said: Decision, form: Format) -> None:
    """Show a verdict without rows: on stdout as JSON, for people on stderr unless it is a yes."""
    if form is Format.JSON:
        print(json_text({"verdict": said.verdict, "columns": [], "rows": [], **reason(said)}))
        return
    stream = sys.stdout if said.verdict == "answered" else sys.stderr
    print(f"{said.verdict} ({said.code}): {line(said.message)}", file=stream)
    if said.hint:
        print(f"hint: {line(said.hint)}", file=stream)


def note(said: Decision, form: Format) -> None:
    """Say on stderr what the rows do not: that some are not all they could be. A table shows ends itself."""
    message = said.message.replace(IN_ROWS, "shown with the table") if form is Format.TABLE else said.message
    print(f"{said.code}: {plain(message)}", file=sys.stderr)
    if said.hint:
        print(f"hint: {plain(said.hint)}", file=sys.stderr)


def reason(said: Decision) -> dict[str, object]:
    """A decision's words, as members of the JSON object. No risk: that is for administrators."""
    return {"code": said.code, "message": said.message, "hint": said.hint}


def frame_rows(frame: DataFrame) -> list[list[object]]:
    """A data frame's rows as plain values, missing ones as None."""
    content = frame.astype(object).where(frame.notna(), None)
    return [list(row) for row in content.itertuples(index=False, name=None)]


def short(row: Sequence[object]) -> list[object]:
    """Figures for the eye: three decimals, and never 0 for what is not; times to the second."""
    return [_figure(value) if isinstance(value, float | datetime) else value for value in row]


def _figure(value: float | datetime) -> float | datetime:
    if isinstance(value, datetime):
        return value.replace(microsecond=0)
    return float(f"{value:.1g}") if _NOISE < abs(value) < 0.0005 else round(value, 3) + 0.0


def for_people(columns: Sequence[str], content: Rows) -> tuple[list[str], list[list[object]]]:
    """Administrators' figures on a terminal: short, and without the columns that have nothing in them."""
    places = [n for n in range(len(columns)) if any(row[n] is not None for row in content)]
    return [columns[n] for n in places], [short([row[n] for n in places]) for row in content]


def json_text(value: object) -> str:
    """A value as JSON; see the module's promise."""
    value = _scalar(value)
    if isinstance(value, Mapping):
        members = (f"{json.dumps(str(key))}: {json_text(item)}" for key, item in value.items())
        return "{" + ", ".join(members) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(json_text, value)) + "]"
    if isinstance(value, float):
        return json.dumps(value) if math.isfinite(value) else "null" if math.isnan(value) else f'"{value}"'
    if isinstance(value, Decimal):
        return f"{value:f}" if value.is_finite() else "null"
    if value is None or isinstance(value, bool | int):
        return json.dumps(value)
    text = value if isinstance(value, str) else _text(value)
    return json.dumps(text, ensure_ascii=not text.isprintable())  # the same to whoever reads JSON


def csv_cell(value: object) -> str:
    """A value as a CSV field: NULL is empty, lists and structures are JSON."""
    value = _scalar(value)
    if value is None:
        return ""
    return json_text(value) if isinstance(value, Mapping | list | tuple) else _text(value)


_STATUS: list[Status] = []
"""What is being said of what takes long."""


@contextmanager
def status(doing: str) -> Iterator[None]:
    """Say what takes long, on a terminal only."""
    if not sys.stderr.isatty():
        yield
        return
    with error_console().status(f"{doing} …") as shown:
        _STATUS.append(shown)
        try:
            yield
        finally:
            _STATUS.pop()


@contextmanager
def bar(doing: str) -> Iterator[Progress | None]:
    """A bar for what takes long, on a terminal only; elsewhere None."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import Progress as Bar

    with Bar(console=error_console(), transient=True) as shown:
        task = shown.add_task(doing, total=None)
        yield lambda done, of: shown.update(task, completed=done, total=of)


def compiling(done: int, wanted: int) -> None:
    """Say how far the compiler is, on a terminal only."""
    text = f"compiling, once for this installation: {done} of {wanted}"
    if _STATUS:
        _STATUS[-1].update(f"{text} …" if done < wanted else "deciding …")
    elif sys.stderr.isatty():
        print(f"\r{text}", end="" if done < wanted else "\n", file=sys.stderr, flush=True)


def error_console() -> Console:
    """Where progress and warnings go."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def output_console() -> Console:
    """Where tables go: as wide as the terminal, or as the content where there is none."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else 10_000)


def _table(columns: Sequence[str], content: Rows, title: str, ranges: Sequence[Range] = ()) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, title=title or None, title_justify="left", pad_edge=False)
    values = [[_scalar(value) for value in row] for row in content]
    for place, name in enumerate(columns):
        numeric = any(_is_number(row[place]) for row in values)
        table.add_column(Text(plain(str(name))), justify="right" if numeric else "left", overflow="fold")
    inside = {(each.row, each.column): each.sign for each in ranges if each.row is not None}
    for number, row in enumerate(values):
        cells = []
        for name, v in zip(columns, row, strict=True):
            sign = inside.get((number, name)) if v is None else None
            cells.append(Text(sign or "NULL", style="dim") if v is None else Text(plain(csv_cell(v))))
        table.add_row(*cells)
    console = output_console()
    console.print(table)
    for each in ranges:
        if each.row is None:
            console.print(Text(plain(f"{each.name}: {each.words}")))
    console.print(f"{len(values)} row{'' if len(values) == 1 else 's'}")


def _guarded(value: object) -> str:
    """A CSV field; what is no text, such as a negative number, needs no guard."""
    text = csv_cell(value)
    return text if _is_number(_scalar(value)) or isinstance(value, timedelta) else cell(text)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _scalar(value: object) -> object:
    """NumPy's scalars as Python's, NaN as it is."""
    item = getattr(value, "item", None)
    return item() if callable(item) and getattr(value, "ndim", None) == 0 else value


def _text(value: object) -> str:
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if isinstance(value, Fraction | timedelta):
        return str(value)
    return str(value)
