"""What happens to gate and ledger when all goes wrong: killed, crowded, raced, full, read-only, interrupted.

Run as `python -m benchmarks.robustness`, or with `--sections kill disk` for some of it. "broken" counts what
the promise forbids: an answer released that is not on record, two answers that are unsafe together, a ledger
that does not open again or whose chain does not verify, an error that is not one clear line, a client that
never comes back. What the machine does not allow (mounts, another user) is skipped and says why. The status
is 1 where anything is broken.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks._crowds import clients, races
from benchmarks._disks import (
    Unavailable,
    apart_cases,
    becomes_read_only,
    begun_on_a_full_disk,
    full_disk,
    no_files_left,
    read_only_folder,
)
from benchmarks._interruptions import clock_set_back, interrupted, names
from benchmarks._killing import killed, killed_at_the_beginning
from benchmarks._record import Finding
from benchmarks._results import Line, options, write

Case = Callable[[Path], Finding]
SECTIONS = ("kill", "clients", "processes", "disk", "read-only", "interrupts")


def cases(section: str, quick: bool) -> list[Case]:
    """What a section consists of; each case gets an empty folder."""

    def size(whole: int, small: int) -> int:
        return small if quick else whole

    found: dict[str, list[Case]] = {
        "kill": [
            lambda folder: killed(folder, size(200, 2)),
            lambda folder: killed_at_the_beginning(folder, size(60, 2)),
        ],
        "clients": [
            lambda folder: clients(folder, size(32, 4), size(20, 3), "mixed", size(12, 4)),
            lambda folder: clients(folder, size(32, 4), size(60, 5), "settled", size(12, 3)),
        ],
        "processes": [lambda folder: races(folder, size(300, 2))],
        "disk": [
            lambda folder: full_disk(folder, "ledger", size(40, 2)),
            lambda folder: full_disk(folder, "anchor", size(20, 2)),
            lambda folder: full_disk(folder, "ledger and anchor", size(40, 2)),
            lambda folder: begun_on_a_full_disk(folder, size(120, 4)),
            lambda folder: no_files_left(folder, size(1, 4)),
            lambda folder: apart_cases(folder, size(40, 3), size(1, 8))[0](),
            lambda folder: apart_cases(folder, size(40, 3), size(1, 8))[1](),
        ],
        "read-only": [read_only_folder, becomes_read_only, lambda folder: apart_cases(folder)[2]()],
        "interrupts": [
            lambda folder: interrupted(folder, size(300, 4)),
            lambda folder: names(folder, size(60, 2)),
            lambda folder: clock_set_back(folder, size(12, 3)),
        ],
    }
    return found[section]


def run(sections: list[str], quick: bool, told: Callable[[str], None]) -> list[Finding]:
    """All cases of these sections."""
    found = []
    for section in sections:
        for case in cases(section, quick):
            with tempfile.TemporaryDirectory() as folder:
                try:
                    found.append(case(Path(folder)))
                except Unavailable as error:
                    found.append(Finding(section, "skipped", notes=[str(error)]))
                told(f"{found[-1].section}: {found[-1].what}, {found[-1].seconds:.0f} s")
    return found


def show(found: list[Finding], console: Console) -> None:
    """The table, and what was broken in words."""
    table = Table(title="What was tried, and what it broke", show_lines=True)
    for name in ("what", "tried", "broken", "s", "notes"):
        table.add_column(
            name, justify="right" if name in ("tried", "broken", "s") else "left", overflow="fold"
        )
    for each in found:
        figures = (f"{each.tried:,}", str(len(each.broken)), f"{each.seconds:.0f}")
        table.add_row(each.what, *figures, escape("\n".join(each.notes)), style="red" if each.broken else "")
    console.print(table)
    for each in found:
        for line in each.broken[:10]:
            console.print(f"{each.what}: {line}", style="red", markup=False)


def main(arguments: list[str] | None = None) -> None:
    parser = options("robustness", __doc__)
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    given = parser.parse_args(arguments)
    start = time.perf_counter()
    console = Console(width=150)
    found = run(given.sections, given.quick, lambda line: print(line, file=sys.stderr, flush=True))
    show(found, console)
    broken = sum(len(each.broken) for each in found)
    console.print(f"{broken} broken; {time.perf_counter() - start:,.0f} s in all.")
    lines = [
        Line(f"robustness: {each.what}", "–", f"{each.tried:,} tried", len(each.broken), unit="broken")
        for each in found
    ]
    write(given.json, lines, [asdict(each) for each in found])
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
