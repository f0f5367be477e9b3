"""Histograms of the protected column, and arithmetic with what is told, as somebody at a gate has them."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from auditor import Gate, QueryRefused
from auditor.sql.dialects import Dialect
from tests.auditor.staff import build, people, policy

CASE = "CASE WHEN salary < 80 THEN 'low' WHEN salary < 160 THEN 'middle' ELSE 'high' END"
SHARE = "100.0 * COUNT(*) FILTER (WHERE salary >= 100) / COUNT(*)"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return build(tmp_path / "staff.duckdb", people(300, 3))


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
def test_a_refused_histogram_shows_the_statement_that_gives_a_range_for_each_bin(
    dialect: Dialect, database: Path
) -> None:
    with Gate.open(database, policy()) as gate:
        sql = f"SELECT {CASE} AS bin, COUNT(*) AS n FROM staff GROUP BY bin ORDER BY n DESC"
        sql = sql if dialect == "duckdb" else sql.replace("BY bin", "BY 1")
        with pytest.raises(QueryRefused) as refused:
            gate.execute(sql, dialect=dialect)
        assert refused.value.decision.code == "range"
        pasted = refused.value.decision.hint.rpartition(": ")[2]
        assert gate.check(pasted, dialect=dialect).verdict == "answered"
        rows = gate.execute(pasted, dialect=dialect).fetchall()
    with duckdb.connect(str(database), read_only=True) as connection:
        true = dict(connection.execute(f"SELECT {CASE}, COUNT(*) FROM staff GROUP BY 1").fetchall())
    assert {row[0] for row in rows} == true.keys()
    told = [(true[name], low, high) for name, low, high in rows if low is not None]
    assert told
    assert all(low <= value <= high for value, low, high in told)


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
def test_a_share_has_its_ends_and_asks_what_its_count_asks(dialect: Dialect, database: Path) -> None:
    with Gate.open(database, policy()) as gate:
        refused = gate.check(f"SELECT dept, {SHARE} AS share FROM staff GROUP BY dept", dialect=dialect)
        assert refused.code == "range"
        pasted = refused.hint.rpartition(": ")[2]
        assert pasted.count("AT_LEAST") == 1
        rows = gate.execute(pasted, dialect=dialect).fetchall()
        count = "COUNT(*) FILTER (WHERE salary >= 100)"
        plain = f"SELECT dept, AT_LEAST({count}), AT_MOST({count}), COUNT(*) FROM staff GROUP BY dept"
        again = gate.execute(plain, dialect=dialect)
        assert again.decision.code == "known"
    counts = {row[0]: row[1:] for row in again.fetchall()}
    for dept, low, high in rows:
        least, most, people_ = counts[dept]
        assert (low, high) == pytest.approx((100 * least / people_, 100 * most / people_))
