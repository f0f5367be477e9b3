"""Answer or refuse: the two ways to decide, on queries in the system's terms.

Simulatable (the default): hypothetical answers are drawn from worlds, each is judged as if it were the
answer. Of several values at once more than δN failures refuse; of one value see `one_value`. Else a partition
of all possible answers is fixed: which are told exactly, and which as an end ("at most", "at least"). All of
that comes from past answers and the query, so it tells nothing. Only then is the true answer looked at, and
what the partition says of it is told. Should that break the limit all the same, it is a *surprise*: a range
is told instead, or the query is refused; surprises are counted, and administrators see them.
Answer-dependent: the true answer alone decides, and refusals speak.

Where the policy asks for a candidate model, an answer must keep the limit twice: by what it excludes, and by
what the model makes of it. The second is tried for those alone that pass the first.

Protected columns are independent systems. Of a statement that reads several, all hypothetical answers about
all of them are judged before one true answer is looked at, and one column that is not safe refuses it whole.

Source: `mathematics.md`, 4 and 8.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from auditor.deciding.cases import NOTHING, Case, Drawn, Judged, Outcome, Part
from auditor.deciding.one_value import is_one_sum, margin_of, of_one_value, sides
from auditor.deciding.partition import Partition
from auditor.deciding.recorded import Recorded, recorded
from auditor.told import Told, exactly
from cae_sql.errors import InconsistentAnswers, OutOfTime
from cae_sql.inference.allowance import DECISION, Allowance
from cae_sql.inference.search.judging import Judgement
from cae_sql.threads import alone

if TYPE_CHECKING:
    pass

TRUE_ANSWER_FACTOR = 2.0
"""The true answer is judged with this many times what was allowed for hypothetical ones: its effort must not
decide where theirs was enough."""
LOOK = 0.5
"""Part of a decision's work that may be spent on one candidate for an end of what is told exactly."""


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
    """The last resort: time after which a decision is given up."""
    steps: float = DECISION
    """Work for a decision."""


class Budget:
    """What the decisions on one statement may spend. A context manager: what happens inside is counted.

    Only what is worked out from past answers and the statement is. What true answers take is apart, since a
    verdict that hangs on it would say something of them; it only keeps further ones from being begun.
    """

    def __init__(self, rules: Rules) -> None:
        """Nothing is used up yet."""
        self._steps = rules.steps
        self._left = _Timed(Allowance(rules.steps), rules.seconds)
        self._for_true_answers = _Timed(
            Allowance(TRUE_ANSWER_FACTOR * rules.steps), TRUE_ANSWER_FACTOR * rules.seconds
        )

    def __enter__(self) -> Allowance:
        """What may be spent on what begins now."""
        return self._left.begin()

    def __exit__(self, *_: object) -> None:
        self._left.end()

    @contextmanager
    def true_answers(self) -> Iterator[None]:
        """Count the time apart."""
        self._for_true_answers.begin()
        yield
        self._for_true_answers.end()

    @contextmanager
    def part(self, share: float) -> Iterator[Budget]:
        """A budget for one decision of several: so much of all the work, and no more than is left."""
        part, left = copy(self), self._left
        steps = min(share * self._steps, left.allowance.steps)
        part._left = _Timed(Allowance(steps), left.seconds)
        yield part
        left.allowance.spend(steps - part._left.allowance.steps)
        left.seconds = part._left.seconds

    @property
    def used_up(self) -> bool:
        """Whether there is no work left to be done."""
        return self._left.allowance.steps <= 0

    @property
    def over(self) -> bool:
        """Whether the last resort keeps further decisions from being begun."""
        return self._left.seconds <= 0 or self._for_true_answers.seconds <= 0


@dataclass
class _Timed:
    """An allowance whose last resort counts the time of some parts of a statement alone."""

    allowance: Allowance
    seconds: float

    def begin(self) -> Allowance:
        self.allowance.end_in(self.seconds)
        return self.allowance

    def end(self) -> None:
        self.seconds = self.allowance.seconds


def decide(cases: Sequence[Case], rules: Rules, budget: Budget | None = None) -> Outcome:
    """Decide on queries that would be answered together.

    Args:
        cases: What is asked, by protected column.
        rules: The policy.
        budget: What is left for the statement; by default all that the policy allows.
    """
    refusal = at_once(cases, rules)
    if refusal is not None:
        return refusal
    budget = Budget(rules) if budget is None else budget
    judged: list[Judged] = [{} for _ in cases]
    partitions: list[Partition | None] = [None for _ in cases]
    with alone(), budget as allowance:
        questions = [case.question() for case in cases]
        if all(question.derivable for question in questions):
            return Outcome("known", tuple(map(_settled, cases)))
        if rules.simulatable:
            refusal = simulate(cases, rules, allowance, judged)
            if refusal is not None:
                return refusal
            partitions = [_partition(case, known, rules) for case, known in zip(cases, judged, strict=True)]
            if None in partitions:
                return Outcome("risk", tuple(NOTHING for _ in cases))
    if rules.simulatable:
        allowance = Allowance(TRUE_ANSWER_FACTOR * rules.steps)
        allowance.end_in(TRUE_ANSWER_FACTOR * rules.seconds)
    with alone(), budget.true_answers():
        parts = [
            _settled(case) if case.question().derivable else _told(case, partition, allowance, known)
            for case, partition, known in zip(cases, partitions, judged, strict=True)
        ]
    if all(part.given for part in parts):
        return Outcome("safe", tuple(parts))
    models = [part.model for part in parts if not part.given and part.model is not None]
    verdict: Literal["risk", "uncounted"] = (
        "uncounted" if models and not all(each.counted for each in models) else "risk"
    )
    # nothing is said of the columns whose answers would have been safe
    return Outcome(verdict, tuple(NOTHING if part.given else part for part in parts))


def at_once(cases: Sequence[Case], rules: Rules) -> Outcome | None:
    """The refusal that `simulate` would come to, where it is seen without any table; else None.

    Args:
        cases: What is asked, by protected column; of several columns nothing is said.
        rules: The policy.
    """
    if not rules.simulatable or len(cases) != 1 or not cases[0].singled_out:
        return None
    return Outcome("risk", (Part(judgement=Judgement(False, 0, certain=True), given=False),))


def _settled(case: Case) -> Part:
    pairs = zip(case.queries, case.question().settled, strict=True)
    known = ((query, value) for query, value in pairs if value is not None)
    return Part(tuple(Recorded(query, value, exactly(value)) for query, value in known))


def _partition(case: Case, judged: Judged, rules: Rules) -> Partition | None:
    """What is told exactly, and what as an end; None where no hypothetical answer is known to be safe."""
    question, model, standard = case.question(), case.model_question(), case.standard

    def shown(values: tuple[int, ...]) -> bool:
        # of its own: how many candidates it takes hangs on the true answer
        allowance = Allowance(LOOK * rules.steps)
        allowance.end_in(rules.seconds)
        judgement = question.judge_true(values, standard, allowance)
        try:
            if judgement is None:
                judgement = question.learn(values, allowance).judge(standard, allowance)
        except (OutOfTime, InconsistentAnswers):
            return False
        return judgement.safe and (model is None or model.judge(values, allowance, keep=False).safe)

    def end_shown(told: Told[int]) -> bool:
        # of what is excluded an end leaves more than the exact answer; what it makes likely is another thing
        if model is None:
            return True
        found = recorded(case.system, case.queries[0], told)
        if found is None:
            return False
        likely = replace(case, queries=[found.query]).model_question()
        assert likely is not None
        allowance = Allowance(LOOK * rules.steps)
        allowance.end_in(rules.seconds)
        return likely.judge((found.value,), allowance, keep=False).safe

    settled = [value is not None for value in question.settled]
    kept = [values for values, judgement in judged.items() if judgement.safe]
    if not kept and not all(settled):
        return None
    broken = [values for values, judgement in judged.items() if not judgement.safe]
    step = 1 + standard.need // 4
    return Partition(
        *(case.queries, settled, int(case.system.grid.top), step, shown, end_shown, kept),
        margin=margin_of(case),
        broken=broken,
    )


def _told(case: Case, partition: Partition | None, allowance: Allowance, judged: Judged) -> Part:
    """What is told of the true answers, if everybody keeps the standard with that known."""
    values = tuple(case.truth(case.queries))
    if partition is None:  # the true answers alone decide
        return _recorded(case, [exactly(value) for value in values], allowance, judged, renew=True)
    part = _recorded(case, partition.told(values), allowance, judged)
    if part.given:
        return part
    around = partition.around(values[0])
    if around is not None:
        part = _recorded(case, [around], allowance, judged)
        if part.given:
            return replace(part, surprise=True)
    # no figure that the true answer had a part in may leave with the refusal
    return Part(surprise=True, given=False)


def _recorded(
    case: Case, told: Sequence[Told[int] | None], allowance: Allowance, judged: Judged, renew: bool = False
) -> Part:
    """What is told as the system is to know it, if everybody keeps the standard then."""
    found = list[Recorded]()
    for query, each in zip(case.queries, told, strict=True):
        after = [one.query for one in found if not one.told.exact]
        made = None if each is None else recorded(case.system, query, each, after)
        if made is None:
            return NOTHING
        found.append(made)
    case = replace(case, queries=[one.query for one in found])
    question, values, model = case.question(), tuple(one.value for one in found), case.model_question()
    judgement = judged.get(values) if all(one.told.exact for one in found) else None
    if judgement is None:
        judgement = question.judge_true(values, case.standard, allowance, renew=renew)
    safe, likely = judgement is None or judgement.safe, None
    if safe and model is not None:
        likely = model.judge(values, allowance, keep=renew)
        safe = likely.safe
    try:
        if safe:
            learned = question.learn(values, allowance)
    except (OutOfTime, InconsistentAnswers):
        return NOTHING  # it is true, so a table agrees with it: the search was not good enough
    if safe and judgement is None:
        judgement = learned.judge(case.standard, allowance)
        safe = judgement.safe
    if safe:
        return Part(tuple(found), learned, judgement, likely)
    return Part(judgement=judgement, model=likely, given=False)


@alone()
def simulate(
    cases: Sequence[Case], rules: Rules, allowance: Allowance, judged: Sequence[Judged] | None = None
) -> Outcome | None:
    """The part of a decision that knows nothing of the true answers: a refusal, or None.

    Args:
        cases: What is asked, by protected column.
        rules: The policy.
        allowance: What may be spent on it.
        judged: Filled with the judgements made, by case.
    """
    drawn = []
    for place, case in enumerate(cases):
        question = case.question()
        if not question.derivable:
            answers = question.hypothetical(rules.worlds)
            allowed = int(rules.delta * sum(len(worlds) for worlds in answers.values()) + 1e-9)
            drawn.append(Drawn(place, case, answers, allowed, {} if judged is None else judged[place]))
    if len(cases) == 1 and drawn and is_one_sum(cases[0]):
        return of_one_value(cases, drawn[0], allowance)
    broken = set[int]()
    # what costs least first: where bounds make a refusal certain, nothing is searched for
    for step in (_by_what_is_certain, _by_what_is_excluded, _by_what_is_likely):
        for each in drawn:
            refusal = step(cases, each, broken, allowance)
            if refusal is not None:
                return refusal
    return None


def _by_what_is_certain(
    cases: Sequence[Case], drawn: Drawn, broken: set[int], _: Allowance
) -> Outcome | None:
    """Fail the answers of which bounds say that a judgement could only fail them."""
    question, standard = drawn.case.question(), drawn.case.standard
    for values, worlds in drawn.answers.items():
        judgement = question.certainly_lost(values, worlds, standard)
        if judgement is None:
            continue
        drawn.judged[values] = judgement
        broken |= set(worlds)
        if len(broken) > drawn.allowed:
            return drawn.refuse(cases, "risk", judgement)
    return None


def _by_what_is_excluded(
    cases: Sequence[Case], drawn: Drawn, broken: set[int], allowance: Allowance
) -> Outcome | None:
    case, known = drawn.case, drawn.judged
    question = case.question()
    case.effort.regain()
    spared = drawn.allowed - len(broken)
    open_ = [values for values in drawn.answers if values not in known]
    known.update(question.judge_together(open_, case.standard, allowance, spared))
    # of several columns, or with a model, others may break the limit in worlds that are not looked at here
    alone = len(cases) == 1 and case.model is None
    waiting = {world for worlds in drawn.answers.values() for world in worlds}
    # what is known to fail first: too many of those, and nobody needs to look at the others
    for values, worlds in sorted(drawn.answers.items(), key=lambda each: each[0] not in known):
        judgement = known.get(values)
        if judgement is None:
            judgement = known[values] = question.judge(values, worlds, case.standard, allowance, case.effort)
        # the n-th world of each column together are one hypothetical table
        broken |= set() if judgement.safe else set(worlds)
        if allowance.late:
            # how far a search had come when time was over is no figure of the risk
            return Outcome("time", tuple(NOTHING for _ in cases))
        if len(broken) > drawn.allowed:
            return drawn.refuse(cases, "risk", judgement)
        waiting -= set(worlds)
        if alone and len(broken | waiting) <= drawn.allowed:
            return None  # whatever is shown of the others
    return None


def _by_what_is_likely(
    cases: Sequence[Case], drawn: Drawn, broken: set[int], allowance: Allowance
) -> Outcome | None:
    model, unknown = drawn.case.model_question(), set[int]()
    if model is None:
        return None
    passed = sorted(values for values, worlds in drawn.answers.items() if not broken.issuperset(worlds))
    for side in sides(model, passed, allowance):
        for values in side:
            likely, excluded = model.judge(values, allowance), drawn.judged.get(values)
            if allowance.late:
                return Outcome("time", tuple(NOTHING for _ in cases))
            if likely.safe:
                break  # and with it those that are nearer to the middle
            worlds = drawn.answers[values]
            broken |= set(worlds)
            drawn.judged[values] = Judgement(False, -1)
            unknown |= set() if likely.counted else set(worlds)
            if len(broken) > drawn.allowed:
                verdict: Literal["risk", "uncounted"] = (
                    "risk" if len(broken - unknown) > drawn.allowed else "uncounted"
                )
                return drawn.refuse(cases, verdict, excluded, likely)
    return None
