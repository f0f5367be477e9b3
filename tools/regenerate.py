"""Derives the list of what may run anew: `python -m tools.regenerate`. Read the difference first.

For those who change the list; nothing else imports this.
"""

from __future__ import annotations

import csv
import io
from importlib.resources import files
from pathlib import Path

import duckdb

from auditor.sql.pure import COLUMNS, FILE
from tools.derive import derive
from tools.roundtrip import instance, round_trip


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
    Path(str(files("auditor.sql") / FILE)).write_text(_written(), "utf-8")
