"""`python -m tests.auditor.proxy.fuzz --messages 100000 --seed 1`: damaged conversations with a whole server.

`cae-sql serve` runs in a process of its own, over a small protected table; workers log in and send mutated
conversations, or send noise without a password. Another client asks on all the while. Held: the server
answers to the end, nothing breaks in it, its memory stays, and the ledger verifies. A conversation that is
well framed ends with a mark of its own: its messages count when the mark comes back, all others count as one.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path

import psutil

from auditor import Gate
from tests.auditor.proxy.protocol import fuzz as core
from tests.auditor.proxy.protocol.wire import CLIENT, message
from tests.auditor.proxy.raw import Closed, Raw
from tests.auditor.proxy.serving import PASSWORD, opened, users_file
from tests.auditor.staff import policy_text

TEXTS = [
    "SELECT 1", "SELECT $1::int", "SELECT id FROM staff WHERE age > $1", "SELECT SUM(salary) FROM staff",
    "SELECT dept, AVG(salary) FROM staff GROUP BY dept", "SELECT SUM(salary) FROM staff WHERE id <> 7",
    "SELECT * FROM staff", "SELECT salary FROM staff", "SELECT MAX(salary) FROM staff WHERE age > $1",
    "BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT a", "ROLLBACK TO a", "RELEASE a", "SET jit = off", "SHOW ALL",
    "DECLARE c CURSOR WITH HOLD FOR SELECT id FROM staff", "FETCH 3 c", "MOVE ALL c", "CLOSE c", "CLOSE ALL",
    "DISCARD ALL", "DEALLOCATE ALL", "PREPARE s AS SELECT $1::int", "EXECUTE s (1)", "DEALLOCATE s",
    "SELECT relname FROM pg_class", "SELECT version()", "SELECT", "", ";", "'", "SELECT ((((", "SET", "SHOW",
    "SELECT * FROM cae_sql.history", "COPY staff TO STDOUT", "SELECT 1; SELECT 2; SELECT salary FROM staff",
    "SET TimeZone = 'Europe/Berlin'", "SET statement_timeout = 500", "SELECT set_config('a.b', 'x', false)",
    "SELECT now()", "SELECT pg_sleep(1)", "INSERT INTO staff VALUES (1)", "SET TIME ZONE INTERVAL '+02:00'",
    "COPY (SELECT dept, AVG(salary) FROM staff GROUP BY dept) TO STDOUT (FORMAT binary)",
    "COPY staff FROM STDIN",
    "COPY (SELECT id, dept FROM staff WHERE age > 30) TO STDOUT (FORMAT csv, HEADER, FORCE_QUOTE *)",
    "SELECT COUNT(*) FROM staff WHERE dept = ANY($1)",
    "SELECT COUNT(*) FROM staff.public.staff LIMIT 3::bigint",
    "SELECT * FROM pg_show_all_settings()", "SELECT row_to_json(t) FROM (SELECT 1 AS a FROM pg_am) t",
]  # fmt: skip
SEND, PATIENCE = 1 << 16, 60.0
LEDGER = "ledger"


@dataclass
class Told:
    """What one worker did."""

    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


class Conversations(core.Streams):
    """Well-framed messages of a client who has come in, and ill-framed ones."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.bodies = [each for each in self.pool if each[:1] in b"QPBDECHSdcf" and len(each) > 4]

    def text(self) -> str:
        rng = self.rng
        chosen = rng.choice(TEXTS)
        if rng.random() < 0.1:
            place = rng.randrange(len(chosen) + 1)
            more = rng.choice(["'", ";", "\\", "é", "$1", "--", " public.", "(", "\x01", "1e999"])
            chosen = chosen[:place] + more + chosen[place:]
        return chosen

    def one(self) -> bytes:
        """One message with a right frame."""
        rng = self.rng
        name, portal = rng.choice(["", "s", "t"]), rng.choice(["", "p", "c"])
        values = [rng.choice([b"1", None, b"x", b"\xff", b"\0\0\0\1"]) for _ in range(rng.randrange(3))]
        match rng.randrange(12):
            case 0:
                return CLIENT["Query"](self.text())
            case 1 | 2:
                return CLIENT["Parse"](name, self.text(), [rng.choice([0, 23, 25, 99])] * rng.randrange(3))
            case 3:
                return CLIENT["Bind"](portal, name, [rng.randrange(2)], values, [rng.randrange(2)])
            case 4:
                return CLIENT["Describe"](rng.choice("SP"), rng.choice([name, portal]))
            case 5:
                return CLIENT["Execute"](portal, rng.randrange(4))
            case 6:
                return CLIENT["Close"](rng.choice("SP"), rng.choice([name, portal]))
            case 7:
                return message(rng.choice("QPBDECHSdcf"), rng.randbytes(rng.randrange(30)))
            case 8 | 9:
                return CLIENT["Sync"]()
            case 10:
                return rng.choice(self.bodies)
            case _:
                found = rng.choice(self.bodies)
                spot = rng.randrange(5, len(found) + 1)
                return message(chr(found[0]), found[5:spot] + rng.randbytes(rng.randrange(4)))

    def framed(self) -> list[bytes]:
        return [self.one() for _ in range(self.rng.randrange(1, 80))]


def converse(port: int, made: Conversations, told: Told) -> None:
    """One connection."""
    rng = made.rng
    with Raw(port, PATIENCE) as client:
        if rng.random() < 0.15:  # who has no password
            pieces = made.stream()
            try:
                for piece in pieces:
                    client.send(piece)
            except Closed:
                pass
            told.counts["messages"] += 1
            told.counts["noise"] += 1
            return
        said = client.log_in(rng.choice(["ana", "bob", "grace"]), PASSWORD)
        if not said.startswith(b"Z"):
            told.counts["turned away"] += 1
            return
        try:
            for _ in range(rng.randrange(1, 12)):
                if rng.random() < 0.05:
                    client.send(b"".join(made.damaged(made.framed())))
                    told.counts["messages"] += 1
                    told.counts["damaged"] += 1
                    return
                pieces = made.framed()
                mark = f"mark_{rng.getrandbits(48):012x}"
                end = CLIENT["Sync"]() + CLIENT["Query"]("ROLLBACK") + CLIENT["Query"](f"SHOW {mark}")
                client.send(b"".join(pieces) + end)
                client.until(mark.encode())
                told.counts["messages"] += len(pieces) + 3
                told.counts["conversations"] += 1
        except Closed:
            told.counts["messages"] += 1
            told.counts["closed"] += 1


def work(port: int, seed: int, messages: int, results: multiprocessing.Queue[Told]) -> None:
    """A worker."""
    made, told = Conversations(seed), Told()
    while told.counts["messages"] < messages and not told.problems:
        try:
            converse(port, made, told)
        except TimeoutError:
            told.problems.append(f"no answer within {PATIENCE:g} seconds (seed {seed})")
        except ConnectionError as error:
            told.problems.append(f"{error!r} (seed {seed})")
    results.put(told)


@contextmanager
def served(folder: Path, *more: str) -> Iterator[tuple[subprocess.Popen[str], int, list[str]]]:
    """`cae-sql serve` over the small table: the process, its port, and the lines of its log."""
    opened(folder).close()
    (folder / "ledger").replace(folder / "staff.ledger")
    (folder / "policy.toml").write_text(policy_text())
    command = [sys.executable, "-c", "from auditor.cli import main; main()", "serve",
               str(folder / "staff.duckdb"), "-p", str(folder / "policy.toml"), "--listen", "127.0.0.1:0",
               "--users", str(users_file(folder)), *more]  # fmt: skip
    lines: list[str] = []
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            first = process.stderr.readline()
            port = int(first.partition("127.0.0.1:")[2].partition('"')[0])

            def read() -> None:
                assert process.stderr is not None
                for line in process.stderr:
                    if '"internal error"' in line or "Traceback" in line:
                        lines.append(line)

            reader = threading.Thread(target=read, daemon=True)
            reader.start()
            yield process, port, lines
            process.terminate()
            process.wait(60)
            reader.join(10)
        finally:
            process.kill()


@dataclass
class Watching:
    """A client who is served meanwhile, and the server's memory."""

    port: int
    server: psutil.Process
    slowest: float = 0.0
    asked: int = 0
    memory: list[int] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def run(self, over: threading.Event) -> None:
        try:
            with Raw(self.port) as client:
                client.log_in("ana", PASSWORD)
                while not over.wait(0.05):
                    begun = time.perf_counter()
                    client.send(CLIENT["Query"]("SELECT COUNT(*) FROM staff"))
                    if b"60" not in client.until(b"Z\0\0\0\5"):
                        self.problems.append("another client was not served")
                    client.until(b"I")
                    self.slowest = max(self.slowest, time.perf_counter() - begun)
                    self.asked += 1
                    self.memory.append(self.server.memory_info().rss)
        except (Closed, OSError) as error:
            self.problems.append(f"another client was not served: {error!r}")


def _first(results: multiprocessing.Queue[Told], started: Sequence[BaseProcess]) -> Told:
    """What the next worker saw; one that died says nothing, and is not waited for."""
    while True:
        try:
            return results.get(timeout=5)
        except queue.Empty:
            assert not any(one.exitcode for one in started), "a worker died"


def fuzz(messages: int, seed: int, workers: int, folder: Path) -> tuple[Told, Watching]:
    """Messages until so many have arrived.

    Raises:
        AssertionError: one of the promises is broken.
    """
    context = multiprocessing.get_context("spawn")
    results: multiprocessing.Queue[Told] = context.Queue()
    total = Told()
    with served(folder, "--max-connections-per-user", "50") as (process, port, lines):
        watching, over = Watching(port, psutil.Process(process.pid)), threading.Event()
        watcher = threading.Thread(target=watching.run, args=(over,))
        watcher.start()
        each = -(-messages // workers)
        started = [
            context.Process(target=work, args=(port, seed * 1_000 + n, each, results)) for n in range(workers)
        ]
        for one in started:
            one.start()
        for _ in started:
            told = _first(results, started)
            total.counts += told.counts
            total.problems += told.problems
        over.set()
        watcher.join(60)
        assert process.poll() is None, "the server is gone"
    total.problems += watching.problems + [json.loads(line).get("type", line) for line in lines]
    with Gate.open(folder / "staff.duckdb", folder / "policy.toml") as gate:
        total.problems += gate.verify().problems
        total.counts["entries in the ledger"] = gate.verify().entries
    return total, watching


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=4)
    wanted = parser.parse_args()
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        total, watching = fuzz(wanted.messages, wanted.seed, wanted.workers, Path(folder))
    seconds = time.perf_counter() - begun
    for name, count in sorted(total.counts.items()):
        print(f"{name:28}{count:>12,}")
    print(f"{'messages per second':28}{total.counts['messages'] / seconds:>12,.0f}")
    megabytes = [each / 2**20 for each in watching.memory]
    for share in (0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0):
        print(f"{f'memory after {share:.0%}, MB':28}{megabytes[int(share * (len(megabytes) - 1))]:>12,.0f}")
    print(f"{'another client: asked':28}{watching.asked:>12,}")
    print(f"{'another client: slowest, s':28}{watching.slowest:>12.2f}")
    for problem in total.problems:
        print(f"PROBLEM: {problem}")
    sys.exit(bool(total.problems))


if __name__ == "__main__":
    main()
