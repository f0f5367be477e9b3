"""What administrators read as tables has the columns of `Gate.risk` and `Gate.history` under any policy."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from auditor import Gate, Policy
from auditor.proxy import administration
from tests.auditor.staff import build, people, policy_text

SECOND = """
[[protect]]
table = "staff"
column = "bonus"
minimum = 0
maximum = 40
step = 10
public = ["age", "dept", "day", "part"]
"""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = build(tmp_path / "staff.duckdb", people(60))
    with duckdb.connect(str(path)) as connection:
        connection.execute("ALTER TABLE staff ADD COLUMN bonus INTEGER")
        connection.execute("ALTER TABLE staff ADD COLUMN day DATE")
        connection.execute("ALTER TABLE staff ADD COLUMN part DECIMAL(6, 2)")
        connection.execute("ALTER TABLE staff ADD COLUMN risk BIGINT")
        connection.execute(
            "UPDATE staff SET bonus = id % 5 * 10, day = DATE '2020-01-01' + id, part = id / 7, "
            "risk = CASE WHEN id > 5 THEN id END"
        )
    return path


PUBLIC = '["age", "dept", "day", "part"]'


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        policy_text(public=PUBLIC),
        policy_text('[ledger]\nscope = "user"\n', public=PUBLIC),
        policy_text('[intruder]\nknows = ["DEPT"]\n', public=PUBLIC),
        policy_text(SECOND + '[ledger]\nscope = "user"\n', public=PUBLIC).replace(
            "[protect]", "[[protect]]", 1
        ),
    ],
)
def test_the_tables_are_those_that_are_told(database: Path, tmp_path: Path, text: str) -> None:
    with Gate.open(database, Policy.parse(text), tmp_path / "ledger") as gate:
        gate.execute("SELECT SUM(salary) FROM staff", user="ana")
        frames = {"risk": gate.risk(), "history": gate.history()}
        for table in administration.tables(gate):
            name = table.name.removeprefix("cae_sql.")
            assert [each.name for each in table.columns] == list(frames[name].columns)
            names, kinds, rows = administration.answer(gate, f"SELECT * FROM {table.name}", (), True)
            assert list(names) == list(frames[name].columns)
            assert rows.num_rows == len(frames[name]) > 0
            assert list(kinds) == [each.type for each in table.columns]
            assert administration.describe(gate, f"SELECT * FROM {table.name}", True) == (names, kinds)


def test_making_the_catalogue_works_out_no_risk(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table of a million classes takes seconds, while everybody waits to decide."""
    with Gate.open(database, Policy.parse(policy_text(public=PUBLIC)), tmp_path / "ledger") as gate:
        monkeypatch.setattr(Gate, "risk", lambda _: pytest.fail("risk was worked out"))
        assert administration.tables(gate)
        assert administration.describe(gate, "SELECT MAX(risk) FROM cae_sql.risk", True)[1] == ("DOUBLE",)
