"""Kernels compiled before they are needed, once for each installation and processor.

Promise: after `warm` no decision waits for the compiler. What is listed in `kernels.csv` is compiled by a
process for each processor and kept in numba's cache, and a mark beside it says so; with the mark there,
`warm` costs some milliseconds. A kernel or a signature that is not listed is compiled at its first use, as
ever. Where nothing can be cached it is compiled in this process, and again by the next one.

Who does not want to wait for all of it waits for what first decisions call; of small tables for less, since
Python runs small calls of exact kernels meanwhile (`cae_sql.compiled`). The rest is compiled beside the work,
by the same processes at a lower priority. A call that comes too early waits for its kernel, which comes next
then; no decision's last resort counts that. When this process ends, they end with the kernel that they are
at, and the next one goes on from there.

Nothing is read from or written to the working directory.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

from cae_sql.compiled import Compiled, coming, hurried, numba_without_file

Progress = Callable[[int, int], None]
"""Called with how many kernels are compiled, and how many there are to be."""

LIST = "kernels.csv"
BESIDE = 10
"""By how much those that compile what nobody waits for stand back."""
SMALL = 500
"""Records of tables whose first calls of exact kernels are as a rule small enough for Python."""
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
"""For how many kernels this process knows them to be compiled."""
_beside: list[_Apart] = []
"""Those that compile beside this process' work."""


def warm(progress: Progress | None = None, records: int | None = None, whole: bool = True) -> None:
    """Compile what decisions call, unless that was done before.

    Args:
        progress: Told after each kernel.
        records: Only what tables of so many records need; None: everything that is listed.
        whole: Wait for all of it. Otherwise for what first decisions call, and the rest is compiled beside
            this process' work.
    """
    _warm(progress, records, whole)


def begin(records: int | None = None) -> None:
    """Begin with what `warm` waits for later, beside what this process does until then.

    Args:
        records: As of `warm`.
    """
    _warm(None, records, whole=False, wait=False)


def _warm(progress: Progress | None, records: int | None, whole: bool, wait: bool = True) -> None:
    try:
        wanted = listed(records)
        first = wanted if whole else [each for each in wanted if each[:2] not in later(records)]
        if len(first) in _done:
            return
        mark, marked = _mark(wanted), _mark(first)
    except OSError:
        return  # with no file to be opened: kernels are compiled, or not, when they are called
    if mark is None or marked is None:
        if not wait:
            return
        # nobody compiles beside the work, so Python runs nothing meanwhile
        _compile_here(wanted if whole else [each for each in wanted if each[:2] not in later()], progress)
    elif not mark.exists():
        missing = first if whole or not marked.exists() else []
        rest = [each for each in wanted if each not in first]
        apart = _begun([*missing, *rest], {marked: first, mark: wanted}, len(missing))
        if not wait:
            return
        if not apart.wait(missing, progress):
            _compile_here(missing, progress)
            _touch(marked)
    _done.add(len(first))


def _begun(
    wanted: Sequence[tuple[str, ...]], marks: Mapping[Path, Sequence[tuple[str, ...]]], first: int
) -> _Apart:
    """Those that compile this already, or else do from now on."""
    while _beside:
        if _beside[-1].compiles(wanted):
            _beside[-1].stand_for(marks)
            return _beside[-1]
        _beside.pop().finish()  # two compilers would do the same work
    _beside.append(_Apart(wanted, marks, first))
    return _beside[-1]


def _touch(mark: Path) -> None:
    with contextlib.suppress(OSError):  # the next process would look again, and find all in the cache
        mark.touch()


@cache
def later(records: int | None = None) -> frozenset[tuple[str, ...]]:
    """Module and name of the kernels that first decisions do not wait for.

    Those that they seldom call, of searches record by record; of small tables, those that Python runs too.

    Args:
        records: Of a table with so many; None: of any.
    """
    small = records is not None and records <= SMALL
    kinds = {"yes", "small"} if small else {"yes"}
    return frozenset((row["module"], row["name"]) for row in _rows() if row["later"] in kinds)


def _rows() -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((files("cae_sql") / LIST).read_text("utf-8"))))


@cache
def listed(records: int | None = None) -> list[tuple[str, ...]]:
    """Module, name and signatures of each kernel in the list, those that are called first in front.

    Args:
        records: Only those that tables of so many records need; None: all.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for row in _rows():
        if records is None or records >= int(row["records"]):
            found.setdefault((row["module"], row["name"]), []).append(row["signature"])
    return [(*name, *signatures) for name, signatures in found.items()]


def compile_one(module: str, name: str, *signatures: str) -> None:
    """Compile a kernel for some signatures, or take it from the cache."""
    kernel = getattr(import_module(module), name)
    assert isinstance(kernel, Compiled)
    for signature in signatures:
        # types, as a call has them: under a text the cache would not find it again
        kernel.dispatcher.compile(types_of(module, signature))


def types_of(module: str, signature: str) -> tuple[Any, ...]:
    """numba's types of a call. Of a named tuple a signature has the name in this module, and its fields."""
    numba, found = numba_without_file(), list[Any]()
    normalized, named_tuple = numba.core.sigutils.normalize_signature, numba.core.types.NamedTuple
    for name, fields, plain in re.findall(r"(\w+)\(([^)]*)\)|(\w+(?:\[[^]]*\])?)", signature):
        types, _ = normalized(f"({fields or plain},)")
        found += [named_tuple(types, getattr(import_module(module), name))] if name else types
    return tuple(found)


def serve() -> None:
    """Compile what stdin names, a line of JSON each, and say so after each."""
    beside = False
    for line in sys.stdin:
        waited_for, *each = json.loads(line)
        if not (waited_for or beside) and hasattr(os, "nice"):
            beside = True
            os.nice(BESIDE)
        compile_one(*each)
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


class _Apart:
    """Processes that compile, each with a thread of this one that tells it what and hears how far it is."""

    def __init__(
        self, wanted: Sequence[tuple[str, ...]], marks: Mapping[Path, Sequence[tuple[str, ...]]], first: int
    ) -> None:
        """Begin.

        Args:
            wanted: What to compile, in this order but for what a call waits for.
            marks: Put in place once all that they stand for is there.
            first: So many of them are waited for.
        """
        self._waiting, self._missing = deque(wanted), set(wanted)
        self._first, self._all = frozenset(wanted[:first]), frozenset(wanted)
        self._marks = dict(marks)
        self._changed = threading.Condition()
        self._failed = not sys.executable
        self._processes: list[subprocess.Popen[bytes]] = []
        coming.update({(each[0], each[1]): threading.Event() for each in wanted})
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        if "NUMBA_CACHE_DIR" in environment:
            environment["NUMBA_CACHE_DIR"] = os.path.abspath(environment["NUMBA_CACHE_DIR"])
        home = os.path.dirname(os.path.abspath(__file__))
        where = json.dumps([home, [each for each in sys.path if os.path.isabs(each)]])
        try:
            for _ in range(0 if self._failed else min(os.cpu_count() or 1, MOST_PROCESSES)):
                process = subprocess.Popen(
                    [sys.executable, "-I", "-c", _WORKER, where],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    bufsize=0,  # without a lock that a thread could hold when Python ends
                    env=environment,
                    cwd=home,
                )
                self._processes.append(process)
                # as a daemon: who ends need not wait for what nobody needs
                threading.Thread(target=self._serve, args=(process,), daemon=True).start()
        except OSError:
            self._fail()
        except BaseException:
            self._fail()
            raise
        if self._failed:
            self._fail()

    def wait(self, wanted: Sequence[tuple[str, ...]], progress: Progress | None) -> bool:
        """Until these are compiled; False where one of them could not be."""
        told, these = 0, set(wanted)
        try:
            while told < len(these):
                with self._changed:
                    while not self._failed and len(these - self._missing) == told:
                        self._changed.wait()
                    done = len(these - self._missing)
                    if self._failed and done < len(these):
                        return False
                while told < done:
                    told += 1
                    if progress is not None:
                        progress(told, len(these))
            return True
        except BaseException:
            self._fail()
            raise

    def compiles(self, wanted: Sequence[tuple[str, ...]]) -> bool:
        """Whether all of these are among what it compiles, or has."""
        return not self._failed and self._all.issuperset(wanted)

    def stand_for(self, marks: Mapping[Path, Sequence[tuple[str, ...]]]) -> None:
        """Put further marks in place once all that they stand for is there."""
        with self._changed:
            self._marks.update(marks)
            self._touch_all()

    def finish(self) -> None:
        """Wait for all of it, or until it has failed."""
        self.wait(list(self._missing), None)

    def _serve(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        while not self._failed:
            with self._changed:
                if not self._waiting:
                    break
                each = next((one for one in self._waiting if one[:2] in hurried), self._waiting[0])
                self._waiting.remove(each)
            line = json.dumps([each in self._first or each[:2] in hurried, *each])
            try:
                process.stdin.write(line.encode() + b"\n")
                answered = process.stdout.read(1)
            except (OSError, ValueError):
                answered = b""
            if not answered:
                self._fail()
                break
            self._compiled(each)
        with contextlib.suppress(OSError):
            process.stdin.close()
        process.wait()
        process.stdout.close()

    def _compiled(self, each: tuple[str, ...]) -> None:
        with self._changed:
            self._missing.discard(each)
            self._touch_all()
            coming[each[0], each[1]].set()
            self._changed.notify_all()

    def _touch_all(self) -> None:
        for mark, stands_for in list(self._marks.items()):
            if not self._missing.intersection(stands_for):
                _touch(mark)
                del self._marks[mark]

    def _fail(self) -> None:
        """End all: what is missing is compiled where it is called."""
        with self._changed:
            self._failed = True
            for each in self._missing:
                coming[each[0], each[1]].set()
            self._changed.notify_all()
        for process in self._processes:
            process.kill()


if __name__ == "__main__":
    warm(lambda done, wanted: print(f"compiled {done} of {wanted}", flush=True))
