"""Decisions are given an amount of work, not of time: these tests end alike on a busy machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.clocks import counting


@pytest.fixture(scope="module", autouse=True)
def counted() -> Iterator[None]:
    with counting():
        yield
