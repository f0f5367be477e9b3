"""Who is nearest the limit: what is excluded of them and what is likely, side by side, and by which answers.

Promise: what is shown is worked out from the ledger's answers and public columns; no protected value is read.

Source: `mathematics.md`, 7.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from auditor.data.database import Database
from auditor.gate.admin import classes_of
from auditor.gate.by_unit import risks_of_units
from auditor.ledger import Entry
from auditor.likeliest import Likeliest, shortest_run
from auditor.parties.column import ColumnKnowledge
from auditor.parties.party import Knowledge
from cae_sql.inference.posterior.baselines import Baseline, posterior_risks
from cae_sql.inference.posterior.judging import LikelyKnowledge, LikelyStandard

if TYPE_CHECKING:
    import pandas as pd

FEW = 5
"""Answers that are named as those that carry what is likely."""


@dataclass(frozen=True)
class Nearest(Likeliest):
    """A class of records, by the one of them that is nearest the limit."""

    about: dict[str, object]
    """Its public values, and whose row it is where the policy has a unit; in front of them table and column
    where several are protected, and the user where each has a ledger of their own."""
    records: int
    """How many are in the class."""
    carried_by: tuple[int, ...]
    """Entries of the ledger whose answers have most of that leverage."""
    unit_risk: float | None = None
    """The risk of all rows together of the person whose record it is; None where it is the only one."""
    limit: float | None = None
    """The greatest risk that the policy allows; None where it limits something else."""
    shares: tuple[tuple[int, float], ...] = ()
    """How much of the leverage each of those entries adds to those before it, the greatest first."""

    @property
    def words(self) -> str:
        """In plain words."""
        found = self.said(self.carried_by)
        return found if self.unit_risk is None else f"{found}; of all rows together risk {self.unit_risk:.3f}"

    @property
    def near(self) -> float:
        """How near the limit, by the record or by all rows of its person."""
        return self.risk if self.unit_risk is None else max(self.risk, self.unit_risk)

    @property
    def spent(self) -> float | None:
        """How much of the limit is spent, 1: all; None where risk is not limited."""
        return self.near / self.limit if self.limit else None


def nearest(knowledge: Knowledge, database: Database, entries: Iterable[Entry], count: int) -> list[Nearest]:
    """The classes of whom most is likely, those nearest the limit first.

    Args:
        knowledge: Of the gate.
        database: The public instance.
        entries: The ledger's, in order.
        count: How many classes.

    Raises:
        InvalidInput: too many groups of records and values to hold.
    """
    asked: dict[tuple[str, int], list[int]] = {}
    """By party and protected column, the entries of its answers, in the order in which they are known."""
    for entry in entries:
        for answer in entry.answers:
            if answer.tells:
                whose = knowledge.party(entry.user), knowledge.position(answer)
                asked.setdefault(whose, []).append(entry.number)
    found = list[Nearest]()
    for name, party in knowledge.reported():
        for place, known in enumerate(party.columns):
            codes, shared = classes_of(knowledge, database, place)
            about = about_of(knowledge, name, known)
            baseline = knowledge.policy.intruder.baseline
            numbers = asked.get((name, place), [])
            found += _of_column(known, codes, shared, numbers, about, baseline, count)
    return sorted(found, key=lambda each: -each.near)[:count]


def about_of(knowledge: Knowledge, party: str, known: ColumnKnowledge) -> dict[str, object]:
    """Table and column where several are protected, and the user where each has a ledger of their own."""
    about: dict[str, object] = {}
    if knowledge.policy.ledger.scope == "user":
        about["user"] = party.removeprefix("user ")
    if len(knowledge.columns) > 1:
        protect = known.column.protect
        about |= {"table": protect.table, "column": protect.column}
    return about


def risks_of_records(
    known: ColumnKnowledge, past: LikelyKnowledge
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(n,) each: the risk of every record, and that of all rows together of the person whose it is.

    The latter is −∞ where it is the only one. Nobody is an insider.

    Raises:
        InvalidInput: too many groups of records and values to hold.
    """
    likely, of_person = past.likely, known.column.whose
    likely.tilt.windows.check_rows(likely.known.count)
    labels = likely.known.atoms.labels[: known.system.size]
    risks = posterior_risks(likely, past.standard.domain, past.standard.baseline).risk[labels]
    of_units = np.zeros(0) if of_person is None else risks_of_units(past)
    return risks, of_units[of_person] if len(of_units) else np.full(len(risks), -np.inf)


def _of_column(
    known: ColumnKnowledge,
    codes: NDArray[np.int64],
    shared: pd.DataFrame,
    numbers: list[int],
    about: dict[str, object],
    baseline: Baseline,
    count: int,
) -> list[Nearest]:
    system, domain = known.system, known.column.protect.domain
    standard = LikelyStandard(known.column.limits.limit, domain, baseline)
    past = LikelyKnowledge(system, standard)
    risks, together = risks_of_records(known, past)
    likely = past.likely
    labels = likely.known.atoms.labels[: system.size]
    near = np.maximum(risks, together)
    # the worst record of each class, the first of equals
    order = np.lexsort((np.arange(len(risks)), -near.round(12)))
    first = order[np.unique(codes[order], return_index=True)[1]]
    worst = first[np.argsort(-near[first], kind="stable")][:count]
    standing, sizes = known.standing(), np.bincount(codes, weights=system.people)
    standing.look(worst)
    found = []
    for record in worst.tolist():
        lower, upper = float(standing.low[record]), float(standing.high[record])
        shown = int((upper - lower) / float(domain.step)) + 1 if upper >= lower else 0
        if shown < 2 and standing.lower[record] < standing.upper[record]:
            # too little is shown to speak of it: what is not excluded then stands there
            lower, upper, shown = float(standing.lower[record]), float(standing.upper[record]), 0
        low, high = shortest_run(likely.rows[labels[record]])
        values = likely.tilt.windows.values
        carried = system.carried_by(record, most=FEW) if len(numbers) == len(system.answers) else []
        found.append(
            Nearest(
                about=about | _unit(known, record) | shared.iloc[codes[record]].to_dict(),
                records=int(sizes[codes[record]]),
                possible=shown,
                lower=lower,
                upper=upper,
                likely_lower=float(values[low]),
                likely_upper=float(values[high]),
                risk=float(risks[record]),
                leverage=float(likely.leverage[labels[record]]),
                carried_by=tuple(sorted({numbers[number] for number, _ in carried})),
                carried=carried[-1][1] if carried else 0.0,
                unit_risk=float(together[record]) if together[record] > -np.inf else None,
                limit=known.column.limits.risk,
                shares=_shares(numbers, carried),
            )
        )
    return found


def _shares(numbers: Sequence[int], carried: Sequence[tuple[int, float]]) -> tuple[tuple[int, float], ...]:
    """What each entry adds, of answers with the leverage by each and those before it."""
    found, before = dict[int, float](), 0.0
    for number, leverage in carried:
        found[numbers[number]] = found.get(numbers[number], 0.0) + leverage - before
        before = leverage
    return tuple(sorted(found.items(), key=lambda each: -each[1]))


def _unit(known: ColumnKnowledge, record: int) -> dict[str, object]:
    """Whose row it is, where the policy has a unit and that row has one with a name."""
    name = known.column.called(record)
    return {} if name is None else {(known.column.protect.unit or "").rpartition(".")[2]: name}
