"""The page of an evaluation and of a sweep: one file that asks for nothing, escapes all, fits and prints."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from auditor.evaluation.evaluate import Evaluation, evaluate
from auditor.evaluation.page import html
from auditor.evaluation.subject import Stated, Subject, subject_of
from auditor.evaluation.sweep import Sweep, settings_of, sweep
from auditor.evaluation.techniques import TECHNIQUES, Settings
from cae_sql.risk import Limit

from .browser import Browser

HALF = Limit(risk=0.5)
ATTACK = "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'>"
SWEEP = ["sampling:5,20,50,100", "noise:10,40,80", "query-restriction:2,4,8", "randomised-response:0.9,0.5",
         "anatomy:2"]  # fmt: skip


def subject(limit: Limit | None = HALF, name: str = "staff.csv") -> Subject:
    rng = np.random.default_rng(2)
    towns = ["Ulm", "Bonn", ATTACK]
    table = pd.DataFrame({ATTACK: rng.choice(towns, 80), "age": rng.integers(30, 50, 80)})
    table["salary"] = rng.choice([20, 30, 50, 90], 80)
    stated = Stated("salary", (ATTACK, "age"), (ATTACK, "age"), 10, 100, 10, limit)
    return subject_of(name, table, None, stated)


def one(limit: Limit | None = HALF) -> Evaluation:
    settings = Settings(percent=60)
    return evaluate(subject(limit, ATTACK), TECHNIQUES["sampling"], settings, numbers=True)


def many(limit: Limit | None = HALF) -> Sweep:
    return sweep(subject(limit, ATTACK), settings_of(SWEEP))


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("evaluation")
    found = {"one": one(), "many": many(), "one without limit": one(None), "many without limit": many(None)}
    paths = {name: folder / f"{name}.html" for name in found}
    for name, each in found.items():
        paths[name].write_text(html(each), encoding="utf-8")
    return paths


NAMES = ("one", "many", "one without limit", "many without limit")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_no_request_leaves_the_page_and_nothing_in_it_runs(
    browser: Browser, pages: dict[str, Path], name: str
) -> None:
    browser.open(pages[name])
    assert browser.pdf().startswith(b"%PDF")
    assert browser.requests() == [pages[name].as_uri()]
    assert browser.complaints() == []
    assert browser.run("window.pwned") is None
    assert browser.run("document.querySelectorAll('script, img, link, iframe').length") == 0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", [1280, 390])
def test_it_fits_on_a_desk_and_on_a_phone(
    browser: Browser, pages: dict[str, Path], name: str, width: int
) -> None:
    browser.open(pages[name], width, 844)
    assert browser.run("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("name", NAMES)
def test_every_chart_has_a_table_and_a_name(browser: Browser, pages: dict[str, Path], name: str) -> None:
    browser.open(pages[name])
    charts = browser.run("document.querySelectorAll('figure.chart').length")
    assert charts >= 3
    assert browser.run("document.querySelectorAll('figure.chart details table').length") == charts
    named = "[...document.querySelectorAll('figure.chart .drawing[role=img]')].every(each => each"
    named += ".getAttribute('aria-labelledby').split(' ').every(id => document.getElementById(id)))"
    assert browser.run(named)
    assert browser.run("new Set([...document.querySelectorAll('[id]')].map(each => each.id)).size") == (
        browser.run("document.querySelectorAll('[id]').length")
    )


@pytest.mark.slow
def test_marks_are_where_their_figures_are(browser: Browser, pages: dict[str, Path]) -> None:
    """The heights of the marks on the screen have the order of the risks in the table."""
    browser.open(pages["many"])
    heights = browser.run(
        "[...document.querySelectorAll('#risk-distance-title ~ .drawing.wide .mark-symbol path')]"
        ".map(each => each.getBoundingClientRect().top)"
    )
    found = many()
    by_technique = [
        point
        for name in dict.fromkeys(each.setting.technique.name for each in found.points)
        for point in sorted(
            (each for each in found.points if each.setting.technique.name == name),
            key=lambda each: each.setting.value,
        )
    ]
    risks = [point.mean_risk for point in by_technique]
    assert len(heights) == len(risks) == 13
    for k, risk in enumerate(risks):
        for other, more in enumerate(risks):
            if more > risk + 0.05:
                assert heights[other] < heights[k]


def test_the_first_screen_says_how_many_are_beyond_the_limit() -> None:
    found = one()
    text = html(found)
    assert found.summary.beyond_records > 0
    assert f"{found.summary.beyond_records} records beyond the limit" in text
    assert "Made here" in text
    assert "no limit was given" in html(one(None))


@pytest.mark.slow
def test_no_address_is_in_the_page() -> None:
    for text in (html(one()), html(many())):
        assert re.findall(r"https?:|//[a-z]", text.replace(ATTACK, "")) == []


def test_a_long_list_of_classes_is_cut_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("auditor.evaluation.page.MOST_CLASSES", 25)
    found = one()
    assert len(found.classes) > 25
    assert f"{len(found.classes) - 25} more classes, of less risk still" in html(found)
