-- What stands for your own server: a table, and a role that reads it and does nothing else.
\set password `cat /run/secrets/reader_password`
CREATE TABLE staff AS
SELECT i AS id, 20 + i * 7 % 45 AS age, CASE WHEN i % 2 = 0 THEN 'F' ELSE 'M' END AS sex,
       (ARRAY['Sales', 'Research', 'Finance'])[1 + i * 5 % 3] AS dept, 20 + i * 37 % 23 * 10 AS salary
FROM generate_series(0, 299) AS t(i);
CREATE ROLE reader LOGIN PASSWORD :'password';
GRANT SELECT ON staff TO reader;
ALTER ROLE reader SET default_transaction_read_only = on;
