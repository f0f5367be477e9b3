"""`cae-sql report`: how a gate stands, as one page for its owner.

Promise: the ledger is left as it is. Exit status 0; 3 where a class is proved to be beyond the limit; 2 where
the ledger is not there, cannot be trusted or does not agree with the data: then the page says so too. The
file is written whole or not at all, for its owner alone, and whether it can be is known before the work
begins.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated

import typer

from auditor.cli import show
from auditor.cli.app import REFUSED
from auditor.errors import AuditorError, LedgerError

TROUBLE = 2

Database = Annotated[str, typer.Argument(metavar="DATABASE", help=show.SOURCE)]
PolicyFile = Annotated[Path, typer.Option("-p", "--policy", help="The policy (TOML).")]
Output = Annotated[
    Path,
    typer.Option("-o", "--output", metavar="FILE", help="The page: one HTML file that needs no network."),
]
Foresee = Annotated[
    bool, typer.Option("--next/--no-next", help="Look at what would be refused next, which takes longest.")
]


def report(database: Database, policy: PolicyFile, output: Output, foresee: Foresee = True) -> None:
    """Write the owner's page: what was asked and told, who is near the limit, what would be refused next."""
    from auditor.cli.auditing import require_writable
    from auditor.data.sources import source_of
    from auditor.gate.gate import Gate
    from auditor.ledger.places import place_of
    from auditor.policy.policy import Policy
    from auditor.report.account import account
    from auditor.report.owner import owner_page, trouble_page

    require_writable({"html": output})
    rules, text = Policy.load(policy), policy.read_text(encoding="utf-8")
    where = rules.ledger_location(source_of(database).beside)
    headline = "The ledger cannot be trusted"
    try:
        with closing(place_of(where)) as place:
            if not place.exists() and (rules.anchor_path is None or not rules.anchor_path.exists()):
                headline = "There is no ledger"
                raise LedgerError(
                    f"ledger {place}: there is none; whoever asks first through a gate begins one"
                )
        with show.status("opening the database and the ledger"):
            gate = Gate.open(database, rules)
        gate.compiling = show.compiling
        with gate, _progress() as told:
            found = account(gate, database, text, where, told, foresee)
    except LedgerError as error:
        _write(output, trouble_page(headline, str(error), text))
        raise
    _write(output, owner_page(found))
    _tell(found.verification.problems, found.beyond)


def _tell(problems: tuple[str, ...], classes: int) -> None:
    """What a pipeline is told."""
    for problem in problems:
        print(f"problem: {show.line(problem)}", file=sys.stderr)
    if problems:
        raise typer.Exit(TROUBLE)
    if classes:
        print(f"{classes} classes are proved to be beyond the limit", file=sys.stderr)
        raise typer.Exit(REFUSED)


def _write(path: Path, page: str) -> None:
    from auditor import private

    try:
        private.replace(path, page, ".part")
    except OSError as error:
        raise AuditorError(f"{path}: cannot be written: {error.strerror or error}") from error
    print(f"wrote {show.line(str(path))}", file=sys.stderr)


@contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None]]:
    """A bar on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda _, __, ___: None
        return
    from rich.progress import Progress

    with Progress(console=show.error_console(), transient=True) as bar:
        task = bar.add_task("looking at who is near the limit", total=None)
        yield lambda doing, done, of: bar.update(task, description=doing, completed=done, total=of)
