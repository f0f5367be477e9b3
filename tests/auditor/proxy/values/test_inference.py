"""Open parameters get the types that PostgreSQL 15 gives them; whatever the text, each gets one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.proxy.values.errors import BadParameter
from auditor.proxy.values.inference import infer
from auditor.proxy.values.placeholders import highest, places, spaced
from auditor.proxy.values.types import BY_OID
from auditor.sql.limits import parse
from auditor.sql.schema import Column, Protected, Schema, Table, View
from tests.clocks import at_once
from tests.quick import some

COLUMNS = {
    "id": ("INTEGER", "int4"),
    "grp": ("SMALLINT", "int2"),
    "big": ("BIGINT", "int8"),
    "ok": ("BOOLEAN", "bool"),
    "price": ("DECIMAL(10,2)", "numeric(10,2)"),
    "rate": ("DOUBLE", "float8"),
    "r4": ("FLOAT", "float4"),
    "name": ("VARCHAR", "text"),
    "day": ("DATE", "date"),
    "at": ("TIMESTAMP", "timestamp"),
    "tz": ("TIMESTAMP WITH TIME ZONE", "timestamptz"),
    "clock": ("TIME", "time"),
    "gap": ("INTERVAL", "interval"),
    "uid": ("UUID", "uuid"),
    "tags": ("VARCHAR[]", "text[]"),
    "nums": ("INTEGER[]", "int4[]"),
}
STAFF = Table("staff", tuple(Column(name, duck) for name, (duck, _) in COLUMNS.items()), (*COLUMNS, "salary"))
SCHEMA = Schema(
    (STAFF, Table("dept", (Column("grp", "SMALLINT"), Column("title", "VARCHAR")))),
    (Protected("staff", "salary", "INTEGER"),),
)

STATEMENTS = """
SELECT * FROM staff WHERE id = $1
SELECT * FROM staff WHERE $1 < big
SELECT * FROM staff s WHERE s.price >= $1 AND (s.name = $2)
SELECT count(*) FROM staff WHERE id IN ($1,$2,$3)
SELECT count(*) FROM staff WHERE grp NOT IN ($1, 3)
SELECT count(*) FROM staff WHERE grp IN (big, $1, $2) AND id IN ($3, 3000000000)
SELECT count(*) FROM staff WHERE $1 > id + r4
SELECT count(*) FROM staff WHERE day BETWEEN $1 AND $2
SELECT count(*) FROM staff WHERE $1 BETWEEN id AND big
SELECT count(*) FROM staff WHERE name LIKE $1 OR name ILIKE $2
SELECT count(*) FROM staff WHERE salary > $1
SELECT id + $1, rate * $2, price - $3, big / $4, grp % $5 FROM staff
SELECT id FROM staff ORDER BY id LIMIT $1 OFFSET $2
SELECT $1::int, CAST($2 AS bigint), $3::numeric(10,2), $4::date, $5::text, $6::int[], $7::timestamptz
SELECT id FROM staff WHERE at > $1 AND tz < $2 AND clock = $3 AND gap > $4
SELECT id FROM staff WHERE uid = $1 AND ok = $2 AND r4 = $3
SELECT id FROM staff WHERE ok AND $1
SELECT id FROM staff WHERE NOT $1
SELECT id FROM staff WHERE id = ANY($1)
SELECT id FROM staff WHERE name <> ALL($1)
SELECT id FROM staff WHERE $1 = ANY(nums)
SELECT id FROM staff WHERE tags = $1
SELECT coalesce(id, $1), coalesce($2, name), nullif(day, $3), greatest(price, $4) FROM staff
SELECT CASE WHEN id = $1 THEN $2 ELSE rate END FROM staff
SELECT CASE id WHEN $1 THEN 'a' ELSE $2 END FROM staff
SELECT CASE WHEN $1 THEN 1 ELSE 2 END
SELECT sum(id) FROM staff GROUP BY grp HAVING count(*) > $1 AND sum(id) > $2 AND avg(rate) < $3
SELECT sum(big) FROM staff HAVING sum(big) > $1 AND min(name) = $2 AND avg(id) > $3
SELECT * FROM staff s JOIN dept d ON s.grp = d.grp AND d.title = $1 WHERE d.grp = $2
SELECT * FROM (SELECT id AS x, name AS y FROM staff) t WHERE t.x = $1 AND y = $2
WITH w AS (SELECT day AS d, count(*) AS n FROM staff GROUP BY day) SELECT * FROM w WHERE d > $1 AND n > $2
WITH w(a, b) AS (SELECT id, rate FROM staff) SELECT * FROM w WHERE a = $1 AND w.b = $2
SELECT * FROM (SELECT * FROM staff) t WHERE price = $1
SELECT id FROM staff s WHERE EXISTS (SELECT 1 FROM dept d WHERE d.grp = s.grp AND s.id = $1 AND d.title = $2)
SELECT id FROM staff WHERE id = (SELECT max(grp) FROM dept WHERE title = $1) + $2
SELECT id FROM staff WHERE $1 IN (SELECT grp FROM dept)
SELECT id FROM staff WHERE (id, name) = ($1, $2)
SELECT id FROM staff WHERE (id, day) IN (($1, $2), ($3, $4))
SELECT lower($1), upper(name || $2), length($3), left(name, $4), replace(name, $5, $6) FROM staff
SELECT id FROM staff WHERE lower(name) = lower($1) AND length(name) > $2
SELECT id FROM staff WHERE day > $1::date - interval '1 day' AND day < $2
SELECT id FROM staff WHERE at - $1 > gap
SELECT id FROM staff WHERE at + $1 > tz
SELECT id FROM staff WHERE day - $1 > 30
SELECT id FROM staff WHERE id = $1 OR $1 = big
SELECT id FROM staff WHERE id > $1 AND id < $1 + $2
SELECT id FROM staff WHERE extract(year FROM day) = $1
SELECT id FROM staff WHERE date_trunc('month', at) = $1
SELECT date_trunc($1, at) FROM staff
SELECT round(price, $1), round(price) FROM staff WHERE round(price, 1) = $2
SELECT $1, 'a', $2 FROM staff
SELECT id FROM staff WHERE name = $1 AND id = 5 UNION ALL SELECT id FROM staff WHERE name > $2
SELECT id FROM public.staff WHERE staff.id = $1 AND "name" = $2
SELECT id FROM staff WHERE ($1 = id) IS TRUE AND (id IS NULL) = $2
SELECT sum(id) FILTER (WHERE day = $1), sum(CASE WHEN ok THEN salary ELSE $2 END) FROM staff
SELECT id FROM staff WHERE name = '$1' AND id = $1 -- $2
SELECT id FROM staff WHERE 1.5 < $1 AND 1 = $2 AND 3000000000 > $3
SELECT id FROM staff WHERE name IS DISTINCT FROM $1 AND id IS NOT DISTINCT FROM $2
SELECT rank() OVER (ORDER BY id), lag(id, $1) OVER (ORDER BY id) FROM staff WHERE rate = $2
SELECT id FROM staff WHERE sqrt($1) > 2 AND abs(id) = $2
SELECT id FROM staff FETCH FIRST 3 ROWS ONLY
SELECT id FROM staff WHERE concat(name, id) = $1 AND starts_with(name, $2)
""".strip().splitlines()


@pytest.fixture(scope="module")
def tables(postgres: Any) -> Iterator[Any]:
    columns = ", ".join(f'"{name}" {type_}' for name, (_, type_) in COLUMNS.items())
    postgres.execute(f"CREATE TABLE staff ({columns}, salary int4); CREATE TABLE dept (grp int2, title text)")
    yield postgres
    postgres.execute("DROP TABLE staff, dept")


@pytest.mark.parametrize("sql", STATEMENTS)
def test_types_are_those_of_postgresql(sql: str, tables: Any) -> None:
    prepared = tables.pgconn.prepare(b"", sql.encode())
    assert prepared.status == 1, prepared.error_message.decode()
    described = tables.pgconn.describe_prepared(b"")
    theirs = [described.param_type(place) for place in range(described.nparams)]
    ours = infer(sql, SCHEMA, "postgres")
    assert [BY_OID[oid].name for oid in ours] == [BY_OID[oid].name for oid in theirs]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT count(*) FROM staff WHERE id = $1 AND day = $2 LIMIT $3", ["int4", "date", "int8"]),
        ("SELECT sum(id) FROM staff HAVING sum(id) > $1 AND avg(id) > $2", ["numeric", "float8"]),
        ("SELECT sum(id) FROM staff HAVING AT_LEAST(sum(id)) > $1 AND at_most(max(id)) = $2", ["float8"] * 2),
        ("SELECT id FROM staff WHERE id IN ($1,$2) AND name = $3", ["int4", "int4", "text"]),
        ("FROM staff SELECT id WHERE rate > $1", ["float8"]),
        ("SELECT id FROM main.staff WHERE CAST($1 AS HUGEINT) = id AND id / 2 > $2", ["numeric", "float8"]),
        ("SELECT id FROM STAFF WHERE Big = $1", ["int8"]),
    ],
)
def test_duckdbs_dialect_has_duckdbs_types(sql: str, expected: list[str]) -> None:
    assert [BY_OID[oid].name for oid in infer(sql, SCHEMA, "duckdb")] == expected


def test_columns_of_views_have_the_types_of_what_they_read() -> None:
    views = (
        View("young", "SELECT id, day AS born FROM staff WHERE grp < 3", ()),
        View("named", "SELECT * FROM young", ("number",)),
        View("broken", "SELECT FROM", ()),
    )
    schema = Schema(SCHEMA.tables, SCHEMA.protected, views)
    assert infer("SELECT * FROM young WHERE born = $1", schema) == [1082]
    assert infer("SELECT * FROM named n WHERE n.number = $1 AND born = $2", schema) == [23, 1082]
    assert infer("SELECT * FROM broken WHERE x = $1", schema) == [25]


def test_where_postgresql_gives_up_the_other_side_decides() -> None:
    """PostgreSQL takes a CASE of parameters for a text, and then finds that no number equals a text."""
    sql = "SELECT id FROM staff WHERE rate = CASE WHEN ok THEN $1 ELSE $2 END AND day > coalesce($3, $4)"
    assert infer(sql, SCHEMA) == [701, 701, 1082, 1082]


def test_places_in_a_text_are_numbers() -> None:
    """PostgreSQL prefers its regular expressions here, which the gate does not have."""
    assert infer("SELECT substring(name, $1, $2) FROM staff", SCHEMA) == [23, 23]


def test_what_the_client_gives_stays_and_helps() -> None:
    assert infer("SELECT * FROM staff WHERE id = $1 AND id = $2", SCHEMA, given=(20, 0)) == [20, 23]
    assert infer("SELECT * FROM staff WHERE $1 = $2", SCHEMA, given=(701, 705)) == [701, 701]
    assert infer("SELECT 1", SCHEMA, given=(23, 0)) == [23, 25]
    assert infer("SELECT $1", SCHEMA, given=(999_999,)) == [999_999]


@pytest.mark.parametrize(
    "sql", ["SELECT FROM WHERE $1 $2", "SET x = $2", "", ")( $1 '", "SELECT $1 /* $2", "\0 $1"]
)
def test_a_statement_that_does_not_parse_has_texts(sql: str) -> None:
    assert set(infer(sql, SCHEMA)) <= {25}
    assert len(infer(sql, SCHEMA)) == highest(sql)


@pytest.mark.parametrize("sql", ["SELECT $0", "SELECT $65536", "SELECT $99999999999999999999", "SELECT $00"])
def test_numbers_that_no_parameter_has_are_an_error(sql: str) -> None:
    with pytest.raises(BadParameter) as error:
        infer(sql, SCHEMA)
    assert error.value.sqlstate == "42P02"
    assert len(infer("SELECT $65535", SCHEMA)) == 65_535


@pytest.mark.parametrize(
    ("sql", "numbers"),
    [
        ("$1,$2", [1, 2]),
        ("'$1' $2", [2]),
        ("'it''s $1' $2", [2]),
        ("E'\\'$1' $2", [2]),
        ('"$1" $2', [2]),
        ("-- $1\n$2", [2]),
        ("/* $1 /* $3 */ $1 */ $2", [2]),
        ("$$ $1 $$ $2", [2]),
        ("$a$ $1 $b$ $a$ $2", [2]),
        ("a$1 $2", [2]),
        ("$1a", [1]),
        ("x-$1", [1]),
        ("1/$1", [1]),
        ("'$1", []),
        ("/* $1", []),
        ("$$ $1", []),
        ("$x", []),
        ("$1$2", [1, 2]),
        ("é$1 $2", [2]),
        ("e '$1'", []),
    ],
)
def test_parameters_are_found_outside_of_texts_names_and_comments(sql: str, numbers: list[int]) -> None:
    assert [place.number for place in places(sql)] == numbers


def test_a_blank_keeps_parameters_from_being_read_as_a_quoted_text() -> None:
    sql = "SELECT 1 FROM t WHERE a IN ($1,$2) AND b = '$1,$2'"
    assert spaced(sql) == "SELECT 1 FROM t WHERE a IN ($1 ,$2 ) AND b = '$1,$2'"
    assert len(list(parse(spaced(sql)).find_all(type(parse("SELECT $1").selects[0])))) == 2


WORDS = """
SELECT FROM WHERE staff id name day $1 $2 $3 ( ) , = < + - * AND OR NOT IN LIKE BETWEEN CASE WHEN THEN
ELSE END ' " /* */ -- $$ :: int date CAST AS ANY sum lower LIMIT UNION WITH 1 'x' NULL . [ ] ; é
"""
words = st.sampled_from(WORDS.split())


@given(st.lists(words, max_size=25))
def test_whatever_the_text_each_parameter_has_a_type(chosen: list[str]) -> None:
    sql = " ".join(chosen)
    for dialect in ("postgres", "duckdb"):
        found = infer(sql, SCHEMA, dialect)  # type: ignore[arg-type]
        assert len(found) == highest(sql)
        assert all(oid in BY_OID for oid in found)


@pytest.mark.slow
@pytest.mark.parametrize(
    "sql",
    some([
        "SELECT " + ",".join(f"id + ${n}" for n in range(1, 4000)) + " FROM staff",
        "SELECT id FROM staff WHERE " + " OR ".join(f"id = ${n}" for n in range(1, 999)),
        "SELECT id FROM staff WHERE id IN (" + ",".join(f"${n}" for n in range(1, 6000)) + ")",
        "SELECT " + " + ".join(f"${n}" for n in range(1, 999)),
        "SELECT id FROM staff WHERE id = " + "coalesce($1, " * 45 + "1" + ")" * 45,
        "SELECT " + "(" * 10**5 + "$1",
        "'" * 10**6 + "$1",
        "/*" * 10**6,
        "$a" * 10**6,
        "$a$ " * 10**5 + "$1",
        "SELECT * FROM " + "(SELECT * FROM " * 20 + "staff" + ") t" * 20 + " WHERE id = $1",
        "SELECT id FROM staff WHERE id = CASE "
        + "".join(f"WHEN ${n} THEN ${n + 1} " for n in range(1, 3000))
        + "END",
        "SELECT id FROM staff WHERE id = coalesce(" + ",".join(f"${n}" for n in range(1, 5000)) + ")",
        "SELECT id FROM staff WHERE f(" + ",".join(f"${n}" for n in range(1, 5000)) + ")",
        "SELECT id FROM staff WHERE (id, name) IN (" + ",".join(["($1, $2)"] * 2000) + ")",
        "WITH w0 AS (SELECT * FROM staff), "
        + ", ".join(f"w{n} AS (SELECT * FROM w{n - 1} a, w{n - 1} b)" for n in range(1, 30))
        + " SELECT * FROM w29 WHERE id = $1",
    ], 8),
    ids=range(16),
)  # fmt: skip
def test_long_and_deep_statements_are_read_in_time(sql: str) -> None:
    with at_once():
        assert len(infer(sql, SCHEMA)) == highest(sql)
