"""What a process waits for before it answers: only what the answer needs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from auditor import Gate, QueryRefused
from auditor.cli.app import app
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


@pytest.mark.slow
def test_a_known_question_wakes_no_compiler_no_solver_and_no_pandas(tmp_path: Path) -> None:
    database = build(tmp_path / "staff.duckdb", people(60))
    (tmp_path / "policy.toml").write_text(POLICY)
    with Gate.open(database, tmp_path / "policy.toml") as gate:
        for sql in ASKED:
            gate.execute(sql)
    command = [sys.executable, "-P", "-c", KNOWN, *ASKED]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


REFUSED = """
import sys
from auditor import Gate, QueryRefused
from auditor.policy.policy import Policy
with Gate.open("staff.duckdb", Policy.load("policy.toml")) as gate:
    for sql in sys.argv[1:]:
        assert gate.check(sql).code == "risk"
        try:
            gate.execute(sql)
        except QueryRefused as refusal:
            said = refusal.decision
            assert (said.code, said.risk_after, said.risk_at_least) == ("risk", 1.0, True), said
    print(sorted({"numba", "scipy.sparse", "highspy", "pandas", "sqlalchemy"} & set(sys.modules)))
    print(gate.history()["risk_before"].dropna().tolist())
"""


@pytest.mark.slow
@pytest.mark.parametrize("before", [(), ASKED[:2]], ids=["nothing", "answers"])
def test_a_refusal_that_no_answer_could_avert_wakes_no_compiler(
    before: tuple[str, ...], tmp_path: Path
) -> None:
    database = build(tmp_path / "staff.duckdb", people(60))
    (tmp_path / "policy.toml").write_text(POLICY.replace('["age"', '["id", "age"'))
    lost = ["SELECT sum(salary) FROM staff WHERE id = 3"]
    with Gate.open(database, tmp_path / "policy.toml") as gate:
        for sql in before:
            gate.execute(sql)
        figure = gate.check(ASKED[0] + " WHERE age < 30").risk_before
    if before:
        lost.append("SELECT sum(salary) FROM staff WHERE id <> 3")
    command = [sys.executable, "-P", "-c", REFUSED, *lost]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    awake, figures = done.stdout.splitlines()
    assert awake == "[]"
    assert set(json.loads(figures)[-2 * len(lost) :]) == {figure}


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

    def warm(progress: object, records: int, whole: bool) -> None:
        assert not whole
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
            gate.execute("SELECT sum(salary) FROM staff WHERE id < 3")
        assert told == [60, "clock"] * 2
        with pytest.raises(QueryRefused):
            gate.execute("SELECT sum(salary) FROM staff WHERE id = 1")
        assert told == [60, "clock"] * 2


COMMANDS = (
    *("attacking", "auditing", "evaluating", "experiment", "measuring", "planning", "reporting", "serving"),
    "users",
)


@pytest.mark.parametrize("asked", ["query", "evaluate", "--help", "quary"])
def test_a_command_imports_no_other_commands_module(asked: str) -> None:
    code = (
        "import sys\nfrom auditor.cli import main\n"
        "try:\n    main([sys.argv[1], '--help'])\nexcept SystemExit:\n    pass\n"
        f"print(*(each for each in {COMMANDS!r} if 'auditor.cli.' + each in sys.modules), file=sys.stderr)"
    )
    command = [sys.executable, "-P", "-c", code, asked]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    imported = set(done.stderr.splitlines()[-1].split())
    wanted = {"query": set[str](), "evaluate": {"auditing", "evaluating"}}.get(asked, set(COMMANDS))
    assert imported == wanted


def test_a_command_that_is_made_alone_is_helped_and_told_like_all_others() -> None:
    runner = CliRunner()
    for name in ("demo", "query", "audit", "curve"):
        assert (
            runner.invoke(app(name), [name, "--help"]).output == runner.invoke(app(), [name, "--help"]).output
        )
    assert runner.invoke(app("users"), ["users", "list", "--help"]).exit_code == 0
    assert runner.invoke(app("query"), ["query"]).output == runner.invoke(app(), ["query"]).output


def test_help_lists_every_command() -> None:
    said = CliRunner().invoke(app(), ["--help"]).output
    here = ("demo", "init", "query", "check", "risk", "history", "verify")
    elsewhere = (
        "attack",
        "audit",
        "report",
        "sql",
        "curve",
        "experiment",
        "evaluate",
        "plan",
        "serve",
        "users",
    )
    for name in here + elsewhere:
        assert f"│ {name} " in said


ENDING = """
import atexit, sys, threading
from auditor.cli import main
atexit.register(lambda: print("atexit"))
def late():
    threading.main_thread().join()
    print("thread")
threading.Thread(target=late).start()
sys.argv = ["cae-sql", *sys.argv[1:]]
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("asked", "status"), [("users", 2), ("--help", 0), ("absent", 2)])
def test_a_process_that_ends_quickly_ends_as_python_would_have_ended_it(asked: str, status: int) -> None:
    command = [sys.executable, "-P", "-c", ENDING, asked]
    ended = [
        subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, "CAE_SQL_DEBUG": debug}
        )
        for debug in ("", "1")  # with it, Python ends the process itself
    ]
    for each in ended:
        assert each.returncode == status
        assert each.stdout.endswith("thread\natexit\n")
    assert (ended[0].stdout, ended[0].stderr) == (ended[1].stdout, ended[1].stderr)


def test_what_cannot_be_written_at_the_end_is_not_taken_for_written() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs a device that is always full")
    with Path("/dev/full").open("w") as full:
        code = "import sys; sys.argv = ['cae-sql', '--help']; from auditor.cli import main; main()"
        done = subprocess.run(
            [sys.executable, "-P", "-c", code], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode
    assert "No space left on device" in done.stderr or "internal error (OSError)" in done.stderr
