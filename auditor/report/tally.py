"""What the findings come to, counted once for each record whoever located it.

Promise: a record that several parties have located counts once, under the gravest kind and the earliest
statement. Numbers are those of `Findings`, nothing is inferred anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from auditor.history.findings import Cited, Finding, Findings, Kind, PartyFindings
from auditor.report.figures import one_clock

GRAVITY: dict[Kind, int] = {"direct": 0, "exact": 1, "approximate": 2}
"""How grave a disclosure is; less is graver."""

Record = tuple[str, str, int]
"""Table, column, number."""


@dataclass(frozen=True)
class Tally:
    """Counts over all parties."""

    records: int
    """Records of the protected column, of which anything is told at all."""
    located: int
    direct: int
    """Of the located ones, those whose row was read."""
    exact: int
    """Those with one value left."""
    approximate: int
    """The others."""
    likely: int
    """Records that nobody has located, and of which the answers make too much likely for somebody; where too
    many are to be named, of the party with most."""
    pooled: int
    """Those that no single user has located, only users together."""
    open: int
    """Records that one party or another could not be judged about; of the party with most."""
    units: int
    """Units of which a total is located: that of all their rows, or of some."""
    totals_open: int
    """Totals that one party or another could not be judged about; of the party with most."""
    unproved: int
    """Records and totals that a party is said to have located and no finding shows; of that with most."""
    unmodelled: int
    """Statements."""
    first: Finding | None
    last: Finding | None


def tally(found: Findings) -> Tally:
    """Count them."""
    gravest: dict[Record, Kind] = {}
    singly: set[Record] = set()
    for finding in found.findings:
        record = (finding.table, finding.column, finding.record)
        if record not in gravest or GRAVITY[finding.kind] < GRAVITY[gravest[record]]:
            gravest[record] = finding.kind
        if finding.party.startswith("user "):
            singly.add(record)
    kinds = list(gravest.values())
    likely = {(one.table, one.column, one.record) for one in found.likely} - gravest.keys()
    everything = every(found)
    shown = Counter(finding.party for finding in everything)
    ordered = in_time(everything)
    return Tally(
        records=max((_records(party) for party in found.parties), default=0),
        located=len(gravest),
        direct=kinds.count("direct"),
        exact=kinds.count("exact"),
        approximate=kinds.count("approximate"),
        likely=max(len(likely), max((party.likely for party in found.parties), default=0)) if likely else 0,
        pooled=len(gravest.keys() - singly) if singly or len(found.parties) > 1 else 0,
        open=max((party.open for party in found.parties), default=0),
        units=len({(one.table, one.column, one.unit) for one in found.totals}),
        totals_open=max((party.totals_open for party in found.parties), default=0),
        unproved=max((each.located + each.totals - shown[each.party] for each in found.parties), default=0),
        unmodelled=sum(one.count for one in found.unmodelled),
        first=ordered[0] if ordered else None,
        last=ordered[-1] if ordered else None,
    )


def every(found: Findings) -> list[Finding]:
    """Located records, then located totals."""
    return [*found.findings, *found.totals]


def in_time(findings: Sequence[Finding]) -> list[Finding]:
    """By the time of the statement that located, where all have one; else by its number."""
    firsts: list[Cited] = [finding.first for finding in findings]
    if one_clock([first.time for first in firsts]):
        return sorted(findings, key=lambda finding: (finding.first.time, finding.first.number))
    return sorted(findings, key=lambda finding: finding.first.number)


def by_gravity(findings: Sequence[Finding]) -> list[Finding]:
    """The gravest first, of these the earliest."""
    return sorted(in_time(findings), key=lambda finding: GRAVITY[finding.kind])


def chosen(findings: Sequence[Finding], most: int) -> list[Finding]:
    """At most so many, the gravest first, of each party and kind in turn the earliest.

    So one statement that read every row does not push out what others worked out.
    """
    ordered = by_gravity(findings)
    if len(ordered) <= most:
        return ordered
    met: Counter[tuple[str, Kind]] = Counter()
    turns = []
    for place, finding in enumerate(ordered):
        group = (finding.party, finding.kind)
        turns.append((met[group], place))
        met[group] += 1
    return [ordered[place] for place in sorted(place for _, place in sorted(turns)[:most])]


def first_of(findings: Sequence[Finding], party: str) -> Finding | None:
    """The first that a party located."""
    return next(iter(in_time([finding for finding in findings if finding.party == party])), None)


def leading(found: Findings) -> list[PartyFindings]:
    """Parties, those that learned most first; everyone together before all."""
    return sorted(
        found.parties, key=lambda p: (p.party != "everyone", -p.located, -p.totals, -p.risk, p.party)
    )


def _records(party: PartyFindings) -> int:
    return sum(count for _, count in party.widths)
