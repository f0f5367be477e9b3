"""`cae-sql demo`: a protected table, honest questions, and an attack that is stopped. In seconds.

Promise: the same staff each time (fixed seed); nothing is left behind unless asked for; everything shown
comes from the gate that a user would open, except the last lines, which say what it kept back.
"""

from __future__ import annotations

import tempfile
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pandas as pd

from auditor.errors import DatabaseError, QueryRefused, QueryUnsupported
from auditor.policy.policy import Policy

if TYPE_CHECKING:
    from rich.console import Console

    from auditor.gate.gate import Gate
    from cae_sql.warming import Progress

SEED = 1974
PERSONS = 200
DEPARTMENTS = ("Sales", "Research", "Production", "Finance")

POLICY = """\
[protect]
table = "staff"
column = "salary"
minimum = 20
maximum = 250
step = 10
public = ["name", "age", "sex", "dept"]

[limit]
risk = 0.5

[ledger]
path = "staff.ledger"
editions = false
"""


@dataclass(frozen=True)
class Question:
    """One thing that somebody asks."""

    why: str
    """What they want to know, in plain words."""
    sql: str
    """How they ask it."""


HONEST = (
    Question("What do we earn on average?", "SELECT count(*) AS persons, avg(salary) AS average FROM staff"),
    Question(
        "And by department?",
        "SELECT dept, count(*) AS persons, avg(salary) AS average FROM staff GROUP BY dept ORDER BY dept",
    ),
    Question(
        "Are women and men paid alike?",
        "SELECT sex, count(*) AS persons, avg(salary) AS average FROM staff GROUP BY sex ORDER BY sex",
    ),
    Question(
        "Does pay rise with age?",
        "SELECT CASE WHEN age < 35 THEN '20 to 34' WHEN age < 50 THEN '35 to 49' ELSE '50 and over' END\n"
        "       AS band, avg(salary) AS average\nFROM staff GROUP BY band ORDER BY band",
    ),
    Question(
        "Once more by department, women and men apart.",
        "SELECT dept, sex, sum(salary) AS total FROM staff GROUP BY dept, sex ORDER BY dept, sex",
    ),
    Question(
        "What is the highest salary in each department?",
        "SELECT dept, max(salary) AS highest FROM staff GROUP BY dept ORDER BY dept",
    ),
)

TARGET = "dept = 'Finance' AND sex = 'F' AND age = 58"
"""What a colleague knows of Ada: enough to single her out, and all of it public."""

ATTACK = (
    Question("The blunt way: ask for the one person.", f"SELECT sum(salary) FROM staff WHERE {TARGET}"),
    Question("A tracker, first half: everyone.", "SELECT sum(salary) FROM staff"),
    Question(
        "Second half: everyone but her. The difference would be her salary.",
        f"SELECT sum(salary) FROM staff WHERE NOT ({TARGET})",
    ),
    Question(
        "The same in small. First half: the women of Finance.",
        "SELECT sum(salary) FROM staff WHERE dept = 'Finance' AND sex = 'F'",
    ),
    Question(
        "Second half: the same without those of 58.",
        "SELECT sum(salary) FROM staff WHERE dept = 'Finance' AND sex = 'F' AND age <> 58",
    ),
    Question(
        "With a man for cover, so that no group is of one: everyone of 58 in Finance ...",
        "SELECT sum(salary) FROM staff WHERE dept = 'Finance' AND age = 58",
    ),
    Question("... and an extreme instead of a sum.", f"SELECT max(salary) FROM staff WHERE {TARGET}"),
)


def staff() -> pd.DataFrame:
    """The table: 200 made-up persons, one of them Ada."""
    generator = np.random.default_rng(SEED)
    age = generator.integers(21, 65, PERSONS)
    salary = 40 + 1.3 * (age - 20) + generator.gamma(2.0, 18.0, PERSONS)
    frame = pd.DataFrame(
        {
            "id": np.arange(1, PERSONS + 1),
            "name": [f"Person {number}" for number in range(1, PERSONS + 1)],
            "age": age,
            "sex": generator.choice(["F", "M"], PERSONS),
            "dept": generator.choice(DEPARTMENTS, PERSONS),
            "salary": (np.clip(salary, 20, 250) // 10 * 10).astype(int),
        }
    )
    others = (frame["dept"] == "Finance") & (frame["sex"] == "F") & (frame["age"] == 58)
    frame.loc[others, "age"] = 57
    frame.loc[70, ["age", "sex", "dept"]] = [58, "M", "Finance"]
    frame.loc[41, ["name", "age", "sex", "dept", "salary"]] = ["Ada", 58, "F", "Finance", 130]
    return frame


def run(console: Console, keep: Path | None = None, compiling: Progress | None = None) -> None:
    """Show the whole story on a console.

    Args:
        console: Where it is shown.
        keep: A folder that database, policy and ledger are left in.
        compiling: Told how far the compiler is, on a fresh machine.

    Raises:
        DatabaseError: `keep` has a demonstration already, or cannot be written.
    """
    with nullcontext(keep) if keep is not None else tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        database = _build(place)
        from auditor.gate.gate import Gate

        with Gate.open(database, Policy.load(place / "staff.toml")) as gate:
            gate.compiling = compiling
            _story(console, gate)
        _without_gate(console, database)
    if keep is not None:
        console.print(f"\nKept in {keep}: staff.duckdb, staff.toml, staff.ledger. Go on with, for example,")
        console.print(
            f'  cae-sql query {keep}/staff.duckdb "SELECT max(salary) FROM staff" -p {keep}/staff.toml',
            markup=False,
        )


def _build(place: Path) -> Path:
    database = place / "staff.duckdb"
    if database.exists():
        raise DatabaseError(f"database {database}: there is one already; name another folder")
    frame = staff()
    try:
        place.mkdir(parents=True, exist_ok=True)
        (place / "staff.toml").write_text(POLICY, encoding="utf-8")
        with duckdb.connect(str(database)) as connection:
            connection.register("frame", frame)
            connection.execute("CREATE TABLE staff AS FROM frame")
    except (OSError, duckdb.Error) as error:
        raise DatabaseError(f"database {database}: cannot be written: {error}") from error
    return database


def _story(console: Console, gate: Gate) -> None:
    _heading(console, "A staff table; salaries are confidential")
    console.print(
        f"{PERSONS} persons. Everything but the salary is public: name, age, sex, department.\n"
        "Salaries lie between 20 and 250, in steps of 10. The policy: answers may take away at most half of\n"
        "what is uncertain about anyone's salary (risk 0.5, where 0 is nothing and 1 is all). Whoever asks\n"
        "may be one of these persons and know their own: whatever it is, the limit holds for all others."
    )
    _heading(console, "Honest questions")
    for question in HONEST:
        _ask(console, gate, question)
    before = gate.held()
    _heading(console, "A colleague is after Ada's salary")
    console.print("They know that she is the only woman of 58 in Finance. So:")
    for question in ATTACK:
        _ask(console, gate, question)
    held, after = gate.held(), gate.risk()
    assert before is not None
    assert held is not None
    _heading(console, "What came of it")
    console.print(
        f"Nobody's risk was above {before:.2f} before the attack, nor is it above {held:.2f} after it; "
        "limit 0.50."
    )
    ada = after[after["name"] == "Ada"].iloc[0]
    console.print(
        f"All that can be said of Ada's salary: it lies between {ada['lower']:g} and {ada['upper']:g}."
    )
    likely = next(each for each in gate.nearest(PERSONS) if each.about["name"] == "Ada")
    console.print(
        f"What is likely: with four chances of five it is one of {likely.likely_lower:g} to "
        f"{likely.likely_upper:g}; answers explain {likely.leverage:.0%} of its variance.",
        highlight=False,
    )


def _heading(console: Console, text: str) -> None:
    console.print()
    console.print(f"── {text} ──", style="bold blue")


def _ask(console: Console, gate: Gate, question: Question) -> None:
    from rich.text import Text

    console.print()
    console.print(Text(question.why, style="bold"))
    console.print(Text(question.sql, style="cyan"))
    try:
        answer = gate.execute(question.sql, user="demo")
    except (QueryRefused, QueryUnsupported) as error:
        decision = error.decision
        console.print(Text(f"  {decision.verdict}: {decision.message}", style="red"))
        if decision.risk_after is not None:
            risk = f"somebody's risk could be {decision.risk_after:.2f}"
            console.print(Text(f"  (for the administrator: with such an answer {risk})", style="dim"))
        return
    for row in answer.fetchall():
        shown = "   ".join(
            f"{name} {value:.1f}" if isinstance(value, float) else f"{name} {value}"
            for name, value in zip(answer.columns, row, strict=True)
        )
        console.print(Text(f"  {shown}", style="green"))
    told = answer.decision.risk_after
    nothing = "  (follows from earlier answers: nothing new is told)"
    if answer.decision.code == "known":
        console.print(Text(nothing, style="dim"))
    elif told is not None:
        console.print(Text(f"  (nobody's risk is above {told:.2f} now)", style="dim"))


def _without_gate(console: Console, database: Path) -> None:
    """What the same two questions give on the bare database."""
    with duckdb.connect(str(database), read_only=True) as connection:
        every = connection.execute(ATTACK[1].sql).fetchall()[0][0]
        rest = connection.execute(ATTACK[2].sql).fetchall()[0][0]
    console.print(
        f"\nWithout the gate the tracker's halves are {every} and {rest}: Ada earns {every - rest}.\n"
        "With it the second half was never answered, and the first told nothing new.\n"
        "The refusal tells nothing either: it was worked out from past answers and the question alone,\n"
        "without looking at the salaries."
    )
