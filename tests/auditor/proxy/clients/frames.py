"""ODBC, connectorx, polars, ADBC or DuckDB's scanner, by name: what each lists, gets and shows."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

port, which = sys.argv[1:3]
password = os.environ["CAE_PASSWORD"]
URI = f"postgresql://ana:{password.replace(' ', '%20')}@127.0.0.1:{port}/staff"
GROUPED = "SELECT dept, COUNT(*) AS n, AVG(salary) AS a FROM staff WHERE age > 25 GROUP BY dept ORDER BY dept"
LISTED = "SELECT title, budget, founded, opened FROM department ORDER BY dept LIMIT 2"
REFUSED = "SELECT AVG(salary) FROM staff WHERE id = 3"


def say(name: str, work: Callable[[], Any]) -> None:
    """Print what comes of something: for an error, what a person needs to know of it."""
    try:
        print(name, work())
    except Exception as error:  # noqa: BLE001 -- every library has its own
        text = str(error)
        told = [each for each in ("too much about somebody", "row by row", "Hint: ") if each in text]
        print(name, "refused:", *(told or [text]))


def odbc() -> None:
    """psqlODBC through pyodbc: Excel, Power BI, Tableau and R ask the same."""
    import pyodbc

    words = f"Driver=PostgreSQL Unicode;Server=127.0.0.1;Port={port};Database=staff;Uid=ana;Pwd={password}"
    cursor = pyodbc.connect(words, autocommit=True).cursor()
    say("tables", lambda: [tuple(row)[1:4] for row in cursor.tables()])
    say("columns", lambda: [tuple(row)[3:6:2] for row in cursor.columns(table="staff")])
    say("keys", lambda: list(cursor.primaryKeys(table="staff")) + list(cursor.statistics(table="staff")))
    say("types", lambda: len(list(cursor.getTypeInfo())) > 10)
    say("none", lambda: [each[0] for each in cursor.execute("SELECT * FROM staff WHERE 1 = 0").description])
    say("grouped", lambda: [tuple(row) for row in cursor.execute(GROUPED).fetchall()])
    counted = "SELECT COUNT(*) FROM staff WHERE age > ? AND dept = ?"
    say("parameters", lambda: cursor.execute(counted, 30, "a").fetchone()[0])
    say("listed", lambda: [tuple(map(str, row)) for row in cursor.execute(LISTED).fetchall()])
    say("refusal", lambda: cursor.execute(REFUSED).fetchall())
    say("rows", lambda: cursor.execute("SELECT * FROM staff").fetchall())


def connectorx() -> None:
    """Each of its protocols: three of the four are COPY or a cursor."""
    import connectorx

    def read(query: str, **more: Any) -> Any:
        return connectorx.read_sql(URI, query, return_type="arrow", **more).to_pydict()

    for protocol in ("binary", "csv", "cursor", "simple"):
        say(protocol, lambda protocol=protocol: read(GROUPED, protocol=protocol))
    say("listed", lambda: {key: list(map(str, each)) for key, each in read(LISTED).items()})
    say("parts", lambda: sum(read("SELECT id, age FROM staff", partition_on="id", partition_num=3)["id"]))
    say("refusal", lambda: read(REFUSED))


def polars() -> None:
    """Both of its engines."""
    import polars

    for engine in ("connectorx", "adbc"):
        say(
            engine,
            lambda engine=engine: polars.read_database_uri(GROUPED, URI, engine=engine).to_dict(
                as_series=False
            ),
        )
        say("refusal", lambda engine=engine: polars.read_database_uri(REFUSED, URI, engine=engine))


def adbc() -> None:
    """ADBC, by COPY and without; its lists."""
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(URI, autocommit=True) as connection, connection.cursor() as cursor:

        def read(query: str, *values: Any) -> Any:
            cursor.execute(query, *values)
            return cursor.fetch_arrow_table().to_pydict()

        def listed() -> Any:
            found = connection.adbc_get_objects(depth="tables").read_all().to_pylist()
            names = {s["db_schema_name"]: s["db_schema_tables"] for s in found[0]["catalog_db_schemas"]}
            return sorted(table["table_name"] for table in names["public"])

        say("tables", listed)
        say("columns", lambda: connection.adbc_get_table_schema("staff").names)
        say("grouped", lambda: read(GROUPED))
        say("parameters", lambda: read("SELECT COUNT(*) AS n FROM staff WHERE age > $1", (30,)))
        say("listed", lambda: {key: list(map(str, each)) for key, each in read(LISTED).items()})
        say("refusal", lambda: read(REFUSED))


def scanner() -> None:
    """DuckDB with its postgres extension, as its package brings it."""
    import duckdb
    import duckdb_extension_postgres_scanner as brought

    (file,) = Path(next(iter(brought.__path__))).glob("extensions/*/*.duckdb_extension")
    here = duckdb.connect()
    here.execute(f"LOAD '{file}'")
    where = f"host=127.0.0.1 port={port} user=ana dbname=staff password=''{password}''"
    here.execute(f"ATTACH '{where}' AS p (TYPE postgres, READ_ONLY)")

    def read(query: str) -> Any:
        return here.execute(query).fetchall()

    tables = """SELECT schema_name, table_name FROM duckdb_tables()
        WHERE database_name = 'p' AND schema_name IN ('public', 'hr') ORDER BY ALL"""
    say("tables", lambda: read(tables))
    say("columns", lambda: [row[0] for row in read("DESCRIBE p.public.staff")])
    say("counted", lambda: read("SELECT dept, count(*) FROM p.public.staff GROUP BY 1 ORDER BY 1"))
    say("listed", lambda: [row[:2] for row in read("SELECT * FROM p.public.department ORDER BY 1 LIMIT 2")])
    asked = "SELECT * FROM postgres_query('p', '{}')"
    say("grouped", lambda: read(asked.format(GROUPED)))
    say("refusal", lambda: read(asked.format(REFUSED + " AND true")))
    say("rows", lambda: read("SELECT salary FROM p.public.staff"))


{"odbc": odbc, "connectorx": connectorx, "polars": polars, "adbc": adbc, "scanner": scanner}[which]()
