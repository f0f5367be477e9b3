"""Docstrings and the map name what exists: parameters, modules, files."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.map import PACKAGES, PAGE, ROOT, page_with, sentence, text_of

ENTRY = re.compile(r"^ {4}(\*{0,2}\w[\w ]*):", re.MULTILINE)
DOTTED = re.compile(rf"`+((?:{'|'.join(PACKAGES)})(?:\.\w+)+)")
FILE = re.compile(rf"`+((?:{'|'.join(PACKAGES)})/[\w/]+(?:\.py|/))`")


def trees(root: Path) -> Iterator[tuple[str, ast.Module]]:
    """Every module of the packages under a folder, parsed."""
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            yield str(path.relative_to(root)), ast.parse(path.read_text(encoding="utf-8"))


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """All docstrings of a module, those behind attributes too, with their lines."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            yield node, node.value.value


def not_parameters(root: Path) -> list[str]:
    """Names under `Args:` that are no parameters of their function."""
    found = []
    for file, tree in trees(root):
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            section = re.search(r"^Args:\n((?: {4}.*\n?|\n)+)", ast.get_docstring(node) or "", re.MULTILINE)
            if section is None:
                continue
            taken = node.args
            every = [*taken.posonlyargs, *taken.args, *taken.kwonlyargs, taken.vararg, taken.kwarg]
            names = {each.arg for each in every if each is not None}
            said = {name.lstrip("*") for name in ENTRY.findall(section[1])}
            found += [f"{file}:{node.lineno} {node.name}: {name}" for name in sorted(said - names)]
    return found


def not_there(root: Path) -> list[str]:
    """Modules and files that docstrings name and that do not exist."""
    found = []
    for file, tree in trees(root):
        for node, text in docstrings(tree):
            found += [
                f"{file}:{node.lineno} {name}" for name in DOTTED.findall(text) if not _exists(root, name)
            ]
            found += [
                f"{file}:{node.lineno} {name}" for name in FILE.findall(text) if not (root / name).exists()
            ]
    return found


def _exists(root: Path, name: str) -> bool:
    """Whether a dotted name is a module, or something that a module has."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        path = root.joinpath(*parts[:length])
        module = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if module.is_file():
            rest = parts[length:]
            return not rest or re.search(rf"\b{rest[0]}\b", module.read_text(encoding="utf-8")) is not None
    return False


@pytest.mark.slow
def test_the_map_is_what_the_modules_say_of_themselves() -> None:
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    assert page == page_with(page, text_of(ROOT)), "run `python -m tools.map`"


@pytest.mark.slow
def test_every_module_is_on_the_map() -> None:
    lines = text_of(ROOT).splitlines()
    modules = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    assert len(lines) == len(modules) + 2


@pytest.mark.slow
def test_args_name_parameters() -> None:
    assert not_parameters(ROOT) == []


@pytest.mark.slow
def test_modules_that_docstrings_name_exist() -> None:
    assert not_there(ROOT) == []


# These checks can fail


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A tree with one module for each package."""
    for package in PACKAGES:
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text('"""A package. It has more to say."""\n')
    (tmp_path / "cae_sql" / "a.py").write_text(
        '"""What a is: no more.\n\nSee `cae_sql.b` and `auditor/c.py`.\n"""\n'
    )
    (tmp_path / "cae_sql" / "b.py").write_text(
        '"""B?"""\n\ndef f(one: int, *rest: int) -> None:\n    """F.\n\n    Args:\n        one: One.\n'
        '        *rest: More,\n            and more.\n        two: None.\n    """\n'
    )
    return tmp_path


def test_an_argument_that_is_no_parameter_is_found(toy: Path) -> None:
    assert not_parameters(toy) == ["cae_sql/b.py:3 f: two"]


def test_a_file_that_is_not_there_is_found_and_a_module_that_is_there_is_not(toy: Path) -> None:
    assert not_there(toy) == ["cae_sql/a.py:1 auditor/c.py"]


def test_a_map_has_first_sentences_and_replaces_the_one_before(toy: Path) -> None:
    assert [sentence(toy / "cae_sql" / name) for name in ("__init__.py", "a.py", "b.py")] == [
        "A package",
        "What a is: no more",
        "B?",
    ]
    page = "Before\n<!-- The map: made by `python -m tools.map`. -->\nold\n<!-- End of the map. -->\nAfter\n"
    assert page_with(page, "new") == page.replace("old", "new")
    with pytest.raises(ValueError, match="no lines"):
        page_with("no map", "new")
