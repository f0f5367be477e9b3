"""What benchmarks read of a gate's inside, all in one file, because it may change.

Where the time of a statement goes is measured from outside, by wrapping what the gate calls. What a decision
thinks possible, and the worlds that it has, are asked of the answered system itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

import auditor.gate.reading as reading
import auditor.parties.party as knowing
from auditor import Gate
from auditor.gate.request import Ask
from auditor.ledger import KnownAnswer
from cae_sql.inference.facts.query import Query
from cae_sql.inference.system import AnsweredSystem

PHASES = ("sql", "ledger", "known", "decide", "accept", "figures")


class Phases:
    """Seconds of the last statement by what they were spent on.

    `sql` is parsing, DuckDB finding the records, and running the rest of the statement; `ledger` putting it
    on record. The rest is inference: `known` asks what past answers settle, which prepares what a decision
    needs; `decide` is `auditor.deciding.decide.decide`; `accept` takes in a new answer; `figures` are those
    that administrators see.
    """

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(PHASES, 0.0)

    def begin(self) -> None:
        """Forget the statement before."""
        self.seconds = dict.fromkeys(PHASES, 0.0)

    @contextmanager
    def of(self, gate: Gate) -> Iterator[None]:
        """Count inside this block."""
        wrapped: list[tuple[object, str, str]] = [
            (reading, "understand", "sql"),
            (gate._database, "ask", "sql"),
            (gate._database, "finish", "sql"),
            (gate._ledger, "append", "ledger"),
            (gate, "_known", "known"),
            (knowing.Party, "accept", "accept"),
            (knowing.Party, "risk", "figures"),
        ]
        if not hasattr(knowing, "decide"):
            raise AssertionError("nobody calls auditor.deciding.decide.decide by its name any more")
        wrapped.append((knowing, "decide", "decide"))
        before = [(where, name, getattr(where, name)) for where, name, _ in wrapped]
        try:
            for (where, name, phase), (_, _, function) in zip(wrapped, before, strict=True):
                setattr(where, name, self._counted(function, phase))
            yield
        finally:
            for where, name, function in before:
                setattr(where, name, function)

    def _counted(self, function: Callable[..., object], phase: str) -> Callable[..., object]:
        def counted(*arguments: object, **named: object) -> object:
            start = time.perf_counter()
            try:
                return function(*arguments, **named)
            finally:
                self.seconds[phase] += time.perf_counter() - start

        return counted


@dataclass(frozen=True)
class Offer:
    """What a decision on a statement thinks possible, before the true answers are looked at."""

    answers: tuple[KnownAnswer, ...]
    """What is asked, with the true answers, as the ledger would keep them."""
    hypothetical: tuple[tuple[Fraction, ...], ...]
    """By world, one answer for each of them, in column units."""
    truth: tuple[Fraction, ...]
    derivable: bool
    """Whether past answers settle it: nothing is decided then."""


def system(gate: Gate, user: str = "analyst") -> AnsweredSystem:
    """What is known about the first protected column."""
    return gate._knowledge.of(user).columns[0].system


def offer(gate: Gate, sql: str, count: int, user: str = "analyst") -> Offer | None:
    """What the gate would think about a statement now; None where it reads no protected value.

    Raises:
        AuditorError: the statement is not understood.
    """
    ask = gate._understood(Ask(sql, None, user))
    assert ask.plan is not None
    asked = [] if ask.plan.public else gate._asked(ask)
    if not asked:
        return None
    person = gate._knowledge.of(user)
    column, queries = person.columns[0], person.reads(asked)[0]
    case = column.case(queries)
    question = case.question()
    truth = [int(value) for value in case.truth(queries)]

    def in_column_units(values: Sequence[int]) -> tuple[Fraction, ...]:
        return tuple(
            column.system.column_value(query, int(value))
            for query, value in zip(queries, values, strict=True)
        )

    answers = tuple(
        KnownAnswer(
            *(query.kind, query.members),
            None if query.coefficients is None else query.coefficients.astype(np.int8),
            *(value, *column.column.name),
        )
        for query, value in zip(queries, in_column_units(truth), strict=True)
    )
    return Offer(
        answers,
        tuple(in_column_units(values) for values in thought_possible(question, queries, count)),
        in_column_units(truth),
        question.derivable,
    )


def thought_possible(question: object, queries: Sequence[Query], count: int) -> list[tuple[int, ...]]:
    """The hypothetical answers in units, one set for each world."""
    found: list[tuple[int, ...]] = []
    for values, worlds in question.hypothetical(count).items():  # type: ignore[attr-defined]
        if len(values) != len(queries):
            raise AssertionError("a trial offers one answer for each query")
        found += [tuple(map(int, values))] * max(1, len(worlds))
    return found


def worlds(gate: Gate) -> NDArray[np.integer]:
    """The tables that the gate keeps, in units of the grid above the minimum: (worlds, records)."""
    return system(gate).pool().values
