"""What administrators read: risk by class, history, and whether the ledger still agrees with the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from auditor.parties.statistics import query_of
from cae_sql.candidates import grid_candidates
from cae_sql.errors import InvalidInput
from cae_sql.inference.facts.query import Query
from cae_sql.inference.intervals.bounds import Bounds
from cae_sql.inference.posterior.figures import ModelRisks, model_risks
from cae_sql.inference.posterior.keeping import (
    LikelyKnowledge,
    LikelyRisks,
    LikelyStandard,
    risks_of_classes,
)
from cae_sql.inference.posterior.members import Baseline
from cae_sql.inference.search.runs import Runs
from cae_sql.risk import ClassRisks, Risk, class_risks, risk_of

if TYPE_CHECKING:
    from auditor.data.database import Database
    from auditor.ledger import Ledger
    from auditor.parties.column import ColumnKnowledge
    from auditor.parties.party import Knowledge

Candidates = Literal["interval", "posterior", "exact"]
"""How answers become beliefs in a report, whatever the gate decides by."""


@dataclass(frozen=True)
class Verification:
    """What a full check found."""

    entries: int
    """Entries of the ledger found good."""
    answers: int
    """Answers among them."""
    past: int
    """Of these, how many are about values of an earlier edition, which the data no longer have: the chain
    holds them, and nothing else was held against them."""
    problems: tuple[str, ...]
    """What is wrong, in plain words; empty where nothing is."""


def risk_of_classes(
    knowledge: Knowledge, database: Database, candidates: Candidates = "interval"
) -> pd.DataFrame:
    """One row per class of records that share what the intruder knows of them; see `Gate.risk`."""
    if candidates not in get_args(Candidates):
        names = ", ".join(f'"{name}"' for name in get_args(Candidates))
        raise InvalidInput(f"candidates must be one of {names}, not {candidates!r:.60}")
    classes = [classes_of(knowledge, database, place) for place in range(len(knowledge.columns))]
    frames = []
    for name, party in knowledge.parties():
        for known, (codes, shared) in zip(party.columns, classes, strict=True):
            if candidates == "interval":
                figures = _figures(known, codes)
            elif candidates == "posterior":
                figures = _likely(known, codes, knowledge.policy.intruder.baseline)
            else:
                figures = _counted(known, codes)
            frame = pd.concat([shared, figures], axis=1)
            if len(classes) > 1:
                _in_front(frame, "column", known.column.protect.column)
                _in_front(frame, "table", known.column.protect.table)
            if knowledge.policy.ledger.scope == "user":
                _in_front(frame, "user", name.removeprefix("user "))
            frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def classes_of(
    knowledge: Knowledge, database: Database, place: int
) -> tuple[NDArray[np.int64], pd.DataFrame]:
    """The class of each record of a protected column, and what the intruder knows of the classes.

    Records of earlier editions alone, whose public columns are not there any more, are a class without any.
    """
    codes, shared = database.classes(knowledge.known_columns[place], protected=place)
    codes = knowledge.columns[place].codes(codes, len(shared))
    if (codes == len(shared)).any():
        shared = shared.astype(object).reindex(range(len(shared) + 1))
    return codes, shared


def _in_front(frame: pd.DataFrame, name: str, value: str) -> None:
    """Insert a column, under another name where a public column has that one."""
    while name in frame.columns:
        name += "_"
    frame.insert(0, name, value)


def _figures(party: ColumnKnowledge, codes: NDArray[np.int64]) -> pd.DataFrame:
    runs = party.certified_runs()
    certified = party.system.certified() if runs is None else _as_bounds(party, runs)
    low, high = certified.lower, certified.upper
    like = party.column.like
    found = class_risks(
        codes, low[like], high[like], party.column.protect.domain, party.column.limits.epsilon,
        party.system.people,
    )  # fmt: skip
    frame = _frame(party, codes, found)
    for code, figures in [] if runs is None else _by_sets(party, runs, codes):
        at = np.nan if figures.entropy_at_epsilon is None else figures.entropy_at_epsilon
        frame.loc[code, ["initial_entropy", "entropy_at_epsilon", "area", "risk"]] = [
            figures.initial_entropy, at, figures.area, figures.risk,
        ]  # fmt: skip
    return frame


def _counted(party: ColumnKnowledge, codes: NDArray[np.int64]) -> pd.DataFrame:
    """What `exact` makes of the answers; intervals are beside it for what is excluded."""
    found = model_risks(party.system, codes, party.column.protect.domain, party.column.limits.epsilon)
    return _frame(party, codes, found).assign(worst_risk=found.worst_risk, estimated=found.estimated)


def _likely(party: ColumnKnowledge, codes: NDArray[np.int64], baseline: Baseline) -> pd.DataFrame:
    """What posteriors make of the answers, nobody being an insider; leverage beside it."""
    column, domain = party.column, party.column.protect.domain
    past = LikelyKnowledge(party.system, LikelyStandard(column.limits.limit, domain, baseline))
    found = risks_of_classes(past, codes, column.limits.epsilon)
    return _frame(party, codes, found).assign(
        worst_risk=found.worst_risk, leverage=found.leverage, estimated=found.estimated
    )


def _frame(
    party: ColumnKnowledge, codes: NDArray[np.int64], found: ClassRisks | ModelRisks | LikelyRisks
) -> pd.DataFrame:
    """Figures of classes, with the feasibility intervals of their records together."""
    bounds, count = party.system.bounds(), len(found.label)
    codes = codes[: party.system.size]
    lower, upper = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(lower, codes, bounds.lower)
    np.maximum.at(upper, codes, bounds.upper)
    at_epsilon = np.full(count, np.nan) if found.entropy_at_epsilon is None else found.entropy_at_epsilon
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


def _as_bounds(party: ColumnKnowledge, runs: Runs) -> Bounds:
    labels = runs.knowledge.atoms.labels[: party.system.size]  # without spare records
    low, high = (party.system.in_column_units(ends).astype(float)[labels] for ends in (runs.low, runs.high))
    return Bounds(low, high)


def _by_sets(party: ColumnKnowledge, runs: Runs, codes: NDArray[np.int64]) -> list[tuple[int, Risk]]:
    """The classes some of whose records have an exactly known set, with their figures."""
    known = np.isin(runs.knowledge.atoms.labels[: party.system.size], list(runs.exact))
    return [
        (code, _with_sets(party, runs, np.flatnonzero(codes == code)))
        for code in np.unique(codes[known]).tolist()
    ]


def _with_sets(party: ColumnKnowledge, runs: Runs, records: NDArray[np.int64]) -> Risk:
    """The figures of a class some of whose records have an exactly known set instead of a run."""
    domain = party.column.protect.domain
    mixture: dict[float, float] = {}
    for record in records.tolist():
        atom = int(runs.knowledge.atoms.labels[record])
        units = runs.exact.get(atom, np.arange(runs.low[atom], runs.high[atom] + 1))
        values, weights = grid_candidates(party.system.in_column_units(units), domain)
        for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
            mixture[value] = mixture.get(value, 0.0) + weight / len(records)
    return risk_of(list(mixture), list(mixture.values()), domain, party.column.limits.epsilon)


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
        "surprise",
        "risk_before",
        "risk_after",
    ]
    names = {"surprise": "surprises"}
    rows = [[getattr(entry, names.get(each, each)) for each in columns] for entry in ledger.entries()]
    return pd.DataFrame(rows, columns=columns)


def verify(ledger: Ledger, knowledge: Knowledge) -> Verification:
    """Go through the chain, and compute every answer again."""
    report = ledger.verify()
    problems = list(report.problems)
    systems, past = [column.new_system() for column in knowledge.columns], 0
    if not problems:
        for entry in ledger.entries():
            for place, answer in enumerate(entry.answers):
                if answer.kind == "leak":
                    continue
                position = knowledge.position(answer)
                if not knowledge.columns[position].knows(answer.records):
                    past += 1
                    continue
                system = systems[position]
                query: Query = query_of(answer, system)
                true = system.column_value(query, knowledge.truth(position, [query])[0])
                if not answer.ends.holds(true):
                    problems.append(f"entry {entry.number}, answer {place}: the data give another value now")
    return Verification(report.entries, report.answers, past, tuple(problems))
