-- Aggregates over the rows of a group for which `filter` holds. Equal values are counted, NULLs are left out,
-- and a group without any value is NULL; the memory of a group grows with its distinct values, not its rows.
-- Temporary: nothing is written to the database, and a database opened for reading will do.
-- DuckDB's own functions are called by their full names: a database may have macros of the same ones.

CREATE OR REPLACE TEMP MACRO _cae_counts(x, filter, name) AS
    CASE
        WHEN system.main.regexp_full_match(
            system.main.typeof(system.main.any_value(x)),
            'U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*|"NULL"'
        )
        THEN system.main.histogram(x) FILTER (WHERE filter)
        ELSE system.main.error(
            name || system.main.regexp_replace(
                system.main.alias(system.main.any_value(x)), '^(system\.main\.)?any_value', ''
            ) || ': a column of ' || system.main.lower(
                system.main.regexp_replace(system.main.typeof(system.main.any_value(x)), '^VARCHAR$', 'text')
            ) || ', where numbers are wanted'
        )
    END;

CREATE OR REPLACE TEMP MACRO cae_entropy_agg(x, epsilon := 0, filter := true) AS
    cae_entropy(
        system.main.map_keys(_cae_counts(x, filter, 'cae_entropy_agg')),
        system.main.map_values(_cae_counts(x, filter, 'cae_entropy_agg')),
        epsilon
    );

CREATE OR REPLACE TEMP MACRO cae_area_agg(x, tolerance := 0, filter := true) AS
    cae_area(
        system.main.map_keys(_cae_counts(x, filter, 'cae_area_agg')),
        system.main.map_values(_cae_counts(x, filter, 'cae_area_agg')),
        tolerance
    );

CREATE OR REPLACE TEMP MACRO cae_area_bounds_agg(x, relative_error := 0.001, filter := true) AS
    cae_area_bounds(
        system.main.map_keys(_cae_counts(x, filter, 'cae_area_bounds_agg')),
        system.main.map_values(_cae_counts(x, filter, 'cae_area_bounds_agg')),
        relative_error
    );

CREATE OR REPLACE TEMP MACRO cae_curve_agg(x, filter := true) AS
    cae_curve(
        system.main.map_keys(_cae_counts(x, filter, 'cae_curve_agg')),
        system.main.map_values(_cae_counts(x, filter, 'cae_curve_agg'))
    );

CREATE OR REPLACE TEMP MACRO cae_risk_agg(x, minimum, maximum, step, filter := true) AS
    cae_risk(
        system.main.map_keys(_cae_counts(x, filter, 'cae_risk_agg')),
        system.main.map_values(_cae_counts(x, filter, 'cae_risk_agg')),
        minimum, maximum, step
    );
