"""The page of a plan: one file that asks for nothing, escapes all, and fits."""

from __future__ import annotations

from pathlib import Path

import pytest

from auditor.planning.page import html
from auditor.planning.plan import Effect, Plan, Result, Setting
from auditor.planning.playing import Outcome
from auditor.planning.statements import Listed, NotAsked, Statement
from tests.auditor.staff import policy

from .browser import Browser

ATTACK = "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'>"


def made(count: int = 12) -> Plan:
    """A plan in which every text is hostile."""
    statements = [
        Statement(n, f"SELECT {n} /* {ATTACK} */", "duckdb", "UTC", ATTACK, f"{ATTACK}:{n}", n, groups=(9, 5))
        for n in range(1, count + 1)
    ]
    numbers = tuple(each.number for each in statements)

    def result(setting: Setting, exact: int, numbers: tuple[int, ...] = numbers) -> Result:
        told = {n: Outcome(n, "partial", exact, 1, 5 - exact, 0.1) for n in numbers}
        return Result(setting, numbers, told, 12.5)

    listed = Listed(statements, 2, {ATTACK: NotAsked(ATTACK, 3, statements[:2])}, read=count)
    found = Plan(policy(), f"{ATTACK}.duckdb", listed, statements)
    found.results = [
        result(Setting(risk, insiders, own=(risk, insiders) == (0.5, 1)), place + 1 - insiders)
        for place, risk in enumerate((0.4, 0.5, 0.6, 0.7, 0.8))
        for insiders in (0, 1)
    ]
    found.orders = [each for each in found.results if each.setting.own]
    found.orders.append(result(Setting(0.5, 1, "totals", True), 4, numbers[::-1]))
    found.effects = {2: [Effect(3, 2, 1), Effect(4, -1, 0)], 3: []}
    found.unknown = [5]
    found.not_run = [(Setting(0.5, 1, "worth", True), ATTACK)]
    found.partial = ATTACK
    return found


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plan") / "plan.html"
    path.write_text(html(made()), encoding="utf-8")
    return path


def test_no_request_leaves_the_page_and_nothing_in_it_runs(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert browser.requests() == [page.as_uri()]
    assert browser.complaints() == []
    assert browser.run("window.pwned") is None
    assert browser.run("document.querySelectorAll('script, img, link, iframe').length") == 0


@pytest.mark.parametrize("width", [1280, 390])
def test_it_fits_on_a_desk_and_on_a_phone(browser: Browser, page: Path, width: int) -> None:
    browser.open(page, width, 844)
    assert browser.run("document.documentElement.scrollWidth") <= width


def test_every_chart_has_a_table_and_every_link_a_place(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert browser.run("document.querySelectorAll('figure.chart').length") == 2
    assert browser.run("document.querySelectorAll('figure.chart details table').length") == 2
    links = "[...document.querySelectorAll('nav a')]"
    assert browser.run(f"{links}.every(each => document.querySelector(each.getAttribute('href')))")


def test_the_first_screen_says_what_is_told_and_what_others_would_buy() -> None:
    text = html(made())
    assert "12 of 72 groups are told exactly at the policy’s limit" in text.replace("&#39;", "’")
    assert "+36" in text
    assert "totals first" in text
    assert "&lt;script&gt;" in text
    assert "<script>" not in text


def test_what_is_left_out_stands_on_the_page() -> None:
    text = html(made(250))
    assert "50 more statements: the JSON has all." in text
    assert "What 1 statement cost others was not looked at: 5." in text
    assert "PARTIAL" in text


def test_a_plan_of_nothing_is_a_page_too() -> None:
    found = made()
    found.statements, found.results, found.orders, found.effects = [], [], [], {}
    assert "No statement could be asked" in html(found)
