-- Statements that were understood or run wrongly once; each must pass every check of `checks.py`.
-- world: the world; fault: what was wrong; open: not put right yet (the test fails as expected until it is).
-- A statement ends with a semicolon at the end of a line.

-- world: staff
-- fault: keys that differ in spelling alone became one, so rows of the cube were missing
SELECT "Büro Ort" FROM staff GROUP BY CUBE (staff."Büro Ort", "Büro Ort");
SELECT "Büro Ort" FROM staff t GROUP BY GROUPING SETS ("Büro Ort", t."Büro Ort");

-- world: several
SELECT grp, SUM(base) FROM pay GROUP BY ROLLUP (pay.grp, grp);

-- world: crowd
SELECT GROUPING(t.since) FROM "Löhne 2024" t GROUP BY ROLLUP (t.since, since);

-- world: small
-- fault: with GROUP BY ALL, DuckDB groups by the columns of HAVING too
SELECT strpos(dept, 'red'), AVG(salary) FROM staff GROUP BY ALL HAVING strpos(dept, 'red') <> 50;

-- world: staff
-- fault: GROUP BY ALL inside a query grouped by the protected column, hence by record
WITH w AS (SELECT salary, SUM(salary) AS s FROM staff GROUP BY ALL) SELECT s FROM w;
SELECT COUNT(*) FROM (SELECT salary FROM staff GROUP BY ALL);
SELECT MAX(n) FROM (SELECT salary, COUNT(*) AS n FROM staff GROUP BY ALL);
SELECT SUM(salary) FROM (SELECT salary, dept FROM staff GROUP BY ALL);

-- world: small
-- fault: the position of a constant in GROUP BY was taken for every number that is equal to it
SELECT active, 'ß', ROUND(MAX(1.25 - salary), 2) FROM staff GROUP BY 1, 2;
-- fault: a NULL without a type was put into a function that then had too many types to choose from
WITH w AS (SELECT NULL AS c, SUM(salary) FROM staff), v AS (FROM w WHERE isodow(c)) (SELECT id FROM staff);

-- world: crowd
-- fault: a WITH query that is no query made sqlglot write to the log
WITH w AS (c6) SELECT 1;

-- world: several
-- fault: a WITH query that nothing reads was run, and what it asks for counted as released
WITH w AS (SELECT MIN(amount) FROM loans WHERE kind) SELECT 1;

-- world: small
-- fault: LIMIT in a public order of groups whose key is a constant could not be run
SELECT TRUE AS x, MIN(salary) FROM staff GROUP BY x ORDER BY x LIMIT 1;
