"""A client and an owner that do whatever they may, in any order, never lose each other.

The model knows the tables' promise only: it is the client's turn exactly when nothing is left to answer, each
ReadyForQuery answers one Query or Sync, and the client can always find out where it stands by a Sync.
"""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from auditor.proxy.protocol import Limits, Query, State, Transaction, events
from auditor.proxy.protocol.states import CLIENT, OWNER, Frontend
from tests.auditor.proxy.protocol.reaching import ANSWER, SENT, reached
from tests.auditor.proxy.protocol.wire import CLIENT as MAKE
from tests.auditor.proxy.protocol.wire import Reader

NAMES = st.sampled_from(["", "a", "b"])
MESSAGES = st.one_of(
    st.sampled_from([SENT[kind] for kind in CLIENT[State.READY] if kind is not Frontend.TERMINATE]),
    st.builds(MAKE["Parse"], NAMES, st.just("SELECT $1")),
    st.builds(MAKE["Bind"], NAMES, NAMES),
    st.builds(MAKE["Execute"], NAMES),
    st.builds(MAKE["Describe"], st.sampled_from("SP"), NAMES),
    st.builds(MAKE["Close"], st.sampled_from("SP"), NAMES),
    st.builds(MAKE["Message"], st.sampled_from("QPBDECHSdcf"), st.binary(max_size=10)),
)


class Machine(RuleBasedStateMachine):
    """Messages go in, cut anywhere; answers are any that the tables allow."""

    def __init__(self) -> None:
        super().__init__()
        self.connection = reached(State.READY)
        self.reader = Reader()
        self.reader.startup = False
        self.wire = b""
        self.asked = self.ready = 0
        """How many events and faults ask for ReadyForQuery, and how many there were."""

    @rule(message=MESSAGES)
    def client_sends(self, message: bytes) -> None:
        self.wire += message

    @precondition(lambda self: self.wire)
    @rule(size=st.integers(1, 60))
    def bytes_arrive(self, size: int) -> None:
        self.connection.receive(self.wire[:size])
        self.wire = self.wire[size:]

    @precondition(lambda self: not self.connection.owner_turn)
    @rule()
    def owner_looks(self) -> None:
        event = self.connection.next_event()
        self.asked += isinstance(event, Query | events.Sync)
        if isinstance(event, events.Rejected):
            assert event.error.severity == "ERROR"
            self.asked += self.connection.state is State.READY

    @precondition(lambda self: self.connection.owner_turn)
    @rule(data=st.data())
    def owner_answers(self, data: st.DataObject) -> None:
        possible = sorted(OWNER[self.connection.state], key=lambda kind: kind.value)
        ANSWER[data.draw(st.sampled_from(possible))](self.connection)

    @rule(status=st.sampled_from(Transaction))
    def transaction_changes(self, status: Transaction) -> None:
        self.connection.set_transaction(status)

    @rule()
    def bytes_leave(self) -> None:
        said = list(self.reader.read(self.connection.data_to_send()))
        self.ready += sum(text.startswith("ReadyForQuery") for text in said)

    @invariant()
    def it_is_somebodys_turn(self) -> None:
        assert self.connection.owner_turn == (self.connection.state not in CLIENT)
        assert not self.connection.closed

    @invariant()
    def what_is_kept_is_what_is_counted(self) -> None:
        statements = self.connection.statements
        kept = [*statements._statements.values(), *statements._portals.values()]
        assert statements.size == sum(each.size for each in kept) <= Limits().memory

    def teardown(self) -> None:
        """However it went: the rest is answered, a Sync brings the client back, and all is counted."""
        connection = self.connection
        connection.receive(self.wire + MAKE["Sync"]())
        while connection.owner_turn or not self._done():
            possible = OWNER[connection.state] if connection.owner_turn else {}
            for kind, target in reversed(possible.items()):  # the last one leads on
                if target is not connection.state:
                    ANSWER[kind](connection)
                    break
        self.bytes_leave()
        assert connection.state is State.READY
        assert self.ready == self.asked

    def _done(self) -> bool:
        before = self.asked
        event = self.connection.next_event()
        self.asked += isinstance(event, Query | events.Sync)
        if isinstance(event, events.Rejected):
            self.asked += self.connection.state is State.READY
        return event is None and before == self.asked


TestMachine = Machine.TestCase
TestMachine.settings = settings(stateful_step_count=40)
