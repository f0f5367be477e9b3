"""Parameters in: read as PostgreSQL 15 reads them, or refused with the documented error and nothing else."""

from __future__ import annotations

import contextlib
import random
import struct
from datetime import UTC, date, datetime, timedelta, timezone
from datetime import time as clock
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.proxy.values import types
from auditor.proxy.values.arrays import binary_of, text_of
from auditor.proxy.values.errors import BadParameter
from auditor.proxy.values.numerics import binary_of as numeric_binary
from auditor.proxy.values.reading import read_parameter
from auditor.proxy.values.types import BY_NAME, BY_OID
from tests.clocks import at_once

from .test_writing import CASES

READABLE = {
    "bool": ["t", " TRUE ", "fal", "yes", "oFf", "1", "0", "n", "o", "", "tru e", "2"],
    "int2": [
        "0",
        " 42 ",
        "-32768",
        "32768",
        "+7",
        "00000000000000000000000000012",
        "1.0",
        "",
        "x",
        "1_000",
        "٣",
    ],
    "int4": ["2147483647", "-2147483648", "2147483648", "9" * 500, "1e3", "0x10", "--1"],
    "int8": ["9223372036854775807", "9223372036854775808", "-9223372036854775808"],
    "oid": ["0", "4294967295", "4294967296"],
    "float8": [
        "1",
        "-0",
        "1e308",
        "1e309",
        "1e-400",
        "NaN",
        "-infinity",
        "inf",
        ".5",
        "5.",
        " 1 ",
        "",
        "1e",
        "1,5",
    ],
    "float4": ["1.5e-300", "0.1", "1e38", "1e39", "3.4028235e38", "16777217", "nan"],
    "numeric": [
        "1.50",
        "-0.000",
        "1e10",
        "1e-10",
        "NaN",
        "Infinity",
        ".5",
        "",
        "x",
        "1.2.3",
        "12345678901234567890.1",
    ],
    "date": [
        "2020-02-29",
        "2021-02-29",
        "0001-01-01",
        "9999-12-31",
        "2020-1-2",
        "2020-01-01 10:00",
        "2020-13-01",
        "2020-01-01T10:00:00Z",
        "x",
        "",
        "2020-01-01 AD",
    ],
    "time": ["10:20:30.123456", "10:20", "23:59:59.9999994", "25:00", "10:60", "", "10:20:30+02", "1:2"],
    "timestamp": [
        "2020-01-01",
        "2020-01-01 10:20:30.5",
        "2020-01-01T10:20:30+02:00",
        "2020-12-31 23:59:60",
        "2020-12-31 24:00:00",
        "2020-01-01 24:00:01",
        "x",
        "2020-02-30 10:00:00",
    ],
    "timestamptz": [
        "2020-07-01 10:20:30",
        "2020-07-01 10:20:30+02",
        "2020-07-01 10:20:30 -03:30",
        "2020-07-01Z",
        "2020-07-01 +01",
        "2020-07-01-02:30:00",
        "2020-07-01T10:20:30+402:00",
        "2020-07-01T10:20:30+0230",
        "2020-07-01T10:20:30+02:30:15",
        "2020-07-01 10:20:30+16",
        "2020-07-01T10:20:30.123Z",
    ],
    "timetz": ["10:20:30+02", "10:20:30.5-03:30"],
    "interval": [
        "1 year 2 mons -3 days 04:05:06.7",
        "P1Y2M3DT4H5M6.5S",
        "1 day ago",
        "-1 mon +2 days",
        "90 minutes",
        "00:00:01",
        "x",
        "",
        "1.5 seconds",
        "5 fortnights",
        "1 year2 mons",
        "08.minutes",
        "90 minutesago",
        "2 days+3 hours",
        "1 day 02:03",
    ],
    "uuid": [
        "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        "{a0eebc999c0b4ef8bb6d6bb9bd380a11}",
        "A0EEBC999C0B4EF8BB6D6BB9BD380A11",
        "a0eebc99",
        "",
        "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1g",
    ],
    "bytea": [
        "\\x00ff",
        "\\x0 0",
        "abc",
        "a\\\\b",
        "\\000\\377",
        "\\xg0",
        "\\x0",
        "\\8",
        "",
        "é",
        "\\xAB cd",
    ],
    "_int4": [
        "{1,2,NULL}",
        "{}",
        "{{1,2},{3,4}}",
        "{{1},{2,3}}",
        "{1",
        "1",
        "{1,}",
        "{,1}",
        "{a}",
        "{ 1 , 2 }",
        "{1}x",
        "{{1},2}",
    ],
    "_text": [
        '{a,"b c","NULL",null,""}',
        '{"a\\"b","c\\\\d"}',
        "{a b}",
        "{a\\,b}",
        '{"a"b}',
        '{" "}',
        "{a,b}}",
        "{a\tb }",
    ],
}


def _asked(raw: Any, sql: str, *more: Any) -> list[tuple[bytes | None, ...]] | str:
    try:
        found: list[tuple[bytes | None, ...]] = raw(sql, *more)
    except LookupError as error:
        return str(error)
    return found


@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for name, texts in READABLE.items() for text in texts]
)
def test_texts_are_read_as_postgresql_reads_them(name: str, text: str, raw: Any) -> None:
    """PostgreSQL turns the text into its binary form, which is read beside the text itself."""
    raw("SELECT set_config('timezone', 'Europe/Berlin', false)")
    theirs = _asked(raw, "SELECT $1", 1, [text.encode()], [BY_NAME[name].oid])
    raw("SELECT set_config('timezone', 'UTC', false)")
    try:
        ours = read_parameter(BY_NAME[name].oid, 0, text.encode(), "Europe/Berlin")
    except BadParameter:
        assert isinstance(theirs, str), "PostgreSQL takes it"
        return
    assert not isinstance(theirs, str), theirs
    expected = read_parameter(BY_NAME[name].oid, 1, theirs[0][0])
    assert repr(ours) == repr(expected) or ours == expected
    assert type(ours) is type(expected)


LETTERS = '0123456789{}:-+. ,"\\eTPZNaABCdhms[]=/'


def _mistyped(text: str, source: random.Random) -> str:
    letters = list(text)
    for _ in range(source.randint(1, 3)):
        place = source.randint(0, len(letters))
        letters[place : place + source.randint(0, 1)] = source.choice(["", source.choice(LETTERS)])
    return "".join(letters)


@pytest.mark.parametrize("name", READABLE)
def test_of_mistyped_texts_those_are_taken_that_postgresql_takes(name: str, raw: Any) -> None:
    """Ours may be stricter; what it takes has PostgreSQL's value."""
    source, oid = random.Random(11), BY_NAME[name].oid
    taken = 0
    raw("SELECT set_config('timezone', 'Europe/Berlin', false)")
    for _ in range(1500):
        text = _mistyped(source.choice(READABLE[name][:4]), source)
        try:
            ours = read_parameter(oid, 0, text.encode(), "Europe/Berlin")
        except BadParameter:
            continue
        theirs = _asked(raw, "SELECT $1", 1, [text.encode()], [oid])
        assert not isinstance(theirs, str), (text, ours)
        expected = read_parameter(oid, 1, theirs[0][0])
        assert repr(ours) == repr(expected) or ours == expected, text
        taken += 1
    raw("SELECT set_config('timezone', 'UTC', false)")
    assert taken > 20


@pytest.mark.parametrize(
    ("name", "text", "sqlstate"),
    [
        ("int4", "x", "22P02"),
        ("int4", "99999999999", "22003"),
        ("float8", "1e999", "22003"),
        ("bool", "maybe", "22P02"),
        ("date", "x", "22007"),
        ("date", "2020-02-30", "22008"),
        ("timestamp", "infinity", "22008"),
        ("date", "0044-03-15 BC", "22008"),
        ("uuid", "x", "22P02"),
        ("_int4", "{1", "22P02"),
        ("interval", "x", "22007"),
        ("timetz", "10:20", "22007"),
        ("numeric", "1e200000", "22003"),
        ("timestamptz", "2020-01-01 00:00:00+99", "22009"),
        ("void", "", "0A000"),
        ("bytea", "\\xg", "22P02"),
    ],
)
def test_errors_have_postgresqls_codes(name: str, text: str, sqlstate: str) -> None:
    with pytest.raises(BadParameter) as error:
        read_parameter(BY_NAME[name].oid, 0, text.encode())
    assert error.value.sqlstate == sqlstate


@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith("far")])
def test_binary_values_of_postgresql_read_as_their_texts(name: str, raw: Any) -> None:
    _, postgres, make = CASES[name]
    random.seed(3)
    type_ = BY_NAME[postgres.partition("(")[0]]
    for _ in range(60):
        text = make()
        text = "\\x" + text.replace("\\x", "") if name == "bytea" else text
        (row,) = raw("SELECT $1, $1", 1, [text.encode()], [type_.oid])
        binary = read_parameter(type_.oid, 1, row[0])
        assert repr(binary) == repr(read_parameter(type_.oid, 0, text.encode()))


@pytest.mark.parametrize(
    ("oid", "code", "content", "value"),
    [
        (0, 0, b"x", "x"),
        (16, 1, b"\1", True),
        (23, 0, None, None),
        (23, 1, struct.pack("!i", -5), -5),
        (1700, 1, numeric_binary(-12345678, 3), Decimal("-12345.678")),
        (1700, 1, struct.pack("!hhHh", 0, 0, 0xC000, 0), Decimal("NaN")),
        (1082, 1, struct.pack("!i", -1), date(1999, 12, 31)),
        (1083, 1, struct.pack("!q", 1_500_000), clock(0, 0, 1, 500_000)),
        (1184, 1, struct.pack("!q", 0), datetime(2000, 1, 1, tzinfo=UTC)),
        (1266, 1, struct.pack("!qi", 0, -7200), clock(0, tzinfo=timezone(timedelta(hours=2)))),
        (1186, 1, struct.pack("!qii", 1_000_000, -2, 14), "1 year 2 mons -2 days +00:00:01"),
        (3802, 1, b"\1{}", "{}"),
        (1007, 1, binary_of([[struct.pack("!i", 1)], [None]], 23), [[1], [None]]),
        (1007, 1, binary_of([], 23), []),
    ],
)
def test_values_become_pythons(oid: int, code: int, content: bytes | None, value: object) -> None:
    found = read_parameter(oid, code, content)
    assert repr(found) == repr(value)


@pytest.mark.parametrize(
    ("oid", "content", "sqlstate"),
    [
        (23, b"\0\0\0", "22P03"),
        (16, b"", "22P03"),
        (25, b"\xff", "22021"),
        (25, b"a\0", "22021"),
        (1082, struct.pack("!i", 2**31 - 1), "22008"),
        (1114, struct.pack("!q", -(2**63)), "22008"),
        (1083, struct.pack("!q", 86_400_000_000), "22008"),
        (1083, struct.pack("!q", -1), "22008"),
        (1700, struct.pack("!hhHh", 5, 0, 0, 0), "22P03"),
        (1700, struct.pack("!hhHhH", 1, 0, 0, 0, 10_000), "22P03"),
        (1700, struct.pack("!hhHh", 0, 0, 0x1234, 0), "22P03"),
        (3802, b"\2{}", "22P03"),
        (2950, b"x", "22P03"),
        (1007, struct.pack("!iiIii", 1, 0, 23, 2**31 - 1, 1), "54000"),
        (1007, struct.pack("!iiIii", 1, 0, 23, 100, 1), "22P03"),
        (1007, struct.pack("!iiIii", 1, 0, 23, -1, 1), "22P03"),
        (1007, struct.pack("!iiIii", 1, 0, 25, 0, 1), "42804"),
        (1007, struct.pack("!iiI", 7, 0, 23), "22P03"),
        (1007, struct.pack("!iiIiii", 1, 0, 23, 1, 1, 2**31 - 1), "22P03"),
        (1007, binary_of([b"\0\0\0\1"], 23) + b"x", "22P03"),
        (999_999, b"", "0A000"),
        (2278, b"", "0A000"),
        (1266, struct.pack("!qi", 0, 86_400), "22P03"),
    ],
)
def test_bytes_that_are_no_value_are_an_error(oid: int, content: bytes, sqlstate: str) -> None:
    with pytest.raises(BadParameter) as error:
        read_parameter(oid, 1, content)
    assert error.value.sqlstate == sqlstate


def test_a_format_that_is_none_is_an_error() -> None:
    with pytest.raises(BadParameter) as error:
        read_parameter(25, 2, b"x")
    assert error.value.sqlstate == "08P01"


oids = st.sampled_from([0, 5, *BY_OID])


@given(oids, st.sampled_from([0, 1]), st.binary(max_size=60))
def test_random_bytes_bring_a_value_or_the_documented_error(oid: int, code: int, content: bytes) -> None:
    with contextlib.suppress(BadParameter):
        read_parameter(oid, code, content)


@given(oids, st.text(alphabet='0123456789-+:. eETZinfaxP{}[]=,"\\NULdy\t', max_size=40))
def test_random_texts_bring_a_value_or_the_documented_error(oid: int, text: str) -> None:
    with contextlib.suppress(BadParameter):
        read_parameter(oid, 0, text.encode())


nested = st.lists(st.none() | st.text(max_size=5).filter(lambda text: "\0" not in text), max_size=6)


@given(st.integers(1, 4), nested)
def test_arrays_read_back_as_they_were_written(copies: int, values: list[str | None]) -> None:
    flat = [None if value is None else value.encode() for value in values]
    for content, expected in [(flat, values), ([flat] * copies, [values] * copies)]:
        expected = expected if values else []
        assert read_parameter(1009, 0, text_of(content)) == expected
        assert read_parameter(1009, 1, binary_of(content, 25)) == expected


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**30), max_value=10**30))
def test_numerics_read_back_as_they_were_written(number: Decimal) -> None:
    sign, digits, exponent = number.as_tuple()
    unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
    assert isinstance(exponent, int)
    assert read_parameter(1700, 1, numeric_binary(unscaled, -exponent)) == number


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("numeric", "9" * 2**20),
        ("float8", "1" * 2**20),
        ("int8", "9" * 2**20),
        ("int8", " " * 2**20 + "x"),
        ("interval", "1 day " * 10**5),
        ("date", " " * 2**20),
        ("_int4", "{" * 2**20),
        ("_int4", "{" + " " * 2**20),
        ("_text", '{"' + "\\" * 2**20),
        ("_text", "{a" + " " * 2**20 + "b" * 10),
        ("_int4", "{" + "1," * 2**19),
        ("_text", "{" + "a " * 2**19),
        ("bytea", "\\x" + "a" * (2**20 + 1)),
        ("bytea", "\\" * (2**20 + 1)),
        ("uuid", "a" * 2**20),
        ("_text", "[1:2]" * 2**18),
        ("timestamptz", "2020-01-01" + " " * 2**20),
        ("bool", "t" * 2**20),
        ("_text", "{" + '"a",' * 90_000),
    ],
)
def test_a_megabyte_of_nothing_is_an_error_at_once(name: str, text: str) -> None:
    with at_once(), pytest.raises(BadParameter) as error:
        read_parameter(BY_NAME[name].oid, 0, text.encode())
    assert len(str(error.value)) < 200


def test_a_long_numeric_is_read_in_time_or_refused() -> None:
    groups = struct.pack("!hhHh", 32_000, 31_999, 0, 0) + struct.pack("!32000H", *[9999] * 32_000)
    with at_once():
        assert isinstance(read_parameter(1700, 1, groups), Decimal)


def test_names_of_types_in_messages_are_postgresqls() -> None:
    with pytest.raises(BadParameter, match=r'^invalid input syntax for type integer: "x"$'):
        read_parameter(types.INT4.oid, 0, b"x")
