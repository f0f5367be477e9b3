"""Bodies are read whole or not at all, and what is read is what was sent."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.proxy.protocol import CancelRequest, ErrorFields, Parse, ProtocolError, Query
from auditor.proxy.protocol.messages import (
    Bind,
    Execute,
    GSSENCRequest,
    SSLRequest,
    StartupMessage,
    Target,
    read_message,
    read_packet,
    read_sasl_initial,
)
from auditor.proxy.protocol.states import Frontend
from tests.auditor.proxy.protocol.wire import CLIENT

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
OID = st.integers(0, 2**32 - 1)
VALUES = st.lists(st.none() | st.binary(max_size=20), max_size=8)
FORMATS = st.lists(st.integers(-(2**15), 2**15 - 1), max_size=8)
READ = [kind for kind in Frontend if kind in (
    Frontend.QUERY, Frontend.PARSE, Frontend.BIND, Frontend.DESCRIBE, Frontend.EXECUTE, Frontend.CLOSE,
    Frontend.FLUSH, Frontend.SYNC, Frontend.TERMINATE, Frontend.FUNCTION_CALL)]  # fmt: skip


def refusal(read: Callable[[], object]) -> ErrorFields | None:
    """The error that reading gives; None if it gives none."""
    try:
        read()
    except ProtocolError as error:
        return error.fields
    return None


def body(name: str, *arguments: object) -> bytes:
    return CLIENT[name](*arguments)[5:]


@given(TEXT)
def test_a_query_comes_back(sql: str) -> None:
    assert read_message(Frontend.QUERY, body("Query", sql)) == Query(sql)


@given(TEXT, TEXT, st.lists(OID, max_size=8))
def test_a_parse_comes_back(name: str, sql: str, types: list[int]) -> None:
    assert read_message(Frontend.PARSE, body("Parse", name, sql, types)) == Parse(name, sql, tuple(types))


@given(TEXT, TEXT, FORMATS, VALUES, FORMATS)
def test_a_bind_comes_back(
    portal: str, statement: str, formats: list[int], values: list[bytes | None], results: list[int]
) -> None:
    sent = body("Bind", portal, statement, formats, values, results)
    expected = Bind(portal, statement, tuple(formats), tuple(values), tuple(results))
    assert read_message(Frontend.BIND, sent) == expected


@given(st.sampled_from("SP"), TEXT, st.sampled_from([Frontend.DESCRIBE, Frontend.CLOSE]))
def test_a_target_comes_back(kind: str, name: str, message: Frontend) -> None:
    assert read_message(message, body(message.value, kind, name)) == Target(kind == "P", name)


@given(TEXT, st.integers(-(2**31), 2**31 - 1))
def test_an_execute_comes_back_and_a_negative_limit_is_none(name: str, rows: int) -> None:
    assert read_message(Frontend.EXECUTE, body("Execute", name, rows)) == Execute(name, max(0, rows))


@given(TEXT, st.none() | st.binary(max_size=50))
def test_a_sasl_initial_response_comes_back(mechanism: str, data: bytes | None) -> None:
    assert read_sasl_initial(body("SASLInitialResponse", mechanism, data)) == (mechanism, data)


@given(st.dictionaries(TEXT.filter(bool), TEXT, max_size=6), st.integers(0, 2**16 - 1))
def test_a_startup_message_comes_back(parameters: dict[str, str], minor: int) -> None:
    sent = CLIENT["StartupMessage"](f"3.{minor}", parameters)
    read = read_packet(sent[4:])
    assert isinstance(read, StartupMessage)
    assert read.minor == minor
    extensions = tuple(name for name in parameters if name.startswith("_pq_."))
    assert read.extensions == extensions
    assert {**read.parameters, **{name: parameters[name] for name in extensions}} == parameters


def test_the_other_packets_come_back() -> None:
    assert read_packet(CLIENT["SSLRequest"]()[4:]) == SSLRequest()
    assert read_packet(CLIENT["GSSENCRequest"]()[4:]) == GSSENCRequest()
    assert read_packet(CLIENT["CancelRequest"](2**32 - 1, 7)[4:]) == CancelRequest(2**32 - 1, 7)


@given(st.sampled_from(READ), st.binary(max_size=60))
def test_noise_is_read_or_is_an_error_that_is_not_fatal(kind: Frontend, content: bytes) -> None:
    fields = refusal(lambda: read_message(kind, content))
    assert fields is None or (fields.severity == "ERROR" and fields.sqlstate in ("08P01", "22021", "0A000"))


@given(st.sampled_from([b"", b"\0\3\0\0", b"\x04\xd2\x16\x2e", b"\x04\xd2\x16\x2f"]), st.binary(max_size=60))
def test_a_packet_of_noise_is_read_or_is_an_error(code: bytes, content: bytes) -> None:
    fields = refusal(lambda: read_packet(code + content))
    assert fields is None or fields.sqlstate in ("08P01", "22021", "0A000")


@given(st.sampled_from([
    (Frontend.QUERY, body("Query", "SELECT é")),
    (Frontend.PARSE, body("Parse", "n", "SELECT $1", [23, 25])),
    (Frontend.BIND, body("Bind", "p", "s", [1, 0], [b"abc", None], [1])),
    (Frontend.DESCRIBE, body("Describe", "S", "name")),
    (Frontend.EXECUTE, body("Execute", "name", 7)),
]), st.data())  # fmt: skip
def test_a_body_that_is_cut_or_goes_on_is_an_error(
    whole: tuple[Frontend, bytes], data: st.DataObject
) -> None:
    kind, content = whole
    cut = data.draw(st.integers(0, len(content) - 1))
    for wrong in (content[:cut], content + b"\0", content + content):
        with pytest.raises(ProtocolError):
            read_message(kind, wrong)


def test_a_count_is_not_believed_beyond_the_body() -> None:
    for content in (b"\0q\0\xff\xff", b"\0q\0\xff\xff" + bytes(4 * 65534)):
        with pytest.raises(ProtocolError, match="insufficient"):
            read_message(Frontend.PARSE, content)
    with pytest.raises(ProtocolError, match="insufficient"):
        read_message(Frontend.BIND, b"\0\0\0\0\xff\xff\xff\xff\xff\xff")


def test_the_largest_counts_are_read() -> None:
    types = read_message(Frontend.PARSE, b"\0q\0\xff\xff" + bytes(4 * 65535))
    assert isinstance(types, Parse)
    assert len(types.parameter_types) == 65535
    nulls = read_message(Frontend.BIND, b"\0\0\0\0\xff\xff" + b"\xff\xff\xff\xff" * 65535 + b"\0\0")
    assert isinstance(nulls, Bind)
    assert nulls.values == (None,) * 65535


@pytest.mark.parametrize("length", [-2, -(2**31), 2**31 - 1])
def test_a_value_of_an_impossible_length_is_an_error(length: int) -> None:
    content = b"\0\0\0\0\0\1" + struct.pack("!i", length) + b"abc\0\0"
    with pytest.raises(ProtocolError, match="insufficient"):
        read_message(Frontend.BIND, content)


def test_text_that_is_no_utf8_is_named_by_its_byte() -> None:
    with pytest.raises(ProtocolError, match="0xff") as caught:
        read_message(Frontend.QUERY, b"SELECT \xff\xfe\0")
    assert caught.value.fields.sqlstate == "22021"


def test_keys_and_values_are_not_shown() -> None:
    assert "4711" not in repr(CancelRequest(1, 4711))
    assert "secret" not in repr(Bind("", "", (), (b"secret",)))
