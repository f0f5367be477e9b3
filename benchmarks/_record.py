"""What the robustness benchmark shares: a table of teams, findings, and the record read without the package.

`Record` reads the ledger with SQLite alone, so that "what was released is on record" is not the gate's word.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from auditor import AuditorError, Gate, Policy, QueryRefused, QueryUnsupported

TEAM = 10
"""Persons in a team."""
TOTAL = "SELECT sum(salary) FROM staff WHERE team = {}"
ALL_BUT_ONE = "SELECT sum(salary) FROM staff WHERE team = {} AND place <> 3"
"""Each is safe alone; both together give a person away."""
PUBLIC = "SELECT count(*) FROM staff WHERE team = {}"
ROWS = "SELECT salary FROM staff WHERE team = {}"

Told = tuple[str, str, int]
"""User, statement, value: what somebody was told."""


@dataclass
class Finding:
    """One line of the table."""

    section: str
    what: str
    tried: int = 0
    """How often the thing was done."""
    broken: list[str] = field(default_factory=list)
    """What should not have been, in plain words."""
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)

    def expect(self, holds: bool, otherwise: object) -> bool:
        """Keep what does not hold."""
        if not holds:
            self.broken.append(str(otherwise))
        return holds


def build(path: Path, teams: int, seed: int = 0) -> Path:
    """A DuckDB file of teams: id, team, place in it, salary anywhere in the domain."""
    salaries = np.random.default_rng(seed).integers(1, 26, teams * TEAM) * 10
    ids = np.arange(teams * TEAM)
    persons = {"id": ids, "team": ids // TEAM, "place": ids % TEAM, "salary": salaries}
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE staff (id INTEGER, team INTEGER, place INTEGER, salary INTEGER)")
        connection.register("persons", pa.table(persons))
        connection.execute("INSERT INTO staff FROM persons")
    return path


def rules(path: Path, ledger: Path | None = None, anchor: Path | None = None) -> Path:
    """A policy file for `build`."""
    places = {"path": ledger, "anchor": anchor}
    kept = "".join(f'{key} = "{place}"\n' for key, place in places.items() if place is not None)
    path.write_text(
        '[protect]\ntable = "staff"\ncolumn = "salary"\nminimum = 10\nmaximum = 250\nstep = 10\n'
        f'public = "all"\n[limit]\nrisk = 0.5\n[ledger]\n{kept}',
        encoding="utf-8",
    )
    return path


def policy(ledger: Path | None = None, anchor: Path | None = None, *, folder: Path) -> Policy:
    """The same, read."""
    return Policy.load(rules(folder / "policy.toml", ledger, anchor))


@dataclass(frozen=True)
class Asked:
    """What became of a statement."""

    kind: str
    """"answered", "refused", "unsupported", "error" (an `AuditorError`), or "crash" (any other exception)."""
    text: str
    """The code of the verdict, or what the error says."""
    value: int | None = None

    @property
    def clean(self) -> bool:
        """One error in one line, which says what it is about."""
        return self.kind == "error" and "\n" not in self.text


def ask(gate: Gate, sql: str, user: str = "ann") -> Asked:
    """Ask, and catch whatever comes."""
    try:
        answer = gate.execute(sql, user=user)
        rows = answer.fetchall()
        return Asked("answered", answer.decision.code, int(rows[0][0]))
    except QueryRefused as error:
        return Asked("refused", error.decision.code)
    except QueryUnsupported as error:
        return Asked("unsupported", error.decision.code)
    except AuditorError as error:
        return Asked("error", str(error))
    except (RuntimeError, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return Asked("crash", f"{type(error).__name__}: {error}")
    except (duckdb.Error, sqlite3.Error) as error:
        return Asked("crash", f"{type(error).__name__}: {error}")


@dataclass(frozen=True)
class Row:
    number: int
    user: str
    sql: str
    verdict: str
    code: str
    values: tuple[Fraction, ...]


class Record:
    """A ledger's entries, as SQLite has them."""

    def __init__(self, ledger: Path, after: int = 0) -> None:
        query = (
            "SELECT s.number, s.user_name, s.sql, s.verdict, s.code, a.value FROM ledger_statement s "
            "LEFT JOIN ledger_answer a ON a.statement = s.number WHERE s.number > ? "
            "ORDER BY s.number, a.position"
        )
        found: dict[int, Row] = {}
        with closing(sqlite3.connect(ledger)) as connection:
            for number, user, sql, verdict, code, value in connection.execute(query, (after,)):
                values = found[number].values if number in found else ()
                values += () if value is None else (Fraction(value),)
                found[number] = Row(number, user, sql, verdict, code, values)
        self.rows: Sequence[Row] = list(found.values())
        self.length = self.rows[-1].number if self.rows else after

    def answered(self) -> Counter[tuple[str, str]]:
        """How often each user's statement was answered."""
        return Counter((row.user, row.sql) for row in self.rows if row.verdict == "answered")

    def missing(self, told: Iterable[Told]) -> list[str]:
        """What was told and is not on record, as often and with the value with which it was told."""
        told = list(told)
        often = Counter((user, sql) for user, sql, _ in told)
        lost = [f"{user} was told {sql} and it is not on record" for user, sql in often - self.answered()]
        new = {
            (row.user, row.sql): row.values[0] for row in self.rows if row.code == "answered" and row.values
        }
        for user, sql, value in told:
            if (user, sql) in new and sql.startswith("SELECT sum") and new[user, sql] != value:
                lost.append(f"{user} was told {value} for {sql}; on record is {new[user, sql]}")
        return lost


def plain(database: Path, statements: Iterable[str]) -> dict[str, int]:
    """What DuckDB says, without a gate."""
    with duckdb.connect(str(database), read_only=True) as connection:
        return {sql: int(connection.execute(sql).fetchall()[0][0]) for sql in set(statements)}
