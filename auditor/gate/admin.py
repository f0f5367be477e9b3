"""What administrators read: risk by class, history, and whether the ledger still agrees with the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from auditor.gate.by_unit import risks_of_units
from auditor.parties.statistics import query_of
from cae_sql.candidates import candidates as candidates_of
from cae_sql.candidates import grid_candidates, spans
from cae_sql.errors import InvalidInput
from cae_sql.inference.facts.query import Query
from cae_sql.inference.posterior.baselines import Baseline
from cae_sql.inference.posterior.judging import LikelyKnowledge, LikelyStandard
from cae_sql.inference.posterior.marginals import ModelRisks, model_risks, risks_of_classes
from cae_sql.risk import ClassRisks, Risk, class_risks, risk_of

if TYPE_CHECKING:
    from auditor.data.database import Database
    from auditor.ledger import Ledger
    from auditor.parties.column import ColumnKnowledge
    from auditor.parties.party import Knowledge
    from auditor.parties.standing import Standing, Told
    from auditor.policy.policy import Policy

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
    knowledge: Knowledge,
    database: Database,
    candidates: Candidates = "interval",
    top: int | None = None,
    told: Told = lambda _, __: None,
) -> pd.DataFrame:
    """One row per class of records that share what the intruder knows of them; see `Gate.risk`."""
    if candidates not in get_args(Candidates):
        names = ", ".join(f'"{name}"' for name in get_args(Candidates))
        raise InvalidInput(f"candidates must be one of {names}, not {candidates!r:.60}")
    classes = [classes_of(knowledge, database, place) for place in range(len(knowledge.columns))]
    frames = []
    for name, party in knowledge.reported():
        for known, (codes, shared) in zip(party.columns, classes, strict=True):
            _look(known, codes, top, told)
            if candidates == "interval":
                figures = _figures(known, codes, party.risk_held())
            elif candidates == "posterior":
                figures = _likely(known, codes, knowledge.policy.intruder.baseline)
            else:
                figures = _counted(known, codes)
            if known.column.whose is not None:
                figures.insert(1, "units", _units(known.column.whose, codes, len(figures)))
            frame = pd.concat([shared, figures], axis=1)
            if len(classes) > 1:
                _in_front(frame, "column", known.column.protect.column)
                _in_front(frame, "table", known.column.protect.table)
            if knowledge.policy.ledger.scope == "user":
                _in_front(frame, "user", name.removeprefix("user "))
            frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def classes_beyond(frame: pd.DataFrame, policy: Policy) -> int:
    """How many classes of `risk_of_classes` break the limit, judged as the gate judges."""
    limits = {(each.table, each.column): policy.limits_of(each).limit for each in policy.protects}
    only = next(iter(limits.values()))
    count = 0
    for row in frame.to_dict("records"):
        limit = only if len(limits) == 1 else limits[row["table"], row["column"]]
        at_epsilon = row["entropy_at_epsilon"] if limit.epsilon is not None else None
        figures = Risk(row["initial_entropy"], at_epsilon, row["area"], row["risk"])
        count += not limit.allows(figures)
    return count


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


def _figures(known: ColumnKnowledge, codes: NDArray[np.int64], held: float | None) -> pd.DataFrame:
    """What is excluded, by proof; beside it what is shown possible, and what is neither.

    Args:
        known: The column.
        codes: (n,) the class of each record.
        held: The greatest risk that the gate holds: nobody's is above it.
    """
    standing, like, people = known.standing(), known.column.like, known.system.people
    domain, epsilon = known.column.protect.domain, known.column.limits.epsilon
    outer = standing.lower[like], standing.upper[like]
    found = class_risks(codes, *outer, domain, epsilon, people)
    # of whom nothing is shown: one value, though nobody can say which
    none = standing.high < standing.low
    inner = (
        np.where(none, standing.lower, standing.low)[like],
        np.where(none, standing.lower, standing.high)[like],
    )
    shown = class_risks(codes, *inner, domain, epsilon, people)
    left = spans(*outer, domain).count
    possible = np.where(none[like], 0, spans(*inner, domain).count)
    for record, units in standing.sets.items():
        left[like == record] = possible[like == record] = len(
            grid_candidates(known.system.in_column_units(units), domain)[0]
        )
    frame = _frame(known, codes, found).assign(risk_at_most=shown.risk)
    for code, figures in _by_sets(known, standing, codes):
        at = np.nan if figures.entropy_at_epsilon is None else figures.entropy_at_epsilon
        frame.loc[code, ["initial_entropy", "entropy_at_epsilon", "area", "risk", "risk_at_most"]] = [
            figures.initial_entropy, at, figures.area, figures.risk, figures.risk,
        ]  # fmt: skip
    most = 1.0 if held is None else held
    frame["risk_at_most"] = np.maximum(frame["risk"], np.minimum(frame["risk_at_most"], most))
    for name, counts in (
        ("excluded", domain.count - left), ("possible", possible), ("not_known", left - possible),
    ):  # fmt: skip
        frame[name] = np.bincount(codes, counts * people, len(frame)) / found.records
    seen = np.zeros(len(frame), dtype=np.bool_)
    seen[codes[list(standing.looked)]] = True
    return frame.assign(looked_at=seen)


def _units(whose: NDArray[np.int64], codes: NDArray[np.int64], classes: int) -> NDArray[np.int64]:
    """How many persons the records of each class are of, where somebody has several."""
    return np.bincount(np.unique(np.stack([codes, whose]), axis=1)[0], minlength=classes)


def _look(known: ColumnKnowledge, codes: NDArray[np.int64], top: int | None, told: Told) -> None:
    """Look closer at the classes of whom least is shown possible, within the work that a report gets."""
    standing = known.standing()
    codes = codes[: known.system.size]
    lacking = standing.high - standing.low
    worst = np.full(int(codes.max()) + 1, np.inf)
    np.minimum.at(worst, codes, lacking)
    chosen = np.isin(codes, np.argsort(worst, kind="stable")[:top])
    records = np.flatnonzero(chosen)
    standing.look(records[np.argsort(lacking[records], kind="stable")], told)


def _counted(party: ColumnKnowledge, codes: NDArray[np.int64]) -> pd.DataFrame:
    """What `exact` makes of the answers; intervals are beside it for what is excluded."""
    found = model_risks(party.system, codes, party.column.protect.domain, party.column.limits.epsilon)
    return _frame(party, codes, found).assign(worst_risk=found.worst_risk, estimated=found.estimated)


def _likely(party: ColumnKnowledge, codes: NDArray[np.int64], baseline: Baseline) -> pd.DataFrame:
    """What posteriors make of the answers, nobody being an insider; leverage beside it."""
    column, domain = party.column, party.column.protect.domain
    past = LikelyKnowledge(party.system, LikelyStandard(column.limits.limit, domain, baseline))
    found = risks_of_classes(party.system, past.likely, codes, domain, baseline, column.limits.epsilon)
    frame = _frame(party, codes, found).assign(
        worst_risk=found.worst_risk, leverage=found.leverage, estimated=found.estimated
    )
    if column.whose is not None:
        worst = found.worst_risk.copy()
        of_units = risks_of_units(past)
        if len(of_units):
            np.maximum.at(worst, codes, of_units[column.whose])
        frame["unit_risk"] = worst
    return frame


def _frame(party: ColumnKnowledge, codes: NDArray[np.int64], found: ClassRisks | ModelRisks) -> pd.DataFrame:
    """Figures of classes, with the ends beyond which all values of their records are excluded."""
    standing, count = party.standing(), len(found.label)
    codes = codes[: party.system.size]
    lower, upper = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(lower, codes, standing.lower)
    np.maximum.at(upper, codes, standing.upper)
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


def _by_sets(known: ColumnKnowledge, standing: Standing, codes: NDArray[np.int64]) -> list[tuple[int, Risk]]:
    """The classes some of whose records have an exactly known set of values, with their figures."""
    codes = codes[: known.system.size]
    return [
        (code, _with_sets(known, standing, np.flatnonzero(codes == code)))
        for code in np.unique(codes[list(standing.sets)]).tolist()
    ]


def _with_sets(known: ColumnKnowledge, standing: Standing, records: NDArray[np.int64]) -> Risk:
    """The figures of a class some of whose records have an exactly known set instead of a range."""
    domain = known.column.protect.domain
    mixture: dict[float, float] = {}
    for record in records.tolist():
        if record in standing.sets:
            values, weights = grid_candidates(known.system.in_column_units(standing.sets[record]), domain)
        else:
            values, weights = candidates_of([standing.lower[record]], [standing.upper[record]], domain)
        for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
            mixture[value] = mixture.get(value, 0.0) + weight / len(records)
    return risk_of(list(mixture), list(mixture.values()), domain, known.column.limits.epsilon)


def history(ledger: Ledger) -> pd.DataFrame:
    """Every entry of the ledger."""
    columns = [
        "number",
        "time",
        "user",
        "sql",
        "zone",
        "verdict",
        "code",
        "check",
        "surprise",
        "risk_before",
        "risk_after",
        "because",
        "by",
    ]
    names = {"surprise": "surprises"}
    rows = [[getattr(entry, names.get(each, each)) for each in columns] for entry in ledger.entries()]
    found = pd.DataFrame(rows, columns=columns)
    for name in ("because", "by"):  # nobody gave a reason
        found[name] = found[name].replace("", None)
    return found


def verify(ledger: Ledger, knowledge: Knowledge) -> Verification:
    """Go through the chain, and compute every answer again."""
    report = ledger.verify()
    problems = list(report.problems)
    systems, past = [column.new_system() for column in knowledge.columns], 0
    if not problems:
        for entry in ledger.entries():
            for place, answer in enumerate(entry.answers):
                if not answer.tells:
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
