"""What PostgreSQL answers to the clients' statements, recorded and asked anew, and how alike ours is.

Not a test. `python -m tests.auditor.proxy.catalogue.oracle` asks a PostgreSQL 15 and writes `expected.json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from auditor.proxy.catalogue import Listing
from auditor.proxy.values.writing import RowWriter

from ..postgres_server import running
from .statements import CREATED, DATABASE, HERE, Statement, statements

if TYPE_CHECKING:
    from collections.abc import Iterator

EXPECTED = HERE / "expected.json"
SENT_AS = {
    24: 25, 2205: 25, 2206: 25, 4089: 25, 22: 25, 30: 25, 194: 25, 3220: 25, 869: 25, 2278: 25,
    28: 26, 1034: 1009, 2277: 1009,
}  # fmt: skip
"""Types that ours sends as others, since no client reads their binary form: names of objects, vectors, trees,
addresses and nothing as text, transaction numbers as oid, access lists as text[]."""
OTHER_ROWS = {
    r"asyncpg/types/.*": "types of information_schema's own and reg* arrays are not among ours",
    r"jdbc/getCatalogs/.*|psql/l(_plus)?/.*": "there is one database",
    r"jdbc/get(Column|Table)Privileges/.*|psql/d[pn].*|.*_of_dbeaver/1": "everybody may read, nobody owns",
    r"jdbc/getTables-all/.*|psql/dt_STAR.STAR/.*|psql/dS_pg_class/.*": "system tables have no indexes",
    r"jdbc/getTypeInfo/.*|jdbc/getUDTs/.*": "tables have no row types",
    r"psql/dC_int4/.*|psql/dF/.*|psql/dL/.*|psql/dx/.*|psql/dconfig/.*": "no casts, dictionaries, extensions",
    r"psql/(d_plus|dt_plus|dv_plus)/.*": "sizes are not told",
    r"psql/du/.*|psql/dg_plus/.*": "the owner is no superuser",
    r"psql/d_plus_grown/2|psql/sv_grown/1|.*/get_view_definition/0": "a view's text is DuckDB's",
    r"psql/sf_version/.*": "functions have no text",
    r"sqlalchemy-psycopg/connect/0": "the version names us",
    r"sqlalchemy-psycopg/reflect/8": "there are no operator classes",
    r".*_of_tools/12": "nobody sees who else is connected",
    r"psql/db/0": "the server's first user owns its tablespaces",
    r"jdbc/getKeywords/0": "order of what is not ordered",
    r"psql/dAc/.*": "there are no operator classes",
    r".*_of_metabase/1": "nobody counts rows",
    r"others/functions/[056]": "the version, and everybody may read",
    r"dbt/run/[123]": "schemas of temporary tables, and what views depend on",
    r"others/drivers/(0|1|2|3|11|29)": "the version; nothing can be changed; comments",
    r"others/drivers/(23|24|25|26|32)": "functions, types and databases that there are none of",
    r"pgadmin/dashboard/0": "nobody sees what the server does",
    r"pgadmin/tree/(0|1|2|3|6|7|8|13|44|79)": "one database, its own users, a version that names us",
    r"pgadmin/tree/(16|18|20|23|24|25|45|47)": "who may do what; comments of what is built in; no extensions",
    r"pgadmin/tree/(46|48|49|61|62|63|66|72|77)": "no casts, no storage, no dependencies; a comment",
}
"""Statements whose rows differ on purpose, and why."""
UNORDERED = (
    r"asyncpg/INTRO/.*|jdbc/metadata/.*|sqlalchemy-.*/reflect.*|dbt/run/0|pgadmin/tree/80"
    r"|others/drivers/(4|5|28)"
)
"""Statements that do not order all of their rows."""
UNANSWERED = {
    r"psql/sf_version/0": "42883",
    r"psycopg2/register_uuid-composite/1": "42704",
}  # fmt: skip
"""Statements that are refused, and the code."""

Rows = list[list[str | None]]


@dataclass(frozen=True)
class Answer:
    """Names, OIDs and rows in PostgreSQL's text format; OIDs of tables are replaced by `@name@`."""

    names: list[str]
    oids: list[int]
    rows: Rows


def matching(table: Mapping[str, str], statement: Statement) -> str:
    """What a table of patterns says about a statement."""
    return next((said for pattern, said in table.items() if re.fullmatch(pattern, statement.name)), "")


def ours(listing: Listing, oids: Mapping[str, int]) -> Answer:
    """One of our answers, as it is sent."""
    rows = RowWriter(listing.types).rows(listing.rows)
    texts = [[None if cell is None else bytes(cell).decode() for cell in row] for row in rows]
    return Answer(list(listing.names), [each.type.oid for each in listing.types], marked(texts, oids))


def marked(rows: Sequence[Sequence[str | None]], oids: Mapping[str, int]) -> Rows:
    """Rows with the OIDs of tables replaced."""
    marks = {str(oid): f"@{name}@" for name, oid in oids.items()}
    return [[cell if cell is None else marks.get(cell, cell) for cell in row] for row in rows]


def difference(statement: Statement, mine: Answer, theirs: Answer) -> str:
    """What is different, empty if nothing is."""
    if mine.names != theirs.names:
        return f"names {mine.names}, not {theirs.names}"
    expected = [SENT_AS.get(oid, oid) for oid in theirs.oids]
    if mine.oids != expected:
        return f"types {mine.oids}, not {expected}"
    if matching(OTHER_ROWS, statement):
        return ""
    left, right = mine.rows, theirs.rows
    if re.fullmatch(UNORDERED, statement.name):
        left, right = sorted(left, key=str), sorted(right, key=str)
    return "" if left == right else f"rows {left[:3]}, not {right[:3]}"


@contextmanager
def server() -> Iterator[Oracle]:
    """A PostgreSQL 15 with the tables."""
    import psycopg

    with running() as given:
        with psycopg.connect(**given, autocommit=True) as owner:
            owner.execute(f"CREATE DATABASE {DATABASE}")
        with psycopg.connect(**{**given, "dbname": DATABASE}, autocommit=True) as owner:
            owner.execute("SELECT 1")
            owner.execute("CREATE ROLE cae_sql SUPERUSER LOGIN; SET SESSION AUTHORIZATION cae_sql;" + CREATED)
        with psycopg.connect(**{**given, "dbname": DATABASE, "user": "ada"}, autocommit=True) as connection:
            yield Oracle(connection)


class Oracle:
    """Asks PostgreSQL."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        found = connection.execute(
            "SELECT relname, oid::int8 FROM pg_class WHERE oid >= 16384 AND relkind IN ('r', 'v')"
        )
        self.oids = {str(name): int(oid) for name, oid in found}

    def ask(self, statement: Statement) -> Answer | None:
        """Its answer; None for an error."""
        sql, parameters = statement.on(self.oids)
        given = [None if each is None else each.encode() for each in parameters]
        result = self._connection.pgconn.exec_params(sql.encode(), given or None)
        if result.status != 2:
            return None
        columns = range(result.nfields)
        rows = [
            [None if (cell := result.get_value(row, column)) is None else cell.decode() for column in columns]
            for row in range(result.ntuples)
        ]
        names = [(result.fname(column) or b"").decode() for column in columns]
        return Answer(names, [result.ftype(column) for column in columns], marked(rows, self.oids))


@cache
def recorded() -> dict[str, Answer]:
    """What was answered when it was recorded."""
    found = json.loads(EXPECTED.read_text(encoding="utf-8"))
    return {name: Answer(**answer) for name, answer in found.items()}


def record() -> None:
    """Ask everything, and write it down; rows that differ on purpose are left out."""
    with server() as oracle:
        found = {}
        for statement in statements():
            answer = oracle.ask(statement)
            if answer is not None:
                rows = [] if matching(OTHER_ROWS, statement) else answer.rows
                found[statement.name] = {"names": answer.names, "oids": answer.oids, "rows": rows}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(answer)}" for name, answer in sorted(found.items()))
    EXPECTED.write_text("{\n" + lines + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    record()
