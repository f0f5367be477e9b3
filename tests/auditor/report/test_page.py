"""The HTML: one file that allows itself nothing, escapes everything, and needs neither eyes nor a mouse."""

from __future__ import annotations

import base64
import gzip
import hashlib
import itertools
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from auditor.report import html
from auditor.report.packed import PLAIN_MOST, packed
from auditor.report.page import MOST_FINDINGS, MOST_PARTIES, STATIC, stated_limit
from auditor.report.tally import by_gravity, chosen
from auditor.report.visible import visible

from .made import made, nothing_found, said

VOID = {"meta", "input", "br", "link", "img", "hr"}
NASTY = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]></style><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "' autofocus onfocus='alert(1)",
    "{{ 7 * 7 }} {% raw %}",
    "\u202egnirts\u202c \u200b\ufeff\x00\x1b[2J",
    "javascript:alert(1)",
    "\ud800",
    "${alert(1)} `x` \\u003cscript>",
]


@dataclass
class Node:
    """One element as a parser saw it."""

    tag: str
    attributes: dict[str, str | None]
    children: list[Node | str] = field(default_factory=list)

    def all(self, tag: str = "") -> Iterator[Node]:
        """This and what is in it, in order."""
        if tag in ("", self.tag):
            yield self
        for child in self.children:
            if isinstance(child, Node):
                yield from child.all(tag)

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)


class Tree(HTMLParser):
    """The elements of a page; complains about tags that do not match."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.root = Node("", {})
        self._open = [self.root]
        self.feed(page)
        self.close()
        assert len(self._open) == 1, f"left open: {[node.tag for node in self._open]}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, dict(attrs))
        self._open[-1].children.append(node)
        if tag not in VOID:
            self._open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open[-1].children.append(Node(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open[-1].tag == tag
        self._open.pop()

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)


def parsed(page: str) -> Node:
    return Tree(page).root


@pytest.fixture(scope="module")
def thousand() -> str:
    return html(made(1000))


@pytest.fixture(scope="module")
def root(thousand: str) -> Node:
    return parsed(thousand)


def by_id(root: Node) -> dict[str, Node]:
    return {str(node.attributes["id"]): node for node in root.all() if "id" in node.attributes}


def shape(root: Node) -> Counter[tuple[str, tuple[str, ...]]]:
    """Elements and the names of their attributes, texts left out."""
    return Counter((node.tag, tuple(sorted(node.attributes))) for node in root.all())


def test_a_thousand_findings_are_under_three_megabytes(thousand: str) -> None:
    assert len(thousand.encode()) < 3_000_000


@pytest.mark.slow
def test_a_thousand_findings_with_long_statements_are_still_under_three_megabytes() -> None:
    found = made(1000)
    findings = []
    for one in found.findings:
        terms = []
        for number in range(12):
            base = one.certificate.terms[number % len(one.certificate.terms)]
            sql = (
                f"{base.sql} AND age BETWEEN {number} AND {one.record} AND dept IN ('Claims', 'Legal')"
                + " " * 100
            )
            terms.append(replace(base, sql=sql, statement=replace(base.statement, sql=sql)))
        whole = " + ".join(f"({term.sql})" for term in terms)
        findings.append(replace(one, certificate=replace(one.certificate, terms=terms, sql=whole)))
    assert len(html(replace(found, findings=findings)).encode()) < 3_000_000


def test_nothing_is_loaded_and_no_address_leads_out(root: Node) -> None:
    for node in root.all():
        assert node.tag not in {"link", "img", "iframe", "object", "embed", "base", "form", "use", "image"}
        for name in ("src", "srcset", "action", "formaction", "style", "background", "data", "xlink:href"):
            assert name not in node.attributes
        assert str(node.attributes.get("href", "#")).startswith("#")
        assert not [name for name in node.attributes if name.startswith("on")]
    styles = "".join(node.text for node in root.all("style"))
    assert not re.search(r"url\(|@import|@font-face|expression", styles)


def test_the_policy_allows_the_one_style_and_the_one_script_by_their_digests(root: Node) -> None:
    (policy,) = [n for n in root.all("meta") if n.attributes.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(rule.split(maxsplit=1) for rule in str(policy.attributes["content"]).split("; "))

    def digest(text: str) -> str:
        return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"

    (style,) = root.all("style")
    (script,) = [node for node in root.all("script") if "type" not in node.attributes]
    assert rules == {
        "default-src": "'none'",
        "style-src": digest(style.text),
        "script-src": digest(script.text),
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def test_it_says_its_language_and_has_one_main_heading_and_no_gap_below(root: Node) -> None:
    (document,) = root.all("html")
    assert document.attributes["lang"] == "en"
    levels = [int(node.tag[1]) for node in root.all() if re.fullmatch("h[1-6]", node.tag)]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after <= before + 1 or after == 4 for before, after in itertools.pairwise(levels))
    assert len(list(root.all("main"))) == 1


def test_every_inner_link_and_reference_leads_somewhere_and_no_name_is_given_twice(root: Node) -> None:
    names = [str(node.attributes["id"]) for node in root.all() if "id" in node.attributes]
    assert len(names) == len(set(names))
    for node in root.all():
        if "href" in node.attributes:
            assert str(node.attributes["href"])[1:] in names
        for reference in ("aria-labelledby", "aria-describedby", "aria-controls"):
            assert set(str(node.attributes.get(reference) or "").split()) <= set(names)


def test_the_first_link_skips_to_the_report(root: Node) -> None:
    first = next(root.all("a"))
    assert first.attributes["href"] == "#main"


def test_every_field_has_a_label_and_every_button_a_name(root: Node) -> None:
    labelled = [
        node for label in root.all("label") for node in label.all() if node.tag in {"input", "select"}
    ]
    fields = [node for node in root.all() if node.tag in {"input", "select"}]
    assert len(labelled) == len(fields) > 0
    assert all(node.text.strip() for node in root.all("button"))
    assert all(node.attributes.get("type") == "button" for node in root.all("button"))


def test_heads_that_sort_are_buttons_and_say_their_order(root: Node) -> None:
    heads = [node for node in root.all("th") if "data-sort" in node.attributes]
    assert len(heads) == 6
    assert all(node.attributes["aria-sort"] in {"none", "ascending"} for node in heads)
    assert all(len(list(node.all("button"))) == 1 for node in heads)
    assert by_id(root)["count"].attributes["aria-live"] == "polite"


def test_every_chart_has_a_name_a_caption_and_a_table(root: Node) -> None:
    charts = list(root.all("figure"))
    assert len(charts) == 4
    for chart in charts:
        drawings = [node for node in chart.all("div") if node.attributes.get("role") == "img"]
        assert len(drawings) == 2
        assert all(len(str(node.attributes["aria-labelledby"]).split()) == 2 for node in drawings)
        (table,) = chart.all("table")
        assert len(list(table.all("tr"))) > 1
        assert next(chart.all("figcaption")).text.strip()


def test_the_widths_of_all_records_are_in_the_chart_before_and_after(root: Node) -> None:
    table = next(next(n for n in root.all("figure") if "remaining ranges" in n.text).all("table"))
    cells = [[cell.text for cell in row.all("td")] for row in table.all("tr")][1:]
    assert sum(int(row[0].replace(",", "")) for row in cells) == 2435
    assert sum(int(row[1].replace(",", "")) for row in cells) == 2435


def test_without_scripts_the_first_findings_are_there_with_their_proofs(root: Node) -> None:
    static = by_id(root)["static"]
    folded = [node for node in static.all("details") if node.attributes.get("class") == "finding"]
    assert len(folded) == STATIC
    assert all("Without any one of these answers the proof is gone." in node.text for node in folded)
    assert "hidden" in by_id(root)["interactive"].attributes


def test_the_gravest_and_earliest_come_first() -> None:
    ordered = by_gravity(made(200).findings)
    ranks = [("direct", "exact", "approximate").index(one.kind) for one in ordered]
    assert ranks == sorted(ranks)
    first = [one.first.number for one in ordered if one.kind == "exact"]
    assert first == sorted(first)


def test_a_partial_report_says_so_before_anything_else() -> None:
    root = parsed(html(replace(made(3), partial="Stopped by hand after 4,112 of 8,791 statements.")))
    main = next(root.all("main"))
    first = next(child for child in main.children if isinstance(child, Node))
    assert first.attributes["class"] == "partial"
    assert "Stopped by hand after 4,112 of 8,791 statements." in first.text
    assert next(root.all("title")).text.startswith("Partial: ")
    assert "partial" not in {node.attributes.get("class") for node in parsed(html(made(3))).all()}


def test_an_audit_without_findings_has_a_page_too() -> None:
    root = parsed(html(nothing_found()))
    assert "No record is shown to be located" in next(root.all("h1")).text
    assert "interactive" not in by_id(root)


def test_what_is_empty_leaves_no_empty_frame() -> None:
    bare = replace(
        nothing_found(),
        parties=[], timeline=[], classes=[], prior_curve=[], unmodelled=[], kinds={}, reading={}, policy="",
        policy_digest="", fingerprint="",
    )  # fmt: skip
    root = parsed(html(bare))
    assert list(root.all("figure")) == []
    assert "Every answered statement about the protected column could be followed." in root.text


def test_statements_without_time_user_or_source_read_well() -> None:
    found = made(5)
    bare = replace(found.findings[0].first, time=None, user="", source="")
    root = parsed(html(replace(found, findings=[replace(one, first=bare) for one in found.findings])))
    assert "None" not in root.text


def test_an_answer_that_no_query_of_its_own_gives_is_shown_by_its_statement() -> None:
    found = made(3)
    one = found.findings[0]
    terms = [replace(term, sql="") for term in one.certificate.terms]
    bare = replace(one, certificate=replace(one.certificate, terms=terms))
    root = parsed(html(replace(found, findings=[bare])))
    shown = [node.text for node in by_id(root)["static"].all("pre")]
    assert all(term.statement.sql in shown for term in terms)
    assert "" not in shown


@pytest.mark.parametrize("text", NASTY)
def test_a_nasty_text_changes_no_element_of_the_page(text: str) -> None:
    plain, nasty = parsed(html(said("harmless"))), parsed(html(said(text)))
    assert shape(nasty) == shape(plain)
    scripts = [node.text for node in nasty.all("script")]
    assert len(scripts) == 2
    assert "<" not in scripts[0]
    assert visible(text) in next(nasty.all("pre")).text


@given(st.text(st.characters(), min_size=1, max_size=40).filter(lambda text: text.strip()))
@example("&lt;b&gt;&amp;")
def test_any_text_is_shown_as_text(text: str) -> None:
    page = html(said(text))
    page.encode("utf-8")
    root = parsed(page)
    assert {node.tag for node in root.all()} == {node.tag for node in parsed(html(said("harmless"))).all()}
    data = json.loads(next(node for node in root.all("script") if "id" in node.attributes).text)
    assert visible(text) in data["texts"]


def test_long_statements_are_cut_in_lists_and_stand_in_full_in_the_certificate() -> None:
    text = "SELECT SUM(salary) FROM staff WHERE id IN (" + ", ".join(map(str, range(3000))) + ")"
    root = parsed(html(said(text)))
    data = json.loads(next(node for node in root.all("script") if "id" in node.attributes).text)
    assert text in data["texts"]
    assert all(len(one["brief"]) < 100 for one in data["findings"])


def test_a_statement_of_megabytes_does_not_make_a_page_of_megabytes() -> None:
    assert len(html(said("SELECT " + "x" * 5_000_000)).encode()) < 1_000_000


@pytest.mark.slow
def test_certificates_of_nothing_but_long_statements_do_not_burst_the_page() -> None:
    chance = random.Random(3)
    found = made(1000)
    findings = []
    for one in found.findings:
        terms = []
        for term in one.certificate.terms:
            places = ", ".join(str(chance.randrange(10**6)) for _ in range(1500))
            sql = f"SELECT SUM(salary) FROM staff WHERE id IN ({places})"
            terms.append(replace(term, sql=sql, statement=replace(term.statement, sql=sql)))
        findings.append(replace(one, certificate=replace(one.certificate, terms=terms, sql="")))
    assert len(html(replace(found, findings=findings)).encode()) < 3_000_000


@pytest.mark.slow
def test_much_data_is_packed_and_comes_back() -> None:
    found = made(4000)
    block = packed(found.findings)
    assert block.kind == "text/plain"
    assert len(block.text) < PLAIN_MOST
    data = json.loads(gzip.decompress(base64.b64decode(block.text)))
    assert len(data["findings"]) == 4000
    assert packed(found.findings[:50]).kind == "application/json"


@pytest.mark.slow
def test_the_same_findings_make_the_same_page() -> None:
    assert html(made(2000)) == html(made(2000))


def test_the_limit_is_read_off_the_policy_where_it_is_stated() -> None:
    assert stated_limit("[limit]\nrisk = 0.5") == 0.5
    assert stated_limit("[limit]\nepsilon = 20") is None
    assert stated_limit("limit = 3") is None
    assert stated_limit("no policy at all") is None


def test_one_statement_that_read_every_row_does_not_push_out_what_others_worked_out() -> None:
    found = made(300)
    direct = next(one for one in found.findings if one.kind == "direct")
    flood = [replace(direct, record=number, party="user dashboard") for number in range(2000)]
    others = [one for one in found.findings if one.kind != "direct"]
    kept = chosen([*flood, *others], 1000)
    assert len(kept) == 1000
    assert sum(one.kind != "direct" for one in kept) == len(others)
    assert kept == by_gravity(kept)


@pytest.mark.slow
def test_a_page_that_has_not_all_findings_says_so() -> None:
    page = parsed(html(made(MOST_FINDINGS + 10, people=9000)))
    assert f"This page has {MOST_FINDINGS:,} of {MOST_FINDINGS + 10:,} findings" in page.text
    assert "This page has" not in parsed(html(made(30))).text


def test_thousands_of_parties_do_not_make_thousands_of_rows() -> None:
    found = made(10)
    parties = [replace(found.parties[1], party=f"user {number}", located=number) for number in range(3000)]
    page = parsed(html(replace(found, parties=parties)))
    assert f"{MOST_PARTIES} of 3,000 parties" in page.text
    assert "user 2999" in page.text
    assert "user 17" not in page.text
