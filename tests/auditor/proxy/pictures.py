"""The pictures of Superset and pgAdmin in docs/images, made anew: python -m tests.auditor.proxy.pictures

Both are run as they are, against a server over made-up people, and shown in a real browser. Their Pythons are
found as the tests find them (CAE_SUPERSET_PYTHON, CAE_PGADMIN_PYTHON).
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import duckdb

from auditor import Gate, Policy
from tests.auditor.proxy.serving import PASSWORD, Running, running_with
from tests.auditor.proxy.superset_page import Superset, metric, web
from tests.auditor.report.browser import Browser, chromium, started
from tests.auditor.report.pictures import keep

PEOPLE = """
CREATE TABLE staff AS
SELECT i AS id, 21 + i * 7 % 44 AS age, ['F', 'M'][1 + i % 2] AS sex,
       ['Sales', 'Research', 'Production', 'Finance'][1 + i * 5 % 4] AS dept,
       DATE '2019-01-01' + CAST(i * 1825 // 2000 AS INTEGER) AS hired,
       CAST(2200 + 100 * (i * 37 % 23 + i * 11 % 7 + round(4 * sin(i / 110.0))) AS INTEGER) AS salary
FROM range(2000) t(i);
CREATE TABLE department AS
SELECT DISTINCT dept, length(dept) % 2 AS site FROM staff;
"""
POLICY = """
dialect = "postgres"
[protect]
table = "staff"
column = "salary"
minimum = 1000
maximum = 6000
step = 100
public = ["id", "age", "sex", "dept", "hired"]
[tables]
public = ["department"]
[limit]
risk = 0.5
"""
MEDIAN = "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY salary)"
ASKED = "SELECT dept, count(*), avg(salary)\nFROM staff\nGROUP BY dept\nORDER BY dept"
REFUSED = "SELECT avg(salary)\nFROM staff\nWHERE age = 42 AND dept = 'Finance' AND hired < '2019-03-01'"


@contextmanager
def server(folder: Path) -> Iterator[Running]:
    """A server over those people."""
    with duckdb.connect(str(folder / "staff.duckdb")) as connection:
        connection.execute(PEOPLE)
    with (
        Gate.open(folder / "staff.duckdb", Policy.parse(POLICY), folder / "ledger") as gate,
        running_with(gate, folder, tls=False) as made,
    ):
        yield made


def of_superset(browser: Browser, address: str, port: int) -> None:
    """A chart with a band, and SQL Lab with a refusal."""
    page = Superset(browser, address)
    database = page.database(port)
    chart = page.chart(
        page.dataset(database), "Pay by quarter of hiring", "mixed_timeseries", x_axis="hired",
        time_grain_sqla="P3M", metrics=[metric("AVG(salary)", "mean, exact")],
        metrics_b=[
            metric(f"AT_LEAST({MEDIAN})", "median at least"),
            metric(f"AT_MOST({MEDIAN}) - AT_LEAST({MEDIAN})", "up to at most"),
        ],
        groupby=[], groupby_b=[], adhoc_filters=[], adhoc_filters_b=[], seriesType="line", markerEnabled=True,
        seriesTypeB="bar", stackB="Stack", show_legend=True, truncateYAxis=True, y_axis_bounds=[2800, 4400],
        y_axis_format=",d", yAxisIndex=0, yAxisIndexB=0, rich_tooltip=True,
    )  # fmt: skip
    page.show(f"/explore/?slice_id={chart}", "document.body.innerText.includes('20 rows')", 1200, 720)
    time.sleep(4)
    keep(browser.picture(), "proxy-superset-chart.png")
    page.show(
        f"/sqllab/?dbid={database}&schema=public&name=pay&autorun=true&sql={quote(REFUSED)}",
        "document.body.innerText.includes('Hint:')",
        1200,
        640,
    )
    time.sleep(2)
    keep(browser.picture(), "proxy-superset-sql-lab.png")


ENTRIES = "[...document.querySelectorAll('.file-entry')]"
FRAME = "([...document.querySelectorAll('iframe')].at(-1) || {}).contentDocument"
RUN = "[data-label=\\'Execute script\\']"
TREE = (
    "Servers",
    "staff behind cae-sql",
    "Databases",
    "staff",
    "Schemas",
    "public",
    "Tables",
    "staff",
    "Columns",
)


def of_pgadmin(browser: Browser, address: str, port: int) -> None:
    """The tree down to the columns, and the query tool with a result and with a refusal."""
    size = 1200, 860
    server = {
        "name": TREE[1], "host": "127.0.0.1", "port": port, "db": "staff", "username": "ana", "gid": 1,
        "connection_params": [{"name": "sslmode", "value": "prefer"}], "connect_now": False, "shared": False,
        "save_password": False, "use_ssh_tunnel": 0, "kerberos_conn": False,
    }  # fmt: skip
    browser.visit(f"{address}/browser/", *size)
    made = posted(browser, "/browser/server/obj/1/", server)["node"]["_id"]
    posted(browser, f"/browser/server/connect/1/{made}", {"password": PASSWORD, "save_password": True})
    browser.visit(f"{address}/browser/", *size)
    browser.until("document.querySelector('.file-entry')")
    time.sleep(5)
    for level, label in enumerate(TREE):
        named = f"each => each.querySelector('.file-name').textContent.trim() === {json.dumps(label)}"
        entry = f"{ENTRIES}.filter({named})[{TREE[:level].count(label)}]"
        browser.until(entry)
        time.sleep(0.5)
        if browser.run(f"!{entry}.querySelector('.directory-toggle.open')"):
            press(browser, entry)
    if not browser.run(f"{ENTRIES}.some(each => /^salary/.test(each.textContent))"):
        press(browser, entry)  # it was taken for open while the tree moved
    browser.click("[aria-label='Query Tool']")
    for name, sql, shown in (("result", ASKED, "Finance"), ("refusal", REFUSED, "Hint:")):
        query(browser, sql, shown)
        keep(browser.picture(), f"proxy-pgadmin-{name}.png")


def press(browser: Browser, entry: str) -> None:
    """Open or close what is beneath an entry of the tree."""
    browser.run(f"{entry}.querySelector('.directory-toggle').id = 'pressed'")
    browser.click("#pressed")
    browser.run("document.getElementById('pressed').id = ''")
    time.sleep(3)


def query(browser: Browser, sql: str, shown: str) -> None:
    """Write a statement into the query tool, which is a page in the page, and run it."""
    browser.until(f"{FRAME} && {FRAME}.querySelector('.cm-content') && {FRAME}.querySelector('{RUN}')")
    time.sleep(2)
    browser.run(f"{FRAME}.querySelector('.cm-content').focus()")
    browser.run(f"{FRAME}.execCommand('selectAll')")
    browser.type(sql)
    time.sleep(0.5)
    browser.run(f"{FRAME}.querySelector('{RUN}').click()")
    found = f"each => (each.value || each.textContent).includes({json.dumps(shown)})"
    browser.until(f"[...{FRAME}.querySelectorAll('body *')].some({found})")
    time.sleep(6)  # until the note of success has gone


def posted(browser: Browser, url: str, body: object) -> Any:
    """The answer to something that is posted."""
    return browser.run(
        f"fetch({json.dumps(url)}, {{method: 'POST', body: {json.dumps(json.dumps(body))}, "
        "headers: {'Content-Type': 'application/json'}}).then(answer => answer.json())"
    )


def main() -> None:
    """Take them."""
    path = chromium()
    if path is None:
        raise SystemExit("no Chromium on this machine (Debian's package: chromium)")
    superset, pgadmin = (
        os.environ.get(f"CAE_{name}_PYTHON", sys.executable) for name in ("SUPERSET", "PGADMIN")
    )
    with tempfile.TemporaryDirectory() as folder, server(Path(folder)) as made:
        with started(path) as browser, web(superset, "superset_web.py", "/health") as address:
            of_superset(browser, address, made.port)
        with started(path) as browser, web(pgadmin, "pgadmin_web.py", "/misc/ping") as address:
            of_pgadmin(browser, address, made.port)


if __name__ == "__main__":
    main()
