"""The pool: some tens of tables that agree with every answer, kept from answer to answer.

Worlds come from the domain, a fixed seed and past answers, never from the true table. A new sum moves each
world along directions that keep the old ones; a new extreme lowers what is above it and pins who attains it.
A world that cannot be moved is replaced: by an integer program, or by a mixed copy of another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cae_sql.errors import InconsistentAnswers, OutOfTime
from cae_sql.inference.allowance import UNLIMITED, Allowance
from cae_sql.inference.facts.extremes import Pins, choose_witnesses, rooms
from cae_sql.inference.facts.knowledge import Extreme, Knowledge
from cae_sql.inference.facts.query import Answer, Ints
from cae_sql.inference.tables.mixing import UNIFORM, mix, spread
from cae_sql.inference.tables.moves import push, steer
from cae_sql.inference.tables.priors import Prior
from cae_sql.inference.tables.programs import any_world
from cae_sql.inference.tables.short_moves import roam, short_moves
from cae_sql.threads import in_two

STEER_SWEEPS = 12
"""Passes over the directions before a world counts as stuck."""


@dataclass
class Pool:
    """Worlds over the records, all consistent with one `Knowledge`."""

    knowledge: Knowledge
    values: NDArray[np.int64]
    """(w, n) units."""
    seed: int
    moved: int = 0
    """Counts random moves, so that no two are alike."""
    prior: Prior | None = None
    """From where values come; None where all are alike."""

    @classmethod
    def draw(cls, knowledge: Knowledge, count: int, seed: int, prior: Prior | None = None) -> Pool:
        """Draws from the domain, before any answer: uniform, or from a public prior."""
        size, top = len(knowledge.atoms.labels), int(knowledge.high[0])
        if prior is None:
            values = np.random.default_rng(seed).integers(0, top + 1, (count, size))
        else:
            values = prior.draw(count * size, seed).reshape(count, size)
        return cls(knowledge, values, seed, prior=prior)

    def grown(self, spares: int, top: int) -> Pool:
        """With so many spare records more, drawn from the domain."""
        count, size = self.values.shape
        drawn = np.random.default_rng([self.seed, size]).integers(0, top + 1, (count, spares))
        known = self.knowledge.grown(spares, top)
        return Pool(known, np.hstack([self.values, drawn]), self.seed, self.moved, self.prior)

    def copy(self) -> Pool:
        """An independent copy."""
        return Pool(self.knowledge, self.values.copy(), self.seed, self.moved, self.prior)

    def learn(self, answers: Sequence[Answer], allowance: Allowance = UNLIMITED) -> None:
        """Take in more answers, in their order.

        Raises:
            InconsistentAnswers: no world agrees.
            OutOfTime: none was found, and none excluded, with what may be spent.
        """
        room = self.knowledge.room(self.totals())
        self.knowledge = self.knowledge.refined(answers, room)
        for answer in answers:
            if answer.kind == "sum":
                self._learn_sum(self.knowledge, answer, int(answer.value), allowance)
        extremes = [answer for answer in answers if answer.kind != "sum"]
        if extremes:
            self._learn_extremes(extremes, allowance)

    def _learn_sum(self, known: Knowledge, answer: Answer, value: int, allowance: Allowance) -> None:
        totals = known.totals(self.values)
        row = known.atoms.row(answer)
        gain = known.tableau.reduced(row)
        finer, fresh = known.with_sum(answer, known.room(totals))
        if not fresh:
            if (totals @ row != value).any():
                raise InconsistentAnswers("an answer contradicts the ones before it")
            return
        sums = np.append(known.matrix @ totals[0], value)
        moved = np.zeros(len(self.values), dtype=np.bool_)
        in_time(allowance)
        for place in range(len(self.values)):
            want = value - int(totals[place] @ row)
            moved[place] = want == 0 or (
                gain is not None and self._steer(known, place, totals[place], gain, want)
            )
        self.knowledge = finer
        self._refill(moved, sums, allowance)

    def _steer(self, known: Knowledge, place: int, totals: Ints, gain: Ints, want: int) -> bool:
        pins = choose_witnesses(known, totals, seed=self.chance())
        if pins is None:
            return False
        up, down = rooms(known, totals, pins)
        shift = np.zeros_like(up)
        if steer(*known.directions, gain, want, up, down, shift, self.chance(), STEER_SWEEPS) != 0:
            return False
        return self._realise(known, place, self.values[place], totals + shift, pins)

    def _learn_extremes(self, answers: Sequence[Answer], allowance: Allowance) -> None:
        known = self.knowledge
        sums = known.matrix @ known.totals(self.values[:1])[0]
        for answer in answers:
            known = known.with_extreme(answer, int(answer.value))
        moved = np.zeros(len(self.values), dtype=np.bool_)
        if (known.low <= known.high).all():
            for place in range(len(self.values)):
                in_time(allowance)
                moved[place] = self._fit(known, place)
        self.knowledge = known
        self._refill(moved, sums, allowance)

    def _fit(self, known: Knowledge, place: int) -> bool:
        """Move a world inside narrower boxes, and let somebody attain each extreme."""
        values, labels = self.values[place], known.atoms.labels
        totals = known.totals(values[None])[0]
        clipped = np.clip(values, known.low[labels], known.high[labels])
        # nobody is held while boxes narrow: who attained an earlier extreme may have to give it up
        nobody = Pins(np.zeros(known.count, dtype=np.int64), np.zeros(known.count, dtype=np.int64))
        over = totals - known.sizes * known.high, known.sizes * known.low - totals
        target = totals.copy()
        for excess, sign in zip(over, (-1, 1), strict=True):
            for atom in np.flatnonzero(excess > 0):
                up, down = (np.maximum(room, 0) for room in rooms(known, target, nobody))
                shift = np.zeros_like(up)
                amount = int(excess[atom]) - sign * int(target[atom] - totals[atom])
                if amount <= 0:
                    continue
                if (
                    push(int(atom), sign, amount, *known.directions, up, down, shift, self.chance(), 60)
                    < amount
                ):
                    return False
                target = target + shift
        if ((target > known.sizes * known.high) | (target < known.sizes * known.low)).any():
            return False
        witnesses = self._attain(known, target)
        if witnesses is None:
            return False
        target, chosen = witnesses
        return self._realise(known, place, clipped, target, chosen)

    def _attain(self, known: Knowledge, totals: Ints) -> tuple[Ints, Pins] | None:
        """Totals, moved where necessary, at which every extreme is attained."""
        pins = choose_witnesses(known, totals, seed=self.chance())
        for extreme in known.extremes:
            if pins is not None:
                break
            totals = self._attain_one(known, totals, extreme)
            pins = choose_witnesses(known, totals, seed=self.chance())
        return None if pins is None else (totals, pins)

    def _attain_one(self, known: Knowledge, totals: Ints, extreme: Extreme) -> Ints:
        """Totals at which some atom attains an extreme; unchanged where a few tries did not find any."""
        sign = 1 if extreme.top else -1
        candidates = known.able_atoms[extreme]
        sizes, low, high = known.sizes[candidates], known.low[candidates], known.high[candidates]
        goals = high + (sizes - 1) * low if extreme.top else low + (sizes - 1) * high
        lacking = (goals - totals[candidates]) * sign
        if not len(candidates) or lacking.min() <= 0:
            return totals
        none = np.zeros(known.count, dtype=np.int64)
        up, down = rooms(known, totals, Pins(none, none))
        for place in np.random.default_rng(self.chance()).permutation(len(candidates))[:8]:
            shift, above, below = np.zeros_like(up), up.copy(), down.copy()
            atom, amount = int(candidates[place]), int(lacking[place])
            if push(atom, sign, amount, *known.directions, above, below, shift, self.chance(), 60) >= amount:
                return totals + shift
        return totals

    def _realise(
        self, known: Knowledge, place: int, start: NDArray[np.int64], totals: Ints, pins: Pins
    ) -> bool:
        """Records that have these totals, as near to `start` as is easy, with pinned records in place."""
        order, firsts = known.members
        values, pinned = start.copy(), np.zeros(len(start), dtype=np.bool_)
        for marks, edge, best in ((pins.top, known.high, 1), (pins.bottom, known.low, -1)):
            for atom in np.flatnonzero(marks):
                members = order[firsts[atom] : firsts[atom + 1]]
                members = members[~pinned[members]]
                if not len(members):
                    continue  # a box of one value: whoever is pinned attains both
                record = members[np.argmax(best * values[members])]
                values[record], pinned[record] = edge[atom], True
        shift = totals - known.totals(values[None])[0]
        if not spread(order, firsts, known.low, known.high, values, pinned, shift, self.chance()):
            return False
        self.values[place] = values
        return True

    def _refill(self, moved: NDArray[np.bool_], sums: Ints, allowance: Allowance) -> None:
        """Replace the worlds that could not be moved."""
        lost = np.flatnonzero(~moved)
        if len(lost) == len(moved):
            totals = any_world(self.knowledge, sums, allowance, self.seed)
            if totals is None:
                raise InconsistentAnswers("no table agrees with all answers")
            pins = choose_witnesses(self.knowledge, totals, seed=self.seed)
            middle = (self.knowledge.low + self.knowledge.high) // 2
            if pins is None or not self._realise(
                self.knowledge, 0, middle[self.knowledge.atoms.labels], totals, pins
            ):
                raise OutOfTime("no world was found in the time allowed")
            moved[0], lost = True, lost[1:]
        kept = np.flatnonzero(moved)
        for turn, place in enumerate(lost):
            source = kept[turn % len(kept)]
            self.values[place] = self.values[source]
        self.mix(lost.tolist(), 6)

    def give(self, place: int, totals: Ints) -> bool:
        """Make a world have these totals (p,); False where no records were found to attain all extremes."""
        pins = choose_witnesses(self.knowledge, totals, seed=self.chance())
        return pins is not None and self._realise(self.knowledge, place, self.values[place], totals, pins)

    def totals(self) -> Ints:
        """(w, p) the atoms' totals in each world."""
        return self.knowledge.totals(self.values)

    def rebase(self) -> None:
        """Choose the basis anew for the room that the worlds leave."""
        self.knowledge = self.knowledge.rebased(self.totals())

    def mix(self, places: list[int], sweeps: int, allowance: Allowance = UNLIMITED) -> None:
        """Random moves towards the uniform distribution over worlds."""
        known = self.knowledge
        (order, firsts), directions, attainable = known.members, known.directions, known.attainable
        odds = UNIFORM if self.prior is None else self.prior.odds
        if len(known.tableau.stuck):
            for place in places:
                if allowance.over:
                    return
                self._roam(place)
        seeds = [self.chance() for _ in places]  # before the threads begin: each world has its own

        def work(first: int, last: int) -> None:
            for place, seed in zip(places[first:last], seeds[first:last], strict=True):
                if allowance.over:
                    return
                values = self.values[place]
                mix(
                    *directions, order, firsts, known.low, known.high, *attainable, self.attainers(values),
                    values, seed, sweeps, odds,
                )  # fmt: skip

        in_two(work, len(places), sweeps * len(order))

    def attainers(self, values: NDArray[np.int64]) -> Ints:
        """(extremes,) how many records attain each extreme in a world."""
        labels = self.knowledge.atoms.labels
        counts = []
        for extreme in self.knowledge.extremes:
            covered = np.zeros(self.knowledge.count, dtype=np.bool_)
            covered[extreme.atoms] = True
            counts.append(int((covered[labels] & (values == extreme.value)).sum()))
        return np.array(counts, dtype=np.int64)

    def _roam(self, place: int) -> None:
        """Where rows without a ±1 leave atoms without directions, short moves of the lattice reach them."""
        known = self.knowledge
        moves = short_moves(known.tableau)
        if len(moves.starts) < 2:
            return
        totals = known.totals(self.values[place][None])[0]
        pins = choose_witnesses(known, totals, seed=self.chance())
        if pins is None:
            return
        up, down = rooms(known, totals, pins)
        shift = roam(*moves, up, down, np.zeros_like(up), np.zeros_like(up), 20 * len(up), self.chance())
        self._realise(known, place, self.values[place], totals + shift, pins)

    def chance(self) -> int:
        """A seed that was not used before."""
        self.moved += 1
        return (self.seed * 1_000_003 + self.moved * 7919) % 2**31


def in_time(allowance: Allowance) -> None:
    """Go on only while an allowance lasts.

    Raises:
        OutOfTime: it has passed.
    """
    if allowance.over:
        raise OutOfTime("no world was found in the time allowed")
