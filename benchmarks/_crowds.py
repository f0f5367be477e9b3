"""Many at once: 32 threads on one gate, and four processes with a gate each on one ledger.

What everybody was told is checked against the ledger, and by integer programs (SciPy's, not the package's)
for what an intruder who heard everything could say about any person.
"""

from __future__ import annotations

import random
import sqlite3
import threading
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
from scipy import optimize

from auditor import Gate
from auditor.ledger.packing import unpack_records, unpack_signs, unpack_value
from benchmarks._killing import CONTEXT, timing
from benchmarks._record import (
    ALL_BUT_ONE,
    PUBLIC,
    ROWS,
    TEAM,
    TOTAL,
    Asked,
    Finding,
    Record,
    Told,
    ask,
    build,
    rules,
)

LOW, HIGH, STEP = 10, 250, 10
NEEDED = 130
"""Least spread of a person's possible values that a risk of 0.5 leaves on this domain (14 of 25 values)."""
PATIENCE = 600.0
"""Seconds after which a client that has not come back counts as stuck."""


def narrowest(ledger: Path, size: int) -> int:
    """The smallest spread of any person's possible values, given each sum on record and each end of one."""
    with closing(sqlite3.connect(ledger)) as connection:
        query = "SELECT kind, records, signs, value FROM ledger_answer WHERE kind <> 'leak'"
        told = connection.execute(query).fetchall()
    top = (HIGH - LOW) // STEP
    upper = np.full(size, float(top))
    matrix, least_told, most_told = np.zeros((0, size)), [], []
    for kind, records, signs, value in told:
        asked, _, end = kind.partition(" ")
        if asked != "sum":
            raise ValueError(f"only sums are told here, not {kind}")
        row = np.zeros(size)
        weights = unpack_signs(signs)
        row[unpack_records(records)] = 1 if weights is None else weights
        matrix = np.vstack([matrix, row])
        low, high = (
            np.inf if each is None else float((each - LOW * int(row.sum())) / STEP)
            for each in unpack_value(value)
        )
        least_told.append(-np.inf if end == "at most" else low)
        most_told.append({"at most": low, "between": high, "at least": np.inf}.get(end, low))
    least = top
    for person in np.unique(matrix, axis=1, return_index=True)[1]:  # persons told apart by nothing count once
        ends = []
        near = _connected(matrix, int(person))
        for sign in (1, -1):
            cost = np.zeros(size)
            cost[person] = sign
            rows = matrix[near]
            some = np.flatnonzero(rows.any(axis=0) | (np.arange(size) == person))
            limits = optimize.LinearConstraint(
                rows[:, some], np.array(least_told)[near], np.array(most_told)[near]
            )
            found = optimize.milp(
                cost[some],
                constraints=[limits] if len(near) else [],
                bounds=optimize.Bounds(0, upper[some]),
                integrality=np.ones(len(some)),
            )
            if not found.success:
                raise ValueError(f"no table agrees with what was told: {found.message}")
            ends.append(sign * found.fun)
        least = min(least, round(ends[1] - ends[0]))
    return least * STEP


def _connected(matrix: np.ndarray, person: int) -> np.ndarray:
    """The answers that have anything to do with a person, through others too."""
    persons, rows = np.zeros(matrix.shape[1], bool), np.zeros(matrix.shape[0], bool)
    persons[person] = True
    while True:
        more = (matrix[:, persons] != 0).any(axis=1)
        if (more == rows).all():
            return np.flatnonzero(rows)
        rows = more
        persons |= (matrix[rows] != 0).any(axis=0)


# --- threads


@dataclass(frozen=True)
class Timed:
    user: str
    sql: str
    asked: Asked
    seconds: float


def statements(client: int, count: int, teams: int, mix: str, seed: int = 3) -> list[str]:
    """What a client asks: its own draw from one list for all."""
    chance = random.Random(seed * 100 + client)
    kinds = {"mixed": [4, 3, 1, 1, 1], "settled": [0, 3, 0, 1, 0]}[mix]
    found = []
    for _ in range(count):
        team = chance.randrange(teams)
        low = chance.randrange(TEAM - 3)
        some = f"SELECT sum(salary) FROM staff WHERE team = {team} AND place BETWEEN {low} AND {low + 3}"
        texts = [some, TOTAL.format(team), ALL_BUT_ONE.format(team), PUBLIC.format(team), ROWS.format(team)]
        found.append(chance.choices(texts, kinds)[0])
    return found


def run(gate: Gate, lists: list[list[str]], threads: int) -> tuple[list[Timed], float, int]:
    """All lists by so many threads; what came of it, seconds, and how many threads never ended."""
    came: list[Timed] = []
    start, todo = threading.Barrier(threads + 1), list(enumerate(lists))

    def work() -> None:
        start.wait()
        while todo:
            try:
                number, texts = todo.pop()
            except IndexError:
                return
            for sql in texts:
                began = time.perf_counter()
                found = ask(gate, sql, f"client {number}")
                came.append(Timed(f"client {number}", sql, found, time.perf_counter() - began))

    crowd = [threading.Thread(target=work, daemon=True) for _ in range(threads)]
    for thread in crowd:
        thread.start()
    start.wait()
    began = time.perf_counter()
    for thread in crowd:
        thread.join(max(0.0, began + PATIENCE - time.perf_counter()))
    return came, time.perf_counter() - began, sum(thread.is_alive() for thread in crowd)


def clients(folder: Path, threads: int, each: int, mix: str, teams: int = 12) -> Finding:
    """The same lists of statements by one client, and by `threads` at once; each on a new ledger."""
    finding = Finding("clients", f"{threads} clients on one gate, {mix}")
    database = build(folder / "staff.duckdb", teams)
    lists = [statements(number, each, teams, mix) for number in range(threads)]
    rates = []
    with timing(finding):
        for crowd in (1, threads):
            ledger = folder / f"{crowd}.ledger"
            with Gate.open(database, rules(folder / f"{crowd}.toml", ledger)) as gate:
                for team in range(teams if mix == "settled" else 1):
                    ask(gate, TOTAL.format(team))
                    ask(gate, ALL_BUT_ONE.format(team))  # all is compiled now
                came, seconds, stuck = run(gate, lists, crowd)
                finding.expect(not stuck, f"{stuck} of {crowd} clients were not done after {PATIENCE:g} s")
                finding.broken += gate.verify().problems
            finding.tried += len(came)
            finding.expect(
                len(came) == threads * each, f"{len(came)} of {threads * each} statements came back"
            )
            finding.broken += [f"{t.sql}: {t.asked}" for t in came if t.asked.kind in ("error", "crash")]
            told: list[Told] = [
                (t.user, t.sql, t.asked.value)
                for t in came
                if t.asked.kind == "answered" and t.asked.value is not None
            ]
            finding.broken += Record(ledger).missing(told)
            values: dict[str, set[int]] = {}
            for _, sql, value in told:
                values.setdefault(sql, set()).add(value)
            finding.broken += [f"{sql}: two answers {both}" for sql, both in values.items() if len(both) > 1]
            spread = narrowest(ledger, teams * TEAM)
            finding.expect(spread >= NEEDED, f"somebody's value has a spread of {spread} only")
            rates.append(len(came) / seconds)
            finding.notes.append(_figures(crowd, came, rates[-1], spread))
    finding.notes.append(f"throughput with {threads} clients / with one: {rates[1] / rates[0]:.2f}")
    return finding


def _figures(crowd: int, came: list[Timed], rate: float, spread: int) -> str:
    p50, p95, p99 = np.percentile([each.seconds * 1000 for each in came], [50, 95, 99])
    kinds = Counter(each.asked.kind for each in came)
    return (
        f"{crowd} at once: {rate:.0f} statements/s; ms p50 {p50:.1f}, p95 {p95:.1f}, p99 {p99:.1f}, "
        f"worst {max(each.seconds for each in came) * 1000:.0f}; "
        + ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items()))
        + f"; narrowest spread {spread} (needed {NEEDED})"
    )


# --- processes


def racer(pipe: Connection, database: str, policy: str, name: str) -> None:
    """Opens a gate, and asks what it is sent at the moment it is told."""
    with Gate.open(database, policy) as gate:
        pipe.send("open")
        while (order := pipe.recv()) is not None:
            sql, at = order
            while time.monotonic() < at:
                pass
            pipe.send(ask(gate, sql, name))


def races(folder: Path, count: int, processes: int = 4) -> Finding:
    """Half of the processes ask a team's total, half the total without one person, at the same moment."""
    finding = Finding("processes", f"{processes} processes on one ledger, {count} races")
    database = build(folder / "staff.duckdb", count)
    ledger = folder / "staff.ledger"
    policy = rules(folder / "policy.toml", ledger, folder / "staff.anchor")
    pipes, racers = [], []
    for number in range(processes):
        mine, theirs = Pipe()
        each = CONTEXT.Process(
            target=racer, args=(theirs, str(database), str(policy), f"p{number}"), daemon=True
        )
        each.start()
        theirs.close()
        pipes.append(mine)
        racers.append(each)
    told: list[Told] = []

    def at_once(texts: list[str]) -> list[Asked]:
        at = time.monotonic() + 0.002
        for pipe, sql in zip(pipes, texts, strict=True):
            pipe.send((sql, at))
        found = [pipe.recv() if pipe.poll(60) else Asked("crash", "silent for 60 s") for pipe in pipes]
        told.extend(
            (f"p{number}", sql, each.value)
            for number, (sql, each) in enumerate(zip(texts, found, strict=True))
            if each.value is not None
        )
        return found

    won = Counter[str]()
    with timing(finding):
        for pipe in pipes:
            finding.expect(pipe.poll(60) and pipe.recv() == "open", "a process did not open its gate")
        for team in range(count):
            pair = (TOTAL.format(team), ALL_BUT_ONE.format(team))
            texts = [pair[(number + team) % 2] for number in range(processes)]
            found = at_once(texts)
            bad = [each for each in found if each.kind not in ("answered", "refused")]
            finding.broken += [f"team {team}: {each}" for each in bad]
            answered = {sql for sql, each in zip(texts, found, strict=True) if each.kind == "answered"}
            finding.expect(len(answered) == 1, f"team {team}: answered were {answered or 'none'}")
            for sql in list(answered)[:1]:
                won["total" if sql == pair[0] else "without one"] += 1
                again = at_once([sql] * processes)
                values = {each.value for each in [*again, *found] if each.value is not None}
                known = all(each.text == "known" for each in again) and len(values) == 1
                finding.expect(known, f"team {team}: answered to one, not known to all: {again}")
            finding.tried += 1
        for pipe, each in zip(pipes, racers, strict=True):
            pipe.send(None)
            each.join(30)
        record = Record(ledger)
        finding.broken += record.missing(told)
        with Gate.open(database, policy) as gate:
            finding.broken += gate.verify().problems
        spread = narrowest(ledger, count * TEAM)
        finding.expect(spread >= NEEDED, f"somebody's value has a spread of {spread} only")
    finding.notes = [
        f"won by the total {won['total']}, by the total without one {won['without one']}; "
        f"both never; {len(told)} answers told, {record.length} entries; "
        f"narrowest spread {spread} (needed {NEEDED})"
    ]
    return finding
