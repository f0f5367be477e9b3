"""Which columns say whose rows they are: a table of visits has several rows of a person.

Promise: a column is named where its values recur, at least `FEWEST` of them, and it reads like a key: by the
word in its name (patient, employee, …), by an ending such as _id, by a foreign key, or as text that nearly
tells rows apart. What is named is a suspicion for the owner to judge; a column of another name escapes it.
At most one is taken for the unit of protection, and only by its name or a foreign key to a table of persons:
a department, a ward, a year or a count of people never is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

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

LEAST_EACH, UNIT_EACH = 1.2, 1_000
"""Rows of one value of a unit, on average: with fewer hardly anybody has several, with more it is a class."""
OWN = frozenset(["id", "pid", "uid", "nr"])
"""Names that a table of a panel gives to its persons."""
NEVER = frozenset(["people", "household"])
"""Words that say how many there are, or that stand in a table with a row for each person."""
NOT_WHOSE = frozenset(["by", "to", "from"])
"""Last parts of names of those who did something with a row: created_by."""

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


@dataclass(frozen=True)
class Recurring:
    """A column that seems to name persons with several rows."""

    reason: str
    """Why, with figures."""
    different: int
    """Values that it has."""
    unit: bool
    """Whether it may be taken for the unit of protection."""


def recurring(
    connection: duckdb.DuckDBPyConnection, table: str, columns: Mapping[str, str], others: Iterable[str]
) -> dict[str, Recurring]:
    """Columns that seem to name persons that have several rows each.

    Args:
        connection: One that has the table in its catalogue `source`.
        table: Its name, `name` or `schema.name`.
        columns: DuckDB's types by column.
        others: The columns to look at.
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
            # who is somebody's manager is in the same table
            elsewhere = foreign.get(name) if folded(foreign.get(name, "")) != folded(bare) else None
            unit = _is_unit(name, rows, different, elsewhere)
            said = f"its {different:,} values recur in {rows:,} rows and {reason}"
            found[name] = Recurring(said, different, unit)
    return found


def unit_of(found: Mapping[str, Recurring], keys: Iterable[str]) -> str | None:
    """The column that says whose rows they are: of several, that of the most values, the first of equals.

    None where a column that names each row once is called as persons are: then one row is one person.
    """
    units = [name for name, each in found.items() if each.unit and not any(map(names_a_person, keys))]
    return max(units, key=lambda name: found[name].different, default=None)


def _is_unit(name: str, rows: int, different: int, referenced: str | None) -> bool:
    """Whether there is evidence that it names persons, and no sign that it classes or counts them."""
    each, parts = rows / different, _parts(name)
    if not LEAST_EACH <= each <= UNIT_EACH or NEVER & {*parts} or NOT_WHOSE & {parts[-1]}:
        return False
    if referenced is not None and names_a_person(referenced):
        return True
    if len(parts) == 1 and parts[0] in OWN:
        return each <= MOST_EACH
    words = [part for part in parts if part not in ENDINGS]
    # plurals are how many there are (clients, employees_number)
    if not words or words[-1] not in WORDS:
        return False
    if parts[-1] not in ENDINGS:
        # of which kind somebody is (resident, worker) has few values
        return len(parts) == 1 and parts[0] != "staff" and different**2 >= rows
    return parts[-1] != "code" or (each <= MOST_EACH and different**2 >= rows)


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


def _foreign_keys(connection: duckdb.DuckDBPyConnection, schema: str, table: str) -> dict[str, str]:
    """Columns that are foreign keys by themselves, with the tables that they are keys of."""
    rows = connection.execute(
        "SELECT schema_name, table_name, constraint_column_names, referenced_table FROM duckdb_constraints() "
        "WHERE database_name = 'source' AND constraint_type = 'FOREIGN KEY'"
    ).fetchall()
    wanted = (folded(schema), folded(table))
    return {
        name: referenced
        for home, of, names, referenced in rows
        if (folded(home), folded(of)) == wanted and len(names) == 1
        for name in names
    }


def _parts(name: str) -> list[str]:
    return [part.lower() for part in _PART.findall(name)]
