SELECT d, s FROM (SELECT dept AS d, SUM(salary) AS s FROM staff GROUP BY dept) AS q WHERE d < 'x' ORDER BY d;
SELECT dept AS d, SUM(salary) AS s FROM staff GROUP BY dept HAVING dept < 'x' ORDER BY d;

SELECT SUM(s) AS t FROM (SELECT dept, SUM(salary) AS s FROM staff GROUP BY dept) AS q;
SELECT SUM(salary) AS t FROM staff;

-- a mean of sums is no total
SELECT AVG(s) AS t FROM (SELECT dept, SUM(salary) AS s FROM staff GROUP BY dept) AS q;
SELECT AVG(s) AS t FROM (SELECT dept, SUM(salary) AS s FROM staff GROUP BY dept) AS q;
