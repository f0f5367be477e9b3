"""`python -m tests.auditor.proxy.load`: a whole server under too many, slow, lost and impatient clients.

`cae-sql serve` runs in a process of its own over a table of millions of rows:

half-open    500 connections that never come in; a user comes in and is served all the while
connected    500 users' connections, each of which asks
slow         40 readers of 3,000,000 rows who stop reading; another is served, a quick reader gets all rows
lost         100 clients who go away in the middle of a heavy query; the server is free soon after
killed       kill -9 while 8 clients ask the gate, ten times, each time started again on the same ledger:
             clients get errors, every answer that was received is on record with its value, `cae-sql verify`
             passes

Prints the server's memory (RSS) after each step, and the most it was. With `--quick` everything is small.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import psutil

from auditor import Gate
from tests.auditor.proxy.protocol.wire import CLIENT, startup
from tests.auditor.proxy.raw import Closed, Raw
from tests.auditor.proxy.serving import PASSWORD, users_file
from tests.auditor.staff import policy_text

COUNT = CLIENT["Query"]("SELECT COUNT(*) FROM staff")
ALL = CLIENT["Query"]("SELECT id, age, dept FROM staff")
HEAVY = CLIENT["Query"](
    "SELECT COUNT(*) FROM staff a, staff b WHERE a.id * b.age + a.age * b.id > a.id * b.id + 1"
)
STEPS = ("half-open", "connected", "slow", "lost", "killed")
READY = b"Z\0\0\0\5I"


@dataclass(frozen=True)
class Size:
    """How much of everything."""

    rows: int = 3_000_000
    half_open: int = 500
    connected: int = 500
    slow: int = 40
    lost: int = 100
    kills: int = 10
    kept: int = 20_000
    """Rows of the table whose server is killed: it is opened again each time."""


QUICK = Size(200_000, 60, 60, 8, 12, 2, 20_000)


@dataclass
class Report:
    """What was found."""

    lines: list[tuple[str, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    most: float = 0.0
    """MB of memory at most."""
    start: float = 0.0
    """MB when nobody was there yet."""

    def say(self, what: str, found: object) -> None:
        self.lines.append((what, str(found)))
        print(f"{what:60}{found!s:>20}", flush=True)

    def hold(self, true: bool, promise: str) -> None:
        if not true:
            self.problems.append(promise)


class Server:
    """`cae-sql serve` in a process of its own, which may be killed and started again."""

    def __init__(self, folder: Path, report: Report) -> None:
        self.folder, self.report = folder, report
        self.port = 0
        self.process: subprocess.Popen[bytes] | None = None
        self._over = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def start(self) -> None:
        with socket.create_server(("127.0.0.1", self.port)) as free:
            self.port = free.getsockname()[1]
        command = [sys.executable, "-c", "from auditor.cli import main; main()", "serve",
                   str(self.folder / "staff.duckdb"), "-p", str(self.folder / "policy.toml"),
                   "--listen", f"127.0.0.1:{self.port}", "--users", str(self.folder / "users"),
                   "--max-connections", "1000", "--max-connections-per-user", "1000"]  # fmt: skip
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stderr=log)
        end = time.monotonic() + 120
        while time.monotonic() < end:
            with contextlib.suppress(OSError), Raw(self.port):
                return
            time.sleep(0.1)
        raise RuntimeError("the server did not start")

    def stop(self, number: int = signal.SIGTERM) -> None:
        assert self.process is not None
        self.process.send_signal(number)
        self.process.wait(60)

    def close(self) -> None:
        self._over.set()
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(30)

    @property
    def memory(self) -> float:
        assert self.process is not None
        with contextlib.suppress(psutil.Error):
            return float(psutil.Process(self.process.pid).memory_info().rss / 2**20)
        return 0.0

    def _watch(self) -> None:
        while not self._over.wait(0.1):
            if self.process is not None and self.process.poll() is None:
                self.report.most = max(self.report.most, self.memory)


def build(folder: Path, rows: int) -> None:
    """A table, a policy, users."""
    folder.mkdir()
    with duckdb.connect(str(folder / "staff.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE staff AS SELECT i::INTEGER AS id, (20 + hash(i) % 40)::INTEGER AS age, "
            "'mf'[1 + (hash(i + 1) % 2)::INT] AS sex, 'abcd'[1 + (hash(i + 2) % 4)::INT] AS dept, "
            f"(10 + 10 * (hash(i + 3) % 25))::INTEGER AS salary FROM range({rows}) t(i)"
        )
    (folder / "policy.toml").write_text(policy_text())
    users_file(folder)


@contextlib.contextmanager
def many(count: int, port: int) -> Iterator[list[Raw]]:
    """So many connections."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(Raw(port, 60)) for _ in range(count)]


def served(port: int, user: str = "bob") -> float:
    """How long somebody else takes to come in and to be answered."""
    begun = time.perf_counter()
    with Raw(port, 60) as client:
        if not client.log_in(user, PASSWORD).startswith(b"Z"):
            raise RuntimeError("another client did not come in")
        client.send(COUNT)
        client.until(READY)
    return time.perf_counter() - begun


def half_open(server: Server, count: int, report: Report) -> None:
    begins = [b"", b"\0\0", startup("3.0", {"user": "ana"}), CLIENT["SSLRequest"]()]
    slowest = 0.0
    with many(count, server.port) as clients:
        for number, client in enumerate(clients):
            client.send(begins[number % len(begins)])
            if number % 50 == 0:
                slowest = max(slowest, served(server.port))
        slowest = max(slowest, served(server.port))
        report.say(f"{count} half-open: memory, MB", f"{server.memory:,.0f}")
    report.say("another comes in and is answered within, s", f"{slowest:.3f}")


def connected(server: Server, count: int, report: Report) -> None:
    with many(count, server.port) as clients:
        begun = time.perf_counter()
        came = sum(
            client.log_in(("ana", "bob")[n % 2], PASSWORD) == b"ZI" for n, client in enumerate(clients)
        )
        for client in clients:
            client.send(COUNT)
        answered = sum(b"SELECT 1" in client.until(READY) for client in clients)
        report.say(f"{count} connected: came in", came)
        report.say("all came in and were answered within, s", f"{time.perf_counter() - begun:.1f}")
        report.say("memory, MB", f"{server.memory:,.0f}")
        report.hold(came == answered == count, f"{came} came in and {answered} were answered, of {count}")


def slow(server: Server, size: Size, report: Report) -> None:
    with many(size.slow, server.port) as clients:
        for client in clients:
            client.log_in("ana", PASSWORD)
            client.send(ALL)
        end, first = time.monotonic() + 60, dict[Raw, bytes]()
        while len(first) < len(clients) and time.monotonic() < end:
            for client in clients:
                if client not in first:
                    client.socket.settimeout(0.05)
                    with contextlib.suppress(TimeoutError, Closed):
                        first[client] = client.message()[0]
        slowest = max(served(server.port) for _ in range(10))
        rows = sum(kind == b"T" for kind in first.values())
        errors = sum(kind == b"E" for kind in first.values())
        report.say(f"{size.slow} slow readers: got a first row, an error", f"{rows}, {errors}")
        report.say("memory, MB", f"{server.memory:,.0f}")
        report.say("another comes in and is answered within, s", f"{slowest:.3f}")
        report.hold(rows > 0 and rows + errors == size.slow, "slow readers were neither answered nor refused")
    time.sleep(1)
    with Raw(server.port, 120) as client:
        client.log_in("bob", PASSWORD)
        begun = time.perf_counter()
        client.send(ALL)
        tag, got = f"SELECT {size.rows}".encode(), 0
        tail = b""
        while tag not in tail:
            client.more()
            got += len(client.received)
            tail = (tail + bytes(client.received))[-200:]
            client.received.clear()
        seconds = time.perf_counter() - begun
        report.say(f"a quick reader: {size.rows:,} rows in, s (MB)", f"{seconds:.1f} ({got / 2**20:,.0f})")


def lost(server: Server, count: int, report: Report) -> None:
    abort = struct.pack("ii", 1, 0)  # RST instead of FIN for every other
    for number in range(count):
        client = Raw(server.port, 60)
        client.log_in("ana", PASSWORD)
        client.send(HEAVY)
        if number % 2:
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, abort)
        client.close()
    begun = time.perf_counter()
    took = served(server.port)
    report.say(f"{count} lost in mid-query: another is answered within, s", f"{took:.3f}")
    assert server.process is not None
    process = psutil.Process(server.process.pid)
    while time.perf_counter() - begun < 30 and process.cpu_percent(0.5) > 20:
        pass
    report.say("nothing runs any more after, s", f"{time.perf_counter() - begun:.1f}")
    report.hold(time.perf_counter() - begun < 30, "queries of lost clients go on")


def killed(server: Server, kills: int, report: Report) -> None:
    told: list[tuple[str, str]] = []
    errors: list[str] = []
    over = threading.Event()

    def ask(place: int) -> None:
        number = place
        while not over.is_set():
            try:
                with Raw(server.port, 30) as client:
                    client.log_in(("ana", "bob")[place % 2], PASSWORD)
                    while not over.is_set():
                        number += 8
                        sql = (
                            f"SELECT SUM(salary) FROM staff WHERE age > {20 + number // 8 % 20}",
                            f"SELECT COUNT(*) FROM staff WHERE id > {number}",
                            f"SELECT SUM(salary) FROM staff WHERE id > {number} AND age > {20 + place}",
                        )[number // 8 % 3]
                        client.send(CLIENT["Query"](sql))
                        said = client.until(b"Z\0\0\0\5")
                        client.until(b"I")
                        found = re.search(rb"D\0\0\0.\0\x01\0\0\0.(\d+)C", said, re.DOTALL)
                        if found is not None:
                            told.append((sql, found[1].decode()))
            except (Closed, ConnectionError) as error:
                errors.append(type(error).__name__)
                time.sleep(0.05)
            except TimeoutError:
                report.problems.append("a client hangs after kill -9")
                return

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(8)]
    for thread in threads:
        thread.start()
    for _ in range(kills):
        time.sleep(1.5)
        server.stop(signal.SIGKILL)
        server.start()
    time.sleep(1.0)
    over.set()
    for thread in threads:
        thread.join(60)
    report.hold(not any(thread.is_alive() for thread in threads), "a client hangs after kill -9")
    server.stop()
    report.say(f"{kills} times kill -9: answers received, errors met", f"{len(told)}, {len(errors)}")
    with Gate.open(server.folder / "staff.duckdb", server.folder / "policy.toml") as gate:
        history = gate.history()
        recorded = set(history[history["verdict"] == "answered"]["sql"])
        missing = [sql for sql, _ in told if sql not in recorded]
        wrong = [sql for sql, value in told if str(gate.execute(sql).fetchone()[0]) != value]  # type: ignore[index]
        report.say("of them not on record, with another value now", f"{len(missing)}, {len(wrong)}")
        report.hold(not missing and not wrong, "an answer that was received is not on record")
        report.say("entries of the ledger", len(history))
    done = subprocess.run(
        [sys.executable, "-c", "from auditor.cli import main; main()", "verify",
         str(server.folder / "staff.duckdb"), "-p", str(server.folder / "policy.toml")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    report.say("cae-sql verify", f"exit {done.returncode}: {done.stdout.strip().splitlines()[-1:]}")
    report.hold(done.returncode == 0, f"verify: {done.stdout}{done.stderr}")


def load(size: Size, folder: Path, steps: tuple[str, ...] = STEPS) -> Report:
    """All of it, or some steps."""
    report = Report()
    with started(folder / "large", size.rows, report) as server:
        report.start = server.memory
        report.say(f"{size.rows:,} rows, nobody there: memory, MB", f"{report.start:,.0f}")
        if "half-open" in steps:
            half_open(server, size.half_open, report)
        if "connected" in steps:
            connected(server, size.connected, report)
        if "slow" in steps:
            slow(server, size, report)
        if "lost" in steps:
            lost(server, size.lost, report)
        report.say("memory at most, MB", f"{report.most:,.0f}")
    if "killed" in steps:
        with started(folder / "small", size.kept, report) as server:
            killed(server, size.kills, report)
    return report


@contextlib.contextmanager
def started(folder: Path, rows: int, report: Report) -> Iterator[Server]:
    """A server over so many rows, which has answered once."""
    build(folder, rows)
    server = Server(folder, report)
    try:
        server.start()
        served(server.port)
        yield server
        if b'"internal error"' in (log := (folder / "log").read_bytes()) or b"Traceback" in log:
            report.problems.append("something of ours broke; see the log")
    finally:
        server.close()


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument(
        "--step", action="append", choices=STEPS, default=[], help="only this one; may be given several times"
    )
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o700)
        report = load(QUICK if wanted.quick else Size(), Path(name), tuple(wanted.step) or STEPS)
    for problem in report.problems:
        print(f"PROBLEM: {problem}")
    sys.exit(bool(report.problems))


if __name__ == "__main__":
    main()
