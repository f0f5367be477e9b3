"""The table of findings as CSV, one row a finding.

Promise: no cell of text is a formula to a spreadsheet: one that begins like a formula, or with an
apostrophe, gets an apostrophe in front; without it the text is as it was, but for what UTF-8 cannot hold.
"""

from __future__ import annotations

import csv
import io
import math
import unicodedata

from auditor.history.findings import Finding, Findings
from auditor.report.visible import writable

COLUMNS = (
    "record",
    "key",
    "table",
    "column",
    "party",
    "kind",
    "proof",
    "lower",
    "upper",
    "first_query",
    "first_time",
    "first_user",
    "first_source",
    "first_sql",
    "answers",
    "sentence",
    "equation",
    "certificate_sql",
)
"""In this order; documented in docs/report.md."""

_STARTS = frozenset("=+-@'|%＝＋－＠")
"""How a formula begins for one spreadsheet or another, and the mark that says it is none."""


def as_csv(findings: Findings) -> str:
    """A header and one row for each finding, lines ended as RFC 4180 says."""
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    writer.writerows(_row(finding) for finding in findings.findings)
    return output.getvalue()


def _row(finding: Finding) -> list[str | int | float]:
    first, certificate = finding.first, finding.certificate
    return [
        finding.record,
        _text(finding.key),
        _text(finding.table),
        _text(finding.column),
        _text(finding.party),
        finding.kind,
        certificate.proof,
        _bound(finding.lower),
        _bound(finding.upper),
        first.number,
        first.time.isoformat() if first.time is not None else "",
        _text(first.user),
        _text(first.source),
        _text(first.sql),
        len(certificate.terms),
        _text(certificate.sentence),
        _text(certificate.equation),
        _text(certificate.sql),
    ]


def _bound(value: float) -> float | str:
    return value if math.isfinite(value) else ""


def _text(text: str) -> str:
    """The text, with an apostrophe in front where a spreadsheet might take it for a formula."""
    return "'" + writable(text) if _opens(text) in _STARTS else writable(text)


def _opens(text: str) -> str:
    """The first character that a spreadsheet may see: some pass over blanks and invisible characters."""
    return next((c for c in text if not c.isspace() and unicodedata.category(c)[0] != "C"), "")
