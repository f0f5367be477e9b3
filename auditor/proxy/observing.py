"""What operators see: a line of JSON for each event, and counters for Prometheus. Never a value; a statement
only for debugging, where it is about the catalogue and was not answered.

A failure of ours is logged with the type of the exception and the places in the code: its text could quote
what a client sent or what the data hold. Those of `AuditorError` do not: they say what is out of order.
"""

from __future__ import annotations

import json
import threading
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from queue import SimpleQueue

from auditor.errors import AuditorError
from auditor.proxy.session.session import Observer

BUCKETS = (0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0)
"""Upper ends, in seconds, of what statements are counted by."""
WAITING = 10_000
"""Lines of a log that may wait to be written; what comes then is counted, and the next line says how many."""
_MAX_FRAMES = 40
_MAX_STATEMENT = 10_000


class Log:
    """Lines of JSON, written by a thread of its own: who does not read them holds up nobody."""

    def __init__(
        self,
        write: Callable[[str], object],
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        debug: bool = False,
    ) -> None:
        """Begin.

        Args:
            write: Takes one line with its end; may block; raises OSError or ValueError where it is gone.
            clock: The time.
            debug: Whether statements about the catalogue that are not answered are written down.
        """
        self.debug = debug
        self._write, self._clock = write, clock
        self._lines: SimpleQueue[str | None] = SimpleQueue()
        self._lost = 0
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def write(self, event: str, **fields: object) -> None:
        """One line; where too many wait to be written, it is counted and left out."""
        line = {"time": self._clock().isoformat(timespec="milliseconds"), "event": event, **fields}
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="log", daemon=True)
                self._thread.start()
            if self._lines.qsize() >= WAITING:
                self._lost += 1
                return
            if self._lost:
                line["lost"], self._lost = self._lost, 0
            self._lines.put(json.dumps(line, ensure_ascii=True) + "\n")

    def close(self, seconds: float = 2.0) -> None:
        """Wait until everything is written, but not longer than so many seconds."""
        with self._lock:
            thread, self._thread = self._thread, None
            if thread is not None:
                self._lines.put(None)
        if thread is not None:
            thread.join(seconds)

    def _run(self) -> None:
        while (line := self._lines.get()) is not None:
            with suppress(OSError, ValueError):  # a stream that is gone is no reason to stop
                self._write(line)


class Metrics:
    """Counters of one server."""

    def __init__(self) -> None:
        self.connections = 0
        """Open now."""
        self._counts: Counter[tuple[str, str]] = Counter()
        self._buckets = [0] * (len(BUCKETS) + 1)
        self._seconds = 0.0
        self._lock = threading.Lock()

    def count(self, name: str, labels: str = "") -> None:
        """One more of something."""
        with self._lock:
            self._counts[name, labels] += 1

    def took(self, seconds: float) -> None:
        """One statement's time."""
        with self._lock:
            place = next((i for i, end in enumerate(BUCKETS) if seconds <= end), len(BUCKETS))
            self._buckets[place] += 1
            self._seconds += seconds

    def text(self) -> str:
        """Everything in Prometheus's text format."""
        with self._lock:
            lines = ["# TYPE cae_sql_connections gauge", f"cae_sql_connections {self.connections}"]
            for name in sorted({name for name, _ in self._counts}):
                lines.append(f"# TYPE cae_sql_{name}_total counter")
                for (each, labels), count in sorted(self._counts.items()):
                    if each == name:
                        lines.append(f"cae_sql_{name}_total{labels} {count}")
            lines.append("# TYPE cae_sql_statement_seconds histogram")
            total = 0
            for end, count in zip((*BUCKETS, "+Inf"), self._buckets, strict=True):
                total += count
                lines.append(f'cae_sql_statement_seconds_bucket{{le="{end}"}} {total}')
            lines += [
                f"cae_sql_statement_seconds_sum {self._seconds:.6f}",
                f"cae_sql_statement_seconds_count {total}",
            ]
        return "\n".join(lines) + "\n"


class Watcher(Observer):
    """Writes down what one connection does."""

    def __init__(self, log: Log, metrics: Metrics, connection: int) -> None:
        self._log, self._metrics, self._connection = log, metrics, connection

    def authenticated(self, user: str, role: str) -> None:
        """Somebody has come in."""
        self._metrics.count("authentications", '{result="ok"}')
        self._log.write("authenticated", connection=self._connection, user=user, role=role)

    def rejected(self, user: str, sqlstate: str) -> None:
        """Somebody has not."""
        self._metrics.count("authentications", '{result="failed"}')
        self._log.write("rejected", connection=self._connection, user=user[:63], sqlstate=str(sqlstate))

    def answered(self, verdict: str, code: str, seconds: float) -> None:
        """A statement was dealt with."""
        self._metrics.count("statements", f'{{verdict="{verdict}"}}')
        self._metrics.took(seconds)
        self._log.write(
            "statement",
            connection=self._connection,
            verdict=verdict,
            code=code,
            milliseconds=round(seconds * 1000, 1),
        )

    def unanswered(self, user: str, statement: str, reason: str) -> None:
        """A statement about the catalogue was not answered; for debugging, it is written down."""
        if self._log.debug:
            self._log.write(
                "catalogue", level="debug", connection=self._connection, user=user, reason=reason,
                statement=statement[:_MAX_STATEMENT],
            )  # fmt: skip

    def failed(self, error: Exception) -> None:
        """A mistake of ours."""
        self._metrics.count("internal_errors")
        frames = traceback.extract_tb(error.__traceback__)[-_MAX_FRAMES:]
        places = [f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames]
        self._log.write(
            "internal error",
            connection=self._connection,
            type=type(error).__name__,
            reason=str(error) if isinstance(error, AuditorError) else "",
            traceback=places,
        )
