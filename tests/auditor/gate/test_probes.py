"""What programs ask first: names and types are free, rows come with NULLs where the owner says so."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from auditor import Gate, QueryUnsupported
from tests.auditor.staff import build, people, policy


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return build(tmp_path / "staff.duckdb", people(30))


def test_a_probe_of_the_protected_table_is_answered_and_leaves_no_entry(database: Path) -> None:
    probe = "SELECT dept, AVG(salary) AS mean FROM staff GROUP BY dept LIMIT 0"
    with Gate.open(database, policy()) as gate:
        answer = gate.execute(probe)
        assert (answer.fetchall(), answer.decision.code) == ([], "public")
        assert gate.check("SELECT * FROM staff LIMIT 0").code == "public"
        assert gate.execute("SELECT * FROM staff WHERE 1 = 0").arrow().num_rows == 0
        assert len(gate.history()) == 0
        shown = gate.describe(probe)
    with duckdb.connect(str(database), read_only=True) as plain:
        relation = plain.sql(probe)
        assert [*shown] == list(zip(relation.columns, map(str, relation.types), strict=True))


def test_a_frame_of_a_probe_has_the_types_that_duckdb_gives(database: Path) -> None:
    probe = "SELECT dept, AVG(salary) AS mean, SUM(salary) AS total FROM staff GROUP BY dept LIMIT 0"
    with Gate.open(database, policy()) as gate:
        found = gate.execute(probe).df()
    with duckdb.connect(str(database), read_only=True) as plain:
        assert found.dtypes.to_dict() == plain.sql(probe).df().dtypes.to_dict()


def test_rows_come_with_nulls_where_the_policy_says_so_and_are_on_record(database: Path) -> None:
    shows = "SELECT * FROM staff ORDER BY id LIMIT 3"
    with Gate.open(database, policy('[decision]\npreview = "null"')) as gate:
        answer = gate.execute(shows)
        assert answer.decision.code == "preview"
        assert answer.df()["salary"].isna().all()
        assert answer.df()["id"].tolist() == [0, 1, 2]
        assert gate.check(shows).code == "preview"
        assert gate.execute(shows).decision.code == "preview"
        assert gate.history()["code"].tolist() == ["preview"] * 3
        assert gate.execute("SELECT AVG(salary) FROM staff").decision.verdict == "answered"
    with (
        Gate.open(database, policy(), ledger=database.parent / "other") as gate,
        pytest.raises(QueryUnsupported) as refused,
    ):
        gate.execute(shows)
    assert refused.value.decision.code == "row-level"
