"""The HTML report: one file, made by templates that escape whatever they are given.

Promise: the page's own policy (Content-Security-Policy) allows nothing but the one style and the one script
in it, by their digests, so that neither it nor anything that came from a log can load, send or run
anything.
"""

from __future__ import annotations

import base64
import hashlib
import tomllib
from functools import cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined

from auditor.history.findings import Findings
from auditor.report.chart import STYLES
from auditor.report.curves import class_name, curve_figure
from auditor.report.figures import counted, interval, moment, number, percent
from auditor.report.packed import PROOFS, STATIC_MOST, TEXT_MOST, Texts, packed, view
from auditor.report.reading import reading_view
from auditor.report.tally import chosen, every, leading, tally
from auditor.report.timeline import timelines
from auditor.report.visible import cut, line, visible
from auditor.report.widths import width_figure
from auditor.report.words import columns_of, party_name, period, summary

STATIC = 20
"""Findings that are in the page for browsers without scripts."""
MOST_FINDINGS = 5000
"""Findings in a page; of more, some of each party and kind."""
MOST_LIKELY = 50
"""Rows of the table of those of whom too much is made likely."""
MOST_PARTIES = 50
"""Rows of a table of parties."""
MOST_CLASSES = 20
"""Rows of the table of classes."""
MOST_EXAMPLES = 5
"""Statements shown of each kind that is not modelled."""
MOST_TEXT = 4000
"""Characters of a statement outside of certificates."""


def html(findings: Findings) -> str:
    """The report as one HTML document."""
    everything = every(findings)
    ordered = chosen(everything, MOST_FINDINGS)
    texts = Texts(STATIC_MOST)
    static = [view(finding, texts) for finding in ordered[:STATIC]]
    style, script = asset("report.css"), asset("report.js")
    return (
        environment()
        .get_template("page.html.j2")
        .render(
            found=findings,
            summary=summary(findings),
            tally=tally(findings),
            columns=columns_of(findings),
            period=period(findings),
            parties=leading(findings)[:MOST_PARTIES],
            timelines=timelines(findings, stated_limit(findings.policy)),
            widths=width_figure(findings),
            curves=curve_figure(findings),
            classes=[(class_name(risk), risk) for risk in findings.classes[:MOST_CLASSES]],
            reading=reading_view(findings.reading),
            likely=sorted(findings.likely, key=lambda one: -one.risk)[:MOST_LIKELY],
            static=static,
            shown=len(ordered),
            in_all=len(everything),
            texts=texts.all(),
            data=packed(ordered),
            filter_parties=sorted({party_name(finding.party) for finding in ordered}),
            proofs=PROOFS,
            most_examples=MOST_EXAMPLES,
            style=style,
            script=script,
            style_digest=digest(style),
            script_digest=digest(script),
        )
    )


def stated_limit(policy: str) -> float | None:
    """The limit on risk that a policy's text states for all columns; None where it states none."""
    try:
        limit = tomllib.loads(policy).get("limit")
    except tomllib.TOMLDecodeError:
        return None
    risk = limit.get("risk") if isinstance(limit, dict) else None
    return float(risk) if isinstance(risk, int | float) and not isinstance(risk, bool) else None


@cache
def environment() -> Environment:
    """Templates that escape, with the filters they use; of other reports too."""
    environment = Environment(
        loader=PackageLoader("auditor.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "line": line,
        "moment": moment,
        "n": lambda count: f"{count:,}",
        "number": number,
        "party": party_name,
        "policy": lambda text: visible(cut(text, TEXT_MOST)),
        "statement": lambda text: visible(cut(text, MOST_TEXT)),
    }
    environment.globals |= {"counted": counted, "interval": interval, "percent": percent, "styles": STYLES}
    return environment


@cache
def asset(name: str) -> str:
    """A file that stands beside the templates."""
    return resources.files("auditor.report").joinpath("templates", name).read_text(encoding="utf-8")


def digest(text: str) -> str:
    """A text's digest, as a Content-Security-Policy names it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
