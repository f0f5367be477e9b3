SELECT dept, ROUND(AVG(salary), 1) FROM staff GROUP BY dept;
SELECT dept, ROUND(AVG(salary), 1) FROM staff GROUP BY dept;

-- code: volatile
SELECT SUM(salary) FROM staff WHERE random() < 0.5;
SELECT nextval('s');

-- code: function
SELECT hash(id) FROM staff;

-- code: sample
SELECT SUM(salary) FROM staff TABLESAMPLE 10%;

-- code: lateral
SELECT COUNT(*) FROM staff, LATERAL (SELECT 1);

-- code: alias-columns
SELECT MAX(b) FROM staff AS t(a, b);

-- code: nested-type
SELECT [id] FROM staff;

-- code: table-function
SELECT * FROM read_csv('x.csv');

-- code: join-kind
SELECT COUNT(*) FROM staff a POSITIONAL JOIN staff b;
