"""A newcomer's first hour: sixty questions to each of two tables, and what becomes of them.

    python -m benchmarks.newcomer [--risk 0.5] [--partial suppress] [--table acs]

The questions (`benchmarks/statements/newcomer_*.sql`) were written before trying, by somebody who had not
read how the gate works. The rival is the database without a gate, which answers all of them, also those about
one person. What is answered is compared with it; for what is not, the message is shown, because a gate that
does not say why is switched off.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import duckdb
from rich.console import Console
from rich.progress import track
from rich.table import Table

from auditor import Gate, Policy
from benchmarks._data import ACS, ADULT, shown
from benchmarks._ranges import holds, pasted, says_nothing, tried
from benchmarks._results import Line, options, write

STATEMENTS = Path(__file__).parent / "statements"


@dataclass(frozen=True)
class Place:
    """A table that a newcomer asks about."""

    name: str
    source: Path
    left_out: str
    """A column of the source that gives the confidential one away."""
    column: str
    domain: tuple[int, int, int]
    """Minimum, maximum, step."""
    lookup: str
    """A public table beside it."""

    def build(self, path: Path, rows: int | None = None) -> None:
        """A DuckDB file with the table, or its first rows, and its lookup table."""
        kept = f"* EXCLUDE ({self.left_out})" if self.left_out else "*"
        with duckdb.connect(str(path)) as connection:
            first = "" if rows is None else f" LIMIT {rows}"
            connection.execute(
                f"CREATE TABLE {self.name} AS SELECT {kept} FROM read_csv('{self.source}'){first}"
            )
            connection.execute((STATEMENTS / "newcomer_tables.sql").read_text("utf-8"))

    def policy(self, risk: float, partial: str, timeout: float) -> Policy:
        """What protects it."""
        low, high, step = self.domain
        return Policy.parse(
            f'[protect]\ntable = "{self.name}"\ncolumn = "{self.column}"\nminimum = {low}\nmaximum = {high}\n'
            f'step = {step}\npublic = "all"\n[tables]\npublic = {json.dumps([self.lookup])}\n'
            f'[limit]\nrisk = {risk}\n[decision]\npartial = "{partial}"\ntimeout = {timeout}\n'
        )

    def questions(self) -> Iterator[tuple[str, str]]:
        """Question in words, and statement."""
        text = (STATEMENTS / f"newcomer_{self.name}.sql").read_text("utf-8")
        for part in text.split(";\n"):
            lines = part.strip().splitlines()
            words = " ".join(line.removeprefix("--").strip() for line in lines if line.startswith("--"))
            statement = "\n".join(line for line in lines if not line.startswith("--")).strip()
            if statement:
                yield words, statement


PLACES = (
    Place("adult", ADULT, "", "hours_per_week", (1, 99, 1), "education_levels"),
    Place("acs", ACS, "wagp", "salary", (10, 250, 10), "industries"),
)


@dataclass(frozen=True)
class Reply:
    """What became of a question."""

    question: str
    verdict: str
    code: str
    message: str
    hint: str
    seconds: float
    differs: bool
    """Answered in full, and otherwise than without the gate; or a true value outside of its range."""
    ranged: bool = False
    """Whether it was asked again for ranges, and answered."""


def hour(
    place: Place, path: Path, policy: Policy, console: Console, first: int | None = None, ranges: bool = False
) -> list[Reply]:
    """Ask everything, or so many questions, in order; what is not told exactly again as a range."""
    replies = []
    with Gate.open(path, policy, path.with_suffix(f".{policy.decision.partial}.ledger")) as gate:
        for words, sql in track(list(place.questions())[:first], place.name, console=console):
            answer, decision, seconds = tried(gate, sql, "newcomer")
            # what is told as an end is NULL: nothing to compare
            whole = answer is not None and decision.code != "partial" and not answer.ranges
            differs = answer is not None and whole and not same(answer.fetchall(), sql, path)
            again = pasted(decision) if ranges else None
            if again is not None:
                answer, told, more = tried(gate, again, "newcomer")
                seconds = max(seconds, more)
                if answer is None or says_nothing(answer):
                    again = None
                else:
                    decision, differs = told, not holds(answer, again, path)
            replies.append(
                Reply(
                    words,
                    decision.verdict,
                    decision.code,
                    decision.message,
                    decision.hint,
                    seconds,
                    differs,
                    again is not None,
                )
            )
    return replies


def same(rows: list[tuple[object, ...]], sql: str, path: Path) -> bool:
    """Whether the database without the gate gives these rows, in any order.

    SHOW and DESCRIBE list what is readable, and LIMIT without an order gives any rows: both count as same.
    """
    if sql.split()[0].upper() in ("SHOW", "DESCRIBE"):
        return True
    with duckdb.connect(str(path), read_only=True) as plain:
        expected = plain.execute(sql).fetchall()
    if "LIMIT" in sql.upper() and "ORDER BY" not in sql.upper():
        return len(rows) == len(expected)
    pairs = zip(sorted(rows, key=_key), sorted(expected, key=_key), strict=True)
    return len(rows) == len(expected) and all(
        _close(a, b) for left, right in pairs for a, b in zip(left, right, strict=True)
    )


def _key(row: tuple[object, ...]) -> str:
    return repr([f"{cell:.6e}" if isinstance(cell, float) else str(cell) for cell in row])


def _close(a: object, b: object) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9) or (math.isnan(a) and math.isnan(b))
    return a == b


def summary(replies: dict[str, list[Reply]], title: str) -> Table:
    """Counts by table."""
    columns = (
        "asked",
        "answered",
        "of them partial",
        "as ranges",
        "refused",
        "unsupported",
        "differ",
        "median s",
        "worst s",
    )
    table = Table("table", *columns, title=title)
    for name, found in replies.items():
        verdicts = Counter(each.verdict for each in found)
        seconds = sorted(each.seconds for each in found)
        table.add_row(
            name,
            str(len(found)),
            f"{verdicts['answered']} ({verdicts['answered'] / len(found):.0%})",
            str(sum(each.code == "partial" for each in found)),
            str(sum(each.ranged for each in found)),
            str(verdicts["refused"]),
            str(verdicts["unsupported"]),
            str(sum(each.differs for each in found)),
            shown(seconds[len(seconds) // 2]),
            shown(seconds[-1]),
        )
    return table


def lines(replies: dict[str, list[Reply]], partial: str) -> list[Line]:
    """Of the table of all benchmarks."""
    told = []
    for name, found in replies.items():
        answered = sum(each.verdict == "answered" for each in found) / len(found)
        seconds = sorted(each.seconds for each in found)
        size = f"{len(found)} questions, partial = {partial}"
        told += [
            Line("newcomer: answered", name.upper(), size, answered, "no gate", 1.0, "share"),
            Line("newcomer: a question, median", name.upper(), size, seconds[len(seconds) // 2]),
            Line("newcomer: a question, worst", name.upper(), size, seconds[-1]),
        ]
    return told


def main(arguments: list[str] | None = None) -> None:
    """Ask, count, and show what was said."""
    parser = options("newcomer", __doc__)
    parser.add_argument("--risk", type=float, default=0.5)
    parser.add_argument("--partial", choices=("refuse", "suppress"), default="refuse")
    parser.add_argument("--timeout", type=float, default=10.0)
    parser.add_argument("--ranges", action="store_true", help="ask again for ranges what is not told")
    parser.add_argument("--table", choices=[place.name for place in PLACES])
    given = parser.parse_args(arguments)
    if given.quick:
        given.table, given.timeout = "acs", 1.0
    console = Console(width=160)
    replies = {}
    with tempfile.TemporaryDirectory() as folder:
        for place in PLACES:
            if given.table in (None, place.name) and place.source.exists():
                path = Path(folder) / f"{place.name}.duckdb"
                place.build(path)
                policy = place.policy(given.risk, given.partial, given.timeout)
                replies[place.name] = hour(
                    place, path, policy, console, 8 if given.quick else None, given.ranges
                )
    for name, found in replies.items():
        for each in found:
            if each.differs:
                console.print(f"[red]{name}: {each.question} differs from the database without a gate")
        messages = Table("question", "code", "message", "hint", title=f"{name}: not answered in full")
        for each in found:
            if each.verdict != "answered" or each.code == "partial":
                messages.add_row(each.question, each.code, each.message, each.hint)
        console.print(messages)
    console.print(
        summary(replies, f"risk = {given.risk}, partial = {given.partial}, {given.timeout:g} s a decision")
    )
    kept = {name: [asdict(each) for each in found] for name, found in replies.items()}
    write(given.json, lines(replies, given.partial), kept)


if __name__ == "__main__":
    main()
