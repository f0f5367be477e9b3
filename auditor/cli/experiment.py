"""`cae-sql experiment`: the papers' comparisons on anybody's table: of sampling, query restriction and noise
(paper 000), of randomised response, anatomy and l-diversity (paper 004).

Promise: the table is read and nothing of it is written but averages; the same seed gives the same figures.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from auditor.cli import show
from auditor.cli.show import Format
from auditor.errors import StatementError

if TYPE_CHECKING:
    from pandas import DataFrame


class Picture(StrEnum):
    """What `--picture` takes."""

    SVG = "svg"
    PNG = "png"
    NONE = "none"


class Paper(StrEnum):
    """What `--paper` takes."""

    QUANTIFYING_PRIVACY = "quantifying-privacy"
    RANDOMIZATION = "randomization"


OTHERS = {
    Paper.QUANTIFYING_PRIVACY: {"ells": "--l"},
    Paper.RANDOMIZATION: {
        "minimum": "--minimum", "maximum": "--maximum", "step": "--step", "samples": "--sampling",
        "sizes": "--query-set-sizes", "noise": "--noise", "subsets": "--subsets", "jobs": "--jobs",
    },
}  # fmt: skip
"""Options that are not for this paper."""


def experiment(
    context: typer.Context,
    data: Annotated[
        str,
        typer.Option(
            "--data", help="A CSV, Parquet, JSON or Arrow file, a folder; or wine or breast-cancer."
        ),
    ],
    paper: Annotated[
        Paper,
        typer.Option(
            "--paper",
            help="What is compared: sampling, sums and noise (quantifying-privacy), or randomised response, "
            "anatomy and l-diversity (randomization).",
        ),
    ] = Paper.QUANTIFYING_PRIVACY,
    column: Annotated[str | None, typer.Option("--column", help="The confidential column.")] = None,
    public: Annotated[
        list[str] | None,
        typer.Option("--public", metavar="A,B,…", help="Columns that an intruder may know; may be repeated."),
    ] = None,
    minimum: Annotated[
        str | None, typer.Option("--minimum", help="Of the domain (default: of the data).")
    ] = None,
    maximum: Annotated[
        str | None, typer.Option("--maximum", help="Of the domain (default: of the data).")
    ] = None,
    step: Annotated[
        str | None, typer.Option("--step", help="Of the domain; the column is rounded to it.")
    ] = None,
    samples: Annotated[str, typer.Option("--sampling", help="Sampling factors, percent.")] = "5,10,20,50",
    sizes: Annotated[str, typer.Option("--query-set-sizes", help="Even numbers.")] = "2,4,8,16,32",
    noise: Annotated[
        str, typer.Option("--noise", help="Percent of each attribute's |D| − 1.")
    ] = "10,25,50,75,100",
    repetitions: Annotated[int, typer.Option("--repetitions", min=1, help="Releases of each kind.")] = 30,
    ells: Annotated[
        str, typer.Option("--l", help="Of randomization: nobody is found with more than 1 in l.")
    ] = "2,3,4,5,6,7",
    subsets: Annotated[
        int | None, typer.Option("--subsets", min=1, help="At most so many subsets of columns of each size.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of all that is drawn.")] = 0,
    jobs: Annotated[int | None, typer.Option("--jobs", min=1, help="Threads (default: all cores).")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="CSV files and figures go there.")
    ] = None,
    picture: Annotated[Picture, typer.Option("--picture", help="Form of the figures.")] = Picture.SVG,
    form: Annotated[Format, typer.Option("--format", help="How to print the averages.")] = Format.TABLE,
) -> None:
    """Compare sampling, query restriction and noise by what is left to guess, or randomised response and its
    rivals by what they are still good for, as the papers do."""
    for name, option in OTHERS[paper].items():
        source = context.get_parameter_source(name)
        if source is not None and source.name != "DEFAULT":
            raise typer.BadParameter(f"{option} is not for --paper {paper.value}")
    names = [name.strip() for part in public or [] for name in part.split(",") if name.strip()]
    if paper is Paper.RANDOMIZATION:
        _randomised(data, column, names, ells, repetitions, seed, output, picture, form)
        return
    from auditor.experiment import data as sources
    from cae_sql.numbers import exact
    from cae_sql.releases.experiment import Parameters, averages, prepare, run

    parameters = Parameters(_numbers(samples), tuple(int(n) for n in _whole(sizes)), _numbers(noise))
    given = {"minimum": minimum, "maximum": maximum, "step": step}
    bounds = [None if text is None else exact(text, name) for name, text in given.items()]
    with show.status("reading"):
        found = sources.read(data, column, names, *bounds)
        prepared = prepare(found.table, found.column, found.public, found.domain, subsets, seed)
    if output is not None:
        _ready(output, picture)
    with _progress() as progress:
        runs = run(prepared, parameters, repetitions, seed, jobs or os.cpu_count() or 1, progress)
    points = averages(runs)
    if output is not None:
        _write(runs, points, output, picture)
    _tell(points, form)


def _randomised(
    data: str,
    column: str | None,
    public: list[str],
    ells: str,
    repetitions: int,
    seed: int,
    output: Path | None,
    picture: Picture,
    form: Format,
) -> None:
    """Paper 004's figures, of releases with the seeds `seed`, `seed` + 1, …"""
    from auditor.experiment import data as sources
    from auditor.experiment import rivals
    from cae_sql.releases.rivals import run

    limits = [int(ell) for ell in _whole(ells)]
    with show.status("reading"):
        studies = rivals.studies(sources.file(Path(data)), Path(data).stem, column, public)
    if output is not None:
        _ready(output, picture)
    with _progress("points") as progress:
        points = run(*studies, limits, range(seed, seed + repetitions), progress)
    if output is not None:
        tables = {"averages": points.averages, "uncertainties": points.uncertainties,
                  "probabilities": points.probabilities}  # fmt: skip
        written = _csv(tables, output)
        if picture is not Picture.NONE:
            written += rivals.draw(points, output, picture.value)
        _wrote(written)
    _tell_rivals(points.averages, form)


def _tell_rivals(points: DataFrame, form: Format) -> None:
    if form is not Format.TABLE:
        about = {"code": "experiment", "message": f"{len(points)} points", "hint": ""}
        show.rows(list(points.columns), show.frame_rows(points), form, about)
        return
    columns = {
        "figure": ("figure", ""), "study": ("of", ""), "technique": ("technique", ""), "l": ("l", ""),
        "size": ("size", "g"), "euclidean": ("Euclidean", ".4f"), "kullback_leibler": ("KL", ".3f"),
        "chi_squared": ("χ²", ".3f"), "group_by_error": ("GROUP BY", ".3f"),
        "cube_error": ("CUBE", ".3f"), "uncertainty_sensitive": ("U of QI, S", ".2f"),
        "uncertainty_quasi": ("U of QI", ".2f"),
    }  # fmt: skip
    content = [
        [f"{value:{form_}}" for value, (_, form_) in zip(row, columns.values(), strict=True)]
        for row in points[list(columns)].itertuples(index=False)
    ]
    show.rows(
        [title for title, _ in columns.values()], content, form, {}, "distances, relative errors, U × 10⁻²"
    )


def _tell(points: DataFrame, form: Format) -> None:
    if form is not Format.TABLE:
        about = {"code": "experiment", "message": f"{len(points)} points", "hint": ""}
        show.rows(list(points.columns), show.frame_rows(points), form, about)
        return
    for measure, title, digits in (
        ("initial_entropy", "H0, bits", ".3f"),
        ("area", "area, bits × units", ".4g"),
    ):
        content = [
            [technique, f"{parameter:g}", *(f"{value:{digits}}" for value in line[measure])]
            for (technique, parameter), line in points.groupby(["technique", "parameter"], sort=False)
        ]
        columns = ["technique", "parameter", *(f"SK {known}" for known in sorted(set(points.known)))]
        show.rows(columns, content, form, {}, title)


def _write(runs: DataFrame, points: DataFrame, folder: Path, picture: Picture) -> None:
    from auditor.experiment import figures

    written = _csv({"runs": runs, "averages": points}, folder)
    if picture is not Picture.NONE:
        written += figures.draw(points, folder, picture.value)
    _wrote(written)


def _csv(tables: Mapping[str, DataFrame], folder: Path) -> list[Path]:
    written = []
    try:
        for name, table in tables.items():
            written.append(folder / f"{name}.csv")
            table.to_csv(written[-1], index=False)
    except OSError as error:
        raise StatementError(f"{folder}: {error.strerror or error}") from error
    return written


def _wrote(written: list[Path]) -> None:
    print(f"wrote {show.line(', '.join(str(path) for path in written))}", file=sys.stderr)


def _ready(folder: Path, picture: Picture) -> None:
    """See to it that what is found can be kept, before it takes minutes to find."""
    from auditor.experiment import figures

    if picture is not Picture.NONE:
        figures.require()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StatementError(f"{folder}: {error.strerror or error}") from error


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is no list of numbers such as 5,10,20") from error


def _whole(text: str) -> tuple[float, ...]:
    found = _numbers(text)
    if not all(number.is_integer() for number in found):
        raise typer.BadParameter(f"{text!r} is no list of whole numbers")
    return found


@contextmanager
def _progress(what: str = "releases") -> Iterator[Callable[[int, int], None] | None]:
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
