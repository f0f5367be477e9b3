"""Kernels are compiled before anything is counted: budgets are of CPU seconds."""

from __future__ import annotations

import pytest

from cae_sql.warming import warm


@pytest.fixture(scope="session", autouse=True)
def compiled() -> None:
    """Once."""
    warm()
