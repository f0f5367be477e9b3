"""What would become of a few natural questions, if somebody asked them now.

Promise: they are checked, not answered, on a copy of the ledger that is gone afterwards, so nothing is
recorded and no true answer is looked at. They come from names, types and public values alone.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from auditor.errors import EarlierAnswersWarning
from auditor.gate.gate import Gate
from auditor.ledger.copying import copy_ledger
from auditor.sql.schema import Protected, Table, quoted

if TYPE_CHECKING:
    from auditor.data.sources import Given
    from auditor.decision import Decision
    from auditor.policy.policy import Policy

MOST_VALUES = 60
"""Values of a public column by which somebody would group."""
MOST_COLUMNS = 8
"""Public columns of a table by which it is asked, those with the fewest values first."""


@dataclass(frozen=True)
class Foreseen:
    """A question, and what the gate would say."""

    sql: str
    decision: Decision


@dataclass(frozen=True)
class Coming:
    """What was foreseen, and for whom."""

    questions: Sequence[Foreseen]
    user: str = ""
    """Whose ledger counts, where each user has their own; "": everybody's."""
    why_none: str = ""
    """Why nothing is foreseen."""


Told = Callable[[int, int], None]


def coming(
    database: Given, policy: Policy, ledger: str, user: str = "", told: Told = lambda _, __: None
) -> Coming:
    """Check them.

    Args:
        database: The source.
        policy: The policy.
        ledger: Where the ledger is; it is copied, and neither it nor its anchor is touched.
        user: Whose ledger counts, where each user has their own.
        told: Called with how many are checked, and of how many.
    """
    if policy.decision.mode != "simulatable":
        return Coming(
            [],
            why_none='With mode = "answer-dependent" a verdict hangs on the true answer: none is foreseen.',
        )
    place = policy.ledger.model_copy(update={"path": None, "anchor": None, "editions": None})
    apart = policy.model_copy(update={"ledger": place})
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", EarlierAnswersWarning)
        copy = Path(folder) / "copy.ledger"
        copy_ledger(ledger, copy)
        with Gate.open(database, apart, copy) as gate:
            questions = [sql for each in gate.schema.protected for sql in _natural(gate, each)]
            found = list[Foreseen]()
            for number, sql in enumerate(questions):
                told(number, len(questions))
                found.append(Foreseen(sql, gate.check(sql, user=user or "analyst", dialect="duckdb")))
            told(len(questions), len(questions))
    return Coming(found, user)


def _natural(gate: Gate, protected: Protected) -> list[str]:
    """Of a protected column: its mean, greatest and least value, its mean by each public column and by the
    two with the fewest values."""
    table = next(each for each in gate.schema.tables if each.name == protected.table)
    name, column = ".".join(map(_written, protected.table.split("."))), _written(protected.column)
    columns = _columns(gate, table, name)
    groups = [*([each] for each in columns), *map(list, combinations(columns[:2], 2))]
    found = [f"SELECT avg({column}) FROM {name}", f"SELECT min({column}), max({column}) FROM {name}"]
    for each in groups:
        keys = ", ".join(map(_written, each))
        found.append(f"SELECT {keys}, avg({column}) FROM {name} GROUP BY {keys}")
    return found


def _columns(gate: Gate, table: Table, name: str) -> list[str]:
    """Public columns by which somebody would group, those with the fewest values first."""
    names = [each.name for each in table.columns]
    if not names:
        return []
    counts = ", ".join(f"count(DISTINCT {_written(each)})" for each in names)
    [values] = gate.execute(f"SELECT {counts} FROM {name}", dialect="duckdb").fetchall()
    found = [(values[place], place) for place in range(len(names)) if 2 <= values[place] <= MOST_VALUES]
    return [names[place] for _, place in sorted(found)[:MOST_COLUMNS]]


def _written(name: str) -> str:
    """A name as people write it: quoted where it has to be."""
    return name if name.isascii() and name.isidentifier() and name == name.lower() else quoted(name)
