-- Aggregates over the rows of a group. Equal values are counted, NULLs are left out, and a group without any
-- value is NULL; the memory of a group grows with its distinct values, not with its rows.
-- Temporary: nothing is written to the database, and a database opened for reading will do.

CREATE OR REPLACE TEMP MACRO cae_entropy_agg(x, epsilon := 0) AS
    cae_entropy(map_keys(histogram(x)), map_values(histogram(x)), epsilon);

CREATE OR REPLACE TEMP MACRO cae_area_agg(x) AS
    cae_area(map_keys(histogram(x)), map_values(histogram(x)));

CREATE OR REPLACE TEMP MACRO cae_area_bounds_agg(x, relative_error := 0.001) AS
    cae_area_bounds(map_keys(histogram(x)), map_values(histogram(x)), relative_error);

CREATE OR REPLACE TEMP MACRO cae_curve_agg(x) AS
    cae_curve(map_keys(histogram(x)), map_values(histogram(x)));

CREATE OR REPLACE TEMP MACRO cae_risk_agg(x, minimum, maximum, step) AS
    cae_risk(map_keys(histogram(x)), map_values(histogram(x)), minimum, maximum, step);
