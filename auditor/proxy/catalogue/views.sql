-- Views of pg_catalog (schema c) and information_schema (schema i) over the tables of schema c.
-- Types and order of their columns are those of rows/relations.csv: building.py puts each into them.

-- c.pg_tables
SELECT n.nspname AS schemaname, k.relname AS tablename, 'cae_sql' AS tableowner, NULL AS tablespace,
       k.relhasindex AS hasindexes, k.relhasrules AS hasrules, k.relhastriggers AS hastriggers,
       k.relrowsecurity AS rowsecurity
FROM c.pg_class k JOIN c.pg_namespace n ON n.oid = k.relnamespace WHERE k.relkind = 'r';
-- c.pg_views
SELECT n.nspname AS schemaname, k.relname AS viewname, 'cae_sql' AS viewowner, d.cae_definition AS definition
FROM c.pg_class k JOIN c.pg_namespace n ON n.oid = k.relnamespace LEFT JOIN c.cae_definitions d ON d.cae_defined = k.oid
WHERE k.relkind = 'v';
-- c.pg_user
SELECT rolname AS usename, oid AS usesysid, rolcreatedb AS usecreatedb, rolsuper AS usesuper,
       rolreplication AS userepl, rolbypassrls AS usebypassrls, '********' AS passwd, NULL AS valuntil,
       NULL AS useconfig
FROM c.pg_roles WHERE rolcanlogin;
-- c.pg_timezone_names
SELECT name, abbrev, utc_offset, is_dst FROM pg_timezone_names();
-- i.information_schema_catalog_name
SELECT (SELECT cae_itself FROM c.cae_database) AS catalog_name;
-- i.schemata
SELECT (SELECT cae_itself FROM c.cae_database) AS catalog_name, n.nspname AS schema_name, 'cae_sql' AS schema_owner,
       NULL AS default_character_set_catalog, NULL AS default_character_set_schema,
       NULL AS default_character_set_name, NULL AS sql_path
FROM c.pg_namespace n;
-- i.tables
SELECT (SELECT cae_itself FROM c.cae_database) AS table_catalog, n.nspname AS table_schema, k.relname AS table_name,
       CASE k.relkind WHEN 'v' THEN 'VIEW' ELSE 'BASE TABLE' END AS table_type,
       NULL AS self_referencing_column_name, NULL AS reference_generation, NULL AS user_defined_type_catalog,
       NULL AS user_defined_type_schema, NULL AS user_defined_type_name, 'NO' AS is_insertable_into,
       'NO' AS is_typed, NULL AS commit_action
FROM c.pg_class k JOIN c.pg_namespace n ON n.oid = k.relnamespace WHERE k.relkind IN ('r', 'v');
-- i.views
SELECT (SELECT cae_itself FROM c.cae_database) AS table_catalog, n.nspname AS table_schema, k.relname AS table_name,
       d.cae_definition AS view_definition, 'NONE' AS check_option, 'NO' AS is_updatable,
       'NO' AS is_insertable_into, 'NO' AS is_trigger_updatable, 'NO' AS is_trigger_deletable,
       'NO' AS is_trigger_insertable_into
FROM c.pg_class k JOIN c.pg_namespace n ON n.oid = k.relnamespace LEFT JOIN c.cae_definitions d ON d.cae_defined = k.oid
WHERE k.relkind = 'v';
-- i.columns
SELECT (SELECT cae_itself FROM c.cae_database) AS table_catalog, n.nspname AS table_schema, k.relname AS table_name,
       a.attname AS column_name, a.attnum AS ordinal_position, NULL AS column_default,
       CASE WHEN a.attnotnull THEN 'NO' ELSE 'YES' END AS is_nullable,
       CASE WHEN t.typcategory = 'A' AND t.typlen = -1 THEN 'ARRAY' ELSE s.cae_spelled || s.cae_ending END AS data_type,
       CASE WHEN t.typname IN ('varchar', 'bpchar') AND a.atttypmod > 4 THEN a.atttypmod - 4 END
           AS character_maximum_length,
       CASE WHEN t.typname IN ('varchar', 'bpchar') AND a.atttypmod > 4 THEN (a.atttypmod - 4) * 4
            WHEN t.typname IN ('text', 'varchar', 'bpchar') THEN 1073741824 END AS character_octet_length,
       CASE t.typname WHEN 'int2' THEN 16 WHEN 'int4' THEN 32 WHEN 'int8' THEN 64 WHEN 'float4' THEN 24
            WHEN 'float8' THEN 53
            WHEN 'numeric' THEN CASE WHEN a.atttypmod > 0 THEN (a.atttypmod - 4) >> 16 END END
           AS numeric_precision,
       CASE WHEN t.typname IN ('int2', 'int4', 'int8', 'float4', 'float8') THEN 2
            WHEN t.typname = 'numeric' THEN 10 END AS numeric_precision_radix,
       CASE WHEN t.typname IN ('int2', 'int4', 'int8') THEN 0
            WHEN t.typname = 'numeric' AND a.atttypmod > 0 THEN (a.atttypmod - 4) & 65535 END AS numeric_scale,
       CASE WHEN t.typname = 'date' THEN 0
            WHEN t.typname IN ('time', 'timetz', 'timestamp', 'timestamptz', 'interval')
            THEN CASE WHEN a.atttypmod >= 0 THEN a.atttypmod ELSE 6 END END AS datetime_precision,
       NULL AS interval_type, NULL AS interval_precision, NULL AS character_set_catalog,
       NULL AS character_set_schema, NULL AS character_set_name,
       CASE WHEN t.typname = 'name' THEN (SELECT cae_itself FROM c.cae_database) END AS collation_catalog,
       CASE WHEN t.typname = 'name' THEN 'pg_catalog' END AS collation_schema,
       CASE WHEN t.typname = 'name' THEN 'C' END AS collation_name,
       NULL AS domain_catalog, NULL AS domain_schema, NULL AS domain_name,
       (SELECT cae_itself FROM c.cae_database) AS udt_catalog, 'pg_catalog' AS udt_schema, t.typname AS udt_name,
       NULL AS scope_catalog, NULL AS scope_schema, NULL AS scope_name, NULL AS maximum_cardinality,
       a.attnum AS dtd_identifier, 'NO' AS is_self_referencing, 'NO' AS is_identity,
       NULL AS identity_generation, NULL AS identity_start, NULL AS identity_increment,
       NULL AS identity_maximum, NULL AS identity_minimum, 'NO' AS identity_cycle, 'NEVER' AS is_generated,
       NULL AS generation_expression, 'NO' AS is_updatable
FROM c.pg_attribute a JOIN c.pg_class k ON k.oid = a.attrelid JOIN c.pg_namespace n ON n.oid = k.relnamespace
     JOIN c.pg_type t ON t.oid = a.atttypid JOIN c.cae_spellings s ON s.cae_kind = t.oid;
-- i.table_privileges
SELECT 'cae_sql' AS grantor, 'PUBLIC' AS grantee, (SELECT cae_itself FROM c.cae_database) AS table_catalog,
       n.nspname AS table_schema, k.relname AS table_name, 'SELECT' AS privilege_type, 'NO' AS is_grantable,
       'YES' AS with_hierarchy
FROM c.pg_class k JOIN c.pg_namespace n ON n.oid = k.relnamespace WHERE k.relkind IN ('r', 'v');
-- i.role_table_grants
SELECT * FROM i.table_privileges;
-- i.column_privileges
SELECT 'cae_sql' AS grantor, 'PUBLIC' AS grantee, (SELECT cae_itself FROM c.cae_database) AS table_catalog,
       n.nspname AS table_schema, k.relname AS table_name, a.attname AS column_name,
       'SELECT' AS privilege_type, 'NO' AS is_grantable
FROM c.pg_attribute a JOIN c.pg_class k ON k.oid = a.attrelid JOIN c.pg_namespace n ON n.oid = k.relnamespace;
-- i.role_column_grants
SELECT * FROM i.column_privileges;
-- i.character_sets
SELECT NULL AS character_set_catalog, NULL AS character_set_schema, 'UTF8' AS character_set_name,
       'UCS' AS character_repertoire, 'UTF8' AS form_of_use, (SELECT cae_itself FROM c.cae_database) AS default_collate_catalog,
       'pg_catalog' AS default_collate_schema, 'C' AS default_collate_name;
