"""`cae-sql release` and `cae-sql requests`: a way past no, on the owner's word, and who asks for it.

Promise: nothing is released before it was said whom that sets aside and, without `--yes`, before somebody has
said yes to that.
"""

from __future__ import annotations

import getpass
import sys
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from auditor.cli import show
from auditor.cli.app import REFUSED, UNSUPPORTED, Database, Form, PolicyFile, Statement, Timezone, Written
from auditor.cli.show import Format
from auditor.errors import QueryRefused, QueryUnsupported

if TYPE_CHECKING:
    from pathlib import Path

    from auditor.gate.gate import Gate
    from auditor.gate.releasing import Exposure

MOST = 20
"""Persons who are listed on a terminal."""
By = Annotated[str | None, typer.Option("--by", help="Who decides; recorded (default: this machine's user).")]


def release(
    database: Database,
    sql: Statement,
    policy: PolicyFile,
    because: Annotated[str, typer.Option("--because", help="Why; recorded.")],
    yes: Annotated[bool, typer.Option("--yes", help="Release it without asking.")] = False,
    by: By = None,
    to: Annotated[
        str | None, typer.Option("--to", help="Whose knowledge it is, where each user's counts apart.")
    ] = None,
    dialect: Written = None,
    timezone: Timezone = "UTC",
    form: Form = Format.TABLE,
) -> None:
    """Release an answer that the gate refuses, on the owner's word. For administrators."""
    text, owner = sys.stdin.read() if sql == "-" else sql, by or getpass.getuser()
    spoken: Literal["duckdb", "postgres"] | None = None if dialect is None else dialect.value
    with _gate(database, policy) as gate:
        try:
            with show.status("looking at whom it takes beyond the limit"):
                seen = gate.exposed_by(text, to=to or owner, dialect=spoken, timezone=timezone)
        except (QueryRefused, QueryUnsupported) as error:
            show.decision(error.decision, form)
            raise typer.Exit(UNSUPPORTED if error.decision.verdict == "unsupported" else REFUSED) from None
        _list(seen, form)
        if not yes and not _confirmed():
            print("nothing was released", file=sys.stderr)
            raise typer.Exit(REFUSED)
        answer = gate.release(text, because, owner, None, to, spoken, timezone, seen)
        content = answer.fetchall()
    persons = {"columns": list(seen.persons.columns), "rows": show.frame_rows(seen.persons)}
    about = {
        **show.reason(answer.decision),
        "set_aside": seen.count,
        "beyond": seen.beyond,
        "persons": persons,
    }
    show.rows(answer.columns, content, form, about)


def _confirmed() -> bool:
    """Whether the owner says yes; nobody who could be asked says no."""
    try:
        return typer.confirm("Release it?", err=True)
    except typer.Abort:
        print("nobody answers: --yes releases it without asking", file=sys.stderr)
        return False


def _list(seen: Exposure, form: Format) -> None:
    """Say whom a release sets aside: those of whom least is left on a terminal, in words anyway."""
    if form is Format.TABLE and seen.count:
        first = seen.persons.head(MOST)
        show.rows(list(first.columns), [show.short(row) for row in show.frame_rows(first)], form, {})
        if seen.count > len(first):
            print(f"{len(first)} of {seen.count:,}, those nearest to being located first")
    print(show.line(seen.words), file=sys.stderr)


def requests(
    database: Database,
    policy: PolicyFile,
    decline: Annotated[
        int | None, typer.Option("--decline", metavar="NUMBER", help="Say no to this request.")
    ] = None,
    because: Annotated[str | None, typer.Option("--because", help="Why not; recorded.")] = None,
    by: By = None,
    form: Form = Format.TABLE,
) -> None:
    """Show what analysts have asked the owner to release, and what became of it. For administrators."""
    with _gate(database, policy) as gate:
        if decline is not None:
            gate.decline(decline, because or "", by or getpass.getuser())
        frame = gate.requests()
    waiting = int((frame["state"] == "open").sum())
    about = {"code": "requests", "message": f"{len(frame)} requests, {waiting} open", "hint": ""}
    columns, content = list(frame.columns), show.frame_rows(frame)
    if form is Format.TABLE:
        columns, content = show.for_people(columns, content)
    show.rows(columns, content, form, about)


def _gate(database: str, policy: Path) -> Gate:
    with show.status("opening the database and the ledger"):
        from auditor.gate.gate import Gate
        from auditor.policy.policy import Policy

        gate = Gate.open(database, Policy.load(policy))
    gate.compiling = show.compiling
    return gate
