"""What a decision is about and what it says: cases, outcomes, hypothetical answers; nothing is decided here.

Protected columns are independent systems: a case is what a statement asks about one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from auditor.deciding.recorded import Recorded
from auditor.told import Told
from cae_sql.inference.certify.kept_ranges import Holding
from cae_sql.inference.certify.learned import Learned
from cae_sql.inference.certify.question import Question
from cae_sql.inference.facts.query import Name, Query
from cae_sql.inference.facts.ranges import Kept
from cae_sql.inference.standard import Effort, Judgement, Standard
from cae_sql.inference.system import AnsweredSystem

if TYPE_CHECKING:
    from cae_sql.inference.posterior.judging import (
        LikelyKnowledge,
        LikelyQuestion,
        ModelJudgement,
        ModelKnowledge,
        ModelQuestion,
    )

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
    model: ModelKnowledge | LikelyKnowledge | None = None
    """What past answers make likely, where the policy decides by a candidate model too."""
    barred: tuple[Query, ...] = ()
    """Those of the queries that are about persons who are set aside: nothing is told of them."""

    def question(self) -> Question:
        """What if they were answered? Prepared once."""
        return self.system.question(self.queries)

    @property
    def derivable(self) -> bool:
        """Whether past answers settle all of it; of other statistics they never do."""
        kinds = {query.kind for query in self.queries}
        return (
            not self.barred
            and not kinds & {"count", "quantile", "weighted", "spread"}
            and self.question().derivable
        )

    @property
    def is_one_by_one(self) -> bool:
        """Whether each hypothetical answer is judged by itself, as in some small systems."""
        return self.question().is_one_by_one(self.standard)

    @property
    def singled_out(self) -> bool:
        """Whether any answer would tell somebody a value."""
        standard = self.standard
        return standard.least > 0 and self.system.singled_out(self.queries, standard.insiders)

    def model_question(self) -> ModelQuestion | LikelyQuestion | None:
        """What would they make likely? Prepared once; None without a model."""
        return None if self.model is None else self.model.question(self.queries)


@dataclass(frozen=True, eq=False)
class KeptRange:
    """What the system keeps of the range of a statistic."""

    shares: tuple[Kept, ...]
    """What it says."""
    observed: Query
    """What it makes likely."""
    spare: int
    """As many records as may be elsewhere where a table is looked at."""
    standard: Standard
    """What everybody keeps."""
    holding: Holding | None = None
    """Who is held where so that tables keep it."""


@dataclass(frozen=True)
class Part:
    """What a decision says about one protected column."""

    recorded: tuple[Recorded, ...] = ()
    """What is told of each query; empty where the statement is refused."""
    learned: Learned | None = None
    """What the system becomes with the answers; None where past answers say all of it."""
    judgement: Judgement | None = None
    """How everybody fares with the answers known, where that may be told."""
    model: ModelJudgement | None = None
    """The same under the candidate model, if there is one."""
    surprise: bool = False
    """What the partition says of the true answer was not shown to be safe, once it was looked at."""
    kept: KeptRange | None = None
    """Of a range of a statistic: what the system keeps of it."""
    given: bool = True
    """Whether something is told, or nothing was asked that past answers had not settled."""
    open: tuple[Query, ...] = ()
    """Of several queries that hang on nothing together, those because of which nothing is told, as far as
    that is known."""


@dataclass(frozen=True)
class Outcome:
    """A decision, and what it needs to be carried out."""

    verdict: Literal["known", "safe", "risk", "time", "uncounted"]
    """"known": past answers settle it; "safe": may be answered; the others refuse. "uncounted": what answers
    would make likely is not known."""
    parts: tuple[Part, ...]
    """By case."""

    @property
    def surprise(self) -> bool:
        """Whether true answers were not shown to be safe after the hypothetical ones had passed."""
        return any(part.surprise for part in self.parts)

    @property
    def open(self) -> set[Name]:
        """Names of the queries because of which nothing is told, where others could be told without them."""
        return {query.name for part in self.parts for query in part.open}

    @property
    def certain(self) -> bool:
        """Whether bounds alone have refused: the figure is then what an answer would leave at least."""
        return any(part.judgement is not None and part.judgement.certain for part in self.parts)


NOTHING, SURPRISE = Part(given=False), Part(surprise=True, given=False)
"""Of a column of which nothing is told; because of the true answer."""
Values = tuple[int, ...]
Judged = dict[Values, Judgement]


@dataclass(frozen=True)
class Look:
    """What a look came to."""

    safe: bool
    """Whether everybody is shown to keep the limit."""
    open: tuple[int, ...] = ()
    """Places of the queries because of which not, as far as that is known."""
    judgement: Judgement | None = None
    """How everybody fares by what is excluded."""
    model: ModelJudgement | None = None
    """The same by what is likely ..."""
    told: Sequence[Told[int]] = ()
    """... if this is told."""

    @property
    def is_too_likely(self) -> bool:
        """Whether exact answers fail by what they make likely."""
        return self.model is not None and not self.safe and all(each.exact for each in self.told)


@dataclass(frozen=True)
class Drawn:
    """Hypothetical answers to what a statement asks about one column."""

    case: Case
    answers: dict[tuple[int, ...], list[int]]
    """With the worlds that give them."""
    allowed: int
    """How many worlds may break the limit."""
    judged: Judged
    """Filled with what was judged."""

    def refuse(
        self,
        cases: Sequence[Case],
        verdict: Literal["risk", "uncounted"],
        judgement: Judgement | None,
        likely: ModelJudgement | None = None,
        open_: Sequence[int] = (),
    ) -> Outcome:
        """A refusal at the answer where the search stopped, because of the queries in some places."""
        queries = tuple(self.case.queries[place] for place in open_)
        part = Part(judgement=judgement, model=likely, given=False, open=queries)
        return Outcome(verdict, tuple(part if each is self.case else NOTHING for each in cases))
