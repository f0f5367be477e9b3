"""Parquet, CSV and Arrow files: one, those that match a pattern, or a folder with its Hive partitions.

Promise: all files of a table have the same columns, of the same types and in one order, or are not read; what
changed while it was read is not used. `key=value` in the names of folders below the one that is given, or
below the part of a pattern before its first `*`, `?` or `[`, is a column. Folders of table formats that say
elsewhere which of their files count (Delta, Iceberg, Hudi) are turned away.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa

from auditor.data.sources import staging
from auditor.data.sources.duckdb_file import MAGIC as DUCKDB
from auditor.data.sources.single import Single
from auditor.data.sources.wanted import Needed
from auditor.errors import DatabaseError
from auditor.sql.schema import folded, quoted

ENDINGS: Mapping[str, str] = {
    ".parquet": "Parquet", ".parq": "Parquet", ".pq": "Parquet",
    ".csv": "CSV", ".tsv": "CSV", ".csv.gz": "CSV", ".tsv.gz": "CSV", ".csv.zst": "CSV", ".tsv.zst": "CSV",
    ".arrow": "Arrow", ".arrows": "Arrow", ".feather": "Arrow", ".ipc": "Arrow",
}  # fmt: skip
"""Formats by how a file's name ends."""
MAGIC: Mapping[bytes, str] = {b"PAR1": "Parquet", b"PARE": "Parquet", b"ARRO": "Arrow"}
"""And by its first four bytes, whatever its name."""

_PATTERN = re.compile(r"[*?\[]")
_PARTITION = re.compile(r"([^=]+)=(.*)")
_ELSEWHERE = ("_delta_log", ".hoodie")
_GUESSES = ("BIGINT", "DATE", "TIMESTAMP")
"""Types that Hive's texts are tried as, as DuckDB does."""
_FOLDERS = "_folders"
_NOTHING = "__HIVE_DEFAULT_PARTITION__"


Partitions = Sequence[tuple[str, Sequence[str | None]]]
"""Columns that stand in the names of folders: each with its text by file."""


def is_pattern(path: str) -> bool:
    """Whether a path stands for those that it matches."""
    return _PATTERN.search(path) is not None


def format_of(path: str) -> str | None:
    """Parquet, CSV or Arrow; None: none of them.

    Raises:
        DatabaseError: it may not be read.
    """
    try:
        with open(path, "rb") as file:
            begins = file.read(12)
    except OSError as error:
        raise DatabaseError(f"{path}: cannot be read: {error.strerror or error}") from None
    if begins[8:] == DUCKDB:
        return None
    return MAGIC.get(begins[:4]) or _by_name(path)


def _by_name(path: str) -> str | None:
    lower = os.path.basename(path).lower()
    return next((kind for ending, kind in ENDINGS.items() if lower.endswith(ending)), None)


class Files(Single):
    """See `Source`."""

    def __init__(self, path: str) -> None:
        self.name = path
        whole = Path(path)
        self._pattern = not whole.exists()
        self._base = Path(_before_pattern(path)) if self._pattern else whole
        self.database = (self._base.resolve() if self._pattern else whole).name.partition(".")[0] or "data"
        self.beside = None if self._pattern else whole
        self.elsewhere = os.path.abspath(path)

    def put(self, connection: duckdb.DuckDBPyConnection, catalog: str, needed: Needed) -> None:
        """The rows of all files."""
        paths = self._paths()
        before = _stamps(paths)
        kinds = sorted({format_of(path) or "" for path in paths})
        if "" in kinds:
            raise DatabaseError(
                f"{self.name} has a file that is no Parquet, CSV or Arrow; name those that are"
            )
        if len(kinds) > 1:
            raise DatabaseError(
                f"{self.name} has files of several formats: {', '.join(kinds)}; name some of one"
            )
        keys = self._partitions(paths)
        read = _of_arrow if kinds[0] == "Arrow" else partial(_of_duckdb, kinds[0])
        try:
            read(connection, catalog, needed, paths, keys)
        except duckdb.OutOfMemoryException:
            raise DatabaseError(f"{self.name} could not be read: it does not fit into memory") from None
        except (duckdb.Error, pa.ArrowException, OSError, NotImplementedError):
            # DuckDB's and Arrow's own words quote what they could not read
            raise DatabaseError(f"{self.name} could not be read: it is broken, or no {kinds[0]}") from None
        if self._paths() != paths or _stamps(paths) != before:
            raise DatabaseError(f"{self.name} was changed while it was read; open it again when that is over")

    def _paths(self) -> list[str]:
        """The files, in the order of their names."""
        if self._pattern:
            found = [path for path in glob.glob(self.name, recursive=True) if os.path.isfile(path)]
        elif self._base.is_dir():
            found = list(self._below(self._base))
        else:
            found = [self.name]
        for path in found:
            if is_pattern(path):
                raise DatabaseError(f"{path} has *, ? or [ in its name, which stand for others; rename it")
        if not found:
            what = "matches no file" if self._pattern else "has no Parquet, CSV or Arrow file in it"
            raise DatabaseError(f"{self.name} {what}")
        return sorted(found)

    def _below(self, folder: Path) -> Iterator[str]:
        for here, folders, names in os.walk(folder, onerror=self._unreadable):
            if any(name in _ELSEWHERE for name in folders) or _is_iceberg(here, folders):
                raise DatabaseError(
                    f"{here} is a Delta, Iceberg or Hudi table, whose files alone do not say which rows "
                    "count; give an Ibis table of the engine that keeps it"
                )
            # what Spark, Hive and others keep beside the data begins so
            folders[:] = sorted(name for name in folders if name[0] not in "_.")
            for name in names:
                if name[0] not in "_.":
                    path = os.path.join(here, name)
                    if format_of(path) is None:
                        raise DatabaseError(
                            f"{path} is no Parquet, CSV or Arrow file; name a pattern without it"
                        )
                    yield path

    def _unreadable(self, error: OSError) -> None:
        raise DatabaseError(f"{error.filename}: cannot be read: {error.strerror or error}")

    def _partitions(self, paths: Sequence[str]) -> list[tuple[str, list[str | None]]]:
        """Columns that stand in the names of folders: each with its text by file."""
        if not self._pattern and not self._base.is_dir():
            return []
        found = [list(_pairs(os.path.relpath(os.path.dirname(path), self._base))) for path in paths]
        keys = [name for name, _ in found[0]]
        if any([name for name, _ in each] != keys for each in found):
            raise DatabaseError(f"{self.name} has files in folders of different partitions")
        if len(set(map(folded, keys))) < len(keys):
            raise DatabaseError(f"{self.name} has two partitions of one name")
        # in the order of their names, as DuckDB has them
        by_name = sorted(range(len(keys)), key=keys.__getitem__)
        return [(keys[place], [each[place][1] for each in found]) for place in by_name]


def _before_pattern(path: str) -> str:
    parts = Path(path).parts
    plain = next((place for place, part in enumerate(parts) if is_pattern(part)), len(parts) - 1)
    return str(Path(*parts[:plain])) if plain else "."


def _is_iceberg(here: str, folders: Sequence[str]) -> bool:
    return "metadata" in folders and any(
        name.endswith(".metadata.json") for name in os.listdir(os.path.join(here, "metadata"))
    )


def _pairs(folders: str) -> Iterator[tuple[str, str | None]]:
    from urllib.parse import unquote

    for part in Path(folders).parts:
        if pair := _PARTITION.fullmatch(part):
            value = unquote(pair[2])
            yield unquote(pair[1]), None if value == _NOTHING else value


def _stamps(paths: Sequence[str]) -> list[tuple[int, ...]]:
    """What differs once a file is written to or replaced."""
    try:
        found = [os.stat(path) for path in paths]
    except OSError as error:
        raise DatabaseError(f"{error.filename}: cannot be read: {error.strerror or error}") from None
    return [(each.st_dev, each.st_ino, each.st_size, each.st_mtime_ns) for each in found]


def _alike(paths: Sequence[str], columns: Callable[[str], list[tuple[str, str]]]) -> list[tuple[str, str]]:
    """Names and types of the columns of all files.

    Raises:
        DatabaseError: two differ in them.
    """
    first = columns(paths[0])
    for path in paths[1:]:
        if columns(path) != first:
            raise DatabaseError(f"{path} has other columns, or columns of other types, than {paths[0]}")
    return first


def _not_twice(columns: Sequence[str], keys: Sequence[str]) -> None:
    for key in keys:
        if folded(key) in map(folded, columns):
            raise DatabaseError(f"column {key} stands in the files and in the names of their folders")


def _of_duckdb(
    kind: str,
    connection: duckdb.DuckDBPyConnection,
    catalog: str,
    needed: Needed,
    paths: Sequence[str],
    partitions: Partitions,
) -> None:
    """Parquet and CSV, by DuckDB's readers."""

    def reading(of: Sequence[str], more: str = "") -> str:
        listed = ", ".join(map(_text, of))
        if kind == "Parquet":
            return f"read_parquet([{listed}], hive_partitioning = false{more})"
        # the types are those that fit all rows, not those of the first
        return f"read_csv([{listed}], hive_partitioning = false, sample_size = -1, files_to_sniff = -1{more})"

    def columns(path: str) -> list[tuple[str, str]]:
        # of a CSV file the types are found out for all files together
        only = ", all_varchar = true" if kind == "CSV" and len(paths) > 1 else ""
        rows = connection.execute(f"DESCRIBE SELECT * FROM {reading([path], only)}").fetchall()
        return [(str(row[0]), str(row[1])) for row in rows]

    names = [name for name, _ in _alike(paths, columns)]
    keys = [key for key, _ in partitions]
    _not_twice(names, keys)
    chosen = needed.chosen([*names, *keys])
    if not partitions:
        staging.put(connection, catalog, needed, f"SELECT {_listed(chosen)} FROM {reading(paths)}")
        return
    name = _unused("_file", names)
    with _told(connection, pa.array(paths), partitions):
        listed = ", ".join(_selected(connection, chosen, keys))
        source = reading(paths, f", filename = {_text(name)}")
        query = f"SELECT {listed} FROM {source} AS f LEFT JOIN {_FOLDERS} AS p ON f.{quoted(name)} = p.file"
        staging.put(connection, catalog, needed, query)


@contextmanager
def _told(connection: duckdb.DuckDBPyConnection, files: pa.Array, partitions: Partitions) -> Iterator[None]:
    """A relation of what the names of folders say, by file."""
    texts = {f"p{i}": pa.array(list(told), pa.string()) for i, (_, told) in enumerate(partitions)}
    connection.register(_FOLDERS, pa.table({"file": files, **texts}))
    try:
        yield
    finally:
        connection.unregister(_FOLDERS)


def _selected(connection: duckdb.DuckDBPyConnection, chosen: Sequence[str], keys: Sequence[str]) -> list[str]:
    """What is selected of rows f and of what their folders say, p."""
    found = [f"f.{quoted(name)}" for name in chosen if name not in keys]
    for i, key in enumerate(keys):
        if key in chosen:
            # a row whose file is not known must not pass for one without a value
            told = f"IF(p.file IS NULL, error('unknown file'), {_guessed(connection, f'p{i}')})"
            found.append(f"{told} AS {quoted(key)}")
    return found


def _guessed(connection: duckdb.DuckDBPyConnection, column: str) -> str:
    """A column of texts as the first type that writes all of them as they are: 01 and 1.5 are no BIGINT."""
    for type_ in _GUESSES:
        again = f"CAST(TRY_CAST({column} AS {type_}) AS VARCHAR)"
        ((bad,),) = connection.execute(
            f"SELECT count(*) FROM {_FOLDERS} "
            f"WHERE {column} IS NOT NULL AND {again} IS DISTINCT FROM trim({column})"
        ).fetchall()
        if not bad:
            return f"CAST(p.{column} AS {type_})"
    return f"p.{column}"


def _of_arrow(
    connection: duckdb.DuckDBPyConnection,
    catalog: str,
    needed: Needed,
    paths: Sequence[str],
    partitions: Partitions,
) -> None:
    """Arrow's files and streams, batch by batch."""

    def columns(path: str) -> list[tuple[str, str]]:
        with pa.OSFile(path) as file:
            return [(each.name, str(each.type)) for each in _opened(file)[0]]

    names = [name for name, _ in _alike(paths, columns)]
    keys = [key for key, _ in partitions]
    _not_twice(names, keys)
    chosen = needed.chosen([*names, *keys])
    with pa.OSFile(paths[0]) as file:
        schema = _opened(file)[0]
    number = _unused("_number", names)
    schema = schema.append(pa.field(number, pa.int32()))

    def batches() -> Iterator[pa.RecordBatch]:
        for place, path in enumerate(paths):
            with pa.OSFile(path) as file:
                for batch in _opened(file)[1]:
                    which = pa.array([place], pa.int32()).take(pa.array([0] * batch.num_rows, pa.int32()))
                    yield pa.RecordBatch.from_arrays([*batch.columns, which], schema=schema)

    with _told(connection, pa.array(range(len(paths)), pa.int32()), partitions):
        stream = pa.RecordBatchReader.from_batches(schema, batches())
        staging.put_stream(
            connection, catalog, needed, stream, _selected(connection, chosen, keys),
            f"AS f LEFT JOIN {_FOLDERS} AS p ON f.{quoted(number)} = p.file",
        )  # fmt: skip


def _opened(file: pa.NativeFile) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Schema and batches of an Arrow file, or of a stream in a file."""
    if file.read(6) == b"ARROW1":
        reader = pa.ipc.open_file(file)
        return reader.schema, (reader.get_batch(i) for i in range(reader.num_record_batches))
    file.seek(0)
    stream = pa.ipc.open_stream(file)
    return stream.schema, iter(stream)


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(map(quoted, columns))


def _unused(name: str, used: Sequence[str]) -> str:
    while folded(name) in map(folded, used):
        name = "_" + name
    return name


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
