"""A Spark cluster of one's own: a standalone master and two workers of one core each, on this machine."""

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
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE = 120
"""Seconds for a process to say that it is there: on a busy machine Java takes its time."""
WORKERS = 2


class NoCluster(Exception):
    """There is no Spark here, or it does not come up."""


@contextmanager
def cluster(folder: Path, memory: str = "1g") -> Iterator[SparkSession]:
    """A session of a cluster, which is gone afterwards.

    Args:
        folder: Where workers write; removed by whoever made it.
        memory: Of each executor, and of the driver.

    Raises:
        NoCluster: pyspark or Java is missing, or a process does not come up.
    """
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise NoCluster("pyspark is not installed")
    if shutil.which("java") is None:
        raise NoCluster("Spark needs Java")
    from pyspark.sql import SparkSession

    home = Path(found.origin).parent
    with ExitStack() as running:
        here = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        said = running.enter_context(
            _process(home, folder, "master.Master", "Starting Spark master at", *here)
        )
        [url] = re.findall(r"spark://\S+", said)
        for number in range(WORKERS):
            work = folder / f"worker{number}"
            work.mkdir()
            alone = ("--cores", "1", "--memory", "4g", "--work-dir", str(work), *here, url)
            running.enter_context(
                _process(home, work, "worker.Worker", "Successfully registered with", *alone)
            )
        session = (
            SparkSession.builder.master(url).config("spark.ui.enabled", "false")
            .config("spark.sql.session.timeZone", "UTC").config("spark.executor.memory", memory)
            .config("spark.driver.memory", memory)
            .config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
            .getOrCreate()
        )  # fmt: skip
        try:
            session.range(0, 1_000_000, numPartitions=8).selectExpr("sum(id)").collect()  # both have to work
            yield session
        finally:
            session.stop()


@contextmanager
def _process(home: Path, folder: Path, name: str, says: str, *arguments: str) -> Iterator[str]:
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
            raise NoCluster(f"Spark's {name} did not come up: {''.join(lines[-3:])}")
        yield next(line for line in lines if re.search(says, line))
    finally:
        running.terminate()
        running.wait(PATIENCE)
