"""Names, types and NULL handling: the functions of `functions.py`, and the macros, on a DuckDB connection.

A Python function belongs to the database *instance* that the connection is of: whoever else is connected to
it in this process can call it. A macro is temporary and belongs to one connection; so each connection or
cursor that wants the aggregates registers. Nothing is written to the database.
"""

from __future__ import annotations

import re
from importlib import resources
from typing import TYPE_CHECKING

import duckdb
from duckdb.func import FunctionNullHandling, PythonUDFType

from udfs import functions

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

RETURNS = {
    "cae_entropy": "DOUBLE",
    "cae_area": "DOUBLE",
    "cae_area_bounds": "STRUCT(lower DOUBLE, upper DOUBLE)",
    "cae_curve": "STRUCT(epsilon DOUBLE, entropy DOUBLE)[]",
    "cae_risk": "DOUBLE",
    "cae_candidates": "STRUCT(values DOUBLE[], probabilities DOUBLE[])",
    "shannon_entropy": "DOUBLE",
    "privacy_loss": "DOUBLE",
    "attribute_disclosure_risk": "DOUBLE[]",
}
"""Scalar functions and the types of their results."""


def register(connection: DuckDBPyConnection) -> None:
    """Make the measure callable in SQL, on this connection; doing it twice is the same as once.

    Args:
        connection: A connection or a cursor of one; one opened for reading will do.
    """
    there = _registered(connection)
    for name in RETURNS:
        if name in there:
            continue
        try:
            _create(connection, name)
        except duckdb.NotImplementedException:
            if name not in _registered(connection):
                # taken away by a rollback, which this connection does not know, but its cursors do
                _create(connection.cursor(), name)
        except duckdb.CatalogException:
            if name not in _registered(connection):  # else another thread was quicker
                raise
    for statement in _macros():
        connection.execute(statement)


def unregister(connection: DuckDBPyConnection) -> None:
    """Take away what `register` put there, as far as it is this connection's; without any, nothing happens.

    The scalar functions go for everybody when the connection that brought them unregisters; DuckDB lets no
    other one remove them.
    """
    for statement in _macros():
        connection.execute(f"DROP MACRO IF EXISTS temp.{_name(statement)}")
    there = _registered(connection)
    for name in RETURNS:
        if name in there:
            try:
                connection.remove_function(name)
            except duckdb.InvalidInputException:
                continue  # brought by another connection, which may go on with it


def _create(connection: DuckDBPyConnection, name: str) -> None:
    connection.create_function(
        name,
        getattr(functions, name),
        None,  # any arguments: the function checks them, so that some may be left out
        RETURNS[name],
        type=PythonUDFType.ARROW,
        null_handling=FunctionNullHandling.SPECIAL,
    )


def _registered(connection: DuckDBPyConnection) -> set[str]:
    """Those of the functions that this database instance has."""
    found = connection.execute(
        "SELECT DISTINCT function_name FROM duckdb_functions() "
        "WHERE function_type = 'scalar' AND function_name = ANY(?)",
        [list(RETURNS)],
    )
    return {name for (name,) in found.fetchall()}


def _macros() -> list[str]:
    """The statements of macros.sql."""
    text = resources.files("udfs").joinpath("macros.sql").read_text(encoding="utf-8")
    text = re.sub(r"^--.*$", "", text, flags=re.MULTILINE)
    return [statement.strip() for statement in text.split(";") if statement.strip()]


def _name(statement: str) -> str:
    found = re.search(r"MACRO (\w+)\(", statement)
    assert found is not None
    return found[1]
