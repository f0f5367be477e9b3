"""Interrupted in the middle: KeyboardInterrupt or SystemExit at random moments of `execute`.

Both come out of a signal's handler, as Ctrl-C and a program's own handler of SIGTERM do.

After each the same gate, and another one that begins to decide at once, must say what the ledger says; a
lock that stayed taken, an answer without an entry and knowledge that was half taken in would show. And one
ledger under several names: spelled otherwise, through a link, with spaces and letters of any script; and a
clock that goes back.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from types import FrameType
from unittest import mock

from auditor import Gate, LedgerError
from benchmarks._killing import timing
from benchmarks._record import ALL_BUT_ONE, TOTAL, Asked, Finding, Record, Told, ask, build, policy


def interrupted(folder: Path, count: int, seed: int = 6) -> Finding:
    """A timer interrupts a statement; what follows is asked of the same gate and of another."""
    finding, chance = (
        Finding("interrupts", f"interrupted {count} times in the middle of execute"),
        random.Random(seed),
    )
    database, told, hit = build(folder / "staff.duckdb", 2 * count), list[Told](), Counter[str]()
    here = policy(folder / "staff.ledger", folder / "staff.anchor", folder=folder)
    kinds: list[type[BaseException]] = [KeyboardInterrupt, SystemExit]

    def handler(_number: int, _frame: FrameType | None) -> None:
        raise kinds[0]

    before = signal.signal(signal.SIGALRM, handler)
    try:
        with timing(finding), Gate.open(database, here) as gate, Gate.open(database, here) as other:
            for team in range(count):
                sql, caught = TOTAL.format(team), "nothing"
                chance.shuffle(kinds)
                if team % 10 == 0:  # how long it takes now, undisturbed
                    start = time.perf_counter()
                    ask(gate, TOTAL.format(count + team))
                    usual = time.perf_counter() - start
                try:
                    try:
                        signal.setitimer(signal.ITIMER_REAL, chance.uniform(1e-4, 1.1 * usual))
                        found = ask(gate, sql)
                    finally:
                        signal.setitimer(signal.ITIMER_REAL, 0)
                except (KeyboardInterrupt, SystemExit) as error:
                    caught, found = type(error).__name__, Asked("crash", "interrupted")
                if (
                    "Query interrupted" in found.text or found.text == "failed"
                ):  # what becomes of either in DuckDB
                    caught = found.text.split(":")[0]
                if caught == "nothing":  # it was done before
                    finding.expect(found.kind in ("answered", "refused"), f"team {team}: {found}")
                if found.value is not None:
                    told.append(("ann", sql, found.value))
                recorded = ("ann", sql) in Record(
                    folder / "staff.ledger", max(0, other._ledger.length - 9)
                ).answered()
                hit[f"{caught}, {'on record' if recorded else 'not on record'}"] += 1
                _follow_up(finding, gate, other, team, recorded)
                finding.tried += 1
            finding.broken += Record(folder / "staff.ledger").missing(told) + list(gate.verify().problems)
    finally:
        signal.signal(signal.SIGALRM, before)
    finding.notes = [", ".join(f"{what} {times}" for what, times in sorted(hit.items()))]
    return finding


def _follow_up(finding: Finding, gate: Gate, other: Gate, team: int, recorded: bool) -> None:
    came: list[Asked] = []
    thread = threading.Thread(
        target=lambda: came.append(ask(other, ALL_BUT_ONE.format(team), "bob")), daemon=True
    )
    start = time.perf_counter()
    thread.start()
    thread.join(70)
    waited = time.perf_counter() - start
    if not finding.expect(bool(came) and waited < 10, f"team {team}: others waited {waited:.0f} s"):
        return
    mine = ask(gate, TOTAL.format(team), "carl")
    expected = ("refused", "answered") if recorded else ("answered", "refused")
    finding.expect(
        (came[0].kind, mine.kind) == expected, f"team {team}: {came[0]}, {mine}, on record: {recorded}"
    )


def names(folder: Path, rounds: int) -> Finding:
    """Two gates on one ledger whose path is spelled in two ways still exclude each other."""
    finding = Finding("interrupts", f"one ledger by two spellings, {rounds} pairs")
    place = folder / "a place — Δοκιμή % ? # 'x'"
    place.mkdir()
    database = build(folder / "staff.duckdb", rounds)  # DuckDB itself cannot have a "?" in a path
    (folder / "link").symlink_to(place)
    (folder / "file link").symlink_to(place / "staff.ledger")
    spellings = [
        place / "staff.ledger",
        folder / "link" / "staff.ledger",
        folder / "file link",
        Path(os.path.relpath(place / "staff.ledger")),
        place / ".." / place.name / "staff.ledger",
    ]
    chance = random.Random(7)
    with timing(finding):
        for team in range(rounds):
            one, two = chance.sample(spellings, 2)
            found: dict[str, Asked] = {}
            rules_here = policy(folder=folder)
            with (
                Gate.open(database, rules_here, one) as first,
                Gate.open(database, rules_here, two) as second,
            ):
                pair = ((first, TOTAL.format(team)), (second, ALL_BUT_ONE.format(team)))

                def race(gate: Gate, sql: str, found: dict[str, Asked] = found) -> None:
                    found[sql] = ask(gate, sql)

                threads = [threading.Thread(target=race, args=each) for each in pair]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
            kinds = sorted(each.kind for each in found.values())
            finding.expect(kinds == ["answered", "refused"], f"{one} and {two}: {found}")
            finding.tried += 1
        hard = folder / "hard.ledger"
        os.link(place / "staff.ledger", hard)
        try:
            Gate.open(database, rules_here, hard).close()
            finding.broken.append("opened under a hard link, whose log and lock are others")
        except LedgerError as error:
            finding.notes.append(f"hard link: “{str(error).split(': ', 1)[1]}”")
        finding.tried += 1
    return finding


def clock_set_back(folder: Path, teams: int) -> Finding:
    """Time goes backwards between entries, by years."""
    finding = Finding("interrupts", "clock set back between entries")
    database, moments = build(folder / "staff.duckdb", teams), iter(range(0, 10_000))

    class Backwards(datetime):
        @classmethod
        def now(cls, _zone: tzinfo | None = None) -> datetime:
            return datetime(2026, 1, 1, tzinfo=UTC) - timedelta(days=50 * next(moments))

    here = policy(folder / "staff.ledger", folder / "staff.anchor", folder=folder)
    with timing(finding), mock.patch("auditor.ledger.book.datetime", Backwards):
        for team in range(teams):
            with Gate.open(database, here) as gate:
                finding.expect(ask(gate, TOTAL.format(team)).text == "answered", f"team {team} not answered")
                finding.expect(
                    ask(gate, ALL_BUT_ONE.format(team)).kind == "refused", f"team {team} not refused"
                )
                finding.expect(ask(gate, TOTAL.format(team)).text == "known", f"team {team} forgotten")
                finding.broken += gate.verify().problems
                finding.tried += 3
    with Gate.open(database, here) as gate:
        history = gate.history()
        finding.expect(history["number"].is_monotonic_increasing, "numbers out of order")
        back = bool((history["time"].diff().dropna() < timedelta(0)).all())
        finding.expect(back, "the clock did not go back")
    return finding
