"""Small tables and logs, and what enumeration of all tables says of them: shares no code with the audit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path

import duckdb

from auditor import Policy
from auditor.history.findings import Findings
from auditor.history.statement import Logged

Row = tuple[int, int, int]
"""id, group, value."""
Said = tuple[str, tuple[int, ...], tuple[int, ...]]
"""Kind, record numbers, coefficients."""

POLICY = """
[protect]
table = "t"
column = "v"
minimum = {low}
maximum = {high}
step = 1
public = "all"
key = "id"
[intruder]
insiders = 0
[limit]
risk = {risk}
"""


def policy(low: int, high: int, risk: float = 0.5, more: str = "") -> Policy:
    """A policy for `build`."""
    return Policy.parse(POLICY.format(low=low, high=high, risk=risk) + more)


def build(path: Path, values: Sequence[int]) -> Path:
    """A DuckDB file with a table t(id, g, v): ids from 1, g alternating."""
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t (id INTEGER, g INTEGER, v INTEGER)")
        rows = [[number + 1, number % 2, value] for number, value in enumerate(values)]
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    return path


def log(statements: Iterable[str | tuple[str, str]]) -> list[Logged]:
    """Statements, or (user, statement), as a log."""
    found = []
    for number, each in enumerate(statements, 1):
        user, sql = each if isinstance(each, tuple) else ("anna", each)
        found.append(Logged(number, sql, user=user))
    return found


def sql_of(said: Said) -> str:
    """A statement that asks for this."""
    kind, members, weights = said
    if kind == "sum" and len(set(weights)) > 1:
        cases = " ".join(f"WHEN {m + 1} THEN {w}" for m, w in zip(members, weights, strict=True))
        return f"SELECT SUM(v * CASE id {cases} END) FROM t WHERE id IN ({listed(members)})"
    return f"SELECT {kind.upper()}(v) FROM t WHERE id IN ({listed(members)})"


def listed(members: Iterable[int]) -> str:
    """Ids of records."""
    return ", ".join(str(member + 1) for member in members)


def answer(said: Said, table: Sequence[int]) -> int:
    """What a table answers."""
    kind, members, weights = said
    values = [table[member] for member in members]
    if kind == "sum":
        return sum(w * v for w, v in zip(weights, values, strict=True))
    return max(values) if kind == "max" else min(values)


def agreeing(said: Sequence[Said], table: Sequence[int], low: int, high: int) -> list[tuple[int, ...]]:
    """All tables on the grid that answer alike."""
    wanted = [answer(each, table) for each in said]
    return [
        other
        for other in product(range(low, high + 1), repeat=len(table))
        if all(answer(each, other) == value for each, value in zip(said, wanted, strict=True))
    ]


def possible(said: Sequence[Said], table: Sequence[int], low: int, high: int) -> list[set[int]]:
    """The values that each record can have."""
    tables = agreeing(said, table, low, high)
    return [{other[record] for other in tables} for record in range(len(table))]


def of_everyone(found: Findings, party: str = "everyone") -> dict[int, str]:
    """Kinds of the located records of a party."""
    return {each.record: each.kind for each in found.findings if each.party == party}
