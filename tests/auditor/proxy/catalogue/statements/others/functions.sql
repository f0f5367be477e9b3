SELECT current_setting('server_version_num')::integer AS v, current_setting('TIMEZONE') AS tz;

SELECT CAST(current_setting('server_version_num') AS integer) / 10000 AS major;

SELECT pg_catalog.current_setting('server_version_num')::int >= 140000 AS ok, current_schema();

SELECT * FROM unnest((SELECT array_agg(relname ORDER BY relname) FROM pg_class WHERE relnamespace = 'public'::regnamespace)) AS u(v);

SELECT row_to_json(t) FROM (SELECT relname AS a, relnatts AS b FROM pg_class WHERE relname = 'staff') t;

SELECT a.grantee, a.privilege_type, c.relname FROM pg_class c, aclexplode(c.relacl) a WHERE relname = 'staff' ORDER BY 1, 2;

SELECT a.privilege_type FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) AS a(g, e, privilege_type, x) WHERE relname = 'staff';

SELECT count(*) AS n FROM pg_catalog.pg_show_all_settings() AS s WHERE s.name = 'server_version';

SELECT * FROM current_schema() AS s, current_database() AS d;

SELECT catalog_name FROM information_schema.information_schema_catalog_name;

SELECT word FROM pg_get_keywords() WHERE word = 'abort';

SELECT "user", "all" FROM (SELECT 1 AS user, 2 AS all, 3 AS select, 4 AS not FROM pg_class LIMIT 1) x;

SELECT oid::regclass FROM pg_class WHERE relkind IN ('r') AND pg_table_is_visible(oid) AND relnamespace = 2200;
