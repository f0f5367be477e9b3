"""The tables of `states` cover every pair, agree with each other, and are what the connection does."""

from __future__ import annotations

import re

import pytest

from auditor.proxy.protocol import Connection, OutOfTurn, State, events, states
from auditor.proxy.protocol.states import CLIENT, OWNER, Backend, Frontend
from tests.auditor.proxy.protocol.reaching import ANSWER, ERROR, SENT, reached
from tests.auditor.proxy.protocol.wire import Reader


@pytest.mark.parametrize("state", State)
def test_every_state_is_one_partys_turn(state: State) -> None:
    assert (state in CLIENT) + (state in OWNER) + (state is State.CLOSED) == 1
    assert reached(state).owner_turn == (state in OWNER)


@pytest.mark.parametrize("kind", Frontend)
@pytest.mark.parametrize("state", CLIENT)
def test_a_message_leads_where_the_table_says_or_closes(state: State, kind: Frontend) -> None:
    connection = reached(state)
    connection.receive(SENT[kind])
    event = connection.next_event()
    target = CLIENT[state].get(kind)
    if state in states.STARTUP_STATES and kind in states.MESSAGE_TYPES.values():
        # Such bytes are a packet with an impossible length, or the beginning of one.
        assert connection.closed
    elif target is None:
        assert isinstance(event, events.Rejected)
        assert event.error.severity == "FATAL"
        assert connection.closed
        assert list(bodies_of(connection)) == [f"ErrorResponse('FATAL', '{event.error.sqlstate}')"]
    elif kind is Frontend.SSL_REQUEST:
        assert connection.state is states.SSL_REFUSED[state]
        offering = Connection(tls="offered")
        offering._state = state
        offering.receive(SENT[kind])
        assert isinstance(offering.next_event(), events.StartTLS)
        assert offering.state is target
    else:
        assert connection.state is target
        assert connection.next_event() is None if target in CLIENT else event is not None


def bodies_of(connection: Connection) -> list[str]:
    reader = Reader()
    reader.startup = False
    return list(reader.read(connection.data_to_send()))


@pytest.mark.parametrize("kind", Backend)
@pytest.mark.parametrize("state", State)
def test_an_answer_leads_where_the_table_says_or_is_a_fault_of_the_owner(state: State, kind: Backend) -> None:
    connection = reached(state)
    target = OWNER.get(state, {}).get(kind)
    if kind in states.ASYNCHRONOUS:
        target = None if state in states.UNSTARTED or state is State.CLOSED else state
    if target is None:
        with pytest.raises(OutOfTurn, match=kind.value):
            ANSWER[kind](connection)
        assert connection.state is state
        assert connection.data_to_send() == b""
    else:
        ANSWER[kind](connection)
        assert connection.state is target
        assert bodies_of(connection)[-1].startswith(kind.value)


@pytest.mark.parametrize("state", [state for state in State if state in OWNER])
def test_the_next_event_is_not_given_before_the_last_is_answered(state: State) -> None:
    connection = reached(state)
    with pytest.raises(OutOfTurn):
        connection.next_event()


@pytest.mark.parametrize("state", State)
def test_a_fatal_error_is_said_in_every_state_but_in_a_handshake_and_after_the_end(state: State) -> None:
    connection = reached(state)
    connection.fatal(ERROR)
    assert connection.closed
    silent = (State.TLS_HANDSHAKE, State.CLOSED)
    assert bodies_of(connection) == ([] if state in silent else ["ErrorResponse('FATAL', 'XX000')"])
    assert connection.next_event() is None
    assert not connection.wants_bytes


@pytest.mark.parametrize("kind", states.AFTER_MALFORMED)
def test_a_malformed_body_leads_where_the_table_says(kind: Frontend) -> None:
    connection = reached(State.READY)
    connection.receive(SENT[kind][:1] + b"\0\0\0\7\1\1\1")
    event = connection.next_event()
    assert connection.state is states.AFTER_MALFORMED[kind]
    if kind is Frontend.TERMINATE:
        assert isinstance(event, events.Terminate)
        return
    assert isinstance(event, events.Rejected)
    assert event.error.severity == "ERROR"
    ready = ["ReadyForQuery('E')"] if connection.state is State.READY else []
    assert bodies_of(connection) == [f"ErrorResponse('ERROR', '{event.error.sqlstate}')", *ready]


def test_every_message_that_ready_takes_has_a_place_for_its_faults() -> None:
    assert set(states.AFTER_MALFORMED) == set(CLIENT[State.READY]) - states.IGNORED


def test_what_is_skipped_is_what_ready_takes() -> None:
    assert set(CLIENT[State.SKIPPING]) == set(CLIENT[State.READY])
    obeyed = {kind for kind, target in CLIENT[State.SKIPPING].items() if target is not State.SKIPPING}
    assert obeyed == {Frontend.SYNC, Frontend.TERMINATE}


def test_every_state_can_be_reached_and_left() -> None:
    steps = [*CLIENT.items(), *OWNER.items()]
    targets = {target for _, table in steps for target in table.values()}
    made = {State.STARTUP, State.TLS_STARTUP, states.DESCRIBE_PORTAL, *states.SSL_REFUSED.values()}
    assert targets | made == set(State)
    stuck = {state for state, table in steps if not set(table.values()) - {state}}
    assert stuck == {State.TLS_HANDSHAKE}  # left by tls_established


def test_no_answer_lets_anybody_in_but_the_end_of_sasl() -> None:
    leading = {state for state, table in OWNER.items() if Backend.AUTHENTICATION_OK in table}
    assert leading == {State.AUTHENTICATED}
    assert {state for state, table in OWNER.items() if State.AUTHENTICATED in table.values()} == {
        State.SASL_JUDGING
    }


def test_the_rules_are_numbered_through() -> None:
    numbers = re.findall(r"^ ?(\d+)\. ", states.__doc__ or "", re.MULTILINE)
    assert [int(number) for number in numbers] == list(range(1, len(numbers) + 1))
