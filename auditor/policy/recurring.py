"""Which columns say whose rows they are. One row is one person here; a table of visits has several of each.

Promise: a column is named where its values recur, at least `FEWEST` of them, and it reads like a key: by the
word in its name (patient, employee, …), by an ending such as _id, by a foreign key, or as text that nearly
tells rows apart. What is named is a suspicion for the owner to judge; a column of another name escapes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import duckdb

from auditor.sql.schema import DEFAULT_SCHEMA, folded, quoted

WORDS = frozenset(
    [
        *("patient", "person", "people", "employee", "staff", "customer", "client", "member", "subject"),
        *("participant", "respondent", "student", "pupil", "worker", "user", "account", "household"),
        *("individual", "donor", "borrower", "citizen", "resident", "taxpayer", "beneficiary", "insured"),
        *("holder", "ssn", "mrn", "email", "phone"),
    ]
)
"""Words that say whose a row is. Also as a plural, and with an ending of `ENDINGS` behind them."""
ENDINGS = frozenset(["id", "ids", "key", "nr", "no", "number", "code", "pid", "uid"])
"""Ends of names that keys have."""
FEWEST = 20
"""Different values that there must be: a column of fewer (worker = "blue collar") is a class of persons."""
MOST_EACH = 50
"""Rows of one value, on average, up to which a column without such a word counts: of 100 people each, dept_id
is a department. Persons with more rows are named by their word alone."""
NEARLY = 0.5
"""Share of different values among the rows from which on text nearly tells rows apart, as names do."""

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def is_key_name(name: str) -> bool:
    """Whether a column is called as keys are: id, patient_id, orderNo.

    >>> [is_key_name(name) for name in ("id", "patientId", "staff_no", "age", "casino")]
    [True, True, True, False, False]
    """
    return bool(_parts(name)) and _parts(name)[-1] in ENDINGS


def names_a_person(name: str) -> bool:
    """Whether its name says that it names people.

    >>> [names_a_person(name) for name in ("patient", "Patients", "employee_id", "patient_type", "ward")]
    [True, True, True, False, False]
    """
    parts = [part for part in _parts(name) if part not in ENDINGS]
    return bool(parts) and (parts[-1] in WORDS or parts[-1].removesuffix("s") in WORDS)


def recurring(
    connection: duckdb.DuckDBPyConnection, table: str, columns: Mapping[str, str], others: Iterable[str]
) -> dict[str, str]:
    """Why columns seem to name persons that have several rows each.

    Args:
        connection: One that has the table in its catalogue `source`.
        table: Its name, `name` or `schema.name`.
        columns: DuckDB's types by column.
        others: The columns to look at.

    Returns:
        The reason by column, with figures.
    """
    schema, _, bare = table.rpartition(".")
    place = f"source.{quoted(schema or DEFAULT_SCHEMA)}.{quoted(bare)}"
    foreign = _foreign_keys(connection, schema or DEFAULT_SCHEMA, bare)
    found = {}
    for name in others:
        if "INT" not in columns[name] and not columns[name].startswith(("VARCHAR", "UUID")):
            continue
        ((rows, different),) = connection.execute(
            f"SELECT count({quoted(name)}), count(DISTINCT {quoted(name)}) FROM {place}"
        ).fetchall()
        if not FEWEST <= different < rows:
            continue
        reason = _reads_like_a_key(name, columns[name], different / rows, name in foreign)
        if reason is not None:
            found[name] = f"its {different:,} values recur in {rows:,} rows and {reason}"
    return found


def _reads_like_a_key(name: str, kind: str, share: float, foreign: bool) -> str | None:
    if names_a_person(name):
        return "its name says whose rows they are"
    if share * MOST_EACH < 1:
        return None
    if foreign:
        return "it is a foreign key"
    if is_key_name(name):
        return "its name is that of a key"
    if share >= NEARLY and "INT" not in kind:
        return "it nearly tells rows apart"
    return None


def _foreign_keys(connection: duckdb.DuckDBPyConnection, schema: str, table: str) -> set[str]:
    rows = connection.execute(
        "SELECT schema_name, table_name, constraint_column_names FROM duckdb_constraints() "
        "WHERE database_name = 'source' AND constraint_type = 'FOREIGN KEY'"
    ).fetchall()
    wanted = (folded(schema), folded(table))
    return {
        name
        for home, of, names in rows
        if (folded(home), folded(of)) == wanted and len(names) == 1
        for name in names
    }


def _parts(name: str) -> list[str]:
    return [part.lower() for part in _PART.findall(name)]
