"""Derives the list of what may run anew: `python -m auditor.sql.regenerate`. Read the difference first.

For those who change the list; nothing else imports this.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path

import duckdb

from auditor.sql.derive import derive
from auditor.sql.pure import COLUMNS, FILE
from auditor.sql.roundtrip import instance, round_trip


def _written() -> str:
    with duckdb.connect(":memory:") as connection:
        pure = derive(connection)
    out = io.StringIO()
    out.write(f"# DuckDB {duckdb.__version__}\n")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    with instance() as samples:
        for each in pure:
            verdict = None if each.kind == "type" else round_trip(samples, each)
            node, refusal = ("", "") if verdict is None else (verdict.node, verdict.refusal)
            writer.writerow([each.kind, each.name, node, refusal, "; ".join(each.signatures)])
    return out.getvalue()


if __name__ == "__main__":
    Path(__file__).with_name(FILE).write_text(_written(), "utf-8")
