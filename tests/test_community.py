"""What a reader of the repository needs besides code: how to report, cite and ask, and never with data."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml"))
PAGES = [
    "SECURITY.md",
    "CONTRIBUTING.md",
    "CODE_OF_CONDUCT.md",
    "docs/limitations.md",
    "docs/threat-model.md",
]


def test_the_citation_names_the_software_and_the_paper_of_its_measure() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors", "type"} <= set(cited)
    assert cited["license"] == "MIT"
    assert cited["preferred-citation"]["doi"] == "10.1007/978-3-319-19315-1_3"


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.stem)
def test_a_form_asks_for_policy_and_statement_and_never_for_data(form: Path) -> None:
    parts = yaml.safe_load(form.read_text(encoding="utf-8"))["body"]
    asked = {part["id"] for part in parts if "id" in part}
    assert {"version", "policy"} <= asked
    assert not asked & {"data", "log", "ledger"}
    assert "Never paste data" in parts[0]["attributes"]["value"]


def test_there_are_forms() -> None:
    assert len(FORMS) == 2


@pytest.mark.parametrize("page", PAGES)
def test_links_of_a_page_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    targets = [link for link in re.findall(r"\]\(([^)#]+)[^)]*\)", text) if "://" not in link]
    assert targets
    missing = [link for link in targets if not ((ROOT / page).parent / link).exists()]
    assert not missing
