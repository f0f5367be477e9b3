"""Ranges, asked for as a refusal's hint says, and held against the database without a gate."""

from __future__ import annotations

from pathlib import Path

import duckdb

from auditor import Answer, Decision, Gate, QueryRefused, QueryUnsupported
from auditor.gate.hints import RANGE
from benchmarks._data import timed

LOW, HIGH = "at_least", "at_most"
"""What the names of their columns have in them."""
MACROS = ";".join(f"CREATE TEMP MACRO {word}(x) AS CAST(x AS DOUBLE)" for word in (LOW, HIGH))


def tried(gate: Gate, sql: str, user: str = "analyst") -> tuple[Answer | None, Decision, float]:
    """The answer, if there is one, the verdict, and the seconds that they took."""
    answer: Answer | None = None
    with timed() as watch:
        try:
            answer = gate.execute(sql, user=user)
            decision = answer.decision
        except (QueryRefused, QueryUnsupported) as error:
            decision = error.decision
    return answer, decision, watch.seconds


def pasted(decision: Decision) -> str | None:
    """The statement that a hint shows to ask for ranges, if it shows one."""
    return decision.hint.partition(f"{RANGE}: ")[2] or None


def says_nothing(answer: Answer) -> bool:
    """Whether every end in it is NULL, as of a quotient of which one part is told and the other is not."""
    ends = [
        column.to_pylist()
        for name, column in zip(answer.columns, answer.arrow().columns, strict=True)
        if LOW in name.lower() or HIGH in name.lower()
    ]
    return bool(ends) and all(each is None for column in ends for each in column)


def _nobody(row: tuple[object, ...], low: list[bool]) -> bool:
    """Whether a row that plain DuckDB has not may be about nobody: of a histogram by single values."""
    return all(each in (None, 0) for each, first in zip(row, low, strict=True) if first)


def holds(answer: Answer, sql: str, path: Path) -> bool:
    """Whether every true value lies in its range: plain DuckDB gives it for both ends. Rows in any order."""
    names = answer.columns
    with duckdb.connect(str(path), read_only=True) as plain:
        plain.execute(MACROS)
        expected = plain.execute(sql).fetchall()
    rows = list(zip(*(column.to_pylist() for column in answer.arrow().columns), strict=True))
    ends = {place for place, name in enumerate(names) if LOW in name.lower() or HIGH in name.lower()}

    def key(row: tuple[object, ...]) -> str:
        return repr([cell for place, cell in enumerate(row) if place not in ends])

    true = {key(row): row for row in expected}
    chosen = any(word in sql.upper() for word in ("LIMIT", "QUALIFY", "HAVING"))
    if not chosen and not set(true) <= {key(row) for row in rows}:
        return False
    for row in rows:
        if key(row) not in true and not chosen and not _nobody(row, [LOW in name.lower() for name in names]):
            return False
        # by what is certain others are chosen
        for place in ends if key(row) in true else ():
            told, exact = row[place], true[key(row)][place]
            if told is None or exact is None:
                continue
            slack = 1e-9 * max(1.0, abs(exact))
            low = LOW in names[place].lower()
            if not (told <= exact + slack if low else told >= exact - slack):
                return False
    return True
