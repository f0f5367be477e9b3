"""The map in `docs/architecture.md`: every module with the first sentence of its docstring.

Promises that the map is what the modules say of themselves; `python -m tools.map` writes it, a test holds it.
"""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("cae_sql", "udfs", "auditor")
PAGE = Path("docs/architecture.md")
BEGIN, END = "<!-- The map: made by `python -m tools.map`. -->", "<!-- End of the map. -->"
WIDTH = 28
"""Columns before a sentence, indent included: the names of most modules fit."""


def sentence(path: Path) -> str:
    """The first sentence of a module's docstring, on one line; empty where it has none."""
    text = " ".join(
        (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n\n")[0].split()
    )
    for place, letter in enumerate(text):
        ends = letter in ".?!" and (place + 1 == len(text) or text[place + 1] == " ")
        if ends and not text[:place].endswith(("i.e", "e.g", "cf")):
            return text[: place + (letter != ".")]
    return text.rstrip(":.")


def text_of(root: Path) -> str:
    """The map of the packages under a folder: folders, then their modules, each with its sentence."""
    lines = list[str]()
    for package in PACKAGES:
        _add(root / package, 0, lines)
    return "\n".join(["```text", *lines, "```"])


def _add(folder: Path, depth: int, lines: list[str]) -> None:
    """One folder and what is below it."""
    lines.append(_line(f"{folder.name}/", depth, sentence(folder / "__init__.py")))
    files = sorted(path for path in folder.glob("*.py") if path.name != "__init__.py")
    lines.extend(_line(path.name, depth + 1, sentence(path)) for path in files)
    for each in sorted(path for path in folder.iterdir() if (path / "__init__.py").is_file()):
        _add(each, depth + 1, lines)


def _line(name: str, depth: int, said: str) -> str:
    return f"{'  ' * depth + name:<{WIDTH}}  {said}".rstrip()


def page_with(page: str, found: str) -> str:
    """A page with its map replaced.

    Raises:
        ValueError: the page has no place for it.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"the page has no lines {BEGIN!r} and {END!r}")
    return f"{before}{BEGIN}\n{found}\n{END}{after}"


if __name__ == "__main__":
    path = ROOT / PAGE
    path.write_text(page_with(path.read_text(encoding="utf-8"), text_of(ROOT)), encoding="utf-8")
