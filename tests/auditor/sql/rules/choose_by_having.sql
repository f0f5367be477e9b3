SELECT dept, AVG(salary) AS a FROM staff WHERE dept IN (SELECT dept FROM staff GROUP BY dept HAVING AVG(salary) > 50) GROUP BY dept;
SELECT dept, AVG(salary) AS a FROM staff GROUP BY dept HAVING dept IN (SELECT dept FROM staff GROUP BY dept HAVING AVG(salary) > 50);

-- records that are no whole groups are chosen: left as it is
SELECT sex, AVG(salary) AS a FROM staff WHERE dept IN (SELECT dept FROM staff GROUP BY dept HAVING AVG(salary) > 50) GROUP BY sex;
SELECT sex, AVG(salary) AS a FROM staff WHERE dept IN (SELECT dept FROM staff GROUP BY dept HAVING AVG(salary) > 50) GROUP BY sex;
