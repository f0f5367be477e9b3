"""Kernels are compiled once, before they are needed, and modules with kernels need no compiler."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from cae_sql import warming
from cae_sql.compiled import Compiled


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
            count = len(signature.replace("[:,", "[").replace(":,", "").split(","))
            assert count == kernel.py_func.__code__.co_argcount, (module, name)


def test_small_tables_need_fewer_kernels_than_large_ones() -> None:
    assert len(warming.listed(150)) < len(warming.listed(1_000_000)) <= len(warming.listed())


def test_a_module_with_kernels_is_imported_without_the_compiler() -> None:
    code = (
        "import sys; import cae_sql.inference.system; print('numba' in sys.modules, 'highspy' in sys.modules)"
    )
    assert python(code) == "False False"


def test_kernels_are_compiled_once_and_nothing_is_written_to_the_working_directory(tmp_path: Path) -> None:
    code = (
        "from cae_sql import warming\n"
        "one = ('cae_sql.inference.facts.rank', 'join', 'int64[::1], int64[::1]')\n"
        "warming.listed = lambda records=None: [one]\n"
        "apart = warming._compile_apart\n"
        "warming._compile_apart = lambda *a: (print('apart'), apart(*a))[1]\n"
        "warming.warm(lambda done, wanted: print(done, wanted))\n"
        "import numpy as np\n"
        "from cae_sql.inference.facts.rank import join\n"
        "join(np.arange(3), np.arange(2))\n"
        "print(sum(join.dispatcher.stats.cache_misses.values()))\n"
    )
    cwd, cache = tmp_path / "cwd", tmp_path / "cache"
    cwd.mkdir()
    assert python(code, cache, cwd).split("\n") == ["apart", "1 1", "0"]
    assert python(code, cache, cwd).split("\n") == ["0"]
    assert not list(cwd.iterdir())


def test_where_no_process_can_be_started_kernels_are_compiled_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told = list[tuple[int, int]]()
    monkeypatch.setattr(sys, "executable", "")
    monkeypatch.setattr(warming, "_done", set())
    monkeypatch.setattr(warming, "_mark", lambda wanted: tmp_path / "mark")
    one = [("cae_sql.inference.facts.rank", "join", "int64[::1], int64[::1]")]
    monkeypatch.setattr(warming, "listed", lambda records=None: one)
    warming.warm(lambda done, wanted: told.append((done, wanted)))
    assert told == [(1, 1)]
    assert (tmp_path / "mark").exists()
