"""The inference engine stays small: lines by room, files, and how long a function or its arguments are.

A room that has to grow says why beside its number.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ENGINE = Path(__file__).resolve().parents[1] / "cae_sql" / "inference"

LINES: Mapping[str, int] = {
    "core": 1_275,  # a system beside another, in which a statement is tried
    # units: which parts they are in, what all of their records cost
    "facts": 1_966,
    # payments lose what a unit carries, and keep what its other records need
    "tables": 3_151,
    # later tables are asked about what earlier ones do not show: ACS tells 183 groups in place of 172
    "certify": 2_394,  # shares of rooms for the parts of a unit
    "search": 940,
    # totals of units, and what another unit adds: 590 lines for sums of several records
    "posterior": 4_979,
    # floats are asked before proofs, and no program for what the true table shows: audits take half as long
    "intervals": 1_477,
    # totals of units: which there are, what is left of them, since when, and the few answers that prove it
    "lookback": 1_210,
}
"""At most so many lines a room, comments and docstrings included; core: the files beside the rooms. Together
13,000 are aimed at: whatever shrinks, its number shrinks with it."""
FILES = 86
"""In all of them; 70 are aimed at."""
LONGEST = 50
"""Lines of a function that is not compiled, from its name on."""
MOST_ARGUMENTS, OF_THE_FACADE = 8, 9
"""Of a function that is not compiled; kernels take named tuples of arrays where they would need more. The
façade is made by keywords, and nearly always by three values alone."""


def room_of(path: Path) -> str:
    """The folder of a file, or the core."""
    parts = path.relative_to(ENGINE).parts
    return parts[0] if len(parts) > 1 else "core"


def sources() -> list[Path]:
    """Every file of the engine."""
    return sorted(ENGINE.rglob("*.py"))


def functions(path: Path) -> Iterator[ast.FunctionDef]:
    """Those of a file that numba does not compile."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and "compiled" not in map(_name, node.decorator_list):
            yield node


def _name(decorator: ast.expr) -> str:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return called.id if isinstance(called, ast.Name) else ""


def arguments(function: ast.FunctionDef) -> int:
    """How many a function takes, but for the instance or the class."""
    given = function.args
    names = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


@pytest.mark.parametrize("room", LINES)
def test_a_room_keeps_its_budget_of_lines(room: str) -> None:
    found = {
        path.name: len(path.read_text(encoding="utf-8").splitlines())
        for path in sources()
        if room_of(path) == room
    }
    assert found, f"no file of {room}"
    assert sum(found.values()) <= LINES[room], f"{room} has {sum(found.values())} lines: {found}"


def test_every_file_is_in_a_room_with_a_budget() -> None:
    assert {room_of(path) for path in sources()} == set(LINES)
    assert len([path for path in sources() if path.name != "__init__.py"]) <= FILES


def test_no_function_is_longer_than_a_page_or_takes_more_than_it_can_name() -> None:
    found = [
        f"{path.relative_to(ENGINE)}: {each.name}, {lines} lines, {arguments(each)} arguments"
        for path in sources()
        for each in functions(path)
        if (lines := (each.end_lineno or each.lineno) - each.lineno + 1) > LONGEST
        or arguments(each) > (OF_THE_FACADE if path.name == "system.py" else MOST_ARGUMENTS)
    ]
    assert not found, "\n".join(found)


def test_the_table_of_what_lines_serve_names_every_file_once_with_its_lines() -> None:
    text = (ENGINE.parents[1] / "docs" / "inference.md").read_text(encoding="utf-8")
    table, named = text.split("## What the lines serve")[1], list[Path]()
    for row in re.findall(r"^\| [^|]+ \| ([^|]+) \| ([\d,]+) \|$", table, flags=re.MULTILINE):
        files, folder = list[Path](), ENGINE
        for room, name in re.findall(r"`(\w+)/`|`(\w+)`", row[0]):
            folder = ENGINE / room if room else folder
            files += [folder / f"{name}.py"] if name else []
        lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
        assert lines == pytest.approx(int(row[1].replace(",", "")), rel=0.03, abs=5), row
        named += files
    assert sorted(named) == [path for path in sources() if path.name != "__init__.py"]
