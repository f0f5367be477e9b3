-- A day of health economics: table patient(age, sex, race, education, married, health, income, metropolitan, chronic,
-- private, employer, spending), spending in dollars a year on prescribed drugs and protected. People of 65 to 91;
-- education in years, chronic the number of chronic conditions, income a class, private and employer what insurance
-- they have; married, metropolitan, private, employer are true or false. Written before any of it was put to the gate.
SELECT COUNT(*) AS patients, SUM(spending) AS total, AVG(spending) AS mean FROM patient;
SELECT sex, COUNT(*) AS n, AVG(spending) AS mean FROM patient GROUP BY sex ORDER BY sex;
SELECT age, COUNT(*) AS n, AVG(spending) AS mean FROM patient GROUP BY age ORDER BY age;
SELECT CASE WHEN age < 70 THEN '65-69' WHEN age < 75 THEN '70-74' WHEN age < 80 THEN '75-79' WHEN age < 85 THEN '80-84'
  ELSE '85+' END AS band, COUNT(*) AS n, SUM(spending) AS total, AVG(spending) AS mean FROM patient GROUP BY band ORDER BY band;
SELECT age // 5 * 5 AS five_years, sex, ROUND(AVG(spending)) AS mean FROM patient GROUP BY ALL ORDER BY ALL;
SELECT chronic, COUNT(*) AS n, AVG(spending) AS mean FROM patient GROUP BY chronic ORDER BY chronic;
SELECT LEAST(chronic, 5) AS conditions, AVG(spending) AS mean FROM patient GROUP BY conditions ORDER BY conditions;
SELECT health, COUNT(*) AS n, AVG(spending) AS mean FROM patient GROUP BY health ORDER BY mean DESC;
SELECT health, sex, AVG(spending) AS mean, COUNT(*) AS n FROM patient GROUP BY health, sex ORDER BY health, sex;
SELECT health, income, AVG(spending) AS mean FROM patient GROUP BY health, income HAVING COUNT(*) >= 30 ORDER BY health, income;
SELECT income, SUM(spending) AS total, AVG(spending) AS mean FROM patient GROUP BY income ORDER BY total DESC;
SELECT race, COUNT(*) AS n, AVG(spending) AS mean FROM patient GROUP BY race ORDER BY race;
SELECT race, income, AVG(spending) AS mean, COUNT(*) AS n FROM patient GROUP BY race, income ORDER BY race, income;
SELECT education, AVG(spending) AS mean FROM patient GROUP BY education HAVING COUNT(*) >= 100 ORDER BY education;
SELECT CASE WHEN education < 9 THEN 'none' WHEN education < 12 THEN 'some' WHEN education = 12 THEN 'high school'
  WHEN education < 16 THEN 'some college' ELSE 'college' END AS school, AVG(spending) AS mean, COUNT(*) AS n
  FROM patient GROUP BY school ORDER BY n DESC;
SELECT private, AVG(spending) AS mean FROM patient GROUP BY private ORDER BY private;
SELECT private, employer, COUNT(*) AS n, AVG(spending) AS mean FROM patient GROUP BY private, employer ORDER BY 1, 2;
SELECT AVG(spending) FILTER (WHERE employer) - AVG(spending) FILTER (WHERE NOT employer) AS difference FROM patient;
SELECT married, sex, AVG(spending) AS mean FROM patient GROUP BY married, sex ORDER BY married, sex;
SELECT metropolitan, race, AVG(spending) AS mean FROM patient GROUP BY metropolitan, race HAVING COUNT(*) >= 50 ORDER BY 1, 2;
SELECT AVG(spending) FROM patient WHERE chronic BETWEEN 2 AND 4;
SELECT AVG(spending) AS mean, COUNT(*) AS n FROM patient WHERE chronic >= 3 AND health IN ('fair', 'poor');
SELECT SUM(spending) FILTER (WHERE chronic >= 3) / SUM(spending) AS share FROM patient;
SELECT AVG(spending) FROM patient WHERE age BETWEEN 65 AND 69 AND health = 'excellent';
SELECT sex, AVG(spending) AS mean FROM patient WHERE income = 'poor' AND NOT private GROUP BY sex ORDER BY sex;
SELECT AVG(spending) FROM patient WHERE NOT married AND sex = 'female' AND age >= 80;
SELECT MAX(spending) FROM patient;
SELECT health, MIN(spending) AS low, MAX(spending) AS high FROM patient GROUP BY health ORDER BY health;
SELECT chronic, MAX(spending) AS top FROM patient WHERE chronic <= 5 GROUP BY chronic ORDER BY chronic;
SELECT income, sex, SUM(spending) AS total FROM patient GROUP BY ROLLUP (income, sex) ORDER BY income NULLS LAST, sex NULLS LAST;
SELECT COALESCE(race, 'all') AS race, SUM(spending) AS total, COUNT(*) AS n FROM patient GROUP BY ROLLUP (race) ORDER BY n DESC;
WITH seniors AS (SELECT * FROM patient WHERE age >= 75)
  SELECT health, AVG(spending) AS mean FROM seniors GROUP BY health ORDER BY mean DESC;
WITH by_condition AS (SELECT chronic, COUNT(*) AS n, SUM(spending) AS total FROM patient GROUP BY chronic)
  SELECT SUM(total) / SUM(n) AS mean FROM by_condition WHERE chronic > 0;
WITH rates AS (SELECT income, AVG(spending) AS mean FROM patient GROUP BY income)
  SELECT income, mean, mean / (SELECT AVG(spending) FROM patient) AS relative FROM rates ORDER BY relative DESC;
SELECT income, SUM(spending) AS total, RANK() OVER (ORDER BY SUM(spending) DESC) AS place FROM patient GROUP BY income;
SELECT SUM(spending) / 12 AS monthly FROM patient WHERE employer AND income = 'high';
SELECT QUANTILE_CONT(spending, 0.9) FROM patient;
SELECT COUNT(*) FROM patient WHERE spending > 5000;
SELECT race, AVG(spending) FILTER (WHERE private) AS insured, AVG(spending) FILTER (WHERE NOT private) AS uninsured FROM patient
  GROUP BY race ORDER BY race;
SELECT age, sex, AVG(spending) AS mean FROM patient WHERE age BETWEEN 70 AND 79 GROUP BY age, sex ORDER BY age, sex;
