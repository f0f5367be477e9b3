"""Random small tables and what is asked of them, below the gate; and smaller ones that show the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import ceil

import numpy as np
from numpy.typing import NDArray

from .oracle import Bound, Question, area

KINDS = ("sum", "max", "min")
MODES = ("simulatable", "answer-dependent")
VALUES = ("uniform", "skewed")
MOST_TABLES = 50_000
"""Systems of more possible tables are drawn, but seldom."""

ALLOWANCE = 400
"""More integer programs than small systems need."""

Statement = tuple[Question, ...]
"""What is asked together."""


@dataclass(frozen=True)
class Settings:
    """What scenarios are drawn from."""

    insiders: int = 0
    mode: str = "simulatable"
    values: str = "uniform"
    kinds: tuple[str, ...] = KINDS
    largest: int = 7
    """Most records."""
    most: int = MOST_TABLES
    """Possible tables that a system seldom has more of."""
    baseline: str = "members"
    """Against what likelihood is judged."""
    ranges: bool = False
    """Whether ranges are asked of single sums."""


@dataclass(frozen=True)
class Rules:
    """What of a policy matters here."""

    insiders: int = 0
    mode: str = "simulatable"
    delta: float = 0.05
    worlds: int = 20
    ratio: int = 1
    """Steps of the data's grid in one at which risk is judged."""
    risk: float | None = 0.5
    epsilon: int | None = None
    """In steps at which risk is judged."""
    min_entropy: float | None = None
    baseline: str = "members"
    ranges: bool = False
    """Whether a range may be told of a single sum."""

    def bound(self, top: int) -> Bound:
        """What everybody must keep, as the oracle reads it."""
        return Bound(top, self.ratio, self.risk, self.epsilon, self.min_entropy)

    def policy(self, top: int, more: str = "") -> str:
        """The same as TOML: column v of table t, on the whole numbers."""
        limit = {"risk": self.risk, "min_entropy": self.min_entropy}
        limit["epsilon"] = None if self.epsilon is None else self.epsilon * self.ratio
        lines = [f"{key} = {value}" for key, value in limit.items() if value is not None]
        return "\n".join([
            "[protect]", 'table = "t"', 'column = "v"', "minimum = 0", f"maximum = {top}",
            f"step = {self.ratio}", "resolution = 1", 'public = "all"',
            "[limit]", *lines, "[intruder]", f"insiders = {self.insiders}", f'baseline = "{self.baseline}"',
            "[decision]", f'mode = "{self.mode}"', f"delta = {self.delta}", f"worlds = {self.worlds}",
            "timeout = 100", more,
        ])  # fmt: skip


@dataclass(frozen=True)
class Scenario:
    """A table, the rules, what is published whatever becomes of anybody, and what is asked after that."""

    truth: tuple[int, ...]
    top: int
    rules: Rules
    published: tuple[Question, ...] = ()
    statements: tuple[Statement, ...] = ()
    allowance: int = ALLOWANCE
    """Most integer programs that hypothetical answers may use, at each decision."""

    @property
    def size(self) -> int:
        return len(self.truth)


def scenario_at_random(settings: Settings, seed: int, number: int) -> Scenario:
    """The same one for the same seed and number."""
    rng = np.random.default_rng([seed, number])
    size, top = shape_at_random(rng, settings)
    rules = rules_at_random(rng, settings, top)
    truth = table_at_random(rng, size, top, settings.values)
    asker = Asker(rng, size, settings.kinds)
    count = int(rng.integers(1, 5)) if rng.random() < 0.3 else 0
    published = tuple(asker.question() for _ in range(count))
    statements = tuple(asker.statement() for _ in range(int(rng.integers(1, 9))))
    allowance = int(rng.integers(12)) if rng.random() < 0.2 else ALLOWANCE
    return Scenario(truth, top, rules, published, statements, allowance)


def shape_at_random(rng: np.random.Generator, settings: Settings) -> tuple[int, int]:
    """How many records, and the greatest value."""
    for _ in range(20):
        size, top = int(rng.integers(2, settings.largest + 1)), int(rng.integers(1, 6))
        if (top + 1) ** size <= settings.most or rng.random() < 0.05:
            break
    return (size, top) if (top + 1) ** size <= max(settings.most, 6**7) else (2, 5)


def rules_at_random(rng: np.random.Generator, settings: Settings, top: int) -> Rules:
    """Limits of every kind that something could keep."""
    while True:
        ratio = 2 if top >= 3 and rng.random() < 0.15 else 1
        epsilon, bits = None, None
        risk: float | None = float(rng.choice([0.3, 0.5, 0.5, 0.7, 0.9]))
        if rng.random() < 0.6:  # a run of two or three will do: much is answered
            run = range(min(int(rng.integers(2, 4)), top // ratio + 1))
            risk = ceil(1e4 * (1 - area(run) / area(range(top // ratio + 1)))) / 1e4
        if rng.random() < 0.2 and top // ratio > 1:
            epsilon = int(rng.integers(0, max(top // ratio - 1, 1)))
            bits = float(rng.choice([0.5, 0.9])) if rng.random() < 0.5 else None
            # alone it is a limit with bits only
            risk = None if bits is not None and rng.random() < 0.5 else risk
        rules = Rules(
            settings.insiders,
            settings.mode,
            float(rng.choice([0.0, 0.05, 0.3])),
            20,
            ratio,
            risk,
            epsilon,
            bits,
            settings.baseline,
            settings.ranges,
        )
        if rules.bound(top).possible:
            return rules


def table_at_random(rng: np.random.Generator, size: int, top: int, values: str) -> tuple[int, ...]:
    """Uniform, or most of them small."""
    if values == "uniform":
        drawn = rng.integers(0, top + 1, size)
    else:
        drawn = np.minimum(np.floor(rng.lognormal(0.0, 1.0, size) * (top + 1) / 6), top)
    return tuple(int(x) for x in drawn)


class Asker:
    """Draws questions about the same records."""

    def __init__(self, rng: np.random.Generator, size: int, kinds: tuple[str, ...]) -> None:
        """Draw nothing yet."""
        self.rng, self.size, self.kinds = rng, size, kinds
        self.classes = rng.integers(0, int(rng.integers(2, 5)), size)
        """Records that some questions do not tell apart."""
        self.drawn: list[Question] = []

    def statement(self) -> Statement:
        """One aggregate, several of one set, or one of each group."""
        first, form = self.question(), self.rng.random()
        if form < 0.7:
            return (first,)
        if form < 0.85:
            signs = tuple(abs(sign) for sign in first.signs)
            more = [Question(str(kind), signs) for kind in self.rng.choice(self.kinds, 2)]
            return tuple(dict.fromkeys([first, *more]))
        group = self.rng.integers(0, int(self.rng.integers(2, 4)), self.size)
        group = self.classes if self.rng.random() < 0.5 else group
        among = np.array(first.signs) != 0
        found = [tuple(int(x) for x in (group == g) & among) for g in np.unique(group)]
        return tuple(Question(first.kind, signs) for signs in found if any(signs))

    def question(self) -> Question:
        """About random records or classes of them, or those of an earlier one and a few more or fewer."""
        rng, size = self.rng, self.size
        kind, form = str(rng.choice(self.kinds)), rng.random()
        signs: NDArray[np.int64] = (rng.random(size) < rng.choice([0.4, 0.7, 0.9])).astype(np.int64)
        if self.drawn and form < 0.35:
            signs = np.abs(np.array(self.drawn[int(rng.integers(len(self.drawn)))].signs))
            changed = rng.permutation(size)[: int(rng.integers(1, 3))]
            signs[changed] = 1 - signs[changed]
        elif form < 0.6:
            signs = (rng.random(4) < 0.6).astype(np.int64)[self.classes]
        elif kind == "sum" and form > 0.9:
            signs = signs * rng.choice([1, -1], size)
        if not signs.any():
            signs[int(rng.integers(size))] = 1
        if (signs <= 0).all():
            signs = -signs  # a sum of negated values is that of the values
        question = Question(kind, tuple(int(sign) for sign in signs))
        self.drawn.append(question)
        return question


def smaller(scenario: Scenario) -> Iterator[Scenario]:
    """Scenarios with something left out."""
    for place in range(len(scenario.statements)):
        rest = scenario.statements[:place] + scenario.statements[place + 1 :]
        yield replace(scenario, statements=rest)
    for place in range(len(scenario.published)):
        yield replace(scenario, published=scenario.published[:place] + scenario.published[place + 1 :])
    for place, statement in enumerate(scenario.statements):
        for asked in range(len(statement) if len(statement) > 1 else 0):
            less = statement[:asked] + statement[asked + 1 :]
            both = (*scenario.statements[:place], less, *scenario.statements[place + 1 :])
            yield replace(scenario, statements=both)
    for record in range(scenario.size if scenario.size > 2 else 0):
        yield _without(scenario, record)


def _without(scenario: Scenario, record: int) -> Scenario:
    def cut(question: Question) -> Question | None:
        signs = question.signs[:record] + question.signs[record + 1 :]
        return Question(question.kind, signs) if any(signs) else None

    statements = [tuple(q for q in map(cut, statement) if q) for statement in scenario.statements]
    return replace(
        scenario,
        truth=scenario.truth[:record] + scenario.truth[record + 1 :],
        published=tuple(q for q in map(cut, scenario.published) if q),
        statements=tuple(statement for statement in statements if statement),
    )


def minimised(scenario: Scenario, shows: Callable[[Scenario], bool], tries: int = 300) -> Scenario:
    """The smallest scenario found that still shows it."""
    found = True
    while found and tries > 0:
        found = False
        for less in smaller(scenario):
            tries -= 1
            if shows(less):
                scenario, found = less, True
                break
            if tries <= 0:
                break
    return scenario
