"""`cae-sql evaluate`: how risky is what is about to be published, and would another technique cost less?

Promise: exit status 0 where the limit is kept or there is none, 3 where a record is beyond it (of a sweep:
where no setting keeps it), unless `--fail-on none`; files are written whole or not at all, and whether they
can be is known before the work begins.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from auditor.cli import show
from auditor.cli.auditing import require_writable
from auditor.cli.show import Format
from auditor.errors import AuditorError

if TYPE_CHECKING:
    from auditor.evaluation.evaluate import Evaluation
    from auditor.evaluation.subject import Stated, Subject
    from auditor.evaluation.sweep import Sweep
    from auditor.evaluation.techniques import Settings

BEYOND = 3
_NOISE = 1e-9
"""Less is rounding."""
SHOWN = 20
"""Classes on the terminal; `--top` says otherwise, CSV and JSON have all."""


class TechniqueName(StrEnum):
    """What `--technique` takes; `auditor.evaluation.techniques.TECHNIQUES`."""

    SAMPLING = "sampling"
    NOISE = "noise"
    QUERY_RESTRICTION = "query-restriction"
    GENERALISATION = "generalisation"
    ANATOMY = "anatomy"
    RANDOMISED_RESPONSE = "randomised-response"


class FailOn(StrEnum):
    """What makes the exit status 3."""

    LIMIT = "limit"
    NONE = "none"


Source = Annotated[
    Path,
    typer.Argument(
        metavar="FILE|DATABASE", help="The original: a CSV, Parquet or JSON file, or a DuckDB database."
    ),
]
PolicyFile = Annotated[Path | None, typer.Option("-p", "--policy", help="The policy (TOML).")]
Names = list[str] | None
Release = Annotated[
    str | None, typer.Option("--release", metavar="TABLE|FILE", help="What is to be published.")
]
Probabilities = Annotated[
    Names,
    typer.Option(
        "--probability", metavar="P|COLUMN=P", help="Of keeping a value; alone: the confidential column's."
    ),
]
Sweeps = Annotated[
    Names,
    typer.Option("--sweep", metavar="TECHNIQUE:V,V,…", help="Compare these settings; may be repeated."),
]
Numbers = Annotated[
    bool, typer.Option("--by-number", help="A line for each number of known columns, too; slower.")
]


def evaluate(
    source: Source,
    technique: Annotated[
        TechniqueName | None, typer.Option("--technique", help="How the release was, or is, made.")
    ] = None,
    policy: PolicyFile = None,
    original: Annotated[
        str | None, typer.Option("--original", metavar="TABLE", help="Of the database (default: policy's).")
    ] = None,
    release: Release = None,
    make: Annotated[
        bool, typer.Option("--make", help="Make the release here (the default without --release).")
    ] = False,
    percent: Annotated[float | None, typer.Option(help="sampling: of the records.")] = None,
    noise: Annotated[float | None, typer.Option(help="noise: percent of each attribute's |D| − 1.")] = None,
    query_set_size: Annotated[int | None, typer.Option(help="query-restriction: records in a sum.")] = None,
    probability: Probabilities = None,
    ell: Annotated[int | None, typer.Option(help="anatomy: different values in a group.")] = None,
    group: Annotated[str | None, typer.Option(help="anatomy: the column that names the group.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of what is made here.")] = 0,
    sweep: Sweeps = None,
    repetitions: Annotated[int, typer.Option(min=1, help="Of --sweep: releases of each setting.")] = 3,
    known: Annotated[
        Names, typer.Option(metavar="A,B,…|none|all", help="What the intruder knows (default: policy's).")
    ] = None,
    by_number: Numbers = False,
    column: Annotated[str | None, typer.Option(help="The confidential column.")] = None,
    public: Annotated[Names, typer.Option(metavar="A,B,…", help="Columns that are released.")] = None,
    minimum: Annotated[str | None, typer.Option(help="Of the domain.")] = None,
    maximum: Annotated[str | None, typer.Option(help="Of the domain.")] = None,
    step: Annotated[str | None, typer.Option(help="Of the domain.")] = None,
    round_: Annotated[
        bool, typer.Option("--round", help="Round the confidential column to the domain's step.")
    ] = False,
    max_risk: Annotated[float | None, typer.Option(help="The limit on risk (default: the policy's).")] = None,
    top: Annotated[int | None, typer.Option(min=1, help="Only the N riskiest classes.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="A report: one HTML file.")
    ] = None,
    fail_on: Annotated[FailOn, typer.Option("--fail-on", help="What makes the status 3.")] = FailOn.LIMIT,
    form: Annotated[Format, typer.Option("--format", help="How to print.")] = Format.TABLE,
) -> None:
    """Say how risky a release is, class by class, or compare techniques: risk against utility."""
    if (technique is None) == (not sweep):
        raise typer.BadParameter("give --technique for one release, or --sweep to compare several")
    if make and release is not None:
        raise typer.BadParameter("--make makes a release, and --release names one: leave one of the two out")
    if output is not None:
        require_writable({"html": output})
    from auditor.evaluation.techniques import Settings

    stated = _stated(column, public, known, minimum, maximum, step, max_risk, round_)
    with show.status("reading"):
        subject = _subject(source, original, policy, stated)
    chances = _probabilities(probability or [], subject.column)
    settings = Settings(percent, noise, query_set_size, chances, ell, group)
    if sweep:
        if settings.given or release is not None or make or by_number:
            raise typer.BadParameter("--sweep has its parameters with it, as in --sweep sampling:5,10,20")
        broken = _sweep(subject, sweep, repetitions, seed, output, form)
    else:
        assert technique is not None
        found = _evaluation(source, subject, technique, settings, release, seed, by_number)
        _write(output, found)
        _tell(found, form, top)
        broken = found.broken
    if broken and fail_on is FailOn.LIMIT:
        raise typer.Exit(BEYOND)


def _subject(source: Path, original: str | None, policy: Path | None, stated: Stated) -> Subject:
    from auditor.evaluation.subject import protect_of, subject_of
    from auditor.evaluation.tables import read
    from auditor.policy import Policy

    rules = None if policy is None else Policy.load(policy)
    protect = protect_of(rules, stated.column)
    found = read(source, original, None if protect is None else protect.table)
    return subject_of(found.name, found.table, rules, stated)


def _evaluation(
    source: Path,
    subject: Subject,
    technique: TechniqueName,
    settings: Settings,
    release: str | None,
    seed: int,
    by_number: bool,
) -> Evaluation:
    from auditor.evaluation.evaluate import evaluate as run
    from auditor.evaluation.tables import read_release
    from auditor.evaluation.techniques import TECHNIQUES

    given = None if release is None else read_release(source, release)
    with _progress("sets of columns") as progress:
        return run(
            subject,
            TECHNIQUES[technique.value],
            settings,
            released=None if given is None else given.table,
            source=None if given is None else given.name,
            seed=seed,
            numbers=by_number,
            progress=progress,
        )


def _sweep(
    subject: Subject,
    texts: Sequence[str],
    repetitions: int,
    seed: int,
    output: Path | None,
    form: Format,
) -> bool:
    """Whether no setting keeps the limit."""
    from auditor.evaluation.json_form import sweep_members, sweep_rows
    from auditor.evaluation.sweep import settings_of
    from auditor.evaluation.sweep import sweep as run
    from auditor.evaluation.words import choice

    settings = settings_of(texts)
    with _progress("releases") as progress:
        found = run(subject, settings, repetitions, seed, progress)
    _write(output, found)
    columns, rows = sweep_rows(found)
    if form is Format.TABLE:
        rows = [_short(row) for row in rows]
        columns, rows = columns[:2] + columns[3:], [row[:2] + row[3:] for row in rows]
    show.rows(columns, rows, form, sweep_members(found))
    if form is Format.TABLE:
        print(show.plain(choice(found)))
    return subject.limit is not None and found.best is None


def _tell(found: Evaluation, form: Format, top: int | None) -> None:
    from auditor.evaluation.json_form import class_table, evaluation_members
    from auditor.evaluation.words import CAUTION, origin, verdict

    classes = class_table(found)
    most = top or (SHOWN if form is Format.TABLE else len(classes))
    content = show.frame_rows(classes.head(most))
    if form is not Format.TABLE:
        show.rows(list(classes.columns), content, form, evaluation_members(found))
        return
    print(show.plain(origin(found)))
    if found.numbers:
        _tell_numbers(found)
    show.rows(list(classes.columns), [_short(row) for row in content], form, {})
    if len(classes) > len(content):
        print(f"the {len(content)} riskiest of {len(classes):,} classes; --top shows more")
    print(show.plain(verdict(found)))
    print(CAUTION)


def _tell_numbers(found: Evaluation) -> None:
    columns = ["known columns", "sets", "mean_entropy", "mean_risk", "worst_risk", "beyond_share"]
    rows: list[list[object]] = []
    for line in found.numbers:
        sets = f"{line.subsets}" + (f" of {line.all_subsets}" if line.subsets < line.all_subsets else "")
        rows.append([line.known, sets, line.mean_entropy, line.mean_risk, line.worst_risk, line.beyond_share])
    if found.subject.limit is None:
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    show.rows(columns, [_short(row) for row in rows], Format.TABLE, {})


def _short(row: Sequence[object]) -> list[object]:
    """Figures for the eye: three decimals, and never 0 for what is not."""
    return [_figure(value) if isinstance(value, float) else value for value in row]


def _figure(value: float) -> float:
    return float(f"{value:.1g}") if _NOISE < abs(value) < 0.0005 else round(value, 3) + 0.0


def _write(output: Path | None, found: Evaluation | Sweep) -> None:
    """The report, whole or not at all."""
    if output is None:
        return
    from auditor.evaluation.page import html

    text = html(found)
    beside = output.with_name(f".{output.name}.part")
    try:
        beside.write_text(text, encoding="utf-8", newline="")
        beside.replace(output)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise AuditorError(f"{output}: cannot be written: {error.strerror or error}") from error
    print(f"wrote {output}", file=sys.stderr)


def _stated(
    column: str | None,
    public: Names,
    known: Names,
    minimum: str | None,
    maximum: str | None,
    step: str | None,
    max_risk: float | None,
    rounds: bool,
) -> Stated:
    from auditor.evaluation.subject import Stated
    from cae_sql.numbers import exact
    from cae_sql.risk import Limit

    given = {"minimum": minimum, "maximum": maximum, "step": step}
    low, high, width = (None if text is None else exact(text, name) for name, text in given.items())
    released = _split(public) if public else None
    knows: tuple[str, ...] | Literal["all"] | None = _split(known) if known else None
    if knows == ("none",):
        knows = ()
    elif knows == ("all",):
        knows = "all"
    limit = None if max_risk is None else Limit(risk=max_risk)
    return Stated(column, released, knows, low, high, width, limit, rounds)


def _split(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name.strip() for part in names for name in part.split(",") if name.strip())


def _probabilities(options: Sequence[str], column: str) -> Mapping[str, float]:
    """`0.8` and `sex=0.9` as a mapping."""
    found: dict[str, float] = {}
    for option in options:
        name, equals, text = option.rpartition("=")
        try:
            value = float(text)
        except ValueError as error:
            raise typer.BadParameter(f"--probability {option}: write 0.8, or COLUMN=0.8") from error
        name = name if equals else column
        if name in found:
            raise typer.BadParameter(f"--probability {option}: {name} is given twice")
        found[name] = value
    return found


@contextmanager
def _progress(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=show.error_console(), transient=True) as bar:
        task = bar.add_task(what)

        def tell(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield tell
