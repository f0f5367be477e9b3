SELECT current_schema(), session_user;

SELECT n.oid, n.*, d.description
FROM pg_catalog.pg_namespace n
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = n.oid AND d.objsubid = 0
    AND d.classoid = 'pg_namespace'::regclass
WHERE n.nspname = 'hr'
ORDER BY nspname;

SELECT c.oid, c.relname, c.relkind, c.relnamespace, d.description,
       pg_catalog.pg_get_expr(c.relpartbound, c.oid) AS partition_expr,
       pg_catalog.pg_get_partkeydef(c.oid) AS partition_key
FROM pg_catalog.pg_class c
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0
    AND d.classoid = 'pg_class'::regclass
WHERE c.relnamespace = 2200 AND c.relkind NOT IN ('i', 'I', 'c')
ORDER BY c.relname;

SELECT c.relname, a.attname, a.atttypid, a.attnum, a.atttypmod, a.attnotnull, a.attidentity,
       pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) AS def_value, dsc.description, dep.objid
FROM pg_catalog.pg_attribute a
INNER JOIN pg_catalog.pg_class c ON (a.attrelid = c.oid)
LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON (a.attrelid = ad.adrelid AND a.attnum = ad.adnum)
LEFT OUTER JOIN pg_catalog.pg_description dsc ON (c.oid = dsc.objoid AND a.attnum = dsc.objsubid)
LEFT OUTER JOIN pg_catalog.pg_depend dep ON dep.refobjid = a.attrelid AND dep.deptype = 'i'
    AND dep.refobjsubid = a.attnum AND dep.classid = dep.refclassid
WHERE NOT a.attisdropped AND c.relkind NOT IN ('i', 'I', 'c') AND c.oid = @staff@ AND a.attnum > 0
ORDER BY a.attnum;

SELECT c.oid, c.conname, c.contype, c.conkey, t.relname AS tabrelname, rt.relnamespace AS refnamespace,
       d.description,
       CASE WHEN c.contype = 'c' THEN "substring"(pg_get_constraintdef(c.oid), 7) ELSE NULL END AS consrc_copy
FROM pg_catalog.pg_constraint c
INNER JOIN pg_catalog.pg_class t ON t.oid = c.conrelid
LEFT OUTER JOIN pg_catalog.pg_class rt ON rt.oid = c.confrelid
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0
    AND d.classoid = 'pg_constraint'::regclass
WHERE c.conrelid = @staff@
ORDER BY c.oid;

SELECT i.indkey, i.indclass, i.indoption, i.indisunique, c.relname, c.relnamespace, c.relam, c.reltablespace,
       tc.relname AS tabrelname, dsc.description, pg_catalog.pg_get_expr(i.indpred, i.indrelid) AS pred_expr,
       pg_catalog.pg_get_expr(i.indexprs, i.indrelid, true) AS expr,
       pg_catalog.pg_relation_size(i.indexrelid) AS index_rel_size
FROM pg_catalog.pg_index i
INNER JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
INNER JOIN pg_catalog.pg_class tc ON tc.oid = i.indrelid
LEFT OUTER JOIN pg_catalog.pg_description dsc ON i.indexrelid = dsc.objoid
WHERE i.indrelid = @staff@
ORDER BY tabrelname, c.relname;

SELECT DISTINCT dep.deptype, dep.classid, dep.objid, cl.relkind, attr.attname
FROM pg_depend dep
LEFT JOIN pg_class cl ON dep.objid = cl.oid
LEFT JOIN pg_attribute attr ON dep.objid = attr.attrelid AND dep.objsubid = attr.attnum
WHERE dep.refobjid = 1 AND dep.refobjid::regclass::text = 'staff'
ORDER BY classid, cl.relkind;
