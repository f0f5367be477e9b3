-- What the macros of functions.sql look up, made of the relations of schema c. No statement reaches the macros in here.
CREATE TABLE c.cae_reserved AS SELECT word AS cae_word FROM c.cae_keywords WHERE catcode <> 'U';
CREATE MACRO cae_quoted(x) AS '"' || replace(x, '"', '""') || '"';
CREATE MACRO cae_plain(x) AS CASE WHEN regexp_full_match(x, '[a-z_][a-z0-9_$]*')
    AND x NOT IN (SELECT cae_word FROM c.cae_reserved) THEN x ELSE cae_quoted(x) END;

UPDATE c.pg_attribute SET attlen = t.typlen, attndims = starts_with(t.typname, '_')::INTEGER, attbyval = t.typbyval,
    attalign = t.typalign, attstorage = t.typstorage, attcollation = t.typcollation
FROM c.pg_type t WHERE t.oid = atttypid;

-- The parts that format_type() makes of each type.
CREATE TABLE c.cae_spellings AS
SELECT oid AS cae_kind, cae_base, coalesce(cae_other, cae_base) AS cae_spelled, coalesce(cae_end, '') AS cae_ending,
       CASE WHEN cae_base <> typname THEN '[]' ELSE '' END AS cae_brackets
FROM (SELECT oid, typname, CASE WHEN typelem <> 0 AND starts_with(typname, '_') THEN substr(typname, 2) ELSE typname END
      AS cae_base FROM c.pg_type)
LEFT JOIN (VALUES
    ('bool', 'boolean', ''), ('char', '"char"', ''), ('int8', 'bigint', ''), ('int2', 'smallint', ''),
    ('int4', 'integer', ''), ('float4', 'real', ''), ('float8', 'double precision', ''), ('bpchar', 'character', ''),
    ('varchar', 'character varying', ''), ('varbit', 'bit varying', ''), ('time', 'time', ' without time zone'),
    ('timestamp', 'timestamp', ' without time zone'), ('timestamptz', 'timestamp', ' with time zone'),
    ('timetz', 'time', ' with time zone')) AS s(cae_same, cae_other, cae_end) ON cae_same = cae_base;
CREATE TABLE c.cae_types AS
SELECT typname AS cae_type_name, oid AS cae_type FROM c.pg_type
UNION ALL SELECT cae_spelled || cae_ending || cae_brackets, cae_kind FROM c.cae_spellings
UNION ALL SELECT cae_base || '[]', cae_kind FROM c.cae_spellings WHERE cae_brackets <> ''
UNION ALL VALUES ('int', 23::UINTEGER), ('decimal', 1700::UINTEGER), ('float', 701::UINTEGER);

-- Relations, and which name of several wins, as the search path has it.
CREATE VIEW c.cae_relations AS
SELECT k.oid AS cae_class, relname, nspname, CASE nspname WHEN 'pg_catalog' THEN 0 WHEN 'public' THEN 1 ELSE 2 END AS cae_rank
FROM c.pg_class k JOIN c.pg_namespace n ON n.oid = relnamespace;
-- How a regclass is shown: with its schema unless the name alone finds it; and whether it does.
CREATE TABLE c.cae_shown_classes AS
SELECT cae_class AS cae_shown_class,
       CASE WHEN cae_visible THEN '' ELSE cae_plain(nspname) || '.' END || cae_plain(relname) AS cae_shown, cae_visible
FROM (SELECT *, cae_rank = 0 OR (cae_rank = 1 AND relname NOT IN (SELECT relname FROM c.cae_relations WHERE cae_rank = 0))
      AS cae_visible FROM c.cae_relations);
-- Every way to write the name of a relation.
CREATE TABLE c.cae_classes AS
WITH bare AS (SELECT cae_class, cae_rank, nspname, unnest([cae_plain(relname), cae_quoted(relname)]) AS cae_text FROM c.cae_relations),
     placed AS (SELECT cae_class, cae_rank, unnest([cae_plain(nspname), cae_quoted(nspname)]) || '.' || cae_text AS cae_text FROM bare)
SELECT cae_text AS cae_class_name, cae_class, cae_rank FROM bare WHERE cae_rank < 2
UNION SELECT cae_text, cae_class, cae_rank FROM placed
UNION SELECT unnest([cae_plain(cae_itself), cae_quoted(cae_itself)]) || '.' || cae_text, cae_class, cae_rank FROM placed, c.cae_database;

CREATE TABLE c.cae_remarks AS
SELECT objoid AS cae_remarked, objsubid AS cae_place, description AS cae_remark FROM c.pg_description;
CREATE TABLE c.cae_procs AS SELECT oid AS cae_proc, proname AS cae_proc_name FROM c.pg_proc;
CREATE TABLE c.cae_spaces AS SELECT oid AS cae_space, nspname AS cae_space_name FROM c.pg_namespace;
CREATE TABLE c.cae_roles AS SELECT oid AS cae_role, rolname AS cae_role_name FROM c.pg_roles;
