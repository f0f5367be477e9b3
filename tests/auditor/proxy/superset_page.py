"""Superset in a browser: its server on a port of loopback, somebody logged in, charts made through its API.

Not a test. What a person would click together is sent as the page sends it; what is drawn is the page's own.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from tests.auditor.proxy.serving import PASSWORD
from tests.auditor.proxy.tools import CLIENTS
from tests.auditor.report.browser import Browser

PATIENCE = 180.0
"""Seconds for Superset to make its own database and begin."""


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def web(python: str, script: str, ready: str) -> Iterator[str]:
    """A tool's web server, made by a script of `clients`; its address, once it answers there."""
    port = free_port()
    with subprocess.Popen(
        [python, "-W", "ignore", str(CLIENTS / script), str(port)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "CAE_PASSWORD": PASSWORD},
    ) as process:  # fmt: skip
        try:
            address, end = f"http://127.0.0.1:{port}", time.monotonic() + PATIENCE
            while True:
                with suppress(OSError), urllib.request.urlopen(address + ready, timeout=10):
                    break
                if process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(f"{script} did not begin")
                time.sleep(0.5)
            yield address
        finally:
            process.kill()


class Superset:
    """Somebody who is logged in."""

    def __init__(self, browser: Browser, address: str) -> None:
        self.browser, self._address = browser, address
        browser.visit(f"{address}/login/")
        browser.run(
            "fetch('/login/', {method: 'POST', body: new URLSearchParams({username: 'admin', "
            "password: 'admin'})}).then(answer => answer.status)"
        )

    def ask(self, url: str, body: Any) -> Any:
        """The answer to something that is posted."""
        found = self.browser.run(
            f"fetch({json.dumps(url)}, {{method: 'POST', body: {json.dumps(json.dumps(body))}, "
            "headers: {'Content-Type': 'application/json'}}).then(answer => answer.json())"
        )
        if "id" not in found:
            raise RuntimeError(f"{url}: {found}")
        return found

    def database(self, port: int, name: str = "staff behind cae-sql") -> int:
        """Connect it to a server of ours."""
        uri = f"postgresql://ana:{PASSWORD.replace(' ', '%20')}@127.0.0.1:{port}/staff"
        wanted = {"database_name": name, "sqlalchemy_uri": uri, "expose_in_sqllab": True}
        return int(self.ask("/api/v1/database/", wanted)["id"])

    def dataset(self, database: int, table: str = "staff") -> int:
        """A table as a dataset."""
        wanted = {"database": database, "schema": "public", "table_name": table}
        return int(self.ask("/api/v1/dataset/", wanted)["id"])

    def chart(self, dataset: int, name: str, kind: str, **how: Any) -> int:
        """A chart, kept."""
        wanted = {"datasource": f"{dataset}__table", "viz_type": kind, "row_limit": 1000, **how}
        wanted = {
            "slice_name": name, "viz_type": kind, "datasource_id": dataset, "datasource_type": "table",
            "params": json.dumps(wanted),
        }  # fmt: skip
        return int(self.ask("/api/v1/chart/", wanted)["id"])

    def show(self, page: str, until: str, width: int = 1280, height: int = 800) -> None:
        """Open a page and wait for what it should show."""
        self.browser.visit(self._address + page, width, height)
        self.browser.until(until)


def metric(sql: str, label: str) -> dict[str, Any]:
    """A metric in SQL, as the explorer keeps it."""
    return {"expressionType": "SQL", "sqlExpression": sql, "label": label, "hasCustomLabel": True}
