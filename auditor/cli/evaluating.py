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
from auditor.cli.evaluating_output import tell_evaluation, tell_sweep, write_report
from auditor.cli.show import Format

if TYPE_CHECKING:
    from auditor.evaluation.evaluate import Evaluation
    from auditor.evaluation.subject import Stated, Subject
    from auditor.evaluation.sweep import Sweep
    from auditor.evaluation.techniques import Settings

BEYOND = 3


class TechniqueName(StrEnum):
    """What `--technique` takes; `auditor.evaluation.techniques.TECHNIQUES`."""

    SAMPLING = "sampling"
    NOISE = "noise"
    QUERY_RESTRICTION = "query-restriction"
    GENERALISATION = "generalisation"
    ANATOMY = "anatomy"
    RANDOMISED_RESPONSE = "randomised-response"
    SUMS = "sums"
    HISTOGRAM = "histogram"
    PARAMETERS = "parameters"


class FailOn(StrEnum):
    """What makes the exit status 3."""

    LIMIT = "limit"
    NONE = "none"


Source = Annotated[
    str,
    typer.Argument(
        metavar="FILE|DATABASE",
        help="The original: a CSV, Parquet, JSON or Arrow file, a pattern or folder of such, or a database.",
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
By = Annotated[
    Names,
    typer.Option(
        "--by", metavar="A,B,…", help="sums, histogram, parameters: grouped by (default: one group)."
    ),
]
Columns = Annotated[Names, typer.Option("--column", help="The confidential column; one a run.")]
Save = Annotated[
    Path | None,
    typer.Option(
        "--save", metavar="FILE", help="Write what was made here, or a sweep's choice: CSV, Parquet."
    ),
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
    k: Annotated[int | None, typer.Option("--k", help="generalisation: records alike, at least.")] = None,
    ell: Annotated[int | None, typer.Option(help="anatomy: different values in a group.")] = None,
    group: Annotated[str | None, typer.Option(help="anatomy: the column that names the group.")] = None,
    by: By = None,
    least: Annotated[
        int | None, typer.Option(help="sums, histogram, parameters: groups of fewer records are withheld.")
    ] = None,
    draws: Annotated[
        int | None, typer.Option(help="histogram, parameters: synthetic records (default: the group's).")
    ] = None,
    confidence: Annotated[
        float | None, typer.Option(help="histogram, parameters: of responsible release (default: 0.95).")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Of what is made here (default: 0; with --save a secret one).")
    ] = None,
    sweep: Sweeps = None,
    repetitions: Annotated[int, typer.Option(min=1, help="Of --sweep: releases of each setting.")] = 3,
    known: Annotated[
        Names, typer.Option(metavar="A,B,…|none|all", help="What the intruder knows (default: policy's).")
    ] = None,
    by_number: Numbers = False,
    column: Columns = None,
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
    save: Save = None,
    fail_on: Annotated[FailOn, typer.Option("--fail-on", help="What makes the status 3.")] = FailOn.LIMIT,
    form: Annotated[Format, typer.Option("--format", help="How to print.")] = Format.TABLE,
) -> None:
    """Say how risky a release is, class by class, or compare techniques: risk against utility."""
    if (technique is None) == (not sweep):
        raise typer.BadParameter("give --technique for one release, or --sweep to compare several")
    if make and release is not None:
        raise typer.BadParameter("--make makes a release, and --release names one: leave one of the two out")
    if column and len(column) > 1:
        raise typer.BadParameter(
            "--column is given twice: several confidential columns are evaluated one a run; leave the others "
            "out of --public where they are not released"
        )
    if save is not None and release is not None:
        raise typer.BadParameter("--save writes what is made here, and --release names what is there already")
    _check_files(output, save)
    from auditor.evaluation.techniques import Settings

    seed = _seed(seed, save)
    stated = _stated(column[0] if column else None, public, known, minimum, maximum, step, max_risk, round_)
    with show.status("reading"):
        subject = _subject(source, original, policy, stated)
    chances = _probabilities(probability or [], subject.column)
    grouped = None if by is None else _split(by)
    settings = Settings(
        percent, noise, query_set_size, chances, ell, group, k, grouped, least, draws, confidence
    )
    if sweep:
        own = [name for name in settings.given if name not in ("by", "draws", "confidence")]
        if own or release is not None or make or by_number:
            raise typer.BadParameter("--sweep has its parameters with it, as in --sweep sampling:5,10,20")
        if save is not None and subject.limit is None:
            raise typer.BadParameter(
                "--save writes the setting that keeps the limit at least cost: give a limit"
            )
        swept = _sweep(subject, sweep, settings, repetitions, seed)
        broken = subject.limit is not None and swept.best is None
        write_report(output, swept)
        saved = _save_chosen(swept, save)
        tell_sweep(swept, form, saved)
    else:
        assert technique is not None
        found = _evaluation(source, subject, technique, settings, release, seed, by_number)
        broken = found.broken
        write_report(output, found)
        saved = _save(found, save, broken and fail_on is FailOn.LIMIT)
        tell_evaluation(found, form, top, saved)
    if broken and fail_on is FailOn.LIMIT:
        raise typer.Exit(BEYOND)


def _check_files(output: Path | None, save: Path | None) -> None:
    """Whether they can be written, before the work begins."""
    from auditor.evaluation.save import check_suffix

    if save is not None:
        check_suffix(save)
    given = {"html": output, "release": save}
    require_writable({name: path for name, path in given.items() if path is not None})


def _seed(seed: int | None, save: Path | None) -> int:
    from auditor.evaluation.save import secret_seed

    if seed is not None:
        return seed
    return 0 if save is None else secret_seed()


def _save(found: Evaluation, path: Path | None, beyond: bool) -> Path | None:
    """What was judged, unless a record is beyond the limit."""
    from auditor.evaluation.save import save

    if path is None:
        return None
    if beyond:
        print(
            f"{path}: not written: a record is beyond the limit; --fail-on none writes it all the same",
            file=sys.stderr,
        )
        return None
    save(found.release, found.seed, path)
    _tell_seed(path, found.seed)
    return path


def _save_chosen(found: Sweep, path: Path | None) -> Path | None:
    """The first release of the setting that keeps the limit at least cost."""
    from auditor.evaluation.save import save
    from auditor.evaluation.sweep import made

    if path is None:
        return None
    if found.best is None:
        print(f"{show.line(str(path))}: not written: no setting keeps the limit", file=sys.stderr)
        return None
    save(made(found.subject, found.best.setting, found.seed, found.beside), found.seed, path)
    _tell_seed(path, found.seed)
    return path


def _tell_seed(path: Path, seed: int) -> None:
    print(
        f"wrote {path}; its seed {seed} tells which record is whose: keep it to yourself, or forget it",
        file=sys.stderr,
    )


def _subject(source: str, original: str | None, policy: Path | None, stated: Stated) -> Subject:
    from auditor.evaluation.subject import protect_of, subject_of
    from auditor.evaluation.tables import read
    from auditor.policy.policy import Policy

    rules = None if policy is None else Policy.load(policy)
    protect = protect_of(rules, stated.column)
    found = read(source, original, None if protect is None else protect.table)
    return subject_of(found.name, found.table, rules, stated)


def _evaluation(
    source: str,
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

    like = None if technique is TechniqueName.NOISE else subject.table
    given = None if release is None else read_release(source, release, like)
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


def _sweep(subject: Subject, texts: Sequence[str], beside: Settings, repetitions: int, seed: int) -> Sweep:
    from auditor.evaluation.sweep import settings_of
    from auditor.evaluation.sweep import sweep as run

    with _progress("releases") as progress:
        return run(subject, settings_of(texts), repetitions, seed, progress, beside)


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
