"""The table of findings as CSV, one row a finding: located records, then located totals of units.

Promise: each cell of text is what `auditor.plain.cell` makes of it: no formula to a spreadsheet, and nothing
that steers a terminal. The JSON has all texts to the letter.
"""

from __future__ import annotations

import csv
import io
import math

from auditor.history.findings import Finding, Findings, TotalFinding
from auditor.plain import cell
from auditor.report.tally import every

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


def as_csv(findings: Findings) -> str:
    """A header and one row for each finding, lines ended as RFC 4180 says."""
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    writer.writerows(_row(finding) for finding in every(findings))
    return output.getvalue()


def _row(finding: Finding) -> list[str | int | float]:
    first, certificate = finding.first, finding.certificate
    return [
        "" if isinstance(finding, TotalFinding) else finding.record,
        cell(finding.key),
        cell(finding.table),
        cell(finding.column),
        cell(finding.party),
        finding.kind,
        certificate.proof,
        _bound(finding.lower),
        _bound(finding.upper),
        first.number,
        first.time.isoformat() if first.time is not None else "",
        cell(first.user),
        cell(first.source),
        cell(first.sql),
        len(certificate.terms),
        cell(certificate.sentence),
        cell(certificate.equation),
        cell(certificate.sql),
    ]


def _bound(value: float) -> float | str:
    return value if math.isfinite(value) else ""
