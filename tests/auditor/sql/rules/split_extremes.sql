SELECT MAX(COALESCE(salary, 0)) AS m FROM staff;
SELECT GREATEST(MAX(salary), MAX(CASE WHEN salary IS NULL THEN 0 END)) AS m FROM staff;

SELECT MIN(CASE WHEN age > 30 THEN salary ELSE 99 END) AS m FROM staff;
SELECT LEAST(MIN(CASE WHEN age > 30 THEN salary END), MIN(CASE WHEN age > 30 THEN NULL ELSE 99 END)) AS m FROM staff;

-- between the two ends it stays
SELECT AT_MOST(MAX(COALESCE(salary, 0))) AS m FROM staff;
SELECT AT_MOST(MAX(COALESCE(salary, 0))) AS m FROM staff;
