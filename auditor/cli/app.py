"""The commands of `cae-sql`. Each opens the gate, asks one thing and shows it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from importlib import import_module
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from auditor import __version__
from auditor.cli import show
from auditor.cli.show import SOURCE, Format
from auditor.errors import PolicyError, QueryRefused, QueryUnsupported

if TYPE_CHECKING:
    from auditor.decision import Decision
    from auditor.gate.gate import Gate
    from auditor.policy.policy import Policy

REFUSED, UNSUPPORTED = 3, 4
LONGEST_SQL = 80
"""Letters of a statement that a line shows."""
_STATUS = {"answered": 0, "refused": REFUSED, "unsupported": UNSUPPORTED}


class Dialect(StrEnum):
    """What `--dialect` takes."""

    DUCKDB = "duckdb"
    POSTGRES = "postgres"


class Candidates(StrEnum):
    """What `risk --candidates` takes."""

    INTERVAL = "interval"
    POSTERIOR = "posterior"
    EXACT = "exact"


Database = Annotated[str, typer.Argument(metavar="DATABASE", help=SOURCE)]
Statement = Annotated[str, typer.Argument(metavar="SQL", help="The statement, or - to read it from stdin.")]
PolicyFile = Annotated[Path, typer.Option("-p", "--policy", help="The policy (TOML).")]
User = Annotated[str, typer.Option("--user", help="Who asks.")]
Written = Annotated[
    Dialect | None,
    typer.Option("--dialect", help="Whose SQL it is written in (default: as the policy says)."),
]
Timezone = Annotated[
    str, typer.Option("--timezone", help="In which days begin and end: a name such as Europe/Berlin.")
]
Form = Annotated[Format, typer.Option("--format", help="How to print.")]


def demo(
    keep: Annotated[
        Path | None, typer.Option("--keep", metavar="DIR", help="Leave database, policy and ledger there.")
    ] = None,
) -> None:
    """Show it at work: a protected table, honest questions, and a tracker attack that is stopped."""
    from cae_sql import warming

    warming.begin(warming.SMALL)  # while the rest is imported, and the table built
    from auditor.cli.demo import run

    run(show.output_console(), keep, show.compiling)


def init(
    database: Database,
    column: Annotated[str, typer.Option("--column", help="The confidential column.")],
    table: Annotated[
        str | None,
        typer.Option("--table", help="Its table (default: of a file its name, or the only table there is)."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Where to write (default: stdout).")
    ] = None,
) -> None:
    """Suggest a policy read off the data, commented; warn of columns that give the protected one away."""
    from auditor.policy.suggest import suggest

    if output is not None and output.exists():
        raise PolicyError(f"policy {output}: there is one already; name another file")
    with show.status("reading the data"):
        suggestion = suggest(database, table, column)
    for warning in suggestion.warnings:
        print(f"warning: {show.line(warning)}", file=sys.stderr)
    if output is None:
        print(suggestion.text, end="")
        return
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(suggestion.text)
    except OSError as error:
        raise PolicyError(f"policy {output}: cannot be written: {error.strerror or error}") from error
    print(
        f"wrote {show.line(str(output))}; read every line of it before anyone asks anything", file=sys.stderr
    )


def query(
    database: Database,
    sql: Statement,
    policy: PolicyFile,
    user: User = "analyst",
    dialect: Written = None,
    timezone: Timezone = "UTC",
    form: Form = Format.TABLE,
) -> None:
    """Answer a statement exactly, or refuse it."""
    with _gate(database, _policy(policy)) as gate:
        try:
            with show.status("deciding"):
                answer = gate.execute(_statement(sql), user=user, dialect=_name(dialect), timezone=timezone)
                content = answer.fetchall()
        except (QueryRefused, QueryUnsupported) as error:
            _leave(error.decision, form)
        lost = [each.as_dict for each in answer.decision.withheld]
        about = {**show.reason(answer.decision), "ranges": show.ends(answer.ranges), "withheld": lost}
        if answer.remainder:
            about["remainder"] = [each.as_dict for each in answer.remainder]
        show.rows(answer.columns, content, form, about, ranges=answer.ranges)
        if (
            answer.decision.code in ("partial", "preview", "explained") or answer.decision.ends
        ) and form is not Format.JSON:
            show.note(answer.decision, form)


def check(
    database: Database,
    sql: Statement,
    policy: PolicyFile,
    user: User = "analyst",
    dialect: Written = None,
    timezone: Timezone = "UTC",
    form: Form = Format.TABLE,
) -> None:
    """Say what would become of each group with `query`: the verdict, no answer. Recorded as a check."""
    with _gate(database, _policy(policy)) as gate, show.status("deciding"):
        decision = gate.check(_statement(sql), user=user, dialect=_name(dialect), timezone=timezone)
    if decision.fates:
        from auditor.gate.explain import COLUMNS

        rows = [each.row for each in decision.fates]
        show.rows(list(COLUMNS), rows, form, {"verdict": decision.verdict, **show.reason(decision)})
    if not decision.fates or form is Format.TABLE:
        show.decision(decision, form)
    elif form is Format.CSV:
        show.note(decision, form)
    raise typer.Exit(_STATUS[decision.verdict])


def risk(
    database: Database,
    policy: PolicyFile,
    form: Form = Format.TABLE,
    top: Annotated[
        int | None,
        typer.Option("--top", min=1, help="Only the N riskiest classes; a table has 20, CSV and JSON all."),
    ] = None,
    candidates: Annotated[
        Candidates,
        typer.Option(
            help="How answers become beliefs: what they exclude (interval), what they make likely "
            "(posterior), or what is learned beyond what everybody knows (exact). The gate decides "
            "by interval, and by what the policy names besides."
        ),
    ] = Candidates.INTERVAL,
) -> None:
    """Show what the answers so far have told about each class of persons. For administrators."""
    from auditor.gate.admin import classes_beyond

    rules = _policy(policy)
    most = top or (show.MOST_CLASSES if form is Format.TABLE else None)
    with _gate(database, rules) as gate, show.bar("looking at what answers exclude") as told:
        held = gate.held()
        frame = gate.risk(candidates.value, most, told)
        nearest = [] if form is Format.CSV else _nearest(gate)
        statements = _carrying(gate, nearest) if form is Format.TABLE else []
    beyond = classes_beyond(frame, rules)
    proved = None if frame.empty else float(frame["risk"].max())
    by = [name for name in ("risk", "looked_at", "risk_at_most") if name in frame]
    shown = frame.sort_values(by, ascending=False, kind="stable").head(len(frame) if most is None else most)
    excluded = candidates is Candidates.INTERVAL
    message = _said(beyond, len(frame), held if excluded else proved, excluded)
    if not excluded and candidates.value != rules.intruder.candidates:
        message += f", by the model {candidates.value}, which the gate does not enforce"
    about = {
        "code": "beyond" if beyond else "within",
        "message": message,
        "hint": "",
        "risk": held if excluded else proved,
        "proved": proved if excluded else None,
        "limit": _limits(rules),
        "nearest": nearest,
    }
    columns, content = list(shown.columns), show.frame_rows(shown)
    if form is Format.TABLE:
        columns, content = show.for_people(columns, content)
    show.rows(columns, content, form, about)
    if form is Format.TABLE:
        if len(shown) < len(frame):
            print(f"the {len(shown)} riskiest of {len(frame):,} classes; --top shows more")
        print(message)
        if excluded and proved is not None:
            print(f"highest risk by what is proved to be excluded: {proved:.3f}")
        if "unit_risk" in frame:
            print(f"highest risk of all rows of one person together: {frame['unit_risk'].max():.3f}")
        if nearest:
            print("nearest the limit by what is likely:")
        for each in nearest:
            who = ", ".join(f"{name} {value}" for name, value in each["about"].items()) or "everybody"
            spent = "" if each["spent"] is None else f"{each['spent']:.0%} of the limit is spent; "
            print(f"  {show.line(who)}: {spent}{each['words']}")
        if statements:
            print("by these statements, with the share of somebody's variance that each adds:")
        for number, added, user, sql in statements:
            print(f"  {number}, {show.line(user)}: {added:.0%}, {_short(sql)}")
    if beyond:
        raise typer.Exit(REFUSED)


def _said(beyond: int, classes: int, risk: float | None, excluded: bool) -> str:
    """What came of it, in one line: what the gate holds, and who is proved to be beyond it."""
    if not excluded:
        kept = (
            f"{beyond} of {classes} classes are beyond the limit" if beyond else "every class keeps the limit"
        )
        return f"highest risk {risk or 0:.3f} by the model; {kept}"
    held = "how great a risk the gate holds is not on record"
    if risk is not None:
        held = f"the gate holds: nobody's risk is above {ceil(1000 * risk - 1e-9) / 1000:.3f}"
    if beyond:
        return f"{beyond} of {classes} classes are proved to be beyond the limit"
    return f"{held}; nobody is proved to be beyond the limit"


def _nearest(gate: Gate) -> list[dict[str, Any]]:
    """Whom answers say most of; nothing where there are too many values to look at."""
    from cae_sql.errors import InvalidInput

    try:
        found = gate.nearest()
    except InvalidInput:
        return []
    return [{**asdict(each), "words": each.words, "spent": each.spent} for each in found if each.leverage > 0]


def _carrying(gate: Gate, nearest: Sequence[dict[str, Any]]) -> list[tuple[int, float, str, str]]:
    """The statements that carry what is likely of those nearest the limit, with the most that each adds."""
    most = dict[int, float]()
    for number, added in (share for each in nearest for share in each["shares"]):
        most[number] = max(added, most.get(number, 0.0))
    if not most:
        return []
    asked = gate.history().set_index("number")
    order = sorted(most.items(), key=lambda each: -each[1])
    return [(number, added, asked.at[number, "user"], asked.at[number, "sql"]) for number, added in order]


def _short(sql: str) -> str:
    """A statement as one line of a terminal."""
    text = show.line(" ".join(sql.split()))
    return text if len(text) <= LONGEST_SQL else f"{text[: LONGEST_SQL - 1]}…"


def history(database: Database, policy: PolicyFile, form: Form = Format.TABLE) -> None:
    """Show every statement that was asked, and what became of it. For administrators."""
    with _gate(database, _policy(policy)) as gate:
        frame = gate.history()
    about = {"code": "history", "message": f"{len(frame)} statements", "hint": ""}
    columns, content = list(frame.columns), show.frame_rows(frame)
    if form is Format.TABLE:
        columns, content = show.for_people(columns, content)
    show.rows(columns, content, form, about)


def verify(database: Database, policy: PolicyFile, form: Form = Format.TABLE) -> None:
    """Check the ledger's hash chain, and that its answers still agree with the data."""
    with _gate(database, _policy(policy)) as gate, show.status("verifying the ledger"):
        report = gate.verify()
    good = not report.problems
    message = (
        f"{report.entries} entries and {report.answers} answers: the chain is whole and agrees with the data"
        + (
            f"; {report.past} answers are about values of earlier editions, which are gone"
            if report.past
            else ""
        )
        if good
        else f"{len(report.problems)} problems in {report.entries} entries and {report.answers} answers"
    )
    if form is Format.TABLE:
        print(message)
        for problem in report.problems:
            print(f"problem: {show.line(problem)}", file=sys.stderr)
    else:
        content = [[report.entries, report.answers, len(report.problems)]]
        about = {"code": "verified" if good else "problems", "message": message, "hint": "",
                 "past": report.past, "problems": list(report.problems)}  # fmt: skip
        show.rows(["entries", "answers", "problems"], content, form, about)
    if not good:
        raise typer.Exit(2)


def renew(database: Database, policy: PolicyFile, form: Form = Format.TABLE) -> None:
    """Open a new edition of the ledger: for a later state of the same tables. For administrators."""
    with show.status("laying the data on those before"):
        from auditor.gate.gate import Gate

        found = Gate.renew(database, _policy(policy))
    if not found.opened:
        message = f"the data are those of edition {found.edition}; nothing was opened"
    else:
        joined = sum(each.joined for _, _, each in found.carried)
        said = f"; units that rows moved between count as one now: {joined:,} fewer" if joined else ""
        message = f"edition {found.edition} is open{said}"
    columns = ["table", "column", "unchanged", "new", "changed", "left"]
    content = [
        [table, column, each.unchanged, each.new, each.changed, each.left]
        for table, column, each in found.carried
    ]
    if form is Format.TABLE:
        for table, column, *counts in content:
            named = ", ".join(f"{count:,} {name}" for count, name in zip(counts, columns[2:], strict=True))
            print(show.line(f"{table}.{column}: {named}"))
        print(message)
        return
    about = {"code": "renewed" if found.opened else "same", "message": message, "hint": "",
             "edition": found.edition}  # fmt: skip
    show.rows(columns, content, form, about)


_HERE = (demo, init, query, check, risk, history, verify, renew)
_ELSEWHERE = {
    "attack": "attacking",
    "audit": "auditing",
    "report": "reporting",
    "sql": "measuring",
    "curve": "measuring",
    "experiment": "experiment",
    "evaluate": "evaluating",
    "plan": "planning",
    "serve": "serving",
    "release": "releasing",
    "requests": "releasing",
    "users": "users",
}
"""Commands of other modules of `auditor.cli`, by name."""


def app(wanted: str | None = None) -> typer.Typer:
    """The command line.

    Args:
        wanted: What stands first on it. Where that is a command, no other is made, and no other's module
            imported: that would take longer than many a command does. Else, for help and for a command that
            there is not, all are.
    """
    made = typer.Typer(
        help="Ask a confidential column exact questions; be refused what would locate a person.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    made.callback()(_first)  # without it, a single command would stand without its name
    here = {command.__name__: command for command in _HERE}
    names = [] if wanted == "--version" else [*here, *_ELSEWHERE]
    for name in [wanted] if wanted in names else names:
        command = here.get(name) or getattr(import_module(f"auditor.cli.{_ELSEWHERE[name]}"), name)
        if isinstance(command, typer.Typer):
            made.add_typer(command, name=name)
        else:
            made.command()(command)
    return made


def _show_version(asked: bool) -> None:
    if asked:
        print(f"cae-sql {__version__}")
        raise typer.Exit


def _first(
    asked: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version, and nothing else."
        ),
    ] = False,
) -> None:
    """What may stand before a command."""


@contextmanager
def _gate(database: str, policy: Policy) -> Iterator[Gate]:
    with show.status("opening the database and the ledger"):
        from auditor.gate.gate import Gate

        gate = Gate.open(database, policy)
    gate.compiling = show.compiling
    with gate:
        yield gate


def _policy(path: Path) -> Policy:
    from auditor.policy.policy import Policy

    return Policy.load(path)


def _name(dialect: Dialect | None) -> Literal["duckdb", "postgres"] | None:
    return None if dialect is None else dialect.value


def _statement(sql: str) -> str:
    return sys.stdin.read() if sql == "-" else sql


def _leave(decision: Decision, form: Format) -> None:
    show.decision(decision, form)
    raise typer.Exit(_STATUS[decision.verdict])


def _limits(policy: Policy) -> object:
    """The limit as JSON has it; of several protected columns one each."""
    found = []
    for protect in policy.protects:
        limits = policy.limits_of(protect)
        epsilon = None if limits.epsilon is None else float(limits.epsilon)
        found.append({"risk": limits.risk, "epsilon": epsilon, "min_entropy": limits.min_entropy})
    if len(found) == 1:
        return found[0]
    names = [{"table": protect.table, "column": protect.column} for protect in policy.protects]
    return [{**name, **limit} for name, limit in zip(names, found, strict=True)]
