"""Functions of ours in the engine: what a dialect has and DuckDB has no function for.

Promise: each is made of functions that are pure, takes time in proportion to its text, and its name begins
with a sign that no statement of a client needs.
"""

from __future__ import annotations

INITCAP = "_initcap"
"""The first letter of each word in upper case, the others in lower case."""
DEFINITIONS = {
    INITCAP: (
        "(x) AS array_to_string(list_transform(regexp_extract_all(x, '[\\pL\\pN]+|[^\\pL\\pN]+'), "
        "lambda part: upper(part[1]) || lower(part[2:])), '')"
    ),
}
STATEMENTS = [f"CREATE MACRO {name}{definition}" for name, definition in DEFINITIONS.items()]
"""For an instance in which statements are described, or run."""
ARITIES = dict.fromkeys(DEFINITIONS, ((1, 1),))
"""Least and greatest number of arguments."""
