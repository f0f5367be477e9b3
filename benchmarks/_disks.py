"""Disks that are full or read-only, and files that cannot be made.

Each place is a real one (a small tmpfs, a read-only bind mount, another user, limits of the system); where
the machine does not allow it, the case is skipped and says why.
"""

from __future__ import annotations

import errno
import os
import random
import resource
import shutil
import signal
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

from auditor import AuditorError, Gate, LedgerError
from auditor.ledger.places import File
from benchmarks._killing import CONTEXT, timing
from benchmarks._record import (
    ALL_BUT_ONE,
    PUBLIC,
    ROWS,
    TOTAL,
    Asked,
    Finding,
    Record,
    Told,
    ask,
    build,
    policy,
)

NOBODY = 65534
KINDS = (TOTAL, ALL_BUT_ONE, PUBLIC, ROWS)


class Unavailable(Exception):
    """The machine does not allow what a case needs."""


def _mount(*arguments: str) -> None:
    if shutil.which("mount") is None:
        raise Unavailable("there is no mount")
    ended = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if ended.returncode:
        raise Unavailable(f"mount is not allowed: {ended.stderr.strip()}")


@contextmanager
def small_disk(folder: Path, options: str = "size=1m") -> Iterator[Path]:
    """A file system of its own."""
    place = folder / "small disk"
    place.mkdir(exist_ok=True)
    _mount("-t", "tmpfs", "-o", options, "tmpfs", str(place))
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@contextmanager
def read_only(folder: Path) -> Iterator[Callable[[bool], None]]:
    """A folder that a switch makes read-only, for root as well."""
    _mount("--bind", str(folder), str(folder))
    try:
        yield lambda on: _mount("-o", f"remount,bind,{'ro' if on else 'rw'}", str(folder))
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(place: Path, but: int = 0) -> Path:
    """A file that takes all room on a small disk, but for some bytes."""
    ballast = place / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
        file.truncate(max(0, file.tell() - but))
    return ballast


def asked_in_trouble(finding: Finding, gate: Gate, texts: list[str], told: list[Told]) -> int:
    """Ask; each is either answered and recorded, or one clear error. How many errors there were."""
    errors = 0
    for sql in texts:
        found = ask(gate, sql)
        finding.tried += 1
        finding.expect(
            found.kind != "crash" and (found.kind != "error" or found.clean), f"{sql[:70]}: {found}"
        )
        errors += found.kind == "error"
        if found.value is not None:
            told.append(("ann", sql, found.value))
    return errors


def padded(chance: random.Random, team: int) -> list[str]:
    """One statement of each kind about a team, with a comment that takes room in the ledger."""
    return [f"{sql.format(team)} -- {'x' * chance.randrange(20_000)}" for sql in KINDS]


def full_disk(folder: Path, what: str, rounds: int) -> Finding:
    """Ledger, anchor or both on a small disk; ask until it is full, ask on, make room, ask again."""
    finding, chance = Finding("disk", f"{what} on a full disk, {rounds} times"), random.Random(4)
    database = build(folder / "staff.duckdb", rounds * 2 + 2)
    told: list[Told] = []
    errors = 0
    with timing(finding), small_disk(folder, "size=2m") as small:
        ledger = (folder if what == "anchor" else small) / "staff.ledger"
        anchor = (folder if what == "ledger" else small) / "staff.anchor"
        with Gate.open(database, policy(ledger, anchor, folder=folder)) as gate:
            for number in range(rounds):
                room = 0 if what == "anchor" else chance.randrange(0, 64 << 10)
                ballast = fill(small, room)
                before = errors
                for _ in range(12):
                    errors += asked_in_trouble(finding, gate, padded(chance, 2 * number), told)
                    if errors > before:
                        break
                errors += asked_in_trouble(finding, gate, padded(chance, 2 * number + 1), told)
                finding.expect(errors > before, f"round {number}: the disk was never full")
                ballast.unlink()
                found = ask(gate, PUBLIC.format(number))
                finding.expect(found.kind == "answered", f"round {number}, with room again: {found}")
                if (
                    what != "anchor" and number % 5 == 4
                ):  # the log is folded into the ledger, or it stays full
                    place = gate._ledger._place
                    assert isinstance(place, File)
                    with place.readers.connection() as connection:
                        connection.rows("PRAGMA wal_checkpoint(TRUNCATE)")
                    _shrink(small, ledger)
            finding.broken += Record(ledger).missing(told) + list(gate.verify().problems)
        with Gate.open(database, policy(ledger, anchor, folder=folder)) as gate:
            finding.broken += gate.verify().problems
    finding.notes = [
        f"answered {len(told)}, each on record; one clear error {errors} times; went on with room again"
    ]
    return finding


def _shrink(small: Path, ledger: Path) -> None:
    """Make the disk larger by what the ledger has taken: there is room again, as there is for the owner."""
    used = sum(path.stat().st_blocks * 512 for path in small.iterdir())
    _mount("-o", f"remount,size={used + (2 << 20)}", str(small))
    assert ledger.exists()


def begun_on_a_full_disk(folder: Path, steps: int) -> Finding:
    """A new ledger on a disk with less and less room: it is begun whole, or one clear error."""
    finding = Finding("disk", f"begun or opened with little room, {steps} sizes")
    database, begun, errors = build(folder / "staff.duckdb", 3), 0, Counter[str]()
    with timing(finding), small_disk(folder, "size=1m") as small:
        for step in range(steps):
            for path in small.iterdir():
                path.unlink()
            rules_here = policy(small / "staff.ledger", small / "staff.anchor", folder=folder)
            with_ledger = step % 2
            if with_ledger:
                Gate.open(database, rules_here).close()
            ballast = fill(small, but=4096 * (step // 2))
            finding.tried += 1
            try:
                with Gate.open(database, rules_here) as gate:
                    asked_in_trouble(finding, gate, [TOTAL.format(1)], [])
                    begun += 1
            except LedgerError as error:
                errors[str(error).split(": ", 1)[1]] += 1
            ballast.unlink()
            with Gate.open(database, rules_here) as gate:
                finding.broken += gate.verify().problems
    said = "; ".join(f"“{text}” {count}" for text, count in errors.most_common())
    finding.notes = [f"could be opened {begun}; {said}"]
    return finding


def no_files_left(folder: Path, by: int) -> Finding:
    """A disk that takes few files more, or none: lock, log and temporary files cannot be made."""
    finding, told = Finding("disk", "no file can be made (inodes used up)"), list[Told]()
    database = build(folder / "staff.duckdb", 20)
    with timing(finding), small_disk(folder, "size=2m,nr_inodes=24") as small:
        rules_here = policy(small / "staff.ledger", small / "staff.anchor", folder=folder)
        for free in range(0, 10, by):
            for path in small.iterdir():
                path.unlink()
            names = iter(range(100))
            try:
                while True:
                    (small / f"file {next(names)}").touch()
            except OSError:
                pass
            for _ in range(free):
                next(small.glob("file *")).unlink()
            try:
                with Gate.open(database, rules_here) as gate:
                    asked_in_trouble(finding, gate, [sql.format(1) for sql in KINDS], told)
            except LedgerError as error:
                finding.tried += 1
                finding.expect("\n" not in str(error), error)
            for path in small.glob("file *"):
                path.unlink()
            with Gate.open(database, rules_here) as gate:
                finding.broken += gate.verify().problems
                finding.expect(
                    ask(gate, TOTAL.format(2)).kind == "answered", f"{free} free: it did not go on"
                )
    finding.notes = [
        "with 0 to 9 files free"
        + (f", by {by}" if by > 1 else "")
        + "; each time begun or one clear error, and went on with room again"
    ]
    return finding


# --- in a process of its own: limits and users are the process's


def _apart(case: Callable[[Finding, Path], None], finding: Finding, folder: Path) -> Finding:
    """Run a case in a child, because what it does to itself cannot be undone."""
    mine, theirs = Pipe(duplex=False)
    with timing(finding):
        child = CONTEXT.Process(target=_run, args=(theirs, case, finding, folder))
        child.start()
        theirs.close()
        try:
            came = mine.recv() if mine.poll(120) else None
        except EOFError:
            came = None
        child.join(10)
    if came is None:
        finding.broken.append(f"the process ended with {child.exitcode}")
        return finding
    if isinstance(came, str):
        raise Unavailable(came)
    came.seconds = finding.seconds
    return came


def _run(pipe: Connection, case: Callable[[Finding, Path], None], finding: Finding, folder: Path) -> None:
    try:
        case(finding, folder)
    except Unavailable as error:
        pipe.send(str(error))
    except (AuditorError, OSError, AssertionError) as error:
        finding.broken.append(f"{type(error).__name__}: {error}")
    pipe.send(finding)


def _file_limit(finding: Finding, folder: Path, teams: int) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    database, told, errors = build(folder / "staff.duckdb", teams), list[Told](), 0
    chance = random.Random(5)
    with Gate.open(database, policy(folder / "staff.ledger", folder / "staff.anchor", folder=folder)) as gate:
        for team in range(teams):
            size = (folder / "staff.ledger-wal").stat().st_size
            hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
            resource.setrlimit(resource.RLIMIT_FSIZE, (size + chance.randrange(20_000), hard))
            errors += asked_in_trouble(finding, gate, padded(chance, team), told)
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
            finding.expect(
                ask(gate, PUBLIC.format(team)).kind == "answered", "without the limit it did not go on"
            )
        finding.broken += Record(folder / "staff.ledger").missing(told) + list(gate.verify().problems)
    finding.expect(errors > 0, "the limit was never reached")
    finding.notes = [f"answered {len(told)}, each on record; one clear error {errors} times"]


def _few_descriptors(finding: Finding, folder: Path, by: int) -> None:
    database, told, errors = build(folder / "staff.duckdb", 20), list[Told](), 0
    rules_here = policy(folder / "staff.ledger", folder / "staff.anchor", folder=folder)
    with Gate.open(database, rules_here) as gate:
        # a gate in use, which has decided with tables and kernels: with no descriptor left nothing can be
        # imported, and duckdb.connect() itself ends the process
        for sql in ("SELECT sum(salary) FROM staff WHERE team <> {}", *KINDS):
            ask(gate, sql.format(19))
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        for free in range(0, 16, by):
            gate._ledger._place.close()
            held = []
            try:
                while True:
                    held.append(os.open(os.devnull, os.O_RDONLY))
            except OSError:
                pass
            for _ in range(free):
                os.close(held.pop())
            errors += asked_in_trouble(finding, gate, [sql.format(free) for sql in KINDS], told)
            for each in held:
                os.close(each)
            finding.expect(ask(gate, PUBLIC.format(free)).kind == "answered", "it did not go on")
        finding.broken += Record(folder / "staff.ledger").missing(told) + list(gate.verify().problems)
    finding.notes = [
        "a gate in use, with 0 to 15 free"
        + (f", by {by}" if by > 1 else "")
        + f"; answered {len(told)}, one clear error {errors} times"
    ]


def _as_nobody(finding: Finding, folder: Path) -> None:
    if os.geteuid() != 0:
        raise Unavailable("another user can be taken on by the superuser only")
    place = Path(tempfile.mkdtemp())  # one whose parents anybody may enter
    try:
        place.chmod(0o755)
        database = build(place / "staff.duckdb", 3)
        here = policy(place / "staff.ledger", folder=folder)
        os.seteuid(NOBODY)
        one_error(finding, lambda: Gate.open(database, here), "writable", "written")
        os.seteuid(0)
        Gate.open(database, here).close()
        for path in (place, *place.iterdir()):
            path.chmod(0o777 if path.is_dir() else 0o666)
        os.seteuid(NOBODY)
        # what others may open of somebody's ledger is an error, not an invitation
        one_error(finding, lambda: Gate.open(database, here), "chmod 600")
    finally:
        os.seteuid(0)
        shutil.rmtree(place)


def one_error(finding: Finding, open_it: Callable[[], Gate], *words: str) -> None:
    """Opening is one `LedgerError` that says what to do."""
    finding.tried += 1
    try:
        open_it().close()
        finding.broken.append("it was opened")
    except LedgerError as error:
        text = str(error)
        finding.expect("\n" not in text and any(word in text for word in words), text)
        finding.notes.append(f"“{text.split(': ', 1)[1]}”")


def _last(found: Asked) -> str:
    return found.text.split(": ", 1)[1]


def read_only_folder(folder: Path) -> Finding:
    """The database in a read-only folder with the ledger beside it; and a folder that becomes read-only."""
    finding, told = Finding("read-only", "read-only file system, ledger beside the database"), list[Told]()
    place = folder / "place"
    place.mkdir()
    database, here = build(place / "staff.duckdb", 10), policy(folder=folder)
    elsewhere = policy(folder / "elsewhere.ledger", folder=folder)
    with timing(finding), read_only(place) as switch:
        switch(True)
        one_error(finding, lambda: Gate.open(database, here), "writable", "written")
        with Gate.open(database, elsewhere) as gate:  # what the message says to do does help
            finding.expect(ask(gate, TOTAL.format(1)).kind == "answered", "a ledger elsewhere does not help")
        switch(False)
        for team in range(4):
            with Gate.open(database, here) as gate:
                asked_in_trouble(finding, gate, [TOTAL.format(team)], told)
        switch(True)
        one_error(finding, lambda: Gate.open(database, here), "writable")
        switch(False)
    finding.broken += Record(place / "staff.ledger").missing(told)
    return finding


def becomes_read_only(folder: Path) -> Finding:
    """A ledger whose permissions, or whose folder's, go while a gate has it open."""
    finding, told = Finding("read-only", "ledger and lock become unusable meanwhile"), list[Told]()
    database, errors = build(folder / "staff.duckdb", 10), 0
    anchored = folder / "anchored"
    anchored.mkdir()
    with timing(finding), ExitStack() as left:
        switch = left.enter_context(read_only(anchored))
        here = policy(folder / "staff.ledger", anchored / "staff.anchor", folder=folder)
        gate = left.enter_context(Gate.open(database, here))
        for team, trouble in enumerate(("anchor", "lock", "anchor", "lock")):
            lock, away = folder / "staff.ledger.lock", folder / "away"
            if trouble == "anchor":
                switch(True)
            else:
                lock.rename(away)
                lock.mkdir()
            count = asked_in_trouble(finding, gate, [sql.format(team) for sql in KINDS], told)
            finding.expect(count >= 1, f"{trouble}: there was no error")
            errors += count
            if trouble == "anchor":
                switch(False)
            else:
                lock.rmdir()
                away.rename(lock)
            finding.expect(ask(gate, TOTAL.format(team)).kind == "answered", f"{trouble}: it did not go on")
        finding.broken += Record(folder / "staff.ledger").missing(told) + list(gate.verify().problems)
    finding.notes = [
        f"one clear error {errors} times, {len(told)} answered meanwhile (no lock needed), went on after"
    ]
    return finding


def apart_cases(folder: Path, teams: int = 40, by: int = 1) -> list[Callable[[], Finding]]:
    """The cases that need a process of their own.

    Args:
        folder: An empty one.
        teams: Asked about where files may not grow.
        by: How many descriptors more are free each time.
    """
    cases = {
        ("disk", "files may not grow (RLIMIT_FSIZE)"): partial(_file_limit, teams=teams),
        ("disk", "too many open files (RLIMIT_NOFILE)"): partial(_few_descriptors, by=by),
        ("read-only", "folder and lock file of another user"): _as_nobody,
    }
    found: list[Callable[[], Finding]] = []
    for number, ((section, what), case) in enumerate(cases.items()):
        inside = folder / str(number)
        inside.mkdir()
        found.append(lambda s=section, w=what, c=case, i=inside: _apart(c, Finding(s, w), i))  # type: ignore[misc]
    return found
