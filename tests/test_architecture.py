"""The arrows of docs/architecture.md: who may import whom, one home for each heavy library, no cycle."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("cae_sql", "udfs", "auditor")

FORBIDDEN: Mapping[str, frozenset[str]] = {
    "cae_sql": frozenset(
        {"udfs", "auditor", "sqlglot", "duckdb", "sqlalchemy", "sqlite3", "filelock", "pydantic"}
    ),
    "udfs": frozenset({"auditor", "sqlglot", "sqlalchemy"}),
    "auditor": frozenset(),
}
"""What a package may not import, at top level or inside a function."""

HOMES: Mapping[str, tuple[str, ...]] = {
    "asyncio": ("auditor.proxy.server",),
    "highspy": ("cae_sql.inference.solver",),
    "ibis": ("auditor.data.sources.ibis_table",),
    "jinja2": ("auditor.report",),
    "numba": ("cae_sql.compiled",),
    "polars": ("auditor.data.sources.frames",),
    "psycopg": ("auditor.data.sources.postgres",),
    "pyspark": ("auditor.data.sources.ibis_table",),
    "socket": ("auditor.proxy.server",),
    "sqlalchemy": ("auditor.ledger",),
    "sqlite3": ("auditor.ledger",),
    "ssl": ("auditor.proxy.server",),
    "typer": ("auditor.cli",),
    "vl_convert": ("auditor.report.chart",),
}
"""Libraries that one module or package knows, its submodules included."""


@dataclass(frozen=True)
class Module:
    """One file of the packages."""

    name: str
    tree: ast.Module
    package: bool

    @cached_property
    def imports(self) -> frozenset[str]:
        """Dotted names that it imports, at top level, inside functions, or for type checkers alone.

        A name taken from a module counts as a submodule too.
        """
        return frozenset(self._imports())

    def _imports(self) -> Iterator[str]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = self._absolute(node)
                yield base
                yield from (f"{base}.{alias.name}" for alias in node.names)

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = self.name.split(".")
        parts = parts[: len(parts) - node.level + self.package]
        return ".".join([*parts, *([node.module] if node.module else [])])


def modules(root: Path) -> dict[str, Module]:
    """Every module of the packages under a folder, by dotted name."""
    found = {}
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            is_package = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if is_package else parts)
            found[name] = Module(name, ast.parse(path.read_text(encoding="utf-8")), is_package)
    return found


def forbidden_imports(found: Mapping[str, Module]) -> list[str]:
    """Imports against the arrows."""
    return sorted(
        f"{module.name} imports {wanted}"
        for module in found.values()
        for wanted in module.imports
        if wanted.split(".")[0] in FORBIDDEN[module.name.split(".")[0]]
    )


def strays(found: Mapping[str, Module]) -> list[str]:
    """Imports of a library outside of its home."""
    return sorted(
        f"{module.name} imports {library}"
        for library, homes in HOMES.items()
        for module in found.values()
        if library in {wanted.split(".")[0] for wanted in module.imports}
        and not any(module.name == home or module.name.startswith(f"{home}.") for home in homes)
    )


def cycle(found: Mapping[str, Module]) -> list[str]:
    """Modules that import each other in a circle, or nothing.

    An import that is late, or for type checkers alone, is an arrow like any other: it hides a circle, it does
    not undo it.
    """
    graph = {}
    for module in found.values():
        wanted = {name for name in module.imports if name in found and name != module.name}
        # `from package import submodule` names the package too, which need not know its submodule.
        graph[module.name] = {
            name
            for name in wanted
            if not (found[name].package and any(w.startswith(f"{name}.") for w in wanted))
        }
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        return list(error.args[1])
    return []


def undocumented(found: Mapping[str, Module]) -> list[str]:
    """Modules that do not say what they promise."""
    return sorted(name for name, module in found.items() if not ast.get_docstring(module.tree))


def untyped(root: Path) -> list[str]:
    """Packages that do not tell type checkers that they are typed."""
    return [package for package in PACKAGES if not (root / package / "py.typed").is_file()]


FOUND = modules(ROOT)


def test_the_packages_are_found() -> None:
    assert {"cae_sql.domain", "auditor.policy.policy", "auditor.ledger.book", "udfs"} <= set(FOUND)


@pytest.mark.slow
def test_imports_follow_the_arrows() -> None:
    assert forbidden_imports(FOUND) == []


@pytest.mark.slow
def test_heavy_libraries_have_one_home() -> None:
    assert strays(FOUND) == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert cycle(FOUND) == []


def test_every_module_states_its_promise() -> None:
    assert undocumented(FOUND) == []


def test_every_package_is_typed() -> None:
    assert untyped(ROOT) == []


# These checks can fail


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A tree in which nothing is wrong."""
    for package in PACKAGES:
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text('"""A package."""\n')
        (tmp_path / package / "py.typed").touch()
    (tmp_path / "cae_sql" / "a.py").write_text('"""A."""\nimport numpy\n')
    (tmp_path / "cae_sql" / "b.py").write_text(
        '"""B."""\nfrom cae_sql import a\nfrom cae_sql.a import numpy\n'
    )
    (tmp_path / "auditor" / "c.py").write_text('"""C."""\nimport udfs\nfrom cae_sql.b import a\n')
    return tmp_path


def test_nothing_is_found_where_nothing_is_wrong(toy: Path) -> None:
    found = modules(toy)
    assert (
        forbidden_imports(found) == strays(found) == cycle(found) == undocumented(found) == untyped(toy) == []
    )


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("cae_sql/a.py", "import auditor"),
        ("cae_sql/a.py", "from udfs import register"),
        ("cae_sql/a.py", "def f():\n    import duckdb.typing"),
        ("cae_sql/a.py", "from sqlglot import exp"),
        ("udfs/__init__.py", "from auditor.c import udfs"),
    ],
)
def test_an_import_against_the_arrows_is_found(toy: Path, file: str, line: str) -> None:
    (toy / file).write_text(f'"""Bad."""\n{line}\n')
    assert forbidden_imports(modules(toy))


@pytest.mark.parametrize(
    ("file", "line"),
    [("cae_sql/a.py", "import highspy"), ("auditor/c.py", "def f():\n    from sqlalchemy import select")],
)
def test_a_library_outside_of_its_home_is_found(toy: Path, file: str, line: str) -> None:
    (toy / file).write_text(f'"""Bad."""\n{line}\n')
    assert strays(modules(toy))


def test_a_library_in_its_home_is_fine(toy: Path) -> None:
    (toy / "auditor" / "ledger.py").write_text('"""Ledger."""\nimport sqlalchemy\n')
    assert strays(modules(toy)) == []


@pytest.mark.parametrize("line", ["from cae_sql import b", "import cae_sql.b", "from .b import numpy"])
def test_a_circle_is_found(toy: Path, line: str) -> None:
    (toy / "cae_sql" / "a.py").write_text(f'"""A."""\n{line}\n')
    assert set(cycle(modules(toy))) == {"cae_sql.a", "cae_sql.b"}


def test_a_circle_through_a_package_is_found(toy: Path) -> None:
    (toy / "cae_sql" / "__init__.py").write_text('"""P."""\nfrom cae_sql.a import f\n')
    (toy / "cae_sql" / "a.py").write_text('"""A."""\nfrom cae_sql import g\n')
    assert cycle(modules(toy))


@pytest.mark.parametrize("guard", ["def f():\n    ", "if TYPE_CHECKING:\n    "])
def test_a_circle_through_an_import_that_is_late_or_for_types_is_found(toy: Path, guard: str) -> None:
    (toy / "cae_sql" / "a.py").write_text(f'"""A."""\n{guard}from cae_sql import b\n')
    assert set(cycle(modules(toy))) == {"cae_sql.a", "cae_sql.b"}


def test_a_module_without_promise_and_a_package_without_types_are_found(toy: Path) -> None:
    (toy / "cae_sql" / "a.py").write_text("import numpy\n")
    (toy / "udfs" / "py.typed").unlink()
    assert undocumented(modules(toy)) == ["cae_sql.a"]
    assert untyped(toy) == ["udfs"]
