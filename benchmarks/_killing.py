"""Kill -9 at random moments: while it decides, records, anchors, releases, and while the ledger is begun.

The client announces each stage through a pipe before it enters it, and each answer after `execute` returned.
Whoever kills it waits for a stage drawn at random, then for a part, drawn at random, of what that stage has
taken so far. Where death really came is read from the last announcement.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from statistics import median
from typing import Any

import auditor.ledger.book
import auditor.ledger.store
import auditor.parties.party
from auditor import AuditorError, Gate
from auditor.data.database import Database
from auditor.ledger import Ledger
from auditor.ledger.places import File
from benchmarks._record import (
    ALL_BUT_ONE,
    PUBLIC,
    ROWS,
    TOTAL,
    Finding,
    Record,
    Told,
    ask,
    build,
    plain,
    rules,
)

CONTEXT = get_context("forkserver")
CONTEXT.set_forkserver_preload(["benchmarks._killing", "benchmarks._crowds", "benchmarks._disks"])

STAGES: dict[str, tuple[object, str]] = {
    "beginning": (File, "begin"),
    "deciding": (auditor.parties.party, "decide"),
    "recording": (Ledger, "append"),
    "anchoring": (auditor.ledger.book, "write_anchor"),
    "releasing": (Database, "finish"),
}
BETWEEN = "between"


def _announced(say: Callable[..., None]) -> None:
    for stage, (owner, name) in STAGES.items():
        real = getattr(owner, name)

        def stand_in(*given: Any, _real: Any = real, _stage: str = stage, **named: Any) -> Any:
            say("enter", _stage)
            found = _real(*given, **named)
            say("leave", _stage)
            return found

        setattr(owner, name, wraps(real)(stand_in))


def client(
    pipe: Connection, database: str, policy: str, ledger: str, name: str, seed: int, team: int
) -> None:
    """Ask on and on; the parent ends it."""
    chance = random.Random(seed)

    def say(kind: str, what: object) -> None:
        pipe.send_bytes(json.dumps([kind, what, time.perf_counter()]).encode())

    _announced(say)
    with Gate.open(database, policy, ledger) as gate:
        while True:
            say("enter", BETWEEN)
            kind = chance.choices(["new", "repeated", "refused", "public", "unsupported"], [6, 2, 1, 1, 1])[0]
            team += kind == "new"
            text = {"refused": ALL_BUT_ONE, "public": PUBLIC, "unsupported": ROWS}.get(kind, TOTAL)
            sql = text.format(team if kind == "new" else chance.randrange(max(0, team - 20), team + 1))
            found = ask(gate, sql, name)
            if found.kind in ("error", "crash"):
                say("failed", found.text)
            elif found.kind == "answered":
                say("told", [sql, found.value])


class Victim:
    """A client, what it said, and its end."""

    def __init__(self, *arguments: object) -> None:
        self.pipe, theirs = Pipe(duplex=False)
        self.process: BaseProcess = CONTEXT.Process(target=client, args=(theirs, *arguments), daemon=True)
        self.process.start()
        theirs.close()
        self.said: list[list[Any]] = []

    def hear(self, patience: float) -> list[Any] | None:
        """The next thing said, or None where it is silent or dead."""
        try:
            if not self.pipe.poll(patience):
                return None
            self.said.append(json.loads(self.pipe.recv_bytes()))
        except (EOFError, OSError, ValueError):  # it died, perhaps in the middle of a word
            return None
        return self.said[-1]

    def wait_for(self, stage: str, times: int) -> bool:
        """Until it enters a stage for the nth time."""
        ends = time.monotonic() + 60
        while time.monotonic() < ends:
            heard = self.hear(10)
            if heard is None:
                return False
            times -= heard[:2] == ["enter", stage]
            if times <= 0:
                return True
        return False

    def kill(self, after: float) -> None:
        """SIGKILL after so many seconds; what it had said is still heard."""
        until = time.perf_counter() + after
        while time.perf_counter() < until:
            pass
        assert self.process.pid is not None
        with suppress(ProcessLookupError):  # what it died of is told by what it did not come to
            os.kill(self.process.pid, signal.SIGKILL)
        self.process.join()
        while self.hear(0) is not None:
            pass
        self.pipe.close()

    @property
    def last_stage(self) -> str:
        """Where death came, as far as it was announced."""
        stages = [BETWEEN]
        for kind, what, _ in self.said:
            if kind == "enter":
                stages = [BETWEEN] if what == BETWEEN else [*stages, what]
            elif kind == "leave" and stages[-1] == what:
                stages.pop()
        return stages[-1]

    def lengths(self) -> Iterator[tuple[str, float]]:
        """How long each stage took."""
        entered: dict[str, float] = {}
        for kind, what, at in self.said:
            if kind == "enter":
                entered[what] = at
            elif kind == "leave" and what in entered:
                yield what, at - entered.pop(what)


def told_by(victim: Victim, name: str) -> list[Told]:
    return [(name, sql, value) for kind, what, _ in victim.said if kind == "told" for sql, value in [what]]


@contextmanager
def timing(finding: Finding) -> Iterator[None]:
    start = time.perf_counter()
    try:
        yield
    finally:
        finding.seconds += time.perf_counter() - start


def killed(folder: Path, rounds: int, seed: int = 1, teams: int = 1000) -> Finding:
    """Kill a client again and again, on one ledger, and look at the ledger after each."""
    finding = Finding("kill", f"kill -9 {rounds} times on one ledger")
    database = build(folder / "staff.duckdb", teams)
    ledger, anchor = folder / "staff.ledger", folder / "staff.anchor"
    policy, chance = rules(folder / "policy.toml", ledger, anchor), random.Random(seed)
    taken = {stage: [0.002] for stage in [*STAGES, BETWEEN]}
    died, told_in_all, not_released, opening = Counter[str](), list[Told](), 0, list[float]()
    seen = team = 0
    with timing(finding):
        for number in range(rounds):
            name = f"client {number}"
            victim = Victim(str(database), str(policy), str(ledger), name, seed * 1000 + number, team)
            stage = chance.choice(["deciding", "recording", "anchoring", "releasing"])
            finding.expect(victim.wait_for(stage, chance.randint(1, 6)), f"{name} never came to {stage}")
            victim.kill(chance.uniform(0, median(taken[stage][-50:])))
            died[victim.last_stage] += 1
            for each, length in victim.lengths():
                taken[each].append(length)
            finding.broken += [f"{name}: {what}" for kind, what, _ in victim.said if kind == "failed"]
            told = told_by(victim, name)
            start = time.perf_counter()
            try:
                with Gate.open(database, policy, ledger) as gate:
                    opening.append(time.perf_counter() - start)
                    finding.broken += [f"after {name}: {problem}" for problem in gate.verify().problems]
                    record = Record(ledger, seen)
                    finding.broken += record.missing(told)
                    for _, sql, value in told[-1:]:  # and it stays known
                        again = ask(gate, sql, "auditor")
                        settled = again.value == value and again.text in ("known", "public")
                        finding.expect(settled, f"{sql} was {value}, is {again}")
            except AuditorError as error:
                finding.broken.append(f"after {name}: {error}")
                break
            seen = record.length
            team = max([team, *(int(sql.split("team = ")[1].split()[0]) for sql in _new(record))])
            finding.expect(team < teams, "the teams have been used up")
            mine = sum(count for (user, _), count in record.answered().items() if user == name)
            not_released += mine - len(told)
            told_in_all += told
            finding.tried += 1
        truth = plain(database, (sql for _, sql, _ in told_in_all))
        wrong = [sql for _, sql, value in told_in_all if truth[sql] != value]
        finding.broken += [f"{sql}: not what DuckDB says" for sql in wrong]
    left = [path.name for path in folder.iterdir() if ".new" in path.name]
    finding.notes = [
        f"answers received {len(told_in_all)}, recorded and not received {not_released} (allowed)",
        "died while " + ", ".join(f"{stage} {count}" for stage, count in sorted(died.items())),
        f"opened again in {median(opening) * 1000:.0f} ms (median); {Record(ledger).length} entries in all",
        f"files left behind: {len(left)}",
    ]
    return finding


def _new(record: Record) -> list[str]:
    return [row.sql for row in record.rows if row.code == "answered"]


def killed_at_the_beginning(folder: Path, rounds: int, seed: int = 2) -> Finding:
    """Kill a client while its ledger is being created; every time a new one."""
    finding = Finding("kill", f"kill -9 {rounds} times while a ledger is begun")
    database, chance = build(folder / "staff.duckdb", 5), random.Random(seed)
    unharmed = Victim(str(database), str(rules(folder / "x.toml")), str(folder / "x.ledger"), "ann", 0, 0)
    unharmed.wait_for("recording", 1)
    unharmed.kill(0)
    lengths, begun, left = [length for stage, length in unharmed.lengths() if stage == "beginning"], 0, 0
    with timing(finding):
        for number in range(rounds):
            ledger = folder / f"{number}.ledger"
            policy = rules(folder / f"{number}.toml", ledger, folder / f"{number}.anchor")
            victim = Victim(str(database), str(policy), str(ledger), "ann", number, 0)
            finding.expect(victim.wait_for("beginning", 1), f"round {number}: it never began a ledger")
            victim.kill(chance.uniform(0, 1.2 * lengths[0]))
            begun += ledger.exists()
            left += any(
                ".new" in path.name and path.name.startswith(f"{number}.") for path in folder.iterdir()
            )
            try:
                with Gate.open(database, policy, ledger) as gate:
                    finding.broken += gate.verify().problems
                    found = ask(gate, TOTAL.format(1))
                    finding.expect(found.kind == "answered", f"round {number}: {found}")
            except AuditorError as error:
                finding.broken.append(f"round {number}: {error}")
            finding.tried += 1
        stale = [path.name for path in folder.iterdir() if ".new" in path.name]
        finding.expect(not stale, f"left behind after another began it: {stale}")
    finding.notes = [
        f"ledger in place at death {begun}, a part built beside it {left}; begun or opened after all"
    ]
    return finding
