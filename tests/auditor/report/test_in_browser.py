"""The page in a real browser: it asks nobody for anything, sorts, filters, opens, fits and prints."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from auditor.report import html

from .browser import Browser, chromium, started
from .made import made, nothing_found, said

FIRST = "#rows tr:first-child"
ATTACK = "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("report")


@pytest.fixture(scope="module")
def thousand(folder: Path) -> Path:
    path = folder / "thousand.html"
    path.write_text(html(made(1000)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def few(folder: Path) -> Path:
    path = folder / "few.html"
    path.write_text(html(made(30)), encoding="utf-8")
    return path


def texts(browser: Browser, selector: str) -> list[str]:
    found: list[str] = browser.run(
        f"[...document.querySelectorAll({selector!r})].map((node) => node.textContent)"
    )
    return found


def count(browser: Browser) -> str:
    return str(browser.run("document.getElementById('count').textContent"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["thousand", "few"])  # packed, and as it is
def test_no_request_leaves_the_page_and_nothing_is_complained_of(
    browser: Browser, name: str, request: pytest.FixtureRequest
) -> None:
    page: Path = request.getfixturevalue(name)
    browser.open(page)
    browser.click("#list th[data-sort=left] button")
    browser.click(f"{FIRST} button")
    browser.pdf()
    assert browser.requests() == [page.as_uri()]
    assert browser.complaints() == []


@pytest.fixture
def listening() -> Iterator[tuple[str, list[str]]]:
    """The address of a server on this machine, and what it was asked for."""
    asked: list[str] = []

    class Listener(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Access-Control-Allow-Origin", "*")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Nothing on stderr."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Listener) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()
        thread.join()


def try_to_get_out(browser: Browser, address: str) -> str:
    """Whatever a page could do to reach a server, if its policy let it; says how fetch fared."""
    browser.run(f"document.body.insertAdjacentHTML('beforeend', '<img src=\"{address}/image\">')")
    browser.run(f"document.body.insertAdjacentHTML('beforeend', '<iframe src=\"{address}/frame\"></iframe>')")
    browser.run(
        f"document.head.append(Object.assign(document.createElement('script'), {{src: '{address}/script'}}))"
    )
    browser.run(
        "document.body.append(Object.assign(document.createElement('script'), {text: 'window.ran = 1'}))"
    )
    browser.run("new Promise((done) => setTimeout(done, 300))")
    return str(browser.run(f"fetch('{address}/fetch').then(() => 'went', () => 'blocked')"))


@pytest.mark.slow
def test_the_pages_policy_keeps_in_whatever_would_want_out(
    browser: Browser, few: Path, folder: Path, listening: tuple[str, list[str]]
) -> None:
    address, asked = listening
    browser.open(few)
    assert try_to_get_out(browser, address) == "blocked"
    assert asked == []
    assert browser.run("window.ran") is None
    open_page = folder / "without-policy.html"  # the same page without it: the test can fail
    open_page.write_text(
        re.sub("<meta http-equiv[^>]*>", "", few.read_text(encoding="utf-8")), encoding="utf-8"
    )
    browser.open(open_page)
    assert try_to_get_out(browser, address) == "went"
    assert {"/image", "/script", "/fetch"} <= set(asked)
    assert browser.run("window.ran") == 1


@pytest.mark.slow
def test_a_click_on_a_head_sorts_and_another_turns_the_order_round(browser: Browser, thousand: Path) -> None:
    browser.open(thousand)
    browser.click("#list th[data-sort=name] button")
    names = texts(browser, "#rows th button")
    assert names == sorted(names)
    assert (
        browser.run("document.querySelector('th[data-sort=name]').getAttribute('aria-sort')") == "ascending"
    )
    browser.click("#list th[data-sort=name] button")
    turned = texts(browser, "#rows th button")
    assert turned == sorted(turned, reverse=True)
    assert turned[0] > names[-1]
    assert (
        browser.run("document.querySelector('th[data-sort=name]').getAttribute('aria-sort')") == "descending"
    )
    assert browser.run("document.querySelectorAll('th[aria-sort=none]').length") == 5


def test_statements_are_sorted_as_numbers_and_widths_by_width(browser: Browser, thousand: Path) -> None:
    browser.open(thousand)
    browser.click("#list th[data-sort=first] button")
    numbers = [int(text.split(" · ")[0].replace(",", "")) for text in texts(browser, "#rows td:last-child")]
    assert numbers == sorted(numbers)
    browser.click("#list th[data-sort=left] button")
    browser.click("#list th[data-sort=left] button")
    widest = texts(browser, "#rows td:nth-child(4)")
    assert all(" to " in text for text in widest)


@pytest.mark.parametrize("key", ["Enter", "Space"])
def test_keys_sort_and_open_as_well(browser: Browser, thousand: Path, key: str) -> None:
    browser.open(thousand)
    browser.run("document.querySelector('#list th[data-sort=party] button').focus()")
    browser.press(key)
    assert (
        browser.run("document.querySelector('th[data-sort=party]').getAttribute('aria-sort')") == "ascending"
    )
    for _ in range(5):  # over the other heads, to the first row
        browser.press("Tab")
    assert browser.run(f"document.activeElement === document.querySelector({FIRST + ' button'!r})")
    browser.press(key)
    assert browser.run("document.activeElement.getAttribute('aria-expanded')") == "true"
    assert len(texts(browser, "#rows .certificate")) == 1
    browser.press(key)
    assert texts(browser, "#rows .certificate") == []


def test_the_tab_key_meets_the_skip_link_first(browser: Browser, few: Path) -> None:
    browser.open(few)
    browser.press("Tab")
    assert browser.run("document.activeElement.textContent") == "Skip to the report"
    assert browser.run("document.activeElement.getBoundingClientRect().left >= 0")
    browser.press("Enter")
    assert browser.run("document.activeElement.id") == "main"


def test_filters_narrow_the_list_and_say_how_far(browser: Browser, thousand: Path) -> None:
    found = made(1000)
    browser.open(thousand)
    assert count(browser) == "1,000 findings; 25 shown."
    browser.run("document.getElementById('f-text').focus()")
    record = found.findings[5]
    browser.type(record.key)
    hits = sum(record.key in one.key or record.key in one.first.sql for one in found.findings)
    browser.until(
        f"document.getElementById('count').textContent === '{hits} of 1,000 findings; {hits} shown.'"
    )
    assert set(texts(browser, "#rows th button")) == {record.key}
    browser.run("document.getElementById('f-text').value = ''")
    choose(browser, "f-party", "user ben")
    choose(browser, "f-kind", "read outright")
    hits = sum(one.party == "user ben" and one.kind == "direct" for one in found.findings)
    assert count(browser) == f"{hits} of 1,000 findings; {min(hits, 25)} shown."
    assert set(texts(browser, "#rows td:nth-child(2)")) == {"user ben"}
    choose(browser, "f-proof", "elimination")
    assert count(browser) == "No finding fits these filters."


def choose(browser: Browser, name: str, value: str) -> None:
    browser.run(
        f"(box => {{ box.value = {value!r}; box.dispatchEvent(new Event('change', {{bubbles: true}})); }})"
        f"(document.getElementById({name!r}))"
    )


def test_statements_are_searched_too(browser: Browser, thousand: Path) -> None:
    browser.open(thousand)
    browser.run("document.getElementById('f-text').focus()")
    browser.type("it & networks' and id")
    browser.until("document.getElementById('count').textContent.includes(' of 1,000')")
    assert all("IT & Networks" in text or "+" in text for text in texts(browser, "#rows td small"))


def test_more_are_shown_when_asked_for(browser: Browser, thousand: Path) -> None:
    browser.open(thousand)
    browser.click("#more")
    assert len(texts(browser, "#rows th button")) == 50
    assert browser.run("[...document.querySelectorAll('#rows button')].indexOf(document.activeElement)") == 25
    assert count(browser) == "1,000 findings; 50 shown."


def test_an_opened_finding_shows_the_same_as_the_page_without_scripts(browser: Browser, few: Path) -> None:
    browser.open(few)
    for place in range(20):
        browser.run(f"document.querySelector('button[data-place=\"{place}\"]').click()")
    tidy: Callable[[list[str]], list[str]] = lambda found: [re.sub(r"\s+", "", text) for text in found]  # noqa: E731
    opened, static = texts(browser, "#rows .certificate"), texts(browser, "#static .certificate")
    assert len(opened) == 20
    assert tidy(opened) == tidy(static)


def test_an_opened_finding_stays_open_when_the_list_is_sorted(browser: Browser, few: Path) -> None:
    browser.open(few)
    browser.click(f"{FIRST} button")
    browser.click("#more")
    sentence = texts(browser, "#rows .sentence")
    browser.click("#list th[data-sort=name] button")
    browser.click("#list th[data-sort=name] button")
    assert texts(browser, "#rows .sentence") == sentence
    assert browser.run("document.querySelectorAll('#rows [aria-expanded=true]').length") == 1


@pytest.mark.slow
def test_a_script_in_the_log_does_nothing(browser: Browser, folder: Path) -> None:
    page = folder / "attack.html"
    page.write_text(html(said(ATTACK)), encoding="utf-8")
    browser.open(page)
    browser.click(f"{FIRST} button")
    assert ATTACK in texts(browser, "#rows .certificate")[0]
    browser.run("document.getElementById('f-text').focus()")
    browser.type("<script>")
    browser.run("new Promise((done) => setTimeout(done, 300))")
    assert browser.run("window.pwned") is None
    assert browser.run("document.querySelectorAll('img').length") == 0
    assert browser.requests() == [page.as_uri()]
    assert browser.complaints() == []


@pytest.mark.slow
@pytest.mark.parametrize("width", [320, 360, 768])
def test_a_narrow_screen_does_not_scroll_sideways(browser: Browser, folder: Path, width: int) -> None:
    page = folder / "narrow.html"
    long = "SELECT_" + "x" * 3000
    for found in (made(30), said(long), nothing_found()):
        page.write_text(html(found), encoding="utf-8")
        browser.open(page, width=width, height=640)
        if found.findings:
            browser.click(f"{FIRST} button")
        browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        sizes: list[float] = browser.run("[document.documentElement.scrollWidth, window.innerWidth]")
        assert sizes == [width, width]


def test_on_a_phone_the_list_can_be_sorted_by_what_has_no_column_there(
    browser: Browser, thousand: Path
) -> None:
    browser.open(thousand, width=360, height=640)
    assert (
        browser.run(
            "[...document.querySelectorAll('#list thead th')].filter((one) => one.offsetWidth).length"
        )
        == 3
    )
    choose(browser, "f-sort", "first")
    browser.click(f"{FIRST} button")
    earliest = min(made(1000).findings, key=lambda one: one.first.number)
    assert f"statement {earliest.first.number}," in texts(browser, "#rows .certificate")[0]


def test_without_scripts_summary_charts_and_first_findings_can_be_read(
    browser: Browser, thousand: Path
) -> None:
    browser.open(thousand, scripts=False)
    tree = browser.send("Accessibility.getFullAXTree")["nodes"]
    names = " ".join(str(node.get("name", {}).get("value", "")) for node in tree if not node.get("ignored"))
    assert "The answers give away “salary” for 600 of 2,435 records" in names
    assert "The first 20 of 1,000 findings" in names
    assert "Records located" in names


def test_controls_and_charts_have_names_for_those_who_do_not_see(browser: Browser, few: Path) -> None:
    browser.open(few)
    tree: list[dict[str, Any]] = browser.send("Accessibility.getFullAXTree")["nodes"]
    kinds = ("button", "combobox", "searchbox", "link", "image", "region")
    met: dict[str, int] = {}
    for node in tree:
        role = node.get("role", {}).get("value")
        if not node.get("ignored") and role in kinds:
            met[role] = met.get(role, 0) + 1
            assert node.get("name", {}).get("value"), node
    assert met["image"] == 4  # the narrow drawings are not there for a wide screen
    assert met["combobox"] == 3
    assert {"button", "searchbox", "link", "region"} <= met.keys()


@pytest.mark.slow
def test_it_prints_and_says_how_much_is_folded(browser: Browser, few: Path) -> None:
    browser.open(few)
    browser.click(f"{FIRST} button")
    browser.click("#list th[data-sort=party] button")
    pdf = browser.pdf()
    assert pdf.startswith(b"%PDF-")
    note = str(browser.run("document.getElementById('printed').textContent"))
    assert note.startswith("Printed here: 25 of 30 findings; the proofs of ")
    assert 3 < pages(pdf) < 20


@pytest.mark.slow
def test_everything_can_be_printed_with_its_proof(browser: Browser, few: Path) -> None:
    browser.open(few)
    before = pages(browser.pdf())
    browser.run(
        "window.print = () => { window.printed = document.querySelectorAll('#rows .certificate').length; }"
    )
    browser.click("#print-all")
    assert browser.run("window.printed") == 30
    assert pages(browser.pdf()) > before + 5
    browser.run("window.dispatchEvent(new Event('afterprint'))")
    assert texts(browser, "#rows .certificate") == []


def pages(pdf: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


@pytest.mark.slow
def test_thousands_of_findings_are_shown_at_once(browser: Browser, folder: Path) -> None:
    page = folder / "many.html"
    page.write_text(html(made(3000)), encoding="utf-8")
    browser.open(page)
    assert count(browser) == "3,000 findings; 25 shown."
    took = browser.run(
        "(() => { const start = performance.now();"
        " document.querySelector('th[data-sort=name] button').click(); return performance.now() - start; })()"
    )
    assert took < 2000


def test_the_dark_scheme_is_followed(browser: Browser, few: Path) -> None:
    look = "getComputedStyle(document.body).backgroundColor"
    browser.open(few)
    light = browser.run(look)
    browser.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    try:
        assert browser.run(look) != light
    finally:
        browser.send("Emulation.setEmulatedMedia", features=[])


def test_a_partial_report_shows_so_on_the_first_screen(browser: Browser, folder: Path) -> None:
    page = folder / "partial.html"
    page.write_text(
        html(replace(made(30), partial="Stopped after 4,112 of 8,791 statements.")), encoding="utf-8"
    )
    browser.open(page, width=360, height=640)
    assert browser.run("document.querySelector('.partial').getBoundingClientRect().bottom < 640")


@pytest.mark.slow
@pytest.mark.parametrize("first", range(26, 32))
def test_the_browser_starts_whatever_numbers_its_pipes_have(first: int) -> None:
    """With one of them at 30 or 31, as after thousands of tests, the other one was written over."""
    path = chromium()
    if path is None:
        pytest.skip("no Chromium on this machine (Debian's package: chromium)")
    with ExitStack() as held:
        while (number := os.open(os.devnull, os.O_RDONLY)) < first:
            held.callback(os.close, number)
        os.close(number)
        with started(path) as browser:
            assert browser.run("1 + 1") == 2
