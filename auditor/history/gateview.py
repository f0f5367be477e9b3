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
from collections.abc import Callable, Iterable, Sequence

from auditor.data.sources import Given
from auditor.errors import EarlierAnswersWarning, PolicyError, QueryRefused, QueryUnsupported
from auditor.gate.gate import Gate
from auditor.history import budget
from auditor.history.binding import Unbound, bound
from auditor.history.findings import Cited, GateView
from auditor.history.replay import cited
from auditor.history.sorting import parts_of
from auditor.history.statement import Logged
from auditor.policy.policy import Policy
from auditor.sql.dialects import Dialect


def verdicts(
    database: Given,
    policy: Policy,
    statements: Iterable[Logged],
    dialect: str,
    seconds: float,
    stop: Callable[[], bool],
) -> list[str]:
    """What a gate says of statements, one after the other: answered, refused or unsupported.

    Args:
        database: The source.
        policy: The policy; its ledger and anchor are not touched.
        statements: Statements about protected columns, once each; they may still be coming.
        dialect: Whose SQL it is where the log does not say.
        seconds: For all of it, waiting for statements left out; who comes later is not asked.
        stop: Asked between statements.
    """
    found: list[str] = []
    began, waited = time.monotonic(), 0.0
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", EarlierAnswersWarning)
        with Gate.open(database, policy.on_scratch, os.path.join(folder, "audit.ledger")) as gate:
            done = time.monotonic()
            for logged in statements:
                waited += time.monotonic() - done
                if time.monotonic() - began - waited > seconds or stop():
                    break
                found.append(_asked(gate, logged, logged.dialect or dialect))
                done = time.monotonic()
    return found


def view_of(said: Sequence[str], statements: Sequence[tuple[Logged, int]]) -> GateView:
    """Verdicts as a view.

    Args:
        said: Of the first statements, as `verdicts` gives them.
        statements: All of them, with how often the log has each.
    """
    found: Counter[str] = Counter()
    refused: Cited | None = None
    for verdict, (logged, times) in zip(said, statements, strict=False):
        found[verdict] += times
        if verdict == "refused" and refused is None:
            refused = cited(logged)
    return GateView(found["answered"], found["refused"], found["unsupported"], refused)


def _asked(gate: Gate, logged: Logged, dialect: str) -> str:
    if len(logged.sql) > budget.ENTRY:
        return "unsupported"
    parts = [part for part in parts_of(logged.sql, dialect) if part.kind == "query"]
    if len(parts) != 1 or dialect not in ("duckdb", "postgres", ""):
        return "unsupported"
    try:
        text = bound(parts[0].sql, logged.parameters, dialect)
        spoken: Dialect = "postgres" if dialect == "postgres" else "duckdb"
        gate.execute(text, user=logged.user or "unknown", dialect=spoken, timezone=logged.zone or "UTC")
    except QueryRefused:
        return "refused"
    except (QueryUnsupported, Unbound, PolicyError):
        return "unsupported"
    return "answered"
