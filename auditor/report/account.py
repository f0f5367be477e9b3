"""How a gate stands, for its owner: what was asked and told, who is near the limit, what would come next.

Promise: every figure is read off the ledger, or worked out from its answers and public data; of protected
values only `verify` reads any. The ledger is left as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from auditor.data.sources import source_of
from auditor.evaluation.words import limit_words
from auditor.gate.admin import classes_beyond
from auditor.ledger.places import place_of
from auditor.report.coming import Coming, coming
from cae_sql.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

    from auditor.data.sources import Given
    from auditor.gate.admin import Verification
    from auditor.gate.gate import Gate
    from auditor.gate.growth import Growth
    from auditor.gate.nearest import Nearest
    from auditor.ledger import Entry
    from auditor.policy.policy import Policy

NEAREST = 5
"""Classes nearest the limit."""
LOOKED_AT = 20
"""Classes that get a closer look for what is excluded."""

FATES = {
    "whole": "told in full",
    "part": "told in part, or as ends",
    "public": "about public data alone",
    "refused": "refused",
    "unsupported": "not understood",
    "check": "checked only",
    "edition": "new state of the data",
    "other": "otherwise",
}
"""What becomes of statements, in words."""


@dataclass(frozen=True)
class Statement:
    """An entry of the ledger."""

    number: int
    time: datetime
    user: str
    sql: str
    fate: str
    """A key of `FATES`."""
    code: str
    exact: int
    """Values that it told exactly and that were new."""
    ends: int
    """Those that it told as ends."""
    surprises: int
    held: float | None
    """The risk that the gate held after it, where it told something and that was worked out."""


@dataclass(frozen=True)
class Column:
    """A protected column."""

    table: str
    column: str
    unit: str
    """Whose rows they are; "": each row is a person."""
    limit: str
    """In words."""
    risk: float | None
    """The limit on risk, where there is one."""
    domain: str


@dataclass(frozen=True)
class Account:
    """Everything that the page says."""

    columns: Sequence[Column]
    statements: Sequence[Statement]
    held: float | None
    """The greatest risk of anybody that the gate holds."""
    classes: pd.DataFrame
    """As `Gate.risk`: what is excluded, by proof."""
    beyond: int
    """Classes that are proved to be beyond the limit."""
    nearest: Sequence[Nearest]
    growth: Sequence[Growth]
    verification: Verification
    edition: int
    ledger: str
    """Where it is."""
    policy: str
    """The policy's text."""
    digest: str
    coming: Coming


def account(
    gate: Gate,
    database: Given,
    text: str = "",
    ledger: str | None = None,
    told: Callable[[str, int, int], None] = lambda _, __, ___: None,
    foresee: bool = True,
) -> Account:
    """What an open gate has to say.

    Args:
        gate: On the owner's own ledger.
        database: Its source, opened once more to foresee.
        text: The policy's text, to be shown.
        ledger: Where the ledger is, if it is not where the policy says.
        told: Called with what is done, how far it is, and of how much.
        foresee: Whether to look at what would be refused next, which takes longest.
    """
    policy = gate.policy
    where = policy.ledger_location(source_of(database).beside) if ledger is None else ledger
    place = place_of(where)
    place.close()
    held, classes = gate.held(), gate.risk("interval", LOOKED_AT)
    try:
        near = gate.nearest(NEAREST)
    except InvalidInput:
        near = []
    growth = gate.growth(lambda done, of: told("telling the ledger again", done, of))
    busiest = str(growth[0].about.get("user", "")) if growth else ""
    foreseen = Coming([], why_none="What would be refused next was not looked at.")
    if foresee:
        looking = "looking at what would be refused next"
        foreseen = coming(database, policy, where, busiest, lambda done, of: told(looking, done, of))
    return Account(
        columns=[_column(policy, place) for place in range(len(policy.protects))],
        statements=[_statement(entry) for entry in gate.entries()],
        held=held,
        classes=classes,
        beyond=classes_beyond(classes, policy),
        nearest=[each for each in near if each.leverage > 0 or each.near > 0],
        growth=growth,
        verification=gate.verify(),
        edition=gate.edition,
        ledger=str(place),
        policy=text,
        digest=policy.protect_digest,
        coming=foreseen,
    )


def _column(policy: Policy, place: int) -> Column:
    protect = policy.protects[place]
    limits, domain = policy.limits_of(protect), protect.domain
    said = f"{float(protect.minimum):g} to {float(protect.maximum):g} in steps of {float(protect.step):g}"
    return Column(
        *(protect.table, protect.column, protect.unit or ""),
        limit_words(limits.limit),
        limits.risk,
        f"{said}: {domain.count:,} values",
    )


def _statement(entry: Entry) -> Statement:
    told = [answer for answer in entry.answers if answer.kind != "leak"]
    exact = sum(answer.ends.exact for answer in told)
    return Statement(
        number=entry.number,
        time=entry.time,
        user=entry.user,
        sql=entry.sql,
        fate=_fate(entry),
        code=entry.code,
        exact=exact,
        ends=len(told) - exact,
        surprises=entry.surprises,
        held=entry.risk_after if told and not entry.check else None,
    )


def _fate(entry: Entry) -> str:
    if entry.edition is not None:
        return "edition"
    if entry.check:
        return "check"
    if entry.verdict != "answered":
        return entry.verdict if entry.verdict in FATES else "other"
    codes = {"answered": "whole", "known": "whole", "partial": "part", "ends": "part"}
    return {**codes, "public": "public", "preview": "public"}.get(entry.code, "other")
