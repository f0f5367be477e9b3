"""What does each way of showing somebody win, and what does it cost? Every one switched off in turn.

Run as `python -m benchmarks.ablation`. The same statements are asked of a gate with an empty ledger, first
with all that the engine has (the rival), then once without each strategy: the real attack's 73 records, 300
persons and random ranges, the honest days of ACS and Adult, 100,000 and 1,000,000 persons and random ranges.
Counted are values given exactly (aggregates of single statements and of groups) and CPU seconds, both threads
together, so that other work on the machine weighs little. What wins nothing at any size should go.

`--workloads acs crowd` and `--without reserves searches` ask for some of it.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from unittest.mock import patch

import duckdb
from rich.console import Console
from rich.table import Table

from auditor import Gate, Policy, QueryRefused, QueryUnsupported
from auditor.deciding import one_value
from benchmarks._data import timed
from benchmarks._people import People, RangeQueries
from benchmarks._results import Line, options, write
from benchmarks.honest import STUDIES, How, counted_groups, is_grouped
from benchmarks.reconstruction import LOANS, QUERIES
from benchmarks.reconstruction import POLICY as ATTACKED
from benchmarks.scale import POLICY as CROWD
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.certify import coverage, pooled_payments
from cae_sql.inference.certify.coverage import Coverage
from cae_sql.inference.certify.pooled_payments import Pooled
from cae_sql.inference.certify.question import Question
from cae_sql.inference.search.judging import Judgement, Standard
from cae_sql.inference.tables import centering
from cae_sql.inference.tables.central import Central
from cae_sql.inference.tables.kept_moves import NO_MOVES
from cae_sql.inference.tables.question_tables import QuestionTables

Switch = Callable[[], object]


def _nothing(*_: object, **__: object) -> None:
    return None


def _off(owner: object, name: str, instead: object = _nothing) -> Switch:
    """A strategy is switched off where this stands in its place."""
    return lambda: patch.object(owner, name, instead)


def _whole(
    question: Question, answers: Sequence[tuple[int, ...]], standard: Standard, allowance: Allowance
) -> dict[tuple[int, ...], Judgement]:
    """All hypothetical answers or none, as where several values are asked at once."""
    found = question.judge_together(answers, standard, allowance)
    safe = len(found) == len(answers) and all(each.safe for each in found.values())
    return found if safe else {}


WITHOUT: dict[str, tuple[Switch, ...]] = {
    "nothing": (),
    "kept moves": (_off(QuestionTables, "moves", property(lambda _: NO_MOVES)),),
    "central tables": (_off(Central, "table"),),
    "balanced tables": (_off(QuestionTables, "balanced"),),
    "tables of single answers": (_off(Question, "_between_single"),),
    "bases": (_off(Coverage, "_bases", lambda _: []),),
    "new bases": (_off(Question, "_renewable", lambda *_: False),),
    "reserves": (_off(coverage, "RESERVES", 0), _off(centering, "reserved", lambda _: [])),
    "shared rooms": (_off(Pooled, "show"),),
    "further bases": (_off(pooled_payments, "TURNS", pooled_payments.TURNS[: len(pooled_payments.ALONE)]),),
    "margin": (_off(one_value, "MARGIN", 0.0),),
    "middles": (_off(Question, "judge_middle", _whole),),
    "searches": (_off(Question, "searchable", property(lambda _: False)),),
    "bounds that refuse": (_off(Question, "certainly_lost"),),
    "what is out of reach": (_off(Question, "out_of_reach", lambda *_: False),),
}


@dataclass(frozen=True)
class Workload:
    """Statements, and the database and policy that they are asked of."""

    name: str
    records: int
    database: Path
    policy: Policy
    statements: Sequence[str]


@dataclass(frozen=True)
class Outcome:
    """What became of them without one strategy."""

    workload: str
    records: int
    without: str
    given: int
    """Values told exactly, groups one by one."""
    asked: int
    """Statements."""
    whole: int
    """Statements answered in full."""
    surprises: int
    seconds: float
    """CPU."""


def attacked(folder: Path, count: int, insiders: int) -> Workload:
    """The first queries of the real attack."""
    database = folder / f"loans{insiders}.duckdb"
    with duckdb.connect(str(database)) as connection:
        connection.execute(f"CREATE TABLE loans AS SELECT client_id, good FROM read_csv('{LOANS}')")
        found = connection.execute("SELECT sum_sql FROM read_csv(?) ORDER BY number", [str(QUERIES)])
        members = [sql for (sql,) in found.fetchmany(count)]
    policy = Policy.parse(ATTACKED.format(mode="simulatable", insiders=insiders, timeout=60))
    return Workload(f"attack, insiders = {insiders}", 73, database, policy, members)


def crowd(folder: Path, records: int, count: int, public: str = "census") -> Workload:
    """Random ranges over people."""
    people, database = People.draw(records, public), folder / f"{records}-{public}.duckdb"
    people.build(database)
    policy = Policy.parse(
        CROWD.format(mode="simulatable", insiders=1, risk=0.5, timeout=60, candidates="interval")
    )
    draws = RangeQueries(people.columns)
    statements = [draws.draw().sql("SUM(income)", "people") for _ in range(count)]
    name = f"ranges over {records:,}" + ("" if public == "census" else f", {public} columns")
    return Workload(name, records, database, policy, statements)


def honest(folder: Path, name: str, count: int | None) -> Workload:
    """The beginning of a day."""
    study = next(study for study in STUDIES if study.name == name)
    database = folder / f"{name}.duckdb"
    study.build(database, None)
    with duckdb.connect(str(database), read_only=True) as connection:
        (records,) = connection.execute(f"SELECT COUNT(*) FROM {study.table}").fetchone() or (0,)
    policy = study.policy(0.5, "simulatable", How("suppress", 1, 0))
    return Workload(f"{name}, a day", records, database, policy, study.statements()[:count])


def asked(workload: Workload, without: str) -> Outcome:
    """A gate with an empty ledger, one strategy switched off."""
    ledger = workload.database.with_suffix(f".{time.monotonic_ns()}.ledger")
    given = whole = 0
    with ExitStack() as switched, timed(time.process_time) as watch:
        for switch in WITHOUT[without]:
            switched.enter_context(switch())  # type: ignore[arg-type]
        with Gate.open(workload.database, workload.policy, ledger) as gate:
            for sql in workload.statements:
                try:
                    answer = gate.execute(sql)
                except (QueryRefused, QueryUnsupported):
                    continue
                exactly = answer.decision.code in ("answered", "known", "public")
                whole += exactly
                given += counted_groups(answer)[0] if is_grouped(sql) else int(exactly)
            surprises = int(gate.history()["surprise"].sum())
    told = workload.name, workload.records, without, given, len(workload.statements), whole, surprises
    return Outcome(*told, watch.seconds)


WORKLOADS = ("attack", "crowd", "acs", "adult", "large", "hardest", "vast")


def workloads(names: Sequence[str], folder: Path, quick: bool) -> Iterator[Workload]:
    """Those of these names whose data are there."""
    there = {study.name for study in STUDIES if not study.absent}
    if "attack" in names and LOANS.is_file():
        for insiders in (0, 1):
            yield attacked(folder, 4 if quick else 100, insiders)
    if "crowd" in names:
        yield crowd(folder, 300, 3 if quick else 60)
    for name, count in (("acs", None), ("adult", 12)):
        if name in names and name in there and not quick:
            yield honest(folder, name, count)
    for name, records, count, public in (
        ("large", 100_000, 100, "census"),
        ("hardest", 100_000, 120, "uniform"),
        ("vast", 1_000_000, 40, "census"),
    ):
        if name in names and not quick:
            yield crowd(folder, records, count, public)


def main(arguments: list[str] | None = None) -> None:
    parser = options("ablation", __doc__)
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS, default=list(WORKLOADS))
    parser.add_argument("--without", nargs="+", choices=list(WITHOUT), default=list(WITHOUT))
    given = parser.parse_args(arguments)
    console, found = Console(width=130), list[Outcome]()
    switched = dict.fromkeys(["nothing", *given.without[: 3 if given.quick else None]])
    with tempfile.TemporaryDirectory() as folder:
        for workload in workloads(given.workloads, Path(folder), given.quick):
            size = f"{workload.records:,} records, {len(workload.statements)} statements"
            table = Table(title=f"{workload.name}: {size}")
            for name in (
                "without",
                "values given",
                "statements in full",
                "surprises",
                "CPU",
                "CPU / with all",
            ):
                table.add_column(name, justify="left" if name == "without" else "right")
            asked(workload, "nothing")  # what is compiled is not counted
            for without in switched:
                one = asked(workload, without)
                print(f"{one.workload}, without {without}: {one.given}, {one.seconds:.0f} s", file=sys.stderr)
                found.append(one)
                whole = next(each for each in found if each.workload == one.workload)
                figures = str(one.given), str(one.whole), str(one.surprises), f"{one.seconds:.1f} s"
                table.add_row(without, *figures, f"{one.seconds / whole.seconds:.2f}")
            console.print(table)
    lines = [
        Line(
            f"ablation: without {each.without}", each.workload, f"{each.records:,}", each.given, unit="values"
        )
        for each in found
    ]
    write(given.json, lines, [asdict(each) for each in found])


if __name__ == "__main__":
    main()
