SELECT MODE(dept) AS d FROM staff;
SELECT MODE(dept ORDER BY dept, HEX(CAST(dept AS TEXT))) AS d FROM staff;

-- picks one whatever the order
SELECT MAX(dept) AS d FROM staff;
SELECT MAX(dept) AS d FROM staff;
