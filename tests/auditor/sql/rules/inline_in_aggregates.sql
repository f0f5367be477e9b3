WITH north AS (SELECT dept FROM regions WHERE region = 'north') SELECT SUM(salary) FILTER (WHERE dept IN (SELECT dept FROM north)) AS s FROM staff;
SELECT SUM(salary) FILTER (WHERE dept IN (SELECT dept FROM (SELECT dept FROM regions WHERE region = 'north') AS north)) AS s FROM staff;

-- elsewhere they stay
WITH north AS (SELECT dept FROM regions WHERE region = 'north') SELECT SUM(salary) AS s FROM staff WHERE dept IN (SELECT dept FROM north);
WITH north AS (SELECT dept FROM regions WHERE region = 'north') SELECT SUM(salary) AS s FROM staff WHERE dept IN (SELECT dept FROM north);
