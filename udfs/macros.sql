-- Aggregates over the rows of a group. Equal values are counted, NULLs are left out, and a group without any
-- value is NULL; the memory of a group grows with its distinct values, not with its rows.
-- Temporary: nothing is written to the database, and a database opened for reading will do.
-- DuckDB's own functions are called by their full names: a database may have macros of the same ones.

CREATE OR REPLACE TEMP MACRO cae_entropy_agg(x, epsilon := 0) AS
    cae_entropy(
        system.main.map_keys(system.main.histogram(x)),
        system.main.map_values(system.main.histogram(x)),
        epsilon
    );

CREATE OR REPLACE TEMP MACRO cae_area_agg(x) AS
    cae_area(
        system.main.map_keys(system.main.histogram(x)),
        system.main.map_values(system.main.histogram(x))
    );

CREATE OR REPLACE TEMP MACRO cae_area_bounds_agg(x, relative_error := 0.001) AS
    cae_area_bounds(
        system.main.map_keys(system.main.histogram(x)),
        system.main.map_values(system.main.histogram(x)),
        relative_error
    );

CREATE OR REPLACE TEMP MACRO cae_curve_agg(x) AS
    cae_curve(
        system.main.map_keys(system.main.histogram(x)),
        system.main.map_values(system.main.histogram(x))
    );

CREATE OR REPLACE TEMP MACRO cae_risk_agg(x, minimum, maximum, step) AS
    cae_risk(
        system.main.map_keys(system.main.histogram(x)),
        system.main.map_values(system.main.histogram(x)),
        minimum, maximum, step
    );
