-- by name; a text
SELECT SUM(salary) FROM staff WHERE age > $least AND dept = $name;
SELECT SUM(salary) FROM staff WHERE age > 30 AND dept = 'IT';

-- code: parameters
SELECT SUM(salary) FROM staff WHERE age > $least AND sex = $other;
SELECT SUM(salary) FROM staff WHERE age > ?;
