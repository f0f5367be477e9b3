"""The smallest statement that still shows what was found.

First on sqlglot's tree: queries and expressions are replaced by parts of themselves, clauses and list
elements are left out; then on the words, with delta debugging. What fails is checked after every step.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from tests.fuzz.checks import Finding, check
from tests.fuzz.grammar import Statement
from tests.fuzz.words import joined, solid

Fails = Callable[[str], bool]

SECONDS = 20.0
"""Time for one statement."""


def minimised(statement: Statement, finding: Finding, seconds: float = SECONDS) -> Statement:
    """The smallest statement found with the same finding."""

    def fails(text: str) -> bool:
        shorter = replace(statement, text=text, parameters=_fitting(statement, text))
        found = check(shorter, gated=finding.what.startswith("values")).findings
        return any((each.kind, each.what) == (finding.kind, finding.what) for each in found)

    deadline = time.monotonic() + seconds
    text = by_tree(statement.text, fails, deadline)
    text = by_words(text, fails, deadline)
    text = by_tree(text, fails, deadline)
    return replace(statement, text=text, parameters=_fitting(statement, text))


def _fitting(statement: Statement, text: str) -> list[object] | dict[str, object] | None:
    """The parameters that a shorter text still has."""
    given = statement.parameters
    if isinstance(given, dict):
        return {name: value for name, value in given.items() if f"${name}" in solid(text)} or None
    if given and "?" in statement.text:
        return given[: solid(text).count("?")] or None
    return given


def by_tree(text: str, fails: Fails, deadline: float) -> str:
    """Shorten on the tree as long as something can go."""
    shorter: str | None = text
    while shorter is not None:
        text, shorter = shorter, None
        for candidate in _smaller(text):
            if time.monotonic() > deadline:
                return text
            if fails(candidate):
                shorter = candidate
                break
    return text


def _smaller(text: str) -> Iterator[str]:
    try:
        tree = parse_one(text, dialect="duckdb")
    except (SqlglotError, RecursionError, ValueError):
        return
    seen = {text}
    for number, _ in enumerate(tree.walk()):
        for change in _CHANGES:
            copy = tree.copy()
            node = next(each for i, each in enumerate(copy.walk()) if i == number)
            for changed in change(copy, node):
                try:
                    made = changed.sql(dialect="duckdb", comments=False)
                except (SqlglotError, ValueError, AttributeError, TypeError, KeyError):
                    continue
                if len(made) < len(text) and made not in seen:
                    seen.add(made)
                    yield made


def _parts(tree: exp.Expr, node: exp.Expr) -> Iterator[exp.Expr]:
    """The node replaced by one of its parts, or by a constant."""
    wanted = exp.Query if isinstance(node, exp.Query) else exp.Condition
    if not isinstance(node, exp.Query | exp.Condition):
        return
    inner = [each for each in node.find_all(wanted, bfs=True) if each is not node][:6]
    for part in inner:
        if isinstance(node, exp.Condition) and isinstance(part, exp.Query):
            continue
        copy = part.copy()
        if node is tree or node.parent is None:
            yield copy
        else:
            original = node.copy()
            node.replace(copy)
            yield tree
            copy.replace(original)
            node = original
    if node.parent is not None and not isinstance(
        node, exp.Literal | exp.Column | exp.Query | exp.Star | exp.Null
    ):
        for constant in ("TRUE", "1"):
            other = parse_one(constant)
            original = node.copy()
            node.replace(other)
            yield tree
            other.replace(original)
            node = original


def _without_clause(tree: exp.Expr, node: exp.Expr) -> Iterator[exp.Expr]:
    for name, value in list(node.args.items()):
        if name == "this" or name == "expressions" or not value:
            continue
        node.set(name, None)
        yield tree
        node.set(name, value)


def _without_element(tree: exp.Expr, node: exp.Expr) -> Iterator[exp.Expr]:
    for name, value in list(node.args.items()):
        if isinstance(value, list) and len(value) > (0 if name == "joins" else 1):
            for i in range(len(value)):
                node.set(name, value[:i] + value[i + 1 :])
                yield tree
            node.set(name, value)


_CHANGES = (_without_clause, _without_element, _parts)


def by_words(text: str, fails: Fails, deadline: float) -> str:
    """Shorten by leaving out runs of words."""
    listed = solid(text)
    if not fails(joined(listed)):
        return text
    size = max(1, len(listed) // 2)
    while size:
        start, smaller = 0, False
        while start < len(listed):
            if time.monotonic() > deadline:
                return joined(listed)
            rest = listed[:start] + listed[start + size :]
            if rest and fails(joined(rest)):
                listed, smaller = rest, True
            else:
                start += size
        if not smaller:
            size //= 2
    return joined(listed)
