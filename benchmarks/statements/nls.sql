-- A day of wage analysis: table worker(sex, race, region, town, school_rank, degree, college, experience, wage),
-- wage in dollars an hour and protected. Young people who finished high school in 1972, asked in 1986; school_rank
-- is the rank in class in percent (99 is best), college the years of it, experience the years at work.
-- Written before any of it was put to the gate.
SELECT COUNT(*) AS n, AVG(wage) AS mean FROM worker;
SELECT MIN(wage), MAX(wage) FROM worker;
SELECT sex, COUNT(*) AS n, ROUND(AVG(wage), 2) AS mean FROM worker GROUP BY sex ORDER BY sex;
SELECT race, COUNT(*) AS n, AVG(wage) AS mean FROM worker GROUP BY race ORDER BY mean DESC;
SELECT race, sex, COUNT(*) AS n, AVG(wage) AS mean FROM worker GROUP BY race, sex ORDER BY race, sex;
SELECT degree, COUNT(*) AS n, AVG(wage) AS mean FROM worker GROUP BY degree ORDER BY mean;
SELECT degree, sex, AVG(wage) AS mean FROM worker GROUP BY degree, sex ORDER BY degree, sex;
SELECT AVG(wage) FILTER (WHERE sex = 'female') / AVG(wage) FILTER (WHERE sex = 'male') AS ratio FROM worker;
SELECT AVG(CASE WHEN degree = 'BA' THEN wage END) - AVG(CASE WHEN degree = 'none' THEN wage END) AS premium FROM worker;
SELECT region, AVG(wage) AS mean FROM worker GROUP BY region ORDER BY mean DESC;
SELECT region, sex, AVG(wage) AS mean, COUNT(*) AS n FROM worker GROUP BY ALL ORDER BY ALL;
SELECT town, COUNT(*) AS n, AVG(wage) AS mean FROM worker GROUP BY town ORDER BY mean DESC;
SELECT CASE WHEN town LIKE '%suburb' THEN 'suburb' WHEN town LIKE '%city' THEN 'city' ELSE 'country' END AS place,
  AVG(wage) AS mean FROM worker GROUP BY place ORDER BY place;
SELECT region, town, AVG(wage) AS mean FROM worker GROUP BY region, town HAVING COUNT(*) >= 50 ORDER BY region, town;
SELECT experience, COUNT(*) AS n, AVG(wage) AS mean FROM worker GROUP BY experience ORDER BY experience;
SELECT CASE WHEN experience < 5 THEN 'under 5' WHEN experience BETWEEN 5 AND 9 THEN '5-9' ELSE '10 and over' END AS years,
  sex, AVG(wage) AS mean, COUNT(*) AS n FROM worker GROUP BY years, sex ORDER BY years, sex;
SELECT college, AVG(wage) AS mean FROM worker GROUP BY college HAVING COUNT(*) >= 30 ORDER BY college;
SELECT college >= 4 AS four_years, degree = 'BA' AS graduate, COUNT(*) AS n, AVG(wage) AS mean FROM worker
  GROUP BY 1, 2 ORDER BY 1, 2;
SELECT AVG(wage) FROM worker WHERE college BETWEEN 1 AND 3 AND degree = 'none';
SELECT school_rank // 25 AS quarter, AVG(wage) AS mean, COUNT(*) AS n FROM worker GROUP BY quarter ORDER BY quarter;
SELECT FLOOR(school_rank / 10) * 10 AS decile, ROUND(AVG(wage), 1) AS mean FROM worker GROUP BY decile ORDER BY decile;
SELECT COUNT(*), AVG(wage) FROM worker WHERE school_rank BETWEEN 90 AND 99;
SELECT AVG(wage) FROM worker WHERE sex = 'female' AND experience >= 10 AND degree = 'BA';
SELECT AVG(wage) FROM worker WHERE race IN ('black', 'hispanic') AND region = 'south';
SELECT sex, AVG(wage) AS mean FROM worker WHERE region <> 'south' GROUP BY sex ORDER BY sex;
SELECT region, MAX(wage) AS top FROM worker GROUP BY region ORDER BY region;
SELECT sex, MIN(wage) AS low, MAX(wage) AS high FROM worker WHERE degree = 'BA' GROUP BY sex ORDER BY sex;
SELECT region, SUM(wage) AS total, COUNT(*) AS n FROM worker GROUP BY ROLLUP (region) ORDER BY region NULLS LAST;
SELECT degree, sex, AVG(wage) AS mean, COUNT(*) AS n FROM worker GROUP BY ROLLUP (degree, sex) ORDER BY ALL;
SELECT SUM(wage) FILTER (WHERE sex = 'female') * 100.0 / SUM(wage) AS percent FROM worker;
SELECT region, SUM(wage) * 1.0 / (SELECT SUM(wage) FROM worker) AS share FROM worker GROUP BY region ORDER BY share DESC;
WITH by_town AS (SELECT town, AVG(wage) AS mean FROM worker GROUP BY town HAVING COUNT(*) >= 100)
  SELECT MAX(mean) - MIN(mean) AS spread FROM by_town;
WITH graduates AS (SELECT * FROM worker WHERE degree = 'BA')
  SELECT race, COUNT(*) AS n, AVG(wage) AS mean FROM graduates GROUP BY race ORDER BY race;
WITH groups AS (SELECT region, AVG(wage) FILTER (WHERE sex = 'male') AS men, AVG(wage) FILTER (WHERE sex = 'female') AS women
  FROM worker GROUP BY region) SELECT region, men - women AS gap FROM groups ORDER BY gap DESC;
SELECT region, AVG(wage) AS mean FROM worker WHERE experience >= (SELECT AVG(experience) FROM worker) GROUP BY region ORDER BY region;
SELECT MEDIAN(wage) FROM worker;
SELECT COUNT(*) FROM worker WHERE wage < 5;
SELECT race, AVG(wage) AS mean FROM worker WHERE sex = 'male' AND experience BETWEEN 8 AND 13 GROUP BY race
  HAVING COUNT(*) >= 20 ORDER BY race;
SELECT town, sex, AVG(wage) AS mean FROM worker WHERE college = 0 GROUP BY town, sex HAVING COUNT(*) >= 25 ORDER BY town, sex;
SELECT degree, CORR(experience, wage) FROM worker GROUP BY degree;
