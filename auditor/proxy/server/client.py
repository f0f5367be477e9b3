"""One client at the server: moves bytes between its wire and its session, and runs the session's jobs.

Promises that a job that is canceled, late, or whose client is gone is answered at once; that it is
interrupted then, and the next job of the same client waits for it to end, so that one client has one job at a
time, unless the gate is deciding it, which goes on (`works`); and that a client that does not come in within
the deadline is let go.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from auditor.proxy.protocol import CancelRequest, Connection, ErrorFields, ProtocolError, events
from auditor.proxy.protocol.sqlstate import CANCELED, SHUTDOWN, STARTUP_TIMED_OUT, TIMED_OUT
from auditor.proxy.server.wire import Lost, Wire
from auditor.proxy.server.works import Work, Works
from auditor.proxy.session.session import Session
from auditor.proxy.session.steps import Job, Steps
from auditor.proxy.users import User

SOCKETFUL = 64 << 10
"""Bytes that are queued before they are sent."""
_LINGER = 10.0
_AGAIN = 0.05
"""Seconds between two interrupts: DuckDB forgets one that comes before a query."""


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
        works: Works,
        times: Times,
    ) -> None:
        """Prepare.

        Args:
            wire: Its socket.
            connection: Its protocol.
            session: Its session.
            works: Runs its jobs.
            times: What it may take.
        """
        self._wire, self._connection, self._session = wire, connection, session
        self._works, self._times = works, times
        self._canceled = asyncio.Event()
        self._stopping: ErrorFields | None = None
        self._work: Work | None = None
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
        loop = asyncio.get_running_loop()
        until = loop.time() + min(job.seconds or self._times.statement, self._times.statement)
        while (other := self._works.same(job)) is not None:
            if not await self._waited(other, until - loop.time()):
                raise _error(CANCELED if self._canceled.is_set() else self._works.decides(other) or TIMED_OUT)
        work = self._work = self._works.begin(job)
        if await self._waited(work, until - loop.time()):
            self._work = None
            given, error = work.future.result()
            if error is not None:
                raise error
            return given
        said = self._works.leave(work)
        if said is None:
            self._works.stop(work)
        else:
            self._work = None
        raise _error(CANCELED if self._canceled.is_set() else said or TIMED_OUT)

    async def _waited(self, work: Work, seconds: float) -> bool:
        """Whether a work has ended, before this client has canceled or its time is up.

        Raises:
            Lost: the client is gone.
        """
        waits: list[asyncio.Future[Any]] = [
            asyncio.ensure_future(each.wait()) for each in (self._canceled, self._wire.gone)
        ]
        try:
            await asyncio.wait(
                [asyncio.wrap_future(work.future), *waits],
                timeout=max(seconds, 0.0),
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            for each in waits:
                each.cancel()
        if self._wire.gone.is_set():
            raise Lost
        return work.future.done() and not self._canceled.is_set()

    async def _let_go(self) -> None:
        """Wait for a job that was given up, interrupting it as long as it takes; not for one that decides."""
        work, self._work = self._work, None
        if work is None or work.future.cancel():  # has it not begun, it never will
            return
        while not work.future.done() and self._works.leave(work) is None:
            self._works.stop(work)
            await asyncio.sleep(_AGAIN)


def _error(fields: ErrorFields) -> ProtocolError:
    return ProtocolError(fields.sqlstate, fields.message, hint=fields.hint, detail=fields.detail)
