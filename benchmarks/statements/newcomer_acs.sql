-- 1. What is in the acs table?
DESCRIBE acs;

-- 2. First look at the data
SELECT * FROM acs LIMIT 5;

-- 3. How many rows and how many distinct ids?
SELECT count(*) AS n, count(DISTINCT id) AS ids FROM acs;

-- 4. Average salary
SELECT AVG(salary) FROM acs;

-- 5. Total payroll and headcount
SELECT count(*) AS people, sum(salary) AS total_salary, sum(salary) / count(*) AS per_head
FROM acs;

-- 6. Average salary by sex
SELECT sex, AVG(salary) AS avg_salary, COUNT(*) AS n
FROM acs
GROUP BY sex
ORDER BY sex;

-- 7. Lowest and highest salary
SELECT min(salary), max(salary) FROM acs;

-- 8. How many people in each industry?
SELECT industry, count(*) AS n
FROM acs
GROUP BY industry
ORDER BY n DESC;

-- 9. Average salary by industry
SELECT industry, count(*) AS n, round(avg(salary), 1) AS avg_salary
FROM acs
GROUP BY industry
ORDER BY avg_salary DESC;

-- 10. The same with readable industry names
SELECT i.name, count(*) AS n, round(avg(a.salary), 1) AS avg_salary
FROM acs a
JOIN industries i ON i.industry = a.industry
GROUP BY i.name
ORDER BY avg_salary DESC;

-- 11. Average salary by education code
SELECT education, count(*) AS n, avg(salary) AS avg_salary
FROM acs
GROUP BY education
ORDER BY education;

-- 12. Average salary by occupation, top ten
SELECT occupation, avg(salary) AS avg_salary
FROM acs
GROUP BY occupation
ORDER BY avg_salary DESC
LIMIT 10;

-- 13. Median salary by sex
SELECT sex, median(salary) AS median_salary
FROM acs
GROUP BY sex;

-- 14. The age range and average commute
SELECT min(age), max(age), avg(age), avg(travel_time), max(travel_time) FROM acs;

-- 15. Average salary by age band
SELECT CASE WHEN age < 25 THEN '16-24'
            WHEN age BETWEEN 25 AND 34 THEN '25-34'
            WHEN age BETWEEN 35 AND 44 THEN '35-44'
            WHEN age BETWEEN 45 AND 54 THEN '45-54'
            WHEN age BETWEEN 55 AND 64 THEN '55-64'
            ELSE '65 and over'
       END AS age_group,
       COUNT(*) AS n,
       AVG(salary) AS avg_salary
FROM acs
GROUP BY 1
ORDER BY 1;

-- 16. Average salary by sex and education band
SELECT sex,
       CASE WHEN education <= 8 THEN '1 no diploma'
            WHEN education = 9 THEN '2 high school'
            WHEN education <= 12 THEN '3 some college'
            WHEN education = 13 THEN '4 bachelor'
            ELSE '5 graduate' END AS edu,
       count(*) AS n,
       avg(salary) AS avg_salary
FROM acs
GROUP BY sex, edu
ORDER BY edu, sex;

-- 17. Who earns more than 200?
SELECT id, age, sex, occupation FROM acs WHERE salary > 200;

-- 18. How many people earn at least 100, by sex?
SELECT sex, count(*) AS n
FROM acs
WHERE salary >= 100
GROUP BY sex;

-- 19. Salary histogram
SELECT salary, count(*) AS n
FROM acs
GROUP BY salary
ORDER BY salary;

-- 20. The gender pay gap overall
SELECT avg(salary) FILTER (WHERE sex = 1) AS men,
       avg(salary) FILTER (WHERE sex = 2) AS women,
       avg(salary) FILTER (WHERE sex = 1) - avg(salary) FILTER (WHERE sex = 2) AS gap
FROM acs;

-- 21. Pay ratio of women to men per industry
SELECT industry,
       round(avg(salary) FILTER (sex = 2) / avg(salary) FILTER (sex = 1), 3) AS ratio
FROM acs
GROUP BY industry
ORDER BY ratio;

-- 22. Industry and sex, two-way
SELECT industry, sex, count(*) AS n, sum(salary) AS total, avg(salary) AS mean
FROM acs
GROUP BY industry, sex
ORDER BY industry, sex;

-- 23. Share of the total payroll by industry
SELECT i.name,
       sum(a.salary) AS payroll,
       round(100 * sum(a.salary) / (SELECT sum(salary) FROM acs), 1) AS pct
FROM acs a
JOIN industries i USING (industry)
GROUP BY i.name
ORDER BY payroll DESC;

-- 24. Payroll by industry and sex with subtotals
SELECT industry, sex, sum(salary) AS payroll, count(*) AS n
FROM acs
GROUP BY ROLLUP (industry, sex)
ORDER BY industry, sex;

-- 25. Does a longer commute go with a higher salary?
SELECT corr(travel_time, salary) AS r FROM acs;

-- 26. Average salary by commute band
SELECT CASE WHEN travel_time < 15 THEN 'under 15 min'
            WHEN travel_time < 30 THEN '15-29 min'
            WHEN travel_time < 60 THEN '30-59 min'
            ELSE 'an hour or more' END AS commute,
       count(*) AS n,
       avg(salary) AS avg_salary
FROM acs
GROUP BY commute
ORDER BY min(travel_time);

-- 27. Industries paying more than 50 on average
SELECT industry, avg(salary) AS avg_salary
FROM acs
GROUP BY industry
HAVING avg(salary) > 50;

-- 28. Occupations with at least 50 people
SELECT occupation, count(*) AS n, avg(salary) AS avg_salary
FROM acs
GROUP BY occupation
HAVING count(*) >= 50
ORDER BY avg_salary DESC;

-- 29. Rank industries by total payroll
SELECT industry, sum(salary) AS payroll, dense_rank() OVER (ORDER BY sum(salary) DESC) AS rnk
FROM acs
GROUP BY industry
ORDER BY rnk;

-- 30. Standard deviation of salary by industry
SELECT industry, count(*) AS n, avg(salary) AS mean, stddev_samp(salary) AS sd
FROM acs
GROUP BY industry
ORDER BY sd DESC;

-- 31. FROM-first: average salary in health care by sex
FROM acs SELECT sex, avg(salary) AS avg_salary WHERE industry = 'MED' GROUP BY sex;

-- 32. GROUP BY ALL: approximate birth decade (survey of 2011) and sex
SELECT (2011 - age) // 10 * 10 AS birth_decade, sex, count(*) AS n, round(avg(salary)) AS avg_salary
FROM acs
GROUP BY ALL
ORDER BY birth_decade, sex;

-- 33. Number of occupations and average age per industry
SELECT industry, count(DISTINCT occupation) AS occupations, round(avg(age), 1) AS avg_age
FROM acs
GROUP BY industry
ORDER BY occupations DESC;

-- 34. Average salary in the five largest industries
WITH largest AS (
  SELECT industry, count(*) AS n
  FROM acs
  GROUP BY industry
  ORDER BY n DESC
  LIMIT 5
)
SELECT a.industry, l.n, avg(a.salary) AS avg_salary
FROM acs a
JOIN largest l USING (industry)
GROUP BY a.industry, l.n
ORDER BY l.n DESC;

-- 35. The top decile
SELECT quantile_cont(salary, 0.9) AS p90 FROM acs;

-- 36. Salary of managers by sex
SELECT sex, count(*) AS n, avg(salary) AS avg_salary, max(salary) AS top
FROM acs
WHERE occupation = 'MGR'
GROUP BY sex;

-- 37. Managers by industry
SELECT i.name, count(*) AS n, avg(salary) AS avg_salary
FROM acs
JOIN industries i USING (industry)
WHERE occupation = 'MGR'
GROUP BY i.name
ORDER BY n DESC;

-- 38. Women managers over 50 in finance
SELECT count(*) AS n, avg(salary) AS avg_salary
FROM acs
WHERE occupation = 'MGR' AND industry = 'FIN' AND sex = 2 AND age > 50;

-- 39. Pivot: average salary by industry and sex
PIVOT acs ON sex USING avg(salary) AS avg_salary, count(*) AS n GROUP BY industry;

-- 40. Cube of sex and degree
SELECT sex, education >= 13 AS degree, count(*) AS n, avg(salary) AS avg_salary
FROM acs
GROUP BY CUBE (sex, education >= 13)
ORDER BY ALL;

-- 41. How much more do people with a degree earn?
SELECT avg(CASE WHEN education >= 13 THEN salary END) AS degree,
       avg(CASE WHEN education < 13 THEN salary END) AS no_degree,
       avg(CASE WHEN education >= 13 THEN salary END) - avg(CASE WHEN education < 13 THEN salary END) AS premium
FROM acs;

-- 42. Are there industries in the lookup with nobody in acs?
SELECT i.industry, i.name
FROM industries i
WHERE NOT EXISTS (SELECT 1 FROM acs a WHERE a.industry = i.industry);

-- 43. Industry averages against the overall average
SELECT industry,
       avg(salary) AS avg_salary,
       avg(salary) - (SELECT avg(salary) FROM acs) AS vs_overall
FROM acs
GROUP BY industry
ORDER BY vs_overall DESC;

-- 44. Cumulative share of payroll over the industries, largest first
WITH p AS (
  SELECT industry, sum(salary) AS payroll FROM acs GROUP BY industry
)
SELECT industry, payroll,
       sum(payroll) OVER (ORDER BY payroll DESC) AS running,
       round(sum(payroll) OVER (ORDER BY payroll DESC) / sum(payroll) OVER (), 3) AS cum_share
FROM p
ORDER BY payroll DESC;

-- 45. The best-paid occupation in each industry
SELECT industry, occupation, avg(salary) AS avg_salary, count(*) AS n
FROM acs
GROUP BY industry, occupation
QUALIFY rank() OVER (PARTITION BY industry ORDER BY avg(salary) DESC) = 1
ORDER BY avg_salary DESC;

-- 46. Salary in the public and the private sector
SELECT CASE WHEN industry IN ('ADM', 'EDU', 'MIL') THEN 'public' ELSE 'private' END AS sector,
       sex,
       count(*) AS n,
       avg(salary) AS avg_salary
FROM acs
GROUP BY sector, sex
ORDER BY sector, sex;

-- 47. Average salary per industry and per occupation stacked
SELECT 'industry' AS kind, industry AS code, count(*) AS n, avg(salary) AS avg_salary FROM acs GROUP BY industry
UNION ALL
SELECT 'occupation', occupation, count(*), avg(salary) FROM acs GROUP BY occupation
ORDER BY kind, avg_salary DESC;

-- 48. Salary by single year of age
SELECT age, count(*) AS n, avg(salary) AS avg_salary
FROM acs
GROUP BY age
ORDER BY age;

-- 49. Five-year moving average of salary over age
SELECT age, avg(avg(salary)) OVER (ORDER BY age ROWS BETWEEN 2 PRECEDING AND 2 FOLLOWING) AS smoothed
FROM acs
WHERE age BETWEEN 20 AND 65
GROUP BY age
ORDER BY age;

-- 50. Salary by industries whose name mentions services or care
SELECT i.name, sum(a.salary) AS payroll, avg(a.salary) AS avg_salary
FROM acs a
JOIN industries i USING (industry)
WHERE i.name ILIKE '%services%' OR i.name ILIKE '%care%'
GROUP BY ALL;

-- 51. Gender gap by industry, where both sexes have at least ten people
SELECT industry,
       count(*) FILTER (WHERE sex = 1) AS n_men,
       count(*) FILTER (WHERE sex = 2) AS n_women,
       avg(salary) FILTER (WHERE sex = 1) - avg(salary) FILTER (WHERE sex = 2) AS gap
FROM acs
GROUP BY industry
HAVING n_men >= 10 AND n_women >= 10
ORDER BY gap DESC;

-- 52. Teachers in education by degree
SELECT education, count(*) AS n, avg(salary) AS avg_salary
FROM acs
WHERE industry = 'EDU' AND occupation = 'EDU'
GROUP BY education
ORDER BY education;

-- 53. Regression of salary on education
SELECT regr_slope(salary, education) AS slope, regr_r2(salary, education) AS r2 FROM acs;

-- 54. Summary of the public columns
SUMMARIZE SELECT * EXCLUDE (id, salary) FROM acs;

-- 55. Salary of the person with id 17
SELECT salary FROM acs WHERE id = 17;

-- 56. Average salary in industries with an average commute of over 30 minutes
SELECT avg(salary) AS avg_salary, count(*) AS n
FROM acs
WHERE industry IN (SELECT industry FROM acs GROUP BY industry HAVING avg(travel_time) > 30);

-- 57. How many people earn above the average?
SELECT count(*) FROM acs WHERE salary > (SELECT avg(salary) FROM acs);

-- 58. Payroll of the office-type industries by sex, by industry and overall
SELECT sex, industry, sum(salary) AS payroll
FROM acs
WHERE industry IN ('FIN', 'PRF', 'INF')
GROUP BY GROUPING SETS ((sex), (industry), ())
ORDER BY ALL;

-- 59. Office workers in finance by age band and sex
SELECT sex, least(age // 10 * 10, 60) AS age_band, count(*) AS n, avg(salary) AS avg_salary
FROM acs
WHERE industry = 'FIN' AND occupation = 'OFF'
GROUP BY ALL
ORDER BY ALL;

-- 60. The share of each industry's payroll that goes to women
SELECT i.name,
       count(*) AS n,
       round(100.0 * sum(CASE WHEN a.sex = 2 THEN a.salary ELSE 0 END) / sum(a.salary), 1) AS women_pct
FROM acs a
LEFT JOIN industries i ON a.industry = i.industry
GROUP BY i.name
ORDER BY women_pct DESC;
