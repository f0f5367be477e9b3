SELECT ID, age + 1 AS older FROM Staff WHERE sex = 'f';
SELECT "staff"."id" AS "id", "staff"."age" + 1 AS "older" FROM "_data"."staff" AS "staff" WHERE "staff"."sex" = 'f';

-- a view is written out
SELECT COUNT(*) AS n FROM adults;
SELECT COUNT(*) AS "n" FROM (SELECT "staff"."id" AS "id", "staff"."age" AS "age", "staff"."sex" AS "sex", "staff"."dept" AS "dept", "staff"."hired" AS "hired", "staff"."salary" AS "salary", "staff"."ill" AS "ill" FROM "_data"."staff" AS "staff" WHERE "staff"."age" >= 18) AS "adults";

-- nobody reads it
WITH q AS (SELECT dept FROM regions) SELECT id FROM staff;
SELECT "staff"."id" AS "id" FROM "_data"."staff" AS "staff";

-- code: unknown-table
SELECT id FROM staf;

-- code: unknown-column
SELECT rowid FROM staff;

-- code: catalogue
SELECT * FROM information_schema.tables;

-- code: translation
SELECT id FROM staff JOIN regions USING (nothing);
