"""One browser for all tests that need one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .browser import Browser, chromium, started


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium; tests skip where none is installed."""
    path = chromium()
    if path is None:
        pytest.skip("no Chromium on this machine (Debian's package: chromium)")
    with started(path) as running:
        yield running
