"""From what the parties know to findings: located records with their certificates, classes, widths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import ceil, floor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from auditor.history.certificates import Prover, certificate, direct
from auditor.history.differences import Differences
from auditor.history.findings import (
    Certificate,
    ClassRisk,
    Finding,
    MadeLikely,
    PartyFindings,
)
from auditor.history.likely import made_likely
from auditor.history.parties import Party, PartyColumn
from auditor.history.risks import class_findings, in_column_units
from cae_sql.errors import OutOfTime
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.intervals.bounds import OneByOne, Solved
from cae_sql.inference.lookback.located_so_far import EXACT, LocatedSoFar
from cae_sql.inference.posterior.baselines import Baseline

Ints = NDArray[np.int64]
MOST_CELLS = 1_000_000
"""Atoms times answers up to which all intervals are worked out at the end; else those known already count."""


class Table:
    """What findings say about records of one protected column."""

    def __init__(self, keys: Sequence[str], codes: Ints, names: list[dict[str, str]]) -> None:
        self.keys, self.codes, self.names = keys, codes, names


def findings_of(
    party: Party, tables: Sequence[Table], differences: Sequence[Differences | None], stop: Callable[[], bool]
) -> tuple[list[Finding], int]:
    """The located records of a party, and for how many no certificate was found."""
    found: list[Finding] = []
    without = 0
    for part, table, pairs in zip(party.columns, tables, differences, strict=True):
        prover = Prover(part, pairs)
        for record in np.flatnonzero(part.located).tolist():
            finding = _finding(party, part, table, record, prover) if not stop() else None
            if finding is None:
                without += 1
            else:
                found.append(finding)
    return sorted(found, key=lambda each: (each.first.number, each.record)), without


def _finding(party: Party, part: PartyColumn, table: Table, record: int, prover: Prover) -> Finding | None:
    protect = part.column.protect
    first = part.cited[int(part.first[record])]
    exact = part.so_far.by_integers[record] == EXACT
    by_reals = int((part.exact_by_reals if exact else part.reals)[record])
    reals = part.cited[by_reals] if by_reals >= 0 else None
    key = table.keys[record] if table.keys else ""
    name = f"{protect.key} = {key}" if key else f"record {record}"
    row = part.direct.get(record)
    low = high = int(part.so_far.truth[record])
    kind = "exact"
    shown: Certificate
    if row is not None and row.cited.number <= first.number:
        kind, shown = "direct", direct(part, row, name)
    else:
        proved = prover.proved(record)
        if proved is None:
            return None
        claim, sources = proved
        low, high = claim.low, claim.high
        kind = "exact" if exact else "approximate"
        shown = certificate(part, claim, sources, name)
    ends = in_column_units(part.column, np.array([low, high]))
    return Finding(
        record, key, protect.table, protect.column, party.name, kind,  # type: ignore[arg-type]
        float(ends[0]), float(ends[1]), first, shown, reals,
    )  # fmt: skip


def party_findings(
    party: Party,
    tables: Sequence[Table],
    found: Sequence[Finding],
    baseline: Baseline,
    allowance: Allowance,
) -> tuple[PartyFindings, list[ClassRisk], list[MadeLikely]]:
    """How a party stands at the end; what was made likely, as far as that is known within an allowance."""
    widths: Counter[float] = Counter()
    classes: list[ClassRisk] = []
    likely: list[MadeLikely] = []
    greatest: list[float | None] = []
    beyond = unjudged = 0
    for part, table in zip(party.columns, tables, strict=True):
        low, high = remaining(part.so_far)
        ends = in_column_units(part.column, low), in_column_units(part.column, high)
        widths.update(np.round(ends[1] - ends[0], 9).tolist())
        classes += class_findings(party.name, part.column, low, high, table.codes, table.names)
        risk, count, unknown, named = made_likely(
            party.name, part, (low, high), table.keys, baseline, allowance
        )
        greatest.append(risk)
        beyond += count
        unjudged += int((unknown | part.so_far.open).sum())
        likely += named
    classes.sort(key=lambda each: -each.risk)
    standings = [part.so_far for part in party.columns]
    direct_ones = sum(each.kind == "direct" for each in found)
    return (
        PartyFindings(
            party=party.name,
            users=tuple(party.users),
            statements=party.statements,
            answers=sum(len(each.answers) for each in standings),
            located=sum(int((each.by_integers != 0).sum()) for each in standings),
            exact=sum(int((each.by_integers == EXACT).sum()) for each in standings),
            direct=direct_ones,
            open=unjudged,
            risk=max((each.risk for each in classes), default=0.0),
            widths=tuple(sorted(widths.items())),
            likely=beyond,
            likely_risk=None if None in greatest else max(filter(None, greatest), default=0.0),
        ),
        classes,
        likely,
    )


def remaining(so_far: LocatedSoFar) -> tuple[Ints, Ints]:
    """(n,) each, least and greatest value that is left, in units: by linear programs where feasible."""
    known = so_far.known
    low, high = so_far.low.copy(), so_far.high.copy()
    if known.count * max(1, len(known.matrix)) > MOST_CELLS or not so_far.answers:
        return low, high
    first = known.members[0][known.members[1][:-1]]
    wanted = np.flatnonzero(so_far.by_integers[first] != EXACT)
    # what is proved already makes the rest quicker
    solved = Solved(so_far.narrowed(), known.matrix @ known.totals(so_far.truth[None])[0])
    lower, upper = low[first], high[first]
    # programs go on from each other: quicker than points inside, which rows that were read leave no room
    programs = OneByOne(solved)
    try:
        for atom in wanted.tolist():
            # of a value between two grid values only the grid value inside can be
            least, most = programs.interval(atom)
            lower[atom], upper[atom] = ceil(least), floor(most)
    except OutOfTime:
        return low, high
    lower, upper = lower[known.atoms.labels], upper[known.atoms.labels]
    loose = ~so_far.fixed
    low[loose], high[loose] = np.maximum(low, lower)[loose], np.minimum(high, upper)[loose]
    return low, high


Located = TypeVar("Located", bound=Finding)


def for_party(found: Sequence[Located], name: str) -> list[Located]:
    """The same findings, of another party that knows the same."""
    return [replace(each, party=name) for each in found]
