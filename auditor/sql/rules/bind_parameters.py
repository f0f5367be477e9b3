"""Parameters become literals, so that everything that runs is written from one tree.

    SELECT SUM(pay) FROM t WHERE age > $1          SELECT SUM(pay) FROM t WHERE age > 30

Promise: no placeholder is left. The types are those that DuckDB's Python client would bind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from auditor.sql.context import Context
from auditor.sql.parameters import literal
from auditor.sql.understood import NotUnderstood


def bind_parameters(tree: exp.Query, context: Context) -> exp.Query:
    """Replace every placeholder by its value.

    Raises:
        NotUnderstood: code "parameters": one is missing, left over, or of a type that is not bound.
    """
    parameters = context.parameters
    given: dict[str, object]
    if isinstance(parameters, Mapping):
        if not all(isinstance(name, str) for name in parameters):
            raise NotUnderstood("parameters", detail="names of parameters must be text")
        given = dict(parameters)
    elif parameters is None or (isinstance(parameters, Sequence) and not isinstance(parameters, str | bytes)):
        given = {str(number): value for number, value in enumerate(parameters or (), 1)}
    else:
        raise NotUnderstood("parameters", detail="parameters must be a list or a mapping")
    used: set[str] = set()
    for holder in list(tree.find_all(exp.Placeholder)):
        name = str(holder.args.get("this") or "")
        if name not in given:
            raise NotUnderstood("parameters", detail=f"parameter {name} has no value")
        used.add(name)
        holder.replace(literal(given[name]))
    if len(used) != len(given):
        raise NotUnderstood("parameters", detail=f"{len(given)} values for {len(used)} parameters")
    return tree
