"""The findings as data for the page's script, inside of the page.

Promise: the text stands in a <script> block that no browser runs, and cannot end it early; each text is
stored once; what came from a log is visible already. Much of it is packed (gzip, base64), which browsers
undo themselves.
"""

from __future__ import annotations

import base64
import gzip
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

from auditor.history.findings import Certificate, Cited, Finding, TotalFinding
from auditor.report.figures import brief_moment, exact, interval, moment, number
from auditor.report.tally import GRAVITY
from auditor.report.visible import cut, line, visible
from auditor.report.words import party_name

PLAIN_MOST = 1_000_000
"""Characters that stand in the page as they are; more is packed."""
TEXT_MOST = 20_000
"""Characters of one statement in a page; the JSON has all."""
STATIC_MOST = 2_000
"""The same for browsers without scripts, for which nothing is stored once."""
BUDGET = 4_500_000
"""Characters of statements in a page: none takes more than a small part of what is left."""
PART = 200
PREVIEW = 90
"""Characters of a statement in the table."""

KINDS = {"direct": "read outright", "exact": "worked out exactly", "approximate": "worked out nearly"}
PROOFS = {"direct": "the row itself", "reals": "arithmetic", "integers": "elimination"}
_ANSWERS = {"sum": "sum", "max": "maximum", "min": "minimum", "row": "row"}


@dataclass(frozen=True)
class Block:
    """What stands in the script block, and its type."""

    kind: str
    text: str


class Texts:
    """Long texts, each stored once and known by its place."""

    def __init__(self, most: int = TEXT_MOST) -> None:
        self._most, self._total = most, 0
        self._places: dict[str, int] = {}

    def place(self, text: str) -> int:
        """Where a text stands."""
        most = max(PREVIEW, min(self._most, (BUDGET - self._total) // PART))
        shown = visible(cut(text, most))
        if shown not in self._places:
            self._places[shown] = len(self._places)
            self._total += len(shown)
        return self._places[shown]

    def all(self) -> list[str]:
        """In the order of their places."""
        return list(self._places)


def packed(findings: Sequence[Finding]) -> Block:
    """The block for these findings, in their order."""
    texts = Texts()
    rows = [view(finding, texts) for finding in findings]
    data = {"texts": texts.all(), "findings": rows}
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    if len(text) <= PLAIN_MOST:
        return Block("application/json", text.replace("<", "\\u003c").replace("&", "\\u0026"))
    return Block("text/plain", base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode())


def view(finding: Finding, texts: Texts) -> dict[str, object]:
    """What the page shows of a finding; statements by their places in `texts`."""
    width, of_rows = finding.upper - finding.lower, f" (row {finding.record:,})" if finding.key else ""
    if isinstance(finding, TotalFinding):
        of_rows = f" ({len(finding.rows):,} rows)"
    return {
        "record": finding.record,
        "row": of_rows,
        "name": line(finding.key, 60) if finding.key else f"record {finding.record}",
        "where": f"{line(finding.table, 60)}.{line(finding.column, 60)}",
        "party": party_name(finding.party),
        "kind": KINDS[finding.kind],
        "gravity": GRAVITY[finding.kind],
        "proof": PROOFS[finding.certificate.proof],
        "left": interval(finding.lower, finding.upper),
        "width": round(width, 9) if math.isfinite(width) else None,
        "first": _cited(finding.first, texts),
        "when": brief_moment(finding.first.time),
        "brief": line(finding.first.sql, PREVIEW),
        "certificate": _certificate(finding.certificate, texts),
    }


def _cited(cited: Cited, texts: Texts) -> dict[str, object]:
    return {
        "number": cited.number,
        "time": moment(cited.time),
        "user": line(cited.user, 60),
        "source": line(cited.source, 120),
        "sql": texts.place(cited.sql),
    }


def _certificate(certificate: Certificate, texts: Texts) -> dict[str, object]:
    return {
        "sentence": visible(cut(certificate.sentence, TEXT_MOST)),
        "equation": visible(cut(certificate.equation, TEXT_MOST)),
        "sql": texts.place(certificate.sql) if certificate.sql else None,
        "terms": [
            {
                "name": line(term.name, 20),
                "what": _what(term.kind, term.records),
                "value": exact(term.value).replace("-", "−"),
                "times": None
                if term.multiplier is None or term.kind == "row"
                else exact(term.multiplier).replace("-", "−"),
                "sql": texts.place(term.sql) if term.sql else None,
                "statement": _cited(term.statement, texts),
            }
            for term in certificate.terms
        ],
    }


def _what(kind: str, records: int) -> str:
    if kind == "row":
        return "the row itself"
    return f"{_ANSWERS[kind]} over {number(records)} {'record' if records == 1 else 'records'}"
