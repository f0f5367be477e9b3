SELECT t.oid, typarray, attname, atttypid
FROM pg_type t
JOIN pg_namespace ns ON typnamespace = ns.oid
JOIN pg_attribute a ON attrelid = typrelid
WHERE typname = 'nosuch' AND nspname = 'public'
    AND attnum > 0 AND NOT attisdropped
ORDER BY attnum;

SELECT t.oid, typarray, attname, atttypid, typname, nspname
FROM pg_type t
JOIN pg_namespace ns ON typnamespace = ns.oid
JOIN pg_attribute a ON attrelid = typrelid
WHERE t.oid = 'nosuch'::regtype
    AND attnum > 0 AND NOT attisdropped
ORDER BY attnum;
