"""How the tests are started, and the examples of README.md and docs/ among them.

Two workers share the tests, and the kernels are compiled before they begin. Who names a file or two gets no
workers: what it prints, and a debugger, are then seen at once.

Examples are Python with its output, policies, and command lines. Each document runs from top to bottom in an
empty folder. A ```toml fence with a [protect] section becomes `policy.toml` there; in a ```console fence each
`$ cae-sql` line is run, and the lines that follow it, if there are any, are what it must print.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import shlex
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser

# Two workers of tests, each with the threads of linear algebra, wait for each other most of the time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

WORKERS = 2
"""More would find no more files to share out that take long, and each of them loads everything anew."""


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Two workers, but none where every argument is one file."""
    files = [Path(argument.partition("::")[0]) for argument in config.args]
    return 0 if len(files) <= 2 and all(file.is_file() for file in files) else WORKERS


@pytest.hookimpl(tryfirst=True)  # before those that are slow are left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a long list of cases everybody runs some, evenly spread over it; `.ci/run` runs all of them."""
    lists: dict[tuple[object, str], list[pytest.Item]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("slow") is None:
            lists.setdefault((item.path, item.originalname), []).append(item)
    for cases in lists.values():
        some = {int(place * len(cases) / MOST_CASES) for place in range(MOST_CASES)}
        for place, item in enumerate(cases):
            if len(cases) > MOST_CASES and place not in some:
                item.add_marker(pytest.mark.slow)


@pytest.hookimpl(tryfirst=True)  # before the workers are started
def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile the kernels once: two workers would compile the same at the same time."""
    if session.config.option.tx and not session.config.option.collectonly:
        from cae_sql.warming import warm

        warm()


MOST_CASES = 1
"""Of a parametrized test that everybody runs; a few have hundreds of them."""

FINE = {0, 3, 4}
"""Statuses that an example may show: answered, refused, unsupported."""


def write_policy(example: Example) -> None:
    """Put a policy where the examples after it look for one."""
    if "[protect]" in example.parsed:
        Path("policy.toml").write_text(example.parsed, encoding="utf-8")


def run_commands(example: Example) -> str | None:
    """Run each `$ cae-sql` line; compare what it prints where the example shows it."""
    from auditor.cli import main

    for shown in ("\n" + example.parsed).split("\n$ ")[1:]:
        command, _, expected = shown.partition("\n")
        words = shlex.split(command)
        if words[0] != "cae-sql":
            continue
        output = io.StringIO()
        status: object = 0
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            try:
                main(words[1:])
            except SystemExit as left:
                status = left.code or 0
        printed = [line.rstrip() for line in output.getvalue().strip().splitlines()]
        if status not in FINE:
            return f"{command}\nleft with {status}:\n" + "\n".join(printed)
        if expected.strip() and [line.rstrip() for line in expected.strip().splitlines()] != printed:
            return f"{command}\nprinted:\n" + "\n".join(printed)
    return None


def enter(namespace: dict[str, Any]) -> None:
    """An empty folder for each document."""
    namespace["_home"], namespace["_folder"] = Path.cwd(), tempfile.mkdtemp()
    os.chdir(namespace["_folder"])


def leave(namespace: dict[str, Any]) -> None:
    """Back, and nothing left behind: a connection that lives on is complained about at exit."""
    os.chdir(namespace["_home"])
    shutil.rmtree(namespace["_folder"], ignore_errors=True)
    namespace.clear()


pytest_collect_file = Sybil(
    parsers=[
        PythonCodeBlockParser(doctest_optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE),
        CodeBlockParser(language="toml", evaluator=write_policy),
        CodeBlockParser(language="console", evaluator=run_commands),
    ],
    patterns=["*.md"],
    excludes=["CHANGELOG.md"],
    setup=enter,
    teardown=leave,
).pytest()
