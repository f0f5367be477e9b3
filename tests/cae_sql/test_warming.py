"""Kernels are compiled once, before they are needed, and modules with kernels need no compiler."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import numpy as np
import psutil
import pytest

import cae_sql.compiled as compiled_module
from cae_sql import warming
from cae_sql.compiled import Compiled
from cae_sql.inference import allowance
from cae_sql.inference.tables.kernel_moves import NO_MOVES


def python(code: str, cache: Path | None = None, cwd: Path | None = None) -> str:
    environment = dict(os.environ) if cache is None else {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        capture_output=True,
        text=True,
        env=environment,
        cwd=cwd,
        check=True,
    )
    return done.stdout.strip()


def test_what_is_listed_is_a_kernel_with_so_many_arguments() -> None:
    found = warming.listed()
    assert len(found) > 20
    for module, name, *signatures in found:
        kernel = getattr(import_module(module), name)
        assert isinstance(kernel, Compiled)
        for signature in signatures:
            types = warming.types_of(module, signature)
            assert len(types) == kernel.py_func.__code__.co_argcount, (module, name)


def test_a_named_tuple_in_a_signature_is_the_type_that_a_call_has() -> None:
    text = "int64, Moves(int32[::1], int64[::1], int32[::1], int32[::1]), int8[:,::1]"
    found = warming.types_of("cae_sql.inference.tables.kernel_moves", text)
    numba = compiled_module.numba_without_file()
    assert [numba.typeof(each) for each in (1, NO_MOVES, np.zeros((1, 1), np.int8))] == list(found)


def test_small_tables_need_fewer_kernels_than_large_ones() -> None:
    small, large, every = (sum(map(len, warming.listed(n))) for n in (150, 1_000_000, None))
    assert small < large <= every


def test_a_module_with_kernels_is_imported_without_the_compiler() -> None:
    code = (
        "import sys; import cae_sql.inference.system; print('numba' in sys.modules, 'highspy' in sys.modules)"
    )
    assert python(code) == "False False"


@pytest.mark.slow
def test_kernels_are_compiled_once_and_nothing_is_written_to_the_working_directory(tmp_path: Path) -> None:
    code = (
        "from cae_sql import warming\n"
        "one = ('cae_sql.inference.intervals.interior', 'invert_factor', 'float64[:,::1], float64[:,::1]')\n"
        "warming.listed = lambda records=None: [one]\n"
        "apart = warming._Apart\n"
        "warming._Apart = lambda *a: (print('apart'), apart(*a))[1]\n"
        "warming.warm(lambda done, wanted: print(done, wanted))\n"
        "import numpy as np\n"
        "from cae_sql.inference.intervals.interior import invert_factor\n"
        "invert_factor(np.eye(2), np.eye(2))\n"
        "print(sum(invert_factor.dispatcher.stats.cache_misses.values()))\n"
    )
    cwd, cache = tmp_path / "cwd", tmp_path / "cache"
    cwd.mkdir()
    assert python(code, cache, cwd).split("\n") == ["apart", "1 1", "0"]
    assert python(code, cache, cwd).split("\n") == ["0"]
    assert not list(cwd.iterdir())


@pytest.mark.slow
def test_no_module_in_the_working_directory_runs_in_a_compiler(tmp_path: Path) -> None:
    code = (
        "import pathlib\n"
        "from cae_sql import warming\n"
        "one = ('cae_sql.inference.intervals.interior', 'invert_factor', 'float64[:,::1], float64[:,::1]')\n"
        "warming.listed = lambda records=None: [one]\n"
        "warming._mark([one])\n"  # what this process imports it has by now
        "for name in ('json', 'csv', 'contextlib', 'subprocess', 'numpy', 'numba', 'cae_sql', 'ctypes'):\n"
        "    hostile = \"open('ran', 'a').write(__name__); raise SystemExit(9)\"\n"
        "    pathlib.Path(f'{name}.py').write_text(hostile)\n"
        "warming.warm(lambda done, wanted: print(done, wanted))\n"
        "print(pathlib.Path('ran').exists())\n"
    )
    cwd = tmp_path / "cwd"
    cwd.mkdir()
    assert python(code, tmp_path / "cache", cwd).split("\n") == ["1 1", "False"]


TWO = [
    ("cae_sql.inference.intervals.interior", "invert_factor", "float64[:,::1], float64[:,::1]"),
    ("cae_sql.inference.search.runs", "walk", ", ".join(["int64[::1]"] * 7 + ["int64"] * 2)),
]
LISTED = (
    "from cae_sql import warming\n"
    f"two = {TWO!r}\n"
    "warming.listed = lambda records=None: two\n"
    "warming.later = lambda records=None: frozenset({two[1][:2]})\n"
)


def test_first_decisions_call_fewer_kernels_than_there_are() -> None:
    names = {each[:2] for each in warming.listed()}
    assert warming.later() < names


@pytest.mark.slow
def test_what_first_decisions_need_is_waited_for_and_the_rest_is_compiled_beside_the_work(
    tmp_path: Path,
) -> None:
    code = LISTED + (
        "warming.warm(lambda done, wanted: print(done, wanted), whole=False)\n"
        "from cae_sql.compiled import coming\n"
        "assert coming[two[0][:2]].is_set()\n"
        "from cae_sql.inference.intervals.interior import invert_factor\n"
        "from cae_sql.inference.search.runs import walk\n"
        "import numpy as np\n"
        "invert_factor(np.eye(2), np.eye(2))\n"
        "walk(*np.zeros((7, 1), np.int64), 0, 0)\n"
        "assert coming[two[1][:2]].is_set()\n"
        "print([sum(each.dispatcher.stats.cache_misses.values()) for each in (invert_factor, walk)])\n"
        "[beside] = warming._beside\n"
        "warming.warm(whole=True)\n"
        "print(beside._marks)\n"
    )
    assert python(code, tmp_path / "cache").split("\n") == ["1 1", "[0, 0]", "{}"]
    assert len(list((tmp_path / "cache").rglob("*.done"))) == 2


@pytest.mark.slow
def test_who_ends_early_leaves_the_rest_to_the_next_and_no_process_behind(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    code = LISTED + (
        "serve = warming._Apart._compiled\n"
        "def compiled(self, each):\n"
        "    if each == two[1]:\n"
        "        import threading\n"
        "        threading.Event().wait()\n"
        "    serve(self, each)\n"
        "warming._Apart._compiled = compiled\n"
        "warming.warm(lambda done, wanted: print(done, wanted), whole=False)\n"
        "[beside] = warming._beside\n"
        "print(*(each.pid for each in beside._processes))\n"
    )
    told, processes = python(code, cache).split("\n")
    assert told == "1 1"
    for process in processes.split():
        while _runs(int(process)):  # until it is done with the kernel that it is at
            time.sleep(0.05)
    assert len(list(cache.rglob("*.done"))) == 1
    again = LISTED + (
        "warming.warm(lambda done, wanted: print(done, wanted), whole=False)\nwarming.warm(whole=True)"
    )
    assert python(again, cache) == ""
    assert len(list(cache.rglob("*.done"))) == 2


def _runs(process: int) -> bool:
    try:
        return bool(psutil.Process(process).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def test_waiting_for_a_kernel_is_no_decisions_time() -> None:
    given = allowance.Allowance()
    given.end_in(100)
    before = given.seconds
    compiled_module.waited[0] += 1_000
    try:
        assert given.seconds > before
        assert not given.late
    finally:
        compiled_module.waited[0] -= 1_000


def test_where_no_process_can_be_started_kernels_are_compiled_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told = list[tuple[int, int]]()
    monkeypatch.setattr(sys, "executable", "")
    monkeypatch.setattr(warming, "_done", set())
    monkeypatch.setattr(warming, "_mark", lambda wanted: tmp_path / "mark")
    one = [("cae_sql.inference.intervals.interior", "invert_factor", "float64[:,::1], float64[:,::1]")]
    monkeypatch.setattr(warming, "listed", lambda records=None: one)
    warming.warm(lambda done, wanted: told.append((done, wanted)))
    assert told == [(1, 1)]
    assert (tmp_path / "mark").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("cae_sql.inference.search.unimodular", "_settle"),
        ("cae_sql.inference.tables.kernel_moves", "pay"),
        ("cae_sql.measure.lanes", "areas"),
    ],
)
def test_no_kernel_within_a_kernel_is_compiled_twice(module: str, name: str, tmp_path: Path) -> None:
    code = (
        "from collections import Counter\n"
        "from cae_sql import warming\n"
        "from cae_sql.compiled import numba_without_file\n"
        "numba_without_file()\n"
        "from numba.core import event\n"
        "found = Counter()\n"
        "class Listener(event.Listener):\n"
        "    def on_start(self, event): pass\n"
        "    def on_end(self, event):\n"
        "        function = event.data['dispatcher'].py_func\n"
        "        found[function.__module__, function.__qualname__] += function.__module__[:7] == 'cae_sql'\n"
        "event.register('numba:compile', Listener())\n"
        f"[one] = [each for each in warming.listed() if each[:2] == {(module, name)!r}]\n"
        "warming.compile_one(*one)\n"
        "assert found[one[:2]] == 1\n"
        "print([each for each, times in found.items() if times > 1])\n"
    )
    assert python(code, tmp_path / "cache") == "[]"


def test_kernels_that_a_first_table_of_sums_calls_are_listed() -> None:
    names = {each[:2] for each in warming.listed(200)}
    for module, name in (
        ("cae_sql.inference.search.unimodular", "_settle"),
        ("cae_sql.inference.facts.rank", "_eliminate"),
        ("cae_sql.inference.tables.kernel_moves", "pay"),
    ):
        assert (module, name) in names


SMALL_CALLS = (
    "import threading\n"
    "import numpy as np\n"
    "import cae_sql.compiled as compiled\n"
    "from cae_sql.inference.intervals.interior import invert_factor\n"
    "from cae_sql.inference.facts.rank import _eliminate\n"
    "def pivots(entries):\n"  # of one sum over two columns, the first of which is there twice
    "    found, starts, rows = np.full(1, 2), np.array([0, 2, 3]), np.zeros(3, dtype=np.int64)\n"
    "    _eliminate(starts, rows, entries, np.arange(2), 3, np.eye(1, dtype=np.int64), found)\n"
    "    return found.tolist()\n"
    "coming = compiled.coming[invert_factor.__module__, 'invert_factor'] = threading.Event()\n"
    "compiled.coming[_eliminate.__module__, '_eliminate'] = coming\n"
)


def test_while_an_exact_kernel_is_compiled_python_runs_small_calls() -> None:
    code = SMALL_CALLS + (
        "root = np.zeros((2, 2))\n"
        "invert_factor(4 * np.eye(2), root)\n"
        "found = pivots(np.array([1, 2, 1]))\n"
        "import sys\n"
        "print(root.diagonal(), found, 'numba' in sys.modules)\n"
    )
    assert python(code) == "[0.5 0.5] [1] False"


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        "invert_factor(-np.eye(compiled.FEW), np.eye(2))",  # too large
        "invert_factor._taken = compiled.PATIENCE; invert_factor(np.eye(2), np.eye(2))",
    ],
)
def test_other_calls_wait_for_the_compiler_which_takes_theirs_next(case: str) -> None:
    code = SMALL_CALLS + (
        "threading.Timer(1, lambda: (print(*(name for _, name in compiled.hurried)), coming.set())).start()\n"
        f"{case}\n"
        "print(coming.is_set())\n"
    )
    assert python(code).split("\n") == ["invert_factor", "True"]


@pytest.mark.slow
def test_what_python_did_not_end_is_begun_anew() -> None:
    code = SMALL_CALLS + (
        "coming.set()\n"
        "compiled.coming.clear()\n"
        "def call():\n"
        "    many, weights = np.array([2**62, 2**62, 1]), np.eye(1, dtype=np.int64)\n"
        "    found, rows = np.full(1, 2), np.zeros(3, dtype=np.int64)\n"
        "    return np.array([0, 2, 3]), rows, many, np.arange(2), 3, weights, found\n"
        "expected, mine = call(), call()\n"
        "_eliminate(*expected)\n"
        "_eliminate._by_python(mine)\n"
        "print(*(np.array_equal(one, other) for one, other in zip(expected[-2:], mine[-2:])))\n"
    )
    assert python(code) == "True True"


def test_small_tables_wait_for_fewer_kernels_and_only_for_those_that_python_is_not_to_run() -> None:
    waited_for = {each[:2] for each in warming.listed(150)} - warming.later(150)
    assert waited_for < {each[:2] for each in warming.listed(150)} - warming.later()
    assert not any(getattr(import_module(module), name).exact for module, name in waited_for)


@pytest.mark.slow
def test_what_was_begun_before_is_waited_for_and_not_begun_twice(tmp_path: Path) -> None:
    code = LISTED + (
        "apart = warming._Apart\n"
        "warming._Apart = lambda *a: (print('apart'), apart(*a))[1]\n"
        "warming.begin(150)\n"
        "warming.warm(lambda done, wanted: print(done, wanted), 150, whole=False)\n"
        "warming.warm(records=150)\n"
        "warming.warm(records=150)\n"
    )
    assert python(code, tmp_path / "cache").split("\n") == ["apart", "1 1"]
    assert len(list((tmp_path / "cache").rglob("*.done"))) == 2
