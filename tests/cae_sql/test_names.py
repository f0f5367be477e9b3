"""The names that users rely on are there, whatever was imported before them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.quick import some

NAMES = [
    "AnsweredSystem",
    "Bounds",
    "Certificate",
    "Domain",
    "EntropyCurve",
    "InconsistentAnswers",
    "cae_area",
    "cae_curve",
    "cae_entropy",
    "candidates",
]


@pytest.mark.parametrize(
    "first", some(["cae_sql.candidates", "cae_sql", "cae_sql.risk", "auditor.gate.gate"], 1)
)
def test_public_names_are_callables_whatever_was_imported_first(first: str) -> None:
    code = f"import {first}, cae_sql; assert all(callable(getattr(cae_sql, n)) for n in {NAMES!r})"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


@pytest.mark.slow
def test_the_package_of_releases_is_there_with_all_its_names() -> None:
    code = "import cae_sql; r = cae_sql.releases; assert all(callable(getattr(r, n)) for n in r.__all__)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_an_unknown_name_is_an_attribute_error() -> None:
    import cae_sql

    with pytest.raises(AttributeError, match="nothing"):
        cae_sql.nothing  # noqa: B018
