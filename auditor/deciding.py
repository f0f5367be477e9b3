"""Answer or refuse: the two ways to decide, on queries in the system's terms.

Simulatable (the default): hypothetical answers are drawn from worlds, each is judged as if it were the
answer, and more than δN failures refuse. All of that comes from past answers and the query, so a refusal
tells nothing. Only then is the true answer looked at; should it break the limit all the same, the query is
refused as a *leak event*, counted and reported. Answer-dependent: the true answer alone decides, and refusals
speak.

Source: `mathematics.md`, 4.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from cae_sql.errors import InconsistentAnswers, OutOfTime
from cae_sql.inference.answers import Query
from cae_sql.inference.runs import Effort
from cae_sql.inference.system import AnsweredSystem
from cae_sql.inference.trial import Judgement, Standard, Trial, judge
from cae_sql.inference.worlds import Pool

TRUE_ANSWER_FACTOR = 2.0
"""The true answer is judged with this many times the time that was allowed for hypothetical ones: its
timing must not decide where theirs was enough."""


@dataclass(frozen=True)
class Rules:
    """What a decision needs of the policy."""

    standard: Standard
    """What every record must keep."""
    simulatable: bool
    """Whether hypothetical answers decide."""
    worlds: int
    """How many hypothetical answers are judged."""
    delta: float
    """Fraction of them that may fail."""
    seconds: float
    """Time for a decision."""

    def deadline(self) -> float:
        """`time.monotonic()` at which a decision that starts now must end."""
        return time.monotonic() + self.seconds


@dataclass(frozen=True)
class Outcome:
    """A decision, and what it needs to be carried out."""

    verdict: Literal["known", "safe", "risk", "time"]
    """"known": past answers settle it; "safe": may be answered; the others refuse."""
    values: tuple[int, ...] = ()
    """The answers in units; empty where refused."""
    pool: Pool | None = None
    """Worlds that agree with the answers too."""
    judgement: Judgement | None = None
    """How everybody fares with the answers known, where that may be told."""
    leak: bool = False
    """The true answer broke the limit after the hypothetical ones had passed."""


TrueValues = Callable[[Sequence[Query]], Sequence[int]]
"""Computes true answers in units; called only when the decision may look at them."""


def decide(
    system: AnsweredSystem, queries: Sequence[Query], rules: Rules, truth: TrueValues, effort: Effort
) -> Outcome:
    """Decide on queries that would be answered together.

    Args:
        system: Everything answered so far.
        queries: In the order of the answers.
        rules: The policy.
        truth: The true answers.
        effort: Integer programs that hypothetical answers may still use. What the true answer uses is not
            taken from it: later verdicts would depend on it.
    """
    deadline = rules.deadline()
    trial = system.trial(queries)
    if trial.derivable:
        return Outcome("known", tuple(value for value in trial.settled if value is not None))
    judged: dict[tuple[int, ...], Judgement] = {}
    if rules.simulatable:
        refusal = simulate(trial, rules, deadline, effort, judged)
        if refusal is not None:
            return refusal
        deadline = time.monotonic() + TRUE_ANSWER_FACTOR * rules.seconds
    values = tuple(truth(queries))
    try:
        pool = trial.learn(values, deadline)
    except (OutOfTime, InconsistentAnswers):
        # the answer is true, so a table agrees with it: the search was not good enough
        return Outcome("risk", leak=rules.simulatable)
    judgement = judged.get(values)
    if judgement is None:
        judgement = judge(pool.knowledge, pool.totals(), rules.standard, deadline)
    if not judgement.safe:
        # in simulatable mode no figure that the true answer had a part in may leave with the refusal
        shown = None if rules.simulatable else judgement
        return Outcome("risk", judgement=shown, leak=rules.simulatable)
    return Outcome("safe", values, pool, judgement)


def simulate(
    trial: Trial,
    rules: Rules,
    deadline: float,
    effort: Effort,
    judged: dict[tuple[int, ...], Judgement] | None = None,
) -> Outcome | None:
    """The part of a decision that knows nothing of the true answer: a refusal, or None.

    Args:
        trial: The queries.
        rules: The policy.
        deadline: `time.monotonic()` after which the query is refused.
        effort: Integer programs allowed.
        judged: Filled with the judgements made.
    """
    effort.regain()
    hypothetical = trial.hypothetical(rules.worlds)
    drawn = sum(len(worlds) for worlds in hypothetical.values())
    allowed = int(rules.delta * drawn + 1e-9)
    broken = 0
    judged = {} if judged is None else judged
    for values, worlds in hypothetical.items():
        judgement = judged[values] = trial.judge(values, worlds, rules.standard, deadline, effort)
        late = time.monotonic() > deadline
        broken += 0 if judgement.safe else len(worlds)
        if late or broken > allowed:
            return Outcome("time" if late else "risk", judgement=judgement)
    return None
