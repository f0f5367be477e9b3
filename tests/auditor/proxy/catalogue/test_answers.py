"""What a catalogue shows to whom, and whose a statement is."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from auditor.proxy.catalogue import Catalogue, CatalogueError, Change, Context, Listing
from auditor.proxy.values.writing import RowWriter
from auditor.sql.schema import Column, Protected, Schema, Table, View

from .statements import SCHEMA

RISK = Table("cae_sql.risk", (Column("class", "VARCHAR"), Column("risk", "DOUBLE")))
ADA = Context("ada", pid=4711, settings={"application_name": "psql", "jit": "on"})
ROOT = Context("root", administrator=True)


@pytest.fixture(scope="module")
def shown() -> Iterator[Catalogue]:
    made = Catalogue(SCHEMA, "staff", ["ada", "bob", "root"], version="15.18", administration=[RISK])
    yield made
    made.close()


def asked(shown: Catalogue, sql: str, *parameters: object, context: Context = ADA) -> Listing:
    listing = shown.answer(sql, parameters, context)
    assert listing is not None
    return listing


def rows(listing: Listing) -> list[tuple[object, ...]]:
    return list(zip(*(column.to_pylist() for column in listing.rows.columns), strict=True))


def value(shown: Catalogue, sql: str, *parameters: object, context: Context = ADA) -> object:
    found = rows(asked(shown, sql, *parameters, context=context))
    assert len(found) == 1
    return found[0][0]


def refused(shown: Catalogue, sql: str, *parameters: object, context: Context = ADA) -> str:
    with pytest.raises(CatalogueError) as caught:
        shown.answer(sql, parameters, context)
    return caught.value.sqlstate


COLUMNS = "SELECT column_name FROM information_schema.columns WHERE table_name = $1 ORDER BY ordinal_position"


def test_a_protected_column_is_listed_in_its_place(shown: Catalogue) -> None:
    names = [row[0] for row in rows(asked(shown, COLUMNS, "staff"))]
    assert names == ["id", "name", "age", "sex", "dept", "salary"]


def test_what_the_policy_does_not_list_is_nowhere() -> None:
    schema = Schema(
        (Table("t", (Column("a", "INTEGER"),), ("a", "hidden", "p")),), (Protected("t", "p", "INTEGER"),)
    )
    shown = Catalogue(schema, "d")
    assert [row[0] for row in rows(asked(shown, COLUMNS, "t"))] == ["a", "p"]
    assert value(shown, "SELECT count(*) FROM pg_attribute WHERE attname = 'hidden'") == 0


def test_types_that_cannot_be_sent_and_nested_ones_have_a_place() -> None:
    types = {"a": "STRUCT(x INTEGER)", "b": "ENUM('p', 'q')", "c": "INTEGER[][]", "d": "UBIGINT"}
    schema = Schema((Table("t", tuple(Column(*each) for each in types.items())),), ())
    listed = asked(
        Catalogue(schema, "d"),
        "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 't'::regclass",
    )  # fmt: skip
    assert rows(listed) == [("json",), ("text",), ("integer[]",), ("numeric",)]


def test_columns_of_views_are_those_of_their_queries() -> None:
    table = Table("t", (Column("a", "INTEGER"), Column("b", "DECIMAL(6,2)")))
    views = (View("v", "SELECT a + 1 AS c, b FROM t", ()), View("w", "SELECT c FROM v", ("named",)))
    shown = Catalogue(Schema((table,), (), views), "d")
    sql = (
        "SELECT table_name, column_name, data_type FROM information_schema.columns "
        "WHERE table_name IN ('v', 'w') ORDER BY 1, 2"
    )
    assert rows(asked(shown, sql)) == [
        ("v", "b", "numeric"), ("v", "c", "integer"), ("w", "named", "integer"),
    ]  # fmt: skip


@pytest.mark.slow
def test_oids_start_where_postgres_starts_and_stay() -> None:
    first, second = (Catalogue(SCHEMA, "staff").tables(ADA) for _ in range(2))
    assert [table.oid for table in first] == list(range(16384, 16384 + len(first)))
    assert first == second


def test_administrators_see_their_tables_and_others_do_not(shown: Catalogue) -> None:
    sql = "SELECT relname FROM pg_class WHERE relname = 'risk'"
    assert rows(asked(shown, sql, context=ROOT)) == [("risk",)]
    assert rows(asked(shown, sql)) == []
    sql = "SELECT nspname FROM pg_namespace WHERE nspname = 'cae_sql'"
    assert rows(asked(shown, sql, context=ROOT)) == [("cae_sql",)]
    assert rows(asked(shown, sql)) == []
    assert refused(shown, "SELECT 'cae_sql.risk'::regclass") == "42P01"


def test_users_see_themselves_and_administrators_see_everybody(shown: Catalogue) -> None:
    sql = "SELECT rolname FROM pg_roles ORDER BY 1"
    assert rows(asked(shown, sql)) == [("ada",), ("cae_sql",)]
    assert rows(asked(shown, "SELECT usename FROM pg_user")) == [("ada",)]
    assert rows(asked(shown, sql, context=ROOT)) == [("ada",), ("bob",), ("cae_sql",), ("root",)]
    bob = value(shown, "SELECT oid FROM pg_roles WHERE rolname = 'bob'", context=ROOT)
    assert value(shown, "SELECT pg_get_userbyid($1)", bob, context=ROOT) == "bob"
    assert value(shown, "SELECT pg_get_userbyid($1)", bob) == f"unknown (OID={bob})"
    sql = (
        "SELECT pg_get_userbyid(oid) FROM pg_roles "
        "UNION SELECT pg_get_userbyid(100000 + attnum) FROM pg_attribute"
    )
    assert "bob" not in [row[0] for row in rows(asked(shown, sql))]


@pytest.mark.parametrize("name", ["pg_authid", "pg_shadow", "pg_catalog.pg_statistic", "pg_hba_file_rules"])
def test_what_superusers_read_is_denied(shown: Catalogue, name: str) -> None:
    assert refused(shown, f"SELECT * FROM {name}") == "42501"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1", "SELECT count(*) FROM staff", "SELECT current_user, count(*) FROM staff",
        "SELECT lower('A')", "SHOW search_path", "SET x = 1", "BEGIN", "", "COPY pg_class TO '/tmp/x'",
        "SELECT 'pg_class'", "SELECT * FROM generate_series(1, 3)", "SELECT pg_nosuch()",
        "SELECT * FROM pg_nosuch", "SELECT \"user\"", "SELECT (((",
        "WITH pg_class AS (SELECT 1) SELECT * FROM pg_class",
    ],
)  # fmt: skip
def test_what_is_not_about_the_catalogue_is_left_alone(shown: Catalogue, sql: str) -> None:
    assert shown.answer(sql, (), ADA) is None
    assert shown.describe(sql, (), ADA) is None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM pg_class, staff",
        "SELECT (SELECT count(*) FROM pg_catalog.pg_class) FROM staff",
        "WITH a AS (SELECT * FROM staff) SELECT * FROM a JOIN information_schema.tables ON true",
    ],
)
def test_a_mixture_is_refused(shown: Catalogue, sql: str) -> None:
    assert refused(shown, sql) == "0A000"


def test_a_users_table_hides_one_of_the_catalogue() -> None:
    schema = Schema((Table("pg_class", (Column("a", "INTEGER"),)),), ())
    shown = Catalogue(schema, "d")
    assert shown.answer("SELECT * FROM pg_class", (), ADA) is None
    assert shown.answer("SELECT * FROM pg_catalog.pg_class", (), ADA) is not None


def test_the_session_is_what_the_functions_say(shown: Catalogue) -> None:
    sql = (
        "SELECT current_user, session_user, user, current_database(), current_schema, pg_backend_pid(), "
        "current_schemas(true)"
    )
    listing = asked(shown, sql)
    assert rows(listing) == [("ada", "ada", "ada", "staff", "public", 4711, ["pg_catalog", "public"])]
    assert [each.type.name for each in listing.types] == ["name"] * 5 + ["int4", "_name"]
    assert str(value(shown, "select version()")).startswith("PostgreSQL 15.18 ")


def test_settings_are_the_sessions_then_the_defaults(shown: Catalogue) -> None:
    assert value(shown, "SELECT current_setting('JIT')") == "on"
    assert value(shown, "SELECT current_setting('server_version_num')") == "150018"
    assert value(shown, "SELECT setting FROM pg_settings WHERE name = 'application_name'") == "psql"
    assert value(shown, "SELECT current_setting(name) FROM pg_settings WHERE name = 'jit'") == "on"
    assert value(shown, "SELECT current_setting('no.such', true)") is None
    assert refused(shown, "SELECT current_setting('temp_directory')") == "42704"


def test_set_config_is_the_sessions_to_carry_out(shown: Catalogue) -> None:
    listing = asked(shown, "SELECT current_setting('jit') AS cur, set_config('jit', $1, false) AS new", "off")
    assert rows(listing) == [("on", "off")]
    assert listing.changes == (Change("jit", "off", False),)
    assert refused(shown, "SELECT set_config(relname, 'x', false) FROM pg_class") == "0A000"
    assert refused(shown, "SELECT set_config('jit', 'x', false) FROM pg_class") == "0A000"
    assert refused(shown, "SELECT CASE WHEN false THEN set_config('jit', 'x', false) END") == "0A000"


def test_names_of_objects_are_found_as_the_search_path_has_it(shown: Catalogue) -> None:
    oid = {table.name: table.oid for table in shown.tables(ADA)}
    assert value(shown, "SELECT 'staff'::regclass::oid") == oid["staff"]
    assert value(shown, "SELECT 'STAFF'::regclass") == "staff"
    assert value(shown, 'SELECT to_regclass(\'"public"."Odd Name"\')') == '"Odd Name"'
    assert value(shown, "SELECT 'hr.grade'::regclass") == "hr.grade"
    assert value(shown, "SELECT $1::regclass::oid", "hr.grade") == oid["grade"]
    assert value(shown, "SELECT to_regclass('grade')") is None
    assert refused(shown, "SELECT 'grade'::regclass") == "42P01"
    assert refused(shown, "SELECT $1::regtype", "nosuch") == "42704"
    assert value(shown, "SELECT 'int4[]'::regtype") == "integer[]"
    assert value(shown, "SELECT format_type(1700, 655366)") == "numeric(10,2)"
    assert value(shown, "SELECT count(*) FROM pg_class c WHERE c.oid = 'staff'::regclass") == 1


def test_a_macros_own_columns_are_not_caught_by_a_statements(shown: Catalogue) -> None:
    sql = "SELECT count(*) FROM pg_class WHERE relname = 'grade' AND pg_table_is_visible(oid)"
    assert value(shown, sql, context=Context("ada")) == 0
    sql = "SELECT format_type(oid, NULL) FROM (SELECT 23 AS oid, 1 AS kind FROM pg_am LIMIT 1) AS t"
    assert value(shown, sql) == "integer"


def test_columns_have_the_names_that_postgres_gives_them(shown: Catalogue) -> None:
    sql = (
        "SELECT version(), 'staff'::regclass, CASE WHEN true THEN 1 END, oid::regclass::text, "
        "relname || 'x', "
        '(SELECT 1 AS y), RELNAME AS "Upper", count(*) FILTER (WHERE true) FROM pg_class GROUP BY ALL'
    )
    names = ("version", "regclass", "case", "oid", "?column?", "y", "Upper", "count")
    assert asked(shown, sql.replace("GROUP BY ALL", "GROUP BY oid, relname")).names == names


def test_parameters_have_the_types_of_what_they_are_compared_with(shown: Catalogue) -> None:
    sql = (
        "SELECT 1 FROM pg_class c WHERE c.oid = $1 AND c.relname = ANY($2) AND c.relkind = $3 "
        "AND c.relname LIKE $4 AND pg_table_is_visible($5) AND c.oid = ANY($6::oid[]) LIMIT $7"
    )
    described = shown.describe(sql, [], ADA)
    assert described is not None
    assert described.parameters == (26, 1003, 18, 19, 26, 1028, 20)
    stated = shown.describe("SELECT relname FROM pg_class WHERE relname = $1", [1043], ADA)
    assert stated is not None
    assert stated.parameters == (1043,)
    assert refused(shown, "SELECT relname FROM pg_class WHERE relname = $2", "x") == "42P02"
    with pytest.raises(CatalogueError):
        shown.describe("SELECT relname FROM pg_class WHERE relname = $99999999", [], ADA)


def test_parameters_of_every_kind_are_taken(shown: Catalogue) -> None:
    sql = "SELECT count(*) FROM pg_type WHERE typname = ANY($1) AND oid = $2 AND typisdefined = $3"
    assert value(shown, sql, ["int4", "o'k"], 23, True) == 1
    assert value(shown, sql, '{int4,"a,b",NULL}', "23", "t") == 1
    assert value(shown, "SELECT count(*) FROM pg_type WHERE oid = $1", None) == 0


def test_arrays_and_vectors_count_as_in_postgres(shown: Catalogue) -> None:
    sql = "SELECT proargtypes[0], proname, proargtypes FROM pg_proc WHERE proname = 'boolin'"
    assert rows(asked(shown, sql))[0][::2] == (2275, "2275")
    assert value(shown, "SELECT (current_schemas(true))[1]") == "pg_catalog"


def test_arrays_that_are_written_as_texts_are_read_as_in_postgres(shown: Catalogue) -> None:
    found = rows(asked(shown, """SELECT '{a, "null", NULL, "b c"}'::text[] FROM pg_class WHERE oid = 1259"""))
    assert found == [(["a", "null", None, "b c"],)]
    for text in ("{a", "{a,}", "a"):
        assert refused(shown, f"SELECT '{text}'::text[] FROM pg_class") == "22P02"
    assert refused(shown, "SELECT '{{a},{b}}'::text[] FROM pg_class") == "0A000"
    words = "SELECT string_agg(word, ',') FROM pg_get_keywords() WHERE word <> ALL ('{\"null\"}'::text[])"
    assert "abort" in str(value(shown, words))


def test_the_same_statement_gets_the_same_answer_from_several_threads(shown: Catalogue) -> None:
    sql = (
        "SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid ORDER BY 1, 2"
    )
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: rows(asked(shown, sql)), range(8)))
    assert all(each == found[0] for each in found)


@pytest.mark.parametrize(
    "expression",
    [
        "'a'::char(3)", "1 / 2.0", "relname COLLATE \"de_DE\"", "ROW(1, 2)", "relname SIMILAR TO 's%'",
        "relname LIKE ANY (ARRAY['a'])", "extract(julian from now())", "avg(attnum)", "format('%1$s', 1)",
        "format(relname)", "to_char(1, '9')", "to_char(now(), 'FMMonth')", "extract(day from now()) / 2",
        "c", "c.ctid", "relname::nosuch", "array_to_string(ARRAY['a'], relname)", "U&'\\0041'",
    ],
)  # fmt: skip
def test_what_would_come_out_otherwise_than_in_postgres_is_refused(shown: Catalogue, expression: str) -> None:
    assert refused(shown, f"SELECT {expression} FROM pg_catalog.pg_class AS c") == "0A000"


def test_every_type_that_is_sent_has_a_binary_form(shown: Catalogue) -> None:
    for name in ("pg_class", "pg_attribute", "pg_type", "pg_proc", "pg_settings", "pg_roles", "pg_database"):
        listing = asked(shown, f"SELECT * FROM pg_catalog.{name}")
        written = RowWriter(listing.types, [1]).rows(listing.rows)
        assert len(written) == listing.rows.num_rows > 0


def test_a_protected_column_has_a_comment_that_says_so(shown: Catalogue) -> None:
    described = "SELECT col_description('staff'::regclass, attnum) FROM pg_attribute WHERE attname = $1"
    assert str(value(shown, described + " AND attrelid = 'staff'::regclass", "salary")).startswith(
        "Protected"
    )
    assert value(shown, described + " AND attrelid = 'staff'::regclass", "age") is None
    assert value(shown, "SELECT count(*) FROM pg_description WHERE objoid = 'staff'::regclass") == 1


def test_psql_lists_the_tables_of_every_schema_and_others_those_of_public(shown: Catalogue) -> None:
    listed = "SELECT relname FROM pg_class WHERE relkind = 'r' AND pg_table_is_visible(oid) AND oid >= 16384"
    everything = {"Odd Name", "grade", "kinds", "staff"}
    assert {row[0] for row in rows(asked(shown, listed))} == everything
    assert {row[0] for row in rows(asked(shown, listed, context=Context("ada")))} == everything - {"grade"}


def test_functions_stand_in_from_as_in_postgres(shown: Catalogue) -> None:
    assert rows(asked(shown, "SELECT * FROM current_schema() AS s, current_database()")) == [
        ("public", "staff")
    ]
    assert asked(shown, "SELECT * FROM current_schema() AS s").names == ("s",)
    assert value(shown, "SELECT x.c FROM current_schema() AS x(c)") == "public"
    nothing = "SELECT option_name FROM pg_class c, pg_options_to_table(c.reloptions)"
    assert rows(asked(shown, nothing)) == []


def test_settings_are_set_where_there_is_one_of_that_name(shown: Catalogue) -> None:
    sql = "SELECT set_config('bytea_output', 'hex', false) FROM pg_show_all_settings() WHERE name = '{}'"
    assert asked(shown, sql.format("bytea_output")).changes == (Change("bytea_output", "hex", False),)
    for other in ("nosuch", "bytea_output' OR true OR name = 'x"):
        with pytest.raises(CatalogueError):
            shown.answer(sql.format(other), (), ADA)


def test_keywords_are_labels_where_postgres_takes_them(shown: Catalogue) -> None:
    sql = (
        "SELECT t.select, t.not FROM (SELECT relname AS select, 1 AS not FROM pg_class) t "
        "WHERE t.select = 'staff'"
    )
    assert rows(asked(shown, sql)) == [("staff", 1)]
    assert asked(shown, sql).names == ("select", "not")


def test_what_a_join_in_parentheses_names_is_known_outside(shown: Catalogue) -> None:
    sql = (
        "SELECT c.relname, a.attname FROM ((pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace) "
        "JOIN pg_attribute a ON a.attrelid = c.oid) LEFT JOIN pg_attrdef d ON d.adrelid = c.oid "
        "WHERE c.relname = 'grade' ORDER BY attnum"
    )
    assert rows(asked(shown, sql)) == [("grade", "dept"), ("grade", "pay")]


def test_a_table_is_named_with_its_database_and_schema(shown: Catalogue) -> None:
    assert value(shown, "SELECT 'staff.hr.grade'::regclass::text") == "hr.grade"
    assert value(shown, "SELECT to_regclass('staff.public.staff')::text") == "staff"
    assert value(shown, "SELECT to_regclass('other.public.staff')") is None
