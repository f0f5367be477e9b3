"""Ranges at the gate: random statements over crowds, each answer held against all tables (`crowds`).

Exact sums, means and extremes, and AT_LEAST and AT_MOST of every statistic that has ranges, one after the
other, of a gate over a DuckDB file. Checked at each answer:

- *value*: the true value, by plain DuckDB, lies inside of what is shown;
- *shown*: what is shown says no more than what the ledger has;
- *again*: the same statement gets the same again;
- *limit*: everybody keeps the limit in all tables that agree with all answers, also to an insider with
  whatever value;
- *refusal*: tables that agree with all earlier answers get the same verdict, and *partition*: ranges that are
  the same or disjoint, up to a surprise.

How far the exact posterior is beyond the limit is measured, not judged: `Ranged.likely`.
"""

from __future__ import annotations

import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import duckdb
import numpy as np

from auditor import Gate, Policy, QueryRefused, QueryUnsupported
from auditor.errors import CoarserGridWarning
from auditor.ledger import KnownAnswer

from .crowds import Bools, Crowds, Fact, Likely, risk
from .deciding import Finding
from .oracle import Bound

EXACT = ("SUM(v)", "AVG(v)", "MIN(v)", "MAX(v)")
RANGED = (
    "SUM(v)", "AVG(v)", "COUNT_IF(v >= {0})", "COUNT_IF(v = {0})", "MEDIAN(v)", "QUANTILE_DISC(v, 0.25)",
    "QUANTILE_CONT(v, 0.7)", "SUM(v * w)", "AVG(v * w)", "COVAR_POP(v, w)", "REGR_SLOPE(v, w)", "CORR(v, w)",
    "STDDEV_POP(v)", "STDDEV(v)", "VAR_SAMP(v)", "VAR_POP(v)",
)  # fmt: skip
HANG_ON_ALL = RANGED[7:]
"""Those that hang on every member, of which there are more."""
NEAR = 1e-9


@dataclass(frozen=True)
class Ask:
    """A statement about the people of some classes."""

    aggregate: str
    places: tuple[int, ...]
    """The classes."""
    ranged: bool
    times: tuple[int, ...] | None = None
    """By class, weights in place of the column w."""

    @property
    def reads(self) -> str:
        """The aggregate, as SQL."""
        if self.times is None:
            return self.aggregate
        cases = " ".join(f"WHEN {place} THEN {weight}" for place, weight in enumerate(self.times))
        return self.aggregate.replace("w", f"CASE g {cases} END")

    def sql(self, classes: int) -> str:
        """The statement."""
        what = self.reads
        if self.ranged:
            what = f"AT_LEAST({what}) AS low, AT_MOST({what}) AS high"
        return f"SELECT {what} FROM t{self.where(classes)}"

    def where(self, classes: int) -> str:
        """Whom it is about."""
        everybody = len(self.places) == classes
        return "" if everybody else f" WHERE g IN ({', '.join(map(str, self.places))})"


@dataclass(frozen=True)
class Ranging:
    """A table, the rules, and the statements."""

    sizes: tuple[int, ...]
    weights: tuple[int, ...]
    """By class, everybody's w."""
    values: tuple[int, ...]
    """What anybody may have."""
    truth: tuple[int, ...]
    """Class by class."""
    asks: tuple[Ask, ...]
    insiders: int = 0
    candidates: str = "interval"
    risk: float = 0.5
    payers: int = 6
    """`statistics.PAYERS`: with fewer more is told of small tables."""
    reopened: int = -1
    """Before which statement the gate is closed and opened again."""

    @property
    def step(self) -> int:
        return self.values[1] - self.values[0]

    @property
    def policy(self) -> str:
        """As TOML."""
        return "\n".join([
            "[protect]", 'table = "t"', 'column = "v"', f"minimum = {self.values[0]}",
            f"maximum = {self.values[-1]}", f"step = {self.step}", 'public = "all"', "[limit]",
            f"risk = {self.risk}", "[intruder]", f"insiders = {self.insiders}",
            f'candidates = "{self.candidates}"', "[decision]", "timeout = 100",
        ])  # fmt: skip

    @property
    def rows(self) -> list[list[int]]:
        """id, g, w, v."""
        classes = [place for place, size in enumerate(self.sizes) for _ in range(size)]
        people = enumerate(zip(classes, self.truth, strict=True))
        return [[number, place, self.weights[place], value] for number, (place, value) in people]

    def __str__(self) -> str:
        lines = [repr(self)]
        return "\n".join([*lines, *(f"{n}: {ask.sql(len(self.sizes))}" for n, ask in enumerate(self.asks))])


SHAPES = (
    # values, sizes of large classes, most single persons
    (2, ((15, 40), (15, 40), (5, 30)), 2),
    (3, ((12, 24), (12, 24)), 2),
    (3, ((20, 50),), 3),
    (4, ((14, 26), (4, 10)), 1),
    (4, ((20, 36),), 2),
    (5, ((20, 34),), 1),
)


LARGE = (
    (3, ((100, 200),), 2),
    (3, ((60, 90), (20, 40)), 1),
    (4, ((60, 90),), 1),
    (2, ((60, 120), (60, 120)), 1),
)
"""Of whom deviations and weighted sums are told between two ends, with exact answers after them."""


def ranging_at_random(
    seed: int, number: int, candidates: str = "interval", payers: int = 6, large: bool = False
) -> Ranging:
    """The same one for the same seed and number."""
    rng, shapes = np.random.default_rng([seed, number]), LARGE if large else SHAPES
    while True:
        count, crowds, most = shapes[int(rng.integers(len(shapes)))]
        if candidates == "interval" or count > 2:
            break
    sizes = [int(rng.integers(*each)) for each in crowds] + [1] * int(rng.integers(most + 1))
    low, step = int(rng.choice([0, 0, -2, 7])), int(rng.choice([1, 1, 10]))
    values = tuple(low + step * place for place in range(count))
    p = np.ones(count) if rng.random() < 0.6 else rng.dirichlet(np.ones(count))
    truth = tuple(int(x) for x in rng.choice(values, sum(sizes), p=p / p.sum()))
    weights = tuple(int(w) for w in rng.choice([1, 1, 1, 2, 3, -1, 0], len(sizes)))
    asks, wanted = list[Ask](), int(rng.integers(5, 12))
    while len(asks) < wanted:
        if asks and rng.random() < 0.1:
            asks.append(asks[int(rng.integers(len(asks)))])
            continue
        asks.append(_ask(rng, sizes, values, asks))
    limit = _limit(rng, count)
    if candidates != "interval":
        limit = float(rng.choice([0.3, 0.5, limit]))
    reopened = int(rng.integers(1, len(asks))) if rng.random() < 0.25 else -1
    return Ranging(
        tuple(sizes), weights, values, truth, tuple(asks), int(rng.integers(2)), candidates, limit, payers,
        reopened,
    )  # fmt: skip


PERSONS = ((2, 14, 18), (3, 10, 12), (4, 8, 9))
"""Values, and how many people, fewest and most, each a class of one: all tables, whoever is asked of."""


def persons_at_random(seed: int, number: int, statements: int, payers: int = 0) -> Ranging:
    """Many statements about random people, a random number of them each time."""
    rng = np.random.default_rng([seed, number, 1])
    count, fewest, most = PERSONS[int(rng.integers(len(PERSONS)))]
    size = int(rng.integers(fewest, most + 1))
    truth = tuple(int(x) for x in rng.integers(0, count, size))
    weights = tuple(int(w) for w in rng.choice([1, 1, 1, 2, 3, -1], size))
    asks = list[Ask]()
    for _ in range(statements):
        some = np.sort(rng.choice(size, int(rng.integers(2, size + 1)), replace=False))
        exact = rng.random() < 0.05
        aggregate = str(rng.choice(EXACT if exact else HANG_ON_ALL if rng.random() < 0.6 else RANGED))
        asks.append(Ask(aggregate.format(int(rng.integers(1, count))), tuple(some.tolist()), not exact))
    limit = _limit(rng, count)
    return Ranging(
        (1,) * size, weights, tuple(range(count)), truth, tuple(asks), int(rng.integers(2)), "interval",
        limit, payers,
    )  # fmt: skip


def vernier_at_random(seed: int, number: int, payers: int = 6) -> Ranging:
    """A crowd and single people: the same sum again and again, each time with other weights of the singles.

    Cells have fixed ends, so a sum that comes into the next cell as somebody's weight grows tells of him.
    """
    rng = np.random.default_rng([seed, number])
    count = int(rng.choice([2, 3, 3, 4]))
    crowd = int(rng.integers(16, {2: 200, 3: 70, 4: 40}[count]))
    singles = int(rng.integers(1, 4 if count < 4 else 3))
    sizes = (crowd, *[1] * singles)
    truth = tuple(int(x) for x in rng.integers(0, count, sum(sizes)))
    asks = list[Ask]()
    for _ in range(int(rng.integers(6, 14))):
        form = rng.random()
        times = (1, *(int(x) for x in rng.choice([0, 1, 1, 2, 3, 4, 6, 8, -1, -3], singles)))
        places = tuple(place for place in range(len(sizes)) if place == 0 or rng.random() < 0.7)
        if form < 0.6:
            asks.append(Ask("SUM(v * w)", places, True, times))
        elif form < 0.8:
            aggregate = "VAR_POP(v)" if form < 0.7 else f"COUNT_IF(v >= {rng.integers(1, count)})"
            asks.append(Ask(aggregate, places, True))
        else:
            asks.append(Ask(str(rng.choice(["SUM(v)", "AVG(v)"])), places, form >= 0.9))
    insiders = int(rng.integers(2))
    return Ranging(
        sizes, (1,) * len(sizes), tuple(range(count)), truth, tuple(asks), insiders, "interval",
        _limit(rng, count), payers,
    )  # fmt: skip


def _limit(rng: np.random.Generator, count: int) -> float:
    """A risk that a run of so many values just keeps: of all of them, too."""
    need = int(rng.integers(2, count + 1))
    return float(np.ceil(1e4 * risk([1 / need] * need + [0.0] * (count - need))) / 1e4 + 0.01)


def _ask(rng: np.random.Generator, sizes: Sequence[int], values: Sequence[int], before: Sequence[Ask]) -> Ask:
    """About random classes, or those of an earlier statement and one more or fewer."""
    places = tuple(place for place, size in enumerate(sizes) if rng.random() < (0.75 if size > 1 else 0.5))
    if before and rng.random() < 0.5:
        changed = int(rng.choice([place for place, size in enumerate(sizes) if size == min(sizes)]))
        places = tuple(sorted({*before[int(rng.integers(len(before)))].places} ^ {changed}))
    if rng.random() < 0.25 or not places:
        places = tuple(range(len(sizes)))
    if rng.random() < 0.3:
        return Ask(str(rng.choice(EXACT)), places, False)
    aggregate = str(rng.choice(HANG_ON_ALL if rng.random() < 0.6 else RANGED))
    times = None
    if "w" in aggregate and rng.random() < 0.5:  # single persons count so many times as much as others
        times = tuple(1 if size > 1 else int(rng.integers(1, 9)) for size in sizes)
    return Ask(aggregate.format(int(rng.choice(values[1:]))), places, True, times)


@dataclass(frozen=True)
class Said:
    """What the gate said to one statement."""

    code: str
    words: str
    row: tuple[float | None, ...]
    surprises: int
    known: tuple[KnownAnswer, ...] = field(compare=False)
    """What the ledger has of it."""

    @property
    def same(self) -> tuple[object, ...]:
        """What does not hang on the true table."""
        return self.code, self.words, self.row


def conversation(ranging: Ranging) -> Iterator[Said]:
    """Ask it all of a gate over a file of its own."""
    from auditor.deciding import statistics

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", CoarserGridWarning)
        path, before = Path(folder) / "t.duckdb", statistics.PAYERS
        with duckdb.connect(str(path)) as connection:
            connection.execute("CREATE TABLE t (id INTEGER, g INTEGER, w INTEGER, v INTEGER)")
            connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", ranging.rows)
        policy = Policy.parse(ranging.policy)
        statistics.PAYERS = ranging.payers
        gate = Gate.open(path, policy)
        try:
            for number, ask in enumerate(ranging.asks):
                if number == ranging.reopened:
                    gate.close()
                    gate = Gate.open(path, policy)
                yield _said(gate, ask.sql(len(ranging.sizes)))
        finally:
            statistics.PAYERS = before
            gate.close()


def _said(gate: Gate, sql: str) -> Said:
    row: tuple[float | None, ...] = ()
    try:
        answer = gate.execute(sql)
        decision = answer.decision
        (row,) = answer.fetchall()
        row = tuple(None if each is None else float(each) for each in row)
        for each in answer.ranges:
            if len(row) == 1:  # of a plain aggregate the ends are beside the row
                ends = (each.least, each.most)
                row = (None, *(None if end is None else float(end) for end in ends))
    except (QueryRefused, QueryUnsupported) as error:
        decision = error.decision
    last = list(gate._ledger.entries())[-1]
    return Said(
        decision.code, f"{decision.message} {decision.hint}", row, last.surprises, tuple(last.answers)
    )


class Ranged:
    """One conversation, held against all tables."""

    def __init__(self, ranging: Ranging, others: int = 1) -> None:
        """Ask nothing yet; `others`: over how many other tables the same is asked."""
        self.ranging, self.others = ranging, others
        self.crowds = Crowds(ranging.sizes, ranging.values)
        self.bound = Bound(len(ranging.values) - 1, 1, ranging.risk)
        self.codes = Counter[str]()
        self.told = Counter[str]()
        """By kind and whether it is an end of a range, what was told."""
        self.narrow = 0
        """Of whom the very set of values left is past the limit, though it has a run that is not."""
        self.likely = list[tuple[float, float, float]]()
        """After each range: the greatest exact risk against the domain, against the average of a set's
        members, and with an insider."""
        self.transcripts = 0
        self.rng = np.random.default_rng([5, *ranging.sizes, len(ranging.asks)])

    def findings(self) -> Iterator[Finding]:
        """What is wrong, as it is found."""
        heard, before = list[Said](), list[Bools]()
        first = dict[Ask, tuple[object, ...]]()
        for step, (ask, said) in enumerate(zip(self.ranging.asks, conversation(self.ranging), strict=True)):
            before.append(self.crowds.left)
            heard.append(said)
            self.codes["surprise" if said.surprises else said.code] += 1
            if said.code not in ("answered", "known", "ends", "partial", "public", "risk", "time"):
                yield Finding("unsupported", f"{said.code}: {said.words}", step)
            yield from self._answer(ask, said, step)
            if said.row and None not in said.row and first.setdefault(ask, said.row) != said.row:
                yield Finding("again", f"{first[ask]} at first, {said.row} now", step)
        for turn in range(self.others):
            yield from self._elsewhere(heard, before, turn)

    @cached_property
    def truth(self) -> duckdb.DuckDBPyConnection:
        connection = duckdb.connect()
        connection.execute("CREATE TABLE t (id INTEGER, g INTEGER, w INTEGER, v INTEGER)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", self.ranging.rows)
        return connection

    def _answer(self, ask: Ask, said: Said, step: int) -> Iterator[Finding]:
        sql = f"SELECT {ask.reads} FROM t{ask.where(len(self.ranging.sizes))}"
        found = self.truth.execute(sql).fetchone()
        assert found is not None
        true = None if found[0] is None else float(found[0])
        if not holds(said.row, true):
            yield Finding("value", f"{true} is not in {said.row}", step)
        for each in said.known:
            fact = fact_of(each, self.ranging.sizes)
            self.told[f"{fact.kind} {each.kind.partition(' ')[2]}".strip()] += 1
            self.crowds.told(fact)
        shown = self._shown(ask, said)
        if shown is not None and (self.crowds.left & ~shown).any():
            yield Finding("shown", f"{said.row} ({said.code}) says more than {said.known}", step)
        if not self._true_is_left():
            yield Finding("value", "the true table is not left", step)
            return
        if not said.known:
            return
        for left in self.crowds.excluded():
            if left.insider is not None and not self.ranging.insiders:
                break
            if not self.bound.keeps(left.values):
                yield Finding("limit", str(left), step)
                break
            self.narrow += not self.bound.accepts(left.values)
        self._measure()

    def _true_is_left(self) -> bool:
        place, start = list[int](), 0
        for size, each in zip(self.ranging.sizes, self.crowds.histograms, strict=True):
            some = np.array(self.ranging.truth[start : start + size])
            counts = [(some == value).sum() for value in self.ranging.values]
            place.append(int(np.flatnonzero((each == counts).all(axis=1))[0]))
            start += size
        return bool(self.crowds.left[tuple(place)])

    def _shown(self, ask: Ask, said: Said) -> Bools | None:
        """Which worlds agree with what is shown; None where nothing is."""
        if not said.row or all(each is None for each in said.row):
            return None
        statistic = shown_as(ask, self.crowds, ask.times or self.ranging.weights)
        if statistic is None:
            return None
        low, high = said.row[-2:] if len(said.row) > 1 else (said.row[0], said.row[0])
        kept = np.ones(statistic.shape, dtype=np.bool_)
        if low is not None:
            kept &= statistic >= low - NEAR * max(1, abs(low))
        if high is not None:
            kept &= statistic <= high + NEAR * max(1, abs(high))
        return np.broadcast_to(kept, self.crowds.left.shape)

    def _measure(self) -> None:
        """How risky the exact posterior is."""
        alone, members, inside = -1.0, -1.0, -1.0
        facts = set(self._sets())
        averages = dict[tuple[int | None, int | None], list[Likely]]()
        for each in self.crowds.likely():
            averages.setdefault((each.insider, each.known), []).append(each)
        for (insider, _), some in averages.items():
            if insider is not None and not self.ranging.insiders:
                continue
            rows = {each.place: np.array(each.chances) for each in some}
            for each in some:
                base = risk_base(rows, each.place, facts, self.ranging.sizes)
                found = risk(each.chances, base)
                if insider is None:
                    alone, members = max(alone, risk(each.chances)), max(members, found)
                else:
                    inside = max(inside, found)
        self.likely.append((alone, members, inside))

    def _sets(self) -> Iterator[tuple[int, ...]]:
        for ask in self.ranging.asks:
            yield ask.places

    def _elsewhere(self, heard: Sequence[Said], before: Sequence[Bools], turn: int) -> Iterator[Finding]:
        """Other tables: one that agrees with everything told, or one with what was told before some step."""
        step = len(heard) if turn % 2 == 0 else int(self.rng.integers(len(heard)))
        left = self.crowds.left if step == len(heard) else before[step]
        other = replace(self.ranging, truth=tuple(self.crowds.one(self.rng, left)))
        self.transcripts += 1
        for number, (here, there) in enumerate(zip(heard, conversation(other), strict=True)):
            last = number == step
            if not last and here.same == there.same and not (here.surprises or there.surprises):
                continue
            detail = f"{here.code} {here.row} here, {there.code} {there.row} if the table were {other.truth}"
            if here.surprises or there.surprises:
                return
            if not last or ({here.code, there.code} - {"answered", "ends"} and here.code != there.code):
                yield Finding("refusal", detail, number)
            elif not apart(here.row, there.row):
                yield Finding("partition", detail, number)
            return


def fact_of(answer: KnownAnswer, sizes: Sequence[int]) -> Fact:
    """An answer of the ledger as a fact: records are numbered as rows are, class by class."""
    starts = np.cumsum([0, *sizes])
    weights = []
    given = answer.detail.split() if answer.asked == "weighted" else []
    each = dict(zip(answer.records.tolist(), map(int, given), strict=True)) if given else {}
    for start, end in pairwise(starts):
        inside = (answer.records >= start) & (answer.records < end)
        assert inside.sum() in (0, end - start), "classes are not cut"
        own = {each.get(record, 1) for record in answer.records[inside].tolist()}
        assert len(own) < 2
        weights.append(own.pop() if own else 0)
    assert answer.signs is None or (answer.signs == 1).all()
    values, ranks = tuple[int, ...](), (0, 0, Fraction(0))
    if answer.asked == "count":
        regions = [tuple(map(int, part.split(".."))) for part in answer.detail.split()]
        values = tuple(v for low, high in regions for v in range(low, high + 1))
    elif answer.asked == "quantile":
        first, second, part = answer.detail.split()
        ranks = int(first), int(second), Fraction(part)
    return Fact(answer.asked, tuple(weights), answer.ends.least, answer.ends.most, values, ranks)


def holds(row: Sequence[float | None], true: float | None) -> bool:
    """Whether what is shown is true."""
    if not row or true is None:
        return True
    low, high = row[-2:] if len(row) > 1 else (row[0], row[0])
    slack = NEAR * max(1.0, abs(true))
    return (low is None or low <= true + slack) and (high is None or true - slack <= high)


def apart(one: Sequence[float | None], other: Sequence[float | None]) -> bool:
    """Whether two ranges are the same, or have no more than an end in common."""
    if one == other or not one or not other:
        return True
    low, high = zip(*((row[-2:] if len(row) > 1 else (row[0], row[0])) for row in (one, other)), strict=True)
    lows = [-np.inf if each is None else each for each in low]
    highs = [np.inf if each is None else each for each in high]
    return bool(highs[0] <= lows[1] + NEAR or highs[1] <= lows[0] + NEAR)


def risk_base(
    rows: dict[int, np.ndarray], place: int, sets: set[tuple[int, ...]], sizes: Sequence[int]
) -> float:
    """The least area of the average of all members of a set that somebody of a class is in."""
    from .crowds import area_of

    found = area_of(tuple([1 / len(rows[place])] * len(rows[place])))
    for some in sets:
        if place in some:
            people = [each for each in some if each in rows]
            mean = sum(sizes[each] * rows[each] for each in people) / sum(sizes[each] for each in people)
            found = min(found, area_of(tuple(mean.tolist())))
    return found


def shown_as(ask: Ask, crowds: Crowds, weights: Sequence[int]) -> np.ndarray | None:
    """By world, the SQL value of what is asked; None where it is not worked out here."""
    inside = [int(place in ask.places) for place in range(len(crowds.sizes))]
    size = crowds.count(inside)
    name, number = ask.aggregate.partition("(")[0], ask.aggregate.rpartition(" ")[2].rstrip(")")
    if name in ("SUM", "AVG"):
        by = [w * each for w, each in zip(weights, inside, strict=True)] if "* w" in ask.aggregate else inside
        if not any(by):
            return None
        return crowds.sums(by) / (size if name == "AVG" else 1)
    if name in ("MIN", "MAX"):
        return crowds.ranked(inside, 0 if name == "MIN" else size - 1) * 1.0
    if name == "COUNT_IF":
        chosen = [v for v in range(len(crowds.values)) if crowds.values[v] == int(number)
                  or (">=" in ask.aggregate and crowds.values[v] > int(number))]  # fmt: skip
        fact = [int(v in chosen) for v in range(len(crowds.values))]
        return crowds._total(inside, fact) * 1.0
    if name == "QUANTILE_DISC":
        return crowds.ranked(inside, max(int(np.ceil(float(number) * size)) - 1, 0)) * 1.0
    if name in ("MEDIAN", "QUANTILE_CONT"):
        place = Fraction(number if name == "QUANTILE_CONT" else "1/2") * (size - 1)
        first = int(place)
        low = crowds.ranked(inside, first)
        high = crowds.ranked(inside, min(first + (place > first), size - 1))
        return low + float(place - first) * (high - low)
    if name in ("STDDEV_POP", "STDDEV", "VAR_SAMP", "VAR_POP"):
        if size < 2:
            return None
        found = crowds.spreads(inside) / (size * (size if "POP" in name else size - 1))
        return np.sqrt(found) if name.startswith("STD") else found
    by = [w * each for w, each in zip(weights, inside, strict=True)]
    people = np.array(crowds.sizes) * inside
    total, squares = int(people @ weights), int(people @ np.square(weights))
    both = np.zeros(1) if not any(by) else size * crowds.sums(by)
    covariance = both - total * crowds.sums(inside)
    spread = size * squares - total**2
    if name == "COVAR_POP":
        return covariance / size**2
    if not spread:
        return None
    if name == "REGR_SLOPE":
        return covariance / spread
    return None  # CORR: of two ranges
