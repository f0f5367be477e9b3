"""`cae-sql evaluate` as a person runs it: a small table, a policy, and what is printed."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path

import duckdb
import jsonschema
import numpy as np
import pandas as pd
import pytest

from auditor.cli import main
from auditor.evaluation.json_form import schema
from cae_sql import Domain

POLICY = """\
[protect]
table = "staff"
column = "salary"
minimum = 10
maximum = 100
step = 10
public = ["sex", "age"]
[limit]
risk = 0.5
[intruder]
knows = ["sex"]
"""
SALARY = Domain(10, 100, 10)


@pytest.fixture
def staff() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    columns = {"id": np.arange(60), "sex": rng.choice(["f", "m"], 60), "age": rng.integers(30, 56, 60)}
    return pd.DataFrame(columns | {"salary": rng.choice([20, 30, 50, 90], 60)})


@pytest.fixture
def folder(tmp_path: Path, staff: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the table as a file and in a database, and a policy."""
    staff.to_csv(tmp_path / "staff.csv", index=False)
    with duckdb.connect(str(tmp_path / "staff.duckdb")) as connection:
        connection.execute("CREATE TABLE staff AS SELECT * FROM staff")
    (tmp_path / "policy.toml").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: object) -> tuple[int, str, str]:
    """Through the whole program, so that errors are what a person sees."""
    status = 0
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(["evaluate", *(str(argument) for argument in arguments)])
        except SystemExit as left:
            status = left.code if isinstance(left.code, int) else 0 if left.code is None else 1
    return status, out.getvalue(), err.getvalue()


def told(*arguments: object) -> dict[str, object]:
    """The JSON object, which fits its schema."""
    _, out, err = run(*arguments, "-p", "policy.toml", "--format", "json")
    assert err == ""
    found = json.loads(out)
    jsonschema.validate(found, schema(), jsonschema.Draft202012Validator)
    return found


def complaint(*arguments: object) -> str:
    """The one line of an error."""
    status, out, err = run(*arguments)
    assert (status, out) == (2, ""), err
    return err


def frame(found: dict[str, object]) -> pd.DataFrame:
    return pd.DataFrame(found["rows"], columns=found["columns"])
