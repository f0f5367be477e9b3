-- 1. Which tables are there?
SHOW TABLES;

-- 2. What columns does adult have?
DESCRIBE adult;

-- 3. What do the rows look like?
SELECT * FROM adult LIMIT 5;

-- 4. How many people are in the table?
SELECT count(*) FROM adult;

-- 5. A preview without the confidential column
SELECT * EXCLUDE (hours_per_week) FROM adult LIMIT 10;

-- 6. Which values does workclass take?
SELECT DISTINCT workclass FROM adult ORDER BY workclass;

-- 7. Is every row filled in for hours, and what is the range?
SELECT count(*) AS n_rows, count(hours_per_week) AS n_hours, min(hours_per_week) AS lo, max(hours_per_week) AS hi
FROM adult;

-- 8. Average working week overall
SELECT avg(hours_per_week) FROM adult;

-- 9. Average hours of men and women
SELECT sex, count(*) AS n, round(avg(hours_per_week), 2) AS avg_hours
FROM adult
GROUP BY sex;

-- 10. Average hours by education, most educated first
SELECT education, education_num, avg(hours_per_week) AS avg_hours
FROM adult
GROUP BY education, education_num
ORDER BY education_num DESC;

-- 11. Average hours by occupation, longest first
SELECT occupation, COUNT(*) AS people, ROUND(AVG(hours_per_week), 1) AS avg_hours
FROM adult
GROUP BY occupation
ORDER BY avg_hours DESC;

-- 12. Total hours worked per week by workclass
SELECT workclass, sum(hours_per_week) AS total_hours
FROM adult
GROUP BY 1
ORDER BY 2 DESC;

-- 13. Quick profile of the table
SUMMARIZE adult;

-- 14. Median working week
SELECT median(hours_per_week) FROM adult;

-- 15. Do high earners work longer?
SELECT income, avg(hours_per_week) AS avg_hours
FROM adult
GROUP BY income;

-- 16. Average hours by sex and income
SELECT sex, income, count(*) AS n, avg(hours_per_week) AS avg_hours
FROM adult
GROUP BY sex, income
ORDER BY sex, income;

-- 17. The five occupations with the longest average week
SELECT occupation, avg(hours_per_week) AS avg_hours
FROM adult
GROUP BY occupation
ORDER BY avg_hours DESC
LIMIT 5;

-- 18. Average hours by age band
SELECT CASE WHEN age < 25 THEN 'under 25'
            WHEN age < 35 THEN '25-34'
            WHEN age < 45 THEN '35-44'
            WHEN age < 55 THEN '45-54'
            WHEN age < 65 THEN '55-64'
            ELSE '65+' END AS age_band,
       count(*) AS n,
       avg(hours_per_week) AS avg_hours
FROM adult
GROUP BY age_band
ORDER BY min(age);

-- 19. Average hours by decade of age and sex
SELECT age // 10 * 10 AS decade, sex, round(avg(hours_per_week), 1) AS avg_hours
FROM adult
GROUP BY ALL
ORDER BY ALL;

-- 20. How many people work more than 60 hours?
SELECT count(*) FROM adult WHERE hours_per_week > 60;

-- 21. Standard deviation of hours by sex
SELECT sex, avg(hours_per_week) AS mean, stddev(hours_per_week) AS sd
FROM adult
GROUP BY sex;

-- 22. Average hours by education group from the lookup table
SELECT l.label, count(*) AS n, avg(a.hours_per_week) AS avg_hours
FROM adult a
JOIN education_levels l ON a.education = l.education
GROUP BY l.label
ORDER BY min(l.rank);

-- 23. Does the lookup table cover every education value?
SELECT DISTINCT a.education
FROM adult a
LEFT JOIN education_levels l USING (education)
WHERE l.education IS NULL;

-- 24. Share of all hours worked by each workclass
SELECT workclass,
       sum(hours_per_week) AS hours,
       round(100.0 * sum(hours_per_week) / sum(sum(hours_per_week)) OVER (), 2) AS pct
FROM adult
GROUP BY workclass
ORDER BY pct DESC;

-- 25. Hours by workclass and sex with subtotals
SELECT workclass, sex, count(*) AS n, sum(hours_per_week) AS total_hours
FROM adult
GROUP BY ROLLUP (workclass, sex)
ORDER BY workclass NULLS LAST, sex NULLS LAST;

-- 26. Men's and women's average hours side by side per occupation
SELECT occupation,
       avg(hours_per_week) FILTER (WHERE sex = 'Male') AS men,
       avg(hours_per_week) FILTER (WHERE sex = 'Female') AS women
FROM adult
GROUP BY occupation
ORDER BY occupation;

-- 27. The gender gap in hours per education level
SELECT education,
       avg(CASE WHEN sex = 'Male' THEN hours_per_week END) - avg(CASE WHEN sex = 'Female' THEN hours_per_week END) AS gap
FROM adult
GROUP BY education
ORDER BY gap DESC;

-- 28. Occupations with an average week above 42 hours
SELECT occupation, avg(hours_per_week) AS avg_hours
FROM adult
GROUP BY occupation
HAVING avg(hours_per_week) > 42
ORDER BY avg_hours DESC;

-- 29. Average hours by country where there are at least 100 people
SELECT native_country, count(*) AS n, avg(hours_per_week) AS avg_hours
FROM adult
GROUP BY native_country
HAVING count(*) >= 100
ORDER BY n DESC;

-- 30. How the hours are distributed in bands of ten
SELECT hours_per_week // 10 * 10 AS band, count(*) AS n
FROM adult
GROUP BY band
ORDER BY band;

-- 31. Rank the occupations by average hours
SELECT occupation,
       avg(hours_per_week) AS avg_hours,
       rank() OVER (ORDER BY avg(hours_per_week) DESC) AS position
FROM adult
GROUP BY occupation
ORDER BY position;

-- 32. Average hours of private-sector and government workers
SELECT CASE WHEN workclass LIKE '%-gov' THEN 'government'
            WHEN workclass LIKE 'Self-emp%' THEN 'self-employed'
            ELSE lower(workclass) END AS sector,
       avg(hours_per_week) AS avg_hours,
       count(*) AS n
FROM adult
GROUP BY sector;

-- 33. Average hours by marital status and sex
SELECT marital_status, sex, round(avg(hours_per_week), 1) AS avg_hours, count(*) AS n
FROM adult
GROUP BY marital_status, sex
ORDER BY marital_status, sex;

-- 34. Pivot: average hours by workclass and sex
PIVOT adult ON sex USING avg(hours_per_week) GROUP BY workclass ORDER BY workclass;

-- 35. Correlation between age and hours
SELECT corr(age, hours_per_week) FROM adult;

-- 36. Average hours of people with a degree
SELECT avg(hours_per_week) AS avg_hours, count(*) AS n
FROM adult
WHERE education IN ('Bachelors', 'Masters', 'Prof-school', 'Doctorate');

-- 37. Average hours of the postgraduates, picked through the lookup table
SELECT sex, avg(hours_per_week) AS avg_hours
FROM adult
WHERE education IN (SELECT education FROM education_levels WHERE label = 'Postgraduate')
GROUP BY sex;

-- 38. FROM-first: average hours by race
FROM adult
SELECT race, count(*) AS n, avg(hours_per_week) AS avg_hours
GROUP BY race
ORDER BY n DESC;

-- 39. How far each occupation is from the overall average
WITH overall AS (
  SELECT avg(hours_per_week) AS m FROM adult
),
by_occ AS (
  SELECT occupation, avg(hours_per_week) AS avg_hours FROM adult GROUP BY occupation
)
SELECT occupation, round(avg_hours, 2) AS avg_hours, round(avg_hours - m, 2) AS diff
FROM by_occ, overall
ORDER BY diff DESC;

-- 40. Education mix by sex (no hours)
SELECT education, count(*) FILTER (WHERE sex = 'Female') AS women, count(*) FILTER (WHERE sex = 'Male') AS men
FROM adult
GROUP BY education
ORDER BY women + men DESC;

-- 41. Quartiles of hours
SELECT quantile_cont(hours_per_week, [0.25, 0.5, 0.75]) AS quartiles FROM adult;

-- 42. Hours by sex and by income in one table
SELECT 'sex' AS dimension, sex AS value, avg(hours_per_week) AS avg_hours FROM adult GROUP BY sex
UNION ALL
SELECT 'income', income, avg(hours_per_week) FROM adult GROUP BY income;

-- 43. Sex, income and both together
SELECT sex, income, grouping(sex, income) AS g, count(*) AS n, avg(hours_per_week) AS avg_hours
FROM adult
GROUP BY GROUPING SETS ((sex), (income), (sex, income), ())
ORDER BY g, sex, income;

-- 44. Population-weighted average hours by sex
SELECT sex, sum(hours_per_week * fnlwgt) / sum(fnlwgt) AS weighted_avg
FROM adult
GROUP BY sex;

-- 45. Longest and shortest week in each workclass
SELECT workclass, min(hours_per_week) AS shortest, max(hours_per_week) AS longest
FROM adult
GROUP BY workclass
ORDER BY workclass;

-- 46. Drill down: managers only, by education
SELECT education, count(*) AS n, avg(hours_per_week) AS avg_hours
FROM adult
WHERE occupation = 'Exec-managerial'
GROUP BY education
ORDER BY n DESC;

-- 47. Drill down further: women managers with a master's, by workclass
SELECT workclass, count(*) AS n, avg(hours_per_week) AS avg_hours
FROM adult
WHERE occupation = 'Exec-managerial' AND sex = 'Female' AND education = 'Masters'
GROUP BY workclass
ORDER BY n DESC;

-- 48. Running total of hours by education level
SELECT l.rank, a.education,
       sum(hours_per_week) AS hours,
       sum(sum(hours_per_week)) OVER (ORDER BY l.rank) AS running_hours
FROM adult a
JOIN education_levels l USING (education)
GROUP BY l.rank, a.education
ORDER BY l.rank;

-- 49. Which age works the most on average?
SELECT age, avg(hours_per_week) AS avg_hours, count(*) AS n
FROM adult
GROUP BY age
HAVING n >= 50
ORDER BY avg_hours DESC
LIMIT 10;

-- 50. Who are the ten people with the longest weeks?
SELECT age, sex, occupation, education, hours_per_week
FROM adult
ORDER BY hours_per_week DESC
LIMIT 10;

-- 51. Do people with capital gains work longer?
SELECT capital_gain > 0 AS has_gain, count(*) AS n, avg(hours_per_week) AS avg_hours
FROM adult
GROUP BY has_gain;

-- 52. Share of part-time workers by sex
SELECT sex, avg(CASE WHEN hours_per_week < 35 THEN 1 ELSE 0 END) AS part_time_share
FROM adult
GROUP BY sex;

-- 53. The top three occupations by hours within each sex
SELECT sex, occupation, avg(hours_per_week) AS avg_hours
FROM adult
GROUP BY sex, occupation
QUALIFY row_number() OVER (PARTITION BY sex ORDER BY avg(hours_per_week) DESC) <= 3
ORDER BY sex, avg_hours DESC;

-- 54. US-born against foreign-born
SELECT if(native_country = 'United-States', 'US', 'other') AS born, sex, count(*) AS n, avg(hours_per_week) AS avg_hours
FROM adult
GROUP BY ALL
ORDER BY ALL;

-- 55. Gender gap in hours among married and never-married people
WITH g AS (
  SELECT marital_status, sex, avg(hours_per_week) AS h
  FROM adult
  WHERE marital_status IN ('Married-civ-spouse', 'Never-married')
  GROUP BY marital_status, sex
)
SELECT m.marital_status, m.h AS men, f.h AS women, m.h - f.h AS gap
FROM g m
JOIN g f ON f.marital_status = m.marital_status AND f.sex = 'Female'
WHERE m.sex = 'Male';

-- 56. Averages of all the numeric columns at once
SELECT avg(COLUMNS(['age', 'education_num', 'capital_gain', 'capital_loss', 'hours_per_week'])) FROM adult;

-- 57. Average hours in occupations with more than 3000 people
SELECT occupation, avg(hours_per_week) AS avg_hours
FROM adult
WHERE occupation IN (SELECT occupation FROM adult GROUP BY occupation HAVING count(*) > 3000)
GROUP BY occupation
ORDER BY 2 DESC;

-- 58. All combinations of race and sex with margins
SELECT coalesce(race, 'all') AS race, coalesce(sex, 'all') AS sex, count(*) AS n, sum(hours_per_week) AS hours
FROM adult
GROUP BY CUBE (adult.race, adult.sex)
ORDER BY 1, 2;

-- 59. Hours by relationship (a forgotten GROUP BY; deliberate mistake)
SELECT relationship, avg(hours_per_week) FROM adult;

-- 60. Young own-children in sales: how many hours, men and women?
SELECT sex, count(*) AS n, sum(hours_per_week) AS total_hours, avg(hours_per_week) AS avg_hours
FROM adult
WHERE occupation = 'Sales' AND relationship = 'Own-child' AND age BETWEEN 17 AND 22
GROUP BY sex;
