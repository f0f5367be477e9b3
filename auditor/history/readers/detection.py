"""Which format a log is in, told from its first bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from auditor.history.readers import postgres
from auditor.history.readers.splitting import begin
from auditor.history.readers.tables import header

_SQL = re.compile(
    r"(?:SELECT|WITH|INSERT|UPDATE|DELETE|CREATE|DROP|ALTER|SET|BEGIN|COMMIT|COPY|EXPLAIN|PREPARE|EXECUTE|FROM|VALUES"
    r"|TABLE|GRANT|REVOKE|TRUNCATE|USE|SHOW|CALL|START|DECLARE|MERGE|PRAGMA|ATTACH|DESCRIBE|SUMMARIZE|ANALYZE|VACUUM)\b"
    r"|\(\s*SELECT\b|\\\w",
    re.IGNORECASE,
)
_OBJECTS = re.compile(r"\s*(?:\[\s*)?\{\s*(?:\"|\}|\Z)|\s*\[\s*\]?\s*\Z")
_BEGUN = re.compile(rb"\s*(?:\[\s*)?\{|\s*\[\s*\Z|\d{1,4}\Z|\d{4}-(?:\d\d?-?)?\Z|\d{4}-\d\d-\d")


def detect(head: bytes, name: str, sql: str = "sql") -> str:
    """The format of a log.

    Args:
        head: Its first bytes, unpacked.
        name: Its name, which counts only for scripts.
        sql: The name, in small letters, of the column for the statement in plain tables.

    Returns:
        "postgres", "snowflake", "bigquery", "duckdb", "csv", "jsonl", "parquet" or "sql"; "" for none, and
        "cut" for what may be the start of a log that ends before anything can be told.
    """
    if head.startswith(b"PAR1"):
        return "parquet"
    text = head.decode("utf-8", "replace")
    if postgres.layout(text):
        return "postgres"
    if is_binary(head):
        return ""
    found = _json(text) if _OBJECTS.match(text) else _csv(text, sql)
    if found:
        return found
    stem = name.lower().removesuffix(".gz").removesuffix(".zst")
    if stem.endswith(".sql") or _SQL.match(text, begin(text)):
        return "sql"
    return "cut" if "\n" not in text.strip() and begun(head) else ""


def begun(head: bytes) -> bool:
    """Whether it starts as a server's log or JSON does."""
    return _BEGUN.match(head) is not None


def is_binary(head: bytes) -> bool:
    """Whether more than a tenth of it is no text at all; Parquet is binary on purpose."""
    some = "" if head.startswith(b"PAR1") else head[:4096].decode("utf-8", "replace")
    bad = sum(letter == "\ufffd" or (letter < " " and letter not in "\t\n\r\f\v") for letter in some)
    return bad > max(len(some) // 10, 8)


def _csv(text: str, sql: str) -> str:
    names, _ = header(next((line for line in text.splitlines() if line.strip()), ""))
    return product(names) or ("csv" if sql in names else "")


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
