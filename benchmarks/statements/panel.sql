-- A day of wage analysis on a panel: table pay(person, year, race, education, experience, married, in_union, rural,
-- region, industry, occupation, wage), a row for each man and year, 1980 to 1987, the hourly wage in dollars
-- protected. Education and experience are in years. Written before any of it was put to the gate.
SELECT COUNT(*) AS n, COUNT(DISTINCT person) AS men, AVG(wage) AS mean FROM pay;
SELECT year, COUNT(*) AS n, AVG(wage) AS mean FROM pay GROUP BY year ORDER BY year;
SELECT race, COUNT(DISTINCT person) AS men, AVG(wage) AS mean FROM pay GROUP BY race ORDER BY race;
SELECT in_union, COUNT(*) AS n, AVG(wage) AS mean FROM pay GROUP BY in_union ORDER BY in_union;
SELECT year, in_union, AVG(wage) AS mean FROM pay GROUP BY year, in_union ORDER BY year, in_union;
SELECT year, AVG(wage) FILTER (WHERE in_union) - AVG(wage) FILTER (WHERE NOT in_union) AS premium FROM pay
  GROUP BY year ORDER BY year;
SELECT region, COUNT(*) AS n, AVG(wage) AS mean FROM pay GROUP BY region ORDER BY mean DESC;
SELECT region, year, AVG(wage) AS mean FROM pay GROUP BY region, year ORDER BY region, year;
SELECT industry, COUNT(*) AS n, AVG(wage) AS mean FROM pay GROUP BY industry ORDER BY mean DESC;
SELECT industry, in_union, AVG(wage) AS mean FROM pay GROUP BY industry, in_union HAVING COUNT(*) >= 40
  ORDER BY industry, in_union;
SELECT occupation, COUNT(*) AS n, AVG(wage) AS mean FROM pay GROUP BY occupation ORDER BY mean DESC;
SELECT occupation, year >= 1984 AS later, AVG(wage) AS mean FROM pay GROUP BY 1, 2 ORDER BY 1, 2;
SELECT education, COUNT(DISTINCT person) AS men, AVG(wage) AS mean FROM pay GROUP BY education ORDER BY education;
SELECT CASE WHEN education < 12 THEN 'less' WHEN education = 12 THEN 'high school' ELSE 'college' END AS school,
  year, AVG(wage) AS mean FROM pay GROUP BY school, year ORDER BY school, year;
SELECT experience, COUNT(*) AS n, AVG(wage) AS mean FROM pay GROUP BY experience HAVING COUNT(*) >= 30
  ORDER BY experience;
SELECT experience // 3 * 3 AS years, education >= 12 AS graduate, AVG(wage) AS mean FROM pay GROUP BY 1, 2 ORDER BY 1, 2;
SELECT married, AVG(wage) AS mean, COUNT(*) AS n FROM pay GROUP BY married ORDER BY married;
SELECT year, married, AVG(wage) AS mean FROM pay GROUP BY year, married ORDER BY year, married;
SELECT race, married, in_union, AVG(wage) AS mean, COUNT(*) AS n FROM pay GROUP BY ALL ORDER BY ALL;
SELECT rural, region, AVG(wage) AS mean FROM pay GROUP BY rural, region ORDER BY rural, region;
SELECT AVG(wage) FROM pay WHERE year = 1987 AND education >= 14;
SELECT AVG(wage) FROM pay WHERE race = 'black' AND region = 'south' AND year <= 1983;
SELECT AVG(wage) FROM pay WHERE in_union AND industry = 'manufacturing';
SELECT region, AVG(wage) AS mean FROM pay WHERE occupation IN ('craft', 'operative', 'laborer') GROUP BY region
  ORDER BY region;
SELECT year, SUM(wage) AS total, COUNT(*) AS n FROM pay GROUP BY ROLLUP (year) ORDER BY year NULLS LAST;
SELECT region, in_union, AVG(wage) AS mean FROM pay GROUP BY ROLLUP (region, in_union) ORDER BY ALL;
SELECT SUM(wage) FILTER (WHERE in_union) * 100.0 / SUM(wage) AS percent FROM pay;
SELECT industry, SUM(wage) * 1.0 / (SELECT SUM(wage) FROM pay) AS share FROM pay GROUP BY industry ORDER BY share DESC;
WITH means AS (SELECT year, AVG(wage) AS mean FROM pay GROUP BY year)
  SELECT year, mean, mean - LAG(mean) OVER (ORDER BY year) AS rise FROM means ORDER BY year;
WITH edges AS (SELECT race, AVG(wage) FILTER (WHERE year = 1980) AS first, AVG(wage) FILTER (WHERE year = 1987) AS last
  FROM pay GROUP BY race) SELECT race, last / first - 1 AS growth FROM edges ORDER BY race;
WITH always AS (SELECT person FROM pay GROUP BY person HAVING BOOL_AND(in_union))
  SELECT year, AVG(wage) AS mean FROM pay WHERE person IN (SELECT person FROM always) GROUP BY year ORDER BY year;
WITH moved AS (SELECT person FROM pay GROUP BY person HAVING COUNT(DISTINCT region) > 1)
  SELECT person IN (SELECT person FROM moved) AS mover, AVG(wage) AS mean FROM pay GROUP BY mover ORDER BY mover;
SELECT year, AVG(wage) AS mean FROM pay WHERE industry = 'trade' GROUP BY year ORDER BY year;
SELECT occupation, race, AVG(wage) AS mean FROM pay GROUP BY occupation, race HAVING COUNT(*) >= 50 ORDER BY ALL;
SELECT MIN(wage) AS low, MAX(wage) AS high FROM pay;
SELECT year, MAX(wage) AS top FROM pay GROUP BY year ORDER BY year;
SELECT region, MIN(wage) AS low FROM pay WHERE in_union GROUP BY region ORDER BY region;
SELECT year, MEDIAN(wage) AS middle FROM pay GROUP BY year ORDER BY year;
SELECT STDDEV_POP(wage) FROM pay WHERE year = 1987;
SELECT COUNT(*) FROM pay WHERE wage < 3;
