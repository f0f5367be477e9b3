SELECT DISTINCT dept, AVG(salary) OVER (PARTITION BY dept) AS a FROM staff;
SELECT dept, AVG(salary) AS a FROM staff GROUP BY dept;

SELECT id, AVG(salary) OVER (PARTITION BY dept) AS a FROM staff;
SELECT staff.id, _g0._v0 AS a FROM staff LEFT JOIN (SELECT dept AS _k0, AVG(salary) AS _v0 FROM staff GROUP BY dept) AS _g0 ON (staff.dept) IS NOT DISTINCT FROM _g0._k0;

-- in an order: left as it is
SELECT id, SUM(salary) OVER (ORDER BY id) AS s FROM staff;
SELECT id, SUM(salary) OVER (ORDER BY id) AS s FROM staff;
