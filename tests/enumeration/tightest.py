"""The tightest ranges of deviations and weighted sums that a system calls safe, held against all tables.

A gate's cells are so wide that margins seldom matter in tables small enough to be counted. Here the system is
asked itself: by halves, the narrowest range of which it says that everybody keeps the standard; then answers
to exact sums and extremes around the true one, each of which it calls safe or not. `crowds` counts all tables
that agree. Members are left as far around where they are as the domain goes: with few values nobody could pay
otherwise.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

import numpy as np

from cae_sql.errors import CaeSqlError
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.bounds import Bound
from cae_sql.inference.facts.query import Ints, Query
from cae_sql.inference.standard import Standard
from cae_sql.inference.system import AnsweredSystem

from .crowds import Crowds, Fact

SHAPES = (
    # values, sizes of large classes, most single persons
    (3, ((60, 150),), 2),
    (3, ((30, 50), (20, 40)), 0),
    (3, ((20, 30), (16, 24)), 1),
    (4, ((30, 60),), 1),
    (5, ((20, 34),), 0),
    (5, ((14, 22),), 1),
    (2, ((40, 90), (40, 90)), 2),
    (3, ((12, 18), (12, 18), (6, 10)), 0),
    (7, ((9, 14),), 0),
)
WORK = 10**9


def longest_run(values: set[int]) -> int:
    """Of values that follow each other."""
    return max((sum(1 for _ in _from(value, values)) for value in values), default=0)


def _from(value: int, values: set[int]) -> range:
    last = value
    while last in values:
        last += 1
    return range(value, last)


@dataclass
class Tight:
    """Classes of people, and what is known of them."""

    sizes: tuple[int, ...]
    count: int
    """Values, from 0 on."""
    truth: Ints
    standard: Standard
    answers: list[tuple[Query, int, tuple[int, ...]]] = field(default_factory=list)
    """With the classes' weights."""
    ranges: list[tuple[Bound, tuple[int, ...]]] = field(default_factory=list)

    @property
    def labels(self) -> Ints:
        """(n,) whose class is which."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def query(
        self, kind: Literal["sum", "min", "max", "weighted", "spread"], weights: tuple[int, ...]
    ) -> Query:
        """About those classes that have a weight."""
        each = np.array(weights)[self.labels]
        members = np.flatnonzero(each)
        return Query(kind=kind, members=members, coefficients=each[members] if kind == "weighted" else None)

    def system(self) -> AnsweredSystem:
        """With all that is known."""
        system = AnsweredSystem(len(self.truth), 0, self.count - 1, 1)
        for query, value, _ in self.answers:
            system.accept([query.answered(value)])
        for bound, _ in self.ranges:
            query = bound.query
            noise = Fraction(bound.width**2, 12)
            about = Query(kind="about", members=query.members, coefficients=query.coefficients, part=noise)
            system.accept_range([bound], about, self.standard.insiders + 1, None, self.standard)
        return system

    def safe(self) -> bool:
        """Whether the system says that everybody keeps the standard."""
        try:
            return self.system().judged(self.standard, Allowance(WORK)).safe
        except CaeSqlError:
            return False

    def finding(self) -> str | None:
        """Who does not keep it by all tables; that there is none is a finding, too."""
        crowds = Crowds(self.sizes, tuple(range(self.count)))
        for query, value, weights in self.answers:
            crowds.told(Fact(query.kind, weights, Fraction(value), Fraction(value)))
        for bound, weights in self.ranges:
            ends = [None if end is None else Fraction(end) for end in (bound.least, bound.most)]
            crowds.told(Fact(bound.query.kind, weights, *ends))
        if not crowds.left.any():
            return f"no table: {self}"
        for left in crowds.excluded():
            if left.insider is not None and not self.standard.insiders:
                break
            if longest_run(set(left.values)) <= self.standard.need:
                return f"{left}: {self}"
        return None

    def tell(
        self, kind: Literal["weighted", "spread"], weights: tuple[int, ...], part: float, ends: str
    ) -> bool:
        """The narrowest range that is safe; whether there is one.

        Args:
            kind: Of what.
            weights: By class.
            part: How much of it is below the true value.
            ends: "both", or the one that it has.
        """
        query = self.query(kind, weights)
        true = int(query.of(self.truth))
        widest = self.count * len(self.truth)
        widest *= self.count if kind == "spread" else max(map(abs, weights))

        def bound(width: int) -> Bound:
            low = true - int(part * width)
            return Bound(
                query, None if ends == "most" else low, None if ends == "least" else low + width, width + 1
            )

        def safe(width: int) -> bool:
            self.ranges.append((bound(width), weights))
            found = self.safe()
            self.ranges.pop()
            return found

        low, high = 0, widest
        if not safe(high):
            return False
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if safe(middle) else (middle, high)
        self.ranges.append((bound(high), weights))
        return True


def played(seed: int, number: int, seen: Counter[str]) -> str | None:
    """One system, some ranges, and exact answers after them; a finding, if there is one.

    Args:
        seed: Of chance.
        number: Which system.
        seen: What was told; added to.
    """
    rng = np.random.default_rng([seed, number, 5])
    count, crowds, most = SHAPES[int(rng.integers(len(SHAPES)))]
    sizes = tuple([int(rng.integers(*each)) for each in crowds] + [1] * int(rng.integers(most + 1)))
    shares = rng.dirichlet(2 * np.ones(count)) if rng.random() < 0.5 else np.ones(count) / count
    standard = Standard(int(rng.integers(1, count)), insiders=int(rng.integers(2)))
    tight = Tight(sizes, count, rng.choice(count, sum(sizes), p=shares).astype(np.int64), standard)

    def some(often: float) -> tuple[int, ...]:
        found = tuple(int(rng.random() < often) for _ in sizes)
        return found if any(found) else (1, *found[1:])

    def exact() -> tuple[Query, int, tuple[int, ...]]:
        kind: Literal["sum", "min", "max"] = "sum"
        if rng.random() < 0.3:
            kind = "min" if rng.random() < 0.5 else "max"
        weights = some(0.6)
        query = tight.query(kind, weights)
        return query, int(query.of(tight.truth)), weights

    tight.answers += [exact() for _ in range(int(rng.integers(0, 3)))]
    if not tight.safe():
        return None
    for _ in range(int(rng.integers(1, 3))):
        kind: Literal["weighted", "spread"] = "weighted" if rng.random() < 0.5 else "spread"
        weights = some(0.8)
        if kind == "weighted":
            near = [20, 21, 22, 23, 1] if rng.random() < 0.5 else [1, 1, 2, 3, -1]
            weights = tuple(int(rng.choice(near)) * each for each in weights)
        if len(tight.query(kind, weights).members) < 2:
            continue
        ends = str(rng.choice(["both", "both", "both", "least", "most"]))
        if not tight.tell(kind, weights, float(rng.uniform(0.2, 0.8)), ends):
            continue
        seen[f"{kind} {ends}"] += 1
        if (finding := tight.finding()) is not None:
            return finding
        for _ in range(3):
            query, true, about = exact()
            question = tight.system().question([query])
            if question.derivable:
                continue
            safe = False
            for value in (true, *(true + rng.integers(-12, 13, 4)).tolist()):
                if query.kind != "sum" and not 0 <= value < count:
                    continue
                judgement = question.judge_around_table((value,), standard, Allowance(WORK))
                if judgement is None or not judgement.safe:
                    continue
                seen[f"exact {query.kind}"] += 1
                safe = safe or value == true
                tight.answers.append((query, value, about))
                if (finding := tight.finding()) is not None:
                    return finding
                tight.answers.pop()
            if (
                query.kind == "sum"
                and (finding := together(tight, query, true, about, rng, seen)) is not None
            ):
                return finding
            if safe and rng.random() < 0.6:
                tight.answers.append((query, true, about))
    return None


def together(
    tight: Tight, query: Query, true: int, about: tuple[int, ...], rng: np.random.Generator,
    seen: Counter[str],
) -> str | None:  # fmt: skip
    """Answers around the true one that are called safe in one look, and others between them; a finding."""
    question = tight.system().question([query])
    least, most = (max(true - int(rng.integers(1, 7)), 0), true + int(rng.integers(1, 7)))
    answers = [(value,) for value in sorted({least, true, most})]
    found = question.judge_together(answers, tight.standard, Allowance(WORK))
    safe = sorted(value for (value,), judgement in found.items() if judgement.safe)
    if len(safe) < 2:
        return None
    for value in range(safe[0], safe[-1] + 1):
        judgement = question.judge_around_table((value,), tight.standard, Allowance(WORK))
        if judgement is None or not judgement.safe:
            continue
        seen["together"] += 1
        tight.answers.append((query, value, about))
        finding = tight.finding()
        tight.answers.pop()
        if finding is not None:
            return finding
    return None
