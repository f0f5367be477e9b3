"""Kernels compiled at first use, cached where a cache folder can be written.

Promise: numba takes its settings from the environment, never from a file in the working directory, which
could name a cache of somebody else's code. So numba is imported here alone.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from types import ModuleType
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
    numba = numba_without_file()

    def decorate(function: Kernel) -> Kernel:
        try:
            return cast(Kernel, numba.njit(cache=True, nogil=True, **options)(function))
        except RuntimeError:
            return cast(Kernel, numba.njit(nogil=True, **options)(function))

    return decorate


def numba_without_file() -> ModuleType:
    """numba, which reads no `.numba_config.yaml`: neither when it is imported nor whenever it compiles.

    It has no switch for that. Without a reader of YAML it leaves the file alone at import; afterwards it
    looks for one that is never a file.
    """
    if "numba" not in sys.modules:
        absent = object()
        yaml = sys.modules.get("yaml", absent)
        sys.modules["yaml"] = None  # type: ignore[assignment]
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "A Numba config file is found")
                import numba.core.config
        finally:
            if yaml is absent:
                del sys.modules["yaml"]
            else:
                sys.modules["yaml"] = cast(ModuleType, yaml)
    import numba.core.config
    import numba.extending

    if numba.core.config._config_fname != os.devnull:
        numba.core.config._config_fname = os.devnull
        reload: Callable[[], None] = numba.core.config.reload_config
        reload()  # without what somebody else's import may have read
    return numba
