"""Rows out: the bytes that PostgreSQL 15 sends for the same values, in both formats, and quickly."""

from __future__ import annotations

import json
import random
import struct
import uuid
from collections.abc import Callable
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.proxy.values import types
from auditor.proxy.values.cells import data_rows, of_values
from auditor.proxy.values.errors import NotRepresentable
from auditor.proxy.values.results import ResultType, result_type
from auditor.proxy.values.writing import RowWriter, expanded
from tests.clocks import at_once

ROWS = 3_000
RANDOM = random.Random(7)


def _float(width: int) -> Callable[[], str]:
    def make() -> str:
        kind = RANDOM.random()
        if kind < 0.4:
            bits = RANDOM.getrandbits(8 * width).to_bytes(width, "big")
            (number,) = struct.unpack("!d" if width == 8 else "!f", bits)
        elif kind < 0.8:
            number = RANDOM.uniform(-1, 1) * 10 ** RANDOM.randint(-7, 18)
        else:
            number = RANDOM.choice([0.0, -0.0, 1.0, 1e15, 1e14, 123456, 1e6, 1e-4, 1e-5, 5e-39, 0.1, 1 / 3])
        if width == 4:
            number = struct.unpack("!f", struct.pack("!f", number))[0]
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(repr(number), repr(number))

    return make


def _decimal(width: int, scale: int) -> Callable[[], str]:
    def make() -> str:
        digits = RANDOM.randint(0, 10 ** RANDOM.randint(0, width) - 1)
        digits = digits if RANDOM.random() < 0.7 else digits // 10**4 * 10**4
        text = str(digits).zfill(scale + 1)
        return RANDOM.choice(["", "-"]) + (f"{text[:-scale]}.{text[-scale:]}" if scale else text)

    return make


def _date(first: int, last: int) -> Callable[[], str]:
    def make() -> str:
        year = RANDOM.randint(first, last)
        month, day = RANDOM.randint(1, 12), RANDOM.randint(1, 28)
        era = " (BC)" if year <= 0 else ""
        return f"{1 - year if year <= 0 else year:04}-{month:02}-{day:02}{era}"

    return make


def _moment(first: int, last: int) -> Callable[[], str]:
    date = _date(first, last)

    def make() -> str:
        return f"{date()} {_time()}"

    return make


def _time() -> str:
    fraction = RANDOM.choice(["", ".5", ".000001", ".120000", f".{RANDOM.randint(0, 999999):06}"])
    return f"{RANDOM.randint(0, 23):02}:{RANDOM.randint(0, 59):02}:{RANDOM.randint(0, 59):02}{fraction}"


def _interval() -> str:
    months, days = (RANDOM.choice([0, 1, -1, 12, -14, RANDOM.randint(-99, 99)]) for _ in range(2))
    microseconds = RANDOM.choice([0, 1, -1, 3_600_000_000, -5_500_000, RANDOM.randint(-(10**12), 10**12)])
    return f"{months} months {days} days {microseconds} microseconds"


def _text() -> str:
    letters = "aB ,{}\\\"'\t\nNULé日😀"
    return "".join(RANDOM.choice(letters) for _ in range(RANDOM.randint(0, 9)))


def _integer(bits: int) -> Callable[[], str]:
    edge = 2 ** (bits - 1)
    return lambda: str(RANDOM.choice([0, 1, -1, edge - 1, -edge, RANDOM.randint(-edge, edge - 1)]))


def _round_number() -> str:
    return str(RANDOM.randint(-(10**9), 10**9) * 10 ** RANDOM.randint(0, 6))


CASES: dict[str, tuple[str, str, Callable[[], str]]] = {
    "bool": ("BOOLEAN", "bool", lambda: RANDOM.choice(["true", "false"])),
    "tinyint": ("TINYINT", "int2", _integer(8)),
    "int2": ("SMALLINT", "int2", _integer(16)),
    "int4": ("INTEGER", "int4", _integer(32)),
    "int8": ("BIGINT", "int8", _integer(64)),
    "utinyint": ("UTINYINT", "int2", lambda: str(RANDOM.randint(0, 255))),
    "uinteger": ("UINTEGER", "int8", lambda: str(RANDOM.randint(0, 2**32 - 1))),
    "ubigint": ("UBIGINT", "numeric", lambda: str(RANDOM.randint(0, 2**64 - 1))),
    "hugeint": ("HUGEINT", "numeric", lambda: str(RANDOM.randint(-(2**127) + 1, 2**127 - 1))),
    "small hugeint": ("HUGEINT", "numeric", _round_number),
    "uhugeint": ("UHUGEINT", "numeric", lambda: str(RANDOM.randint(0, 2**128 - 1))),
    "bignum": ("BIGNUM", "numeric", lambda: str(RANDOM.randint(-(2**200), 2**200))),
    "numeric(18,3)": ("DECIMAL(18,3)", "numeric(18,3)", _decimal(18, 3)),
    "numeric(9,0)": ("DECIMAL(9,0)", "numeric(9,0)", _decimal(9, 0)),
    "numeric(12,9)": ("DECIMAL(12,9)", "numeric(12,9)", _decimal(12, 9)),
    "numeric(38,20)": ("DECIMAL(38,20)", "numeric(38,20)", _decimal(38, 20)),
    "float4": ("FLOAT", "float4", _float(4)),
    "float8": ("DOUBLE", "float8", _float(8)),
    "text": ("VARCHAR", "text", _text),
    "bytea": ("BLOB", "bytea", lambda: "".join(f"\\x{RANDOM.getrandbits(8):02x}" for _ in range(5))),
    "date": ("DATE", "date", _date(1, 9999)),
    "far date": ("DATE", "date", _date(-4000, 12000)),
    "time": ("TIME", "time", _time),
    "timestamp": ("TIMESTAMP", "timestamp", _moment(1, 9999)),
    "far timestamp": ("TIMESTAMP", "timestamp", _moment(-4000, 20000)),
    "timestamptz": ("TIMESTAMP WITH TIME ZONE", "timestamptz", _moment(1, 9999)),
    "interval": ("INTERVAL", "interval", _interval),
    "uuid": ("UUID", "uuid", lambda: str(uuid.UUID(int=RANDOM.getrandbits(128)))),
    "json": ("JSON", "json", lambda: json.dumps({"a": [RANDOM.random(), None, _text()]})),
}  # fmt: skip


def _postgres_text(name: str, text: str) -> str:
    if name == "bytea":
        return "\\x" + text.replace("\\x", "")
    return text.replace("(BC)", "BC")


def _array_literal(values: list[str | None]) -> bytes:
    def element(value: str | None) -> str:
        return "NULL" if value is None else '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'

    return ("{" + ",".join(map(element, values)) + "}").encode()


@pytest.fixture(scope="module")
def engine() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def _table(engine: Any, type_: str, values: list[str | None]) -> tuple[pa.Table, str]:
    relation = pa.table({"n": range(len(values)), "x": pa.array(values, pa.string())})
    engine.register("given_values", relation)
    found = engine.sql(f"SELECT CAST(x AS {type_}) AS x FROM given_values ORDER BY n")
    return found.to_arrow_table(), str(found.types[0])


@pytest.mark.parametrize("code", [0, 1])
@pytest.mark.parametrize("name", CASES)
def test_scalars_are_written_as_postgresql_writes_them(name: str, code: int, engine: Any, raw: Any) -> None:
    duck, postgres, make = CASES[name]
    values = [make() if RANDOM.random() < 0.9 else None for _ in range(ROWS)]
    table, type_ = _table(engine, duck, values)
    literal = _array_literal([None if v is None else _postgres_text(name, v) for v in values])
    sql = f"SELECT x::{postgres} FROM unnest($1::text[]) WITH ORDINALITY t(x, n) ORDER BY n"
    expected = raw(sql, code, [literal])
    found = RowWriter([type_], [code]).rows(table)
    for given_, ours, theirs in zip(values, found, expected, strict=True):
        assert ours == theirs, given_


@pytest.mark.parametrize("code", [0, 1])
@pytest.mark.parametrize(
    "name", [n for n in CASES if n not in ("bignum", "json", "far date", "far timestamp")]
)
def test_arrays_are_written_as_postgresql_writes_them(name: str, code: int, engine: Any, raw: Any) -> None:
    duck, postgres, make = CASES[name]
    for size in (0, 1, 3, 40):
        values = [make() if RANDOM.random() < 0.8 else None for _ in range(size)]
        engine.register("elements", pa.table({"n": range(size), "x": pa.array(values, pa.string())}))
        found = engine.sql(f"SELECT list(CAST(x AS {duck}) ORDER BY n) AS x FROM elements")
        found = found if size else engine.sql(f"SELECT []::{duck}[] AS x")
        ours = RowWriter([str(found.types[0])], [code]).rows(found.to_arrow_table())
        literal = _array_literal([None if v is None else _postgres_text(name, v) for v in values])
        assert ours == raw(f"SELECT $1::text[]::{postgres}[]", code, [literal])


@pytest.mark.parametrize("code", [0, 1])
@pytest.mark.parametrize(
    ("duck", "theirs"),
    [
        ("[[1,2],[3,NULL]]", "'{{1,2},{3,NULL}}'::int4[]"),
        ("[[[1],[2]]]", "'{{{1},{2}}}'::int4[]"),
        ("array_value(1.5::float, 2)", "'{1.5,2}'::float4[]"),
        ("[]::INTEGER[]", "'{}'::int4[]"),
        ("NULL::INTEGER[]", "NULL::int4[]"),
        ("'infinity'::DATE", "'infinity'::date"),
        ("'-infinity'::DATE", "'-infinity'::date"),
        ("'infinity'::TIMESTAMP", "'infinity'::timestamp"),
        ("'-infinity'::TIMESTAMPTZ", "'-infinity'::timestamptz"),
        ("'24:00:00'::TIME", "'24:00:00'::time"),
        ("'2020-01-01 01:02:03.5'::TIMESTAMP_MS", "'2020-01-01 01:02:03.5'::timestamp"),
        ("'2020-01-01 01:02:03'::TIMESTAMP_S", "'2020-01-01 01:02:03'::timestamp"),
        ("'1969-01-01 01:02:03.123456'::TIMESTAMP_NS", "'1969-01-01 01:02:03.123456'::timestamp"),
        ("'b'::ENUM('a','b')", "'b'::text"),
        ("['b', 'a b', 'null', '']::ENUM('a b','b','null', '')[]", "array['b','a b','null','']::text[]"),
        ("'10110'::BIT", "'10110'::text"),
        ("NULL", "NULL::text"),
        ("0.000::DECIMAL(10,3)", "0.000::numeric(10,3)"),
        ("0.00000001::DECIMAL(20,10)", "0.00000001::numeric(20,10)"),
    ],
)  # fmt: skip
def test_single_values_as_postgresql(duck: str, theirs: str, code: int, engine: Any, raw: Any) -> None:
    found = engine.sql(f"SELECT {duck} AS x")
    writer = RowWriter([str(found.types[0])], [code])
    assert writer.rows(found.to_arrow_table()) == raw(f"SELECT {theirs}", code)


@pytest.mark.parametrize(
    "zone",
    ["Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Africa/Monrovia", "UTC", "Australia/Lord_Howe"],
)
def test_moments_are_shown_by_the_sessions_clock(zone: str, engine: Any, raw: Any) -> None:
    values = [_moment(-200, 12000)() for _ in range(300)] + [_moment(1880, 2040)() for _ in range(1500)]
    table, type_ = _table(engine, "TIMESTAMPTZ", values)
    raw("SELECT set_config('timezone', $1, false)", 0, [zone.encode()])
    sql = "SELECT x::timestamptz FROM unnest($1::text[]) WITH ORDINALITY t(x, n) ORDER BY n"
    literal = _array_literal([value.replace("(BC)", "BC") + "+00" for value in values])
    expected = raw(sql, 0, [literal])
    found = RowWriter([type_], (), zone).rows(table)
    raw("SELECT set_config('timezone', 'UTC', false)")
    for given_, ours, theirs in zip(values, found, expected, strict=True):
        assert ours == theirs, given_


@pytest.mark.parametrize(
    ("duck", "expected"),
    [
        ("{'a': 1, 'b': [1.50, NULL], 'c': 'x\"y'}", '{"a":1,"b":[1.50,null],"c":"x\\"y"}'),
        ("MAP {'k': DATE '2020-01-01', 'l': NULL}", '{"k":"2020-01-01","l":null}'),
        ("MAP {1: INTERVAL '1 day'}", '{"1":"1 day"}'),
        ("union_value(n := 3)", "3"),
        ("{'t': TIMESTAMP '2020-01-01 00:00:00.5', 'f': 'nan'::DOUBLE, 'b': true, 'h': '\\xff'::BLOB}",
         '{"t":"2020-01-01 00:00:00.500000","f":null,"b":true,"h":"\\\\xff"}'),
        ("NULL::STRUCT(a INTEGER)", None),
    ],
)  # fmt: skip
def test_structures_are_json(duck: str, expected: str | None, engine: Any) -> None:
    found = engine.sql(f"SELECT {duck} AS x")
    type_ = result_type(str(found.types[0]))
    assert type_.type.name == "json"
    for code in (0, 1):
        rows = RowWriter([type_], [code]).rows(found.to_arrow_table())
        assert rows == [(None if expected is None else expected.encode(),)]
    if expected is not None:
        json.loads(expected)


def test_lists_of_structures_are_arrays_of_json(engine: Any) -> None:
    found = engine.sql("SELECT [{'a': 1}, NULL] AS x")
    assert RowWriter([str(found.types[0])]).rows(found.to_arrow_table()) == [(b'{"{\\"a\\":1}",NULL}',)]


@pytest.mark.parametrize("duck", ["[[1],[2,3]]", "[[1],NULL]"])
def test_lists_that_are_no_rectangle_are_an_error(duck: str, engine: Any) -> None:
    found = engine.sql(f"SELECT {duck} AS x")
    for code in (0, 1):
        with pytest.raises(NotRepresentable) as error:
            RowWriter([str(found.types[0])], [code]).rows(found.to_arrow_table())
        assert error.value.sqlstate == "2202E"


def test_what_postgresql_cannot_hold_is_an_error_and_no_other_value(engine: Any) -> None:
    found = engine.sql("SELECT '5877642-06-25 (BC)'::DATE AS x")
    with pytest.raises(NotRepresentable):
        RowWriter(["DATE"], [1]).rows(found.to_arrow_table())
    far = pa.table({"x": pa.array([2**62], pa.int64()).view(pa.timestamp("s"))})
    with pytest.raises(NotRepresentable):
        RowWriter(["TIMESTAMP_S"]).rows(far)


@pytest.mark.parametrize(
    "type_", ["TIME WITH TIME ZONE", "VARIANT", "GEOMETRY", "", "INTEGER[][][][][][][]", "x"]
)
def test_types_that_are_not_in_the_table_are_an_error(type_: str) -> None:
    with pytest.raises(NotRepresentable):
        RowWriter([type_])


def test_the_modifier_of_numeric_is_postgresqls(raw: Any) -> None:
    raw("CREATE TEMP TABLE typed (a numeric(18,3), b numeric(38,0), c numeric(4,4)[])")
    found = raw(
        "SELECT atttypmod, atttypid FROM pg_attribute WHERE attrelid = 'typed'::regclass AND attnum > 0"
    )
    ours = [result_type(each) for each in ("DECIMAL(18,3)", "DECIMAL(38,0)", "DECIMAL(4,4)[]")]
    assert found == [(str(each.modifier).encode(), str(each.type.oid).encode()) for each in ours]


def test_null_columns_empty_results_and_no_columns() -> None:
    nothing = pa.table({"x": pa.array([], pa.int32()), "y": pa.array([], pa.timestamp("us"))})
    for code in (0, 1):
        writer = RowWriter(["INTEGER", "TIMESTAMP"], [code])
        assert writer.messages(nothing) == b""
        assert list(writer.batches(nothing)) == []
    for code in (0, 1):
        for type_, arrow in (
            ("INTEGER", pa.int32()),
            ("VARCHAR", pa.string()),
            ("DECIMAL(9,2)", pa.decimal128(9, 2)),
        ):
            table = pa.table({"x": pa.nulls(2, arrow)})
            assert RowWriter([type_], [code]).messages(table) == b"D\0\0\0\x0a\0\1\xff\xff\xff\xff" * 2


def test_a_column_may_be_given_a_type_of_the_catalogue(raw: Any) -> None:
    table = pa.table({"o": pa.array([1259, 0], pa.int64()), "n": ["pg_class", "x"], "k": ["r", "v"]})
    wanted = [ResultType(types.OID), ResultType(types.NAME), ResultType(types.CHAR)]
    for code in (0, 1):
        expected = raw("""VALUES (1259::oid, 'pg_class'::name, 'r'::"char"), (0, 'x', 'v')""", code)
        assert RowWriter(wanted, [code]).rows(table) == expected
    assert RowWriter([ResultType(types.REGCLASS)], [1]).rows(table.select(["o"]))[0] == (b"\0\0\4\xeb",)


def test_a_slice_of_a_table_is_written_as_that_slice(engine: Any) -> None:
    found = engine.sql("""
        SELECT i::INTEGER AS i, CASE WHEN i % 3 > 0 THEN i::VARCHAR END AS t, i % 2 = 0 AS b,
        [i, NULL] AS l, i::DECIMAL(9,2) AS d, to_days(i::INTEGER) AS v, i::HUGEINT * 10**20::HUGEINT AS h
        FROM range(50) r(i)""")
    table, types_ = found.to_arrow_table(), [str(each) for each in found.types]
    for code in (0, 1):
        writer = RowWriter(types_, [code])
        rows = writer.rows(table)
        assert writer.rows(table.slice(7, 11)) == rows[7:18]
        assert writer.rows(table.slice(7, 11).to_batches()[0]) == rows[7:18]
        pieces = list(writer.batches(table, 8))
        assert [number for number, _ in pieces] == [8] * 6 + [2]
        assert b"".join(piece for _, piece in pieces) == writer.messages(table)


@given(
    st.integers(0, 5).flatmap(
        lambda n: st.lists(st.tuples(*[st.none() | st.binary(max_size=6)] * n), max_size=8)
    )
)
def test_messages_hold_the_cells(rows: list[tuple[bytes | None, ...]]) -> None:
    expected = b""
    for row in rows:
        body = struct.pack("!h", len(row))
        for cell in row:
            body += struct.pack("!i", -1 if cell is None else len(cell)) + (cell or b"")
        expected += b"D" + struct.pack("!i", len(body) + 4) + body
    columns = [of_values(column) for column in zip(*rows, strict=True)]
    assert data_rows(columns, len(rows)) == expected


def test_format_codes_are_none_one_or_one_each() -> None:
    assert expanded((), 2) == (0, 0)
    assert expanded((1,), 2) == (1, 1)
    assert expanded((0, 1), 2) == (0, 1)
    assert expanded((), 0) == expanded((1,), 0) == ()
    for wrong in [(0, 1, 1), (2,), (-1, 0)]:
        with pytest.raises(ValueError, match="format code"):
            expanded(wrong, 2)


@pytest.mark.parametrize("code", [0, 1])
def test_hundred_thousand_rows_of_numbers_take_well_under_a_second_each_core(code: int, engine: Any) -> None:
    found = engine.sql(
        "SELECT i::INTEGER a, random() b, (random() * 1000)::DECIMAL(18,3) c FROM range(100_000) t(i)"
    )
    table, writer = found.to_arrow_table(), RowWriter([str(each) for each in found.types], [code])
    with at_once():
        assert sum(len(messages) for _, messages in writer.batches(table)) > 3_000_000
