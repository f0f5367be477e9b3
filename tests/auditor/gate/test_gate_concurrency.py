"""Several clients, killed at any moment: never two answers that are unsafe together, none unrecorded."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from auditor import Gate, QueryRefused
from tests.auditor.staff import NEEDED, Intruder, build, entries, people, policy, policy_text, verdict
from tests.quick import rounds, some

PERSONS = people(60, 3)
UNSAFE_TOGETHER = [
    ("SELECT sum(salary) FROM staff", "SELECT sum(salary) FROM staff WHERE id <> 17"),
    (
        "SELECT avg(salary) FROM staff WHERE age < 40",
        "SELECT sum(salary) FROM staff WHERE age < 40 AND id <> 17",
    ),
    (
        "SELECT sum(salary) FROM staff WHERE dept <> 'a'",
        "SELECT sum(salary) FROM staff WHERE dept <> 'a' OR id = 8",
    ),
    ("SELECT sum(salary) FROM staff WHERE age >= 0", "SELECT sum(salary) FROM staff WHERE id <> 17"),
]


TOTAL = "SELECT sum(salary) FROM staff"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return build(tmp_path / "staff.duckdb", PERSONS)


@pytest.mark.parametrize("pair", some(UNSAFE_TOGETHER, 1, tuples=False))
def test_each_of_the_two_queries_is_safe_alone(pair: tuple[str, str], database: Path, tmp_path: Path) -> None:
    for number, (first, second) in enumerate((pair, pair[::-1])):
        with Gate.open(database, policy(), tmp_path / f"{number}.ledger") as gate:
            assert verdict(gate, first).verdict == "answered"
            assert verdict(gate, second).verdict == "refused"


def asked_at_once(gates: list[Gate], statements: tuple[str, ...]) -> list[str]:
    """The verdicts of statements that threads ask at the same moment."""
    start, found = threading.Barrier(len(statements)), [""] * len(statements)

    def ask(place: int) -> None:
        start.wait()
        found[place] = verdict(gates[place], statements[place], user=f"user {place}").verdict

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(len(statements))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


@pytest.mark.parametrize("shared", some([True, False], 1), ids=["one gate", "a gate each"])
def test_two_threads_never_get_both_answers(shared: bool, database: Path, tmp_path: Path) -> None:
    for number in range(rounds(8)):
        ledger = tmp_path / f"{number}.ledger"
        with Gate.open(database, policy(), ledger) as one, Gate.open(database, policy(), ledger) as two:
            pair = UNSAFE_TOGETHER[number % len(UNSAFE_TOGETHER)]
            found = asked_at_once([one, one if shared else two], pair[:: 1 if number % 2 else -1])
            assert sorted(found) == ["answered", "refused"]
            assert len([entry for entry in entries(two) if entry.answers]) == 1


def test_many_threads_on_one_gate_leave_everybody_their_spread(database: Path) -> None:
    statements = tuple(
        f"SELECT sum(salary) FROM staff WHERE id <> {number}" for number in (17, 17, 3, 4, 5, 6)
    )
    with Gate.open(database, policy()) as gate:
        found = asked_at_once([gate] * 6, statements)
        assert found.count("refused") >= 4
        intruder = Intruder(len(PERSONS))
        intruder.reads(gate)
        assert intruder.narrowest() >= NEEDED
        assert len(entries(gate)) == 6


def test_the_same_statement_asked_at_once_is_decided_once(database: Path) -> None:
    with Gate.open(database, policy()) as one, Gate.open(database, policy()) as two:
        found = asked_at_once([one, two, one, two], ("SELECT sum(salary) FROM staff",) * 4)
        assert found == ["answered"] * 4
        assert sorted(entry.code for entry in entries(one)) == ["answered", "known", "known", "known"]
        assert sum(len(entry.answers) for entry in entries(one)) == 1


# Processes

CLIENT = """
import sys
from auditor import Gate, Policy, QueryRefused
database, policy = sys.argv[1:]
print("ready", flush=True)
for line in sys.stdin:
    ledger, sql = line.rstrip("\\n").split("\\t")
    with Gate.open(database, Policy.load(policy), ledger) as gate:
        print("open", flush=True)
        sys.stdin.readline()
        try:
            print("answered", gate.execute(sql).fetchall(), flush=True)
        except QueryRefused as refusal:
            print("refused", flush=True)
"""


def start(code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def told(client: subprocess.Popen[str], line: str) -> None:
    assert client.stdin is not None
    client.stdin.write(line + "\n")
    client.stdin.flush()


def said(client: subprocess.Popen[str]) -> str:
    assert client.stdout is not None
    return client.stdout.readline().split(" ")[0].strip()


@pytest.mark.slow
def test_two_processes_never_get_both_answers(database: Path, tmp_path: Path) -> None:
    rules = tmp_path / "policy.toml"
    rules.write_text(policy_text())
    clients = [start(CLIENT, str(database), str(rules)) for _ in range(2)]
    try:
        assert [said(client) for client in clients] == ["ready"] * 2
        for number in range(10):
            ledger = tmp_path / f"{number}.ledger"
            for client, sql in zip(clients, UNSAFE_TOGETHER[number % len(UNSAFE_TOGETHER)], strict=True):
                told(client, f"{ledger}\t{sql}")
            assert [said(client) for client in clients] == ["open"] * 2
            for client in clients[:: 1 if number % 2 else -1]:
                told(client, "go")
            assert sorted(said(client) for client in clients) == ["answered", "refused"]
    finally:
        for client in clients:
            client.communicate()


PERSISTENT = """
import json, os, random, sys
from auditor import Gate, Policy, QueryRefused
database, policy, mine, seed = sys.argv[1:]
chance = random.Random(int(seed))
received = os.open(mine, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
with Gate.open(database, Policy.load(policy)) as gate:
    print("open", flush=True)
    while True:
        low = chance.randrange(0, 50)
        sql = f"SELECT sum(salary) FROM staff WHERE id BETWEEN {low} AND {low + chance.randrange(5, 60)}"
        try:
            rows = gate.execute(sql, user=mine).fetchall()
        except QueryRefused:
            continue
        os.write(received, (json.dumps([sql, int(rows[0][0])]) + "\\n").encode())
        os.fsync(received)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kill -9 is POSIX's")
def test_clients_killed_at_any_moment_have_received_nothing_that_is_not_on_record(
    database: Path, tmp_path: Path
) -> None:
    rules, chance = tmp_path / "policy.toml", random.Random(1)
    rules.write_text(policy_text('[ledger]\npath = "staff.ledger"\nanchor = "staff.anchor"'))
    learned: dict[str, int] = {}
    with Gate.open(database, rules) as gate:
        gate.execute(TOTAL)
    for number in range(6):
        files = [str(tmp_path / f"received-{number}-{client}") for client in range(2)]
        clients = [
            start(PERSISTENT, str(database), str(rules), mine, f"{number}{mine[-1]}") for mine in files
        ]
        assert [said(client) for client in clients] == ["open"] * 2
        patience = time.monotonic() + (60 if number > 2 else 0)
        while time.monotonic() < patience and not any(Path(mine).stat().st_size for mine in files):
            time.sleep(0.01)
        time.sleep(chance.uniform(0.0, 0.5))
        for client in clients:
            os.kill(client.pid, signal.SIGKILL)
            client.communicate()
        with Gate.open(database, rules) as gate:
            answered = [e for e in entries(gate) if e.verdict == "answered"]
            recorded = Counter((entry.user, entry.sql) for entry in answered)
            for mine in files:
                lines = Path(mine).read_text().splitlines() if Path(mine).exists() else []
                received = [json.loads(line) for line in lines]
                learned |= dict(received)
                assert not Counter((mine, sql) for sql, _ in received) - recorded
            assert gate.verify().problems == ()
            for sql, value in learned.items():
                assert gate.execute(sql).fetchall() == [(value,)]
            assert verdict(gate, TOTAL).code == "known"
            assert verdict(gate, "SELECT sum(salary) FROM staff WHERE id <> 17").verdict == "refused"
            intruder = Intruder(len(PERSONS))
            intruder.reads(gate)
    assert learned
    for record in (3, 17):
        low, high = intruder.range_of(record)
        assert high - low >= NEEDED


def test_a_process_that_decides_slowly_holds_others_up_and_does_not_blind_them(database: Path) -> None:
    """While one decides, another waits, and decides on what the first one was told."""
    with Gate.open(database, policy()) as one, Gate.open(database, policy()) as two:
        with one._deciding.held():
            waiting: list[str] = []

            def ask() -> None:
                waiting.append(verdict(two, "SELECT sum(salary) FROM staff WHERE id <> 17").verdict)

            thread = threading.Thread(target=ask)
            thread.start()
            time.sleep(0.2)
            assert waiting == []
            assert one.execute("SELECT sum(salary) FROM staff").decision.verdict == "answered"
        thread.join()
        assert waiting == ["refused"]


def test_what_is_known_is_answered_while_others_decide(database: Path) -> None:
    with Gate.open(database, policy()) as one, Gate.open(database, policy()) as two:
        one.execute("SELECT sum(salary) FROM staff")
        two.check("SELECT sum(salary) FROM staff")
        with one._deciding.held():
            assert verdict(two, "SELECT avg(salary) FROM staff").code == "known"
            assert verdict(two, "SELECT count(*) FROM staff").code == "public"
            with pytest.raises(QueryRefused):
                one.execute("SELECT sum(salary) FROM staff WHERE id <> 17")
