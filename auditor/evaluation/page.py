"""The HTML report of an evaluation or of a sweep: one file, in the style of the audit's.

Promise: as the audit's page (`auditor.report.page`): templates that escape, a policy of the page's own that
allows nothing but the one style in it, no script, no request. Every chart has a table.
"""

from __future__ import annotations

import math

from auditor.evaluation import words
from auditor.evaluation.charts import (
    class_name,
    curves_figure,
    kept_table,
    numbers_figure,
    risk_figure,
    sweep_figures,
    sweep_table,
)
from auditor.evaluation.evaluate import Evaluation
from auditor.evaluation.releases import NAMED
from auditor.evaluation.subject import Subject
from auditor.evaluation.sweep import Sweep
from auditor.report.chart import Table
from auditor.report.figures import counted, number, percent
from auditor.report.page import asset, digest, environment
from auditor.report.visible import visible

FIRST_CLASSES, MOST_CLASSES = 20, 1000
"""Rows of the table of classes: seen at once, and after a click."""

Fact = tuple[str, str]


def html(found: Evaluation | Sweep) -> str:
    """The report as one HTML document."""
    return _evaluation(found) if isinstance(found, Evaluation) else _sweep(found)


def _evaluation(found: Evaluation) -> str:
    return _rendered(
        "evaluation.html.j2",
        found.subject,
        headline=_headline(found),
        broken=found.broken,
        lead=words.verdict(found),
        origin=words.origin(found),
        facts=_facts(found),
        figures=[risk_figure(found), curves_figure(found)],
        numbers=numbers_figure(found),
        classes=_classes(found),
        first=FIRST_CLASSES,
        left_out=max(len(found.classes) - MOST_CLASSES, 0),
    )


def _sweep(found: Sweep) -> str:
    best = found.best
    if found.subject.limit is None:
        headline = f"{counted(len(found.outcomes), 'setting')} compared"
    elif best is None:
        headline = "No setting keeps the limit"
    else:
        headline = f"The limit is kept at least cost by {words.named(best)}".replace(" = ", "\u00a0=\u00a0")
    return _rendered(
        "sweep.html.j2",
        found.subject,
        headline=headline,
        broken=found.subject.limit is not None and best is None,
        lead=words.choice(found),
        repetitions=counted(found.repetitions, "release"),
        seed=found.seed,
        impossible=[visible(words.impossible(each)) for each in found.impossible],
        figures=sweep_figures(found),
        table=sweep_table(found),
        kept=kept_table(found),
    )


def _rendered(template: str, subject: Subject, **members: object) -> str:
    style = asset("report.css")
    return (
        environment()
        .get_template(template)
        .render(
            style=style,
            style_digest=digest(style),
            kicker=visible(f"{subject.column} in {subject.name}"),
            basis=_basis(subject),
            caution=words.caution(subject),
            **{name: visible(value) if isinstance(value, str) else value for name, value in members.items()},
        )
    )


def _headline(found: Evaluation) -> str:
    if found.subject.limit is None:
        return f"Risk up to {found.summary.worst_risk:.2f}"
    if not found.broken:
        return "The limit is kept for every record"
    share = percent(found.summary.beyond_records, found.summary.records)
    return f"{counted(found.summary.beyond_records, 'record')} beyond the limit, {share} of all"


def _facts(found: Evaluation) -> list[tuple[str, list[Fact]]]:
    each = found.summary
    risk = [
        (words.risk(each.worst_risk), "highest risk of a class"),
        (words.risk(each.mean_risk), "mean risk of a record"),
        (number(each.mean_entropy), "bits left to guess, on average"),
        (
            words.risk(found.anybody),
            f"risk to somebody who knows nothing of the {words.target(found.subject)}",
        ),
        (number(each.privacy_loss), "bits lost in a class at most (privacy loss)"),
    ]
    risk += [(number(figure), f"{NAMED[name]}, at most") for name, figure in each.figures.items()]
    alike = "persons who look" if found.subject.unit is None else "rows that look"
    who = [
        (f"{len(found.subject.known)}", f"known columns: {words.listed(found.subject.known)}"),
        (f"{each.classes:,}", f"classes of {alike} alike to somebody who knows these"),
        (f"{each.records:,}", "records"),
    ]
    limit = found.subject.limit
    beyond = [("none", "was given")] if limit is None else [
        (f"{each.beyond_records:,}", "records beyond it"),
        (f"{each.beyond_classes:,}", "classes beyond it"),
        ("limit", words.limit_words(limit)),
    ]  # fmt: skip
    said = [("How risky is it?", risk), ("For whom?", who), ("The limit", beyond)]
    return [(question, [(figure, visible(text)) for figure, text in facts]) for question, facts in said]


def _classes(found: Evaluation) -> Table:
    epsilon = "entropy_at_epsilon" in found.classes.columns
    columns = ["What is known of them", "Records", "Bits", "Bits lost"]
    columns += ["Bits at ε"] if epsilon else []
    more = [name for name in NAMED if name in found.classes.columns]
    columns += ["Area", "Risk", *(NAMED[name] for name in more)]
    columns += [] if found.subject.limit is None else ["Limit"]
    names = list(found.subject.known)
    rows = []
    for row in found.classes.head(MOST_CLASSES).to_dict("records"):
        cells = [class_name({name: row[name] for name in names}), f"{row['matches']:,}"]
        cells += [f"{row['initial_entropy']:.3f}", f"{row['privacy_loss']:.3f}"]
        cells += [f"{row['entropy_at_epsilon']:.3f}"] if epsilon else []
        cells += [number(row["area"]), f"{row['risk']:.3f}"]
        cells += ["–" if math.isnan(row[name]) else f"{row[name]:.3f}" for name in more]
        cells += [] if found.subject.limit is None else ["broken" if row["beyond"] else "kept"]
        rows.append(cells)
    return Table(columns, rows)


def _basis(subject: Subject) -> list[Fact]:
    prior = f"{number(subject.domain.area)} bits × units"
    said = [
        ("Table", subject.name),
        ("Confidential column", subject.column),
        ("Its domain", words.domain_words(subject)),
        ("Area of somebody who knows the domain alone", prior),
        ("Public columns", words.listed(subject.public)),
        (f"Known of the {words.target(subject)}", words.listed(subject.known)),
        *([] if subject.unit is None else [("Whose rows they are", subject.unit)]),
        ("Limit", words.limit_words(subject.limit)),
    ]
    return [(name, visible(text)) for name, text in said]
