"""Ends are shown before the true answer is looked at: none is refused that the partition would tell."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest

from auditor.deciding.cases import Case, Outcome
from auditor.deciding.decide import decide
from auditor.deciding.rules import Rules
from cae_sql.inference.facts.query import Ints, Query
from cae_sql.inference.standard import Effort, Standard
from cae_sql.inference.system import AnsweredSystem
from tests.quick import some

RULES = Rules(True, 20, 0.0, 600.0)


class Table:
    """Skewed values of a few hundred persons, in groups of one to sixty whom no question tells apart."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        groups = int(rng.integers(10, 45))
        sizes = np.where(rng.random(groups) < 0.5, rng.integers(1, 4, groups), rng.integers(3, 40, groups))
        while sizes.sum() < 260:  # of fewer, pairs are searched one by one
            sizes[int(rng.integers(groups))] += 20
        self.groups, self.labels = groups, np.repeat(np.arange(groups), sizes)
        self.size, self.top = len(self.labels), int(rng.integers(4, 13))
        self.standard = Standard(int(rng.integers(1, 4)), insiders=1)
        self.values = np.minimum(rng.geometric(rng.choice([0.2, 0.5]), self.size) - 1, self.top)
        self.values[(rng.random(groups) < 0.15)[self.labels]] = 0
        self.values[(rng.random(groups) < 0.1)[self.labels]] = self.top
        self.system = AnsweredSystem(self.size, 0, self.top, 1)
        self._chosen = np.zeros(groups, dtype=np.bool_)

    def question(self) -> Query | None:
        """About some groups, often those of the last question but for two."""
        if not self._chosen.any() or self.rng.random() < 0.5:
            self._chosen = self.rng.random(self.groups) < self.rng.choice([0.2, 0.5, 0.9])
        else:
            changed = self.rng.permutation(self.groups)[:2]
            self._chosen[changed] = ~self._chosen[changed]
        members: Ints = np.flatnonzero(self._chosen[self.labels])
        return self.system.query("sum", members) if len(members) else None

    def decide(self, query: Query, answer: int) -> Outcome:
        """As if the true answer were this one; the system is left as it is."""
        system = deepcopy(self.system)
        return decide([Case(system, [query], self.standard, lambda _: [answer], Effort())], RULES)

    def learn(self, query: Query) -> None:
        outcome = self.decide(query, int(query.of(self.values)))
        if outcome.verdict == "safe":
            (found,) = outcome.parts[0].recorded
            self.system.accept([found.query.answered(found.value)])


@pytest.mark.parametrize("seed", some([8, 6, 4, 1, 7, 10], 2))
@pytest.mark.slow
def test_whatever_the_answer_is_no_end_is_refused(seed: int) -> None:
    """`check` says whether there is an end: one that is refused later is known, and nowhere recorded."""
    table, ends = Table(seed), 0
    for _ in range(8):
        query = table.question()
        if query is None or table.system.question([query]).derivable:
            continue
        table.system.pool()
        found = [table.decide(query, value) for value in (0, len(query.members) * table.top)]
        assert not any(each.surprise for each in found)
        # of what is refused whatever the answer is, nothing is told either way
        assert len({each.verdict for each in found}) == 1
        ends += sum(not part.recorded[0].told.exact for each in found for part in each.parts if part.recorded)
        table.learn(query)
    assert ends
