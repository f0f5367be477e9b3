"""Which format a log is in, told from its first bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from auditor.history.readers import postgres
from auditor.history.readers.splitting import BLANK
from auditor.history.readers.tables import header

_SQL = re.compile(
    r"(?:SELECT|WITH|INSERT|UPDATE|DELETE|CREATE|DROP|ALTER|SET|BEGIN|COMMIT|COPY|EXPLAIN|PREPARE|EXECUTE|FROM|VALUES"
    r"|TABLE|GRANT|REVOKE|TRUNCATE|USE|SHOW|CALL|START|DECLARE|MERGE|PRAGMA|ATTACH|DESCRIBE|SUMMARIZE|ANALYZE|VACUUM)\b"
    r"|\(\s*SELECT\b|\\\w",
    re.IGNORECASE,
)
_BEGUN = re.compile(r"[\[{]|\d{1,3}\Z|\d{4}(?:-[\d\-: .]*[A-Z]{0,3}[^\n]*)?\Z")


def detect(head: bytes, name: str) -> str:
    """The format of a log.

    Args:
        head: Its first bytes, unpacked.
        name: Its name, which counts only for scripts.

    Returns:
        "postgres", "snowflake", "bigquery", "duckdb", "csv", "jsonl", "parquet" or "sql"; "" for none, and
        "cut" for what may be the start of a log that ends before anything can be told.
    """
    if head.startswith(b"PAR1"):
        return "parquet"
    text = head.decode("utf-8", "replace")
    if _is_binary(text):
        return ""
    if postgres.layout(text):
        return "postgres"
    found = _json(text) if text.lstrip()[:1] in ("{", "[") else _csv(text)
    if found:
        return found
    stem = name.lower().removesuffix(".gz").removesuffix(".zst")
    blank = BLANK.match(text)
    if stem.endswith(".sql") or _SQL.match(text, blank.end() if blank else 0):
        return "sql"
    return "cut" if "\n" not in text.strip() and _BEGUN.match(text) else ""


def _is_binary(text: str) -> bool:
    """More than a tenth of it is no text at all."""
    some = text[:4096]
    bad = sum(letter == "\ufffd" or (letter < " " and letter not in "\t\n\r\f\v") for letter in some)
    return bad > len(some) // 10


def _csv(text: str) -> str:
    names, _ = header(next((line for line in text.splitlines() if line.strip()), ""))
    return product(names) or ("csv" if "sql" in names else "")


def _json(text: str) -> str:
    start = text.lstrip().lstrip("[").lstrip()
    try:
        first, _ = json.JSONDecoder().raw_decode(start)
    except (ValueError, RecursionError):
        return "jsonl" if "\n" in text.strip() else ""
    names = [str(name).lower() for name in first] if isinstance(first, dict) else []
    return product(names) or "jsonl"


def product(names: Sequence[str]) -> str:
    """Whose export has such columns."""
    there = set(names)
    if "query_text" in there:
        return "snowflake"
    if {"message", "type", "log_level"} <= there:
        return "duckdb"
    if ("query" in there and there & {"user_email", "job_id", "statement_type"}) or {
        "configuration",
        "statistics",
    } <= there:
        return "bigquery"
    return ""
