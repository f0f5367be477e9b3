"""What all tests share: where the shared data are, and how hypothesis searches."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]

# How many examples each property gets is decided here, and nowhere else: few for whoever waits, many in CI.
# Shared machines are slow now and then: a deadline would find the machine's faults, not ours.
settings.register_profile(
    "quick", max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("long", parent=settings.get_profile("quick"), max_examples=24, derandomize=True)
settings.load_profile("long" if os.environ.get("CI") else "quick")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of data sets that lies beside the project, or a skip."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the shared data are not beside the project (../shared/data)")
    return folder
