WITH y AS (SELECT dept, salary * 12 AS annual FROM staff) SELECT dept, AVG(annual) AS a FROM y GROUP BY dept;
WITH y AS (SELECT dept, salary FROM staff) SELECT dept, AVG((salary * 12)) AS a FROM y GROUP BY dept;

-- of public columns nothing is moved
SELECT AVG(old) AS a FROM (SELECT age * 2 AS old FROM staff);
SELECT AVG(old) AS a FROM (SELECT age * 2 AS old FROM staff);
