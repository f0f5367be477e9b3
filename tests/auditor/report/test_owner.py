"""The owner's page says what the gate says, shows any text as text, and fits desk, phone and listener."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from auditor import Gate, QueryRefused, QueryUnsupported
from auditor.gate.growth import of_classes
from auditor.policy.policy import Policy
from auditor.report.account import Account, account
from auditor.report.coming import coming
from auditor.report.owner import owner_page, trouble_page
from auditor.report.owner_figures import (
    asked_figure,
    classes_table,
    growth_figures,
    risks_figure,
    users_table,
)
from auditor.report.owner_words import first_screen, past_the_limit
from tests.auditor.staff import build, entries, people, policy_text

from .browser import Browser

ATTACK = "</code><script>alert(1)</script>\u202e"
ASKED = (
    ("ana", "SELECT avg(salary) FROM staff"),
    ("ana", "SELECT dept, avg(salary) FROM staff GROUP BY dept"),
    ("ben", "SELECT dept, sex, avg(salary) FROM staff GROUP BY dept, sex"),
    ("ben", "SELECT sum(salary) FROM staff WHERE id = 3"),
    ("ben", "SELECT salary FROM staff"),
    ("ben", "SELECT count(*) FROM staff"),
    (ATTACK, f'SELECT avg(salary) AS "{ATTACK}" FROM staff'),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("owner")
    build(found / "staff.duckdb", people(60))
    (found / "policy.toml").write_text(policy_text(public='["id", "sex", "dept"]'))
    return found


@pytest.fixture(scope="module")
def gate(folder: Path) -> Iterator[Gate]:
    with Gate.open(folder / "staff.duckdb", folder / "policy.toml") as opened:
        for user, sql in ASKED:
            with contextlib.suppress(QueryRefused, QueryUnsupported):
                opened.execute(sql, user=user)
        opened.check("SELECT max(salary) FROM staff", user="ana")
        yield opened


@pytest.fixture(scope="module")
def found(gate: Gate, folder: Path) -> Account:
    text = (folder / "policy.toml").read_text()
    return account(gate, folder / "staff.duckdb", text)


@pytest.fixture(scope="module")
def page(found: Account) -> str:
    return owner_page(found)


def test_every_entry_is_told_with_what_became_of_it(found: Account, gate: Gate) -> None:
    fates = [each.fate for each in found.statements]
    assert fates == ["whole", "whole", *fates[2:3], "refused", "unsupported", "public", "whole", "check"]
    assert fates[2] in ("whole", "part")
    assert [each.number for each in found.statements] == [each.number for each in entries(gate)]
    assert sum(each.exact + each.ends for each in found.statements) == found.verification.answers


def test_users_are_counted_with_what_they_were_told(found: Account) -> None:
    table = users_table(found.statements)
    by_user = {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}
    assert by_user["ben"]["Statements"] == "4"
    assert by_user["ben"]["Refused"] == "1"
    assert by_user["ana"]["Checked only"] == "1"
    assert sum(int(row["Statements"]) for row in by_user.values()) == len(found.statements)


def test_the_headline_is_what_the_gate_holds(found: Account, gate: Gate) -> None:
    held = gate.held()
    assert held is not None
    said = float(first_screen(found).headline.rpartition(" ")[2])
    assert held <= said < held + 0.001


def test_the_last_row_of_the_growth_is_the_risk_now(found: Account) -> None:
    [figure] = growth_figures(found)
    highest = max(float(each) for each in of_classes(found.growth[0].looks[-1]))
    assert figure.table.rows[-1][2] == f"{highest:.3f}"
    table = classes_table(found)
    assert table is not None
    assert table.rows[0][2] == f"{highest:.3f}"
    shown = risks_figure(found)
    assert shown is not None
    assert sum(int(row[1]) for row in shown.table.rows) == 60


def test_the_picture_of_statements_ends_with_their_counts(found: Account) -> None:
    figure = asked_figure(found.statements)
    assert figure is not None
    last = dict(zip(figure.table.columns, figure.table.rows[-1], strict=True))
    assert last["Refused"] == "1"
    assert last["Not understood"] == "1"
    assert asked_figure([]) is None


def test_what_comes_next_is_what_the_gate_says_and_is_on_no_record(found: Account, gate: Gate) -> None:
    before = len(entries(gate))
    said = {each.sql: each.decision for each in found.coming.questions}
    assert said["SELECT avg(salary) FROM staff"].code == "known"
    assert "SELECT sex, avg(salary) FROM staff GROUP BY sex" in said
    assert "SELECT dept, avg(salary) FROM staff GROUP BY dept" in said
    for sql, decision in said.items():
        assert gate.check(sql) == decision
    assert len(entries(gate)) == before + len(said)  # those that this test asked


def test_nothing_is_foreseen_where_a_verdict_would_tell_something(folder: Path) -> None:
    rules = Policy.parse(policy_text('[decision]\nmode = "answer-dependent"'))
    found = coming(folder / "staff.duckdb", rules, "staff.ledger")
    assert found.questions == []
    assert "hangs on the true answer" in found.why_none


def test_a_stricter_limit_shows_since_when_somebody_is_beyond_it(found: Account) -> None:
    assert past_the_limit(found) == []
    stricter = replace(found, columns=[replace(found.columns[0], risk=0.001)])
    [said] = past_the_limit(stricter)
    assert re.match(r"since statement \d, risk 0\.\d+ of 0\.001", said)
    assert said in owner_page(stricter)


def test_a_surprise_is_shown_with_its_statement(found: Account) -> None:
    first, *others = found.statements
    page = owner_page(replace(found, statements=[replace(first, surprises=2), *others]))
    part = page.split('id="surprises"')[1].split("</section>")[0]
    assert "SELECT avg(salary) FROM staff" in part
    assert "Look at the 2 surprises." in page


def test_what_verification_found_stands_above_all(found: Account) -> None:
    broken = replace(found.verification, problems=("entry 2, answer 0: the data give another value now",))
    page = owner_page(replace(found, verification=broken))
    assert "<h1>The ledger does not agree with itself or with the data</h1>" in page
    assert "entry 2, answer 0" in page
    assert "The chain is whole" not in page


def test_whatever_was_asked_is_shown_as_text(page: str) -> None:
    assert "<script" not in page
    assert "\u202e" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;⟨U+202E⟩" in page
    assert "<script" not in trouble_page(ATTACK, ATTACK, ATTACK)


def test_no_address_is_in_the_page(page: str) -> None:
    assert re.findall(r"https?:|//[a-z]|url\(", page) == []
    assert "default-src 'none'" in page


def test_every_picture_has_a_name_and_a_table(page: str) -> None:
    pictures = re.findall(r'role="img" aria-labelledby="(\S+) (\S+)"', page)
    assert len(pictures) == 6  # three, for a desk and for a phone
    for title, caption in pictures:
        assert f'id="{title}"' in page
        assert f'id="{caption}"' in page
    assert page.count('<details class="as-table">') == 3


@pytest.mark.slow
@pytest.mark.parametrize("width", [320, 390, 1280])
def test_the_page_fits_and_asks_nobody(browser: Browser, page: str, folder: Path, width: int) -> None:
    file = folder / "gate.html"
    file.write_text(page, encoding="utf-8")
    browser.visit(file.as_uri(), width)
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.requests() == [file.as_uri()]
    assert browser.complaints() == []
    small = browser.run(
        "[...document.querySelectorAll('.drawing text')].filter(each => each.getBoundingClientRect().width)"
        ".every(each => each.getBoundingClientRect().height >= 10)"
    )
    assert small


def test_who_listens_hears_the_names_of_pictures_tables_and_parts(
    browser: Browser, page: str, folder: Path
) -> None:
    file = folder / "gate.html"
    file.write_text(page, encoding="utf-8")
    browser.visit(file.as_uri())
    tree: list[dict[str, Any]] = browser.send("Accessibility.getFullAXTree")["nodes"]
    met: dict[str, int] = {}
    for node in tree:
        role = node.get("role", {}).get("value")
        if not node.get("ignored") and role in ("image", "link", "region", "heading"):
            met[role] = met.get(role, 0) + 1
            assert node.get("name", {}).get("value"), node
    assert met["image"] == 3
    assert met["heading"] >= 12


SEVERAL = """
[[protect]]
table = "staff"
column = "salary"
minimum = 10
maximum = 250
step = 10
public = ["sex", "dept"]

[[protect]]
table = "staff"
column = "age"
minimum = 0
maximum = 100
step = 5
resolution = 1
public = ["sex", "dept"]
limit = { epsilon = 20, min_entropy = 0.5 }

[limit]
risk = 0.5

[ledger]
scope = "user"
"""


@pytest.mark.slow
def test_of_several_columns_and_users_each_has_its_growth_and_its_limit(tmp_path: Path) -> None:
    database = build(tmp_path / "staff.duckdb", people(60))
    with Gate.open(database, Policy.parse(SEVERAL)) as gate:
        gate.execute("SELECT avg(salary), avg(age) FROM staff", user="ana")
        gate.execute("SELECT dept, avg(salary) FROM staff GROUP BY dept", user="ben")
        found = account(gate, database)
    figures = growth_figures(found)
    said = {figure.title for figure in figures}
    assert "How the highest risk grew: user ben, table staff, column salary" in said
    assert "How the highest risk grew: user ana, table staff, column age" in said
    limits = {figure.title: "limit is 0.5" in figure.caption for figure in figures}
    assert all(limited == ("column salary" in title) for title, limited in limits.items())
    asked = [each.sql for each in found.coming.questions]
    assert "SELECT avg(salary) FROM staff" in asked
    assert "SELECT avg(age) FROM staff" in asked
    assert "as user <bdi>" in owner_page(found)
