"""The measure as SQL functions inside DuckDB. Nothing is here yet: `cae_sql` offers the measure in Python."""
