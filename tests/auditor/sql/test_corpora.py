"""Statements that others wrote get a verdict each; those of TPC-H that are understood equal plain DuckDB."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from auditor.sql.understood import REASONS
from benchmarks import corpora

needs_corpora = pytest.mark.skipif(
    not corpora.SHARED.exists(), reason="the corpora are not here: ../shared/data/sql"
)


@pytest.mark.slow
@needs_corpora
def test_every_statement_of_another_gate_gets_a_verdict(tmp_path: Path) -> None:
    verdicts = list(corpora.smartnoise(tmp_path))
    assert len(verdicts) > 150
    assert {each.code for each in verdicts} <= set(REASONS) | {"public", "understood"}
    assert all(
        each.code != "understood" for each in verdicts if "*" in each.sql and "count" not in each.sql.lower()
    )


@pytest.mark.slow
@needs_corpora
def test_understood_queries_of_tpch_equal_plain_duckdb(tmp_path: Path) -> None:
    verdicts = list(corpora.tpch(tmp_path))
    assert len(verdicts) == 110
    same = Counter(each.code for each in verdicts)
    assert set(same) <= set(REASONS) | {"public, same", "aggregates, same"}
    # every query that leaves the protected column alone is answered
    assert {each.code for each in verdicts if each.source.endswith("l_linenumber")} == {"public, same"}
    assert same["aggregates, same"] >= 2
