"""What is wrong with a policy, said once: key, value, and what would do.

Promise: from pydantic's list of findings comes one sentence. What would do is read from the docstring of the
key itself, so the text cannot drift from the model. A misspelt key suggests the near one, and comes before
the missing one that it causes.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import json
import re
import textwrap
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel

from auditor.errors import PolicyError

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

LONGEST = 100
"""Characters of a value that a message quotes."""
_NO_LEAKS = (
    'is gone; leave it out. Where an answer would tell too much, an end of where it lies is told ("at most", '
    '"at least"), which is an answer like any other: no refusal closes anything'
)
GONE = {"decision.leaks": _NO_LEAKS, "decision.after_leak": _NO_LEAKS}
"""Keys of earlier versions, with why they are gone."""


def prepared(document: dict[str, Any]) -> dict[str, Any]:
    """The document, `[protect]` taken for one `[[protect]]`.

    Raises:
        PolicyError: `protect` is no section.
    """
    protect = document.get("protect")
    if isinstance(protect, dict):
        document = {**document, "protect": [protect]}
    elif protect is not None and not (
        isinstance(protect, list) and protect and all(isinstance(each, dict) for each in protect)
    ):
        text = "must be a section: [protect], or [[protect]] once for each protected column"
        raise PolicyError(f"protect = {_shown(protect)}: {text}")
    return document


def explain(error: ValidationError, model: type[BaseModel], protects: int = 1) -> str:
    """The finding to mend first, as one sentence; `protects`: how many [[protect]] there are."""
    findings = error.errors(include_url=False)
    first = min(findings, key=lambda finding: finding["type"] != "extra_forbidden")
    text = _sentence(first, model)
    if protects > 1 and first["loc"][:1] == ("protect",) and len(first["loc"]) > 1:
        return f"[[protect]] number {int(first['loc'][1]) + 1}: {text}"
    return text


def _sentence(first: ErrorDetails, model: type[BaseModel]) -> str:
    kind, path = first["type"], [part for part in first["loc"] if isinstance(part, str)]
    if kind == "extra_forbidden":
        return _unknown(path, first["input"], model)
    wanted, names = _field(path, model)
    key = ".".join(names)
    if kind == "missing":
        return f"{key} is missing: give {wanted}"
    if any(isinstance(part, str) and part.startswith("literal[") for part in first["loc"]):
        return f'{key} = {_shown(first["input"])}: must be "all" or a list of names in quotes; give {wanted}'
    text = _reason(first)
    if kind == "value_error" and not text.startswith("must be"):
        # our own checks across keys name key and value themselves, but not whose limit it is
        return f"protect.{text}" if path[:2] == ["protect", "limit"] else text
    return f"{key} = {_shown(first['input'])}: {text}; give {wanted}"


def _reason(finding: ErrorDetails) -> str:
    context = finding.get("ctx", {})
    texts = {
        "greater_than": "must be greater than {gt}",
        "greater_than_equal": "must be at least {ge}",
        "less_than": "must be less than {lt}",
        "less_than_equal": "must be at most {le}",
        "literal_error": "must be {expected}",
        "string_type": "must be text in quotes",
        "string_too_short": "must not be empty",
        "tuple_type": "must be a list of names",
        "model_type": "must be a section",
        "finite_number": "must be a finite number",
    }
    if finding["type"] in texts:
        return texts[finding["type"]].format(**context)
    return finding["msg"].removeprefix("Value error, ")


def _unknown(path: Sequence[str], value: object, model: type[BaseModel]) -> str:
    if ".".join(path) in GONE:
        return f"{'.'.join(path)} = {_shown(value)}: {GONE['.'.join(path)]}"
    *sections, key = path
    known = _names(_section(sections, model))
    shown = f"{'.'.join(path)} = {_shown(value)}" if not isinstance(value, dict) else f"[{'.'.join(path)}]"
    near = difflib.get_close_matches(key.casefold(), known, n=1, cutoff=0.6)
    if near:
        return f"{shown}: no such key; did you mean {'.'.join([*sections, near[0]])}?"
    home = [name for name in _names(model) if key in _names(_section([name], model))] if not sections else []
    if home:
        return f"{shown}: no such key here; it belongs in the section [{home[0]}]"
    top = model.model_fields.get(key)
    if sections and top is not None and _model_in(top.annotation) is None:
        return f"{shown}: no such key here; it belongs at the top, above the first section"
    where = f"[{'.'.join(sections)}]" if sections else "a policy"
    return f"{shown}: no such key; {where} has {', '.join(known)}"


def _names(model: type[BaseModel] | None) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()] if model else []


def _section(path: Sequence[str], model: type[BaseModel]) -> type[BaseModel] | None:
    """The model of a section, by its name in TOML."""
    current: type[BaseModel] | None = model
    for part in path:
        fields = {(f.alias or n): f for n, f in current.model_fields.items()} if current else {}
        field = fields.get(part)
        current = _model_in(field.annotation) if field else None
    return current


def _model_in(annotation: object) -> type[BaseModel] | None:
    """The model that a field holds: one, several of it, or perhaps one."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = (_model_in(each) for each in get_args(annotation))
    return next((each for each in found if each is not None), None)


def _field(path: Sequence[str], model: type[BaseModel]) -> tuple[str, list[str]]:
    """What would do for the key at a path, and the path without pydantic's own labels (union members)."""
    current: type[BaseModel] | None = model
    wanted, seen = "", list[str]()
    for part in path:
        fields = {(f.alias or n): f for n, f in current.model_fields.items()} if current else {}
        if part not in fields:
            break
        wanted, seen = _docstring(current, part), [*seen, part]
        current = _section([part], current) if current else None
    return wanted, seen


def _docstring(model: type[BaseModel] | None, key: str) -> str:
    """What stands under a key in its section's source: read for a message, not at each start."""
    if model is None:
        return ""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    assert isinstance(tree, ast.ClassDef)
    names = {(field.alias or name): name for name, field in model.model_fields.items()}
    for place, text in pairwise(tree.body):
        if (
            isinstance(place, ast.AnnAssign)
            and isinstance(place.target, ast.Name)
            and place.target.id == names[key]
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
        ):
            return inspect.cleandoc(str(text.value.value))
    return ""


def _shown(value: object) -> str:
    """A value as TOML has it, long ones cut short."""
    if isinstance(value, Decimal | Fraction):
        return str(value)
    # of a URL nothing but its kind: there may be a password in it
    text = re.sub(r"://[^\"]*", "://…", json.dumps(value, ensure_ascii=False, default=str))
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
