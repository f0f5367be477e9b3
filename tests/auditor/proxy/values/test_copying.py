"""COPY writes what PostgreSQL 15 writes, in text, CSV and binary, with one message for each row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.proxy.session.copying import read_copy
from auditor.proxy.values.copying import SIGNATURE, CopyForm, CopyWriter
from auditor.proxy.values.results import result_type

from ..postgres_server import running

OPTIONS = [
    "", "(FORMAT csv)", "(FORMAT csv, HEADER)", "(FORMAT binary)", "(HEADER true)",
    "(DELIMITER '|', NULL '')",
    "(FORMAT csv, DELIMITER ';', QUOTE '''', ESCAPE '!')", "(FORMAT csv, FORCE_QUOTE (t), NULL 'x')",
    "(FORMAT csv, FORCE_QUOTE *)", "WITH CSV HEADER DELIMITER AS ';' NULL AS 'nil'", "WITH BINARY",
    "CSV QUOTE AS '!' FORCE QUOTE t", "(FORMAT text, DELIMITER E'\\x01')",
]  # fmt: skip
TEXTS = st.text(st.sampled_from("ab x\\\t\n\r\b\f\v,;|\"'!.é€😀N"), max_size=6) | st.sampled_from(
    ["\\.", "\\N", "x"]
)
ROWS = st.lists(
    st.tuples(
        st.none() | TEXTS,
        st.none() | st.integers(-(2**31), 2**31 - 1),
        st.none() | st.floats(allow_nan=False, allow_infinity=False),
        st.none() | st.dates(),
        st.none() | st.booleans(),
    ),
    max_size=5,
)
TYPES = {"t": "VARCHAR", "i": "INTEGER", "f": "DOUBLE", "d": "DATE", "b": "BOOLEAN"}


def copied(form: CopyForm, names: list[str], kinds: list[str], table: pa.Table) -> list[bytes]:
    """The contents of the messages."""
    found = []
    for piece in CopyWriter(form, names, [result_type(kind) for kind in kinds], "UTC").messages(table):
        place = 0
        while place < len(piece):
            assert piece[place : place + 1] == b"d"
            length = int.from_bytes(piece[place + 1 : place + 5], "big")
            found.append(piece[place + 5 : place + 1 + length])
            place += 1 + length
    return found


@pytest.fixture(scope="module")
def postgres() -> Iterator[Any]:
    psycopg = pytest.importorskip("psycopg", reason="asks PostgreSQL")
    with running() as server, psycopg.connect(**server, autocommit=True) as connection:
        connection.execute("CREATE TABLE r (n int, t text, i int, f float8, d date, b bool)")
        yield connection


@given(ROWS, st.sampled_from(OPTIONS))
def test_the_messages_are_those_of_postgres(postgres: Any, rows: list[tuple[Any, ...]], options: str) -> None:
    postgres.execute("TRUNCATE r")
    with postgres.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO r VALUES (%s, %s, %s, %s, %s, %s)", [(n, *row) for n, row in enumerate(rows)]
        )
    sql = f"COPY (SELECT t, i, f, d, b FROM r ORDER BY n) TO STDOUT {options}"
    with postgres.cursor().copy(sql) as copy:
        theirs = [bytes(each) for each in copy]
    columns = zip(*rows, strict=True) if rows else [()] * 5
    kinds = [pa.string(), pa.int32(), pa.float64(), pa.date32(), pa.bool_()]
    arrays = [pa.array(values, kind) for values, kind in zip(columns, kinds, strict=True)]
    table = pa.table(dict(zip(TYPES, arrays, strict=True)))
    ours = copied(read_copy(sql).form, list(TYPES), list(TYPES.values()), table)
    assert ours == theirs


def test_a_lone_column_that_looks_like_the_end_is_quoted(postgres: Any) -> None:
    sql = r"COPY (SELECT '\.'::text AS t) TO STDOUT CSV"
    with postgres.cursor().copy(sql) as copy:
        theirs = [bytes(each) for each in copy]
    assert copied(read_copy(sql).form, ["t"], ["VARCHAR"], pa.table({"t": ["\\."]})) == theirs == [b'"\\."\n']


def test_many_rows_are_written_in_pieces() -> None:
    rows = duckdb.sql("SELECT i AS n, 'a' || i AS t FROM range(20000) r(i)").to_arrow_table()
    text = copied(CopyForm(), ["n", "t"], ["BIGINT", "VARCHAR"], rows)
    assert len(text) == 20_000
    assert text[12_345] == b"12345\ta12345\n"
    binary = copied(CopyForm("binary"), ["n", "t"], ["BIGINT", "VARCHAR"], rows)
    assert binary[0].startswith(SIGNATURE + b"\0\2")
    assert len(binary) == 20_001
    assert binary[-1] == b"\xff\xff"
