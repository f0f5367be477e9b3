SELECT d.region, x.m FROM regions d, LATERAL (SELECT AVG(t.salary) AS m FROM staff t WHERE t.dept = d.dept) x;
SELECT d.region, x.m FROM regions d LEFT JOIN (SELECT AVG(t.salary) AS m, t.dept AS "_k0" FROM staff t GROUP BY t.dept) AS x ON x._k0 = (d.dept);

-- a count of nobody is 0
SELECT d.region, x.n FROM regions d, LATERAL (SELECT COUNT(*) AS n FROM staff t WHERE t.dept = d.dept AND t.age > 30) x;
SELECT d.region, COALESCE(x.n, 0) AS "n" FROM regions d LEFT JOIN (SELECT COUNT(*) AS n, t.dept AS "_k0" FROM staff t WHERE t.age > 30 GROUP BY t.dept) AS x ON x._k0 = (d.dept);

-- no groups: left as it is
SELECT d.region, x.m FROM regions d, LATERAL (SELECT AVG(t.salary) AS m FROM staff t WHERE t.dept > d.dept) x;
SELECT d.region, x.m FROM regions d, LATERAL (SELECT AVG(t.salary) AS m FROM staff t WHERE t.dept > d.dept) x;
