"""`cae-sql attack`: the owner's proof, by attacks on a copy of the policy with a ledger of its own.

Promise: each attack is shown as it ends. Exit status 0 where nobody was located, 3 where somebody was, 1
where nobody was and an attack failed. The owner's ledger is left alone.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from auditor.cli import show
from auditor.cli.show import SOURCE, Format

if TYPE_CHECKING:
    from auditor.attacks import Attack
    from auditor.attacks.runner import Report

FAILED, LOCATED = 1, 3
COLUMNS = ["attack", "asked", "answered", "refused", "unsupported", "surprises", "claims", "located",
           "without_gate", "seconds", "note"]  # fmt: skip


def attack(
    database: Annotated[str | None, typer.Argument(metavar="DATABASE", help=SOURCE)] = None,
    policy: Annotated[Path | None, typer.Option("-p", "--policy", help="The policy (TOML).")] = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="NAME", help="Run this attack; may be repeated.")
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="Show the attacks and their sources; run none.")
    ] = False,
    after_history: Annotated[
        bool, typer.Option("--after-history", help="Start from a copy of the ledger, its answers known.")
    ] = False,
    decisions: Annotated[
        int, typer.Option("--decisions", min=1, help="Decisions of the gate that each attack may cause.")
    ] = 300,
    form: Annotated[Format, typer.Option("--format", help="How to print.")] = Format.TABLE,
) -> None:
    """Run published attacks against the database, and show what they achieve. The ledger is left alone."""
    from auditor.attacks import ATTACKS

    chosen = _chosen(ATTACKS, only or [])
    if listed:
        about = {"code": "attacks", "message": f"{len(chosen)} attacks", "hint": ""}
        show.rows(["attack", "about", "source"], [[a.name, a.about, a.source] for a in chosen], form, about)
        return
    if database is None or policy is None:
        raise typer.BadParameter("DATABASE and -p POLICY are needed, unless --list is given")
    from auditor.attacks.runner import run_attacks
    from auditor.policy.policy import Policy

    rules = Policy.load(policy)
    several = len(rules.protects) > 1
    columns = [*COLUMNS[:1], *(["column"] if several else []), *COLUMNS[1:]]
    longest = max(len(each.name) for each in chosen)
    stream = show.Stream(columns, form, [longest, *(len(name) for name in columns[1:])])

    def came(report: Report) -> None:
        stream.row(_row(report, several))
        if report.error is not None and os.environ.get("CAE_SQL_DEBUG"):
            traceback.print_exception(report.error)

    with _progress(len(chosen) * len(rules.protects)) as progress:
        reports = run_attacks(
            *(database, rules, chosen),
            after_history=after_history,
            decisions=decisions,
            progress=progress,
            came=came,
        )
    _sum_up(reports, form, stream)
    if any(report.gate is not None and report.gate.located for report in reports):
        raise typer.Exit(LOCATED)
    if any(report.error is not None for report in reports):
        raise typer.Exit(FAILED)


def _chosen(attacks: Sequence[Attack], only: Sequence[str]) -> list[Attack]:
    names = [attack.name for attack in attacks]
    for name in only:
        if name not in names:
            raise typer.BadParameter(f"no attack is named {name}; there are {', '.join(names)}")
    return [attack for attack in attacks if not only or attack.name in only]


def _sum_up(reports: Sequence[Report], form: Format, stream: show.Stream) -> None:
    run = [report for report in reports if report.gate is not None]
    located = sum(report.gate is not None and report.gate.located > 0 for report in run)
    open_ones = sum(report.without is not None and report.without.located > 0 for report in run)
    failed = [report.attack.name for report in reports if report.error is not None]
    message = (
        f"{located} of {len(run)} attacks located somebody; without the gate {open_ones} did"
        if located
        else f"nobody was located by {len(run)} attacks; without the gate {open_ones} of them succeed"
    )
    if failed:
        message += f"; {len(failed)} failed and say nothing: {', '.join(failed)}"
    about = {
        "code": "located" if located else "failed" if failed else "nobody",
        "message": message,
        "hint": "",
        "located": [_claim(report) for report in run if report.gate is not None and report.gate.located],
        "failed": failed,
    }
    stream.end(about)
    if form is Format.TABLE:
        print(message)
        for report in run:
            for claim in report.gate.achieved[:1] if report.gate is not None else ():
                bounds = f"between {float(claim.lower):g} and {float(claim.upper):g}"
                print(show.plain(f"{report.attack.name}: {claim.where} is {bounds}: {claim.proof}"))


def _row(report: Report, several: bool) -> list[object]:
    start: list[object] = [report.attack.name, *([report.column] if several else [])]
    if report.error is not None:
        said = f"failed ({type(report.error).__name__}): {report.error}".splitlines()[0]
        return [*start, *[None] * 9, said]
    if report.gate is None or report.without is None:
        return [*start, *[None] * 9, f"not tried: {report.reason}"]
    gate = report.gate
    note = "; ".join([*gate.remarks, *([] if gate.finished else ["its time was over"])])
    tally = gate.tally
    return [
        *start, tally.asked, tally.answered, tally.refused, tally.unsupported, gate.surprises,
        len(gate.claims), gate.located, report.without.located, round(gate.seconds, 1), note,
    ]  # fmt: skip


def _claim(report: Report) -> dict[str, object]:
    assert report.gate is not None
    claim = report.gate.achieved[0]
    return {
        "attack": report.attack.name,
        "column": report.column,
        "records": report.gate.located,
        "where": claim.where,
        "lower": float(claim.lower),
        "upper": float(claim.upper),
        "proof": claim.proof,
    }


@contextmanager
def _progress(total: int) -> Iterator[Callable[[Attack], None]]:
    """A bar on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description:24}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    # rows come meanwhile: on a terminal above the bar, else where they were sent
    beside = sys.stdout.isatty()
    with Progress(*columns, console=show.error_console(), transient=True, redirect_stdout=beside) as bar:
        task = bar.add_task("", total=total)
        begun = [0]

        def begin(attack: Attack) -> None:
            bar.update(task, description=attack.name, completed=begun[0])
            begun[0] += 1

        yield begin
