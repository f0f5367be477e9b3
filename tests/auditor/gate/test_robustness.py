"""Killed, crowded, full, read-only, interrupted: what was released is on record, and the gate goes on.

`python -m benchmarks.robustness` does the same at random moments and many times; here each moment is named.
"""

from __future__ import annotations

import errno
import json
import linecache
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import CodeType
from typing import IO, Any

import pytest

import auditor.ledger.anchor
import auditor.ledger.book
from auditor import AuditorError, Gate, LedgerError
from auditor.ledger import Binding, Ledger
from auditor.ledger.places import File
from tests.auditor.staff import (
    NEEDED,
    Intruder,
    build,
    entries,
    people,
    policy,
    policy_text,
    rows_or_none,
    verdict,
)
from tests.quick import some

PERSONS = people(60, 3)
FIRST = "SELECT sum(salary) FROM staff WHERE dept = 'a'"
TOTAL = "SELECT sum(salary) FROM staff"
ALL_BUT_ONE = "SELECT sum(salary) FROM staff WHERE id <> 17"
"""Safe alone; with TOTAL it gives record 17 away."""
PUBLIC = "SELECT count(*) FROM staff"
ROWS = "SELECT salary FROM staff"
KINDS = [FIRST, TOTAL, ALL_BUT_ONE, PUBLIC, ROWS]
BINDING = Binding("digest", "fingerprint", (("staff", "salary", 1000),))

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and mounts are POSIX's")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return build(tmp_path / "staff.duckdb", PERSONS)


def append(ledger: Ledger, sql: str = "s") -> int:
    return ledger.append(user="u", sql=sql, verdict="refused", code="risk").number


def clean(error: pytest.ExceptionInfo[LedgerError]) -> str:
    """The text of an error that is one line."""
    assert "\n" not in str(error.value)
    return str(error.value)


# Killed

NURSERY = """
import importlib, json, os, signal, sys
from auditor import Gate, Policy, QueryRefused
for line in sys.stdin:
    database, policy, statements, (place, name, when, times) = json.loads(line)
    child = os.fork()
    if child:
        status = os.waitpid(child, 0)[1]
        print("ended", os.WTERMSIG(status) if os.WIFSIGNALED(status) else "alive", flush=True)
        continue
    module, *inside = place.split(":")
    owner = importlib.import_module(module)
    for each in inside:
        owner = getattr(owner, each)
    real, left = getattr(owner, name), [times]
    def die_in_it(*given, **named):
        left[0] -= 1
        if when == "before" and left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        found = real(*given, **named)
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return found
    setattr(owner, name, die_in_it)
    with Gate.open(database, Policy.load(policy)) as gate:
        for sql in statements:
            rows = gate.execute(sql).fetchall()
            os.write(1, ("told " + json.dumps([sql, int(rows[0][0])]) + "\\n").encode())
    os._exit(0)
"""


@pytest.fixture(scope="module")
def nursery() -> Iterator[subprocess.Popen[str]]:
    """A process that has everything imported, and forks a gate for each line that it is sent."""
    with subprocess.Popen(
        [sys.executable, "-c", NURSERY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.communicate()


def dies(
    nursery: subprocess.Popen[str], database: Path, rules: Path, at: tuple[str, str, str, int]
) -> dict[str, int]:
    """A client asks FIRST and TOTAL and dies at a point; what it was told."""
    assert nursery.stdin is not None
    assert nursery.stdout is not None
    nursery.stdin.write(json.dumps([str(database), str(rules), [FIRST, TOTAL], at]) + "\n")
    nursery.stdin.flush()
    told: dict[str, int] = {}
    while not (line := nursery.stdout.readline()).startswith("ended"):
        sql, value = json.loads(line.removeprefix("told "))
        told[sql] = value
    assert line.split() == ["ended", str(int(signal.SIGKILL))]
    return told


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    file = tmp_path / "policy.toml"
    file.write_text(policy_text('[ledger]\npath = "staff.ledger"\nanchor = "staff.anchor"'))
    return file


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "name", "when", "times", "recorded"),
    some(
        [
            ("auditor.parties.party", "decide", "before", 2, False),
            ("auditor.parties.party", "decide", "after", 2, False),
            ("auditor.ledger.book:rows", "insert", "before", 2, False),
            ("auditor.ledger.book:rows", "insert", "after", 2, False),
            ("auditor.ledger.book", "write_anchor", "before", 3, True),
            ("auditor.private", "replace", "before", 3, True),
            ("auditor.private", "sync_folder", "before", 4, True),
            ("auditor.ledger.book", "write_anchor", "after", 3, True),
            ("auditor.ledger.book:Ledger", "append", "after", 2, True),
            ("auditor.data.database:Database", "finish", "before", 2, True),
            ("auditor.data.database:Database", "finish", "after", 2, True),
        ],
        3,
    ),
)
def test_killed_anywhere_between_question_and_answer(
    place: str, name: str, when: str, times: int, recorded: bool,
    nursery: subprocess.Popen[str], database: Path, rules: Path, tmp_path: Path,
) -> None:  # fmt: skip
    told = dies(nursery, database, rules, (place, name, when, times))
    assert set(told) == {FIRST}
    with Gate.open(database, rules) as gate:
        assert gate.verify().problems == ()
        assert [entry.sql for entry in entries(gate)] == [FIRST, TOTAL][: 1 + recorded]
        assert rows_or_none(gate, FIRST) == [(told[FIRST],)]
        assert verdict(gate, FIRST).code == "known"
        assert verdict(gate, ALL_BUT_ONE).verdict == ("refused" if recorded else "answered")
        assert json.loads((tmp_path / "staff.anchor").read_text())["length"] == len(entries(gate))
    assert not list(tmp_path.glob("*.new*"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "name", "when", "times"),
    some(
        [
            ("auditor.ledger.places", "create", "before", 1),
            ("auditor.ledger.store", "create_tables", "after", 1),
            ("auditor.ledger.store:os", "fsync", "before", 1),  # all is written, under another name
            ("auditor.private", "sync_folder", "before", 1),
            ("auditor.ledger.places:File", "begin", "after", 1),
            ("auditor.ledger.book", "write_anchor", "before", 1),
            ("auditor.ledger.anchor:Path", "replace", "before", 2),
        ],
        2,
    ),
)
def test_killed_while_it_is_begun_a_ledger_is_begun_by_the_next(
    place: str, name: str, when: str, times: int,
    nursery: subprocess.Popen[str], database: Path, rules: Path, tmp_path: Path,
) -> None:  # fmt: skip
    assert dies(nursery, database, rules, (place, name, when, times)) == {}
    with Gate.open(database, rules) as gate:
        assert gate.verify().problems == ()
        assert entries(gate) == []
        assert verdict(gate, TOTAL).verdict == "answered"
    assert not list(tmp_path.glob("*.new*"))


# Crowded


@pytest.mark.slow
def test_a_crowd_of_clients_is_answered_and_nobody_is_located(database: Path) -> None:
    texts = [
        *KINDS,
        "SELECT avg(salary) FROM staff WHERE age < 30",
        "SELECT sum(salary) FROM staff WHERE id > 20",
    ]
    came: list[tuple[str, str, str]] = []
    with Gate.open(database, policy()) as gate:

        def client(number: int) -> None:
            chance = random.Random(number)
            for sql in chance.sample(texts, len(texts)):
                came.append((f"client {number}", sql, verdict(gate, sql, user=f"client {number}").verdict))

        crowd = [threading.Thread(target=client, args=(number,), daemon=True) for number in range(12)]
        for thread in crowd:
            thread.start()
        for thread in crowd:
            thread.join(120)
        assert not any(thread.is_alive() for thread in crowd)
        assert len(came) == 12 * len(texts)
        assert Counter((e.user, e.sql, e.verdict) for e in entries(gate)) == Counter(came)
        assert {what for _, sql, what in came if sql == ROWS} == {"unsupported"}
        assert len({what for _, sql, what in came if sql in (TOTAL, ALL_BUT_ONE)}) == 2
        intruder = Intruder(len(PERSONS))
        intruder.reads(gate)
        assert intruder.narrowest() >= NEEDED
        assert gate.verify().problems == ()


def test_threads_that_wait_too_long_for_the_ledger_are_told_so(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "x.ledger", BINDING) as ledger:
        assert isinstance(ledger._place, File)
        ledger._place.writer.patience = 0.05
        with (
            ledger._place.writer.connection(),
            pytest.raises(LedgerError, match="kept it locked; nothing was released") as error,
        ):
            append(ledger)
        clean(error)
        assert append(ledger)


RACER = """
import sys, time
from auditor import Gate, QueryRefused
with Gate.open(*sys.argv[1:]) as gate:
    print("open", flush=True)
    for line in sys.stdin:
        at, sql = line.rstrip().split("\\t")
        while time.monotonic() < float(at):
            pass
        try:
            answer = gate.execute(sql)
            print(answer.decision.code, answer.fetchall()[0][0], flush=True)
        except QueryRefused:
            print("refused", flush=True)
"""


@pytest.mark.slow
def test_four_processes_on_one_ledger_never_get_both_answers(database: Path, rules: Path) -> None:
    command = [sys.executable, "-c", RACER, str(database), str(rules)]
    racers = [subprocess.Popen(command, stdin=-1, stdout=-1, text=True) for _ in range(4)]
    try:
        assert [_line(racer.stdout) for racer in racers] == ["open"] * 4

        def at_once(texts: list[str]) -> list[str]:
            at = time.monotonic() + 0.005
            for racer, sql in zip(racers, texts, strict=True):
                assert racer.stdin is not None
                racer.stdin.write(f"{at}\t{sql}\n")
                racer.stdin.flush()
            return [_line(racer.stdout) for racer in racers]

        for number, dept in enumerate("abcd"):
            total = f"SELECT sum(salary) FROM staff WHERE dept = '{dept}'"
            pair = [total, f"{total} AND id <> {40 + number}"]
            texts = [pair[(number + place) % 2] for place in range(4)]
            found = at_once(texts)
            told = {sql for sql, said in zip(texts, found, strict=True) if said != "refused"}
            assert len(told) == 1
            again = at_once([*told] * 4)
            assert len(set(again)) == 1
            assert again[0].startswith("known ")
            assert {said.split()[-1] for said in found} == {"refused", again[0].split()[-1]}
    finally:
        for racer in racers:
            racer.communicate()
    with Gate.open(database, rules) as gate:
        assert gate.verify().problems == ()
        intruder = Intruder(len(PERSONS))
        intruder.reads(gate)
        assert intruder.narrowest() >= NEEDED


def _line(stream: IO[str] | None) -> str:
    assert stream is not None
    return stream.readline().strip()


def test_a_lock_file_that_somebody_removes_does_not_let_both_through(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, real = tmp_path / "staff.ledger.lock", auditor.parties.party.decide
    with Gate.open(database, policy()) as one, Gate.open(database, policy()) as two:

        def decide(*arguments: Any, **named: Any) -> Any:
            monkeypatch.setattr("auditor.parties.party.decide", real)
            found = real(*arguments, **named)
            lock.unlink()
            thread = threading.Thread(target=lambda: verdict(two, ALL_BUT_ONE))
            thread.start()
            thread.join(60)
            return found

        monkeypatch.setattr("auditor.parties.party.decide", decide)
        with pytest.raises(LedgerError, match="another answer was recorded meanwhile"):
            one.execute(TOTAL)
        assert [entry.sql for entry in entries(one)] == [ALL_BUT_ONE]
        assert verdict(one, TOTAL).verdict == "refused"


# Full


@contextmanager
def mounted(place: Path, *arguments: str) -> Iterator[Path]:
    """A mount, or a skip where none is allowed."""
    place.mkdir(exist_ok=True)
    if shutil.which("mount") is None:
        pytest.skip("there is no mount")
    ended = subprocess.run(["mount", *arguments, str(place)], capture_output=True, text=True, check=False)
    if ended.returncode:
        pytest.skip(f"mount is not allowed: {ended.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A disk of one megabyte and 16 files."""
    with mounted(tmp_path / "small", "-t", "tmpfs", "-o", "size=1m,nr_inodes=16", "tmpfs") as place:
        yield place


def fill(place: Path, but: int = 0) -> Path:
    """A file that takes all room, but for some pages."""
    ballast = place / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
        file.truncate(max(0, file.tell() - 4096 * but))
    return ballast


@pytest.mark.slow
@pytest.mark.parametrize("what", some(["ledger", "anchor", "ledger and anchor"], 1))
def test_a_full_disk_releases_nothing_unrecorded_and_with_room_it_goes_on(
    what: str, database: Path, small: Path, tmp_path: Path
) -> None:
    ledger = (tmp_path if what == "anchor" else small) / "staff.ledger"
    anchor = (tmp_path if what == "ledger" else small) / "staff.anchor"
    with Gate.open(database, policy(f'[ledger]\npath = "{ledger}"\nanchor = "{anchor}"')) as gate:
        told, errors = Counter[str](), list[str]()
        for room in (0, 0, 1, 3):
            ballast = fill(small, 0 if what == "anchor" else room)
            for sql in [f"{each} -- {room} {'x' * 3000}" for each in KINDS]:
                try:
                    told[sql] += rows_or_none(gate, sql) is not None
                except LedgerError as error:
                    errors.append(str(error))
            ballast.unlink()
            assert verdict(gate, PUBLIC).verdict == "answered"
        recorded = Counter(entry.sql for entry in entries(gate) if entry.verdict == "answered")
        assert len(errors) > 5
        assert all("No space left" in text or "disk is full" in text for text in errors)
        assert not told - recorded
        assert gate.verify().problems == ()
        assert verdict(gate, TOTAL).verdict != verdict(gate, ALL_BUT_ONE).verdict


@pytest.mark.slow
def test_a_ledger_begun_with_little_room_appears_whole_or_not_at_all(small: Path) -> None:
    begun, errors = 0, list[str]()
    for room in range(60):
        ballast = fill(small, room)
        try:
            Ledger.open(small / "x.ledger", BINDING, small / "x.anchor").close()
            begun += 1
        except LedgerError as error:
            errors.append(str(error))
        ballast.unlink()
        with Ledger.open(small / "x.ledger", BINDING, small / "x.anchor") as ledger:
            assert ledger.verify().problems == ()
            append(ledger)
        for file in small.iterdir():
            file.unlink()
    assert 0 < begun < 60
    assert not any("\n" in text for text in errors)


def test_a_disk_that_takes_no_more_files_is_one_clear_error(small: Path) -> None:
    opened, errors = 0, list[str]()
    for free in range(9):
        for name in range(20):
            try:
                (small / f"{name}.file").touch()
            except OSError:
                break
        for file in list(small.glob("*.file"))[:free]:
            file.unlink()
        try:
            with Ledger.open(small / "x.ledger", BINDING, small / "x.anchor") as ledger, ledger.deciding():
                append(ledger)
            opened += 1
        except LedgerError as error:
            errors.append(str(error))
        for file in small.glob("*.file"):
            file.unlink()
        with Ledger.open(small / "x.ledger", BINDING, small / "x.anchor") as ledger, ledger.deciding():
            assert append(ledger)
            assert ledger.verify().problems == ()
        for file in small.iterdir():
            file.unlink()
    assert 0 < opened < 9
    assert not any("\n" in text for text in errors)


def test_a_disk_error_on_the_anchor_alone_releases_nothing(
    database: Path, rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_file: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with Gate.open(database, rules) as gate:
        for sql in (TOTAL, PUBLIC):
            with monkeypatch.context() as patch:
                patch.setattr("auditor.private.os.fsync", broken)
                with pytest.raises(
                    LedgerError, match=r"anchor .*cannot be written: Input/output error"
                ) as error:
                    gate.execute(sql)
                clean(error)
        assert verdict(gate, TOTAL).code == "known"  # it is on record: nobody may be told the other
        assert verdict(gate, ALL_BUT_ONE).verdict == "refused"
    with Gate.open(database, rules) as gate:
        assert gate.verify().problems == ()


# Out of descriptors

EXHAUSTED = """
import os, resource, sys
from auditor import AuditorError, Gate
with Gate.open(*sys.argv[1:]) as gate:
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    try:
        while True:
            os.open(os.devnull, os.O_RDONLY)
    except OSError:
        pass
    try:
        gate.execute("SELECT sum(salary) FROM staff")
    except AuditorError as error:
        print("one clear error")
    os._exit(0)
"""


@pytest.mark.slow
def test_a_gate_that_has_answered_nothing_yet_survives_having_no_descriptors_left(
    database: Path, rules: Path
) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", EXHAUSTED, str(database), str(rules)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout.strip()) == (0, "one clear error")


def test_a_gate_in_use_survives_having_no_descriptors_left(database: Path, rules: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    held: list[int] = []
    with Gate.open(database, rules) as gate:
        for sql in KINDS:
            verdict(gate, sql)
        gate._ledger._place.close()
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/dev/fd")) + 20, limits[1]))
            with suppress(OSError):
                while len(held) < 1000:
                    held.append(os.open(os.devnull, os.O_RDONLY))
            for sql in [*KINDS, "SELECT sum(salary) FROM staff WHERE age < 30"]:
                with pytest.raises(LedgerError) as error:
                    gate.execute(sql)
                clean(error)
        finally:
            for each in held:
                os.close(each)
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        assert [verdict(gate, sql).verdict for sql in KINDS] == [
            entry.verdict for entry in entries(gate)[: len(KINDS)]
        ]


# Read-only


def test_a_read_only_folder_is_one_clear_error_and_what_it_says_helps(tmp_path: Path) -> None:
    with mounted(tmp_path / "place", "-t", "tmpfs", "tmpfs") as place:
        database = build(place / "staff.duckdb", PERSONS)
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        with pytest.raises(
            LedgerError, match=r"Read-only.*name one in a folder that can be written \(path"
        ) as error:
            Gate.open(database, policy())
        clean(error)
        with Gate.open(database, policy(f'[ledger]\npath = "{tmp_path}/staff.ledger"')) as gate:
            assert verdict(gate, TOTAL).verdict == "answered"


def test_a_ledger_that_becomes_read_only_releases_nothing_until_it_is_writable_again(
    database: Path, tmp_path: Path
) -> None:
    with mounted(tmp_path / "place", "-t", "tmpfs", "tmpfs") as place:
        rules = policy(f'[ledger]\npath = "{place}/staff.ledger"')
        with Gate.open(database, rules) as gate:
            first = rows_or_none(gate, FIRST)
            gate._ledger._place.close()
            subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
            for sql in KINDS:
                with pytest.raises(LedgerError, match="writable") as error:
                    gate.execute(sql)
                clean(error)
            subprocess.run(["mount", "-o", "remount,rw", str(place)], check=True)
            assert rows_or_none(gate, FIRST) == first
            assert [entry.sql for entry in entries(gate)] == [FIRST, FIRST]


def test_a_lock_file_of_another_user_is_named(database: Path, tmp_path: Path) -> None:
    with Gate.open(database, policy()) as gate:
        (tmp_path / "staff.ledger.lock").unlink()
        (tmp_path / "staff.ledger.lock").mkdir()  # cannot be opened, by the superuser either
        with pytest.raises(
            LedgerError, match=r"its lock file .*staff\.ledger\.lock cannot be used.*writable"
        ) as error:
            gate.execute(TOTAL)
        clean(error)
        assert verdict(gate, PUBLIC).verdict == "answered"
        (tmp_path / "staff.ledger.lock").rmdir()
        assert verdict(gate, TOTAL).verdict == "answered"


# Interrupted


class Interrupt:
    """Raises KeyboardInterrupt at the nth line that runs in the given files, since a function was called.

    Not at the line of a `with` that is being left: there a tracer can raise between its body and its end,
    where a signal never does, and a lock would be kept for good.
    """

    def __init__(self, at: int, files: tuple[str, ...], since: str = "") -> None:
        self.at, self.files, self.count, self.since = at, files, 0, since

    def __call__(self, frame: Any, event: str, argument: object) -> Callable[..., Any] | None:
        self.since = "" if frame.f_code.co_name == self.since else self.since
        return self._line if any(part in frame.f_code.co_filename for part in self.files) else None

    def _line(self, frame: Any, event: str, argument: object) -> Callable[..., Any]:
        if event == "line" and not self.since and not self._leaves_with(frame):
            self.count += 1
            if self.count == self.at:
                raise KeyboardInterrupt
        return self._line

    def _leaves_with(self, frame: Any) -> bool:
        source = linecache.getline(frame.f_code.co_filename, frame.f_lineno).lstrip()
        return source.startswith("with ") and frame.f_lasti > _first_of(frame.f_code, frame.f_lineno)

    def during(self, gate: Gate, sql: str) -> bool:
        """Whether asking was interrupted."""
        before = sys.gettrace()
        sys.settrace(self)
        try:
            gate.execute(sql)
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(before)
        return False


def _first_of(code: CodeType, line: int) -> int:
    """The first instruction of a line."""
    return min(start for start, _, number in code.co_lines() if number == line)


def test_an_interrupt_is_never_raised_where_it_would_keep_a_lock() -> None:
    lock, struck = threading.Lock(), 0

    def work() -> None:
        with lock:
            for number in range(2):
                if number > 1:
                    return

    for at in range(1, 9):
        interrupt, before = Interrupt(at, (__file__,)), sys.gettrace()
        sys.settrace(interrupt)
        try:
            work()
        except KeyboardInterrupt:
            struck += 1
        finally:
            sys.settrace(before)
        assert not lock.locked()
    assert struck >= 5


@pytest.mark.slow
@pytest.mark.parametrize(
    "files", [("/auditor/gate", "/auditor/ledger/"), ("/auditor/", "/cae_sql/")], ids=["gate", "all"]
)
def test_interrupted_anywhere_a_gate_says_what_the_ledger_says(
    files: tuple[str, ...], database: Path, tmp_path: Path
) -> None:
    with Gate.open(database, policy(), tmp_path / "counted.ledger") as gate:
        verdict(gate, FIRST)
        counted = Interrupt(0, files)
        counted.during(gate, TOTAL)
    seen = set()

    def asked(at: int, since: str = "") -> None:
        ledger = tmp_path / f"{at}{since}.ledger"
        with Gate.open(database, policy(), ledger) as gate, Gate.open(database, policy(), ledger) as other:
            verdict(gate, FIRST)
            interrupted = Interrupt(at, files, since).during(gate, TOTAL)
            recorded = TOTAL in [entry.sql for entry in entries(gate)]
            seen.add((interrupted, recorded))
            assert interrupted or recorded
            waiting: list[str] = []
            thread = threading.Thread(target=lambda: waiting.append(verdict(other, ALL_BUT_ONE).verdict))
            thread.start()
            thread.join(30)
            assert waiting == ["refused" if recorded else "answered"]
            assert verdict(gate, TOTAL).verdict == ("answered" if recorded else "refused")
            assert gate.verify().problems == ()

    for number in range(9):
        asked(1 + (counted.count - 1) * number // 8)
    asked(1, since="accept")  # what is remembered from one gate to the next moves the end
    assert (True, False) in seen
    assert (True, True) in seen


@pytest.mark.slow
@pytest.mark.parametrize("start", some([31, 12, 50], 1))
def test_what_was_half_learned_when_an_interrupt_came_is_learned_anew(start: int, tmp_path: Path) -> None:
    database = build(tmp_path / "staff.duckdb", [(i, i // 10, "m", "a", 10 + i % 25 * 10) for i in range(40)])
    at, interrupted, team = start, True, "SELECT sum(salary) FROM staff WHERE age = {}"
    while interrupted:
        at, ledger = at + 71, tmp_path / f"{at}.ledger"
        with Gate.open(database, policy(), ledger) as gate, Gate.open(database, policy(), ledger) as other:
            assert verdict(other, team.format(0)).code == "answered"
            interrupted = Interrupt(at, ("/roomy_table.py",)).during(gate, team.format(1))
            assert verdict(gate, f"{team.format(0)} AND id <> 3").verdict == "refused"
            assert verdict(gate, team.format(2)).code == "answered"
            assert verdict(gate, team.format(0)).code == "known"
    assert at > 142


@pytest.mark.parametrize("what", ["acquire", "release"])
def test_an_interrupt_around_the_lock_does_not_keep_all_others_waiting(what: str, tmp_path: Path) -> None:
    with (
        Ledger.open(tmp_path / "x.ledger", BINDING) as one,
        Ledger.open(tmp_path / "x.ledger", BINDING) as two,
    ):
        lock = one._place.lock  # type: ignore[attr-defined]
        real = getattr(lock, what)

        def interrupted(**named: Any) -> None:
            if named.get("force"):
                real(**named)
                return
            if what == "acquire":
                real(**named)
            raise KeyboardInterrupt

        setattr(lock, what, interrupted)
        with pytest.raises(KeyboardInterrupt), one.deciding():
            pass
        decided: list[int] = []

        def decide() -> None:
            with two.deciding(timeout=60):
                decided.append(append(two))

        thread = threading.Thread(target=decide)
        thread.start()
        thread.join(20)
        assert decided == [1]


@pytest.mark.xfail(
    strict=True,
    reason="DuckDB makes RuntimeError('Query interrupted') of what a signal's handler raises while it runs: "
    "Ctrl-C and a handler's SystemExit are lost on the way",
)
def test_an_interrupt_comes_out_as_what_it_is(database: Path) -> None:
    def handler(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before, chance = signal.signal(signal.SIGALRM, handler), random.Random(1)
    try:
        with Gate.open(database, policy()) as gate:
            verdict(gate, TOTAL)
            for number in range(400):
                with suppress(KeyboardInterrupt):
                    try:
                        signal.setitimer(signal.ITIMER_REAL, chance.uniform(0.0005, 0.02))
                        gate.execute(f"{TOTAL} -- {number}")
                    finally:
                        signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_an_interrupt_while_a_statement_begins_leaves_no_thread_behind(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = threading.Thread.start

    def started(thread: threading.Thread) -> None:
        real(thread)
        raise KeyboardInterrupt

    with Gate.open(database, policy()) as gate:
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", started)
            with pytest.raises(KeyboardInterrupt):
                gate.execute(PUBLIC)
        assert [thread.name for thread in threading.enumerate() if "watch" in thread.name] == []


# Clocks and names


@pytest.mark.slow
def test_a_clock_set_back_changes_neither_order_nor_memory(
    database: Path, rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    day = iter(range(1000))

    class Backwards(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            return datetime(2026, 1, 1, tzinfo=UTC) - timedelta(days=next(day))

    monkeypatch.setattr(auditor.ledger.book, "datetime", Backwards)
    with Gate.open(database, rules) as gate:
        assert verdict(gate, TOTAL).code == "answered"
        assert verdict(gate, FIRST).verdict == "answered"
    with Gate.open(database, rules) as gate:
        assert verdict(gate, TOTAL).code == "known"
        assert verdict(gate, ALL_BUT_ONE).verdict == "refused"
        found = entries(gate)
        assert [entry.number for entry in found] == [1, 2, 3, 4]
        assert [entry.time for entry in found] == sorted((entry.time for entry in found), reverse=True)
        assert gate.verify().problems == ()


@pytest.mark.slow
def test_however_its_path_is_spelled_it_is_one_ledger(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "a place — Δοκιμή % ? # 'x'"
    place.mkdir()
    (tmp_path / "link").symlink_to(place)
    (tmp_path / "file").symlink_to(place / "x.ledger")
    monkeypatch.chdir(tmp_path)
    spellings = [
        place / "x.ledger",
        tmp_path / "link" / "x.ledger",
        tmp_path / "file",
        Path(place.name) / "x.ledger",
    ]
    gates = [Gate.open(database, policy(), ledger) for ledger in spellings]
    try:
        assert verdict(gates[0], TOTAL).code == "answered"
        for gate in gates[1:]:
            assert verdict(gate, ALL_BUT_ONE).verdict == "refused"
            with gates[0]._ledger.deciding(), pytest.raises(LedgerError, match="have been deciding"):
                _elsewhere(gate._ledger)
    finally:
        for gate in gates:
            gate.close()
    assert sorted(file.name for file in place.iterdir()) == ["x.ledger", "x.ledger.lock"]


def _elsewhere(ledger: Ledger) -> None:
    """Decide in another thread."""
    said: list[LedgerError] = []

    def decide() -> None:
        try:
            with ledger.deciding(timeout=0.05):
                pass
        except LedgerError as error:
            said.append(error)

    thread = threading.Thread(target=decide)
    thread.start()
    thread.join()
    if said:
        raise said[0]


@pytest.mark.slow
def test_a_ledger_under_two_hard_links_is_not_opened(database: Path, tmp_path: Path) -> None:
    Gate.open(database, policy()).close()
    os.link(tmp_path / "staff.ledger", tmp_path / "other.ledger")
    for name in ("staff.ledger", "other.ledger"):
        with pytest.raises(LedgerError, match="hard link") as error:
            Gate.open(database, policy(), tmp_path / name)
        clean(error)
    (tmp_path / "other.ledger").unlink()
    with Gate.open(database, policy()) as gate:
        assert verdict(gate, TOTAL).verdict == "answered"


@pytest.mark.parametrize(("number", "kind"), [(errno.EMFILE, AuditorError), (errno.EIO, OSError)])
def test_too_many_open_files_in_a_decision_are_one_error_and_what_else_fails_is_not_called_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[Exception]
) -> None:
    def fails(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    with Gate.open(build(tmp_path / "staff.duckdb", people(60)), policy()) as gate:
        monkeypatch.setattr(gate, "_prepare_for", fails)
        for ask in (gate.execute, gate.check):
            with pytest.raises(kind) as caught:
                ask("SELECT SUM(salary) FROM staff WHERE age < 50")
            assert ("nothing was released" in str(caught.value)) is (number == errno.EMFILE)
        assert gate.history().empty
