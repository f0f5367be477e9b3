"""The command line: exit statuses, one clear line for every error, exact JSON, a policy read off the data."""

from __future__ import annotations

import json
import subprocess
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

import duckdb
import numpy as np
import pandas as pd
import pytest

from auditor import __version__
from auditor.cli import main
from auditor.cli.show import csv_cell, for_people, frame_rows, json_text, plain
from auditor.decision import IN_ROWS, Decision
from auditor.errors import DatabaseError, DataChanged, LedgerError, QueryRefused, QueryUnsupported
from auditor.gate.nearest import Nearest
from auditor.policy.giveaways import giveaway
from auditor.policy.grid import grid_of
from auditor.policy.policy import Policy
from auditor.policy.suggest import suggest
from auditor.told import Foreseen, Range, Remainder
from cae_sql.domain import exact
from cae_sql.errors import OutOfTime

Outcome = tuple[int, str, str]
Run = Callable[..., Outcome]

POLICY = """\
[protect]
table = "staff"
column = "salary"
minimum = 10
maximum = 250
step = 10
public = ["age"]
[limit]
risk = 0.5
"""

ANSWERED = Decision("answered", "answered", "answered exactly")
ENDS = Decision("answered", "ends", f"2 values are told as ends: they are {IN_ROWS}.", ends=2)
RANGES = (
    Range("sum(salary)", {"dept": "b"}, None, Fraction(100, 3), "s", 1),
    Range("max(salary)", {"dept": "a"}, Fraction(9), None),
)
PARTIAL = Decision("answered", "partial", "2 groups are withheld (NULL)", "ask more coarsely")
REFUSAL = Decision(
    "refused", "risk", "an answer would pass the limit", "ask about a larger group", 0.123, 0.987
)
FORESEEN = replace(
    PARTIAL,
    fates=(
        Foreseen({"dept": "a"}, "sum(salary)", "exact", "It can be told exactly.", 0.4),
        Foreseen({"dept": "b"}, "sum(salary)", "withheld", "It could tell too much."),
    ),
)
UNKNOWN = Decision(
    "unsupported", "window", "window functions over rows are not understood", "aggregate first"
)


@dataclass
class Answer:
    columns: list[str]
    rows: list[tuple[object, ...]]
    decision: Decision = ANSWERED
    ranges: tuple[Range, ...] = ()
    remainder: tuple[Remainder, ...] = ()

    def fetchall(self) -> list[tuple[object, ...]]:
        return self.rows


@dataclass
class Report:
    entries: int = 5
    answers: int = 3
    problems: list[str] = field(default_factory=list)
    past: int = 0


class FakeGate:
    """Stands in for the gate: says what the statement's text asks it to say."""

    risks: ClassVar[list[float]] = [0.1, 0.4]
    problems: ClassVar[list[str]] = []
    asked: ClassVar[list[tuple[str, str]]] = []
    dialects: ClassVar[list[object]] = []
    zones: ClassVar[list[str]] = []

    @classmethod
    def open(cls, database: Path, policy: Policy, ledger: object = None) -> FakeGate:
        assert isinstance(policy, Policy)
        if not Path(database).exists():
            raise DatabaseError(f"database {database}: no such file")
        return cls()

    def __enter__(self) -> FakeGate:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def execute(
        self,
        sql: str,
        parameters: object = None,
        user: str = "analyst",
        dialect: object = None,
        timezone: str = "UTC",
    ) -> Answer:
        self.asked.append((sql, user))
        self.dialects.append(dialect)
        self.zones.append(timezone)
        says: dict[str, Exception] = {
            "refuse": QueryRefused(REFUSAL),
            "unsupported": QueryUnsupported(UNKNOWN),
            "ledger": LedgerError("ledger x: the disk is full;\nnothing was released"),
            "changed": DataChanged("ledger x: table 'staff' has changed since"),
            "time": OutOfTime("no time left"),
            "bug": KeyError("secret 170"),
        }
        if sql in says:
            raise says[sql]
        rows: list[tuple[object, ...]] = [
            (2**70, Decimal("12345678901234567890.10"), 0.1, None, "[red]é\x1b[31m", date(2026, 1, 2), True)
        ]
        if sql == "ends":
            rows = [("a", 100, None), ("b", None, None)]
            return Answer(["dept", "s", "twice"], rows, ENDS, RANGES)
        if sql == "remainder":
            return Answer(["dept", "s"], [("a", 1), ("(other)", 9)], PARTIAL, (), (Remainder(1, 2, 12),))
        decision = PARTIAL if sql == "partial" else ANSWERED
        return Answer(["big", "decimal", "float", "nothing", "text", "day", "yes"], rows, decision)

    def check(
        self,
        sql: str,
        parameters: object = None,
        user: str = "analyst",
        dialect: object = None,
        timezone: str = "UTC",
    ) -> Decision:
        self.dialects.append(dialect)
        self.zones.append(timezone)
        return {"refuse": REFUSAL, "unsupported": UNKNOWN, "fates": FORESEEN}.get(sql, ANSWERED)

    def held(self) -> float:
        return 0.45

    def risk(self, candidates: str = "interval", top: object = None, progress: object = None) -> pd.DataFrame:
        count = len(self.risks)
        return pd.DataFrame(
            {
                "age": list(range(30, 30 + count)),
                "records": [2] * count,
                "lower": [10.0] * count,
                "upper": [250.0] * count,
                "initial_entropy": [4.0] * count,
                "entropy_at_epsilon": [None] * count,
                "area": [100.0] * count,
                "risk": self.risks,
            }
        )

    def nearest(self) -> list[Nearest]:
        about: dict[str, object] = {"dept": "b\x1b[31m"}
        return [Nearest(9, 20.0, 100.0, 30.0, 60.0, 0.3, 0.25, 0.24, about, 4, (2,))]

    def history(self) -> pd.DataFrame:
        when = datetime.fromisoformat("2026-01-02T03:04:05+00:00")
        columns = ["number", "time", "user", "sql", "verdict", "code"]
        return pd.DataFrame([[1, when, "ann", "SELECT 1", "answered", "public"]], columns=columns)

    def verify(self) -> Report:
        return Report(problems=self.problems)


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command with the fake gate, beside a database and a policy."""
    fake = types.ModuleType("auditor.gate.gate")
    monkeypatch.setattr(FakeGate, "asked", [])
    monkeypatch.setattr(FakeGate, "dialects", [])
    monkeypatch.setattr(FakeGate, "zones", [])
    fake.Gate = FakeGate  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "auditor.gate.gate", fake)
    monkeypatch.delenv("CAE_SQL_DEBUG", raising=False)
    monkeypatch.chdir(tmp_path)
    Path("d.duckdb").touch()
    Path("p.toml").write_text(POLICY)

    def command(*arguments: str) -> Outcome:
        with pytest.raises(SystemExit) as left:
            main(arguments)
        output = capsys.readouterr()
        return int(left.value.code or 0), output.out, output.err

    return command


def asked(run: Run, sql: str, *more: str) -> Outcome:
    return run("query", "d.duckdb", sql, "-p", "p.toml", *more)


# Exit statuses and errors


def test_an_answer_is_0_and_on_stdout(run: Run) -> None:
    status, out, err = asked(run, "SELECT 1", "--user", "ann")
    assert (status, err) == (0, "")
    assert "1180591620717411303424" in out
    assert "12345678901234567890.10" in out
    assert "NULL" in out
    assert "1 row\n" in out
    assert FakeGate.asked == [("SELECT 1", "ann")]


def test_the_dialect_of_a_statement_may_be_named(run: Run) -> None:
    asked(run, "SELECT 1")
    asked(run, "SELECT 1", "--dialect", "postgres")
    run("check", "d.duckdb", "SELECT 1", "-p", "p.toml", "--dialect", "duckdb")
    assert FakeGate.dialects == [None, "postgres", "duckdb"]


def test_the_time_zone_of_a_statement_may_be_named(run: Run) -> None:
    asked(run, "SELECT 1")
    asked(run, "SELECT 1", "--timezone", "Europe/Berlin")
    run("check", "d.duckdb", "SELECT 1", "-p", "p.toml", "--timezone", "5.5")
    assert FakeGate.zones == ["UTC", "Europe/Berlin", "5.5"]
    status, _, err = asked(run, "SELECT 1", "--dialect", "mysql")
    assert status == 2
    assert "mysql" in err


@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_withheld_groups_are_said_beside_the_rows(run: Run, form: str) -> None:
    status, out, err = asked(run, "partial", "--format", form)
    assert status == 0
    said = out if form == "json" else err
    assert "2 groups are withheld" in said
    assert "ask more coarsely" in said
    assert "2 groups" not in (err if form == "json" else out)


@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_what_a_table_shows_it_does_not_call_null(run: Run, form: str) -> None:
    _, out, err = asked(run, "ends", "--format", form)
    said = out if form == "json" else err
    assert (IN_ROWS in said) == (form != "table")
    assert "2 values are told as ends: they are" in said


def test_an_end_stands_in_its_cell_or_below_the_rows(run: Run) -> None:
    status, out, err = asked(run, "ends")
    assert status == 0
    assert [line.split() for line in out.splitlines() if line.strip().startswith("b ")] == [
        ["b", "≤", "33.333334", "NULL"]
    ]
    assert "max(salary) of dept a: at least 9" in out
    assert "2 values are told as ends" in err


def test_json_has_the_ends_beside_the_rows(run: Run) -> None:
    _, out, err = asked(run, "ends", "--format", "json")
    found = json.loads(out)
    assert found["rows"] == [["a", 100, None], ["b", None, None]]
    assert found["ranges"][0] == {
        "aggregate": "sum(salary)", "group": {"dept": "b"}, "at_least": None, "at_most": 33.333334,
        "row": 1, "column": "s",
    }  # fmt: skip
    assert (found["ranges"][1]["at_least"], found["ranges"][1]["row"], err) == (9, None, "")


def test_json_says_which_rows_are_withheld_groups_together(run: Run) -> None:
    _, out, _ = asked(run, "remainder", "--format", "json")
    assert json.loads(out)["remainder"] == [{"row": 1, "groups": 2, "rows": 12}]


def test_a_refusal_is_3_with_message_and_hint_and_no_risk(run: Run) -> None:
    status, out, err = asked(run, "refuse")
    assert (status, out) == (3, "")
    assert "refused (risk): an answer would pass the limit" in err
    assert "hint: ask about a larger group" in err
    for form in ("table", "csv", "json"):
        _, out, err = asked(run, "refuse", "--format", form)
        assert "0.987" not in out + err
        assert "0.123" not in out + err


def test_what_is_not_understood_is_4(run: Run) -> None:
    status, _, err = asked(run, "unsupported")
    assert status == 4
    assert "window functions" in err


@pytest.mark.parametrize(
    ("sql", "text"), [("ledger", "disk is full"), ("changed", "changed"), ("time", "no time")]
)
def test_errors_are_2_and_one_line(run: Run, sql: str, text: str) -> None:
    status, out, err = asked(run, sql)
    assert (status, out) == (2, "")
    assert err.startswith("cae-sql: ")
    assert text in err
    assert err.count("\n") == 1


def test_a_mistake_of_ours_is_1_and_shows_no_value(run: Run) -> None:
    status, out, err = asked(run, "bug")
    assert (status, out) == (1, "")
    assert "KeyError" in err
    assert "170" not in err
    assert err.count("\n") == 1


def test_debugging_shows_the_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAE_SQL_DEBUG", "1")
    with pytest.raises(KeyError):
        main(["query", "d.duckdb", "bug", "-p", "p.toml"])


@pytest.mark.parametrize(
    "arguments",
    [
        ["frobnicate"],
        ["query", "d.duckdb"],
        ["query", "d.duckdb", "SELECT 1"],
        ["query", "d.duckdb", "SELECT 1", "-p", "p.toml", "--format", "xml"],
        ["risk", "d.duckdb", "-p", "p.toml", "--top", "0"],
        ["init", "d.duckdb", "--table", "t"],
        ["query", "d.duckdb", "SELECT 1", "-p", "absent.toml"],
        ["query", "absent.duckdb", "SELECT 1", "-p", "p.toml"],
    ],
)
def test_usage_policy_and_data_errors_are_2(run: Run, arguments: list[str]) -> None:
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert err
    assert "Traceback" not in err


def test_a_wrong_policy_names_key_and_value(run: Run) -> None:
    Path("p.toml").write_text(POLICY.replace("step", "stepp"))
    status, _, err = asked(run, "SELECT 1")
    assert status == 2
    assert "protect.stepp = 10" in err
    assert "did you mean protect.step" in err


def test_a_statement_may_come_from_stdin(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", types.SimpleNamespace(read=lambda: "SELECT 2"))
    assert asked(run, "-")[0] == 0
    assert FakeGate.asked == [("SELECT 2", "analyst")]


@pytest.mark.parametrize(("sql", "status"), [("SELECT 1", 0), ("refuse", 3), ("unsupported", 4)])
def test_check_has_the_status_that_query_would(run: Run, sql: str, status: int) -> None:
    found, out, _ = run("check", "d.duckdb", sql, "-p", "p.toml", "--format", "json")
    assert found == status
    assert json.loads(out)["rows"] == []


def test_check_shows_what_would_become_of_each_group(run: Run) -> None:
    status, out, _ = run("check", "d.duckdb", "fates", "-p", "p.toml")
    assert status == 0
    assert ["dept", "a", "sum(salary)", "exact"] in [line.split()[:4] for line in out.splitlines()]
    assert "2 rows\n" in out
    assert "answered (partial): 2 groups are withheld (NULL)\nhint: ask more coarsely\n" in out
    _, out, _ = run("check", "d.duckdb", "fates", "-p", "p.toml", "--format", "json")
    shown = json.loads(out)
    assert shown["columns"] == ["group", "aggregate", "fate", "reason", "left"]
    assert shown["rows"][1] == ["dept b", "sum(salary)", "withheld", "It could tell too much.", None]
    assert (shown["verdict"], shown["code"]) == ("answered", "partial")
    _, out, err = run("check", "d.duckdb", "fates", "-p", "p.toml", "--format", "csv")
    assert out.splitlines()[0] == "group,aggregate,fate,reason,left"
    assert err.startswith("partial: ")


def test_risk_says_how_much_is_spent_and_by_which_statements(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Nearest(
        9, 20.0, 100.0, 30.0, 60.0, 0.3, 0.25, 0.24, {"dept": "b"}, 4, (1,), None, 0.5, ((1, 0.24),)
    )
    monkeypatch.setattr(FakeGate, "nearest", lambda _: [one])
    _, out, _ = run("risk", "d.duckdb", "-p", "p.toml")
    assert "  dept b: 60% of the limit is spent; could still be any of 9 values" in out
    assert "that each adds:\n  1, ann: 24%, SELECT 1\n" in out
    _, out, _ = run("risk", "d.duckdb", "-p", "p.toml", "--format", "json")
    (nearest,) = json.loads(out)["nearest"]
    assert (nearest["spent"], nearest["shares"]) == (0.6, [[1, 0.24]])


# What is printed


def test_the_version_is_shown_alone(run: Run) -> None:
    assert run("--version") == (0, f"cae-sql {__version__}\n", "")


def test_json_is_one_object_with_exact_numbers(run: Run) -> None:
    _, out, _ = asked(run, "SELECT 1", "--format", "json")
    shown = json.loads(out, parse_float=Decimal)
    assert list(shown) == ["verdict", "columns", "rows", "code", "message", "hint", "ranges", "withheld"]
    assert shown["verdict"] == "answered"
    assert shown["columns"][:2] == ["big", "decimal"]
    text = "[red]é\x1b[31m"
    assert shown["rows"] == [
        [2**70, Decimal("12345678901234567890.10"), Decimal("0.1"), None, text, "2026-01-02", True]
    ]


def test_a_refusal_in_json_is_on_stdout(run: Run) -> None:
    status, out, err = asked(run, "refuse", "--format", "json")
    assert (status, err) == (3, "")
    assert json.loads(out) == {
        "verdict": "refused",
        "columns": [],
        "rows": [],
        "code": "risk",
        "message": REFUSAL.message,
        "hint": REFUSAL.hint,
    }


def test_csv_has_a_header_and_empty_nulls(run: Run) -> None:
    _, out, _ = asked(run, "SELECT 1", "--format", "csv")
    header, row = out.splitlines()
    assert header == "big,decimal,float,nothing,text,day,yes"
    assert row.startswith("1180591620717411303424,12345678901234567890.10,0.1,,")
    assert row.endswith(",2026-01-02,true")


def test_a_table_takes_no_markup_and_no_control_characters(run: Run) -> None:
    _, out, _ = asked(run, "SELECT 1")
    assert "[red]é\\x1b[31m" in out
    assert "\x1b" not in out


def test_risk_is_0_within_and_3_beyond_the_limit(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cae_sql.risk")
    status, out, _ = run("risk", "d.duckdb", "-p", "p.toml", "--format", "json")
    shown = json.loads(out)
    assert status == 0
    assert (shown["verdict"], shown["code"], shown["risk"]) == ("answered", "within", 0.45)
    assert shown["proved"] == 0.4
    assert (
        shown["message"]
        == "the gate holds: nobody's risk is above 0.450; nobody is proved to be beyond the limit"
    )
    assert shown["limit"] == {"risk": 0.5, "epsilon": None, "min_entropy": None}
    assert shown["rows"][0][shown["columns"].index("risk")] == 0.4
    (nearest,) = shown["nearest"]
    assert (nearest["possible"], nearest["likely_lower"], nearest["carried_by"]) == (9, 30.0, [2])
    monkeypatch.setattr(FakeGate, "risks", [0.1, 0.5, 0.51])
    status, out, _ = run("risk", "d.duckdb", "-p", "p.toml", "--top", "1")
    assert status == 3
    assert "1 of 3 classes are proved to be beyond the limit" in out
    assert "1 row\n" in out
    said = "dept b\\x1b[31m: could still be any of 9 values, 20 to 100; most likely 30 to 60"
    said += "; answers explain 25%"
    assert f"  {said} of its variance, statement 2 alone 24%\n" in out


def test_a_table_of_classes_has_the_twenty_riskiest_and_says_so_and_json_has_all(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeGate, "risks", [0.001 * place for place in range(30)])
    status, out, _ = run("risk", "d.duckdb", "-p", "p.toml")
    assert status == 0
    assert "20 rows\n" in out
    assert "the 20 riskiest of 30 classes; --top shows more\n" in out
    assert "0.029" in out
    assert "0.009" not in out
    _, out, _ = run("risk", "d.duckdb", "-p", "p.toml", "--format", "json")
    assert len(json.loads(out)["rows"]) == 30


def test_figures_for_administrators_are_short_and_what_says_nothing_is_left_out() -> None:
    when = datetime(2026, 1, 2, 3, 4, 5, 678)
    columns, rows = for_people(
        ["risk", "none", "at", "n"], [[0.39385, None, when, 7], [0.00001, None, when, 8]]
    )
    assert columns == ["risk", "at", "n"]
    assert rows == [[0.394, when.replace(microsecond=0), 7], [1e-05, when.replace(microsecond=0), 8]]


def test_a_report_by_a_model_says_that_the_gate_does_not_enforce_it(run: Run) -> None:
    pytest.importorskip("cae_sql.risk")
    status, out, _ = run("risk", "d.duckdb", "-p", "p.toml", "--candidates", "exact")
    assert status == 0
    assert "every class keeps the limit, by the model exact, which the gate does not enforce" in out
    for none in ("other", "tilted"):
        status, _, err = run("risk", "d.duckdb", "-p", "p.toml", "--candidates", none)
        assert status == 2
        assert none in err
        assert "posterior" in err


def test_history_shows_what_was_asked(run: Run) -> None:
    status, out, _ = run("history", "d.duckdb", "-p", "p.toml", "--format", "json")
    assert status == 0
    assert json.loads(out)["rows"] == [
        [1, "2026-01-02T03:04:05+00:00", "ann", "SELECT 1", "answered", "public"]
    ]


def test_verify_is_2_where_something_is_wrong(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    status, out, _ = run("verify", "d.duckdb", "-p", "p.toml")
    assert status == 0
    assert "5 entries and 3 answers" in out
    monkeypatch.setattr(FakeGate, "problems", ["answer 2 does not agree with the data"])
    status, _, err = run("verify", "d.duckdb", "-p", "p.toml")
    assert status == 2
    assert "answer 2 does not agree" in err
    status, out, _ = run("verify", "d.duckdb", "-p", "p.toml", "--format", "json")
    assert status == 2
    assert json.loads(out)["problems"] == ["answer 2 does not agree with the data"]


def test_values_of_every_kind_can_be_printed() -> None:
    value = {"a": [1, float("nan"), float("inf")], "b": np.int64(3), "c": b"\x01\xff"}
    assert json_text(value) == '{"a": [1, null, "inf"], "b": 3, "c": "01ff"}'
    assert csv_cell([1, None, "x"]) == '[1, null, "x"]'
    assert csv_cell(datetime.fromisoformat("2026-01-02T03:04:05")) == "2026-01-02T03:04:05"
    assert plain("a\x07\nb") == "a\\x07\nb"
    assert frame_rows(pd.DataFrame({"a": [1, 2], "b": [0.5, None]})) == [[1, 0.5], [2, None]]


def test_help_needs_none_of_the_heavy_libraries() -> None:
    heavy = (
        "{'duckdb', 'pandas', 'numba', 'sqlglot', 'sqlalchemy', 'scipy', 'pyarrow', 'highspy', 'pydantic'}"
    )
    code = (
        "import sys\nfrom auditor.cli import main\ntry: main(['--help'])\n"
        f"except SystemExit: print(sorted({heavy} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


# With the real gate


@pytest.fixture
def owned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command beside a real database of 60 persons and its policy."""
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(
        {"age": [20 + i % 40 for i in range(60)], "salary": [10 + i * 7 % 25 * 10 for i in range(60)]}
    )
    database(Path("d.duckdb"), frame)
    Path("p.toml").write_text(POLICY)

    def command(*arguments: str) -> Outcome:
        with pytest.raises(SystemExit) as left:
            main(arguments)
        output = capsys.readouterr()
        return int(left.value.code or 0), output.out, output.err

    return command


@pytest.mark.slow
def test_a_later_state_is_opened_as_an_edition(owned: Run) -> None:
    Path("p.toml").write_text(POLICY.replace('public = ["age"]', 'public = ["age"]\nkey = "id"'))
    ids = {"id": range(60)}
    frame = pd.DataFrame(
        {**ids, "age": [20 + i % 40 for i in range(60)], "salary": [10 + i * 7 % 25 * 10 for i in range(60)]}
    )
    total = "SELECT sum(salary) FROM staff"
    Path("d.duckdb").unlink()
    database(Path("d.duckdb"), frame)
    assert asked(owned, total)[0] == 0
    status, out, _ = owned("renew", "d.duckdb", "-p", "p.toml")
    assert (status, out) == (0, "the data are those of edition 1; nothing was opened\n")
    with duckdb.connect("d.duckdb") as connection:
        connection.execute("DELETE FROM staff WHERE id = 3; UPDATE staff SET salary = 130 WHERE id = 4")
    status, _, err = asked(owned, total)
    assert status == 2
    assert "cae-sql renew DATABASE -p POLICY" in err
    status, out, _ = owned("renew", "d.duckdb", "-p", "p.toml")
    assert (status, out) == (
        0, "staff.salary: 58 unchanged, 0 new, 1 changed, 1 left\nedition 2 is open\n"
    )  # fmt: skip
    assert asked(owned, total)[0] == 3
    status, out, _ = owned("verify", "d.duckdb", "-p", "p.toml")
    assert (status, "1 answers are about values of earlier editions" in out) == (0, True)
    with duckdb.connect("d.duckdb") as connection:
        connection.execute("INSERT INTO staff VALUES (60, 33, 100)")
    shown = json.loads(owned("renew", "d.duckdb", "-p", "p.toml", "--format", "json")[1])
    assert (shown["code"], shown["edition"], shown["rows"]) == (
        "renewed",
        3,
        [["staff", "salary", 59, 1, 0, 0]],
    )


def test_the_commands_work_together(owned: Run) -> None:
    status, out, _ = asked(owned, "SELECT sum(salary) AS total FROM staff", "--format", "json")
    assert status == 0
    total = json.loads(out)["rows"][0][0]
    assert total == sum(10 + i * 7 % 25 * 10 for i in range(60))
    assert asked(owned, "SELECT sum(salary) FROM staff WHERE age <> 45", "--user", "eve")[0] == 3
    assert owned("check", "d.duckdb", "SELECT max(salary) FROM staff WHERE age = 45", "-p", "p.toml")[0] == 3
    assert asked(owned, "SELECT salary FROM staff")[0] == 4
    status, out, _ = owned("history", "d.duckdb", "-p", "p.toml", "--format", "json")
    shown = json.loads(out)
    verdict, user = shown["columns"].index("verdict"), shown["columns"].index("user")
    assert [row[verdict] for row in shown["rows"]] == ["answered", "refused", "refused", "unsupported"]
    assert shown["rows"][1][user] == "eve"
    assert owned("risk", "d.duckdb", "-p", "p.toml", "--top", "3")[0] == 0
    status, out, _ = owned("verify", "d.duckdb", "-p", "p.toml", "--format", "json")
    assert status == 0
    assert json.loads(out)["rows"] == [[4, 1, 0]]


def test_data_that_changed_are_one_line(owned: Run) -> None:
    assert asked(owned, "SELECT sum(salary) FROM staff")[0] == 0
    with duckdb.connect("d.duckdb") as connection:
        connection.execute("UPDATE staff SET salary = 200 WHERE age = 45")
    status, out, err = asked(owned, "SELECT sum(salary) FROM staff")
    assert (status, out) == (2, "")
    assert "has changed since" in err
    assert err.count("\n") == 1


def test_the_demonstration_stops_the_attack(owned: Run) -> None:
    status, out, err = owned("demo")
    assert (status, err) == (0, "")
    honest, attack = out.split("A colleague is after Ada's salary")
    assert "refused" not in honest
    assert attack.count("refused:") == 5
    assert "Ada earns 130" in attack
    assert "it lies between 20 and 220" in attack
    assert len(max(out.splitlines(), key=len)) < 120


@pytest.mark.slow
def test_the_demonstration_can_be_kept_once(owned: Run) -> None:
    assert owned("demo", "--keep", "kept")[0] == 0
    assert owned("verify", "kept/staff.duckdb", "-p", "kept/staff.toml")[0] == 0
    status, _, err = owned("demo", "--keep", "kept")
    assert status == 2
    assert "there is one already" in err


# init


def database(path: Path, frame: pd.DataFrame) -> Path:
    with duckdb.connect(str(path)) as connection:
        connection.register("frame", frame)
        connection.execute("CREATE TABLE staff AS FROM frame")
    return path


@pytest.fixture
def staff(tmp_path: Path) -> Path:
    generator = np.random.default_rng(3)
    salary = generator.integers(3, 24, 300) * 10
    frame = pd.DataFrame(
        {
            "id": generator.permutation(300),
            "age": generator.integers(20, 65, 300),
            "grade": [f"G{value // 20}" for value in salary],
            "gross": salary * 1.21 + generator.normal(0, 1, 300),
            "dept": generator.choice(["a", "b", "c"], 300),
            'odd "name"': generator.choice(["x", "y"], 300),
            "salary": salary,
        }
    )
    return database(tmp_path / "staff.duckdb", frame)


def test_a_suggested_policy_loads_and_fits(staff: Path) -> None:
    suggestion = suggest(staff, "STAFF", "Salary")
    policy = Policy.parse(suggestion.text)
    assert policy.protects[0].public == ("age", "dept", 'odd "name"')
    assert (policy.protects[0].key, policy.protects[0].column) == ("id", "salary")
    assert policy.intruder.insiders == 1
    assert policy.protects[0].grid == 10
    assert 20 <= policy.protects[0].domain.count <= 100
    assert policy.protects[0].minimum < 30
    assert policy.protects[0].maximum > 230
    assert [warning.split(":")[0] for warning in suggestion.warnings] == ["grade", "gross"]


def test_only_the_unrounded_column_of_the_census_gives_the_rounded_one_away(
    shared_data: Path, tmp_path: Path
) -> None:
    path = tmp_path / "acs.duckdb"
    with duckdb.connect(str(path)) as connection:
        file = shared_data / "microdata" / "acs2011_us_paperlike.csv"
        connection.execute(f"CREATE TABLE person AS FROM '{file}'")
    suggestion = suggest(path, "person", "salary")
    (warning,) = suggestion.warnings
    assert warning.startswith("wagp: rises as salary rises")
    policy = Policy.parse(suggestion.text)
    assert policy.protects[0].key == "id"
    assert policy.protects[0].public == (
        "age",
        "sex",
        "education",
        "industry",
        "occupation",
        "travel_time",
    )
    assert [policy.protects[0].minimum, policy.protects[0].maximum] == [Fraction(0), Fraction(260)]


def test_init_writes_a_policy_and_never_over_one(run: Run, staff: Path) -> None:
    status, out, err = run("init", str(staff), "--table", "staff", "--column", "salary", "-o", "new.toml")
    assert (status, out) == (0, "")
    assert "warning: gross" in err
    assert Policy.load("new.toml").protects[0].table == "staff"
    status, _, err = run("init", str(staff), "--table", "staff", "--column", "salary", "-o", "new.toml")
    assert status == 2
    assert "there is one already" in err
    status, out, _ = run("init", str(staff), "--table", "staff", "--column", "salary")
    assert status == 0
    assert Policy.parse(out)


@pytest.mark.parametrize(
    ("table", "column", "text"),
    [
        ("stuff", "salary", "did you mean 'staff'"),
        ("staff", "sallary", "did you mean 'salary'"),
        ("staff", "dept", "only columns of numbers"),
    ],
)
def test_init_says_what_is_there(run: Run, staff: Path, table: str, column: str, text: str) -> None:
    status, _, err = run("init", str(staff), "--table", table, "--column", column)
    assert status == 2
    assert text in err


def test_init_of_what_is_no_database(run: Run) -> None:
    Path("x.duckdb").write_text("not a database" * 100)
    assert run("init", "x.duckdb", "--table", "t", "--column", "c")[0] == 2
    assert run("init", "absent.duckdb", "--table", "t", "--column", "c")[0] == 2


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["10", "250", "20", "30"], ("0", "260", "10", "10")),
        (["0.05", "0.10", "12.35"], ("0", "13", "0.25", "0.05")),
        (["-37", "12", "55"], ("-40", "60", "2", "1")),
        (["1000", "1007"], ("999", "1008", "1", "1")),
        (["0", "1"], ("0", "2", "1", "1")),
    ],
)
def test_bounds_are_coarse_and_never_the_extremes(values: list[str], expected: tuple[str, ...]) -> None:
    exactly = {exact(Decimal(value)): 1 for value in values}
    grid = grid_of(exactly)
    assert (grid.minimum, grid.maximum, grid.step, grid.resolution) == tuple(
        map(exact, map(Decimal, expected))
    )
    assert grid.maximum > max(exactly)
    assert grid.minimum < min(exactly) or grid.minimum == 0
    assert grid.step % grid.resolution == 0


def test_a_column_off_any_grid_cannot_be_protected_as_it_is() -> None:
    values = {exact(value): 1 for value in np.random.default_rng(1).normal(0, 1e5, 50).tolist()}
    with pytest.raises(DatabaseError, match="round"):
        grid_of(values)


GENERATOR = np.random.default_rng(11)
OWN = GENERATOR.integers(0, 30, 400).astype(np.float64) * 10


@pytest.mark.parametrize(
    ("name", "column", "expected"),
    [
        ("noise", pd.Series(GENERATOR.normal(size=400)), None),
        ("identifier", pd.Series(GENERATOR.permutation(400)), None),
        ("text identifier", pd.Series([f"p{i}" for i in range(400)]), None),
        ("few groups", pd.Series(GENERATOR.choice(["a", "b"], 400)), None),
        ("many groups", pd.Series(GENERATOR.integers(0, 190, 400)), None),
        ("constant", pd.Series(["x"] * 400), None),
        ("copy as text", pd.Series([f"{value:.2f}" for value in OWN]), "rises"),
        ("mirrored", pd.Series(-OWN), "falls"),
        ("bent", pd.Series(np.exp(OWN / 30)), "rank correlation 1.00"),
        ("coded", pd.Series([f"c{int(value) * 7 % 31}" for value in OWN]), "explain"),
        ("coded numbers", pd.Series([int(value) * 7 % 31 for value in OWN]), "explain"),
        ("rank by date", pd.Series(pd.to_datetime(OWN, unit="D")), "rises"),
        ("missing", pd.Series([None] * 400), None),
    ],
)
def test_a_column_that_gives_the_protected_one_away_is_seen(
    name: str, column: pd.Series, expected: str | None
) -> None:
    reason = giveaway(column, OWN)
    if expected is None:
        assert reason is None, name
    else:
        assert reason is not None, name
        assert expected in reason


def test_an_attack_needs_a_database_and_a_policy_unless_it_is_to_list(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = []
    for arguments in (["attack"], ["attack", "--list", "--format", "csv"]):
        with pytest.raises(SystemExit) as left:
            main(arguments)
        found.append(left.value.code or 0)
    assert found == [2, 0]
    assert capsys.readouterr().out.startswith("attack,about,source\n")
