"""What DBeaver asks when it connects and fills its navigator is answered; which tables and columns it finds.

The statements are those of its public sources (`PostgreDataSource`, `PostgreDatabase`, `PostgreSchema`), in
our words; DBeaver itself was not run. It sends them through pgjdbc, as statements with parameters.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.auditor.proxy.serving import Running, running
from tests.quick import some

psycopg = pytest.importorskip("psycopg", reason="the client of these tests")

DESCRIBED = "LEFT JOIN pg_catalog.pg_description d ON d.objoid = {0}.oid AND d.objsubid = 0"
SETTINGS = [
    "SET extra_float_digits = 3",
    "SET application_name = 'DBeaver 26.0.0 - Main <staff>'",
    'SET search_path = public,"$user",public',
    "SELECT version()",
    "SHOW search_path",
    "SELECT reset_val FROM pg_settings WHERE name = 'search_path'",
    "SELECT setting FROM pg_catalog.pg_settings WHERE name = 'server_version'",
    "SELECT * FROM pg_catalog.pg_settings",
    "SELECT string_agg(word, ',') FROM pg_catalog.pg_get_keywords() WHERE word <> ALL ('{a,abs}'::text[])",
]
CACHES = [
    "SELECT a.oid, a.* FROM pg_catalog.pg_roles a ORDER BY a.rolname",
    "SELECT am.oid, am.* FROM pg_catalog.pg_am am",
    "SELECT l.oid, l.* FROM pg_catalog.pg_language l ORDER BY l.oid",
    "SELECT c.oid, c.* FROM pg_catalog.pg_collation c",
    "SELECT t.oid, t.*, pg_tablespace_location(t.oid) AS loc FROM pg_catalog.pg_tablespace t ORDER BY t.oid",
    "SELECT x.oid, x.* FROM pg_catalog.pg_extension x",
    "SELECT * FROM pg_catalog.pg_enum",
    "SELECT s.* FROM pg_catalog.pg_stat_activity s",
    "SELECT p.oid, p.*, pg_catalog.pg_get_expr(p.proargdefaults, 0) AS defaults FROM pg_catalog.pg_proc p "
    "WHERE p.pronamespace = 2200 ORDER BY p.proname",
    "SELECT t.oid, t.*, c.relkind, format_type(nullif(t.typbasetype, 0), t.typtypmod) AS base_type_name "
    "FROM pg_catalog.pg_type t LEFT JOIN pg_catalog.pg_type et ON et.oid = t.typelem "
    "LEFT JOIN pg_catalog.pg_class c ON c.oid = t.typrelid WHERE t.typname IS NOT NULL "
    "AND (c.relkind IS NULL OR c.relkind = 'c') AND (et.typcategory IS NULL OR et.typcategory <> 'C')",
]


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with running(tmp_path_factory.mktemp("dbeaver")) as server, connected(server) as made:
        yield made


def connected(server: Running) -> Any:
    more = {"autocommit": True, "row_factory": psycopg.rows.dict_row, "prepare_threshold": 0}
    return psycopg.connect(**server.psycopg, **more)


@pytest.mark.parametrize("statement", some(SETTINGS + CACHES, 6))
def test_each_is_answered(connection: Any, statement: str) -> None:
    cursor = connection.execute(statement)
    if statement.startswith(("SELECT", "SHOW")):
        cursor.fetchall()


def test_the_navigator_finds_database_schema_table_and_columns(connection: Any) -> None:
    def ask(statement: str, *values: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = connection.execute(statement, values).fetchall()
        return found

    (now,) = ask("SELECT current_database() AS b, current_schema() AS s, session_user AS u")
    assert now == {"b": "staff", "s": "public", "u": "ana"}
    (database,) = ask("SELECT db.oid, db.* FROM pg_catalog.pg_database db WHERE datname = %s", "staff")
    assert database["datallowconn"]
    schemas = ask(
        f"SELECT n.oid, n.*, d.description FROM pg_catalog.pg_namespace n {DESCRIBED.format('n')} "
        "AND d.classoid = 'pg_namespace'::regclass ORDER BY nspname"
    )
    public = next(row["oid"] for row in schemas if row["nspname"] == "public")
    (table,) = ask(
        "SELECT c.oid, c.*, d.description, pg_catalog.pg_get_expr(c.relpartbound, c.oid) AS partition_expr, "
        "pg_catalog.pg_get_partkeydef(c.oid) AS partition_key FROM pg_catalog.pg_class c "
        f"{DESCRIBED.format('c')} AND d.classoid = 'pg_class'::regclass "
        "WHERE c.relnamespace = %s AND c.relkind NOT IN ('i', 'I', 'c')",
        public,
    )
    assert (table["relname"], table["relkind"]) == ("staff", "r")
    columns = ask(
        "SELECT c.relname, a.*, pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) AS def_value, "
        "dsc.description, dep.objid FROM pg_catalog.pg_attribute a "
        "JOIN pg_catalog.pg_class c ON a.attrelid = c.oid "
        "LEFT JOIN pg_catalog.pg_attrdef ad ON a.attrelid = ad.adrelid AND a.attnum = ad.adnum "
        "LEFT JOIN pg_catalog.pg_description dsc ON c.oid = dsc.objoid AND a.attnum = dsc.objsubid "
        "LEFT JOIN pg_depend dep ON dep.refobjid = a.attrelid AND dep.deptype = 'i' "
        "AND dep.refobjsubid = a.attnum AND dep.classid = dep.refclassid "
        "WHERE NOT a.attisdropped AND c.oid = %s ORDER BY a.attnum",
        table["oid"],
    )
    assert [row["attname"] for row in columns if row["attnum"] > 0] == ["id", "age", "sex", "dept", "salary"]
