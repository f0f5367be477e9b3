"""PostgreSQL's types: their numbers, rows out, parameters in, and what an open parameter must be.

    types           the table of types
    results         DuckDB's types to PostgreSQL's
    registry        each type's codec: one file a type, its writers and readers side by side
    writing         rows out: an Arrow table to DataRow messages (cells, copying)
    reading         parameters in: bytes to Python values
    inference       types of the parameters that a client leaves open (placeholders finds them)
    calendar        what dates, times and timestamps share

No I/O, no state: everything is a function of its arguments.
"""
