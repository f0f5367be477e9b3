"""At the gate: statements in SQL over a DuckDB file, each answer held against the oracle.

Which records a statement covers is worked out here from the rows, not asked of the gate. Checked: as below
the gate (`deciding`), on what was really handed out; and that no statement of these forms is turned away.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np

from auditor import Gate, Policy, QueryRefused, QueryUnsupported
from auditor.errors import CoarserGridWarning

from .deciding import Finding, Tally
from .oracle import Possible, Question
from .scenarios import Rules, Settings, rules_at_random, shape_at_random, table_at_random

Row = tuple[int, int, str, int | None]
"""id, a, b, v."""
Group = tuple[object, ...]


@dataclass(frozen=True)
class Condition:
    """One comparison of a public column."""

    column: str
    operator: str
    value: int | str

    def holds(self, row: Row) -> bool:
        """Whether a row meets it."""
        cell = row[("id", "a", "b").index(self.column)]
        if self.operator in ("=", "<>"):
            return (cell == self.value) == (self.operator == "=")
        return cell < self.value if self.operator == "<" else cell >= self.value  # type: ignore[operator]

    def __str__(self) -> str:
        return f"{self.column} {self.operator} {self.value!r}"


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of v."""

    function: str
    """SUM, AVG, MIN or MAX."""
    only: Condition | None = None
    """FILTER."""
    against: Condition | None = None
    """Values count negatively where this does not hold; for SUM."""

    def question(self, rows: Sequence[Row], covered: Sequence[bool]) -> Question | None:
        """What it asks of those records; None where it asks of nobody."""
        signs = []
        for row, there in zip(rows, covered, strict=True):
            if row[3] is None:
                continue
            taken = there and (self.only is None or self.only.holds(row))
            signs.append(int(taken) * (1 if self.against is None or self.against.holds(row) else -1))
        kind = {"AVG": "sum"}.get(self.function, self.function.lower())
        return Question(kind, tuple(signs)) if any(signs) else None

    def __str__(self) -> str:
        value = "v" if self.against is None else f"CASE WHEN {self.against} THEN v ELSE -v END"
        return f"{self.function}({value})" + ("" if self.only is None else f" FILTER (WHERE {self.only})")


@dataclass(frozen=True)
class Select:
    """A statement."""

    aggregates: tuple[Aggregate, ...]
    where: tuple[Condition, ...] = ()
    by: tuple[str, ...] = ()

    def groups(self, rows: Sequence[Row]) -> dict[Group, list[bool]]:
        """By group, which rows are in it; without GROUP BY one group."""
        places = [("id", "a", "b").index(column) for column in self.by]
        chosen = [all(condition.holds(row) for condition in self.where) for row in rows]
        keys = [tuple(row[place] for place in places) for row in rows]
        names = {key for key, there in zip(keys, chosen, strict=True) if there} if self.by else {()}
        return {
            name: [there and key == name for key, there in zip(keys, chosen, strict=True)] for name in names
        }

    def __str__(self) -> str:
        where = f" WHERE {' AND '.join(map(str, self.where))}" if self.where else ""
        by = f" GROUP BY {', '.join(self.by)}" if self.by else ""
        return f"SELECT {', '.join([*self.by, *map(str, self.aggregates)])} FROM t{where}{by}"


@dataclass(frozen=True)
class Asking:
    """A table, the rules, and the statements."""

    rows: tuple[Row, ...]
    top: int
    rules: Rules
    more: str
    """Further lines of [decision]."""
    statements: tuple[Select, ...]
    reopened: int = -1
    """Before which statement the gate is closed and opened again."""

    @property
    def truth(self) -> tuple[int, ...]:
        return tuple(row[3] for row in self.rows if row[3] is not None)

    def over(self, values: Sequence[int]) -> Asking:
        """The same over another table."""
        left = iter(values)
        rows = tuple(row if row[3] is None else (*row[:3], next(left)) for row in self.rows)
        return replace(self, rows=rows)

    def __str__(self) -> str:
        lines = [self.rules.policy(self.top, self.more), f"rows (id, a, b, v): {self.rows}"]
        return "\n".join([*lines, *(f"{number}: {sql}" for number, sql in enumerate(self.statements))])


def asking_at_random(settings: Settings, seed: int, number: int) -> Asking:
    """The same one for the same seed and number."""
    rng = np.random.default_rng([seed, number])
    size, top = shape_at_random(rng, settings)
    rules = rules_at_random(rng, settings, top)
    values: list[int | None] = [*table_at_random(rng, size, top, settings.values)]
    if rng.random() < 0.2:
        values.insert(int(rng.integers(size + 1)), None)
    rows = tuple((i, int(rng.integers(3)), "xy"[int(rng.integers(2))], v) for i, v in enumerate(values))
    more = 'partial = "refuse"\n' if rng.random() < 0.3 else ""
    count = int(rng.integers(2, 8))
    statements = tuple(_about_somebody(rng, settings.kinds, rows) for _ in range(count))
    reopened = int(rng.integers(1, count)) if rng.random() < 0.2 else -1
    return Asking(rows, top, rules, more, statements, reopened)


def _about_somebody(rng: np.random.Generator, kinds: tuple[str, ...], rows: Sequence[Row]) -> Select:
    """A statement that reads a protected value, unless twenty tries find none."""
    for _ in range(20):
        select = _select(rng, kinds, len(rows))
        groups = select.groups(rows).values()
        if any(each.question(rows, covered) for covered in groups for each in select.aggregates):
            break
    return select


def _select(rng: np.random.Generator, kinds: tuple[str, ...], size: int) -> Select:
    functions = [*(("SUM", "AVG") if "sum" in kinds else ()), *(k.upper() for k in kinds if k != "sum")]
    aggregates = []
    for _ in range(int(rng.choice([1, 1, 1, 2]))):
        function, form = str(rng.choice(functions)), rng.random()
        only = _condition(rng, size) if form < 0.15 else None
        against = _condition(rng, size) if form > 0.85 and function == "SUM" else None
        aggregates.append(Aggregate(function, only, against))
    where = tuple(_condition(rng, size) for _ in range(int(rng.choice([0, 1, 1, 2]))))
    by: tuple[str, ...] = ()
    if rng.random() < 0.3:
        by = (("a",), ("b",), ("a", "b"))[int(rng.integers(3))]
    return Select(tuple(dict.fromkeys(aggregates)), where, by)


def _condition(rng: np.random.Generator, size: int) -> Condition:
    form = rng.random()
    if form < 0.5:
        return Condition("id", str(rng.choice(["<>", "<>", "<", ">="])), int(rng.integers(size)))
    if form < 0.8:
        return Condition("a", str(rng.choice(["=", "<>", "<", ">="])), int(rng.integers(3)))
    return Condition("b", str(rng.choice(["=", "<>"])), str(rng.choice(["x", "y"])))


@dataclass(frozen=True)
class Said:
    """What the gate said to one statement."""

    code: str
    words: str
    """Message and hint."""
    surprises: int
    cells: dict[tuple[Group, int], object]
    """By group and place of the aggregate, what was handed out."""
    ends: dict[tuple[Group, int], tuple[Fraction | None, Fraction | None]]
    """The same of what was told as an end: what it is at least, and at most."""


def conversation(asking: Asking) -> Iterator[Said]:
    """Ask it all of a gate over a file of its own."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", CoarserGridWarning)
        path = Path(folder) / "t.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.execute("CREATE TABLE t (id INTEGER, a INTEGER, b VARCHAR, v INTEGER)")
            connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", [list(row) for row in asking.rows])
        policy = Policy.parse(asking.rules.policy(asking.top, asking.more))
        gate = Gate.open(path, policy)
        try:
            for number, select in enumerate(asking.statements):
                if number == asking.reopened:
                    gate.close()
                    gate = Gate.open(path, policy)
                yield _said(gate, select)
        finally:
            gate.close()


def _said(gate: Gate, select: Select) -> Said:
    cells: dict[tuple[Group, int], object] = {}
    ends: dict[tuple[Group, int], tuple[Fraction | None, Fraction | None]] = {}
    try:
        answer = gate.execute(str(select))
        decision, rows, by = answer.decision, answer.fetchall(), len(select.by)
        for row in rows:
            for place in range(len(select.aggregates)):
                cells[tuple(row[:by]), place] = row[by + place]
        for each in answer.ranges:
            assert each.row is not None
            place = answer.columns.index(str(each.column)) - by
            ends[tuple(rows[each.row][:by]), place] = each.least, each.most
    except (QueryRefused, QueryUnsupported) as error:
        decision = error.decision
    last = list(gate._ledger.entries())[-1]
    return Said(decision.code, f"{decision.message} {decision.hint}", last.surprises, cells, ends)


class Heard:
    """One conversation, held against the oracle."""

    def __init__(self, asking: Asking, others: int = 1) -> None:
        """Ask nothing yet; `others`: over how many other tables the same is asked."""
        self.asking, self.others = asking, others
        self.bound, self.insiders = asking.rules.bound(asking.top), asking.rules.insiders
        self.tally = Tally(systems=1)
        self.truth = np.array([asking.truth])
        self.possible = Possible.everything(len(asking.truth), asking.top)

    def findings(self) -> Iterator[Finding]:
        """What is wrong, as it is found."""
        heard = []
        for step, (select, said) in enumerate(zip(self.asking.statements, self._talk(), strict=True)):
            heard.append(said)
            self.tally.verdicts["surprise" if said.surprises else said.code] += 1
            yield from self._answer(select, said, step)
        if self.asking.rules.mode == "simulatable":
            for turn in range(self.others):
                yield from self._elsewhere(heard, turn)

    def _talk(self) -> Iterator[Said]:
        return conversation(self.asking)

    def _answer(self, select: Select, said: Said, step: int) -> Iterator[Finding]:
        if said.code not in ("answered", "known", "ends", "partial", "public", "risk", "time"):
            yield Finding("unsupported", f"{said.code}: {said.words}", step)
        after = self.possible
        for name, covered in select.groups(self.asking.rows).items():
            for place, aggregate in enumerate(select.aggregates):
                value = said.cells.get((name, place))
                question = aggregate.question(self.asking.rows, covered)
                if question is None:
                    continue
                true, per = int(question.of(self.truth)[0]), 1
                if aggregate.function == "AVG":
                    per = len(question.members)
                if value is None:
                    least, most = (
                        None if end is None else end * per
                        for end in said.ends.get((name, place), (None, None))
                    )
                    if (least is not None and true < least) or (most is not None and true > most):
                        yield Finding("value", f"{aggregate} of {name}: {true} outside of {said.ends}", step)
                    after = after.within(question, least, most)
                    continue
                if said.code == "known" and not self.possible.settled(question):
                    yield Finding("known", f"{aggregate} of {name} is called known, and it is not", step)
                if abs(float(str(value)) - true / per) > 1e-9:
                    yield Finding("value", f"{aggregate} of {name}: {value} instead of {true / per}", step)
                after = after.told(question, true)
        new, self.possible = len(after.tables) < len(self.possible.tables), after
        breach = self.bound.breach(after, self.insiders) if new else None
        if breach is not None:
            yield Finding("limit", str(breach), step)

    def _elsewhere(self, heard: Sequence[Said], turn: int) -> Iterator[Finding]:
        """Another table that agrees with everything told: the same is said, up to a surprise."""
        tables = self.possible.tables
        place = int(np.random.default_rng([11, turn, len(tables)]).integers(len(tables)))
        other = [int(x) for x in tables[place]]
        self.tally.transcripts += 1
        for step, (here, there) in enumerate(zip(heard, conversation(self.asking.over(other)), strict=True)):
            if here.surprises or there.surprises:
                return  # from here on they may differ
            if replace(here, surprises=0) != replace(there, surprises=0):
                detail = f"{here.code} here, {there.code} if the table were {other}"
                yield Finding("refusal", detail, step)
                return


def smaller_asking(asking: Asking) -> Iterator[Asking]:
    """With something left out."""
    for place in range(len(asking.statements)):
        rest = asking.statements[:place] + asking.statements[place + 1 :]
        yield replace(asking, statements=rest, reopened=-1)
    for place, row in enumerate(asking.rows):
        if row[3] is None or len(asking.truth) > 2:
            yield replace(asking, rows=asking.rows[:place] + asking.rows[place + 1 :])
    if asking.reopened >= 0:
        yield replace(asking, reopened=-1)


def smallest(asking: Asking, shows: Callable[[Asking], bool], tries: int = 60) -> Asking:
    """The smallest found that still shows it."""
    waiting = smaller_asking(asking)
    while tries > 0:
        tries -= 1
        less = next(waiting, None)
        if less is None:
            break
        if shows(less):
            asking, waiting = less, smaller_asking(less)
    return asking
