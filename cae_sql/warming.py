"""Kernels compiled before they are needed, once for each installation and processor.

Promise: after `warm` no decision waits for the compiler. What is listed in `kernels.csv` is compiled by a
process for each processor and kept in numba's cache, and a mark beside it says so; with the mark there,
`warm` costs some milliseconds. A kernel or a signature that is not listed is compiled at its first use, as
ever. Where nothing can be cached it is compiled in this process, and again by the next one.

Nothing is read from or written to the working directory.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import blake2b
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import IO

from cae_sql.compiled import Compiled, numba_without_file

Progress = Callable[[int, int], None]
"""Called with how many kernels are compiled, and how many there are to be."""

LIST = "kernels.csv"
MOST_PROCESSES = 8
"""Each takes some 200 MB, and few kernels take as long as all others of an eighth together."""

# This package is taken from where this process has it; what else there is comes after all that is Python's,
# so that no file in the working directory can stand in for a module.
_WORKER = """
import importlib.util, json, sys
home, folders = json.loads(sys.argv[1])
sys.path += [each for each in folders if each not in sys.path]
place = importlib.util.spec_from_file_location(
    "cae_sql", home + "/__init__.py", submodule_search_locations=[home])
sys.modules["cae_sql"] = package = importlib.util.module_from_spec(place)
place.loader.exec_module(package)
from cae_sql.warming import serve
serve()
"""

_done: set[int] = set()
"""For how many records this process knows it to be done."""


def warm(progress: Progress | None = None, records: int | None = None) -> None:
    """Compile what decisions call, unless that was done before.

    Args:
        progress: Told after each kernel.
        records: Only what tables of so many records need; None: everything that is listed.
    """
    try:
        wanted = listed(records)
        if len(wanted) in _done:
            return
        mark = _mark(wanted)
    except OSError:
        return  # with no file to be opened: kernels are compiled, or not, when they are called
    if mark is None:
        _compile_here(wanted, progress)
    elif not mark.exists():
        if not _compile_apart(wanted, progress):
            _compile_here(wanted, progress)
        with contextlib.suppress(OSError):  # the next process would look again, and find all in the cache
            mark.touch()
    _done.add(len(wanted))


@cache
def listed(records: int | None = None) -> list[tuple[str, ...]]:
    """Module, name and signatures of each kernel in the list, those that take longest first.

    Args:
        records: Only those that tables of so many records need; None: all.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for row in csv.DictReader(io.StringIO((files("cae_sql") / LIST).read_text("utf-8"))):
        if records is None or records >= int(row["records"]):
            found.setdefault((row["module"], row["name"]), []).append(row["signature"])
    return [(*name, *signatures) for name, signatures in found.items()]


def compile_one(module: str, name: str, *signatures: str) -> None:
    """Compile a kernel for some signatures, or take it from the cache."""
    sigutils = numba_without_file().core.sigutils
    kernel = getattr(import_module(module), name)
    assert isinstance(kernel, Compiled)
    for signature in signatures:
        # types, as a call has them: under a text the cache would not find it again
        types, _ = sigutils.normalize_signature(f"({signature},)")
        kernel.dispatcher.compile(tuple(types))


def serve() -> None:
    """Compile what stdin names, a line of JSON each, and say so after each."""
    for line in sys.stdin:
        compile_one(*json.loads(line))
        print(flush=True)


def _mark(wanted: Sequence[tuple[str, ...]]) -> Path | None:
    """The file that says that these are in the cache: of these sources, compiler and processor."""
    import llvmlite
    from llvmlite import binding

    numba = numba_without_file()

    kernel = getattr(import_module(wanted[0][0]), wanted[0][1])
    folder = kernel.dispatcher.stats.cache_path
    if not folder:
        return None
    name = blake2b(digest_size=12)
    for text in (numba.__version__, llvmlite.__version__, sys.version, binding.get_host_cpu_name(), *wanted):
        name.update(repr(text).encode())
    name.update(binding.get_host_cpu_features().flatten().encode())
    for module in sorted(path.name for path in _sources()):
        name.update(module.encode())
    for path in _sources():
        name.update(path.read_bytes())
    return Path(folder) / f"kernels-{name.hexdigest()}.done"


def _sources() -> list[Path]:
    """The files that kernels may stand in."""
    return sorted(Path(__file__).parent.rglob("*.py"))


def _compile_here(wanted: Sequence[tuple[str, ...]], progress: Progress | None) -> None:
    for place, each in enumerate(wanted):
        compile_one(*each)
        if progress is not None:
            progress(place + 1, len(wanted))


def _compile_apart(wanted: Sequence[tuple[str, ...]], progress: Progress | None) -> bool:
    """Compile in processes of their own; False where one of them could not."""
    if not sys.executable:
        return False
    waiting, lock, failed = deque(wanted), threading.Lock(), threading.Event()
    home = os.path.dirname(os.path.abspath(__file__))
    where = json.dumps([home, [each for each in sys.path if os.path.isabs(each)]])

    def ask(ask_of: IO[str], answers: IO[str]) -> None:
        while not failed.is_set():
            with lock:
                if not waiting:
                    break
                each = waiting.popleft()
            try:
                ask_of.write(json.dumps(each) + "\n")
                ask_of.flush()
                answered = answers.readline()
            except OSError:
                answered = ""
            if not answered:
                failed.set()
                break
            with lock:
                done[0] += 1
                if progress is not None:
                    progress(done[0], len(wanted))

    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    if "NUMBA_CACHE_DIR" in environment:
        environment["NUMBA_CACHE_DIR"] = os.path.abspath(environment["NUMBA_CACHE_DIR"])
    done, workers, threads = [0], list[subprocess.Popen[str]](), list[threading.Thread]()
    try:
        for _ in range(min(os.cpu_count() or 1, MOST_PROCESSES)):
            process = subprocess.Popen(
                [sys.executable, "-I", "-c", _WORKER, where],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env=environment,
                cwd=home,
            )
            workers.append(process)
            assert process.stdin is not None
            assert process.stdout is not None
            threads.append(threading.Thread(target=ask, args=(process.stdin, process.stdout)))
            threads[-1].start()
        for thread in threads:
            thread.join()
    except OSError:
        failed.set()
    finally:
        for process in workers:
            process.kill() if failed.is_set() else process.communicate()
            process.wait()
    return not failed.is_set()


if __name__ == "__main__":
    warm(lambda done, wanted: print(f"compiled {done} of {wanted}", flush=True))
