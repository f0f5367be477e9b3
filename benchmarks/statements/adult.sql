-- A day of working-time analysis: table adult(age, workclass, education, education_num, marital_status, occupation,
-- relationship, race, sex, capital_gain, capital_loss, native_country, income, hours_per_week), hours_per_week
-- protected. Written before any of it was put to the gate.
SELECT AVG(hours_per_week) FROM adult;
SELECT COUNT(*) AS n, SUM(hours_per_week) AS hours, ROUND(AVG(hours_per_week), 2) AS mean FROM adult;
SELECT MIN(hours_per_week), MAX(hours_per_week) FROM adult;
SELECT sex, AVG(hours_per_week) AS mean FROM adult GROUP BY sex ORDER BY sex;
SELECT education, COUNT(*) AS n, AVG(hours_per_week) AS mean FROM adult GROUP BY education ORDER BY mean DESC;
SELECT education_num, AVG(hours_per_week) FROM adult GROUP BY education_num ORDER BY education_num;
SELECT CASE WHEN age < 25 THEN '17-24' WHEN age < 35 THEN '25-34' WHEN age < 45 THEN '35-44' WHEN age < 55 THEN '45-54'
  WHEN age < 65 THEN '55-64' ELSE '65+' END AS band, AVG(hours_per_week) AS mean FROM adult GROUP BY band ORDER BY band;
SELECT age // 10 AS decade, AVG(hours_per_week) AS mean, COUNT(*) AS n FROM adult GROUP BY decade ORDER BY decade;
SELECT age, AVG(hours_per_week) FROM adult WHERE age BETWEEN 18 AND 65 GROUP BY age ORDER BY age;
SELECT workclass, AVG(hours_per_week) AS mean FROM adult GROUP BY workclass ORDER BY mean DESC;
SELECT workclass, AVG(hours_per_week) AS mean FROM adult GROUP BY workclass HAVING COUNT(*) >= 100 ORDER BY mean DESC;
SELECT occupation, AVG(hours_per_week) AS mean FROM adult GROUP BY occupation HAVING COUNT(*) >= 100 ORDER BY mean DESC LIMIT 5;
SELECT occupation, sex, AVG(hours_per_week) AS mean FROM adult GROUP BY occupation, sex HAVING COUNT(*) >= 10 ORDER BY 1, 2;
SELECT marital_status, sex, COUNT(*) AS n, AVG(hours_per_week) AS mean FROM adult GROUP BY ALL ORDER BY ALL;
SELECT income, AVG(hours_per_week) AS mean FROM adult GROUP BY income ORDER BY income;
SELECT income, sex, AVG(hours_per_week) AS mean FROM adult GROUP BY income, sex ORDER BY income, sex;
SELECT AVG(hours_per_week) FILTER (WHERE income = '>50K') / AVG(hours_per_week) FILTER (WHERE income = '<=50K') AS ratio FROM adult;
SELECT AVG(CASE WHEN sex = 'Male' THEN hours_per_week END) - AVG(CASE WHEN sex = 'Female' THEN hours_per_week END) AS gap FROM adult;
SELECT SUM(hours_per_week) FILTER (WHERE sex = 'Female') * 100.0 / SUM(hours_per_week) AS percent FROM adult;
SELECT SUM(CASE WHEN workclass LIKE 'Self-emp%' THEN hours_per_week ELSE 0 END) AS self_employed, SUM(hours_per_week) AS everyone FROM adult;
SELECT AVG(hours_per_week) FROM adult WHERE workclass LIKE '%gov';
SELECT AVG(hours_per_week) FROM adult WHERE education IN ('Bachelors', 'Masters', 'Doctorate', 'Prof-school');
SELECT AVG(hours_per_week) FROM adult WHERE education_num BETWEEN 9 AND 12 AND age >= 30;
SELECT AVG(hours_per_week) FROM adult WHERE native_country <> 'United-States';
SELECT native_country, AVG(hours_per_week) AS mean FROM adult GROUP BY native_country HAVING COUNT(*) >= 100 ORDER BY mean DESC LIMIT 10;
SELECT native_country, AVG(hours_per_week) AS mean FROM adult GROUP BY native_country ORDER BY mean DESC;
SELECT race, AVG(hours_per_week) AS mean, COUNT(*) AS n FROM adult GROUP BY race ORDER BY race;
SELECT race, sex, AVG(hours_per_week) FROM adult GROUP BY race, sex ORDER BY race, sex;
WITH parents AS (SELECT * FROM adult WHERE relationship IN ('Husband', 'Wife'))
  SELECT relationship, AVG(hours_per_week) AS mean FROM parents GROUP BY relationship ORDER BY relationship;
WITH means AS (SELECT occupation, AVG(hours_per_week) AS mean FROM adult GROUP BY occupation HAVING COUNT(*) >= 500)
  SELECT MAX(mean) - MIN(mean) AS spread, COUNT(*) AS occupations FROM means;
SELECT occupation, mean FROM (SELECT occupation, AVG(hours_per_week) AS mean, COUNT(*) AS n FROM adult GROUP BY occupation)
  WHERE n > 1000 ORDER BY mean LIMIT 3;
SELECT AVG(hours_per_week) FROM adult WHERE occupation IN
  (SELECT occupation FROM adult GROUP BY occupation HAVING AVG(education_num) >= 11);
SELECT AVG(hours_per_week) FROM adult WHERE age > (SELECT MEDIAN(age) FROM adult);
SELECT MAX(hours_per_week) FROM adult WHERE sex = 'Female' AND age >= 60;
SELECT workclass, MAX(hours_per_week) AS most FROM adult GROUP BY workclass HAVING COUNT(*) >= 1000 ORDER BY workclass;
SELECT AVG(hours_per_week) FROM adult WHERE capital_gain > 0;
SELECT capital_gain > 0 OR capital_loss > 0 AS invests, AVG(hours_per_week) AS mean FROM adult GROUP BY invests ORDER BY invests;
SELECT MEDIAN(hours_per_week) FROM adult;
SELECT sex, STDDEV(hours_per_week) FROM adult GROUP BY sex;
SELECT COUNT(*) FROM adult WHERE hours_per_week > 40;
SELECT AVG(CASE WHEN hours_per_week >= 35 THEN 1 ELSE 0 END) AS full_time FROM adult;
SELECT workclass, SUM(hours_per_week) / (SELECT SUM(hours_per_week) FROM adult) AS share FROM adult GROUP BY workclass ORDER BY share DESC;
SELECT sex, AVG(hours_per_week) FROM adult WHERE age BETWEEN 25 AND 44 AND marital_status = 'Never-married' GROUP BY sex ORDER BY sex;
SELECT sex, AVG(hours_per_week) FROM adult WHERE occupation = 'Exec-managerial' AND education_num >= 13 GROUP BY sex ORDER BY sex;
SELECT relationship, AVG(hours_per_week) AS mean, AVG(age) AS age FROM adult GROUP BY relationship ORDER BY mean;
SELECT education, income, AVG(hours_per_week) AS mean FROM adult GROUP BY education, income HAVING COUNT(*) >= 30 ORDER BY education, income;
SELECT AVG(hours_per_week) FROM adult WHERE sex = 'Female' AND marital_status = 'Widowed' AND age < 50;
SELECT workclass, education_num >= 13 AS degree, ROUND(AVG(hours_per_week), 1) AS mean, COUNT(*) AS n FROM adult
  GROUP BY workclass, degree HAVING COUNT(*) >= 20 ORDER BY workclass, degree;
SELECT occupation, COUNT(*) AS n, AVG(age) AS age FROM adult GROUP BY occupation ORDER BY n DESC LIMIT 5;
SELECT occupation, AVG(hours_per_week) FILTER (WHERE sex = 'Male') - AVG(hours_per_week) FILTER (WHERE sex = 'Female') AS gap
  FROM adult GROUP BY occupation HAVING COUNT(*) FILTER (WHERE sex = 'Female') >= 100 AND COUNT(*) FILTER (WHERE sex = 'Male') >= 100
  ORDER BY gap DESC;
