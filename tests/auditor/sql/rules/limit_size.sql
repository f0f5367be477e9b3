SELECT COUNT(*) FROM staff;
SELECT COUNT(*) FROM staff;

-- code: too-large
SELECT 1e999;
SELECT REPLACE(REPLACE(REPLACE(dept, '', dept), '', dept), '', dept) FROM staff;
