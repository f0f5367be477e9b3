"""Answer or refuse: the two ways to decide, on queries in the system's terms.

Simulatable (the default): hypothetical answers are drawn from worlds, each is judged as if it were the
answer, and more than δN failures refuse. All of that comes from past answers and the query, so a refusal
tells nothing. Only then is the true answer looked at; should it break the limit all the same, the query is
refused as a *leak event*, counted and reported. Answer-dependent: the true answer alone decides, and refusals
speak.

Protected columns are independent systems. Of a statement that reads several, all hypothetical answers about
all of them are judged before one true answer is looked at, and one column that is not safe refuses it whole.

Source: `mathematics.md`, 4.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from cae_sql.errors import InconsistentAnswers, OutOfTime
from cae_sql.inference.answers import Query
from cae_sql.inference.judging import Judgement, Standard
from cae_sql.inference.runs import Effort
from cae_sql.inference.system import AnsweredSystem
from cae_sql.inference.trial import Learned, Trial

TRUE_ANSWER_FACTOR = 2.0
"""The true answer is judged with this many times the time that was allowed for hypothetical ones: its
timing must not decide where theirs was enough."""


@dataclass(frozen=True)
class Rules:
    """What a decision needs of the policy, whatever the column."""

    simulatable: bool
    """Whether hypothetical answers decide."""
    worlds: int
    """How many hypothetical answers are judged."""
    delta: float
    """Fraction of them that may fail."""
    seconds: float
    """Time for a decision."""


class Budget:
    """Time for the decisions on one statement. A context manager: what happens inside is counted.

    Only what is worked out from past answers and the statement is. The time that true answers take is apart,
    since a verdict that hangs on it would say something of them; it only keeps further ones from being begun.
    """

    def __init__(self, seconds: float) -> None:
        """Nothing is used up yet."""
        self._left = seconds
        self._for_true_answers = TRUE_ANSWER_FACTOR * seconds
        self._began = 0.0

    def __enter__(self) -> float:
        """`time.monotonic()` at which what begins now must end."""
        self._began = time.monotonic()
        return self._began + self._left

    def __exit__(self, *_: object) -> None:
        self._left -= time.monotonic() - self._began

    @contextmanager
    def true_answers(self) -> Iterator[None]:
        """Count the time apart."""
        began = time.monotonic()
        yield
        self._for_true_answers -= time.monotonic() - began

    @property
    def over(self) -> bool:
        """Whether no further decision may begin."""
        return self._left <= 0 or self._for_true_answers <= 0


TrueValues = Callable[[Sequence[Query]], Sequence[int]]
"""Computes true answers in units; called only when the decision may look at them."""


@dataclass(frozen=True)
class Case:
    """What a statement asks about one protected column."""

    system: AnsweredSystem
    """Everything answered so far about it."""
    queries: Sequence[Query]
    """In the order of the answers."""
    standard: Standard
    """What every record must keep."""
    truth: TrueValues
    """The true answers."""
    effort: Effort
    """Integer programs that hypothetical answers may still use. What the true answer uses is not taken from
    it: later verdicts would depend on it."""

    def trial(self) -> Trial:
        """What if they were answered? Prepared once."""
        return self.system.trial(self.queries)


@dataclass(frozen=True)
class Part:
    """What a decision says about one protected column."""

    values: tuple[int, ...] = ()
    """The answers in units; empty where the statement is refused."""
    learned: Learned | None = None
    """What the system becomes with the answers; None where past answers settle them."""
    judgement: Judgement | None = None
    """How everybody fares with the answers known, where that may be told."""
    leak: bool = False
    """The true answer broke the limit after the hypothetical ones had passed."""


@dataclass(frozen=True)
class Outcome:
    """A decision, and what it needs to be carried out."""

    verdict: Literal["known", "safe", "risk", "time"]
    """"known": past answers settle it; "safe": may be answered; the others refuse."""
    parts: tuple[Part, ...]
    """By case."""

    @property
    def leak(self) -> bool:
        """Whether true answers broke the limit after the hypothetical ones had passed."""
        return any(part.leak for part in self.parts)


def decide(cases: Sequence[Case], rules: Rules, budget: Budget | None = None) -> Outcome:
    """Decide on queries that would be answered together.

    Args:
        cases: What is asked, by protected column.
        rules: The policy.
        budget: Time that is left for the statement; by default all that the policy allows.
    """
    budget = Budget(rules.seconds) if budget is None else budget
    judged: list[_Judged] = [{} for _ in cases]
    with budget as until:
        trials = [case.trial() for case in cases]
        if all(trial.derivable for trial in trials):
            return Outcome("known", tuple(_settled(trial) for trial in trials))
        refusal = simulate(cases, rules, until, judged) if rules.simulatable else None
        if refusal is not None:
            return refusal
    if rules.simulatable:
        until = time.monotonic() + TRUE_ANSWER_FACTOR * rules.seconds
    with budget.true_answers():
        parts = [
            _settled(trial) if trial.derivable else _true_part(case, rules, until, known)
            for case, trial, known in zip(cases, trials, judged, strict=True)
        ]
    if all(part.values for part in parts):
        return Outcome("safe", tuple(parts))
    # nothing is said of the columns whose answers would have been safe
    return Outcome("risk", tuple(Part() if part.values else part for part in parts))


_Judged = dict[tuple[int, ...], Judgement]


def _settled(trial: Trial) -> Part:
    return Part(tuple(value for value in trial.settled if value is not None))


def _true_part(case: Case, rules: Rules, deadline: float, judged: _Judged) -> Part:
    """The true answers, if everybody keeps the standard with them known."""
    trial, values = case.trial(), tuple(case.truth(case.queries))
    judgement = judged.get(values)
    if judgement is None:
        judgement = trial.judge_true(values, case.standard, deadline, renew=not rules.simulatable)
    try:
        if judgement is None or judgement.safe:
            learned = trial.learn(values, deadline)
    except (OutOfTime, InconsistentAnswers):
        # the answer is true, so a table agrees with it: the search was not good enough
        return Part(leak=rules.simulatable)
    if judgement is None:
        judgement = learned.judge(case.standard, deadline)
    if not judgement.safe:
        # in simulatable mode no figure that the true answer had a part in may leave with the refusal
        return Part(judgement=None if rules.simulatable else judgement, leak=rules.simulatable)
    return Part(values, learned, judgement)


def simulate(
    cases: Sequence[Case], rules: Rules, deadline: float, judged: Sequence[_Judged] | None = None
) -> Outcome | None:
    """The part of a decision that knows nothing of the true answers: a refusal, or None.

    Args:
        cases: What is asked, by protected column.
        rules: The policy.
        deadline: `time.monotonic()` after which the queries are refused.
        judged: Filled with the judgements made, by case.
    """
    broken = set[int]()
    for place, case in enumerate(cases):
        trial = case.trial()
        if trial.derivable:
            continue
        case.effort.regain()
        hypothetical = trial.hypothetical(rules.worlds)
        drawn = sum(len(worlds) for worlds in hypothetical.values())
        allowed = int(rules.delta * drawn + 1e-9)
        known: _Judged = {} if judged is None else judged[place]
        known.update(trial.judge_together(list(hypothetical), case.standard, deadline))
        for values, worlds in hypothetical.items():
            judgement = known.get(values)
            if judgement is None:
                judgement = known[values] = trial.judge(values, worlds, case.standard, deadline, case.effort)
            # the n-th world of each column together are one hypothetical table
            broken |= set() if judgement.safe else set(worlds)
            if time.monotonic() > deadline:
                # how far a search had come when time was over is no figure of the risk
                return Outcome("time", tuple(Part() for _ in cases))
            if len(broken) > allowed:
                parts = [Part(judgement=judgement) if each is case else Part() for each in cases]
                return Outcome("risk", tuple(parts))
    return None
