"""`cae-sql sql` and `cae-sql curve`: the owner's own SQL with the measure in it, and H(ε) to look at.

Promise: no gate and no ledger; the database is opened for reading and nothing is written to it. What DuckDB
says of a statement it does not take is shown as it is: whoever can run this can read the data.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from auditor.cli import show
from auditor.cli.show import Format
from auditor.errors import DatabaseError, StatementError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from cae_sql import EntropyCurve

MEMORY = ":memory:"
LINES, BAR = 16, 40
_WRAPPED = "while executing the UDF: InvalidInput: "
_BLOCKS = " ▏▎▍▌▋▊▉█"

Database = Annotated[Path, typer.Argument(help="The DuckDB file, or :memory: for none.")]
Form = Annotated[Format, typer.Option("--format", help="How to print.")]


def sql(
    database: Database,
    statement: Annotated[
        str, typer.Argument(metavar="SQL", help="The statement, or - to read it from stdin.")
    ],
    form: Form = Format.TABLE,
) -> None:
    """Run SQL with cae_area, cae_entropy and the like in it. No gate: for those who may read the data."""
    with _opened(database) as connection, show.status("working; the first time, compiling"):
        columns, content = _asked(connection, statement)
    show.rows(columns, content, form, {"code": "sql", "message": f"{len(content)} rows", "hint": ""})


def curve(
    database: Database,
    statement: Annotated[
        str,
        typer.Argument(
            metavar="SQL",
            help="One column of values; a second one is their weights, such as count(*) of GROUP BY.",
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="A picture: .png, .svg, .pdf.")
    ] = None,
    form: Form = Format.TABLE,
) -> None:
    """Show H(ε) of a group of rows: what remains unknown when ±ε/2 is near enough. No gate."""
    from cae_sql import cae_curve

    with _opened(database) as connection, show.status("working; the first time, compiling"):
        columns, content = _asked(connection, statement)
    if len(columns) not in (1, 2):
        raise StatementError(
            f"the statement gives {len(columns)} columns; values, or values and weights, are needed"
        )
    rows = [row for row in content if None not in row]
    if not rows:
        raise StatementError("the statement gives no row without NULL: there is nothing to measure")
    weights = [row[1] for row in rows] if len(columns) == 2 else None
    found = cae_curve([row[0] for row in rows], weights)
    about = {"code": "curve", "message": _summary(found), "hint": "",
             "initial_entropy": found.initial_entropy, "area": found.area}  # fmt: skip
    if output is not None:
        _draw(found, output)
        print(f"wrote {show.line(str(output))}: {about['message']}", file=sys.stderr)
    elif form is Format.TABLE:
        print("\n".join(bars(found)))
        print(about["message"])
    else:
        steps = list(zip(found.epsilon.tolist(), found.entropy.tolist(), strict=True))
        show.rows(["epsilon", "entropy"], steps, form, about)


def bars(found: EntropyCurve) -> Iterator[str]:
    """The curve in letters: H at evenly spaced widths, each beside a bar."""
    top = found.initial_entropy or 1.0
    width = found.epsilon_max
    widths = [width * k / LINES for k in range(LINES + 1)] if width else [0.0]
    heights = [found.initial_entropy, *(found.at(w) for w in widths[1:])]
    labels = [f"{w:.6g}" for w in widths]
    size = max(len("ε"), *map(len, labels))
    yield f"{'ε':>{size}}  H(ε) in bits"
    for label, height in zip(labels, heights, strict=True):
        eighths = math.ceil(8 * BAR * (height / top))  # in brackets 1 at the top, and not a rounding more
        bar = _BLOCKS[-1] * (eighths // 8) + (_BLOCKS[eighths % 8] if eighths % 8 else "")
        yield f"{label:>{size}}  {height:6.3f}  {bar}".rstrip()


def _summary(found: EntropyCurve) -> str:
    return (
        f"H0 = {found.initial_entropy:.4g} bits, area = {found.area:.6g}, "
        f"nothing left at ε = {found.epsilon_max:.6g}"
    )


def _draw(found: EntropyCurve, output: Path) -> None:
    from auditor.drawing import require_matplotlib

    require_matplotlib("a picture needs matplotlib: pip install 'cae-sql[plot]'")
    from matplotlib.figure import Figure  # not pyplot, which may look for a screen

    figure = Figure(layout="constrained")
    found.plot(figure.subplots())
    try:
        figure.savefig(output)
    except (ValueError, OSError) as error:  # no such format, no such folder
        raise StatementError(f"{output}: {error}") from error


@contextmanager
def _opened(database: Path) -> Iterator[DuckDBPyConnection]:
    """The database for reading, with the functions."""
    import duckdb

    import udfs

    memory = str(database) == MEMORY
    if not memory and not database.is_file():
        raise DatabaseError(f"database {database}: no such file")
    try:
        connection = duckdb.connect(MEMORY if memory else database, read_only=not memory)
    except duckdb.Error as error:
        raise DatabaseError(f"database {database}: {error}") from error
    with connection:
        udfs.register(connection)
        yield connection


def _asked(connection: DuckDBPyConnection, statement: str) -> tuple[list[str], Sequence[tuple[Any, ...]]]:
    """Columns and rows of a statement.

    Raises:
        StatementError: DuckDB or a function says no; with what they say.
    """
    import duckdb

    text = sys.stdin.read() if statement == "-" else statement
    try:
        answer = connection.execute(text)
        if answer is None or answer.description is None:
            raise StatementError("there is no statement")
        columns = [name for name, *_ in answer.description]
        single = {k for k, (_, kind, *_) in enumerate(answer.description) if str(kind) == "FLOAT"}
        rows = answer.fetchall()
    except duckdb.Error as error:
        # what a function raises comes wrapped in two layers, of which the innermost is for people
        raise StatementError(str(error).rsplit(_WRAPPED, 1)[-1]) from error
    if single:
        rows = [tuple(_as_printed(v) if k in single else v for k, v in enumerate(row)) for row in rows]
    return columns, rows


def _as_printed(single: float | None) -> float | None:
    """A single float as the decimal that it prints as: as Python's float it would be 0.10000000149011612."""
    import numpy as np

    return None if single is None else float(str(np.float32(single)))
