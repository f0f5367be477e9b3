"""Does everybody keep the limit with hypothetical answers? The part of a decision that knows no true one.

Of sums where everybody is looked at at once it is the partition that is looked for (`partition`), from a
middle answer outwards: what breaks the limit is told as a bound, and only if nothing is shown are they
refused. Of all else, that is of extremes, of small systems, and of what follows from others, more than δN
failures among the hypothetical answers refuse.

Source: `mathematics.md`, 4 and 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING, Literal

from auditor.deciding.cases import NOTHING, Case, Drawn, Judged, Look, Outcome
from auditor.deciding.partition import Asked
from auditor.deciding.rules import Rules
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.facts.spares import MOST
from cae_sql.inference.standard import Judgement
from cae_sql.threads import alone

if TYPE_CHECKING:
    from cae_sql.inference.posterior.judging import LikelyQuestion, ModelQuestion

MARGIN = 0.25
"""How far the answer to a sum stays inside of what breaks the limit, as a part of what a record and an
insider need together. Without it how much of a day is answered hangs on whether some early group is told
right at its limit: on the ACS day 87 to 151 groups, for small changes of how answers are looked at, and up to
16 surprises. With 0.1, 0.25 and 0.5: 132, 135 and 134 groups, and 2, 0 and 0 surprises."""


def drawn_of(case: Case, rules: Rules, judged: Judged) -> Drawn:
    """Hypothetical answers to a case.

    Args:
        case: What is asked.
        rules: How many are drawn, and how many of them may break the limit.
        judged: Filled with what is judged of them.
    """
    answers = case.question().hypothetical(rules.worlds)
    allowed = int(rules.delta * sum(len(worlds) for worlds in answers.values()) + 1e-9)
    return Drawn(case, answers, allowed, judged)


def is_decided_by_partition(case: Case) -> bool:
    """Whether the partition alone decides a case, and not how many hypothetical answers fail.

    It does for sums of which none follows from the others, where one look judges everybody.
    """
    question = case.question()
    if case.derivable or any(query.kind != "sum" for query in case.queries):
        return False
    several = len(case.queries) > 1
    if several and are_apart(case):
        return True
    if case.is_one_by_one or len(question.question_tables.fresh) < len(case.queries):
        return False
    # what several leave to a few others is bounded by no end of theirs
    return not (several and question.overlap.to_ask_apart)


def is_shown_of(drawn: Drawn) -> bool:
    """Whether the ends of a partition say of all that is drawn that it makes nothing too likely.

    It is so between its ends where leverage says all; what lies beyond them is told as they are. Sums that
    hang on nothing together each count for themselves: of many some drawn one is always beyond.
    """
    case, model = drawn.case, drawn.case.model_question()
    if model is None or (len(case.queries) > 1 and are_apart(case)):
        return True
    return model.smooth


def are_apart(case: Case) -> bool:
    """Whether several sums hang on nothing together."""
    return len(set(case.question().overlap.components)) == len(case.queries)


def lost_at_once(drawn: Drawn, cases: Sequence[Case]) -> Outcome | None:
    """The refusal where bounds alone say that the middle answer leaves somebody too little."""
    case, standard = drawn.case, drawn.case.standard
    question = case.question()
    if len(case.queries) > 1:
        ends = enumerate(question.overlap.reach(standard))
        narrow = [place for place, end in ends if end is not None and end[0] > end[1]]
        return drawn.refuse(cases, "risk", Judgement(False, -1), None, narrow) if narrow else None
    middle = sorted(drawn.answers)[len(drawn.answers) // 2]
    lost = question.certainly_lost(middle, drawn.answers[middle], standard)
    return None if lost is None else drawn.refuse(cases, "risk", lost)


def refused_by(look: Look, drawn: Drawn, cases: Sequence[Case]) -> Outcome:
    """The refusal because of a look that failed."""
    counted = look.model is None or look.model.counted
    judgement = look.judgement or Judgement(False, -1)
    return drawn.refuse(cases, "risk" if counted else "uncounted", judgement, look.model, look.open)


def asked_of(drawn: Drawn) -> Asked:
    """What a partition is looked for of."""
    case = drawn.case
    question, standard, several = case.question(), case.standard, len(case.queries) > 1
    tied = several and is_decided_by_partition(case) and not are_apart(case)
    settled = [value is not None for value in question.settled]
    reach = question.overlap.reach(standard)
    inside = [None if known else ends for known, ends in zip(settled, reach, strict=True)]
    return Asked(
        kinds=[query.kind for query in case.queries],
        possible=[case.system.possible(query) for query in case.queries],
        drawn=[tuple(map(_within, values, inside)) for values in drawn.answers],
        kept=[values for values, judgement in drawn.judged.items() if judgement.safe],
        settled=settled,
        components=range(len(case.queries)) if tied else question.overlap.components if several else (),
        shares=question.overlap.shares if tied else None,
        reach=reach,
        margin=max(margin_of(case) - 1, 0),
        at_once=not case.is_one_by_one,
        far=MOST * int(case.system.grid.top),
        step=1 + standard.need // 4,
    )


def _within(value: int, ends: tuple[int, int] | None) -> int:
    """No further out than the closed form shows everybody's runs: of many groups one is always there."""
    return value if ends is None else min(max(value, ends[0]), ends[1])


def margin_of(case: Case) -> int:
    """How far inside of what breaks the limit the answers to sums stay, in units.

    An answer at the limit leaves its group just so much that everybody can be shown once more, and not when
    later questions have cut it. In small systems searches find what there is, and of groups that hang on
    nothing together all is told that may be: of 60 groups of 12 with 25 values 37 to 45 exactly of 39 to 46,
    with a margin 24 to 30, and of three days as much as with one.
    """
    standard = case.standard
    apart = case.is_one_by_one or (len(case.queries) > 1 and are_apart(case))
    if apart or {query.kind for query in case.queries} != {"sum"} or not case.system.ways.margin:
        return 0
    return ceil(MARGIN * (standard.need + (int(case.system.grid.top) if standard.insiders else 0)))


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
    drawn = [
        drawn_of(case, rules, {} if judged is None else judged[place])
        for place, case in enumerate(cases)
        if not case.derivable
    ]
    broken = set[int]()
    # what costs least first: where bounds make a refusal certain, nothing is searched for
    for step in (_by_what_is_certain, _by_what_is_excluded, by_what_is_likely):
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


def by_what_is_likely(
    cases: Sequence[Case], drawn: Drawn, broken: set[int], allowance: Allowance
) -> Outcome | None:
    """Fail the answers that break the limit by what they make likely, of those that no other step failed.

    Args:
        cases: All that a refusal is about.
        drawn: The answers; what is judged of them is filled in.
        broken: The worlds of which some answer fails; filled in too.
        allowance: What may be spent on it.

    Returns:
        A refusal where too many fail.
    """
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


def sides(
    model: ModelQuestion | LikelyQuestion, answers: Sequence[tuple[int, ...]], allowance: Allowance
) -> Sequence[Sequence[tuple[int, ...]]]:
    """In which order answers are looked at: of each of these lists no further than the first that is safe."""
    order, half = sorted(answers, key=sum), len(answers) // 2
    ends = [[each] for each in (order[0], order[-1])] if order else []
    # the least and the greatest first: where both keep the limit nothing between them is looked at
    if all(model.judge(each, allowance).safe for (each,) in ends) and model.smooth:
        return ends
    # whether answers between two may be left out is known once one was judged
    if not order or not model.judge(order[half], allowance).safe or not model.smooth:
        return [[each] for each in answers]
    return [order[:half], order[:half:-1]]
