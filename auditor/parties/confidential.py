"""One protected column as the gate judges it: its rules, and its true values in units of its grid.

Promise: what exists fits the policy: at least two records, all values in the domain and on the grid, and a
limit that could be kept. Only `truth` and `units` give anything of the values away, and they are called only
by those who may look at them.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from auditor.data.relations import Asked
from auditor.data.units import fill
from auditor.data.vault import CellValues, Vault, too_long
from auditor.errors import CoarserGridWarning, DatabaseError, LedgerError, PolicyError
from auditor.ledger.people import Numbered
from auditor.policy.policy import Policy, Protect, written
from cae_sql.cached import cached_property
from cae_sql.candidates import grid_candidates
from cae_sql.inference.facts.query import Ints, Query
from cae_sql.inference.standard import Judgement, Standard
from cae_sql.inference.system import POOL, AnsweredSystem
from cae_sql.inference.tables.priors import Prior
from cae_sql.inference.ways import ALL, Ways
from cae_sql.risk import Limit, risk_of, risk_of_run

if TYPE_CHECKING:
    from cae_sql.inference.posterior.judging import LikelyStandard, ModelStandard

SEED = 20130527
"""Worlds are drawn with this seed in every gate: a verdict may depend on past answers, not on luck."""

GROUP_WORLDS = 60
"""Hypothetical answers that a group is judged in, at least, where groups are judged one by one."""
EARLY = 50_000
"""Records up to which those tables are kept from the beginning. Thought up when groups are asked, they are
too much alike: of the Adult day (45,222) 32 statements were then answered in full in place of 43."""


class Confidential:
    """A protected column, its standard and its values."""

    ways: ClassVar[Ways] = ALL
    """Which ways of showing somebody its systems use. No policy can say it: benchmarks alone set others, to
    measure what each is worth."""
    seed: ClassVar[int] = SEED
    """Of their worlds; the same."""

    def __init__(self, policy: Policy, protect: Protect, vault: Vault, position: int) -> None:
        """Check that the data fit the policy.

        Args:
            policy: The policy.
            protect: What it says of this column.
            vault: The column's values.
            position: Its place among the protected columns: their worlds are drawn independently.

        Raises:
            PolicyError: values outside the domain or off the grid, or a limit that nothing could meet.
            DatabaseError: too few records to protect.
        """
        self.protect = protect
        self.limits = policy.limits_of(protect)
        if vault.size < 2:
            raise DatabaseError(
                f"table {protect.table} has {vault.size} records with a {protect.column}: nothing can be "
                "asked of fewer than two without naming a person"
            )
        self._lumps = None if vault.cells is None else vault.cells.units.lumps
        self._cells = None if vault.cells is None else vault.cells.units.of_cell
        self._values = (
            _on_grid(protect, vault) if vault.cells is None else _filled(protect, vault, vault.cells)
        )
        self._units, self._called = vault.units, vault.called or [None] * vault.size
        self._numbers: NDArray[np.int64] | None = None
        self._gone: NDArray[np.bool_] | None = None
        self.persons: Ints | None = None
        """(n,) the person of each record, where somebody has several; else None."""
        self.standard = _standard(protect, self.limits.limit, policy.intruder.insiders)
        self._policy = policy
        stated = policy.prior_of(protect)
        self._prior = None if stated is None else Prior.of(stated.draw, stated.probabilities)
        self._seed = self.seed + position

    @property
    def _pool(self) -> int:
        decision = self._policy.decision
        # of many records those that groups are judged in cost every answer; they are thought up when one asks
        early = GROUP_WORLDS if decision.partial == "suppress" and self.size <= EARLY else 0
        return max(POOL, decision.worlds, early)

    def lay(self, numbered: Numbered, persons: Ints, units: Ints | None = None) -> None:
        """Take its records for those of a system that has the records of earlier editions too.

        Args:
            numbered: Which they are.
            persons: (n,) the person of each record of that system.
            units: (n,) its unit, where the policy names one.
        """
        # a unit has all records that somebody ever had, and knows them all when it is the insider
        several = units is None and len(np.unique(persons)) < len(persons)
        self.persons, self._units = persons if several else None, units
        values = np.zeros(numbered.total, dtype=np.int64)
        values[numbered.numbers] = self._values
        gone = np.ones(numbered.total, dtype=np.bool_)
        gone[numbered.numbers] = False
        self._values, self._numbers, self._gone = values, numbered.numbers, gone
        if units is not None:  # of a unit without a row in this edition nothing says what it is called
            names = dict(zip(units[numbered.numbers].tolist(), self._called, strict=True))
            self._called = [names.get(unit) for unit in units.tolist()]

    def made_up(self, values: Ints) -> Confidential:
        """The same column, of as many records as there are values, which are nobody's: in units."""
        found = copy(self)
        found._values, found._numbers, found._gone, found.persons = values.astype(np.int64), None, None, None
        found._units = None
        return found

    def laid(self, asked: Asked) -> Asked:
        """What is asked of rows of this edition, with the numbers that their records have in the system."""
        if self._numbers is None:
            return asked
        records = self._numbers[asked.records]
        order = np.argsort(records)
        signs = None if asked.signs is None else asked.signs[order]
        weights = None if asked.weights is None else asked.weights[order]
        return replace(asked, records=records[order], signs=signs, weights=weights)

    def knows(self, records: Ints) -> bool:
        """Whether the values of all of these are there: those of earlier editions alone are not."""
        return self._gone is None or not self._gone[records].any()

    def codes(self, codes: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        """The class of each record of the system, from those of this edition's; `count` for all others."""
        if self._numbers is None:
            return codes
        found = np.full(self.size, count, dtype=np.int64)
        found[self._numbers] = codes
        return found

    @property
    def weighs(self) -> bool:
        """Whether what is made likely decides too."""
        return self._policy.intruder.candidates != "interval"

    @cached_property
    def model_standard(self) -> ModelStandard | LikelyStandard | None:
        """What every record must keep under a candidate model; None where none decides."""
        return _model_standard(self._policy, self.protect)

    @property
    def name(self) -> tuple[str, str]:
        """Table and column, as `Protect.name`."""
        return self.protect.name

    @property
    def size(self) -> int:
        """Records of the system, of all editions; where there are cells, units (`auditor.data.units`)."""
        return len(self._values)

    @property
    def units(self) -> NDArray[np.int64]:
        """(n,) all true values in units: for an audit, which looks back at what was told, nobody else."""
        return self._values

    @property
    def whose(self) -> NDArray[np.int64] | None:
        """(n,) the unit of each record, the person whose it is; None: each is its own."""
        return self._units

    def called(self, record: int) -> object:
        """What the unit of a record is called; None where nothing names it."""
        return None if self._units is None else self._called[record]

    @property
    def _alone(self) -> int:
        """How many units are single records; lumps come after them."""
        return self.size if self._lumps is None else self.size - len(self._lumps)

    def truth(self, queries: Sequence[Query]) -> list[int]:
        """The true answers in units.

        Raises:
            LedgerError: somebody is among them whose value is that of an earlier edition.
        """
        if not all(self.knows(query.members) for query in queries):
            raise LedgerError("nothing was released: an earlier edition's values are not in these data")
        if self._lumps is not None:
            # what is least and greatest in a cell are single records
            queries = [
                replace(query, members=query.members[query.members < self._alone])
                if query.kind in ("max", "min")
                else query
                for query in queries
            ]
        return [int(query.of(self._values)) for query in queries]

    @property
    def like(self) -> NDArray[np.int64]:
        """(n,) for each record itself, for each lump a record of its cell: of both the same is known."""
        alone = np.arange(self._alone)
        if self._lumps is None:
            return alone
        assert self._cells is not None
        # units are in the order of cells, records first
        return np.append(alone, np.searchsorted(self._cells[: self._alone], self._cells[self._alone :]))

    def _persons(self, records: NDArray[np.int64]) -> int:
        """For how many persons some units stand."""
        if self._lumps is None:
            return len(records)
        among = records[records >= self._alone] - self._alone
        return len(records) - len(among) + int(self._lumps[among].sum())

    def units_in(self, records: NDArray[np.int64]) -> int:
        """How many units some records are of; without a unit in the policy, how many rows they are."""
        return self._persons(records) if self._units is None else len(np.unique(self._units[records]))

    def possible(self, asked: Asked) -> tuple[Fraction, Fraction]:
        """Between which values the X of what is asked lies whatever the records have, in column units."""
        protect = self.protect
        least, steps = protect.minimum, (protect.maximum - protect.minimum) // protect.grid
        most = least + steps * protect.grid
        if asked.kind == "count":
            return Fraction(0), Fraction(len(asked.records))
        if asked.kind == "spread":
            size = len(asked.records)
            greatest = Fraction((size // 2) * (size - size // 2), size) * (most - least) ** 2
            return Fraction(0), greatest
        if asked.kind == "weighted":
            assert asked.weights is not None
            down, up = (int(each.sum()) for each in (asked.weights.clip(max=0), asked.weights.clip(min=0)))
            return up * least + down * most, up * most + down * least
        if asked.kind != "sum":
            return least, most
        negative = 0 if asked.signs is None else self._persons(asked.records[asked.signs < 0])
        positive = self._persons(asked.records) - negative
        return positive * least - negative * most, positive * most - negative * least

    def new_system(self, alone: NDArray[np.bool_] | None = None) -> AnsweredSystem:
        """A system without answers; `alone`: (n,) whose unit counts for nothing, as each were its own."""
        protect, units = self.protect, self._units
        if units is not None and alone is not None:
            units = np.where(alone, units.max(initial=0) + 1 + np.arange(len(units)), units)
        system = AnsweredSystem(
            self._alone,
            protect.minimum,
            protect.maximum,
            protect.grid,
            seed=self._seed,
            pool=self._pool,
            prior=self._prior,
            lumps=self._lumps,
            units=units,
        )
        system.ways = self.ways
        return system

    def risk_of(self, judgement: Judgement | None) -> float | None:
        """Worst risk that a judgement leaves possible; None where it found nothing."""
        if judgement is None or judgement.width < 0:
            return None
        protect, domain = self.protect, self.protect.domain
        steps = 1 + int(judgement.width * protect.grid // protect.step)
        risks = [risk_of_run(min(steps, domain.count), domain).risk]
        for units in judgement.sets:
            risks.append(risk_of(*grid_candidates(_in_column_units(protect, units), domain), domain).risk)
        return max(risks)


def _in_column_units(protect: Protect, units: Ints | tuple[int, ...]) -> NDArray[np.float64]:
    return np.array([float(protect.minimum + protect.grid * int(unit)) for unit in units])


def _on_grid(protect: Protect, vault: Vault) -> NDArray[np.int64]:
    """The true values in units of the grid.

    Raises:
        PolicyError: see `Confidential`.
    """
    resolution, place = protect.grid, f"{protect.table}.{protect.column}"
    scale, offset = vault.scale / resolution, protect.minimum / resolution
    common = scale.denominator * offset.denominator
    whole, low = int(scale * common), int(offset * common)
    largest = int(np.abs(vault.integers).max(initial=0))
    if largest * abs(whole) + abs(low) < 2**62:
        shifted = vault.integers * whole - low
    else:
        shifted = vault.integers.astype(object) * whole - low
    top = (protect.maximum - protect.minimum) // resolution
    if (shifted < 0).any() or (shifted > top * common).any():
        raise _outside(protect)
    if (shifted % common != 0).any():
        raise PolicyError(
            f"protect.resolution = {written(resolution)}: some values of {place} are not minimum plus a "
            f"multiple of it; take the grid that the values are stored on, such as 0.01 for cents, and a "
            "minimum on that grid"
        )
    units: NDArray[np.int64] = (shifted // common).astype(np.int64)
    _warn_of_coarser_grid(units, resolution, place)
    return units


def _filled(protect: Protect, vault: Vault, cells: CellValues) -> NDArray[np.int64]:
    """Values of units that agree with the cells, in units of the grid.

    Raises:
        PolicyError: see `Confidential`.
    """
    if cells.off_grid:
        raise PolicyError(
            f"protect.resolution = {written(protect.grid)}: {cells.off_grid:,} values of "
            f"{protect.table}.{protect.column} are not minimum plus a multiple of it, or lie far outside of "
            "the domain; take the grid that the values are stored on, such as 0.01 for cents, and a minimum "
            "on that grid"
        )
    scale, offset = vault.scale / protect.grid, protect.minimum / protect.grid
    common = scale.denominator * offset.denominator
    whole, low = int(scale * common), int(offset * common)

    def in_grid(values: NDArray[np.int64], times: NDArray[np.int64] | int) -> NDArray[np.int64]:
        shifted = (values.astype(object) * whole - np.asarray(times).astype(object) * low) // common
        if len(shifted) and int(abs(shifted).max()) >= 2**62:
            raise too_long(protect.column)
        found: NDArray[np.int64] = shifted.astype(np.int64)
        return found

    least, greatest = in_grid(cells.least, 1), in_grid(cells.greatest, 1)
    top = int((protect.maximum - protect.minimum) // protect.grid)
    if (least < 0).any() or (greatest > top).any():
        raise _outside(protect)
    sums = in_grid(cells.sums, cells.counts)
    # what is known of the grid that the values have: sums of n values, as n times the first and what is more
    told = np.concatenate([least, greatest, sums - (cells.counts - 1) * least[0]])
    _warn_of_coarser_grid(told, protect.grid, f"{protect.table}.{protect.column}")
    values = fill(cells.units, cells.counts, sums, least, greatest)
    values.flags.writeable = False
    return values


def _outside(protect: Protect) -> PolicyError:
    return PolicyError(
        f"protect.minimum = {written(protect.minimum)}, protect.maximum = {written(protect.maximum)}: "
        f"some values of {protect.table}.{protect.column} lie outside; widen the domain so that it holds "
        "every value there may be"
    )


def _warn_of_coarser_grid(units: NDArray[np.int64], resolution: Fraction, place: str) -> None:
    coarser = int(np.gcd.reduce(units - units[0]))
    if coarser > 1 and len(np.unique(units)) > 2:
        warnings.warn(
            f"all values of {place} lie on a grid of {written(coarser * resolution)}, coarser than "
            f"protect.resolution = {written(resolution)}: an intruder who guesses that can exclude more than "
            "the gate assumes; set resolution to the data's own grid",
            CoarserGridWarning,
            stacklevel=2,
        )


def _standard(protect: Protect, limit: Limit, insiders: int) -> Standard:
    """What every record must keep.

    Raises:
        PolicyError: nothing could.
    """
    domain = protect.domain
    least = limit.least_run(domain)
    if least is None:
        raise PolicyError(
            "limit: even before any answer it is broken; take a larger risk, a smaller epsilon or "
            "min_entropy, or a wider domain"
        )

    def accepts(units: Ints) -> bool:
        return limit.keeps(*grid_candidates(_in_column_units(protect, units), domain), domain)

    floor = int((limit.least_span(domain) - 1) * protect.step / protect.grid)
    return Standard(int((least - 1) * protect.step / protect.grid), accepts, insiders, floor)


def _model_standard(policy: Policy, protect: Protect) -> ModelStandard | LikelyStandard | None:
    intruder, limit = policy.intruder, policy.limits_of(protect).limit
    model = intruder.candidates
    if model == "interval":
        return None
    if model == "posterior":
        from cae_sql.inference.posterior.judging import LikelyStandard

        return LikelyStandard(limit, protect.domain, intruder.baseline, intruder.insiders)
    from cae_sql.inference.posterior.judging import ModelStandard

    return ModelStandard(limit, protect.domain)
