-- aggregates under all their names
SELECT mean(age), count_star(), MAX(DISTINCT age) FROM staff;
SELECT AVG(age), COUNT(*), MAX(age) FROM staff;

SELECT DATE('2020-01-01');
SELECT CAST('2020-01-01' AS DATE);

SELECT at_least((AVG(salary))) FROM staff;
SELECT AT_LEAST(AVG(salary)) FROM staff;

SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age) FROM staff;
SELECT QUANTILE_CONT(age, 0.5) FROM staff;

SELECT COUNT(*) FROM staff WHERE dept = 'it' COLLATE NOCASE;
SELECT COUNT(*) FROM staff WHERE LOWER(dept) = LOWER('it');

SELECT id FROM staff WHERE EXISTS (SELECT * FROM regions r WHERE r.dept = staff.dept);
SELECT id FROM staff WHERE EXISTS (SELECT 1 FROM regions r WHERE r.dept = staff.dept);

WITH q(a, b) AS (SELECT id, salary FROM staff) SELECT SUM(b) FROM q;
WITH q AS (SELECT id AS "a", salary AS "b" FROM staff) SELECT SUM(b) FROM q;
