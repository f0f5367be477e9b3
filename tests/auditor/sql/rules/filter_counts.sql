SELECT AT_LEAST(COUNT(*)) AS n FROM staff WHERE sex = 'f' AND salary >= 50;
SELECT AT_LEAST(COUNT(*) FILTER (WHERE salary >= 50)) AS n FROM staff WHERE sex = 'f';

-- another aggregate beside it: left as it is
SELECT AT_LEAST(COUNT(*)) AS n, SUM(salary) AS s FROM staff WHERE salary >= 50;
SELECT AT_LEAST(COUNT(*)) AS n, SUM(salary) AS s FROM staff WHERE salary >= 50;
