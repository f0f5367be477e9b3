"""Located totals of units as findings: whose, what is left of them, since when, and which answers prove it.

Promise: a total is called by its unit's name, "patient 7's total". It is located as a record is, and has to
keep as many times more as it has rows. Of a unit's other sums, and of what answers make likely of totals,
nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from auditor.history.certificates import certificate
from auditor.history.differences import Differences
from auditor.history.findings import TotalFinding
from auditor.history.outcome import Table
from auditor.history.parties import Party, PartyColumn, Source, query_of
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.intervals.irreducible import Proved
from cae_sql.inference.lookback.located_so_far import EXACT
from cae_sql.inference.lookback.totals import LocatedTotal, Total, Totals

STEPS = 2 * 10**9
"""For integer programs about the totals of all parties together, about twenty seconds."""

SHOWN = 5
"""Rows that are named of a sum over some of them."""


@dataclass
class TotalsFound:
    """What was found of one party's totals."""

    findings: list[TotalFinding] = field(default_factory=list)
    located: int = 0
    open: int = 0
    """Totals that are not judged."""


def totals_of(
    party: Party,
    tables: Sequence[Table],
    differences: Sequence[Differences | None],
    allowance: Allowance,
    stop: Callable[[], bool],
) -> TotalsFound:
    """The located totals of a party; without a unit there are none.

    Args:
        party: Who knows.
        tables: By column, what rows are called.
        differences: By column, of all that was told: two answers often do what many do.
        allowance: For integer programs.
        stop: Whether to end: what is not looked at then is open.
    """
    found = TotalsFound()
    for part, table, pairs in zip(party.columns, tables, differences, strict=True):
        if part.column.whose is None or not part.so_far.answers:
            continue
        totals = Totals(part.so_far, part.column.whose, allowance)
        digits = {number for number, source in enumerate(part.sources) if source.fact.digits}
        for each in totals.located(stop):
            found.located += 1
            proved = _of_two(part, totals, each.total, pairs) if each.state == EXACT else None
            if proved is None and not stop():
                # all that the statement told may prove it
                proof = totals.proved(replace(each, since=part.counts[_place(part, each.since)]), digits)
                proved = None if proof is None else (proof, [part.sources[n] for n in proof.numbers])
            if proved is not None:
                found.findings.append(_finding(party.name, part, table, each, *proved))
        found.open += totals.open
    found.findings.sort(key=lambda each: (each.first.number, not each.whole, each.rows))
    return found


def _finding(
    party: str, part: PartyColumn, table: Table, each: LocatedTotal, proof: Proved, sources: Sequence[Source]
) -> TotalFinding:
    total, protect, count = each.total, part.column.protect, len(each.total.records)
    called, rows = part.column.called(int(total.records[0])), _rows(table, total)
    unit = "" if called is None else str(called)
    name = f"{protect.unit} {unit}".rstrip()
    last = max((source.cited.number for source in sources), default=0)
    first = part.cited[_place(part, each.first)]
    if last < first.number:  # its proof is complete before it was looked for
        first = next(source.cited for source in sources if source.cited.number == last)
    low, high = (float(protect.minimum * count + protect.grid * end) for end in (proof.low, proof.high))
    return TotalFinding(
        record=int(total.records[0]),
        key=f"{name}'s total{rows}",
        table=protect.table,
        column=protect.column,
        party=party,
        kind="exact" if each.state == EXACT else "approximate",
        lower=low,
        upper=high,
        first=first,
        certificate=certificate(part, proof, sources, f"{name}'s total of {protect.column}{rows}", count),
        unit=unit,
        rows=tuple(total.records.tolist()),
        whole=total.whole,
    )


def _place(part: PartyColumn, answers: int) -> int:
    """The place among a party's statements of the one after which so many answers were known."""
    return min(int(np.searchsorted(part.counts, answers)), len(part.counts) - 1)


def _rows(table: Table, total: Total) -> str:
    """Over which of a unit's rows a sum is; empty where it is over all of them."""
    if total.whole:
        return ""
    records = total.records.tolist()
    called = [table.keys[record] if table.keys else str(record) for record in records[:SHOWN]]
    more = ", …" if len(records) > SHOWN else ""
    return f" over {len(records)} of {total.of} rows ({', '.join(called)}{more})"


def _of_two(
    part: PartyColumn, totals: Totals, total: Total, pairs: Differences | None
) -> tuple[Proved, list[Source]] | None:
    """Two answers that differ by these rows alone."""
    pair = None if pairs is None else pairs.of(total.records)
    if pair is None:
        return None
    truth = part.so_far.truth
    queries = [query_of(source.fact) for source in pair]
    proof = totals.added_up(total, [query.answered(int(query.of(truth))) for query in queries])
    return None if proof is None else (proof, list(pair))
