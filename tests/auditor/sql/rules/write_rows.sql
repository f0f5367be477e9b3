SELECT x FROM (VALUES ('a'), ('b')) v(x);
SELECT x FROM (SELECT 'a' AS "x" UNION ALL SELECT 'b' AS "x") AS v;

SELECT lo FROM range(20, 70, 10) g(lo);
SELECT lo FROM (SELECT UNNEST(RANGE(20, 70, 10)) AS "lo") AS g;

SELECT id FROM staff WHERE dept IN (VALUES ('IT'), ('HR'));
SELECT id FROM staff WHERE dept IN ('IT', 'HR');

SELECT id FROM staff WHERE dept = ANY(['IT', 'HR']);
SELECT id FROM staff WHERE dept IN ('IT', 'HR');

-- joins in parentheses
SELECT a.id FROM (staff a JOIN staff b ON a.id = b.id) JOIN regions r ON r.dept = a.dept;
SELECT a.id FROM staff a JOIN staff b ON a.id = b.id JOIN regions r ON r.dept = a.dept;
