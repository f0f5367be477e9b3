"""A Spark cluster of a master and two workers is a source like a file, and not needed once it was read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from auditor import Gate, QueryRefused
from benchmarks import _spark
from tests.auditor.data.sources.made import duckdb_file, policy, written
from tests.auditor.data.sources.test_same_answers import ACS, acs_rules, asked, day, require_same

ibis = pytest.importorskip("ibis")

QUESTIONS = (
    "SELECT dept, avg(salary) AS mean FROM staff GROUP BY dept ORDER BY dept",
    "SELECT sex, count(*) AS n, sum(salary) AS total FROM staff GROUP BY sex ORDER BY sex",
    "SELECT avg(salary) FROM staff WHERE age > 40",
    "SELECT max(salary) FROM staff",
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session of a cluster of two workers, with one core each."""
    try:
        with _spark.cluster(tmp_path_factory.mktemp("spark"), "512m") as session:
            yield session
    except _spark.NoCluster as missing:
        pytest.skip(str(missing))


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["cells", "records"])
def test_a_day_on_acs_is_the_same_through_a_cluster(
    mode: str, cluster: Any, shared_data: Path, tmp_path: Path
) -> None:
    query = ACS.format(file=shared_data / "microdata" / "acs2011_us_paperlike.csv")
    statements, rules = asked("person", "salary", "education"), acs_rules()
    duckdb.execute(f"COPY ({query}) TO '{tmp_path / 'person.parquet'}'")
    table = ibis.pyspark.connect(cluster).read_parquet(str(tmp_path / "person.parquet"), table_name="person")
    folder = tmp_path / "ledgers"
    folder.mkdir()
    expected = day(tmp_path / "person.parquet", rules["records"], statements, folder)
    assert {str(verdict) for verdict, *_ in expected} == {"answered", "refused", "unsupported"}
    require_same(mode, "Spark", statements, day(table, rules[mode], statements, folder), expected)


@pytest.mark.slow
def test_a_cluster_answers_as_a_file_does_and_is_not_needed_afterwards(cluster: Any, tmp_path: Path) -> None:
    path = written(tmp_path / "staff.parquet")
    executors = cluster.sparkContext._jsc.sc().statusTracker().getExecutorInfos()
    assert len(executors) == 1 + _spark.WORKERS  # and the driver
    table = ibis.pyspark.connect(cluster).read_parquet(str(path), table_name="staff")
    rules = policy()
    with (
        Gate.open(duckdb_file(tmp_path / "staff.duckdb"), rules, tmp_path / "one") as plain,
        Gate.open(table, rules, tmp_path / "two") as gate,
    ):
        assert gate._database.fingerprint == plain._database.fingerprint
        cluster.stop()  # so this is the last test of the module
        for sql in QUESTIONS:
            assert told(gate, sql) == told(plain, sql)


def told(gate: Gate, sql: str) -> object:
    """The rows, or why there are none."""
    try:
        return gate.execute(sql).fetchall()
    except QueryRefused as refusal:
        return refusal.decision.code
