"""From what somebody gives to the source that it is.

Promise: what is no source is one `DatabaseError` that says what would be one, and shows nothing in which a
password may stand. Nothing is connected to, and of files no more than the first bytes are read.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Mapping
from typing import Any

from auditor.data.sources.duckdb_file import DuckDBFile
from auditor.data.sources.files import Files, format_of, is_pattern
from auditor.data.sources.frames import Frame
from auditor.data.sources.ibis_table import IbisTable
from auditor.data.sources.postgres import PostgreSQL
from auditor.data.sources.single import Several, Single
from auditor.data.sources.source import Source
from auditor.errors import DatabaseError

Given = str | os.PathLike[str] | Any
"""What `source_of` takes: a path, a pattern, a folder, a URL, a table, an Ibis expression, a mapping of names
of tables to such, or a source."""

_SERVER = re.compile(r"(?i)postgres(ql)?(\+psycopg)?://")
_URL = re.compile(r"(?i)[a-z][a-z0-9+.-]*://")
_LIBPQ = re.compile(r"(?i)\bpassword\s*=|^\s*(host|hostaddr|dbname|service|user)\s*=|^postgres\w*:")
_WANTED = "give a file, a pattern, a folder, or postgresql://USER@HOST/DATABASE"


def source_of(given: Given) -> Source:
    """The source that something is.

    Raises:
        DatabaseError: it is none, or a file that may not be read.
    """
    if isinstance(given, DuckDBFile | PostgreSQL | Single | Several):
        return given
    if isinstance(given, str | os.PathLike):
        return _named(os.fspath(given))
    if isinstance(given, Mapping):
        return _several(given)
    if IbisTable.takes(given):
        return IbisTable(given)
    if Frame.takes(given):
        return Frame(given)
    raise DatabaseError(
        f"{type(given).__module__}.{type(given).__name__} is no source; {_WANTED}, a pandas, polars or Arrow "
        "table, an Ibis table, or a mapping of names of tables to such"
    )


def _named(path: str) -> Source:
    if _SERVER.match(path):
        return PostgreSQL(path)
    there = os.path.lexists(path) or (is_pattern(path) and bool(glob.glob(path, recursive=True)))
    if not there and _LIBPQ.search(path):
        # nothing of it is shown: a password may stand anywhere in it
        raise DatabaseError(f"the source is neither a file nor a URL that is read here; {_WANTED}")
    if url := _URL.match(path):
        raise DatabaseError(
            f"{url[0]}… is no source that is read here; {_WANTED}; other engines come in by Ibis, in Python"
        )
    if os.path.isdir(path) or (is_pattern(path) and not os.path.lexists(path)):
        return Files(path)
    if os.path.isfile(path) and format_of(path) is not None:
        return Files(path)
    return DuckDBFile(path)


def _several(given: Mapping[Any, Any]) -> Source:
    found: dict[str, Single] = {}
    for table, each in given.items():
        source = source_of(each)
        if not isinstance(source, Single):
            raise DatabaseError(
                f"{source.name} holds tables of its own; give it alone, without a name for each table"
            )
        found[str(table)] = source
    return Several(found)
