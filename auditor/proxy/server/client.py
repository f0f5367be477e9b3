"""One client at the server: moves bytes between its wire and its session, and runs the session's jobs.

Promises that a job that is canceled, late, or whose client is gone is answered at once and interrupted; that
the next job of the same client waits for it to end, so that one client has one job at a time; and that a
client that does not come in within the deadline is let go.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any

from auditor.proxy.protocol import CancelRequest, Connection, ErrorFields, ProtocolError, events
from auditor.proxy.protocol.sqlstate import CANCELED, SHUTDOWN, STARTUP_TIMED_OUT, TIMED_OUT
from auditor.proxy.server.wire import Lost, Wire
from auditor.proxy.session.session import Session
from auditor.proxy.session.steps import Job, Steps
from auditor.proxy.users import User

SOCKETFUL = 64 << 10
"""Bytes that are queued before they are sent."""
_LINGER = 10.0
_AGAIN = 0.05
"""Seconds between two interrupts: DuckDB forgets one that comes before a query."""


_Outcome = tuple[object, Exception | None]


@dataclass(frozen=True)
class Times:
    """Seconds that one client may take."""

    startup: float = 30.0
    """From the first byte until it has come in."""
    statement: float = 60.0
    """One statement; SET statement_timeout may make it less."""
    reader: float = 300.0
    """To take what is sent to it."""


class Client:
    """One connection, from accept to close."""

    def __init__(
        self,
        wire: Wire,
        connection: Connection,
        session: Session,
        pool: Executor,
        interrupt: Callable[[int], None],
        times: Times,
    ) -> None:
        """Prepare.

        Args:
            wire: Its socket.
            connection: Its protocol.
            session: Its session.
            pool: Threads for its jobs.
            interrupt: Interrupts what a thread runs in the database.
            times: What it may take.
        """
        self._wire, self._connection, self._session = wire, connection, session
        self._pool, self._interrupt, self._times = pool, interrupt, times
        self._canceled = asyncio.Event()
        self._stopping: ErrorFields | None = None
        self._job: Future[_Outcome] | None = None
        self._thread = 0
        self._turn = threading.Lock()
        self.busy = False
        """Whether it has a statement running."""
        self.canceled: CancelRequest | None = None
        """What it asked to be stopped, where it came for nothing else."""

    @property
    def user(self) -> User | None:
        """Who came in."""
        return self._session.user

    def cancel(self) -> None:
        """Stop what runs, if anything does."""
        if self.busy:
            self._canceled.set()

    def drop(self) -> None:
        """End the connection without a word."""
        self._wire.abort()

    def shut_down(self) -> None:
        """End the connection: now if it is idle, else after what runs."""
        self._stopping = SHUTDOWN
        if not self.busy:
            self._say_last(SHUTDOWN)

    def _say_last(self, fields: ErrorFields) -> None:
        self._connection.fatal(fields)
        with contextlib.suppress(Lost):
            self._wire.write(self._connection.data_to_send())
        self._wire.gone.set()
        self._wire.close()

    async def serve(self, context: Callable[[], ssl.SSLContext | None]) -> None:
        """Serve until one of the two has enough."""
        deadline = asyncio.get_running_loop().call_later(self._times.startup, self._late)
        try:
            while not self._connection.closed:
                await self._answer_all(context)
                if self._session.user is not None:
                    deadline.cancel()
                await self._send()
                if self._connection.closed:
                    break
                if self._stopping is not None:
                    self._say_last(self._stopping)
                    break
                data = await self._wire.read()
                if data:
                    self._connection.receive(data)
                else:
                    self._connection.receive_eof()
        except Lost:
            pass
        finally:
            deadline.cancel()
            await self._let_go()
            self._wire.close()
            # Who does not take the last words does not hold the socket either.
            asyncio.get_running_loop().call_later(_LINGER, self._wire.abort)

    def _late(self) -> None:
        if self._session.user is None:
            self._say_last(STARTUP_TIMED_OUT)

    async def _answer_all(self, context: Callable[[], ssl.SSLContext | None]) -> None:
        while not self._connection.closed and self._stopping is None:
            event = self._connection.next_event()
            if event is None:
                return
            match event:
                case events.StartTLS(hello):
                    made = context()
                    if made is None:
                        raise Lost
                    self._wire.write(self._connection.data_to_send())
                    await self._wire.start_tls(made, self._times.startup, hello)
                    self._connection.tls_established()
                case CancelRequest():
                    self.canceled = event
                case events.Terminate() | events.Disconnected() | events.Closed() | events.Rejected():
                    pass
                case events.Flush():
                    await self._send()
                case _:
                    await self._drive(self._session.handle(event))
            if self._connection.queued > SOCKETFUL:
                await self._send()

    async def _send(self) -> None:
        await self._wire.send(self._connection.data_to_send(), self._times.reader)

    # --- jobs

    async def _drive(self, steps: Steps[None]) -> None:
        """Do what the session asks for, until its answer is complete."""
        self._canceled.clear()
        self.busy = True
        try:
            step = next(steps)
            while True:
                if not isinstance(step, Job):
                    await self._send()
                    step = steps.send(None)
                    continue
                try:
                    given = await self._run(step)
                except Lost:
                    raise
                except Exception as error:  # noqa: BLE001 -- the session's: it knows which are expected
                    step = steps.throw(error)
                else:
                    step = steps.send(given)
        except StopIteration:
            pass
        finally:
            self.busy = False
            steps.close()

    async def _run(self, job: Job) -> object:
        """Run a job in a thread; give it up when it is canceled or late, or when its client is gone."""
        await self._let_go()
        running = self._job = self._pool.submit(self._noted, job)
        limit = min(job.seconds or self._times.statement, self._times.statement)
        waits: list[asyncio.Future[Any]] = [
            asyncio.ensure_future(each.wait()) for each in (self._canceled, self._wire.gone)
        ]
        try:
            await asyncio.wait(
                [asyncio.wrap_future(running), *waits], timeout=limit, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            for each in waits:
                each.cancel()
        if self._wire.gone.is_set():
            raise Lost
        if running.done() and not self._canceled.is_set():
            self._job = None
            given, error = running.result()
            if error is not None:
                raise error
            return given
        self._stop()
        fields = CANCELED if self._canceled.is_set() else TIMED_OUT
        raise ProtocolError(fields.sqlstate, fields.message, hint=fields.hint)

    def _noted(self, job: Job) -> _Outcome:
        """Run a job in a thread. What it raises is given back: asyncio would print what nobody asks for."""
        self._thread = threading.get_ident()
        try:
            return job.work(), None
        except Exception as error:  # noqa: BLE001 -- raised again where the session waits for it
            return None, error
        finally:
            with self._turn:
                self._thread = 0

    def _stop(self) -> None:
        """Interrupt the thread of this client's job, and no job that it has after it."""
        with self._turn:
            if self._thread:
                self._interrupt(self._thread)

    async def _let_go(self) -> None:
        """Wait for a job that was given up, interrupting it as long as it takes."""
        job, self._job = self._job, None
        if job is None or job.cancel():  # has it not begun, it never will
            return
        while not job.done():
            self._stop()
            await asyncio.sleep(_AGAIN)
