SELECT MIN(COLUMNS('age|id')) FROM staff;
SELECT MIN("id") AS "id", MIN("age") AS "age" FROM staff;

(SELECT id FROM staff);
SELECT id FROM staff;

-- code: star
SELECT id FROM staff WHERE COLUMNS('i.*') > 1;
SELECT COLUMNS('id') + COLUMNS('age') FROM staff;
