"""What a gate finds when it is opened: past answers that the limit may not allow now, and what is published.

Promise: warnings hang on what is on record and on the policy; no true value is looked at. Nothing is
recorded.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from auditor.errors import EarlierAnswersWarning, PolicyError, QueryRefused, QueryUnsupported
from auditor.gate import verdict
from auditor.ledger import Entry
from auditor.parties.column import ColumnKnowledge
from auditor.parties.party import Knowledge
from auditor.policy.policy import Policy

PUBLISHER = "published"
"""The user by whom statements that the policy calls published are recorded."""


def warn_of_fewer_insiders(knowledge: Knowledge, policy: Policy, before: int) -> None:
    """Say so if what was answered with fewer insiders is not shown to keep the limit now.

    Args:
        knowledge: What is known.
        policy: The rules.
        before: How many insiders the ledger was begun with.
    """
    if all(column.keeps_limit() for column in _answered(knowledge)):
        return
    warnings.warn(
        f"the ledger was begun with insiders = {before}, and its answers are not shown to keep the "
        f"limit with {policy.intruder.insiders}: they stay known, and nothing new is answered as "
        "long as somebody is not shown to keep it",
        EarlierAnswersWarning,
        stacklevel=3,
    )


def warn_of_candidates(knowledge: Knowledge, policy: Policy) -> None:
    """Say so if what was answered is not shown to keep the limit under the candidate model."""
    if all(column.keeps_model() for column in _answered(knowledge)):
        return
    warnings.warn(
        f"the ledger's answers are not shown to keep the limit under candidates = "
        f'"{policy.intruder.candidates}": they stay known, and nothing new is answered as long as '
        "somebody is not shown to keep it",
        EarlierAnswersWarning,
        stacklevel=4,
    )


def _answered(knowledge: Knowledge) -> list[ColumnKnowledge]:
    """Columns of the parties that were told something."""
    parties = list(knowledge.parties())
    return [column for _, party in parties if party.learned for column in party.columns]


def not_asked(policy: Policy, edition: int, entries: Iterable[Entry]) -> list[str]:
    """What the policy calls published and has not been asked of this edition, whatever became of it.

    Args:
        policy: The rules.
        edition: Which edition of the data it is.
        entries: All that is on record; read if something is published.
    """
    if not policy.intruder.published:
        return []
    asked = set[str]()
    for entry in entries:
        if entry.edition is not None:
            asked.clear()  # what everybody knows of these data was not told of those before
        elif entry.check or entry.zone != "UTC":
            continue
        elif entry.code in verdict.WHOLE or (edition > 1 and entry.user == PUBLISHER):
            asked.add(entry.sql)
    return [sql for sql in policy.intruder.published if sql not in asked]


def not_known(sql: str, error: QueryRefused | QueryUnsupported) -> PolicyError:
    """The error that says why something cannot be called published."""
    return PolicyError(
        f"intruder.published: {sql!r} cannot be taken as known: {error.decision.message} "
        "Leave it out, or take a wider limit"
    )
