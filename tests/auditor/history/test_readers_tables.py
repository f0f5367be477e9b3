"""Logs that are tables: plain ones, and the exports of products."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet

from auditor.errors import LogError
from auditor.history.readers import read
from auditor.history.statement import Logged, Reading

ROWS: list[dict[str, object]] = [
    {"time": "2026-01-01 10:00:00+02:00", "user": "anna", "sql": "SELECT 1, 'a\n,\"b\"'", "success": "true",
     "parameters": None, "application": "dash", "database": "acs"},
    {"time": "2026-01-01T10:00:01Z", "user": "otto", "sql": "SELECT $1", "success": "false",
     "parameters": '["x", 1.5, null, true]', "application": None, "database": None},
]  # fmt: skip
EXPECTED = [
    ("SELECT 1, 'a\n,\"b\"'", None, "anna", datetime(2026, 1, 1, 8, tzinfo=UTC), "dash", "acs", True),
    (
        "SELECT $1",
        ("x", "1.5", None, "true"),
        "otto",
        datetime(2026, 1, 1, 10, 0, 1, tzinfo=UTC),
        "",
        "",
        False,
    ),
]


def told(found: Sequence[Logged]) -> list[tuple[object, ...]]:
    return [
        (each.sql, each.parameters, each.user, each.time, each.application, each.database, each.answered)
        for each in found
    ]


def as_csv(rows: Sequence[Mapping[str, object]], delimiter: str = ",") -> bytes:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), delimiter=delimiter, extrasaction="raise")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def as_jsonl(rows: Sequence[Mapping[str, object]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


FORMS = {
    "csv": as_csv,
    "csv with semicolons": lambda rows: as_csv(rows, ";"),
    "jsonl": as_jsonl,
    "one JSON list": lambda rows: json.dumps(rows).encode(),
    "one JSON list over many lines": lambda rows: json.dumps(rows, indent=2).encode(),
    "csv in gzip": lambda rows: gzip.compress(as_csv(rows)),
    "jsonl in Zstandard": lambda rows: pa.compress(as_jsonl(rows), "zstd", asbytes=True),
    "csv with a byte order mark": lambda rows: b"\xef\xbb\xbf" + as_csv(rows),
    "csv in UTF-16": lambda rows: as_csv(rows).decode().encode("utf-16"),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_plain_table_is_read_in_any_form(tmp_path: Path, form: str) -> None:
    path = tmp_path / "log"
    path.write_bytes(FORMS[form](ROWS))
    reading = Reading()
    found = list(read([path], reading=reading))
    assert told(found) == EXPECTED
    assert [each.number for each in found] == [1, 2]
    assert not reading.broken
    assert not reading.odd
    assert reading.bytes_read == reading.bytes_in_all == path.stat().st_size


def test_parquet_is_read_with_its_types(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    rows = [{**row, "time": datetime.fromisoformat(str(row["time"])), "success": row["success"] == "true",
             "parameters": None if row["parameters"] is None else ["x", "1.5", None, "true"]}
            for row in ROWS]  # fmt: skip
    parquet.write_table(pa.Table.from_pylist(rows), path)
    reading = Reading()
    assert told(list(read([path], reading=reading))) == EXPECTED
    assert reading.bytes_read <= reading.bytes_in_all
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(LogError, match="not a Parquet file, or a damaged one"):
        list(read([path]))


def test_columns_may_have_other_names(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("When,Who,Statement\n2026-01-01,anna,SELECT 1\n")
    (found,) = read([path], columns={"time": "When", "user": "Who", "sql": "Statement"})
    assert (found.sql, found.user, found.time) == ("SELECT 1", "anna", datetime(2026, 1, 1, tzinfo=UTC))
    with pytest.raises(LogError, match="no column 'text' for sql; the columns are when, who, statement"):
        list(read([path], "csv", {"sql": "text"}))
    with pytest.raises(LogError, match="there is no 'clock'"):
        list(read([path], "csv", {"clock": "When"}))


def test_what_a_cell_cannot_mean_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(
        "time,user,sql,parameters,success\n"
        "yesterday,anna,SELECT 1,nothing,perhaps\n"
        "2026-01-01 10:00:00 XYZ,anna,SELECT 2,{},\n"
        ",anna,,,\n"
        "2026-01-01,anna,SELECT 3,$1 = 'a',yes\n"
        "2025-01-01,anna,SELECT 4,,no\n"
        "2025-01-01,anna\n"
    )
    reading = Reading()
    found = list(read([path], reading=reading))
    assert [(each.sql, each.answered) for each in found] == [
        ("SELECT 1", None), ("SELECT 2", None), ("SELECT 3", True), ("SELECT 4", False),
    ]  # fmt: skip
    assert found[2].parameters == ("a",)
    assert reading.odd == {
        "time that is none, left out": 1,
        "time zone that is not known, taken as UTC": 1,
        "parameters that could not be read, left out": 2,
        "success that is neither yes nor no, taken as answered": 1,
        "time earlier than that of a statement before it": 2,
    }
    assert reading.broken == {"without a statement": 1, "not the columns that are expected": 1}
    assert reading.examples[-1].endswith("log.csv, line 7: not the columns that are expected")


def test_of_a_row_with_several_statements_that_failed_the_first_may_have_been_answered(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log.csv"
    path.write_text("sql,success\nSELECT 1; SELECT 2;,no\nSELECT 3; SELECT 4,yes\n")
    assert [(each.sql, each.answered) for each in read([path])] == [
        ("SELECT 1", None), ("SELECT 2", False), ("SELECT 3", True), ("SELECT 4", True),
    ]  # fmt: skip


# Products


SNOWFLAKE: list[dict[str, object]] = [
    {"QUERY_ID": "1", "QUERY_TEXT": "SELECT SUM(v) FROM p WHERE x = 'it\\'s'", "DATABASE_NAME": "ACS",
     "USER_NAME": "ANNA", "QUERY_TAG": "dash", "EXECUTION_STATUS": "SUCCESS", "ERROR_CODE": "",
     "START_TIME": "2026-01-01 00:00:00.123 -0800"},
    {"QUERY_ID": "2", "QUERY_TEXT": "SELECT x", "DATABASE_NAME": "", "USER_NAME": "OTTO", "QUERY_TAG": "",
     "EXECUTION_STATUS": "FAIL", "ERROR_CODE": "904", "START_TIME": "2026-01-01T09:00:00Z"},
    {"QUERY_ID": "3", "QUERY_TEXT": "SELECT 3", "DATABASE_NAME": "", "USER_NAME": "OTTO", "QUERY_TAG": "",
     "EXECUTION_STATUS": "FAILED_WITH_ERROR", "ERROR_CODE": "1", "START_TIME": "2026-01-01T09:00:01Z"},
    {"QUERY_ID": "4", "QUERY_TEXT": "SELECT 4", "DATABASE_NAME": "", "USER_NAME": "OTTO", "QUERY_TAG": "",
     "EXECUTION_STATUS": "RUNNING", "ERROR_CODE": "", "START_TIME": "2026-01-01T09:00:02Z"},
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_snowflakes_query_history_is_told_by_its_columns(tmp_path: Path, form: str) -> None:
    path = tmp_path / "history"
    path.write_bytes(FORMS[form](SNOWFLAKE))
    reading = Reading()
    found = list(read([path], reading=reading))
    assert reading.formats == {str(path): "snowflake"}
    assert told(found) == [
        (
            SNOWFLAKE[0]["QUERY_TEXT"],
            None,
            "ANNA",
            datetime(2026, 1, 1, 8, 0, 0, 123000, UTC),
            "dash",
            "ACS",
            True,
        ),
        ("SELECT x", None, "OTTO", datetime(2026, 1, 1, 9, tzinfo=UTC), "", "", False),
        ("SELECT 3", None, "OTTO", datetime(2026, 1, 1, 9, 0, 1, tzinfo=UTC), "", "", False),
        ("SELECT 4", None, "OTTO", datetime(2026, 1, 1, 9, 0, 2, tzinfo=UTC), "", "", None),
    ]
    assert {each.dialect for each in found} == {"snowflake"}


def test_bigquerys_jobs_are_told_by_their_columns(tmp_path: Path) -> None:
    rows = [
        {"creation_time": "2026-01-01 00:00:00.123456 UTC", "project_id": "acs", "user_email": "anna@x.org",
         "job_id": "1", "job_type": "QUERY", "statement_type": "SELECT", "state": "DONE",
         "error_result": None, "query": "SELECT 'it\\'s;' # a; b\n"},
        {"creation_time": "1767225600.5", "project_id": "acs", "user_email": "otto@x.org", "job_id": "2",
         "job_type": "QUERY", "statement_type": "SELECT", "state": "DONE", "query": "SELECT 2",
         "error_result": {"reason": "invalidQuery", "message": "no"}},
        {"creation_time": "1767225600500", "project_id": "acs", "user_email": "otto@x.org", "job_id": "3",
         "job_type": "LOAD", "state": "DONE", "query": None, "error_result": None},
    ]  # fmt: skip
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps(rows))
    reading = Reading()
    found = list(read([path], reading=reading))
    assert [(each.user, each.database, each.answered, each.dialect) for each in found] == [
        ("anna@x.org", "acs", True, "bigquery"),
        ("otto@x.org", "acs", False, "bigquery"),
    ]
    assert [each.time for each in found] == [
        datetime(2026, 1, 1, 0, 0, 0, 123456, UTC),
        datetime(2026, 1, 1, 0, 0, 0, 500000, UTC),
    ]
    assert reading.passed_over == {"LOAD job": 1}
    table = tmp_path / "jobs.csv"
    table.write_text(
        "creation_time,user_email,query,state,error_result.reason\n"
        "2026-01-01 00:00:00 UTC,anna@x.org,SELECT 1,DONE,\n"
        "2026-01-01 00:00:00 UTC,anna@x.org,SELECT 2,DONE,invalidQuery\n"
    )
    assert [each.answered for each in read([table])] == [True, False]


def test_bigquerys_jobs_of_the_api_have_positional_parameters(tmp_path: Path) -> None:
    def job(parameters: object) -> dict[str, object]:
        query = {"query": "SELECT ?", "queryParameters": parameters}
        return {"user_email": "anna@x.org", "configuration": {"jobType": "QUERY", "query": query},
                "statistics": {"creationTime": "1767225600500"}, "status": {"state": "DONE"}}  # fmt: skip

    positional = [{"parameterType": {"type": "INT64"}, "parameterValue": {"value": "7"}}]
    path = tmp_path / "jobs.jsonl"
    path.write_text(
        "\n".join(json.dumps(job(each)) for each in (positional, [{**positional[0], "name": "a"}]))
    )
    assert [(each.sql, each.parameters) for each in read([path])] == [
        ("SELECT ?", ("7",)),
        ("SELECT ?", None),
    ]


@pytest.mark.parametrize("storage", ["table", "json", "file", "one file"])
def test_duckdbs_own_query_log_is_read(tmp_path: Path, storage: str) -> None:
    asked = [
        "SELECT 'a;\n\"b\"' AS x",
        "PREPARE q AS SELECT ? + ?, '?'",
        "EXECUTE q(3, 4)",
        "SELECT 1; SELECT 2",
    ]
    path = tmp_path / (
        "log.csv" if storage in ("table", "one file") else "log.json" if storage == "json" else "logs"
    )
    with duckdb.connect() as connection:
        if storage in ("table", "json"):
            connection.execute("CALL enable_logging('QueryLog')")
        else:
            connection.execute(f"CALL enable_logging('QueryLog', storage = 'file', storage_path = '{path}')")
        for sql in asked:
            connection.execute(sql).fetchall()
        if storage in ("table", "json"):
            connection.execute(f"COPY (FROM duckdb_logs) TO '{path}'")
        else:
            connection.execute("CALL disable_logging()")
    path = path / "duckdb_log_entries.csv" if storage == "file" else path
    reading = Reading()
    # the blank after a semicolon is the next statement's since DuckDB 2.0.1, and was the last one's before
    found = [
        each for each in read([path], reading=reading) if each.sql.strip().startswith(("SELECT", "EXECUTE"))
    ]
    assert reading.formats == {str(path): "duckdb"}
    assert not reading.broken
    # the file of entries alone does not say which connection prepared what
    meant = ("EXECUTE q(3, 4)", None) if storage == "file" else ("SELECT $1 + $2, '?'", ("3", "4"))
    assert [(each.sql.strip("; "), each.parameters) for each in found] == [
        (asked[0], None), meant, ("SELECT 1", None), ("SELECT 2", None),
    ]  # fmt: skip
    assert all(each.time and each.answered is None and each.dialect == "duckdb" for each in found)


# Scripts


def test_a_script_is_cut_into_its_statements(tmp_path: Path) -> None:
    path = tmp_path / "queries.sql"
    path.write_text(
        "-- a; comment\n\\set x 1\nSELECT 1; SELECT ';'\n;\n\nCOPY p FROM stdin;\n1\tSELECT 0;\n\\.\n"
        "/* ; */ SELECT $$ ; $$ AS\n  x;\n;\nSELECT 4"
    )
    reading = Reading()
    found = list(read([path], reading=reading))
    assert [(each.sql, each.source.rpartition(":")[2]) for each in found] == [
        ("-- a; comment\n\\set x 1\nSELECT 1;", "1"),
        ("SELECT ';'\n;", "3"),
        ("COPY p FROM stdin;", "6"),
        ("/* ; */ SELECT $$ ; $$ AS\n  x;", "9"),
        ("SELECT 4", "12"),
    ]
    assert {(each.user, each.time, each.answered, each.dialect) for each in found} == {("", None, None, "")}


def test_several_files_are_one_log(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("SELECT 1;")
    (tmp_path / "b.csv").write_text("time,user,sql\n2026-01-01,anna,SELECT 2\n")
    reading = Reading()
    found = list(read([tmp_path / "a.sql", tmp_path / "b.csv"], reading=reading))
    assert [(each.number, each.sql) for each in found] == [(1, "SELECT 1;"), (2, "SELECT 2")]
    assert reading.bytes_read == reading.bytes_in_all == 9 + 39
    assert reading.statements == 2
