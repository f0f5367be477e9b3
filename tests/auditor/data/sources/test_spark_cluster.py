"""A Spark cluster of a master and two workers is a source like a file, and not needed once it was read."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from auditor import Gate, QueryRefused
from tests.auditor.data.sources.made import duckdb_file, policy, written

ibis = pytest.importorskip("ibis")

PATIENCE = 120
"""Seconds for a process to say that it is there: on a busy machine Java takes its time."""
WORKERS = 2
QUESTIONS = (
    "SELECT dept, avg(salary) AS mean FROM staff GROUP BY dept ORDER BY dept",
    "SELECT sex, count(*) AS n, sum(salary) AS total FROM staff GROUP BY sex ORDER BY sex",
    "SELECT avg(salary) FROM staff WHERE age > 40",
    "SELECT max(salary) FROM staff",
)


@contextmanager
def process(home: Path, folder: Path, name: str, says: str, *arguments: str) -> Iterator[str]:
    """One of Spark's processes, with what it says of itself once it is there."""
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_NO_DAEMONIZE": "1",
    }
    command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments]
    running = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert running.stderr is not None
    heard, lines = threading.Event(), list[str]()

    def listen(stream: IO[str]) -> None:
        for line in stream:  # to the end, for a full pipe would stop it
            lines.append(line)
            if re.search(says, line):
                heard.set()

    threading.Thread(target=listen, args=(running.stderr,), daemon=True).start()
    try:
        if not heard.wait(PATIENCE):
            pytest.skip(f"Spark's {name} did not come up: {''.join(lines[-3:])}")
        yield next(line for line in lines if re.search(says, line))
    finally:
        running.terminate()
        running.wait(PATIENCE)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session of a cluster of two workers, with one core each."""
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        pytest.skip("pyspark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    from pyspark.sql import SparkSession

    home, folder = Path(found.origin).parent, tmp_path_factory.mktemp("spark")
    with ExitStack() as running:
        here = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        said = running.enter_context(
            process(home, folder, "master.Master", "Starting Spark master at", *here)
        )
        [url] = re.findall(r"spark://\S+", said)
        for number in range(WORKERS):
            work = folder / f"worker{number}"
            work.mkdir()
            alone = ("--cores", "1", "--memory", "1g", "--work-dir", str(work), *here, url)
            running.enter_context(
                process(home, work, "worker.Worker", "Successfully registered with", *alone)
            )
        session = (
            SparkSession.builder.master(url).config("spark.ui.enabled", "false")
            .config("spark.sql.session.timeZone", "UTC").config("spark.executor.memory", "512m")
            .config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
            .getOrCreate()
        )  # fmt: skip
        try:
            yield session
        finally:
            session.stop()


@pytest.mark.slow
def test_a_cluster_answers_as_a_file_does_and_is_not_needed_afterwards(cluster: Any, tmp_path: Path) -> None:
    path = written(tmp_path / "staff.parquet")
    cluster.range(0, 1_000_000, numPartitions=8).selectExpr("sum(id)").collect()  # both have to work
    executors = cluster.sparkContext._jsc.sc().statusTracker().getExecutorInfos()
    assert len(executors) == 1 + WORKERS  # and the driver
    table = ibis.pyspark.connect(cluster).read_parquet(str(path), table_name="staff")
    rules = policy()
    with (
        Gate.open(duckdb_file(tmp_path / "staff.duckdb"), rules, tmp_path / "one") as plain,
        Gate.open(table, rules, tmp_path / "two") as gate,
    ):
        assert gate._database.fingerprint == plain._database.fingerprint
        cluster.stop()
        for sql in QUESTIONS:
            assert told(gate, sql) == told(plain, sql)


def told(gate: Gate, sql: str) -> object:
    """The rows, or why there are none."""
    try:
        return gate.execute(sql).fetchall()
    except QueryRefused as refusal:
        return refusal.decision.code
