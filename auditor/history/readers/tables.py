"""Rows of CSV, JSON and Parquet as statements."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from auditor.errors import LogError
from auditor.history.readers import columns
from auditor.history.readers.bigquery import flattened
from auditor.history.readers.columns import Row, Table
from auditor.history.readers.json_stream import objects
from auditor.history.readers.prepared import Kept, Parameters, executed, is_utility, prepare, resolve
from auditor.history.readers.records import Record, cut, records
from auditor.history.readers.source import Lines, lines
from auditor.history.readers.splitting import statements
from auditor.history.readers.tally import Tally
from auditor.history.statement import Logged, Reading

_BATCH = 4096
_NOTHING = frozenset({"NULL", "null", "\\N", "None", "nan", "<NA>"})
"""What exports write where there is no text."""
Rows = Iterator[tuple[int, Row]]
DELIMITERS = ",;\t|"


def header(line: str) -> tuple[list[str], str]:
    """The names of columns that a line may be, in small letters, and what stands between them."""
    found = max(DELIMITERS, key=line.count)
    return [name.strip().lower() for name in cut(line.strip(), found)], found


def csv_rows(stream: io.BufferedReader, table: Table, tally: Tally) -> Rows:
    """Rows of a CSV file with a header."""
    source = lines(stream, tally)
    first = next((each for each in source if each[1].strip()), None)
    if first is None:
        return
    names, delimiter = header(first[1])
    try:
        columns.chosen(table, names)
    except LogError as error:
        raise LogError(f"log {tally.name}: {error}") from None
    tally.doubtful = False
    last = ""
    for number, record in records(source, tally, lambda record: _fits(record, names), delimiter):
        last = record[-1]
        yield number, dict(zip(names, record, strict=False))
    if tally.unended and last and names[-1] in (*table.columns["sql"], *table.columns.get("parameters", ())):
        tally.lost(tally.unended, "last line without an end, which may have been cut")


def _fits(record: Record, names: list[str]) -> bool:
    return len(record) == len(names)


def json_rows(stream: io.BufferedReader, head: str, tally: Tally) -> Rows:
    """Objects, one a line or in one list."""
    found = objects(stream, tally) if _is_list(head) else _object_lines(lines(stream, tally), tally)
    for number, each in found:
        if isinstance(each, Mapping):
            yield number, {name.lower(): cell for name, cell in each.items()}
        else:
            tally.broken(number, "not an object")


def _is_list(head: str) -> bool:
    """Whether it is a list of objects, or objects that go over several lines."""
    start = head.lstrip()
    first = start.split("\n", 1)[0].strip()
    return start.startswith("[") or first == "{"


def _object_lines(source: Lines, tally: Tally) -> Iterator[tuple[int, object]]:
    for number, line in source:
        if not line.strip():
            continue
        try:
            yield number, json.loads(line)
        except (ValueError, RecursionError):
            tally.broken(number, "not JSON", len(line))


def parquet_rows(path: Path, table: Table, reading: Reading, tally: Tally) -> Rows:
    """Rows of a Parquet file, some at a time.

    Raises:
        LogError: if it is none, or lacks a column that is needed.
    """
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            names = {name.lower(): name for name in file.schema_arrow.names}
            columns.chosen(table, list(names))
            share = path.stat().st_size / max(file.metadata.num_rows, 1)
            for batch in file.iter_batches(batch_size=_BATCH):
                for row in batch.to_pylist():
                    number += 1
                    yield number, {name.lower(): cell for name, cell in row.items()}
                reading.bytes_read += int(share * batch.num_rows)
    except LogError as error:
        raise LogError(f"log {tally.name}: {error}") from None
    except (pa.ArrowException, OSError, ValueError) as error:
        if number:
            tally.broken(number + 1, "the Parquet file is damaged")
            return
        raise LogError(f"log {tally.name}: is not a Parquet file, or a damaged one") from error


def parquet_columns(path: Path) -> list[str]:
    """The names of a Parquet file's columns, in small letters; none if it is no such file."""
    try:
        return [name.lower() for name in parquet.read_schema(path).names]
    except (pa.ArrowException, OSError, ValueError):
        return []


def read(rows: Rows, table: Table, tally: Tally) -> Iterator[Logged]:
    """The statements of a table.

    Args:
        rows: Its rows.
        table: What its columns mean.
        tally: Counts.

    Raises:
        LogError: if the first row of JSON lacks a column that is needed.
    """
    place: dict[str, str] = {}
    kept = Kept()
    for number, found in rows:
        row = flattened(found) if table.name == "bigquery" else found
        if not place or any(place.get(role) not in row for role in table.needs):
            try:
                place = columns.chosen(table, list(row))
            except LogError as error:
                if not place:
                    raise LogError(f"log {tally.name}: {error}") from None
                tally.broken(number, "without a column that is needed")
                continue
        tally.entry()
        yield from _statements(number, row, place, table, kept, tally)


def _statements(
    number: int,
    row: Row,
    place: Mapping[str, str],
    table: Table,
    kept: Kept,
    tally: Tally,
) -> Iterator[Logged]:
    def cell(role: str) -> object:
        return row.get(place[role]) if role in place else None

    if reason := table.skip(row):
        tally.pass_over(reason)
        return
    written = columns.text(cell("sql"))
    parts = statements("" if written.strip() in _NOTHING else written, table.dialect or "postgres")
    if not parts:
        tally.broken(number, "without a statement")
        return
    answered = table.answered(row) if table.answered else columns.success(cell("success"), tally)
    if answered is False and len(parts) > 1:
        # one of them failed; which one is not said, and those before it were answered
        outcomes: list[bool | None] = [None] * (len(parts) - 1) + [False]
    else:
        outcomes = [answered] * len(parts)
    parameters = columns.values(cell("parameters"), tally) if "parameters" in place else None
    time = columns.moment(cell("time"), tally)
    session = columns.text(row.get(table.session)) if table.session else ""
    for (_, sql), outcome in zip(parts, outcomes, strict=True):
        meant, values = _meant(sql, parameters, kept, session, table.dialect, outcome)
        if not meant:
            tally.pass_over("prepare")
            continue
        yield tally.statement(
            number, meant, parameters=values, user=columns.text(cell("user")), time=time,
            application=columns.text(cell("application")), database=columns.text(cell("database")),
            answered=outcome, dialect=table.dialect,
        )  # fmt: skip


def _meant(
    sql: str,
    parameters: Parameters | None,
    kept: Kept,
    session: str,
    dialect: str,
    answered: bool | None,
) -> tuple[str, Parameters | None]:
    """What runs; "" for a PREPARE, where the log says which connection a statement was of."""
    if not session:
        return sql, parameters
    if is_utility(sql, "PREPARE") and (found := prepare(sql)):
        if answered is not False:
            kept.put(session, found)
        return "", None
    if is_utility(sql, "EXECUTE") and (call := executed(sql)) and (known := kept.get(session, call[0])):
        return resolve(known, call[1], dialect)
    return sql, parameters
