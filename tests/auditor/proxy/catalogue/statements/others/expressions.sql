SELECT attnum / 2, attnum + 1, attnum % 2, attnum * attnum, -attnum FROM pg_attribute
WHERE attrelid = 'staff'::regclass AND attnum > 0 ORDER BY attnum;

SELECT unnest(ARRAY[1,2])
FROM pg_catalog.pg_class c WHERE relname IN ('staff', 'grade') ORDER BY relname;

SELECT generate_series(1,2)
FROM pg_catalog.pg_class c WHERE relname IN ('staff', 'grade') ORDER BY relname;

SELECT generate_series(2,1)
FROM pg_catalog.pg_class c WHERE relname IN ('staff', 'grade') ORDER BY relname;

SELECT generate_series(1,5,2)
FROM pg_catalog.pg_class c WHERE relname IN ('staff', 'grade') ORDER BY relname;

SELECT generate_subscripts(ARRAY[5,6],1)
FROM pg_catalog.pg_class c WHERE relname IN ('staff', 'grade') ORDER BY relname;

SELECT relname || 1,
       relname || NULL,
       -7 / 2,
       7 % 3,
       -7 % 3,
       relname = 'STAFF'
FROM pg_catalog.pg_class c WHERE relname IN ('staff', 'grade') ORDER BY relname;

SELECT upper(relname),
       length(relname),
       substring(relname from 2 for 2),
       substr(relname, 2),
       left(relname, 2),
       left(relname, -2)
FROM pg_catalog.pg_class c WHERE relname IN ('staff', 'grade') ORDER BY relname;

SELECT right(relname, 2),
       position('t' in relname),
       strpos(relname, 'f'),
       trim('  x '),
       btrim('xxaxx','x'),
       ltrim('xxa','x')
FROM pg_catalog.pg_class c WHERE relname IN ('staff', 'grade') ORDER BY relname;

SELECT split_part('a,b,c', ',', 2),
       split_part('a,b,c', ',', -1),
       replace(relname, 't', 'TT'),
       concat(relname, NULL, 1),
       concat_ws('-', relname, NULL, 'x'),
       quote_ident('Ab c')
FROM pg_catalog.pg_class c WHERE relname IN ('staff', 'grade') ORDER BY relname;

SELECT quote_ident('select'),
       quote_ident('name'),
       quote_literal('o''k'),
       quote_literal(NULL),
       quote_nullable(NULL),
       coalesce(NULL, relname)
FROM pg_catalog.pg_class c WHERE relname IN ('staff', 'grade') ORDER BY relname;

SELECT nullif(relname, 'staff'),
       greatest(1, 2, NULL),
       least(3, 2),
       relkind IN ('r', 'v'),
       relkind = ANY (ARRAY['r', 'v']),
       relkind = ANY ('{r,v}')
FROM pg_catalog.pg_class c WHERE relname IN ('staff', 'grade') ORDER BY relname;

SELECT relname <> ALL (ARRAY['a'::name]),
       relname LIKE 's%',
       relname ~ 'sta(f)+',
       relname ~* 'STAFF',
       relname !~ '^s',
       regexp_replace(relname, 'f+', 'X')
FROM pg_catalog.pg_class c WHERE relname IN ('staff', 'grade') ORDER BY relname;

SELECT regexp_replace(relname, '(s)(t)', '\2\1', 'g'),
       CASE relkind WHEN 'r' THEN 'table' ELSE 'other' END,
       oid::regclass,
       oid::regclass::text,
       oid::text,
       oid::int8
FROM pg_catalog.pg_class c WHERE relname IN ('staff', 'grade') ORDER BY relname;

SELECT relname::text,
       relkind::text,
       '5'::int4,
       5::text,
       true::text,
       true::int4
FROM pg_catalog.pg_class c WHERE relname IN ('staff', 'grade') ORDER BY relname;

SELECT 1::bool,
       't'::bool,
       'no'::bool,
       NULL::int4,
       1.5,
       1.5::int4
FROM pg_catalog.pg_class c WHERE relname IN ('staff', 'grade') ORDER BY relname;

SELECT 2.5::int4,
       -1.5::int4,
       '1.5'::float8,
       'abc'::varchar(2),
       'abc'::name,
       ARRAY[1,2]
FROM pg_catalog.pg_class c WHERE relname IN ('staff', 'grade') ORDER BY relname;

SELECT ARRAY['a','b'],
       ARRAY[1,2] || ARRAY[3],
       array_length(ARRAY[1,2], 1),
       array_upper(ARRAY[1,2], 1),
       array_lower(ARRAY[1,2],1),
       array_to_string(ARRAY['a',NULL,'b'], ',')
FROM pg_catalog.pg_class c WHERE relname IN ('staff', 'grade') ORDER BY relname;

SELECT array_position(ARRAY['a','b'],'b'),
       cardinality(ARRAY[1]),
       (ARRAY[1,2])[1],
       (ARRAY[1,2])[3],
       array_remove(ARRAY[1,2,1],1),
       relnamespace::regnamespace
FROM pg_catalog.pg_class c WHERE relname IN ('staff', 'grade') ORDER BY relname;

SELECT relnamespace::regnamespace::text,
       'int4'::regtype,
       'int4'::regtype::oid,
       23::regtype,
       1247::regclass,
       0::regclass
FROM pg_catalog.pg_class c WHERE relname IN ('staff', 'grade') ORDER BY relname;

SELECT 999999::regclass,
       'pg_type'::regclass::oid,
       'array_recv'::regproc,
       to_regtype('nosuch'),
       to_regclass('nosuch'),
       format_type(23, NULL)
FROM pg_catalog.pg_class c WHERE relname IN ('staff', 'grade') ORDER BY relname;

SELECT format_type(1043, 14),
       format_type(1042, 14),
       format_type(0, NULL),
       format_type(12345, NULL),
       format_type(1114, 3),
       format_type(1016, NULL)
FROM pg_catalog.pg_class c WHERE relname IN ('staff', 'grade') ORDER BY relname;

SELECT format_type(2287,-1),
       pg_encoding_to_char(6),
       pg_encoding_to_char(8),
       pg_char_to_encoding('UTF8'),
       pg_table_is_visible(oid),
       pg_table_is_visible(0)
FROM pg_catalog.pg_class c WHERE relname IN ('staff', 'grade') ORDER BY relname;

SELECT obj_description(oid),
       col_description(oid, 1),
       has_table_privilege(oid, 'select'),
       has_table_privilege('ada', 'staff', 'SELECT'),
       has_table_privilege('staff', 'DELETE'),
       pg_get_userbyid(0)
FROM pg_catalog.pg_class c WHERE relname IN ('staff', 'grade') ORDER BY relname;

SELECT current_user,
       current_schemas(false),
       current_setting('server_encoding'),
       current_setting('nope', true),
       relname < 'z',
       relname BETWEEN 'a' AND 'z'
FROM pg_catalog.pg_class c WHERE relname IN ('staff', 'grade') ORDER BY relname;

SELECT NOT relhasindex,
       relhasindex AND NULL,
       relhasindex IS NOT TRUE,
       NULL IS NULL,
       relname IS DISTINCT FROM 'x',
       (SELECT count(*) FROM pg_attribute a WHERE a.attrelid = c.oid AND attnum > 0)
FROM pg_catalog.pg_class c WHERE relname IN ('staff', 'grade') ORDER BY relname;

SELECT EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid),
       (SELECT max(attname) FROM pg_attribute a WHERE a.attrelid = c.oid AND attnum > 0),
       ARRAY(SELECT attname FROM pg_attribute a WHERE a.attrelid = c.oid AND attnum > 0 ORDER BY attnum),
       (SELECT string_agg(attname, ', ' ORDER BY attnum) FROM pg_attribute a WHERE a.attrelid = c.oid AND attnum > 0),
       (SELECT array_agg(attnum ORDER BY attnum DESC) FROM pg_attribute a WHERE a.attrelid = c.oid AND attnum > 0),
       (SELECT sum(attnum) FROM pg_attribute a WHERE a.attrelid = c.oid AND attnum > 0)
FROM pg_catalog.pg_class c WHERE relname IN ('staff', 'grade') ORDER BY relname;

SELECT (SELECT bool_and(attnotnull) FROM pg_attribute a WHERE a.attrelid = c.oid AND attnum > 0),
       (SELECT count(DISTINCT atttypid) FROM pg_attribute a WHERE a.attrelid = c.oid AND attnum > 0),
       row_number() OVER (ORDER BY relname),
       rank() OVER (ORDER BY relkind),
       count(*) OVER (),
       lag(relname) OVER (ORDER BY relname)
FROM pg_catalog.pg_class c WHERE relname IN ('staff', 'grade') ORDER BY relname;

SELECT (1, 2) = (1, 3),
       1 << 3,
       5 & 4,
       5 | 2,
       ~1,
       round(2.5)
FROM pg_catalog.pg_class c WHERE relname IN ('staff', 'grade') ORDER BY relname;

SELECT round(-2.5),
       floor(2.7),
       ceil(2.1),
       trunc(2.7),
       mod(-7, 3),
       abs(-3)
FROM pg_catalog.pg_class c WHERE relname IN ('staff', 'grade') ORDER BY relname;

SELECT md5('a'),
       chr(65),
       ascii('A'),
       reverse('abc'),
       translate('abc','ab','xy'),
       starts_with('abc','a')
FROM pg_catalog.pg_class c WHERE relname IN ('staff', 'grade') ORDER BY relname;

SELECT octet_length('ä'),
       char_length('ä'),
       E'a\nb',
       'a''b',
       date '2020-01-01',
       timestamp '2020-01-01 00:00'
FROM pg_catalog.pg_class c WHERE relname IN ('staff', 'grade') ORDER BY relname;

SELECT interval '1 day',
       c.tableoid,
       c.tableoid::regclass,
       c.relam::regclass,
       txid_current() > 0,
       pg_backend_pid() > 0
FROM pg_catalog.pg_class c WHERE relname IN ('staff', 'grade') ORDER BY relname;

SELECT concat('a','b') || 'c',
       relname COLLATE "C",
       ltrim(relname, 'st'),
       current_date > '2020-01-01',
       '{1,2}'::int4[],
       '{a,"b c"}'::text[]
FROM pg_catalog.pg_class c WHERE relname IN ('staff', 'grade') ORDER BY relname;

SELECT '{}'::int4[],
       NULL || ARRAY[1],
       'x' IN (NULL),
       relname NOT IN ('x', NULL),
       'a' < 'B',
       min(relname) OVER ()
FROM pg_catalog.pg_class c WHERE relname IN ('staff', 'grade') ORDER BY relname;

SELECT count(relname) FILTER (WHERE true) OVER (),
       1 = ANY (ARRAY[1,NULL]),
       2 = ANY (ARRAY[1,NULL]),
       2 <> ALL (ARRAY[1,NULL]),
       NULL = ANY (ARRAY[1]),
       1 = ANY (NULL::int4[])
FROM pg_catalog.pg_class c WHERE relname IN ('staff', 'grade') ORDER BY relname;

SELECT 3 <> ALL (ARRAY[1]),
       length(NULL),
       10/4,
       0.1+0.2,
       0.1::float4,
       1::float8/3
FROM pg_catalog.pg_class c WHERE relname IN ('staff', 'grade') ORDER BY relname;

SELECT 9999999999,
       oid::regtype
FROM pg_catalog.pg_class c WHERE relname IN ('staff', 'grade') ORDER BY relname;
