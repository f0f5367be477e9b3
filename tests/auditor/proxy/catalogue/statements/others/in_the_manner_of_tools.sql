SELECT oid, typname FROM pg_type WHERE oid IN (16, 20, 21, 23, 25, 700, 701, 1043, 1082, 1114, 1184, 1700) ORDER BY oid;

SELECT table_schema, table_name, table_type FROM information_schema.tables
WHERE table_schema NOT IN ('pg_catalog', 'information_schema') AND table_name LIKE '%a%' ORDER BY 1, 2;

SELECT column_name, data_type, udt_name, is_nullable, character_maximum_length, numeric_precision, numeric_scale,
       datetime_precision, ordinal_position, column_default, is_identity, is_generated, collation_name
FROM information_schema.columns WHERE table_schema = 'public' AND table_name = 'kinds' ORDER BY ordinal_position;

SELECT tc.constraint_name, kcu.column_name, ccu.table_name AS foreign_table
FROM information_schema.table_constraints AS tc
JOIN information_schema.key_column_usage AS kcu ON tc.constraint_name = kcu.constraint_name
JOIN information_schema.constraint_column_usage AS ccu ON ccu.constraint_name = tc.constraint_name
WHERE tc.constraint_type = 'FOREIGN KEY' AND tc.table_name = 'staff';

SELECT schemaname, tablename FROM pg_tables WHERE schemaname IN ('public', 'hr') ORDER BY 1, 2;

SELECT schemaname, viewname FROM pg_views WHERE schemaname = 'public';

SELECT EXISTS (SELECT FROM information_schema.tables WHERE table_schema = 'public' AND table_name = 'staff');

SELECT has_table_privilege('staff', 'SELECT'), has_table_privilege('staff', 'INSERT'),
       has_schema_privilege('hr', 'USAGE'), has_schema_privilege('hr', 'CREATE');

-- parameters: ["public", "staff"]
SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND c.relname = $2 AND a.attnum > 0 ORDER BY a.attnum;

SELECT c.table_name, array_agg(c.column_name::text ORDER BY c.ordinal_position) AS columns, count(*)
FROM information_schema.columns c WHERE c.table_schema = 'public' GROUP BY c.table_name ORDER BY 1;

SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' ORDER BY nspname;

SELECT n.nspname, c.relname, c.reltuples::bigint AS estimate, pg_catalog.obj_description(c.oid) AS comment
FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND n.nspname = 'public' ORDER BY lower(c.relname);

SELECT pid, usename, state FROM pg_stat_activity WHERE query ILIKE '%nosuch%';

SELECT current_schemas(false), current_setting('standard_conforming_strings'), pg_is_in_recovery();

SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg\_%' AND nspname LIKE 'h%' ORDER BY 1;

SELECT relname, relname LIKE 'st\_ff', relname NOT ILIKE 'ST_F_', relname LIKE 'st!aff' ESCAPE '!',
       relname ~~ 'st\aff', relname !~~* 'S%', relname LIKE '%\%%', relname ~ '^s.*f$', relname !~* '^S'
FROM pg_class WHERE oid IN (@staff@, @kinds@) ORDER BY 1;
