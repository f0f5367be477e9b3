SELECT space.nspname, t.oid, t.typname, t.typtype, t.typnotnull, t.inner_oid
FROM (
    SELECT a.oid, a.typnamespace, a.typname, a.typtype, a.typnotnull, a.relkind, e.oid AS inner_oid,
           e.typname AS inner_name, CASE WHEN p.proname = 'array_recv' THEN 'a' ELSE e.typtype END AS inner_type
    FROM (
        SELECT y.oid, typnamespace, typname, typrelid, typnotnull, relkind, typelem AS elem_oid,
               CASE WHEN q.proname = 'array_recv' THEN 'a' ELSE y.typtype END AS typtype,
               CASE WHEN q.proname = 'array_recv' THEN y.typelem
                    WHEN y.typtype = 'r' THEN rngsubtype
                    WHEN y.typtype = 'm' THEN (SELECT rngtypid FROM pg_range WHERE rngmultitypid = y.oid)
                    WHEN y.typtype = 'd' THEN y.typbasetype END AS element
        FROM pg_type AS y
        LEFT JOIN pg_class AS k ON (k.oid = y.typrelid)
        LEFT JOIN pg_proc AS q ON q.oid = y.typreceive
        LEFT JOIN pg_range ON (pg_range.rngtypid = y.oid)
    ) AS a
    LEFT JOIN pg_type AS e ON e.oid = element
    LEFT JOIN pg_class AS f ON (f.oid = e.typrelid)
    LEFT JOIN pg_proc AS p ON p.oid = e.typreceive
) AS t
JOIN pg_namespace AS space ON (space.oid = typnamespace)
WHERE space.nspname = 'pg_catalog' AND t.oid < 10000
  AND (typtype IN ('b', 'r', 'm', 'e', 'd') OR (typtype = 'p' AND typname IN ('record', 'void')) OR
       (typtype = 'a' AND inner_type IN ('b', 'r', 'm', 'e', 'd')))
ORDER BY CASE WHEN typtype IN ('b', 'e', 'p') THEN 0 WHEN typtype = 'r' THEN 1 WHEN typtype = 'm' THEN 2
              WHEN typtype = 'a' THEN 5 END, t.oid;

SELECT t.oid, a.attname, a.atttypid
FROM pg_type AS t
JOIN pg_namespace AS n ON (n.oid = t.typnamespace)
JOIN pg_class AS k ON (k.oid = t.typrelid)
JOIN pg_attribute AS a ON (a.attrelid = t.typrelid)
WHERE (t.typtype = 'c' AND k.relkind = 'c') AND attnum > 0 AND NOT attisdropped
ORDER BY t.oid, a.attnum;

SELECT pg_type.oid, enumlabel
FROM pg_enum
JOIN pg_type ON pg_type.oid = enumtypid
ORDER BY oid, enumsortorder;
