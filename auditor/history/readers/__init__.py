"""Readers of query logs: what databases write, as a stream of `Logged`.

Promise: memory does not grow with the log; what cannot be read is counted with its reason and never fatal;
a file that is no log at all is one clear error. A statement whose end the log does not show is taken as
answered.

    detection.py      which format
    source.py         bytes and lines; times.py, splitting.py, prepared.py: what is in them
    unwrapping.py     takes the envelopes off that envelopes.py lists: of clouds, containers, syslog
    postgres.py       stderr.py (with prefix.py), csvlog.py, jsonlog.py give entry.py's; sessions.py, with
                      pgaudit.py, makes statements of them
    tables.py         records.py and json_stream.py give rows; columns.py, snowflake.py, bigquery.py,
                      duckdb_log.py say what is in them
    sql_file.py       scripts
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from auditor.errors import LogError
from auditor.history.readers import (
    bigquery,
    columns,
    duckdb_log,
    postgres,
    snowflake,
    sql_file,
    tables,
    unwrapping,
)
from auditor.history.readers.detection import begun, detect, is_binary, product
from auditor.history.readers.source import BUFFER, lines, opened, peeked
from auditor.history.readers.tally import Tally
from auditor.history.statement import Logged, Reading

__all__ = ["FORMATS", "read"]

FORMATS = ("auto", "sql", "csv", "jsonl", "parquet", "postgres", "pgaudit", "snowflake", "bigquery", "duckdb")
"""Names of formats; "postgres" and "pgaudit" are one, in any of the server's three."""
_SERVERS = ("postgres", "pgaudit")
_PRODUCTS = {each.name: each for each in (snowflake.TABLE, bigquery.TABLE, duckdb_log.TABLE)}


def read(
    paths: Sequence[Path],
    format: str = "auto",
    columns: Mapping[str, str] | None = None,
    reading: Reading | None = None,
) -> Iterator[Logged]:
    """The statements of logs, in their order.

    Args:
        paths: The files, one after the other; `-` is standard input. gzip and Zstandard are unpacked.
        format: One of `FORMATS`.
        columns: Of tables, the column for "time", "user", "sql", "parameters", "application", "database",
            "success" where it has another name; "prefix": a PostgreSQL server's log_line_prefix.
        reading: Is filled with what reading has come to, as statements are drawn.

    Raises:
        LogError: for a file that cannot be opened or is no log, a table without the columns, an unknown
            format.
    """
    if format not in FORMATS:
        raise LogError(f"there is no format {format!r}; one of {', '.join(FORMATS)}")
    reading = Reading() if reading is None else reading
    named = dict(columns or {})
    _check(named)
    reading.bytes_in_all += _size(paths)
    return _read_all([Path(path) for path in paths], format, named, reading)


def _check(named: Mapping[str, str]) -> None:
    columns.named(named)


def _size(paths: Sequence[Path]) -> int:
    """Bytes of all files; 0 where one of them has no size."""
    try:
        return sum(path.stat().st_size for path in paths) if all(path.is_file() for path in paths) else 0
    except OSError:
        return 0


def _read_all(
    paths: Sequence[Path], format: str, named: Mapping[str, str], reading: Reading
) -> Iterator[Logged]:
    for path in paths:
        tally = Tally(reading, str(path))
        with opened(path, reading) as stream:
            yield from _read(path, stream, format, named, reading, tally)
        if not tally.good and tally.bad and tally.doubtful:
            raise _none(path, format)


def _read(
    path: Path,
    stream: io.BufferedReader,
    format: str,
    named: Mapping[str, str],
    reading: Reading,
    tally: Tally,
) -> Iterator[Logged]:
    start = peeked(stream)
    if not start:
        # empty, or packed and damaged from the start
        for _ in lines(stream, tally):
            pass
        if not tally.bad:
            tally.broken(1, "empty file")
        return
    head = start.decode("utf-8", "replace")
    inside = unwrapping.sample(head) if format in ("auto", *_SERVERS) else ""
    form = postgres.layout(inside) if inside else ""
    if form:
        found = format if format != "auto" else "postgres"
    else:
        found = detect(start, path.name, named.get("sql", "sql").lower()) if format == "auto" else format
    if (format == "sql" and is_binary(start)) or (
        format in ("csv", *_PRODUCTS) and is_binary(start.split(b"\n", 1)[0])
    ):
        # anything may be a statement, or the name of a column
        raise _none(path, format)
    reading.formats[str(path)] = found
    tally.doubtful = format != "auto" and not begun(start)
    if format == "sql" and postgres.layout("\n".join(head.lstrip().splitlines()[:5])):
        raise LogError(f"log {path}: is a PostgreSQL server's log, not a script; leave out --format sql")
    if found == "cut":
        tally.broken(1, "the file ends in the middle of its only line")
    elif not found:
        raise LogError(
            f"log {path}: is no log that is known; if it is one, name its format: {', '.join(FORMATS[1:])}"
        )
    elif found in _SERVERS:
        taken_off = unwrapping.opener(head) if form else None
        rows = taken_off(stream, form, tally) if taken_off else lines(stream, tally)
        yield from postgres.read(rows, inside if form else head, named.get("prefix", ""), tally)
    elif found == "sql":
        yield from sql_file.read(lines(stream, tally), tally)
    else:
        yield from _read_table(path, stream, found, head, named, reading, tally)


def _none(path: Path, format: str) -> LogError:
    return LogError(f"log {path}: nothing in it is {format}; is it another format, or another file?")


def _read_table(
    path: Path,
    stream: io.BufferedReader,
    found: str,
    head: str,
    named: Mapping[str, str],
    reading: Reading,
    tally: Tally,
) -> Iterator[Logged]:
    table = columns.named(named, _PRODUCTS.get(found, columns.PLAIN))
    if head.startswith("PAR1"):
        if not path.is_file():
            raise LogError(f"log {path}: Parquet is read from a file only")
        table = columns.named(named, _PRODUCTS.get(_parquet_product(path, found), columns.PLAIN))
        # the start was read to see what it is, and is read again
        reading.bytes_read -= min(path.stat().st_size, BUFFER)
        rows = tables.parquet_rows(path, table, reading, tally)
    elif found == "parquet":
        raise LogError(f"log {path}: is not a Parquet file")
    elif found == "jsonl" or head.lstrip()[:1] in ("{", "["):
        rows = tables.json_rows(stream, head, tally)
    else:
        rows = tables.csv_rows(stream, table, tally)
    yield from tables.read(rows, table, tally)


def _parquet_product(path: Path, found: str) -> str:
    if found != "parquet":
        return found
    return product(tables.parquet_columns(path))
