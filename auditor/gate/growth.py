"""How risk grew: the ledger's answers told again, one after the other, and what they come to by class.

Promise: what is shown is worked out from the ledger's answers and public columns; no protected value is read,
nothing is decided and nothing recorded. Nobody is an insider. Of a long ledger some moments are looked at,
evenly spread over its answers, the last one among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from auditor.data.database import Database
from auditor.gate.admin import classes_of
from auditor.gate.nearest import about_of, risks_of_records
from auditor.ledger import Entry
from auditor.parties.column import ColumnKnowledge
from auditor.parties.party import Knowledge, Party
from cae_sql.errors import InvalidInput
from cae_sql.inference.posterior.judging import LikelyKnowledge, LikelyStandard
from cae_sql.risk import class_risks

if TYPE_CHECKING:
    import pandas as pd

    from cae_sql.warming import Progress

MOMENTS = 30
"""Moments that are looked at. On the census day, of 2,435 persons, each takes a tenth of a second to half of
one."""


@dataclass(frozen=True)
class Look:
    """How a column stood after an entry of the ledger. Arrays: one figure for each class."""

    entry: int
    """Its number."""
    excluded: NDArray[np.float64]
    """1 − A/A_prior of what single sums and extremes do not exclude: at least so high is the risk."""
    likely: NDArray[np.float64] | None
    """The greatest 1 − A/A_baseline of the posterior of somebody in the class, or of all rows together of a
    person who has one in it; None where there are too many groups of records and values to look at."""


@dataclass(frozen=True)
class Growth:
    """Of one protected column, for one party."""

    about: dict[str, object]
    """Table and column where several are protected, and the user where each has a ledger of their own."""
    shared: pd.DataFrame
    """What the intruder knows of each class."""
    records: NDArray[np.int64]
    """(c,) how many are in each."""
    entries: int
    """Entries of the ledger with answers about it."""
    looks: tuple[Look, ...]

    @property
    def worst(self) -> NDArray[np.float64]:
        """(c,) at the end, the greater of what is excluded and what is made likely."""
        if not self.looks:
            return np.zeros(len(self.records))
        return of_classes(self.looks[-1])


def of_classes(look: Look) -> NDArray[np.float64]:
    """(c,) the greater of what is excluded and what is made likely."""
    return look.excluded if look.likely is None else np.maximum(look.excluded, look.likely)


def growth(
    knowledge: Knowledge, database: Database, entries: Iterable[Entry], told: Progress = lambda _, __: None
) -> list[Growth]:
    """How risk grew, for each party and protected column, those nearest to disclosure first.

    Args:
        knowledge: Of the gate.
        database: The public instance.
        entries: The ledger's, in order.
        told: Called with how many looks are done, and of how many.
    """
    heard: dict[str, list[Entry]] = {}
    for entry in entries:
        if any(answer.kind != "leak" for answer in entry.answers):
            heard.setdefault(knowledge.party(entry.user), []).append(entry)
    done, of = 0, sum(len(moments(len(each))) for each in heard.values())
    classes = [classes_of(knowledge, database, place) for place in range(len(knowledge.columns))]
    found = list[Growth]()
    for name, taught in heard.items():
        looks = [list[Look]() for _ in classes]
        for party, number in _told_again(knowledge, taught):
            for known, (codes, shared), mine in zip(party.columns, classes, looks, strict=True):
                mine.append(_look(knowledge, known, codes, len(shared), number))
            done += 1
            told(done, of)
        for place, (known, (codes, shared)) in enumerate(zip(party.columns, classes, strict=True)):
            sizes = np.bincount(codes, known.system.people, len(shared)).astype(np.int64)
            count = sum(
                any(knowledge.position(answer) == place for answer in each.answers) for each in taught
            )
            found.append(Growth(about_of(knowledge, name, known), shared, sizes, count, tuple(looks[place])))
    return sorted(found, key=lambda each: -float(each.worst.max(initial=0.0)))


def _told_again(knowledge: Knowledge, taught: Sequence[Entry]) -> Iterator[tuple[Party, int]]:
    """Somebody who hears the answers of some entries, with the number of each after which to look."""
    party, wanted = Party(knowledge), set(moments(len(taught)))
    for place, entry in enumerate(taught):
        party.hear(entry)
        if place in wanted:
            party.catch_up(range(len(party.columns)), entry.number)
            yield party, entry.number


def moments(count: int) -> Sequence[int]:
    """Places of the answers after which it is looked at, of so many.

    >>> moments(3), len(moments(1000)), moments(1000)[-1]
    ([0, 1, 2], 30, 999)
    """
    if count <= MOMENTS:
        return list(range(count))
    return [round(each * (count - 1) / (MOMENTS - 1)) for each in range(MOMENTS)]


def _look(
    knowledge: Knowledge, known: ColumnKnowledge, codes: NDArray[np.int64], count: int, entry: int
) -> Look:
    column, system = known.column, known.system
    outer, like = system.bounds_by_single_sums(), column.like
    found = class_risks(
        codes, outer.lower[like], outer.upper[like], column.protect.domain, None, system.people
    )
    excluded = np.zeros(count)
    excluded[found.label] = found.risk
    standard = LikelyStandard(column.limits.limit, column.protect.domain, knowledge.policy.intruder.baseline)
    try:
        risks, together = risks_of_records(known, LikelyKnowledge(system, standard))
    except InvalidInput:
        return Look(entry, excluded, None)
    likely = np.zeros(count)
    np.maximum.at(likely, codes, np.maximum(risks, together))
    return Look(entry, excluded, likely)
