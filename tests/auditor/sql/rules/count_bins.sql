-- no bins that are read: left as it is, and refused as a group by the value
SELECT salary >= 50 AS much, AT_LEAST(COUNT(*)) AS n FROM staff GROUP BY much;
SELECT salary >= 50 AS much, AT_LEAST(COUNT(*)) AS n FROM staff GROUP BY much;

SELECT CASE WHEN salary < 50 THEN 'low' ELSE 'high' END AS bin, AT_LEAST(COUNT(salary)) AS n FROM staff GROUP BY bin;
SELECT CAST('low' AS TEXT) AS bin, AT_LEAST(COUNT(*) FILTER (WHERE (((salary < 50))))) AS n FROM staff UNION ALL SELECT CAST('high' AS TEXT) AS bin, AT_LEAST(COUNT(*) FILTER (WHERE ((NOT ((salary < 50)))))) AS n FROM staff;

-- code: range
SELECT salary // 50 AS bin, COUNT(*) FROM staff GROUP BY bin;

-- code: protected-group
SELECT salary // 50 AS bin FROM staff GROUP BY bin;
