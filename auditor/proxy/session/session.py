"""One client's session: answers the events of its connection, from the login to the end.

Pure of sockets and of asyncio: what blocks is handed out as jobs (`steps`). Promises that every event is
answered in full or the connection ends, and that a client is told nothing of a mistake of ours but that there
was one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from auditor.errors import QueryRefused, QueryUnsupported
from auditor.proxy.catalogue import CatalogueError, Context
from auditor.proxy.protocol import Connection, ErrorFields, Query, State, events
from auditor.proxy.protocol.events import Event
from auditor.proxy.protocol.messages import Parse
from auditor.proxy.protocol.sqlstate import UNAVAILABLE
from auditor.proxy.session.classifying import classify
from auditor.proxy.session.cursors import Cursor, Holding, columns, copy_out, send
from auditor.proxy.session.executing import INTERNAL, TOLD, Executor
from auditor.proxy.session.hinting import placed
from auditor.proxy.session.lexing import split
from auditor.proxy.session.login import Door, Login
from auditor.proxy.session.prepared import Prepares
from auditor.proxy.session.settings import SETTINGS, Settings
from auditor.proxy.session.steps import Steps
from auditor.proxy.sources import Sources, checked, told
from auditor.proxy.users import Role, User

_INLINE = 1_000
"""Characters of a text that is split at once."""


@dataclass(frozen=True)
class Peer:
    """What a session knows of its connection."""

    pid: int
    secret: int
    """What a CancelRequest must know; 32 bits."""
    server: tuple[str, int] | None = None
    client: tuple[str, int] | None = None
    started: datetime | None = None
    """When the server started."""


class Observer:
    """Is told what happens in a session, without values. This one listens to nothing."""

    def authenticated(self, user: str, role: str) -> None:
        """Somebody has come in."""

    def rejected(self, user: str, sqlstate: str) -> None:
        """Somebody has not."""

    def answered(self, verdict: str, code: str, seconds: float) -> None:
        """A statement was dealt with: answered, refused, unsupported or failed."""

    def unanswered(self, user: str, statement: str, reason: str) -> None:
        """A statement about the catalogue was not answered."""

    def failed(self, error: Exception) -> None:
        """A mistake of ours."""


class Session:
    """Answers one connection."""

    def __init__(
        self,
        connection: Connection,
        sources: Sources,
        door: Door,
        peer: Peer,
        observer: Observer | None = None,
        clock: Callable[[], float] = time.monotonic,
        holding: Holding | None = None,
    ) -> None:
        """Begin with a client who has shown nothing.

        Args:
            connection: The client's; the caller moves its bytes.
            sources: What queries are answered from.
            door: Who may come in.
            peer: The connection's numbers and addresses.
            observer: Is told what happens.
            clock: Seconds, for the observer.
            holding: The results that wait in all sessions.
        """
        self._connection, self._sources, self._peer = connection, sources, peer
        self._observer, self._clock = observer or Observer(), clock
        self._holding = holding or Holding()
        self._login = Login(connection, door)
        self.user: User | None = None
        """Who came in."""
        self._settings = Settings({})
        self._told: dict[str, str] = {}
        self._enter(self._settings)

    def _enter(self, settings: Settings) -> None:
        self._settings = settings
        self._executor = Executor(
            self._connection, self._sources, settings, self._context, self._observer.failed, self._holding
        )
        self._prepares = Prepares(self._connection, self._sources, self._executor)

    def handle(self, event: Event) -> Steps[None]:
        """Answer an event; StartTLS, CancelRequest, Terminate and Disconnected are the server's."""
        try:
            yield from self._handle(event)
        except Exception as error:  # noqa: BLE001 -- whatever it is, the client gets an error and not a hang
            self._observer.failed(error)
            self._connection.fatal(INTERNAL)

    def _handle(self, event: Event) -> Steps[None]:
        match event:
            case events.Startup():
                self._login.begin(event)
            case events.SASLInitialResponse() | events.SASLResponse():
                self._authenticate(event)
            case Query(text):
                yield from self._query(text)
            case events.Sync():
                self._report()
                self._connection.ready_for_query()
            case Parse() | events.BindPortal() | events.DescribeStatement() | events.DescribePortal():
                try:
                    yield from self._extended(event)
                except TOLD as error:
                    self._refuse(error, self._clock())
            case events.ExecutePortal():
                yield from self._execute(event)

    # --- coming in

    def _authenticate(self, event: events.SASLInitialResponse | events.SASLResponse) -> None:
        found = self._login.answer(event)
        if found is None:
            return
        assert self._login.startup is not None
        if isinstance(found, User):
            try:
                self._enter(self._initial_settings(found))
            except TOLD as error:
                found = told(error)
        if isinstance(found, ErrorFields):
            self._observer.rejected(self._login.startup.user, found.sqlstate)
            self._connection.fatal(found)
            return
        self.user = found
        self._observer.authenticated(found.name, found.role.value)
        self._connection.authentication_ok()
        self._report()
        self._connection.backend_key_data(self._peer.pid, self._peer.secret)
        self._connection.ready_for_query()

    def _initial_settings(self, user: User) -> Settings:
        fixed = {"session_authorization": user.name}
        settings = Settings(fixed)
        for name, value in self._login.settings().items():
            settings.change(name, value)
        # What RESET goes back to is what the client began with.
        begun = Settings({name: settings[name] for name in SETTINGS} | fixed)
        for name, value in settings.kept[0].items():
            if name not in SETTINGS:
                begun.change(name, value)
        return begun

    def _context(self) -> Context:
        assert self.user is not None
        server, client = self._peer.server or (None, None), self._peer.client or (None, None)
        return Context(
            self.user.name,
            self.user.role is Role.ADMINISTRATOR,
            self._peer.pid,
            self._settings.all(),
            server[0],
            server[1],
            client[0],
            client[1],
            self._peer.started,
        )

    # --- simple queries

    def _query(self, text: str) -> Steps[None]:
        begun = self._clock()
        try:
            if len(text) <= _INLINE:
                statements = split(text)
            else:
                statements = yield from self._executor.job(partial(split, text))  # type: ignore[assignment]
            if not statements:
                self._connection.empty_query_response()
            for statement in statements:
                begun = self._clock()
                yield from self._statement(statement)
        except TOLD as error:
            self._refuse(error, begun)
        if not self._connection.closed:
            self._report()
            self._connection.ready_for_query()

    def _statement(self, text: str) -> Steps[None]:
        begun = self._clock()
        checked(text)
        if len(text) <= _INLINE:
            command = classify(text)
        else:
            command = yield from self._executor.job(partial(classify, text))  # type: ignore[assignment]
        outcome = yield from self._executor.run(command)
        if not isinstance(outcome, Cursor):
            self._connection.command_complete(outcome)
            return
        result = outcome.result
        if outcome.copy is not None:
            sent = yield from copy_out(self._connection, outcome, self._settings["TimeZone"])
            self._connection.command_complete(f"COPY {sent}")
            self._observer.answered("answered", result.code, self._clock() - begun)
            return
        self._connection.row_description(columns(result.names, result.types))
        sent = yield from send(self._connection, outcome, None, (), self._settings["TimeZone"])
        self._connection.command_complete(outcome.tag if outcome.tag == "SHOW" else f"{outcome.tag} {sent}")
        self._observer.answered("answered", result.code, self._clock() - begun)

    # --- extended queries

    def _extended(
        self, event: Parse | events.BindPortal | events.DescribeStatement | events.DescribePortal
    ) -> Steps[None]:
        match event:
            case Parse():
                yield from self._prepares.parse(event, self._context())
            case events.BindPortal(portal):
                yield from self._prepares.bind(portal)
            case events.DescribeStatement():
                yield from self._prepares.describe_statement(event, self._context())
            case events.DescribePortal():
                yield from self._prepares.describe_portal(event)

    def _execute(self, event: events.ExecutePortal) -> Steps[None]:
        begun = self._clock()
        try:
            code = yield from self._prepares.execute(event)
        except TOLD as error:
            self._refuse(error, begun)
            return
        if code:
            self._observer.answered("answered", code, self._clock() - begun)

    # --- both

    def _refuse(self, error: Exception, begun: float) -> None:
        assert isinstance(error, TOLD)
        fields = told(error)
        if fields is UNAVAILABLE:
            self._observer.failed(error)
        if isinstance(error, CatalogueError):
            self._observer.unanswered(self.user.name if self.user else "", error.statement, error.message)
        verdict, code = "failed", fields.sqlstate
        if isinstance(error, QueryRefused | QueryUnsupported):
            verdict, code = error.decision.verdict, error.decision.code
        self._observer.answered(verdict, str(code), self._clock() - begun)
        self._connection.error(placed(fields, self._settings))

    def _report(self) -> None:
        """Tell of settings that are not as the client was told."""
        if self._connection.closed or self._connection.state is State.CLOSED:
            return
        now = self._settings.reported()
        for name, value in now.items():
            if self._told.get(name) != value:
                self._connection.parameter_status(name, value)
        self._told = now
