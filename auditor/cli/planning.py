"""`cae-sql plan`: what each limit and each order of statements buys, on ledgers that are gone afterwards.

Promise: exit status 0 where statements were played, 4 where none of them is understood and about a protected
value, 130 where it was interrupted: what was played until then is told and written, and called partial. Files
are written whole or not at all, and whether they can be is known before the work begins.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from auditor.cli import show
from auditor.cli.auditing import INTERRUPTED, LogFormat, columns_of, require_writable, stopping
from auditor.cli.show import Format

if TYPE_CHECKING:
    from auditor.planning.plan import Plan, Progress
    from auditor.policy.policy import Dialect

UNSUPPORTED = 4
Names = str


def plan(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help=show.SOURCE)],
    file: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Scripts and query logs, in order; - is stdin."),
    ],
    policy: Annotated[Path, typer.Option("-p", "--policy", help="The policy (TOML).")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="A page: one HTML file.")
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="The plan as JSON; - is stdout.")
    ] = None,
    limits: Annotated[
        str, typer.Option(metavar="R,R,…", help="Limits on risk; the policy's own is always tried.")
    ] = "0.4,0.5,0.6,0.7,0.8",
    insiders: Annotated[str, typer.Option(metavar="0,1", help="Insiders of each limit.")] = "0,1",
    orders: Annotated[
        str, typer.Option(metavar="O,O,…", help="written, totals (few groups, large ones first), worth.")
    ] = "written,totals,worth",
    leave_one_out: Annotated[
        int | None,
        typer.Option(
            min=0, metavar="N", help="At most so many statements (default: as many as there is time for)."
        ),
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=1.0, help="For all of it; what is left out for want of time is said.")
    ] = 900.0,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes.")] = 2,
    form: Annotated[LogFormat, typer.Option("--format", help="The files' format.")] = LogFormat.AUTO,
    columns: Annotated[
        list[str] | None,
        typer.Option("--columns", metavar="time=…,user=…,sql=…", help="Names of a table's columns."),
    ] = None,
    dialect: Annotated[
        str | None, typer.Option("--dialect", help="duckdb or postgres, where a file does not say.")
    ] = None,
    timezone: Annotated[str, typer.Option("--timezone", help="In which sessions reckon.")] = "UTC",
) -> None:
    """Say what each limit and each order of statements would buy. The ledger is left alone."""
    outputs = {name: path for name, path in (("html", output), ("json", json_file)) if path is not None}
    require_writable(outputs)
    names = columns_of(columns or [])
    risks = tuple(_limit(each) for each in _split(limits))
    counts = tuple(_insiders(each) for each in _split(insiders))
    from auditor.planning.orders import ORDERS
    from auditor.planning.plan import Wanted
    from auditor.planning.plan import plan as run
    from auditor.policy.policy import Policy

    chosen = tuple(_one_of(each, list(ORDERS), "--orders") for each in _split(orders))
    spoken: Dialect | None = None
    if dialect is not None:
        spoken = (
            "postgres" if _one_of(dialect, ["duckdb", "postgres"], "--dialect") == "postgres" else "duckdb"
        )
    rules = Policy.load(policy)
    wanted = Wanted(risks, counts, chosen, leave_one_out, seconds, workers)
    with stopping() as stop, _bar() as bar:
        found = run(
            source, rules, file, wanted, form=form.value, columns=names or None, dialect=spoken,
            timezone=timezone, progress=bar, stop=stop,
        )  # fmt: skip
    _write(found, output, json_file)
    if json_file is None or str(json_file) != "-":
        _tell(found)
    if found.partial:
        raise typer.Exit(INTERRUPTED)
    if not found.statements:
        raise typer.Exit(UNSUPPORTED)


def _split(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _limit(text: str) -> float:
    try:
        risk = float(text)
    except ValueError:
        risk = -1.0
    if not 0 <= risk < 1:
        raise typer.BadParameter(f"--limits {text}: a limit on risk is 0 or more and below 1, as in 0.4,0.5")
    return risk


def _insiders(text: str) -> int:
    return int(_one_of(text, ["0", "1"], "--insiders"))


def _one_of(text: str, names: list[str], option: str) -> str:
    if text not in names:
        raise typer.BadParameter(f"{option} {text}: take of {', '.join(names)}")
    return text


def _write(found: Plan, output: Path | None, json_file: Path | None) -> None:
    """What was asked for, each file whole or not at all."""
    from auditor import private
    from auditor.errors import AuditorError
    from auditor.planning.json_form import as_json
    from auditor.planning.page import html

    for path, text in ((output, html), (json_file, as_json)):
        if path is None:
            continue
        if str(path) == "-":
            sys.stdout.write(text(found))
            continue
        try:
            private.replace(path, text(found), ".part")
        except OSError as error:
            raise AuditorError(f"{path}: cannot be written: {error.strerror or error}") from error
        print(f"wrote {show.line(str(path))}", file=sys.stderr)


def _tell(found: Plan) -> None:
    """The tables and sentences, for people."""
    from auditor.planning import words

    print(show.line(words.passed_over(found)))
    if found.statements:
        own = words.limit(found, found.own.setting)
        tables = [
            ("by limit, as written", words.LIMIT_COLUMNS, words.limit_rows(found)),
            (
                f"by order, {own}, insiders = {found.own.setting.insiders}",
                words.ORDER_COLUMNS,
                words.order_rows(found),
            ),
            ("others without a statement", words.COST_COLUMNS, words.cost_rows(found)),
        ]
        for title, columns, rows in tables:
            if rows:
                blank = [
                    name
                    for place, name in enumerate(columns)
                    if all(row[place] in ("", None) for row in rows)
                ]
                kept = [place for place, name in enumerate(columns) if name not in blank]
                content = [[row[place] for place in kept] for row in rows]
                show.rows([columns[place] for place in kept], content, Format.TABLE, {}, title)
        print(show.line(words.recommendation(found)))
    for each in found.listed.not_asked.values():
        print(show.line(f"not answered at any limit, {each.count} times: {each.reason}"))
    for said in words.doubts(found):
        print(show.line(said))


@contextmanager
def _bar() -> Iterator[Callable[[Progress], None]]:
    """A bar on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Bar(*columns, console=show.error_console(), transient=True) as bar:
        task = bar.add_task("reading", total=None)
        yield lambda at: bar.update(task, description=at.doing, completed=at.done, total=at.in_all or None)
