-- What attackers write: {T} a protected table, {S} its protected column, {P} and {Q} public ones, {L} a lookup,
-- {NAMES} as many names as the table has columns, {E} one of the expressions. One on each line.
-- statements
SELECT t FROM {T} t
SELECT t.* FROM {T} t
SELECT MAX(t) FROM {T} t
SELECT {T} FROM {T}
SELECT MAX(c1) FROM {T} AS t({NAMES})
WITH w({NAMES}) AS (SELECT * FROM {T}) SELECT SUM(c2) FROM w
SELECT MAX(a) FROM {T} AS t(a)
SELECT MAX(a) FROM {T} AS t(a, b)
SELECT {S} FROM {T}
SELECT SUM(x) FROM (SELECT {P} AS x, {S} AS x FROM {T})
SELECT * FROM (SELECT {S} AS {P}, {P} FROM {T})
SELECT {P}, SUM({S}) FROM {T} GROUP BY {P}, {S}
SELECT COUNT(*) FROM {T} GROUP BY {S}
SELECT SUM({S}) FROM {T} WHERE {S} > 50
SELECT SUM({S}) FROM {T} WHERE {E} > 3
SELECT {E} FROM {T}
SELECT {E}, SUM({S}) FROM {T} GROUP BY ALL
SELECT SUM({S}) FROM {T} GROUP BY {E}
SELECT SUM({S}) FROM {T} HAVING {E} > 0
SELECT {P} FROM {T} ORDER BY {E}
SELECT {P} FROM {T} LIMIT {E}
SELECT SUM({S}) FROM {T} ORDER BY {E}
SELECT SUM({S}) FROM {T} LIMIT (SELECT MAX({S}) FROM {T})
SELECT DISTINCT ON ({P}) {Q} FROM {T} ORDER BY {S}
SELECT DISTINCT {S} FROM {T}
SELECT SUM({S}) FROM {T} TABLESAMPLE 10%
SELECT SUM({S}) FROM {T} USING SAMPLE 3
SELECT a.{P} FROM {T} a JOIN {T} b ON a.{S} = b.{S}
SELECT COUNT(*) FROM {T} a JOIN {T} b USING ({S})
SELECT COUNT(*) FROM {T} a NATURAL JOIN {T} b
SELECT SUM(a.{S}) FROM {T} a, {T} b
SELECT SUM(a.{S} - b.{S}) FROM {T} a JOIN {T} b ON a.{P} = b.{P}
SELECT SUM(a.{S}) FROM {T} a ASOF JOIN {T} b ON a.{P} >= b.{P}
SELECT SUM(a.{S}) FROM {T} a POSITIONAL JOIN {L} b
SELECT SUM({S}) FROM {T}, LATERAL (SELECT 1) l
SELECT (SELECT b.{S} FROM {T} b WHERE b.{P} = a.{P} LIMIT 1) FROM {T} a
SELECT SUM((SELECT {S})) FROM {T}
SELECT (SELECT SUM(a.{S})) FROM {T} a
SELECT (SELECT {S}) FROM {T}
SELECT SUM({S}) FROM (SELECT * FROM {T} ORDER BY {S} LIMIT 3)
FROM {T}
FROM {T} SELECT {S}
TABLE {T}
SELECT SUM(x) FROM (SELECT MAX({S}) AS x FROM {T} GROUP BY {P} ORDER BY x LIMIT 1)
SELECT MAX({S}) FROM (SELECT {S} FROM {T} UNION SELECT {S} FROM {T})
SELECT {S} FROM {T} INTERSECT SELECT {S} FROM {T}
SELECT {P} FROM {T} EXCEPT SELECT {S} FROM {T}
SELECT {P} FROM {T} UNION BY NAME SELECT {S} FROM {T}
SELECT SUM({S}) FROM {T} UNION SELECT {S} FROM {T}
SELECT * FROM {T} PIVOT (SUM({S}) FOR {P} IN (1, 2))
PIVOT {T} ON {P} USING SUM({S})
UNPIVOT {T} ON {P}, {S}
SELECT * FROM (VALUES (1)) v
VALUES ((SELECT MAX({S}) FROM {T}))
SELECT * FROM range(3)
SELECT * FROM query('SELECT 1')
SELECT * FROM query_table('{T}')
SELECT * FROM read_csv('/etc/passwd')
SELECT * FROM '/etc/passwd'
FROM duckdb_settings()
SELECT * FROM duckdb_tables
SELECT * FROM information_schema.tables
SELECT * FROM sqlite_master
SELECT * FROM pragma_table_info('staff')
SELECT * FROM temp._block0
SELECT * FROM _block0
SELECT * FROM _data.{T}
SELECT * FROM "_block0_values"
SELECT SUM({S}), (SELECT _a0 FROM _block0) FROM {T}
WITH _block0 AS (SELECT 1 AS _a0) SELECT SUM({S}), (SELECT MAX(_a0) FROM _block0) FROM {T}
WITH {T} AS (SELECT {S} AS {P}, {P} AS {S} FROM {T}) SELECT SUM({S}) FROM {T}
WITH w AS (SELECT * FROM {T}), w2 AS (SELECT * FROM w) SELECT SUM({S}) FROM w2 a, w2 b
WITH RECURSIVE w AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM w WHERE a < 3) SELECT SUM(a) FROM w
WITH w AS (DELETE FROM {T} RETURNING {S}) SELECT * FROM w
WITH w AS (INSERT INTO {L} SELECT 1) SELECT 1
DROP TABLE {T}
DELETE FROM {T}
UPDATE {T} SET {S} = 1
COPY {T} TO '/tmp/x'
ATTACH 'x.db'
PRAGMA version
SET threads = 1
EXPLAIN SELECT SUM({S}) FROM {T}
DESCRIBE {T}
SUMMARIZE {T}
SHOW TABLES
CALL range(1)
EXPLAIN ANALYZE SELECT {S} FROM {T}
DESCRIBE SELECT {S} FROM {T}
CREATE TABLE x AS SELECT * FROM {T}
SELECT 1; SELECT 2
SELECT SUM({S}) FROM {T}; DROP TABLE {T}
SELECT {S} INTO x FROM {T}
EXECUTE p(1)
PREPARE p AS SELECT 1
BEGIN
COMMIT
LOAD httpfs
CREATE MACRO f(x) AS x
USE main
CHECKPOINT
SELECT SUM({S}) FROM {T} GROUP BY GROUPING SETS (({P}), ({S}), ())
SELECT SUM({S}) FROM {T} GROUP BY CUBE ({S})
SELECT {P}, SUM({S}) OVER (PARTITION BY {P}) FROM {T}
SELECT {P}, rank() OVER (ORDER BY {S}) FROM {T}
SELECT {P} FROM {T} QUALIFY rank() OVER (ORDER BY {S}) = 1
SELECT {P} FROM {T} QUALIFY MAX({S}) OVER () = {S}
SELECT SUM({S}) FROM (SELECT {S} FROM {T} QUALIFY row_number() OVER (ORDER BY {P}) <= 2)
SELECT SUM({S}) FROM (SELECT {S}, row_number() OVER (ORDER BY {P}) AS n FROM {T}) WHERE n <= 3
SELECT SUM(COLUMNS(*)) FROM {T}
SELECT MAX(COLUMNS('.*')) FROM {T}
SELECT COLUMNS(c -> true) FROM {T}
SELECT SUM({S}) FROM {T} WHERE {P} IN (SELECT {S} FROM {T})
SELECT SUM({S}) s, s + 1 FROM {T}
SELECT {P}, s FROM (SELECT {P}, SUM({S}) s FROM {T} GROUP BY ALL) q WHERE s > (SELECT AVG({S}) FROM {T})
SELECT {P} AS {S}, SUM({S}) FROM {T} GROUP BY {P}
SELECT {S} AS {P}, SUM({S}) FROM {T} GROUP BY {P}
SELECT {P} AS {S} FROM {T} ORDER BY {S}
SELECT {P} AS {S} FROM {T} WHERE {S} > 3
SELECT 1 AS {S} FROM {T} GROUP BY {S}
SELECT SUM({S}) AS {P} FROM {T} HAVING {P} > 1
SELECT SUM({S}) AS {P}, {Q} FROM {T} GROUP BY {Q} ORDER BY {P} + 1
SELECT COUNT(*) FROM {T} WHERE CASE WHEN {S} > 3 THEN TRUE END
SELECT {P} FROM {T} GROUP BY ALL HAVING {S} > 0
SELECT SUM({S}) FROM {T} AT (VERSION => 1)
SELECT SUM({S}) FROM {T} WHERE {P} COLLATE nocase = 'it'
SELECT a.{S} FROM (SELECT SUM({S}) AS {S} FROM {T}) a
SELECT SUM(a.{S}) FROM {L} LEFT JOIN {T} a ON TRUE
SELECT SUM({S}) FROM {T} FULL JOIN {L} ON FALSE
SELECT (((((((((({E}))))))))))
SELECT -{P} FROM {T}
SELECT SUM({S}) FROM {T} WHERE ({P}, {S}) IN (SELECT {P}, {S} FROM {T})
(SELECT {S} FROM {T})
SELECT * EXCLUDE ({S}) FROM {T}
SELECT * REPLACE (1 AS {S}) FROM {T}
SELECT * RENAME ({S} AS x) FROM {T}
SELECT * LIKE '%a%' FROM {T}
SELECT {T}.{S}, SUM({S}) FROM {T} GROUP BY ALL
SELECT #1, {P} FROM {T}
SELECT SUM({S}) FROM {T} GROUP BY #1
SELECT {P} p FROM {T} WHERE p IS NOT NULL GROUP BY p HAVING SUM({S}) > 0
SELECT MAX(s) FROM (SELECT SUM({S}) AS s FROM {T} GROUP BY {P}) WHERE s < (SELECT MAX({S}) FROM {T})
-- expressions
{S}
{T}.{S}
MAX({S})
{T}
t
rowid
{T}.rowid
{T}.*
*
COLUMNS(*)
COLUMNS('.*')
random()
now()
current_date
uuid()
nextval('s')
getvariable('x')
current_setting('threads')
hash({S})
row({S})
[{S}]
{{'a': {S}}}
struct_pack(a := {S})
list({S})
array_agg({S})
string_agg({S}, ',')
first({S})
any_value({S})
max_by({P}, {S})
arg_min({S}, {P})
mode({S})
SELECT {S} FROM {T} LIMIT 1
SELECT MAX({S}) FROM {T}
SELECT SUM({S}) FROM {T} WHERE {P} IS NULL
SELECT MIN({S}) FROM {T} WHERE {S} IS NOT NULL
EXISTS (SELECT 1 FROM {T} WHERE {S} > 50)
SELECT x FROM (SELECT {S} AS x FROM {T}) WHERE x > 3
CAST({S} AS VARCHAR)
{S} IS NULL
CASE WHEN {S} > 40 THEN 1 ELSE 1/0 END
SUM({S}) OVER ()
rank() OVER (ORDER BY {S})
row_number() OVER (PARTITION BY {P} ORDER BY {P})
lag({S}) OVER (ORDER BY {P})
error('x')
SUM({S}) FILTER (WHERE {S} > 3)
SUM({S} + 0 * {P})
COUNT({S}) > 0
1 / (SUM({S}) - 100)
{S} = ANY (SELECT {S} FROM {T})
list_transform([1], x -> {S})
[x for x in [{S}]]
{S}[1]
{S}.a
query('SELECT 1')
read_text('/etc/passwd')
getenv('HOME')
md5({S})
typeof({T})
alias({S})
generate_series(1, 3)
unnest([1, 2])
unnest(range(3))
version()
current_schema()
pg_typeof(1)
_m0_0
_a0
_k0
_block0._a0
CAST('x' AS INTEGER)
2147483647 + {P}
1e308 * SUM({S}) * 10
try(SUM({S}))
SUM({S}) COLLATE nocase
sum(DISTINCT {S})
count(DISTINCT {S})
sum({S} ORDER BY {S})
max({S}, 2)
min({P}, 3)
approx_count_distinct({S})
histogram({S})
ifnull({S}, 1)
bit_xor({S})
GROUPING({S})
{P} COLLATE NOCASE
format('{{}}', {S})
printf('%d', {S})
map([1],[{S}])
