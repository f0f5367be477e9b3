-- A day of salary analysis: table person(age, sex, education, industry, occupation, travel_time, salary),
-- salary in thousands and protected. Written before any of it was put to the gate; sex 1 is male, 2 female;
-- education 9 is high school, 13 a bachelor's degree, 16 a doctorate.
SELECT AVG(salary) FROM person;
SELECT COUNT(*), SUM(salary), AVG(salary) FROM person;
SELECT MIN(salary), MAX(salary) FROM person;
SELECT sex, COUNT(*) AS n, AVG(salary) AS mean FROM person GROUP BY sex ORDER BY sex;
SELECT education, COUNT(*) AS n, AVG(salary) AS mean FROM person GROUP BY education ORDER BY education;
SELECT education, AVG(salary) FROM person GROUP BY education HAVING COUNT(*) >= 30 ORDER BY education;
SELECT CASE WHEN age < 25 THEN 'under 25' WHEN age < 35 THEN '25-34' WHEN age < 45 THEN '35-44'
  WHEN age < 55 THEN '45-54' WHEN age < 65 THEN '55-64' ELSE '65 and over' END AS band,
  COUNT(*) AS n, ROUND(AVG(salary), 1) AS mean FROM person GROUP BY band ORDER BY band;
SELECT age // 10 * 10 AS decade, AVG(salary) AS mean FROM person WHERE age BETWEEN 20 AND 69 GROUP BY 1 ORDER BY 1;
SELECT FLOOR(age / 10) AS decade, AVG(salary) FROM person GROUP BY ALL ORDER BY ALL;
SELECT industry, AVG(salary) AS mean FROM person GROUP BY industry ORDER BY mean DESC;
SELECT industry, AVG(salary) AS mean, COUNT(*) AS n FROM person GROUP BY industry HAVING COUNT(*) >= 50 ORDER BY mean DESC;
SELECT industry, sex, AVG(salary) AS mean FROM person GROUP BY industry, sex HAVING COUNT(*) >= 10 ORDER BY industry, sex;
SELECT occupation, AVG(salary) AS mean FROM person GROUP BY occupation HAVING COUNT(*) >= 50 ORDER BY mean DESC LIMIT 5;
SELECT occupation, COUNT(*) AS n FROM person GROUP BY occupation ORDER BY n DESC LIMIT 5;
SELECT AVG(salary) FILTER (WHERE sex = 2) / AVG(salary) FILTER (WHERE sex = 1) AS pay_ratio FROM person;
SELECT AVG(CASE WHEN sex = 1 THEN salary END) - AVG(CASE WHEN sex = 2 THEN salary END) AS pay_gap FROM person;
SELECT SUM(salary) FILTER (WHERE sex = 2) * 100.0 / SUM(salary) AS share_of_women FROM person;
SELECT AVG(salary) FROM person WHERE education >= 13;
SELECT AVG(salary) FROM person WHERE education BETWEEN 9 AND 12;
SELECT AVG(salary) FROM person WHERE education < 9;
SELECT AVG(salary) FROM person WHERE industry IN ('FIN', 'INF', 'PRF');
SELECT AVG(salary), COUNT(*) FROM person WHERE industry NOT IN ('MIL', 'EXT', 'UTL');
SELECT AVG(salary) FROM person WHERE occupation LIKE 'M%';
SELECT AVG(salary) AS mean FROM person WHERE travel_time > 45;
SELECT travel_time >= 30 AS long_way, AVG(salary) AS mean, COUNT(*) AS n FROM person GROUP BY long_way ORDER BY 1;
SELECT CASE WHEN travel_time < 15 THEN 1 WHEN travel_time < 30 THEN 2 WHEN travel_time < 60 THEN 3 ELSE 4 END AS ring,
  SUM(salary), COUNT(*) FROM person GROUP BY ring ORDER BY ring;
WITH graduates AS (SELECT * FROM person WHERE education >= 13)
  SELECT sex, AVG(salary) AS mean FROM graduates GROUP BY sex ORDER BY sex;
WITH by_industry AS (SELECT industry, AVG(salary) AS mean FROM person GROUP BY industry HAVING COUNT(*) >= 100)
  SELECT MAX(mean) / MIN(mean) AS spread FROM by_industry;
SELECT industry, mean FROM (SELECT industry, AVG(salary) AS mean, COUNT(*) AS n FROM person GROUP BY industry)
  WHERE n >= 100 ORDER BY mean DESC LIMIT 3;
SELECT AVG(salary) FROM person WHERE industry IN
  (SELECT industry FROM person GROUP BY industry HAVING AVG(education) > 12);
SELECT AVG(salary) FROM person WHERE age > (SELECT AVG(age) FROM person);
SELECT sex, AVG(salary) FROM person WHERE age >= 40 AND education >= 13 GROUP BY sex ORDER BY sex;
SELECT MAX(salary) FROM person WHERE industry = 'FIN';
SELECT industry, MAX(salary) AS top FROM person GROUP BY industry HAVING COUNT(*) >= 200 ORDER BY industry;
SELECT sex, MIN(salary), MAX(salary) FROM person GROUP BY sex ORDER BY sex;
SELECT MEDIAN(salary) FROM person;
SELECT sex, STDDEV(salary) FROM person GROUP BY sex;
SELECT COUNT(*) FROM person WHERE salary >= 100;
SELECT industry, SUM(salary) / (SELECT SUM(salary) FROM person) AS share FROM person GROUP BY industry
  HAVING COUNT(*) >= 100 ORDER BY share DESC;
SELECT industry, SUM(salary) AS total, SUM(salary) * 1.0 / SUM(SUM(salary)) OVER () AS share FROM person GROUP BY industry;
SELECT AVG(salary) FROM person WHERE sex = 2 AND occupation IN ('MGR', 'BUS', 'FIN');
SELECT sex, education >= 13 AS degree, ROUND(AVG(salary), 1) AS mean FROM person GROUP BY sex, degree ORDER BY sex, degree;
SELECT SUM(12 * salary) AS yearly FROM person WHERE industry = 'EDU';
SELECT occupation, AVG(salary) AS mean FROM person WHERE sex = 2 GROUP BY occupation HAVING COUNT(*) >= 40 ORDER BY mean DESC LIMIT 5;
SELECT age, AVG(salary) FROM person GROUP BY age ORDER BY age;
SELECT AVG(salary) AS mean FROM person WHERE age < 30 AND industry = 'RET' AND sex = 1;
SELECT CORR(age, salary) FROM person;
SELECT AVG(salary) FROM person WHERE education = 16;
SELECT education, sex, AVG(salary) AS mean, COUNT(*) AS n FROM person WHERE education IN (9, 11, 13, 14)
  GROUP BY education, sex ORDER BY education, sex;
SELECT sex, AVG(travel_time) AS way, AVG(salary) AS mean FROM person WHERE age BETWEEN 25 AND 54 GROUP BY sex ORDER BY sex;
SELECT AVG(salary) FROM person WHERE age >= 65;
SELECT industry, AVG(salary) FILTER (WHERE sex = 1) - AVG(salary) FILTER (WHERE sex = 2) AS gap FROM person
  GROUP BY industry HAVING COUNT(*) FILTER (WHERE sex = 1) >= 30 AND COUNT(*) FILTER (WHERE sex = 2) >= 30 ORDER BY gap DESC;
