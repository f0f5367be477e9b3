"""What past answers settle, and what was refused, kept in memory: what is asked again costs a look-up.

Promise: the same query is known by its records, in whatever words it is asked. A refusal comes back as long
as nothing was learned since. What is kept is bounded in number.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b

from auditor.deciding.cases import Outcome
from cae_sql.inference.facts.query import Query

FIGURES = 20_000
"""Settled values kept of each protected column, some 150 bytes each."""
REFUSALS = 1_000
"""Refusals kept by party."""


class Figures:
    """Values of queries that past answers settle. What is settled stays so: more answers do not change it."""

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._values: OrderedDict[bytes, int] = OrderedDict()

    def recall(self, query: Query) -> int | None:
        """The value in units, if it is there."""
        name = digest([query])
        value = self._values.get(name)
        if value is not None:
            self._values.move_to_end(name)
        return value

    def keep(self, queries: Sequence[Query], values: Sequence[int]) -> None:
        """Remember values in units that are settled."""
        self._values.update((digest([query]), value) for query, value in zip(queries, values, strict=True))
        while len(self._values) > FIGURES:
            self._values.popitem(last=False)


class Refusals:
    """Decisions that refused, from past answers and queries alone; they hold until something is learned."""

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._learned = 0
        self._outcomes: OrderedDict[bytes, Outcome] = OrderedDict()

    def recall(self, name: bytes, learned: int) -> Outcome | None:
        """What was decided when this much was known, if it was refused then."""
        return self._outcomes.get(name) if learned == self._learned else None

    def keep(self, name: bytes, learned: int, outcome: Outcome) -> None:
        """Remember a refusal."""
        if learned != self._learned:
            self._learned, self._outcomes = learned, OrderedDict()
        self._outcomes[name] = outcome
        while len(self._outcomes) > REFUSALS:
            self._outcomes.popitem(last=False)


def digest(queries: Sequence[Query]) -> bytes:
    """One name for queries that ask the same, in the same order, however many records they are about."""
    found = blake2b(digest_size=20)
    for query in queries:
        kind, members, coefficients = query.name
        found.update(f"{kind} {len(members)} {len(coefficients)} ".encode())
        found.update(members)
        found.update(coefficients)
    return found.digest()
