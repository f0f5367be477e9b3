"""What a gate with this policy would have done with a log: a gate on a ledger that is thrown away.

Each statement is asked once, in the order of the log, in the name of who asked it first; repetitions of what
was answered would have been answered. Time is limited: what was not reached is counted in no figure.
"""

from __future__ import annotations

import os
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from auditor.errors import EarlierAnswersWarning, PolicyError, QueryRefused, QueryUnsupported
from auditor.gate.gate import Gate
from auditor.history import budget
from auditor.history.binding import Unbound, bound
from auditor.history.findings import Cited, GateView
from auditor.history.replay import cited
from auditor.history.sorting import parts_of
from auditor.history.statement import Logged
from auditor.policy.policy import Policy


@dataclass(frozen=True)
class View:
    """A view, and how much of the log it is of."""

    view: GateView
    asked: int
    """Different statements that were asked."""
    of: int
    """Different statements that there are."""


def view(
    database: str | os.PathLike[str],
    policy: Policy,
    statements: Iterable[tuple[Logged, int]],
    dialect: str,
    seconds: float,
    stop: Callable[[], bool],
) -> View:
    """Ask a gate.

    Args:
        database: The DuckDB file.
        policy: The policy; its ledger and anchor are not touched.
        statements: Statements about protected columns, once each, with how often the log has them.
        dialect: Whose SQL it is where the log does not say.
        seconds: For all of it.
        stop: Asked between statements.
    """
    found: Counter[str] = Counter()
    refused: Cited | None = None
    deadline, asked, there = time.monotonic() + seconds, 0, list(statements)
    apart = policy.model_copy(
        update={"ledger": policy.ledger.model_copy(update={"path": None, "anchor": None})}
    )
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", EarlierAnswersWarning)
        with Gate.open(database, apart, os.path.join(folder, "audit.ledger")) as gate:
            for logged, times in there:
                if time.monotonic() > deadline or stop():
                    break
                verdict = _asked(gate, logged, logged.dialect or dialect)
                found[verdict] += times
                asked += 1
                if verdict == "refused" and refused is None:
                    refused = cited(logged)
    made = GateView(found["answered"], found["refused"], found["unsupported"], refused)
    return View(made, asked, len(there))


def _asked(gate: Gate, logged: Logged, dialect: str) -> str:
    if len(logged.sql) > budget.ENTRY:
        return "unsupported"
    parts = [part for part in parts_of(logged.sql, dialect) if part.kind == "query"]
    if len(parts) != 1 or dialect not in ("duckdb", "postgres", ""):
        return "unsupported"
    try:
        text = bound(parts[0].sql, logged.parameters, dialect)
        gate.execute(
            text, user=logged.user or "unknown", dialect="postgres" if dialect == "postgres" else "duckdb"
        )
    except QueryRefused:
        return "refused"
    except (QueryUnsupported, Unbound, PolicyError):
        return "unsupported"
    return "answered"
