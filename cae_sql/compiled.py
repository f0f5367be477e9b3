"""Kernels compiled at first use, cached where a cache folder can be written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def compiled(**options: Any) -> Callable[[Kernel], Kernel]:
    """Compile a function with numba: no Python objects inside, and the interpreter's lock released.

    numba raises at decoration when no cache folder can be written (a read-only installation); the kernel
    then compiles anew in each process. `parallel=True` is never used: its work queue aborts the process
    when two threads call it, and its OpenMP layer kills forked children.

    A cached kernel is compiled anew when its own file changes; after a change to one that it calls in another
    file, delete `__pycache__`.

    Args:
        options: Further options of numba's `njit`.
    """
    import numba

    def decorate(function: Kernel) -> Kernel:
        try:
            return cast(Kernel, numba.njit(cache=True, nogil=True, **options)(function))
        except RuntimeError:
            return cast(Kernel, numba.njit(nogil=True, **options)(function))

    return decorate
