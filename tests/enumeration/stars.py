"""Stars at the gate: two people who are in every set, each time with a crowd of others of its own.

All that is told of one crowd hangs on the two and on that crowd alone, so how likely each pair of their
values is follows crowd by crowd, exactly, however many there are (`crowds`). That is where ranges are the
most telling: many about one person, or about one and an insider who knows his own value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from .crowds import Crowds, Floats, Likely, area_of, risk
from .ranging import HANG_ON_ALL, RANGED, Ask, Ranging, Said, conversation, fact_of

TWO = 2
"""Classes of one: the person who is looked for, and the insider."""


FORMS = ("mixed", "heavy", "narrow")
"""Any statistics; weighted sums in which the two weigh much more than others; deviations from the mean where
the others are told to lie between two values."""


def star_at_random(
    seed: int, number: int, candidates: str = "posterior", crowds: int = 12, form: str | None = None,
    even: bool = False,
) -> Ranging:  # fmt: skip
    """The same one for the same seed and number: classes 0 and 1 are the two. Even: so are all values."""
    rng = np.random.default_rng([seed, number])
    form = str(rng.choice(FORMS)) if form is None else form
    count = int(rng.choice([3, 3, 4, 5] if form != "narrow" else [4, 5, 5]))
    size = int(rng.integers(20, {3: 160, 4: 80, 5: 36}[count]))
    p = np.ones(count) if rng.random() < 0.7 or even else rng.dirichlet(2 * np.ones(count))
    if form == "narrow":
        p = np.zeros(count)
        p[1:-1] = 1.0
        size = int(rng.integers(60, {4: 160, 5: 90}[count]))
    sizes = (1, 1, *[size] * crowds)
    weights = tuple(int(w) for w in rng.choice([4, 8, -8] if form == "heavy" else [1, 1, 2, 3, 4, -2], TWO))
    weights += tuple(int(w) for w in rng.choice([1, 1, 2, -1], crowds))
    truth = [int(x) for x in rng.choice(count, sum(sizes), p=p / p.sum())]
    for place in range(TWO):  # most at an end, who are the easiest to see
        truth[place] = int(rng.choice([0, count - 1, rng.integers(count)]))
    kinds = [each for each in (HANG_ON_ALL if rng.random() < 0.6 else RANGED) if rng.random() < 0.5]
    if form != "mixed" or not kinds:
        kinds = ["SUM(v * w)", "COVAR_POP(v, w)"] if form == "heavy" else ["STDDEV(v)"]
    asks = list[Ask]()
    for crowd in range(TWO, TWO + crowds):
        if form == "narrow":
            asks += [Ask("MIN(v)", (crowd,), False), Ask("MAX(v)", (crowd,), False)]
        for _ in range(int(rng.choice([1, 1, 2, 3])) if form == "mixed" else 1):
            exact = rng.random() < 0.15
            aggregate = str(rng.choice(["SUM(v)", "AVG(v)", "MAX(v)"] if exact else kinds))
            who = (0, 1) if rng.random() < 0.7 else (int(rng.integers(TWO)),)
            asks.append(Ask(aggregate.format(int(rng.integers(1, count))), (*who, crowd), not exact))
    order = rng.permutation(len(asks)) if form == "mixed" else range(len(asks))
    return Ranging(
        sizes, weights, tuple(range(count)), tuple(truth), tuple(asks[place] for place in order),
        int(rng.integers(2)), candidates, float(rng.choice([0.3, 0.5])),
    )  # fmt: skip


@dataclass(frozen=True)
class Worst:
    """The greatest risk that was found."""

    risk: float
    """Beyond what is said of people like somebody."""
    domain: float
    """Against the domain."""
    who: Likely
    base: tuple[float, ...]
    """What people like them are believed to have."""


class Star:
    """One conversation about a star, and what it makes likely."""

    def __init__(self, ranging: Ranging) -> None:
        """Ask it all."""
        self.ranging = ranging
        self.parts = {
            place: Crowds((1, 1, ranging.sizes[place]), ranging.values)
            for place in range(TWO, len(ranging.sizes))
        }
        self.facts = 0
        self.sets = set[tuple[int, ...]]()
        """Of whom something was told."""
        self.said = list[Said]()
        for ask, said in zip(ranging.asks, conversation(ranging), strict=True):
            self.said.append(said)
            for answer in said.known:
                fact, crowd = fact_of(answer, ranging.sizes), ask.places[-1]
                weights = fact.weights[0], fact.weights[1], fact.weights[crowd]
                assert all(not w for place, w in enumerate(fact.weights) if place not in (0, 1, crowd))
                self.parts[crowd].told(replace(fact, weights=weights))
                self.facts += 1
                self.sets.add(fact.members)

    @property
    def core(self) -> Floats:
        """(values, values) how likely the two have these, by each crowd."""
        return np.array([(each._prior * each.left).sum(axis=2) for each in self.parts.values()])

    def likely(self) -> Iterator[tuple[int, Likely]]:
        """Of one of each class beside each crowd: alone, and with an insider where they are looked at."""
        core = self.core
        scaled = core / core.max(axis=(1, 2), keepdims=True)
        for number, (place, each) in enumerate(self.parts.items()):
            others = np.prod(np.delete(scaled, number, axis=0), axis=0)
            for found in each.likely(others[:, :, None]):
                if found.insider is not None and not self.ranging.insiders:
                    break
                yield place, found

    def worst(self) -> tuple[Worst, Worst | None]:
        """Alone, and to an insider: beside what anybody else in the same sets would be believed to have.

        Of the two: the product of what the members of the crowds are believed, whose sets they are in. Of a
        member of a crowd: what a member is believed whoever the two are.
        """
        best: list[Worst | None] = [None, None]
        views = dict[tuple[int, int | None, int | None], dict[int, Floats]]()
        found = list[tuple[int, Likely]]()
        for crowd, each in self.likely():
            views.setdefault((crowd, each.insider, each.known), {})[each.place] = np.array(each.chances)
            found.append((crowd, each))
        for crowd, each in found:
            base = np.ones(len(self.ranging.values))
            if each.place >= TWO:
                base = views[crowd, None, None][TWO]
            for places in self.sets if each.place < TWO else ():
                if each.place in places and places[-1] >= TWO:
                    to = (each.insider, each.known) if each.insider in (0, 1) else (None, None)
                    base = base * views[places[-1], *to][TWO]
            mean = tuple((base / base.sum()).tolist())
            this = Worst(risk(each.chances, area_of(mean)), risk(each.chances), each, mean)
            before = best[turn := int(each.insider is not None)]
            if before is None or this.risk > before.risk:
                best[turn] = this
        assert best[0] is not None
        return best[0], best[1]
