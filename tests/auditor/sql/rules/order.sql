-- drop_offset after bind_parameters
SELECT id FROM staff ORDER BY id LIMIT 5 OFFSET $none;

-- classify after write_rows
SELECT x FROM (VALUES (1), (2)) v(x);

-- classify after fix_clock
SELECT now();

-- classify after canonicalize
SELECT DATE('2020-01-01');

-- group_laterals after canonicalize
SELECT x.m FROM regions d, LATERAL (SELECT mean(t.salary) AS m FROM staff t WHERE t.dept = d.dept) x;

-- classify after mark_each_once
SELECT SUM(DISTINCT salary + HASH(id)::HUGEINT) - SUM(DISTINCT HASH(id)::HUGEINT) FROM staff;

-- classify after group_laterals
SELECT x.m FROM regions d, LATERAL (SELECT AVG(t.salary) AS m FROM staff t WHERE t.dept = d.dept) x;

-- qualify after classify
SELECT * FROM read_csv('x.csv');

-- qualify after expand_columns
SELECT MIN(COLUMNS('age|id')) FROM staff;

-- inline_expressions after qualify
SELECT AVG(a) AS m FROM (SELECT salary * 2 AS a FROM staff);

-- group_beside_rows after inline_expressions
SELECT id, AVG(a) OVER (PARTITION BY dept) AS m FROM (SELECT id, dept, salary * 2 AS a FROM staff);

-- split_extremes after inline_expressions
SELECT MAX(a) AS m FROM (SELECT COALESCE(salary, 0) AS a FROM staff);

-- filter_counts after inline_expressions
SELECT AT_LEAST(COUNT(*)) AS n FROM (SELECT salary * 2 AS a FROM staff) WHERE a > 50;

-- choose_by_having after qualify
SELECT dept, AVG(salary) AS a FROM staff WHERE dept IN (SELECT d FROM (SELECT dept AS d, SUM(salary) AS s FROM staff GROUP BY dept) AS q WHERE s > 50) GROUP BY dept;

-- divide_correlations after qualify
SELECT AT_LEAST(ROUND(CORR(age, salary), 2)) AS r FROM staff;

-- count_bins after qualify
SELECT salary // 50 AS bin, AT_LEAST(COUNT(*)) AS n FROM staff GROUP BY bin;

-- merge_groups after choose_by_having
SELECT dept, AVG(salary) AS a FROM staff JOIN (SELECT dept AS d, SUM(salary) AS s FROM staff GROUP BY dept) AS g ON dept = d GROUP BY dept;

-- sum_truths after qualify
SELECT COUNT(*) FILTER (WHERE ill) AS n FROM staff;
