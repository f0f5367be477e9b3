"""PostgreSQL's types: their numbers, rows out, parameters in, and what an open parameter must be.

    types           the table of types
    results         DuckDB's types to PostgreSQL's
    writing         rows out: an Arrow table to DataRow messages (cells, plain, moments, structures)
    reading         parameters in: bytes to Python values
    inference       types of the parameters that a client leaves open (placeholders finds them)
    arrays, numbers, calendar
                    formats that both directions share

No I/O, no state: everything is a function of its arguments.
"""
