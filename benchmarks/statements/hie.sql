-- A day of health economics on a panel: table care(person, year, site, coinsurance, age, sex, race, education, health,
-- limited, family, deductible, income, spending), a row for each person and year of an insurance experiment, what was
-- spent on medical care in dollars protected. Coinsurance is the percentage that people paid themselves, family how
-- many they are. Written before any of it was put to the gate.
SELECT COUNT(*) AS n, COUNT(DISTINCT person) AS people, AVG(spending) AS mean FROM care;
SELECT coinsurance, COUNT(*) AS n, AVG(spending) AS mean FROM care GROUP BY coinsurance ORDER BY coinsurance;
SELECT year, COUNT(*) AS n, AVG(spending) AS mean FROM care GROUP BY year ORDER BY year;
SELECT coinsurance, year, AVG(spending) AS mean FROM care GROUP BY coinsurance, year ORDER BY coinsurance, year;
SELECT site, COUNT(DISTINCT person) AS people, AVG(spending) AS mean FROM care GROUP BY site ORDER BY site;
SELECT site, coinsurance, AVG(spending) AS mean, COUNT(*) AS n FROM care GROUP BY site, coinsurance ORDER BY site, coinsurance;
SELECT sex, AVG(spending) AS mean FROM care GROUP BY sex ORDER BY sex;
SELECT age // 10 * 10 AS decade, sex, COUNT(*) AS n, AVG(spending) AS mean FROM care GROUP BY decade, sex ORDER BY decade, sex;
SELECT age < 18 AS child, coinsurance, AVG(spending) AS mean FROM care GROUP BY 1, 2 ORDER BY 1, 2;
SELECT health, COUNT(*) AS n, AVG(spending) AS mean FROM care GROUP BY health ORDER BY mean DESC;
SELECT health, coinsurance = 0 AS free, AVG(spending) AS mean FROM care GROUP BY 1, 2 ORDER BY 1, 2;
SELECT income, AVG(spending) AS mean, COUNT(*) AS n FROM care GROUP BY income ORDER BY income;
SELECT income, coinsurance, AVG(spending) AS mean FROM care GROUP BY income, coinsurance ORDER BY ALL;
SELECT race, sex, AVG(spending) AS mean FROM care GROUP BY race, sex ORDER BY race, sex;
SELECT race, income, AVG(spending) AS mean, COUNT(DISTINCT person) AS people FROM care GROUP BY race, income ORDER BY ALL;
SELECT AVG(spending) FILTER (WHERE coinsurance = 0) - AVG(spending) FILTER (WHERE coinsurance = 95) AS effect FROM care;
SELECT year, AVG(spending) FILTER (WHERE coinsurance = 0) / AVG(spending) FILTER (WHERE coinsurance > 0) AS ratio
  FROM care GROUP BY year ORDER BY year;
SELECT education, COUNT(*) AS n, AVG(spending) AS mean FROM care WHERE age >= 25 GROUP BY education HAVING COUNT(*) >= 100
  ORDER BY education;
SELECT CASE WHEN age < 6 THEN '0-5' WHEN age < 18 THEN '6-17' WHEN age < 45 THEN '18-44' ELSE '45-64' END AS band,
  site, AVG(spending) AS mean FROM care GROUP BY band, site ORDER BY band, site;
SELECT family, COUNT(*) AS n, AVG(spending) AS mean FROM care GROUP BY family ORDER BY family;
SELECT limited, health, AVG(spending) AS mean FROM care GROUP BY limited, health HAVING COUNT(*) >= 60 ORDER BY ALL;
SELECT deductible, coinsurance, COUNT(*) AS n, AVG(spending) AS mean FROM care GROUP BY ALL ORDER BY ALL;
SELECT AVG(spending) FROM care WHERE age < 5 AND coinsurance = 0;
SELECT AVG(spending) FROM care WHERE sex = 'female' AND age BETWEEN 18 AND 44 AND income = 'low';
SELECT AVG(spending) FROM care WHERE health IN ('poor', 'fair') AND coinsurance >= 50;
SELECT site, SUM(spending) AS total FROM care GROUP BY ROLLUP (site) ORDER BY site NULLS LAST;
SELECT coinsurance, sex, SUM(spending) AS total, COUNT(*) AS n FROM care GROUP BY ROLLUP (coinsurance, sex) ORDER BY ALL;
SELECT SUM(spending) FILTER (WHERE age >= 45) * 100.0 / SUM(spending) AS percent FROM care;
SELECT health, SUM(spending) * 1.0 / (SELECT SUM(spending) FROM care) AS share FROM care GROUP BY health ORDER BY share DESC;
WITH stayed AS (SELECT person FROM care GROUP BY person HAVING COUNT(*) = 5)
  SELECT year, AVG(spending) AS mean FROM care WHERE person IN (SELECT person FROM stayed) GROUP BY year ORDER BY year;
WITH long AS (SELECT person, COUNT(*) AS years FROM care GROUP BY person)
  SELECT years, AVG(spending) AS mean FROM care JOIN long USING (person) GROUP BY years ORDER BY years;
WITH means AS (SELECT coinsurance, year, AVG(spending) AS mean FROM care WHERE year <= 3 GROUP BY coinsurance, year)
  SELECT coinsurance, MAX(mean) - MIN(mean) AS spread FROM means GROUP BY coinsurance ORDER BY coinsurance;
SELECT income, health, AVG(spending) AS mean FROM care WHERE age >= 18 GROUP BY income, health HAVING COUNT(*) >= 50 ORDER BY ALL;
SELECT age, AVG(spending) AS mean, COUNT(*) AS n FROM care WHERE age < 18 GROUP BY age ORDER BY age;
SELECT MAX(spending) FROM care;
SELECT site, MIN(spending) AS low, MAX(spending) AS high FROM care GROUP BY site ORDER BY site;
SELECT year, MAX(spending) AS top FROM care WHERE coinsurance = 0 GROUP BY year ORDER BY year;
SELECT coinsurance, MEDIAN(spending) AS middle FROM care GROUP BY coinsurance ORDER BY coinsurance;
SELECT COUNT(*) * 100.0 / (SELECT COUNT(*) FROM care) AS percent FROM care WHERE spending = 0;
SELECT health, STDDEV_POP(spending) AS spread FROM care GROUP BY health ORDER BY health;
