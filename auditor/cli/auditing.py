"""`cae-sql audit`: what query logs have already given away, to whom, and which queries prove it.

Promise: exit status 3 where something was found that `--fail-on` names, 130 where it was interrupted before
anything was, 4 where nothing was but something that may have told something was not read or is not modelled
(`--allow-unread` takes that as 0), and 0 only where all of the log was followed and nothing was found. An
interrupt leaves a report of what was found so far, which says that it is partial. Files are written whole or
not at all, for their owner alone, and whether they can be is known before the work begins.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, TextIO, TypeVar

import typer

from auditor.cli import show
from auditor.cli.estimate import Estimate, in_words
from auditor.errors import AuditorError
from auditor.history.unread import unread

if TYPE_CHECKING:
    from rich.table import Table

    from auditor.history.audit import Progress
    from auditor.history.findings import Finding, Findings, MadeLikely, TotalFinding

FOUND, UNREAD, INTERRUPTED = 3, 4, 130
SHOWN = 10
"""Findings that are told on the terminal; the report has all."""


class LogFormat(StrEnum):
    """What `--format` takes; `auditor.history.readers.FORMATS`."""

    AUTO = "auto"
    SQL = "sql"
    CSV = "csv"
    JSONL = "jsonl"
    PARQUET = "parquet"
    POSTGRES = "postgres"
    PGAUDIT = "pgaudit"
    SNOWFLAKE = "snowflake"
    BIGQUERY = "bigquery"
    DUCKDB = "duckdb"


class FailOn(StrEnum):
    """The least that makes the exit status 3, from the strictest on."""

    OPEN = "open"
    LIKELY = "likely"
    APPROXIMATE = "approximate"
    EXACT = "exact"
    DIRECT = "direct"
    NONE = "none"


Database = Annotated[str, typer.Argument(metavar="DATABASE", help=f"{show.SOURCE} As it is now.")]
Logs = Annotated[list[Path], typer.Argument(metavar="LOG...", help="Query logs, in order; - is stdin.")]
PolicyFile = Annotated[Path, typer.Option("-p", "--policy", help="The policy (TOML).")]
Report = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="FILE", help="The report: one HTML file.")
]
JsonFile = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="The findings as JSON; - is stdout.")
]
CsvFile = Annotated[
    Path | None, typer.Option("--csv", metavar="FILE", help="The findings as CSV; - is stdout.")
]
Form = Annotated[LogFormat, typer.Option("--format", help="The logs' format.")]
Columns = Annotated[
    list[str] | None,
    typer.Option("--columns", metavar="time=…,user=…,sql=…", help="Names of a table's columns; or prefix=…"),
]
Groups = Annotated[
    list[str] | None,
    typer.Option(
        "--group", metavar="NAME=USER,…", help="Users who may share what they know; may be repeated."
    ),
]
Fail = Annotated[FailOn, typer.Option("--fail-on", help="The least that makes the exit status 3.")]
Allow = Annotated[
    bool,
    typer.Option(
        "--allow-unread",
        help="Exit status 0, not 4, where nothing was found but not all was read or modelled.",
    ),
]
Checkpoint = Annotated[
    Path | None, typer.Option("--checkpoint", metavar="FILE", help="Where to go on from after an interrupt.")
]
Written = Annotated[
    str | None, typer.Option("--dialect", help="Whose SQL the logs are in, where they do not say.")
]
Timezone = Annotated[
    str,
    typer.Option(
        "--timezone", help="In which sessions reckon until their log says otherwise: Europe/Berlin, say."
    ),
]
Effort = Annotated[
    float,
    typer.Option("--effort", min=0.0, help="How many times as much costly statements may cost together."),
]


def audit(
    database: Database,
    log: Logs,
    policy: PolicyFile,
    output: Report = None,
    json_file: JsonFile = None,
    csv_file: CsvFile = None,
    form: Form = LogFormat.AUTO,
    columns: Columns = None,
    group: Groups = None,
    fail_on: Fail = FailOn.APPROXIMATE,
    allow_unread: Allow = False,
    checkpoint: Checkpoint = None,
    dialect: Written = None,
    timezone: Timezone = "UTC",
    effort: Effort = 1.0,
) -> None:
    """Find out what query logs have given away: whose values, to whom, and which queries prove it."""
    names, groups = columns_of(columns or []), groups_of(group or [])
    outputs = {
        name: path for name, path in (("html", output), ("json", json_file), ("csv", csv_file)) if path
    }
    require_writable(outputs)
    from auditor.history.audit import audit as run
    from auditor.policy.policy import Policy

    rules = Policy.load(policy)
    with stopping() as stop, _bar() as bar:
        findings = run(
            database, rules, log, format=form.value, columns=names or None, groups=groups or None,
            dialect=dialect, timezone=timezone, progress=bar, checkpoint=checkpoint, stop=stop, effort=effort,
        )  # fmt: skip
    write(findings, outputs)
    tell(findings, sys.stderr if Path("-") in outputs.values() else sys.stdout)
    if status := exit_status(findings, fail_on, allow_unread):
        raise typer.Exit(status)


def columns_of(options: Sequence[str]) -> dict[str, str]:
    """`time=When,user=Who` as a mapping; of `prefix=…` all the rest is the prefix.

    Raises:
        typer.BadParameter: for one that is no such pair, or is given twice.
    """
    found: dict[str, str] = {}
    for option in options:
        for pair in [option] if option.startswith("prefix=") else option.split(","):
            role, equals, name = pair.partition("=")
            if not equals or not role or not name:
                raise typer.BadParameter(f"--columns {option}: write time=NAME,user=NAME,sql=NAME")
            if role.strip() in found:
                raise typer.BadParameter(f"--columns {option}: {role.strip()} is given twice")
            found[role.strip()] = name if role == "prefix" else name.strip()
    return found


def groups_of(options: Sequence[str]) -> dict[str, list[str]]:
    """`staff=anna,otto` as a mapping.

    Raises:
        typer.BadParameter: for one without a name or without users, or a name that is given twice.
    """
    found: dict[str, list[str]] = {}
    for option in options:
        name, _, users = option.partition("=")
        members = [user.strip() for user in users.split(",") if user.strip()]
        if not name.strip() or not members:
            raise typer.BadParameter(f"--group {option}: write NAME=USER,USER")
        if name.strip() in found:
            raise typer.BadParameter(f"--group {option}: {name.strip()} is given twice")
        found[name.strip()] = members
    return found


def require_writable(outputs: Mapping[str, Path]) -> None:
    """See that what will be found can be written: an audit may take long.

    Raises:
        typer.BadParameter: for a folder that is not there or may not be written, or two outputs to one place.
    """
    if len(set(outputs.values())) < len(outputs):
        raise typer.BadParameter("two of -o, --json and --csv go to one place")
    for path in outputs.values():
        if str(path) == "-":
            continue
        if not path.parent.is_dir():
            raise typer.BadParameter(f"{path}: there is no folder {path.parent}")
        if path.is_dir() or not os.access(path.parent, os.W_OK):
            raise typer.BadParameter(f"{path}: cannot be written")


@contextmanager
def stopping() -> Iterator[Callable[[], bool]]:
    """Whether somebody pressed Ctrl-C: the first time asks to stop, the second stops at once."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked.is_set
        return
    before = signal.getsignal(signal.SIGINT)

    def ask(number: int, frame: FrameType | None) -> None:
        del number, frame
        asked.set()
        # Not what was there before: a shell starts what stands in the background with this signal ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        print("stopping; the report will be partial (once more to stop at once)", file=sys.stderr)

    signal.signal(signal.SIGINT, ask)
    try:
        yield asked.is_set
    finally:
        signal.signal(signal.SIGINT, before)


def write(findings: Findings, outputs: Mapping[str, Path]) -> None:
    """Write what was asked for, each file whole or not at all.

    Raises:
        AuditorError: if one cannot be written.
    """
    from auditor import private, report

    forms = {"html": report.html, "json": report.as_json, "csv": report.as_csv}
    for name, path in outputs.items():
        text = forms[name](findings)
        if str(path) == "-":
            sys.stdout.write(text)
            continue
        try:
            private.replace(path, text, ".part")
        except OSError as error:
            raise AuditorError(f"{path}: cannot be written: {error.strerror or error}") from error
        print(f"wrote {show.line(str(path))}", file=sys.stderr)


def exit_status(findings: Findings, fail_on: FailOn, allow_unread: bool) -> int:
    """What a pipeline is told: see the module's promise."""
    order = list(FailOn)
    kinds = {FailOn(finding.kind) for finding in (*findings.findings, *findings.totals)}
    if any(party.open or party.totals_open for party in findings.parties):
        kinds.add(FailOn.OPEN)
    if findings.likely:
        kinds.add(FailOn.LIKELY)
    if fail_on is not FailOn.NONE and any(order.index(kind) >= order.index(fail_on) for kind in kinds):
        return FOUND
    if findings.partial:
        return INTERRUPTED
    return UNREAD if unread(findings.reading, findings.unmodelled) and not allow_unread else 0


def tell(findings: Findings, stream: TextIO) -> None:
    """The summary, for people."""
    from rich.console import Console

    console = Console(file=stream, highlight=False, width=None if stream.isatty() else 10_000)
    console.print(_parties(findings))
    for line in lines(findings):
        print(show.line(line), file=stream)


def lines(findings: Findings) -> Iterator[str]:
    """The summary's sentences."""
    if findings.partial:
        yield f"PARTIAL: {findings.partial}"
    missing = unread(findings.reading, findings.unmodelled, findings.parties)
    told, totals = once(findings.findings), once(findings.totals)
    if not told and not totals:
        yield "nobody was found to be located" + (f", but {missing.said}: somebody may be" if missing else "")
    elif missing:
        yield f"more may have been given away than is found here: {missing.said}"
    if missing.nothing:
        yield "no statement was found in the logs: is it the right format, and was logging switched on?"
    for name, what in (
        ("broken", "lines and records that were not read"),
        ("lost", "statements cut or missing"),
    ):
        counts = findings.reading.get(name)
        if isinstance(counts, Mapping) and counts:
            yield f"{what}: {'; '.join(f'{reason}: {count}' for reason, count in counts.items())}"
    for finding in told[:SHOWN]:
        name = f"{finding.table}.{finding.column} of record {finding.key or finding.record}"
        yield (
            f"{finding.kind}: {name}, to {finding.party}, since statement {finding.first.number} "
            f"({finding.first.source}): {finding.certificate.sentence}"
        )
    if len(told) > SHOWN:
        yield f"… and {len(told) - SHOWN} more"
    for total in totals[:SHOWN]:
        yield (
            f"located: {total.key} ({total.table}.{total.column}), to {total.party}, since statement "
            f"{total.first.number} ({total.first.source}): {total.certificate.sentence}"
        )
    if len(totals) > SHOWN:
        yield f"… and {len(totals) - SHOWN} more totals"
    likely = once(findings.likely)
    for person in likely[:SHOWN]:
        yield _likely(person)
    if len(likely) > SHOWN:
        yield f"… and {len(likely) - SHOWN} more made likely"
    for one in findings.unmodelled:
        yield f"not modelled: {one.kind}, {one.count} statements: {one.reason}"
    if findings.unit:
        yield (
            "Of a unit's sums those over all its rows, and over rows that the same answers are about, are "
            "looked at; what is made likely of them is not."
        )
    yield "The logs were replayed over the database as it is now, not as it was then."


def _likely(one: MadeLikely) -> str:
    """A record of which too much is made likely, in plain words."""
    name = f"{one.table}.{one.column} of record {one.key or one.record}"
    since = f"since statement {one.first.number} ({one.first.source})"
    return f"likely: {name}, to {one.party}, {since}: {one.said([each.number for each in one.carried_by])}"


Told = TypeVar("Told", "Finding", "TotalFinding", "MadeLikely")


def once(findings: Sequence[Told]) -> list[Told]:
    """Each record once, or total, for the smallest party that learned it: users, groups, all together."""
    sizes = {"user": 0, "group": 1}
    smallest = sorted(findings, key=lambda each: sizes.get(each.party.split(" ")[0], 2))
    found: dict[tuple[str, str, int, tuple[int, ...]], Told] = {}
    for finding in smallest:
        rows = getattr(finding, "rows", ())
        found.setdefault((finding.table, finding.column, finding.record, rows), finding)
    return list(found.values())


def _parties(findings: Findings) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    names = ("party", "statements", "answers", "located", "exact", "direct", "open", "risk", "likely")
    for name in names:
        table.add_column(name, justify="left" if name == "party" else "right", overflow="fold")
    for name in ("totals", "open totals") if findings.unit else ():
        table.add_column(name, justify="right", overflow="fold")
    for party in findings.parties:
        figures = (party.statements, party.answers, party.located, party.exact, party.direct, party.open)
        totals = (party.totals, party.totals_open) if findings.unit else ()
        table.add_row(
            Text(show.plain(party.party)), *map(str, figures), f"{party.risk:.3f}", str(party.likely),
            *map(str, totals),
        )  # fmt: skip
    return table


@contextmanager
def _bar() -> Iterator[Callable[[Progress], None] | None]:
    """A bar on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    shown = TextColumn("{task.description}")
    with Bar(
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        shown,
        console=show.error_console(),
        transient=True,
    ) as bar:
        task = bar.add_task("opening the database", total=None)
        estimate = Estimate()

        def tell_progress(at: Progress) -> None:
            estimate.take(time.monotonic(), at.bytes_read)
            bar.update(
                task, completed=at.bytes_read, total=at.bytes_in_all or None, description=doing(at, estimate)
            )

        yield tell_progress


def doing(at: Progress, estimate: Estimate) -> str:
    """How far it is, in words; proofs come after the log, and how long they take is not known before."""
    far = f"{at.statements:,} statements, {at.answers:,} answers, {at.located:,} located"
    if at.bytes_in_all and at.bytes_read >= at.bytes_in_all:
        return f"{far}; the log's end is near, then proofs"
    return f"{far}; {in_words(estimate.seconds(at.bytes_in_all))}, then proofs"
