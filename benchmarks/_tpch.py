"""A small TPC-H database: the benchmark's schema and value ranges, made here.

Not the benchmark's data: sizes are free, texts are short, and the words that the queries look for occur often
enough for most of them to find something.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

QUERIES = 22
LINES = 6_000

_TABLES = """
CREATE MACRO pick(i, salt, n) AS CAST(hash(i::VARCHAR || salt) % n AS INTEGER);
CREATE MACRO word(i, salt, words) AS words[1 + pick(i, salt, len(words))];
CREATE MACRO day(i, salt) AS DATE '1992-01-01' + pick(i, salt, 2406);

CREATE TABLE region AS SELECT i::INTEGER AS r_regionkey,
    ['AFRICA', 'AMERICA', 'ASIA', 'EUROPE', 'MIDDLE EAST'][i + 1] AS r_name, 'about ' || i AS r_comment
FROM range(5) t(i);
CREATE TABLE nation AS SELECT i::INTEGER AS n_nationkey,
    ['ALGERIA', 'ARGENTINA', 'BRAZIL', 'CANADA', 'EGYPT', 'ETHIOPIA', 'FRANCE', 'GERMANY', 'INDIA',
     'INDONESIA', 'IRAN', 'IRAQ', 'JAPAN', 'JORDAN', 'KENYA', 'MOROCCO', 'MOZAMBIQUE', 'PERU', 'CHINA',
     'ROMANIA',
     'SAUDI ARABIA', 'VIETNAM', 'RUSSIA', 'UNITED KINGDOM', 'UNITED STATES'][i + 1] AS n_name,
    [0, 1, 1, 1, 4, 0, 3, 3, 2, 2, 4, 4, 2, 4, 0, 0, 0, 1, 2, 3, 4, 2, 3, 3, 1][i + 1] AS n_regionkey,
    'about ' || i AS n_comment
FROM range(25) t(i);
CREATE TABLE supplier AS SELECT i::INTEGER AS s_suppkey, 'Supplier#' || i AS s_name,
    'street ' || i AS s_address,
    pick(i, 'n', 25) AS s_nationkey, (10 + s_nationkey) || '-555-' || i AS s_phone,
    CAST(pick(i, 'b', 1100000) / 100 - 1000 AS DECIMAL(15, 2)) AS s_acctbal,
    word(i, 'c', ['', 'Customer has Complaints', 'quick']) AS s_comment
FROM range(1, 51) t(i);
CREATE TABLE part AS SELECT i::INTEGER AS p_partkey,
    word(i, 'p', ['green', 'forest', 'azure']) || ' ' || word(i, 'q', ['green', 'linen']) AS p_name,
    'Manufacturer#' || (1 + pick(i, 'm', 5)) AS p_mfgr,
    'Brand#' || (1 + pick(i, 'm', 5)) || (1 + pick(i, 'r', 5)) AS p_brand,
    word(i, 't', ['STANDARD', 'SMALL', 'MEDIUM', 'LARGE', 'ECONOMY', 'PROMO']) || ' '
        || word(i, 'u', ['ANODIZED', 'BURNISHED', 'PLATED', 'POLISHED', 'BRUSHED']) || ' '
        || word(i, 'v', ['TIN', 'NICKEL', 'BRASS', 'STEEL', 'COPPER']) AS p_type,
    1 + pick(i, 's', 50) AS p_size,
    word(i, 'w', ['SM', 'LG', 'MED', 'JUMBO', 'WRAP']) || ' '
        || word(i, 'x', ['CASE', 'BOX', 'BAG', 'JAR', 'PKG', 'PACK', 'CAN', 'DRUM']) AS p_container,
    CAST(900 + i % 1000 / 10 AS DECIMAL(15, 2)) AS p_retailprice, 'about ' || i AS p_comment
FROM range(1, 401) t(i);
CREATE TABLE partsupp AS SELECT (1 + i % 400)::INTEGER AS ps_partkey,
    (1 + (i % 400 + i // 400 * 13) % 50)::INTEGER AS ps_suppkey, 1 + pick(i, 'a', 9999) AS ps_availqty,
    CAST(pick(i, 'c', 100000) / 100 AS DECIMAL(15, 2)) AS ps_supplycost, 'about ' || i AS ps_comment
FROM range(1600) t(i);
CREATE TABLE customer AS SELECT i::INTEGER AS c_custkey, 'Customer#' || i AS c_name,
    'street ' || i AS c_address,
    pick(i, 'n', 25) AS c_nationkey, (10 + c_nationkey) || '-555-' || i AS c_phone,
    CAST(pick(i, 'b', 1100000) / 100 - 1000 AS DECIMAL(15, 2)) AS c_acctbal,
    word(i, 's', ['AUTOMOBILE', 'BUILDING', 'FURNITURE', 'MACHINERY', 'HOUSEHOLD']) AS c_mktsegment,
    'about ' || i AS c_comment
FROM range(1, 301) t(i);
CREATE TABLE orders AS SELECT i::INTEGER AS o_orderkey, 1 + pick(i, 'c', 200) AS o_custkey,
    word(i, 's', ['F', 'O', 'P']) AS o_orderstatus,
    CAST(pick(i, 't', 50000000) / 100 AS DECIMAL(15, 2)) AS o_totalprice, day(i, 'd') AS o_orderdate,
    word(i, 'p', ['1-URGENT', '2-HIGH', '3-MEDIUM', '4-NOT SPECIFIED', '5-LOW']) AS o_orderpriority,
    'Clerk#' || pick(i, 'k', 100) AS o_clerk, 0 AS o_shippriority,
    word(i, 'm', ['special packages requests', 'quick', 'slow']) AS o_comment
FROM range(1, {lines} // 4 + 1) t(i);
CREATE TABLE lineitem AS SELECT (1 + i // 4)::INTEGER AS l_orderkey, ps_partkey AS l_partkey,
    ps_suppkey AS l_suppkey,
    (1 + i % 4)::INTEGER AS l_linenumber, CAST(1 + pick(i, 'q', 50) AS DECIMAL(15, 2)) AS l_quantity,
    CAST(l_quantity * (900 + ps_partkey % 1000 / 10) AS DECIMAL(15, 2)) AS l_extendedprice,
    CAST(pick(i, 'd', 11) / 100 AS DECIMAL(15, 2)) AS l_discount,
    CAST(pick(i, 't', 9) / 100 AS DECIMAL(15, 2)) AS l_tax,
    word(i, 'r', ['R', 'A', 'N']) AS l_returnflag, word(i, 's', ['O', 'F']) AS l_linestatus,
    o_orderdate + 1 + pick(i, 'p', 121) AS l_shipdate, o_orderdate + 30 + pick(i, 'm', 61) AS l_commitdate,
    l_shipdate + 1 + pick(i, 'e', 30) AS l_receiptdate,
    word(i, 'i', ['DELIVER IN PERSON', 'COLLECT COD', 'NONE', 'TAKE BACK RETURN']) AS l_shipinstruct,
    word(i, 'o', ['REG AIR', 'AIR', 'RAIL', 'SHIP', 'TRUCK', 'MAIL', 'FOB']) AS l_shipmode,
    'about ' || i AS l_comment
FROM range({lines}) t(i)
JOIN (SELECT *, row_number() OVER (ORDER BY ps_partkey, ps_suppkey) - 1 AS n FROM partsupp)
    ON n = pick(i, 'x', 1600)
JOIN orders ON o_orderkey = 1 + i // 4;
DROP MACRO pick; DROP MACRO word; DROP MACRO day;
"""


def build(path: Path, lines: int = LINES) -> Path:
    """A DuckDB file with the eight tables; `lineitem` has `lines` rows."""
    with duckdb.connect(str(path)) as connection:
        connection.execute(_TABLES.replace("{lines}", str(lines)))
    return path


def queries(folder: Path) -> dict[str, str]:
    """The 22 queries as published, by name, from sqlglot's fixture, where each stands before its plan."""
    found: dict[str, str] = {}
    for part in (folder / "tpch" / "tpc-h.sql").read_text("utf-8").split("-- TPC-H ")[1:]:
        name, _, rest = part.partition("\n")
        text = "\n".join(line for line in rest.splitlines() if not line.startswith("---"))
        found[f"Q{name.strip()}"] = text.split(";")[0].strip()
    return found
