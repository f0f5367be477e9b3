"""A clock that counts: what ends by time ends after the same work on any machine, however busy it is.

Each look at it takes a millisecond, about as long as the work between two looks. So a policy's `timeout`
allows a number of looks. Programs that the solver is given have a generous real limit.

Elsewhere time is the last resort: `soon` waits a minute for what usually comes at once, and `at_once` allows
twenty seconds of this process's own work for what usually takes a few hundredths of a second.
"""

from __future__ import annotations

import importlib
import pkgutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any

import pytest

import cae_sql
from cae_sql.inference.allowance import UNLIMITED, Allowance
from cae_sql.inference.solver import Program

PATIENCE = 60.0
"""Real seconds after which what usually comes at once will not come any more."""
MOST_WORK = 20.0
"""Seconds of this process's own work, other work on the machine not counted."""


class CountedTime(threading.local):
    """In place of the module `time` where decisions look at it; each thread counts its own looks."""

    now = 0.0

    def monotonic(self) -> float:
        self.now += 0.001
        return self.now

    def thread_time(self) -> float:
        return time.thread_time()


@contextmanager
def counting() -> Iterator[None]:
    """Give the modules that decide a clock that counts."""
    clock, real = CountedTime(), Program.minimise

    def minimise(
        self: Program, costs: Any, allowance: Allowance = UNLIMITED, *more: Any, **named: Any
    ) -> Any:
        until = allowance.until
        if not allowance.late:
            allowance.until = max(until, clock.now + PATIENCE)
        try:
            return real(self, costs, allowance, *more, **named)
        finally:
            allowance.until = until

    with pytest.MonkeyPatch.context() as patch:
        for module in _that_decide():
            patch.setattr(module, "time", clock)
        # what calls have waited for the compiler is real, and no time of this clock
        patch.setattr("cae_sql.inference.allowance.waited", [0.0])
        patch.setattr(Program, "minimise", minimise)
        yield


@cache
def _that_decide() -> list[ModuleType]:
    """The modules of what can be inferred, and of what the gate decides, that look at a clock.

    How long the compiler takes is no part of a decision: it is told by the real clock.
    """
    names = [found.name for found in pkgutil.walk_packages(cae_sql.__path__, "cae_sql.")]
    modules = map(importlib.import_module, [*names, "auditor.deciding.decide", "auditor.parties.column"])
    looking = (module for module in modules if getattr(module, "time", None) is time)
    return [module for module in looking if module.__name__ != "cae_sql.compiled"]


def soon(come: Callable[[], object]) -> bool:
    """Whether something comes; it is looked for again and again."""
    end = time.monotonic() + PATIENCE
    while not come() and time.monotonic() < end:
        time.sleep(0.01)
    return bool(come())


@contextmanager
def at_once() -> Iterator[None]:
    """Hold that something takes little work: what is quadratic, or tries everything, takes far more."""
    began = time.process_time()
    yield
    assert time.process_time() - began < MOST_WORK
