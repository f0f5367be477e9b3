"""Kernels compiled at first use, cached where a cache folder can be written.

Promise: a module with kernels can be imported without numba, which is woken by the first call. What was
compiled once is taken from the cache by every later process. numba takes its settings from the environment,
never from a file in the working directory, which could name a cache of somebody else's code; so numba is
imported here alone.

Some kernels are *exact*: as Python they give the same bits (tests compare both). While another process still
compiles one of these, small calls run the function as it is written: on a table of 150 persons that takes
milliseconds, and compiling seconds. No result hangs on which of the two ran.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, TypeVar, cast

import numpy as np

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

as_int64 = cast(Callable[[Any], int], np.int64)
"""For what a kernel hands on to another one: numba compiles anew for each literal number and each width."""


coming: dict[tuple[str, str], threading.Event] = {}
"""Kernels, by module and name, that another process is compiling for this one, with what says that it has.
Forked children find them here too, and nobody who would tell them: see `_wait`."""
_process = os.getpid()
hurried: set[tuple[str, str]] = set()
"""Those of them that a call waits for: they come next."""
waited = [0.0]
"""Seconds that calls have waited for such kernels, or were run by Python in their place: no decision's, as
`cae_sql.inference.allowance` counts."""

FEW = 2_000
"""Entries of all arrays of a call that Python may run. A table of 200 persons comes to 1,800; all its calls
together took Python four seconds of a busy processor, and compiling sixty."""
PATIENCE = 3.0
"""Seconds of a processor that Python may take for all calls of a kernel together; then they wait for the
compiler, which takes about as long for the dearest."""


class _Here(threading.local):
    """Whether Python runs a kernel in this thread: those that it calls run in Python too."""

    python = False


_here = _Here()


def _wait(module: str, name: str) -> None:
    """Until another process has compiled a kernel: two compilers would do the same work."""
    done = coming.get((module, name))
    if done is None or done.is_set() or os.getpid() != _process:
        return
    hurried.add((module, name))
    began = time.monotonic()
    done.wait()
    waited[0] += time.monotonic() - began


class Compiled:
    """A function that numba compiles when it is first called, here or by another kernel."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any], exact: bool = False) -> None:
        """Not compiled yet.

        Args:
            function: What is compiled.
            options: Further options of numba's `njit`.
            exact: Whether Python comes to the same bits.
        """
        functools.update_wrapper(self, function)
        self.py_func = function
        """The function as written."""
        self.exact = exact
        """Whether Python comes to the same bits."""
        self._options = options
        self._made: Any = None
        self._taken = 0.0
        """Seconds that Python took."""

    def __call__(self, *arguments: Any) -> Any:
        """Run it."""
        if _here.python:
            return self.py_func(*arguments)
        if self._made is None and self._is_for_python(arguments):
            return self._by_python(arguments)
        return (self._made or self.dispatcher)(*arguments)

    def _is_for_python(self, arguments: tuple[Any, ...]) -> bool:
        """Whether Python is to run this call: a small one of an exact kernel that is still being compiled."""
        done = coming.get((self.py_func.__module__, self.py_func.__name__))
        if not self.exact or done is None or done.is_set() or os.getpid() != _process:
            return False
        arrays = list(_arrays(arguments))
        # NumPy keeps to floats of four bytes where numba goes over to eight: with each number written out
        single = any(each.dtype == np.float32 for each in arrays)
        return not single and sum(each.size for each in arrays) <= FEW and self._taken < PATIENCE

    def _by_python(self, arguments: tuple[Any, ...]) -> Any:
        """Run the function as it is written; where Python's numbers end, the compiled one from the start.

        Numbers of few bytes are not widened by NumPy, as they are by numba: what is too large for one is an
        error here and never another result.
        """
        before = [each.copy() for each in _arrays(arguments)]
        began, busy = time.monotonic(), time.thread_time()
        _here.python = True
        try:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                return _plain(self.py_func(*arguments))
        except ArithmeticError:
            for each, kept in zip(_arrays(arguments), before, strict=True):
                if each.flags.writeable:
                    each[...] = kept
        finally:
            _here.python = False
            self._taken += time.thread_time() - busy
            waited[0] += time.monotonic() - began
        return self.dispatcher(*arguments)

    @property
    def dispatcher(self) -> Any:
        """What numba makes of it: one compiled function for each combination of types."""
        if self._made is None:
            _wait(self.py_func.__module__, self.py_func.__name__)
            numba = numba_without_file()
            options = {"nogil": True, **self._options}
            try:
                self._made = numba.njit(cache=True, **options)(self.py_func)
            except RuntimeError:
                self._made = numba.njit(**options)(self.py_func)
        return self._made

    @property
    def _numba_type_(self) -> Any:
        """How numba types this where another kernel calls it: numba's own protocol."""
        from numba.core.types import Dispatcher

        return Dispatcher(self.dispatcher)


def _arrays(arguments: tuple[Any, ...]) -> Iterator[np.ndarray]:
    """All arrays of a call, those in tuples too."""
    for each in arguments:
        if isinstance(each, tuple):
            yield from _arrays(each)
        elif isinstance(each, np.ndarray):
            yield each


def _plain(result: Any) -> Any:
    """What a kernel returned, with Python's numbers, which numba gives back, in place of NumPy's."""
    if isinstance(result, tuple):
        return tuple(_plain(each) for each in result)
    return result.item() if isinstance(result, np.generic) else result


def compiled(exact: bool = False, **options: Any) -> Callable[[Kernel], Kernel]:
    """Compile a function with numba: no Python objects inside, and the interpreter's lock released.

    numba raises when no cache folder can be written (neither beside the source nor in the user's cache
    folder); the kernel then compiles anew in each process. `parallel=True` is never used: its work queue
    aborts the process when two threads call it, and its OpenMP layer kills forked children.

    A cached kernel is compiled anew when its own file changes; after a change to one that it calls in another
    file, delete `__pycache__`.

    Args:
        exact: Whether Python comes to the same bits. So nothing is drawn at random, no `fastmath` reorders,
            no logarithm is taken, and floats of four bytes meet no number that is written out; the same
            of what it calls. Its work is not exponential in what it is given.
        options: Further options of numba's `njit`.
    """

    def decorate(function: Kernel) -> Kernel:
        return cast(Kernel, Compiled(function, options, exact))

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

    _array_functions_without_blas()
    if numba.core.config._config_fname != os.devnull:
        numba.core.config._config_fname = os.devnull
        reload: Callable[[], None] = numba.core.config.reload_config
        reload()  # without what somebody else's import may have read
    return numba


def _array_functions_without_blas() -> None:
    """Import numba's array functions without SciPy's BLAS, which numba loads only to see that it is there.

    It is: SciPy is required. It costs a fifth of a second, and no kernel multiplies matrices; one that does
    has numba load it then.
    """
    if "numba.np.arraymath" in sys.modules:
        return
    import numba.np.linalg

    look = numba.np.linalg.ensure_blas
    numba.np.linalg.ensure_blas = lambda: None
    try:
        import numba.np.arraymath
    finally:
        numba.np.linalg.ensure_blas = look
    vars(numba.np.arraymath)["ensure_blas"] = look
