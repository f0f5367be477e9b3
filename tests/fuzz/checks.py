"""What must hold for every statement, whatever it is.

1. No crash, no hang: `understand` gives a plan or a known code, `ask` and `finish` give a result or
   `StatementFailed`, and nothing is printed.
2. Equal to plain DuckDB: what is answered has the rows, names and types that DuckDB gives on the original,
   as far as DuckDB itself is sure of them.
3. No influence: over unrelated protected values and other record numbers, the same is asked, and the same
   released values give the same result. `gates` does the same with the gate itself, on small tables.
"""

from __future__ import annotations

import contextlib
import io
import random
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import numpy as np
import pyarrow as pa

from auditor.data.database import Asked, Database, StatementFailed
from auditor.sql import Plan, Unsupported, understand
from auditor.sql.understood import REASONS
from tests.fuzz.compare import (
    NotOneQuery,
    Plain,
    by_chance,
    difference,
    part_of,
    same_order,
    sort_columns,
    uncut,
)
from tests.fuzz.gates import verdicts_agree
from tests.fuzz.grammar import Statement
from tests.fuzz.worlds import WORLDS, World, all_rows, classes, open_world, relabelled, write

STAGES = ("", "understand", "run", "plain", "compare", "influence", "gates")
SLOW = 3.0
"""Seconds of the processor that reading a statement may take."""
VALIDITY = 0.2
"""Share of the statements that are not understood for which DuckDB is asked whether they are valid."""
GATED = 0.25
"""Share of the statements on the small table that are asked of whole gates."""

REPEATED = 12
"""Times that a result is computed again before it counts as determined."""

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Finding:
    """Something that must not be."""

    kind: str
    """"influence", "crash", "rows", "hang" or "failed"; in the order of gravity."""
    what: str
    """Which, in words that stay the same while the statement is minimised."""
    detail: str = ""


@dataclass(frozen=True)
class Result:
    """What became of a statement."""

    code: str
    """"answered", "public", "failed" or the code of the reason."""
    valid: bool | None = None
    """Whether DuckDB takes it; None where it was not asked."""
    compared: str = ""
    """"equal", "part" (LIMIT chose other rows), "unsure" (DuckDB's result is not determined), or nothing."""
    findings: tuple[Finding, ...] = ()
    gated: bool = False
    """Whether whole gates were asked."""


class _Found(Exception):
    def __init__(self, finding: Finding) -> None:
        super().__init__(finding)
        self.finding = finding


class Checker:
    """Checks statements over one world. A context manager."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._folder = tempfile.TemporaryDirectory(prefix="fuzz")
        folder = Path(self._folder.name)
        self._a = open_world(write(folder / "a.duckdb", world, all_rows(world, "A")), world)
        self._b = open_world(write(folder / "b.duckdb", world, all_rows(world, "B")), world)
        self._before = relabelled(self._b, random.Random(world.name))
        self._classes = classes(self._a)
        self._sizes = [Counter(each.tolist()) for each in self._classes]
        self._plain = Plain(world)
        self.watched: Any = None
        """Shared memory of whoever watches: in its third place stands what is being done."""

    def __enter__(self) -> Checker:
        return self

    def __exit__(self, *error: object) -> None:
        self._a.close()
        self._b.close()
        self._folder.cleanup()

    def check(self, statement: Statement, gated: bool | None = None) -> Result:
        """Check a statement; `gated` says whether whole gates are asked too, by default now and then."""
        try:
            return self._check(statement, gated)
        except _Found as found:
            return Result("fault", findings=(found.finding,))

    def _now(self, stage: str) -> None:
        if self.watched is not None:
            self.watched[2] = STAGES.index(stage)

    def _check(self, statement: Statement, gated: bool | None) -> Result:
        self._now("understand")
        started = time.process_time()
        plan = _calm("understand", lambda: understand(statement.text, statement.parameters, self._a.schema))
        if time.process_time() - started > SLOW:
            raise _Found(Finding("hang", "understand", f"{time.process_time() - started:.1f} s"))
        if isinstance(plan, Unsupported):
            return Result(plan.code, self._valid(statement, plan.code))
        if not isinstance(plan, Plan):
            raise _Found(Finding("crash", f"understand returned {type(plan).__name__}"))
        self._now("run")
        ours = _calm("run", lambda: self._answer(plan))
        if isinstance(ours, str) and ours != "failed":
            return Result(ours, self._valid(statement, ours))
        ours = None if isinstance(ours, str) else ours
        self._now("plain")
        theirs = self._plain.run(statement.text, statement.parameters)
        if isinstance(theirs, NotOneQuery):
            return Result("public" if plan.public else "answered")
        self._now("compare")
        compared = self._compared(statement, ours, theirs)
        self._now("influence")
        asked = self._same_asked(plan) if ours is not None else []
        if ours is not None:
            self._same_finish(plan, asked, ours)
        small = self._world.name == "small" and ours is not None and bool(asked)
        gated = small and (random.Random(statement.text).random() < GATED if gated is None else gated)
        if gated:
            self._now("gates")
            told = _calm("gate", lambda: verdicts_agree(self._world, self._a, statement, asked))
            if told:
                raise _Found(Finding("influence", told))
        code = "failed" if ours is None else "answered" if plan.blocks else "public"
        return Result(code, not isinstance(theirs, duckdb.Error), compared, gated=gated)

    def _valid(self, statement: Statement, code: str) -> bool | None:
        if code not in REASONS:
            raise _Found(Finding("crash", f"unknown code {code}"))
        if statement.origin != "valid" or random.Random(statement.text).random() > VALIDITY:
            return None
        self._now("plain")
        return not isinstance(self._plain.run(statement.text, statement.parameters), duckdb.Error)

    # --- the same as plain DuckDB

    def _answer(self, plan: Plan) -> pa.Table | str:
        """The result, or the code of the failure."""
        try:
            asked = self._a.ask(plan)
            return self._a.finish(plan, [computed(self._a, each) for each in asked])
        except StatementFailed as failure:
            return str(failure.code)

    def _compared(self, statement: Statement, ours: pa.Table | None, theirs: pa.Table | duckdb.Error) -> str:
        text, parameters = statement.text, statement.parameters
        if ours is None or isinstance(theirs, duckdb.Error):
            if ours is None and isinstance(theirs, duckdb.Error):
                return "equal"
            if not self._plain.sure(text, parameters, theirs, lambda other: True):
                return "unsure"
            what = "failed where DuckDB answers" if ours is None else "answered where DuckDB fails"
            raise _Found(
                Finding("failed", what, str(theirs)[:200] if isinstance(theirs, duckdb.Error) else "")
            )
        differs = difference(ours, theirs)
        if differs is None:
            keys = sort_columns(text, ours.column_names)
            if same_order(ours.select(keys), theirs.select(keys)):
                return "equal"
            differs = "order"
        elif not self._plain.sure(text, parameters, theirs, lambda other: difference(theirs, other) is None):
            return "unsure"
        elif by_chance(text):
            return self._part(statement, ours, theirs)
        shown = f"ours {_shown(ours)}, DuckDB {_shown(theirs)}"
        raise _Found(Finding("rows", differs, shown))

    def _part(self, statement: Statement, ours: pa.Table, theirs: pa.Table) -> str:
        """Where LIMIT may choose among rows, any of those that there are will do, as many as DuckDB gives."""
        whole = uncut(statement.text)
        result = None if whole is None else self._plain.run(whole, statement.parameters)
        if not isinstance(result, pa.Table) or by_chance(whole or ""):
            return "unsure"
        keys = sort_columns(statement.text, ours.column_names)
        same_keys = difference(ours.select(keys), theirs.select(keys)) is None
        if ours.num_rows == theirs.num_rows and same_keys and part_of(ours, result):
            return "part"
        raise _Found(Finding("rows", "limit", f"ours {_shown(ours)}, DuckDB {_shown(theirs)}"))

    # --- no influence

    def _same_asked(self, plan: Plan) -> list[Asked]:
        a, b = (_calm("ask", lambda each=each: each.ask(plan)) for each in (self._a, self._b))
        if [_terms(each) for each in a] != [_terms(each) for each in b]:
            raise _Found(Finding("influence", "asks something else over other values"))
        for one, other in zip(a, b, strict=True):
            class_of, before = self._classes[one.protected], self._before[one.protected]
            ours = Counter(zip(class_of[one.records].tolist(), _signs(one), strict=True))
            theirs = Counter(zip(class_of[before[other.records]].tolist(), _signs(other), strict=True))
            if ours != theirs:
                raise _Found(Finding("influence", "asks for other records over other values"))
            if any(self._sizes[one.protected][each] != count for (each, _), count in ours.items()):
                raise _Found(Finding("influence", "chooses among records that are publicly equal"))
        return a

    def _same_finish(self, plan: Plan, asked: list[Asked], ours: pa.Table) -> None:
        values = [computed(self._a, each) for each in asked]
        other = _calm("finish", lambda: _finished(self._b, plan, values))
        if other is not None and (ours.equals(other) or difference(ours, other) is None):
            return
        # two threads share the public instance's work: ties may fall this way or that
        repeated = [_finished(self._a, plan, values) for _ in range(REPEATED)]
        if all(each is not None and difference(ours, each) is None for each in repeated):
            raise _Found(Finding("influence", "the same released values give another result"))


def computed(database: Database, asked: Asked) -> Fraction:
    """What the gate would compute, from the vault."""
    vault = database.vaults[asked.protected]
    chosen = vault.integers[asked.records].tolist()
    if asked.kind == "sum":
        return sum(sign * value for sign, value in zip(_signs(asked), chosen, strict=True)) * vault.scale
    return (max(chosen) if asked.kind == "max" else min(chosen)) * vault.scale


def _finished(database: Database, plan: Plan, values: list[Fraction]) -> pa.Table | None:
    try:
        return database.finish(plan, values)
    except StatementFailed:
        return None


def _signs(asked: Asked) -> list[int]:
    signs = np.ones(len(asked.records), np.int8) if asked.signs is None else asked.signs
    return [int(sign) for sign in signs]


def _terms(asked: Asked) -> tuple[object, ...]:
    place = (asked.protected, asked.kind, asked.block, asked.group, asked.column)
    return *place, asked.coefficient, asked.offset, asked.divisor, asked.signs is None


def _calm(stage: str, work: Callable[[], _Result]) -> _Result:
    """Do something that may neither raise nor print."""
    with _listening() as heard:
        try:
            result = work()
        except _Found:
            raise
        except (Exception, RecursionError) as error:  # noqa: BLE001 whatever it is, it is a finding
            place = traceback.extract_tb(error.__traceback__)[-1]
            name = f"{type(error).__name__} in {stage}, {Path(place.filename).name} {place.name}"
            raise _Found(Finding("crash", name, str(error)[:300])) from None
    if heard.getvalue():
        raise _Found(Finding("crash", f"{stage} printed", heard.getvalue()[:300]))
    return result


@contextlib.contextmanager
def _listening() -> Iterator[io.StringIO]:
    heard = io.StringIO()
    with contextlib.redirect_stdout(heard), contextlib.redirect_stderr(heard):
        yield heard


def _shown(table: pa.Table) -> str:
    return f"{table.schema.types} {[tuple(row.values()) for row in table.slice(0, 3).to_pylist()]}"[:400]


_CHECKERS: dict[str, Checker] = {}


def check(statement: Statement, gated: bool | None = None) -> Result:
    """Check a statement with a checker of its world that this process keeps."""
    return checker(statement.world).check(statement, gated)


def checker(world: str) -> Checker:
    """This process's checker of a world."""
    if world not in _CHECKERS:
        _CHECKERS[world] = Checker(WORLDS[world])
    return _CHECKERS[world]
