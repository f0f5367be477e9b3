"""What a process waits for before it answers: only what the answer needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from auditor import Gate, QueryRefused
from auditor.gate import gate as module
from tests.auditor.staff import build, people, policy

ASKED = (
    "SELECT sum(salary) FROM staff",
    "SELECT dept, avg(salary) AS average FROM staff GROUP BY dept ORDER BY dept",
    "SELECT max(salary) FROM staff",
)

KNOWN = """
import sys
from auditor import Gate
from auditor.policy.policy import Policy
with Gate.open("staff.duckdb", Policy.load("policy.toml")) as gate:
    for sql in sys.argv[1:]:
        answer = gate.execute(sql)
        assert answer.decision.code == "known", answer.decision
        answer.fetchall()
heavy = {"numba", "scipy.sparse", "scipy.optimize", "highspy", "pandas", "rich", "auditor.sql.postgres",
         "pyarrow.compute", "sqlalchemy", "cae_sql.inference.posterior.judging"}
print(sorted(heavy & set(sys.modules)))
"""

POLICY = """
[protect]
table = "staff"
column = "salary"
minimum = 0
maximum = 250
step = 10
public = ["age", "sex", "dept"]

[limit]
risk = 0.5
"""


def test_a_known_question_wakes_no_compiler_no_solver_and_no_pandas(tmp_path: Path) -> None:
    database = build(tmp_path / "staff.duckdb", people(60))
    (tmp_path / "policy.toml").write_text(POLICY)
    with Gate.open(database, tmp_path / "policy.toml") as gate:
        for sql in ASKED:
            gate.execute(sql)
    command = [sys.executable, "-P", "-c", KNOWN, *ASKED]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def test_help_wakes_no_numpy_and_nothing_of_a_gate() -> None:
    code = (
        "import sys\nfrom auditor.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit as end:\n    assert not end.code\n"
        "heavy = {'numpy', 'duckdb', 'pydantic', 'sqlglot', 'sqlalchemy'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "[]\n")


def test_kernels_are_compiled_before_a_decision_begins_and_not_for_what_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[object] = []

    def warm(progress: object, records: int) -> None:
        told.append(records)

    class Clock(module.Budget):
        def __init__(self, seconds: float) -> None:
            told.append("clock")
            super().__init__(seconds)

    monkeypatch.setattr(module, "warm", warm)
    monkeypatch.setattr("auditor.deciding.decide.Budget", Clock)
    with Gate.open(build(tmp_path / "staff.duckdb", people(60)), policy()) as gate:
        gate.execute(ASKED[0])
        assert told == [60, "clock"]
        gate.execute(ASKED[0])
        gate.execute("SELECT sum(salary) + 1 FROM staff")
        assert told == [60, "clock"]
        with pytest.raises(QueryRefused):
            gate.execute("SELECT sum(salary) FROM staff WHERE id = 1")
        assert told == [60, "clock"] * 2
