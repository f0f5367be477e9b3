"""The findings as one JSON object, by the schema in `schema.json`.

Promise: everything that `Findings` holds is there, statements with their full text; exact values are
strings, a decimal where one is finite, else a fraction "1/3"; other numbers that are none (infinite, not a
number) are null. The text is ASCII, so that neither direction marks nor broken characters of a log steer
whatever shows it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction
from importlib import resources
from typing import Any

from auditor.history.findings import (
    Certificate,
    Cited,
    ClassRisk,
    Finding,
    Findings,
    GateView,
    MadeLikely,
    Moment,
    PartyFindings,
    Term,
    TotalFinding,
    Unmodelled,
)
from auditor.history.unread import unread
from auditor.report.figures import exact
from auditor.report.tally import tally

FORMAT = 1
"""Raised when a member changes its meaning or goes."""


def as_json(findings: Findings) -> str:
    """One object; `schema()` says of what form."""
    return json.dumps(_whole(findings), ensure_ascii=True, allow_nan=False, indent=1) + "\n"


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of what `as_json` writes."""
    text = resources.files("auditor.report").joinpath("schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def _whole(found: Findings) -> dict[str, object]:
    return {
        "format": FORMAT,
        "partial": found.partial,
        "summary": _summary(found),
        "findings": [_finding(finding) for finding in found.findings],
        "totals": [_total(one) for one in found.totals],
        "likely": [_likely(one) for one in found.likely],
        "parties": [_party(party) for party in found.parties],
        "timeline": [_moment(moment) for moment in found.timeline],
        "classes": [_class(risk) for risk in found.classes],
        "prior": {"width": _real(found.prior_width), "curve": _pairs(found.prior_curve)},
        "unmodelled": [_unmodelled(one) for one in found.unmodelled],
        "unit": found.unit,
        "kinds": dict(found.kinds),
        "reading": plain(found.reading),
        "policy": found.policy,
        "policy_digest": found.policy_digest,
        "fingerprint": found.fingerprint,
        "seconds": _real(found.seconds),
    }


def _summary(found: Findings) -> dict[str, object]:
    counts = tally(found)
    return {
        "records": counts.records,
        "located": counts.located,
        "direct": counts.direct,
        "exact": counts.exact,
        "approximate": counts.approximate,
        "open": counts.open,
        "units": counts.units,
        "totals_open": counts.totals_open,
        "unmodelled": counts.unmodelled,
        "unread": _unread(found),
        "first_query": _cited(counts.first.first) if counts.first is not None else None,
    }


def _unread(found: Findings) -> dict[str, object]:
    missing = unread(found.reading, found.unmodelled)
    return {
        "lines": missing.lines,
        "bytes": missing.bytes,
        "statements": missing.statements,
        "unmodelled": missing.unmodelled,
        "said": missing.said,
    }


def _finding(finding: Finding) -> dict[str, object]:
    return {
        "record": finding.record,
        "key": finding.key,
        "table": finding.table,
        "column": finding.column,
        "party": finding.party,
        "kind": finding.kind,
        "lower": _real(finding.lower),
        "upper": _real(finding.upper),
        "first_query": _cited(finding.first),
        "certificate": _certificate(finding.certificate),
    }


def _total(one: TotalFinding) -> dict[str, object]:
    found = {"total": one.key, "unit": one.unit, "rows": list(one.rows), "whole": one.whole, **_finding(one)}
    return {name: value for name, value in found.items() if name not in ("record", "key")}


def _likely(one: MadeLikely) -> dict[str, object]:
    return {
        "record": one.record,
        "key": one.key,
        "table": one.table,
        "column": one.column,
        "party": one.party,
        "possible": one.possible,
        "lower": _real(one.lower),
        "upper": _real(one.upper),
        "likely_lower": _real(one.likely_lower),
        "likely_upper": _real(one.likely_upper),
        "risk": _real(one.risk),
        "leverage": _real(one.leverage),
        "first_query": _cited(one.first),
        "carried_by": [_cited(cited) for cited in one.carried_by],
        "carried": _real(one.carried),
    }


def _certificate(certificate: Certificate) -> dict[str, object]:
    return {
        "proof": certificate.proof,
        "sentence": certificate.sentence,
        "equation": certificate.equation,
        "sql": certificate.sql,
        "terms": [_term(term) for term in certificate.terms],
    }


def _term(term: Term) -> dict[str, object]:
    return {
        "name": term.name,
        "kind": term.kind,
        "records": term.records,
        "value": exact(term.value),
        "multiplier": None if term.multiplier is None else exact(term.multiplier),
        "sql": term.sql,
        "statement": _cited(term.statement),
    }


def _cited(cited: Cited) -> dict[str, object]:
    return {
        "number": cited.number,
        "time": _time(cited.time),
        "user": cited.user,
        "sql": cited.sql,
        "source": cited.source,
    }


def _party(party: PartyFindings) -> dict[str, object]:
    return {
        "party": party.party,
        "users": list(party.users),
        "statements": party.statements,
        "answers": party.answers,
        "located": party.located,
        "exact": party.exact,
        "direct": party.direct,
        "open": party.open,
        "risk": _real(party.risk),
        "totals": party.totals,
        "totals_open": party.totals_open,
        "likely": party.likely,
        "likely_risk": None if party.likely_risk is None else _real(party.likely_risk),
        "widths": _pairs(party.widths),
        "gate": None if party.gate is None else _gate(party.gate),
    }


def _gate(gate: GateView) -> dict[str, object]:
    return {
        "answered": gate.answered,
        "refused": gate.refused,
        "unsupported": gate.unsupported,
        "first_refused": None if gate.first_refused is None else _cited(gate.first_refused),
    }


def _moment(moment: Moment) -> dict[str, object]:
    return {
        "statement": moment.statement,
        "time": _time(moment.time),
        "party": moment.party,
        "answers": moment.answers,
        "located": moment.located,
        "exact": moment.exact,
        "open": moment.open,
        "risk": _real(moment.risk),
    }


def _class(risk: ClassRisk) -> dict[str, object]:
    return {
        "party": risk.party,
        "known": dict(risk.known),
        "records": risk.records,
        "lower": _real(risk.lower),
        "upper": _real(risk.upper),
        "initial_entropy": _real(risk.initial_entropy),
        "area": _real(risk.area),
        "risk": _real(risk.risk),
        "beyond": bool(risk.beyond),
        "curve": _pairs(risk.curve),
    }


def _unmodelled(one: Unmodelled) -> dict[str, object]:
    examples = [_cited(example) for example in one.examples]
    return {"kind": one.kind, "count": one.count, "reason": one.reason, "examples": examples}


def _time(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()


def _real(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _pairs(pairs: Sequence[tuple[float, float]]) -> list[list[float | int | None]]:
    return [[_real(first), second if isinstance(second, int) else _real(second)] for first, second in pairs]


def plain(value: object) -> object:
    """Any value that is written as it comes: numbers, texts, times, lists and mappings of these."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return _real(value)
    if isinstance(value, Fraction):
        return exact(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    return str(value)
