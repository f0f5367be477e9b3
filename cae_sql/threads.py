"""Two threads for one pass: kernels let go of the interpreter's lock; two cores are what is reckoned with."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

Found = TypeVar("Found")

ENOUGH_WORK = 1 << 20
"""Elementary steps from which two threads share a pass."""

_helper: list[ThreadPoolExecutor] = []
"""The second thread, once it is needed: to begin one takes as long as some passes."""
_here = threading.local()
"""Whether this thread is in such a pass already (`sharing`): what is inside of one is not shared again. And
whether it is `alone`."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_helper.clear)  # threads stay behind in the parent


def in_two(work: Callable[[int, int], Found], count: int, each: int) -> list[Found]:
    """Do `work(first, last)` over 0..count, on two threads where `each` step costs enough."""
    if count * each < ENOUGH_WORK or getattr(_here, "sharing", False):
        return [work(0, count)]
    if not _helper:
        _helper.append(ThreadPoolExecutor(1, "second"))
    middle = count // 2
    second = _helper[0].submit(_shared, work, middle, count)
    try:
        first = _shared(work, 0, middle)
    finally:
        wait([second])  # it writes where the caller reads
    return [first, second.result()]


def _shared(work: Callable[[int, int], Found], first: int, last: int) -> Found:
    _here.sharing = True
    try:
        return work(first, last)
    finally:
        _here.sharing = False


@contextmanager
def alone() -> Iterator[None]:
    """The linear algebra library in one thread, as long as anybody is in such a part.

    Where the machine has other work its threads wait for each other: 190 equations took a third of a second
    in place of 5 ms. Inside of another one it costs nothing.
    """
    if getattr(_here, "alone", False):
        yield
        return
    with _limited:
        if not _inside[0]:
            _limit.append(_library().limit(limits=1, user_api="blas"))
        _inside[0] += 1
    _here.alone = True
    try:
        yield
    finally:
        _here.alone = False
        with _limited:
            _inside[0] -= 1
            if not _inside[0]:
                _limit.pop().restore_original_limits()


def _library() -> ThreadpoolController:
    if not _libraries:
        import scipy.linalg  # noqa: F401 -- it brings a library of its own, which must be there to be found
        import threadpoolctl

        _libraries.append(threadpoolctl.ThreadpoolController())
    return _libraries[0]


_limited = threading.Lock()
_inside = [0]
"""How many threads are in such a part: the first limits the library for the process, the last ends that."""
_limit: list[Any] = []
_libraries: list[ThreadpoolController] = []
"""Looked for once: that takes longer than few equations do."""
