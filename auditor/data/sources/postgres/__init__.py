"""PostgreSQL: the tables that a policy names, from one snapshot of the server.

Promise: one transaction, REPEATABLE READ and READ ONLY, reads all tables, so that they are of one moment and
nothing can be written; a role that may SELECT is enough. What row security would hide is not left out
silently: such tables are turned away. So are public tables that read, or are read by, what is protected. No
message has a password. psycopg is imported when a server is opened.

    server.py      connecting, and what a server's refusals are called here
    relations.py   which table a name means, and which tables read each other
    columns.py     PostgreSQL's types as DuckDB's
    copying.py     COPY as Arrow's batches
"""

from auditor.data.sources.postgres.server import PostgreSQL

__all__ = ["PostgreSQL"]
