"""Superset in a real browser: a chart of a protected column is drawn, and a refusal shows its hint.

Skipped where Superset or Chromium is not installed; `.ci/run` installs both.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.auditor.proxy.superset_page import Superset, metric, web
from tests.auditor.proxy.tools import filled, python_with, served
from tests.auditor.report.browser import chromium, started

pytestmark = pytest.mark.slow
DRAWN = """(() => {
    const keys = node => Object.keys(node).filter(key => key.startsWith('__reactFiber'));
    for (const node of document.querySelectorAll('[_echarts_instance_]'))
        for (let at = node[keys(node)[0]]; at; at = at.return)
            if (at.memoizedProps && at.memoizedProps.echartOptions)
                return at.memoizedProps.echartOptions.series.map(each => [each.name, each.data]);
})()"""
"""What the page gave its drawing library: the names of the series, and their points."""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Superset, int]]:
    """Somebody logged in, and the dataset of the protected table."""
    path, python = chromium(), python_with("CAE_SUPERSET_PYTHON", "superset", "psycopg2")
    if path is None:
        pytest.skip("no Chromium on this machine (Debian's package: chromium)")
    with (
        served(tmp_path_factory.mktemp("browser")) as server,
        started(path) as browser,
        web(python, "superset_web.py", "/health") as address,
    ):
        shown = Superset(browser, address)
        yield shown, shown.dataset(shown.database(server.port))


def line(page: tuple[Superset, int], name: str, **how: Any) -> int:
    shown, dataset = page
    return shown.chart(
        dataset, name, "echarts_timeseries_line", x_axis="hired", time_grain_sqla="P3M", groupby=[],
        adhoc_filters=[], **how,
    )  # fmt: skip


def test_a_chart_of_means_is_drawn_with_the_ends_of_a_range_beside_it(
    page: tuple[Superset, int], tmp_path: Path
) -> None:
    mean, low, high = "AVG(salary)", "AT_LEAST(AVG(salary))", "AT_MOST(AVG(salary))"
    chart = line(page, "pay", metrics=[metric(mean, "mean"), metric(low, "low"), metric(high, "high")])
    page[0].show(f"/explore/?slice_id={chart}", DRAWN)
    drawn = page[0].browser.run(DRAWN)
    with duckdb.connect(str(filled(tmp_path)), read_only=True) as plain:
        truth = plain.execute(
            "SELECT epoch_ms(DATE_TRUNC('quarter', hired)), AVG(salary) FROM staff GROUP BY 1 ORDER BY 1"
        ).fetchall()
    series = {name: dict(points) for name, points in drawn}
    assert set(series) == {"mean", "low", "high"}
    assert {moment for moment, _ in truth} == set(series["mean"])
    told = 0
    for moment, value in truth:
        low_end, exact, high_end = (series[name][moment] for name in ("low", "mean", "high"))
        if low_end is not None:
            assert low_end - 1e-9 <= value <= high_end + 1e-9
        if exact is not None:
            assert exact == pytest.approx(value)
            told += 1
    assert told
    # Something is painted where the lines are, and not white alone.
    assert page[0].browser.run(PAINTED) > 100


PAINTED = """(() => {
    let found = 0;
    for (const canvas of document.querySelectorAll('[_echarts_instance_] canvas')) {
        const seen = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        for (let at = 0; at < seen.length; at += 4)
            if (seen[at + 3] > 0 && Math.abs(seen[at] - seen[at + 2]) > 60) found++;
    }
    return found;
})()"""
"""How many points of the picture have a colour."""


def test_a_chart_that_is_refused_shows_the_hint(page: tuple[Superset, int]) -> None:
    where = {"expressionType": "SQL", "clause": "WHERE", "sqlExpression": "id = 3"}
    chart = page[0].chart(
        page[1], "one", "big_number_total", metric=metric("AVG(salary)", "mean"), adhoc_filters=[where]
    )
    hint = json.dumps("Hint: Drop the condition")
    page[0].show(f"/explore/?slice_id={chart}", f"document.body.textContent.includes({hint})")
