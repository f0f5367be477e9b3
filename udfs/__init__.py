"""The measure as SQL functions inside DuckDB: `udfs.register(connection)`, and SQL has `cae_area` and more.

columns.py      Arrow columns as flat arrays, and back
functions.py    the functions, pure, on whole vectors
register.py     names, types and NULL handling on a connection
macros.sql      aggregates over the rows of a GROUP BY
"""

from udfs.register import register, unregister

__all__ = ["register", "unregister"]
