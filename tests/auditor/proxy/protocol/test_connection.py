"""What a connection does beside the transcripts: turns, encryption, transactions, the end."""

from __future__ import annotations

import pytest

from auditor.proxy.protocol import (
    Column,
    Connection,
    ErrorFields,
    Limits,
    OutOfTurn,
    Portal,
    Query,
    State,
    Statement,
    Transaction,
    events,
)
from tests.auditor.proxy.protocol.owner import Owner
from tests.auditor.proxy.protocol.reaching import reached
from tests.auditor.proxy.protocol.wire import CLIENT, Reader, data_rows, startup

ERROR = ErrorFields("XX000", "no")


def said(connection: Connection) -> list[str]:
    reader = Reader()
    reader.startup = connection.state in (State.STARTUP, State.SSL_REFUSED, State.TLS_HANDSHAKE)
    return list(reader.read(connection.data_to_send()))


def sent(connection: Connection, *messages: bytes) -> list[str]:
    """What is answered when a known owner serves."""
    connection.receive(b"".join(messages))
    Owner().serve(connection)
    return said(connection)


# Startup


def test_a_startup_tells_who_wants_what() -> None:
    connection = Connection()
    connection.receive(startup("3.0", {"user": "anna", "application_name": "psql", "replication": "off"}))
    event = connection.next_event()
    assert event == events.Startup("anna", "anna", {"application_name": "psql"}, encrypted=False)


def test_a_startup_inside_tls_says_so() -> None:
    connection = reached(State.TLS_STARTUP)
    connection.receive(startup("3.0", {"user": "anna", "database": "staff"}))
    event = connection.next_event()
    assert event == events.Startup("anna", "staff", {}, encrypted=True)


@pytest.mark.parametrize("ahead", [b"x", startup("3.0", {"user": "mallory"})])
def test_a_byte_ahead_of_tls_closes_without_a_word_once_the_handshake_may_have_begun(ahead: bytes) -> None:
    connection = reached(State.TLS_HANDSHAKE)
    connection.receive(ahead)
    event = connection.next_event()
    assert isinstance(event, events.Rejected)
    assert event.error.sqlstate == "08P01"
    assert connection.closed
    assert connection.data_to_send() == b""
    with pytest.raises(OutOfTurn):
        connection.tls_established()


def test_a_byte_ahead_of_tls_replaces_an_acceptance_that_was_not_sent() -> None:
    connection = Connection(tls="offered")
    connection.receive(CLIENT["SSLRequest"]())
    assert isinstance(connection.next_event(), events.StartTLS)
    connection.receive(b"x")
    assert connection.data_to_send()[:1] == b"E"


@pytest.mark.parametrize("request_", ["SSLRequest", "GSSENCRequest"])
def test_a_byte_that_does_not_wait_for_a_refusal_closes_too(request_: str) -> None:
    connection = Connection()
    connection.receive(CLIENT[request_]())
    assert connection.next_event() is None
    connection.receive(startup("3.0", {"user": "anna"}))
    assert isinstance(connection.next_event(), events.Rejected)
    assert connection.data_to_send()[:2] == b"NE"


def test_tls_cannot_be_up_before_it_was_announced() -> None:
    connection = Connection(tls="required")
    connection.receive(CLIENT["SSLRequest"]())
    connection.next_event()
    with pytest.raises(OutOfTurn):
        connection.tls_established()
    connection.data_to_send()
    connection.tls_established()
    assert connection.state is State.TLS_STARTUP


def test_who_is_refused_for_want_of_tls_is_told_what_to_do() -> None:
    connection = Connection(tls="required")
    connection.receive(startup("3.0", {"user": "anna"}))
    event = connection.next_event()
    assert isinstance(event, events.Rejected)
    assert "sslmode" in event.error.hint
    assert "anna" not in event.error.message


def test_too_many_connections_can_be_said_before_anything_is_read() -> None:
    connection = Connection()
    connection.fatal(ErrorFields("53300", "sorry", severity="FATAL"))
    assert said(connection) == ["ErrorResponse('FATAL', '53300')"]
    connection.receive(startup("3.0", {"user": "anna"}))
    assert connection.next_event() is None


# Turns


def test_messages_that_are_sent_ahead_are_given_out_one_by_one() -> None:
    connection = reached(State.READY)
    connection.receive(CLIENT["Query"]("a") + CLIENT["Query"]("b"))
    assert connection.next_event() == Query("a")
    with pytest.raises(OutOfTurn):
        connection.next_event()
    connection.command_complete("A")
    with pytest.raises(OutOfTurn):
        connection.next_event()
    connection.ready_for_query()
    assert connection.next_event() == Query("b")


def test_a_fault_of_the_owner_sends_nothing_and_can_be_mended() -> None:
    connection = reached(State.QUERYING)
    connection.data_to_send()
    for wrong in (
        connection.ready_for_query,
        connection.no_data,
        lambda: connection.data_row_messages(data_rows([[b"1"]])),
    ):
        with pytest.raises(OutOfTurn):
            wrong()
    assert connection.data_to_send() == b""
    connection.error(ERROR)
    connection.ready_for_query()
    assert connection.state is State.READY


def test_a_result_needs_its_description_in_a_simple_query() -> None:
    connection = reached(State.QUERYING)
    with pytest.raises(OutOfTurn):
        connection.data_row_messages(data_rows([[b"1"]]))
    connection.row_description([Column("a", 23, 4)])
    connection.data_row_messages(data_rows([[b"1"]]))
    with pytest.raises(OutOfTurn):
        connection.ready_for_query()
    connection.command_complete("SELECT 1")
    connection.ready_for_query()


def test_an_error_in_the_middle_of_rows_ends_them() -> None:
    connection = reached(State.EXECUTING)
    connection.data_row_messages(data_rows([[b"1"]]))
    connection.error(ERROR)
    assert said(connection) == ["DataRow([b'1'])", "ErrorResponse('ERROR', 'XX000')"]
    assert connection.state is State.SKIPPING


def test_a_fatal_error_by_any_method_closes() -> None:
    connection = reached(State.QUERYING)
    connection.error(ErrorFields("57P01", "bye", severity="FATAL"))
    assert connection.closed
    assert said(connection) == ["ErrorResponse('FATAL', '57P01')"]


def test_notices_and_settings_may_be_told_at_any_time() -> None:
    connection = reached(State.READY)
    connection.notice(ErrorFields("01000", "by the way", severity="WARNING"))
    connection.parameter_status("TimeZone", "UTC")
    assert said(connection) == ["NoticeResponse('WARNING', '01000')", "ParameterStatus('TimeZone', 'UTC')"]
    assert connection.state is State.READY


def test_what_is_queued_is_counted() -> None:
    connection = reached(State.QUERYING)
    connection.row_description([Column("a", 25)])
    connection.data_row_messages(data_rows([[b"x" * 1_000]] * 10))
    assert 10_000 < connection.queued == len(connection.data_to_send())
    assert connection.queued == 0


# Transactions


def test_an_error_fails_a_block_and_nothing_else() -> None:
    connection = reached(State.READY)
    for status, after in (
        (Transaction.IDLE, "I"), (Transaction.BLOCK, "E"), (Transaction.FAILED, "E")
    ):  # fmt: skip
        connection.set_transaction(status)
        assert sent(connection, CLIENT["Query"]("SELEC"))[-1] == f"ReadyForQuery('{after}')"


def test_a_fault_that_the_connection_answers_itself_fails_a_block_too() -> None:
    connection = reached(State.READY)
    connection.set_transaction(Transaction.BLOCK)
    assert sent(connection, CLIENT["Message"]("Q", b"no end"))[-1] == "ReadyForQuery('E')"
    assert connection.transaction is Transaction.FAILED


def test_the_end_of_a_transaction_ends_its_portals_and_not_its_statements() -> None:
    connection = reached(State.READY)
    assert connection.statements.portal("p")
    connection.set_transaction(Transaction.IDLE)
    assert sent(connection, CLIENT["Execute"]("p"), CLIENT["Sync"]())[0] == "ErrorResponse('ERROR', '34000')"
    assert connection.statements.statement("s")


def test_a_failed_block_keeps_its_portals_for_the_savepoint_before_them() -> None:
    connection = reached(State.READY)
    assert sent(connection, CLIENT["Query"]("SELEC"))[-1] == "ReadyForQuery('E')"
    connection.set_transaction(Transaction.BLOCK)  # ROLLBACK TO SAVEPOINT
    assert connection.statements.portal("p")


@pytest.mark.parametrize("fault", [CLIENT["FunctionCall"](1), CLIENT["Message"]("Q", b"no end")])
def test_a_fault_outside_of_a_block_ends_the_portals(fault: bytes) -> None:
    connection = reached(State.READY)
    connection.set_transaction(Transaction.IDLE)
    connection.statements.declare(Portal("c", Statement("", "SELECT 1", (), 1)))
    assert sent(connection, fault)[-1] == "ReadyForQuery('I')"
    assert len(connection.statements) == 1


def test_a_portal_keeps_what_its_owner_put_there() -> None:
    connection = reached(State.BINDING)
    connection.bind_complete()
    connection.receive(CLIENT["Execute"]("fresh", 2))
    event = connection.next_event()
    assert isinstance(event, events.ExecutePortal)
    event.portal.state, event.portal.rows_sent = "a cursor", 2
    connection.portal_suspended()
    connection.receive(CLIENT["Execute"]("fresh", 0))
    again = connection.next_event()
    assert isinstance(again, events.ExecutePortal)
    assert (again.portal.state, again.portal.rows_sent, again.max_rows) == ("a cursor", 2, 0)


def test_a_cursor_of_sql_can_be_described_as_a_portal() -> None:
    """As psycopg does with its named cursors."""
    connection = reached(State.READY)
    cursor = Portal("c", Statement("", "SELECT 1", (), 1), state="rows")
    connection.statements.declare(cursor)
    connection.receive(CLIENT["Describe"]("P", "c"))
    assert connection.next_event() == events.DescribePortal(cursor)


def test_a_refused_portal_is_not_kept() -> None:
    connection = reached(State.BINDING)
    connection.error(ERROR)
    connection.receive(CLIENT["Sync"]())
    connection.next_event()
    connection.ready_for_query()
    answers = sent(connection, CLIENT["Execute"]("fresh"), CLIENT["Sync"]())
    assert answers[-2] == "ErrorResponse('ERROR', '34000')"


def test_a_refused_statement_is_not_kept() -> None:
    connection = reached(State.PARSING)
    connection.error(ERROR)
    answers = sent(connection, CLIENT["Sync"](), CLIENT["Describe"]("S", "fresh"), CLIENT["Sync"]())
    assert "ErrorResponse('ERROR', '26000')" in answers


def test_a_close_tells_what_is_gone() -> None:
    connection = reached(State.READY)
    portal = connection.statements.portal("p")
    connection.receive(CLIENT["Close"]("P", "p") + CLIENT["Close"]("P", "p"))
    assert connection.next_event() == events.Closed(portal)
    assert connection.next_event() == events.Closed(None)


# The end


def test_bytes_that_end_are_told_once_after_what_came_before() -> None:
    connection = reached(State.READY)
    connection.receive(CLIENT["Query"]("a") + b"Q\0")
    connection.receive_eof()
    assert not connection.wants_bytes
    assert connection.next_event() == Query("a")
    connection.empty_query_response()
    connection.ready_for_query()
    assert connection.next_event() == events.Disconnected()
    assert connection.closed
    assert connection.next_event() is None


def test_nothing_is_kept_after_the_end() -> None:
    connection = reached(State.READY)
    connection.receive(CLIENT["Terminate"]() + CLIENT["Query"]("late"))
    assert connection.next_event() == events.Terminate()
    assert connection.next_event() is None
    assert len(connection.statements) == 0
    assert len(connection._inbox) == 0


def test_a_statement_too_many_is_refused_before_its_owner_works_on_it() -> None:
    connection, owner = Connection(limits=Limits(statements=2)), Owner()
    connection._state = State.READY
    for name in "abc":
        connection.receive(CLIENT["Parse"](name, "SELECT 1"))
        owner.serve(connection)
    assert [type(event).__name__ for event in owner.seen] == ["Parse", "Parse", "Rejected"]
    assert connection.state is State.SKIPPING
