"""Processes of this package beside its own, to which the place where it was started means nothing.

Promise: Python isolates such a process (-I), its environment is bare, and its working folder is empty. It
takes this package and its libraries from the folders that this process has them from, and no file in the
working directory can stand in for a module. What either writes the other unpickles: nobody else has their
pipes. An interrupt from the keyboard does not reach it.

    frame: length in 8 bytes, then a pickle
    first to the process: where packages are
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

_OURS = ("auditor", "cae_sql", "udfs")


class Broken(Exception):
    """The other end is gone, or its time is up."""


def start(module: str, folder: str) -> subprocess.Popen[bytes]:
    """A process that runs the `serve` of one of this package's modules, once it was told where packages are.

    Args:
        module: Its name.
        folder: An empty one, where nobody else can put anything.
    """
    return subprocess.Popen(
        [sys.executable, "-I", "-c", _START, module],
        bufsize=0,
        cwd=folder,
        env=_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        # An interrupt from the keyboard is for this process alone.
        start_new_session=True,
    )


def packages(libraries: Sequence[ModuleType]) -> tuple[tuple[str, ...], dict[str, str]]:
    """What a process is told first: where this one has its packages from; `sys.path` may name the working
    directory."""
    here = str(Path(os.path.abspath(__file__)).parents[1])
    ours = dict.fromkeys(_OURS, here)
    return _OURS, ours | {library.__name__: _home(library) for library in libraries}


def _home(package: ModuleType) -> str:
    return str(Path(os.path.abspath(str(package.__file__))).parents[1])


def _environment() -> dict[str, str]:
    """What an interpreter cannot start without, the zone that a statement's times are in, and where compiled
    kernels are kept."""
    kept = {name: os.environ[name] for name in ("SYSTEMROOT", "TZ") if name in os.environ}
    if os.environ.get("NUMBA_CACHE_DIR"):
        kept["NUMBA_CACHE_DIR"] = os.path.abspath(os.environ["NUMBA_CACHE_DIR"])
    for name in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"):
        # an empty or relative entry means the working directory
        folders = [each for each in os.environ.get(name, "").split(os.pathsep) if os.path.isabs(each)]
        if folders:
            kept[name] = os.pathsep.join(folders)
    return kept


def remove(folder: str) -> None:
    """Let go of an empty folder, where the system allows it."""
    with contextlib.suppress(OSError):
        os.rmdir(folder)


def pipes() -> tuple[int, int]:
    """In such a process: where questions come from and where answers go to.

    Whatever a library prints does not stand among the answers.
    """
    questions, answers = sys.stdin.fileno(), os.dup(sys.stdout.fileno())
    os.dup2(2, sys.stdout.fileno())
    return questions, answers


def write(pipe: int, value: object) -> None:
    """One frame."""
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    rest = memoryview(len(data).to_bytes(8, "big") + data)
    while rest:
        rest = rest[os.write(pipe, rest) :]


def read(pipe: int) -> Any:
    """One frame.

    Raises:
        Broken: the pipe has ended.
    """
    return pickle.loads(_exactly(pipe, int.from_bytes(_exactly(pipe, 8), "big")))


def _exactly(pipe: int, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = os.read(pipe, min(size - len(data), 1 << 20))
        if not part:
            raise Broken
        data += part
    return bytes(data)


# The homes come first: nothing of this package is imported before they are known. What the libraries bring
# along under other names is looked for after all that is Python's or installed. No more is read than they
# are: what comes next is for `serve`.
_START = """
import os, pickle, sys
from importlib import import_module
from importlib.machinery import PathFinder
def exactly(size):
    data = b""
    while len(data) < size:
        part = os.read(0, size - len(data))
        if not part:
            sys.exit()
        data += part
    return data
ours, homes = pickle.loads(exactly(int.from_bytes(exactly(8), "big")))
class Homes:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return PathFinder.find_spec(name, [homes[name]], target) if name in homes else None
sys.meta_path.insert(0, Homes)
sys.path += {home for name, home in homes.items() if name not in ours}.difference(sys.path)
import_module(sys.argv[1]).serve()
"""
