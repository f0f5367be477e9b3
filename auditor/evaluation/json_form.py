"""An evaluation or a sweep as the members of one JSON object, by the schema in `schema.json`.

Promise: every class is there, none is rounded; what a person reads on the terminal stands in `message`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from auditor.evaluation import words
from auditor.evaluation.evaluate import Evaluation
from auditor.evaluation.releases import FIGURES
from auditor.evaluation.subject import Subject
from auditor.evaluation.sweep import Impossible, Sweep
from auditor.policy.numbers import written
from cae_sql.domain import exact

if TYPE_CHECKING:
    from pandas import DataFrame

FORMAT = 1
"""Raised when a member changes its meaning or goes."""


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of what `cae-sql evaluate --format json` prints."""
    text = resources.files("auditor.evaluation").joinpath("schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def evaluation_members(found: Evaluation, saved: Path | None = None) -> dict[str, object]:
    """What stands beside the rows of classes; `saved`: where the release was written."""
    each = found.summary
    return {
        "format": FORMAT,
        "kind": "evaluation",
        "code": "beyond" if found.broken else "within",
        "message": words.verdict(found),
        "hint": words.caution(found.subject),
        "subject": _subject(found.subject),
        "release": {
            "technique": found.technique.name,
            "parameters": _plain(found.settings.given),
            "made": found.source is None,
            "source": found.source,
            "seed": found.seed if found.source is None and found.technique.drawn else None,
            "saved": None if saved is None else str(saved),
        },
        "summary": {
            "records": each.records,
            "classes": each.classes,
            "beyond_records": each.beyond_records,
            "beyond_classes": each.beyond_classes,
            "mean_risk": each.mean_risk,
            "worst_risk": each.worst_risk,
            "anybody_risk": found.anybody,
            "mean_entropy": each.mean_entropy,
            "privacy_loss": each.privacy_loss,
            **{name: each.figures.get(name) for name in FIGURES},
        },
        "by_number_known": [
            {
                "known": line.known,
                "subsets": line.subsets,
                "all_subsets": line.all_subsets,
                "mean_risk": line.mean_risk,
                "worst_risk": line.worst_risk,
                "mean_entropy": line.mean_entropy,
                "beyond_share": line.beyond_share,
            }
            for line in found.numbers
        ],
    }


def sweep_members(found: Sweep, saved: Path | None = None) -> dict[str, object]:
    """What stands beside the rows of settings; `saved`: where the chosen one was written."""
    best = found.best
    return {
        "format": FORMAT,
        "kind": "sweep",
        "code": "beyond" if found.subject.limit is not None and best is None else "within",
        "message": words.choice(found),
        "hint": words.caution(found.subject),
        "subject": _subject(found.subject),
        "repetitions": found.repetitions,
        "seed": found.seed,
        "best": None
        if best is None
        else {"technique": best.setting.technique.name, "value": best.setting.value},
        "saved": None if saved is None else str(saved),
    }


def sweep_rows(found: Sweep) -> tuple[list[str], list[list[object]]]:
    """Columns and rows of a sweep's table; what a setting does not have is None."""
    columns = ["technique", "parameter", "value", "mean_risk", "worst_risk", "anybody_risk", "mean_entropy"]
    columns += ["privacy_loss", *FIGURES, "beyond_share", "keeps_limit", "distance", "query_error"]
    columns += ["association_error", "impossible"]
    limited = found.subject.limit is not None
    rows: list[list[object]] = []
    for each in found.outcomes:
        row: list[object] = [each.setting.technique.name, each.setting.label, each.setting.value]
        if isinstance(each, Impossible):
            rows.append([*row, *[None] * (len(columns) - 4), each.reason])
            continue
        row += [each.mean_risk, each.worst_risk, each.anybody, each.mean_entropy, each.privacy_loss]
        row += [each.figures.get(name) for name in FIGURES]
        row += [each.beyond_share, each.keeps] if limited else [None, None]
        used = each.utility
        rows.append([*row, used.distance, used.query_error, used.association_error, None])
    return columns, rows


def class_table(found: Evaluation) -> DataFrame:
    """The classes, without the column `beyond` where there is no limit."""
    return found.classes if found.subject.limit is not None else found.classes.drop(columns="beyond")


def _subject(subject: Subject) -> dict[str, object]:
    limit, domain = subject.limit, subject.domain
    return {
        "table": subject.name,
        "column": subject.column,
        "public": list(subject.public),
        "known": list(subject.known),
        "unit": subject.unit,
        "domain": {
            name: written(exact(value))
            for name, value in (
                ("minimum", domain.minimum),
                ("maximum", domain.maximum),
                ("step", domain.step),
            )
        },
        "limit": None
        if limit is None
        else {"risk": limit.risk, "epsilon": limit.epsilon, "min_entropy": limit.min_entropy},
    }


def _plain(given: Mapping[str, object]) -> dict[str, object]:
    return {name: dict(value) if isinstance(value, Mapping) else value for name, value in given.items()}
