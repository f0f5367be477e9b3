-- A day of wage analysis: table worker(education, experience, ethnicity, smsa, region, parttime, wage), the weekly
-- wage in dollars protected. Men in March 1988; education and experience in years, smsa is whether in a city.
-- Written before any of it was put to the gate, but for the first, by which the gate was found to be slow.
SELECT experience // 5 * 5 AS years, AVG(wage) AS mean FROM worker GROUP BY 1 ORDER BY 1;
SELECT COUNT(*) AS n, AVG(wage) AS mean FROM worker;
SELECT region, COUNT(*) AS n, AVG(wage) AS mean FROM worker GROUP BY region ORDER BY region;
SELECT ethnicity, AVG(wage) AS mean FROM worker GROUP BY ethnicity ORDER BY ethnicity;
SELECT region, ethnicity, AVG(wage) AS mean, COUNT(*) AS n FROM worker GROUP BY region, ethnicity ORDER BY ALL;
SELECT smsa, AVG(wage) AS mean FROM worker GROUP BY smsa ORDER BY smsa;
SELECT parttime, AVG(wage) AS mean, COUNT(*) AS n FROM worker GROUP BY parttime ORDER BY parttime;
SELECT education, AVG(wage) AS mean, COUNT(*) AS n FROM worker GROUP BY education ORDER BY education;
SELECT education >= 16 AS graduate, ethnicity, AVG(wage) AS mean FROM worker GROUP BY 1, 2 ORDER BY 1, 2;
SELECT AVG(wage) FROM worker WHERE education = 12 AND parttime = 'no';
SELECT AVG(wage) FROM worker WHERE region = 'south' AND ethnicity = 'afam';
SELECT AVG(CASE WHEN education >= 16 THEN wage END) - AVG(CASE WHEN education < 12 THEN wage END) AS premium FROM worker;
SELECT smsa, region, SUM(wage) AS total FROM worker GROUP BY ROLLUP (smsa, region) ORDER BY ALL;
SELECT experience, AVG(wage) AS mean FROM worker WHERE experience BETWEEN 0 AND 40 GROUP BY experience ORDER BY experience;
SELECT region, MAX(wage) AS top FROM worker GROUP BY region ORDER BY region;
SELECT education // 4 AS level, experience // 10 AS decade, AVG(wage) AS mean FROM worker GROUP BY 1, 2 ORDER BY 1, 2;
SELECT AVG(wage) FROM worker WHERE experience BETWEEN 5 AND 14 AND education BETWEEN 13 AND 15;
SELECT ethnicity, parttime, AVG(wage) AS mean FROM worker WHERE region <> 'south' GROUP BY 1, 2 ORDER BY 1, 2;
SELECT region, AVG(wage) AS mean FROM worker WHERE education >= 16 GROUP BY region HAVING COUNT(*) >= 100 ORDER BY region;
SELECT region, SUM(wage) * 1.0 / (SELECT SUM(wage) FROM worker) AS share FROM worker GROUP BY region ORDER BY share DESC;
