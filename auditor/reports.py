"""What administrators read: risk by class, history, and whether the ledger still agrees with the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from cae_sql.inference.answers import Query
from cae_sql.risk import class_risks

if TYPE_CHECKING:
    from auditor.database import Database
    from auditor.knowledge import Knowledge, Party
    from auditor.ledger import Ledger
    from auditor.policy import Policy


@dataclass(frozen=True)
class Verification:
    """What a full check found."""

    entries: int
    """Entries of the ledger found good."""
    answers: int
    """Answers among them."""
    problems: tuple[str, ...]
    """What is wrong, in plain words; empty where nothing is."""


def risk_of_classes(knowledge: Knowledge, database: Database, policy: Policy) -> pd.DataFrame:
    """One row per class of records that share what the intruder knows of them; see `Gate.risk`."""
    codes, known = database.classes(policy.intruder.knows)
    frames = []
    for name, party in knowledge.parties.items():
        frame = pd.concat([known, _figures(party, codes, policy)], axis=1)
        if policy.ledger.scope == "user":
            frame.insert(0, "user", name.removeprefix("user "))
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def _figures(party: Party, codes: np.ndarray, policy: Policy) -> pd.DataFrame:
    limit = policy.limit
    bounds = party.system.bounds()
    runs = party.system.certified()
    epsilon = policy.limits.epsilon
    found = class_risks(codes, runs.lower, runs.upper, policy.domain, epsilon)
    count = int(codes.max()) + 1
    lower, upper = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(lower, codes, bounds.lower)
    np.maximum.at(upper, codes, bounds.upper)
    at_epsilon = found.entropy_at_epsilon if limit.epsilon is not None else np.full(count, np.nan)
    return pd.DataFrame(
        {
            "records": found.records,
            "lower": lower,
            "upper": upper,
            "initial_entropy": found.initial_entropy,
            "entropy_at_epsilon": at_epsilon,
            "area": found.area,
            "risk": found.risk,
        }
    )


def history(ledger: Ledger) -> pd.DataFrame:
    """Every entry of the ledger."""
    columns = [
        "number",
        "time",
        "user",
        "sql",
        "verdict",
        "code",
        "check",
        "leak",
        "risk_before",
        "risk_after",
    ]
    rows = [[getattr(entry, column) for column in columns] for entry in ledger.entries()]
    return pd.DataFrame(rows, columns=columns)


def verify(ledger: Ledger, knowledge: Knowledge) -> Verification:
    """Go through the chain, and compute every answer again."""
    report = ledger.verify()
    problems = list(report.problems)
    system = knowledge.new_system()
    if not problems:
        for entry in ledger.entries():
            for place, answer in enumerate(entry.answers):
                query: Query = system.query(answer.kind, answer.records, answer.signs)
                true = system.column_value(query, knowledge.truth([query])[0])
                if true != answer.value:
                    problems.append(f"entry {entry.number}, answer {place}: the data give another value now")
    return Verification(report.entries, report.answers, tuple(problems))
