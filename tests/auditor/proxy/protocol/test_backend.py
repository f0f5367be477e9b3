"""Answers are well-formed whatever they hold, and a decoder that shares no code reads what was said."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from auditor.proxy.protocol import Column, ErrorFields, Transaction, backend
from tests.auditor.proxy.protocol.wire import Body, Reader, bodies, fields

ANY = st.text(st.characters(), max_size=30)  # NUL and lone surrogates too


def read(data: bytes) -> list[str]:
    reader = Reader()
    reader.startup = False
    return list(reader.read(data))


def clean(text: str) -> str:
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


@given(ANY, ANY, ANY, ANY, st.integers(-1, 99))
def test_no_text_breaks_the_framing_of_an_error(
    message: str, detail: str, hint: str, state: str, position: int
) -> None:
    data = backend.error_response(ErrorFields(state, message, detail, hint, position=position))
    ((kind, body),) = bodies(data)
    said = fields(body)
    assert kind == "E"
    assert body.rest() == b""
    assert said["M"] == (clean(message) or "(no message)")
    assert said.get("D", "") == clean(detail)
    assert said.get("H", "") == clean(hint)
    assert said.get("P") == (str(position) if position > 0 else None)


@given(ANY, ANY)
def test_no_text_breaks_the_framing_of_other_messages(name: str, value: str) -> None:
    data = backend.parameter_status(name, value) + backend.command_complete(value)
    assert read(data) == [
        f"ParameterStatus({clean(name)!r}, {clean(value)!r})", f"CommandComplete({clean(value)!r})"
    ]  # fmt: skip


@given(st.lists(st.tuples(ANY, st.integers(0, 2**32 - 1), st.integers(-2, 2**15 - 1), st.integers(0, 1))))
def test_columns_are_described(columns: list[tuple[str, int, int, int]]) -> None:
    described = [Column(name, oid, size, format=form) for name, oid, size, form in columns]
    expected = [(clean(name), *rest) for name, *rest in columns]
    assert read(backend.row_description(described)) == [f"RowDescription({expected})"]


def test_where_a_column_is_from_is_told() -> None:
    ((_, body),) = bodies(backend.row_description([Column("a", 23, 4, 7, 0, 16384, 2)]))
    assert isinstance(body, Body)
    assert (body.number("H"), body.text()) == (1, "a")
    assert [body.number(form) for form in "IhIhih"] == [16384, 2, 23, 4, 7, 0]


def test_a_field_as_long_as_a_book_is_cut() -> None:
    data = backend.error_response(ErrorFields("XX000", "x" * 1_000_000, "y" * 1_000_000))
    assert len(data) < 20_000


def test_the_rest_of_what_a_server_says() -> None:
    data = b"".join(
        [
            backend.authentication_sasl(["SCRAM-SHA-256-PLUS", "SCRAM-SHA-256"]),
            backend.authentication_sasl_continue(b"r=1"),
            backend.authentication_sasl_final(b"v=2"),
            backend.authentication_ok(),
            backend.negotiate_protocol_version(["_pq_.a", "_pq_.b"]),
            backend.backend_key_data(2**32 - 1, 0),
            backend.ready_for_query(Transaction.FAILED),
            backend.parameter_description([23, 0]),
        ]
    )
    assert read(data) == [
        "AuthenticationSASL('SCRAM-SHA-256-PLUS', 'SCRAM-SHA-256')",
        "AuthenticationSASLContinue(b'r=1')",
        "AuthenticationSASLFinal(b'v=2')",
        "AuthenticationOk()",
        "NegotiateProtocolVersion('3.0', ['_pq_.a', '_pq_.b'])",
        "BackendKeyData(4294967295, 0)",
        "ReadyForQuery('E')",
        "ParameterDescription([23, 0])",
    ]
