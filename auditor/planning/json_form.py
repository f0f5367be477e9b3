"""A plan as one JSON object: every run, every statement, and what each costs others.

Promise: the figures are those of the page; what is not known is null.
"""

from __future__ import annotations

import json
from typing import Any

from auditor.planning import words
from auditor.planning.plan import Plan, Result
from auditor.planning.statements import Statement

FORMAT = 1
"""Raised when a member changes its meaning or goes."""


def as_json(found: Plan) -> str:
    """The plan as text."""
    told = bool(found.statements)
    members: dict[str, Any] = {
        "format": FORMAT,
        "source": found.source,
        "message": words.lead(found),
        "recommendation": words.recommendation(found) if told else None,
        "order": list(found.best.numbers) if told else [],
        "left_out": list(words.doubts(found)),
        "partial": found.partial or None,
        "seconds": round(found.seconds, 1),
        "workers": found.workers,
        "limits": [_result(each) for each in found.results],
        "orders": [{**_result(each), "numbers": list(each.numbers)} for each in found.orders],
        "statements": [_statement(found, each) for each in found.statements],
        "not_asked": [
            {"reason": each.reason, "count": each.count, "examples": [_said(one) for one in each.examples]}
            for each in found.listed.not_asked.values()
        ],
        "public": found.listed.public,
        "repeated": found.listed.repeated,
        "passed_over": dict(found.listed.passed_over),
    }
    return json.dumps(members, ensure_ascii=True, indent=1) + "\n"


def _result(each: Result) -> dict[str, Any]:
    setting = each.setting
    return {
        "risk": setting.risk, "insiders": setting.insiders, "order": setting.order, "own": setting.own,
        "exact": each.exact, "ends": each.ends, "withheld": each.withheld, "refused": each.refused,
        "late": each.late, "cut_after": each.cut, "seconds": round(each.seconds, 1),
        "error": each.error or None,
    }  # fmt: skip


def _said(each: Statement) -> dict[str, Any]:
    return {"sql": each.sql, "source": each.source, "user": each.user}


def _statement(found: Plan, each: Statement) -> dict[str, Any]:
    own = found.own.outcomes[each.number]
    effects = found.effects.get(each.number)
    known = effects is not None or each.number not in found.unknown
    return {
        "number": each.number, **_said(each), "dialect": each.dialect, "times": each.times,
        "worth": each.worth,
        "groups": own.groups, "smallest_group": min(each.groups, default=None), "code": own.code,
        "exact": own.exact, "ends": own.ends, "withheld": own.withheld, "seconds": round(own.seconds, 3),
        "without_it": [
            {"number": one.number, "exact": one.exact, "told": one.told} for one in effects or ()
        ] if known else None,
    }  # fmt: skip
