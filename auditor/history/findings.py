"""What an audit has found, as values: parties, findings, certificates, the risk over time.

The schema of the report and of `--json`. Whoever makes them promises: a finding of kind "exact" or
"approximate" carries a certificate that somebody else can check; what could not be modelled is counted in
`Findings.unmodelled`, never left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Literal

from auditor.likeliest import Likeliest

Kind = Literal["direct", "exact", "approximate"]
"""How a record was disclosed: its row was read; one value remains; less remains than the limit demands."""
Proof = Literal["direct", "reals", "integers"]
"""What it takes to see it: reading; linear programs over the reals; the grid of values or the attained
extremes (no other table agrees)."""


@dataclass(frozen=True)
class Cited:
    """One logged statement that something rests on."""

    number: int
    """`Logged.number`."""
    time: datetime | None
    user: str
    sql: str
    source: str


@dataclass(frozen=True)
class Term:
    """One answer in a certificate."""

    statement: Cited
    """The statement that gave it."""
    name: str
    """How the certificate's sentence and equation call it: "A1", …"""
    kind: Literal["sum", "max", "min", "row"]
    """What the answer is."""
    records: int
    """How many records it is about."""
    value: Fraction
    """In units of the column."""
    multiplier: Fraction | None
    """In the sum that proves the bound; None where integers or an attained extreme are the proof."""
    sql: str
    """A query that gives this one answer again on the database as it is."""


@dataclass(frozen=True)
class Certificate:
    """Why a record cannot have other values: drop any one answer and the proof is gone."""

    proof: Proof
    terms: Sequence[Term]
    sentence: str
    """In plain words."""
    equation: str
    """With the answers' names."""
    sql: str
    """Recomputes the bound, or the value, from the answers alone; "" where only an integer program can."""


@dataclass(frozen=True)
class Finding:
    """One record that one party has located."""

    record: int
    """Its number in the protected table, from 0."""
    key: str
    """What the policy's key column calls it; "" without a key."""
    table: str
    column: str
    party: str
    """Who: "user anna", "group x", "everyone"."""
    kind: Kind
    lower: float
    upper: float
    """What remains possible, in units of the column."""
    first: Cited
    """The statement with which it was first beyond the limit."""
    certificate: Certificate
    by_reals: Cited | None = None
    """The statement after which linear programs show it too; None where only the grid ever does."""


@dataclass(frozen=True)
class TotalFinding(Finding):
    """A sum over several rows of one unit that one party has located, its total above all.

    `key` says whose it is in words, "patient 7's total"; `record` is the first of its rows.
    """

    unit: str = ""
    """Whose: the value of the policy's unit column."""
    rows: tuple[int, ...] = ()
    """Numbers of the rows, ascending."""
    whole: bool = True
    """Whether these are all that the unit has."""


@dataclass(frozen=True)
class MadeLikely(Likeliest):
    """One record of which answers make too much likely for one party, though they do not exclude too much."""

    record: int
    """Its number in the protected table, from 0."""
    key: str
    """What the policy's key column calls it; "" without a key."""
    table: str
    column: str
    party: str
    first: Cited
    """The statement since which its posterior is beyond the limit."""
    carried_by: Sequence[Cited]
    """The few statements that have most of the leverage; none where an extreme or an end makes it likely."""


@dataclass(frozen=True)
class Moment:
    """How a party stood after a statement that taught it something."""

    statement: int
    """`Logged.number`."""
    time: datetime | None
    party: str
    answers: int
    """Independent answers known by then."""
    located: int
    """Records beyond the limit, shown by a certificate or direct."""
    exact: int
    """Of these, those with one value left."""
    open: int
    """Records neither shown to be located nor shown to keep the limit, with the work that was allowed."""
    risk: float
    """Worst class: 1 − A/A_prior over what intervals leave."""


@dataclass(frozen=True)
class ClassRisk:
    """Records that share what the intruder knows, at the end."""

    party: str
    known: Mapping[str, str]
    """The public values they share."""
    records: int
    lower: float
    upper: float
    initial_entropy: float
    """Bits."""
    area: float
    """Bits × units."""
    risk: float
    beyond: bool
    """Whether the policy's limit is broken."""
    curve: Sequence[tuple[float, float]] = ()
    """(ε, H(ε)); only for the worst."""


@dataclass(frozen=True)
class Unmodelled:
    """Statements that told something about the protected column which is not modelled."""

    kind: str
    """"MEDIAN", "condition on the protected column", …"""
    count: int
    """Statements in the log, repetitions included."""
    reason: str
    examples: Sequence[Cited]


@dataclass(frozen=True)
class GateView:
    """What a gate with this policy would have done with the log."""

    answered: int
    refused: int
    unsupported: int
    """Statements, repetitions included; those about public data alone are in none of them."""
    first_refused: Cited | None


@dataclass(frozen=True)
class PartyFindings:
    """How one party stands at the end."""

    party: str
    users: Sequence[str]
    statements: int
    """Answered ones about the protected column."""
    answers: int
    """Independent answers that they amount to."""
    located: int
    exact: int
    direct: int
    open: int
    """Records that are not judged: by what answers exclude, or by what they make likely."""
    risk: float
    """Worst class: 1 − A/A_prior over what intervals leave, so of what is excluded."""
    widths: Sequence[tuple[float, int]]
    """(width of the interval that remains, records), ascending."""
    gate: GateView | None = None
    likely: int = 0
    """Records that are not located, and of which the answers make too much likely."""
    likely_risk: float | None = None
    """The greatest 1 − A / A_baseline of a record's posterior; None where it is not known."""
    totals: int = 0
    """Sums over several rows of a unit that are located, where the policy names a unit."""
    totals_open: int = 0
    """Those that are not judged."""


@dataclass(frozen=True)
class Findings:
    """Everything."""

    findings: Sequence[Finding]
    parties: Sequence[PartyFindings]
    timeline: Sequence[Moment]
    classes: Sequence[ClassRisk]
    """Worst first, some for each party."""
    prior_curve: Sequence[tuple[float, float]]
    """(ε, H(ε)) of the uninformed intruder."""
    prior_width: float
    """Width of the domain."""
    unmodelled: Sequence[Unmodelled]
    kinds: Mapping[str, int]
    """Statements by what became of them: "SUM", "GROUP BY", "public", "failed", "row-level", …"""
    reading: Mapping[str, object]
    """Of the logs: files, entries, statements, broken lines with examples, first and last time."""
    policy: str
    """The policy's text, or what says the same."""
    policy_digest: str
    fingerprint: str
    """Of the data the log was replayed over."""
    likely: Sequence[MadeLikely] = ()
    """Of each party the worst first, `auditor.history.likely.NAMED` at most."""
    totals: Sequence[TotalFinding] = ()
    """Located totals of units, where the policy names a unit."""
    unit: str = ""
    """The column that the policy says whose rows they are by; "" where every row is protected by itself."""
    partial: str = ""
    """Why it is not complete, and how far it came; "" where it is."""
    seconds: float = 0.0
