"""Bytes become messages in linear time, whatever their pieces, and no more is held than the limit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.proxy.protocol import Connection, Limits, OutOfTurn, State, events
from auditor.proxy.protocol.framing import Inbox
from auditor.proxy.protocol.sqlstate import ProtocolError
from auditor.proxy.protocol.states import Frontend
from tests.auditor.proxy.protocol.owner import Owner
from tests.auditor.proxy.protocol.reaching import reached
from tests.auditor.proxy.protocol.wire import CLIENT, message
from tests.clocks import at_once

LIMITS = Limits(startup=50, authentication=20, message=100, small=30)


@given(st.lists(st.tuples(st.sampled_from("QPB"), st.binary(max_size=100)), max_size=10), st.data())
def test_messages_come_out_as_they_went_in(messages: list[tuple[str, bytes]], data: st.DataObject) -> None:
    sent = b"".join(message(kind, content) for kind, content in messages)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(sent)), max_size=10)))
    inbox, found = Inbox(LIMITS), []
    for start, end in zip([0, *cuts], [*cuts, len(sent)], strict=True):
        inbox.add(sent[start:end])
        while (each := inbox.message(Frontend)) is not None:
            found.append((each[0].value[0], each[1]))
    assert found == messages
    assert len(inbox) == 0


@pytest.mark.parametrize(
    ("letter", "kind", "limit"),
    [
        ("Q", Frontend.QUERY, 100),
        ("P", Frontend.PARSE, 100),
        ("B", Frontend.BIND, 100),
        ("F", Frontend.FUNCTION_CALL, 100),
        ("d", Frontend.COPY_DATA, 100),
        ("p", Frontend.PASSWORD_MESSAGE, 20),
        ("S", Frontend.SYNC, 30),
        ("D", Frontend.DESCRIBE, 30),
        ("f", Frontend.COPY_FAIL, 30),
    ],
)
def test_a_message_may_be_as_long_as_its_limit_and_no_longer(letter: str, kind: Frontend, limit: int) -> None:
    inbox = Inbox(LIMITS)
    inbox.add(message(letter, bytes(limit)))
    assert inbox.message(Frontend) == (kind, bytes(limit))
    inbox.add(message(letter, bytes(limit + 1))[:5])
    with pytest.raises(ProtocolError, match="too long") as caught:
        inbox.message(Frontend)
    assert caught.value.fields.sqlstate == "54000"
    assert str(limit) in caught.value.fields.hint


@pytest.mark.parametrize("size", [4, 50])
def test_a_packet_may_be_as_long_as_its_limit(size: int) -> None:
    inbox = Inbox(LIMITS)
    inbox.add((size + 4).to_bytes(4, "big") + bytes(size))
    assert inbox.packet() == bytes(size)


@pytest.mark.parametrize("length", [0, 3, 4, 7, 55, 2**31, 2**32 - 1])
def test_a_packet_of_another_length_is_refused_before_its_body_is_there(length: int) -> None:
    inbox = Inbox(LIMITS)
    inbox.add(length.to_bytes(4, "big"))
    with pytest.raises(ProtocolError, match="invalid length"):
        inbox.packet()


@pytest.mark.parametrize("length", [0, 1, 3, 2**31, 2**32 - 1])
def test_a_message_of_an_impossible_length_is_refused(length: int) -> None:
    inbox = Inbox(LIMITS)
    inbox.add(b"Q" + length.to_bytes(4, "big"))
    with pytest.raises(ProtocolError) as caught:
        inbox.message(Frontend)
    assert caught.value.fields.sqlstate == "08P01"


def test_what_may_not_come_is_refused_at_its_first_byte() -> None:
    inbox = Inbox(LIMITS)
    inbox.add(b"Q")
    with pytest.raises(ProtocolError, match="expected PasswordMessage, got Query"):
        inbox.message([Frontend.PASSWORD_MESSAGE])


@pytest.mark.slow
def test_a_long_message_that_comes_byte_by_byte_takes_linear_time() -> None:
    connection = reached(State.READY)
    sent = CLIENT["Query"]("x" * 1_000_000)
    with at_once():
        for byte in sent[:-1]:
            connection.receive(bytes([byte]))
            assert connection.next_event() is None
        connection.receive(sent[-1:])
        assert connection.next_event() is not None
        # Quadratic, it would move 500 GB.


@pytest.mark.slow
def test_many_small_messages_at_once_take_linear_time() -> None:
    connection = reached(State.READY)
    connection.receive(CLIENT["Flush"]() * 300_000)
    with at_once():
        count = 0
        while isinstance(connection.next_event(), events.Flush):
            count += 1
        assert count == 300_000


def test_a_connection_says_when_it_has_enough() -> None:
    connection = Connection(limits=LIMITS)
    assert connection.wants_bytes
    connection.receive(bytes([0, 0, 0, 54]))
    while connection.wants_bytes:
        connection.receive(bytes(10))
    assert len(connection._inbox) < 50 + 5 + 10
    with pytest.raises(OutOfTurn):
        connection.receive(b"x")


@pytest.mark.parametrize("state", [State.STARTUP, State.SASL_INITIAL, State.READY, State.SKIPPING])
def test_whoever_waits_for_bytes_wants_them(state: State) -> None:
    """The largest message that may come fits: no connection is stuck with a part of it."""
    connection = reached(state)
    limits = Limits()
    if state is State.STARTUP:
        whole = CLIENT["Packet"](b"\0\3\0\0user\0" + b"a" * (limits.startup - 11) + b"\0\0")
        assert len(whole) == limits.startup + 4
    elif state is State.SASL_INITIAL:
        head = b"SCRAM-SHA-256\0\xff\xff\xff\xff"
        whole = message("p", head + bytes(limits.authentication - len(head)))
    else:
        whole = message("Q", b"x" * (limits.message - 1) + b"\0")
    for at in range(0, len(whole), 997):
        assert connection.next_event() is None
        assert connection.wants_bytes
        connection.receive(whole[at : at + 997])
    assert (connection.next_event() is None) == (state is State.SKIPPING)
    assert len(connection._inbox) == 0


def test_before_authentication_little_is_held() -> None:
    connection, owner = Connection(), Owner()
    connection.receive(CLIENT["StartupMessage"]("3.0", {"user": "anna"}))
    owner.serve(connection)
    sent = 0
    while connection.wants_bytes:
        connection.receive(b"p\0\0\0\x0e")
        sent += 5
    assert sent <= 10_010


@pytest.mark.parametrize("wrong", [{"message": 0}, {"startup": -1}, {"message": 100}])
def test_limits_that_make_no_sense_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Limits(**wrong)
