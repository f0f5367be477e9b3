"""The owner's page: one HTML file, in the style of the audit's, with how a gate stands.

Promise: as the audit's page (`auditor.report.page`): templates that escape, a policy of the page's own that
allows nothing but the one style in it, no script, no request. Every chart has a table. A ledger that cannot
be read has a page that says so, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping

from auditor.report.account import FATES, Account, Statement
from auditor.report.figures import brief_moment, counted
from auditor.report.owner_figures import (
    asked_figure,
    class_of,
    classes_table,
    codes_table,
    growth_figures,
    risks_figure,
    users_table,
)
from auditor.report.owner_words import columns_of, first_screen, past_the_limit, period, surprises
from auditor.report.page import asset, digest, environment
from auditor.report.visible import visible

LATEST, MOST_STATEMENTS = 20, 500
"""Statements that are seen at once, and after a click."""
_VERDICTS = {
    "answered": "told in full",
    "known": "known already",
    "public": "public",
    "partial": "told in part",
    "ends": "told as ends",
}


def owner_page(found: Account) -> str:
    """The page as one HTML document."""
    by_number = {each.number: each for each in found.statements}
    shown = list(found.statements)[::-1][:MOST_STATEMENTS]
    return _rendered(
        "owner.html.j2",
        found=found,
        summary=first_screen(found),
        columns=columns_of(found),
        period=period(found),
        asked_figure=asked_figure(found.statements),
        users=users_table(found.statements),
        codes=codes_table(found.statements),
        growths=growth_figures(found),
        risks=risks_figure(found),
        classes=classes_table(found),
        nearest=[
            (class_of(each.about), each, [by_number[number] for number in each.carried_by])
            for each in found.nearest
        ],
        surprises=surprises(found),
        past=past_the_limit(found),
        coming=[
            (each, _VERDICTS.get(each.decision.code, each.decision.verdict))
            for each in found.coming.questions
        ],
        statements=shown,
        latest=LATEST,
    )


def trouble_page(headline: str, message: str, policy: str) -> str:
    """The page of a ledger that is not there, or cannot be trusted.

    Args:
        headline: What is wrong, in a few words.
        message: The error, which says what would do.
        policy: The policy's text.
    """
    return _rendered("owner_trouble.html.j2", headline=headline, message=visible(message), policy=policy)


def _rendered(template: str, **members: object) -> str:
    style = asset("report.css")
    helpers: Mapping[str, object] = {"when": brief_moment, "fate": _fate, "counted": counted, "fates": FATES}
    return (
        environment()
        .get_template(template)
        .render(style=style, style_digest=digest(style), **helpers, **members)
    )


def _fate(statement: Statement) -> str:
    """What became of a statement, with its code where that says more."""
    said = FATES[statement.fate]
    return said if statement.fate in ("whole", "public", "edition") else f"{said} ({statement.code})"
